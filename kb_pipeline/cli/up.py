"""`kb up`: PostgreSQL, the Dagster UI and its daemon, until Ctrl-C or SIGTERM."""

from __future__ import annotations

import errno
import os
import socket
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import click
from rich.markup import escape

from kb_pipeline.cli.exit_codes import ExitCode
from kb_pipeline.cli.helping import examples
from kb_pipeline.cli.stopping import Farewell, StopSignals, stop_signals
from kb_pipeline.errors import ConfigError

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from kb_pipeline.cli.app import App
    from kb_pipeline.cli.child_processes import Child
    from kb_pipeline.store.stores import Stores

READY_SECONDS: Final = 120
_LOOK_EVERY: Final = 0.2


@click.command(epilog=examples("kb up", "kb up --port 3001", "kb up > up.log 2>&1 &   # kill -TERM $! stops it"))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address that the UI listens on.")
@click.option("--port", default=3000, show_default=True, type=click.IntRange(1, 65535), help="Port of the UI.")
@click.pass_obj
def up(app: App, host: str, port: int) -> int:
    """Run PostgreSQL, the Dagster UI and its daemon until Ctrl-C.

    The UI has no login: on any --host but this machine's own, put one in front of it.
    """
    from kb_pipeline.cli.guardian import guarded, only_one_up  # noqa: PLC0415 - the rest is not needed for `--help`

    note = app.output.note
    with ExitStack() as stack:
        lock = stack.enter_context(only_one_up(_data_dir(app), note))
        signals = stack.enter_context(stop_signals())
        refuse_taken_port(host, port)
        note("Starting PostgreSQL …")
        stores = stack.enter_context(app.stores())
        stack.enter_context(guarded(app.settings, lock))
        demo = stack.enter_context(demo_site_served(app, stores))
        ended = _run_children(app, signals, host, port, demo)
        if not app.settings.postgres_url:
            note("Stopping PostgreSQL …")
    if ended is None:
        note("Everything has stopped.")
        return ExitCode.OK
    note(f"The {ended.name} ended by itself (code {ended.code}); the end of {ended.log}:")
    note(escape(ended.last_words()))
    return ExitCode.UNEXPECTED


def _run_children(app: App, signals: StopSignals, host: str, port: int, demo: str | None) -> Child | None:
    """Run the UI and the daemon until somebody stops us (None), or until one of them ends by itself (that one)."""
    from kb_pipeline.cli.child_processes import ended_together  # noqa: PLC0415 - the rest is not needed for `--help`

    farewell = Farewell(app.output, signals)
    with ended_together(hurry=farewell.in_a_hurry, tell=farewell.say_who_is_left) as children:
        start_children(app, children, host, port)
        if wait_until_ready(children, host, port, signals.stop):
            address = f"http://{_shown_host(host)}:{port}"
            app.output.say(f"[bold green]The UI is at {address}[/bold green]   Ctrl-C stops everything.")
            if demo:
                app.output.say(f"The demo site is served at {demo}, so that it can be refreshed from the UI.")
        elif not signals.stop.is_set():
            app.output.note(f"The UI does not answer yet; {_data_dir(app) / 'logs'} may say why.")
        ended = watch(children, signals.stop)
        farewell.begin()
    return ended


def start_children(app: App, children: list[Child], host: str, port: int) -> None:
    """Start the webserver and the daemon, into the list."""
    from kb_pipeline.cli.child_processes import MARK, Child  # noqa: PLC0415 - the rest is not needed for `--help`
    from kb_pipeline.orchestration.instance import prepare_instance, project_file  # noqa: PLC0415 - loads Dagster

    settings, logs = app.settings, _data_dir(app) / "logs"
    app.output.note(f"Starting the Dagster UI and its daemon; their log lines are in {logs} …")
    environment = os.environ | prepare_instance(settings)
    environment |= {"KB_ALLOW_PRIVATE": ",".join(settings.allow_private), MARK: str(_data_dir(app))}
    # Into files, where nobody reads colours; in the format that our own log lines have there.
    shared = ["-w", str(project_file("workspace.yaml"))]
    shared += ["--log-format", "colored" if settings.log_format == "console" else "json"]
    commands = {
        "webserver": ["-m", "dagster_webserver", "-h", host, "-p", str(port), *shared],
        "daemon": ["-m", "dagster._daemon", "run", *shared],
    }
    for name, command in commands.items():
        children.append(Child(name, command, environment, logs))


def _data_dir(app: App) -> Path:
    return app.settings.data_dir.expanduser().resolve()


@contextmanager
def demo_site_served(app: App, stores: Stores) -> Iterator[str | None]:
    """Serve the demo site where it is registered, if it is; its address, or None."""
    from kb_pipeline.cli.demo_settings import DEMO_SITE_ID, admitting_demo_site  # noqa: PLC0415
    from kb_pipeline.demo import DemoSite, serve_demo_site  # noqa: PLC0415

    site = stores.sites.find(DEMO_SITE_ID)
    port = urlsplit(site.url).port if site and urlsplit(site.url).hostname == "127.0.0.1" else None
    if site is None or port is None or _is_taken("127.0.0.1", port):
        yield None
        return
    app.use(admitting_demo_site(app.settings, port))
    served = DemoSite()
    served.begin_second_act()  # what `kb demo` left it at
    with serve_demo_site(served, port=port) as server:
        yield server.origin


def refuse_taken_port(host: str, port: int) -> None:
    """Raise ConfigError before anything is started that would have to be stopped again."""
    if _is_taken(host, port):
        message = f"port {port} of {host} is taken: stop what uses it, or choose another with --port"
        raise ConfigError(message)


def wait_until_ready(children: Sequence[Child], host: str, port: int, stop: threading.Event) -> bool:
    """Whether the UI answers; False when a child ended, somebody stopped us, or it took too long."""
    deadline = time.monotonic() + READY_SECONDS
    while not stop.is_set() and all(child.code is None for child in children) and time.monotonic() < deadline:
        if _answers(_shown_host(host), port):
            return True
        stop.wait(_LOOK_EVERY)
    return False


def watch(children: Sequence[Child], stop: threading.Event) -> Child | None:
    """Wait until somebody stops us (None) or a child ends by itself (that one)."""
    while not stop.wait(_LOOK_EVERY):
        ended = next((child for child in children if child.code is not None), None)
        if ended is not None:
            return ended
    return None


def _answers(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=2):
            return True
    except OSError:
        return False


def _is_taken(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except PermissionError:
            return False
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return True
            message = f"--host {host}: {error.strerror or error}"
            raise ConfigError(message) from error
    return False


def _shown_host(host: str) -> str:
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared, not bound
