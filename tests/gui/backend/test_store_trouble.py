"""What the window, the tray and the notifications show while the store cannot be written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from commands import shell
from job_values import NOW, make_job
from machine import Bench
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from halo_scheduler.grammar.interval import MINUTE_MS
from halo_scheduler.model import Every, JobStatus, Outcome, Run, Situation, SituationKind, Source, Trigger
from halo_scheduler.model.alarms import StoreTrouble, TroubleKind, UnrecordedEnd
from halo_scheduler.wording.notices import Notice, NoticeKind
from ui.backend.backend import Backend, ended_job, ended_run, ended_situation, still_running
from ui.main_window.table.job_rows import Column
from ui.main_window.table.job_view import JobView
from ui.main_window.window import MainWindow
from ui.notifications.notifications import Alerts
from ui.style.theme import Appearance
from ui.tray.icon import Tray
from ui.tray.state import Mood, status_line
from ui.widgets.labels import WrappedText

_END = UnrecordedEnd("run", "job", Outcome.FAILURE, NOW + 90)
_ENDS = {"job": _END}
_RUN = Run(id="run", job_id="job", trigger=Trigger.SCHEDULE, source=Source.EVERY, started_at=NOW)


def test_an_ended_run_has_its_outcome_and_duration() -> None:
    ended = ended_run(_RUN, _ENDS)
    assert (ended.outcome, ended.duration_ms) == (Outcome.FAILURE, 90)
    assert still_running([_RUN, replace(_RUN, id="other")], _ENDS) == [replace(_RUN, id="other")]


def test_the_job_of_an_ended_run_is_not_running() -> None:
    situation = ended_situation(Situation("job", "it", status=JobStatus.RUNNING), _ENDS)
    assert situation.kind is SituationKind.FAILING
    job = ended_job(replace(make_job("it", id="job"), status=JobStatus.RUNNING), _ENDS)
    assert (job.status, job.last_outcome) == (JobStatus.IDLE, Outcome.FAILURE)


def test_other_jobs_are_as_they_are_stored() -> None:
    job, situation = make_job("it", id="job"), Situation("job", "it")
    assert ended_job(job, _ENDS) is job
    assert ended_situation(situation, _ENDS) is situation
    assert ended_run(_RUN, {}) is _RUN


# --- On the screen -----------------------------------------------------------------------------------


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "halo.db", now_ms=NOW)
    yield made
    made.close()


@pytest.fixture
def backend(bench: Bench, qapp: QApplication) -> Backend:
    return Backend.inline(bench.scheduler, bench.clock, qapp)


def _full(*ends: UnrecordedEnd) -> StoreTrouble:
    return StoreTrouble(TroubleKind.FULL, NOW, "the disk is full", ends)


def test_the_window_says_at_once_that_the_disk_is_full(bench: Bench, backend: Backend, qtbot: QtBot) -> None:
    bench.scheduler.add_job("noise", Every("1h"), shell("true"))
    window = MainWindow(backend, Appearance())
    qtbot.addWidget(window)
    window.show()
    view = window.findChild(JobView)
    assert view is not None
    qtbot.waitUntil(lambda: view.model().rowCount() == 1)
    backend.show_trouble(_full())
    note, words = _text(window, "storeNoteText"), _text(window, "statusWords")
    assert note.startswith("Disk full: runs can't be recorded. No jobs have started since ")
    assert "Free some space on the disk of" in note
    assert words == "Disk full: runs can't be recorded"
    backend.show_trouble(None)
    found = window.findChild(QWidget, "storeNote")
    assert found is not None
    assert not found.isVisible()
    assert "Disk full" not in _text(window, "statusWords")


def test_a_run_that_ended_meanwhile_is_not_shown_as_running(
    bench: Bench, backend: Backend, qtbot: QtBot
) -> None:
    job_id = bench.scheduler.add_job("noise", Every("1h"))
    bench.scheduler.trigger(job_id)
    (run,) = bench.tick()
    window = MainWindow(backend, Appearance())
    qtbot.addWidget(window)
    window.show()
    view = window.findChild(JobView)
    assert view is not None
    model = view.model()
    qtbot.waitUntil(lambda: model.rowCount() == 1)
    qtbot.waitUntil(lambda: "since" in str(model.index(0, Column.LAST).data()))
    backend.show_trouble(_full(UnrecordedEnd(run.id, job_id, Outcome.SUCCESS, bench.clock.now_ms())))
    qtbot.waitUntil(lambda: str(model.index(0, Column.LAST).data()) == "just now")
    qtbot.waitUntil(lambda: "Running" not in _text(window, "statusWords"))


def test_the_tray_asks_for_attention(backend: Backend, qtbot: QtBot) -> None:
    tray = Tray(backend, Appearance())
    tray.refresh()
    backend.show_trouble(_full())
    assert tray.state.mood is Mood.ATTENTION
    assert status_line(tray.state, NOW) == "Disk full: runs can't be recorded"
    backend.show_trouble(None)
    assert status_line(tray.state, NOW) == "No jobs yet"
    tray.deleteLater()
    qtbot.wait(0)


class _Shown:
    def __init__(self) -> None:
        self.notices: list[Notice] = []

    def show(self, notice: Notice) -> None:
        self.notices.append(notice)


def test_one_notification_reports_it_however_many_runs_end_meanwhile(bench: Bench, backend: Backend) -> None:
    shown = _Shown()
    alerts = Alerts(backend, shown)  # type: ignore[arg-type]  # only shows
    backend.show_trouble(_full())
    backend.show_trouble(_full(_END))
    (notice,) = shown.notices
    assert notice.kind is NoticeKind.STORE
    assert notice.title == "Disk full: runs can't be recorded"
    for minutes, count in ((0, 1), (4, 1), (5, 2)):
        backend.show_trouble(None)
        bench.clock.advance(minutes * MINUTE_MS)
        backend.show_trouble(_full())
        assert len(shown.notices) == count
    alerts.deleteLater()


def test_a_disk_that_has_a_little_room_again_is_not_reported_anew(backend: Backend) -> None:
    shown = _Shown()
    alerts = Alerts(backend, shown)  # type: ignore[arg-type]  # only shows
    almost = StoreTrouble(TroubleKind.ALMOST_FULL, NOW, "little space")
    for trouble in (almost, _full(), almost, _full()):
        backend.show_trouble(trouble)
    assert [notice.title for notice in shown.notices] == [
        "Disk almost full: jobs may fail",
        "Disk full: runs can't be recorded",
    ]
    alerts.deleteLater()


def _text(window: QWidget, name: str) -> str:
    label = window.findChild(WrappedText, name)
    return "" if label is None else label.text()


@pytest.mark.parametrize(
    ("outcome", "errors"),
    [
        (Outcome.FAILURE, 2),
        (Outcome.TIMEOUT, 2),
        (Outcome.INTERRUPTED, 1),
        (Outcome.CANCELLED, 1),
    ],
)
def test_an_end_counts_as_an_error_only_if_the_engine_will_count_it(outcome: Outcome, errors: int) -> None:
    running = Situation("job", "it", status=JobStatus.RUNNING, errors=1)
    assert ended_situation(running, {"job": replace(_END, outcome=outcome)}).errors == errors
