"""Tabs, as WAI-ARIA marks them: each panel is written under its tab's label, shown or not."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kb_pipeline.core.html_tree import Node

_MOSTLY: Final = 0.8
"""Share of a tab list's letters that are in its tabs."""


class TabNames:
    """The labels of the tab lists passed so far."""

    def __init__(self) -> None:
        self._by_id: dict[str, str] = {}
        self._in_order: deque[str] = deque()

    def read(self, tab_list: Node) -> bool:
        """Read a tab list, and say whether it is nothing else: then it is written with its panels, not where it stands.

        Accordions call themselves tab lists too, and hold their panels.
        """
        tabs = [tab for tab in tab_list.iter() if tab.attributes.get("role") == "tab"]
        if sum(tab.letters for tab in tabs) < tab_list.letters * _MOSTLY:
            return False
        self._in_order.clear()
        for tab in tabs:
            if name := tab.text():
                self._in_order.append(name)
                if tab.get("id"):
                    self._by_id[tab.get("id")] = name
        return True

    def name_of(self, panel: Node) -> str:
        """The label of a panel with text: the one it names, else the next in order; empty when there is none."""
        in_order = self._in_order.popleft() if self._in_order else ""
        return (self._by_id.get(panel.get("aria-labelledby")) or in_order) if panel.letters else ""
