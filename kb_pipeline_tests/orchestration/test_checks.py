"""Checks that a site passes as it is, and fails once what they look at is damaged."""

import dagster as dg
import pytest

from kb_pipeline.core.fingerprints import page_id
from kb_pipeline.core.urls import url_key
from kb_pipeline.definitions import build_definitions
from kb_pipeline.model import SiteOptions
from kb_pipeline.store.frontier import Frontier
from kb_pipeline.store.lance import in_pages, read_pages, read_rows
from kb_pipeline.store.lance_indexes import MOST_FRAGMENTS
from kb_pipeline.store.schemas import TEXTS
from kb_pipeline_tests.embed.hash_embedder import HashEmbedder
from kb_pipeline_tests.sites.replies import page, prose, sitemap

SITE = "docs"
VECTORS = "vectors-hash-64-pieces"


class CheckedSite:
    """A site whose checks run by themselves."""

    def __init__(self, stores, settings, instance, site):
        self.stores, self.settings, self.instance, self.site = stores, settings, instance, site
        self.embedder = HashEmbedder()

    def id(self, path):
        return page_id(url_key(self.site.url(path)))

    def table(self, name=VECTORS):
        return self.stores.site(SITE).table(name)

    def run(self, job):
        self.instance.add_dynamic_partitions("sites", [SITE])
        return self._run(self._job(job))

    def check(self, asset, name):
        """The check's verdict on what is stored now. No asset is made again."""
        key = dg.AssetCheckKey(dg.AssetKey(asset), name)
        alone = self._job("refresh").get_subset(asset_selection=set(), asset_check_selection={key})
        [verdict] = self._run(alone).get_asset_check_evaluations()
        return verdict

    def _job(self, name):
        return build_definitions(self.settings, lambda _settings: self.embedder).resolve_job_def(name)

    def _run(self, job):
        return job.execute_in_process(partition_key=SITE, instance=self.instance, raise_on_error=False)


@pytest.fixture
def unpublished(stores, settings, instance, site, registered):
    registered(auto_approve_pages=10)
    return CheckedSite(stores, settings, instance, site)


@pytest.fixture
def checked(unpublished):
    assert unpublished.run("refresh").success
    return unpublished


def found(verdict):
    """What a verdict comes to: passed, or how severe it is, and what it says."""
    return ("passed" if verdict.passed else verdict.severity.value), verdict.description


def removed_pages_are_gone(checked):
    return found(checked.check("embeddings", "removed_pages_are_gone"))


def test_vectors_of_a_removed_page_are_an_error_that_names_it(checked):
    assert removed_pages_are_gone(checked) == ("passed", "7 chunks of 7 pages, as the ledger says")
    Frontier(checked.stores.database, SITE, 1).remove([checked.id("/birds")])
    verdict = checked.check("embeddings", "removed_pages_are_gone")
    assert found(verdict)[0] == "ERROR"
    assert "1 removed pages still have vectors" in verdict.description
    assert checked.site.url("/birds") in verdict.metadata["pages"].value


def test_a_chunk_that_is_there_twice_is_an_error_and_so_is_one_that_is_missing(checked):
    checked.table().add(read_pages(checked.table(), [checked.id("/birds")]))
    severity, says = removed_pages_are_gone(checked)
    assert severity == "ERROR"
    assert "1 pages have a chunk twice" in says
    checked.table().delete(in_pages([checked.id("/birds")]))
    assert removed_pages_are_gone(checked) == ("ERROR", "6 chunks of 6 pages, not 7 of 7")


def test_one_page_that_the_model_refused_excuses_its_own_vectors_and_no_others(unpublished):
    unpublished.embedder = HashEmbedder(refuse="birds")
    assert unpublished.run("refresh").success
    says = "6 chunks of 6 pages, not 7 of 7; 1 pages could not be embedded"
    assert removed_pages_are_gone(unpublished) == ("WARN", says)
    unpublished.table().delete(in_pages([unpublished.id(path) for path in ("/clouds", "/dunes")]))
    says = "4 chunks of 4 pages, not 7 of 7; 1 pages could not be embedded, which does not explain it"
    assert removed_pages_are_gone(unpublished) == ("ERROR", says)


def test_a_page_that_the_model_refused_keeps_the_vectors_it_had_with_a_warning(checked):
    checked.site.pages["/birds"] = page("Birds", prose("zebras", 60))
    checked.embedder = HashEmbedder(refuse="zebras")
    assert checked.run("refresh").success
    assert read_pages(checked.table(), [checked.id("/birds")]).num_rows == 1
    severity, says = removed_pages_are_gone(checked)
    assert severity == "WARN"
    assert "chunks of 7 pages, not" in says


class SameForAll(HashEmbedder):
    """A model to which all texts are alike: only words tell them apart."""

    def _vector(self, _text):
        return super()._vector("")


NAMES = ("apples", "birds", "clouds", "dunes", "elms", "foxes")


def golden_questions_answered(checked):
    return checked.check("embeddings", "golden_questions_answered")


def test_golden_questions_are_asked_as_users_ask_before_anything_is_live(unpublished):
    questions = tuple((f"What is said of {name}?", f"/{name}") for name in NAMES)
    options = SiteOptions(auto_approve_pages=10, golden_questions=questions, golden_blocks=True)
    unpublished.stores.sites.set_options(SITE, options)
    unpublished.embedder = SameForAll()
    assert unpublished.run("refresh").success
    verdict = golden_questions_answered(unpublished)
    assert found(verdict) == ("passed", "6 of 6 questions find their page in the first 5 results")
    assert all(f"| /{name} | 1 |" in verdict.metadata["pages"].value for name in NAMES)


def test_a_golden_page_whose_text_stands_at_another_address_too_is_found(unpublished):
    served = unpublished.site
    served.pages["/fowl"] = served.pages["/birds"]
    served.pages["/sitemap.xml"] = sitemap(*(served.url(f"/{name}") for name in (*NAMES, "fowl")))
    questions = (("birds", "/birds"), ("birds", "/fowl"))
    unpublished.stores.sites.set_options(SITE, SiteOptions(auto_approve_pages=10, golden_questions=questions))
    assert unpublished.run("refresh").success
    says = "2 of 2 questions find their page in the first 5 results"
    assert found(golden_questions_answered(unpublished)) == ("passed", says)


def no_error_pages(checked):
    return found(checked.check("extracted_text", "no_error_pages"))


def becomes(checked, path, state):
    checked.table(TEXTS).update(where=in_pages([checked.id(path)]), values={"page_state": state})


def test_a_gate_that_was_fetched_as_content_is_an_error_that_names_it(checked):
    assert no_error_pages(checked) == ("passed", "none of 7 texts is an error page")
    becomes(checked, "/birds", "login_wall")
    verdict = checked.check("extracted_text", "no_error_pages")
    assert found(verdict) == ("ERROR", "1 of 7 texts are error pages or gates")
    assert checked.site.url("/birds") in verdict.metadata["pages"].value


def test_an_older_copy_that_is_a_gate_is_warned_of_and_more_than_the_site_tolerates_is_an_error(checked):
    assert checked.run("refresh").success
    becomes(checked, "/birds", "login_wall")
    assert no_error_pages(checked) == ("WARN", "1 of 7 texts are error pages or gates")
    becomes(checked, "/clouds", "soft_404")
    assert no_error_pages(checked) == ("ERROR", "2 of 7 texts are error pages or gates")


def index_is_healthy(checked):
    return found(checked.check("live_index", "index_is_healthy"))


def test_a_site_of_which_nothing_is_live_is_warned_of(unpublished):
    unpublished.instance.add_dynamic_partitions("sites", [SITE])
    assert index_is_healthy(unpublished) == ("WARN", "nothing is live")


def test_vectors_of_another_model_than_the_settings_name_are_warned_of(checked):
    assert index_is_healthy(checked) == ("passed", "7 rows, all indexed")
    checked.embedder = HashEmbedder(name="other")
    says = "what is live is in vectors-hash-64-pieces, and the settings name vectors-other-64-pieces"
    assert index_is_healthy(checked) == ("WARN", says)


def test_rows_in_no_index_and_files_without_number_are_warned_of(checked):
    table = checked.table()
    copy = read_rows(table).slice(0, 1)
    for _ in range(MOST_FRAGMENTS):
        table.add(copy)
    live = checked.stores.publications.live(SITE)
    checked.stores.publications.publish(
        SITE,
        table_name=live.table_name,
        lance_version=table.version,
        generation=live.generation,
        rows=live.rows + MOST_FRAGMENTS,
        pages=live.pages,
        reason="test",
        now=checked.stores.now(),
    )
    severity, says = index_is_healthy(checked)
    assert severity == "WARN"
    assert f"{MOST_FRAGMENTS} rows are in no index" in says
    assert f"files, where {MOST_FRAGMENTS} are enough" in says
