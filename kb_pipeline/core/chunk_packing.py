"""Packs the units of a page into chunks. Where one section may influence the chunks of another is decided here, and
only here: see `pack`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.fingerprints import fingerprint
from kb_pipeline.core.markdown_blocks import BlockKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kb_pipeline.core.chunk_units import Unit

LANDMARK_REACH: Final = 8


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in tokens."""

    target: int
    """Most that a chunk holds, its overlap included."""
    overlap: int
    """What the end of a chunk repeats at the start of the next, about."""
    section: int
    """From this size on, the next heading starts a new chunk."""


@dataclass(frozen=True, slots=True)
class Packed:
    """The units of one chunk: sentences carried over from the chunk before, then its own."""

    carried: tuple[Unit, ...]
    own: tuple[Unit, ...]

    def render(self) -> tuple[str, list[tuple[int, int]]]:
        """The chunk's Markdown, and where in it each unit stands. A fence or table that began in an earlier chunk opens
        again."""
        return render((*self.carried, *self.own))


def pack(units: Sequence[Unit], headings: Sequence[str], limits: Limits) -> list[Packed]:
    """Chunks of a page. `headings` holds each heading with its parents, as one text, in order.

    Sections (a heading and what stands under it) are first joined into groups: a heading starts a new group once the
    current one holds `limits.section` tokens. Each group is then packed greedily, by itself, with overlap inside it
    and none across its borders. So an edit changes the chunks of its own group, from the edited unit on, and
    - where no section of the page is smaller than `limits.section`, every section is a group, and no chunk of
      another section ever changes;
    - where the edited section is smaller than that, before or after, and its group now ends elsewhere, the following
      groups shift too, up to the next section that is large enough by itself, or the next *landmark*: a heading whose
      hash is the least among its LANDMARK_REACH neighbours on both sides. It starts a group whatever stands before
      it, depends on headings alone, and comes along every 17 headings or so; shorter pages have none.
    """
    landmarks = _landmarks(headings)
    return [packed for group in _groups(units, landmarks, limits) for packed in _pack_group(group, limits)]


def _landmarks(headings: Sequence[str]) -> frozenset[int]:
    """Numbers (from 1, as `Unit.heading` counts) of the headings that start a group in any case."""
    hashes = [fingerprint(heading) for heading in headings]
    found = set()
    for at in range(LANDMARK_REACH, len(hashes) - LANDMARK_REACH):
        neighbours = hashes[at - LANDMARK_REACH : at] + hashes[at + 1 : at + 1 + LANDMARK_REACH]
        if hashes[at] < min(neighbours):
            found.add(at + 1)
    return frozenset(found)


def _groups(units: Sequence[Unit], landmarks: frozenset[int], limits: Limits) -> Iterator[list[Unit]]:
    group: list[Unit] = []
    held = 0
    for unit in units:
        starts_section = bool(group) and unit.heading != group[-1].heading
        if starts_section and (held >= limits.section or unit.heading in landmarks):
            yield group
            group, held = [], 0
        held += _cost(unit, group[-1] if group else None)
        group.append(unit)
    if group:
        yield group


def _pack_group(units: Sequence[Unit], limits: Limits) -> list[Packed]:
    packed: list[Packed] = []
    carried: tuple[Unit, ...] = ()
    own: list[Unit] = []
    held = 0
    for unit in units:
        cost = _cost(unit, own[-1] if own else None)
        if own and held + cost > limits.target:
            kept, waiting = _without_last_headings(own)
            packed.append(Packed(carried, tuple(kept)))
            own = [*waiting, unit]
            carried = () if waiting else _overlap(kept, limits.target - _size(own), limits)
            held = _size((*carried, *own))
        else:
            own.append(unit)
            held += cost
    packed.append(Packed(carried, tuple(own)))
    return [*packed[:-2], *_balanced(packed[-2:], limits)]


def _without_last_headings(own: Sequence[Unit]) -> tuple[Sequence[Unit], Sequence[Unit]]:
    """Split off the headings at the end of a chunk: they belong with what stands under them."""
    end = len(own)
    while end and own[end - 1].kind is BlockKind.HEADING:
        end -= 1
    return (own[:end], own[end:]) if end else (own, ())


def _overlap(units: Sequence[Unit], room: int, limits: Limits) -> tuple[Unit, ...]:
    """The last whole sentences: about `limits.overlap` tokens, half as much again at most, and never over `room`."""
    start, held = len(units), 0
    while start and held < limits.overlap:
        unit = units[start - 1]
        if unit.kind is not BlockKind.TEXT or not unit.whole:
            break
        if held + unit.tokens > min(room, limits.overlap * 3 // 2):
            break
        held += unit.tokens
        start -= 1
    return tuple(units[start:])


def _balanced(packed: Sequence[Packed], limits: Limits) -> Sequence[Packed]:
    """Even out the last two chunks of a group when the last one holds too little to stand alone."""
    if len(packed) < 2 or _size(packed[1].own) >= limits.section:  # noqa: PLR2004 - two chunks
        return packed
    first, units = packed[0], (*packed[0].own, *packed[1].own)
    best: Sequence[Packed] = packed
    least = _size((*first.carried, *first.own)) - _size((*packed[1].carried, *packed[1].own))
    for cut in range(len(first.own) - 1, 0, -1):
        if units[cut - 1].kind is BlockKind.HEADING:
            continue
        left, own = units[:cut], units[cut:]
        starts_at_heading = own[0].kind is BlockKind.HEADING
        carried = () if starts_at_heading else _overlap(left, limits.target - _size(own), limits)
        right_size = _size((*carried, *own))
        difference = abs(_size((*first.carried, *left)) - right_size)
        if right_size > limits.target or difference >= least:
            break
        best, least = (Packed(first.carried, left), Packed(carried, own)), difference
    return best


def _cost(unit: Unit, before: Unit | None) -> int:
    repeats_frame = before is None or before.block != unit.block
    return unit.tokens + (unit.frame_tokens if repeats_frame else 0)


def _size(units: Sequence[Unit]) -> int:
    return sum(_cost(unit, units[at - 1] if at else None) for at, unit in enumerate(units))


def render(units: Sequence[Unit]) -> tuple[str, list[tuple[int, int]]]:
    """Units in a row as Markdown, and where in it each of them stands: (start, end) in characters, with what opens and
    closes its block."""
    parts: list[str] = []
    places: list[tuple[int, int]] = []
    written = 0
    for at, unit in enumerate(units):
        opens = at == 0 or units[at - 1].block != unit.block
        closes = at + 1 == len(units) or units[at + 1].block != unit.block
        glue = unit.glue if at else ""
        lead = f"{unit.lead}\n" if opens and unit.lead else ""
        tail = f"\n{unit.tail}" if closes and unit.tail else ""
        parts.append(f"{glue}{lead}{unit.text}{tail}")
        places.append((written + len(glue), written + len(parts[-1])))
        written += len(parts[-1])
    text = "".join(parts)
    before = len(text) - len(text.lstrip("\n"))
    text = text.strip("\n")
    return text, [(max(0, start - before), min(len(text), end - before)) for start, end in places]
