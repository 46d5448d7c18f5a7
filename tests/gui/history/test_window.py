"""The history as a whole: from a choice to a run and its output."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from asking import ask
from finding import child
from past_runs import DAY, MINUTE, NOW, Past
from PySide6.QtCore import QPoint, QStandardPaths, Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtTest import QSignalSpy, QTest
from PySide6.QtWidgets import QFileDialog, QFrame, QLabel, QLineEdit, QPlainTextEdit, QPushButton, QSplitter
from pytestqt.qtbot import QtBot

from halo_scheduler import Outcome, Scheduler, Trigger
from halo_scheduler.clock import ManualClock
from halo_scheduler.errors import StoreError
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.settings import Theme
from ui.backend.backend import Backend
from ui.history.chart import DayChart
from ui.history.chart_parts import bucket_words
from ui.history.choice import Choice
from ui.history.export import ExportBar, ExportButton, Format
from ui.history.overview import Overview
from ui.history.run_pane import RunPane
from ui.history.run_table import State
from ui.history.run_view import RunTable
from ui.history.window import HistoryWindow
from ui.style.theme import ROW, Appearance
from ui.widgets.labels import WrappedText
from ui.widgets.output_view import OutputView
from ui.widgets.signs import LinkLine

pytestmark = pytest.mark.usefixtures("machine_in_berlin")


@pytest.fixture
def past(tmp_path: Path) -> Iterator[Past]:
    with Scheduler.open(tmp_path / "halo.db", clock=ManualClock(NOW)) as scheduler:
        yield Past(scheduler)


@pytest.fixture
def backend(past: Past) -> Backend:
    return Backend.inline(past.scheduler, ManualClock(NOW))


@pytest.fixture
def window(backend: Backend, qtbot: QtBot) -> HistoryWindow:
    appearance = Appearance(Theme.LIGHT)
    made = HistoryWindow(backend, appearance)
    appearance.setParent(made)
    made.resize(1180, 760)
    qtbot.addWidget(made)
    return made


def _open(window: HistoryWindow, qtbot: QtBot) -> None:
    window.show()
    qtbot.waitUntil(lambda: window.model.state is State.READY)


def _shown_run(window: HistoryWindow) -> str | None:
    return child(window, RunPane).run_id


def _title(window: HistoryWindow) -> str:
    return child(window, QLabel, "listTitle").text()


def _table(window: HistoryWindow) -> RunTable:
    return child(window, RunTable)


# --- States -----------------------------------------------------------------------------------------


def test_nothing_ever_ran(window: HistoryWindow, qtbot: QtBot) -> None:
    _open(window, qtbot)
    assert _title(window) == "No runs yet"
    assert not child(window, RunPane).isVisible()
    assert not _table(window).isVisible()


def test_the_first_run_ever_is_shown_live(
    past: Past, backend: Backend, window: HistoryWindow, qtbot: QtBot
) -> None:
    _open(window, qtbot)
    run = past.begin(past.job(), b"one\n")
    backend.tell(Change(ChangeKind.RUN_STARTED, job_id=run.job_id, run_id=run.id))
    qtbot.waitUntil(lambda: _shown_run(window) == run.id and child(window, RunPane).isVisible())
    past.end(run, b"one\n", Outcome.FAILURE)
    backend.tell(Change(ChangeKind.RUN_FINISHED, job_id=run.job_id, run_id=run.id))
    qtbot.waitUntil(lambda: child(window, QLabel, "runTitle").text() == "Failed")
    qtbot.waitUntil(lambda: child(window, OutputView).text() == "one")


def test_nothing_fits_and_there_is_a_way_out(past: Past, window: HistoryWindow, qtbot: QtBot) -> None:
    run = past.run(past.job(), NOW - 60 * DAY)
    _open(window, qtbot)
    assert _title(window) == "No matching runs"
    child(window, QPushButton, "showEverythingButton").click()
    qtbot.waitUntil(lambda: _shown_run(window) == run.id)


def test_the_newest_run_is_shown_with_its_output(past: Past, window: HistoryWindow, qtbot: QtBot) -> None:
    job_id = past.job()
    past.run(job_id, NOW - 2 * MINUTE)
    run = past.run(job_id, output=b"printed")
    _open(window, qtbot)
    qtbot.waitUntil(lambda: _shown_run(window) == run.id)
    qtbot.waitUntil(lambda: child(window, OutputView).text() == "printed")
    assert child(window, QLabel, "listStatus").text() == "2 runs"


def test_a_read_error_is_reported(
    past: Past, window: HistoryWindow, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise StoreError("the database is locked")

    monkeypatch.setattr(past.scheduler._store.history, "log", fail)
    window.show()
    qtbot.waitUntil(lambda: window.model.state is State.FAILED)
    assert child(window, QLabel, "listSentence").text() == "the database is locked"


def test_names_and_errors_of_any_kind_break_nothing(past: Past, window: HistoryWindow, qtbot: QtBot) -> None:
    job_id = past.job("<b>x</b> & 🎉 שלום " + "n" * 170)
    run = past.run(job_id, outcome=Outcome.FAILURE, error="<b>e</b>\n" + "y" * 10_000, output=b"<b>o</b>")
    _open(window, qtbot)
    qtbot.waitUntil(lambda: _shown_run(window) == run.id)
    assert window.minimumSizeHint().width() < 1_000
    assert not window.grab().isNull()


# --- What is asked for from outside -----------------------------------------------------------------


def test_one_job_is_shown(past: Past, window: HistoryWindow, qtbot: QtBot) -> None:
    job_id, other = past.job("one"), past.job("other")
    past.run(other)
    run = past.run(job_id, NOW - 5 * MINUTE)
    _open(window, qtbot)
    window.show_job(job_id)
    qtbot.waitUntil(lambda: _shown_run(window) == run.id)
    assert window.model.rowCount() == 1


@pytest.mark.parametrize("age", [MINUTE, 100 * DAY])
def test_one_run_is_shown_among_those_of_its_job(
    age: int, past: Past, window: HistoryWindow, qtbot: QtBot
) -> None:
    job_id = past.job()
    past.run(job_id, NOW - 5)
    run = past.run(job_id, NOW - age)
    _open(window, qtbot)
    window.show_run(run.id)
    qtbot.waitUntil(lambda: _table(window).currentIndex().row() == window.model.row_of(run.id) >= 0)
    qtbot.waitUntil(lambda: _shown_run(window) == run.id)
    assert window.model.choice.job_id == job_id


def test_an_old_run_of_a_busy_day_can_be_shown(past: Past, window: HistoryWindow, qtbot: QtBot) -> None:
    first, *_ = past.runs(past.job(), 250, NOW - 3_600_000)
    _open(window, qtbot)
    window.show_run(first.id)
    qtbot.waitUntil(lambda: window.model.choice.job_id is not None and window.model.state is State.READY)
    qtbot.waitUntil(lambda: _shown_run(window) == first.id)
    # The list has not reached it yet; the pane tells whose run it is all the same.
    assert window._pane._job.name
    window.model.reach(199)
    qtbot.waitUntil(lambda: window.model.is_complete)
    assert _shown_run(window) == first.id


def test_a_run_that_is_gone_is_reported(backend: Backend, window: HistoryWindow, qtbot: QtBot) -> None:
    with qtbot.waitSignal(backend.fault) as told:
        window.show_run("gone")
    assert told.args == ["This run is no longer in the history."]


def test_the_runs_of_a_notice_are_shown_until_something_else_is_chosen(
    past: Past, window: HistoryWindow, qtbot: QtBot
) -> None:
    job_id = past.job()
    wanted = [past.run(job_id, NOW - 90 * DAY), past.run(job_id)]
    past.run(job_id)
    _open(window, qtbot)
    window.show_runs([run.id for run in wanted])
    qtbot.waitUntil(lambda: window.model.rowCount() == 2)
    assert child(window, QLabel, "justWords").text() == "Showing 2 runs from the notification."
    child(window, QPushButton, "justEverything").click()
    qtbot.waitUntil(lambda: window.model.rowCount() == 3)
    assert not child(window, QFrame, "justBar").isVisible()


@pytest.mark.parametrize(
    ("button", "signal"), [("runAgainButton", "run_again_requested"), ("editJobButton", "edit_job_requested")]
)
def test_requests_are_emitted(
    button: str, signal: str, past: Past, window: HistoryWindow, qtbot: QtBot
) -> None:
    run = past.run(past.job())
    _open(window, qtbot)
    qtbot.waitUntil(lambda: _shown_run(window) == run.id)
    spy = QSignalSpy(getattr(window, signal))
    child(window, QPushButton, button).click()
    assert spy.at(0) == [run.job_id]


def test_an_open_question_is_answered_elsewhere(past: Past, window: HistoryWindow, qtbot: QtBot) -> None:
    question = ask(past.scheduler, past.job())
    _open(window, qtbot)
    qtbot.waitUntil(lambda: _shown_run(window) == question.run_id)
    qtbot.waitUntil(lambda: child(window, QFrame, "questionNote").isVisible())
    with qtbot.waitSignal(window.answer_requested) as wanted:
        child(window, QPushButton, "answerQuestionButton").click()
    assert wanted.args == [question.run_id]


# --- Going through it -------------------------------------------------------------------------------


def test_new_runs_do_not_move_the_selected_one(
    past: Past, backend: Backend, window: HistoryWindow, qtbot: QtBot
) -> None:
    job_id = past.job()
    past.runs(job_id, 150)
    _open(window, qtbot)
    table = _table(window)
    table.selectRow(40)
    selected = window.model.run_of(40)
    table.verticalScrollBar().setValue(30 * ROW)
    top = table.rowAt(1)
    assert selected is not None
    for number in range(3):
        run = past.run(job_id, NOW + number)
        backend.tell(Change(ChangeKind.RUN_FINISHED, job_id=job_id, run_id=run.id))
    qtbot.waitUntil(lambda: window.model.rowCount() == 153)
    assert table.rowAt(1) == top + 3
    assert table.currentIndex().row() == window.model.row_of(selected.id) == 43


def test_the_next_page_comes_while_scrolling(past: Past, window: HistoryWindow, qtbot: QtBot) -> None:
    past.runs(past.job(), 450)
    _open(window, qtbot)
    _table(window).setFocus()
    QTest.keyClick(_table(window), Qt.Key.Key_End)
    qtbot.waitUntil(lambda: window.model.rowCount() >= 400)
    QTest.keyClick(_table(window), Qt.Key.Key_End)
    qtbot.waitUntil(lambda: window.model.rowCount() == 450)


def test_the_row_that_comes_under_the_mouse_is_pointed_at(
    past: Past, window: HistoryWindow, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    past.runs(past.job(), 60)
    _open(window, qtbot)
    table = _table(window)
    monkeypatch.setattr(table, "underMouse", lambda: True)
    place = table.viewport().mapToGlobal(QPoint(20, ROW // 2))
    monkeypatch.setattr("ui.history.run_view.QCursor.pos", lambda: place)
    table.verticalScrollBar().setValue(ROW * 7)
    assert table._delegate.hovered == 7


def test_words_are_searched_and_escape_clears_them(past: Past, window: HistoryWindow, qtbot: QtBot) -> None:
    job_id = past.job()
    hit = past.run(job_id, NOW - 9 * MINUTE, output=b"needle")
    past.run(job_id, output=b"hay")
    _open(window, qtbot)
    field = child(window, QLineEdit, "textFilter")
    field.setText("NEEDLE")
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert child(window, QPushButton, "stopSearchButton").isVisibleTo(window)
    qtbot.waitUntil(lambda: window.model.state is State.READY)
    assert child(window, QLabel, "listStatus").text() == "1 found"
    qtbot.waitUntil(lambda: _shown_run(window) == hit.id)
    QTest.keyClick(_table(window), Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: window.model.rowCount() == 2)
    assert field.text() == ""


def test_escape_first_stops_a_search(past: Past, window: HistoryWindow, qtbot: QtBot) -> None:
    past.run(past.job(), output=b"needle")
    _open(window, qtbot)
    field = child(window, QLineEdit, "textFilter")
    field.setText("needle")
    QTest.keyClick(field, Qt.Key.Key_Return)
    QTest.keyClick(_table(window), Qt.Key.Key_Escape)
    assert window.model.state is State.READY
    assert field.text() == "needle"


def test_escape_never_closes_the_window_but_ctrl_w_does(window: HistoryWindow, qtbot: QtBot) -> None:
    _open(window, qtbot)
    with qtbot.waitActive(window):
        window.activateWindow()
    QTest.keySequence(window, "Esc")
    assert window.isVisible()
    QTest.keySequence(window, "Ctrl+W")
    assert not window.isVisible()


def test_the_chart_and_the_output_show_search_results(
    past: Past, window: HistoryWindow, qtbot: QtBot
) -> None:
    job_id = past.job()
    past.run(job_id, NOW - 9 * MINUTE, output=b"hay\nneedle\n")
    for _ in range(3):
        past.run(job_id, output=b"hay")
    _open(window, qtbot)
    words = child(window, QLabel, "overviewWords")
    qtbot.waitUntil(lambda: words.text() == "4 runs")
    field = child(window, QLineEdit, "textFilter")
    field.setText("needle")
    QTest.keyClick(field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: words.text() == "1 run")
    qtbot.waitUntil(lambda: window.findChild(QPlainTextEdit, "outputScreen") is not None)
    screen = child(window, QPlainTextEdit, "outputScreen")
    qtbot.waitUntil(lambda: screen.textCursor().selectedText() == "needle")
    field.clear()
    QTest.keyClick(field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: words.text() == "4 runs")


def test_a_young_history_is_charted_as_a_week(past: Past, window: HistoryWindow, qtbot: QtBot) -> None:
    job_id = past.job()
    past.run(job_id, NOW - 1_440 * MINUTE)
    past.run(job_id)
    _open(window, qtbot)
    qtbot.waitUntil(lambda: child(window, QLabel, "overviewWords").text() == "2 runs")
    assert len(child(window, DayChart, "dayChart")._buckets) == 7


@pytest.mark.usefixtures("machine_in_berlin")
def test_the_first_day_is_charted_by_the_hour(past: Past, window: HistoryWindow, qtbot: QtBot) -> None:
    job_id = past.job()
    past.run(job_id, NOW - 61 * MINUTE, outcome=Outcome.FAILURE)
    past.run(job_id)
    _open(window, qtbot)
    qtbot.waitUntil(lambda: child(window, QLabel, "overviewWords").text() == "2 runs, 1 failed")
    assert child(window, QLabel, "overviewTitle").text() == "Runs per hour"
    chart = child(window, DayChart, "dayChart")
    assert [bucket.total for bucket in chart._buckets].count(1) == 2
    assert len(chart._buckets) == 24
    words = [bucket_words(bucket) for bucket in chart._buckets if bucket.total]
    assert all(":00: 1 " in one for one in words)
    past.run(job_id, NOW - 1_440 * MINUTE)
    child(window, Overview)._count()
    qtbot.waitUntil(lambda: child(window, QLabel, "overviewTitle").text() == "Runs per day")


@pytest.mark.parametrize("size", [(640, 420), (1180, 420), (900, 420), (1366, 700)])
def test_it_fits_small_screens_in_any_order(
    past: Past, window: HistoryWindow, qtbot: QtBot, size: tuple[int, int]
) -> None:
    past.run(past.job(), output=b"x\n" * 50, outcome=Outcome.FAILURE)
    _open(window, qtbot)
    qtbot.waitUntil(lambda: _shown_run(window) is not None)
    for width, height in ((1180, 760), (640, 420), size):
        window.resize(width, height)
        qtbot.wait(1)
        assert (window.width(), window.height()) == (width, height)
    assert child(window, Overview).isVisible() is (size == (1366, 700))
    assert _table(window).height() > 2 * ROW


def test_the_chart_counts_and_a_click_chooses_a_day(past: Past, window: HistoryWindow, qtbot: QtBot) -> None:
    job_id = past.job()
    past.run(job_id, NOW - DAY, outcome=Outcome.FAILURE)
    past.run(job_id)
    past.run(job_id, NOW - 2 * MINUTE)
    _open(window, qtbot)
    words = child(window, QLabel, "overviewWords")
    qtbot.waitUntil(lambda: words.text() == "3 runs, 1 failed")
    chart = child(window, DayChart)
    place = chart.column_rect(5).center().toPoint()
    QTest.mouseMove(chart, place)
    qtbot.waitUntil(lambda: words.text() == "Thu 14 Jan: 1 failed")
    QTest.mouseClick(chart, Qt.MouseButton.LeftButton, pos=place)
    qtbot.waitUntil(lambda: window.model.rowCount() == 1)
    QTest.mouseClick(chart, Qt.MouseButton.LeftButton, pos=place)
    qtbot.waitUntil(lambda: window.model.rowCount() == 3)


def test_the_chart_is_updated_when_runs_end(
    past: Past, backend: Backend, window: HistoryWindow, qtbot: QtBot
) -> None:
    job_id = past.job()
    past.run(job_id)
    _open(window, qtbot)
    qtbot.waitUntil(lambda: child(window, QLabel, "overviewWords").text() == "1 run")
    child(window, Overview)._settling.setInterval(10)
    run = past.run(job_id)
    backend.tell(Change(ChangeKind.RUN_FINISHED, job_id=job_id, run_id=run.id))
    qtbot.waitUntil(lambda: child(window, QLabel, "overviewWords").text() == "2 runs")


def test_a_narrow_window_puts_the_run_below_the_list(past: Past, window: HistoryWindow, qtbot: QtBot) -> None:
    past.run(past.job())
    _open(window, qtbot)
    assert child(window, QSplitter).orientation() is Qt.Orientation.Horizontal
    window.resize(850, 900)
    qtbot.waitUntil(lambda: child(window, QSplitter).orientation() is Qt.Orientation.Vertical)


# --- Export -----------------------------------------------------------------------------------------


def test_the_export_contains_the_shown_runs(
    past: Past, window: HistoryWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QStandardPaths, "writableLocation", lambda _place: str(tmp_path))
    job_id = past.job("=evil")
    past.runs(job_id, 450)
    past.run(past.job("other"))
    _open(window, qtbot)
    window.show_job(job_id)
    qtbot.waitUntil(lambda: window.model.choice.job_id == job_id and window.model.state is State.READY)
    child(window, ExportButton).wanted.emit(Format.CSV)
    dialog = child(window, QFileDialog, "exportDialog")
    assert Path(dialog.directory().path()) == tmp_path
    dialog.fileSelected.emit(str(tmp_path / "runs.csv"))
    dialog.reject()
    told = child(window, WrappedText, "exportText")
    qtbot.waitUntil(lambda: told.text() == f"Exported 450 runs to {tmp_path / 'runs.csv'}.")
    lines = (tmp_path / "runs.csv").read_text("utf-8-sig").splitlines()
    assert len(lines) == 451
    assert all("'=evil" in line for line in lines[1:])
    shown = child(window, QPushButton, "exportOpen")
    assert shown.isVisible()
    opened: list[QUrl] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", opened.append)
    shown.click()
    assert opened == [QUrl.fromLocalFile(str(tmp_path))]


def test_hits_of_a_search_are_exported(
    past: Past, window: HistoryWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    job_id = past.job()
    past.run(job_id, output=b"needle")
    past.run(job_id, output=b"hay")
    _open(window, qtbot)
    field = child(window, QLineEdit, "textFilter")
    field.setText("needle")
    QTest.keyClick(field, Qt.Key.Key_Return)
    child(window, ExportBar).start(tmp_path / "runs.json", Format.JSON, window.model.choice)
    told = child(window, WrappedText, "exportText")
    qtbot.waitUntil(lambda: told.text() == f"Exported 1 run to {tmp_path / 'runs.json'}.")
    assert (tmp_path / "runs.json").read_text().count('"id"') == 1


def test_a_cancelled_export_leaves_no_file(past: Past, qtbot: QtBot, tmp_path: Path) -> None:
    past.runs(past.job(), 2_000)
    (tmp_path / "out").mkdir()
    backend, appearance = Backend(past.scheduler.path, ManualClock(NOW)), Appearance(Theme.LIGHT)
    bar = ExportBar(backend, appearance)
    appearance.setParent(bar)
    qtbot.addWidget(bar)
    bar.start(tmp_path / "out" / "runs.csv", Format.CSV, Choice())
    qtbot.waitUntil(lambda: "so far" in child(bar, WrappedText, "exportText").text())
    child(bar, QPushButton, "exportCancel").click()
    assert child(bar, WrappedText, "exportText").text() == "Export cancelled."
    backend.close()
    assert list((tmp_path / "out").iterdir()) == []


def test_an_export_that_fails_is_reported(
    past: Past, window: HistoryWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    past.run(past.job())
    _open(window, qtbot)
    child(window, ExportBar).start(tmp_path / "none" / "runs.csv", Format.CSV, window.model.choice)
    told = child(window, WrappedText, "exportText")
    qtbot.waitUntil(lambda: told.text().startswith("Could not write runs.csv: "))


def test_a_run_that_started_another_is_one_click_away(
    past: Past, window: HistoryWindow, qtbot: QtBot
) -> None:
    cause = past.run(past.job("backup"), NOW - MINUTE)
    run = past.run(past.job("report"), NOW, trigger=Trigger.CHAIN, caused_by=cause.id)
    _open(window, qtbot)
    window.show_run(run.id)
    qtbot.waitUntil(lambda: _shown_run(window) == run.id and window.findChild(LinkLine) is not None)
    child(window, LinkLine, "factLink").click()
    qtbot.waitUntil(lambda: _shown_run(window) == cause.id)
