"""A long page, the manual of a canal that does not exist, and ten versions that follow it: each makes one of the edits
that manuals get. Always the same, to the letter."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TITLE = "The canal operator's manual"
URL = "https://canal.example/manual"

PARTS = (
    ("sluice gate", "water", "lifts", 14),
    ("swing bridge", "road traffic", "turns", 23),
    ("tide gauge", "the level of the sea", "measures", 5),
    ("fish ladder", "salmon and eels", "leads", 31),
    ("pump house", "drain water", "raises", 47),
    ("signal mast", "waiting boats", "tells", 9),
    ("weed screen", "reeds and branches", "catches", 18),
    ("lock chamber", "barges", "carries", 62),
    ("towing winch", "boats without an engine", "draws", 27),
    ("stop log", "a section under repair", "closes", 11),
    ("spillway", "flood water", "passes", 53),
    ("guard lock", "the river in spate", "shuts out", 36),
    ("inclined plane", "small craft", "hauls", 41),
    ("ice boom", "drifting ice", "holds back", 7),
    ("dredger", "silt", "takes up", 68),
    ("mooring ring", "boats that wait for the night", "holds", 3),
    ("culvert", "a brook", "leads under the canal", 29),
    ("towpath lamp", "walkers", "lights", 16),
    ("cable crossing", "power and telephone lines", "carries", 38),
    ("salt barrier", "sea water", "keeps out", 44),
    ("slipway", "hulls that need paint", "brings ashore", 21),
    ("toll booth", "fees", "collects", 12),
    ("rain gauge", "the rain of the catchment", "records", 6),
    ("siphon", "surplus water", "empties", 33),
)

PURPOSE = (
    "The {part} {verb} {what} along kilometre {n} of the upper reach.",
    "It was built in the year 18{n2} and rebuilt twice since, the last time in concrete.",
    "A keeper can work the {part} alone in fair weather, and with a mate when the wind is above force {d}.",
    "Without it, {what} would reach the town basin within {n} minutes.",
    "The design follows drawing {n}-{d}, a copy of which hangs in the hut beside the {part}.",
    "Boats longer than {n3} metres pass the {part} only by daylight.",
    "Its foundation stands on {n} oak piles, which have to stay under water at all times.",
    "On feast days the {part} is open to visitors between ten and four.",
    "The {part} answers to the control room over line {n}, and to its own lever when that line is down.",
)
PRACTICE = (
    "Before the first movement of the day, walk once around the {part} and look for loose bolts.",
    "Grease the bearings of the {part} every {n} days, and after each flood.",
    "A keeper writes every movement into the log, with the hour, the level and the name of the boat.",
    "Never start the {part} while somebody stands inside the yellow line, which is {d} metres wide.",
    "When the level above the {part} differs by more than {n} centimetres from the level below, wait.",
    "In frost, run the heater of the {part} for {n} minutes before it is moved.",
    "The brake of the {part} holds {n3} tonnes; a second brake holds half of that.",
    "Report any sound that the {part} did not make yesterday, however small it seems.",
    "After a movement, the lamp of the {part} stays green for {d} minutes.",
    "At the change of shift, the keeper who leaves shows the {part} to the keeper who comes.",
)
SETTINGS = (
    "The values below are those with which the {part} was accepted; change one at a time.",
    "The control room keeps a list of who changed a value of the {part}, and when.",
    "A value outside its range is refused, and the {part} goes on with the one before.",
)
ROWS = (
    ("{slug}.level_high", "{n} cm", "Above this level the {part} reports a flood"),
    ("{slug}.level_low", "{d} cm", "Below this level the {part} reports a drought"),
    ("{slug}.wait_seconds", "{n2}", "How long the {part} waits between two movements"),
    ("{slug}.lamp", "green", "The colour that the lamp shows while the {part} rests"),
    ("{slug}.line", "{n3}", "The telephone line over which the {part} reports"),
)
COMMANDS = (
    "canalctl {slug} status --line {n}",
    "canalctl {slug} move --to {n3} --slowly",
    "canalctl {slug} log --since 06:{n2} | tail -n {d}",
    "canalctl {slug} set wait_seconds={n2}",
    "canalctl {slug} rest",
)
FAULTS = (
    "The {part} does not move at all: look at the fuse in box {n}, then at the lever.",
    "The {part} moves and stops again: the level sensor is dirty, clean it with fresh water.",
    "The lamp of the {part} is dark: the bulb is number {n3}, in the drawer of the hut.",
    "The {part} reports a level of {n2} metres: a cable is wet, dry it and try again.",
    "The log of the {part} has a gap: the clock was set, write the hour in by hand.",
    "The brake of the {part} squeals: it is cold, and stops doing so after {d} movements.",
    "The control room does not see the {part}: call line {n} and say what the lamp shows.",
)
CARE = (
    "Whoever repairs the {part} locks the lever and keeps the key, whatever the control room says.",
    "Spare parts of the {part} are ordered by the number on the plate, which begins with {n}.",
    "A repair that takes longer than {d} hours is announced to the boats by a board at kilometre {n3}.",
    "Once a year, in the week after the autumn floods, a diver looks at the piles under the {part}.",
    "What the {part} cannot do for a day, its neighbours do for it, at half the speed.",
)


@dataclass
class Chapter:
    """One `h2` with its parts."""

    title: str
    slug: str
    paragraphs: list[list[str]]
    settings: list[str]
    rows: list[tuple[str, ...]]
    commands: list[str]
    faults: list[str]
    care: list[str]


@dataclass
class Manual:
    """The page, to be edited."""

    chapters: list[Chapter] = field(default_factory=list)

    def chapter(self, slug: str) -> Chapter:
        return next(chapter for chapter in self.chapters if chapter.slug == slug)

    def html(self) -> str:
        head = (
            f'<title>{escape(TITLE)}</title><meta name="description" content="How each part of the canal is worked.">'
        )
        main = f"<h1>{escape(TITLE)}</h1>{''.join(map(_chapter_html, self.chapters))}"
        return f"<!doctype html><html lang=en><head>{head}</head><body><main>{main}</main></body></html>"


def _picked(pool: tuple[str, ...], first: int, count: int, words: dict[str, object]) -> list[str]:
    return [pool[(first + step) % len(pool)].format(**words) for step in range(count)]


def _written(number: int, part: str, what: str, verb: str, n: int) -> Chapter:
    slug = part.replace(" ", "-")
    words: dict[str, object] = {
        "part": part, "what": what, "verb": verb, "slug": slug,
        "n": n, "n2": 10 + (n * 7) % 50, "n3": 100 + n * 3, "d": 2 + n % 7,
    }  # fmt: skip
    return Chapter(
        title=f"The {part}",
        slug=slug,
        paragraphs=[_picked(PURPOSE, number, 6, words), _picked(PRACTICE, 3 * number, 6, words)],
        settings=_picked(SETTINGS, number, 2, words),
        rows=[tuple(cell.format(**words) for cell in row) for row in ROWS],
        commands=[line.format(**words) for line in COMMANDS],
        faults=_picked(FAULTS, number, 5, words),
        care=_picked(CARE, number, 3, words),
    )


def _chapter_html(chapter: Chapter) -> str:
    slug, name = chapter.slug, chapter.slug.replace("-", " ")
    rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in chapter.rows)
    paragraphs = "".join(f"<p>{escape(' '.join(sentences))}</p>" for sentences in chapter.paragraphs)
    commands = escape("\n".join(chapter.commands))
    faults = "".join(f"<li>{escape(fault)}</li>" for fault in chapter.faults)
    return (
        f"<h2 id={slug}>{escape(chapter.title)}</h2>{paragraphs}"
        f"<h3 id={slug}-settings>Settings of the {name}</h3><p>{escape(' '.join(chapter.settings))}</p>"
        f"<table><tr><th>Setting</th><th>Value</th><th>Meaning</th></tr>{rows}</table>"
        f"<h3 id={slug}-commands>Commands</h3><pre><code>{commands}</code></pre>"
        f"<h3 id={slug}-faults>When the {name} fails</h3><ul>{faults}</ul><p>{escape(' '.join(chapter.care))}</p>"
    )


def first_version() -> Manual:
    """The manual before any edit."""
    return Manual([_written(number, *part) for number, part in enumerate(PARTS)])


def _typo(manual: Manual) -> None:
    sentences = manual.chapter("fish-ladder").paragraphs[1]
    sentences[2] = sentences[2].replace(" the ", " teh ", 1)


def _sentence_added(manual: Manual) -> None:
    manual.chapter("lock-chamber").paragraphs[0].insert(
        3, "Since last spring, its walls are painted white above the water."
    )


def _section_inserted(manual: Manual) -> None:
    at = [chapter.slug for chapter in manual.chapters].index("guard-lock")
    manual.chapters.insert(at, _written(7, "boat lift", "two barges at a time", "raises", 58))


def _section_removed(manual: Manual) -> None:
    manual.chapters.remove(manual.chapter("mooring-ring"))


def _section_moved(manual: Manual) -> None:
    moved = manual.chapter("slipway")
    manual.chapters.remove(moved)
    manual.chapters.insert(2, moved)


def _section_renamed(manual: Manual) -> None:
    manual.chapter("signal-mast").title = "The signal mast and its flags"


def _row_added(manual: Manual) -> None:
    row = ("stop-log.crane", "east", "Which of the two cranes sets the stop log")
    manual.chapter("stop-log").rows.insert(3, row)


def _line_and_item(manual: Manual) -> None:
    manual.chapter("inclined-plane").commands[1] += " --with-brake"
    del manual.chapter("cable-crossing").faults[2]


def _paragraph_rewritten(manual: Manual) -> None:
    manual.chapter("salt-barrier").paragraphs[1] = [
        "A curtain of air bubbles has taken the place of the old steel leaf.",
        "Its compressor starts by itself two hours before high water, and can be started by hand at the hut.",
        "Listen to it from the path: a steady hiss is right, a rattle means that a nozzle has come off.",
        "The nozzles are cleaned by a diver in spring, from the sea side towards the land.",
        "While the curtain is off, no boat is let through, whatever the tide tables promise.",
    ]


def _term_renamed(manual: Manual) -> None:
    for chapter in manual.chapters:
        chapter.paragraphs = [[line.replace("keeper", "watchman") for line in lines] for lines in chapter.paragraphs]


EDITS: dict[str, Callable[[Manual], None]] = {
    "a typo": _typo,
    "a sentence added": _sentence_added,
    "a section inserted": _section_inserted,
    "a section removed": _section_removed,
    "a section moved": _section_moved,
    "a section renamed": _section_renamed,
    "a table row added": _row_added,
    "a line of code changed, a list item removed": _line_and_item,
    "a paragraph rewritten": _paragraph_rewritten,
    "a term renamed on the whole page": _term_renamed,
}


def versions() -> Iterator[tuple[str, str]]:
    """(what was edited, HTML) of the first version, "", and of the ten that follow it."""
    manual = first_version()
    yield "", manual.html()
    for name, edit in EDITS.items():
        manual = copy.deepcopy(manual)
        edit(manual)
        yield name, manual.html()
