"""The order of tiers, the threshold, and which attempt speaks for a page."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb_pipeline.core.fetch_policy import ANY_PAGE, FetchPolicy
from kb_pipeline.errors import GuardRefused
from kb_pipeline.fetch.answers import (
    BLOCKED,
    CLEARS,
    EMPTY_HANDED,
    NOT_ASKED,
    RENDERING_CURES_NOT,
    Answer,
    PageRequest,
    TierResult,
)
from kb_pipeline.fetch.chain import Chain
from kb_pipeline.fetch.hops import HopRefused
from kb_pipeline.fetch.outcome import RULES
from kb_pipeline.fetch.precedence import TURNED_OUT, best_of, goes_on
from kb_pipeline_tests.fetch.scripted import Scripted, answered

WWW, APEX = "https://www.example.com/a?b=c", "https://example.com/a?b=c"
POLICIES = [
    FetchPolicy(fallback_enabled=enabled, fallback_on_empty=empty, fallback_on_blocked=blocked)
    for enabled, empty, blocked in product((None, True, False), repeat=3)
]
NO_ANSWER = {Answer.NO_ADDRESS, Answer.NO_CONNECTION, Answer.TIMED_OUT, Answer.BAD_CERTIFICATE}
FINAL = {
    Answer.NOT_FOUND,
    Answer.NOINDEX,
    Answer.ROBOTS_FORBIDS,
    Answer.HOP_FORBIDDEN,
    Answer.NOT_PUBLIC,
    Answer.ON_HOLD,
}


def run(*tiers, policy=ANY_PAGE, on_redirect=None, url="https://example.com/"):
    chain = Chain(tiers, on_redirect=on_redirect)
    return asyncio.run(chain.fetch(PageRequest(url, policy=policy)))


def chain_of(*answers, policy=ANY_PAGE):
    """Each answer given by a tier of its own, named by its place; what came of it, and how many were asked."""
    tiers = [Scripted(str(place), answer) for place, answer in enumerate(answers)]
    found = run(*tiers, policy=policy)
    return found, sum(len(tier.asked) for tier in tiers)


# Which tier is asked next -------------------------------------------------------------------------------------------


def asks_next(answer, policy):
    """The table of docs/fetching.md, in another form than the program's."""
    if policy.fallback_enabled is False or answer in CLEARS:
        return False
    if answer in NOT_ASKED:
        return True
    if answer in EMPTY_HANDED:
        return policy.fallback_on_empty in {None, True}
    if answer in BLOCKED or answer is Answer.RATE_LIMITED:
        return policy.fallback_on_blocked in {None, True}
    return answer in {Answer.LOGIN_WALL, Answer.PAYWALL} and policy.fallback_on_blocked is True


@pytest.mark.parametrize("answer", Answer)
def test_every_answer_of_the_first_tier_is_followed_by_another_tier_or_is_not(answer):
    for policy in POLICIES:
        found, asked = chain_of(answer, Answer.DOCUMENT, policy=policy)
        assert asked == 1 + asks_next(answer, policy), policy
        assert found.best.tier == ("1" if asked == 2 else "0")


@pytest.mark.parametrize("answer", Answer)
def test_every_answer_of_a_later_tier_is_followed_by_another_tier_or_is_not(answer):
    for first, policy in product((Answer.THIN, Answer.REFUSED, Answer.TIER_FAILED), POLICIES):
        asked = chain_of(first, answer, Answer.DOCUMENT, policy=policy)[1]
        in_its_own_way = answer is Answer.TIMED_OUT and first not in NOT_ASKED
        second = asks_next(first, policy)
        assert asked == 1 + second + (second and (asks_next(answer, policy) or in_its_own_way)), (first, policy)


def test_a_host_that_says_when_to_come_back_is_left_alone_unless_the_policy_says_otherwise():
    limited = answered(Answer.RATE_LIMITED, retry_after=30.0)
    for wanted, asked in ((None, 0), (False, 0), (True, 1)):
        browser = Scripted("browser", Answer.DOCUMENT)
        run(Scripted("plain", limited), browser, policy=FetchPolicy(fallback_on_blocked=wanted))
        assert len(browser.asked) == asked


def test_later_tiers_are_told_what_the_site_answered_first():
    first = answered(Answer.THIN, "a")
    tiers = [Scripted("a", first), Scripted("b", Answer.THIN), Scripted("c", Answer.DOCUMENT)]
    run(*tiers)
    assert [tier.asked[0].answered for tier in tiers] == [None, first.response, first.response]


def test_a_chain_needs_a_tier():
    with pytest.raises(ValueError, match="at least one tier"):
        Chain(())


# Laws, for whatever the tiers answer ---------------------------------------------------------------------------------

answers = st.lists(st.sampled_from(Answer), min_size=1, max_size=4)
policies = st.sampled_from(POLICIES)


@given(answers, policies)
def test_no_tier_is_asked_after_one_that_clears(given_answers, policy):
    found, asked = chain_of(*given_answers, policy=policy)
    cleared = [place for place, answer in enumerate(given_answers[:asked]) if answer in CLEARS]
    assert cleared in ([], [asked - 1])
    assert found.best.answer in CLEARS if cleared else found.best.answer not in CLEARS


@given(answers, policies)
def test_what_no_browser_can_change_starts_none(given_answers, policy):
    asked = chain_of(*given_answers, policy=policy)[1]
    said = [answer for answer in given_answers[:asked] if answer not in NOT_ASKED]
    if said and said[0] in FINAL | NO_ANSWER:
        assert len(said) == 1
    assert not FINAL & set(said[:-1])


@given(answers)
def test_with_every_fallback_off_the_first_tier_is_the_chain(given_answers):
    found, asked = chain_of(*given_answers, policy=FetchPolicy(fallback_enabled=False))
    assert (asked, found.best.answer) == (1, given_answers[0])


@given(answers, policies)
def test_what_speaks_for_a_page_is_one_of_its_attempts_and_all_are_recorded(given_answers, policy):
    found, asked = chain_of(*given_answers, policy=policy)
    assert found.best in found.attempts
    assert [attempt.answer for attempt in found.attempts] == given_answers[:asked]


@given(answers, policies)
def test_a_copy_is_removed_only_on_the_word_of_a_tier_that_was_served_the_page(given_answers, policy):
    """A site that blocks the first request may tell the next one anything."""
    found, asked = chain_of(*given_answers, policy=policy)
    said = [answer for answer in given_answers[:asked] if answer not in NOT_ASKED]
    if RULES[found.best.answer].outcome.removes_copy:
        assert found.best.answer is said[0] or said[0] in EMPTY_HANDED


@given(answers, policies)
def test_a_tier_that_did_not_ask_speaks_only_when_none_was_told_anything_final(given_answers, policy):
    found, asked = chain_of(*given_answers, policy=policy)
    if found.best.answer in {Answer.PASSED_OVER, Answer.TIER_FAILED}:
        said = {answer for answer in given_answers[:asked] if answer not in NOT_ASKED}
        assert said <= EMPTY_HANDED
        assert Answer.THIN not in said


KINDS = [
    Answer.DOCUMENT,
    Answer.THIN,
    Answer.EMPTY,
    Answer.JS_SHELL,
    Answer.UNREADABLE,
    Answer.REFUSED,
    Answer.RATE_LIMITED,
    Answer.LOGIN_WALL,
    Answer.NOT_FOUND,
    Answer.NOINDEX,
    Answer.TIMED_OUT,
    Answer.NO_ADDRESS,
    Answer.STEPPED_ASIDE,
    Answer.TIER_FAILED,
]
"""One answer of each kind that the rules tell apart."""


async def every_way(most):
    """Every sequence of kinds that up to `most` tiers can come to, with what speaks for the page."""
    begun = [()]
    for _ in range(most):
        begun, before = [], begun
        for answers_before, kind in product(before, KINDS):
            sequence = (*answers_before, kind)
            tiers = [Scripted(str(place), answer) for place, answer in enumerate((*sequence, Answer.DOCUMENT))]
            if (await Chain(tiers).fetch(PageRequest("https://example.com/"))).attempts[-1].tier == str(len(sequence)):
                begun.append(sequence)
            yield sequence, (await Chain(tiers[:-1]).fetch(PageRequest("https://example.com/"))).best.answer


def who_speaks(sequence):  # noqa: PLR0911 - a table, read from its top
    """The table of docs/fetching.md, in its order, over answers alone."""
    said = [answer for answer in sequence if answer not in NOT_ASKED]
    nothing_at_first = bool(said) and said[0] in EMPTY_HANDED
    final = {A.NOT_FOUND, A.NOINDEX, A.LOGIN_WALL}
    turned_out = [answer for answer in said[1:] if nothing_at_first and answer in final]
    if sequence[-1] is A.DOCUMENT:
        return A.DOCUMENT
    if A.NOINDEX in turned_out:
        return A.NOINDEX
    one_final_word = len(said) == 1 and said[0] in final | {A.TIMED_OUT, A.NO_ADDRESS}
    if A.STEPPED_ASIDE in sequence and not turned_out and not one_final_word:
        return A.STEPPED_ASIDE
    if turned_out and said[0] is not A.THIN:
        return turned_out[0]
    if A.THIN in said:
        return A.THIN
    if nothing_at_first and said[0] is not A.UNREADABLE:
        later = sequence[sequence.index(said[0]) + 1 :]
        shown = [answer for answer in later if answer in {A.JS_SHELL, A.UNREADABLE}]
        failed = [answer for answer in later if answer in {A.EMPTY, A.TIMED_OUT, A.RATE_LIMITED}]
        return (shown or failed[::-1] or said)[0]
    return (said or sequence)[0]


def test_every_sequence_of_answers_that_four_tiers_can_come_to():
    async def compare():
        ways = 0
        async for sequence, best in every_way(4):
            ways += 1
            assert best is who_speaks(sequence), sequence
        return ways

    assert asyncio.run(compare()) > 5_000


lengths = st.lists(st.integers(0, 199), min_size=1, max_size=4)


@given(lengths)
def test_the_richest_text_is_kept_when_no_tier_clears_the_earliest_of_equals(characters):
    tiers = [Scripted(str(n), answered(Answer.THIN, str(n), characters=c)) for n, c in enumerate(characters)]
    assert run(*tiers).best.tier == str(characters.index(max(characters)))


def test_an_empty_answer_that_is_shown_as_a_page_without_a_word_stays_empty():
    blank = answered(Answer.THIN, "browser_content", characters=0)
    assert run(Scripted("plain", Answer.EMPTY), Scripted("browser_content", blank)).best.answer is Answer.EMPTY
    few = answered(Answer.THIN, "browser_content", characters=1)
    assert run(Scripted("plain", Answer.EMPTY), Scripted("browser_content", few)).best is few
    assert run(Scripted("plain", Answer.JS_SHELL), Scripted("browser_content", blank)).best is blank


# Which attempt speaks for the page -----------------------------------------------------------------------------------

A = Answer
SPEAKS = [
    # No text anywhere: what the site said first.
    ([A.REFUSED, A.CHALLENGE], A.REFUSED),
    ([A.CHALLENGE, A.TIER_FAILED], A.CHALLENGE),
    ([A.SERVER_ERROR, A.SERVER_ERROR, A.TIMED_OUT], A.SERVER_ERROR),
    ([A.UNREADABLE, A.PASSED_OVER, A.EMPTY], A.UNREADABLE),
    # A refused request is not told the truth the second time.
    ([A.REFUSED, A.NOT_FOUND], A.REFUSED),
    ([A.CHALLENGE, A.NOINDEX], A.CHALLENGE),
    # A shell is what it shows once it is rendered.
    ([A.JS_SHELL, A.LOGIN_WALL], A.LOGIN_WALL),
    ([A.JS_SHELL, A.SOFT_NOT_FOUND], A.SOFT_NOT_FOUND),
    ([A.EMPTY, A.OFF_SITE], A.OFF_SITE),
    ([A.JS_SHELL, A.HOP_FORBIDDEN], A.HOP_FORBIDDEN),
    ([A.JS_SHELL, A.COOKIE_WALL], A.COOKIE_WALL),
    ([A.JS_SHELL, A.JS_SHELL, A.EMPTY], A.JS_SHELL),
    # A tier that keeps words alone brings a few of them.
    ([A.JS_SHELL, A.THIN, A.LOGIN_WALL], A.LOGIN_WALL),
    ([A.JS_SHELL, A.THIN, A.SOFT_NOT_FOUND], A.SOFT_NOT_FOUND),
    ([A.JS_SHELL, A.THIN, A.CHALLENGE], A.CHALLENGE),
    ([A.JS_SHELL, A.CHALLENGE, A.PASSED_OVER], A.CHALLENGE),
    # A rendering that failed says nothing about it: another try may.
    ([A.JS_SHELL, A.EMPTY], A.EMPTY),
    ([A.JS_SHELL, A.TIMED_OUT], A.TIMED_OUT),
    ([A.JS_SHELL, A.BROKE_OFF], A.BROKE_OFF),
    ([A.JS_SHELL, A.TIER_FAILED], A.JS_SHELL),
    ([A.JS_SHELL, A.TIER_FAILED, A.COOKIE_WALL], A.COOKIE_WALL),
    # Some text is more than none.
    ([A.THIN, A.BROKEN], A.THIN),
    ([A.THIN, A.LOGIN_WALL], A.THIN),
    ([A.THIN, A.NOT_FOUND], A.THIN),
    ([A.THIN, A.TIER_FAILED], A.THIN),
    ([A.REFUSED, A.THIN], A.THIN),
    # But the page's own word that it is not to be indexed holds.
    ([A.THIN, A.NOINDEX], A.NOINDEX),
    # A page waits for the calls of another day, unless the matter is settled.
    ([A.THIN, A.STEPPED_ASIDE], A.STEPPED_ASIDE),
    ([A.REFUSED, A.STEPPED_ASIDE, A.REFUSED], A.STEPPED_ASIDE),
    ([A.JS_SHELL, A.STEPPED_ASIDE, A.TIER_FAILED], A.STEPPED_ASIDE),
    ([A.JS_SHELL, A.STEPPED_ASIDE, A.LOGIN_WALL], A.LOGIN_WALL),
    ([A.JS_SHELL, A.STEPPED_ASIDE, A.DOCUMENT], A.DOCUMENT),
    ([A.STEPPED_ASIDE, A.NOT_FOUND], A.NOT_FOUND),
    ([A.STEPPED_ASIDE, A.NO_ADDRESS], A.NO_ADDRESS),
    # A tier that is out of order, or not for this page, leaves the word to the others.
    ([A.TIER_FAILED], A.TIER_FAILED),
    ([A.TIER_FAILED, A.NOT_FOUND], A.NOT_FOUND),
    ([A.TIER_FAILED, A.TIMED_OUT], A.TIMED_OUT),
    ([A.PASSED_OVER, A.UNREADABLE], A.UNREADABLE),
    ([A.TIER_FAILED, A.JS_SHELL, A.LOGIN_WALL], A.LOGIN_WALL),
]


@pytest.mark.parametrize(("given_answers", "speaks"), SPEAKS, ids=str)
def test_one_attempt_speaks_for_the_page(given_answers, speaks):
    found, asked = chain_of(*given_answers)
    assert asked == len(given_answers)
    assert found.best.answer is speaks


@pytest.mark.parametrize("answer", Answer)
def test_alone_every_answer_speaks_for_itself(answer):
    assert chain_of(answer)[0].best.answer is answer


def test_the_sets_of_answers_that_decide_do_not_overlap():
    sets = [CLEARS, EMPTY_HANDED, BLOCKED, RENDERING_CURES_NOT, NOT_ASKED]
    assert sum(map(len, sets)) == len(frozenset().union(*sets))
    assert not TURNED_OUT & (CLEARS | EMPTY_HANDED | BLOCKED | NOT_ASKED)


def test_each_tier_and_why_it_lost_is_listed():
    found = run(Scripted("a", Answer.THIN), Scripted("b", Answer.THIN), Scripted("c", Answer.BROKEN))
    assert found.errors.splitlines() == ["a: a says so", "b: b says so", "c: c says so"]


def test_the_rules_ask_nobody_anything():
    attempts = [TierResult("a", Answer.THIN)]
    assert goes_on(attempts, ANY_PAGE)
    assert best_of(attempts, ANY_PAGE) is attempts[0]


# The step from www to the apex ---------------------------------------------------------------------------------------


def mismatch():
    return TierResult("plain", Answer.BAD_CERTIFICATE, "www is not covered", apex_url=APEX)


def test_the_apex_is_asked_with_the_whole_chain():
    plain, browser = Scripted("plain", mismatch(), Answer.THIN), Scripted("browser", Answer.DOCUMENT)
    found = run(plain, browser, url=WWW)
    assert [request.url for request in plain.asked] == [WWW, APEX]
    assert [request.url for request in browser.asked] == [APEX]
    assert found.best.tier == "browser"
    assert [attempt.answer for attempt in found.attempts] == [A.BAD_CERTIFICATE, A.THIN, A.DOCUMENT]


def test_the_apex_is_asked_once_whatever_its_own_certificate_says():
    plain = Scripted("plain", mismatch())
    found = run(plain, url=WWW)
    assert len(plain.asked) == 2
    assert found.best.answer is Answer.BAD_CERTIFICATE


def test_what_the_apex_says_is_what_the_page_says():
    found = run(Scripted("plain", mismatch(), Answer.NOT_FOUND), Scripted("browser", Answer.DOCUMENT), url=WWW)
    assert found.best.answer is Answer.NOT_FOUND


@pytest.mark.parametrize("answer", sorted(set(Answer) - CLEARS))
def test_no_other_answer_leads_to_the_apex(answer):
    plain = Scripted("plain", answer)
    run(plain, url=WWW)
    assert len(plain.asked) == 1


def test_with_every_fallback_off_the_apex_is_not_asked():
    plain = Scripted("plain", mismatch())
    run(plain, url=WWW, policy=FetchPolicy(fallback_enabled=False))
    assert len(plain.asked) == 1


@pytest.mark.parametrize(
    ("refusal", "answer"),
    [
        (HopRefused(A.HOP_FORBIDDEN, "robots.txt does not allow it"), A.HOP_FORBIDDEN),
        (HopRefused(A.ROBOTS_UNAVAILABLE, "robots.txt could not be read"), A.ROBOTS_UNAVAILABLE),
        (GuardRefused("10.0.0.1 is not a public address"), A.NOT_PUBLIC),
    ],
)
def test_the_step_to_the_apex_is_allowed_like_any_hop_and_a_refusal_ends_it(refusal, answer):
    hops = []

    async def refuse(source, target):
        hops.append((source, target))
        raise refusal

    plain = Scripted("plain", mismatch())
    found = run(plain, url=WWW, on_redirect=refuse)
    assert (hops, len(plain.asked)) == ([(WWW, APEX)], 1)
    assert (found.best.answer, found.best.requests) == (answer, 0)


def test_what_one_host_may_see_is_not_shown_to_the_other():
    policy = FetchPolicy(headers=(("X-Key", "k"),), cookies=(("c", "1"),), basic_auth=("u", "p"), locale="de")
    plain = Scripted("plain", mismatch(), Answer.DOCUMENT)
    run(plain, url=WWW, policy=policy)
    assert [request.policy for request in plain.asked] == [policy, FetchPolicy(locale="de")]


def test_the_apex_is_fetched_as_its_own_settings_say():
    own = FetchPolicy(headers=(("X-Key", "of the apex"),))
    plain = Scripted("plain", mismatch(), Answer.DOCUMENT)
    chain = Chain((plain,), policy_for=lambda url: own if url == APEX else ANY_PAGE)
    asyncio.run(chain.fetch(PageRequest(WWW)))
    assert plain.asked[1].policy == own


def test_the_page_of_the_apex_is_asked_for_anew():
    """What the www host answered, if anything, says nothing to the tiers that ask the apex."""
    www = replace(mismatch(), response=answered(Answer.THIN).response)
    plain = Scripted("plain", www, Answer.DOCUMENT)
    run(plain, url=WWW)
    assert plain.asked[1].answered is None
