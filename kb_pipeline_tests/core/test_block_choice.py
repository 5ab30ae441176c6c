"""Pages as several kinds of systems mark them up, with what frames their content; the texts are made up."""

from __future__ import annotations

import json

import pytest

from kb_pipeline.core.extract import examine, extract_html
from kb_pipeline.core.reasons import NotWeighed, Way
from kb_pipeline.core.trace import Trace

SENTENCES = (
    "The old mill on the river was built by two brothers who had come from the coast.",
    "For forty years it ground the corn of nine villages, and nobody went further than a day to reach it.",
    "When the railway came, the brothers sold the wheel and bought a saw, which still stands in the yard.",
    "Their letters, found last spring under a floor, tell of floods, of debts, and of a dog called Admiral.",
    "The council has now bought the building, and a museum will open in it in two years, if money allows.",
)
MENU = "".join(f"<li><a href=/{name}>{name.title()}</a></li>" for name in ("home", "news", "sport", "culture", "about"))
FOOTER = "<div class=site-footer><p>© 2024 The River Post. All rights reserved.</p><a href=/privacy>Privacy</a></div>"


def markdown(body, title="The mill", head=""):
    return extract_html(
        f"<html><head><title>{title}</title>{head}</head><body>{body}</body></html>", "https://example.com/a/the-mill"
    ).markdown


def paragraphs(texts=SENTENCES, times=2):
    return "".join(f"<p>{text} {text.lower()}</p>" for text in texts for _ in range(times))


RELATED = "".join(
    f"<div class=card><a href=/s/{number}><h4>Bridge number {number} to be painted</h4></a><i>3 min read</i></div>"
    for number in range(1, 7)
)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            f"<div class=header><ul class=main-menu>{MENU}</ul></div><div class=post><h1>The mill</h1>",
            f"</div><div class=related-posts><h3>Related posts</h3>{RELATED}</div>{FOOTER}",
        ),
        (
            f"<header><ul>{MENU}</ul></header><article class=story-body><h1>The mill</h1>",
            f"</article><section class=more-stories><h2>More stories</h2>{RELATED}</section>{FOOTER}",
        ),
        (
            f"<div id=top><div class=nav><ul>{MENU}</ul></div></div><div id=content><div class=entry><h1>The mill</h1>",
            f"</div><div class=recommended><h3>You might also like</h3>{RELATED}</div></div>{FOOTER}",
        ),
    ],
)
def test_an_article_is_kept_whole_and_the_stories_around_it_are_not(before, after):
    text = markdown(f"{before}{paragraphs()}{after}")
    assert text.startswith("# The mill\n")
    assert all(sentence in text for sentence in SENTENCES)
    assert "Bridge number 4" not in text
    assert "rights reserved" not in text
    assert "Culture" not in text


def test_a_product_keeps_its_price_and_specification_and_loses_other_products():
    others = "".join(
        f"<div class=product-card><a href=/p/{number}>Copper kettle {number}</a>"
        f"<span class=price>$4{number}.00</span></div>"
        for number in range(1, 7)
    )
    text = markdown(
        f"<div class=header><ul>{MENU}</ul></div><main><div class=product><h1>Iron kettle</h1>"
        "<span class=price>$38.50</span>"
        "<div class=description>"
        "<p>A kettle of cast iron for an open fire, with a lid that closes well and a long spout."
        " It holds two litres, and is oiled by hand before it leaves the house. The handle is of ash wood, and cool"
        " for as long as the fire is not higher than the rim. Repairs are free for ten years, and the lid can be had"
        " alone, in case one falls into the river.</p></div><h2>Specifications</h2>"
        "<table><tr><th>Weight</th><td>3.1 kg</td></tr><tr><th>Holds</th><td>2 litres</td></tr></table></div>"
        f"<div class=related-products><h2>You may also like</h2>{others}</div></main>{FOOTER}",
        title="Iron kettle",
    )
    assert "$38.50" in text
    assert "| Weight | 3.1 kg |" in text
    assert "Copper kettle 3" not in text


def test_a_manual_keeps_its_sections_tables_and_code_and_loses_its_sidebar():
    pages = "".join(f"<li><a href=/docs/{number}>Chapter {number}</a></li>" for number in range(1, 15))
    sections = "".join(
        f"<h2 id=s{number}>Option {number}</h2><p>{SENTENCES[number % 5]}</p>"
        f"<pre><code>mill --option {number}\n</code></pre>"
        f"<table><thead><tr><th>Value</th><th>Meaning</th></tr></thead>"
        f"<tr><td>{number}</td><td>Turns {number} times</td></tr></table>"
        for number in range(1, 5)
    )
    text = markdown(
        f"<div class=sidebar><ul class=toctree>{pages}</ul></div>"
        f"<div class=document><div class=body><h1>The mill command</h1>"
        f"{sections}</div></div>{FOOTER}"
    )
    for number in range(1, 5):
        assert f"## Option {number}" in text
        assert f"mill --option {number}" in text
        assert f"Turns {number} times" in text
    assert "Chapter 9" not in text


@pytest.mark.parametrize(
    "holder",
    [
        "<div class=post><div class=author>{}</div><div class=post-body>{}</div></div>",
        "<li class=comment><span class=username>{}</span><div class=message><p>{}</p></div></li>",
        "<article class=message><h4>{}</h4><div class=message-content>{}</div></article>",
    ],
)
def test_all_posts_of_a_thread_are_kept(holder):
    posts = "".join(
        holder.format(name, f"{text} {text.lower()}")
        for name, text in zip(("mia", "ben", "ada", "kim", "lou"), SENTENCES, strict=True)
    )
    text = markdown(
        f"<div class=nav><ul>{MENU}</ul></div><div class=thread><h1>What became of the mill?</h1>{posts}</div>{FOOTER}"
    )
    assert all(sentence in text for sentence in SENTENCES)


def test_a_page_of_little_text_is_kept_as_it_is():
    assert markdown("<div class=promo><p>Open from nine to five.</p></div>") == "Open from nine to five.\n"


def test_a_button_that_was_never_closed_does_not_swallow_the_page():
    text = markdown(f"<header><button class=menu>Menu<div></header><main><h1>The mill</h1>{paragraphs()}</main>")
    assert all(sentence in text for sentence in SENTENCES)


def test_a_page_that_waits_behind_a_dialogue_is_seen():
    text = markdown(
        f"<div id=app aria-hidden=true><h1>The mill</h1>{paragraphs()}</div><div role=dialog>Choose a country</div>"
    )
    assert all(sentence in text for sentence in SENTENCES)
    assert "Choose a country" not in text


def product_page(*products, shown=""):
    described = "".join(f"<script type=application/ld+json>{json.dumps(product)}</script>" for product in products)
    return markdown(f"{described}<main><h1>Iron kettle</h1>{shown}{paragraphs()}</main>", title="Iron kettle")


KETTLE = {
    "@type": "Product",
    "name": "Iron kettle",
    "brand": {"@type": "Brand", "name": "Hearth"},
    "sku": "K-1138",
    "gtin13": "4006381333931",
    "offers": {"@type": "Offer", "price": 38.5, "priceCurrency": "EUR"},
}


def test_what_a_page_states_of_its_product_for_machines_is_kept():
    text = product_page(KETTLE)
    for line in ("Price: 38.5 EUR", "Brand: Hearth", "SKU: K-1138", "GTIN: 4006381333931"):
        assert f"- {line}\n" in text


def test_what_the_page_shows_of_its_product_is_not_said_twice():
    assert product_page(KETTLE, shown="<p>SKU K-1138 by Hearth</p>").count("K-1138") == 1


def test_a_list_of_products_states_none_of_them():
    several = [{**KETTLE, "name": f"Kettle {number}", "sku": f"K-{number}"} for number in range(3)]
    assert "SKU" not in product_page(*several)


@pytest.mark.parametrize(
    "broken", [{"offers": []}, {"offers": "free"}, {"brand": ["a", "b"]}, {"sku": {"a": 1}}, {"sku": True}]
)
def test_statements_that_are_none_are_passed_over(broken):
    assert "Iron kettle" in product_page({**KETTLE, **broken})


@pytest.mark.parametrize(("ending", "shown"), [("…", True), ("...", True), ("&amp;hellip;", True), (".", False)])
def test_a_page_that_shows_nothing_gives_the_beginning_that_it_states_of_its_text(ending, shown):
    described = " ".join(SENTENCES)[:400].rstrip(" .") + ending
    head = f'<meta property="og:description" content="{described}">'
    assert (SENTENCES[1] in markdown("<div id=app></div><script src=app.js></script>", head=head)) is shown


def test_a_page_of_a_manual_keeps_every_block_of_its_content():
    links = "".join(f"<li><a href=/ref/{name}>{name}</a></li>" for name in ("start", "stop", "prime", "drain"))
    body = f"<main><h1>Pumps</h1>{paragraphs()}<pre>pump start</pre><ul>{links}</ul><aside>On this page</aside></main>"
    written = markdown(f"<nav><ul>{MENU}</ul></nav>{body}{FOOTER}", title="Pumps")
    assert all(f"[{name}](https://example.com/ref/{name})" in written for name in ("start", "stop", "prime", "drain"))
    assert not any(word in written for word in ("Culture", "On this page", "Privacy"))


def post(number, text):
    user = f"<div class=user>user{number} <span>1{number}7 badges</span> <a href=/u/{number}>profile</a></div>"
    tools = "<ul class=tools><li><a href=/share>Share</a></li><li><a href=/flag>Flag</a></li></ul>"
    return f"<div class=answer id=answer-{number}><div class=body><p>{text}</p></div>{tools}{user}</div>"


def test_a_thread_with_code_in_it_is_no_manual():
    posts = "".join(post(number, f"{text} {text.lower()}") for number, text in enumerate(SENTENCES, 1))
    page = f"<main><h1>Who built the mill?</h1><pre>cat mill</pre>{posts}</main>"
    trace = Trace()
    examine(page.encode(), "text/html", "https://example.com/questions/7", trace=trace)
    assert trace.way is Way.BLOCKS
    examine(page.replace("answer", "step").encode(), "text/html", "https://example.com/questions/7", trace=trace)
    assert trace.not_weighed is NotWeighed.MANUAL


HELP_PAGES = ("Shipping and delivery", "Returns and refunds", "Report an offence", "Payment methods", "Gift cards")
HELP = "".join(f"<li><a href=/help/{number}>{name}</a></li>" for number, name in enumerate(HELP_PAGES))
SHELL = (
    f"<div class=top-header><ul class=main-menu>{MENU}</ul></div><div id=root></div><div class=site-footer>"
    + "".join(
        f"<div class=footer-column><h4>{name}</h4><ul>{HELP}</ul></div>"
        for name in ("Help", "Company", "Partners", "Our other sites", "Apps", "Careers", "Press")
    )
    + "<p class=copyright>© 2024 The River Post. All rights reserved.</p></div>"
)


def test_a_shell_that_shows_a_menu_and_a_footer_says_nothing():
    text = extract_html(f"<html><body>{SHELL}</body></html>", "https://example.com/item/1005")
    assert not text.markdown
    assert "old mill" in markdown(SHELL.replace("<div id=root>", f"<div id=root>{paragraphs()}"))


@pytest.mark.parametrize("short", ["<h1>Jobs</h1><a href=/jobs/1>Miller</a>", "<main><p>Miller, 4 m</p></main>"])
def test_a_short_page_among_a_menu_and_a_footer_is_no_shell(short):
    assert "Miller" in markdown(SHELL.replace("<div id=root>", f"<div id=root>{short}"))
