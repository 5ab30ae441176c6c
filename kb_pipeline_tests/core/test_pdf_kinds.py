"""What readers find in PDFs of each kind that is drawn in `pdfs`."""

from __future__ import annotations

import pytest

from benchmarks.pdf_text import score
from kb_pipeline.core.extract import extract
from kb_pipeline_tests.core.pdfs import KINDS


def markdown_of(sample):
    return extract(sample.body, "application/pdf", "https://docs.example/file.pdf").markdown


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_read_in_order_with_its_headings_and_tables(kind):
    sample = KINDS[kind]()
    markdown = markdown_of(sample)
    scores = score(markdown, sample)
    assert scores.words > 0.97
    assert {scores.headings, scores.running, scores.cells} <= {1.0, None}
    for part in sample.verbatim:
        assert part in markdown
