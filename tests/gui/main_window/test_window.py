"""The job window as a whole: it shows what there is, follows what changes, and tells what is wanted."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from job_values import MINUTE, NASTY, NOW, make_job, row_of
from machine import Bench
from PySide6.QtCore import QPoint, Qt, SignalInstance
from PySide6.QtGui import QAction, QFont
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QCheckBox,
    QLineEdit,
    QMenu,
    QSpinBox,
    QWidget,
)
from pytestqt.qtbot import QtBot

from halo_scheduler.model import Every, Follower, JobStatus, Manual, WaitingFor
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.settings import Theme
from ui.backend.backend import Backend
from ui.main_window.details.pane import DetailPane, TableAndPane
from ui.main_window.details.sections import RunButton
from ui.main_window.empty_state import EmptyState, NoMatch
from ui.main_window.groups import GroupLimitDialog
from ui.main_window.more_menu import HelpTopic
from ui.main_window.notes import Note, UndoBar
from ui.main_window.table.job_rows import Column, JobFilter
from ui.main_window.table.job_view import JobView
from ui.main_window.toolbar import JobToolbar
from ui.main_window.trash import TrashDialog
from ui.main_window.window import MainWindow
from ui.style.theme import Appearance
from ui.widgets.labels import WrappedText
from ui.widgets.signs import LinkLine
from ui.widgets.status_strip import EngineShown

# Inside a field of Qt's own.
_WITHOUT_KEYS = ("", "qt_spinbox_lineedit")
_CTRL_SHIFT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "halo.db", now_ms=NOW)
    yield made
    made.close()


@pytest.fixture
def backend(bench: Bench, qapp: QApplication) -> Backend:
    return Backend.inline(bench.scheduler, bench.clock, qapp)


@pytest.fixture
def window(qtbot: QtBot, backend: Backend) -> MainWindow:
    made = MainWindow(backend, Appearance(Theme.LIGHT))
    qtbot.addWidget(made)
    return made


def _open(qtbot: QtBot, window: MainWindow) -> None:
    with qtbot.waitSignal(window._loader.loaded):
        window.show()
    _settle(qtbot, window)


def _settle(qtbot: QtBot, window: MainWindow) -> None:
    """Wait until nothing is asked and nothing is left to be asked."""
    loader = window._loader
    qtbot.waitUntil(
        lambda: (
            not loader._is_asking
            and not loader._gather.isActive()
            and window._pane._asked is None
            and not window._totals.is_due
        )
    )


def _part(window: MainWindow, kind: type[QWidget], name: str) -> QWidget:
    found = window.findChild(kind, name)
    assert isinstance(found, kind)
    return found


def _click(window: MainWindow, name: str) -> None:
    button = window.findChild(QAbstractButton, name)
    assert button is not None
    button.click()


def _action(window: MainWindow, name: str) -> QAction:
    found = window.findChild(QAction, name)
    assert found is not None
    return found


def _text(window: MainWindow, name: str) -> str:
    found = window.findChild(WrappedText, name)
    assert found is not None
    return found.text()


def _view(window: MainWindow) -> JobView:
    found = window.findChild(JobView)
    assert found is not None
    return found


def _names(window: MainWindow) -> list[str]:
    model = window._model
    return [model.job_at(row).name for row in range(model.rowCount())]


def _search(window: MainWindow, text: str) -> None:
    field = window.findChild(QLineEdit, "searchField")
    assert field is not None
    field.setText(text)


def test_without_jobs_it_invites(qtbot: QtBot, window: MainWindow) -> None:
    _open(qtbot, window)
    empty = window.findChild(EmptyState)
    assert empty is not None
    assert empty.isVisible()
    assert not _part(window, QLineEdit, "searchField").isVisible()
    with qtbot.waitSignal(window.new_job_requested) as told:
        _click(window, "template-website")
    assert told.args == ["website"]


def test_until_jobs_are_loaded_the_empty_page_is_hidden(qtbot: QtBot, window: MainWindow) -> None:
    assert window.findChild(EmptyState) is None
    _open(qtbot, window)
    empty = window.findChild(EmptyState)
    assert empty is not None
    assert empty.isVisibleTo(window)


def test_the_first_job_replaces_the_invitation(qtbot: QtBot, bench: Bench, window: MainWindow) -> None:
    _open(qtbot, window)
    bench.scheduler.add_job("backup", Manual())
    qtbot.waitUntil(lambda: _view(window).isVisible())
    assert _names(window) == ["backup"]


def test_the_first_job_is_selected_and_shown(qtbot: QtBot, bench: Bench, window: MainWindow) -> None:
    bench.scheduler.add_job("b", Manual())
    bench.scheduler.add_job("a", Every("1h"))
    _open(qtbot, window)
    assert _text(window, "detailName") == "a"
    assert _text(window, "detailStatus").startswith("Ready, next run")


def test_a_search_that_finds_nothing_offers_the_way_back(
    qtbot: QtBot, bench: Bench, window: MainWindow
) -> None:
    bench.scheduler.add_job("backup", Manual())
    _open(qtbot, window)
    _search(window, "zzz")
    none = window.findChild(NoMatch)
    assert none is not None
    assert none.isVisible()
    _click(window, "clearSearchButton")
    assert _names(window) == ["backup"]
    assert _view(window).isVisible()


def test_a_change_made_elsewhere_is_seen_and_the_selection_kept(
    qtbot: QtBot, bench: Bench, window: MainWindow
) -> None:
    bench.scheduler.add_job("a", Manual())
    chosen = bench.scheduler.add_job("b", Manual())
    _open(qtbot, window)
    _view(window).select_ids([chosen])
    bench.scheduler.update_job(chosen, name="z <i>renamed</i>")
    qtbot.waitUntil(lambda: _text(window, "detailName") == "z <i>renamed</i>")
    assert _view(window).selected_ids() == [chosen]


def test_deleting_asks_nothing_and_can_be_undone(qtbot: QtBot, bench: Bench, window: MainWindow) -> None:
    chosen = bench.scheduler.add_job("backup", Manual())
    bench.scheduler.add_job("other", Manual())
    _open(qtbot, window)
    _view(window).select_ids([chosen])
    _action(window, "deleteAction").trigger()
    qtbot.waitUntil(lambda: _names(window) == ["other"])
    bar = window.findChild(UndoBar)
    assert bar is not None
    assert bar.isVisible()
    assert _text(window, "undoText") == "Deleted “backup”."
    _click(window, "undoButton")
    qtbot.waitUntil(lambda: _names(window) == ["backup", "other"])
    assert _view(window).selected_ids() == [chosen]
    assert not bar.isVisible()


def test_the_trash_gives_back(qtbot: QtBot, bench: Bench, window: MainWindow) -> None:
    job_id = bench.scheduler.add_job("backup", Manual())
    bench.scheduler.remove_job(job_id)
    _open(qtbot, window)
    _action(window, "trashAction").trigger()
    trash = window.findChild(TrashDialog)
    assert trash is not None
    restore = trash.findChild(QAbstractButton, "restoreButton")
    assert restore is not None
    qtbot.waitUntil(restore.isEnabled)
    restore.click()
    qtbot.waitUntil(lambda: _names(window) == ["backup"])
    qtbot.waitUntil(lambda: not restore.isEnabled())


def test_everything_is_paused_and_resumed_with_one_click(
    qtbot: QtBot, bench: Bench, window: MainWindow
) -> None:
    bench.scheduler.add_job("a", Every("1h"))
    bench.scheduler.add_job("b", Every("1h"))
    _open(qtbot, window)
    window.show_engine(EngineShown("here"))
    _click(window, "pauseAllButton")
    qtbot.waitUntil(lambda: _text(window, "statusWords") == "All jobs are paused")
    _click(window, "resumeAllButton")
    qtbot.waitUntil(lambda: _text(window, "statusWords").startswith("Idle · next: a at "))


def test_the_window_says_which_program_runs_the_jobs(qtbot: QtBot, bench: Bench, window: MainWindow) -> None:
    bench.scheduler.add_job("a", Manual())
    _open(qtbot, window)
    window.show_engine(EngineShown("elsewhere", "Jobs are run by halo daemon (process 123)."))
    assert _text(window, "statusWords") == "Idle · Jobs are run by halo daemon (process 123)."


def test_failing_jobs_are_one_click_away(qtbot: QtBot, bench: Bench, window: MainWindow) -> None:
    bench.scheduler.add_job("fine", Manual())
    bench.scheduler.add_job("failing", Every("1m"))
    for run in bench.tick(MINUTE):
        bench.finish(run, error=ValueError("broken"))
    _open(qtbot, window)
    _click(window, "failingButton")
    assert _names(window) == ["failing"]


def test_a_job_that_is_still_being_read_is_selected_when_it_is_there(
    qtbot: QtBot, bench: Bench, window: MainWindow
) -> None:
    bench.scheduler.add_job("a", Manual())
    wanted = bench.scheduler.add_job("b", Manual())
    window.select_job(wanted)
    _open(qtbot, window)
    assert _view(window).selected_ids() == [wanted]


def test_selecting_a_job_ends_a_search_that_hides_it(qtbot: QtBot, bench: Bench, window: MainWindow) -> None:
    bench.scheduler.add_job("apple", Manual())
    wanted = bench.scheduler.add_job("pear", Manual())
    _open(qtbot, window)
    _search(window, "apple")
    window.select_job(wanted)
    assert _view(window).selected_ids() == [wanted]
    assert _names(window) == ["apple", "pear"]


def test_the_limit_of_a_group_is_set_where_the_group_is_chosen(
    qtbot: QtBot, bench: Bench, window: MainWindow
) -> None:
    bench.scheduler.add_job("a", Manual(), group="web")
    _open(qtbot, window)
    window._toolbar.limit_wanted.emit("web")
    qtbot.waitUntil(lambda: window.findChild(GroupLimitDialog) is not None)
    dialog = window.findChild(GroupLimitDialog)
    assert dialog is not None
    has_limit, count = dialog.findChild(QCheckBox, "hasLimit"), dialog.findChild(QSpinBox, "limitCount")
    assert has_limit is not None
    assert count is not None
    has_limit.setChecked(True)
    count.setValue(3)
    dialog.accept()
    qtbot.waitUntil(lambda: bench.scheduler.jobs.group_limits() == {"web": 3})


def test_an_error_of_the_service_is_shown_until_it_is_closed(
    qtbot: QtBot, bench: Bench, window: MainWindow
) -> None:
    job_id = bench.scheduler.add_job("a", Manual())
    _open(qtbot, window)
    bench.scheduler.trigger(job_id)
    _action(window, "runAction").trigger()
    qtbot.waitUntil(
        lambda: _text(window, "messageNoteText") == "a manual run of a is already waiting to start"
    )
    _click(window, "messageNoteClose")
    assert not _part(window, QWidget, "messageNote").isVisible()


def test_a_fault_of_the_service_is_shown(qtbot: QtBot, backend: Backend, window: MainWindow) -> None:
    _open(qtbot, window)
    backend.fault.emit("the <disk> is full")
    assert _text(window, "messageNoteText") == "the <disk> is full"


def test_an_engine_that_is_not_running_can_be_started(qtbot: QtBot, window: MainWindow) -> None:
    _open(qtbot, window)
    window.show_engine(EngineShown("none", can_start=True))
    with qtbot.waitSignal(window.start_engine_requested):
        _click(window, "startEngineButton")


def test_notes_of_the_app(qtbot: QtBot, window: MainWindow) -> None:
    _open(qtbot, window)
    window.set_autostart_note(True)
    window.set_closing_note("Closing ends Halo.")
    assert _part(window, QWidget, "autostartNote").isVisible()
    assert _text(window, "closingNoteText") == "Closing ends Halo."
    with qtbot.waitSignal(window.autostart_requested):
        _click(window, "autostartNoteAction")
    _click(window, "autostartNoteClose")
    assert not _part(window, QWidget, "autostartNote").isVisible()
    window.set_closing_note("")
    assert not _part(window, QWidget, "closingNote").isVisible()


def test_it_counts_only_while_it_can_be_seen(qtbot: QtBot, bench: Bench, window: MainWindow) -> None:
    bench.scheduler.add_job("a", Every("10m"))
    _open(qtbot, window)
    qtbot.waitUntil(lambda: window._countdown.is_armed)
    window.hide()
    assert not window._countdown.is_armed
    window.show()
    assert window._countdown.is_armed
    window.showMinimized()
    qtbot.waitUntil(lambda: not window._countdown.is_armed)


def test_hidden_it_asks_nothing_and_shown_again_it_is_up_to_date(
    qtbot: QtBot, bench: Bench, window: MainWindow
) -> None:
    _open(qtbot, window)
    window.hide()
    bench.scheduler.add_job("new", Manual())
    assert not window._loader._gather.isActive()
    window.show()
    qtbot.waitUntil(lambda: _names(window) == ["new"])


def test_the_countdown_changes_the_times_in_sight(qtbot: QtBot, bench: Bench, window: MainWindow) -> None:
    bench.scheduler.add_job("a", Every("10m"))
    _open(qtbot, window)
    model = window._model
    assert model.data(model.index(0, Column.NEXT)) == "in 10 min"
    bench.clock.advance(5 * MINUTE)
    with qtbot.waitSignal(model.dataChanged):
        window._countdown.due.emit()
    assert model.data(model.index(0, Column.NEXT)) == "in 5 min"
    assert _text(window, "detailStatus") == "Ready, next run in 5 min"


def test_closing_only_hides_and_explains_that(qtbot: QtBot, window: MainWindow) -> None:
    _open(qtbot, window)
    with qtbot.waitSignal(window.closing):
        window.close()
    assert not window.isVisible()
    window.show()
    assert window.isVisible()


def test_the_keys(qtbot: QtBot, bench: Bench, window: MainWindow) -> None:
    job_id = bench.scheduler.add_job("a", Manual())
    _open(qtbot, window)
    _view(window).setFocus()
    keys: list[tuple[str, SignalInstance, list[object]]] = [
        ("Ctrl+N", window.new_job_requested, [None]),
        ("Ctrl+H", window.history_requested, [None]),
        ("Ctrl+Shift+H", window.history_requested, [job_id]),
        ("Ctrl+D", window.duplicate_requested, [job_id]),
        ("Return", window.edit_requested, [job_id]),
        ("Ctrl+,", window.settings_requested, []),
        ("Ctrl+Q", window.quit_requested, []),
        ("F1", window.help_requested, [HelpTopic.MANUAL]),
    ]
    with qtbot.waitActive(window):
        window.activateWindow()
    for key, signal, expected in keys:
        with qtbot.waitSignal(signal) as told:
            QTest.keySequence(_view(window), key)
        assert told.args == expected
    QTest.keySequence(window, "Ctrl+F")
    assert _part(window, QLineEdit, "searchField").hasFocus()


def test_delete_deletes_a_job_only_where_jobs_are(qtbot: QtBot, bench: Bench, window: MainWindow) -> None:
    bench.scheduler.add_job("a", Manual())
    _open(qtbot, window)
    with qtbot.waitActive(window):
        window.activateWindow()
    _search(window, "a")
    field = _part(window, QLineEdit, "searchField")
    field.setFocus()
    QTest.keySequence(field, "Home")
    QTest.keySequence(field, "Del")
    assert window._toolbar.search_field.text() == ""
    button = _part(window, QAbstractButton, "newJobButton")
    button.setFocus()
    QTest.keySequence(button, "Del")
    assert [job.name for job in bench.scheduler.list_jobs()] == ["a"]


@pytest.mark.qt_log_ignore("This plugin does not support")
def test_the_menu_of_a_row(qtbot: QtBot, bench: Bench, window: MainWindow) -> None:
    bench.scheduler.add_job("a", Manual())
    _open(qtbot, window)
    _view(window).menu_wanted.emit(QPoint(10, 10), None)
    menu = window.findChild(QMenu, "jobMenu")
    assert menu is not None
    assert "Run now" in [action.text() for action in menu.actions()]
    menu.close()


def test_sorting_by_keys(qtbot: QtBot, bench: Bench, window: MainWindow) -> None:
    bench.scheduler.add_job("a", Every("2h"))
    bench.scheduler.add_job("b", Every("1h"))
    _open(qtbot, window)
    _action(window, "sort-schedule").trigger()
    assert _names(window) == ["b", "a"]
    menu = window.findChild(QMenu, "sortMenu")
    assert menu is not None
    menu.aboutToShow.emit()
    assert _action(window, "sort-schedule").isChecked()


def test_the_details_can_be_put_away(qtbot: QtBot, bench: Bench, window: MainWindow) -> None:
    bench.scheduler.add_job("a", Manual())
    _open(qtbot, window)
    pane = window.findChild(DetailPane)
    assert pane is not None
    _action(window, "paneAction").trigger()
    assert not pane.isVisible()
    _action(window, "paneAction").trigger()
    assert pane.isVisible()


def test_with_large_letters_the_details_leave_a_narrow_window_until_they_are_wanted(
    qtbot: QtBot, bench: Bench, window: MainWindow
) -> None:
    bench.scheduler.add_job("a", Manual())
    _open(qtbot, window)
    pane = window.findChild(DetailPane)
    splitter = window.findChild(TableAndPane)
    assert pane is not None
    assert splitter is not None
    window.resize(640, 420)
    assert pane.isVisible()
    large = QFont(splitter.font())
    large.setPointSizeF(17)
    splitter.setFont(large)
    window.resize(650, 420)
    assert not pane.isVisible()
    assert not _action(window, "paneAction").isChecked()
    _action(window, "paneAction").trigger()
    assert pane.isVisible()
    window.resize(640, 420)
    assert pane.isVisible()


def test_a_run_is_opened_in_the_history(qtbot: QtBot, bench: Bench, window: MainWindow) -> None:
    bench.scheduler.add_job("a", Every("1m"))
    (run,) = bench.tick(MINUTE)
    bench.finish(run)
    _open(qtbot, window)
    with qtbot.waitSignal(window.run_shown_requested) as told:
        _click(window, "recentRun0")
    assert told.args == [run.id]


def test_names_from_outside_neither_style_nor_break_anything(
    qtbot: QtBot, bench: Bench, window: MainWindow
) -> None:
    bench.scheduler.add_job(NASTY, Every("1m"), group="<u>&amp;</u>", description=NASTY * 40)
    bench.scheduler.add_job("שלום עולם", Manual())
    _open(qtbot, window)
    window.resize(900, 600)
    assert window.minimumSizeHint().width() <= 900
    assert not window.grab().isNull()
    assert "\u202e" not in _text(window, "statusWords")


def test_a_change_of_anything_keeps_selection_and_place(
    qtbot: QtBot, bench: Bench, backend: Backend, window: MainWindow
) -> None:
    ids = bench.scheduler.add_jobs([{"name": f"job {index}", "schedule": Manual()} for index in range(200)])
    _open(qtbot, window)
    view = _view(window)
    view.select_ids([ids[150]])
    _settle(qtbot, window)
    place = view.verticalScrollBar().value()
    assert place > 0
    with qtbot.waitSignal(window._loader.loaded):
        backend.tell(Change(ChangeKind.JOB))
    assert view.selected_ids() == [ids[150]]
    assert view.verticalScrollBar().value() == place


def test_every_control_has_a_name_to_be_spoken(qtbot: QtBot, bench: Bench, window: MainWindow) -> None:
    bench.scheduler.add_job("a", Manual())
    _open(qtbot, window)
    for button in window.findChildren(QAbstractButton):
        if button.isVisible() and button.objectName() and not button.objectName().startswith("qt_"):
            assert button.accessibleName() or button.text(), button.objectName()
            assert button.toolTip(), button.objectName()


def test_tab_leads_from_the_toolbar_to_the_table_the_details_and_the_strip(
    qtbot: QtBot, bench: Bench, window: MainWindow
) -> None:
    bench.scheduler.add_job("a", Manual())
    _open(qtbot, window)
    chain: list[str] = []
    widget = window.nextInFocusChain()
    while widget is not None and widget is not window:
        if widget.isVisible() and widget.focusPolicy() & Qt.FocusPolicy.TabFocus:
            chain.append(widget.objectName())
        widget = widget.nextInFocusChain()
    wanted = ["newJobButton", "searchField", "jobTable", "detailRun", "pauseAllButton"]
    assert [name for name in chain if name in wanted] == wanted


def test_the_window_follows_the_theme(qtbot: QtBot, bench: Bench, backend: Backend) -> None:
    bench.scheduler.add_job("a", Every("1m"))
    appearance = Appearance(Theme.LIGHT)
    window = MainWindow(backend, appearance)
    qtbot.addWidget(window)
    _open(qtbot, window)
    before = _view(window).grab().toImage()
    appearance.choose(Theme.DARK)
    assert _view(window).grab().toImage() != before


def test_pages_change_without_leaving_the_window(qtbot: QtBot, bench: Bench, window: MainWindow) -> None:
    job_id = bench.scheduler.add_job("a", Manual())
    _open(qtbot, window)
    bench.scheduler.remove_job(job_id)
    qtbot.waitUntil(lambda: _part(window, EmptyState, "emptyState").isVisible())


def _focus_names(window: MainWindow) -> list[str]:
    names: list[str] = []
    widget = window.nextInFocusChain()
    while widget is not None and widget is not window:
        if widget.isVisible() and widget.focusPolicy() & Qt.FocusPolicy.TabFocus:
            names.append(widget.objectName())
        widget = widget.nextInFocusChain()
    return names


def test_tab_comes_to_notes_and_to_undo_where_they_are_seen(
    qtbot: QtBot, bench: Bench, window: MainWindow
) -> None:
    bench.scheduler.add_job("a", Manual())
    bench.scheduler.add_job("b", Manual())
    _open(qtbot, window)
    window.set_autostart_note(True)
    _action(window, "deleteAction").trigger()
    qtbot.waitUntil(lambda: _part(window, QWidget, "undoBar").isVisible())
    wanted = [
        "moreButton",
        "autostartNoteAction",
        "autostartNoteClose",
        "jobTable",
        "undoButton",
        "undoClose",
    ]
    assert [name for name in _focus_names(window) if name in [*wanted, "pauseAllButton"]] == [
        *wanted,
        "pauseAllButton",
    ]


def test_after_the_start_the_keys_are_among_the_jobs(qtbot: QtBot, bench: Bench, window: MainWindow) -> None:
    bench.scheduler.add_job("a", Manual())
    bench.scheduler.add_job("b", Manual())
    _open(qtbot, window)
    assert window.focusWidget() is _view(window)
    assert _view(window).currentIndex().row() == 0


def test_all_jobs_are_paused_and_resumed_by_the_same_keys(
    qtbot: QtBot, bench: Bench, window: MainWindow
) -> None:
    job_id = bench.scheduler.add_job("a", Every("1h"))
    _open(qtbot, window)
    for is_paused in (True, False):
        QTest.keyClick(window, Qt.Key.Key_P, _CTRL_SHIFT)
        qtbot.waitUntil(partial(_is_paused, bench, job_id, is_paused))
        _settle(qtbot, window)


def _is_paused(bench: Bench, job_id: str, wanted: bool) -> bool:
    job = bench.scheduler.get_job(job_id)
    return job is not None and (job.status is JobStatus.PAUSED) is wanted


def test_a_job_at_the_limit_is_shown_as_waiting(window: MainWindow) -> None:
    window.show()
    waiting = make_job("backup", next_run_at=NOW - MINUTE, waiting_for=WaitingFor.AT_CAPACITY)
    later = make_job("report")
    window._model.replace([row_of(waiting), row_of(later)])
    window._totals.sum_up()
    window.show_engine(EngineShown("here"))
    assert _text(window, "statusWords").startswith("Idle · backup waiting: limit reached · next: report at ")


def test_jobs_deleted_together_are_selected_together_after_undo(
    qtbot: QtBot, bench: Bench, window: MainWindow
) -> None:
    for name in "abc":
        bench.scheduler.add_job(name, Manual())
    _open(qtbot, window)
    _view(window).select_ids([job.id for job in bench.scheduler.list_jobs() if job.name in "ab"])
    _action(window, "deleteAction").trigger()
    qtbot.waitUntil(lambda: _names(window) == ["c"])
    _click(window, "undoButton")
    qtbot.waitUntil(lambda: [row.job.name for row in _view(window).selected_rows()] == ["a", "b"])


def test_every_button_shows_its_shortcut_also_after_its_words_changed(
    qtbot: QtBot, bench: Bench, window: MainWindow
) -> None:
    job_id = bench.scheduler.add_job("a", Every("1m"), group="Work")
    bench.scheduler.trigger(job_id)
    for run in bench.tick(MINUTE):
        bench.finish(run, error=ValueError("no disk left"))
    # On the very minute a clock that stands still would have its times told anew again and again.
    bench.clock.advance(MINUTE // 2)
    _open(qtbot, window)
    toolbar = window.findChild(JobToolbar)
    assert toolbar is not None
    toolbar.set_filter(JobFilter(group="Work"))
    for made in window.findChildren(QAbstractButton):
        if not made.isVisible() or made.objectName() in _WITHOUT_KEYS or isinstance(made, RunButton):
            continue
        assert "(" in made.toolTip(), made.objectName()
        assert not made.shortcut().isEmpty() or made.objectName().startswith("detail"), made.objectName()


def test_a_manual_run_at_the_limit_is_shown_as_waiting(
    qtbot: QtBot, bench: Bench, window: MainWindow
) -> None:
    bench.scheduler.add_job("a", Every("1h"))
    _open(qtbot, window)
    _action(window, "runAction").trigger()
    qtbot.waitUntil(lambda: _text(window, "detailStatus") == "Waiting to start")
    _settle(qtbot, window)
    index = window._model.index(0, Column.NEXT)
    assert index.data() == "waiting to start"
    bench.tick()
    qtbot.waitUntil(lambda: _text(window, "detailStatus") == "Running for 0 s")
    _settle(qtbot, window)
    assert index.data() == "running"


def test_without_a_tray_closing_minimises(window: MainWindow, qtbot: QtBot) -> None:
    window.set_minimises_on_close(True)
    _open(qtbot, window)
    with qtbot.assertNotEmitted(window.closing):
        assert not window.close()
    assert window.isVisible()
    assert window.isMinimized()
    window.set_minimises_on_close(False)
    with qtbot.waitSignal(window.closing):
        assert window.close()
    assert not window.isVisible()


def test_another_job_of_a_chain_is_one_click_away_and_its_state_stays_true(
    qtbot: QtBot, bench: Bench, window: MainWindow
) -> None:
    then = bench.scheduler.add_job("then", Manual())
    bench.scheduler.add_job("first", Manual(), followers=(Follower(job_id=then),))
    _open(qtbot, window)
    link = _part(window, LinkLine, "thenRuns0")
    assert link.accessibleName() == "then, on success"
    bench.scheduler.pause_job(then)
    qtbot.waitUntil(lambda: link.accessibleName() == "then, paused · on success")
    _click(window, "thenRuns0")
    qtbot.waitUntil(lambda: [row.job.name for row in _view(window).selected_rows()] == ["then"])


def test_in_a_low_window_with_large_letters_notes_are_complete_and_leave_room(
    qtbot: QtBot, window: MainWindow, qapp: QApplication
) -> None:
    before = qapp.font()
    large = QFont(before)
    large.setPointSizeF(17)
    Appearance().apply()
    qapp.setFont(large)
    window.show()
    window.set_autostart_note(True)
    window.show_quitting(is_quitting=True)
    window.show_message("the disk is full; free some space, or runs cannot be recorded " * 3)
    window.resize(640, 420)
    names = ("messageNote", "quittingNote", "autostartNote")
    notes = [found for name in names if (found := window.findChild(Note, name)) is not None]
    try:
        qtbot.waitUntil(lambda: not notes[-1].isVisible())
        shown = [note for note in notes if note.isVisible()]
        assert notes[0] in shown
        qtbot.waitUntil(lambda: all(note.height() >= note.heightForWidth(note.width()) for note in shown))
        qtbot.waitUntil(lambda: sum(note.height() for note in shown) <= window.height() // 2)
        close = window.findChild(QAbstractButton, "messageNoteClose")
        assert close is not None
        close.click()
        assert notes[1].isVisible()
        window.resize(1_280, 900)
        qtbot.waitUntil(notes[-1].isVisible)
        assert not notes[0].isVisible()
    finally:
        qapp.setStyleSheet("")
        qapp.setFont(before)


def test_waiting_to_quit_can_be_cancelled_and_promises_no_next_run(
    qtbot: QtBot, bench: Bench, window: MainWindow
) -> None:
    bench.scheduler.add_job("backup", Every("1h"))
    _open(qtbot, window)
    words = window.findChild(WrappedText, "statusWords")
    assert words is not None
    window.show_engine(EngineShown("here"))
    qtbot.waitUntil(lambda: "next: backup" in words.text())
    window.show_quitting(is_quitting=True)
    assert "next: backup" not in words.text()
    assert "Halo is quitting" in words.text()
    assert window.findChild(QAbstractButton, "quittingNoteClose") is None, "closing it would be ambiguous"
    with qtbot.waitSignal(window.quitting_cancelled):
        _click(window, "quittingNoteAction")


def test_the_window_is_named_after_the_program_once(window: MainWindow) -> None:
    assert window.windowTitle().count("Halo") == 1


def test_help_has_a_manual_at_f1(qtbot: QtBot, window: MainWindow) -> None:
    manual = _action(window, "manualAction")
    assert manual.shortcut().toString() == "F1"
    with qtbot.waitSignal(window.help_requested) as told:
        manual.trigger()
    assert told.args == [HelpTopic.MANUAL]


def test_the_empty_page_has_one_primary_button(qtbot: QtBot, window: MainWindow) -> None:
    _open(qtbot, window)
    qtbot.waitUntil(lambda: window.findChild(EmptyState) is not None)
    shown = [one for one in window.findChildren(QAbstractButton) if one.isVisible() and one.text()]
    primary = [one.objectName() for one in shown if one.property("kind") == "primary"]
    assert primary == ["newJobButton"]
