"""From a body to a text: what is content, what a page says of itself, and that no input stalls or breaks it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb_pipeline.core.chrome import strip_chrome
from kb_pipeline.core.extract import examine, extract, extract_html
from kb_pipeline.core.html_tree import MAX_DEPTH, measure, parse_html
from kb_pipeline.errors import BodyUnreadable
from kb_pipeline.model import PageState

URL = "https://docs.example/pumps"
PROSE = "A pump moves water from the well to the tank, and a valve keeps it from running back. " * 4
CHROME = "<header><nav><a href=/>Home</a> <a href=/docs>Docs</a></nav></header>"


def text_of(main, head="", before=CHROME, after="<footer>Imprint</footer>"):
    return extract_html(f"<html><head>{head}</head><body>{before}{main}{after}</body></html>", URL)


@pytest.mark.parametrize(
    "chrome",
    [
        "<nav>Elsewhere</nav>",
        "<div role=navigation>Elsewhere</div>",
        "<script>Elsewhere</script><style>Elsewhere</style><template>Elsewhere</template>",
        "<aside>Elsewhere</aside>",
        "<footer>Elsewhere</footer>",
        "<form><label>Elsewhere</label><input name=q></form>",
        "<div hidden>Elsewhere</div><div style='display: none'>Elsewhere</div><p aria-hidden=true>Elsewhere</p>",
        "<div class='cookie-banner'>Elsewhere</div><div id=onetrust-consent-sdk>Elsewhere</div>",
        "<ol class=breadcrumb><li>Elsewhere</ol><div aria-label=Breadcrumb>Elsewhere</div>",
        "<div class=share-buttons><a href=/x>Elsewhere</a></div><div class=edit-this-page>Elsewhere</div>",
        "<button>Elsewhere</button><select><option>Elsewhere</select>",
        "<header><nav>Elsewhere</nav><h2>Elsewhere</h2></header>",
        "<header role=banner><h2>Elsewhere</h2></header>",
        "<span class='mw-editsection'>[<a href=/edit>Elsewhere</a>]</span><div class=noprint>Elsewhere</div>",
        "<div class=d-print-none>Elsewhere</div><div class='w-form-done'>Elsewhere</div>",
    ],
)
def test_chrome_is_dropped_within_the_content_too(chrome):
    text = text_of(f"<main><h1>Pumps</h1>{chrome}<p>{PROSE}</p></main>")
    assert text.markdown == f"# Pumps\n\n{PROSE.strip()}\n"


@pytest.mark.parametrize(
    "content",
    [
        f"<div class='sidebar-layout widget-area'><p>{PROSE}</p></div>",
        f"<div class='social-features'><p>{PROSE}</p></div>",
        f"<form action=/page.aspx><p>{PROSE}</p><input type=hidden name=state></form>",
        f"<div hidden id='S:1'><p>{PROSE}</p></div>",
        f"<div style='visibility:hidden'><p>{PROSE}</p></div>",
        f"<noscript><p>{PROSE}</p></noscript>",
        f"<aside class='callout note'><p>{PROSE}</p></aside>",
        f"<div role=tabpanel hidden><p>{PROSE}</p></div>",
        f"<h3><button aria-expanded=false>Why?</button></h3><div class=collapse hidden><p>{PROSE}</p></div>",
        f"<nav><a href=/>Home</a><p>{PROSE}</p>",
    ],
)
def test_content_is_kept_however_it_is_called_or_hidden(content):
    assert PROSE.strip() in text_of(f"<div>{content}</div>").markdown.replace("> ", "")


@pytest.mark.parametrize(
    "content",
    [
        "<header><nav aria-label=Breadcrumb><a href=/>Home</a></nav><h1>Kept</h1></header>",
        "<details class='sd-dropdown sd-card'><summary>Why</summary><p>Kept</p></details>",
        "<div class='accordion-item__dropdown' role=region><p>Kept</p></div>",
        "<div class='accordion-toggle w-dropdown-toggle'>Kept</div>",
        "<nav class='accordion-list w-dropdown-list'><p>Kept</p></nav>",
        "<div class='intercom-interblocks-paragraph no-margin'><p>Kept</p></div>",
        "<div class=code-toolbar><pre>Kept</pre></div>",
        "<div role=note class='hatnote navigation-not-searchable'>Kept</div>",
        "<h2 class=with-breadcrumbs>Kept</h2>",
        "<aside class='footnote brackets' role=doc-footnote><p>Kept</p></aside>",
        "<div class=sidebarblock><div class=content>Kept</div></div>",
        "<ul class='nav nav-tabs'><li><a href=#k>Kept</a> <a href=#x>Other</a></ul><p id=k>One<p id=x>Two",
        "<ul role=tablist><li class=nav-item><button role=tab>Kept</button></ul><p role=tabpanel>One",
        "<div role=tabpanel hidden><a href=/sdk>Kept</a><pre>x</pre></div>",
        "<div role=tabpanel hidden><select><option>js</select><pre>Kept</pre></div>",
    ],
)
def test_a_few_words_of_content_are_kept_whatever_their_class_says(content):
    assert "Kept" in text_of(f"<main><p>{PROSE}</p>{content}</main>").markdown


def test_a_hidden_part_that_says_much_is_no_form_though_it_holds_one():
    form, text = "<label>Name</label><input name=q>", f"<p>{PROSE * 6}<p>Answer"
    page = "<main><p>{prose}</p><div hidden class=accordion-body>{inside}</div></main>"
    assert "Name" not in text_of(page.format(prose=PROSE * 12, inside=form)).markdown
    assert "Answer" in text_of(page.format(prose=PROSE * 12, inside=form + text)).markdown


def test_a_manual_pages_name_and_purpose_stand_in_the_box_of_its_title():
    box = "<h1>pump(1) Manual Page</h1><h2>NAME</h2><div class=sectionbody><p>pump - move water uphill</p></div>"
    body = f"<h2>SYNOPSIS</h2><pre>pump [-f]</pre><h2>DESCRIPTION</h2><p>{PROSE}</p>"
    text = text_of(f"<div id=header>{box}</div><div id=content>{body}</div><div id=footer>Last updated</div>")
    assert text.markdown.startswith("# pump(1) Manual Page\n\n## NAME\n\npump - move water uphill\n\n## SYNOPSIS\n")
    assert "Last updated" not in text.markdown


@pytest.mark.parametrize("beside", ["<a href=/a>Shop</a> <a href=/b>About us</a>", f"<p>{PROSE * 3}</p>"])
def test_a_title_comes_without_its_box_where_that_is_navigation_or_longer_than_a_title_needs(beside):
    text = text_of(f"<div id=top><h1>Pumps</h1>{beside}</div><div id=content><pre>x</pre><p>{PROSE * 8}</p></div>")
    assert text.markdown.startswith("# Pumps\n\n```\nx\n```\n")


def test_the_post_that_outweighs_the_page_is_chosen_and_the_title_outside_of_it_comes_along():
    text = text_of(f"<h1>Pumps</h1><p>Latest news</p><article><p>{PROSE}</p></article><p>Also of interest</p>")
    assert text.markdown == f"# Pumps\n\n{PROSE.strip()}\n"


def test_of_articles_alike_all_are_kept():
    posts = "".join(f"<article><h2>Post {number}</h2><p>{PROSE}</p></article>" for number in range(4))
    assert text_of(f"<div>{posts}</div>").markdown.count("## Post") == 4


def test_a_guess_with_next_to_nothing_in_it_gives_way_to_the_whole_page():
    text = text_of(f"<main><p>Loading</p></main><div><p>{PROSE}</p></div>")
    assert PROSE.strip() in text.markdown


def test_a_page_that_is_a_table_of_contents_keeps_it():
    links = "".join(f"<li><a href=/{number}>Chapter {number} on pumps and valves</a></li>" for number in range(20))
    assert text_of(f"<main><h1>Book</h1><div class=toc><ul>{links}</ul></div></main>").markdown.count("Chapter") == 20


def test_what_a_page_says_of_itself_is_read():
    head = (
        "<title>Pumps &amp; valves</title><meta name=description content='All  about pumps'>"
        "<link rel=canonical href=/pumps?lang=en><meta property=article:published_time content=2026-01-02T03:04:05Z>"
        '<script type="application/ld+json">{"@graph": [{"dateModified": "2026-02-03"}]}</script>'
        "<meta name=robots content='NOINDEX, follow'><meta name=KbPipelineBot content=nofollow>"
    )
    html = f"<html lang=en_GB><head>{head}</head><body><main><h1>Other</h1><p>{PROSE}</p></main></body>"
    text = extract_html(html, URL, bot_token="KbPipelineBot")
    assert (text.title, text.description, text.language) == ("Pumps & valves", "All about pumps", "en-GB")
    assert (text.canonical, text.published) == ("https://docs.example/pumps?lang=en", "2026-01-02T03:04:05Z")
    assert (text.modified, text.noindex, text.nofollow) == ("2026-02-03", True, True)
    assert not extract_html(html, URL, bot_token="OtherBot").nofollow


JSON_LD = '<script type="application/ld+json">%s</script>'


@pytest.mark.parametrize(
    ("head", "author"),
    [
        ("<meta name=author content='Ada  Weir'>", "Ada Weir"),
        ("<meta name=author content=''><meta property=article:author content='Ada Weir'>", "Ada Weir"),
        ("<meta property=article:author content='https://social.example/ada'>", ""),
        (JSON_LD % '{"@type": "Article", "author": {"@type": "Person", "name": "Ada Weir"}}', "Ada Weir"),
        (JSON_LD % '{"author": [{"name": "Ada Weir"}, "Bela Brook", 7, null]}', "Ada Weir, Bela Brook"),
        (JSON_LD % '{"author": {"name": "https://site.example/ada"}}', ""),
        ("<meta name=dc.creator content='Ada Weir'>" + JSON_LD % '{"author": "Bela Brook"}', "Ada Weir"),
    ],
)
def test_the_author_is_who_the_page_names_and_no_address(head, author):
    assert text_of(f"<main><p>{PROSE}</p></main>", head).author == author


def test_a_time_that_says_it_is_of_a_change_is_not_the_day_of_publication():
    times = "<time itemprop=dateModified datetime=2026-02-03>x</time><time datetime=2026-01-02>y</time>"
    text = text_of(f"<main><p>{PROSE} {times}</p></main>")
    assert (text.published, text.modified) == ("2026-01-02", "2026-02-03")


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<title>  In  head </title><h1>H</h1>", "In head"),
        ("<svg><title>icon</title></svg><h1>Heading</h1>", "Heading"),
        ("<title></title><p>x</p>", URL),
    ],
)
def test_the_title_is_the_heads_else_the_first_h1_else_the_address(html, title):
    assert extract_html(html, URL).title == title


def test_json_ld_serves_where_the_page_shows_next_to_nothing():
    head = f'<script type="application/ld+json">{{"@type": "Article", "articleBody": "{PROSE}"}}</script>'
    assert PROSE.strip() in text_of("<main><p>Read on</p></main>", head).markdown
    assert PROSE.strip() not in text_of(f"<main><p>{PROSE[:50] * 8}</p></main>", head).markdown


def test_plain_text_keeps_its_paragraphs_and_is_not_taken_for_markdown():
    body = b"Notes\r\n\r\n# not a heading\r\nnext line\r\n\r\n* star"
    text = extract(body, "text/plain", URL)
    assert (text.title, text.markdown) == ("Notes", "Notes\n\n\\# not a heading\nnext line\n\n\\* star\n")


def test_markdown_stays_as_it_is():
    text = extract(b"# Title\n\n- a\n- b\n", "text/markdown; charset=utf-8", URL)
    assert (text.title, text.markdown) == ("Title", "# Title\n\n- a\n- b")


@pytest.mark.parametrize(
    ("body", "content_type", "what"),
    [
        (b"\x89PNG\r\n\x1a\n....", "text/html", "image"),
        (b"PK\x03\x04....", "application/octet-stream", "archive"),
        (b'{"a": 1}', "application/json", "json"),
        (b"<?xml version='1.0'?><rss version='2.0'></rss>", "text/html", "feed"),
        (bytes(range(32)) * 40, "text/html", "binary"),
    ],
)
def test_what_is_no_document_is_said_to_be_none(body, content_type, what):
    with pytest.raises(BodyUnreadable, match=what):
        extract(body, content_type, URL)


def test_a_body_without_text_is_an_empty_text_and_not_an_error():
    found = examine(b" \n", "text/html", URL)
    assert (found.text.characters, found.text.markdown, found.state) == (0, "", PageState.EMPTY)


def test_state_and_text_come_from_one_reading():
    found = examine(f"<main><p>{PROSE}</p></main>".encode(), "text/html", URL)
    assert (found.state, found.text.characters) == (PageState.OK, len(PROSE.strip()))
    assert examine(b"<h1>Page not found</h1>", "text/html", URL).state is PageState.SOFT_404


def test_an_element_deeper_than_any_page_needs_keeps_its_text():
    html = "<div>" * 5_000 + "deep <b>down</b>" + "</div>" * 5_000 + "<p>after</p>"
    document, cut = parse_html(html)
    assert not cut
    assert document.text() == "deep down after"
    assert max(sum(1 for _ in node.ancestors()) for node in document.iter()) <= MAX_DEPTH


HOSTILE = {
    "depth": "<div>" * 60_000 + "x",
    "nested lists": "<ul><li>" * 20_000 + "x",
    "nested quotes": "<blockquote>" * 20_000 + "x",
    "nested tables": "<table><tr><td>" * 10_000 + "x",
    "nested headings": "<h2>" * 20_000 + "x",
    "nested headers": "<article><header><h2>x</h2>" * 10_000,
    "attributes": "<p " + " ".join(f"a{number}=1" for number in range(50_000)) + ">x",
    "one long line": "<p>" + "x" * 2_000_000,
    "one long class": "<div class='" + "side-bar " * 200_000 + "'>x",
    "siblings": "<div>" + "<nav></nav>" * 30_000 + "x",
    "spans": "<table><tr>" + "<td colspan=1000 rowspan=65534>x" * 2_000,
    "lines of code": "<pre>" + "<span class=line>x</span>" * 20_000,
    "brackets": "<p>" + "[" * 300_000,
    "angles": "<" * 300_000,
    "ampersands": "&" * 300_000,
    "comments": "<!--" * 100_000,
    "declarations": "<?xml ?>" * 250 + "<p>x",
    "unclosed tags": "<div" * 100_000,
    "json": '<script type="application/ld+json">' + "[" * 100_000 + "</script>",
    "emphasis": "<p>" + "<b></b>" * 30_000 + "x",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_page_takes_long_however_it_is_built(name):
    began = time.process_time()
    extract(HOSTILE[name].encode(), "text/html", URL)
    assert time.process_time() - began < 5


@settings(max_examples=150, deadline=None)
@given(
    st.binary(max_size=400),
    st.sampled_from(["text/html", "text/html; charset=utf-16", "text/plain", "application/pdf", ""]),
)
def test_any_bytes_give_a_text_or_a_typed_error(body, content_type):
    try:
        text = extract(body, content_type, URL)
    except BodyUnreadable:
        return
    assert text.title
    text.markdown.encode()


MARKUP = (
    "<p> </p> <hr> <ul> <li> <pre> <code> <table> <tr> <th> <h1> <b> <em> <br> <dl> <dt> <dd> <blockquote> <details>"
    " <summary> <header> <article> <main> <nav> </nav> </main> </table> </ul> </a> </b> </pre> <svg> <title> </title>"
    " <script> </script> <form> <noscript> <!-- --> word | # * ` &amp; &#0; &#xd800; <![CDATA[ <template> <math>"
)
TAGS = ["<div hidden>", "<ol start=7>", "<td colspan=3>", "<h2 id=a>", "<a href=/x>", "<img alt=pic src=/i>"]
ROLES = [f"<div role={role}>" for role in ("tablist", "tab", "tabpanel", "navigation", "banner", "main")]
FRAGMENTS = st.sampled_from([*MARKUP.split(" "), *TAGS, *ROLES])


@settings(max_examples=300, deadline=None)
@given(st.lists(FRAGMENTS, max_size=40))
def test_any_mixture_of_markup_gives_a_text_whose_anchors_are_its_headings(fragments):
    text = extract_html(" ".join(fragments), URL)
    headings = sum(line.startswith("#") for line in text.markdown.split("\n"))
    assert all(ordinal < headings for ordinal, _ in text.anchors)
    assert text.characters <= len(text.markdown)


def test_letters_are_counted_once_and_scripts_are_none():
    document, _ = parse_html('<p>ab <a href=/>cd</a></p><script type="application/ld+json">{"x": 1}</script>')
    measure(document)
    assert (document.letters, document.link_letters) == (4, 2)


@pytest.mark.parametrize(
    "page",
    [
        "<html><title>c</title><main><p>{}</p></main>",
        "<title>c</title><article><h2>A pump</h2><p>{}</p></article>",
        "<head><title>c</title><section><p>{}</p></section></head><body class=a><p>More.</p></body>",
        "<title>c</title>{}",
        "<head><title>c</title><x-app><main><p>{}</p></main></x-app>",
    ],
)
def test_content_that_follows_a_head_which_nothing_closes_is_the_body(page):
    text = extract_html(page.format(PROSE), URL)
    assert PROSE.strip() in text.markdown
    assert text.title == "c"


def test_the_source_of_a_formula_outlives_other_scripts():
    document, _ = parse_html('<p>x <script type="math/tex">h^2</script><script>h = 2</script></p>')
    measure(document)
    strip_chrome(document)
    assert [node.text() for node in document.iter() if node.tag == "script" and node.text()] == ["h^2"]
