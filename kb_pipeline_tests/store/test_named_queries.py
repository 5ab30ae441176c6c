"""SQL and Python agree: every query is used, every name exists, and each statement is valid in the real schema."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import psycopg
import pytest

import kb_pipeline
from kb_pipeline.errors import StoreError
from kb_pipeline.store.named_queries import all_queries, named, parse_queries, sql_folder

PACKAGE = Path(kb_pipeline.__file__).parent
NOT_PREPARABLE = {"database_create", "database_drop"}
"""`{name}` in them is an identifier, put in by psycopg.sql."""


def nodes(files):
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            yield file, node


def names_used():
    for file, node in nodes(PACKAGE.rglob("*.py")):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "named":
            argument = node.args[0]
            assert isinstance(argument, ast.Constant), f"{file}: named() takes a literal"
            yield argument.value


def test_every_query_is_used_and_every_name_that_is_used_exists():
    assert set(names_used()) == set(all_queries())


def test_no_sql_is_written_in_python():
    statement = re.compile(
        r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|WITH|TRUNCATE)\s+[^.]*\b"
        r"(FROM|INTO|SET|TABLE|AS|DATABASE|INDEX)\b",
        re.DOTALL,
    )
    for folder in ("store", "stages", "serve", "orchestration", "cli"):
        for file, node in nodes((PACKAGE / folder).rglob("*.py")):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert not statement.match(node.value), f"{file}:{node.lineno}"


@pytest.mark.parametrize("name", sorted(all_queries().keys() - NOT_PREPARABLE))
def test_each_query_prepares_against_the_real_schema(name, migrated_connection):
    numbers = {}
    text = all_queries()[name].sql.decode()
    sql = re.sub(r"%\((\w+)\)s", lambda match: f"${numbers.setdefault(match[1], len(numbers) + 1)}", text)
    statement = f"PREPARE checked AS {sql.replace('%%', '%')}"
    if text.startswith("CREATE"):
        migrated_connection.execute(text)
        return
    migrated_connection.execute(statement)
    migrated_connection.execute("DEALLOCATE checked")


@pytest.fixture(scope="module")
def migrated_connection(module_database):
    with psycopg.connect(module_database.address.conninfo, autocommit=True) as connection:
        yield connection


def test_a_missing_name_stops_the_import_that_asks_for_it():
    with pytest.raises(StoreError, match="no query 'pages_that_nobody_wrote'"):
        named("pages_that_nobody_wrote")


def test_files_that_cannot_be_read_by_name_are_refused():
    with pytest.raises(StoreError, match="SQL before the first"):
        parse_queries("SELECT 1;\n-- name: x\nSELECT 2;", "f.sql")
    with pytest.raises(StoreError, match="named twice"):
        parse_queries("-- name: x\nSELECT 1;\n-- name: x\nSELECT 2;", "f.sql")
    with pytest.raises(StoreError, match="is empty"):
        parse_queries("-- name: x\n-- only a remark\n", "f.sql")


def test_remarks_may_hold_per_cent_signs_and_queries_end_without_a_semicolon():
    found = parse_queries("-- 100 % of them\n-- name: x\n-- 5 % here\nSELECT 1\n;\n", "f.sql")
    assert found["x"].sql == b"SELECT 1\n"


def test_the_sql_of_the_checkout_is_found():
    assert (sql_folder() / "migrations" / "0001_control_plane.sql").is_file()
