"""What of a page is kept together, whatever the model says of the parts: by shares that are given here."""

from __future__ import annotations

import time

import numpy as np
import pytest

from kb_pipeline.core.block_choice import chosen_blocks
from kb_pipeline.core.block_pruning import prune
from kb_pipeline.core.html_tree import Node, measure, parse_html
from kb_pipeline.core.main_content import main_of
from kb_pipeline.core.page_blocks import read_blocks
from kb_pipeline.core.reasons import Reason
from kb_pipeline.core.trace import Trace

PROSE = "the ferry runs from the north pier at every full hour of the day and in summer until the last guest has gone"
TEXT = f"<p>{PROSE}</p>"


def blocks_of(html):
    document, _ = parse_html(html if html.startswith("<body>") else f"<body><main>{html}</main>")
    measure(document)
    return read_blocks(document.find("body"), main_of).blocks


def chosen(html, near=(), likely=()):
    """The texts that are kept besides the prose, each with the reason. Of `likely` texts the share is over the cut, of
    those that are `near` it a little under, of all others far."""
    blocks = blocks_of(html)
    texts = [" ".join(block.words) for block in blocks]
    known = {**dict.fromkeys(near, 0.4), **dict.fromkeys((PROSE, *likely), 0.9)}
    trace = Trace()
    kept, cut = chosen_blocks(blocks, np.array([known.get(text, 0.05) for text in texts]), trace)
    assert cut == 0.5
    return {texts[place]: trace.raised.get(place) for place in np.flatnonzero(kept).tolist() if texts[place] != PROSE}


@pytest.mark.parametrize(
    "html",
    [
        f"<h2>Fares</h2>{TEXT}",
        f"<h2>Fares</h2><h3>Children</h3>{TEXT}",
        f"<h2>Fares</h2><p>12 €</p>{TEXT}",
        *(
            f"<h2>Fares</h2><p>{price}</p>{TEXT}"
            for price in ("$9", "£ 9", "¥900", "₹90", "9 EUR", "9USD", "90 kr", "9 zł")
        ),
        f"<body><h2>Fares</h2>{TEXT}",
        f"<body><h2>Fares</h2>{PROSE}",
        f"<header><div><h2>Fares</h2></div></header>{TEXT}",
        f"<h2><div>Fares</div></h2><div><div><div><div>{TEXT}</div></div></div></div>",
        f"<section><div class=titlepage><div><div><div><h2>Fares</h2></div></div></div></div>{TEXT}</section>",
    ],
)
def test_a_heading_is_kept_with_the_text_of_its_section_and_so_is_a_price_between(html):
    assert chosen(html)["Fares"] is Reason.HEADING


@pytest.mark.parametrize(
    "html",
    [
        f"<h2>Fares</h2><p>no</p>{TEXT}",
        f"{TEXT}<h2>Fares</h2>",
        f"<body><div><h2>Fares</h2></div>{TEXT}",
        f"<div><div><div><div><h2>Fares</h2><p>no</p></div></div></div></div>{TEXT}",
        f"<div><div><div><div><i>no</i><h2>Fares</h2></div></div></div></div>{TEXT}",
    ],
)
def test_a_heading_is_not_kept_for_text_that_others_part_from_it_or_that_stands_in_another_part_of_the_page(html):
    assert chosen(html) == {}


def test_a_heading_of_another_part_of_the_page_between_parts_nothing():
    assert chosen(f"<h2>Fares</h2><div><div><div><div><h3>no</h3><h3>no</h3></div></div></div></div>{TEXT}") == {
        "Fares": Reason.HEADING
    }


@pytest.mark.parametrize(
    ("html", "label"),
    [
        (f"<details><summary><span>When?</span></summary>{TEXT}</details>", "When?"),
        (f"<div class=admonition><p class=admonition-title>Note</p>{TEXT}</div>", "Note"),
        (f"<div class=box><div class=title>History</div><div>{TEXT}</div></div>", "History"),
        (f"<div class=panel><div class=panelHeader><b>Keys</b></div><div>{TEXT}</div></div>", "Keys"),
        (f"<div><div class=accordion-toggle><div>When?</div></div><div>{TEXT}</div></div>", "When?"),
        (f"<div><div aria-expanded=false>When?</div>{TEXT}</div>", "When?"),
        (f"<table class=layout><caption>Hours</caption><tr><td>{TEXT}</table>", "Hours"),
        (f"<dl><dt>Pier<dd>{TEXT}<dt>Ways<dd><p>{'by land ' * 40}</p></dl>", "Pier"),
    ],
)
def test_what_names_kept_text_is_kept(html, label):
    assert label in chosen(html)


def test_a_label_is_kept_for_text_of_its_own_box_alone():
    assert chosen(f"<div class=box><div class=title>History</div></div>{TEXT}") == {}


def test_the_labels_of_tabs_are_kept_with_the_panel_that_follows_them():
    for row in (
        "<div><div role=tablist><button role=tab>Adults</button><button role=tab>Children</button></div></div>",
        "<div class=tab-menu><a href=#a><div>Adults</div></a><a href=#b><div>Children</div></a></div>",
    ):
        panels = f"<div><div id=a>{TEXT}</div><div id=b>{TEXT}</div></div>"
        assert set(chosen(row + panels).values()) == {Reason.LABEL}
        assert "".join(chosen(row + panels)) == "AdultsChildren"
        assert chosen(f"{row}<p>no</p>{panels}") == {}
    assert chosen(f"<body>{row}{panels}") == chosen(row + panels)


def test_a_row_of_thousands_of_tabs_does_not_stall_the_choice():
    began = time.process_time()
    kept = chosen(f"<div role=tablist>{'<div role=tab>Adults</div>' * 4_000}</div>{TEXT}")
    assert time.process_time() - began < 10
    assert kept == {"Adults": Reason.LABEL}


def test_links_to_other_pages_are_no_labels_of_tabs():
    row = "<div class=tab-menu><a href=/a>Adults</a><a href=/b>Children</a></div>"
    assert chosen(f"{row}<div><div>{TEXT}</div><div>{TEXT}</div></div>") == {}


UNITS = (
    "<table><tr><td><i>a</i> fare</td><td>12 or more</td></tr></table>",
    "<dl><dt>a fare</dt><dd><p>12 or more</p></dd></dl>",
    "<figure><p>a fare</p><figcaption>12 or more</figcaption></figure>",
    "<details><summary>a fare</summary><p>12 or more</p></details>",
    "<div class=admonition><p>a fare</p><p>12 or more</p></div>",
    "<div role=table><p>a fare</p><p>12 or more</p></div>",
    "<div class=fragment><div class=line>a fare</div><div class=line>12 or more</div></div>",
)


@pytest.mark.parametrize("html", UNITS)
def test_a_unit_of_which_half_of_the_words_are_kept_is_kept_whole(html):
    assert chosen(TEXT + html, likely=["12 or more"]) == {"a fare": Reason.BOX, "12 or more": None}


def test_a_unit_of_which_less_is_kept_is_not():
    html = "<dl><dt>a fare</dt><dd><p>12 or more, and less for those who come with a child or a dog</p></dd></dl>"
    assert chosen(TEXT + html, likely=["a fare"]) == {"a fare": None}


@pytest.mark.parametrize("html", [html for html in UNITS if "figure" not in html])
def test_a_small_unit_beside_kept_text_is_kept_at_a_lower_share(html):
    both = {"a fare": Reason.BOX, "12 or more": Reason.BOX}
    assert chosen(TEXT + html, near=["a fare", "12 or more"]) == both
    assert chosen(f"<body>{TEXT}{html}", near=["a fare", "12 or more"]) == both
    far = f"<div><div><div><div>{TEXT}</div></div></div></div>"
    inner = f"<div><div><div><div>{html}{TEXT}</div></div></div></div>"
    assert chosen(far + inner, near=["a fare", "12 or more"]) == both
    assert chosen(f"<p>a fare</p>{TEXT}<p>12 or more</p>", near=["a fare", "12 or more"]) == {}


@pytest.mark.parametrize(
    "html",
    [
        "<p>no</p><table><tr><th>a fare</th></tr></table>",
        "<table><tr><th><a href=/a>a fare</a></th></tr></table>",
        "<div><div><div><div><table><tr><th>a fare</th></tr></table></div></div></div></div>",
        "<div class=navfooter><table><tr><th>a fare</th></tr></table></div>",
    ],
)
def test_a_unit_of_links_or_of_navigation_or_away_from_kept_text_is_not(html):
    assert chosen(TEXT + html, near=["a fare"]) == {}


def test_a_caption_is_weighed_by_itself():
    figure = "<figure><p>a fare</p><figcaption>12 or more</figcaption></figure>"
    assert chosen(TEXT + figure, near=["a fare", "12 or more"]) == {}


def test_a_large_unit_is_weighed_as_all_else_is():
    fares = " ".join(f"fare {number}" for number in range(40))
    blocks = blocks_of(f"{TEXT * 20}<table><tr><th>{fares}</th></tr></table>")
    kept, _ = chosen_blocks(blocks, np.array([0.9] * 20 + [0.4]))
    assert kept.tolist() == [True] * 20 + [False]


def test_a_table_that_only_places_blocks_is_no_unit():
    html = f"<table><tr><td><div><p>menu</p><pre>code</pre></div></td><td>{TEXT}</td></tr></table>"
    assert chosen(html) == {}


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>no</p><div>\\[ a = b \\]</div>", "\\[ a = b \\]"),
        ("<div><math display=block><mi>F</mi><annotation>\\rho</annotation></math></div>", "F\\rho"),
        ("<ol><li id=fn1><p>in winter <a href=#fnref1>↩</a></p></ol>", "in winter ↩"),
        ("<ol><li><p>one <a href=#r role=doc-backlink>↩</a></p><li><p>two</p></ol>", "one ↩"),
        ("<div class=footnote><p><a href=#x>[1]</a> in winter</p></div>", "[1] in winter"),
        ("<p class=footnote><a href=#x>[1]</a> in winter</p>", "[1] in winter"),
    ],
)
def test_formulas_and_footnotes_are_kept_with_the_text_before_them(html, text):
    assert chosen(TEXT + html) == {text: Reason.ATTACHED}
    assert chosen(html + TEXT) == {}


def test_all_footnotes_of_a_list_are_kept():
    notes = {f"note {number} ↩": Reason.ATTACHED for number in range(12)}
    items = "".join(f"<li><p>note {number} <a href=#fnref{number}>↩</a></p>" for number in range(12))
    assert chosen(f"{TEXT}<ol>{items}</ol>") == notes
    assert chosen(f"{TEXT}{'<p>no</p>' * 4}<ol>{items}</ol>") == {}


def test_links_within_a_page_are_no_footnotes():
    assert chosen(f"{TEXT}<ul><li><p><a href=#fares>Fares</a></p></ul>") == {}


def images(html):
    blocks = blocks_of(html)
    kept = np.array([PROSE in block.text for block in blocks])
    prune(blocks, kept)
    body = blocks[0].context.top().node
    assert all(child.parent is node for node in body.iter() for child in node.children if isinstance(child, Node))
    return [node.get("alt") for node in body.iter() if node.tag == "img"]


@pytest.mark.parametrize(
    "html",
    [
        "<figure><img alt=pier><figcaption>The pier</figcaption></figure>",
        "<div class=imageblock><div><img alt=pier></div><div>Figure 1</div></div>",
        "<a class=lightbox href=pier.jpg><img alt=pier><div>88 KB</div></a>",
        "<a href=/book>Book</a><img alt=pier>",
    ],
)
def test_a_picture_among_kept_text_is_kept_without_the_words_around_it(html):
    assert images(f"<div>{TEXT}{html}</div>") == ["pier"]
    assert images(f"<div>{html}{TEXT}</div>") == ["pier"]


@pytest.mark.parametrize(
    "html",
    [
        "<figure><a href=/next><img alt=next><figcaption>Next</figcaption></a></figure>",
        "<div class=author><img alt=mia><div>Mia</div></div>",
    ],
)
def test_a_picture_that_stands_for_another_page_or_among_other_words_is_not(html):
    assert images(f"<div>{TEXT}{html}</div>") == []


def test_a_picture_far_from_kept_text_is_not():
    figure = "<figure><img alt=pier><figcaption>The pier</figcaption></figure>"
    assert images(f"<div>{TEXT}{'<p>no</p>' * 9}{figure}{'<p>no</p>' * 9}</div>") == []


def test_a_picture_in_a_part_of_the_page_that_keeps_nothing_is_not():
    assert images(f"<div>{TEXT}</div><div><p>no</p><figure><img alt=pier><p>The pier</p></figure></div>") == []
