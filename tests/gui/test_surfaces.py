"""Every surface says the same of a job, whatever state it is in."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from asking import ask
from chain_waits import BEHIND, LIMIT, NETWORK, let_chain_wait, quiet, unmet, waits
from click.testing import CliRunner
from job_values import HOUR, MINUTE, NOW
from machine import Bench
from pane_desk import PaneDesk, rows_of
from pytestqt.qtbot import QtBot
from tool_calls import call

from halo_scheduler.cli import halo
from halo_scheduler.clock import SystemClock
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.model import (
    Caps,
    Every,
    Follower,
    InQuietTime,
    JobStatus,
    Manual,
    OnFile,
    Outcome,
    PathExists,
    Policy,
    Run,
    Situation,
    SituationKind,
    Source,
    StatusReason,
    Trigger,
    Waiting,
    WaitingDetails,
    WaitingFor,
)
from halo_scheduler.model.settings import QuietTime
from halo_scheduler.model.words import Shortage
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.store.runs import Spent
from halo_scheduler.why.inquiry import Verdict
from halo_scheduler.wording.notices import NoticeKind
from halo_scheduler.wording.status import next_words, status_words, waiting_words
from ui.main_window.job_loader import sum_up
from ui.main_window.table.cells import cell_text, spoken_text
from ui.main_window.table.job_rows import Column, JobFacts, JobFilter, StatusChoice
from ui.notifications.notifications import notice_for
from ui.style.marks import job_mark
from ui.style.theme import Tone
from ui.style.wording import sentence_case
from ui.tray.state import TrayReader, status_line
from ui.widgets.job_text import waiting_line

pytestmark = pytest.mark.usefixtures("machine_in_berlin")
_NO_FACTS = JobFacts()
_FULL, _NIGHT = "full", "night"
_OFF = {"next_run_at": None, "next_source": None}
_RUNNABLE = (
    SituationKind.READY,
    SituationKind.FAILING,
    SituationKind.RETRYING,
    SituationKind.TROUBLED,
)
_DUE = {"next_run_at": NOW - MINUTE // 2}
_UNKNOWN = Waiting(
    kind=WaitingFor.CONDITION,
    details=WaitingDetails(conditions=(PathExists(path="/mnt/x"),), is_unobservable=True),
)
_OUTPUT = Waiting(kind=WaitingFor.OUTPUT, details=WaitingDetails(name="mirror"))


@dataclass(frozen=True)
class _State:
    """One state of a job: the columns that differ, and what stands beside it."""

    columns: dict[str, Any] = field(default_factory=dict)
    spec: dict[str, Any] = field(default_factory=dict)
    beside: Callable[[Scheduler, str], object] = lambda _scheduler, _job_id: None


def _disabled(reason: StatusReason, **columns: Any) -> _State:
    return _State({**_OFF, "disabled_reason": reason, **columns})


def _paused(**columns: Any) -> _State:
    return _State({**_OFF, "paused": True, **columns})


def _waiting(waiting: Waiting, **spec: Any) -> _State:
    return _State({**_DUE, **waits(waiting)}, spec)


def _after(waiting: Waiting) -> _State:
    """Return that a run after another job waits."""

    def let_wait(scheduler: Scheduler, job_id: str) -> None:
        let_chain_wait(scheduler, scheduler.add_job(f"before {job_id}", Manual()), job_id, waiting)

    return _State(_OFF, {"schedule": Manual()}, let_wait)


def _run(scheduler: Scheduler, job_id: str) -> None:
    """Let a run of a job be under way."""
    run = Run(id=f"run {job_id}", job_id=job_id, trigger=Trigger.MANUAL, source=Source.MANUAL, started_at=NOW)
    scheduler._store.runs.insert([run], 1)
    record = scheduler._store.jobs.get(job_id)
    assert record is not None
    scheduler._store.jobs.save_states([record.evolve(run_id=run.id)])


def _wait_to_start(shortage: Shortage) -> _State:
    """Return that a run is claimed and the machine cannot start it yet."""

    def let_wait(scheduler: Scheduler, job_id: str) -> None:
        _run(scheduler, job_id)
        scheduler._store.jobs.save_start_wait(f"run {job_id}", shortage)

    return _State(_OFF, {}, let_wait)


def _spend(scheduler: Scheduler, job_id: str) -> None:
    scheduler._store.usage.add([(job_id, scheduler.jobs.usage(job_id).day, Spent(1, 0))])


def _precede(scheduler: Scheduler, job_id: str) -> None:
    scheduler.add_job(f"before {job_id}", Manual(), followers=(Follower(job_id=job_id),))


def _trouble(scheduler: Scheduler, job_id: str) -> None:
    scheduler._store.watch_troubles.save((job_id, ""), "~/Inbox cannot be read", NOW)


_STATES = {
    "planned": _State(),
    "due": _State({"next_run_at": NOW}),
    "overdue": _State({"next_run_at": NOW - 18 * MINUTE}),
    "retrying": _State({"next_source": Source.RETRY, "last_outcome": Outcome.FAILURE}),
    "backing off": _State({"errors": 3, "next_source": Source.BACKOFF, "last_outcome": Outcome.FAILURE}),
    "by hand": _State(_OFF, {"schedule": Manual()}),
    "after another": _State(_OFF, {"schedule": Manual()}, _precede),
    "an event that is not watched": _State(_OFF, {"schedule": OnFile("~/Inbox")}, _trouble),
    "an event beside times": _State({}, {"schedule": [Every("1h"), OnFile("~/Inbox")]}, _trouble),
    "running": _State(_OFF, {}, _run),
    "running beside its slot": _State({}, {}, _run),
    "running in a full group": _State(_OFF, {"group": _FULL}, _run),
    "waiting for memory": _wait_to_start(Shortage.MEMORY),
    "waiting for disk space": _wait_to_start(Shortage.DISK),
    "paused": _paused(),
    "paused for an hour": _paused(paused_until=NOW + HOUR),
    "paused for days": _paused(paused_until=NOW + 72 * HOUR),
    "paused by an assistant": _paused(paused_by=StatusReason.ASSISTANT),
    "imported": _paused(paused_by=StatusReason.IMPORTED),
    "disabled": _disabled(StatusReason.USER),
    "disabled by errors": _disabled(StatusReason.ERRORS, errors=5),
    "unplannable": _disabled(StatusReason.ERRORS),
    "done": _disabled(StatusReason.DONE),
    "disabled, made by an assistant": _disabled(
        StatusReason.USER, paused=True, paused_by=StatusReason.ASSISTANT
    ),
    "without a place": _waiting(LIMIT),
    "without a place in its group": _waiting(LIMIT, group=_FULL),
    "without network": _waiting(NETWORK),
    "with a deadline": _State({**_DUE, **waits(unmet(PathExists(path="/mnt/x"))), "waits_until": NOW + HOUR}),
    "unobservable": _waiting(_UNKNOWN),
    "in quiet hours": _waiting(quiet("Night", NOW + HOUR)),
    "in days of quiet": _waiting(quiet("Weekend", NOW + 50 * HOUR)),
    "migrated": _State({**_DUE, "waiting_for": WaitingFor.CONDITION}),
    "after another, behind a run": _after(BEHIND),
    "after another, without its output": _after(_OUTPUT),
    "after another, without network": _after(NETWORK),
    "after another, without a place": _after(LIMIT),
    "asked for by hand": _State({}, {}, lambda scheduler, job_id: scheduler.trigger(job_id)),
    "asked for while paused": _State(
        {**_OFF, "paused": True}, {}, lambda scheduler, job_id: scheduler.trigger(job_id)
    ),
    "asked for in a full group": _State(
        {}, {"group": _FULL}, lambda scheduler, job_id: scheduler.trigger(job_id)
    ),
    "due in quiet hours": _State({"next_run_at": NOW + MINUTE}, {"group": _NIGHT}),
    "skipped in quiet hours": _State(
        {"next_run_at": NOW + MINUTE}, {"group": _NIGHT, "policy": Policy(in_quiet_time=InQuietTime.SKIP)}
    ),
    "at its daily limit": _State(
        {"next_run_at": NOW + MINUTE}, {"policy": Policy(caps=Caps(runs_per_day=1))}, _spend
    ),
}


def _halo(*arguments: str) -> str:
    done = CliRunner().invoke(halo, arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def desk(qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PaneDesk]:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    monkeypatch.setattr(SystemClock, "now_ms", lambda _clock: NOW)
    made = PaneDesk(qtbot, tmp_path / "halo.db")
    yield made
    made.bench.close()


def _fill(bench: Bench) -> dict[str, Situation]:
    """Add a job in every state, once with an open question and once without; return the situations by name."""
    scheduler = bench.scheduler
    night = QuietTime(name="Night", group=_NIGHT, start="08:00", end="12:00")
    scheduler.settings.change(quiet_times=(night,), max_concurrent=20)
    scheduler.set_group_limit(_FULL, 2)
    names: dict[str, str] = {}
    for (name, state), asks in itertools.product(_STATES.items(), (False, True)):
        job_id = f"{name}, asks" if asks else name
        scheduler.add_job(job_id, **{"schedule": Every("1h"), **state.spec}, job_id=job_id)
        record = scheduler._store.jobs.get(job_id)
        assert record is not None
        scheduler._store.jobs.save_states([record.evolve(**state.columns)])
        state.beside(scheduler, job_id)
        if asks:
            ask(scheduler, job_id)
        names[job_id] = job_id
    return scheduler.jobs.situations(names)


def _listed() -> dict[str, str]:
    """Return what `halo list` says of when each job runs next."""
    heading, *lines = _halo("list").splitlines()
    places = [heading.index(title) for title in ("NAME", "SCHEDULE", "NEXT", "LAST RUN")]
    cells = [[line[a:b].strip() for a, b in itertools.pairwise(places)] for line in lines]
    return {name: when for name, _schedule, when in cells}


def _shown(name: str) -> dict[str, str]:
    lines = (line[2:] for line in _halo("show", "--", name).splitlines()[1:])
    return {line[:9].strip(): line[10:] for line in lines}


def test_every_state_is_reported_in_the_same_words_everywhere(desk: PaneDesk) -> None:
    situations = _fill(desk.bench)
    assert {one.kind for one in situations.values()} == set(SituationKind)
    told = {one.waiting.kind for one in situations.values() if one.waiting is not None}
    assert told == set(WaitingFor)
    listed, as_json = _listed(), {one["id"]: one for one in json.loads(_halo("list", "--json"))}
    assistants = {one["id"]: one for one in call(desk.scheduler, "list_jobs", limit=200)["jobs"]}
    for name, situation in situations.items():
        status, when = status_words(situation, NOW), next_words(situation, NOW)
        (row,) = rows_of(desk.scheduler, name)
        assert row.situation == situation
        assert cell_text(Column.NEXT, row, _NO_FACTS, None, NOW) == when
        assert spoken_text(Column.NAME, row, _NO_FACTS, None, NOW).endswith(f", {sentence_case(status)}")
        desk.show(name)
        words = "Running for 0 s" if situation.kind is SituationKind.RUNNING else sentence_case(status)
        assert desk.text("detailStatus").startswith(words), name
        assert listed[name] == when
        shown = _shown(name)
        assert shown["status"].startswith(status)
        assert shown["next"] == when
        assert (as_json[name]["situation"], assistants[name]["situation"]) == (status, status)
        assert assistants[name]["next"] == when
        assert call(desk.scheduler, "get_job", job=name)["situation"] == status


def test_waiting_and_upcoming_jobs_are_the_same_in_tray_status_bar_and_terminal(desk: PaneDesk) -> None:
    situations = _fill(desk.bench)
    status = _halo("status")
    in_terminal = [line for line in _halo("next", "-n", "500").splitlines() if line.startswith("▲")]
    for name, situation in situations.items():
        reader = TrayReader()
        reader._known = {name: situation}
        state = reader.read(desk.scheduler, frozenset())
        (row,) = rows_of(desk.scheduler, name)
        totals = sum_up([row])
        assert bool(state.waiting) == bool(totals.waiting.count) == (situation.waiting is not None)
        if situation.waiting is not None:
            words = waiting_words(situation.waiting, NOW)
            assert waiting_line(state.waiting_jobs, NOW) == waiting_line(totals.waiting, NOW)
            assert words in status_line(state, NOW) or words[:30] in status_line(state, NOW)
            assert f"{name}: {words}" in status
        runs = situation.kind in (*_RUNNABLE, SituationKind.RUNNING) and situation.blocker is None
        is_coming = runs and situation.next_run_at is not None
        assert [one.job.id for one in state.upcoming] == ([name] if is_coming else [])
        assert (totals.next_at is not None) == is_coming
        assert totals.summary.running == (situation.kind is SituationKind.RUNNING)
        is_held = situation.next_run_at is not None and situation.kind not in (
            *_RUNNABLE,
            SituationKind.RUNNING,
        )
        if is_held and situation.status is JobStatus.IDLE:
            assert any(f" {name} " in line and next_words(situation, NOW) in line for line in in_terminal)


def test_the_explanation_names_the_same_reason_as_the_status(desk: PaneDesk) -> None:
    verdicts = {
        JobStatus.RUNNING: Verdict.RUNNING,
        JobStatus.PAUSED: Verdict.PAUSED,
        JobStatus.DISABLED: Verdict.DISABLED,
    }
    for name, situation in _fill(desk.bench).items():
        planned = Verdict.NOT_PLANNED if situation.next_run_at is None else Verdict.PLANNED
        expected = verdicts.get(situation.status, planned)
        verdict = desk.scheduler.jobs.why(name).verdict
        assert verdict is (Verdict.WAITING if situation.waiting is not None else expected), name


def _failed_run(scheduler: Scheduler, job_id: str) -> str:
    """Record a run that the schedule started and that has just failed; return its id."""
    run = Run(
        id=f"failed {job_id}",
        job_id=job_id,
        trigger=Trigger.SCHEDULE,
        source=Source.EVERY,
        outcome=Outcome.FAILURE,
        exit_code=1,
        started_at=NOW,
        finished_at=NOW,
    )
    scheduler._store.runs.insert([run], 1)
    return run.id


def test_a_notification_has_the_same_words_as_every_surface(desk: PaneDesk) -> None:
    told: set[NoticeKind | None] = set()
    for name, situation in _fill(desk.bench).items():
        notice, _is_after_gap = notice_for(
            desk.scheduler, _failed_run(desk.scheduler, name), is_watched=False
        )
        told.add(None if notice is None else notice.kind)
        status = status_words(situation, NOW)
        if situation.next_source is Source.RETRY:
            assert notice is None, name
            continue
        assert notice is not None, name
        if situation.reason is StatusReason.ERRORS:
            assert notice.title == f"{name} was {status.removeprefix('needs you, ')}"
        elif situation.kind in _RUNNABLE:
            assert ("Next run" in notice.text) == (situation.next_run_at is not None), name
            words = next_words(situation, NOW).removeprefix("trouble · ")
            skipped = words.partition(" · ")[2]
            assert notice.text.endswith(f" · {skipped}." if skipped else "."), name
        elif situation.kind is not SituationKind.DONE:
            assert notice.text.endswith(f" {sentence_case(next_words(situation, NOW))}."), name
    assert told == {None, NoticeKind.FAILED, NoticeKind.DISABLED}


def test_the_notification_of_a_question_has_the_same_words_as_every_surface(desk: PaneDesk) -> None:
    for name, situation in _fill(desk.bench).items():
        if situation.question is None:
            continue
        (question,) = (one for one in desk.scheduler.questions.list() if one.job_id == name)
        notice, _is_after_gap = notice_for(desk.scheduler, question.run_id, is_watched=True)
        assert notice is not None
        status = status_words(situation, NOW) if situation.kind is SituationKind.NEEDS_INPUT else "needs you"
        assert notice.kind is NoticeKind.NEEDS_INPUT
        assert notice.title == f"{plain_line(name, max(59 - len(status), 24))} {status}"


def _is_failing(desk: PaneDesk, job_id: str) -> set[bool]:
    """Return whether a job counts as failing: in the filter, status bar, tray, row and `halo list`."""
    (row,) = rows_of(desk.scheduler, job_id)
    reader = TrayReader()
    reader._known = desk.scheduler.jobs.situations([job_id])
    return {
        bool(JobFilter(statuses=frozenset({StatusChoice.FAILING})).choose([row])),
        sum_up([row]).summary.failing == 1,
        bool(reader.read(desk.scheduler, frozenset()).failing),
        job_mark(row.situation).tone is not Tone.OK,
        _halo("list").splitlines()[1][0] != "●",
    }


def test_a_job_that_errors_disabled_is_fine_everywhere_once_it_is_resumed(desk: PaneDesk) -> None:
    bench = desk.bench
    job_id = bench.scheduler.add_job("backup", Every("1h"), policy=Policy(max_errors=1))
    for _ in range(2):
        bench.finish(bench.tick(HOUR)[0], Outcome.FAILURE)
        assert _is_failing(desk, job_id) == {True}
        bench.scheduler.resume_job(job_id)
        assert _is_failing(desk, job_id) == {False}


def test_whether_an_engine_runs_changes_no_words(desk: PaneDesk) -> None:
    before = _fill(desk.bench)
    lines = _listed()
    desk.scheduler._store.lease.give_up(1, NOW)
    assert desk.scheduler.jobs.situations(before) == before
    assert _listed() == lines
