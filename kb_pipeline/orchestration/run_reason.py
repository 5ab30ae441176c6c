"""Why a run failed, in words that a site's owner can read: the check that stopped it, the step's own error, or what
became of its process."""

from collections.abc import Iterator, Sequence
from typing import Final

from dagster import AssetCheckSeverity, DagsterEvent, DagsterEventType, DagsterInstance
from dagster_shared.error import SerializableErrorInfo

MAX_REASON: Final = 2_000
_CRASH: Final = "Run execution process"
"""How a code server begins what it says of a process that died."""
_KINDS: Final = {
    DagsterEventType.ASSET_CHECK_EVALUATION,
    DagsterEventType.STEP_FAILURE,
    DagsterEventType.RUN_FAILURE,
    DagsterEventType.ENGINE_EVENT,
}


def why_run_failed(instance: DagsterInstance, run_id: str) -> str:
    """The reasons, joined. A blocking check explains the failure of its own step better than the step does."""
    logged = instance.all_logs(run_id, of_type=_KINDS)
    events = [entry.dagster_event for entry in logged if entry.dagster_event is not None]
    reasons = [*_failed_checks(events)] or [*_failed_steps(events)] or [*_broken_run(events)]
    return "; ".join(dict.fromkeys(filter(None, reasons)))[:MAX_REASON] or "the run failed and left no reason"


def _failed_checks(events: Sequence[DagsterEvent]) -> Iterator[str]:
    for event in events:
        if event.event_type is DagsterEventType.ASSET_CHECK_EVALUATION:
            check = event.asset_check_evaluation_data
            if check.blocking and not check.passed and check.severity is AssetCheckSeverity.ERROR:
                yield f"{check.check_name}: {check.description or 'failed'}"


def _failed_steps(events: Sequence[DagsterEvent]) -> Iterator[str]:
    for event in events:
        if event.event_type is DagsterEventType.STEP_FAILURE:
            failure = event.step_failure_data
            said = failure.user_failure_data.description if failure.user_failure_data else None
            yield f"{event.step_key}: {said or (_innermost(failure.error) if failure.error else 'failed')}"


def _broken_run(events: Sequence[DagsterEvent]) -> Iterator[str]:
    """A run that failed outside a step: its resources could not be opened, or its process was killed. The latter
    is told by the engine before the failure, which then has nothing to say but that it came from outside."""
    crash = ""
    for event in events:
        message = _one_line(event.message or "")
        if event.event_type is DagsterEventType.ENGINE_EVENT and message.startswith(_CRASH):
            crash = message
        if event.event_type is DagsterEventType.RUN_FAILURE:
            # A run that was ended from outside has no data of its failure, whatever the property's type says.
            error = event.job_failure_data.error if event.event_specific_data else None
            yield _innermost(error) if error is not None else crash or message


def _innermost(error: SerializableErrorInfo) -> str:
    """The message of the error that began it, without the name of its class and the frames."""
    while error.cause is not None:
        error = error.cause
    message = error.message.strip()
    name, colon, rest = message.partition(": ")
    return _one_line(rest if colon and name.rpartition(".")[2] == error.cls_name else message)


def _one_line(text: str) -> str:
    return " ".join(text.split())
