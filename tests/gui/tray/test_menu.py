"""The menu of the tray: what it lists, what it asks for, and that it stays quick and still."""

from __future__ import annotations

from dataclasses import replace

import pytest
from chain_waits import NETWORK, unmet
from PySide6.QtCore import QObject
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from halo_scheduler.model import PathExists
from ui.style.theme import Appearance
from ui.tray.menu import TrayMenu
from ui.tray.state import JobName, TrayState, Underway, Upcoming, WaitingEntry
from ui.widgets.job_text import WaitingJob, WaitingJobs

_NOW = 1_800_000_000_000
_MINUTE = 60_000
_HOUR = 60 * _MINUTE


@pytest.fixture
def parent(qtbot: QtBot) -> QObject:  # noqa: ARG001 - an application
    return QObject()


@pytest.fixture
def menu(parent: QObject, qtbot: QtBot) -> TrayMenu:
    made = TrayMenu(Appearance(parent=parent), lambda: _NOW)
    qtbot.addWidget(made)
    return made


def _texts(menu: QMenu) -> list[str]:
    return [action.text() for action in menu.actions() if action.isVisible() and not action.isSeparator()]


def _action(menu: QMenu, name: str) -> QAction:
    found = menu.findChild(QAction, name)
    assert isinstance(found, QAction)
    assert found.isVisible()
    return found


def _submenu(menu: QMenu, name: str) -> QMenu:
    found = menu.findChild(QMenu, name)
    assert isinstance(found, QMenu)
    return found


def _jobs(count: int) -> tuple[JobName, ...]:
    return tuple(JobName(f"id {number}", f"job {number}") for number in range(count))


def test_an_empty_one_still_opens_everything(menu: TrayMenu) -> None:
    assert _texts(menu) == [
        "No jobs yet", "&Run now", "&Pause all", "&Open Halo", "&History", "&Settings", "&Quit"
    ]  # fmt: skip
    assert not menu.actions()[0].isEnabled()


@pytest.mark.parametrize(
    ("name", "signal"),
    [
        ("trayOpenAction", "open_requested"),
        ("trayHistoryAction", "history_requested"),
        ("traySettingsAction", "settings_requested"),
        ("trayQuitAction", "quit_requested"),
    ],
)
def test_each_entry_emits_its_request(menu: TrayMenu, qtbot: QtBot, name: str, signal: str) -> None:
    with qtbot.waitSignal(getattr(menu, signal)):
        _action(menu, name).trigger()


def test_running_jobs_show_progress_and_can_be_stopped(menu: TrayMenu, qtbot: QtBot) -> None:
    menu.show_state(TrayState(running=(Underway("run 1", JobName("a", "R&D"), 0.42),), job_count=1))
    submenu = _submenu(menu, "trayRunningMenu0")
    assert submenu.menuAction().text() == "R&&D — 42%"
    with qtbot.waitSignal(menu.stop_requested) as asked:
        submenu.actions()[0].trigger()
    assert asked.args == ["run 1"]


def test_the_next_ones_show_how_far_they_are(menu: TrayMenu, qtbot: QtBot) -> None:
    job = JobName("a", "disk <b>check</b>")
    menu.show_state(TrayState(upcoming=(Upcoming(job, _NOW + 4 * _MINUTE),), job_count=1, active_count=1))
    entry = _action(menu, "trayNextAction0")
    assert entry.text() == "disk <b>check</b> — in 4 min"
    with qtbot.waitSignals([menu.open_requested, menu.job_requested], order="strict"):
        entry.trigger()


def test_unseen_failures_lead_to_the_history(menu: TrayMenu, qtbot: QtBot) -> None:
    menu.show_state(TrayState(unseen_failures=2, job_count=1))
    entry = _action(menu, "trayFailuresAction")
    assert entry.text() == "2 new failures"
    with qtbot.waitSignal(menu.history_requested):
        entry.trigger()


def test_a_job_is_run_from_the_submenu(menu: TrayMenu, qtbot: QtBot) -> None:
    menu.show_state(TrayState(runnable=_jobs(3), job_count=3))
    submenu = _submenu(menu, "trayRunMenu")
    assert _texts(submenu) == ["job 0", "job 1", "job 2"]
    with qtbot.waitSignal(menu.run_requested) as asked:
        submenu.actions()[1].trigger()
    assert asked.args == ["id 1"]


def test_of_many_jobs_the_rest_is_chosen_in_the_window(menu: TrayMenu, qtbot: QtBot) -> None:
    menu.show_state(TrayState(runnable=_jobs(20), job_count=1_000))
    submenu = _submenu(menu, "trayRunMenu")
    assert _texts(submenu)[-1] == "Choose in window…"
    with qtbot.waitSignal(menu.open_requested):
        submenu.actions()[-1].trigger()


@pytest.mark.parametrize(("index", "until"), [(0, _NOW + _HOUR), (2, None)])
def test_all_are_paused_for_as_long_as_chosen(
    menu: TrayMenu, qtbot: QtBot, index: int, until: int | None
) -> None:
    menu.show_state(TrayState(job_count=1, active_count=1))
    with qtbot.waitSignal(menu.pause_all_requested) as asked:
        _submenu(menu, "trayPauseMenu").actions()[index].trigger()
    assert asked.args == [until]


@pytest.mark.usefixtures("machine_in_berlin")
def test_a_pause_until_morning_ends_at_eight_on_the_next_day(menu: TrayMenu, qtbot: QtBot) -> None:
    menu.show_state(TrayState(job_count=1, active_count=1))
    with qtbot.waitSignal(menu.pause_all_requested) as asked:
        _submenu(menu, "trayPauseMenu").actions()[1].trigger()
    # It is 09:00 in Berlin: 23 hours later it is eight again.
    assert asked.args == [_NOW + 23 * _HOUR]


def test_when_all_are_paused_they_can_be_resumed(menu: TrayMenu, qtbot: QtBot) -> None:
    menu.show_state(TrayState(job_count=1, paused_count=1))
    with qtbot.waitSignal(menu.resume_all_requested):
        _action(menu, "trayResumeAction").trigger()


def test_without_anything_to_pause_the_choice_is_off(menu: TrayMenu) -> None:
    menu.show_state(TrayState(job_count=1))
    assert not _submenu(menu, "trayPauseMenu").menuAction().isEnabled()


def test_an_open_menu_keeps_its_entries_and_shows_the_progress(menu: TrayMenu) -> None:
    run = Underway("run 1", JobName("a", "sync"), 0.1)
    menu.show_state(TrayState(running=(run,), runnable=_jobs(2), job_count=2))
    menu.aboutToShow.emit()
    menu.show_state(TrayState(running=(Underway("run 1", run.job, 0.9),), runnable=_jobs(2), job_count=2))
    entry = _submenu(menu, "trayRunningMenu0").menuAction()
    assert entry.text() == "sync — 90%"
    menu.show_state(TrayState(runnable=_jobs(2), job_count=2))
    assert entry.isVisible()
    menu.aboutToHide.emit()
    menu.show_state(TrayState(runnable=_jobs(2), job_count=2))
    assert not entry.isVisible()


def test_a_click_applies_to_the_entry_that_was_shown(menu: TrayMenu, qtbot: QtBot) -> None:
    menu.show_state(TrayState(running=(Underway("old", JobName("a", "sync"), None),), job_count=1))
    menu.aboutToShow.emit()
    menu.show_state(TrayState(running=(Underway("new", JobName("b", "copy"), None),), job_count=1))
    menu.aboutToHide.emit()
    with qtbot.waitSignal(menu.stop_requested) as asked:
        _submenu(menu, "trayRunningMenu0").actions()[0].trigger()
    assert asked.args == ["old"]


def test_opening_asks_for_the_newest(menu: TrayMenu, qtbot: QtBot) -> None:
    with qtbot.waitSignal(menu.opened):
        menu.aboutToShow.emit()


def test_a_job_that_runs_cannot_be_run_again(menu: TrayMenu) -> None:
    jobs = _jobs(2)
    menu.show_state(TrayState(running=(Underway("run", jobs[1], None),), runnable=jobs, job_count=2))
    assert [action.isEnabled() for action in _submenu(menu, "trayRunMenu").actions()[:2]] == [True, False]


def test_more_running_than_fit_are_counted(menu: TrayMenu, qtbot: QtBot) -> None:
    running = tuple(Underway(job.id, job, None) for job in _jobs(8))
    menu.show_state(TrayState(running=running, job_count=8))
    more = _action(menu, "trayMoreAction")
    assert more.text() == "3 more…"
    with qtbot.waitSignal(menu.open_requested):
        more.trigger()


def test_names_from_outside_stay_short_lines(menu: TrayMenu) -> None:
    names = ["a & b", "two\nlines", "x" * 10_000, "\u202eright", "<b>bold</b>"]
    jobs = tuple(JobName(str(number), name) for number, name in enumerate(names))
    menu.show_state(TrayState(runnable=jobs, job_count=5))
    shown = _texts(_submenu(menu, "trayRunMenu"))
    assert shown == ["a && b", "two ↵ lines", "x" * 47 + "…", r"\u202eright", "<b>bold</b>"]


def _in_short(waiting: tuple[WaitingEntry, ...]) -> WaitingJobs:
    return WaitingJobs.of([WaitingJob(one.job.name, one.waiting) for one in waiting])


def test_a_waiting_job_has_a_row_with_its_reason_that_opens_it(menu: TrayMenu, qtbot: QtBot) -> None:
    waiting = (
        WaitingEntry(JobName("a", "back & up"), NETWORK),
        WaitingEntry(JobName("b", "sync"), unmet(PathExists(path="/<b>x</b>"))),
    )
    menu.show_state(TrayState(waiting=waiting, waiting_jobs=_in_short(waiting), job_count=2, active_count=2))
    assert _texts(menu)[:3] == [
        "2 waiting",
        "back && up — waiting for network",
        "sync — waiting for /<b>x</b> to exist",
    ]
    with qtbot.waitSignal(menu.job_requested) as told:
        _action(menu, "trayWaitingAction1").trigger()
    assert told.args == ["b"]


def test_more_waiting_than_fit_are_counted(menu: TrayMenu, qtbot: QtBot) -> None:
    waiting = tuple(WaitingEntry(job, NETWORK) for job in _jobs(5))
    menu.show_state(
        TrayState(
            waiting=waiting, waiting_jobs=replace(_in_short(waiting), count=8), job_count=8, active_count=8
        )
    )
    more = _action(menu, "trayMoreWaitingAction")
    assert more.text() == "3 more waiting…"
    with qtbot.waitSignal(menu.open_requested):
        more.trigger()
    menu.show_state(TrayState(job_count=8, active_count=8))
    assert not any("waiting" in text for text in _texts(menu))


def test_the_first_line_shows_the_time_of_a_job_with_a_long_name(menu: TrayMenu) -> None:
    upcoming = Upcoming(JobName("a", "x" * 200), _NOW + _HOUR)
    running = Underway("run 1", JobName("b", "b"), None)
    menu.show_state(TrayState(running=(running,), upcoming=(upcoming,), job_count=2, active_count=1))
    assert " at " in _texts(menu)[0]


@pytest.mark.parametrize(
    ("count", "words"), [(1, "&Needs you: 1 question…"), (2, "&Needs you: 2 questions…")]
)
def test_questions_come_first_and_open_the_list(menu: TrayMenu, qtbot: QtBot, count: int, words: str) -> None:
    menu.show_state(TrayState(asking=_jobs(count), job_count=2))
    assert _texts(menu)[0] == words
    assert _texts(menu)[1] == "Nothing scheduled"
    with qtbot.waitSignals([menu.open_requested, menu.questions_requested], order="strict"):
        _action(menu, "trayAskingAction").trigger()


def test_a_question_does_not_move_the_entries_of_an_open_menu(menu: TrayMenu) -> None:
    menu.aboutToShow.emit()
    menu.show_state(TrayState(asking=_jobs(1), job_count=1))
    assert _texts(menu)[0] == "No jobs yet"
    menu.aboutToHide.emit()
    menu.aboutToShow.emit()
    assert _texts(menu)[0] == "&Needs you: 1 question…"
