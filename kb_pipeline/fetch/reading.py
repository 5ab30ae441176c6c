"""What a response is: a document, a gate, a missing page. Takes a response and reads it; asks nobody anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.bodies import BodyKind, decode_html, kind_of
from kb_pipeline.core.extract import examine
from kb_pipeline.core.fingerprints import content_hash
from kb_pipeline.core.not_found import is_same, look_of, may_be_same
from kb_pipeline.core.page_state import classify
from kb_pipeline.errors import BodyUnreadable
from kb_pipeline.fetch.answers import Answer
from kb_pipeline.fetch.robots_tag import RobotsTag, parse_robots_tag
from kb_pipeline.model import MIN_TEXT_CHARACTERS, PageState

if TYPE_CHECKING:
    from kb_pipeline.core.not_found import Look
    from kb_pipeline.fetch.answers import PageRequest
    from kb_pipeline.fetch.client import Response
    from kb_pipeline.model import Text

DOCUMENT_KINDS: Final = frozenset({BodyKind.HTML, BodyKind.PDF, BodyKind.TEXT})

SAYS_NOT_FOUND: Final = "says that it was not found"
SHOWN_FOR_ANY: Final = "is what this site shows for addresses that do not exist"

_NOT_MODIFIED: Final = 304
_MISSING: Final = frozenset({404, 410})
_TOO_MANY_REQUESTS: Final = 429

_STATES: Final = {
    PageState.NOT_FOUND: Answer.SOFT_NOT_FOUND,
    PageState.SOFT_404: Answer.SOFT_NOT_FOUND,
    PageState.LOGIN_WALL: Answer.LOGIN_WALL,
    PageState.PAYWALL: Answer.PAYWALL,
    PageState.COOKIE_WALL: Answer.COOKIE_WALL,
    PageState.AGE_GATE: Answer.AGE_GATE,
    PageState.JS_SHELL: Answer.JS_SHELL,
    PageState.CHALLENGE: Answer.CHALLENGE,
    PageState.PARKED: Answer.PARKED,
    PageState.REDIRECT: Answer.CLIENT_REDIRECT,
    PageState.BLOCKED: Answer.REFUSED,
    PageState.RATE_LIMITED: Answer.RATE_LIMITED,
    PageState.UNAVAILABLE: Answer.SERVER_ERROR,
}
_WALLS: Final = frozenset({PageState.LOGIN_WALL, PageState.PAYWALL, PageState.COOKIE_WALL, PageState.CHALLENGE})
"""What the page under a 4xx or 5xx may say beyond its status."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A response, read."""

    answer: Answer
    why: str = ""
    text: Text | None = None
    nofollow: bool = False


def read_response(response: Response, request: PageRequest, token: str) -> Reading:
    """Judge a response to `request`. `token` is our product token, for X-Robots-Tag. Takes CPU time, no I/O."""
    if response.status == _NOT_MODIFIED or not 200 <= response.status < 300:  # noqa: PLR2004
        return _read_status(response, request, token)
    if not response.body.strip():
        return Reading(Answer.EMPTY, "the page is empty")
    kind = kind_of(response.content_type, response.body, response.final_url)
    if kind not in DOCUMENT_KINDS:
        return Reading(Answer.NOT_A_DOCUMENT, f"this is {response.content_type or kind.value}, no page")
    tag = _robots_tag(response, token)
    if request.content_hash is not None and content_hash(response.body) == request.content_hash:
        forbidden = tag.noindex and not request.ignore_noindex
        return Reading(Answer.NOINDEX if forbidden else Answer.SAME_BODY, nofollow=tag.nofollow)
    return _read_document(response, request, tag, token)


def _read_status(response: Response, request: PageRequest, token: str) -> Reading:
    """A status that is no 2xx. A challenge or a login page says more than the 403 it comes with."""
    status = response.status
    if status == _NOT_MODIFIED:
        if request.etag is None and request.last_modified is None:
            return Reading(Answer.SERVER_ERROR, "status 304 to a request that asked for no comparison")
        forbidden = _robots_tag(response, token).noindex and not request.ignore_noindex
        return Reading(Answer.NOINDEX if forbidden else Answer.NOT_MODIFIED)
    state = PageState.NOT_FOUND if status in _MISSING else _state(response)
    if state in _WALLS:
        return Reading(_STATES[state], f"status {status}, {_STATES[state].value}")
    where = " without an address to go on to" if status < 400 else ""  # noqa: PLR2004
    return Reading(_answer_of(status), f"status {status}{where}")


def _answer_of(status: int) -> Answer:
    if status in _MISSING:
        return Answer.NOT_FOUND
    if status == _TOO_MANY_REQUESTS:
        return Answer.RATE_LIMITED
    return Answer.SERVER_ERROR if status >= 500 else Answer.REFUSED  # noqa: PLR2004


def _read_document(response: Response, request: PageRequest, tag: RobotsTag, token: str) -> Reading:
    try:
        found = examine(
            response.body,
            response.content_type,
            response.final_url,
            status=response.status,
            headers=response.headers,
            bot_token=token,
        )
    except BodyUnreadable as error:
        return Reading(Answer.UNREADABLE, str(error))
    # The page's state comes before noindex: a login page is often noindex, and removes nothing.
    if found.state in _STATES:
        answer = _STATES[found.state]
        return Reading(answer, SAYS_NOT_FOUND if answer is Answer.SOFT_NOT_FOUND else f"the page is a {answer.value}")
    text = found.text
    if request.not_found is not None and _is_not_found_page(response, text, request.not_found):
        return _shown_for_any(request.not_found)
    nofollow = tag.nofollow or text.nofollow
    if (tag.noindex or text.noindex) and not request.ignore_noindex:
        return Reading(Answer.NOINDEX, nofollow=nofollow)
    if text.characters < MIN_TEXT_CHARACTERS:
        why = f"{text.characters} characters of text, {MIN_TEXT_CHARACTERS} are needed"
        return Reading(Answer.THIN, why, text, nofollow)
    return Reading(Answer.DOCUMENT, "", text, nofollow)


def _shown_for_any(not_found: Look) -> Reading:
    """A page that looks like the answer to a made-up address: it is missing, or a shell that many pages share."""
    if not_found.unfinished:
        return Reading(Answer.JS_SHELL, f"{SHOWN_FOR_ANY}, and scripts may write the page into it")
    return Reading(Answer.SOFT_NOT_FOUND, SHOWN_FOR_ANY)


def _is_not_found_page(response: Response, text: Text, not_found: Look) -> bool:
    if not may_be_same(text, not_found):
        return False
    html = decode_html(response.body, response.content_type)
    look = look_of(text, html, response.url, response.final_url)
    return look is not None and is_same(look, not_found)


def _state(response: Response) -> PageState:
    html = decode_html(response.body, response.content_type)
    return classify(response.status, response.headers, html, response.final_url)


def _robots_tag(response: Response, token: str) -> RobotsTag:
    return parse_robots_tag((value for name, value in response.header_list if name == "x-robots-tag"), token)
