"""What an assistant may do is decided inside the transaction of its edit, and every edit keeps its actor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from asking import ask
from assistant import Assistant
from click.testing import CliRunner

from halo_scheduler import (
    Command,
    Every,
    Manual,
    OnChat,
    Policy,
    ScheduleError,
    Scheduler,
    SchedulerError,
    Several,
)
from halo_scheduler.cli import halo
from halo_scheduler.clock import ManualClock
from halo_scheduler.model import Follower, JobSpec, Schedule
from halo_scheduler.model.changes import ADVISER, IMPORT, TERMINAL, YOU, Actor
from halo_scheduler.model.chat import ChatBot, ChatServiceName
from halo_scheduler.model.schedules import combine
from halo_scheduler.model.settings import AssistantAccess
from halo_scheduler.rules import assistants
from halo_scheduler.rules.edit import begin_edit
from halo_scheduler.rules.pauses import pause
from halo_scheduler.rules.run_requests import answer_question
from halo_scheduler.store.events import EventKind
from halo_scheduler.transfer.document import read_document

_NOW = 1_800_000_000_000
_TRUE = Command(argv=("true",))


@pytest.fixture
def scheduler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scheduler]:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    with Scheduler.open(clock=ManualClock(_NOW)) as opened:
        opened.settings.change(assistants=AssistantAccess.EDIT)
        yield opened


_EDITS: dict[str, Callable[[Assistant, str], object]] = {
    "add": lambda assistant, _job_id: assistant.add_job("made", Manual(), _TRUE),
    "update": lambda assistant, job_id: assistant.update_job(job_id, description="x"),
    "pause": lambda assistant, job_id: assistant.pause_job(job_id),
    "resume": lambda assistant, job_id: assistant.resume_job(job_id),
    "trigger": lambda assistant, job_id: assistant.trigger(job_id),
    "pace": lambda assistant, job_id: assistant.propose_interval(job_id, "1m", "1h", "soon"),
    "next": lambda assistant, job_id: assistant.propose_next_run(job_id, _NOW + 60_000, "1h", "soon"),
    "clear": lambda assistant, job_id: assistant.clear_hints(job_id),
}
_STARTS = ("resume", "trigger", "pace", "next", "clear")


class _Rival:
    """Tries, from another connection that does not wait, to change something while a check is made."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._connection = apsw.Connection(str(path))
        self._connection.set_busy_timeout(0)
        self._monkeypatch = monkeypatch
        self.tries: list[bool] = []

    def come_between(self, check: str) -> None:
        """Try it right before and right after a check, whenever that is made."""
        real = getattr(assistants, check)

        def watched(*given: Any) -> Any:
            self._try()
            found = real(*given)
            found = iter(list(found)) if isinstance(found, Iterator) else found
            self._try()
            return found

        self._monkeypatch.setattr(assistants, check, watched)

    def _try(self) -> None:
        try:
            self._connection.execute("UPDATE scheduler_settings SET value = value").fetchall()
        except apsw.BusyError:
            self.tries.append(False)
        else:
            self.tries.append(True)

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def rival(scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch) -> Iterator[_Rival]:
    made = _Rival(scheduler.path, monkeypatch)
    yield made
    made.close()


@pytest.mark.parametrize("edit", _EDITS)
def test_the_level_cannot_change_between_check_and_edit(
    scheduler: Scheduler, rival: _Rival, edit: str
) -> None:
    job_id = scheduler.add_job("backup", Every("1h"), _TRUE)
    rival.come_between("require_access")
    _EDITS[edit](Assistant(scheduler), job_id)
    assert rival.tries
    assert not any(rival.tries)


@pytest.mark.parametrize("edit", _STARTS)
def test_consent_cannot_change_between_check_and_edit(scheduler: Scheduler, rival: _Rival, edit: str) -> None:
    then_id = scheduler.add_job("report", Manual(), _TRUE)
    job_id = scheduler.add_job("backup", Every("1h"), _TRUE, followers=(Follower(job_id=then_id),))
    rival.come_between("with_followers")
    _EDITS[edit](Assistant(scheduler), job_id)
    assert rival.tries
    assert not any(rival.tries)


@pytest.mark.parametrize("edit", _EDITS)
def test_decisions_made_before_the_transaction_count(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch, edit: str
) -> None:
    """The last moment in which a person can still refuse: the assistant waits for its turn to write."""
    job_id = scheduler.add_job("backup", Every("1h"), _TRUE)
    before = scheduler.list_jobs()
    real = scheduler._store.transaction

    with Scheduler.open(clock=ManualClock(_NOW)) as person:

        def wait_for_the_person() -> Any:
            monkeypatch.setattr(scheduler._store, "transaction", real)
            person.settings.change(assistants=AssistantAccess.READ)
            return real()

        monkeypatch.setattr(scheduler._store, "transaction", wait_for_the_person)
        with pytest.raises(SchedulerError, match="assistants may"):
            _EDITS[edit](Assistant(scheduler), job_id)
    assert scheduler.list_jobs() == before
    assert scheduler.runs.waiting() == {}


# --- What only people do --------------------------------------------------------------------------------------------


_DOCUMENT = (
    b'{"version": 1, "jobs": [{"name": "new", "schedule": {"kind": "manual"}, '
    b'"action": {"kind": "command", "argv": ["true"]}}]}'
)
_FOR_PEOPLE: dict[str, Callable[[Scheduler, str, str], object]] = {
    "remove jobs": lambda it, job_id, _question: it.remove_job(job_id),
    "restore jobs": lambda it, job_id, _question: it.restore_job(job_id),
    "pause all jobs": lambda it, _job_id, _question: it.pause_all(),
    "resume all jobs": lambda it, _job_id, _question: it.resume_all(),
    "limit groups": lambda it, _job_id, _question: it.set_group_limit("g", 1),
    "cancel runs": lambda it, _job_id, _question: it.cancel_run("run"),
    "test jobs": lambda it, job_id, _question: it.runs.request_test(
        job_id, JobSpec(name="x", schedule=Manual())
    ),
    "answer questions": lambda it, _job_id, question: it.questions.answer(question, "yes"),
    "dismiss questions": lambda it, _job_id, question: it.questions.dismiss(question),
    "reopen questions": lambda it, _job_id, question: it.questions.reopen(question),
    "change the settings": lambda it, _job_id, _question: it.settings.change(assistants=AssistantAccess.EDIT),
    "set secrets": lambda it, _job_id, _question: it.secrets.set("TOKEN", "hunter2", in_file=True),
    "remove secrets": lambda it, _job_id, _question: it.secrets.remove("TOKEN"),
    "mark failures as seen": lambda it, _job_id, _question: it.runs.mark_failures_seen(),
    "import jobs": lambda it, _job_id, _question: it.imports.apply(it.imports.plan(read_document(_DOCUMENT))),
}


@pytest.mark.parametrize("what", _FOR_PEOPLE)
def test_an_assistant_is_refused_actions_of_people(scheduler: Scheduler, what: str) -> None:
    job_id = scheduler.add_job("backup", Every("1h"), _TRUE)
    question = ask(scheduler, job_id)
    before = (scheduler.list_jobs(), scheduler.settings.read(), scheduler.questions.list())
    with (
        scheduler.acting_as(Actor.assistant("claude")),
        pytest.raises(SchedulerError, match=f"assistants cannot {what}; ask a person"),
    ):
        _FOR_PEOPLE[what](scheduler, job_id, question.id)
    assert (scheduler.list_jobs(), scheduler.settings.read(), scheduler.questions.list()) == before
    assert scheduler.secrets.list() == []


@pytest.mark.parametrize("changes", [{"enabled": False}, {"metadata": {"a": "b"}}, {"anchor_at": 7}])
def test_an_assistant_cannot_set_the_fields_of_people(scheduler: Scheduler, changes: dict[str, Any]) -> None:
    job_id = scheduler.add_job("backup", Every("1h"), _TRUE)
    with pytest.raises(ScheduleError, match="an assistant cannot set this; a person can"):
        Assistant(scheduler).update_job(job_id, **changes)
    if "anchor_at" not in changes:
        with pytest.raises(ScheduleError, match="an assistant cannot set this; a person can"):
            Assistant(scheduler).add_job("made", Manual(), _TRUE, **changes)


_BOT = ChatBot(name="family", service=ChatServiceName.TELEGRAM, secret="T", permitted=("1",))  # noqa: S106 - a name
_TO_BOT, _TO_ANNA = OnChat("family/direct"), OnChat("family/direct", ("12",))


@pytest.mark.parametrize(
    ("schedule", "change"),
    [
        (Manual(), _TO_ANNA),
        (_TO_BOT, _TO_ANNA),
        (_TO_ANNA, _TO_BOT),
        (_TO_ANNA, OnChat("family/direct", ("12", "34"))),
        (_TO_ANNA, combine([_TO_ANNA, OnChat("family/-100", ("34",))])),
    ],
)
def test_an_assistant_cannot_decide_who_may_write_to_a_job(
    scheduler: Scheduler, schedule: Schedule, change: Schedule | Several
) -> None:
    scheduler.settings.change(chat_bots=(_BOT,))
    job_id = scheduler.add_job("backup", schedule, _TRUE)
    with pytest.raises(
        ScheduleError, match="an assistant cannot decide who may write to a job; a person can"
    ):
        Assistant(scheduler).update_job(job_id, schedule=change)
    assert scheduler.list_jobs()[0].spec.schedule == schedule


def test_an_assistant_can_edit_a_job_that_a_chat_starts(scheduler: Scheduler) -> None:
    scheduler.settings.change(chat_bots=(_BOT,))
    job_id = scheduler.add_job("backup", _TO_ANNA, _TRUE)
    Assistant(scheduler).update_job(job_id, schedule=combine([_TO_ANNA, Every("1h")]), description="x")
    Assistant(scheduler).add_job("made", _TO_BOT, _TRUE)
    with pytest.raises(ScheduleError, match="who may write to a job"):
        Assistant(scheduler).add_job("open", _TO_ANNA, _TRUE)


# --- The actor of each edit -----------------------------------------------------------------------------------------

_EVERYONE = (YOU, TERMINAL, ADVISER, Actor.assistant("claude"))


def _actors(scheduler: Scheduler, job_id: str, kind: EventKind) -> list[Actor | None]:
    return [event.actor for event in scheduler._store.events.of_job(job_id) if event.kind is kind]


@pytest.mark.parametrize("actor", _EVERYONE, ids=lambda actor: actor.kind)
def test_an_edit_keeps_its_actor(scheduler: Scheduler, actor: Actor) -> None:
    with scheduler.acting_as(actor):
        job_id = scheduler.add_job("backup", Every("1h"), _TRUE)
    scheduler.resume_job(job_id)
    with scheduler.acting_as(actor):
        scheduler.pause_job(job_id)
        scheduler.resume_job(job_id)
        scheduler.propose_interval(job_id, "1m", reason="soon")
        scheduler.update_job(job_id, description="x")
    for kind in (EventKind.JOB_ADDED, EventKind.JOB_HINTED, EventKind.JOB_EDITED):
        assert _actors(scheduler, job_id, kind) == [actor]
    assert _actors(scheduler, job_id, EventKind.JOB_RESUMED) == [actor, YOU]
    assert set(_actors(scheduler, job_id, EventKind.JOB_PAUSED)) == {actor}


def test_an_actor_is_not_part_of_the_event_details(scheduler: Scheduler) -> None:
    job_id = scheduler.add_job("backup", Every("1h"), _TRUE)
    scheduler.pause_job(job_id, _NOW + 60_000)
    (event,) = (one for one in scheduler._store.events.of_job(job_id) if one.kind is EventKind.JOB_PAUSED)
    assert (event.detail, event.actor, event.assistant) == ({"until": _NOW + 60_000}, YOU, None)


def test_events_of_the_engine_have_no_actor(scheduler: Scheduler) -> None:
    job_id = scheduler.add_job("backup", Every("1h"), _TRUE, policy=Policy())
    scheduler._store.events.append(_NOW, EventKind.JOB_DISABLED, job_id, reason="errors")
    assert _actors(scheduler, job_id, EventKind.JOB_DISABLED) == [None]


def test_the_terminal_and_an_import_are_recorded_as_actors(scheduler: Scheduler) -> None:
    job_id = scheduler.add_job("backup", Every("1h"), _TRUE)
    assert CliRunner().invoke(halo, ["pause", "backup"]).exit_code == 0
    assert _actors(scheduler, job_id, EventKind.JOB_PAUSED) == [TERMINAL]
    scheduler.imports.apply(scheduler.imports.plan(read_document(_DOCUMENT)))
    (new,) = (job for job in scheduler.list_jobs() if job.name == "new")
    assert _actors(scheduler, new.id, EventKind.JOB_ADDED) == [IMPORT]


# --- Below the service ----------------------------------------------------------------------------------------------


def test_a_layer_below_the_service_pauses_and_answers(scheduler: Scheduler) -> None:
    job_id = scheduler.add_job("backup", Every("1h"), _TRUE)
    question = ask(scheduler, job_id)
    with begin_edit(scheduler._store, ADVISER, _NOW) as edit:
        run_id = answer_question(edit, question.id, "the first one")
        assert pause(edit, [job_id], None)
    assert {change.job_id for change in edit.changes} == {job_id}
    settled = scheduler.questions.get(question.id)
    assert settled is not None
    assert (settled.answer, settled.answer_run_id) == ("the first one", run_id)
    assert _actors(scheduler, job_id, EventKind.JOB_PAUSED) == [ADVISER]
    assert _actors(scheduler, job_id, EventKind.QUESTION_ANSWERED) == [ADVISER]
