"""Messages stored with a run: a kind and its parameters, never a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from halo_scheduler.model.codec import Value


class MessageKind(StrEnum):
    """The kind of a message; `wording/messages.py` has a sentence for each."""

    TEXT = "text"
    """Words that are not ours, or that an older version stored as a sentence."""

    # How a run ended.
    EXIT_CODE = "exit_code"
    EXIT_UNKNOWN = "exit_unknown"
    STOPPED_BY_USER = "stopped_by_user"
    STOPPED_AT_QUIT = "stopped_at_quit"
    STOPPED_TO_RESTART = "stopped_to_restart"
    TIME_LIMIT = "time_limit"
    FILLED_DISK = "filled_disk"
    CANCELLED_BEFORE_START = "cancelled_before_start"
    HALO_ENDED = "halo_ended"
    HALO_ENDED_BEFORE_START = "halo_ended_before_start"
    HANDLER_RAISED = "handler_raised"
    HANDLER_RETURNED = "handler_returned"

    # Why it could not start.
    NOT_STARTED = "not_started"
    SHORTAGE = "shortage"
    NO_ROOM = "no_room"
    WAITING_FOR_SHORTAGE = "waiting_for_shortage"
    NOT_REMINDED = "not_reminded"
    UNSUPPORTED_ACTION = "unsupported_action"
    UNREADABLE_TEST = "unreadable_test"
    NO_FOLDER = "no_folder"
    NOT_A_FOLDER = "not_a_folder"
    FOLDER_CLOSED = "folder_closed"
    NO_ITEM_FOLDER = "no_item_folder"
    NOT_ON_PATH = "not_on_path"
    NO_PROGRAM = "no_program"
    NOT_A_PROGRAM = "not_a_program"
    PROGRAM_CLOSED = "program_closed"
    NO_INTERPRETER = "no_interpreter"
    NO_AGENT = "no_agent"
    PROMPT_TOO_LONG = "prompt_too_long"
    NO_SECRETS = "no_secrets"

    # What went wrong between us and a web server.
    NO_WEB_ADDRESS = "no_web_address"
    BAD_HEADER_SECRET = "bad_header_secret"  # noqa: S105 - no password
    BAD_PROXY = "bad_proxy"
    UNKNOWN_PROXY = "unknown_proxy"
    PROXY_REFUSED = "proxy_refused"
    NAME_NOT_FOUND = "name_not_found"
    CONNECTION_REFUSED = "connection_refused"
    NOT_REACHED = "not_reached"
    NO_TLS = "no_tls"
    NO_ANSWER_IN_TIME = "no_answer_in_time"
    NOT_HTTP = "not_http"
    CLOSED_BEFORE_ANSWER = "closed_before_answer"
    CLOSED_IN_ANSWER = "closed_in_answer"
    BODY_NOT_DECOMPRESSED = "body_not_decompressed"
    UNEXPECTED_STATUS = "unexpected_status"
    REDIRECT_ELSEWHERE = "redirect_elsewhere"
    REDIRECT_NOT_FOLLOWED = "redirect_not_followed"
    REDIRECT_NOT_ENCRYPTED = "redirect_not_encrypted"
    REDIRECT_WITH_BODY = "redirect_with_body"
    TOO_MANY_REDIRECTS = "too_many_redirects"
    REQUEST_STOPPED = "request_stopped"
    REQUEST_FAILED = "request_failed"
    REQUEST_TO_FAILED = "request_to_failed"
    OUTPUT_NOT_WRITTEN = "output_not_written"
    BAD_BASE_URL = "bad_base_url"
    RESPONSE_TOO_LARGE = "response_too_large"

    # Why a work queue gives no item.
    NO_WORK_SOURCES = "no_work_sources"
    ITEM_NOT_READY = "item_not_ready"
    CLAIM_NOT_WRITTEN = "claim_not_written"
    NO_QUEUE_FOLDER = "no_queue_folder"
    NO_HOME = "no_home"
    QUEUE_UNUSABLE = "queue_unusable"
    QUEUE_NOT_A_FOLDER = "queue_not_a_folder"
    SUBFOLDER_NOT_MADE = "subfolder_not_made"
    ITEMS_NOT_LISTED = "items_not_listed"
    ITEM_NOT_READ = "item_not_read"
    ITEM_NOT_MOVED = "item_not_moved"
    ITEM_NOT_A_FILE = "item_not_a_file"
    ITEM_SET_ASIDE = "item_set_aside"
    SEVERAL_DISKS = "several_disks"
    RATE_LIMIT = "rate_limit"
    NOT_GITHUB = "not_github"
    NO_ISSUES = "no_issues"
    ISSUES_ELSEWHERE = "issues_elsewhere"
    GITHUB_MOVED = "github_moved"
    GITHUB_TOKEN = "github_token"  # noqa: S105 - no password
    GITHUB_FORBIDDEN = "github_forbidden"
    GITHUB_NOT_FOUND = "github_not_found"
    GITHUB_NO_REPOSITORY = "github_no_repository"
    GITHUB_FAULT = "github_fault"
    GITHUB_REFUSED = "github_refused"

    # Why a secret cannot be used.
    SECRET_NOT_SET = "secret_not_set"  # noqa: S105
    SECRET_CHANGED = "secret_changed"  # noqa: S105
    SECRET_GONE = "secret_gone"  # noqa: S105
    SECRET_UNKNOWN = "secret_unknown"  # noqa: S105
    SECRET_NOT_WRITTEN = "secret_not_written"  # noqa: S105
    SECRETS_EXPOSED = "secrets_exposed"
    SECRETS_NOT_READ = "secrets_not_read"
    NO_KEYRING = "no_keyring"
    KEYRING_NOT_READ = "keyring_not_read"
    KEYRING_NOT_WRITTEN = "keyring_not_written"
    KEYRING_NOT_CLEARED = "keyring_not_cleared"
    NOT_A_TOKEN = "not_a_token"  # noqa: S105
    TOKEN_NOT_READ = "token_not_read"  # noqa: S105
    OUTPUT_NOT_SHOWN = "output_not_shown"

    # What was found about a condition.
    CONDITION_STATE = "condition_state"
    HOST_TOO_SLOW = "host_too_slow"
    FOREIGN_PATH = "foreign_path"
    PATH_CLOSED = "path_closed"
    UNDETECTABLE = "undetectable"
    NOT_PROBED = "not_probed"
    NO_RESULT = "no_result"

    # Why it was skipped or missed.
    QUESTION_OPEN = "question_open"
    RUN_LIMIT = "run_limit"
    COST_LIMIT = "cost_limit"
    QUIET_TIME = "quiet_time"
    CONDITIONS_UNMET = "conditions_unmet"
    NOT_AFTER = "not_after"
    SKIPPED_ON_REQUEST = "skipped_on_request"
    NOT_AFTER_EVENT = "not_after_event"
    INPUT_LOST = "input_lost"
    NOT_REVIEWED = "not_reviewed"
    JOB_PAUSED = "job_paused"
    JOB_IN_TRASH = "job_in_trash"
    MISSED = "missed"
    MISSED_BY_OUTAGE = "missed_by_outage"
    MISSED_REQUEST = "missed_request"

    # Why a job was disabled.
    UNPLANNABLE = "unplannable"
    UNREADABLE_JOB = "unreadable_job"

    # What is noted on a run.
    ASKED_BY = "asked_by"
    EVENTS_FOLDED = "events_folded"
    STARTED_ANYWAY = "started_anyway"
    WAITED = "waited"
    WAITED_FOR_SHORTAGE = "waited_for_shortage"
    ENDED_UNSEEN = "ended_unseen"
    DISK_WAS_FULL = "disk_was_full"
    NOT_GONE = "not_gone"
    NOT_STOPPED = "not_stopped"
    PERHAPS_RUNNING = "perhaps_running"
    LEFT_RUNNING = "left_running"
    ENDED_WITH_TEST = "ended_with_test"
    NOT_KEPT_AWAKE = "not_kept_awake"
    HINT_REFUSED = "hint_refused"
    FOLLOWER_NOT_RUN = "follower_not_run"
    ITEM_NOT_SETTLED = "item_not_settled"
    ITEM_SETTLED_LATE = "item_settled_late"
    UNREADABLE_LINE = "unreadable_line"
    TOO_MANY_LINES = "too_many_lines"
    OUTPUT_NOT_SEARCHED = "output_not_searched"
    ANSWER_TOO_LONG = "answer_too_long"
    ANSWER_NOT_JSON = "answer_not_json"
    UNREADABLE_ANSWER = "unreadable_answer"


@dataclass(frozen=True, slots=True)
class Message(Value):
    """A message about a run: its kind and the parameters of its sentence, plain JSON data or other messages."""

    kind: MessageKind
    params: Mapping[str, Any] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((self.kind, *sorted(self.params)))

    def adding(self, **params: Any) -> Message:
        """Return the message with more parameters."""
        return Message(self.kind, {**self.params, **params})

    def changing_text(self, change: Callable[[str], str]) -> Message:
        """Return the message with every text in its parameters changed, such as by a redactor."""
        return Message(self.kind, {name: _changed(value, change) for name, value in self.params.items()})


Messages = tuple[Message, ...]
_FORM = {"kind", "params"}


def message(kind: MessageKind, **params: Any) -> Message:
    """Return a message; its parameters are plain JSON data or other messages."""
    return Message(kind, params)


def text_message(text: str) -> Message | None:
    """Return a foreign text as a message; None for an empty text."""
    return message(MessageKind.TEXT, text=text) if text else None


def stored_messages(messages: Iterable[Message]) -> str:
    """Return messages as they are stored: a JSON list; "" for none."""
    data = [entry.to_dict() for entry in messages]
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")) if data else ""


def read_messages(stored: str) -> Messages:
    """Return stored messages; unreadable ones are shown as they are."""
    if not stored:
        return ()
    try:
        return tuple(_read(entry) for entry in json.loads(stored))
    except (ValueError, TypeError, KeyError, AttributeError):
        return (message(MessageKind.TEXT, text=stored),)


def stored_message(entry: Message | None) -> str:
    """Return one message as it is stored; "" for None."""
    return "" if entry is None else stored_messages([entry])


def read_message(stored: str) -> Message | None:
    """Return the first stored message; None if there is none."""
    return next(iter(read_messages(stored)), None)


def _read(data: Any) -> Message:
    return Message(MessageKind(data["kind"]), {name: _param(value) for name, value in data["params"].items()})


def _param(value: Any) -> Any:
    """Return a stored parameter, which may be a message or a list of them."""
    if isinstance(value, list):
        return [_param(item) for item in value]
    return _read(value) if isinstance(value, dict) and value.keys() == _FORM else value


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Message):
        return value.changing_text(change)
    if isinstance(value, Mapping):
        return {name: _changed(item, change) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_changed(item, change) for item in value]
    return value
