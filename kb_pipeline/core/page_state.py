"""What a response is: content, or one of the things that sites answer instead of it.

A page that talks *about* missing pages, log-ins or bot walls is content: words decide nothing unless next to
no text stands beside them. Taking content for an error removes it from the index, so in doubt a page is content.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from kb_pipeline.core import missing_signs as missing
from kb_pipeline.core import page_signs as signs
from kb_pipeline.core import wall_signs as walls
from kb_pipeline.core.html_tree import parse_html
from kb_pipeline.core.page_facts import BARE, PageFacts
from kb_pipeline.model import PageState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kb_pipeline.core.html_tree import Node

MUCH_PROSE: Final = 1_000
"""Letters outside links and page frame from which on a page is content, whatever it says."""
LITTLE_PROSE: Final = 450
"""Letters up to which a page's headline may decide."""
HARDLY_ANY: Final = 250
"""Letters up to which a sentence anywhere in the text may decide."""
NO_PROSE: Final = 60
CRUMB: Final = 20
"""Letters that are no text of their own."""


def classify(status: int, headers: Mapping[str, str], html: str, url: str, document: Node | None = None) -> PageState:
    """The state of a response. `document` is `html` parsed and measured, where the caller has it already.

    Header names in lower case. A body that is not HTML is judged by its status alone.
    """
    by_status = _by_status(status)
    if by_status is PageState.NOT_FOUND or (by_status is PageState.REDIRECT and not html.strip()):
        return by_status
    if document is None:
        document, _ = parse_html(html)
    page = PageFacts.of(document, html, url)
    if by_status is not PageState.OK:
        return _of_refusal(by_status, status, headers, page)
    if page.prose >= MUCH_PROSE:
        return PageState.OK
    return _of_sparse_page(headers, page)


def _by_status(status: int) -> PageState:  # noqa: PLR0911 - a table
    if status in {404, 410}:
        return PageState.NOT_FOUND
    if status in {401, 407}:
        return PageState.LOGIN_WALL
    if status == 429:  # noqa: PLR2004 - RFC 6585 §4
        return PageState.RATE_LIMITED
    if status >= 500 and status != 999:  # noqa: PLR2004 - 999 is how one large site says "blocked"
        return PageState.UNAVAILABLE
    if status >= 400:  # noqa: PLR2004
        return PageState.BLOCKED
    if status >= 300:  # noqa: PLR2004
        return PageState.REDIRECT
    return PageState.OK


def _of_refusal(by_status: PageState, status: int, headers: Mapping[str, str], page: PageFacts) -> PageState:
    """A status that says no: perhaps a bot wall, which a browser may pass, stands behind it."""
    if _is_challenge(headers, page) or (
        status in {403, 429, 503} and page.prose < LITTLE_PROSE and signs.CAPTCHA_MARKS.search(page.marks)
    ):
        return PageState.CHALLENGE
    if by_status is PageState.UNAVAILABLE and page.is_told(walls.RATE_HEADLINES, walls.RATE_BENEATH, LITTLE_PROSE):
        return PageState.RATE_LIMITED
    return by_status


def _of_sparse_page(headers: Mapping[str, str], page: PageFacts) -> PageState:
    """A 2xx answer with little text. The order matters: walls first, for they quote what they hide."""
    if _is_challenge(headers, page):
        return PageState.CHALLENGE
    return next((state for state, applies in _RULES if applies(page)), None) or _of_empty_page(page)


def _is_challenge(headers: Mapping[str, str], page: PageFacts) -> bool:
    if page.prose >= MUCH_PROSE:
        return False
    if any(value.search(headers.get(name, "")) for name, value in signs.CHALLENGE_HEADERS if name in headers):
        return True
    headed = page.is_headed(signs.CHALLENGE_WORDS, MUCH_PROSE)
    worded = page.says(signs.CHALLENGE_WORDS, LITTLE_PROSE) or (headed and page.prose <= LITTLE_PROSE)
    if page.is_marked(signs.CHALLENGE_MARKS) and (headed or (page.prose <= LITTLE_PROSE and not _has_content(page))):
        return True
    if page.is_marked(signs.SENSOR_MARKS) and (worded or _is_blank(page)):
        return True
    if worded and (signs.CHALLENGE_VENDORS.search(page.text) or page.is_marked(signs.CAPTCHA_MARKS)):
        return True
    return bool(page.scripts) and page.rest <= BARE and page.is_headed(signs.CHALLENGE_HEADLINES, HARDLY_ANY)


def _has_content(page: PageFacts) -> bool:
    """Whether there is text that is neither a challenge's nor a request for JavaScript."""
    return (
        page.prose > HARDLY_ANY
        and not signs.CHALLENGE_WORDS.search(page.text)
        and not signs.SHELL_WORDS.search(page.text)
    )


def _is_blank(page: PageFacts) -> bool:
    """Whether a page shows nothing at all, and has no place for a script to show something."""
    return not page.letters and not page.mounts and page.all_letters <= HARDLY_ANY


def _is_soft_404(page: PageFacts) -> bool:
    if "password" in page.fields or signs.EXPLAINS.search(page.text):
        return False
    if page.is_told(missing.HEADLINE, missing.BENEATH, LITTLE_PROSE):
        return True
    if page.prose <= LITTLE_PROSE and page.is_titled(missing.THING_HEADLINE):
        return page.rest <= BARE or bool(missing.BENEATH.search(page.body))
    return page.says(missing.SENTENCE, HARDLY_ANY)


def _is_login_wall(page: PageFacts) -> bool:
    if page.prose > LITTLE_PROSE:
        return False
    host, path = _host_and_path(page.url)
    titled = page.is_titled(walls.LOGIN_WORDS)
    if page.fields & {"password", "login"}:
        placed = walls.LOGIN_PATH.search(path) or walls.LOGIN_HOSTS.search(host)
        return titled or bool(placed or page.says(walls.LOGIN_REQUEST, HARDLY_ANY))
    if titled and page.rest <= BARE:
        return "email" in page.fields or page.can_press(walls.LOGIN_ACTIONS)
    return page.says(walls.LOGIN_SENTENCE, HARDLY_ANY)


def _is_cookie_wall(page: PageFacts) -> bool:
    host, _ = _host_and_path(page.url)
    if walls.CONSENT_HOSTS.search(host) and page.prose <= MUCH_PROSE:
        return True
    if not page.says(walls.CONSENT_WORDS, LITTLE_PROSE):
        return False
    beside = page.letters_beside(walls.CONSENT_WORDS, walls.CONSENT_ACTIONS)
    return beside is not None and beside <= NO_PROSE


def _is_age_gate(page: PageFacts) -> bool:
    asks = page.says(walls.AGE_WORDS, HARDLY_ANY) or page.is_headed(walls.AGE_WORDS, HARDLY_ANY)
    return asks and (bool(page.fields & {"date", "number"}) or page.can_press(walls.AGE_ACTIONS))


def _is_paywall(page: PageFacts) -> bool:
    """Wording and a mark; next to no text and wording; or a teaser that its publisher marks as paid and that ends with
    the offer. What is longer than any teaser is content, whatever stands beneath it."""
    strong = walls.PAYWALL_WORDS
    if page.prose <= HARDLY_ANY and (page.says(strong, HARDLY_ANY) or page.is_headed(strong, HARDLY_ANY)):
        return True
    if page.prose <= LITTLE_PROSE and page.is_marked(walls.PAYWALL_MARKS):
        return bool(strong.search(page.text) or walls.OFFER_WORDS.search(page.text))
    ends = page.text[-LITTLE_PROSE:]
    return page.is_marked(walls.PAID_MARK) and bool(strong.search(ends) or walls.OFFER_WORDS.search(ends))


def _is_redirect(page: PageFacts) -> bool:
    return page.refreshes and page.prose <= HARDLY_ANY


def _is_parked(page: PageFacts) -> bool:
    if page.is_told(walls.PARKED_HEADLINES, walls.PARKED_BENEATH, LITTLE_PROSE):
        return True
    if page.is_told(walls.PARKED_HINTS, walls.PARKED_BENEATH, HARDLY_ANY, bare=CRUMB):
        return True
    if not page.is_marked(walls.PARKED_MARKS) or page.prose > LITTLE_PROSE:
        return False
    return _is_blank(page) or bool(walls.PARKED_WORDS.search(page.text))


def _is_blocked(page: PageFacts) -> bool:
    return page.is_told(walls.BLOCKED_HEADLINES, walls.BLOCKED_BENEATH, HARDLY_ANY)


def _is_rate_limit(page: PageFacts) -> bool:
    return page.is_told(walls.RATE_HEADLINES, walls.RATE_BENEATH, HARDLY_ANY)


def _is_unavailable(page: PageFacts) -> bool:
    beneath = walls.UNAVAILABLE_BENEATH
    return page.is_told(walls.UNAVAILABLE_HEADLINES, beneath, HARDLY_ANY) or page.is_told(
        walls.UNAVAILABLE_HINTS, beneath, HARDLY_ANY, bare=CRUMB
    )


def _of_empty_page(page: PageFacts) -> PageState:
    """Without text, what else is there: scripts that would write some, or nothing."""
    asks = page.says(signs.SHELL_WORDS, HARDLY_ANY)
    if page.scripts and asks and (page.rest <= BARE or page.mounts or page.is_titled(signs.SHELL_WORDS)):
        return PageState.JS_SHELL
    if page.prose > NO_PROSE or page.letters > HARDLY_ANY or page.all_letters > MUCH_PROSE:
        return PageState.OK
    waits = not page.letters or (not page.topic and bool(signs.WAITING.match(page.text)))
    leads_on = bool(signs.SCRIPT_REDIRECT.search(page.marks)) and bool(signs.REDIRECT_WORDS.search(page.text))
    if page.scripts and (waits or page.mounts or leads_on):
        return PageState.JS_SHELL
    return PageState.OK if page.letters else PageState.EMPTY


def _host_and_path(url: str) -> tuple[str, str]:
    """Host and path of a URL; empty where it is none."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return "", ""
    return host or "", parts.path


_RULES: Final = (
    (PageState.RATE_LIMITED, _is_rate_limit),
    (PageState.BLOCKED, _is_blocked),
    (PageState.LOGIN_WALL, _is_login_wall),
    (PageState.COOKIE_WALL, _is_cookie_wall),
    (PageState.AGE_GATE, _is_age_gate),
    (PageState.REDIRECT, _is_redirect),
    (PageState.PARKED, _is_parked),
    (PageState.SOFT_404, _is_soft_404),
    (PageState.UNAVAILABLE, _is_unavailable),
    (PageState.PAYWALL, _is_paywall),
)
