"""Whatever a page is made of, it ends in a Text or a typed error, in bounded time and memory."""

from __future__ import annotations

import time
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kb_pipeline.core.extract import extract, extract_html
from kb_pipeline.core.markdown import MAX_CHARACTERS
from kb_pipeline.errors import BodyUnreadable

URL = "https://docs.example/page"
MEGABYTE = 1_000_000

MANUAL = "<main><pre>x</pre>" + "<p>The ferry runs from the north pier at every full hour until October.</p>" * 20
HOSTILE = {
    "a million attributes": "<p " + " ".join(f"a{number}=1" for number in range(MEGABYTE)) + ">x",
    "ten megabytes of one line": "<p>" + "x" * 10 * MEGABYTE,
    "ten megabytes of words": "<p>" + "word " * 2 * MEGABYTE,
    "ten megabytes of code": "<pre>" + "x = 1 " * (10 * MEGABYTE // 6),
    "ten megabytes of one wide line": "<p>" + "水" * 3 * MEGABYTE,
    "wide letters and blanks": "<p>水" + " " * 2 * MEGABYTE + "\n" * MEGABYTE,
    "notes in notes": "<div class=note>" * 40_000 + "x",
    "tabs in tabs": "<div class=tabs><a href=#a>a</a><a href=#b>b</a>" * 20_000,
    "rows of tabs": "<div class=tabs><label>a</label><label>b</label></div>" * 20_000,
    "one long row of tabs": "<div class=tab-menu>" + "<a href=#a>a</a>" * 60_000,
    "tab lists": "<div role=tablist><b role=tab>a</b></div>" * 25_000,
    "tab lists in tab lists": "<div role=tablist>" * 50_000,
    "code boxes in code boxes": "<div class=code-block>" * 50_000 + "a\nb",
    "one code box of lines": "<div class=code-block>" + "<i class=x>a</i>" * 60_000 + "\n",
    "lines of an editor": "<div class=cm-content>" + "<div class=cm-line>x</div>" * 50_000,
    "tables by role": "<div role=table>" * 50_000,
    "rows by role": "<div role=table>" + "<div role=row><i role=cell>a</i><i role=cell>b</i></div>" * 20_000,
    "headings beside permalinks": "<div>" + "<h2>a</h2><a href=#a></a>" * 40_000,
    "openings of formulas": "<p>" + r"\(" * MEGABYTE,
    "openings and few ends": "<p>" + (r"\(" * 10_000 + r"\)") * 20,
    "dollars": "<p>" + r"\ $$" * 300_000,
    "formulas": "<p>" + r"\(a\)" * 200_000,
    "MathML": "<math>" + "<msup>" * 30_000 + "x",
    "fractions": "<math>" + "<mfrac><mi>a</mi>" * 20_000 + "x",
    "linked code": "<code>" + "<a href=/x>a</a> " * 40_000,
    "lists in definitions": "<dl><dd><ul><li>" * 15_000 + "x",
    "terms": "<dl>" + "<dt>a<a href=#a>#</a><dd><pre>b</pre>" * 20_000,
    "classes": "".join(f"<div class='c{number} tab-{number} x-note-{number}'>x</div>" for number in range(40_000)),
    "one class of a megabyte": "<div class='" + "a-note-title " * 80_000 + "'>x</div>" * 2,
    "icons of notes": "<div class=note><table><tr><td><img alt=a><td>b</table></div>" * 10_000,
    "equal headings": "<h2>a</h2>" * 50_000,
    "accordions": "<details class='accordion dropdown'><summary>a</summary>" * 20_000,
    "a tab list of thousands of blocks, and its text": "<div role=tablist>"
    + "<div role=tab>Tab</div>" * 4_500
    + f"</div><p>{'The ferry runs from the north pier at every full hour until October. ' * 40}",
    "lists of tabs in lists of tabs": MANUAL + "<div role=tablist><div>Share</div>" * 380 + "<i>x</i>" * 90_000,
    "tabs in tabs with little in them": MANUAL
    + "<div role=tablist>"
    + "<div role=tab>" * 380
    + "hello"
    + "<i></i>" * 140_000,
    "rows of tabs in rows of tabs": MANUAL + "<div class=nav-tabs><div>Share</div>" * 380 + "<i>x</i>" * 140_000,
    "gutters in gutters": MANUAL + "<div class=gutter>" * 380 + "<i>1</i>" * 90_000 + "Tab",
    "tab menus in tab menus": "<div class='tab-menu'><a href=#x>x</a>" * 30_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_page_built_to_stall_ends(name):
    began = time.process_time()
    text = extract(HOSTILE[name].encode(), "text/html", URL)
    assert time.process_time() - began < 10
    assert len(text.markdown) <= MAX_CHARACTERS + 100


LARGE = {
    "attributes": "<p " + " ".join(f"a{number}=1" for number in range(100_000)) + ">x",
    "one line": "<p>" + "x" * 2 * MEGABYTE,
    "words": "<p>" + "word " * 300_000,
    "elements": "<i class=a>x</i>" * 20_000,
    "formulas": "<p>" + r"\(a\)" * 100_000,
}


@pytest.mark.parametrize("name", LARGE)
def test_memory_is_a_small_multiple_of_the_page(name):
    body = LARGE[name].encode()
    tracemalloc.start()
    try:
        extract(body, "text/html", URL)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 60 * len(body) + 20 * MEGABYTE


# fmt: off
TAGS = [
    "a", "article", "aside", "b", "blockquote", "code", "dd", "details", "div", "dl", "dt", "figure", "h1", "h2",
    "h3", "header", "i", "img", "label", "li", "main", "math", "mfrac", "mi", "nav", "ol", "p", "pre", "script",
    "section", "span", "summary", "table", "tbody", "td", "th", "thead", "tr", "ul"
]
CLASSES = [
    "note", "admonition", "admonition-title", "alert", "callout", "title", "tabs", "tab-menu", "tabbed-labels",
    "tab-label", "code-block", "fragment", "line", "cm-content", "linenos", "gutter", "highlight", "language-js",
    "katex", "math", "latex", "accordion", "dropdown", "footnote", "headerlink"
]
ATTRIBUTES = [
    "role=tablist", "role=tab", "role=tabpanel", "role=table", "role=row", "role=cell", "role=note", "id=a",
    "id=b", "href=#a", "href=/x", "alt=x", "src=/s", "colspan=2", "rowspan=3", "aria-controls=a", "data-tab=b",
    "type=math/tex", "display=block", "aria-hidden=true", "hidden"
]
# fmt: on
WORDS = st.sampled_from(
    ["word", "x < y", "&amp;", r"\(a_1\)", "$$b$$", "1. a", "# a", "|", "`", "\n", "\u6c34", "\u200b"]
)


@st.composite
def markup(draw):
    pieces = []
    for _ in range(draw(st.integers(0, 40))):
        tag = draw(st.sampled_from(TAGS))
        attributes = draw(st.lists(st.sampled_from(ATTRIBUTES), max_size=2))
        names = draw(st.lists(st.sampled_from(CLASSES), max_size=2))
        pieces.append(f"<{' '.join([tag, *attributes])} class='{' '.join(names)}'>")
        pieces.append(draw(WORDS))
        if draw(st.booleans()):
            pieces.append(f"</{draw(st.sampled_from([tag, 'div', 'table']))}>")
    return "".join(pieces)


@settings(max_examples=200, deadline=None)
@given(markup())
def test_any_markup_gives_markdown_whose_headings_are_those_that_the_anchors_count(html):
    text = extract_html(f"<main>{html}</main>", URL)
    headings = [token for token in MarkdownIt().parse(text.markdown) if token.type == "heading_open"]
    assert all(place < len(headings) for place, _ in text.anchors)
    assert all(token.markup.startswith("#") for token in headings)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300), st.lists(st.sampled_from(TAGS), max_size=10))
def test_any_bytes_between_any_tags_give_a_text_or_a_typed_error(body, tags):
    opening = "".join(f"<{tag}>" for tag in tags).encode()
    try:
        text = extract(b"<!doctype html>" + opening + body, "text/html", URL)
    except BodyUnreadable:
        return
    text.markdown.encode()
