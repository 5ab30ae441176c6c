"""The blocks of a page in document order, each kept or dropped and for which reason, out of what a Trace has heard."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.markdown_inline import clean
from kb_pipeline.core.page_blocks import PARTING
from kb_pipeline.core.reasons import Reason, Way
from kb_pipeline.core.trace import texts_before

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kb_pipeline.core.html_tree import Node
    from kb_pipeline.core.reasons import Addition, NotWeighed
    from kb_pipeline.core.trace import Trace

MAX_EXPLAINED: Final = 5_000
MAX_BLOCK_CHARACTERS: Final = 4_000
_PATH_ELEMENTS: Final = 4
_MAX_NAME: Final = 60
_UNREAD: Final = frozenset({"script", "style", "head"})
_APART: Final = PARTING | {"option", "button"}


@dataclass(frozen=True, slots=True)
class ExplainedBlock:
    """A block of text, or an element that was taken out with all its text."""

    kept: bool
    reason: Reason
    share: float | None
    """How likely it is content, 0 to 1; None where the model was not asked for it."""
    path: str
    """The element and up to three above it, outermost first: `main > div.post > p`."""
    text: str
    """White space collapsed, invisible characters dropped, cut at 4,000 characters."""
    letters: int
    """Of all its text, white space not counted."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What was decided of a body."""

    way: Way | None
    not_weighed: NotWeighed | None
    """Why it was not chosen block by block."""
    cut: float | None
    """The share from which blocks are kept."""
    additions: tuple[Addition, ...]
    blocks: tuple[ExplainedBlock, ...]
    """In document order; none for a PDF or plain text, of which no blocks are chosen."""
    left_out: int
    """Blocks after the first 5,000."""


def explain(trace: Trace) -> Explanation:
    """What `trace` was told while a page was read."""
    blocks: list[ExplainedBlock] = []
    left_out = 0
    for part in _parts(trace):
        if len(blocks) < MAX_EXPLAINED:
            blocks.append(_explained(part, trace))
        else:
            left_out += 1
    return Explanation(trace.way, trace.not_weighed, trace.cut, tuple(trace.additions), tuple(blocks), left_out)


@dataclass(slots=True)
class _At:
    """An element on the way down, and what was decided of it or of one above."""

    node: Node
    above: _At | None
    gone: _At | None
    """The outermost element above, or this one, that was taken out."""
    block: int | None
    chosen: Node | None
    apart: int
    """The nearest element whose text stands by itself."""

    def path(self) -> str:
        names: list[str] = []
        at: _At | None = self
        while at is not None and len(names) < _PATH_ELEMENTS:
            names.append(_name(at.node))
            at = at.above
        return " > ".join(reversed(names))


@dataclass(slots=True)
class _Part:
    """Text of one fate that stands together."""

    at: _At
    key: tuple[int, int, int]
    pieces: list[str] = field(default_factory=list)
    size: int = 0
    letters: int = 0
    apart: int = 0

    def add(self, piece: str, at: _At) -> None:
        self.letters += sum(map(len, piece.split()))
        if self.size <= MAX_BLOCK_CHARACTERS:
            self.pieces += [" ", piece] if self.apart != at.apart else [piece]
            self.size += len(piece)
        self.apart = at.apart


def _parts(trace: Trace) -> Iterator[_Part]:
    part: _Part | None = None
    for piece, at in _pieces(trace):
        if piece.isspace():
            # Where the source parts what stands around it; it has no fate of its own.
            if part is not None:
                part.pieces.append(" ")
            continue
        key = (id(at.gone.node), 0, 0) if at.gone else (0, -1 if at.block is None else at.block, id(at.chosen))
        if part is None or part.key != key:
            if part is not None:
                yield part
            part = _Part(at, key)
        part.add(piece, at)
    if part is not None:
        yield part


def _pieces(trace: Trace) -> Iterator[tuple[str, _At]]:
    """The page's pieces of text as it came, but for those that are no text, with where they stand."""
    if trace.document is None:
        return
    chosen = set(map(id, trace.chosen))
    body = trace.document.find("body") or trace.document
    stack: list[tuple[Node | str, _At | None, int | None]] = [(body, None, None)]
    while stack:
        item, above, block = stack.pop()
        if isinstance(item, str):
            assert above is not None
            yield item, above if block == above.block else _in_block(above, block)
        elif item.tag == "br" and above is not None:
            above.apart = id(item)
        elif item.tag not in _UNREAD:
            at = _entered(item, above, trace, chosen)
            stack += reversed(list(_children(at, trace)))


def _children(at: _At, trace: Trace) -> Iterator[tuple[Node | str, _At, int | None]]:
    node = id(at.node)
    children = trace.children.get(node, at.node.children)
    for child, number in zip(children, texts_before(children), strict=True):
        yield child, at, at.block if at.block is not None else trace.text_owners.get((node, number))


def _entered(node: Node, above: _At | None, trace: Trace, chosen: set[int]) -> _At:
    at = _At(node, above, None, None, None, 0)
    if above is not None:
        at.gone, at.block, at.chosen, at.apart = above.gone, above.block, above.chosen, above.apart
    if at.gone is None and id(node) in trace.gone:
        at.gone = at
    if at.block is None:
        at.block = trace.owners.get(id(node))
    if at.chosen is None and id(node) in chosen:
        at.chosen = node
    if node.tag in _APART:
        at.apart = id(node)
    return at


def _in_block(at: _At, block: int | None) -> _At:
    return _At(at.node, at.above, at.gone, block, at.chosen, at.apart)


def _explained(part: _Part, trace: Trace) -> ExplainedBlock:
    kept, reason, share = _decided(part.at, trace)
    at = part.at.gone or _holder(part.at, trace)
    text = clean(" ".join("".join(part.pieces).split()))
    shown = text if len(text) <= MAX_BLOCK_CHARACTERS else f"{text[:MAX_BLOCK_CHARACTERS]} \u2026"
    return ExplainedBlock(kept, reason, share, at.path(), shown, part.letters)


def _decided(at: _At, trace: Trace) -> tuple[bool, Reason, float | None]:
    if at.gone is not None:
        return False, trace.gone[id(at.gone.node)], None
    if trace.way is Way.BLOCKS and at.block is not None:
        kept, share = trace.kept[at.block], trace.shares[at.block]
        return kept, trace.raised.get(at.block, Reason.LIKELY) if kept else Reason.UNLIKELY, share
    if at.chosen is None:
        return False, Reason.OUTSIDE, None
    if trace.way is Way.WHOLE:
        return True, Reason.REMAINS, None
    return True, Reason.MARKED if at.chosen is trace.chosen[-1] else Reason.FIRST_H1, None


def _holder(at: _At, trace: Trace) -> _At:
    """The element that a block is, or is a run of."""
    if at.block is None:
        return at
    node = trace.blocks[at.block].context.node
    holder: _At | None = at
    while holder is not None and holder.node is not node:
        holder = holder.above
    return holder or at


def _name(node: Node) -> str:
    """As a style sheet would call it: tag, id, and its first classes."""
    written = "".join(f".{name}" for name in node.get("class").split()[:3])
    identifier = node.get("id")
    name = f"{node.tag}#{identifier}{written}" if identifier else f"{node.tag}{written}"
    return clean(" ".join(name[:_MAX_NAME].split()))
