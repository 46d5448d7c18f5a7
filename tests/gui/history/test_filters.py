"""The filters of the history."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from finding import child
from past_runs import DAY, NOW, Past
from PySide6.QtCore import QDate, Qt
from PySide6.QtGui import QAction
from PySide6.QtTest import QSignalSpy, QTest
from PySide6.QtWidgets import QComboBox, QDateEdit, QLineEdit, QMenu, QPushButton
from pytestqt.qtbot import QtBot

from halo_scheduler import Outcome, Scheduler, Trigger
from halo_scheduler.clock import ManualClock
from halo_scheduler.model.settings import Theme
from ui.backend.backend import Backend
from ui.history.choice import Choice, DaySpan, day_start
from ui.history.filters import Filters, Period
from ui.history.pickers import JobPicker
from ui.style.theme import Appearance

pytestmark = pytest.mark.usefixtures("machine_in_berlin")
_MONTH_AGO = date(2026, 12, 17)


@pytest.fixture
def past(tmp_path: Path) -> Iterator[Past]:
    with Scheduler.open(tmp_path / "halo.db", clock=ManualClock(NOW)) as scheduler:
        yield Past(scheduler)


@pytest.fixture
def filters(past: Past, qtbot: QtBot) -> Filters:
    appearance = Appearance(Theme.LIGHT)
    backend = Backend.inline(past.scheduler, ManualClock(NOW))
    made = Filters(backend, appearance)
    appearance.setParent(made)
    backend.setParent(made)
    qtbot.addWidget(made)
    made.show()
    return made


def _choose(filters: Filters, name: str, data: object) -> None:
    box = child(filters, QComboBox, name)
    box.setCurrentIndex(box.findData(data))
    box.activated.emit(box.currentIndex())


def test_the_last_thirty_days_are_shown_at_first(filters: Filters) -> None:
    assert filters.choice() == Choice(since=day_start(_MONTH_AGO))
    assert not child(filters, QPushButton, "clearFilters").isVisible()


@pytest.mark.parametrize(
    ("period", "span"),
    [
        (Period.TODAY, DaySpan(date(2027, 1, 15))),
        (Period.WEEK, DaySpan(date(2027, 1, 9))),
        (Period.ALL, DaySpan()),
        (Period.CUSTOM, DaySpan(_MONTH_AGO, date(2027, 1, 15))),
    ],
)
def test_a_period_is_some_days(filters: Filters, period: Period, span: DaySpan) -> None:
    changes = QSignalSpy(filters.changed)
    _choose(filters, "periodFilter", period)
    assert filters.span() == span
    assert changes.count() == 1


def test_own_days_go_from_the_earlier_to_the_later(filters: Filters) -> None:
    _choose(filters, "periodFilter", Period.CUSTOM)
    assert child(filters, QDateEdit, "firstDay").isVisible()
    child(filters, QDateEdit, "firstDay").setDate(QDate(2027, 1, 12))
    child(filters, QDateEdit, "lastDay").setDate(QDate(2027, 1, 10))
    assert filters.span() == DaySpan(date(2027, 1, 10), date(2027, 1, 12))


def test_a_day_that_is_picked_twice_is_let_go(filters: Filters) -> None:
    _choose(filters, "periodFilter", Period.WEEK)
    day = DaySpan(date(2027, 1, 12), date(2027, 1, 12))
    filters.pick_days(day)
    assert filters.span() == day
    filters.pick_days(day)
    assert filters.period is Period.WEEK


def test_runs_can_be_filtered_by_trigger(filters: Filters) -> None:
    _choose(filters, "triggerFilter", Trigger.MANUAL)
    assert filters.choice().trigger is Trigger.MANUAL
    _choose(filters, "triggerFilter", Trigger.ANSWER)
    assert filters.choice().trigger is Trigger.ANSWER


def test_several_outcomes_can_be_chosen(filters: Filters) -> None:
    button = child(filters, QPushButton, "outcomeButton")
    assert button.text() == "All outcomes"
    child(filters, QAction, "outcome-failure").trigger()
    assert button.text() == "Failed"
    child(filters, QAction, "outcome-missed").trigger()
    assert filters.choice().outcomes == frozenset({Outcome.FAILURE, Outcome.MISSED})
    assert button.text() == "2 outcomes"
    child(filters, QAction, "outcomeProblems").trigger()
    assert button.text() == "Problems only"
    child(filters, QAction, "outcomeAll").trigger()
    assert filters.choice().outcomes is None


def test_an_outcome_can_be_checked_with_the_space_key(filters: Filters) -> None:
    menu = child(filters, QMenu, "outcomeMenu")
    menu.setActiveAction(child(filters, QAction, "outcome-timeout"))
    QTest.keyClick(menu, Qt.Key.Key_Space)
    assert filters.choice().outcomes == frozenset({Outcome.TIMEOUT})


def test_words_count_after_a_pause_or_at_once_with_enter(filters: Filters, qtbot: QtBot) -> None:
    field = child(filters, QLineEdit, "textFilter")
    QTest.keyClicks(field, "err")
    assert filters.choice().text == ""
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert filters.choice().text == "err"
    with qtbot.waitSignal(filters.changed):
        QTest.keyClicks(field, "or")
    assert filters.choice().text == "error"


def test_escape_empties_the_words(filters: Filters) -> None:
    field = child(filters, QLineEdit, "textFilter")
    QTest.keyClicks(field, "err")
    QTest.keyClick(field, Qt.Key.Key_Return)
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert [field.text(), filters.choice().text] == ["", ""]


def test_everything_is_cleared_at_once(filters: Filters, past: Past) -> None:
    filters.set_job(past.job())
    filters.set_outcomes(frozenset({Outcome.FAILURE}))
    button = child(filters, QPushButton, "clearFilters")
    assert button.isVisible()
    button.click()
    assert filters.choice() == Choice(since=day_start(_MONTH_AGO))


def test_a_job_is_shown_with_an_old_instant_of_it(filters: Filters, past: Past) -> None:
    filters.set_job(past.job(), around=NOW - 90 * DAY)
    day = date(2026, 10, 17)
    assert filters.span() == DaySpan(day, day)


# --- The job ----------------------------------------------------------------------------------------


def _texts(picker: JobPicker) -> list[str]:
    return [picker.itemText(row) for row in range(picker.count())]


def test_jobs_are_offered_by_name_and_those_in_the_trash_last(
    filters: Filters, past: Past, qtbot: QtBot
) -> None:
    for name in ("zebra", "Ant", "gone"):
        past.job(name)
    past.scheduler.remove_job(past.scheduler.list_jobs()[-1].id)
    removed = past.scheduler.list_removed()[0].name
    picker = child(filters, JobPicker)
    picker.setFocus()
    qtbot.waitUntil(lambda: picker.count() == 4)
    kept = sorted({"zebra", "Ant", "gone"} - {removed}, key=str.casefold)
    assert _texts(picker) == ["All jobs", *kept, f"{removed} (deleted)"]


def test_a_typed_name_chooses_its_job(filters: Filters, past: Past, qtbot: QtBot) -> None:
    job_id = past.job("backup")
    picker = child(filters, JobPicker)
    picker.setFocus()
    qtbot.waitUntil(lambda: picker.count() == 2)
    field = child(picker, QLineEdit)
    field.setText("BACKUP")
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert [filters.choice().job_id, picker.currentText()] == [job_id, "backup"]
    field.setText("no such job")
    field.editingFinished.emit()
    assert [filters.choice().job_id, picker.currentText()] == [job_id, "backup"]
    field.setText("")
    field.editingFinished.emit()
    assert [filters.choice().job_id, picker.currentText()] == [None, "All jobs"]


def test_a_job_chosen_from_elsewhere_shows_its_name(filters: Filters, past: Past, qtbot: QtBot) -> None:
    filters.set_job(past.job("backup"))
    picker = child(filters, JobPicker)
    qtbot.waitUntil(lambda: picker.currentText() == "backup")


@pytest.mark.usefixtures("styled")
def test_dates_get_a_row_of_their_own_where_words_would_be_cut(filters: Filters) -> None:
    # As in a window that is narrower than a row of filters.
    filters.setMinimumWidth(1)
    filters.resize(1_100, filters.height())
    trigger, period = (child(filters, QComboBox, f"{name}Filter") for name in ("trigger", "period"))
    assert trigger.y() == period.y()
    filters.pick_days(DaySpan(date(2027, 1, 1), date(2027, 1, 2)))
    filters.resize(620, filters.height())
    QTest.qWait(0)
    assert trigger.y() < period.y()
    shown = (trigger, period, child(filters, QPushButton, "clearFilters"))
    assert all(one.width() >= one.sizeHint().width() for one in shown)
    filters.resize(1_100, filters.height())
    QTest.qWait(0)
    assert trigger.y() == period.y()
