"""Words for the messages of runs: a sentence for every kind, and the table of skip reasons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from halo_scheduler.errors import SchedulerError
from halo_scheduler.grammar.english import (
    assistant_words,
    clock_time,
    counted,
    listed,
    shortened,
    weekday_name,
)
from halo_scheduler.grammar.interval import DAY_MS, interval_in_words
from halo_scheduler.grammar.zone import local_time
from halo_scheduler.model.conditions import condition_from_dict
from halo_scheduler.model.messages import Message, MessageKind
from halo_scheduler.model.situation import Waiting, WaitingDetails
from halo_scheduler.model.words import Outcome, SkipReason, WaitingFor
from halo_scheduler.wording.conditions import CONDITION_STATES, waiting_words
from halo_scheduler.wording.faults import FAULTS, Params, Words
from halo_scheduler.wording.measures import amount_words
from halo_scheduler.wording.status import SHORTAGES, waited_words

SKIP_REASONS = {
    SkipReason.DISABLED: "it was disabled",
    SkipReason.PAUSED: "it was paused",
    SkipReason.ALREADY_RUNNING: "it was already running",
    SkipReason.ALREADY_QUEUED: "a manual run of it was already waiting",
    SkipReason.AT_CAPACITY: "the limit of concurrent runs was reached",
    SkipReason.NOT_DUE: "it was not due",
    SkipReason.NO_WORK: "there was nothing to do",
    SkipReason.CONDITION: "its conditions were not met",
    SkipReason.QUIET_TIME: "it fell in quiet hours",
    SkipReason.CAP: "its daily limit was reached",
    SkipReason.NEEDS_INPUT: "it was waiting for an answer",
    SkipReason.SOURCE_UNAVAILABLE: "its work items could not be fetched",
    SkipReason.MISSED: "Halo was not running",
    SkipReason.UNSUPPORTED_TYPE: "this program can't run such a job",
    SkipReason.RESTARTED: "its next run was due",
    SkipReason.USER: "someone asked to skip it",
}
"""Why a run did not start, as it follows "because" or a colon."""


class OutcomeWords(NamedTuple):
    """An outcome as a heading, and as it follows a job's name or "it"."""

    title: str
    clause: str


OUTCOMES = {
    Outcome.RUNNING: OutcomeWords("Running", "is still running"),
    Outcome.SUCCESS: OutcomeWords("Succeeded", "succeeded"),
    Outcome.FAILURE: OutcomeWords("Failed", "failed"),
    Outcome.TIMEOUT: OutcomeWords("Timed out", "timed out"),
    Outcome.CANCELLED: OutcomeWords("Stopped", "was cancelled"),
    Outcome.SKIPPED: OutcomeWords("Skipped", "was skipped"),
    Outcome.MISSED: OutcomeWords("Missed", "missed its run"),
    Outcome.INTERRUPTED: OutcomeWords("Interrupted", "was interrupted"),
}

_NO_ROOM = "too many processes run on this computer, or it has too little memory left"
_SETTLED = {"done": "reported as done", "failed": "reported as failed", "released": "released"}
_ONCE = "; it had only this time, so run it manually or set a new one"
_TOMORROW = "; it may run again after midnight"


class MessageError(SchedulerError):
    """An error with a message that is stored with a run; its text is that message in words."""

    def __init__(self, message: Message) -> None:
        super().__init__(message_words(message))
        self.message = message


def error_message(error: Exception) -> Message:
    """Return an error as a message; foreign error texts are kept as they are."""
    return (
        error.message if isinstance(error, MessageError) else Message(MessageKind.TEXT, {"text": str(error)})
    )


def message_words(message: Message | None) -> str:
    """Return the words of a message as they follow a colon: lower case first, no full stop."""
    if message is None:
        return ""
    words = _WORDS[message.kind]
    params = {name: _in_words(value) for name, value in message.params.items()}
    try:
        return words.format_map(params) if isinstance(words, str) else words(params)
    except (KeyError, ValueError, TypeError, AttributeError):
        # Another version may have stored other parameters: an unreadable history would be worse.
        return message.kind.replace("_", " ")


def _in_words(value: Any) -> Any:
    """Return a parameter with its messages, if it has any, in words."""
    if isinstance(value, list | tuple):
        return [_in_words(item) for item in value]
    return message_words(value) if isinstance(value, Message) else value


def messages_words(messages: Iterable[Message]) -> str:
    """Return the words of several messages."""
    return "; ".join(filter(None, map(message_words, messages)))


EXIT_CODES = {
    126: "not executable",
    127: "command not found",
    137: "killed, perhaps out of memory",
    143: "asked to terminate",
}
"""The usual meanings of exit codes."""


def _exit_code(params: Params) -> str:
    code, name = params["code"], params.get("signal")
    meaning = ": ".join(filter(None, (name, EXIT_CODES.get(code))))
    return f"exit code {code}{f' ({meaning})' if meaning else ''}"


def _shortage(params: Params) -> str:
    return f"it could not be started: {SHORTAGES[params['shortage']].sentence}"


def _awaited_shortage(params: Params) -> str:
    return SHORTAGES[params["shortage"]].awaited


def _handler_raised(params: Params) -> str:
    return f"{params['error']}: {params['text']}" if params["text"] else str(params["error"])


def _question(params: Params) -> str:
    return f"it waits for your answer to: {params['question']}{_only_time(params)}"


def _run_limit(params: Params) -> str:
    runs, limit = params["runs"], params["limit"]
    allowed = "which is its daily limit" if runs == limit else f"and its daily limit is {limit}"
    return f"{counted(runs, 'run')} today, {allowed}{_only_time(params) or _TOMORROW}"


def _cost_limit(params: Params) -> str:
    spent, limit = amount_words(params["cost"]), amount_words(params["limit"])
    return f"its runs cost {spent} today, and its daily limit is {limit}{_only_time(params) or _TOMORROW}"


def _quiet_time(params: Params) -> str:
    moment = local_time(params["until"])
    day = f"on {weekday_name(moment)} " if params["until"] - params["at"] >= DAY_MS else ""
    name = f"the quiet hours {params['name']}".rstrip()
    return f"it was due in {name}, which end {day}at {clock_time(moment)}{_only_time(params)}"


def _conditions_unmet(params: Params) -> str:
    states = listed([*params["states"]] or ["it does not exist"])
    conditions = [condition_from_dict(data) for data in params["conditions"]]
    waited = interval_in_words(params["waited_ms"])
    return f"it waited {waited} for {waiting_words(conditions)}: {states}{_only_time(params)}"


def _not_after(params: Params) -> str:
    name, state = shortened(params["name"]), params["state"]
    return f"it was triggered by {name}, but it was {state} at that time"


def _asked_by(params: Params) -> str:
    return f"requested by {assistant_words(params['assistant'])}"


def _skipped_on_request(params: Params) -> str:
    who = assistant_words(params["assistant"]) if params["assistant"] else "the user"
    return f"{who} asked to skip this run{_only_time(params)}"


def _started_anyway(params: Params) -> str:
    words: list[str] = []
    conditions = [condition_from_dict(data) for data in params["conditions"]]
    if params["quiet"] is not None:
        name = params["quiet"]
        words.append(f"quiet hours ignored: {name}" if name else "quiet hours ignored")
    if conditions:
        unmet = "unmet " if params["is_waiting"] else ""
        words.append(f"{unmet}conditions ignored: {waiting_words(conditions)}")
    return "; ".join(words)


def _waited(params: Params) -> str:
    data = dict(params["details"])
    conditions = tuple(map(condition_from_dict, data.pop("conditions", ())))
    details = WaitingDetails(conditions=conditions, **data)
    return waited_words(Waiting(kind=WaitingFor(params["waiting_for"]), details=details), 0)


def _left_running(params: Params) -> str:
    pids = params["pids"]
    what = "a process it started still runs" if len(pids) == 1 else "processes it started still run"
    return f"{what} ({listed([str(pid) for pid in pids])})"


def _ended_with_test(params: Params) -> str:
    count = params["count"]
    return f"{'a process' if count == 1 else f'{count} processes'} it left running ended with the test"


def _follower(params: Params) -> str:
    is_fault = params["why"] == "fault"
    because = "because of an error (see the log)" if is_fault else f"because it was {params['why']}"
    return f"{shortened(params['name'])} was not triggered, {because}"


def _item_not_settled(params: Params) -> str:
    words = f"the item could not be {_SETTLED[params['verdict']]}"
    if params["is_final"]:
        return f"{words} within 7 days and is no longer retried: {params['error']}"
    return f"{words}; retrying for 7 days: {params['error']}"


def _unreadable_line(params: Params) -> str:
    why = params.get("why")
    return f"a line of its output could not be read: {params['line']}{f' ({why})' if why else ''}"


def _not_searched(params: Params) -> str:
    because = (
        "the disk was so full" if params["is_disk_full"] else "it printed so much while Halo was not running"
    )
    return f"{because} that not all of its output was searched for output commands"


def _only_time(params: Params) -> str:
    return _ONCE if params.get("is_only_time") else ""


def _processes(params: Params) -> str:
    """Return "process 12 (sleep)" or "processes 12 (sleep) and 13 (cp)"."""
    named: Sequence[str] = [f"{pid} ({name})" for pid, name in params["processes"]]
    more = [f"{params['more']} more"] if params.get("more") else []
    return f"{'process' if len(named) == 1 else 'processes'} {listed([*named, *more])}"


_WORDS: Words = {
    **FAULTS,
    **CONDITION_STATES,
    MessageKind.TEXT: "{text}",
    MessageKind.EXIT_CODE: _exit_code,
    MessageKind.NOT_REMINDED: "the notification could not be shown: {error}",
    MessageKind.EXIT_UNKNOWN: "ended while Halo was not running, exit code unknown",
    MessageKind.STOPPED_BY_USER: "stopped by the user",
    MessageKind.STOPPED_AT_QUIT: "stopped because Halo was quit",
    MessageKind.STOPPED_TO_RESTART: "stopped because its next run was due",
    MessageKind.TIME_LIMIT: "it ran longer than its time limit",
    MessageKind.FILLED_DISK: "stopped: its output filled the disk faster than Halo could shorten it",
    MessageKind.CANCELLED_BEFORE_START: "cancelled by the user before it started",
    MessageKind.HALO_ENDED: "Halo ended while it ran",
    MessageKind.HALO_ENDED_BEFORE_START: "Halo ended before it was started",
    MessageKind.HANDLER_RAISED: _handler_raised,
    MessageKind.HANDLER_RETURNED: "the handler returned a {type}; expected None, an Outcome or a Future",
    MessageKind.NOT_STARTED: "it could not be started: {error}",
    MessageKind.SHORTAGE: _shortage,
    MessageKind.NO_ROOM: f"it could not be started: {_NO_ROOM}",
    MessageKind.WAITING_FOR_SHORTAGE: lambda params: f"waiting for {_awaited_shortage(params)}",
    MessageKind.UNSUPPORTED_ACTION: "this program can't run a {action} job",
    MessageKind.UNREADABLE_TEST: "the job to test cannot be read",
    MessageKind.NO_FOLDER: "the working directory {path!r} does not exist",
    MessageKind.NOT_A_FOLDER: "the working directory {path!r} is not a folder",
    MessageKind.FOLDER_CLOSED: "the working directory {path!r} cannot be entered: permission denied",
    MessageKind.NO_ITEM_FOLDER: "the folder of its items, {path!r}, does not exist",
    MessageKind.NOT_ON_PATH: "there is no program {program!r} on the PATH ({path})",
    MessageKind.NO_PROGRAM: "there is no program {program!r}",
    MessageKind.NOT_A_PROGRAM: "{program!r} is not a program",
    MessageKind.PROGRAM_CLOSED: "{program!r} may not be executed: permission denied",
    MessageKind.NO_INTERPRETER: "{program!r} needs {interpreter!r}, which does not exist",
    MessageKind.NO_AGENT: "no agent is set up for the prompt",
    MessageKind.PROMPT_TOO_LONG: (
        "the prompt has {bytes:,} bytes, but an agent can be given at most {most:,} as an argument; "
        "let it read its standard input or {{prompt_file}}"
    ),
    MessageKind.NO_SECRETS: "its secrets cannot be read: {error}",
    MessageKind.QUESTION_OPEN: _question,
    MessageKind.RUN_LIMIT: _run_limit,
    MessageKind.COST_LIMIT: _cost_limit,
    MessageKind.QUIET_TIME: _quiet_time,
    MessageKind.CONDITIONS_UNMET: _conditions_unmet,
    MessageKind.NOT_AFTER: _not_after,
    MessageKind.SKIPPED_ON_REQUEST: _skipped_on_request,
    MessageKind.NOT_AFTER_EVENT: "it was {state} when the event happened",
    MessageKind.INPUT_LOST: "the input of its earlier attempt is no longer stored",
    MessageKind.NOT_REVIEWED: "an assistant changed the job, and the change has not been reviewed",
    MessageKind.JOB_PAUSED: "the job was paused at that time",
    MessageKind.JOB_IN_TRASH: "the job was in the trash at that time",
    MessageKind.MISSED: "Halo was not running at that time",
    MessageKind.MISSED_BY_OUTAGE: "the database could not be written at that time",
    MessageKind.MISSED_REQUEST: "Halo was not running when this was requested",
    MessageKind.UNPLANNABLE: "its next run could not be planned",
    MessageKind.UNREADABLE_JOB: "it cannot be read: {error}",
    MessageKind.ASKED_BY: _asked_by,
    MessageKind.EVENTS_FOLDED: lambda params: f"it also counts for {counted(params['count'], 'other event')}",
    MessageKind.STARTED_ANYWAY: _started_anyway,
    MessageKind.WAITED: _waited,
    MessageKind.WAITED_FOR_SHORTAGE: lambda params: f"it waited for {_awaited_shortage(params)}",
    MessageKind.ENDED_UNSEEN: "it ended while Halo was not running",
    MessageKind.DISK_WAS_FULL: "the disk was full while it ran",
    MessageKind.NOT_GONE: lambda params: (
        f"killed, but still there: {_processes(params)}; the run ends when the system releases them"
    ),
    MessageKind.NOT_STOPPED: lambda params: (
        f"not stopped, because it belongs to another user: {_processes(params)}"
    ),
    MessageKind.PERHAPS_RUNNING: lambda params: (
        f"still running, and perhaps started by this run: {_processes(params)}"
    ),
    MessageKind.LEFT_RUNNING: _left_running,
    MessageKind.ENDED_WITH_TEST: _ended_with_test,
    MessageKind.NOT_KEPT_AWAKE: "the computer could not be kept awake: {error}",
    MessageKind.HINT_REFUSED: "its hint was ignored, because the job has no next run to move",
    MessageKind.FOLLOWER_NOT_RUN: _follower,
    MessageKind.ITEM_NOT_SETTLED: _item_not_settled,
    MessageKind.ITEM_SETTLED_LATE: lambda params: f"it has since been {_SETTLED[params['verdict']]}",
    MessageKind.UNREADABLE_LINE: _unreadable_line,
    MessageKind.TOO_MANY_LINES: "it printed more than {most:,} output commands; the rest was ignored",
    MessageKind.OUTPUT_NOT_SEARCHED: _not_searched,
    MessageKind.ANSWER_TOO_LONG: "the response has more than {most:,} bytes and was not searched for output commands",
    MessageKind.ANSWER_NOT_JSON: "the response is not valid JSON",
    MessageKind.UNREADABLE_ANSWER: 'the "halo" field of the response is invalid: {error}',
}
