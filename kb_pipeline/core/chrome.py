"""Drops what frames a page's content: navigation, banners, consent, sharing, hidden parts.

Conservative where the only sign is a class name: such a block goes only when it is also small or mostly links.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.html_tree import (
    BIT_OF,
    H1,
    HEADING_BITS,
    HEADING_TAGS,
    Node,
    bits,
    is_formula_script,
    measure,
    measure_again,
    names,
    words_of_names,
)
from kb_pipeline.core.reasons import Reason
from kb_pipeline.core.remembered import Remembered

if TYPE_CHECKING:
    from collections.abc import Callable

    from kb_pipeline.core.trace import Trace

_DROPPED_TAGS: Final = names(
    "applet area audio base canvas datalist dialog embed frame frameset head iframe input link map meta meter nav"
    " object option progress script select source style svg template textarea track video"
)
_DROPPED_ROLES: Final = names(
    "alertdialog banner complementary contentinfo dialog directory menu menubar navigation search toolbar tooltip"
)
_CONTROLS: Final = bits({"input", "textarea", "select"})
_NAV: Final = BIT_OF["nav"]
_PARAGRAPH: Final = BIT_OF["p"]
_CODE: Final = BIT_OF["pre"]
_ITEM: Final = BIT_OF["li"]
_CONTENT_HOLDERS: Final = frozenset({"article", "main", "section", "li", "td"})
_CARD_WORDS: Final = names("card post plan pricing tier entry item product tile box panel story teaser")
_NOTE_NAMES: Final = re.compile(
    r"admonition|callout|notecard|footnote|(?:^|[\s_-])(?:note|tip|warning|caution|important|danger|hint)(?:$|[\s_-])"
)
_STREAMED: Final = re.compile(r"[SB]:[0-9a-f]+")
_UNFOLDS: Final = re.compile(r"tab|accordion|collaps|expand|faq|panel|toggle|content|slide|carousel|answer")
_CONSENT_NAMES: Final = (
    r"onetrust|cookiebot|cybotcookie|usercentrics|didomi|osano|iubenda|borlabs|complianz|cmplz|klaro|truste|qc-cmp"
    r"|sp_message|(?:^|\s)cky-|cc-window|gdpr|eu-cookie"
    r"|cookie[-_]?(?:banner|consent|notice|bar|law|popup|modal|message|policy|overlay|info|disclaimer|alert|warning|dialog"
    r"|settings|preferences|notification|hint|wrapper|container)"
    r"|consent[-_]?(?:banner|manager|popup|modal|overlay|dialog|layer|bar)"
)
_CONSENT_CLASS: Final = re.compile(_CONSENT_NAMES)
_CONSENT_ID: Final = re.compile(rf"{_CONSENT_NAMES}|cookies?$")
_CONSENT_STEMS: Final = (
    *("cookie", "consent", "cky-", "cmplz", "cc-window", "complianz", "gdpr", "onetrust", "usercentrics", "didomi"),
    *("osano", "iubenda", "borlabs", "klaro", "truste", "qc-cmp", "sp_message"),
)
"""One of these is in every name of consent; they are found much faster than the names."""
_TABS: Final = re.compile(r"tabs?[_-](?:menu|nav)|nav[_-]tabs")
_BREADCRUMBS: Final = re.compile(r"breadcrumb|bread-crumb|crumbtrail")
# Words of class names that mark what leads away from the page or acts on it,
NAVIGATION_WORDS: Final = names(
    "addthis addtoany adsbygoogle ad ads advert advertisement advertising backlinks backtotop breadcrumbs cart"
    " copyright disqus donate dropdown editpage editsection feedback flyout footer hamburger helpful"
    " jumplinks login masthead megamenu menu minicart modal nav navbar navfooter navheader navigation noprint offcanvas"
    " outbrain pager pagination paging popup prevnext printonly rss searchform share sharedaddy shares sharing signin"
    " signup skip skiplink social socials sponsor sponsored subscribe subscription taboola toolbar topbar"
)
_NAVIGATION_OF_FOLDS: Final = NAVIGATION_WORDS - {"dropdown"}
"""Accordions are called dropdowns too."""
_NAVIGATION_PAIRS: Final = re.compile(
    r"sr-only|screen-?reader|visually-?hidden|assistive|skip-(?:link|to|nav)|back-to-top|edit-(?:this|page|on|link)"
    r"|suggest-?edit|d-print-none|no-print|form-(?:done|fail)|was-this|page-nav|post-nav|nav-links|pagination|share-"
    r"|social-|(?:site|global)-(?:header|footer|nav|info)|page-footer|announcement-bar|promo-bar|top-bar|entry-footer"
    r"|post-footer|intercom-(?:app|container|frame|launcher|lightweight)"
)
# and of what stands beside the content, or is it: a page may be nothing but a table of contents.
_COMPANIONS: Final = names(
    "byline crosssell facets filters metadata newsletter popular promo promoted promotion recommendations recommended"
    " related relatedposts sidebar tagcloud tags toc trending upsell utility widget widgets"
)
_COMPANION_PAIRS: Final = re.compile(
    r"side-?bar(?!block)|table-of-contents|also-like|more-(?:articles|posts|stories|from)|read-next|recently-viewed|you-may"
    r"|author-(?:box|bio)|cross-sell|up-sell|wp-block-latest"
)


def _named_so(words: frozenset[str], pairs: re.Pattern[str]) -> Remembered[bool]:
    """Whether a class or id has one of the words, or of the pairs of words."""

    def is_named(written: str) -> bool:
        return not words.isdisjoint(words_of_names(written, "")) or pairs.search(written.lower()) is not None

    return Remembered(is_named)


_FRAME: Final = _named_so(NAVIGATION_WORDS, _NAVIGATION_PAIRS)
_FRAME_OF_FOLDS: Final = _named_so(_NAVIGATION_OF_FOLDS, _NAVIGATION_PAIRS)
_COMPANION: Final = _named_so(_COMPANIONS, _COMPANION_PAIRS)
_NEVER_FURNITURE: Final = names("html body main mjx-container h1 h2 h3 h4 h5 h6 p pre code table tbody tr td th")
_NEVER_HELD: Final = bits({"h1", "pre"})
_NEARBY: Final = 24
"""Ancestors that are looked at."""
_ONLY_LINKS: Final = 0.5
_SMALL: Final = 200
_TINY: Final = 40
ENOUGH_LETTERS: Final = 170
"""About 200 characters with their spaces: with less, a page says next to nothing."""
_LARGEST_ROW: Final = 500
_MOST_FORM_LETTERS: Final = 500
"""A part that unfolds and says more is no form, though it may have one in it."""
_IDLE: Final = frozenset({"button", "noscript"})
_NEVER_CHROME: Final = frozenset({"html", "body", "main"})
_MARKED: Final = frozenset({"class", "id", "role"})
_MINOR_SHARE: Final = 0.3


def strip_unseen(document: Node, trace: Trace | None = None) -> list[Node]:
    """Take out of a measured document, in place, what is certainly no content: what is not shown, asks for consent,
    or says itself that it is navigation. Returns the elements that lost something. The letters of all that is left are
    right afterwards; what these elements and those above them hold is not (`html_tree.measure_again`)."""
    return [node for node, *_ in _strip(document, _certainly, trace)]


def strip_chrome(document: Node, trace: Trace | None = None) -> None:
    """Take the chrome out of a measured document, in place, and measure what is left.

    What only a companion's class name speaks against stays when without it the page says next to nothing.
    """
    _strip(document, _as_chrome, trace)
    measure(document)
    undo = _strip(document, _as_companion, trace)
    if not undo:
        return
    dropped = sum(letters for _, _, letters in undo)
    if document.letters - dropped < min(ENOUGH_LETTERS, document.letters):
        for node, children, _ in undo:
            node.children = children
        if trace is not None:
            trace.take_back(Reason.COMPANION_NAME)
    measure_again(node for node, *_ in undo)


def _strip(
    document: Node, reason: Callable[[Node, int], Reason | None], trace: Trace | None
) -> list[tuple[Node, list[Node | str], int]]:
    """Drop that for which there is a reason. Returns each changed element with its old children and the letters it
    lost."""
    page = document.letters
    changed = []
    stack = [document]
    while stack:
        node = stack.pop()
        dropped = []
        for child in node.children:
            if type(child) is not Node:
                continue
            children = child.children
            if not children and child.tag != "img":
                continue
            if (child.attributes or child.tag in _SUSPECT_TAGS) and reason(child, page):
                dropped.append(child)
            elif len(children) > 1 or (children and type(children[0]) is Node):
                stack.append(child)
        if dropped:
            if trace is not None:
                trace.drop(dropped, lambda child: reason(child, page))
            lost = sum(child.letters for child in dropped)
            linked = lost if node.tag == "a" else sum(child.link_letters for child in dropped)
            changed.append((node, node.children, lost))
            _lose(node, lost, linked)
            gone = set(map(id, dropped))
            node.children = [child for child in node.children if id(child) not in gone]
    return changed


def _lose(node: Node | None, letters: int, linked: int) -> None:
    while node is not None and letters:
        node.letters -= letters
        node.link_letters -= linked
        if node.tag == "a":
            linked = letters
        node = node.parent


def _as_chrome(node: Node, page: int) -> Reason | None:
    tag = node.tag
    if tag in {"html", "body", "main"}:
        return None
    if tag in _DROPPED_TAGS or _is_hidden(node, page):
        return _by_tag(node) if _is_what_its_tag_says(node, page) else None
    special = _SPECIAL_TAGS.get(tag)
    if special is not None and special(node, page):
        return Reason(tag)
    if not node.attributes or (_MARKED.isdisjoint(node.attributes) and "aria-label" not in node.attributes):
        return None
    return Reason.ROLE if _has_dropped_role(node, page) else _by_name(node, page)


def _by_tag(node: Node) -> Reason:
    if node.tag not in _DROPPED_TAGS:
        return Reason.HIDDEN
    return Reason.NAVIGATION if node.tag == "nav" else Reason.TAG


def _is_what_its_tag_says(node: Node, page: int) -> bool:
    return _is_navigation(node, page) if node.tag == "nav" else not is_formula_script(node)


def _is_navigation(node: Node, page: int) -> bool:
    """Whether a `<nav>` is what it says. One that was never closed has swallowed the page."""
    if not node.link_letters and node.holds & _PARAGRAPH and not node.holds & _ITEM:
        return False
    return node.letters <= page / 2 or node.link_letters > node.letters * _ONLY_LINKS


def _certainly(node: Node, page: int) -> Reason | None:
    tag = node.tag
    attributes = node.attributes
    if len(attributes) == 1 and tag not in _SUSPECT_TAGS and "class" in attributes:
        # Most are.
        asks = _CLASS_OF_CONSENT[attributes["class"]] and tag not in _NEVER_CHROME and _is_beside_content(node, page)
        return Reason.CONSENT if asks else None
    hides = attributes and ("style" in attributes or "hidden" in attributes or "aria-hidden" in attributes)
    if tag in _DROPPED_TAGS or (hides and _is_hidden(node, page)):
        return _by_tag(node) if _is_what_its_tag_says(node, page) and _is_closed(node, page) else None
    if tag in _SPECIAL_TAGS and (tag in _IDLE or node.letters <= _TINY):  # noqa: SIM102 - so that most stop here
        if _SPECIAL_TAGS[tag](node, page) and _is_closed(node, page):
            return Reason(tag)
    if not attributes:
        return None
    classes = attributes.get("class")
    named_so = (classes and _CLASS_OF_CONSENT[classes]) or ("id" in attributes and _is_id_of_consent(attributes["id"]))
    if named_so and tag not in _NEVER_CHROME:
        return Reason.CONSENT if _is_beside_content(node, page) else None
    says = ("role" in attributes or "aria-label" in attributes) and _has_dropped_role(node, page)
    return Reason.ROLE if says and tag not in _NEVER_CHROME else None


def _is_closed(node: Node, page: int) -> bool:
    """Whether an element holds no more than what its tag is for: one that was never closed has swallowed the page."""
    if node.tag == "head":
        return True
    if node.letters <= page / 2:
        return node.tag not in _NEVER_CHROME
    return node.tag == "nav" and node.link_letters > node.letters * _ONLY_LINKS


def _is_class_of_consent(written: str) -> bool:
    written = written.lower()
    return any(map(written.__contains__, _CONSENT_STEMS)) and _CONSENT_CLASS.search(written) is not None


def _is_id_of_consent(written: str) -> bool:
    written = written.lower()
    return any(map(written.__contains__, _CONSENT_STEMS)) and _CONSENT_ID.search(written) is not None


_CLASS_OF_CONSENT: Final = Remembered(_is_class_of_consent)


def _is_beside_content(node: Node, page: int) -> bool:
    return node.letters <= page * 0.6 and not node.holds & H1


def _as_companion(node: Node, page: int) -> Reason | None:
    return Reason.COMPANION_NAME if _is_furniture(node, page, _COMPANION) else None


def _is_hidden(node: Node, page: int) -> bool:
    attributes = node.attributes
    if "style" not in attributes and "hidden" not in attributes and "aria-hidden" not in attributes:
        return False
    style = attributes.get("style", "").replace(" ", "").lower()
    hidden = "hidden" in attributes or "display:none" in style or "visibility:hidden" in style
    if not hidden and (attributes.get("aria-hidden") != "true" or node.tag == "img" or node.letters > _SMALL):
        # What is kept from a screen reader alone is seen: pictures of letters, or a page behind a dialogue.
        return False
    if node.letters > page / 2 or (node.tag == "div" and _STREAMED.fullmatch(node.get("id"))):
        return False
    unfolds = node.get("role") == "tabpanel" or bool(_UNFOLDS.search(node.names())) or "aria-labelledby" in attributes
    if node.holds & _CODE:
        return not unfolds
    fills_in = _CONTROLS & node.holds and node.letters <= _MOST_FORM_LETTERS
    return not (unfolds and node.link_letters <= node.letters * _ONLY_LINKS and not fills_in)


def _has_dropped_role(node: Node, page: int) -> bool:
    role = node.get("role").lower()
    if role == "navigation" or node.get("aria-label").lower() in {"breadcrumb", "breadcrumbs"}:
        return True
    return role in _DROPPED_ROLES and node.letters <= page / 2


def _by_name(node: Node, page: int) -> Reason | None:
    if _CLASS_OF_CONSENT[node.attributes.get("class", "")] or _is_id_of_consent(node.attributes.get("id", "")):
        return Reason.CONSENT if _is_beside_content(node, page) else None
    written = node.names()
    if _BREADCRUMBS.search(written) and node.tag not in HEADING_TAGS and not node.holds & H1:
        return Reason.BREADCRUMBS if node.letters < 2 * _SMALL else None
    return Reason.CHROME_NAME if _is_named_chrome(node, page, written) else None


def _is_named_chrome(node: Node, page: int, written: str) -> bool:
    if not _is_furniture(node, page, _FRAME):
        return False
    if node.get("role") == "note" or _is_tab_row(node, written):
        return False
    folds = "accordion" in written or node.tag == "details"
    if folds and node.link_letters <= node.letters * _ONLY_LINKS:
        return _is_furniture(node, page, _FRAME_OF_FOLDS)
    return True


def _is_tab_row(node: Node, written: str) -> bool:
    """Whether a menu is one of tabs, or a tab of one: they show parts of this page and lead to no other."""
    if node.get("role") == "tablist":
        return not node.holds & _PARAGRAPH
    if node.get("role") == "tab" or (node.parent is not None and node.parent.get("role") == "tablist"):
        return "nav" in node.words() and not node.holds & _PARAGRAPH
    if not _TABS.search(written):
        return False
    links = [link.get("href") for link in islice(node.iter(), _LARGEST_ROW) if link.tag == "a"]
    return bool(links) and all(not link or link.startswith("#") for link in links)


def _is_furniture(node: Node, page: int, named: Remembered[bool]) -> bool:
    """Whether an element is named so, and is also small or mostly links, and a minor part of the page."""
    attributes = node.attributes
    if not attributes or node.tag in _NEVER_FURNITURE or ("class" not in attributes and "id" not in attributes):
        return False
    letters = node.letters
    if letters > max(page * _MINOR_SHARE, _TINY) or node.holds & _NEVER_HELD:
        return False
    if letters > _SMALL and node.link_letters <= letters * _ONLY_LINKS:
        return False
    return named[attributes.get("class", "")] or named[attributes.get("id", "")]


def _is_framing_header(node: Node, page: int) -> bool:
    """Whether a `<header>` is the site's. One that heads a card or post stays: it names what follows."""
    if node.get("role") == "banner" or not HEADING_BITS & node.holds:
        return node.letters <= page / 2
    above = list(islice(node.ancestors(), _NEARBY))
    if node.holds & _NAV:
        # A page's own title keeps its breadcrumbs beside it, within what is the page's content.
        titled = node.holds & H1 and any(holder.tag in {"main", "article"} for holder in above)
        return not titled and node.letters <= page / 2
    if any(holder.tag in _CONTENT_HOLDERS for holder in above) or any(_CARD_WORDS & card.words() for card in above[:4]):
        return False
    return not node.holds & H1


def _is_framing_footer(node: Node, page: int) -> bool:
    in_quote = any(above.tag == "blockquote" for above in islice(node.ancestors(), _NEARBY))
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
    return node.parent is None or node.parent.tag not in HEADING_TAGS | {"dt", "summary"}


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
_SUSPECT_TAGS: Final = _DROPPED_TAGS.union(_SPECIAL_TAGS)
