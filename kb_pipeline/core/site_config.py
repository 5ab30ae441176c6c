"""The operator's settings of sites, WEB_SCRAPER_SITE_CONFIG: which entry an address falls under, and what the entries
together say of it. What a field may hold is core.site_fields' business."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import ada_url
import structlog

from kb_pipeline.core.fetch_policy import ANY_PAGE, FetchPolicy
from kb_pipeline.core.site_fields import FIELDS, VARIABLE, read_field
from kb_pipeline.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

log = structlog.get_logger(__name__)

_KEY: Final = re.compile(r"(?:([a-z*?]+)://)?(\[[0-9a-f:.]+\]|[^/:\[\]]+)(?::([0-9]+|\*))?(/.*)?", re.DOTALL)
_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}
_KEY_TAKES: Final = (
    "takes a domain (example.com), an origin (https://example.com) or a pattern of an address"
    " (docs.example.com/guide/*, https://*.example.com/*)"
)


@dataclass(frozen=True, slots=True)
class _Address:
    """An address in its parts, so that a `*` for the host never reaches into the path."""

    scheme: str
    host: str
    port: str
    path: str
    path_and_query: str


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A key. None: any."""

    scheme: re.Pattern[str] | None
    host: re.Pattern[str]
    port: str | None
    path: re.Pattern[str] | None
    rank: tuple[bool, int]
    """Greater for what is more specific: with a path, then by characters that are no wildcards."""

    def matches(self, address: _Address) -> bool:
        if self.scheme is not None and not self.scheme.fullmatch(address.scheme):
            return False
        if self.port is not None and self.port != address.port:
            return False
        if not self.host.fullmatch(address.host):
            return False
        paths = (address.path, address.path_and_query)
        return self.path is None or any(self.path.fullmatch(path) for path in paths)


@dataclass(frozen=True, slots=True)
class SiteConfig:
    """All entries, the least specific first."""

    entries: tuple[tuple[_Pattern, FetchPolicy], ...] = ()
    unknown_fields: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> SiteConfig:
        """Read the setting; logs each field that it does not know, by name, and ignores it.

        Raises ConfigError that names the key, the field and what it takes, and never holds a value.
        """
        config = cls.read(text)
        for name in config.unknown_fields:
            log.warning("crawler.site_config.unknown_field", field=name)
        return config

    @classmethod
    def read(cls, text: str) -> SiteConfig:
        """`parse`, without a word to the log."""
        found = [(_pattern(key), key, entry) for key, entry in _entries(text).items()]
        # A stable sort: of two equally specific keys the later one counts.
        found.sort(key=lambda item: item[0].rank)
        entries = tuple((pattern, _policy(key, entry)) for pattern, key, entry in found)
        unknown = {name for _, _, entry in found for name in entry if name not in FIELDS}
        return cls(entries, tuple(sorted(unknown)))

    def policy_for(self, url: str) -> FetchPolicy:
        """What the entries say of an address: field by field, the most specific entry that has it."""
        if not self.entries:
            return ANY_PAGE
        address = _address(url)
        policy = ANY_PAGE
        for pattern, entry in self.entries:
            if address is not None and pattern.matches(address):
                said = {name: getattr(entry, name) for name in FIELDS if getattr(entry, name) not in (None, ())}
                policy = replace(policy, **said)
        return policy


NOTHING_SAID: Final = SiteConfig()


def _entries(text: str) -> dict[str, dict[str, object]]:
    if not text.strip():
        return {}
    try:
        found = json.loads(text, object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError) as error:
        # The decoder's own words say where, and hold nothing of the text.
        message = f"{VARIABLE} is no JSON: {error}"
        raise ConfigError(message) from None
    if not isinstance(found, dict):
        message = f"{VARIABLE} takes a JSON object from domains or URL patterns to objects of fields"
        raise ConfigError(message)
    for key, entry in found.items():
        if not isinstance(entry, dict):
            message = f"{VARIABLE}, {key!r}: takes an object of fields: {', '.join(FIELDS)}"
            raise ConfigError(message)
    return found


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """A key given twice would silently lose the first one."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        message = f"{twice!r} stands twice in one object"
        raise ValueError(message)
    return found


def _policy(key: str, entry: Mapping[str, object]) -> FetchPolicy:
    said = {name: read_field(key, name, value) for name, value in entry.items() if name in FIELDS and value is not None}
    headers = dict(said.get("headers", ()))
    if "basic_auth" in said and "authorization" in {name.lower() for name in headers}:
        message = f"{VARIABLE}, {key!r}: takes basic_auth or a header Authorization, not both"
        raise ConfigError(message)
    return FetchPolicy(**said)


def _pattern(key: str) -> _Pattern:
    parts = _KEY.fullmatch(_lower_up_to_path(key.strip()))
    if parts is None:
        message = f"{VARIABLE}, {key!r}: {_KEY_TAKES}"
        raise ConfigError(message)
    scheme, host, port, path = parts.groups()
    if scheme is not None and path == "/":
        path = None  # The same address as without it (RFC 3986 §6.2.3), and what a site's own address looks like.
    has_wildcard = "*" in host or "?" in host
    ascii_host = host if has_wildcard and host.isascii() else _ascii_host(key, host)
    # A bare domain speaks for its subdomains too; what looks like an address speaks for that host alone.
    with_subdomains = scheme is None and path is None and not has_wildcard and not host.startswith("[")
    if port is None and scheme in _DEFAULT_PORTS:
        port = _DEFAULT_PORTS[scheme]
    literal = len((scheme or "") + ascii_host + (path or "")) - key.count("*") - key.count("?")
    return _Pattern(
        None if scheme is None else _glob(scheme),
        re.compile((r"(?:.+\.)?" if with_subdomains else "") + _glob(ascii_host).pattern),
        None if port == "*" else port,
        None if path is None else _glob(path),
        (path is not None, literal),
    )


def _lower_up_to_path(key: str) -> str:
    scheme, separator, rest = key.partition("://") if "://" in key.partition("/")[0] + "//" else ("", "", key)
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host}".lower() + slash + path


def _ascii_host(key: str, host: str) -> str:
    try:
        parsed = ada_url.URL(f"http://{host}/")
    except ValueError:
        message = f"{VARIABLE}, {key!r}: {_KEY_TAKES}"
        raise ConfigError(message) from None
    return str(parsed.hostname).rstrip(".")


def _glob(text: str) -> re.Pattern[str]:
    """`*` for any characters, `?` for one. Each literal part is looked for once, from the left (an atomic group), so
    that an address made for it costs no more than its length."""
    first, *others = (re.escape(part).replace(r"\?", ".") for part in re.split(r"\*+", text))
    middle = "".join(f"(?>.*?{part})" for part in others[:-1])
    last = f".*{others[-1]}" if others else ""
    return re.compile(first + middle + last, re.DOTALL)


def _address(url: str) -> _Address | None:
    try:
        parsed = ada_url.URL(url)
    except (ValueError, UnicodeEncodeError):
        return None
    scheme = str(parsed.protocol).removesuffix(":")
    port = str(parsed.port) or _DEFAULT_PORTS.get(scheme, "")
    path = str(parsed.pathname)
    return _Address(scheme, str(parsed.hostname).rstrip("."), port, path, path + str(parsed.search))
