"""HTML to Markdown, judged by a CommonMark parser where it can be: what was a list, a table or code still is one."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kb_pipeline.core.extract import extract_html
from kb_pipeline.core.markdown_inline import destination
from kb_pipeline.core.urls import resolve

URL = "https://docs.example/guide/page.html"
READER = MarkdownIt("commonmark").enable("table").enable("strikethrough")


def markdown(html):
    return extract_html(f"<body><main>{html}</main></body>", URL).markdown


def tokens(html, kind):
    return [token for token in READER.parse(markdown(html)) if token.type == kind]


def test_headings_keep_their_levels_and_one_line_each():
    assert markdown("<h1>One<br>line</h1><p>x</p><h3>Three</h3>") == "# One line\n\nx\n\n### Three\n"


@pytest.mark.parametrize(
    ("html", "written"),
    [
        ("Zu\u00adcker\u200b f\u00fcr alle", "Zucker f\u00fcr alle"),
        ("Zucker\u00a0f\u00fcr <b> alle </b>!", "Zucker f\u00fcr **alle** !"),
        ("a <i> <b> c</b></i> <a href=/d> d</a>", "a ***c*** [d](https://docs.example/d)"),
        ("\u4e00\n\u4e8c", "\u4e00\u4e8c"),
        ("12) and 3. of 4", "12\\) and 3. of 4"),
        ("1.5 and 2) more", "1.5 and 2) more"),
        ("a_b * c ~d", "a_b \\* c ~d"),
        ("[1]: the first note", "\\[1]: the first note"),
        ("[one<br>two]: three", "\\[one  \ntwo]: three"),
        ("[1] the first note", "[1] the first note"),
    ],
)
def test_text_loses_what_nobody_sees_and_says_nothing_that_markdown_would_read_otherwise(html, written):
    assert markdown(f"<p>{html}</p>") == f"{written}\n"


def test_a_nested_list_stays_nested_and_numbered_from_its_start():
    written = markdown("<ol start=3><li>three<ul><li>inner</li></ul></li><li>four</li></ol>")
    assert written == "3. three\n   - inner\n4. four\n"


def test_code_in_a_list_item_keeps_its_lines_its_indent_and_its_language():
    code = '<pre><code class="language-sh">if true\n    then x\n\n  y</code></pre>'
    html = f"<ul><li><p>Run</p>{code}</li><li>next</li></ul>"
    [fence] = tokens(html, "fence")
    assert (fence.info, fence.content) == ("sh", "if true\n    then x\n\n  y\n")
    assert len(tokens(html, "list_item_open")) == 2


@pytest.mark.parametrize(
    ("html", "language"),
    [
        ('<pre class="brush: java; gutter">x</pre>', "java"),
        ('<pre data-lang="go">x</pre>', "go"),
        ('<div class="highlight-python notranslate"><div class="highlight"><pre>x</pre></div></div>', "python"),
        ('<div class="highlight highlight-source-js"><pre>x</pre></div>', "js"),
        ('<pre><code class="hljs rust">x</code></pre>', "rust"),
        ('<pre class="programlisting">x</pre>', ""),
        ('<div class="code-block"><pre>x</pre></div>', ""),
    ],
)
def test_the_language_is_read_from_what_highlighters_leave(html, language):
    assert tokens(html, "fence")[0].info == language


@pytest.mark.parametrize(
    "html",
    [
        "<pre>a\n  b</pre>",
        "<pre>a<br>  b</pre>",
        "<pre><code><span class=line>a</span>\n<span class=line>  b</span></code></pre>",
        "<pre><code><span class=line>a</span><span class=line>  b</span></code></pre>",
        "<pre><div>a</div><div>  b</div></pre>",
        "<table><tr><td class=gutter><pre>1\n2</pre></td><td><pre>a\n  b</pre></td></tr></table>",
        "<pre><span class=linenos>1</span>a\n<span class=linenos>2</span>  b<button>Copy</button></pre>",
    ],
)
def test_code_is_the_same_however_its_lines_are_marked_up(html):
    assert tokens(html, "fence")[0 if "gutter" not in html else -1].content == "a\n  b\n"


def test_code_that_holds_a_fence_gets_a_longer_one():
    [fence] = tokens("<pre>```\nx\n```</pre>", "fence")
    assert fence.content == "```\nx\n```\n"


def test_spans_of_a_table_are_resolved_so_that_each_row_can_be_read_alone():
    html = (
        "<table><caption>Limits</caption><thead><tr><th rowspan=2>Name<th colspan=2>Size<tr><th>min<th>max</thead>"
        "<tr><td rowspan=2>a|b<td>1<td>2<tr><td>3<td><code>x|y</code><tr><td colspan=3>all</table>"
    )
    assert markdown(html).split("\n") == [
        "Limits",
        "",
        "| Name | Size min | Size max |",
        "| --- | --- | --- |",
        "| a\\|b | 1 | 2 |",
        "| a\\|b | 3 | `x\\|y` |",
        "| all |  |  |",
        "",
    ]


def test_a_row_of_data_is_not_promoted_to_a_header():
    assert markdown("<table><tr><td>a<td>1<tr><td>b<td>2</table>").startswith("|  |  |\n| --- | --- |\n| a | 1 |")


def test_a_table_that_only_places_blocks_is_no_table():
    html = "<table role=presentation><tr><td><h2>Left</h2><p>one</p><td><p>two</p></table>"
    assert markdown(html) == "## Left\n\none\n\ntwo\n"


def test_a_header_cell_over_the_whole_table_is_its_title():
    html = "<table><tr><th colspan=2>Prices</th></tr><tr><th>Plan<th>Cost</tr><tr><td>S<td>1</table>"
    assert markdown(html) == "Prices\n\n| Plan | Cost |\n| --- | --- |\n| S | 1 |\n"


def test_a_definition_stands_under_its_term():
    html = "<dl><dt>fsync</dt><dd>Flushes.<pre>on\n  off</pre></dd><dt>a</dt><dt>b</dt><dd><ul><li>x</ul></dd></dl>"
    assert markdown(html) == "fsync\n: Flushes.\n\n  ```\n  on\n    off\n  ```\n\na\nb\n\n  - x\n"


def test_quotes_admonitions_and_details_are_kept():
    html = (
        "<blockquote><p>one<p>two</blockquote>"
        '<aside class="admonition tip"><p class="admonition-title">Tip</p><p>Do so.</p></aside>'
        "<details><summary>More</summary><p>Hidden</p></details>"
    )
    assert markdown(html) == "> one\n>\n> two\n\n> **Tip**\n>\n> Do so.\n\n**More**\n\nHidden\n"


def test_each_tab_panel_stands_under_its_label_whether_it_is_shown_or_not():
    html = (
        "<div role=tablist><button role=tab id=a>npm</button><button role=tab id=b>yarn</button></div>"
        "<div role=tabpanel aria-labelledby=a><pre>npm i</pre></div>"
        "<div role=tabpanel aria-labelledby=b hidden><pre>yarn add</pre></div>"
    )
    assert markdown(html) == "**npm**\n\n```\nnpm i\n```\n\n**yarn**\n\n```\nyarn add\n```\n"


@pytest.mark.parametrize(
    "html",
    [
        "<h3><a role=tab href=#one>Question?</a></h3><div role=tabpanel><p>{answer}</p></div>",
        "<div role=tab><h3>Question?</h3><div role=tabpanel><p>{answer}</p></div></div>",
        "<div role=tab><h3>Question?</h3><div role=tabpanel><p>{short}</p></div></div>",
        "<button role=tab><h3>Question?</h3><p>{answer}</p></button>",
    ],
)
def test_an_accordion_that_calls_itself_a_tab_list_loses_nothing(html):
    answer = "An answer in some length, which is what the reader came for, " * 2
    written = markdown(f"<div role=tablist>{html.format(answer=answer, short='An answer')}</div>")
    assert "Question?" in written
    assert "An answer" in written


ORIGINS = [
    "https://docs.example",
    "http://a-b.docs.example",
    "https://127.0.0.1",
    "https://0x7f.0.0.1",
    "https://A.example",
]
PIECES = [*"ab/.%~_-:;@= A\u00e9?#1('|", "..", "%2e", "%2E"]
PATHS = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)


@given(
    st.sampled_from(ORIGINS), st.builds("{}{}{}".format, st.sampled_from(["", *ORIGINS]), st.sampled_from("/?#"), PATHS)
)
@example("https://docs.example", "/a/%2e%2E/b")
@example("https://docs.example", "https://docs.example/a/../b?c#d")
def test_links_are_those_of_the_url_standard(origin, reference):
    written = extract_html(f'<main><p>x <a href="{reference}">y</a></p></main>', f"{origin}/guide/").markdown
    url = resolve(f"{origin}/guide/", reference.strip())
    assert written == (f"x [y]({destination(url)})\n" if url else "x y\n")


def test_links_and_images_are_absolute_and_what_leads_nowhere_is_text():
    html = (
        '<p><a href="../a b.html?q=1#z">up</a> <a href="javascript:x()">js</a> <a>none</a>'
        ' <img src="/i.png" alt="A pump"> <img src="/x.png" alt="x.png"> <a href="/w_(x)">paren</a></p>'
    )
    assert markdown(html) == (
        "[up](https://docs.example/a%20b.html?q=1#z) js none ![A pump](https://docs.example/i.png)"
        " [paren](<https://docs.example/w_(x)>)\n"
    )


def test_links_are_resolved_against_the_base_of_the_page():
    html = "<head><base href=/v2/></head><body><main><p><a href=x>x</a> and text</p></main></body>"
    assert "(https://docs.example/v2/x)" in extract_html(html, URL).markdown


def test_a_card_that_is_one_link_links_its_title():
    html = '<a href="/pro"><div><h3>Pro</h3><p>For teams</p></div></a>'
    assert markdown(html) == "### [Pro](https://docs.example/pro)\n\nFor teams\n"


def test_the_header_of_a_card_is_one_line():
    html = "<article class=card><header><h3>Developer Plan</h3><p>$20/mo</p></header><p>Five seats</p></article>"
    assert markdown(html) == "### Developer Plan $20/mo\n\nFive seats\n"


def test_cards_in_a_list_are_sections_and_headings_in_quotes_are_not():
    assert markdown("<ul><li><h3>One</h3><p>x</p></li></ul>") == "### One\n\nx\n"
    assert markdown("<blockquote><h3>One</h3><p>x</p></blockquote>") == "> **One**\n>\n> x\n"


@pytest.mark.parametrize(
    ("html", "shown"),
    [
        ("<p># not a heading</p>", "# not a heading"),
        ("<p>1. not a list</p>", "1. not a list"),
        ("<p>- nor this</p>", "- nor this"),
        ("<p>a *star* and _under_ and `tick`</p>", "a *star* and _under_ and `tick`"),
        ("<p>&lt;div&gt; and &amp;lt; stay</p>", "<div> and &lt; stay"),
        ("<p>[x](y) is text</p>", "[x](y) is text"),
        ("<p>back\\slash \\* and C:\\new</p>", "back\\slash \\* and C:\\new"),
        ("<p>~~~</p>", "~~~"),
        ("<p>snake_case_name</p>", "snake_case_name"),
    ],
)
def test_text_that_looks_like_markdown_is_read_as_text(html, shown):
    inline = [token for token in READER.parse(markdown(html)) if token.type == "inline"]
    assert "".join(child.content for child in inline[0].children) == shown


def test_identifiers_are_not_escaped():
    assert markdown("<p>call max_conn_count(x)</p>") == "call max_conn_count(x)\n"


def test_emphasis_leaves_blanks_outside_and_nothing_is_not_emphasised():
    assert markdown("<p>a<b> bold </b>word <i></i><em>x</em></p>") == "a **bold** word *x*\n"


def test_line_breaks_are_kept_and_two_part_paragraphs():
    assert markdown("<p>one<br>two<br><br>three</p>") == "one  \ntwo\n\nthree\n"


def test_invisible_characters_and_white_space_are_normalised():
    assert markdown("<p>soft&shy;ly&nbsp; spaced\n\n out&#8203;</p>") == "softly spaced out\n"


def test_visible_characters_leave_markdown_syntax_uncounted():
    assert extract_html("<main><p>a <i> <b> c</b></i> <b> d</b> e</p></main>", URL).characters == len("a c d e")
    text = extract_html('<main><h1>Abc</h1><p>de <b>f</b> <a href="/x">g</a></p><ul><li>h</ul></main>', URL)
    assert text.characters == len("Abc" + "de f g" + "h")


@pytest.mark.parametrize(
    ("html", "anchor"),
    [
        ("<h2 id=own>T</h2>", "own"),
        ("<section id=sect><h2>T</h2></section>", "sect"),
        ("<a name=named></a><h2>T</h2>", "named"),
        ("<h2><a id=inner></a>T</h2>", "inner"),
        ('<h2>T<a class="headerlink" href="#perma">¶</a></h2>', "perma"),
        ('<div id="sec"><span id="alias"></span><h2>T</h2></div>', "alias"),
    ],
)
def test_the_anchor_of_a_section_is_found_wherever_the_page_has_it(html, anchor):
    text = extract_html(f"<main>{html}<p>x</p></main>", URL)
    assert text.anchors == ((0, anchor),)
    assert text.markdown.startswith("## T\n")


@pytest.mark.parametrize(
    ("html", "anchors"),
    [
        ("<div id=COPY><div id=id-1.9.3><h2>A</h2></div><div id=id-1.9.3.6><h2>B</h2></div></div>", ["COPY", "COPY"]),
        (
            "<div id=COPY><h2>A</h2><div id=own><h3>B</h3><div id=idm45><h4>C</h4></div></div></div>",
            ["COPY", "own", "own"],
        ),
        ("<div id=id1><h2>A</h2><div id=id2><h3>B</h3></div></div>", ["id1", "id2"]),
        ("<div id=COPY><h2>A</h2></div><div id=ad><i></i></div><div id=d0e12><h2>B</h2></div>", ["COPY", "d0e12"]),
        ("<div id=far><p>x</p><div id=:r1:><h2>A</h2></div></div>", [":r1:"]),
        (
            "<div id=COPY><h2>A</h2><h2 id=step-2>B</h2><h2 id=id-of-a-site>C</h2></div>",
            ["COPY", "step-2", "id-of-a-site"],
        ),
    ],
)
def test_an_id_that_was_given_by_counting_is_no_anchor_where_the_section_around_has_a_better_one(html, anchors):
    text = extract_html(f"<main>{html}<p>x</p></main>", URL)
    assert [anchor for _, anchor in text.anchors] == anchors


def test_anchors_count_headings_and_a_far_id_belongs_to_none():
    text = extract_html("<main><div id=far><p>x</p><h2>A</h2></div><h2 id=b>B</h2></main>", URL)
    assert text.anchors == ((1, "b"),)


def test_a_text_over_the_limit_is_cut_and_says_so():
    text = extract_html(f"<main>{'<p>word word word word</p>' * 20_000}</main>", URL)
    assert text.truncated
    assert 190_000 < len(text.markdown) <= 200_000
    assert text.characters <= 200_000


def test_a_fence_that_is_cut_is_closed():
    code = "some code\n" * 30_000
    text = extract_html(f"<main><pre>{code}</pre></main>", URL)
    assert text.truncated
    assert [token.type for token in READER.parse(text.markdown)] == ["fence"]
    assert text.markdown.rstrip().endswith("```")


WORDS = st.text(alphabet="ab*_`#[]()<>|~\\-+.!1: \n", min_size=1, max_size=30)


@given(WORDS)
@example("[1]: <a>")
def test_whatever_a_paragraph_says_a_reader_of_the_markdown_sees(words):
    assume("\\(" not in words and "\\[" not in words)  # these are formulas
    escaped = words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    parsed = READER.parse(markdown(f"<p>{escaped}</p>"))
    seen = "".join(child.content for token in parsed if token.type == "inline" for child in token.children)
    assert seen.split() == words.split()


@given(st.lists(st.text(alphabet="ab`~ \t#|\\", max_size=12), min_size=1, max_size=6))
def test_whatever_code_says_is_in_the_fence(lines):
    code = "\n".join(lines).strip("\n").rstrip()
    parsed = READER.parse(markdown(f"<pre>\n{code}</pre>"))
    assert [token.content for token in parsed if token.type == "fence"] == ([f"{code}\n"] if code.strip() else [])


def test_a_blank_before_a_link_that_shows_nothing_is_not_counted():
    text = extract_html("--> <a href=/x> <a href=/x>", "https://docs.example/")
    assert text.characters <= len(text.markdown.strip())
