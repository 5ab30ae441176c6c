from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kb_pipeline.core.chunk_pieces import open_entries
from kb_pipeline.core.chunking import chunk, estimate_tokens
from kb_pipeline.core.markdown_blocks import parse_blocks
from kb_pipeline.model import Text


def cut(markdown: str, **fields):
    return chunk(Text("Manual", markdown, len(markdown), **fields), estimate_tokens)


def sentences(count: int, topic: str) -> str:
    return " ".join(f"Sentence {n} tells what the {topic} does when it is asked for." for n in range(count))


def test_pieces_hold_the_whole_chunk_but_what_it_repeats():
    chunks = cut("\n\n".join(f"## Part {n}\n\n{sentences(30, f'pump {n}')}" for n in range(3)))
    for made in chunks:
        ends = [piece.end for piece in made.pieces]
        starts = [piece.start for piece in made.pieces]
        assert ends[-1] == len(made.text)
        for end, start in zip(ends, starts[1:], strict=False):
            assert not made.text[end:start].strip()
        assert all(piece.tokens <= 130 for piece in made.pieces)
    assert any(made.pieces[0].start > 0 for made in chunks)


def test_a_row_of_a_large_table_is_a_piece_with_its_header():
    rows = "\n".join(f"| `function_{n}` | {sentences(4, f'argument of function {n}')} |" for n in range(6))
    made = cut(f"## Functions\n\n| name | what it does |\n| --- | --- |\n{rows}\n")
    reads = [piece.reads for each in made for piece in each.pieces]
    assert len(reads) == 6
    for n, text in enumerate(reads):
        assert "name\twhat it does" in text
        assert [f"function_{other}" in text for other in range(6)] == [other == n for other in range(6)]
        assert text.startswith("Manual\n")
        assert "Functions" in text


def test_what_continues_an_entry_says_which_one():
    body = "\n\n".join(f"  {sentences(5, 'limit')}" for _ in range(3))
    made = cut(
        f"## Settings\n\n`max_pumps` (integer)\n: Sets the limit.\n\n{body}\n\nOther prose. {sentences(9, 'sea')}\n"
    )
    pieces = [piece for each in made for piece in each.pieces]
    of_limit = [piece.reads for piece in pieces if "the limit does" in piece.reads]
    assert len(of_limit) >= 3
    assert all("max_pumps (integer)" in text for text in of_limit)
    assert not any("max_pumps" in piece.reads for piece in pieces if "the sea does" in piece.reads)


def test_entries_within_entries_are_named_from_the_outside_in():
    blocks = parse_blocks(
        "`--mode`\n: How.\n\n  `soft`\n  : Gently.\n\n    More of soft.\n\n  More of mode.\n\n"
        "No entry.\n\n## Next\n\n  Indented.\n"
    )
    assert open_entries(blocks) == [(), ("--mode",), ("--mode", "soft"), ("--mode",), (), (), ()]


def test_entries_within_entries_by_the_hundred_are_not_measured_again_and_again():
    measured = 0

    def count(text: str) -> int:
        nonlocal measured
        measured += len(text)
        return estimate_tokens(text)

    markdown = "\n".join(f"{' ' * n}`--option-{n}`\n{' ' * n}: How.\n" for n in range(300))
    assert chunk(Text("Manual", markdown, len(markdown)), count)
    assert measured < 30 * len(markdown)


def test_the_description_is_read_once_a_chunk_and_the_title_with_each_piece():
    (made, *_) = cut(f"## One\n\n{sentences(14, 'pump')}", description="All about pumps and pipes.")
    assert len(made.pieces) > 1
    assert [piece.reads.count("All about pumps") for piece in made.pieces] == [1] + [0] * (len(made.pieces) - 1)
    assert all(piece.reads.startswith("Manual\n") for piece in made.pieces)
    assert all("One" in piece.reads for piece in made.pieces)


def test_each_piece_has_the_anchor_of_its_own_section():
    markdown = "## A\n\nShort one.\n\n## B\n\nShort two.\n"
    (made,) = cut(markdown, anchors=((0, "a"), (1, "b")))
    assert [(piece.anchor, piece.heading_path) for piece in made.pieces] == [("a", ("A",)), ("b", ("B",))]


def test_the_hash_is_of_what_is_embedded():
    one = cut("## A\n\nSee [the guide](https://a.example/1) for pumps.\n")
    other = cut("## A\n\nSee [the guide](https://a.example/2) for pumps.\n")
    third = cut("## A\n\nSee [the guide](https://a.example/1) for pipes.\n")
    assert one[0].hash == other[0].hash != third[0].hash


MARKDOWN = st.lists(
    st.sampled_from(
        [
            "## Heading\n",
            "Some words that stand here. And some more of them.\n",
            "- an item\n- another\n",
            "term\n: definition\n\n  continued\n",
            "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |\n",
            "```py\nx = 1\n\ny = 2\n```\n",
            "> quoted\n",
            "漢字の文。次の文。\n",
        ]
    ),
    min_size=1,
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(MARKDOWN)
def test_every_piece_is_within_its_chunk_and_reads_something(parts):
    for made in cut("\n".join(parts)):
        assert made.pieces
        assert all(0 <= piece.start < piece.end <= len(made.text) for piece in made.pieces)
        assert all(piece.reads.strip() for piece in made.pieces)
        starts = [piece.start for piece in made.pieces]
        assert starts == sorted(starts)
