"""A sample of how each generator of sites marks up a page, and the structures that its Markdown must give back."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from kb_pipeline.core.extract import examine, extract
from kb_pipeline.core.reasons import Way
from kb_pipeline.core.trace import Trace
from kb_pipeline_tests.core.structure.reading import read_structures

SAMPLES = Path(__file__).parent / "samples"
EXACT = ("code", "tables", "terms", "notes", "labels", "images", "math")
"""What a sample does not name it must not have."""
PROSE = (
    "the keeper walks the length of the main, writes down what each of the gauges says, and closes the valve upstream"
    " where the pressure has fallen, after whoever lives below was told a day before."
)
PRICING = "https://waterworks.example/pricing"
PAGE_FIELDS = ("title", "description", "language", "canonical", "published", "modified", "author")


@pytest.mark.parametrize("name", sorted(path.stem for path in SAMPLES.glob("*.html")))
def test_the_markdown_of_a_page_gives_its_structures_back(name):
    expected = tomllib.loads((SAMPLES / f"{name}.toml").read_text(encoding="utf-8"))
    page = extract((SAMPLES / f"{name}.html").read_bytes(), "text/html; charset=utf-8", expected["url"])
    found = read_structures(page.markdown)
    anchors = dict(page.anchors)
    headings = [[level, text, anchors.get(place, "")] for place, (level, text) in enumerate(found.headings)]
    assert headings == expected["headings"]
    for kind in EXACT:
        assert getattr(found, kind) == expected.get(kind, []), kind
    if "items" in expected:
        assert found.items == expected["items"]
    assert [link for link in expected.get("links", []) if link not in found.links] == []
    assert [words for words in expected.get("says", []) if words not in found.text] == []
    assert [words for words in expected.get("omits", []) if words in page.markdown] == []
    for name_of_field in PAGE_FIELDS:
        if name_of_field in expected:
            assert getattr(page, name_of_field) == expected[name_of_field]


def test_plans_keep_their_names_and_prices_on_a_page_whose_content_is_chosen_by_blocks():
    """The sample itself has too few letters for that."""
    lines = (SAMPLES / "pricing.html").read_text(encoding="utf-8").partition("</p>")
    months = ("first", "second", "third", "fourth", "fifth")
    prose = "".join(f"<p>In the {month} {PROSE}</p>" for month in months)
    trace = Trace()
    page = examine("".join((*lines[:2], prose, lines[2])).encode(), "text/html", PRICING, trace=trace).text
    assert trace.way is Way.BLOCKS
    headings = [text for _, text in read_structures(page.markdown).headings]
    assert headings == ["Pricing", "Free Plan $0/mo", "Developer Plan $20/mo", "Business Plan $200/mo", "Questions"]
