"""A canvas on which text is set line by line, and that remembers what it says."""

from __future__ import annotations

import io
import random
from dataclasses import dataclass, field

from reportlab.lib.pagesizes import A4
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfgen.canvas import Canvas

WORDS = """anchor basin barge beacon berth boiler bridge buoy cable canal cargo chart clock coast compass copper crane
crew current customs deck delta depth dock dredge engine estuary fender ferry flood gauge grain gravel harbour hatch
hull island jetty keel ladder lantern ledger lever lighthouse lock mast meadow mooring motor notice office paddle
passenger pier pilot pontoon port pump quay radio rail ramp reed repair river rope rudder sail sand season shed signal
slipway steam stern storm survey tanker ticket tide timber tower trade tunnel valve vessel village warden water weir
wharf wheel winch yard""".split()  # noqa: SIM905 - so many words read best as a text
LINKS = "with from under beside before after against without through around".split()  # noqa: SIM905 - so many words read best as a text


def prose(seed: str, sentences: int = 4) -> str:
    """Sentences that are the same for the same seed."""
    choice = random.Random(seed)
    made = []
    for _ in range(sentences):
        nouns = choice.sample(WORDS, 6)
        links = choice.sample(LINKS, 3)
        made.append(
            f"The {nouns[0]} {nouns[1]} stands {links[0]} the {nouns[2]} and {links[1]} every {nouns[3]} "
            f"{links[2]} one {nouns[4]} {nouns[5]} {choice.randrange(100, 999)}."
        )
    return " ".join(made)


@dataclass
class Sample:
    """A PDF and its text: paragraphs, headings and cells in the order in which they are read."""

    body: bytes
    text: str
    headings: list[str] = field(default_factory=list)
    running: list[str] = field(default_factory=list)
    """What must not be in the text."""
    tables: list[list[list[str]]] = field(default_factory=list)
    verbatim: list[str] = field(default_factory=list)
    """Stretches that the Markdown has exactly."""


class Sheet:
    """Sets text from the top of a page on; `y` is the next base line."""

    def __init__(self, size: tuple[float, float] = A4) -> None:
        self._file = io.BytesIO()
        self.canvas = Canvas(self._file, pagesize=size)
        self.size = size
        self.y = size[1] - 90
        self.texts: list[str] = []
        self.headings: list[str] = []
        self.tables: list[list[list[str]]] = []

    def wrapped(self, text: str, width: float, font: str = "Times-Roman", size: float = 10) -> list[str]:
        """The lines of a paragraph."""
        lines = [""]
        for word in text.split():
            longer = f"{lines[-1]} {word}".strip()
            if stringWidth(longer, font, size) > width and lines[-1]:
                lines.append(word)
            else:
                lines[-1] = longer
        return lines

    def line(self, text: str, x: float, y: float, font: str = "Times-Roman", size: float = 10) -> None:
        """One line, drawn where it is said."""
        self.canvas.setFont(font, size)
        self.canvas.drawString(x, y, text)

    def paragraph(self, text, x=72, width=450, font="Times-Roman", size=10, leading=12, told=True) -> None:
        """A paragraph below what was set last, with a gap after it."""
        for line in self.wrapped(text, width, font, size):
            self.line(line, x, self.y, font, size)
            self.y -= leading
        self.y -= leading * 0.7
        if told:
            self.texts.append(text)

    def heading(self, text, x=72, font="Helvetica-Bold", size=14) -> None:
        """A heading, larger than the text."""
        self.y -= size * 0.6
        self.line(text, x, self.y, font, size)
        self.y -= size * 1.5
        self.texts.append(text)
        self.headings.append(text)

    def page(self, size: tuple[float, float] | None = None) -> None:
        """Begin another page."""
        self.canvas.showPage()
        if size is not None:
            self.size = size
            self.canvas.setPageSize(size)
        self.y = self.size[1] - 90

    def sample(self, running: list[str] | None = None, verbatim: list[str] | None = None) -> Sample:
        """What was set, as a PDF."""
        self.canvas.save()
        return Sample(
            self._file.getvalue(), "\n".join(self.texts), self.headings, running or [], self.tables, verbatim or []
        )
