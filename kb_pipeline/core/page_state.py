"""What a response is: content, or one of the things that sites answer instead of it.

A page that talks *about* missing pages, log-ins or bot walls is content: words decide nothing unless next to
no text stands beside them. Taking content for an error removes it from the index, so in doubt a page is content.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from kb_pipeline.core import page_signs as signs
from kb_pipeline.core.html_tree import measure, parse_html
from kb_pipeline.core.page_facts import PageFacts
from kb_pipeline.model import PageState

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping

    from kb_pipeline.core.html_tree import Node

MUCH_PROSE: Final = 1_000
"""Letters outside links and page frame from which on a page is content, whatever it says."""
LITTLE_PROSE: Final = 450
"""Letters up to which a page's headline may decide."""
HARDLY_ANY: Final = 250
"""Letters up to which a sentence anywhere in the text may decide."""
NO_PROSE: Final = 60


def classify(status: int, headers: Mapping[str, str], html: str, url: str, document: Node | None = None) -> PageState:
    """The state of a response. `document` is `html` parsed and measured, where the caller has it already.

    Header names in lower case. A body that is not HTML is judged by its status alone.
    """
    by_status = _by_status(status)
    if by_status is PageState.NOT_FOUND or (by_status is PageState.REDIRECT and not html.strip()):
        return by_status
    if document is None:
        document, _ = parse_html(html)
        measure(document)
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
    if by_status is PageState.UNAVAILABLE and (
        page.says(signs.RATE_WORDS, LITTLE_PROSE) or page.is_headed(signs.RATE_WORDS, LITTLE_PROSE)
    ):
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
    if page.prose <= LITTLE_PROSE and signs.CHALLENGE_MARKS.search(page.marks) and not _has_content_text(page):
        return True
    worded = page.says(signs.CHALLENGE_WORDS, LITTLE_PROSE) or page.is_headed(signs.CHALLENGE_WORDS, LITTLE_PROSE)
    return worded and bool(
        signs.CHALLENGE_VENDORS.search(page.text)
        or signs.CAPTCHA_MARKS.search(page.marks)
        or signs.CHALLENGE_MARKS.search(page.marks)
    )


def _has_content_text(page: PageFacts) -> bool:
    """Whether there is text that is neither a challenge's nor a request for JavaScript."""
    return (
        page.prose > HARDLY_ANY
        and not signs.CHALLENGE_WORDS.search(page.text)
        and not signs.SHELL_WORDS.search(page.text)
    )


def _is_soft_404(page: PageFacts) -> bool:
    if page.is_headed(signs.NOT_FOUND_HEADLINE, LITTLE_PROSE):
        return True
    return page.says(signs.NOT_FOUND_SENTENCE, HARDLY_ANY) and not page.fields & {"password"}


def _is_login_wall(page: PageFacts) -> bool:
    asks = bool(page.fields & {"password", "login"})
    address = _host_and_path(page.url)
    named = page.is_headed(signs.LOGIN_WORDS, LITTLE_PROSE) or bool(
        signs.LOGIN_PATH.search(address[1]) or signs.LOGIN_HOSTS.search(address[0])
    )
    return asks and named and page.prose <= LITTLE_PROSE


def _is_cookie_wall(page: PageFacts) -> bool:
    host, _ = _host_and_path(page.url)
    if signs.CONSENT_HOSTS.search(host) and page.prose <= MUCH_PROSE:
        return True
    worded = page.says(signs.CONSENT_WORDS, LITTLE_PROSE)
    return worded and bool(signs.CONSENT_ACTIONS.search(page.actions)) and _opens_with(page, signs.CONSENT_WORDS)


def _opens_with(page: PageFacts, words: re.Pattern[str]) -> bool:
    """Whether the words come first: a consent banner below an article is no wall."""
    match = words.search(page.text)
    return match is not None and match.start() <= HARDLY_ANY


def _is_age_gate(page: PageFacts) -> bool:
    return page.is_headed(signs.AGE_WORDS, HARDLY_ANY) and bool(page.fields & {"button", "submit", "date", "number"})


def _is_paywall(page: PageFacts) -> bool:
    marked = bool(signs.PAYWALL_MARKS.search(page.marks))
    worded = page.says(signs.PAYWALL_WORDS, LITTLE_PROSE)
    return worded and (marked or page.prose <= HARDLY_ANY)


def _is_redirect(page: PageFacts) -> bool:
    return page.refreshes and page.prose <= HARDLY_ANY


def _is_parked(page: PageFacts) -> bool:
    return page.is_headed(signs.PARKED_WORDS, LITTLE_PROSE) or (
        page.prose <= LITTLE_PROSE
        and bool(signs.PARKED_MARKS.search(page.marks))
        and bool(signs.PARKED_WORDS.search(page.text))
    )


def _is_blocked(page: PageFacts) -> bool:
    return page.says(signs.BLOCKED_WORDS, HARDLY_ANY) or page.is_headed(signs.BLOCKED_WORDS, HARDLY_ANY)


def _is_rate_limit(page: PageFacts) -> bool:
    return page.is_headed(signs.RATE_WORDS, HARDLY_ANY)


def _is_unavailable(page: PageFacts) -> bool:
    return page.is_headed(signs.UNAVAILABLE_WORDS, HARDLY_ANY)


def _of_empty_page(page: PageFacts) -> PageState:
    """Without text, what else is there: scripts that would write some, or nothing."""
    asks_for_script = bool(signs.SHELL_WORDS.search(page.text))
    if page.prose <= HARDLY_ANY and asks_for_script and page.scripts:
        return PageState.JS_SHELL
    if page.prose > NO_PROSE or page.letters > HARDLY_ANY or page.all_letters > MUCH_PROSE:
        return PageState.OK
    mounts = bool(signs.SHELL_MOUNTS.search(page.marks)) or bool(signs.SHELL_WORDS.search(page.noscript))
    redirects = bool(signs.SCRIPT_REDIRECT.search(page.marks))
    if page.scripts and (mounts or redirects or not page.letters):
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
    (PageState.BLOCKED, _is_blocked),
    (PageState.LOGIN_WALL, _is_login_wall),
    (PageState.COOKIE_WALL, _is_cookie_wall),
    (PageState.AGE_GATE, _is_age_gate),
    (PageState.REDIRECT, _is_redirect),
    (PageState.PARKED, _is_parked),
    (PageState.RATE_LIMITED, _is_rate_limit),
    (PageState.UNAVAILABLE, _is_unavailable),
    (PageState.SOFT_404, _is_soft_404),
    (PageState.PAYWALL, _is_paywall),
)
