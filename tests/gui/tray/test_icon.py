"""The icon in the tray: what it shows, and what it costs to keep it true."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest
from asking import ask
from chain_waits import MAINS, NETWORK, let_chain_wait, unmet, waits
from PySide6.QtCore import QCoreApplication, QObject
from PySide6.QtWidgets import QSystemTrayIcon
from pytestqt.qtbot import QtBot

from halo_scheduler import Callback, Every, Job, Manual, Outcome, Policy, Run, Scheduler
from halo_scheduler.clock import ManualClock
from halo_scheduler.errors import StoreUnavailableError
from halo_scheduler.model import Caps, InQuietTime, PathExists, StatusReason, Waiting
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.settings import QuietTime
from halo_scheduler.service.jobs import Jobs
from halo_scheduler.store.runs import Spent
from ui.backend.backend import Backend
from ui.style.icons import picture
from ui.style.theme import Appearance
from ui.tray.icon import Tray
from ui.tray.state import Mood, TrayReader, TrayState

_NOW = 1_800_000_000_000  # 08:00 in UTC
_MINUTE = 60_000

pytestmark = pytest.mark.usefixtures("machine_in_utc")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(_NOW)


@pytest.fixture
def scheduler(tmp_path: Path, clock: ManualClock) -> Iterator[Scheduler]:
    with Scheduler.open(tmp_path / "halo.db", clock=clock) as made:
        yield made


@pytest.fixture
def parent(qtbot: QtBot) -> QObject:  # noqa: ARG001 - an application
    return QObject()


@pytest.fixture
def backend(scheduler: Scheduler, clock: ManualClock, parent: QObject) -> Backend:
    return Backend.inline(scheduler, clock, parent)


@pytest.fixture
def tray(backend: Backend, parent: QObject) -> Tray:
    return Tray(backend, Appearance(parent=parent), parent)


def _read(tray: Tray, qtbot: QtBot) -> TrayState:
    """Return how things are when nothing is left to be read."""
    tray.refresh()
    qtbot.waitUntil(lambda: not tray._is_asking and not tray._rest.isActive())
    return tray.state


def _icon(tray: Tray) -> QSystemTrayIcon:
    found = tray.findChild(QSystemTrayIcon, "trayIcon")
    assert isinstance(found, QSystemTrayIcon)
    return found


def _fail(_job: Job, _run: Run) -> Outcome:
    return Outcome.FAILURE


def test_without_jobs_it_is_idle_and_says_so(tray: Tray, qtbot: QtBot) -> None:
    assert _read(tray, qtbot).mood is Mood.IDLE
    assert _icon(tray).toolTip() == "No jobs yet"
    assert _icon(tray).icon().cacheKey() == picture("tray-idle").cacheKey()


def test_the_tooltip_shows_the_next_run(tray: Tray, scheduler: Scheduler, qtbot: QtBot) -> None:
    scheduler.add_job("late", Every("9m"))
    scheduler.add_job("backup", Every("5m"))
    _read(tray, qtbot)
    assert _icon(tray).toolTip() == "Next: backup at 08:05"


def test_running_jobs_are_counted(tray: Tray, scheduler: Scheduler, qtbot: QtBot) -> None:
    scheduler.on_job_due(lambda _job, _run: Future())
    scheduler.trigger(scheduler.add_job("sync", Manual()))
    scheduler.add_job("backup", Every("5m"))
    scheduler.tick()
    state = _read(tray, qtbot)
    assert state.mood is Mood.RUNNING
    assert [run.job.name for run in state.running] == ["sync"]
    assert _icon(tray).toolTip() == "1 running · next: backup at 08:05"
    assert _icon(tray).icon().cacheKey() == picture("tray-running").cacheKey()


def _let_wait(scheduler: Scheduler, name: str, waiting: Waiting) -> None:
    """Add a job that is due and waits for something."""
    job_id = scheduler.add_job(name, Every("5m"))
    store = scheduler._store
    record = store.jobs.get(job_id)
    assert record is not None
    store.jobs.save_states([record.evolve(next_run_at=_NOW - _MINUTE, **waits(waiting))])
    scheduler._session.changed(Change(ChangeKind.JOB, job_id=job_id))


def test_waiting_jobs_are_shown_with_their_reason(tray: Tray, scheduler: Scheduler, qtbot: QtBot) -> None:
    _let_wait(scheduler, "backup", NETWORK)
    scheduler.add_job("later", Every("9m"))
    _read(tray, qtbot)
    assert _icon(tray).toolTip() == "backup waiting for network · next: later at 08:09"
    _let_wait(scheduler, "sync", MAINS)
    state = _read(tray, qtbot)
    assert state.mood is Mood.WAITING
    told = "2 waiting: backup (network), sync (AC power) · next: later at 08:09"
    assert _icon(tray).toolTip() == told


def test_a_chain_run_that_waits_is_reported_too(tray: Tray, scheduler: Scheduler, qtbot: QtBot) -> None:
    first, then = scheduler.add_job("first", Manual()), scheduler.add_job("then", Manual())
    let_chain_wait(scheduler, first, then)
    _read(tray, qtbot)
    assert _icon(tray).toolTip() == "then waiting: limit reached"


def test_many_waiting_jobs_stay_one_short_line(tray: Tray, scheduler: Scheduler, qtbot: QtBot) -> None:
    for number in range(7):
        _let_wait(scheduler, f"{number} <b>{'x' * 100}</b>", unmet(PathExists(path=f"/mnt/<i>{'y' * 300}")))
    _let_wait(scheduler, "8", NETWORK)
    state = _read(tray, qtbot)
    assert (len(state.waiting), state.waiting_jobs.count) == (5, 8)
    tooltip = _icon(tray).toolTip()
    assert tooltip.startswith("8 waiting: 0 ‹b›xxx")
    assert tooltip.endswith(", …")
    assert len(tooltip) <= 120
    assert "<" not in tooltip
    # What comes next is told with fewer of them rather than cut off.
    scheduler.add_job("later", Every("9m"))
    qtbot.waitUntil(lambda: _icon(tray).toolTip().endswith(", … · next: later at 08:09"))
    assert len(_icon(tray).toolTip()) <= 120


def test_an_unseen_failure_asks_for_attention_until_it_is_seen(
    tray: Tray, scheduler: Scheduler, qtbot: QtBot
) -> None:
    scheduler.on_job_due(_fail)
    scheduler.trigger(scheduler.add_job("sync", Manual()))
    scheduler.tick()
    assert _read(tray, qtbot).mood is Mood.ATTENTION
    assert _icon(tray).toolTip() == "sync failing"
    scheduler.runs.mark_failures_seen()
    qtbot.waitUntil(lambda: tray.state.mood is Mood.IDLE)


def test_a_job_that_switched_itself_off_asks_for_attention(
    tray: Tray, scheduler: Scheduler, clock: ManualClock, qtbot: QtBot
) -> None:
    scheduler.on_job_due(_fail)
    scheduler.add_job("sync", Every("5m"), policy=Policy(max_errors=1))
    clock.advance(5 * _MINUTE)
    scheduler.tick()
    assert _read(tray, qtbot).mood is Mood.ATTENTION


def test_a_failure_is_not_hidden_by_running_jobs(tray: Tray, scheduler: Scheduler, qtbot: QtBot) -> None:
    scheduler.on_job_due(_fail, name="bad")
    scheduler.on_job_due(lambda _job, _run: Future())
    scheduler.trigger(scheduler.add_job("bad", Manual(), Callback(name="bad")))
    scheduler.trigger(scheduler.add_job("long", Manual()))
    scheduler.tick()
    assert _read(tray, qtbot).mood is Mood.ATTENTION
    assert _icon(tray).toolTip() == "bad failing · 1 running"


def test_a_question_asks_for_attention_until_it_is_settled(
    tray: Tray, scheduler: Scheduler, qtbot: QtBot
) -> None:
    scheduler.add_job("backup", Every("5m"))
    job_id = scheduler.add_job("fix", Manual())
    question = ask(scheduler, job_id)
    assert _read(tray, qtbot).mood is Mood.ASKING
    assert _icon(tray).toolTip() == "fix needs you · next: backup at 08:05"
    assert _icon(tray).icon().cacheKey() == picture("tray-asking").cacheKey()
    scheduler.questions.dismiss(question.id)
    qtbot.waitUntil(lambda: tray.state.mood is Mood.IDLE)
    assert _icon(tray).toolTip() == "Next: backup at 08:05"


def test_several_questions_are_named_by_their_jobs(tray: Tray, scheduler: Scheduler, qtbot: QtBot) -> None:
    first, second = (scheduler.add_job(name, Manual()) for name in ("<b>fix</b>", "triage"))
    for _ in range(2):
        ask(scheduler, first)
    assert len(_read(tray, qtbot).asking) == 2
    assert _icon(tray).toolTip() == "‹b›fix‹/b› needs you"
    ask(scheduler, second)
    _read(tray, qtbot)
    assert _icon(tray).toolTip() == "2 jobs need you"


def test_a_question_of_a_deleted_job_is_not_shown(tray: Tray, scheduler: Scheduler, qtbot: QtBot) -> None:
    job_id = scheduler.add_job("fix", Manual())
    ask(scheduler, job_id)
    scheduler.remove_job(job_id)
    assert _read(tray, qtbot).asking == ()


def test_a_job_from_an_assistant_is_not_among_those_to_resume(
    tray: Tray, scheduler: Scheduler, qtbot: QtBot
) -> None:
    scheduler.add_job("made", Every("5m"), paused_by=StatusReason.ASSISTANT)
    assert not _read(tray, qtbot).is_paused
    assert _icon(tray).toolTip() == "Nothing scheduled"


def test_it_is_paused_when_every_job_is(tray: Tray, scheduler: Scheduler, qtbot: QtBot) -> None:
    first = scheduler.add_job("one", Every("5m"))
    scheduler.add_job("two", Every("6m"))
    scheduler.add_job("off", Every("6m"), enabled=False)
    scheduler.pause_job(first)
    assert _read(tray, qtbot).mood is Mood.IDLE
    scheduler.pause_all()
    assert _read(tray, qtbot).mood is Mood.PAUSED
    assert _icon(tray).toolTip() == "All jobs paused"


def test_a_pause_with_an_end_shows_it(tray: Tray, scheduler: Scheduler, qtbot: QtBot) -> None:
    scheduler.add_job("one", Every("5m"))
    scheduler.pause_all(_NOW + 60 * _MINUTE)
    _read(tray, qtbot)
    assert _icon(tray).toolTip() == "All jobs paused until 09:00"


def test_a_time_on_another_day_is_still_right_on_that_day(
    tray: Tray, scheduler: Scheduler, qtbot: QtBot
) -> None:
    scheduler.add_job("backup", Every("1d"))
    _read(tray, qtbot)
    assert _icon(tray).toolTip() == "Next: backup on Sat at 08:00"


@pytest.mark.parametrize("name", ["<b>bold</b>", "long " * 200, "\u202eright", "a & b"])
def test_a_name_from_outside_stays_a_short_plain_line(
    tray: Tray, scheduler: Scheduler, qtbot: QtBot, name: str
) -> None:
    scheduler.add_job(name[:200].strip(), Every("5m"))
    _read(tray, qtbot)
    shown = _icon(tray).toolTip()
    assert shown.endswith("at 08:05")
    assert len(shown) <= 120
    assert not set(shown) & set("<>\u202e")


def test_a_change_is_shown_by_itself(tray: Tray, scheduler: Scheduler, qtbot: QtBot) -> None:
    _read(tray, qtbot)
    scheduler.add_job("backup", Every("5m"))
    qtbot.waitUntil(lambda: _icon(tray).toolTip() == "Next: backup at 08:05")


def test_a_removed_job_is_forgotten(tray: Tray, scheduler: Scheduler, qtbot: QtBot) -> None:
    job_id = scheduler.add_job("backup", Every("5m"))
    _read(tray, qtbot)
    scheduler.remove_job(job_id)
    qtbot.waitUntil(lambda: _icon(tray).toolTip() == "No jobs yet")
    assert tray.state.job_count == 0


def test_one_change_costs_one_job(
    tray: Tray, scheduler: Scheduler, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = scheduler.add_jobs([{"name": f"job {number}", "schedule": Every("5m")} for number in range(20)])
    _read(tray, qtbot)

    def refuse(_self: Scheduler, _size: int = 0) -> None:
        pytest.fail("all jobs were read")

    monkeypatch.setattr(Jobs, "in_pages", refuse)
    scheduler.update_job(added[7], name="renamed")
    qtbot.waitUntil(lambda: "renamed" in [job.name for job in tray.state.runnable])


def test_numbers_in_names_are_sorted_by_value(tray: Tray, scheduler: Scheduler, qtbot: QtBot) -> None:
    for name in ("every15", "every30", "Every5"):
        scheduler.add_job(name, Every("5m"))
    assert [job.name for job in _read(tray, qtbot).runnable] == ["Every5", "every15", "every30"]


def test_many_changes_at_once_are_read_twice_at_most(
    tray: Tray, backend: Backend, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    readings: list[frozenset[str] | None] = []

    def read(
        _self: TrayReader, _scheduler: Scheduler, stale: frozenset[str] | None, _ends: object
    ) -> TrayState:
        readings.append(stale)
        return TrayState(job_count=len(readings))

    monkeypatch.setattr(TrayReader, "read", read)
    for number in range(20):
        backend.tell(Change(ChangeKind.RUN_FINISHED, job_id=f"job {number}"))
    qtbot.waitUntil(lambda: tray.state.job_count == 2)
    assert len(readings) == 2
    assert readings[1] == frozenset(f"job {number}" for number in range(1, 20))


def test_many_changes_cause_few_queries(
    tray: Tray, backend: Backend, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    _read(tray, qtbot)
    readings: list[frozenset[str] | None] = []

    def read(
        _self: TrayReader, _scheduler: Scheduler, stale: frozenset[str] | None, _ends: object
    ) -> TrayState:
        readings.append(stale)
        return TrayState(job_count=len(readings))

    monkeypatch.setattr(TrayReader, "read", read)
    for number in range(10):
        backend.tell(Change(ChangeKind.RUN_FINISHED, job_id=f"job {number}"))
        QCoreApplication.processEvents()
    qtbot.waitUntil(lambda: tray.state.job_count == 1)
    assert readings == [frozenset(f"job {number}" for number in range(10))]


def test_progress_is_not_read_while_hidden(
    tray: Tray, backend: Backend, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    _read(tray, qtbot)
    monkeypatch.setattr(TrayReader, "read", lambda *_: pytest.fail("it was read"))
    backend.tell(Change(ChangeKind.RUN_PROGRESS, job_id="a", run_id="b"))
    assert tray.state == TrayState()


def test_after_an_error_everything_is_read_again(
    tray: Tray, scheduler: Scheduler, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    _read(tray, qtbot)
    with monkeypatch.context() as broken:

        def fail(*_: object) -> TrayState:
            raise StoreUnavailableError("the database is locked")

        broken.setattr(TrayReader, "read", fail)
        scheduler.add_job("backup", Every("5m"))
        qtbot.waitUntil(lambda: _icon(tray).toolTip() == "the database is locked")
    assert _read(tray, qtbot).job_count == 1


def test_failing_jobs_are_named_beside_a_question(tray: Tray, scheduler: Scheduler, qtbot: QtBot) -> None:
    scheduler.on_job_due(_fail)
    for number in range(4):
        scheduler.trigger(scheduler.add_job(f"bad {number}", Manual()))
    scheduler.tick()
    scheduler.runs.mark_failures_seen()
    ask(scheduler, scheduler.add_job("fix", Manual()))
    assert _read(tray, qtbot).mood is Mood.ASKING
    assert _icon(tray).toolTip() == "fix needs you · bad 0, bad 1 and 2 more failing"


def test_a_left_click_shows_or_hides_the_window(tray: Tray, qtbot: QtBot) -> None:
    with qtbot.waitSignal(tray.toggle_requested):
        _icon(tray).activated.emit(QSystemTrayIcon.ActivationReason.Trigger)
    with qtbot.assertNotEmitted(tray.toggle_requested):
        _icon(tray).activated.emit(QSystemTrayIcon.ActivationReason.Context)


def test_a_click_on_a_message_is_reported_unless_it_was_for_the_menu(tray: Tray, qtbot: QtBot) -> None:
    with qtbot.waitSignal(tray.message_clicked):
        _icon(tray).messageClicked.emit()
    with qtbot.assertNotEmitted(tray.message_clicked, wait=20):
        _icon(tray).messageClicked.emit()
        _icon(tray).activated.emit(QSystemTrayIcon.ActivationReason.Context)


def test_a_job_with_a_question_is_not_shown_as_next(tray: Tray, scheduler: Scheduler, qtbot: QtBot) -> None:
    asks = scheduler.add_job("agent", Every("5m"))
    question = ask(scheduler, asks)
    state = _read(tray, qtbot)
    assert (state.upcoming, state.held_count) == ((), 1)
    assert _icon(tray).toolTip() == "agent needs you"
    scheduler.add_job("backup", Every("9m"))
    assert [one.job.name for one in _read(tray, qtbot).upcoming] == ["backup"]
    assert _icon(tray).toolTip() == "agent needs you · next: backup at 08:09"
    scheduler.questions.dismiss(question.id)
    qtbot.waitUntil(lambda: _icon(tray).toolTip() == "Next: agent at 08:05")


def test_a_job_at_its_daily_limit_is_next_only_after_midnight(
    tray: Tray, scheduler: Scheduler, qtbot: QtBot
) -> None:
    caps = Policy(caps=Caps(runs_per_day=1))
    today = scheduler.add_job("agent", Every("5m"), policy=caps)
    scheduler._store.usage.add([(today, scheduler.jobs.usage(today).day, Spent(1, 0))])
    scheduler._session.changed(Change(ChangeKind.JOB, job_id=today))
    assert _read(tray, qtbot).upcoming == ()
    assert _icon(tray).toolTip() == "1 job on hold"
    tomorrow = scheduler.add_job("nightly", Every("20h"), policy=caps)
    scheduler._store.usage.add([(tomorrow, scheduler.jobs.usage(tomorrow).day, Spent(1, 0))])
    assert [one.job.name for one in _read(tray, qtbot).upcoming] == ["nightly"]


def test_a_job_due_in_quiet_hours_comes_next_at_their_end_or_not_at_all(
    tray: Tray, scheduler: Scheduler, qtbot: QtBot
) -> None:
    scheduler.add_job("skips", Every("5m"), policy=Policy(in_quiet_time=InQuietTime.SKIP))
    assert [one.job.name for one in _read(tray, qtbot).upcoming] == ["skips"]
    scheduler.settings.change(quiet_times=(QuietTime(start="08:00", end="08:30"),))
    qtbot.waitUntil(lambda: _icon(tray).toolTip() == "1 job on hold")
    scheduler.add_job("waits", Every("6m"))
    scheduler.add_job("later", Every("40m"))
    qtbot.waitUntil(lambda: len(tray.state.upcoming) == 2)
    assert [one.job.name for one in tray.state.upcoming] == ["waits", "later"]
    assert _icon(tray).toolTip() == "Next: waits at 08:30"


def test_blocked_jobs_are_not_listed_as_next(tray: Tray, scheduler: Scheduler, qtbot: QtBot) -> None:
    for number in range(6):
        ask(scheduler, scheduler.add_job(f"agent {number}", Every("5m")))
        scheduler.add_job(f"job {number}", Every("1h"))
    names = [one.job.name for one in _read(tray, qtbot).upcoming]
    assert names == [f"job {number}" for number in range(5)]
