"""Prepares the Dagster instance that `kb up`, `kb demo` and `kb env` run on: its home folder, its database, the
variables that dagster.yaml reads, and the limits of the pools."""

import contextlib
import os
from pathlib import Path
from typing import Final

from dagster import DagsterInstance
from sqlalchemy.exc import IntegrityError

from kb_pipeline.errors import ConfigError, StoreUnavailable
from kb_pipeline.orchestration.pools import POOL_LIMITS
from kb_pipeline.settings import PROJECT_ROOT, Settings
from kb_pipeline.store.stores import control_address, dagster_url, ensure_dagster_database

_CONFIG: Final = "dagster.yaml"


def project_file(name: str) -> Path:
    """A top-level file of the checkout, or its copy in an installed wheel. Raises ConfigError when neither is there."""
    for folder in (PROJECT_ROOT, Path(__file__).resolve().parent.parent / "_project"):
        if (folder / name).is_file():
            return folder / name
    message = f"the installation is incomplete: {name} is missing"
    raise ConfigError(message)


def dagster_home(settings: Settings) -> Path:
    """DAGSTER_HOME: Dagster's own files (compute logs), beside the rest of this project's data."""
    return settings.data_dir.expanduser().resolve() / "dagster"


def environment(settings: Settings) -> dict[str, str]:
    """What a Dagster process needs to find this instance and this project's data."""
    return {
        "DAGSTER_HOME": str(dagster_home(settings)),
        "KB_DATA_DIR": str(settings.data_dir.expanduser().resolve()),
        "KB_POSTGRES_URL": control_address(settings).url,
        "KB_DAGSTER_POSTGRES_URL": dagster_url(settings),
    }


def prepare_instance(settings: Settings) -> dict[str, str]:
    """Make the instance ready, and return its `environment`. The PostgreSQL server must run. Safe to repeat, and
    beside processes that use the instance.

    Raises StoreUnavailable when the server or the folder cannot be used.
    """
    _link_config(dagster_home(settings))
    ensure_dagster_database(settings)
    with open_instance(settings) as instance:
        set_pool_limits(instance)
    return environment(settings)


def open_instance(settings: Settings) -> DagsterInstance:
    """The instance of these settings, as every process with its `environment` sees it. Sets that environment for
    this process, since dagster.yaml reads it."""
    os.environ.update(environment(settings))
    return DagsterInstance.from_config(str(dagster_home(settings)))


def set_pool_limits(instance: DagsterInstance) -> None:
    """Give each pool its limit, once: what an operator set later in the UI stays."""
    known = {pool.name for pool in instance.event_log_storage.get_pool_limits() if not pool.from_default}
    for name, limit in POOL_LIMITS.items():
        if name not in known:
            # Two commands on a new instance: the other one was first, and gave the pool the same limit.
            with contextlib.suppress(IntegrityError):
                instance.event_log_storage.set_concurrency_slots(name, limit)


def _link_config(home: Path) -> None:
    """A link, so that an edit of the checkout's dagster.yaml counts; a copy where links cannot be made."""
    source, target = project_file(_CONFIG), home / _CONFIG
    try:
        home.mkdir(parents=True, exist_ok=True)
        if target.is_symlink() and target.resolve() == source.resolve():
            return
        staged = home / f".{_CONFIG}.{os.getpid()}"
        staged.unlink(missing_ok=True)
        try:
            staged.symlink_to(source)
        except OSError:
            staged.write_bytes(source.read_bytes())
        staged.replace(target)
    except OSError as error:
        message = f"cannot prepare {home} (KB_DATA_DIR): {error.strerror or error}"
        raise StoreUnavailable(message) from error
