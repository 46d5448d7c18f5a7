"""A job's situation in words."""

from __future__ import annotations

from typing import Any

import pytest
from cases import utc_ms

from halo_scheduler.model import (
    Capacity,
    JobStatus,
    MainsPower,
    Network,
    OnFile,
    Outcome,
    Situation,
    SituationKind,
    SkipReason,
    Source,
    StatusReason,
    Waiting,
    WaitingDetails,
    WaitingFor,
)
from halo_scheduler.model.settings import Quiet, QuietTime
from halo_scheduler.model.situation import LATE_MS
from halo_scheduler.model.words import Shortage
from halo_scheduler.wording.status import (
    awaited_words,
    manual_sentence,
    next_words,
    status_sentence,
    status_words,
    waited_words,
    waiting_sentences,
    waiting_words,
)

pytestmark = pytest.mark.usefixtures("machine_in_berlin")
_NOW = utc_ms("2026-11-18T12:05Z")  # Wednesday, 13:05 in Berlin
_MINUTE = 60_000
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_SOON = {"next_run_at": _NOW + 4 * _MINUTE}
_TROUBLE: dict[str, Any] = {"events": (OnFile("~/in"),), "watch_trouble": "~/in cannot be read"}
_QUIET = Quiet(_NOW + _HOUR, QuietTime(name="Night"))
_NETWORK = WaitingDetails(conditions=(Network(),))


def _situation(**fields: Any) -> Situation:
    return Situation(job_id="j", name="backup", **fields)


def _waiting(kind: WaitingFor, **fields: Any) -> Waiting:
    return Waiting(kind=kind, **fields)


_WAITS = _waiting(WaitingFor.CONDITION, details=_NETWORK)


@pytest.mark.parametrize(
    ("fields", "kind", "status", "when"),
    [
        (_SOON, "ready", "ready", "in 4 min"),
        ({}, "ready", "ready", "manual only"),
        ({"after": ("mirror",)}, "ready", "ready", "after mirror"),
        ({"after": ("a", "b")}, "ready", "ready", "after a and b"),
        ({"after": ("a", "b", "c")}, "ready", "ready", "after 3 other jobs"),
        ({**_SOON, "after": ("mirror",)}, "ready", "ready", "in 4 min"),
        ({"next_run_at": _NOW - LATE_MS}, "ready", "ready", "now"),
        ({"next_run_at": _NOW - LATE_MS - 1}, "ready", "ready", "overdue by 1 min"),
        ({**_SOON, "quiet": _QUIET}, "ready", "ready", "in 4 min · quiet"),
        (
            {**_SOON, "quiet": _QUIET, "blocker": SkipReason.QUIET_TIME},
            "ready",
            "ready",
            "in 4 min · skipped",
        ),
        ({**_SOON, "errors": 2}, "failing", "failing", "in 4 min"),
        ({**_SOON, "errors": 1, "next_source": Source.RETRY}, "retrying", "retrying", "in 4 min"),
        ({**_SOON, "blocker": SkipReason.CAP}, "capped", "daily limit reached", "daily limit reached"),
        (_TROUBLE, "troubled", "trouble: ~/in cannot be read", "trouble · on new file in in"),
        ({**_TROUBLE, **_SOON}, "troubled", "trouble: ~/in cannot be read", "trouble · in 4 min"),
        ({"status": JobStatus.RUNNING}, "running", "running", "running"),
        ({"status": JobStatus.RUNNING, "question": "Which?"}, "running", "running", "running"),
        (
            {"status": JobStatus.RUNNING, "waiting": _WAITS},
            "waiting",
            "waiting for network",
            "waiting for network",
        ),
        ({**_SOON, "question": "Which?"}, "needs_input", "needs you", "on hold until you answer"),
        ({"question": "Which?", "waiting": _WAITS}, "needs_input", "needs you", "waiting for network"),
        (
            {"question": "Which?", "status": JobStatus.PAUSED},
            "needs_input",
            "needs you, paused",
            "needs you, paused",
        ),
        (
            {"question": "Which?", "status": JobStatus.DISABLED, "reason": StatusReason.DONE},
            "needs_input",
            "needs you, done",
            "needs you, done",
        ),
        ({"waiting": _WAITS, "status": JobStatus.PAUSED}, "waiting", "waiting for network", None),
        ({"status": JobStatus.DISABLED, "reason": StatusReason.USER}, "disabled", "disabled", None),
        ({"status": JobStatus.DISABLED, "reason": StatusReason.DONE}, "done", "done", None),
        (
            {"status": JobStatus.DISABLED, "reason": StatusReason.ERRORS, "errors": 5},
            "disabled",
            "disabled after 5 failures",
            None,
        ),
        (
            {"status": JobStatus.DISABLED, "reason": StatusReason.ERRORS},
            "disabled",
            "disabled: cannot be run",
            None,
        ),
        (
            {"status": JobStatus.DISABLED, "reason": StatusReason.ASSISTANT},
            "disabled",
            "disabled, needs review",
            None,
        ),
        ({"status": JobStatus.PAUSED, "reason": StatusReason.USER}, "paused", "paused", None),
        (
            {"status": JobStatus.PAUSED, "paused_until": _NOW + _HOUR},
            "paused",
            "paused until 14:05",
            None,
        ),
        (
            {"status": JobStatus.PAUSED, "reason": StatusReason.ASSISTANT},
            "paused",
            "paused by an assistant",
            None,
        ),
        (
            {"status": JobStatus.PAUSED, "reason": StatusReason.PAUSED_BY_ASSISTANT},
            "paused",
            "paused by an assistant",
            None,
        ),
        (
            {"status": JobStatus.PAUSED, "reason": StatusReason.IMPORTED},
            "paused",
            "paused after import",
            None,
        ),
    ],
)
def test_the_status_and_the_next_run_in_words(
    fields: dict[str, Any], kind: str, status: str, when: str | None
) -> None:
    situation = _situation(**fields)
    assert situation.kind is SituationKind(kind)
    assert status_words(situation, _NOW) == status
    # What keeps a job from running is said in the same words.
    assert next_words(situation, _NOW) == (status if when is None else when)


@pytest.mark.parametrize(
    ("waiting", "words", "awaited", "waited"),
    [
        (
            _waiting(WaitingFor.AT_CAPACITY, capacity=Capacity(2, 2)),
            "waiting: limit of all jobs reached (2 of 2)",
            "limit of all jobs reached (2 of 2)",
            "waited: limit of all jobs reached (2 of 2)",
        ),
        (
            _waiting(WaitingFor.AT_CAPACITY, capacity=Capacity(1, 1, "agentx", ("agentx/a",))),
            "waiting: limit of agentx reached (1 of 1: agentx/a)",
            "limit of agentx reached (1 of 1: agentx/a)",
            "waited: limit of agentx reached (1 of 1: agentx/a)",
        ),
        (
            _waiting(WaitingFor.AT_CAPACITY, capacity=Capacity(5, 5, None, tuple("abcde"))),
            "waiting: limit of all jobs reached (5 of 5: a, b, c, …)",
            "limit of all jobs reached (5 of 5: a, b, c, …)",
            "waited: limit of all jobs reached (5 of 5: a, b, c, …)",
        ),
        (
            _waiting(WaitingFor.AT_CAPACITY),
            "waiting: limit reached",
            "limit reached",
            "waited: limit reached",
        ),
        (_WAITS, "waiting for network", "network", "waited for network"),
        (
            _waiting(WaitingFor.CONDITION),
            "waiting for its conditions",
            "its conditions",
            "waited for its conditions",
        ),
        (
            _waiting(
                WaitingFor.CONDITION,
                details=WaitingDetails(conditions=(MainsPower(), Network()), is_unobservable=True),
            ),
            "waiting for AC power and network (can't be checked right now)",
            "AC power and network (can't be checked right now)",
            "waited for AC power and network (can't be checked right now)",
        ),
        (
            _waiting(WaitingFor.QUIET_TIME, details=WaitingDetails(name="Night", until=_NOW + _HOUR)),
            "quiet until 14:05",
            "quiet until 14:05",
            "waited for quiet hours to end (Night)",
        ),
        (
            _waiting(WaitingFor.QUIET_TIME),
            "quiet hours",
            "quiet hours",
            "waited for quiet hours to end",
        ),
        (
            _waiting(WaitingFor.PREVIOUS_RUN),
            "waiting for its previous run to end",
            "its previous run to end",
            "waited for its previous run to end",
        ),
        (
            _waiting(WaitingFor.OUTPUT, details=WaitingDetails(name="mirror\x1b")),
            "waiting for the output of mirror\\x1b",
            "the output of mirror\\x1b",
            "waited for the output of mirror\\x1b",
        ),
        (
            _waiting(WaitingFor.RESOURCES, details=WaitingDetails(name=Shortage.FILES)),
            "waiting for free file descriptors to start",
            "free file descriptors to start",
            "waited for free file descriptors to start",
        ),
        (
            _waiting(WaitingFor.START),
            "waiting to start",
            "not started yet",
            "",
        ),
    ],
)
def test_every_kind_of_waiting_has_its_words(waiting: Waiting, words: str, awaited: str, waited: str) -> None:
    assert waiting_words(waiting, _NOW) == words
    assert awaited_words(waiting, _NOW) == awaited
    if waiting.kind is not WaitingFor.START:  # Nothing is noted about it.
        assert waited_words(waiting, _NOW) == waited


@pytest.mark.parametrize(
    ("waiting", "sentences"),
    [
        (_waiting(WaitingFor.START), []),
        (_waiting(WaitingFor.PREVIOUS_RUN), ["Starts when its previous run ends."]),
        (_WAITS, ["No deadline."]),
        (_WAITS._replace(deadline=_NOW + _HOUR), ["Skipped if it still waits at 14:05."]),
        (_waiting(WaitingFor.AT_CAPACITY), ["Limit reached. Starts when a run ends."]),
        (
            _waiting(WaitingFor.AT_CAPACITY, capacity=Capacity(2, 2, None, ("mirror", "sync"))),
            ["Limit of all jobs reached (2 of 2). Starts when a run ends.", "Running: mirror and sync."],
        ),
        (
            _waiting(WaitingFor.AT_CAPACITY, capacity=Capacity(5, 5, "web", tuple("abcde"))),
            ["Limit of web reached (5 of 5). Starts when a run ends.", "Running: a, b, c and 2 others."],
        ),
        (
            _waiting(WaitingFor.AT_CAPACITY, capacity=Capacity(5, 5)),
            ["Limit of all jobs reached (5 of 5). Starts when a run ends."],
        ),
        (_waiting(WaitingFor.QUIET_TIME), ["Starts when quiet hours end."]),
        (
            _waiting(WaitingFor.QUIET_TIME, details=WaitingDetails(name="Night")),
            ["Starts when quiet hours “Night” end."],
        ),
    ],
)
def test_since_when_a_run_waits_and_how_that_ends(waiting: Waiting, sentences: list[str]) -> None:
    assert waiting_sentences(waiting, _NOW) == sentences
    since = waiting._replace(since=_NOW - _HOUR)
    assert waiting_sentences(since, _NOW) == ["Due since 12:05.", *sentences]


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (_SOON, "ready, next run in 4 min"),
        ({}, "ready, manual only"),
        ({"after": ("mirror",)}, "ready, after mirror"),
        ({**_SOON, "errors": 1}, "failing, next run in 4 min"),
        ({**_SOON, **_TROUBLE}, "trouble: ~/in cannot be read, next run in 4 min"),
        ({"status": JobStatus.RUNNING, "last_outcome": Outcome.SUCCESS}, "running"),
    ],
)
def test_a_sentence_names_the_next_run(fields: dict[str, Any], sentence: str) -> None:
    assert status_sentence(_situation(**fields), _NOW) == sentence


def test_only_a_run_that_nothing_explains_is_late() -> None:
    assert not _situation(next_run_at=_NOW - LATE_MS).is_late(_NOW)
    late = _situation(next_run_at=_NOW - LATE_MS - 1)
    assert late.is_late(_NOW)
    assert not late._replace(waiting=_WAITS).is_late(_NOW)
    assert not _situation().is_late(_NOW)


def test_a_job_under_review_is_distinguished_from_a_paused_one() -> None:
    made = _situation(status=JobStatus.PAUSED, reason=StatusReason.ASSISTANT)
    assert made.needs_review
    assert not made._replace(status=JobStatus.RUNNING).needs_review
    assert not made._replace(reason=StatusReason.USER).needs_review


def test_a_waiting_manual_run_gives_its_start_and_reason() -> None:
    full = _waiting(WaitingFor.AT_CAPACITY, capacity=Capacity(1, 1, "web", ("sync",)), is_manual=True)
    words = "limit of web reached (1 of 1: sync)."
    assert manual_sentence(full, _NOW) == f"A manual run has been waiting: {words}"
    since = full._replace(since=_NOW - _HOUR)
    assert waiting_sentences(since, _NOW)[0] == "Waiting since 12:05."
    assert manual_sentence(since, _NOW) == f"A manual run has been waiting since 12:05: {words}"
