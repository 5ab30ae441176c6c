import pytest

from kb_pipeline.model import Outcome
from kb_pipeline.orchestration.count_names import in_words, readable


def test_counts_are_said_as_people_say_them():
    counts = {"fresh": 31, "gone": 1, "gate": 2, "thin": 0, "ladder_fresh": 33, "tier_plain_http": 33, "requests": 1}
    assert in_words("fetched_pages", counts) == (
        "31 pages fresh, 1 gone, 2 behind a gate, 33 with a new body, 33 by plain http, 1 request"
    )


def test_one_of_something_is_said_in_the_singular():
    assert in_words("fetched_pages", {"gone": 1}) == "1 page gone"
    assert in_words("fetched_pages", {"retries": 1}) == "1 retry"
    assert in_words("live_index", {"new": 1, "rows": 1}) == "1 version published, 1 chunk live"


def test_one_name_means_what_its_stage_counts():
    assert readable("fetched_pages", "bytes") == "bytes downloaded"
    assert readable("extracted_text", "bytes") == "bytes read"
    assert readable("chunks", "chunks") == "chunks made"
    assert readable("removed_pages_are_gone", "rows") == "chunks in all"


@pytest.mark.parametrize("name", [*(outcome.value for outcome in Outcome), "something_else"])
def test_no_name_that_people_see_is_one_of_a_program(name):
    assert "_" not in readable("fetched_pages", name)


def test_no_two_counts_of_a_check_share_a_name_with_its_table_of_pages():
    assert readable("text_clears_threshold", "pages") != "pages"


def test_what_a_tier_cost_has_a_name_and_is_left_to_its_table():
    costs = {"asked_of_browser_content": 3, "won_by_browser_content": 1, "calls_of_vision": 2, "seconds_of_vision": 0.5}
    assert [readable("fetched_pages", name) for name in costs] == [
        "pages asked of browser content",
        "pages won by browser content",
        "calls of vision",
        "seconds of vision",
    ]
    assert in_words("fetched_pages", {"fresh": 2, **costs, "degraded": 1}) == "2 pages fresh, 1 read in part"
