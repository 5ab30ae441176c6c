from __future__ import annotations

import gc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb_pipeline.core.block_choice import keep_content, likely_blocks, threshold
from kb_pipeline.core.block_model import Ensemble
from kb_pipeline.core.html_tree import BIT_OF, Node, measure, parse_html, with_tree
from kb_pipeline.core.main_content import main_of
from kb_pipeline.core.page_blocks import read_blocks
from kb_pipeline.core.page_metadata import read_metadata

TAGS = st.sampled_from(
    ["div", "p", "ul", "li", "table", "tr", "td", "th", "span", "a", "h2", "pre", "dl", "dt", "section"]
)
TREES = st.recursive(
    st.text("ab ", max_size=6),
    lambda inner: st.builds(lambda tag, parts: f"<{tag}>{''.join(parts)}</{tag}>", TAGS, st.lists(inner, max_size=4)),
    max_leaves=25,
)


def blocks_of(html):
    document, _ = parse_html(f"<body>{html}")
    measure(document)
    return read_blocks(document.find("body"), main_of).blocks


@given(TREES)
def test_every_word_of_a_page_is_in_one_block_and_in_order(html):
    document, _ = parse_html(f"<body>{html}")
    measure(document)
    read = "".join("".join(block.text.split()) for block in read_blocks(document.find("body"), main_of).blocks)
    assert read == "".join("".join(document.pieces()).split())


@given(TREES)
def test_elements_are_numbered_in_order_and_those_that_hold_blocks_have_their_words(html):
    document, _ = parse_html(f"<body>{html}")
    page = read_blocks(document.find("body"), main_of)
    assert [context.number for context in page.contexts] == list(range(len(page.contexts)))
    assert all(context.above.number < context.number for context in page.contexts[1:])
    for block in page.blocks:
        assert page.contexts[block.context.number] is block.context
        assert block.letters == len("".join(block.words))
        assert block.link_letters <= block.letters


@pytest.mark.parametrize(
    ("html", "texts"),
    [
        ("<div>before<p>one</p>between<p>two</p></div>", ["before", "one", "between", "two"]),
        ("<ul><li>one <li>two</ul>", ["one two"]),
        ("<ul><li>one<li>two</ul>", ["one two"]),
        ("<p>one<br>two <b>th</b>ree<i> </i>four</p>", ["one two three four"]),
        ("<ul><li><p>one</p><p>more</p><li><p>two</p></ul>", ["one", "more", "two"]),
        ("<table><tr><th>Size </th><td>4</td></tr></table>", ["Size 4"]),
        ("<table><tr><td><div>menu</div></td><td><div>text</div></td></tr></table>", ["menu", "text"]),
        ("<pre>a\n<span>b</span></pre>", ["a b"]),
    ],
)
def test_plain_lists_data_tables_and_code_are_whole(html, texts):
    assert [" ".join(block.words) for block in blocks_of(html)] == texts


def test_an_ensemble_adds_the_leaf_of_each_tree():
    trees = Ensemble.of(
        columns=np.array([0, 1, 1, 0]),
        borders=np.array([0.5, 10, 20, 0.5], dtype=np.float32),
        leaves=np.array([[0, 1, 2, 3], [0, 10, 20, 30]], dtype=np.float32),
        bias=-11.0,
    )
    # Row 0 is above its first border in the first tree alone; row 1 above all of them.
    rows = np.array([[1, 0], [1, 30]], dtype=np.float32)
    expected = [1 + 20 - 11, 3 + 30 - 11]
    assert np.allclose(trees.shares(rows), [1 / (1 + np.exp(-value)) for value in expected])


@given(st.lists(st.tuples(st.floats(0.01, 0.99), st.integers(1, 50)), min_size=1, max_size=12))
def test_what_a_page_is_cut_at_lies_within_its_limits(blocks):
    shares, words = (np.array(column) for column in zip(*blocks, strict=True))
    assert 0.1 <= threshold(shares, words) <= 0.5


def test_a_page_that_is_doubtful_all_over_is_kept_rather_than_emptied():
    shares = np.array([0.3, 0.28, 0.31, 0.02])
    cut = threshold(shares, np.array([20, 20, 20, 20]))
    assert likely_blocks(shares, cut, np.zeros(4, dtype=bool)).tolist() == [True, True, True, False]


def test_the_first_title_is_kept_whatever_the_model_says_of_it():
    kept = likely_blocks(np.array([0.01, 0.9, 0.01]), 0.5, np.array([True, False, True]))
    assert kept.tolist() == [True, True, False]


def test_the_content_that_is_kept_is_measured():
    prose = "".join(
        f"<p>The ferry runs from pier {pier} at every full hour, from April until the autumn.</p>" for pier in range(9)
    )
    html = f"<div><nav><ul><li><a href=/>Home</a></ul></nav><div hidden><h2>Gone</h2></div><div>{prose}</div></div>"

    def read(telling: list[Node], _cut: bool) -> None:
        body = keep_content(telling[0], read_metadata(telling, ""), "")
        assert body is not None
        assert not body.holds & BIT_OF["nav"]
        kept = [(node.letters, node.link_letters, node.holds) for node in body.iter()]
        measure(body)
        assert kept == [(node.letters, node.link_letters, node.holds) for node in body.iter()]

    with_tree(html, read)


def test_a_page_that_was_read_leaves_nothing_for_the_collector():
    def read(nodes: list[Node], _cut: bool) -> int:
        assert not gc.isenabled()
        return len(nodes)

    gc.collect()
    with_tree("<p>warm", read)
    gc.disable()
    try:
        gc.collect()
        with_tree("<p>one" * 500, lambda _nodes, _cut: None)
        # By type: `isinstance` asks every object of the process for its class, and proxies answer with warnings.
        left = [found for found in gc.get_objects() if type(found) is Node]
    finally:
        gc.enable()
    assert not any(node.children for node in left)


def test_the_collector_works_again_after_a_reader_that_raised():
    def read(_nodes: list[Node], _cut: bool) -> None:
        message = "stop"
        raise ValueError(message)

    with pytest.raises(ValueError, match="stop"):
        with_tree("<p>one", read)
    assert gc.isenabled()
