"""What the block model is shown of each block: one row of numbers a block."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kb_pipeline.core.block_arrays import columns_of, filled, last_heading, shifted, window
from kb_pipeline.core.html_tree import HEADING_TAGS, names
from kb_pipeline.core.page_blocks import TAG_BITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from kb_pipeline.core.block_words import Outline
    from kb_pipeline.core.page_blocks import Block, Context

_HEADINGS: Final = sum(TAG_BITS[f"h{level}"] for level in range(1, 7))
_ENDS: Final = ".!?。:…"
_MONEY: Final = "$€£¥₹"
_URL_WORDS: Final = re.compile(r"[a-z]+")
URL_KINDS: Final = (
    names("blog blogs news article articles story stories post posts"),
    names("product products item dp shop store buy"),
    names(
        "forum forums thread threads topic topics viewtopic showthread questions comments"
        " discussion discussions community t"
    ),
    names("docs doc documentation guide guides reference manual help learn tutorial api wiki support"),
    names("category categories collection collections c tag tags search catalog list listing jobs events"),
)
_LONG: Final = 100
_HEAD: Final = 20
"""Words of a block that are looked for in the title."""
_WORDS, _LETTERS, _LINKED, _ALIKE, _CHOSEN = 0, 1, 2, 6, 8
"""Where the rows have these,"""
_SIZES, _LINKED_SIZES = slice(9, 17, 2), slice(10, 17, 2)
"""and the letters of the four elements around a block, each before the letters of its links."""
_COLUMN: Final = {tag: place for place, tag in enumerate(TAG_BITS)}
_TELLING: Final = [_COLUMN[tag] for tag in ("p", "article", "main", "li", "table", "form", "a")]
"""Tags whose share of a page's letters tells what kind of page it is."""
_OWN_TAGS: Final = [_COLUMN[tag] for tag in ("div", "h2", "h3", "p", "pre", "ul", "table", "noscript", "dl")]
"""Tags of a block's own element that make a difference."""


@dataclass(frozen=True, slots=True)
class PageKind:
    """What the page says of itself."""

    title: str
    url: str
    og_type: str


def _held(contexts: Sequence[Context]) -> NDArray[np.float32]:
    """What the elements that hold blocks are like."""
    return columns_of(
        [
            (
                context.depth,
                context.alike,
                context.most_alike,
                context.chosen,
                (node := context.node).letters,
                node.link_letters,
                len(node.children),
            )
            for context in contexts
        ]
    )


def _variants(title: str) -> frozenset[str]:
    """A title's longer words, as a text may have them."""
    words = {word for word in title.split() if len(word) > 2}  # noqa: PLR2004
    return frozenset(form for word in words for form in (word, word.lower(), word.capitalize(), word.upper()))


def _own(blocks: Sequence[Block], outline: Outline, title: frozenset[str]) -> NDArray[np.float32]:
    said = columns_of(
        [
            (len(block.words), block.letters, block.link_letters, block.words[-1][-1] in _ENDS, block.text.count(","))
            for block in blocks
        ]
    )
    held = _held(outline.contexts)
    at = outline.of_blocks
    over = outline.above[at]
    grand = outline.above[over]
    great = outline.above[grand]
    alike, inside = held[1], held[6]
    titled = np.array([_shared(title, block.words[:_HEAD]) for block in blocks], dtype=np.float32)
    columns = [
        inside[at],
        inside[over],
        alike[over],
        alike[grand],
        titled / np.minimum(said[0], _HEAD),
        titled / max(1, len(title)),
    ]
    sizes = [held[4:6].take(place, axis=1) for place in (at, over, grand, great)]
    return np.concatenate([said, held[:4].take(at, axis=1), *sizes, filled(columns, len(blocks))], dtype=np.float32)


def _shared(title: frozenset[str], words: Sequence[str]) -> int:
    return 0 if title.isdisjoint(words) else len(title.intersection(words))


def static_features(blocks: Sequence[Block], outline: Outline, kind: PageKind) -> NDArray[np.float32]:
    """Rows without what the word tables say of a block. They are stored column by column, as trees ask for them."""
    own = _own(blocks, outline, _variants(kind.title))
    tags = np.array([context.tags for context in outline.contexts], dtype=np.uint64)[outline.of_blocks]
    node_tags = np.array([TAG_BITS.get(block.context.node.tag, 0) for block in blocks], dtype=np.uint64)
    bits = _bits(tags)
    columns: list[NDArray[np.float32] | NDArray[np.uint8]] = [
        own,
        bits,
        _bits(node_tags)[_OWN_TAGS],
        _around(own, node_tags),
        _page(blocks, own, bits, kind),
        _repeated(blocks, own),
    ]
    return np.concatenate(columns, dtype=np.float32).T


def _bits(tags: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """A column for each of TAG_BITS."""
    octets = tags.astype("<u8").view(np.uint8).reshape(-1, 8).T
    return np.unpackbits(octets, axis=0, count=len(TAG_BITS), bitorder="little")


def heading_blocks(blocks: Sequence[Block]) -> NDArray[np.bool_]:
    """Which blocks are headings."""
    return np.array([block.context.node.tag in HEADING_TAGS for block in blocks])


def _numbers(keys: Sequence[object]) -> NDArray[np.intp]:
    seen: dict[object, int] = {}
    return np.array([seen.setdefault(key, len(seen)) for key in keys], dtype=np.intp)


def _repeated(blocks: Sequence[Block], own: NDArray[np.float32]) -> NDArray[np.float32]:
    """How often a block's shape and its text occur, and what blocks of its shape are like."""
    shape = _numbers([(block.context.shape, block.first == 0) for block in blocks])
    count = np.bincount(shape)
    letters = np.bincount(shape, own[_LETTERS])
    linked = np.bincount(shape, own[_LINKED])
    texts = _numbers([block.text.strip() for block in blocks])
    copies = np.bincount(texts)
    # Numbers are given in order: one that is not new is no larger than those before.
    again = texts <= np.concatenate([[-1], np.maximum.accumulate(texts)[:-1]])
    columns = [count[shape], (letters / count)[shape], (linked / np.maximum(letters, 1))[shape], copies[texts], again]
    return filled(columns, len(blocks))


def _around(own: NDArray[np.float32], node_tags: NDArray[np.uint64]) -> NDArray[np.float32]:
    letters, linked = own[_LETTERS], own[_LINKED]
    total = max(1.0, float(letters.sum()))
    before = np.concatenate([[0.0], np.cumsum(letters)[:-1]])
    density = linked / np.maximum(letters, 1)
    columns = [
        density,
        letters / np.maximum(own[_WORDS], 1),
        before / total,
        *_places(node_tags, before),
        *shifted(np.log1p(letters)),
        *shifted(density),
        window(letters * (1 - density), 2),
        window(linked, 4) / np.maximum(window(letters, 4), 1),
        *_chosen(own[_CHOSEN] > 0, letters, total),
        *(own[_SIZES] / total),
        *(own[_LINKED_SIZES] / np.maximum(own[_SIZES], 1)),
    ]
    return filled(columns, len(letters))


def _places(node_tags: NDArray[np.uint64], before: NDArray[np.float64]) -> list[ArrayLike]:
    """Where each block stands on the page, after its heading and after the first h1."""
    count = len(node_tags)
    place = np.arange(count)
    last = last_heading((node_tags & np.uint64(_HEADINGS)) != 0)
    level = np.log2(np.maximum(node_tags, np.uint64(1)).astype(np.float64))
    first_level = node_tags == np.uint64(TAG_BITS["h1"])
    h1 = first_level.argmax()
    return [
        place / count,
        place,
        place[::-1],
        place - last,
        level[last],
        before - before[last],
        place - h1,
        before - before[h1],
        float(first_level.sum()),
    ]


def _chosen(chosen: NDArray[np.bool_], letters: NDArray[np.float32], total: float) -> list[ArrayLike]:
    """Where each block stands in what the page marks as its content, and how much that is."""
    inside = np.flatnonzero(chosen)
    start, end = (inside[0], inside[-1]) if len(inside) else (0, len(chosen) - 1)
    place = np.arange(len(chosen))
    return [place - start, end - place, letters[chosen].sum() / total]


def _page(
    blocks: Sequence[Block], own: NDArray[np.float32], bits: NDArray[np.uint8], kind: PageKind
) -> NDArray[np.float32]:
    letters, linked = own[_LETTERS], own[_LINKED]
    count = len(letters)
    total = max(1.0, float(letters.sum()))
    ordered = np.sort(letters)
    paragraphs, *within = ((bits[_TELLING] * letters).sum(axis=1) / total).tolist()
    text = "\n".join([block.text for block in blocks])
    prices = sum([text.count(sign) for sign in _MONEY if sign in text])  # to look is much faster than to count
    facts = [
        count,
        total,
        float(linked.sum()) / total,
        paragraphs,
        float(ordered[count // 2]),
        float(ordered[-1]),
        float(ordered[count * 9 // 10]),
        float((letters > _LONG).mean()),
        prices / count,
        prices,
        *within,
        float(own[_ALIKE].max()),
        *_address(kind.url),
        kind.og_type == "article",
        "product" in kind.og_type,
        kind.og_type == "website",
    ]
    return np.broadcast_to(np.array(facts, dtype=np.float32)[:, None], (len(facts), count))


def _address(url: str) -> list[float]:
    path = url.lower().partition("://")[2].partition("/")[2]
    found = frozenset(_URL_WORDS.findall(path))
    return [
        path.strip("/").count("/") + bool(path.strip("/")),
        len(path),
        path.count("-"),
        *(not found.isdisjoint(words) for words in URL_KINDS),
    ]
