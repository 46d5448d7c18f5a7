"""Messages in words: every kind has its sentence."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from halo_scheduler.grammar.interval import DAY_MS, HOUR_MS, MINUTE_MS
from halo_scheduler.model import MainsPower, Network, Outcome, SkipReason, WaitingDetails
from halo_scheduler.model.messages import Message, MessageKind, message, read_message, stored_message
from halo_scheduler.wording.messages import (
    OUTCOMES,
    SKIP_REASONS,
    MessageError,
    error_message,
    message_words,
    messages_words,
)

POWER = MainsPower().to_dict()
NETWORK = Network().to_dict()
NO_DETAILS = WaitingDetails().to_dict()
EVENING = int(datetime(2026, 11, 18, 22, tzinfo=UTC).timestamp() * 1000)
NIGHT: dict[str, Any] = {"name": "Night", "until": EVENING + 9 * HOUR_MS, "at": EVENING}
TWO = {"processes": [[12, "sleep"], [13, "cp"]]}

_REDIRECT = {"place": "x:1", "target": "y:1"}

SENTENCES: list[tuple[MessageKind, dict[str, Any], str]] = [
    (MessageKind.TEXT, {"text": "boom {x}"}, "boom {x}"),
    (
        MessageKind.NOT_REMINDED,
        {"error": "there is no session bus"},
        "the notification could not be shown: there is no session bus",
    ),
    (MessageKind.EXIT_CODE, {"code": 3}, "exit code 3"),
    (
        MessageKind.EXIT_CODE,
        {"code": 137, "signal": "SIGKILL"},
        "exit code 137 (SIGKILL: killed, perhaps out of memory)",
    ),
    (MessageKind.EXIT_CODE, {"code": 130, "signal": "SIGINT"}, "exit code 130 (SIGINT)"),
    (MessageKind.EXIT_CODE, {"code": 126}, "exit code 126 (not executable)"),
    (MessageKind.EXIT_CODE, {"code": 127}, "exit code 127 (command not found)"),
    (MessageKind.EXIT_UNKNOWN, {}, "ended while Halo was not running, exit code unknown"),
    (MessageKind.STOPPED_BY_USER, {}, "stopped by the user"),
    (MessageKind.STOPPED_AT_QUIT, {}, "stopped because Halo was quit"),
    (MessageKind.SKIPPED_ON_REQUEST, {"assistant": None}, "the user asked to skip this run"),
    (
        MessageKind.SKIPPED_ON_REQUEST,
        {"assistant": "claude", "is_only_time": True},
        "the assistant “claude” asked to skip this run; it had only this time, so run it manually or set a new one",
    ),
    (MessageKind.NOT_REVIEWED, {}, "an assistant changed the job, and the change has not been reviewed"),
    (MessageKind.STOPPED_TO_RESTART, {}, "stopped because its next run was due"),
    (MessageKind.TIME_LIMIT, {}, "it ran longer than its time limit"),
    (
        MessageKind.FILLED_DISK,
        {},
        "stopped: its output filled the disk faster than Halo could shorten it",
    ),
    (MessageKind.CANCELLED_BEFORE_START, {}, "cancelled by the user before it started"),
    (MessageKind.HALO_ENDED, {}, "Halo ended while it ran"),
    (MessageKind.HALO_ENDED_BEFORE_START, {}, "Halo ended before it was started"),
    (MessageKind.HANDLER_RAISED, {"error": "ValueError", "text": "no"}, "ValueError: no"),
    (MessageKind.HANDLER_RAISED, {"error": "ValueError", "text": ""}, "ValueError"),
    (
        MessageKind.HANDLER_RETURNED,
        {"type": "int"},
        "the handler returned a int; expected None, an Outcome or a Future",
    ),
    (MessageKind.NOT_STARTED, {"error": "exec format error"}, "it could not be started: exec format error"),
    (MessageKind.SHORTAGE, {"shortage": "disk"}, "it could not be started: the disk is full"),
    (
        MessageKind.NO_ROOM,
        {},
        "it could not be started: too many processes run on this computer, or it has too little memory left",
    ),
    (MessageKind.WAITING_FOR_SHORTAGE, {"shortage": "memory"}, "waiting for free memory to start"),
    (MessageKind.UNSUPPORTED_ACTION, {"action": "callback"}, "this program can't run a callback job"),
    (MessageKind.UNREADABLE_TEST, {}, "the job to test cannot be read"),
    (MessageKind.NO_FOLDER, {"path": "/x"}, "the working directory '/x' does not exist"),
    (MessageKind.NOT_A_FOLDER, {"path": "/x"}, "the working directory '/x' is not a folder"),
    (
        MessageKind.FOLDER_CLOSED,
        {"path": "/x"},
        "the working directory '/x' cannot be entered: permission denied",
    ),
    (MessageKind.NO_ITEM_FOLDER, {"path": "/x"}, "the folder of its items, '/x', does not exist"),
    (MessageKind.NOT_ON_PATH, {"program": "x", "path": "/bin"}, "there is no program 'x' on the PATH (/bin)"),
    (MessageKind.NO_PROGRAM, {"program": "/x"}, "there is no program '/x'"),
    (MessageKind.NOT_A_PROGRAM, {"program": "/x"}, "'/x' is not a program"),
    (MessageKind.PROGRAM_CLOSED, {"program": "/x"}, "'/x' may not be executed: permission denied"),
    (
        MessageKind.NO_INTERPRETER,
        {"program": "/x", "interpreter": "/y"},
        "'/x' needs '/y', which does not exist",
    ),
    (MessageKind.NO_AGENT, {}, "no agent is set up for the prompt"),
    (
        MessageKind.PROMPT_TOO_LONG,
        {"bytes": 2_000, "most": 1_000},
        (
            "the prompt has 2,000 bytes, but an agent can be given at most 1,000 as an argument; "
            "let it read its standard input or {prompt_file}"
        ),
    ),
    (MessageKind.NO_SECRETS, {"error": "OSError()"}, "its secrets cannot be read: OSError()"),
    (MessageKind.NO_WEB_ADDRESS, {"url": "ftp:x"}, "ftp:x is not a valid URL"),
    (
        MessageKind.BAD_HEADER_SECRET,
        {"name": "X-Key"},
        "a value in the header X-Key has more than one line or control characters",
    ),
    (
        MessageKind.BAD_PROXY,
        {"name": "http_proxy"},
        "the variable http_proxy is not a proxy address; use one like http://proxy:3128",
    ),
    (
        MessageKind.UNKNOWN_PROXY,
        {"name": "http_proxy", "scheme": "socks5"},
        "the variable http_proxy names a socks5 proxy; use one that begins with http://",
    ),
    (MessageKind.PROXY_REFUSED, {"place": "x:1", "error": "403"}, "the proxy cannot reach x:1: 403"),
    (MessageKind.NAME_NOT_FOUND, {"host": "x"}, "the name 'x' was not found"),
    (MessageKind.CONNECTION_REFUSED, {"place": "x:1"}, "x:1 refused the connection"),
    (MessageKind.NOT_REACHED, {"place": "x:1", "error": "No route"}, "x:1 cannot be reached: No route"),
    (
        MessageKind.NO_TLS,
        {"place": "x:1", "is_untrusted": True, "error": "self-signed"},
        "no secure (TLS) connection to x:1: its certificate cannot be trusted (self-signed)",
    ),
    (
        MessageKind.NO_TLS,
        {"place": "x:1", "is_untrusted": False, "error": ""},
        "no secure (TLS) connection to x:1: it was refused",
    ),
    (MessageKind.NO_ANSWER_IN_TIME, {"place": "x:1", "seconds": 2.5}, "x:1 did not answer within 2.5 s"),
    (
        MessageKind.NOT_HTTP,
        {"place": "x:1", "what": "header", "error": ""},
        "x:1 sent an invalid HTTP response: a header cannot be read",
    ),
    (
        MessageKind.NOT_HTTP,
        {"place": "x:1", "what": "lengths", "error": ""},
        "x:1 sent an invalid HTTP response: it states two different lengths",
    ),
    (
        MessageKind.NOT_HTTP,
        {"place": "x:1", "what": "", "error": "220 smtp"},
        "x:1 sent an invalid HTTP response: 220 smtp",
    ),
    (MessageKind.CLOSED_BEFORE_ANSWER, {"place": "x:1"}, "x:1 closed the connection without a response"),
    (
        MessageKind.CLOSED_IN_ANSWER,
        {"place": "x:1"},
        "x:1 closed the connection in the middle of its response",
    ),
    (MessageKind.BODY_NOT_DECOMPRESSED, {"place": "x:1"}, "x:1 sent a body that cannot be decompressed"),
    (
        MessageKind.UNEXPECTED_STATUS,
        {"place": "x:1", "answer": "404 Not Found", "expected": []},
        "x:1 answered 404 Not Found; expected 2xx",
    ),
    (
        MessageKind.UNEXPECTED_STATUS,
        {"place": "x:1", "answer": "404", "expected": [200, 204]},
        "x:1 answered 404; expected 200 or 204",
    ),
    (
        MessageKind.REDIRECT_ELSEWHERE,
        {"place": "x:1"},
        "x:1 redirects to something that is neither http nor https",
    ),
    (MessageKind.REDIRECT_NOT_FOLLOWED, _REDIRECT, "x:1 redirects to y:1, which the job does not follow"),
    (MessageKind.REDIRECT_NOT_ENCRYPTED, _REDIRECT, "x:1 redirects to y:1, which is not encrypted"),
    (MessageKind.REDIRECT_WITH_BODY, _REDIRECT, "x:1 redirects to y:1, which must not get the body"),
    (
        MessageKind.TOO_MANY_REDIRECTS,
        {**_REDIRECT, "most": 10},
        "x:1 redirects to y:1: more than 10 redirects in a row",
    ),
    (MessageKind.REQUEST_STOPPED, {}, "it was stopped"),
    (MessageKind.REQUEST_FAILED, {"error": "KeyError"}, "the request failed: KeyError"),
    (
        MessageKind.REQUEST_TO_FAILED,
        {"place": "x:1", "error": "KeyError"},
        "the request to x:1 failed: KeyError",
    ),
    (MessageKind.OUTPUT_NOT_WRITTEN, {"error": "No space"}, "its output cannot be written: No space"),
    (MessageKind.QUESTION_OPEN, {"question": "Deploy?"}, "it waits for your answer to: Deploy?"),
    (
        MessageKind.QUESTION_OPEN,
        {"question": "Deploy?", "is_only_time": True},
        "it waits for your answer to: Deploy?; it had only this time, so run it manually or set a new one",
    ),
    (
        MessageKind.RUN_LIMIT,
        {"runs": 2, "limit": 2},
        "2 runs today, which is its daily limit; it may run again after midnight",
    ),
    (
        MessageKind.RUN_LIMIT,
        {"runs": 3, "limit": 2, "is_only_time": True},
        "3 runs today, and its daily limit is 2; it had only this time, so run it manually or set a new one",
    ),
    (
        MessageKind.COST_LIMIT,
        {"cost": 1.5, "limit": 1.0},
        "its runs cost 1.50 today, and its daily limit is 1.00; it may run again after midnight",
    ),
    (MessageKind.QUIET_TIME, NIGHT, "it was due in the quiet hours Night, which end at 07:00"),
    (
        MessageKind.QUIET_TIME,
        {**NIGHT, "name": "", "until": EVENING + 2 * DAY_MS},
        "it was due in the quiet hours, which end on Friday at 22:00",
    ),
    (
        MessageKind.CONDITIONS_UNMET,
        {"conditions": [POWER], "states": ["the computer runs on battery"], "waited_ms": 10 * MINUTE_MS},
        "it waited 10 minutes for AC power: the computer runs on battery",
    ),
    (
        MessageKind.CONDITIONS_UNMET,
        {"conditions": [POWER, NETWORK], "states": [], "waited_ms": HOUR_MS},
        "it waited 1 hour for AC power and network: it does not exist",
    ),
    (
        MessageKind.NOT_AFTER,
        {"name": "Build", "state": "paused"},
        "it was triggered by Build, but it was paused at that time",
    ),
    (
        MessageKind.NOT_AFTER_EVENT,
        {"state": "paused"},
        "it was paused when the event happened",
    ),
    (
        MessageKind.EVENTS_FOLDED,
        {"count": 2},
        "it also counts for 2 other events",
    ),
    (MessageKind.JOB_PAUSED, {}, "the job was paused at that time"),
    (MessageKind.INPUT_LOST, {}, "the input of its earlier attempt is no longer stored"),
    (MessageKind.JOB_IN_TRASH, {}, "the job was in the trash at that time"),
    (MessageKind.MISSED, {}, "Halo was not running at that time"),
    (MessageKind.MISSED_BY_OUTAGE, {}, "the database could not be written at that time"),
    (MessageKind.MISSED_REQUEST, {}, "Halo was not running when this was requested"),
    (MessageKind.UNPLANNABLE, {}, "its next run could not be planned"),
    (MessageKind.UNREADABLE_JOB, {"error": "no such zone"}, "it cannot be read: no such zone"),
    (MessageKind.ASKED_BY, {"assistant": "codex"}, "requested by the assistant “codex”"),
    (
        MessageKind.STARTED_ANYWAY,
        {"trigger": "manual", "quiet": "Night", "conditions": [POWER], "is_waiting": True},
        "quiet hours ignored: Night; unmet conditions ignored: AC power",
    ),
    (
        MessageKind.STARTED_ANYWAY,
        {"trigger": "answer", "quiet": "", "conditions": [], "is_waiting": False},
        "quiet hours ignored",
    ),
    (
        MessageKind.STARTED_ANYWAY,
        {"trigger": "manual", "quiet": None, "conditions": [POWER], "is_waiting": False},
        "conditions ignored: AC power",
    ),
    (
        MessageKind.STARTED_ANYWAY,
        {"trigger": "manual", "quiet": None, "conditions": [POWER, NETWORK], "is_waiting": False},
        "conditions ignored: AC power and network",
    ),
    (
        MessageKind.WAITED,
        {"waiting_for": "condition", "details": WaitingDetails(conditions=(Network(),)).to_dict()},
        "waited for network",
    ),
    (MessageKind.WAITED, {"waiting_for": "at_capacity", "details": NO_DETAILS}, "waited: limit reached"),
    (MessageKind.WAITED_FOR_SHORTAGE, {"shortage": "files"}, "it waited for free file descriptors to start"),
    (MessageKind.ENDED_UNSEEN, {}, "it ended while Halo was not running"),
    (MessageKind.DISK_WAS_FULL, {}, "the disk was full while it ran"),
    (
        MessageKind.NOT_GONE,
        {"processes": [[12, "sleep"]]},
        "killed, but still there: process 12 (sleep); the run ends when the system releases them",
    ),
    (
        MessageKind.NOT_STOPPED,
        TWO,
        "not stopped, because it belongs to another user: processes 12 (sleep) and 13 (cp)",
    ),
    (
        MessageKind.PERHAPS_RUNNING,
        {**TWO, "more": 4},
        "still running, and perhaps started by this run: processes 12 (sleep), 13 (cp) and 4 more",
    ),
    (MessageKind.LEFT_RUNNING, {"pids": [7]}, "a process it started still runs (7)"),
    (MessageKind.LEFT_RUNNING, {"pids": [7, 8]}, "processes it started still run (7 and 8)"),
    (MessageKind.ENDED_WITH_TEST, {"count": 1}, "a process it left running ended with the test"),
    (MessageKind.ENDED_WITH_TEST, {"count": 2}, "2 processes it left running ended with the test"),
    (MessageKind.NOT_KEPT_AWAKE, {"error": "no service"}, "the computer could not be kept awake: no service"),
    (
        MessageKind.HINT_REFUSED,
        {},
        "its hint was ignored, because the job has no next run to move",
    ),
    (
        MessageKind.FOLLOWER_NOT_RUN,
        {"name": "Report", "why": "paused"},
        "Report was not triggered, because it was paused",
    ),
    (
        MessageKind.FOLLOWER_NOT_RUN,
        {"name": "Report", "why": "fault"},
        "Report was not triggered, because of an error (see the log)",
    ),
    (
        MessageKind.ITEM_NOT_SETTLED,
        {"verdict": "done", "is_final": False, "error": "no network"},
        "the item could not be reported as done; retrying for 7 days: no network",
    ),
    (
        MessageKind.ITEM_NOT_SETTLED,
        {"verdict": "released", "is_final": True, "error": "no network"},
        "the item could not be released within 7 days and is no longer retried: no network",
    ),
    (MessageKind.ITEM_SETTLED_LATE, {"verdict": "failed"}, "it has since been reported as failed"),
    (MessageKind.UNREADABLE_LINE, {"line": "::x"}, "a line of its output could not be read: ::x"),
    (
        MessageKind.UNREADABLE_LINE,
        {"line": "::x", "why": "no"},
        "a line of its output could not be read: ::x (no)",
    ),
    (
        MessageKind.TOO_MANY_LINES,
        {"most": 10_000},
        "it printed more than 10,000 output commands; the rest was ignored",
    ),
    (
        MessageKind.OUTPUT_NOT_SEARCHED,
        {"is_disk_full": True},
        "the disk was so full that not all of its output was searched for output commands",
    ),
    (
        MessageKind.OUTPUT_NOT_SEARCHED,
        {"is_disk_full": False},
        "it printed so much while Halo was not running that not all of its output was searched for output commands",
    ),
    (
        MessageKind.ANSWER_TOO_LONG,
        {"most": 1_048_576},
        "the response has more than 1,048,576 bytes and was not searched for output commands",
    ),
    (MessageKind.ANSWER_NOT_JSON, {}, "the response is not valid JSON"),
    (MessageKind.UNREADABLE_ANSWER, {"error": "no"}, 'the "halo" field of the response is invalid: no'),
    (MessageKind.BAD_BASE_URL, {"url": "x"}, "x is not a valid URL; check the base URL"),
    (MessageKind.RESPONSE_TOO_LARGE, {"place": "x", "megabytes": 10}, "x answered with more than 10 MB"),
    (MessageKind.NO_WORK_SOURCES, {}, "this program can't fetch work items"),
    (MessageKind.ITEM_NOT_READY, {"item": "a"}, "the item a cannot be taken: it is no longer ready"),
    (
        MessageKind.CLAIM_NOT_WRITTEN,
        {"folder": "/x", "error": "no"},
        "the run's claim cannot be recorded in /x: no",
    ),
    (MessageKind.NO_QUEUE_FOLDER, {"folder": "/x"}, "the folder /x does not exist"),
    (MessageKind.NO_HOME, {"folder": "~u/x"}, "the folder ~u/x is in a home folder that is not known"),
    (MessageKind.QUEUE_UNUSABLE, {"folder": "/x", "error": "no"}, "the folder /x cannot be used: no"),
    (MessageKind.QUEUE_NOT_A_FOLDER, {"folder": "/x"}, "/x is not a folder"),
    (
        MessageKind.SUBFOLDER_NOT_MADE,
        {"name": "done", "folder": "/x", "error": "no"},
        "the folder done/ cannot be created in /x: no",
    ),
    (MessageKind.ITEMS_NOT_LISTED, {"folder": "/x", "error": "no"}, "the files in /x cannot be listed: no"),
    (MessageKind.ITEM_NOT_READ, {"item": "a", "error": "no"}, "a cannot be read: no"),
    (
        MessageKind.ITEM_NOT_MOVED,
        {"item": "a", "folder": "done", "error": message(MessageKind.SEVERAL_DISKS)},
        "a cannot be moved to done/: ready/, in-progress/, done/ and failed/ must be on one disk",
    ),
    (MessageKind.ITEM_NOT_A_FILE, {"item": "a"}, "a is no longer a file"),
    (
        MessageKind.ITEM_SET_ASIDE,
        {"error": message(MessageKind.ITEM_NOT_A_FILE, item="a"), "folder": "failed"},
        "a is no longer a file; it is now in failed/",
    ),
    (MessageKind.SEVERAL_DISKS, {}, "ready/, in-progress/, done/ and failed/ must be on one disk"),
    (
        MessageKind.RATE_LIMIT,
        {"until": EVENING, "has_some_left": True},
        "GitHub's rate limit is nearly used up until 22:00",
    ),
    (
        MessageKind.NOT_GITHUB,
        {"place": "x", "base": "y"},
        "x did not respond like GitHub; is y the URL of its API?",
    ),
    (MessageKind.NO_ISSUES, {"base": "y"}, "y did not return issues; is it GitHub's API?"),
    (
        MessageKind.ISSUES_ELSEWHERE,
        {"base": "y"},
        "y links to more issues on another host, which is not followed",
    ),
    (
        MessageKind.GITHUB_MOVED,
        {"place": "x", "target": "z"},
        "x redirects to z; if that is right, change the repository or the base URL",
    ),
    (
        MessageKind.GITHUB_TOKEN,
        {"name": "T", "said": "bad"},
        "the token was refused (bad); set a new one with: halo secret set T",
    ),
    (
        MessageKind.GITHUB_TOKEN,
        {"name": "", "said": ""},
        "GitHub requires a token; name the secret that holds one in the job",
    ),
    (
        MessageKind.GITHUB_FORBIDDEN,
        {"said": ""},
        "GitHub does not allow it; the token must be allowed to read and write issues",
    ),
    (
        MessageKind.GITHUB_NOT_FOUND,
        {"said": "x"},
        "GitHub can't find the issue to change (x); can the token write issues?",
    ),
    (
        MessageKind.GITHUB_NO_REPOSITORY,
        {"repository": "a/b", "place": "x", "has_token": True},
        "there is no repository a/b with issues at x, or the token has no access to it",
    ),
    (
        MessageKind.GITHUB_FAULT,
        {"status": 502, "said": ""},
        "GitHub has an internal error: status 502",
    ),
    (
        MessageKind.GITHUB_REFUSED,
        {"status": 422, "said": "no"},
        "GitHub rejected the request: status 422 (no)",
    ),
    (MessageKind.SECRET_NOT_SET, {"name": "A"}, "the secret A is not set; set it with: halo secret set A"),
    (MessageKind.SECRET_CHANGED, {"name": "A"}, "the secret A was changed during the run"),
    (
        MessageKind.SECRET_GONE,
        {"name": "A"},
        "the secret A no longer exists; set it again with: halo secret set A",
    ),
    (MessageKind.SECRET_UNKNOWN, {"name": "A"}, "there is no secret named 'A'"),
    (
        MessageKind.SECRET_NOT_WRITTEN,
        {"path": "/x", "error": "no"},
        "the secret cannot be written to /x: no",
    ),
    (
        MessageKind.SECRETS_EXPOSED,
        {"path": "/x"},
        "other users can read the secrets; fix it with: chmod 600 /x",
    ),
    (MessageKind.SECRETS_NOT_READ, {"path": "/x", "error": "no"}, "the secrets in /x cannot be read: no"),
    (
        MessageKind.NO_KEYRING,
        {"name": "A"},
        "there is no keyring here; to keep it in a file that only you can read, use: halo secret set --in-file A",
    ),
    (
        MessageKind.KEYRING_NOT_READ,
        {"name": "A", "error": "no"},
        "the keyring did not return the secret A: no",
    ),
    (
        MessageKind.KEYRING_NOT_WRITTEN,
        {"name": "A", "error": "no"},
        (
            "the keyring refused it (no); "
            "to keep it in a file that only you can read, use: halo secret set --in-file A"
        ),
    ),
    (
        MessageKind.KEYRING_NOT_CLEARED,
        {"name": "A", "error": "no"},
        "the keyring may still have the secret A: no",
    ),
    (
        MessageKind.NOT_A_TOKEN,
        {"name": "A"},
        "the secret A is not a token: it contains blanks or invalid characters",
    ),
    (MessageKind.TOKEN_NOT_READ, {"error": "OSError"}, "the token cannot be read: OSError"),
    (
        MessageKind.OUTPUT_NOT_SHOWN,
        {"error": message(MessageKind.SECRET_GONE, name="A")},
        (
            "its output cannot be shown before it ends: "
            "the secret A no longer exists; set it again with: halo secret set A"
        ),
    ),
    (MessageKind.CONDITION_STATE, {"of": "power", "is_on_mains": False}, "the computer runs on battery"),
    (MessageKind.CONDITION_STATE, {"of": "network", "is_there": False}, "there is no network"),
    (MessageKind.CONDITION_STATE, {"of": "host", "place": "nas:22"}, "nas:22 answers"),
    (
        MessageKind.CONDITION_STATE,
        {"of": "host", "place": "nas:22", "error": message(MessageKind.HOST_TOO_SLOW, seconds=5.0)},
        "nas:22 does not answer (no answer within 5 s)",
    ),
    (MessageKind.HOST_TOO_SLOW, {"seconds": 0.1}, "no answer within 0.1 s"),
    (MessageKind.CONDITION_STATE, {"of": "idle", "ago_ms": 600_000}, "the last input was 10 min ago"),
    (MessageKind.CONDITION_STATE, {"of": "load", "load": 2.0}, "the load is 2.00"),
    (MessageKind.CONDITION_STATE, {"of": "path", "path": "/x", "is_there": False}, "/x does not exist"),
    (MessageKind.FOREIGN_PATH, {"path": "C:"}, "C: is not an absolute path on this system"),
    (MessageKind.PATH_CLOSED, {"path": "/x", "error": "No"}, "/x can't be accessed (no)"),
    (MessageKind.UNDETECTABLE, {"what": "idle"}, "idle time can't be detected on this system"),
    (MessageKind.NOT_PROBED, {"error": "OSError"}, "the check failed (OSError)"),
    (MessageKind.NO_RESULT, {}, "the check has no result yet"),
    (
        MessageKind.CONDITIONS_UNMET,
        {
            "conditions": [POWER],
            "states": [message(MessageKind.CONDITION_STATE, of="power", is_on_mains=False)],
            "waited_ms": HOUR_MS,
        },
        "it waited 1 hour for AC power: the computer runs on battery",
    ),
]


@pytest.mark.parametrize(("kind", "params", "sentence"), SENTENCES)
def test_a_message_has_its_sentence_after_it_was_stored(
    kind: MessageKind, params: dict[str, Any], sentence: str
) -> None:
    told = Message(kind, params)
    assert message_words(told) == sentence
    assert message_words(read_message(stored_message(told))) == sentence


def test_every_kind_has_a_sentence() -> None:
    assert {kind for kind, _, _ in SENTENCES} == set(MessageKind)


def test_a_message_with_other_parameters_names_its_kind() -> None:
    assert message_words(message(MessageKind.EXIT_CODE)) == "exit code"


def test_several_messages_are_one_line() -> None:
    noted = [
        message(MessageKind.ENDED_UNSEEN),
        message(MessageKind.TEXT, text=""),
        message(MessageKind.DISK_WAS_FULL),
    ]
    assert messages_words(noted) == "it ended while Halo was not running; the disk was full while it ran"
    assert message_words(None) == messages_words([]) == ""


def test_an_error_reads_like_its_message() -> None:
    error = MessageError(message(MessageKind.NO_ROOM))
    assert str(error) == message_words(error.message)
    assert error_message(error) is error.message


def test_an_error_of_others_is_kept_in_its_own_words() -> None:
    assert error_message(ValueError("boom")) == message(MessageKind.TEXT, text="boom")


def test_every_skip_reason_and_every_outcome_has_words() -> None:
    assert list(SKIP_REASONS) == list(SkipReason)
    assert list(OUTCOMES) == list(Outcome)
