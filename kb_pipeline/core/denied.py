"""Addresses that are never worth a page of a knowledge base: logins, carts, search results, calendars, print views,
share links. Whole path segments in the places where they mean that: `/docs/login-api` and `/blog/shopping-cart-tips`
are content."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kb_pipeline.core.patterns import PathPatterns
    from kb_pipeline.core.scope import Address

_NO_PAGE: Final = "is a link that shares, edits, replies or buys, not a page"
_LOCALE: Final = re.compile(r"[a-z]{2}(?:[-_][a-z]{2,4})?")
_PAGE_EXTENSION: Final = re.compile(r"\.(?:php|html?|aspx?|jsp|jsf|do|cfm|action)$")
_CALENDAR_VIEW: Final = r"(?:day|week|month|year|list|today|tag|woche|monat|jahr|grid|map|photo)"
_CALENDAR_DATE: Final = re.compile(
    # A month, week or day, among words that name a view of it. A year alone is a list like any other.
    rf"(?:{_CALENDAR_VIEW}/)*(?:19|20)\d\d[-/_.]?(?:w?\d\d?)(?:[-/_.]?\d\d?)?(?:/{_CALENDAR_VIEW})*"
)
_SLUG: Final = re.compile(r".*[\d-].*")

_LOGIN: Final = frozenset(
    {"login", "log-in", "log_in", "signin", "sign-in", "sign_in", "logon", "sso", "wp-login", "register", "signup",
     "sign-up", "sign_up", "forgot-password", "forgot_password", "reset-password", "lost-password", "anmelden",
     "connexion", "iniciar-sesion", "accedi", "inloggen"}
)  # fmt: skip
_LOGOUT: Final = frozenset({"logout", "log-out", "log_out", "signout", "sign-out", "sign_out", "logoff", "abmelden"})
_ACCOUNT: Final = frozenset({"account", "my-account", "myaccount", "mein-konto", "mon-compte", "mi-cuenta"})
_ACCOUNT_PAGES: Final = frozenset(
    {"orders", "order", "addresses", "address", "address-book", "wishlist", "settings", "profile", "password",
     "preferences", "notifications", "subscriptions", "downloads", "payment-methods", "billing", "security", "edit",
     "create", "activate", "reset", "recover", "index"}
) | _LOGIN | _LOGOUT  # fmt: skip
_CART: Final = frozenset(
    {"cart", "shopping-cart", "shoppingcart", "basket", "shopping-basket", "shopping-bag", "warenkorb", "panier",
     "carrito", "carrello", "winkelwagen"}
)  # fmt: skip
_CHECKOUT: Final = frozenset({"checkout", "check-out", "kasse"})
# Segments after which a login, a cart or a checkout is the shop's own, not a chapter about one.
_HOLDERS: Final = frozenset(
    {"account", "accounts", "my-account", "user", "users", "member", "members", "customer", "customers", "auth",
     "admin", "administrator", "shop", "store", "portal", "session", "sessions", "profile", "oauth", "oauth2", "sso",
     "identity", "app", "my", "wp-admin", "cart", "checkout", "onepage", "component"}
)  # fmt: skip
# Segments (and first labels of a host) under which such words are subjects.
_MANUALS: Final = frozenset(
    {"docs", "doc", "documentation", "guide", "guides", "help", "support", "learn", "kb", "wiki", "manual", "reference",
     "tutorial", "tutorials", "faq", "academy", "glossary", "handbook", "api", "api-reference", "developer",
     "developers", "sdk", "knowledge", "knowledgebase", "knowledge-base"}
)  # fmt: skip
_CONTENT: Final = _MANUALS | {"blog", "articles", "article", "news", "press", "stories"}
_INNER_PAGES: Final = _ACCOUNT_PAGES | {
    "add", "remove", "update", "view", "show", "items", "success", "onepage", "payment", "shipping", "confirm",
    "confirmation", "callback", "cart", "checkout", "new", "auth", "oauth", "sso", "guest", "step", "multishipping",
    "thank-you",
}  # fmt: skip
_SEARCH: Final = frozenset(
    {"search", "searchresults", "search-results", "search_results", "advanced-search", "suche", "recherche", "buscar",
     "busca", "cerca", "zoeken"}
)  # fmt: skip
_SEARCH_PAGES: Final = frozenset({"results", "result", "label", "query", "node", "advanced", "all"})
_SEARCH_TERMS: Final = frozenset(
    {"q", "s", "query", "search", "keyword", "keywords", "term", "terms", "text", "searchterm", "search_query", "k"}
)
_CALENDAR: Final = frozenset(
    {"calendar", "cal", "kalender", "calendrier", "calendario", "agenda", "events", "event", "veranstaltungen",
     "termine", "evenements", "eventos", "schedule", "event-calendar", "events-calendar"}
)  # fmt: skip
_DATE_PARAMETERS: Final = frozenset({"date", "day", "week", "month", "start", "from", "start_date", "startdate", "d"})
_DATE: Final = re.compile(r"(?:19|20)\d\d[-/.]?w?\d\d?(?:[-/.]?\d\d?)?")
_CALENDAR_PARAMETERS: Final = frozenset(
    {"ical", "outlook-ical", "tribe-bar-date", "eventdisplay", "tribe_event_display"}
)
_PRINT: Final = frozenset({"print", "printable", "printpdf", "printmail", "print-view", "printview"})
_PRINT_PARAMETERS: Final = {
    "print": None, "printable": None, "printview": None, "print_view": None, "printer": None, "printfriendly": None,
    "view": "print", "format": "print", "output": "print", "layout": "print", "mode": "print", "tmpl": "component",
}  # fmt: skip
_SHARE_PARAMETERS: Final = frozenset({"share", "replytocom", "add-to-cart", "add_to_cart", "sharesource"})
_SHARERS: Final = frozenset({"share", "sharer", "sharer.php", "shareartic"})
_ACTIONS: Final = frozenset(
    {"edit", "delete", "login", "logout", "register", "submit", "history", "raw", "share", "rollback", "protect",
     "watch", "purge", "reply", "print", "add_to_cart", "addtocart", "lostpassword"}
)  # fmt: skip


_WORDS: Final = (
    _LOGIN | _LOGOUT | _ACCOUNT | _CART | _CHECKOUT | _SEARCH | _CALENDAR | _PRINT | _SHARERS | {"feed", "wp-admin"}
)


def why_denied(address: Address, include: PathPatterns) -> str | None:
    """Why the built-in deny list leaves this address out, or None.

    An include pattern that spells the denied segment out ("/calendar/*") overrules the list.
    """
    segments = [_PAGE_EXTENSION.sub("", segment) for segment in address.segments]
    if len(segments) > 1 and _LOCALE.fullmatch(segments[0]):
        segments = segments[1:]
    if any(segment in _WORDS and include.name(segment) for segment in segments):
        return None
    names = {name for name, _ in address.parameters}
    subject = bool({address.host.partition(".")[0], *segments[:-1]} & _CONTENT)
    return (
        _account(segments, subject=subject)
        or _shop(segments, subject=subject)
        or _search(segments, names)
        or _calendar(segments, address)
        or _print_or_share(segments, address)
    )


def _at_door(segments: list[str], words: frozenset[str], *, subject: bool) -> bool:
    """Whether one of the words is the first segment, or stands right after a segment that holds such places."""
    if not segments:
        return False
    if segments[0] in words:
        return len(segments) == 1 or segments[1] in _INNER_PAGES or any(mark.isdigit() for mark in segments[1])
    if subject:
        return False
    return any(word in words and before in _HOLDERS for before, word in pairwise(segments))


def _account(segments: list[str], *, subject: bool) -> str | None:
    if _at_door(segments, _LOGIN, subject=subject):
        return "is a login or registration page"
    if _at_door(segments, _LOGOUT, subject=subject):
        return "is a logout link"
    if segments and segments[0] in _ACCOUNT and (len(segments) == 1 or segments[1] in _ACCOUNT_PAGES):
        return "is a page of a visitor's own account"
    if segments and segments[0] in {"wp-admin", "wp-json", "xmlrpc", "cgi-bin"}:
        return "is an administration or program address"
    return None


def _shop(segments: list[str], *, subject: bool) -> str | None:
    if _at_door(segments, _CART, subject=subject):
        return "is a shopping cart"
    if _at_door(segments, _CHECKOUT, subject=subject):
        return "is a checkout"
    return None


def _search(segments: list[str], names: set[str]) -> str | None:
    asked = bool(names & _SEARCH_TERMS)
    if not segments:
        return "is a page of search results" if "s" in names else None
    first = segments[0] in _SEARCH and (len(segments) == 1 or asked or segments[1] in _SEARCH_PAGES)
    if first or (asked and segments[-1] in _SEARCH):
        return "is a page of search results"
    return None


def _calendar(segments: list[str], address: Address) -> str | None:
    """Days, weeks and months of a calendar: it has one for every date there is. A dated event has a name too."""
    reason = "is one date of a calendar"
    names = {name for name, _ in address.parameters}
    by_date = any(name in _DATE_PARAMETERS and _DATE.fullmatch(value) for name, value in address.parameters)
    if names & _CALENDAR_PARAMETERS:
        return reason
    for place, segment in enumerate(segments):
        if segment in _CALENDAR:
            dated = _CALENDAR_DATE.fullmatch("/".join(segments[place + 1 :]))
            if dated or by_date or {"month", "year"} <= names or {"day", "month"} <= names:
                return reason
    return None


def _print_or_share(segments: list[str], address: Address) -> str | None:
    by_parameter = next(filter(None, (_by_parameter(name, value) for name, value in address.parameters)), None)
    if by_parameter or len(segments) == 0:
        return by_parameter
    first, last = segments[0], segments[-1]
    if first in _SHARERS and {name for name, _ in address.parameters} & {"url", "u", "link", "text"}:
        return _NO_PAGE
    if len(segments) == 1:
        return None
    if last in {"feed", "trackback"} and not _MANUALS & set(segments):
        return "is a feed, not a page"
    after_slug = last in _PRINT and _SLUG.fullmatch(segments[-2])
    if after_slug or (first in _PRINT and (segments[1] == "node" or segments[1].isdigit())):
        return "is a print view"
    return None


def _by_parameter(name: str, value: str) -> str | None:
    if name in _PRINT_PARAMETERS and _PRINT_PARAMETERS[name] in {None, value} and value not in {"0", "false", "no"}:
        return "is a print view"
    if name in _SHARE_PARAMETERS or (name == "action" and value in _ACTIONS):
        return _NO_PAGE
    if name in {"oldid", "diff"} and value.isdigit():
        return "is an old version of a page"
    return None
