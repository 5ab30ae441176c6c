"""Which of a group's rules decides a path (RFC 9309 §2.2.2), without trying them one after the other: a file of half
a mebibyte holds 20,000 rules, and hundreds of thousands of addresses are asked of it.

Patterns and paths are in the form that core.robots gives them: a star or a dollar sign in a path is escaped.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

NO_RULE: Final = -1
_FEW: Final = 8
"""So many are tried one after the other: to look them up would cost more."""
_HEAD: Final = 3

Value = TypeVar("Value")


def rank_of(pattern: str, *, allow: bool) -> int:
    """Ranks order rules: the longer pattern, in octets, is above; of the same length, Allow is above Disallow."""
    return 2 * len(pattern) + allow


def is_allowed(rank: int) -> bool:
    """Whether the rule of this rank allows. Where no rule matches, all is allowed."""
    return rank == NO_RULE or bool(rank & 1)


class RuleIndex:
    """The rules of one product token, as (pattern, rank). `*` is any text, `$` at the end is the end of the path."""

    def __init__(self, rules: Iterable[tuple[str, int]]) -> None:
        literals: dict[str, int] = {}
        wildcards: dict[str, list[_Wildcard]] = {}
        self._exact: dict[str, int] = {}
        self.stars = 0
        """Wildcards in all rules together: what a check may cost, at worst, grows with them."""
        for pattern, rank in rules:
            if "*" in pattern:
                self.stars += pattern.count("*")
                first, rule = _taken_apart(pattern, rank)
                wildcards.setdefault(first, []).append(rule)
            elif pattern.endswith("$"):
                _raise_to(self._exact, pattern[:-1], rank)
            else:
                _raise_to(literals, pattern, rank)
        self._literals = _Beginnings(literals)
        self._wildcards = _Beginnings(
            {first: _Bundle(sorted(alike, key=lambda rule: rule.middle)) for first, alike in wildcards.items()}
        )

    def best(self, path: str) -> int:
        """The rank of the highest rule that matches; NO_RULE when none does."""
        _, literal = next(self._literals.of(path), ("", NO_RULE))
        best = max(literal, self._exact.get(path, NO_RULE))
        asked = _Path(path)
        waiting = [(bundle, len(first)) for first, bundle in self._wildcards.of(path)]
        while waiting:
            bundle, position = waiting.pop()
            if bundle.best > best:
                best = bundle.visit(best, asked, position, waiting)
        return best


def _raise_to(ranks: dict[str, int], key: str, rank: int) -> None:
    ranks[key] = max(rank, ranks.get(key, NO_RULE))


class _Wildcard(NamedTuple):
    """A rule with stars, cut at them; the text before the first one is known by whoever holds it."""

    rank: int
    middle: tuple[str, ...]
    last: str | None
    """Text that the path must end with; None when the rule matches whatever follows."""


def _taken_apart(pattern: str, rank: int) -> tuple[str, _Wildcard]:
    first, *middle = pattern.removesuffix("$").split("*")
    last = middle.pop() if pattern.endswith("$") else None
    return first, _Wildcard(rank, tuple(filter(None, middle)), last)


class _Path:
    """A path, and what many bundles ask of it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._runs: dict[int, frozenset[str]] = {}

    @cached_property
    def backwards(self) -> str:
        return self.text[::-1]

    def runs(self, length: int) -> frozenset[str]:
        """Every run of so many characters."""
        if length not in self._runs:
            text = self.text
            self._runs[length] = frozenset([text[at : at + length] for at in range(len(text) - length + 1)])
        return self._runs[length]

    def after(self, pieces: Sequence[str], position: int) -> int:
        """Where the leftmost occurrence of the pieces, in order, ends; -1 where there is none. What matches with stars
        matches leftmost, so nothing is tried twice."""
        for piece in pieces:
            found = self.text.find(piece, position)
            if found < 0:
                return -1
            position = found + len(piece)
        return position


class _Bundle:
    """Rules that agree in their first `depth` pieces, sorted by their pieces. Many are split by the next piece when
    they are first asked: what they share is looked for once, and only those whose next piece occurs are followed."""

    def __init__(self, rules: list[_Wildcard], depth: int = 0) -> None:
        self.best = max([rule.rank for rule in rules])
        self._rules = rules
        self._depth = depth

    @cached_property
    def _few(self) -> list[_Wildcard]:
        tails = [rule._replace(middle=rule.middle[self._depth :]) for rule in self._rules]
        return sorted(tails, key=lambda rule: -rule.rank)

    @cached_property
    def _split(self) -> _Split:
        return _Split(self._rules, self._depth)

    def visit(self, best: int, path: _Path, position: int, waiting: list[tuple[_Bundle, int]]) -> int:
        """The highest rank of the rules here that match from `position` on, or `best`. What is left to visit for
        further ones is put on `waiting`."""
        if len(self._rules) <= _FEW:
            return self._best_of_few(best, path, position)
        split = self._split
        if path.text.rfind(split.final) < position or (position := path.after(split.shared, position)) < 0:
            return best
        waiting += split.further.found(path, position)
        return max(best, split.best_ending(path, position))

    def _best_of_few(self, best: int, path: _Path, position: int) -> int:
        for rank, middle, last in self._few:
            if rank <= best:
                break
            if last is not None and not path.text.endswith(last):
                continue
            end = path.after(middle, position)
            if end >= 0 and len(path.text) - end >= len(last or ""):
                return rank
        return best


class _Split:
    """A bundle's rules by what comes next in them."""

    def __init__(self, rules: list[_Wildcard], depth: int) -> None:
        self.final = _common_end(rules, depth)
        self.shared = _common_start(rules, depth)
        depth += len(self.shared)
        self._open = NO_RULE
        endings: dict[str, int] = {}
        further: dict[str, list[_Wildcard]] = {}
        for rule in rules:
            if len(rule.middle) > depth:
                further.setdefault(rule.middle[depth], []).append(rule)
            elif rule.last is None:
                self._open = max(self._open, rule.rank)
            else:
                _raise_to(endings, rule.last[::-1], rule.rank)
        self._endings = _Beginnings(endings)
        self.further = _Occurrences({piece: _Bundle(alike, depth + 1) for piece, alike in further.items()})

    def best_ending(self, path: _Path, position: int) -> int:
        """The highest rank of the rules without a further piece. Their last text may not overlap what was matched."""
        room = len(path.text) - position
        ending = (rank for last, rank in self._endings.of(path.backwards) if len(last) <= room)
        return max(self._open, max(ending, default=NO_RULE))


def _common_start(rules: list[_Wildcard], depth: int) -> tuple[str, ...]:
    """The pieces from `depth` on that all share: of sorted ones, what the first and the last do."""
    low, high = rules[0].middle[depth:], rules[-1].middle[depth:]
    length = next((at for at, (one, other) in enumerate(zip(low, high, strict=False)) if one != other), len(low))
    return low[:length]


def _common_end(rules: list[_Wildcard], depth: int) -> str:
    """The text that each of the rules still needs after all others; "" when they need different ones."""
    ends = {rule.last or (rule.middle[-1] if len(rule.middle) > depth else "") for rule in rules}
    return ends.pop() if len(ends) == 1 else ""


class _Beginnings(Generic[Value]):
    """Texts, asked which of them another text begins with. Each knows the longest of the others that it begins with:
    the one that sorts next to the text asked about leads to all."""

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._texts = sorted(values)
        self._values = [values[text] for text in self._texts]
        self._shorter: list[int] = []
        within: list[int] = []
        for place, text in enumerate(self._texts):
            while within and not text.startswith(self._texts[within[-1]]):
                within.pop()
            self._shorter.append(within[-1] if within else -1)
            within.append(place)

    def __len__(self) -> int:
        return len(self._texts)

    def __iter__(self) -> Iterator[tuple[str, Value]]:
        return zip(self._texts, self._values, strict=True)

    def of(self, text: str, start: int = 0) -> Iterator[tuple[str, Value]]:
        """Those that `text` begins with at `start`, the longest first, with their values."""
        text, texts, shorter = text[start:], self._texts, self._shorter
        place = bisect_right(texts, text) - 1
        if place >= 0 and not text.startswith(texts[place]):
            common = _common_length(text, texts[place])
            while place >= 0 and len(texts[place]) > common:
                place = shorter[place]
        while place >= 0:
            yield texts[place], self._values[place]
            place = shorter[place]


def _common_length(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


class _Occurrences:
    """Bundles by the piece that comes next in their rules, asked which of the pieces occur in a path."""

    def __init__(self, bundles: dict[str, _Bundle]) -> None:
        self._bundles = bundles
        self._by_head: dict[int, dict[str, _Beginnings[_Bundle]]] = {}
        if len(bundles) > _FEW:
            heads: dict[str, dict[str, _Bundle]] = {}
            for piece, bundle in bundles.items():
                heads.setdefault(piece[:_HEAD], {})[piece] = bundle
            for head, alike in heads.items():
                self._by_head.setdefault(len(head), {})[head] = _Beginnings(alike)

    def found(self, path: _Path, position: int) -> list[tuple[_Bundle, int]]:
        """The bundles whose piece occurs from `position` on, with where it ends; the most promising last."""
        found: list[tuple[_Bundle, int]] = []
        if not self._by_head:
            places = ((bundle, piece, path.text.find(piece, position)) for piece, bundle in self._bundles.items())
            found += [(bundle, at + len(piece)) for bundle, piece, at in places if at >= 0]
        for length, pieces in self._by_head.items():
            for head in pieces.keys() & path.runs(length):
                found += _with_head(head, pieces[head], path.text, position)
        return sorted(found, key=lambda place: place[0].best)


def _with_head(head: str, pieces: _Beginnings[_Bundle], text: str, position: int) -> Iterator[tuple[_Bundle, int]]:
    if len(pieces) <= text.count(head, position):
        places = ((bundle, piece, text.find(piece, position)) for piece, bundle in pieces)
        yield from ((bundle, at + len(piece)) for bundle, piece, at in places if at >= 0)
        return
    seen: set[str] = set()
    at = text.find(head, position)
    while at >= 0 and len(seen) < len(pieces):
        for piece, bundle in pieces.of(text, at):
            if piece not in seen:
                seen.add(piece)
                yield bundle, at + len(piece)
        at = text.find(head, at + 1)
