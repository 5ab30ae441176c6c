from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kb_pipeline.core import html_tree
from kb_pipeline.core.html_tree import BIT_OF, Node, bits, measure, measure_again, parse_html, with_tree

TAGS = [
    "html",
    "head",
    "body",
    "title",
    "main",
    "div",
    "p",
    "a",
    "h1",
    "table",
    "tr",
    "td",
    "li",
    "br",
    "script",
    "svg",
]
SOUP = st.lists(
    st.one_of(
        st.sampled_from([f"<{tag}>" for tag in TAGS]),
        st.sampled_from([f"</{tag}>" for tag in TAGS]),
        st.sampled_from(['<script type="application/ld+json">', '<meta name="a" content="b">', '<i itemprop="price">']),
        st.text("ab &\n", max_size=4),
    ),
    max_size=25,
).map("".join)


def sizes(document):
    return [(node.tag, node.letters, node.link_letters, node.holds) for node in document.iter()]


@given(SOUP)
@example("<title>a</title><main>b")
@example("<body>a</body>b<body><a>c</a>")
@example("<script>a" + "<p>b")
def test_a_page_is_measured_as_it_is_built(html):
    document, _ = parse_html(html)
    built = sizes(document)
    measure(document)
    assert built == sizes(document)


@given(SOUP, st.sets(st.integers(0, 25)))
@example("<div><p>a<h1>b</h1></div><p>c", {1, 3})
def test_a_tree_that_lost_elements_is_measured_again_where_it_changed(html, places):
    document, _ = parse_html(html)
    changed = [node for place, node in enumerate(document.iter()) if place in places]
    for holder in reversed(changed):
        holder.children = [child for child in holder.children[1:] if isinstance(child, Node)]
    measure_again(reversed(changed))
    again = sizes(document)
    measure(document)
    assert again == sizes(document)


def test_a_page_that_was_cut_or_is_too_deep_is_measured_as_well(monkeypatch):
    monkeypatch.setattr(html_tree, "MAX_EVENTS", 40)
    monkeypatch.setattr(html_tree, "MAX_DEPTH", 12)
    document, cut = parse_html("<div>a" * 15 + "<a>b</a>" * 40)
    built = sizes(document)
    measure(document)
    assert cut
    assert built == sizes(document)
    assert document.letters > 12


def test_pieces_of_text_count_as_events_too(monkeypatch):
    monkeypatch.setattr(html_tree, "MAX_EVENTS", 40)
    assert parse_html("<p>" + "&amp;" * 60 + "<p>more")[1]
    assert not parse_html("<p>" + "&amp;" * 10 + "<p>more")[1]


@given(SOUP)
def test_what_says_something_of_the_whole_page_is_handed_to_its_reader(html):
    def read(telling, _cut):
        every = list(telling[0].iter())
        return telling[1:], [node for node in every if node.tag in html_tree.TELLING_TAGS or node.get("itemprop")]

    told, expected = with_tree(html, read)
    assert sorted(map(id, told)) == sorted(map(id, expected))


def test_tags_that_are_not_looked_for_have_no_bit():
    assert bits(["h1", "pre", "blink"]) == BIT_OF["h1"] | BIT_OF["pre"]


@pytest.mark.parametrize("long", [0, *range(4_080, 4_100), 9_000])
def test_a_page_is_read_as_it_is_written_wherever_its_signs_stand(long):
    text = f"{'a' * long}\u2026\ud83d\0\U0001f600z"
    document, cut = parse_html(f"<p>{text}")
    assert not cut
    assert document.text() == text.replace("\0", "").replace("\ud83d", "?")
