"""What the block model is shown of each block: one row of numbers a block."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import inf, log
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kb_pipeline.core.html_tree import HEADING_TAGS, names
from kb_pipeline.core.page_blocks import TAG_BITS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from kb_pipeline.core.page_blocks import Block, Context

LOOKED_AT: Final = 8
"""Words of a block that are looked up."""
_HEADINGS: Final = sum(TAG_BITS[f"h{level}"] for level in range(1, 7))
_WORD_EDGES: Final = ".,:;!?()[]{}\"'`´“”„«»‹›…|/\\-–—•·→←↑>*#&+=_"  # noqa: RUF001 - punctuation as pages have it
_MONEY: Final = re.compile(r"[$€£¥₹]\s?\d|\d\s?(?:€|EUR|USD|kr\b|zł)")
_DIGIT: Final = re.compile(r"\d")
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


@dataclass(frozen=True, slots=True)
class PageKind:
    """What the page says of itself."""

    title: str
    url: str
    og_type: str


def _own(block: Block, title: frozenset[str]) -> tuple[float, ...]:
    words, text, letters = block.words, block.text, block.letters
    context = block.context
    node, above = context.node, context.above
    parent = above.node if above else node
    over = above.above if above else None
    grand = over.node if over else parent
    great = over.above.node if over and over.above else grand
    count = len(words)
    first = words[0]
    head = words[:20]
    sample = text[:600]
    return (
        count,
        letters,
        block.link_letters,
        text.count(",") + text.count(";") + text.count("\uff0c") + text.count("、"),
        text.count(". ") + text.count("! ") + text.count("? ") + text.count("。"),
        words[-1][-1] in ".!?。:…",
        first[:1].isupper(),
        sum(map(str.istitle, head)) / len(head),
        len(_DIGIT.findall(sample)) / min(letters, 600),
        bool(_MONEY.search(sample)),
        "©" in sample,
        len(title.intersection(map(str.lower, head))) / len(head) if title else 0,
        len(title.intersection(map(str.lower, head))) / len(title) if title else 0,
        context.depth,
        context.alike,
        context.most_alike,
        context.chosen,
        node.letters,
        node.link_letters,
        parent.letters,
        parent.link_letters,
        grand.letters,
        grand.link_letters,
        great.letters,
        great.link_letters,
        len(node.children),
        len(parent.children),
        above.alike if above else 1,
        over.alike if over else 1,
        block.last - block.first == len(node.children),
    )


def static_features(blocks: Sequence[Block], kind: PageKind) -> NDArray[np.float32]:
    """Rows without what the word tables say of a block."""
    title = frozenset(word for word in kind.title.lower().split() if len(word) > 2)  # noqa: PLR2004
    own = np.array([_own(block, title) for block in blocks], dtype=np.float32)
    tags = np.array([block.context.tags for block in blocks], dtype=np.uint64)
    bits = ((tags[:, None] >> np.arange(len(TAG_BITS), dtype=np.uint64)) & np.uint64(1)).astype(np.float32)
    node_tags = np.array([TAG_BITS.get(block.context.node.tag, 0) for block in blocks], dtype=np.uint64)
    own_bits = ((node_tags[:, None] >> np.arange(len(TAG_BITS), dtype=np.uint64)) & np.uint64(1)).astype(np.float32)
    return np.concatenate(
        [own, bits, own_bits, _around(own, node_tags), _page(own, bits, kind), _repeated(blocks, own)], axis=1
    )


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
    letters = np.bincount(shape, own[:, 1])
    linked = np.bincount(shape, own[:, 2])
    texts = _numbers([" ".join(block.words[:30]) for block in blocks])
    copies = np.bincount(texts)
    _, first = np.unique(texts, return_index=True)
    again = np.arange(len(blocks)) > first[texts]
    columns = [count[shape], (letters / count)[shape], (linked / np.maximum(letters, 1))[shape], copies[texts], again]
    return np.stack(columns, axis=1).astype(np.float32)


def _around(own: NDArray[np.float32], node_tags: NDArray[np.uint64]) -> NDArray[np.float32]:
    count = len(own)
    words, letters, linked = own[:, 0], own[:, 1], own[:, 2]
    total = max(1.0, float(letters.sum()))
    before = np.concatenate([[0.0], np.cumsum(letters)[:-1]])
    density = linked / np.maximum(letters, 1)
    place = np.arange(count)
    heading = (node_tags & np.uint64(_HEADINGS)) != 0
    first_level = node_tags == np.uint64(TAG_BITS["h1"])
    last = last_heading(heading)
    level = np.log2(np.maximum(node_tags, np.uint64(1)).astype(np.float64))
    h1 = np.argmax(first_level) if first_level.any() else 0
    chosen = own[:, 16] > 0
    shares = np.stack([own[:, column] for column in (17, 19, 21, 23)], axis=1) / total
    densities = np.stack([own[:, column + 1] / np.maximum(own[:, column], 1) for column in (17, 19, 21, 23)], axis=1)
    columns = [
        density,
        letters / np.maximum(words, 1),
        before / total,
        place / count,
        place,
        place[::-1],
        place - last,
        np.where(last >= 0, level[last], 0),
        before - before[last],
        place - h1,
        before - before[h1],
        np.full(count, float(first_level.sum())),
        *_shifted(np.log1p(letters)),
        *_shifted(density),
        *_shifted(heading.astype(np.float64)),
        _window(letters * (1 - density), 2),
        _window(letters * (1 - density), 6),
        _window(linked, 4) / np.maximum(_window(letters, 4), 1),
        _window(words, 3),
    ]
    inside = np.flatnonzero(chosen)
    start, end = (inside[0], inside[-1]) if len(inside) else (0, count - 1)
    columns += [place - start, end - place, np.full(count, letters[chosen].sum() / total)]
    return np.concatenate([np.stack(columns, axis=1), shares, densities], axis=1).astype(np.float32)


def last_heading(heading: NDArray[np.bool_]) -> NDArray[np.intp]:
    """For each place, the last heading before it; itself does not count; the first block where there is none."""
    marked = np.where(heading, np.arange(len(heading)), 0)
    marked = np.maximum.accumulate(marked)
    return np.concatenate([[0], marked[:-1]])


def _shifted(column: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Values of the two blocks before and the two after."""
    padded = np.concatenate([[-1, -1], column, [-1, -1]])
    count = len(column)
    return [padded[start : start + count] for start in (0, 1, 3, 4)]


def _window(column: NDArray[Any], reach: int) -> NDArray[np.float64]:
    """Means over the blocks within `reach`."""
    sums = np.concatenate([[0.0], np.cumsum(column, dtype=np.float64)])
    place = np.arange(len(column))
    low, high = np.maximum(place - reach, 0), np.minimum(place + reach + 1, len(column))
    return np.asarray((sums[high] - sums[low]) / (high - low))


def _page(own: NDArray[np.float32], bits: NDArray[np.float32], kind: PageKind) -> NDArray[np.float32]:
    letters, linked = own[:, 1], own[:, 2]
    total = max(1.0, float(letters.sum()))
    ordered = np.sort(letters)
    paragraph = bits[:, list(TAG_BITS).index("p")] > 0
    url = kind.url.lower().partition("://")[2]
    path = url.partition("/")[2]
    found = frozenset(_URL_WORDS.findall(path))
    facts = [
        len(own),
        total,
        float(linked.sum()) / total,
        float(letters[paragraph].sum()) / total,
        float(ordered[len(ordered) // 2]),
        float(ordered[-1]),
        float(ordered[len(ordered) * 9 // 10]),
        float((letters > _LONG).mean()),
        float(own[:, 9].mean()),
        float(own[:, 9].sum()),
        *(
            float(letters[bits[:, list(TAG_BITS).index(tag)] > 0].sum()) / total
            for tag in ("article", "main", "li", "table", "form", "a")
        ),
        float(own[:, 14].max()),
        path.strip("/").count("/") + bool(path.strip("/")),
        len(path),
        path.count("-"),
        *(bool(found & words) for words in URL_KINDS),
        kind.og_type == "article",
        "product" in kind.og_type,
        kind.og_type == "website",
    ]
    return np.tile(np.array(facts, dtype=np.float32), (len(own), 1))


Path = tuple[tuple[str, ...], ...]


def name_path(context: Context) -> Path:
    """The words of the names from the block's own element up."""
    path = []
    at: Context | None = context
    while at is not None:
        path.append(at.named)
        at = at.above
    return tuple(path)


def looked_up(block: Block) -> tuple[str, ...]:
    """The block's first words, as the table of words has them."""
    return tuple(filter(None, (word.strip(_WORD_EDGES).lower() for word in block.words[:LOOKED_AT])))


def scored_features(
    paths: Sequence[Path],
    words: Sequence[tuple[str, ...]],
    heading: NDArray[np.bool_],
    name_scores: Mapping[str, float],
    word_scores: Mapping[str, float],
) -> NDArray[np.float32]:
    """What the tables say of the names around and the words in each block."""
    known: dict[tuple[str, ...], Summary] = {}
    rows = [
        (*_name_row(path, name_scores, known), *_word_row(said, word_scores))
        for path, said in zip(paths, words, strict=True)
    ]
    scored = np.array(rows, dtype=np.float32)
    last = last_heading(heading)
    size = len(rows)
    over = scored[last] * (np.arange(size) > last)[:, None]
    around = np.stack(
        [_window(scored[:, 2], 3), _window(scored[:, -1], 3), *_shifted(scored[:, -1].astype(np.float64))], axis=1
    )
    return np.concatenate([scored, over[:, -4:], around, np.tile(scored.mean(axis=0), (size, 1))], axis=1).astype(
        np.float32
    )


Summary = tuple[float, float, float, int]
"""Lowest and highest score, their sum, and how many."""
_UNSAID: Final = (0.0,) * 4
_NOTHING_SAID: Final[Summary] = (inf, -inf, 0.0, 0)
_NEAR: Final = 2
"""Levels above a block's own that are near."""


def _name_row(path: Path, scores: Mapping[str, float], known: dict[tuple[str, ...], Summary]) -> tuple[float, ...]:
    low, high, total, count = _NOTHING_SAID
    near = own = _NOTHING_SAID
    for level, named in enumerate(path):
        summary = known.get(named)
        if summary is None:
            found = [scores[word] for word in named if word in scores]
            summary = known[named] = (min(found), max(found), sum(found), len(found)) if found else _NOTHING_SAID
        if summary[3]:
            low, high = min(low, summary[0]), max(high, summary[1])
            total, count = total + summary[2], count + summary[3]
        if level == 0:
            own = summary
        if level == _NEAR:
            near = low, high, total, count
    if len(path) <= _NEAR:
        near = low, high, total, count
    mean = total / count if count else 0.0
    ends = (low, high) if count else (0.0, 0.0)
    near_ends = near[:2] if near[3] else (0.0, 0.0)
    return (*ends, total, mean, *near_ends, near[2], own[2])


def _word_row(said: tuple[str, ...], scores: Mapping[str, float]) -> tuple[float, ...]:
    found = [score for score in map(scores.get, said) if score is not None]
    if not found:
        return _UNSAID
    return min(found), max(found), sum(found), sum(found) / len(said)


def log_odds(share: float) -> float:
    """Of a share between 0 and 1, both excluded."""
    return log(share / (1 - share))
