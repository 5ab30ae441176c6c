"""What an error of a request means for the page: one table, for all tiers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kb_pipeline.errors import (
    BodyTooLarge,
    BodyUndecodable,
    CertificateInvalid,
    ConnectFailed,
    ConnectionBroken,
    GuardRefused,
    HostOnHold,
    LimitReached,
    NameNotResolved,
    NotADocument,
    TierUnavailable,
    TimedOut,
    TooManyRedirects,
)
from kb_pipeline.fetch.answers import Answer, TierResult
from kb_pipeline.fetch.hops import HopRefused

if TYPE_CHECKING:
    from kb_pipeline.errors import FetchError

_ANSWERS: Final[dict[type[FetchError], Answer]] = {
    GuardRefused: Answer.NOT_PUBLIC,
    NameNotResolved: Answer.NO_ADDRESS,
    ConnectFailed: Answer.NO_CONNECTION,
    CertificateInvalid: Answer.BAD_CERTIFICATE,
    TimedOut: Answer.TIMED_OUT,
    ConnectionBroken: Answer.BROKEN,
    BodyTooLarge: Answer.TOO_LARGE,
    BodyUndecodable: Answer.UNDECODABLE,
    TooManyRedirects: Answer.REDIRECT_LOOP,
    NotADocument: Answer.NOT_A_DOCUMENT,
    HostOnHold: Answer.ON_HOLD,
    TierUnavailable: Answer.TIER_FAILED,
    LimitReached: Answer.STEPPED_ASIDE,
}
_NOTHING_WAS_SENT: Final = (HostOnHold, GuardRefused, LimitReached)


def failed(tier: str, error: FetchError, seconds: float, *, calls: int = 0) -> TierResult:
    """The result of a tier whose request ended in `error` after `seconds`."""
    answer = error.answer if isinstance(error, HopRefused) else _answer_of(error)
    requests = error.requests
    if requests is None:
        requests = 0 if isinstance(error, _NOTHING_WAS_SENT) else 1
    wait = error.seconds if isinstance(error, HostOnHold) else None
    return TierResult(tier, answer, str(error), requests=requests, seconds=seconds, retry_after=wait, calls=calls)


def _answer_of(error: FetchError) -> Answer:
    if error.began and isinstance(error, ConnectionBroken | TimedOut):
        return Answer.BROKE_OFF
    return next(answer for kind, answer in _ANSWERS.items() if isinstance(error, kind))
