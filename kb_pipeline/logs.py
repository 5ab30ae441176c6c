"""Log lines: structured events with stable names (`crawl.page_unreachable`), for people on a terminal and as JSON
elsewhere. Called once by each entry point; everything else only asks for a logger, of structlog or of logging."""

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


class _CurrentStderr:
    """Writes to whatever `sys.stderr` is now: a progress bar replaces it while it is shown, and puts lines above."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


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
    logging.getLogger(_OURS).setLevel(least_level or settings.log_level)


def _handler(settings: Settings, shared: list[Processor]) -> logging.Handler:
    handler = logging.StreamHandler(_CurrentStderr())
    handler.set_name(_HANDLER)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_renderer(settings)],
        )
    )
    return handler


def _renderer(settings: Settings) -> list[Processor]:
    """The last processors: columns for people, or one JSON object a line."""
    if settings.log_format == "console" or (settings.log_format == "auto" and sys.stderr.isatty()):
        return [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())]
    return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]


def _install(handler: logging.Handler) -> None:
    """On the root logger, in place of an earlier one of ours and beside whatever else is there."""
    root = logging.getLogger()
    for before in [before for before in root.handlers if before.get_name() == _HANDLER]:
        root.removeHandler(before)
    root.addHandler(handler)
