"""Which tiers have been getting nowhere with a host. On a bad night every page of a site is refused, and a browser that
is refused like any other client would be opened for each of a thousand pages, four times over."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.urls import host_of
from kb_pipeline.fetch.answers import BLOCKED, NOT_ASKED, Answer

if TYPE_CHECKING:
    from kb_pipeline.fetch.answers import TierResult

ENOUGH: Final = 5
"""Pages in a row."""
ASKED_AGAIN: Final = 20
"""Of so many further pages, one is tried: the night may be over, or the shield lets browsers in again."""

_OF_THE_HOST: Final = BLOCKED | {Answer.RATE_LIMITED}
"""What a whole host does. A page with too little text says nothing about the next one."""


class Futility:
    """Counts, by host, tier and what the site said to the first tier, the pages in a row that got no further."""

    def __init__(self) -> None:
        self._in_vain: Counter[tuple[str, str, Answer]] = Counter()

    def instead(self, tier: str, url: str, first: TierResult) -> str:
        """Why the tier need not be asked after `first`; empty: it is asked."""
        if first.answer not in _OF_THE_HOST:
            return ""
        place = (host_of(url), tier, first.answer)
        in_vain = self._in_vain[place]
        if in_vain < ENOUGH or in_vain % ASKED_AGAIN == 0:
            return ""
        self._in_vain[place] += 1
        return f"the last pages of this host that answered {first.answer.value!r} got no further"

    def note(self, url: str, first: TierResult, result: TierResult) -> None:
        """Tell what a later tier got. An answer that another page could not have been given says that it helps."""
        if first.answer not in _OF_THE_HOST or result.answer in NOT_ASKED - {Answer.TIER_FAILED}:
            return
        place = (host_of(url), result.tier, first.answer)
        in_vain = result.answer in _OF_THE_HOST | {Answer.TIER_FAILED, Answer.TIMED_OUT, Answer.BROKE_OFF}
        self._in_vain[place] = self._in_vain[place] + 1 if in_vain else 0
