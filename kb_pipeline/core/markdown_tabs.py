"""Tabs: each panel is written under its tab's label, shown or not.

Marked up as WAI-ARIA says, as a row of labels before as many panels, or as links to the panels' ids.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.html_tree import Node, bits, names

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOSTLY: Final = 0.8
"""Share of a tab list's letters that are in its tabs."""
_MOST_TABS: Final = 50
_LONGEST_LABEL: Final = 100
"""Letters. What calls itself a tab and says more holds its panel, or describes it."""
_MOST_BESIDE: Final = 400
"""Elements and pieces of text around a row: each row looks at all of them."""
_TARGETS: Final = ("aria-controls", "data-bs-target", "data-target", "data-w-tab", "data-tab", "href")
_NAMED_BY: Final = ("id", "data-w-tab", "data-tab")
_NOT_IN_ROWS: Final = bits(names("h1 h2 h3 h4 h5 h6 p pre table section article blockquote dl"))
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
        tabs = [tab for tab in tab_list.iter() if tab.attributes.get("role") == "tab"]
        if sum(tab.letters for tab in tabs) < tab_list.letters * _MOSTLY or any(map(_is_no_label, tabs)):
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
        tabs = _outermost(row)
        if not _ALIKE <= len(tabs) <= _MOST_TABS or _NOT_IN_ROWS & row.holds:
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
        begins = next((piece.strip() for piece in node.pieces() if piece.strip()), "") if name else ""
        return "" if begins == name else name

    def _note_targets(self, tabs: Sequence[Node]) -> None:
        for tab in tabs:
            targets = (tab.get(name) for name in _TARGETS if name != "href" or tab.get(name).startswith("#"))
            if (target := next(filter(None, targets), "").removeprefix("#")) and (name := tab.text()):
                self._by_target.setdefault(target, name)


def _is_no_label(tab: Node) -> bool:
    return tab.letters > _LONGEST_LABEL or any(node.attributes.get("role") == "tabpanel" for node in tab.iter())


def _outermost(row: Node) -> list[Node]:
    """The links, buttons and labels with text in a row, none within another."""
    found: list[Node] = []
    stack = [row]
    while stack:
        node = stack.pop()
        if node.tag in {"a", "button", "label"} and node.letters:
            found.append(node)
        else:
            stack += [child for child in reversed(node.children) if isinstance(child, Node)]
    return found


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
