"""The samples with more prose and without code, so that their blocks are weighed one by one: what a page's structures
are made of comes back all the same, as on a page whose content is kept by its tags and class names alone."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from kb_pipeline.core.chrome import strip_chrome
from kb_pipeline.core.extract import examine
from kb_pipeline.core.html_tree import with_tree
from kb_pipeline.core.main_content import choose_main
from kb_pipeline.core.markdown import write_markdown
from kb_pipeline.core.reasons import Way
from kb_pipeline.core.trace import Trace
from kb_pipeline_tests.core.structure.reading import read_structures

SAMPLES = Path(__file__).parent / "samples"
NAMES = sorted(path.stem for path in SAMPLES.glob("*.html"))
KINDS = ("headings", "tables", "terms", "notes", "labels", "images", "math")
PROSE = "".join(
    f"<p>In the {month} month the keeper walks the length of the main, writes down what each of the gauges says, and"
    " closes the valve upstream where the pressure has fallen, after whoever lives below was told a day before.</p>"
    for month in ("first", "second", "third", "fourth", "fifth")
)
CODE_IN_WORDS = "<p>It is done from the keyboard in the hall, and the answer is shown there.</p>"
LEAST_PROSE = 40

LOST = {
    "man_page": ([[1, "SEE ALSO"]], "a list of links alone reads like navigation"),
    "phpbb": (
        [
            [2, "Well water smells"],
            [3, "Re: Well water smells"],
            ["lea", "Plumber\n: Posts: 12"],
            "lea wrote:smells of eggs",
        ],
        "who writes, and what a thread is called, is said again with each post",
    ),
    "redoc": (["200"], "of an example in JSON, of which each line is a block, one line stays and not the first"),
    "rustdoc": (
        [[3, "impl Pump"], [4, "pub fn prime(&self) -> bool"]],
        "methods are links and few words; with its code such a page is no page of blocks",
    ),
    "swagger_ui": (["Example Value"], "the words of a table of answers are those of a form"),
    "webflow": ([[3, "P-100"], [3, "P-200"]], "cards that lead to other pages are weighed, and each says little"),
    "wordpress": ([[2, "One thought on spring"], [1, "Well dug."]], "what readers add below a post is weighed"),
}
"""What is not kept, and why."""
KEPT = {
    "docbook": (["Wells before"], "the model takes the next chapter's name for a cell of data"),
    "github_readme": (["side"], "a sidebar of a heading and a paragraph, as the content is"),
    "mdbook": (["The Waterworks Book"], "the first h1 is kept, whatever it heads"),
    "wikipedia": (["edit"], "a link beside a heading, within the content"),
}
"""What frames the page and is kept, and why."""


def second_form(html):
    """Paragraphs after the longest text, in the same element, and words for code."""
    html = re.sub(r"(?s)<pre\b.*?</pre>", lambda code: CODE_IN_WORDS if re.search("[a-z]{3}", code[0]) else "", html)
    texts = re.finditer(rf">([^<]{{{LEAST_PROSE},}})<(?!/title)", html)
    longest = max(texts, key=lambda piece: len(piece[1]))
    end = longest.end(1) + re.search(r"</(?:p|div)>|<br>", html[longest.end(1) :]).end()
    return html[:end] + PROSE + html[end:]


def by_names(html, url):
    """The Markdown of a page that is kept by its tags and class names."""

    def read(nodes, _cut):
        strip_chrome(nodes[0])
        return write_markdown(choose_main(nodes[0]), url).text

    return with_tree(html, read)


def expected_of(name):
    return tomllib.loads((SAMPLES / f"{name}.toml").read_text(encoding="utf-8"))


def by_blocks(html, url):
    trace = Trace()
    markdown = examine(html.encode(), "text/html; charset=utf-8", url, trace=trace).text.markdown
    assert trace.way is Way.BLOCKS
    return markdown


@pytest.mark.parametrize("name", NAMES)
def test_structures_are_those_that_names_alone_would_keep(name):
    html, expected = second_form((SAMPLES / f"{name}.html").read_text(encoding="utf-8")), expected_of(name)
    wanted = read_structures(by_names(html, expected["url"]))
    found = read_structures(by_blocks(html, expected["url"]))
    lost = [part for kind in KINDS for part in getattr(wanted, kind) if part not in getattr(found, kind)]
    if "items" in expected:
        lost += [part for part in wanted.items if part not in found.items]
    known, _why = LOST.get(name, ([], ""))
    assert lost == known


@pytest.mark.parametrize("name", NAMES)
def test_what_frames_a_page_stays_out(name):
    html, expected = second_form((SAMPLES / f"{name}.html").read_text(encoding="utf-8")), expected_of(name)
    markdown = by_blocks(html, expected["url"])
    known, _why = KEPT.get(name, ([], ""))
    omitted = [words for words in expected.get("omits", []) if words not in by_names(html, expected["url"])]
    kept = [words for words in omitted if words in markdown]
    assert kept == known
