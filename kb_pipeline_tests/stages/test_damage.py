"""Files of a site's tables that were cut short or are gone: the error names the cause and the cure, and the cure, done
to the letter, gives back what was there."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from kb_pipeline.errors import StoreError, StoreUnavailable, TableUnusable
from kb_pipeline.serve.search import SearchMode, search
from kb_pipeline.stages.publish import rollback
from kb_pipeline.store.damage import readable, usable
from kb_pipeline_tests.embed.hash_embedder import HashEmbedder
from kb_pipeline_tests.stages.whole_site import NAMES, SITE, TABLES

FOLDERS = {"rows": "data", "manifests": "_versions", "deletions": "_deletions"}


def half(file):
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def gone(file):
    file.unlink()


def zeros(file):
    file.write_bytes(bytes(file.stat().st_size))


def damage(whole, table, part, how):
    folder = Path(whole.stores.site(SITE).uri) / f"{table}.lance" / FOLDERS[part]
    files = [file for file in folder.iterdir() if file.suffix != ".json"]
    assert files
    for file in files:
        how(file)


def asked(whole, mode=SearchMode.FUSED):
    hits = search(whole.stores, whole.settings, SITE, "birds", mode=mode, embedder=HashEmbedder())
    return [hit.url for hit in hits]


def follow(message):
    """Do what the message says, and nothing else: delete the folder. Refreshing is the caller's."""
    assert f"`kb sites refresh {SITE}`" in message
    shutil.rmtree(re.search(r"delete (\S+\.lance), and run", message)[1])


@pytest.mark.parametrize("how", [half, gone, zeros])
@pytest.mark.parametrize("part", FOLDERS)
@pytest.mark.parametrize("table", TABLES)
def test_a_damaged_table_says_how_it_is_made_again_and_so_it_is(whole, table, part, how):
    whole.refresh()
    whole.say("birds", "birds and eggs")
    whole.refresh()
    before, found = whole.held(), asked(whole)
    damage(whole, table, part, how)
    whole.say("birds", "birds and feathers")
    with pytest.raises(TableUnusable) as error:
        whole.refresh()
    damage_seen = str(error.value)
    assert f"table '{table}' of site '{SITE}'" in damage_seen
    assert ".rs:" not in damage_seen
    if table != TABLES[-1]:
        assert asked(whole) == found
    follow(damage_seen)
    whole.refresh()
    after = whole.held()
    assert (after, asked(whole)) == (before, found)
    assert whole.stores.failures.count(SITE) == 0
    whole.server.forget()
    whole.refresh()
    last = {request.path[1:]: request.status for request in whole.server.requests if request.path[1:] in NAMES}
    assert last == dict.fromkeys(NAMES, 304)


@pytest.mark.parametrize("mode", SearchMode)
def test_a_search_of_damaged_vectors_names_the_cure(whole, mode):
    whole.refresh()
    damage(whole, TABLES[-1], "rows", gone)
    with pytest.raises(TableUnusable, match=r"delete .*vectors-hash-64-pieces\.lance, and run `kb sites refresh docs`"):
        asked(whole, mode)


def test_going_back_to_a_version_of_damaged_vectors_names_the_cure(whole):
    whole.refresh()
    damage(whole, TABLES[-1], "manifests", half)
    with pytest.raises(TableUnusable, match="The vectors are then made again from the chunks"):
        rollback(whole.stores, whole.settings, SITE)


def test_a_site_whose_tables_are_all_damaged_can_be_removed(whole):
    whole.refresh()
    for table in TABLES:
        damage(whole, table, "manifests", zeros)
    whole.stores.site(SITE).drop()
    assert not Path(whole.stores.site(SITE).uri).exists()


class RustPanic(Exception):
    pass


class PanicException(BaseException):
    pass


FOLDER = "/data/lance/sites/docs/texts.lance"


@pytest.mark.parametrize("panic", [RustPanic, PanicException])
def test_a_panic_of_the_library_is_damage_too(panic):
    with pytest.raises(TableUnusable, match="derived again from the stored bodies"), usable(FOLDER):
        raise panic


@pytest.mark.parametrize(
    "passing",
    [
        OSError("[Errno 24] Too many open files"),
        RuntimeError("lance error: Retryable commit conflict for version 7"),
        OSError("Generic S3 error: error sending request for url: operation timed out"),
        MemoryError(),
    ],
    ids=str,
)
def test_what_passes_by_itself_deletes_nothing_and_is_tried_again(passing):
    with pytest.raises(StoreUnavailable) as told, usable(FOLDER):
        raise passing
    assert told.value.transient
    assert "delete" not in str(told.value)


def test_a_full_disk_and_a_wrong_question_are_no_damage():
    full, mistaken = OSError("No space left on device"), ValueError("lance error: Invalid user input: no column 'x'")
    with pytest.raises(StoreUnavailable, match="cannot be written"), usable(FOLDER):
        raise full
    with pytest.raises(StoreError, match="cannot be used") as mistake, usable(FOLDER):
        raise mistaken
    assert "delete" not in str(mistake.value)
    with pytest.raises(KeyboardInterrupt), readable("anything"):
        raise KeyboardInterrupt
