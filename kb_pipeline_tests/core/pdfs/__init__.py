"""PDFs made on the spot, of kinds that people publish, with what a reader should find in them."""

from __future__ import annotations

from kb_pipeline_tests.core.pdfs.columns import (
    columns,
    columns_by_rows,
    columns_with_figures,
    newsletter,
    odd_order,
    three_columns,
)
from kb_pipeline_tests.core.pdfs.drawing import drawn_twice, forms, glyphs, justified
from kb_pipeline_tests.core.pdfs.parts import bold_headings, code, footnotes, letter, lists, outlined
from kb_pipeline_tests.core.pdfs.reports import facing_pages, mixed_sizes, on_its_side, report, turned_text
from kb_pipeline_tests.core.pdfs.scripts import chinese, hebrew, japanese
from kb_pipeline_tests.core.pdfs.sheet import Sample
from kb_pipeline_tests.core.pdfs.tables import (
    blank_table,
    booktabs,
    centred_cells,
    ruled_table,
    table_in_columns,
    wrapped_cells,
)

KINDS = {
    kind.__name__: kind
    for kind in (
        report, facing_pages, mixed_sizes, on_its_side, turned_text,
        columns, columns_by_rows, columns_with_figures, three_columns, newsletter, odd_order,
        glyphs, justified, forms, drawn_twice,
        letter, footnotes, bold_headings, lists, code, outlined,
        ruled_table, blank_table, booktabs, wrapped_cells, centred_cells, table_in_columns,
        hebrew, chinese, japanese,
    )
}  # fmt: skip

__all__ = ["KINDS", "Sample"]
