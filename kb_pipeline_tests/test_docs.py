"""The documents say what the program does: each is held against the program itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import psycopg
import pytest

from kb_pipeline.cli.exit_codes import ExitCode
from kb_pipeline.cli.main import COMMANDS
from kb_pipeline.cli.settings_page import settings_page
from kb_pipeline.core.reasons import Addition, NotWeighed, Reason, Way
from kb_pipeline.model import Excerpt, Hit, Outcome, PageStatus, SiteOptions
from kb_pipeline.settings import PROJECT_ROOT, Settings
from kb_pipeline.store.schemas import CHUNKS_TABLE, SNAPSHOTS_TABLE, TEXTS_TABLE, vectors_table

if TYPE_CHECKING:
    from pathlib import Path

DOCS = PROJECT_ROOT / "docs"
PAGES = [PROJECT_ROOT / "README.md", PROJECT_ROOT / "CHANGELOG.md", *sorted(DOCS.glob("*.md"))]


def documented_columns() -> dict[str, set[str]]:
    """Columns by table, of docs/tables.md."""
    sections = re.split(r"^### (\S+)$", (DOCS / "tables.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {
        table: set(re.findall(r"^\| (\w+) \|", text, flags=re.MULTILINE)) - {"column"}
        for table, text in zip(sections[1::2], sections[2::2], strict=True)
    }


def test_the_page_of_settings_is_what_the_settings_say():
    assert (DOCS / "settings.md").read_text(encoding="utf-8") == settings_page(), "run `make docs`"


def test_every_setting_says_what_it_is_for():
    assert all(field.description for field in Settings.model_fields.values())


def test_every_column_of_the_control_plane_is_documented_and_no_other(database):
    columns = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema()"
    stored: dict[str, set[str]] = {}
    with psycopg.connect(database.address.conninfo) as connection:
        for table, column in connection.execute(columns):
            stored.setdefault(table, set()).add(column)
    documented = documented_columns()
    for lance in ("snapshots", "texts", "chunks", "vectors"):
        documented.pop(lance)
    assert documented == stored


def test_every_column_of_the_data_plane_is_documented_and_no_other():
    documented = documented_columns()
    for table in (SNAPSHOTS_TABLE, TEXTS_TABLE, CHUNKS_TABLE):
        assert documented[table.name] == set(table.schema.names)
    vectors = set(vectors_table("model", 384).schema.names)
    assert documented["vectors"] == vectors - set(CHUNKS_TABLE.schema.names)


def test_every_outcome_and_state_is_documented():
    text = (DOCS / "outcomes.md").read_text(encoding="utf-8")
    assert all(f"**{outcome.value}**" in text for outcome in Outcome)
    assert all(f"{state.value}" in text for state in PageStatus)


def test_every_word_that_the_extraction_gives_for_a_reason_is_documented():
    text = (DOCS / "extraction.md").read_text(encoding="utf-8")
    words = [word.value for kind in (Reason, Way, NotWeighed, Addition) for word in kind]
    assert [word for word in words if f"`{word}`" not in text] == []


def test_every_field_of_a_search_result_is_documented():
    text = (DOCS / "retrieval.md").read_text(encoding="utf-8")
    section = text.partition("## What `kb search --json` gives")[2].partition("\n## ")[0]
    assert [name for kind in (Hit, Excerpt) for name in kind.__dataclass_fields__ if f"`{name}`" not in section] == []


def test_every_option_of_a_site_is_documented():
    text = (DOCS / "operating.md").read_text(encoding="utf-8")
    assert [name for name in SiteOptions.__dataclass_fields__ if f"| `{name}` |" not in text] == []


def test_every_command_and_exit_code_is_documented():
    text = (DOCS / "operating.md").read_text(encoding="utf-8")
    assert [command for command in COMMANDS if f"`kb {command}" not in text] == []
    assert [code for code in ExitCode if f"| {int(code)} |" not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_document_leads_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), target
        if anchor:
            assert anchor in anchors_of(linked), target


def anchors_of(page: Path) -> set[str]:
    """Anchors of the headings, as they are made on code hosts."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_document_names_a_path_of_somebodys_machine(page):
    assert not re.search(r"(?<![\w.])/(work|farm|root|home|Users)/", page.read_text(encoding="utf-8"))
