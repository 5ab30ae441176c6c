"""What the environment may say, and what is refused with the name of the setting."""

from __future__ import annotations

from pathlib import Path

import pytest

from kb_pipeline.errors import ConfigError
from kb_pipeline.settings import load_settings


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("KB_REQUEST_GAP_SECONDS", "soon"),
        ("KB_REQUEST_GAP_SECONDS", "nan"),
        ("KB_RETRY_DELAYS_SECONDS", "30,-1"),
        ("KB_RETRY_DELAYS_SECONDS", "30,inf"),
        ("KB_RETRY_AFTER_REFRESH_MINUTES", "inf"),
        ("KB_BROWSER_MINUTES", "inf"),
        ("KB_TIERS", "plain_http,vision,plain_http"),
        ("KB_APP_NAME", "My App"),
        ("KB_EMBEDDING_PRECISION", "double"),
    ],
)
def test_a_value_that_a_setting_does_not_take_is_refused_by_name(monkeypatch, variable, value):
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigError, match=variable):
        load_settings()


def test_every_process_means_the_same_folders_wherever_it_was_started(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KB_DATA_DIR", "here")
    assert load_settings().data_dir == tmp_path / "here"
    assert load_settings().lance_uri == str(tmp_path / "here" / "lance")
    monkeypatch.setenv("KB_DATA_DIR", "~/kb")
    assert load_settings().data_dir == Path.home() / "kb"
    monkeypatch.setenv("KB_DATA_URI", "~/lance")
    assert load_settings().lance_uri == str(Path.home() / "lance")
    monkeypatch.setenv("KB_DATA_URI", "s3://bucket/lance")
    assert load_settings().lance_uri == "s3://bucket/lance"


def test_lists_are_separated_by_commas(monkeypatch):
    monkeypatch.setenv("KB_ALLOW_PRIVATE", " 127.0.0.1:8319, 10.0.0.0/8 ,")
    monkeypatch.setenv("KB_RETRY_DELAYS_SECONDS", "1, 2.5")
    settings = load_settings()
    assert settings.allow_private == ("127.0.0.1:8319", "10.0.0.0/8")
    assert settings.retry_delays_seconds == (1.0, 2.5)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("WEBSCRAPER_PROXY_MODE", "http://u:SECRETPW@proxy.example:8080"),
        ("CLOUDFLARE_API_URL", "ftp://user:SECRETPW@gateway.example/x"),
    ],
)
def test_a_password_that_ended_up_in_another_variable_is_not_shown(monkeypatch, variable, value):
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigError, match=variable) as refusal:
        load_settings()
    assert "SECRETPW" not in str(refusal.value)
