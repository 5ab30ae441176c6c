"""Writes docs/settings.md from the settings themselves: `python -m kb_pipeline.cli.settings_page docs/settings.md`."""

from __future__ import annotations

import sys
import types
import typing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import SecretStr
from pydantic_core import PydanticUndefined

from kb_pipeline.settings import Settings, variable_of

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

_OPENING: Final = """\
# Settings

Every setting is an environment variable. A value that a setting does not take is refused at the start, with the
name of the variable and what it takes. What concerns one site only is not here: those are the site's options
([operating.md](operating.md#options-of-a-site)).

This page is made from `kb_pipeline/settings.py` by `make docs`.
"""
_BOUNDS: Final = (("gt", "more than"), ("ge", "at least"), ("lt", "less than"), ("le", "at most"))
_TYPE_NAMES: Final = {
    str: "text",
    SecretStr: "text, which is shown nowhere",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    Path: "a folder",
}


def settings_page() -> str:
    """The whole page, in Markdown."""
    sections = [_section(variable_of(name), field) for name, field in Settings.model_fields.items()]
    return "\n".join([_OPENING, *sections])


def _section(variable: str, field: FieldInfo) -> str:
    return f"## {variable}\n\n{field.description}\n\n- Takes: {_takes(field)}\n- Default: {_default(field)}\n"


def _takes(field: FieldInfo) -> str:
    kind = _type_in_words(field.annotation)
    bounds = [
        f"{words} {getattr(constraint, name):,}"
        for constraint in field.metadata
        for name, words in _BOUNDS
        if getattr(constraint, name, None) is not None
    ]
    patterns = [
        f"matching `{constraint.pattern}`" for constraint in field.metadata if getattr(constraint, "pattern", None)
    ]
    return ", ".join([kind, *bounds, *patterns])


def _type_in_words(annotation: Any) -> str:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return "one of " + ", ".join(f"`{choice}`" for choice in arguments)
    if origin is tuple:
        return f"a list of {_PLURALS[arguments[0]]}, separated by commas"
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_type_in_words(argument) for argument in arguments)
    return _TYPE_NAMES.get(annotation, "nothing" if annotation is types.NoneType else str(annotation))


_PLURALS: Final = {str: "texts", float: "numbers", int: "whole numbers"}


def _default(field: FieldInfo) -> str:
    if field.default_factory is not None:
        return (field.default_factory.__doc__ or "").strip().split("\n")[0]
    default = field.default.get_secret_value() if isinstance(field.default, SecretStr) else field.default
    if default is PydanticUndefined:
        return "none: it must be set"
    if isinstance(default, tuple):
        return f"`{','.join(map(str, default))}`" if default else "empty"
    return f"`{default}`" if default != "" else "empty"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(settings_page(), encoding="utf-8")
