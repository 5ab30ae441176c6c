from __future__ import annotations

from pathlib import Path

import pytest

from kb_pipeline.errors import InvalidSiteId, SiteBusy
from kb_pipeline.stages.remove import remove_site
from kb_pipeline_tests.stages.written_site import WrittenSite, prose


def test_a_removed_site_leaves_no_data_no_rows_and_no_folder_and_no_other_site_is_touched(written, stores, settings):
    other = WrittenSite(stores, settings, "other")
    for site in (written, other):
        site.write("guide", prose("harbour"))
        site.refresh()
    assert Path(written.store.uri).is_dir()
    assert remove_site(stores, settings, "docs").counts == {"sites_removed": 1}
    assert not Path(written.store.uri).exists()
    assert stores.sites.find("docs") is None
    assert stores.publications.live("docs") is None
    assert other.publish().publication.rows == 1


@pytest.mark.usefixtures("written")
def test_removing_is_repeatable(stores, settings):
    remove_site(stores, settings, "docs")
    assert remove_site(stores, settings, "docs").counts == {"sites_removed": 0}
    assert remove_site(stores, settings, "never-was").counts == {"sites_removed": 0}


@pytest.mark.usefixtures("written")
def test_a_site_that_is_being_written_is_not_removed(stores, settings):
    with stores.site_lock("docs", "a refresh"), pytest.raises(SiteBusy, match="a refresh"):
        remove_site(stores, settings, "docs")
    assert stores.sites.find("docs") is not None


def test_an_id_that_is_no_slug_reaches_no_folder(stores, settings):
    with pytest.raises(InvalidSiteId):
        remove_site(stores, settings, "../../etc")
