"""`kb env`: the variables with which `dagster dev`, `dg dev` and any Dagster process find this project's instance."""

from __future__ import annotations

import shlex

import click

from kb_pipeline.cli.app import App, answers
from kb_pipeline.cli.helping import examples


@click.command(
    epilog=examples(
        'eval "$(kb env)" && dagster dev   # or: dg dev',
        "kb env --stop                     # once Dagster has ended",
    )
)
@click.option(
    "--stop", is_flag=True, help="Stop the embedded PostgreSQL that an earlier `kb env` of this shell keeps up."
)
@answers
def env(app: App, *, stop: bool) -> None:
    """Print the variables that `dagster dev` and `dg dev` need.

    They are for a shell to evaluate, as in the example below.

    With an embedded PostgreSQL, the server then stays up until the shell ends or `kb env --stop`.
    """
    from kb_pipeline.cli.keeper import keep_postgres, stop_keeping  # noqa: PLC0415 - starts processes
    from kb_pipeline.orchestration.instance import environment, prepare_instance  # noqa: PLC0415 - loads Dagster

    if stop:
        stop_keeping(app.settings)
        app.output.json({})
        return
    variables = environment(app.settings)
    with app.stores():
        prepare_instance(app.settings)
        if not app.settings.postgres_url:
            keep_postgres(app.settings)
    app.output.json(variables)
    if not app.output.as_json:
        for name, value in variables.items():
            click.echo(f"export {name}={shlex.quote(value)}")
