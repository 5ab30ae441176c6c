"""The settings of a site in a whole refresh: what is behind a password is found and fetched, and the password stays out
of all that is written."""

import json
import logging

import psycopg
import pytest
import structlog
from psycopg import sql
from pydantic import SecretStr

from kb_pipeline.errors import ConfigError
from kb_pipeline.stages.discover import discover
from kb_pipeline.stages.fetch import fetch_pages
from kb_pipeline_tests.sites.replies import Reply
from kb_pipeline_tests.stages.whole_site import NAMES, SITE, Whole

PASSWORD = "geheim-7c1"
AUTHORIZATION = "Basic cmVhZGVyOmdlaGVpbS03YzE="


def with_config(settings, entries):
    text = entries if isinstance(entries, str) else json.dumps(entries)
    return settings.model_copy(update={"site_config": SecretStr(text)})


def behind_a_password(server):
    """Every page of the server, robots.txt and sitemaps too."""

    def locked(answer):
        def reply(request):
            if request.headers.get("authorization") == AUTHORIZATION:
                return answer
            return Reply("who are you?", status=401, headers={"WWW-Authenticate": "Basic"})

        return reply

    server.pages.update({path: locked(answer) for path, answer in server.pages.items()})


def everything_written(postgres_url):
    """All rows of all tables of the control plane, as text."""
    with psycopg.connect(postgres_url) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        rows = [
            connection.execute(sql.SQL("SELECT t::text FROM {} t").format(sql.Identifier(name))).fetchall()
            for (name,) in tables
        ]
    return str(rows)


def test_a_site_behind_a_password_is_found_fetched_and_its_password_written_nowhere(
    whole, settings, postgres_url, caplog
):
    caplog.set_level(logging.DEBUG)
    behind_a_password(whole.server)
    host = f"{whole.server.address}:{whole.server.port}"
    whole.settings = with_config(settings, {host: {"basic_auth": f"reader:{PASSWORD}", "headers": {"X-Key": PASSWORD}}})
    with structlog.testing.capture_logs() as lines:
        whole.refresh()
    pages, live = whole.held()
    assert set(NAMES) <= set(live)
    assert {request.status for request in whole.server.requests if request.path == "/robots.txt"} == {404}
    for text in (everything_written(postgres_url), str(lines), caplog.text, str(pages)):
        assert PASSWORD not in text
        assert AUTHORIZATION not in text


@pytest.mark.parametrize("step", [discover, fetch_pages])
def test_a_configuration_that_cannot_be_read_stops_a_run_before_its_first_request(whole: Whole, settings, step):
    if step is fetch_pages:
        discover(whole.stores, settings, SITE)
    whole.server.forget()
    broken = with_config(settings, {"a.example": {"basic_auth": PASSWORD}})
    with pytest.raises(ConfigError, match=r"'a\.example', basic_auth: takes") as caught:
        step(whole.stores, broken, SITE)
    assert PASSWORD not in str(caught.value)
    assert whole.server.requests == []
