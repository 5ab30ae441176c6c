"""Where `kb extract` has its body from: a file, standard input, or the fetch chain."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from kb_pipeline.errors import BodyUnreadable, ConfigError

if TYPE_CHECKING:
    from kb_pipeline.settings import Settings
    from kb_pipeline.web_scraper import ScrapedContent

STDIN: Final = "-"
_IS_ADDRESS: Final = re.compile(r"https?://", re.IGNORECASE)
_SCHEME: Final = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_HOST: Final = re.compile(r"(?:[\w-]+\.)+[a-z]{2,}(?::\d+)?/.*|www\..*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class GivenBody:
    """A body, and what is known of it beside its bytes."""

    source: str
    """As it was asked for."""
    body: bytes
    content_type: str
    """As stated; empty when nothing was."""
    url: str
    """What relative links are resolved against. Without `--url` the name of the file, and empty for standard input."""
    status: int = 200
    page: ScrapedContent | None = None
    """What the fetch chain says; None for a file."""

    @property
    def is_nameless(self) -> bool:
        """Whether nobody said which address it is from."""
        return not is_address(self.url)


def is_address(source: str) -> bool:
    """Whether it is fetched rather than read from the disk."""
    return _IS_ADDRESS.match(source) is not None


def check_url(url: str) -> str:
    """An address as `--url` takes it; empty as it is. Raises ConfigError."""
    from kb_pipeline.core.urls import is_http, resolve  # noqa: PLC0415

    address = resolve(None, url) if url else ""
    if address is None or (address and not is_http(address)):
        message = f"--url {url[:200]!r} is no address of a page: it takes a whole one, https://example.org/page"
        raise ConfigError(message)
    return address


def read_given(source: str, settings: Settings, *, url: str, content_type: str) -> GivenBody:
    """The body of a file or of standard input, held to the sizes of a fetch.

    Raises ConfigError when it cannot be read or is too large, BodyUnreadable when it is no document.
    """
    most = max(settings.max_html_bytes, settings.max_pdf_bytes)
    if source == STDIN:
        name, body = "standard input", _read(sys.stdin.buffer, most)
    else:
        name, body = repr(source), _read_file(source, most)
    given = GivenBody(source, body, content_type, url or ("" if source == STDIN else Path(source).name))
    _check_kind(name, given, settings)
    return given


def fetch_given(source: str, settings: Settings, timeout: float | None) -> GivenBody:
    """The body that the fetch chain gets, by the rules of robots.txt and the guard; empty when there is none. Raises
    InvalidAddress."""
    from kb_pipeline.web_scraper import WebScraperService  # noqa: PLC0415 - `kb --help` needs none of it

    with WebScraperService(settings) as service:
        page = service.scrape_url(source, timeout=timeout)
    return GivenBody(source, page.body, page.content_type, page.final_url, page.status or 200, page)


def _read_file(source: str, most: int) -> bytes:
    if not source:
        message = "the name of the file is empty (an unset variable?): give a path, a whole address, or -"
        raise ConfigError(message)
    try:
        with Path(source).open("rb") as file:
            return _read(file, most)
    except FileNotFoundError:
        message = f"there is no file {source!r}{_meant(source)}"
    except IsADirectoryError:
        message = f"{source!r} is a folder: name one file in it"
    except PermissionError:
        message = f"{source!r} may not be read by this user: change its permissions (chmod +r), or copy it"
    except (OSError, ValueError) as error:
        message = f"{source[:200]!r} cannot be read ({getattr(error, 'strerror', None) or error}): give another path"
    raise ConfigError(message)


def _meant(source: str) -> str:
    if scheme := _SCHEME.match(source):
        return f", and {scheme[1]} is no way to fetch a page: give a path, or an address with http or https"
    if _HOST.fullmatch(source):
        return f": if it is an address, write https://{source}"
    return ": give the path of one, a whole address (https://example.org/page), or - for standard input"


def _read(file: BinaryIO, most: int) -> bytes:
    """One byte more than may be read shows that there is more."""
    return file.read(most + 1)


def _check_kind(name: str, given: GivenBody, settings: Settings) -> None:
    from kb_pipeline.core.bodies import BodyKind, kind_of  # noqa: PLC0415

    kind = kind_of(given.content_type, given.body, given.url)
    size = len(given.body)
    limit, setting = settings.max_html_bytes, "KB_MAX_HTML_BYTES"
    if kind is BodyKind.PDF:
        limit, setting = settings.max_pdf_bytes, "KB_MAX_PDF_BYTES"
    if kind in {BodyKind.HTML, BodyKind.PDF, BodyKind.TEXT, BodyKind.EMPTY} and size > limit:
        message = f"{name} is larger than the {limit:,} bytes that are read of a page: raise {setting}, or cut it"
        raise ConfigError(message)
    if kind is BodyKind.EMPTY:
        message = f"{name} is empty: save the page again, or give its address"
        raise BodyUnreadable(message)
    if kind not in {BodyKind.HTML, BodyKind.PDF, BodyKind.TEXT}:
        cure = f"unpack it, and give what is in it: gunzip -c {given.source} | kb extract -"
        message = f"{name} is no page but {kind.value}: " + (
            cure if kind is BodyKind.ARCHIVE else "give HTML, plain text or a PDF; --content-type says which it is"
        )
        raise BodyUnreadable(message)
