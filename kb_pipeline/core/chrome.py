"""Drops what frames a page's content: navigation, banners, consent, sharing, hidden parts.

Conservative where the only sign is a class name: such a block goes only when it is also small or mostly links.
"""

from __future__ import annotations

import re
from typing import Final

from kb_pipeline.core.html_tree import Node, names

_DROPPED_TAGS: Final = names(
    "applet area audio base canvas datalist dialog embed frame frameset head iframe input link map meta meter nav"
    " object option progress script select source style svg template textarea track video"
)
_DROPPED_ROLES: Final = names(
    "alertdialog banner complementary contentinfo dialog directory menu menubar navigation search toolbar tooltip"
)
_HEADINGS: Final = names("h1 h2 h3 h4 h5 h6")
_CONTROLS: Final = frozenset({"input", "textarea", "select"})
_CONTENT_HOLDERS: Final = frozenset({"article", "main", "section", "li", "td"})
_CARD_WORDS: Final = names("card post plan pricing tier entry item product tile box panel story teaser")
_NOTE_NAMES: Final = re.compile(
    r"admonition|callout|notecard|(?:^|[\s_-])(?:note|tip|warning|caution|important|danger|hint)(?:$|[\s_-])"
)
_STREAMED: Final = re.compile(r"[SB]:[0-9a-f]+")
_UNFOLDS: Final = re.compile(r"tab|accordion|collaps|expand|faq|panel|toggle|content|slide|carousel|answer")
_CONSENT: Final = re.compile(
    r"onetrust|cookiebot|cybotcookie|usercentrics|didomi|osano|iubenda|borlabs|complianz|cmplz|klaro|truste|qc-cmp|"
    r"sp_message|cky-|cc-window|gdpr|cookie[-_]?(?:banner|consent|notice|bar|law|popup|modal|message|policy|overlay|info|"
    r"disclaimer|alert|warning|dialog|settings|preferences|notification|hint|wrapper|container)|consent[-_]?(?:banner|manager|"
    r"popup|modal|overlay|dialog|layer|bar)|eu-cookie|cookies?$"
)
_BREADCRUMBS: Final = re.compile(r"breadcrumb|bread-crumb|crumbtrail")
# Words of class names that mark small furniture around and inside content.
_FURNITURE: Final = names(
    "addthis addtoany adsbygoogle advert advertisement advertising ads backtotop breadcrumbs byline disqus donate"
    " dropdown editpage feedback flyout hamburger intercom jumplinks masthead megamenu menu modal nav navbar"
    " navigation newsletter offcanvas outbrain pager pagination paging popup prevnext promo promoted promotion"
    " recommended recommendations related rss share sharedaddy sharing shares sidebar signup skip skiplink social"
    " socials sponsor sponsored subscribe subscription taboola toc toolbar topbar widget widgets ad copyright footer"
    " upsell crosssell popular trending login signin cart minicart searchform backlinks tags tagcloud metadata"
    " printonly utility filters facets"
)
_FURNITURE_PAIRS: Final = re.compile(
    r"side-?bar|sr-only|screen-?reader|visually-?hidden|assistive|skip-(?:link|to|nav)|table-of-contents|back-to-top|edit-(?:this|page|on|link)|"
    r"was-this|page-nav|post-nav|nav-links|pagination|also-like|more-(?:articles|posts|stories|from)|read-next|"
    r"recently-viewed|you-may|author-(?:box|bio)|share-|social-|site-(?:header|footer|nav|info)|global-(?:header|footer|nav)|"
    r"page-footer|cross-sell|up-sell|announcement-bar|promo-bar|top-bar|wp-block-latest|entry-footer|post-footer"
)
_NEVER_FURNITURE: Final = names("h1 h2 h3 h4 h5 h6 p pre code table tbody tr td th")
_ONLY_LINKS: Final = 0.5
_SMALL: Final = 200
_MINOR_SHARE: Final = 0.3


def strip_chrome(document: Node) -> None:
    """Take the chrome out of a measured document, in place. Measure again afterwards."""
    page = document.letters
    stack = [document]
    while stack:
        node = stack.pop()
        node.children = [child for child in node.children if isinstance(child, str) or not _is_chrome(child, page)]
        stack.extend(child for child in node.children if isinstance(child, Node))


def _is_chrome(node: Node, page: int) -> bool:
    tag = node.tag
    if tag in {"html", "body", "main"}:
        return False
    if tag in _DROPPED_TAGS or _is_hidden(node, page):
        return True
    special = _SPECIAL_TAGS.get(tag)
    if special is not None and special(node, page):
        return True
    attributes = node.attributes
    return bool(attributes) and (_has_dropped_role(node, page) or _is_named_chrome(node, page))


def _is_hidden(node: Node, page: int) -> bool:
    attributes = node.attributes
    if not attributes:
        return False
    style = attributes.get("style", "").replace(" ", "").lower()
    hidden = "hidden" in attributes or "display:none" in style or "visibility:hidden" in style
    if not hidden and attributes.get("aria-hidden") != "true":
        return False
    if node.letters > page / 2 or (node.tag == "div" and _STREAMED.fullmatch(node.get("id"))):
        return False
    unfolds = node.get("role") == "tabpanel" or bool(_UNFOLDS.search(node.names())) or "aria-labelledby" in attributes
    return not (unfolds and node.link_letters <= node.letters * _ONLY_LINKS and not _CONTROLS & node.holds)


def _has_dropped_role(node: Node, page: int) -> bool:
    role = node.get("role").lower()
    if role == "navigation" or node.get("aria-label").lower() in {"breadcrumb", "breadcrumbs"}:
        return True
    return role in _DROPPED_ROLES and node.letters <= page / 2


def _is_named_chrome(node: Node, page: int) -> bool:
    written = node.names()
    letters = node.letters
    if _CONSENT.search(written):
        return letters <= page * 0.6 and "h1" not in node.holds
    if letters > page * _MINOR_SHARE or "h1" in node.holds:
        return False
    if _BREADCRUMBS.search(written):
        return letters < 2 * _SMALL
    if node.tag in _NEVER_FURNITURE or not (_FURNITURE & node.words() or _FURNITURE_PAIRS.search(written)):
        return False
    return letters <= _SMALL or node.link_letters > letters * _ONLY_LINKS


def _is_framing_header(node: Node, page: int) -> bool:
    """Whether a `<header>` is the site's. One that heads a card or post stays: it names what follows."""
    if node.get("role") == "banner" or "nav" in node.holds or not _HEADINGS & node.holds:
        return node.letters <= page / 2
    if any(above.tag in _CONTENT_HOLDERS or _CARD_WORDS & above.words() for above in node.ancestors()):
        return False
    return "h1" not in node.holds


def _is_framing_footer(node: Node, page: int) -> bool:
    in_quote = any(above.tag == "blockquote" for above in node.ancestors())
    return not in_quote and node.letters <= page / 2


def _is_framing_aside(node: Node, page: int) -> bool:
    return not _NOTE_NAMES.search(node.names()) and node.get("role") != "note" and node.letters <= page / 2


def _is_input_form(node: Node, page: int) -> bool:
    """Whether a form is for filling in, rather than a wrapper that some systems put around a whole page."""
    return node.letters <= max(_SMALL, page * 0.1) or (bool(_CONTROLS & node.holds) and node.letters <= page * 0.2)


def _is_idle_button(node: Node, _page: int) -> bool:
    """Buttons do something, except those that are the heading of a part that folds."""
    if "aria-expanded" in node.attributes or "aria-controls" in node.attributes or node.get("role") == "tab":
        return not node.letters
    return node.parent is None or node.parent.tag not in _HEADINGS | {"dt", "summary"}


def _is_redundant_noscript(node: Node, _page: int) -> bool:
    """`<noscript>` repeats pictures or asks for JavaScript; some boards put their posts in it."""
    return node.letters <= _SMALL


_SPECIAL_TAGS: Final = {
    "header": _is_framing_header,
    "footer": _is_framing_footer,
    "aside": _is_framing_aside,
    "form": _is_input_form,
    "button": _is_idle_button,
    "noscript": _is_redundant_noscript,
}
