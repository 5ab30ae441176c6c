"""Turns rows of PostgreSQL into the frozen dataclasses of `model`, and those into jsonb. No queries here."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from enum import Enum
from functools import cache
from typing import Any, TypeVar

from psycopg.types.json import Jsonb
from psycopg.types.string import StrDumperUnknown

if typing.TYPE_CHECKING:
    from psycopg import Cursor
    from psycopg.abc import Buffer
    from psycopg.rows import RowMaker

RowT = TypeVar("RowT")
Convert = Callable[[Any], Any]

# `model` imports these for annotations only; here they are needed as values.
_ANNOTATION_NAMES: dict[str, Any] = {
    "datetime": datetime,
    "date": date,
    "Mapping": Mapping,
    "Sequence": Sequence,
    "Any": Any,
}


def row_factory(row_type: type[RowT]) -> Callable[[Cursor[Any]], RowMaker[RowT]]:
    """A psycopg row factory. `row_type` is a dataclass (columns by name; columns it has no field for are left
    out), `dict`, `tuple`, or the type of the one column that is selected."""
    if row_type is tuple:
        return lambda _cursor: tuple  # type: ignore[return-value]
    if row_type is dict:
        return _dict_maker  # type: ignore[return-value]
    if not dataclasses.is_dataclass(row_type):
        convert = _converter(row_type)
        return lambda _cursor: lambda values: None if values[0] is None else convert(values[0])  # type: ignore[return-value]

    converters = field_converters(row_type)

    def factory(cursor: Cursor[Any]) -> RowMaker[RowT]:
        columns = [
            (i, c.name, converters[c.name]) for i, c in enumerate(cursor.description or ()) if c.name in converters
        ]

        def make(values: Sequence[Any]) -> RowT:
            return row_type(**{name: convert(values[i]) for i, name, convert in columns})

        return make

    return factory


def _dict_maker(cursor: Cursor[Any]) -> Callable[[Sequence[Any]], dict[str, Any]]:
    names = [column.name for column in cursor.description or ()]
    return lambda values: dict(zip(names, values, strict=True))


@cache
def field_converters(dataclass_type: Any) -> dict[str, Convert]:
    """What turns the column of each field into the field's type."""
    hints = typing.get_type_hints(dataclass_type, localns=_ANNOTATION_NAMES)
    return {field.name: _converter(hints[field.name]) for field in dataclasses.fields(dataclass_type)}


def from_json(dataclass_type: type[RowT], value: Mapping[str, Any]) -> RowT:
    """Build a dataclass from a JSON object. Keys it does not know, written by another version, are left out."""
    kind: Any = dataclass_type
    converters = field_converters(kind)
    return dataclass_type(**{name: converters[name](item) for name, item in value.items() if name in converters})


def to_json(value: object) -> Jsonb:
    """A jsonb parameter from a dataclass, mapping or sequence."""
    plain = dataclasses.asdict(value) if dataclasses.is_dataclass(value) and not isinstance(value, type) else value
    return Jsonb(_storable(plain))


def storable_text(text: str) -> str:
    """PostgreSQL stores neither NUL nor half a surrogate pair, and pages of the web hold both: U+FFFD instead."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return storable_text(value)
    if isinstance(value, Mapping):
        return {storable_text(str(name)): _storable(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_storable(item) for item in value]
    return value


class StorableTextDumper(StrDumperUnknown):
    """psycopg's dumper of `str`, for text as pages of the web have it."""

    def dump(self, obj: str) -> Buffer | None:
        """Bytes of `obj` in the connection's encoding."""
        if "\0" in obj or not obj.isascii():
            obj = storable_text(obj)
        return super().dump(obj)


def _converter(hint: Any) -> Convert:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        inner = _converter(next(a for a in arguments if a is not type(None)))
        return lambda value: None if value is None else inner(value)
    if origin is tuple:
        return _tuple_converter(arguments)
    if isinstance(hint, type):
        if issubclass(hint, Enum):
            return hint
        if dataclasses.is_dataclass(hint):
            return lambda value: from_json(hint, value)
    return lambda value: value


def _tuple_converter(arguments: tuple[Any, ...]) -> Convert:
    item = _converter(arguments[0])
    return lambda value: tuple(item(part) for part in value)
