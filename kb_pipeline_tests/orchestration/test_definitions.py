import os
import subprocess
import sys
import tomllib
from itertools import pairwise

import dagster as dg
import yaml

from kb_pipeline.settings import PROJECT_ROOT

HEAVY = ("torch", "transformers", "sentence_transformers", "lancedb", "lance", "playwright", "pypdf")
ASSETS = ["discovered_urls", "fetched_pages", "extracted_text", "chunks", "embeddings", "live_index"]
BLOCKING = {
    "discovery_found_pages": True,
    "estimate_fits_allowance": True,
    "refresh_is_complete": False,
    "removals_are_plausible": True,
    "text_clears_threshold": True,
    "no_error_pages": True,
    "removed_pages_are_gone": True,
    "golden_questions_answered": True,
    "index_is_healthy": False,
}


def load(code, **environ):
    return subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:kb_pipeline", "-c", code],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def test_loading_the_code_location_loads_no_model_browser_pdf_or_vector_library():
    code = f"import sys, kb_pipeline.definitions; print([name for name in {HEAVY} if name in sys.modules])"
    loaded = load(code)
    assert loaded.returncode == 0, loaded.stderr
    assert loaded.stdout.strip() == "[]"


def test_loading_the_code_location_warns_of_nothing():
    code = "import kb_pipeline.definitions as d; d.defs.get_repository_def()"
    assert load(code).stderr == ""


def test_a_wrong_setting_stops_the_load_with_its_name_and_what_it_takes():
    loaded = load("import kb_pipeline.definitions", KB_HOST_CONNECTIONS="many")
    assert loaded.returncode != 0
    assert "KB_HOST_CONNECTIONS='many'" in loaded.stderr
    assert "Most requests in flight to one host" in loaded.stderr


def test_whoever_loads_the_code_location_gives_it_one_name():
    """Runs and the state of sensors belong to it: those of `kb up` are those of `dg dev`."""
    project = tomllib.loads((PROJECT_ROOT / "pyproject.toml").read_text())["tool"]["dg"]["project"]
    [location] = yaml.safe_load((PROJECT_ROOT / "workspace.yaml").read_text())["load_from"]
    assert project["code_location_name"] == location["python_module"]["location_name"]
    assert project["code_location_target_module"] == location["python_module"]["module_name"]


def test_everything_can_be_loaded_and_resolved(definitions):
    dg.Definitions.validate_loadable(definitions)


def test_the_assets_form_one_chain(definitions):
    graph = definitions.get_repository_def().asset_graph
    assert [key.to_user_string() for key in graph.toposorted_asset_keys] == ASSETS
    for before, after in pairwise(ASSETS):
        assert graph.get(dg.AssetKey(after)).parent_keys == {dg.AssetKey(before)}


def test_every_asset_says_what_it_is_and_whose(definitions):
    graph = definitions.get_repository_def().asset_graph
    for name in ASSETS:
        node = graph.get(dg.AssetKey(name))
        assert node.description
        assert node.owners
        assert node.kinds
        assert node.code_version
        assert node.group_name == "knowledge_base"


def test_every_check_is_of_one_site_and_blocks_as_it_should(definitions):
    graph = definitions.get_repository_def().asset_graph
    checks = {key.name: graph.get(key) for key in graph.asset_check_keys}
    assert {name: node.blocking for name, node in checks.items()} == BLOCKING
    assert all(node.partitions_def is not None for node in checks.values())


def test_no_job_needs_run_config(definitions):
    for name in ("discover", "refresh", "retry", "reindex", "remove_site"):
        job = definitions.resolve_job_def(name)
        assert job.partitions_def is not None
        assert dg.validate_run_config(job, {}) is not None


def test_jobs_begin_where_their_name_says(definitions):
    def assets(job):
        return [
            name
            for name in ASSETS
            if dg.AssetKey(name) in definitions.resolve_job_def(job).asset_layer.selected_asset_keys
        ]

    assert assets("discover") == ASSETS[:1]
    assert assets("refresh") == ASSETS
    assert assets("retry") == ASSETS[1:]
    assert assets("reindex") == ASSETS[2:]


def test_every_sensor_runs_without_being_switched_on(definitions):
    sensors = definitions.get_repository_def().sensor_defs
    assert {sensor.default_status for sensor in sensors} == {dg.DefaultSensorStatus.RUNNING}
