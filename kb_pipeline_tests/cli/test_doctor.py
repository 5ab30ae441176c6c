"""`kb doctor` says of everything that is needed whether it is there, and what to do when it is not."""

from __future__ import annotations

import pytest

from kb_pipeline.cli.exit_codes import ExitCode


@pytest.fixture
def examined(kb):
    """The findings by name, and the answer."""

    def examine():
        answer = kb("doctor", "--json")
        return answer, {finding["name"]: finding for finding in answer.json["findings"]}

    return examine


def test_a_healthy_installation_is_said_to_be_so(kb, examined):
    answer, findings = examined()
    assert answer.code == ExitCode.OK, answer.out
    assert answer.json["healthy"]
    assert {
        "settings",
        "proxy and site settings",
        "data directory",
        "PostgreSQL",
        "Dagster's database",
        "Lance",
        "model",
        "Chromium",
        "Cloudflare",
        "OCR",
        "tiers",
    } == findings.keys()
    assert "schema version" in findings["PostgreSQL"]["found"]
    assert "Everything that is needed is there." in kb("doctor").out


def test_a_variable_that_is_no_setting_is_said_with_what_may_be_meant(examined, environment):
    environment.setenv("KB_ALOW_PRIVATE", "127.0.0.1")
    answer, findings = examined()
    assert answer.code == ExitCode.OK
    assert findings["settings"]["verdict"] == "optional"
    assert "KB_ALOW_PRIVATE (was KB_ALLOW_PRIVATE meant?)" in findings["settings"]["found"]


def test_the_proxy_and_the_settings_of_sites_are_told_without_their_secrets(examined, environment):
    environment.setenv("WEBSCRAPER_PROXY", "http://me:geheim@proxy.example:3128")
    environment.setenv("WEBSCRAPER_PROXY_MODE", "fallback")
    environment.setenv("WEB_SCRAPER_SITE_CONFIG", '{"a.example": {"basic_auth": "me:geheim", "lokale": 1}}')
    _, findings = examined()
    assert findings["proxy and site settings"]["found"] == (
        "proxy proxy.example:3128, after trouble; 1 entries of WEB_SCRAPER_SITE_CONFIG, which has fields that are not"
        " known: lokale"
    )


@pytest.mark.parametrize(
    ("variable", "value"),
    [("WEBSCRAPER_PROXY", "me:geheim@h"), ("WEB_SCRAPER_SITE_CONFIG", '{"a.example": {"basic_auth": "geheim"}}')],
)
def test_a_secret_setting_that_cannot_be_read_is_named_and_not_shown(examined, environment, variable, value):
    environment.setenv(variable, value)
    _, findings = examined()
    assert findings["settings"]["verdict"] == "bad"
    assert variable in findings["settings"]["found"]
    assert "geheim" not in str(findings)


def test_a_server_that_is_down_does_not_keep_the_rest_from_being_checked(examined, environment):
    environment.setenv("KB_POSTGRES_URL", "postgresql://127.0.0.1:1/kb")
    answer, findings = examined()
    assert answer.code == ExitCode.REFUSED
    assert findings["PostgreSQL"]["verdict"] == "bad"
    assert "KB_POSTGRES_URL" in findings["PostgreSQL"]["cure"]
    assert findings["model"]["verdict"] == "good"


def test_a_model_that_is_not_there_is_said_with_what_to_do(examined, environment, tmp_path):
    environment.setenv("KB_EMBEDDING_MODEL", str(tmp_path / "nothing"))
    answer, findings = examined()
    assert answer.code == ExitCode.REFUSED
    assert findings["model"]["verdict"] == "bad"
    assert "KB_EMBEDDING_MODEL" in findings["model"]["cure"]


def test_a_data_directory_that_is_a_file_is_said_so(examined, environment, tmp_path):
    (tmp_path / "file").write_text("")
    environment.setenv("KB_DATA_DIR", str(tmp_path / "file"))
    answer, findings = examined()
    assert answer.code == ExitCode.REFUSED
    assert "KB_DATA_DIR" in findings["data directory"]["found"]


def test_a_chromium_that_is_no_program_is_said_so_and_none_at_all_is_no_fault(examined, environment):
    environment.setenv("KB_CHROMIUM", "/nowhere/chromium")
    answer, findings = examined()
    assert findings["Chromium"]["verdict"] == "bad"
    assert answer.code == ExitCode.REFUSED
    environment.setenv("KB_CHROMIUM", "")
    environment.setenv("PATH", "")
    answer, findings = examined()
    assert findings["Chromium"]["verdict"] == "optional"
    assert answer.code == ExitCode.OK


def test_wrong_settings_are_the_first_and_only_finding(examined, environment):
    environment.setenv("KB_MAX_PDF_BYTES", "1")
    answer, findings = examined()
    assert answer.code == ExitCode.REFUSED
    assert list(findings) == ["settings"]
    assert "KB_MAX_PDF_BYTES" in findings["settings"]["found"]


def test_the_chain_that_this_installation_has_is_said(examined, environment):
    environment.setenv("KB_TIERS", "")
    environment.setenv("CLOUDFLARE_ACCOUNT_ID", "0a1b2c3d4e5f")
    environment.setenv("CLOUDFLARE_API_TOKEN", "a-token-to-be-kept")
    environment.setenv("CLOUDFLARE_BROWSER_DAILY_LIMIT", "1500")
    answer, findings = examined()
    assert findings["tiers"]["found"] == "the chain is: plain_http, browser_markdown, browser_content, vision"
    assert findings["Cloudflare"]["found"].startswith("account 0a1b2c…; at most 1,500 calls of Browser Rendering a day")
    assert "a-token-to-be-kept" not in answer.out + answer.err


def test_half_an_account_and_a_tier_that_is_not_there_are_to_be_mended(examined, environment):
    environment.setenv("CLOUDFLARE_ACCOUNT_ID", "0a1b2c3d4e5f")
    environment.setenv("KB_TIERS", "plain_http,browser_markdown")
    answer, findings = examined()
    assert answer.code == ExitCode.REFUSED
    assert (findings["Cloudflare"]["verdict"], findings["Cloudflare"]["found"]) == (
        "bad",
        "CLOUDFLARE_API_TOKEN is not set",
    )
    assert findings["tiers"]["verdict"] == "bad"
    assert "KB_TIERS names browser_markdown" in findings["tiers"]["found"]


def test_a_chain_of_one_tier_says_what_it_does_not_read(examined, environment):
    environment.setenv("KB_TIERS", "")
    environment.setenv("PATH", "")
    answer, findings = examined()
    assert (answer.code, findings["tiers"]["verdict"]) == (ExitCode.OK, "optional")
    assert findings["tiers"]["found"] == "the chain is: plain_http; pages that scripts write are not read"
