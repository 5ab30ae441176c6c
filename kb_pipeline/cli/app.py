"""What every command is given: the settings, the way to the stores, and where its answer goes."""

from __future__ import annotations

import functools
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kb_pipeline.cli.output import Output
from kb_pipeline.settings import Settings, load_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kb_pipeline.store.stores import Stores

CommandT = TypeVar("CommandT", bound="Callable[..., Any]")


class App:
    """One invocation of `kb`. Settings are read at first use, so that `--help` works with wrong ones."""

    def __init__(self) -> None:
        self.output = Output()
        self._settings: Settings | None = None

    @property
    def settings(self) -> Settings:
        """The environment's settings, with logs set up. Raises ConfigError."""
        if self._settings is None:
            self.use(load_settings())
            assert self._settings is not None
        return self._settings

    def use(self, settings: Settings) -> None:
        """Run with other settings than the environment's (the demo's)."""
        from kb_pipeline.logs import configure_logs  # noqa: PLC0415 - `kb --help` needs no log library

        self._settings = _joining_our_own_server(settings)
        # A command says itself what it does; its log lines are for when something is odd, or somebody asks for them.
        configure_logs(settings, least_level=None if "log_level" in settings.model_fields_set else "WARNING")

    @contextmanager
    def stores(self) -> Iterator[Stores]:
        """The stores, open for the block. Starts the embedded PostgreSQL when no server is named."""
        from kb_pipeline.store.stores import Stores  # noqa: PLC0415 - `kb --help` needs no database driver

        if not self.settings.postgres_url and not (self.settings.data_dir.expanduser() / "postgres").exists():
            self.output.note("[dim]Setting up PostgreSQL, once; this takes a few seconds …[/dim]")
        with Stores.open(self.settings) as stores:
            yield stores


def answers(command: CommandT) -> CommandT:
    """A command that gets the App first, and has `--json`."""

    @click.option("--json", "as_json", is_flag=True, help="Answer as one JSON document.")
    @click.pass_obj
    @functools.wraps(command)
    def with_app(app: App, /, *args: Any, **options: Any) -> Any:
        app.output = Output(as_json=options.pop("as_json"))
        return command(app, *args, **options)

    return with_app  # type: ignore[return-value] # click's decorators keep the call, not the type


def _joining_our_own_server(settings: Settings) -> Settings:
    """Settings in which the embedded server is never taken for somebody else's: in a shell that has evaluated
    `kb env`, KB_POSTGRES_URL names it, and nobody else may have started it."""
    from kb_pipeline.store.embedded import embedded_address  # noqa: PLC0415 - `kb --help` needs no database driver

    if settings.postgres_url and settings.postgres_url == embedded_address(settings.data_dir).url:
        return settings.model_copy(update={"postgres_url": ""})
    return settings
