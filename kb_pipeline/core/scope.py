"""Which addresses belong to a site, and in plain words why the others do not. Looks at the address alone: what a
robots.txt says of it, and how many pages a site may have, is for the stage to ask."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from kb_pipeline.core import denied
from kb_pipeline.core.patterns import PathPatterns
from kb_pipeline.core.urls import is_http, resolve, same_site, url_key, without_fragment

if TYPE_CHECKING:
    from kb_pipeline.model import SiteOptions

MAX_URL_CHARACTERS: Final = 2_048
MAX_PATH_SEGMENTS: Final = 16
MAX_PARAMETERS: Final = 10
MAX_ADDRESSES_A_PAGE: Final = 25
"""More addresses than this for one page: something writes new ones for ever."""

MAX_VIEWS_A_LIST: Final = 100
"""More ways than this to sort and filter one list: a shop's filters multiply, and show the same things."""

_VIEWS: Final = frozenset(
    {"sort", "sortby", "sort_by", "sort_order", "order", "orderby", "order_by", "dir", "direction", "filter", "filters",
     "facet", "facets", "color", "colour", "size", "brand", "material", "price", "min_price", "max_price", "price_min",
     "price_max", "price_from", "price_to", "minprice", "maxprice", "rating", "availability", "in_stock", "per_page",
     "perpage", "view", "display", "layout", "product_list_order", "product_list_dir", "product_list_limit"}
)  # fmt: skip
_PAGING: Final = frozenset(
    {"page", "p", "pg", "paged", "pageno", "page_no", "pagenum", "start", "offset", "limit", "limitstart"}
)
_INDEX: Final = re.compile(r"\[[^\]]*\]")
_LIST_MARKS: Final = re.compile(r"[,;|+\s/]+")
_LONGEST_CYCLE: Final = 6
_REPEATS: Final = 3
_NUMBER_REPEATS: Final = 4
_SAME_SEGMENT: Final = 5
_EXTENSION: Final = re.compile(r"\.([a-z0-9]{1,8})$")
_NO_PAGE: Final = re.compile(
    # What a browser would not show as a page, or shows without any text.
    r"""7z | aac | apk | atom | avi | avif | bin | bmp | bz2 | css | csv | dat | deb | dmg | doc[mx]? | dot[mx]? | eot
    | eps | epub | exe | flac | flv | gif | gz | gzip | ical | ico | ics | img | iso | jar | jfif | jpe | jpe?g | json
    | jsonld | key | less | lz | m4[av] | map | mid | mkv | mobi | mov | mp[34] | mpe?g | msi | numbers | od[pst]
    | og[gv] | opus | otf | pages | pkg | png | pps | ppsx | pptx? | ps | psd | pub | rar | rdf | rpm | rss | rtf | scss
    | sql | svgz? | swf | tar | tgz | tiff? | torrent | ttf | vcf | vsd | wav | web[am] | webmanifest | webp | wm[av]
    | woff2? | wsdl | xls[mx]? | xml | xps | xsd | xslt? | xz | zip | zst""",
    re.VERBOSE,
)
_SCRIPT: Final = re.compile(
    r"(?:^|/)(?:assets?|static|scripts?|js|dist|build|_next|wp-(?:content|includes))/|[.-]min\.m?js$"
)


@dataclass(frozen=True, slots=True)
class Address:
    """An absolute http(s) URL taken apart for the rules: all lower case and percent-decoded."""

    host: str
    path: str
    segments: tuple[str, ...]
    """Of the path, without the empty one that a trailing slash leaves."""
    parameters: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, url: str) -> Address:
        """`url` as `resolve` serialises it."""
        href, _, query = without_fragment(url).partition("?")
        host, _, path = href.partition("://")[2].partition("/")
        path = unquote(path).lower()
        pairs = (part.partition("=") for part in query.split("&") if part)
        parameters = tuple((unquote(name).lower(), unquote(value).lower()) for name, _, value in pairs)
        return cls(host, f"/{path}", tuple(path.rstrip("/").split("/")) if path.strip("/") else (), parameters)


@dataclass(frozen=True)
class Scope:
    """The boundaries of one site."""

    site_url: str
    options: SiteOptions

    @cached_property
    def _include(self) -> PathPatterns:
        return PathPatterns(self.options.include)

    @cached_property
    def _exclude(self) -> PathPatterns:
        return PathPatterns(self.options.exclude)

    def why_not(self, url: str, *, depth: int = 0) -> str | None:
        """Why `url` is left out, for the site's owner to read; None when it is kept.

        `depth` is the number of links between the start page and this one.
        """
        href = resolve(None, url)
        if href is None:
            return "is not a valid address"
        if not is_http(href):
            return "is not an http(s) address"
        if not same_site(href, self.site_url, subdomains=self.options.subdomains):
            return "is on another host"
        if depth > self.options.max_depth:
            return f"is more than {self.options.max_depth} links away from the start page"
        address = Address.of(href)
        return (
            _too_big(without_fragment(href), address)
            or _no_page(address)
            or _trap(address)
            or self._by_pattern(address)
            or denied.why_denied(address, self._include)
        )

    def _by_pattern(self, address: Address) -> str | None:
        if self._include and not self._include.first_match(address.path):
            return "matches none of the site's include patterns"
        pattern = self._exclude.first_match(address.path)
        return f"matches the site's exclude pattern {pattern}" if pattern else None


def _too_big(href: str, address: Address) -> str | None:
    if len(href) > MAX_URL_CHARACTERS:
        return f"is longer than {MAX_URL_CHARACTERS:,} characters"
    if len(address.segments) > MAX_PATH_SEGMENTS:
        return f"has more than {MAX_PATH_SEGMENTS} path segments"
    if len(address.parameters) > MAX_PARAMETERS:
        return f"has more than {MAX_PARAMETERS} query parameters"
    return None


def _no_page(address: Address) -> str | None:
    last = address.segments[-1] if address.segments else ""
    match = _EXTENSION.search(last)
    if match is None or ":" in last:  # "File:Map.svg" is the page about a picture
        return None
    extension = match[1]
    if _NO_PAGE.fullmatch(extension) or (extension in {"js", "mjs"} and _SCRIPT.search(address.path)):
        return f"is a .{extension} file, neither a page nor a PDF"
    return None


def _trap(address: Address) -> str | None:
    if _cycles(address.segments):
        return "repeats the same path segments over and over (a crawler trap)"
    if any(count > 1 for count in Counter(address.parameters).values()):
        return "repeats the same query parameter (a crawler trap)"
    if any(_grows(name, value) for name, value in address.parameters):
        return "has a query parameter that grows by itself (a crawler trap)"
    return None


def _grows(name: str, value: str) -> bool:
    """Whether a parameter holds an address that has the same parameter, or the same word again and again."""
    inner = unquote(unquote(value))
    if f"?{name}=" in inner or f"&{name}=" in inner:
        return True
    words = Counter(word for word in _LIST_MARKS.split(inner) if word and not word.isdigit())
    return bool(words) and max(words.values()) >= _SAME_SEGMENT


def _cycles(segments: tuple[str, ...]) -> bool:
    """Whether a run of 1 to 6 segments comes three times in a row, or one segment five times in all.

    Numbers repeat by chance (/2011/11/11): a single one must come four times.
    """
    for length in range(1, _LONGEST_CYCLE + 1):
        repeats = _NUMBER_REPEATS if length == 1 else _REPEATS
        for start in range(len(segments) - length * _REPEATS + 1):
            cycle = segments[start : start + length]
            wanted = repeats if length == 1 and cycle[0].isdigit() else _REPEATS
            if segments[start : start + length * wanted] == cycle * wanted:
                return True
    counts = Counter(segment for segment in segments if segment and not segment.isdigit())
    return bool(counts) and max(counts.values()) >= _SAME_SEGMENT


@dataclass(slots=True)
class TrapWatch:
    """Counts the addresses that name one page or show one list, over one list of addresses."""

    _addresses: dict[str, int] = field(default_factory=dict)
    _views: dict[str, int] = field(default_factory=dict)

    def why_not(self, url: str) -> str | None:
        """Why this further address of a known page or list is not worth keeping; None while there are few."""
        path, mark, query = url_key(url).partition("?")
        # Parameters in another order are another address (a site may tell them apart), and hardly another page.
        parameters = sorted(query.split("&")) if query else []
        if _count(self._addresses, f"{path}{mark}{'&'.join(parameters)}") > MAX_ADDRESSES_A_PAGE:
            return f"is one of more than {MAX_ADDRESSES_A_PAGE} addresses of the same page (a crawler trap)"
        named = [(_INDEX.sub("", unquote(part.partition("=")[0])).lower(), part) for part in parameters]
        # What neither sorts, filters nor turns pages says which list it is: ?view=item&layout=item&id=7 is not id=8.
        which = "&".join(part for name, part in named if name not in _VIEWS | _PAGING)
        if len(_VIEWS.intersection(name for name, _ in named)) > 1 and (
            _count(self._views, f"{path}{mark}{which}") > MAX_VIEWS_A_LIST
        ):
            return f"is one of more than {MAX_VIEWS_A_LIST} ways to sort and filter one list (a crawler trap)"
        return None


def _count(counts: dict[str, int], key: str) -> int:
    counts[key] = counts.get(key, 0) + 1
    return counts[key]
