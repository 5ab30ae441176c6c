"""Log lines: structured events with stable names (`crawl.page_unreachable`), for people on a terminal and as JSON
elsewhere. Set up by each entry point; everything else only asks for a logger, of structlog or of logging."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Final

import structlog

if TYPE_CHECKING:
    from structlog.typing import Processor

    from kb_pipeline.settings import Settings

_OURS: Final = "kb_pipeline"
_HANDLER: Final = "kb_pipeline"
_SKIPPED_CHECKS: Final = "dagster._core.execution.plan.active"


class _CurrentStderr:
    """Writes to whatever `sys.stderr` is now: a progress bar replaces it while it is shown, and puts lines above."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def ensure_logs(settings: Settings) -> None:
    """Set logs up unless an entry point has done so: for a code location, which Dagster's processes load as they
    please, and which a command loads too."""
    if not any(handler.get_name() == _HANDLER for handler in logging.getLogger().handlers):
        configure_logs(settings)


def configure_logs(settings: Settings, *, least_level: str | None = None) -> None:
    """Send log lines to standard error as `settings.log_format` and `log_level` (or `least_level`) say. Other
    libraries' lines are shown from WARNING on. Repeatable."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    _install(_handler(settings, shared))
    logging.getLogger(_SKIPPED_CHECKS).addFilter(_says_something)
    logging.getLogger(_OURS).setLevel(least_level or settings.log_level)


def leave_logs_to_logging() -> None:
    """Pass log lines on to `logging` as text, for a program that calls this one as a library and has said nothing
    of structlog, whose own default writes to standard output."""
    if structlog.is_configured():
        return
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.contextvars.merge_contextvars,
            structlog.processors.format_exc_info,
            structlog.processors.KeyValueRenderer(key_order=["event"]),
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )


def _handler(settings: Settings, shared: list[Processor]) -> logging.Handler:
    handler = logging.StreamHandler(_CurrentStderr())
    handler.set_name(_HANDLER)
    handler.setFormatter(_Formatter(settings.log_format, shared))
    handler.addFilter(_is_ours_to_write)
    return handler


class _Formatter(logging.Formatter):
    """Columns for people, or one JSON object a line. Looks anew at each line who reads it: while a step runs, Dagster
    has standard error of a terminal written into the step's file."""

    def __init__(self, log_format: str, shared: list[Processor]) -> None:
        super().__init__()
        self._format = log_format
        self._plain = _rendered(shared, _for_people(colours=False))
        self._coloured = _rendered(shared, _for_people(colours=True))
        self._json = _rendered(shared, structlog.processors.format_exc_info, structlog.processors.JSONRenderer())

    def format(self, record: logging.LogRecord) -> str:
        is_terminal = sys.stderr.isatty()
        if self._format == "console" or (self._format == "auto" and is_terminal):
            return (self._coloured if is_terminal else self._plain).format(record)
        return self._json.format(record)


def _for_people(*, colours: bool) -> Processor:
    # structlog's own choice shows the variables of every frame: passwords and headers of requests are among them.
    return structlog.dev.ConsoleRenderer(colors=colours, exception_formatter=structlog.dev.plain_traceback)


def _rendered(shared: list[Processor], *last: Processor) -> logging.Formatter:
    without_meta = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    return structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=[without_meta, *last])


def _is_ours_to_write(record: logging.LogRecord) -> bool:
    """A library that has a handler of its own has written the line already, as Dagster's code server has."""
    logger: logging.Logger | None = logging.getLogger(record.name)
    while logger is not None and logger is not logging.getLogger():
        if logger.handlers:
            return False
        logger = logger.parent
    return True


def _says_something(record: logging.LogRecord) -> bool:
    """Of each check that a run skips because its import waits, Dagster says that what follows goes on without it. That
    is skipped too."""
    return "emitted no result" not in record.getMessage()


def _install(handler: logging.Handler) -> None:
    """On the root logger, in place of an earlier one of ours and beside whatever else is there."""
    root = logging.getLogger()
    for before in [before for before in root.handlers if before.get_name() == _HANDLER]:
        root.removeHandler(before)
    root.addHandler(handler)
