"""Which id a section is cited by: how much is looked at for it."""

from __future__ import annotations

from kb_pipeline.core.html_tree import Node
from kb_pipeline.core.markdown_anchors import SectionAnchors


def test_the_elements_around_a_heading_with_a_numbered_id_are_asked_to_a_limit(monkeypatch):
    asked = []
    ancestors = Node.ancestors

    def counted(node):
        for above in ancestors(node):
            asked.append(above)
            yield above

    around = Node("section", {"id": "install"})
    for number in range(300):
        around = Node("div", {"id": f"id-1.{number}"}, around)
    monkeypatch.setattr(Node, "ancestors", counted)

    assert SectionAnchors().of(Node("h2", {"id": "id-1.2"}, around), 0) == "id-1.2"
    assert len(asked) < 100
