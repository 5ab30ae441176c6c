from __future__ import annotations

import pytest

from kb_pipeline.errors import ConfigError, InvalidAddress, InvalidSiteId, SiteNotFound
from kb_pipeline.model import SiteOptions, SourceType
from kb_pipeline.stages.register import change_options, register


def test_a_site_is_registered_under_the_address_that_will_be_requested(stores, settings):
    site = register(stores, settings, "docs", " HTTP://127.0.0.1:8000/a/../b#top ", SourceType.URL, tenant="acme")
    assert site.url == "http://127.0.0.1:8000/b"
    assert (site.source_type, site.tenant) == (SourceType.URL, "acme")


@pytest.mark.parametrize("site_id", ["", "Docs", "a,b", "a/b", "-a", "a" * 64, "ä"])
def test_an_id_that_is_no_slug_is_refused(stores, settings, site_id):
    with pytest.raises(InvalidSiteId, match="is not a slug"):
        register(stores, settings, site_id, "http://127.0.0.1/")


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("example.org/docs", "https://example.org/docs"),
        ("ftp://example.org/", "no http"),
        ("", "https://example.org"),
        ("http://10.0.0.1/", "KB_ALLOW_PRIVATE"),
        ("http://169.254.169.254/latest", "not a public address"),
        ("http://localhost./", "cannot be a site"),
        ("http://no-such-host.invalid/", "no-such-host.invalid"),
    ],
)
def test_an_address_that_cannot_be_a_site_is_refused_and_says_why(stores, settings, url, says):
    strict = settings.model_copy(update={"allow_private": ()})
    with pytest.raises(InvalidAddress) as refused:
        register(stores, strict, "docs", url)
    assert says in str(refused.value)
    assert stores.sites.all() == []


@pytest.mark.parametrize(
    "url", ["http://10.0.0.1:6379/", "http://user:secret@10.0.0.1/", "http://no-such-host.invalid/"]
)
def test_only_what_the_operator_could_admit_names_the_setting_that_admits_it(stores, settings, url):
    with pytest.raises(InvalidAddress) as refused:
        register(stores, settings.model_copy(update={"allow_private": ()}), "docs", url)
    assert "KB_ALLOW_PRIVATE" not in str(refused.value)


def test_a_taken_id_and_a_taken_address_are_refused(stores, settings):
    register(stores, settings, "docs", "http://127.0.0.1:8000/")
    with pytest.raises(ConfigError, match="already registered"):
        register(stores, settings, "docs", "http://127.0.0.1:8001/")
    with pytest.raises(ConfigError, match="as site 'docs'"):
        register(stores, settings, "other", "http://127.0.0.1:8000/?utm_source=x")
    assert register(stores, settings, "another", "http://127.0.0.1:8000/", tenant="acme").tenant == "acme"


@pytest.mark.parametrize(
    "options",
    [
        SiteOptions(max_pages=0),
        SiteOptions(max_depth=-1),
        SiteOptions(removal_limit_share=1.5),
        SiteOptions(refresh_interval_hours=0),
        SiteOptions(refresh_interval_hours=float("inf")),
        SiteOptions(time_limit_minutes=0),
        SiteOptions(request_gap_seconds=float("nan")),
        SiteOptions(include=("",)),
    ],
)
def test_options_that_make_no_sense_are_refused_by_name(stores, settings, options):
    with pytest.raises(ConfigError, match=r"max_|removal_|refresh_|request_|time_limit|include"):
        register(stores, settings, "docs", "http://127.0.0.1/", options=options)


def test_options_can_be_changed_later(stores, settings):
    register(stores, settings, "docs", "http://127.0.0.1/")
    assert change_options(stores, "docs", SiteOptions(max_pages=7)).options.max_pages == 7
    with pytest.raises(SiteNotFound):
        change_options(stores, "nobody", SiteOptions())
