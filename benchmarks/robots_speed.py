"""How long a robots.txt of half a mebibyte takes to parse, and one check on it: an ordinary file, and files that were
made to be slow. Beside Protego, where it is installed. Reports; judges nothing.

    python -m benchmarks.robots_speed
"""

from __future__ import annotations

import importlib.util
import itertools
import random
import statistics
import time
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.robots import MAX_BYTES, Robots

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Check = Callable[[str], bool]

ORIGIN: Final = "https://example.com"
TOKEN: Final = "KbBot"
PATHS: Final = (
    "/section-17/topic-123456/page?x=1&y=2",
    "/shop/12/item345-67.html",
    "/en/docs/reference/settings#top",
    "/" + "a" * 100 + "c",
    "/c" + "ab" * 50,
    "/" + "abcdefghijklmnopqrstuvwxyz" * 4,
    "/" + "a" * 2_000,
    "/" + "ab" * 1_000,
)
CHECKS: Final = 20
PATIENCE_SECONDS: Final = 5.0


def main() -> None:
    """Print a line a file."""
    files = {"ordinary": ordinary(), **hostile()}
    readers: dict[str, Callable[[bytes], Check]] = {"kb_pipeline": ours}
    if importlib.util.find_spec("protego"):
        readers["Protego"] = protegos
    print(f"{'file':<22}{'reader':<14}{'parse ms':>10}{'first ms':>10}{'median µs':>11}{'worst µs':>11}")
    for name, body in files.items():
        for reader, parse in readers.items():
            parsed, first, checks = measure(parse, body)
            numbers = f"{parsed * 1e3:>10.1f}{first * 1e3:>10.1f}"
            print(f"{name:<22}{reader:<14}{numbers}{statistics.median(checks) * 1e6:>11.1f}{max(checks) * 1e6:>11.1f}")


def measure(parse: Callable[[bytes], Check], body: bytes) -> tuple[float, float, list[float]]:
    """Seconds for parsing, for the first check (which indexes the rules), and the median of each path's checks."""
    started = time.perf_counter()
    check = parse(body)
    parsed = time.perf_counter()
    check(f"{ORIGIN}/")
    first = time.perf_counter()
    return parsed - started, first - parsed, [median_of(check, ORIGIN + path) for path in PATHS]


def median_of(check: Check, url: str) -> float:
    """Median seconds of a check, of fewer of them where they take long."""
    seconds: list[float] = []
    while len(seconds) < CHECKS and sum(seconds) < PATIENCE_SECONDS:
        started = time.perf_counter()
        check(url)
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


def ours(body: bytes) -> Check:
    """This project's reader."""
    robots = Robots.parse(body)
    return lambda url: robots.allows(TOKEN, url)


def protegos(body: bytes) -> Check:
    """Scrapy's reader."""
    from protego import Protego  # noqa: PLC0415 - only a benchmark's environment has it

    robots = Protego.parse(body.decode())
    return lambda url: robots.can_fetch(url, TOKEN)


def ordinary() -> bytes:
    """What the files of large shops look like: folders, a few exceptions, parameters, endings."""
    chosen = random.Random(1)
    kinds = ("Disallow: /section-{}/topic-{}/",) * 7 + (
        "Allow: /section-{}/topic-{}/public",
        "Disallow: /*?filter_{}{}=",
        "Disallow: /shop/*/item{}-{}.html$",
    )
    return written(chosen.choice(kinds).format(chosen.randrange(300), chosen.randrange(10**6)) for _ in iter(int, 1))


def hostile() -> dict[str, bytes]:
    """Files that make a naive reader try everything, or its regular expressions try everything again and again."""
    patterns: dict[str, Callable[[int], str]] = {
        "one rule, repeated": lambda _: "/*a*a*a*b$",
        "endings": "/*a*a*a*b{}$".format,
        "pieces": "/*a*a*a*{}b".format,
        "parameters": "/*?parameter{}=".format,
        "nested stars": lambda number: "/" + "*a" * number,
        "nested folders": lambda number: "/" + "a" * number,
        "all orders of a and b": lambda number: "/*" + "*".join("ab"[number >> bit & 1] for bit in range(13)) + "*c",
    }
    chosen = random.Random(1)
    patterns["short pieces"] = lambda _: "/*" + "*".join(short_pieces(chosen))
    patterns["nested, other ends"] = lambda number: "/" + "*a" * number + f"*{number:04x}"
    files = {
        name: written(f"Disallow: {pattern(number)}" for number in itertools.count())
        for name, pattern in patterns.items()
    }
    return {**files, "one rule of stars": b"User-agent: *\nDisallow: /" + b"*a" * (MAX_BYTES // 2 - 20)}


def short_pieces(chosen: random.Random) -> list[str]:
    """Two to six, each of up to six letters a and b: nearly all occur in a path of these letters, all over."""
    return ["".join(chosen.choices("ab", k=chosen.randint(1, 6))) for _ in range(chosen.randint(2, 6))]


def written(lines: Iterator[str]) -> bytes:
    """A group for all crawlers of as many lines as fit."""
    size = 0
    taken = ["User-agent: *"]
    for line in lines:
        size += len(line) + 1
        if size > MAX_BYTES - 20:
            return "\n".join(taken).encode()
        taken.append(line)
    raise AssertionError(size)


if __name__ == "__main__":
    main()
