"""The fields that an entry of the site configuration may have, and what each takes. An error names key and field, and
never the value: it may be a password."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, get_args

from kb_pipeline.core.fetch_policy import WaitUntil
from kb_pipeline.errors import ConfigError

VARIABLE: Final = "WEB_SCRAPER_SITE_CONFIG"

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""RFC 9110 §5.6.2."""
_LINE: Final = re.compile(r"[\x20-\x7e\x80-\xff\t]*")
"""What a header's value may hold: no line end, nothing beyond Latin-1."""
_COOKIE_VALUE: Final = re.compile(r"[\x21-\x3a\x3c-\x7e]*")
"""RFC 6265 §4.1.1, with the quotes, commas and backslashes that are sent all the same; no semicolon, no blank."""
_LOCALE: Final = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*")
_ZONE: Final = re.compile(r"[A-Za-z]+(?:[/_+-][A-Za-z0-9_+-]+)*")
_PRINTABLE: Final = re.compile(r"[^\x00-\x1f\x7f]+")
_MOST_MS: Final = 900_000
_MOST_DELAY: Final = 60
_OURS: Final = {
    "cookie": "use the field cookies",
    "user-agent": "use the field user_agent",
    "accept-encoding": "what is asked for must be what can be decoded",
    "if-none-match": "it is this program's own",
    "if-modified-since": "it is this program's own",
    "range": "pages are fetched whole",
} | dict.fromkeys(
    ("host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer", "upgrade", "expect"),
    "it belongs to the connection",
)


class _WrongValueError(Exception):
    """What is wrong with a value, where more can be said than what the field takes."""


def _one_of(*values: str) -> Callable[[Any], Any]:
    return lambda value: value if isinstance(value, str) and value in values else None


def _yes_or_no(value: object) -> object:
    return value if isinstance(value, bool) else None


def _number(most: float, *, whole: bool = False, least: float = 0) -> Callable[[Any], Any]:
    kinds = (int,) if whole else (int, float)

    def read(value: object) -> object:
        is_number = isinstance(value, kinds) and not isinstance(value, bool)
        return value if is_number and least <= value <= most else None  # type: ignore[operator]

    return read


def _text(shape: re.Pattern[str]) -> Callable[[Any], Any]:
    def read(value: object) -> object:
        return value.strip() or None if isinstance(value, str) and shape.fullmatch(value) else None

    return read


def _locale(value: object) -> object:
    return value.replace("_", "-") if isinstance(value, str) and _LOCALE.fullmatch(value) else None


def _headers(value: object) -> object:
    pairs = _pairs(value, _LINE)
    for name, _ in pairs or ():
        if name.lower() in _OURS or name.lower().startswith("proxy-"):
            message = f"the header {name} cannot be set ({_OURS.get(name.lower(), 'it belongs to the proxy')})"
            raise _WrongValueError(message)
    if pairs is not None and len({name.lower() for name, _ in pairs}) < len(pairs):
        message = "a header stands twice"
        raise _WrongValueError(message)
    return pairs


def _cookies(value: object) -> object:
    return _pairs(value, _COOKIE_VALUE)


def _pairs(value: object, shape: re.Pattern[str]) -> tuple[tuple[str, str], ...] | None:
    if not isinstance(value, dict):
        return None
    for name, content in value.items():
        if not _TOKEN.fullmatch(name):
            message = f"{name!r} is no name that one can have"
            raise _WrongValueError(message)
        if not isinstance(content, str) or content != content.strip() or not shape.fullmatch(content):
            message = f"the value of {name} holds characters that it may not, or is no text"
            raise _WrongValueError(message)
    return tuple(value.items())


def _basic_auth(value: object) -> object:
    if isinstance(value, str):
        user, colon, password = value.partition(":")
        value = [user, password] if colon else None
    elif isinstance(value, dict) and value.keys() == {"username", "password"}:
        value = [value["username"], value["password"]]
    if not (isinstance(value, list) and len(value) == 2 and all(isinstance(part, str) for part in value)):  # noqa: PLR2004
        return None
    user, password = value
    printable = not password or _PRINTABLE.fullmatch(password)
    return (user, password) if _PRINTABLE.fullmatch(user) and ":" not in user and printable else None


_Reader = Callable[[Any], Any]
"""The value as the policy holds it; None when the field does not take it."""

_READERS: Final[dict[str, tuple[_Reader, str]]] = {
    "wait_until": (_one_of(*get_args(WaitUntil)), f"one of {', '.join(get_args(WaitUntil))}"),
    "wait_for": (_text(_PRINTABLE), "a CSS selector"),
    "delay_before_return_html": (_number(_MOST_DELAY), f"seconds, 0 to {_MOST_DELAY}"),
    "page_timeout_ms": (_number(_MOST_MS, whole=True, least=1), f"whole milliseconds, 1 to {_MOST_MS}"),
    "process_iframes": (_yes_or_no, "true or false"),
    "deep_iframe_extraction": (_yes_or_no, "true or false"),
    "locale": (_locale, "a language tag such as de-DE"),
    "timezone_id": (_text(_ZONE), "a time zone such as Europe/Berlin"),
    "user_agent": (_text(re.compile(r"[\x20-\x7e]+")), "the text of a User-Agent header, ASCII"),
    "user_agent_mode": (_one_of("browser", "bot"), "browser or bot"),
    "fallback_enabled": (_yes_or_no, "true or false"),
    "fallback_on_empty": (_yes_or_no, "true or false"),
    "fallback_on_blocked": (_yes_or_no, "true or false"),
    "headers": (_headers, "an object from header names to their values"),
    "cookies": (_cookies, "an object from cookie names to their values"),
    "basic_auth": (_basic_auth, 'an object with "username" and "password", or the text user:password'),
}

FIELDS: Final = tuple(_READERS)
"""The allow-list."""


def read_field(key: str, name: str, value: object) -> Any:
    """One field's value as FetchPolicy holds it. Raises ConfigError."""
    reader, takes = _READERS[name]
    where = f"{VARIABLE}, {key!r}, {name}"
    try:
        read = reader(value)
    except _WrongValueError as error:
        message = f"{where}: {error}; it takes {takes}"
        raise ConfigError(message) from None
    if read is None:
        message = f"{where}: takes {takes}"
        raise ConfigError(message)
    return read
