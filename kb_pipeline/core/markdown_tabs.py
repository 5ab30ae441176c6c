"""Tabs: each panel is written under its tab's label, shown or not.

Marked up as WAI-ARIA says, as a row of labels before as many panels, or as links to the panels' ids.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.html_tree import Node, bits, names

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOSTLY: Final = 0.8
"""Share of a tab list's letters that are in its tabs."""
_MOST_TABS: Final = 50
_LONGEST_LABEL: Final = 100
"""Letters. What calls itself a tab and says more holds its panel, or describes it."""
_LARGEST_ROW: Final = 2_000
"""Elements with text that a row may have: rows stand in rows, and each looks at all within."""
_MOST_BESIDE: Final = 400
"""Elements and pieces of text around a row, or at the start of a panel: each looks at all of them."""
_TARGETS: Final = ("aria-controls", "data-bs-target", "data-target", "data-w-tab", "data-tab", "href")
_NAMED_BY: Final = ("id", "data-w-tab", "data-tab")
_NOT_IN_ROWS: Final = bits(names("h1 h2 h3 h4 h5 h6 p pre table section article blockquote dl"))
_NOT_IN_LABELS: Final = names("tab tablist tabpanel")
_ALIKE: Final = 2


class TabNames:
    """The labels of the tab lists passed so far."""

    def __init__(self) -> None:
        self._by_id: dict[str, str] = {}
        self._by_target: dict[str, str] = {}
        self._by_panel: dict[int, str] = {}
        self._in_order: deque[str] = deque()

    @property
    def waiting(self) -> bool:
        """Whether a panel without a role may come."""
        return bool(self._by_panel or self._by_target)

    def read(self, tab_list: Node) -> bool:
        """Read a tab list, and say whether it is nothing else: then it is written with its panels, not where it stands.

        Accordions call themselves tab lists too, and hold their panels.
        """
        tabs = _tabs_of(tab_list)
        if sum(tab.letters for tab in tabs) < tab_list.letters * _MOSTLY or not all(map(_is_label, tabs)):
            return False
        self._in_order.clear()
        labels = [name for tab in tabs if (name := tab.text())]
        self._in_order.extend(labels)
        self._by_id.update({tab.get("id"): tab.text() for tab in tabs if tab.get("id") and tab.letters})
        self._note_targets(tabs)
        panels = _panels_after(tab_list, len(labels))
        if panels and all(panel.get("role") != "tabpanel" for panel in panels):
            self._by_panel.update(zip(map(id, panels), labels, strict=False))
            self._in_order.clear()
        return True

    def read_row(self, row: Node) -> bool:
        """Read a row that has no role, as `read` does. What leads to other pages is no tab."""
        tabs = [] if _NOT_IN_ROWS & row.holds else _outermost(row)
        if not _ALIKE <= len(tabs) <= _MOST_TABS:
            return False
        if sum(tab.letters for tab in tabs if tab.tag != "a" or _is_within_page(tab)) < row.letters * _MOSTLY:
            return False
        if panels := _panels_after(row, len(tabs)):
            self._by_panel.update(zip(map(id, panels), (tab.text() for tab in tabs), strict=True))
            return True
        before = len(self._by_target)
        self._note_targets(tabs)
        return len(self._by_target) >= before + _ALIKE

    def name_of(self, panel: Node) -> str:
        """The label of a panel with text: the one it names, else the next in order; empty when there is none."""
        in_order = self._in_order.popleft() if self._in_order else ""
        named = self._by_id.get(panel.get("aria-labelledby")) or self._by_target.pop(panel.get("id"), "")
        return (named or in_order) if panel.letters else ""

    def name_of_part(self, node: Node) -> str:
        """The label of a block that is a panel though it does not say so; empty for all others."""
        name = self._by_panel.pop(id(node), "")
        if not node.attributes or node.get("role") == "tabpanel":
            return name
        for attribute in _NAMED_BY:
            name = name or self._by_target.pop(node.get(attribute), "")
        pieces = islice(node.pieces(), _MOST_BESIDE) if name else ()
        begins = next((piece.strip() for piece in pieces if piece.strip()), "")
        return "" if begins == name else name

    def _note_targets(self, tabs: Sequence[Node]) -> None:
        for tab in tabs:
            targets = (tab.get(name) for name in _TARGETS if name != "href" or tab.get(name).startswith("#"))
            if (target := next(filter(None, targets), "").removeprefix("#")) and (name := tab.text()):
                self._by_target.setdefault(target, name)


def _tabs_of(tab_list: Node) -> list[Node]:
    """The tabs with text in a list, none within another, and none of a list within the list: those are its own, and
    lists in lists are read once each."""
    found: list[Node] = []
    stack = _with_text(tab_list)
    while stack:
        node = stack.pop()
        role = node.attributes.get("role")
        if role == "tab":
            found.append(node)
        elif role != "tablist":
            stack += _with_text(node)
    return found


def _is_label(tab: Node) -> bool:
    """Whether a tab is a label, and holds neither its panel nor other tabs."""
    if tab.letters > _LONGEST_LABEL:
        return False
    stack = _with_text(tab)
    while stack:
        node = stack.pop()
        if node.attributes.get("role") in _NOT_IN_LABELS:
            return False
        stack += _with_text(node)
    return True


def _outermost(row: Node) -> list[Node]:
    """The links, buttons and labels with text in a row, none within another; none of what is too large for a row."""
    found: list[Node] = []
    stack = [row]
    for _ in range(_LARGEST_ROW):
        if not stack:
            return found
        node = stack.pop()
        if node.tag in {"a", "button", "label"}:
            found.append(node)
        elif len(node.children) > _LARGEST_ROW:
            break
        else:
            stack += _with_text(node)
    return []


def _with_text(node: Node) -> list[Node]:
    """The children that have text, the last one first."""
    return [child for child in reversed(node.children) if isinstance(child, Node) and child.letters]


def _is_within_page(link: Node) -> bool:
    return not link.get("href") or link.get("href").startswith(("#", "javascript:"))


def _panels_after(row: Node, count: int) -> list[Node]:
    """As many elements as there are tabs: those that follow the row, or all within the one that does."""
    if row.parent is None or len(row.parent.children) > _MOST_BESIDE or not _ALIKE <= count <= _MOST_TABS:
        return []
    beside = [child for child in row.parent.children if isinstance(child, Node)]
    following = beside[next(place for place, node in enumerate(beside) if node is row) + 1 :]
    if len(following) == count:
        return following
    within = [child for child in following[0].children if isinstance(child, Node)] if following else []
    return within if len(within) == count else []
