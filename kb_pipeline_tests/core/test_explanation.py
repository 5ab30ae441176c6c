"""Each block of a page has the reason for which the extraction kept or dropped it; the texts are made up."""

from __future__ import annotations

import json

import pytest

from kb_pipeline.core.explanation import MAX_BLOCK_CHARACTERS, MAX_EXPLAINED, explain
from kb_pipeline.core.extract import examine
from kb_pipeline.core.reasons import Addition, NotWeighed, Reason, Way
from kb_pipeline.core.trace import Trace

SENTENCES = (
    "The ferry runs from the north pier at every full hour, from the first of April until the last of October.",
    "In a strong wind it does not sail, and a red ball is hoisted above the house of the harbour master.",
    "Whoever holds a ticket for a crossing that was called off may take any other one within the same year.",
    "Bicycles travel for half the price of a person, and dogs on a lead for nothing at all.",
    "The crossing takes forty minutes, and tea is served below deck, in cups that do not tip over.",
)
PARAGRAPHS = "".join(f"<p>{sentence} {sentence.lower()}</p>" for sentence in SENTENCES)
MENU = "".join(f"<li><a href=/{name}>{name.title()}</a></li>" for name in ("home", "news", "sport", "culture", "about"))
BANNER = "<div class=cookie-banner>We count visits. <button>All right</button></div>"
ADDRESS = "https://example.org/ferry"


def explained(body, head=""):
    """The explanation of a page, and its Markdown."""
    html = f"<html><head><title>The ferry</title>{head}</head><body>{body}</body></html>".encode()
    trace = Trace()
    text = examine(html, "text/html", ADDRESS, trace=trace).text
    assert text == examine(html, "text/html", ADDRESS).text
    return explain(trace), text.markdown


def block_with(words, explanation):
    found = [block for block in explanation.blocks if words in block.text]
    assert len(found) == 1, [block.text for block in explanation.blocks]
    return found[0]


@pytest.mark.parametrize(
    ("element", "words", "reason"),
    [
        (f"<nav><ul>{MENU}</ul></nav>", "Culture", Reason.NAVIGATION),
        (f"<div role=navigation><ul>{MENU}</ul></div>", "Culture", Reason.ROLE),
        ("<div hidden>A hidden part</div>", "A hidden part", Reason.HIDDEN),
        ("<p style='display: none'>A hidden part</p>", "A hidden part", Reason.HIDDEN),
        (BANNER, "We count visits", Reason.CONSENT),
        ("<select><option>Deutsch<option>English</select>", "Deutsch English", Reason.TAG),
        ("<button>Buy a ticket</button>", "Buy a ticket", Reason.BUTTON),
        ("<noscript>Turn scripts on</noscript>", "Turn scripts on", Reason.NOSCRIPT),
        ("<header>The Pier Post</header>", "The Pier Post", Reason.HEADER),
        ("<footer>The pier's own</footer>", "The pier's own", Reason.FOOTER),
        ("<aside>Beside it</aside>", "Beside it", Reason.ASIDE),
        ("<form>Your name</form>", "Your name", Reason.FORM),
    ],
)
def test_what_is_certainly_no_content_is_dropped_by_the_rule_that_says_so(element, words, reason):
    explanation, markdown = explained(f"<h1>The ferry</h1>{PARAGRAPHS}{element}")
    block = block_with(words, explanation)
    assert (block.kept, block.reason, block.share) == (False, reason, None)
    assert words not in markdown


def test_blocks_are_weighed_against_the_cut_in_the_order_of_the_page():
    explanation, markdown = explained(
        f"<div class=post><h1>The ferry</h1>{PARAGRAPHS}</div>"
        f"<div class=site-footer><p>© The Pier Post. All rights reserved.</p><a href=/privacy>Privacy</a></div>"
    )
    assert (explanation.way, explanation.not_weighed) == (Way.BLOCKS, None)
    first, last = block_with(SENTENCES[0], explanation), block_with("rights reserved", explanation)
    assert (first.kept, first.reason, first.path) == (True, Reason.LIKELY, "body > div.post > p")
    assert (last.kept, last.reason) == (False, Reason.UNLIKELY)
    assert last.share < explanation.cut <= first.share
    assert explanation.blocks.index(first) < explanation.blocks.index(last)
    assert "rights reserved" not in markdown


def test_a_heading_and_the_first_h1_are_kept_for_what_they_head():
    listed = "".join(f"<div class=card><a href=/s/{n}><h4>Bridge {n} to be painted</h4></a></div>" for n in range(6))
    explanation, markdown = explained(
        f"<div class=nav><h1>Ferry</h1></div><div class=related>{listed}</div><div class=post>"
        f"{PARAGRAPHS}<h5 class=related-title>Read more</h5>{PARAGRAPHS}</div>"
    )
    for words, reason in (("Ferry", Reason.FIRST_H1), ("Read more", Reason.HEADING)):
        block = next(block for block in explanation.blocks if block.text == words)
        assert (block.kept, block.reason, block.share < explanation.cut) == (True, reason, True)
        assert words in markdown


def test_the_page_of_a_manual_is_kept_within_its_main_element():
    explanation, markdown = explained(
        f"<h1>Ferry</h1><div>Beside</div><main>{PARAGRAPHS}<pre>ferry --now</pre>"
        "<div class=share-links>Tell others</div><div class=sidebar>On this page</div></main>"
    )
    assert (explanation.way, explanation.not_weighed, explanation.cut) == (Way.MAIN, NotWeighed.MANUAL, None)
    found = {block.text: (block.kept, block.reason) for block in explanation.blocks}
    assert found["Ferry"] == (True, Reason.FIRST_H1)
    assert found["Beside"] == (False, Reason.OUTSIDE)
    assert found["ferry --now"] == (True, Reason.MARKED)
    assert found["Tell others"] == (False, Reason.CHROME_NAME)
    assert found["On this page"] == (False, Reason.COMPANION_NAME)
    assert "Tell others" not in markdown


@pytest.mark.parametrize(
    ("holder", "way"), [("main", Way.MAIN), ("article", Way.ARTICLE), ("div class=page-content", Way.NAMED)]
)
def test_what_marks_the_content_of_a_manual_is_said(holder, way):
    explanation, _ = explained(f"<{holder}>{PARAGRAPHS}<pre>ferry --now</pre></{holder.partition(' ')[0]}>")
    assert explanation.way is way
    assert {block.reason for block in explanation.blocks} == {Reason.MARKED}


def test_breadcrumbs_of_a_manual_go_by_their_name():
    explanation, _ = explained(f"<div class=breadcrumb>Home / Ferry</div><main>{PARAGRAPHS}<pre>ferry</pre></main>")
    assert block_with("Home / Ferry", explanation).reason is Reason.BREADCRUMBS


def test_of_a_page_with_little_text_nothing_is_guessed_and_what_was_taken_out_in_vain_is_put_back():
    explanation, markdown = explained("<div class=promo><p>Open from nine to five.</p></div>")
    assert (explanation.way, explanation.not_weighed) == (Way.WHOLE, NotWeighed.FEW_LETTERS)
    block = block_with("Open from nine", explanation)
    assert (block.kept, block.reason) == (True, Reason.REMAINS)
    assert "Open from nine" in markdown


def test_where_the_likely_blocks_are_a_crumb_the_page_without_its_chrome_is_kept():
    links = "".join(f"<li class=menu-item><a href=/{n}>Pier number {n}</a></li>" for n in range(100))
    explanation, markdown = explained(
        "<div class=post><h1>The ferry</h1><p>The ferry runs at every full hour.</p></div>"
        f"<div class='footer site-footer'><ul class=menu>{links}</ul></div>"
    )
    assert (explanation.way, explanation.not_weighed, explanation.cut) == (Way.WHOLE, NotWeighed.LITTLE_LEFT, None)
    assert {block.share for block in explanation.blocks} == {None}
    assert (block_with("at every full", explanation).reason, "at every full" in markdown) == (Reason.REMAINS, True)
    assert {block.reason for block in explanation.blocks if "number" in block.text} == {Reason.CHROME_NAME}


def test_more_blocks_than_are_weighed_are_bounded():
    explanation, _ = explained("".join(f"<p>Paragraph {n}</p>" for n in range(MAX_EXPLAINED + 7)))
    assert explanation.not_weighed is NotWeighed.MANY_BLOCKS
    assert (len(explanation.blocks), explanation.left_out) == (MAX_EXPLAINED, 7)


def test_a_part_within_a_block_has_a_fate_of_its_own():
    explanation, _ = explained(f"<h1>The ferry</h1><p>Tickets <button>buy now</button> at the pier.</p>{PARAGRAPHS}")
    assert [(block.text, block.reason) for block in explanation.blocks[1:4]] == [
        ("Tickets", Reason.LIKELY),
        ("buy now", Reason.BUTTON),
        ("at the pier.", Reason.LIKELY),
    ]


def test_words_on_two_lines_are_not_one():
    explanation, _ = explained(f"<h1>The ferry</h1>{PARAGRAPHS}<p>In a <b>red</b>dish<br>cup of tea</p>")
    assert block_with("cup of", explanation).text == "In a reddish cup of tea"
    explanation, _ = explained(f"<nav><a href=/>Home</a>\n<a href=/news>News</a></nav>{PARAGRAPHS}")
    assert explanation.blocks[0].text == "Home News"


def test_a_long_block_is_cut_and_says_how_long_it_is():
    explanation, _ = explained(f"<h1>The ferry</h1>{PARAGRAPHS}<p>{'plank ' * MAX_BLOCK_CHARACTERS}</p>")
    block = block_with("plank", explanation)
    assert len(block.text) == MAX_BLOCK_CHARACTERS + 2
    assert block.letters == 5 * MAX_BLOCK_CHARACTERS


def test_what_is_added_beside_the_blocks_is_said():
    story = json.dumps({"@type": "Article", "articleBody": " ".join(SENTENCES)})
    shell, markdown = explained("<div id=app></div>", head=f"<script type=application/ld+json>{story}</script>")
    assert shell.additions == (Addition.STRUCTURED_TEXT,)
    assert SENTENCES[2] in markdown
    excerpt = f'<meta property="og:description" content="{" ".join(SENTENCES)[:400]}…">'
    assert explained("<div id=app></div>", head=excerpt)[0].additions == (Addition.DESCRIPTION,)
    pass_ = json.dumps({"@type": "Product", "name": "Year pass", "sku": "F-77", "offers": {"price": 9}})
    product, _ = explained(
        f"<main><h1>Year pass</h1>{PARAGRAPHS}</main>", head=f"<script type=application/ld+json>{pass_}</script>"
    )
    assert product.additions == (Addition.PRODUCT_FACTS,)


def test_nothing_of_a_block_can_move_a_terminals_cursor():
    explanation, _ = explained(f"<h1>The ferry</h1>{PARAGRAPHS}<p class='a\x1bb'>Red \x1b[31m ball</p>")
    block = block_with("m ball", explanation)
    assert "\x1b" not in block.text + block.path


def test_a_plain_text_has_no_blocks_to_choose():
    trace = Trace()
    examine(b"One line.\n", "text/plain", ADDRESS, trace=trace)
    assert explain(trace) == explain(trace)
    assert (explain(trace).way, explain(trace).blocks) == (Way.TEXT, ())
