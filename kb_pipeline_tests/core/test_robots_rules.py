"""The index finds the rule that trying them all would find."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb_pipeline.core.robots_rules import NO_RULE, RuleIndex, is_allowed, rank_of


class Writer:
    """Random rules and paths of few letters, so that rules share their beginnings, overlap and nest."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._letters = self._random.choice(["a", "ab", "ab/", "abc%"])

    def text(self, most: int) -> str:
        return "".join(self._random.choices(self._letters, k=self._random.randint(0, most)))

    def rule(self) -> tuple[str, int]:
        pieces = [self.text(self._random.choice([1, 2, 5])) for _ in range(self._random.randint(1, 6))]
        pattern = f"/{'*'.join(pieces)}{self._random.choice(['', '$'])}"
        return pattern, rank_of(pattern, allow=self._random.random() < 0.4)

    def rules(self) -> list[tuple[str, int]]:
        return [self.rule() for _ in range(self._random.choice([3, 20, 60, 200]))]


def matches(pattern: str, path: str) -> bool:
    """RFC 9309 §2.2.3 as a regular expression, with all the time it takes."""
    body = pattern.removesuffix("$")
    expression = ".*".join(map(re.escape, body.split("*")))
    return re.match(expression + ("$" if pattern.endswith("$") else ""), path) is not None


def naive_best(rules, path: str) -> int:
    return max((rank for pattern, rank in rules if matches(pattern, path)), default=NO_RULE)


@given(st.integers(min_value=0))
def test_the_index_finds_what_trying_every_rule_finds(seed):
    written = Writer(seed)
    rules = written.rules()
    index = RuleIndex(rules)
    for path in [f"/{written.text(30)}" for _ in range(5)]:
        assert index.best(path) == naive_best(rules, path)


@given(st.integers(min_value=9, max_value=60), st.text(alphabet="ab/", max_size=24).map("/{}".format))
def test_rules_that_nest_in_each_other_are_told_apart(count, path):
    rules = [
        (pattern, rank_of(pattern, allow=bool(number % 3)))
        for number in range(count)
        for pattern in (f"/{'a' * number}", f"/{'*a' * number}", f"/{'*b' * number}*a$", f"/a{'*ab' * number}/")
    ]
    assert RuleIndex(rules).best(path) == naive_best(rules, path)


def test_short_pieces_that_occur_all_over_a_path_are_found_as_trying_every_rule_finds_them():
    chosen = random.Random(1)
    pieces = [["".join(chosen.choices("ab", k=chosen.randint(1, 6))) for _ in range(4)] for _ in range(600)]
    rules = [(f"/*{'*'.join(some)}", 2 * number) for number, some in enumerate(pieces)]
    index = RuleIndex(rules)
    assert index.stars == 4 * 600
    for path in ("/" + "ab" * 100, "/" + "aab" * 60, "/" + "".join(chosen.choices("ab", k=200)), "/ab" + "c" * 100):
        assert index.best(path) == naive_best(rules, path)


def test_where_no_rule_matches_all_is_allowed():
    assert is_allowed(RuleIndex([]).best("/x"))


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("/*a*a*a*b{}$".format, "/" + "a" * 2_000 + "b777"),
        ("/*a*a*a*{}b".format, "/" + "a" * 2_000 + "777b"),
        ("/*?filter_{}=".format, "/shop/item-1?page=2&x?filter_777=y"),
        ("/{0}/*/{0}$".format, "/777/" + "a/" * 1_000 + "777"),
        (lambda number: "/" + "*a" * (number % 778) + "*z", "/" + "a" * 777 + "z"),
        (lambda number: "/" + "a" * (number % 778), "/" + "a" * 777 + "z"),
        (lambda number: f"/*{'*'.join('ab'[number >> bit & 1] for bit in range(13))}*c", "/" + "ab" * 1_000 + "c"),
    ],
    ids=["ends", "pieces", "parameters", "both ends", "nested stars", "nested", "all orders"],
)
def test_half_a_mebibyte_of_rules_that_are_alike_gives_the_one_that_matches(line, path):
    patterns = dict.fromkeys(line(number) for number in range(20_000))
    index = RuleIndex((pattern, rank_of(pattern, allow=False)) for pattern in patterns)
    for _ in range(100):
        assert index.best(path) == rank_of(line(777), allow=False)
    assert not is_allowed(index.best(path))
