"""The table of outcomes."""

import pytest

from kb_pipeline.errors import FetchError, RedirectRefused
from kb_pipeline.fetch.answers import CLEARS, Answer, PageResult, TierResult
from kb_pipeline.fetch.failures import _ANSWERS
from kb_pipeline.fetch.outcome import LONGEST_WAIT, RULES, Judgement, judge, retry_delay
from kb_pipeline.model import Outcome


def result(answer, **fields):
    attempt = TierResult("plain_http", answer, **fields)
    return PageResult(attempt, (attempt,))


def test_every_answer_has_a_rule():
    assert set(RULES) == set(Answer)


def test_every_error_of_a_request_has_an_answer():
    def leaves(kind):
        return {kind, *(leaf for sub in kind.__subclasses__() for leaf in leaves(sub))}

    errors = leaves(FetchError) - leaves(RedirectRefused) - {FetchError}
    assert [error for error in errors if not issubclass(error, tuple(_ANSWERS))] == []


@pytest.mark.parametrize("answer", sorted(set(Answer) - CLEARS))
def test_what_is_not_a_page_has_words_for_its_owner(answer):
    judgement = judge(result(answer, why="some detail"))
    assert judgement.reason
    assert "{" not in judgement.reason


def test_only_what_the_site_itself_said_removes_a_copy():
    removing = {answer for answer, rule in RULES.items() if rule.outcome.removes_copy}
    assert removing == {
        Answer.NOT_FOUND,
        Answer.SOFT_NOT_FOUND,
        Answer.NOINDEX,
        Answer.ROBOTS_FORBIDS,
        Answer.SAME_REDIRECT,
    }


def test_only_what_time_can_cure_is_retried():
    assert {answer for answer, rule in RULES.items() if rule.retry} == {
        Answer.ROBOTS_UNAVAILABLE,
        Answer.RATE_LIMITED,
        Answer.SERVER_ERROR,
        Answer.TIMED_OUT,
        Answer.BROKEN,
        Answer.BROKE_OFF,
        Answer.UNDECODABLE,
        Answer.EMPTY,
        Answer.TIER_FAILED,
    }


@pytest.mark.parametrize(
    ("answers", "speaks", "says"),
    [
        ([Answer.JS_SHELL, Answer.TIER_FAILED, Answer.TIER_FAILED], 0, True),
        ([Answer.REFUSED, Answer.TIER_FAILED], 0, True),
        ([Answer.TIER_FAILED, Answer.JS_SHELL], 1, False),
        ([Answer.JS_SHELL, Answer.PASSED_OVER], 0, False),
        ([Answer.JS_SHELL, Answer.TIER_FAILED, Answer.LOGIN_WALL], 2, False),
        ([Answer.NOT_FOUND], 0, False),
    ],
)
def test_a_tier_that_was_out_of_order_is_named_where_it_might_have_read_the_page(answers, speaks, says):
    attempts = tuple(TierResult(f"tier {place}", answer, f"why {place}") for place, answer in enumerate(answers))
    reason = judge(PageResult(attempts[speaks], attempts)).reason
    assert reason.endswith("; what might have read it was out of order (why 1)") is says


DELAYS = (30.0, 90.0, 180.0)
BUSY = Judgement(Outcome.UNREACHABLE, "busy", retry=True)


@pytest.mark.parametrize(("attempts", "delay"), [(1, 30), (2, 90), (3, 180), (4, None)])
def test_a_failed_page_waits_longer_each_time_and_then_ends(attempts, delay):
    assert retry_delay(BUSY, attempts, DELAYS) == delay


def test_after_a_429_the_wait_is_a_minute_at_least():
    limited = Judgement(Outcome.UNREACHABLE, "slow down", retry=True, rate_limited=True)
    assert [retry_delay(limited, attempts, DELAYS) for attempts in (1, 2, 3)] == [60, 90, 180]


@pytest.mark.parametrize(
    ("asked", "delay"), [(5, 30), (45, 45), (LONGEST_WAIT, LONGEST_WAIT), (LONGEST_WAIT + 1, None)]
)
def test_retry_after_lengthens_a_wait_and_never_shortens_it(asked, delay):
    assert retry_delay(Judgement(Outcome.UNREACHABLE, "", retry=True, retry_after=asked), 1, DELAYS) == delay


def test_without_delays_or_reason_nothing_is_retried():
    assert retry_delay(BUSY, 1, ()) is None
    assert retry_delay(Judgement(Outcome.GONE, "gone"), 1, DELAYS) is None


def test_the_record_of_a_tier_is_what_the_ledger_keeps():
    record = TierResult("plain_http", Answer.REFUSED, "status 403", requests=2, seconds=0.12345, wire_bytes=10).record()
    assert record == {
        "tier": "plain_http",
        "answer": "refused",
        "why": "status 403",
        "requests": 2,
        "seconds": 0.123,
        "bytes": 10,
    }
