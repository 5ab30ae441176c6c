"""A sample of how each generator of sites marks up a page, and the structures that its Markdown must give back."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from kb_pipeline.core.extract import extract
from kb_pipeline_tests.core.structure.reading import read_structures

SAMPLES = Path(__file__).parent / "samples"
EXACT = ("code", "tables", "terms", "notes", "labels", "images", "math")
"""What a sample does not name it must not have."""
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
