"""What a site shows for addresses that do not exist: a made-up address to ask for, how its answer looks, and whether
a page looks the same. Pages that are alike are never enough: both must say the same, word by word but for what changes
with the address and the moment."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit, urlunsplit

from kb_pipeline.core.html_tree import parse_html
from kb_pipeline.core.page_signs import MOUNT_IDS, MOUNT_TAGS
from kb_pipeline.core.plain import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kb_pipeline.core.html_tree import Node
    from kb_pipeline.model import Text

LEAST_WORDS: Final = 5
"""An answer that says less could be anything."""
MOST_WORDS: Final = 300
"""An answer that says more is likelier a page of the site that is shown in place of others."""
MOST_OWN_WORDS: Final = 2
"""Words that a page may have and the not-found page not, and the other way round."""
WORDS_FOR_EACH_OWN: Final = 20
"""Words that both have in common for each of these."""
SAME_BUILD: Final = 0.9
"""Share of elements that both pages have in common."""
_INDEX: Final = re.compile(r"/(?:index|default)\.\w+$")
_LETTERS: Final = "bcdfghjkmnpqrstvwxz"
_SLUG_LETTERS: Final = 14
_WORD: Final = re.compile(r"\w+")
_VARIES: Final = re.compile(r"(?=.*\d)(?:[0-9a-f]{8,}|\w*\d\w*[a-z]\w*\d\w*|\d{3,})", re.IGNORECASE)
"""Numbers of requests and the like: they differ from one answer to the next."""
_MOMENT: Final = re.compile(r"\b\d{1,4}([-/.])\d{1,2}\1\d{1,4}\b|\b\d{1,2}:\d{2}(?::\d{2})?\b")
"""A date, or a time of the day."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a page says and how it is built."""

    title: tuple[str, ...]
    words: tuple[str, ...]
    """Of the extracted text, in lower case, without those of the page's address and what varies."""
    tags: Mapping[str, int]
    """How many elements of each name it is built of."""
    scripted: bool = False
    unfinished: bool = False
    """Scripts may write another page into it at each address: a page that looks so need not be missing."""


def made_up_address(start: str, seed: str, addresses: Iterable[str] = ()) -> str:
    """An address on the site that nobody has given to a page: a word that is none, in the folder that most of
    `addresses` are in. The same seed gives the same word."""
    digest = hashlib.sha256(f"{seed} {start}".encode()).digest()
    slug = "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:_SLUG_LETTERS])
    parts = urlsplit(start)
    folders = Counter(urlsplit(url).path.rpartition("/")[0] for url in addresses)
    folder = max(folders, key=lambda name: (folders[name], -len(name), name)) if folders else ""
    return urlunsplit((parts.scheme, parts.netloc, f"{folder}/{slug}", "", ""))


def is_above(url: str, made_up: str) -> bool:
    """Whether a page is the start page of the site, or of a folder that the made-up address is in. Some sites show the
    nearest of these for what does not exist."""
    page, asked = urlsplit(url), urlsplit(made_up)
    folder = _INDEX.sub("", page.path).rstrip("/") + "/"
    return not page.query and asked.path.startswith(folder)


def look_of(text: Text, html: str, *urls: str) -> Look | None:
    """How a page at these addresses looks; None for one that says too little to be compared. Of one that says more than
    MOST_WORDS, so many are kept that this is seen."""
    words = _words(plain_text(text.markdown), _address_words(urls))[: MOST_WORDS + 1]
    if len(words) < LEAST_WORDS:
        return None
    document, _ = parse_html(html)
    scripted = any(node.tag == "script" and _runs(node) for node in document.iter())
    unfinished = scripted and any(_is_mount(node) for node in document.iter())
    return Look(_words(text.title, _address_words(urls)), words, _tags(document), scripted, unfinished)


def is_same(page: Look, missing: Look) -> bool:
    """Whether a page is the one that the site shows for addresses that do not exist.

    Both have the same title, say the same words, and are built of the same elements. One or two words may differ
    where many are the same: a second of the day, a suggestion.
    """
    return page.title == missing.title and _says_the_same(page.words, missing.words) and _is_built_alike(page, missing)


def may_be_same(text: Text, missing: Look) -> bool:
    """Whether it is worth to look closer at a page: told from its length alone."""
    return abs(len(_WORD.findall(text.markdown)) - len(missing.words)) <= len(missing.words) // 2 + 2 * LEAST_WORDS


def _says_the_same(page: tuple[str, ...], missing: tuple[str, ...]) -> bool:
    if page == missing:
        return True
    here, there = Counter(page), Counter(missing)
    own, lacking = (here - there).total(), (there - here).total()
    allowed = min(MOST_OWN_WORDS, len(missing) // WORDS_FOR_EACH_OWN)
    return own <= allowed and lacking <= allowed


def _is_built_alike(page: Look, missing: Look) -> bool:
    here, there = Counter(page.tags), Counter(missing.tags)
    return (here & there).total() >= SAME_BUILD * (here | there).total()


def _words(text: str, but: frozenset[str]) -> tuple[str, ...]:
    found = (word.lower() for word in _WORD.findall(_MOMENT.sub(" ", text)))
    return tuple(word for word in found if word not in but and not _VARIES.fullmatch(word))


def _address_words(urls: Iterable[str]) -> frozenset[str]:
    """The words that the last segment of an address and its query are made of: pages repeat what they were asked for.
    Not those of its folders, which a page and a not-found page next to it share."""
    found: set[str] = set()
    for url in urls:
        parts = urlsplit(url)
        last = unquote(parts.path.rstrip("/").rpartition("/")[2])
        found.update(word.lower() for word in _WORD.findall(f"{last} {unquote(parts.query)}"))
    return frozenset(found)


def _runs(script: Node) -> bool:
    """Whether it is a program. Scripts hold data and templates too (HTML, 4.12.1)."""
    kind = script.get("type").lower()
    return not kind or kind == "module" or "javascript" in kind or "ecmascript" in kind


def _is_mount(node: Node) -> bool:
    return node.get("id") in MOUNT_IDS or bool(MOUNT_TAGS.fullmatch(node.tag))


def _tags(document: Node) -> dict[str, int]:
    return dict(Counter(node.tag for node in document.iter() if node.tag not in {"script", "style", "link", "meta"}))
