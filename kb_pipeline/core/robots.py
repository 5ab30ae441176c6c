"""robots.txt as RFC 9309 reads it: which paths a crawler may ask for, and what a site's answer to the request
for the file itself means. Fetching and caching the file belong to fetch."""

from __future__ import annotations

import codecs
import itertools
import math
import re
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.robots_rules import RuleIndex, is_allowed, rank_of
from kb_pipeline.core.urls import is_http, normalize_escapes, resolve, without_fragment

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_BYTES: Final = 500 * 1024
"""RFC 9309 §2.5: at least this much must be parsed, and no more is."""

_LINE_END: Final = re.compile(r"\r\n|\r|\n")
# The RFC's grammar has no digits; sites name crawlers that do, and "Agent4" must not match "Agent1".
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]+")
_TRAILING_TAG: Final = re.compile(r"(?:<br\s*/?>|</?p>)\s*$", re.IGNORECASE)
_ESCAPED_ORIGIN: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#]*", re.IGNORECASE)
_AGENT_NAMES: Final = frozenset({"user-agent", "useragent", "user agent"})
# Misspellings that are common enough in the wild for other crawlers to honour them too.
_DISALLOW_NAMES: Final = frozenset({"disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"})
_SITEMAP_NAMES: Final = frozenset({"sitemap", "site-map"})
_DELAY_NAMES: Final = frozenset({"crawl-delay", "crawldelay"})
_NAMES: Final = _AGENT_NAMES | _DISALLOW_NAMES | _SITEMAP_NAMES | _DELAY_NAMES | {"allow"}


class RobotsAccess(StrEnum):
    """What the answer to the request for robots.txt means (RFC 9309 §2.3.1)."""

    PARSE = "parse"
    ALLOW_ALL = "allow_all"
    KEEP_CACHED = "keep_cached"
    """The copy that is held is still the file (RFC 9110 §15.4.5)."""
    UNAVAILABLE = "disallow_all"
    """Nothing may be fetched. A file that was not read forbids no page, though: nothing is removed."""


def access_of(status: int | None, body: bytes = b"") -> RobotsAccess:
    """Meaning of the final answer for robots.txt, redirects followed; a status of None when there was no answer.

    429 asks a crawler to stay away, so it is not read as "there is no such file" although it is a 4xx.
    """
    too_many_requests, not_modified = 429, 304
    if status is None or status >= 500 or status == too_many_requests:  # noqa: PLR2004
        return RobotsAccess.UNAVAILABLE
    if status == not_modified:
        return RobotsAccess.KEEP_CACHED
    if 200 <= status < 300 and body.strip():  # noqa: PLR2004
        return RobotsAccess.PARSE
    # What remains after redirects: nothing to read, 4xx, and a redirect that led nowhere or too far (§2.3.1.2).
    return RobotsAccess.ALLOW_ALL


def _index(lines: Iterable[_Line]) -> RuleIndex:
    rules: list[tuple[str, int]] = []
    for value, allow in dict.fromkeys(lines):
        pattern = _normal_pattern(value)
        rules.append((pattern, rank_of(pattern, allow=allow)))
        if allow and pattern.endswith(("/index.html", "/index.htm")):
            # Google's reading: who allows a folder's index page means the folder's own address too.
            folder = f"{pattern.rpartition('/')[0]}/$"
            rules.append((folder, rank_of(folder, allow=True)))
    return RuleIndex(rules)


class Robots:
    """One robots.txt, parsed once. Tokens are product tokens (`KbPipelineBot`), not whole User-Agent headers."""

    def __init__(self, reader: _Reader) -> None:
        self._groups = reader.groups
        self._delays = reader.delays
        self._merged: dict[str, RuleIndex] = {}
        self.sitemap_lines = tuple(reader.sitemaps)
        """Values of the `Sitemap:` lines, as written."""

    @classmethod
    def parse(cls, body: bytes) -> Robots:
        """Read a file of any content. Lines that are no rule are skipped, and never end a group (§2.2.4)."""
        reader = _Reader()
        for line in _LINE_END.split(_decode(body)):
            reader.line(line)
        return cls(reader)

    def allows(self, token: str, url: str) -> bool:
        """Whether the crawler of this product token may request `url`. /robots.txt itself always may be (§2.2.2)."""
        path = _path_of(url)
        return path == "/robots.txt" or is_allowed(self._rules(self._group(token)).best(path))

    def stars(self, token: str) -> int:
        """Wildcards in the rules for this product token: with many, `allows` may take a tenth of a second."""
        return self._rules(self._group(token)).stars

    def crawl_delay(self, token: str) -> float | None:
        """Seconds of `Crawl-delay` in the group that `allows` uses; None when there is none."""
        return self._delays.get(self._group(token))

    def sitemaps(self, base_url: str) -> tuple[str, ...]:
        """Absolute http(s) addresses of the `Sitemap:` lines, once each, in order; relative ones from `base_url`."""
        found = (resolve(base_url, line) for line in self.sitemap_lines)
        return tuple(dict.fromkeys(url for url in found if url and is_http(url)))

    def _group(self, token: str) -> str:
        own = token.partition("/")[0].strip().lower()
        return own if own in self._groups else "*"

    def _rules(self, agent: str) -> RuleIndex:
        """All groups that name `agent`, as one (§2.2.1). Merged when asked for: a file may name 20,000 agents."""
        if agent not in self._merged:
            lines = itertools.chain.from_iterable(self._groups.get(agent, ()))
            self._merged[agent] = _index(lines)
        return self._merged[agent]


_Line = tuple[str, bool]
"""(value of an allow or disallow line as written, whether it allows)"""


class _Reader:
    """State of one pass over the lines. Groups share their list of rules: agents times rules would be quadratic."""

    def __init__(self) -> None:
        self.groups: dict[str, list[list[_Line]]] = {}
        self.delays: dict[str, float] = {}
        self.sitemaps: list[str] = []
        self._rules: list[_Line] | None = None
        self._in_rules = False
        # Crawl-delay is no record of the RFC, so it must not end a run of user-agent lines, while its writers
        # mean it for the agents above it and no others: two runs are kept.
        self._delayed: dict[str, None] = {}
        self._delay_ended = False

    def line(self, text: str) -> None:
        name, value = _name_and_value(text)
        if name in _AGENT_NAMES:
            self._agent(value)
        elif name == "allow" or name in _DISALLOW_NAMES:
            self._in_rules = self._delay_ended = True
            # An empty value, or one that is no path pattern (§2.2: it begins with "/"), matches nothing.
            if self._rules is not None and value.startswith(("/", "*")):
                self._rules.append((value, name == "allow"))
        elif name in _DELAY_NAMES:
            self._delay_ended = True
            self._delay(value)
        elif name in _SITEMAP_NAMES and value:
            self.sitemaps.append(value)

    def _agent(self, value: str) -> None:
        if self._in_rules or self._rules is None:
            self._rules, self._in_rules = [], False
        if self._delay_ended:
            self._delayed, self._delay_ended = {}, False
        agent = "*" if value == "*" or value.startswith(("* ", "*\t")) else _product_token(value)
        if agent:
            self._delayed[agent] = None
            groups = self.groups.setdefault(agent, [])  # a group without rules exists: it allows all
            if not groups or groups[-1] is not self._rules:
                groups.append(self._rules)

    def _delay(self, value: str) -> None:
        try:
            seconds = float(value)
        except ValueError:
            return
        if math.isfinite(seconds) and seconds >= 0:
            for agent in self._delayed:
                self.delays.setdefault(agent, seconds)
            self._delayed = {}  # the first one of a run counts


def _decode(body: bytes) -> str:
    """UTF-8 with stray octets kept (surrogate escapes); a UTF-16 file is read as what it is."""
    body = _within_limit(body)
    if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return body.decode("utf-16", "replace").removeprefix("\ufeff")
    for encoding, nulls in (("utf-16-le", slice(1, 8, 2)), ("utf-16-be", slice(0, 8, 2))):
        if body[nulls] == b"\0\0\0\0":
            return body.decode(encoding, "replace")
    # Also a byte order mark that was cut or doubled: it must not hide the first user-agent line.
    return body.lstrip(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")


def _within_limit(body: bytes) -> bytes:
    """The lines that end within the limit. Half a rule is another rule: "Disallow: /" of "Disallow: /private"."""
    if len(body) <= MAX_BYTES or body[MAX_BYTES : MAX_BYTES + 1] in b"\r\n":
        return body[:MAX_BYTES]
    return body[: max(body.rfind(b"\n", 0, MAX_BYTES), body.rfind(b"\r", 0, MAX_BYTES)) + 1]


def _name_and_value(line: str) -> tuple[str, str]:
    line = line.partition("#")[0].strip(" \t\v\f\0")
    name, colon, value = line.partition(":")
    if not colon:
        # "Disallow /private": the colon was forgotten; with more words it is prose.
        words = line.split()
        if len(words) != 2 or words[0].lower() not in _NAMES:  # noqa: PLR2004
            return "", ""
        name, value = words
    value = value.strip()
    if value.endswith(">"):
        # A robots.txt that went through an HTML editor ends its lines with <BR>.
        value = _TRAILING_TAG.sub("", value).strip()
    return name.strip().lower(), value


def _product_token(text: str) -> str:
    """The leading product token of a user-agent value, lower case; "" when there is none (§2.2.1)."""
    match = _TOKEN.match(text.strip())
    return match[0].lower() if match else ""


def _normal_pattern(value: str) -> str:
    """Rule value in the form paths are compared in. `*` stays, `$` stays where it is last, else it is a literal."""
    anchored = value.endswith("$")
    octets = _as_octets(value[:-1] if anchored else value)
    return normalize_escapes(octets).replace("$", "%24") + ("$" if anchored else "")


def _path_of(url: str) -> str:
    """Path and query of `url` in the form of `_normal_pattern`, where a raw `*` or `$` is a literal."""
    href = without_fragment(resolve(None, url) or url)
    path = _ESCAPED_ORIGIN.sub("", href, count=1) or "/"
    if not path.startswith("/"):
        path = f"/{path}"
    return normalize_escapes(_as_octets(path)).replace("*", "%2A").replace("$", "%24")


def _as_octets(text: str) -> str:
    """Percent-encode all that is not ASCII: UTF-8, and stray octets as they were in the file."""
    if text.isascii():
        return text
    return "".join(
        chr(octet) if octet < 0x80 else f"%{octet:02X}"  # noqa: PLR2004
        for octet in text.encode("utf-8", "surrogateescape" if _escaped_octets(text) else "surrogatepass")
    )


def _escaped_octets(text: str) -> bool:
    return any("\udc80" <= character <= "\udcff" for character in text)
