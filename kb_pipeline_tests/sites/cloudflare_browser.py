"""What Cloudflare's browser and model answer about pages of a loopback site: each asked for anew, and shown as the site
serves it at that moment. Of scripts it runs those of sites.scripted."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import socket
import ssl
import textwrap
from base64 import b64decode
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from io import BytesIO
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

import lxml.html
from PIL import Image

from kb_pipeline_tests.fetch.drawn import drawn_page
from kb_pipeline_tests.sites.cloudflare import ApiRequest, envelope, refusal
from kb_pipeline_tests.sites.replies import Behaviour, Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MOST_REDIRECTS: Final = 20
_SECONDS: Final = 5.0
_ERRORS: Final[Sequence[tuple[type[Exception], int, str]]] = (
    (ssl.SSLCertVerificationError, 5006, "net::ERR_CERT_AUTHORITY_INVALID"),
    (socket.gaierror, 5005, "net::ERR_NAME_NOT_RESOLVED"),
    (TimeoutError, 6002, "TimeoutError: Navigation timeout exceeded"),
    (ConnectionRefusedError, 5006, "net::ERR_CONNECTION_REFUSED"),
    (ConnectionResetError, 5006, "net::ERR_CONNECTION_RESET"),
    (OSError, 5006, "net::ERR_FAILED"),
    (HTTPException, 5006, "net::ERR_INVALID_HTTP_RESPONSE"),
)
"""As Browser Rendering tells them, under 422: the first that fits."""
_WRITES: Final = re.compile(r"document\.body\.innerHTML = (\".*\");")
_DRAWS: Final = re.compile(r"(\[.*\])\.forEach\(\(line, row\) => pen\.fillText")


class NotLoadedError(Exception):
    """Browser Rendering's code and words for a page that did not come."""


@dataclass(frozen=True)
class Shown:
    """A page as the browser has it."""

    status: int
    document: lxml.html.HtmlElement
    drawn: tuple[str, ...] = ()
    """What is to be seen of it and not to be read: lines on a canvas."""

    @property
    def html(self) -> str:
        return str(lxml.html.tostring(self.document, encoding="unicode", doctype="<!DOCTYPE html>"))

    @property
    def title(self) -> str:
        return str(self.document.findtext("head/title") or "")

    @property
    def paragraphs(self) -> list[tuple[str, str]]:
        """Tag and text of whatever a reader sees."""
        found = self.document.xpath("body//text()[not(ancestor::script or ancestor::style)]")
        return [(text.getparent().tag, " ".join(text.split())) for text in found if text.strip()]


class CloudflareBrowser:
    """`LoopbackCloudflare(CloudflareBrowser().answers)` is an account that works."""

    def __init__(self) -> None:
        self._words: dict[str, str] = {}

    @property
    def answers(self) -> dict[str, Callable[[ApiRequest], Behaviour]]:
        """By endpoint."""
        return {"content": self._content, "markdown": self._markdown, "screenshot": self._picture, "ai": self._read}

    def _content(self, request: ApiRequest) -> Behaviour:
        return _answer(request, lambda page: envelope(page.html, status=page.status, title=page.title))

    def _markdown(self, request: ApiRequest) -> Behaviour:
        return _answer(request, lambda page: envelope(_as_markdown(page), status=page.status, title=page.title))

    def _picture(self, request: ApiRequest) -> Behaviour:
        return _answer(request, self._photograph)

    def _photograph(self, page: Shown) -> Behaviour:
        paragraphs = [*(text for _, text in page.paragraphs), "\n".join(page.drawn)]
        lines = [line for text in paragraphs for part in text.splitlines() for line in textwrap.wrap(part, 100)]
        picture = drawn_page(lines or [""])
        self._words[_pixels(picture)] = "\n\n".join(filter(None, paragraphs))
        return Reply(picture, content_type="image/png")

    def _read(self, request: ApiRequest) -> Behaviour:
        """The model reads what this browser photographed, told by its pixels."""
        words = self._words.get(_pixels(_picture_in(request.body)), "")
        return envelope({"response": words or "NO TEXT"})


def _answer(request: ApiRequest, show: Callable[[Shown], Behaviour]) -> Behaviour:
    try:
        return show(_load(request.body["url"]))
    except NotLoadedError as error:
        return refusal(422, *error.args)


def _load(url: str) -> Shown:
    for _ in range(MOST_REDIRECTS):
        answer, body = _get(url)
        location = answer.headers.get("Location")
        if location is None or not 300 <= answer.status < 400:
            return _run_scripts(url, answer.status, body)
        url = urljoin(url, location)
    raise NotLoadedError(5006, f"net::ERR_TOO_MANY_REDIRECTS at {url}")


def _get(url: str) -> tuple[HTTPResponse, bytes]:
    parts = urlsplit(url)
    host, target = str(parts.hostname), parts._replace(scheme="", netloc="", fragment="").geturl()
    if parts.scheme == "https":
        connection: HTTPConnection = HTTPSConnection(
            host, parts.port, timeout=_SECONDS, context=ssl.create_default_context()
        )
    else:
        connection = HTTPConnection(host, parts.port, timeout=_SECONDS)
    with contextlib.closing(connection):
        try:
            connection.request("GET", target or "/", headers={"Sec-Fetch-Mode": "navigate"})
            answer = connection.getresponse()
        except (OSError, HTTPException) as error:
            code, words = next((code, words) for kind, code, words in _ERRORS if isinstance(error, kind))
            raise NotLoadedError(code, f"{words} at {url}") from error
        return answer, _body(answer)


def _body(answer: HTTPResponse) -> bytes:
    """As much as comes: of a document that breaks off, Chromium shows the half that it has as if it were whole."""
    body = b""
    with contextlib.suppress(OSError, HTTPException):
        while piece := answer.read1(1 << 16):
            body += piece
    return body


def _run_scripts(url: str, status: int, came: bytes) -> Shown:
    if status >= 400 and not came:
        raise NotLoadedError(5006, f"net::ERR_HTTP_RESPONSE_CODE_FAILURE at {url}")
    document = lxml.html.document_fromstring(came.decode("utf-8", "replace") or "<html><body></body></html>")
    if document.find("body") is None:
        document.append(lxml.html.Element("body"))
    drawn: list[str] = []
    for source in document.xpath("body//script/@src"):
        code = _script_at(urljoin(url, source))
        if written := _WRITES.search(code):
            body = lxml.html.document_fromstring(f"<body>{json.loads(written.group(1))}</body>").find("body")
            document.replace(document.find("body"), body)
        elif lines := _DRAWS.search(code):
            drawn += json.loads(lines.group(1))
    return Shown(status, document, tuple(drawn))


def _script_at(url: str) -> str:
    with contextlib.suppress(NotLoadedError):
        answer, body = _get(url)
        return body.decode() if answer.status == 200 else ""
    return ""


def _as_markdown(page: Shown) -> str:
    return "\n\n".join(f"# {text}" if tag == "h1" else text for tag, text in page.paragraphs)


def _picture_in(body: dict[str, object]) -> bytes:
    if isinstance(image := body.get("image"), list):
        return bytes(image)
    return b64decode(json.dumps(body).partition("base64,")[2].partition('"')[0])


def _pixels(picture: bytes) -> str:
    image = Image.open(BytesIO(picture)).convert("L")
    return hashlib.sha256(repr(image.size).encode() + image.tobytes()).hexdigest()
