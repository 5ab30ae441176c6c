"""Reads a site's options as they are written at a shell, `NAME=VALUE`. What values make sense is said where they are
stored."""

from __future__ import annotations

import dataclasses
import difflib
import json
from typing import TYPE_CHECKING, Any, Final

from pydantic import TypeAdapter, ValidationError

from kb_pipeline.errors import ConfigError
from kb_pipeline.model import SiteOptions

if TYPE_CHECKING:
    from collections.abc import Iterable

OPTION_NAMES: Final = tuple(field.name for field in dataclasses.fields(SiteOptions))
_LISTS: Final = frozenset({"include", "exclude"})
_ADAPTER: Final = TypeAdapter(SiteOptions)


def parse_options(assignments: Iterable[str], before: SiteOptions | None = None) -> SiteOptions:
    """`before`, or the defaults, with each assignment applied.

    A list is written with commas or as JSON, nothing as `none`. Raises ConfigError that names the option when there is
    none of that name, or when the value is of another type.
    """
    values = dataclasses.asdict(before or SiteOptions())
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or name not in OPTION_NAMES:
            raise ConfigError(_no_option(assignment, name))
        values[name] = _value(name, text.strip())
    try:
        options: SiteOptions = _ADAPTER.validate_python(values)
    except ValidationError as error:
        problem = error.errors()[0]
        message = f"{problem['loc'][0]}={problem['input']!r}: {problem['msg']}"
        raise ConfigError(message) from None
    return options


def _no_option(assignment: str, name: str) -> str:
    near = difflib.get_close_matches(name, OPTION_NAMES, n=1)
    meant = f" Was {near[0]} meant?" if near and near[0] != name else ""
    return (
        f"{assignment!r}: a site's options are written NAME=VALUE, and the names are {', '.join(OPTION_NAMES)}.{meant}"
    )


def _value(name: str, text: str) -> Any:
    if text.lower() == "none":
        return None
    if text.startswith(("[", "{")):
        try:
            return json.loads(text)
        except ValueError as error:
            message = f"{name}={text}: this is not JSON ({error})"
            raise ConfigError(message) from None
    if name in _LISTS:
        return [part.strip() for part in text.split(",") if part.strip()]
    return text
