from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb_pipeline.core.chunking import ChunkOptions, chunk, estimate_tokens
from kb_pipeline.core.markdown_blocks import BlockKind, parse_blocks
from kb_pipeline.core.plain import plain_text
from kb_pipeline.core.sentences import sentence_spans
from kb_pipeline.embed.model_files import PACKAGED_MODEL, locate
from kb_pipeline.embed.tokens import token_counter
from kb_pipeline.errors import ConfigError
from kb_pipeline.model import Chunk, Text

count_tokens = token_counter(locate(PACKAGED_MODEL))
PER_EXAMPLE = settings(max_examples=40, deadline=None)


def text_of(markdown: str, **fields) -> Text:
    return Text(title=fields.pop("title", "A page"), markdown=markdown, characters=len(markdown), **fields)


def chunks_of(markdown: str, **fields) -> list[Chunk]:
    return chunk(text_of(markdown, **fields), count_tokens)


def prose(sentences: int, topic: str = "river") -> str:
    return " ".join(f"Sentence {n} says of the {topic} that it bends near mile {n * 7}." for n in range(sentences))


WORDS = st.sampled_from(
    [
        "index",
        "table",
        "vacuum",
        "row",
        "snapshot",
        "anchor",
        "crawl",
        "delay",
        "canonical",
        "pg_restore",
        "max_wal_size",
        "naïve",
        "Überblick",
        "42",
        "e.g.",
        "中文",
        "กขค",
        "https://example.org/a_b?c=d",
        "`SELECT",
        "1`",
        "**bold**",
        "[link](https://example.org/x)",
        "supercalifragilistic",
    ]
)
SENTENCES = st.builds(
    lambda words, end: " ".join(words).capitalize() + end,
    st.lists(WORDS, min_size=1, max_size=25),
    st.sampled_from(".!?"),
)
PARAGRAPHS = st.lists(SENTENCES, min_size=1, max_size=12).map(" ".join)
LISTS = st.lists(SENTENCES, min_size=1, max_size=8).map(lambda items: "\n".join(f"- {item}" for item in items))
CODE_LINES = st.lists(WORDS, max_size=12).map(lambda words: "    " * (len(words) % 3) + " ".join(words))
FENCES = st.lists(CODE_LINES, min_size=1, max_size=60).map(lambda lines: "```python\n" + "\n".join(lines) + "\n```")
ROWS = st.lists(WORDS, min_size=2, max_size=2).map(lambda cells: "| " + " | ".join(cells) + " |")
TABLES = st.lists(ROWS, min_size=1, max_size=60).map(lambda rows: "| name | value |\n| --- | --- |\n" + "\n".join(rows))
BLOCKS = st.one_of(PARAGRAPHS, LISTS, FENCES, TABLES)


@dataclass(frozen=True)
class Section:
    level: int
    heading: str
    blocks: tuple[str, ...]

    @property
    def markdown(self) -> str:
        return "\n\n".join((f"{'#' * self.level} {self.heading}", *self.blocks))


SECTIONS = st.builds(
    Section,
    st.integers(1, 4),
    st.lists(WORDS, min_size=1, max_size=5).map(" ".join),
    st.lists(BLOCKS, max_size=3).map(tuple),
)
PAGES = st.lists(SECTIONS, min_size=1, max_size=8).map(
    lambda sections: "\n\n".join(section.markdown for section in sections)
)


@PER_EXAMPLE
@given(PAGES)
def test_every_block_of_a_page_is_found_whole_sentence_by_sentence_row_by_row_line_by_line(page):
    chunks = [made.text for made in chunks_of(page)]
    for block in parse_blocks(page):
        text = "\n".join(block.lines)
        parts = [text[a:b] for a, b in sentence_spans(text)] if block.kind is BlockKind.TEXT else block.lines
        for part in parts:
            assert any(part.rstrip("\n") in made for made in chunks)


@PER_EXAMPLE
@given(st.text(max_size=6000))
def test_no_word_of_any_text_is_lost_and_words_keep_their_order(text):
    words = " ".join(made.text for made in chunk(text_of(text), estimate_tokens)).split()
    remaining = iter("".join(words))
    for character in "".join(text.split()):
        assert character in remaining


@PER_EXAMPLE
@given(PAGES, st.text(max_size=400), st.text(max_size=900))
def test_no_embedding_input_is_over_512_tokens(page, title, description):
    for made in chunks_of(page, title=title, description=description):
        assert all(count_tokens(piece.reads) + 2 <= 512 for piece in made.pieces)
        assert made.tokens == count_tokens(made.text) <= 350


@PER_EXAMPLE
@given(PAGES)
def test_no_fence_is_left_open_and_no_row_is_divided(page):
    rows = {line for line in page.split("\n") if line.startswith("|")}
    for made in chunks_of(page):
        lines = made.text.split("\n")
        assert sum(line.startswith("```") for line in lines) % 2 == 0
        for line in lines:
            if line.startswith("|"):
                assert line in rows


@PER_EXAMPLE
@given(PAGES)
def test_every_part_of_a_table_begins_with_its_header(page):
    for made in chunks_of(page):
        for before, line in zip(["", *made.text.split("\n")], made.text.split("\n"), strict=False):
            if line.startswith("|") and not before.startswith("|"):
                assert line == "| name | value |"


@PER_EXAMPLE
@given(PAGES)
def test_a_heading_never_stands_in_a_chunk_that_holds_80_tokens_before_it(page):
    for made in chunks_of(page):
        outside, open_fence = [], False
        for line in made.text.split("\n"):
            open_fence ^= line.startswith("```")
            if line.startswith("#") and not open_fence:
                assert count_tokens("\n".join(outside)) < 80
            outside.append(line)


def numbered_page(sentences: list[int]) -> list[Section]:
    return [Section(2, f"Part {n}", (prose(size, topic=f"brook{n}"),)) for n, size in enumerate(sentences)]


@PER_EXAMPLE
@given(st.lists(st.integers(6, 60), min_size=2, max_size=8), st.data())
def test_an_edit_in_one_section_changes_the_chunks_of_no_other(sizes, data):
    sections = numbered_page(sizes)
    edited = data.draw(st.integers(0, len(sections) - 1))
    size = data.draw(st.integers(6, 60))
    changed = list(sections)
    changed[edited] = replace(sections[edited], blocks=("A word is new here. " + prose(size, topic=f"brook{edited}"),))
    before, after = (chunks_of("\n\n".join(s.markdown for s in page)) for page in (sections, changed))

    def others(chunks):
        return [made.hash for made in chunks if f"brook{edited} " not in made.text]

    assert others(before) == others(after)
    assert all(made.heading_path[-1] == f"Part {edited}" for made in after if f"brook{edited} " in made.text)


@PER_EXAMPLE
@given(st.lists(st.integers(0, 12), min_size=3, max_size=60), st.data())
def test_where_sections_are_small_an_edit_reaches_no_further_than_the_next_large_one(sizes, data):
    sections = numbered_page(sizes)
    edited = data.draw(st.integers(0, len(sections) - 1))
    changed = list(sections)
    changed[edited] = replace(sections[edited], blocks=(prose(data.draw(st.integers(0, 12)), topic="pond"),))
    before, after = (chunks_of("\n\n".join(s.markdown for s in page)) for page in (sections, changed))
    large = next((n for n in range(edited + 1, len(sizes)) if count_tokens(sections[n].markdown) >= 80), len(sizes))

    def untouched(chunks):
        early = [made.hash for made in chunks if int(made.heading_path[-1].split()[1]) < edited - 12]
        late = [made.hash for made in chunks if int(made.heading_path[-1].split()[1]) > large]
        return early, late

    assert untouched(before) == untouched(after)


def test_a_long_run_of_small_equal_sections_re_embeds_a_few_chunks_for_an_edit_of_one():
    sections = numbered_page([3] * 200)
    changed = [Section(2, "Part 0", (prose(9, topic="brook0"),)), *sections[1:]]
    before, after = (chunks_of("\n\n".join(s.markdown for s in page)) for page in (sections, changed))
    new = {made.hash for made in after} - {made.hash for made in before}
    assert len(after) > 60
    assert len(new) <= 16


def test_a_chunk_begins_with_the_last_sentences_of_the_one_before():
    first, second, *_ = chunks_of(prose(60))
    shared = [line for line in second.text.split(". ") if line in first.text]
    assert 30 <= count_tokens(". ".join(shared)) <= 60
    assert second.text.startswith("Sentence ")


def test_no_overlap_crosses_a_heading():
    first, second = chunks_of(f"## One\n\n{prose(8)}\n\n## Two\n\n{prose(8, 'lake')}")
    assert "river" not in second.text
    assert "lake" not in first.text


def test_small_sections_share_a_chunk_and_large_ones_do_not():
    small = "\n\n".join(f"## Part {n}\n\nTwo words." for n in range(4))
    assert len(chunks_of(small)) == 1
    large = "\n\n".join(f"## Part {n}\n\n{prose(8)}" for n in range(4))
    assert [made.heading_path for made in chunks_of(large)] == [(f"Part {n}",) for n in range(4)]


def test_a_heading_is_not_left_at_the_end_of_a_chunk():
    for sentences in range(1, 6):
        page = f"## A\n\n{prose(sentences)}\n\n### B\n\n{prose(60, 'lake')}"
        for made in chunks_of(page):
            assert not made.text.rstrip().split("\n")[-1].startswith("#")


def test_a_long_fence_is_cut_at_line_ends_and_opens_again_with_its_language():
    lines = [f"value_{n} = compute(value_{n - 1}, scale={n})  # step {n}" for n in range(80)]
    chunks = chunks_of("Before it.\n\n```python\n" + "\n".join(lines) + "\n```\n\nAfter it.")
    assert len(chunks) > 3
    fences = [made.text for made in chunks if "```" in made.text]
    assert all("```python\n" in text and text.count("```") == 2 for text in fences)
    shown = [line for text in fences for line in text.split("```python\n")[1].split("\n```")[0].split("\n")]
    assert shown == lines


def test_a_fence_that_fits_in_a_chunk_is_never_divided():
    code = "```sql\n" + "\n".join(f"SELECT {n} FROM pages;" for n in range(30)) + "\n```"
    for sentences in range(1, 25, 3):
        assert any(code in made.text for made in chunks_of(f"{prose(sentences)}\n\n{code}\n\n{prose(4)}"))


def test_a_fence_inside_a_list_item_is_closed_and_reopened_without_the_marker():
    lines = "\n".join(f"    step_{n} --verbose --target=host{n}" for n in range(80))
    chunks = chunks_of(f"- ```sh\n{lines}\n  ```")
    assert chunks[0].text.startswith("- ```sh")
    assert all(made.text.lstrip().startswith("```sh") for made in chunks[1:])


@pytest.mark.parametrize(
    "monster",
    ["word " * 3000, "x" * 20_000, "漢字" * 3000, "กขคงจ" * 4000, "A long line, with commas, and no full stop, " * 300],
    ids=["words", "one word", "Chinese", "Thai", "no full stop"],
)
@pytest.mark.parametrize(
    "frame", ["{}", "| a |\n| --- |\n| {} |", "```\n{}\n```", "# {}"], ids=["text", "row", "line", "heading"]
)
def test_what_is_larger_than_a_chunk_is_cut_and_kept(monster, frame):
    chunks = chunks_of(frame.format(monster))
    assert len(chunks) > 1
    assert all(made.tokens <= 350 and len(made.text) <= 350 * 13 for made in chunks)
    kept = (
        "".join("".join(made.text.split()) for made in chunks)
        .replace("|a||---|", "")
        .replace("```", "")
        .replace("|", "")
    )
    assert kept.lstrip("#") == "".join(monster.split())


def test_a_cut_between_characters_tears_no_combining_mark_off():
    text = "e\u0301" * 5000
    assert all(not made.text.startswith("\u0301") for made in chunk(text_of(text), estimate_tokens))


def test_each_chunk_knows_its_headings_and_the_nearest_anchor():
    page = f"# Guide\n\n## Install\n\n{prose(8)}\n\n### On Linux\n\n{prose(30)}\n\n## Use\n\n{prose(8)}"
    assert [(made.heading_path, made.anchor) for made in chunks_of(page, anchors=((1, "install"), (3, "use")))] == [
        (("Guide", "Install"), "install"),
        (("Guide", "Install", "On Linux"), "install"),
        (("Guide", "Install", "On Linux"), "install"),
        (("Guide", "Use"), "use"),
    ]


def test_text_before_the_first_heading_has_no_path():
    (made,) = chunks_of("Words before.\n\n# Guide\n\nWords after.")
    assert (made.heading_path, made.anchor) == ((), None)


def test_the_context_holds_title_description_and_the_headings_the_text_does_not_show():
    page = f"# Guide\n\n## Install\n\n{prose(60)}"
    first, second, *_ = chunks_of(page, title="Guide", description="How to set it up.")
    assert first.context == "Guide\nHow to set it up."
    assert first.text.startswith("# Guide\n\n## Install")
    assert second.context == "Guide\nHow to set it up.\nInstall"


def test_a_long_title_and_description_are_cut_to_their_share():
    (made,) = chunks_of("Some text of the page.", title="word " * 500, description="thing " * 500)
    title, description = made.context.split("\n")
    assert count_tokens(title) == 40
    assert count_tokens(description) == 80


def test_a_heading_inside_a_fence_is_code():
    (made,) = chunks_of("# Real\n\n```sh\n# not a heading\nls\n```")
    assert made.heading_path == ("Real",)


def test_an_empty_page_has_no_chunks():
    assert chunks_of("") == []
    assert chunks_of(" \n\n \n") == []


def test_the_last_chunk_of_a_section_is_not_a_scrap():
    for sentences in range(20, 80):
        chunks = chunks_of(f"## One\n\n{prose(sentences)}")
        assert all(made.tokens >= 80 for made in chunks)


def test_ordinals_count_from_zero():
    assert [made.ordinal for made in chunks_of(prose(80))] == list(range(len(chunks_of(prose(80)))))


def test_a_tokenizer_that_counts_joints_is_held_to_the_limit_all_the_same():
    def joints(text: str) -> int:
        return len(text.split()) + 2 * text.count(" ") + text.count("\n")

    assert all(joints(made.text) <= 350 for made in chunk(text_of(prose(200)), joints))


def test_options_that_do_not_fit_the_model_are_refused():
    with pytest.raises(ConfigError, match="more than the model reads"):
        ChunkOptions(target=450)
    with pytest.raises(ConfigError, match="overlap"):
        ChunkOptions(overlap=200)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("abcdefghi", 2), ("a b", 1), (".......", 10), ("漢字", 2), ("123", 3), ("   \n", 0)],
)
def test_tokens_are_estimated_by_kind_of_character(text, tokens):
    assert estimate_tokens(text) == tokens


@pytest.mark.parametrize(
    "hostile",
    [
        "." * 50_000,
        "[(" * 25_000,
        "**a " * 12_000,
        " " * 50_000 + "x",
        "> " * 25_000,
        "`" * 9_999 + " `" * 9_999,
        "| a" * 15_000,
    ],
)
def test_a_hostile_page_costs_no_more_than_its_length(hostile):
    for made in chunk(text_of(hostile), estimate_tokens):
        plain_text(made.text)


def test_a_heading_or_an_id_as_large_as_a_page_is_not_repeated_with_each_chunk():
    markdown = f"# Top\n\n## {'wide ' * 2000}\n\n{prose(200)}"
    chunks = chunks_of(markdown, anchors=((0, "top"), (1, "i" * 100_000)))
    repeated = [*(chunk.heading_path for chunk in chunks), *(p.heading_path for c in chunks for p in c.pieces)]
    assert {path[0] for path in repeated} == {"Top"}
    assert max(len("".join(path)) for path in repeated) < 400
    assert {piece.anchor for chunk in chunks for piece in chunk.pieces} == {"top"}
    assert sum(chunk.text.count("wide") for chunk in chunks) == 2000
