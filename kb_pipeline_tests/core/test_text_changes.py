from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kb_pipeline.core.text_changes import LONGEST_SAMPLE, compare_texts, unified_diff

PUMPS = "# Pumps\n\nA pump moves water.\n\nA valve keeps it from running back.\n"


def test_words_that_went_and_came_are_counted_as_a_reader_sees_them():
    change = compare_texts(PUMPS, "# Pumps\n\nA **pump** lifts [water](https://example.org/w).\n")
    assert (change.words_before, change.words_after) == (12, 5)
    assert (change.words_lost, change.words_gained) == (8, 1)
    assert (change.share_lost, change.share_gained) == (8 / 12, 1 / 5)
    assert change.lines_lost == ("A pump moves water.", "A valve keeps it from running back.")
    assert change.lines_gained == ("A **pump** lifts [water](https://example.org/w).",)


def test_a_passage_that_moved_is_neither_lost_nor_gained():
    change = compare_texts(PUMPS, "# Pumps\n\nA valve keeps it from running back.\n\nA pump moves water.\n")
    assert (change.words_lost, change.words_gained, change.lines_lost, change.lines_gained) == (0, 0, (), ())


def test_a_line_that_is_there_less_often_is_lost():
    assert compare_texts("Menu\n\nMenu\n\nText\n", "Menu\n\nText\n").lines_lost == ("Menu",)


def test_scripts_without_spaces_are_counted_by_the_letter():
    change = compare_texts("水泵把水送到水箱", "水泵把水送到")
    assert (change.words_before, change.words_lost) == (8, 2)
    assert compare_texts("Pumpe水", "Pumpe").words_lost == 1


def test_a_text_that_was_empty_loses_nothing_and_one_that_is_empty_gains_nothing():
    assert compare_texts("", "Two words").share_lost == 0
    assert compare_texts("Two words", "").share_gained == 0
    assert compare_texts("Two words", "").share_lost == 1


def test_long_lines_are_cut_in_the_sample():
    (line,) = compare_texts("word " * 200, "").lines_lost
    assert len(line) == LONGEST_SAMPLE
    assert line.endswith("…")


def test_a_diff_has_the_lines_with_their_surroundings_and_no_head():
    lines = list(unified_diff(PUMPS, PUMPS.replace("valve", "tap")))
    assert lines[0].startswith("@@ ")
    assert lines[-2:] == ["-A valve keeps it from running back.", "+A tap keeps it from running back."]
    assert " A pump moves water." in lines
    assert list(unified_diff(PUMPS, PUMPS)) == []


@given(st.text(alphabet="ab \n#*水", max_size=60), st.text(alphabet="ab \n#*水", max_size=60))
def test_what_one_way_round_is_lost_is_gained_the_other_way_round(before, after):
    there, back = compare_texts(before, after), compare_texts(after, before)
    assert (there.words_lost, there.words_gained) == (back.words_gained, back.words_lost)
    assert (there.lines_lost, there.lines_gained) == (back.lines_gained, back.lines_lost)
    assert there.words_before - there.words_lost == there.words_after - there.words_gained >= 0
    assert 0 <= there.share_lost <= 1
