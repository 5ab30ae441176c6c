"""HTML around text that came without any: Markdown from a service, words read off a picture. It carries what the
site's own answer said about the page, so that a page that asks not to be indexed is not, however it was read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Final

from markdown_it import MarkdownIt

from kb_pipeline.core.bodies import BodyKind, decode_html, kind_of
from kb_pipeline.core.html_tree import parse_html
from kb_pipeline.core.page_metadata import read_metadata

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kb_pipeline.fetch.client import Response

CONTENT_TYPE: Final = "text/html; charset=utf-8"
_SHORT_LINE: Final = re.compile(r"<(p|li)>([^<]{1,40})</\1>")
MAX_MARKDOWN: Final = 400_000
"""Characters; a text is cut at half of it."""


@dataclass(frozen=True, slots=True)
class Said:
    """What the site's first answer said about the page beside its text."""

    title: str = ""
    description: str = ""
    language: str = ""
    robots: str = ""
    """For `<meta name=robots>`."""


def said_by(answered: Response | None, token: str) -> Said:
    """Read it from a 2xx answer in HTML: what stands under a refusal is not about the page. Takes CPU time."""
    if answered is None or not is_good(answered) or not is_html(answered):
        return Said()
    document, _ = parse_html(decode_html(answered.body, answered.content_type))
    found = read_metadata(document.iter(), answered.final_url, token)
    rules = [name for name, holds in (("noindex", found.noindex), ("nofollow", found.nofollow)) if holds]
    return Said(found.title, found.description, found.language or "", ", ".join(rules))


def is_good(response: Response) -> bool:
    """Whether the site served something under a 2xx."""
    return 200 <= response.status < 300  # noqa: PLR2004


def is_html(response: Response) -> bool:
    """Whether the body is HTML by its declaration and first bytes."""
    return kind_of(response.content_type, response.body, response.final_url) is BodyKind.HTML


def wrap(inner: str, said: Said, title: str = "") -> bytes:
    """A minimal page around `inner`, which is HTML. No title at all where none is known: the first heading serves."""
    shown = title or said.title
    head = [f"<title>{escape(shown)}</title>"] if shown else []
    metas = (("description", said.description), ("robots", said.robots))
    head += [f'<meta name="{name}" content="{escape(value)}">' for name, value in metas if value]
    language = f' lang="{escape(said.language)}"' if said.language else ""
    page = (
        f'<!doctype html>\n<html{language}><head><meta charset="utf-8">{"".join(head)}</head>\n'
        f"<body><main>\n{inner}</main></body></html>\n"
    )
    return page.encode("utf-8", "replace")


def paragraphs_as_html(paragraphs: Iterable[str]) -> str:
    """Each paragraph in its own `<p>`."""
    return "".join(f"<p>{escape(paragraph)}</p>\n" for paragraph in paragraphs)


def markdown_as_html(markdown: str) -> str:
    """CommonMark with tables and strikethrough. HTML in it becomes text, and links of other schemes than a page's
    become text too (markdown-it's own rule: no `javascript:`, `vbscript:`, `file:` or `data:`)."""
    reader = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    return str(reader.render(markdown[:MAX_MARKDOWN]))


def first_heading(markdown: str) -> str:
    """The first `#` heading, as plain text; "" without one near the top."""
    for line in markdown[:20_000].splitlines():
        if line.startswith("# "):
            return line.strip("# \t").replace("*", "").replace("`", "")[:300]
    return ""


def with_controls(page: bytes) -> str:
    """The page as if every short line of it could be pressed and it asked for a password: what words do not show, and
    walls are told by."""
    html = _SHORT_LINE.sub(r"<\1><button>\2</button></\1>", page.decode())
    return html.replace("</body>", '<form><input type="email"><input type="password"></form></body>')
