"""The quiet times in the settings: each change counts at once, and what is removed can be brought back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from finding import child
from PySide6.QtCore import QObject, Qt, QTime
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QPushButton,
    QTimeEdit,
    QToolButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from halo_scheduler import Manual, Scheduler, SchedulerError
from halo_scheduler.clock import ManualClock
from halo_scheduler.model.settings import QuietTime, Theme, Weekday
from ui.backend.backend import Backend
from ui.settings.page import SettingsLink
from ui.settings.quiet_times import QuietTimeRow, QuietTimesPage
from ui.style.theme import Appearance
from ui.widgets.labels import WrappedText

pytestmark = pytest.mark.usefixtures("machine_in_berlin")

_NOW = 1_800_000_000_000  # Fri 15 Jan 2027, 09:00 in Berlin
_MINUTE = 60_000
_NIGHTS = QuietTime(name="Nights")
_MEETING = QuietTime(name="Meeting", group="web", start="08:30", end="09:30", days=tuple(Weekday)[:5])


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(_NOW)


@pytest.fixture
def scheduler(tmp_path: Path, clock: ManualClock) -> Iterator[Scheduler]:
    with Scheduler.open(tmp_path / "halo.db", clock=clock) as made:
        made.add_job("a", Manual(), group="web")
        yield made


@pytest.fixture
def page(scheduler: Scheduler, clock: ManualClock, qapp: QApplication, qtbot: QtBot) -> QuietTimesPage:
    appearance = Appearance(Theme.LIGHT, qapp)
    backend = Backend.inline(scheduler, clock, QObject(appearance))
    link = SettingsLink(backend, backend)
    made = QuietTimesPage(link, appearance)
    qtbot.addWidget(made)
    made.resize(580, 480)
    made.show()
    link.load()
    made.refresh()
    qtbot.waitUntil(child(made, QPushButton, "addQuietButton").isEnabled)
    return made


def _rows(page: QuietTimesPage) -> list[QuietTimeRow]:
    # A row that was just added is shown in the next turn; one that was taken away has been hidden.
    hidden = Qt.WidgetAttribute.WA_WState_ExplicitShowHide
    rows = page.findChildren(QuietTimeRow)
    return [row for row in rows if not (row.isHidden() and row.testAttribute(hidden))]


def _names(page: QuietTimesPage) -> list[str]:
    return [row.time.name for row in _rows(page)]


def _have(page: QuietTimesPage, qtbot: QtBot, scheduler: Scheduler, *times: QuietTime) -> None:
    """Let somebody else change the quiet times, and wait until that is seen."""
    scheduler.settings.change(quiet_times=times)
    qtbot.waitUntil(lambda: _names(page) == [time.name for time in times])


def _press(page: QuietTimesPage, row: int, name: str) -> None:
    child(_rows(page)[row], QToolButton, name).click()


def _click(page: QuietTimesPage, name: str) -> None:
    child(page, QPushButton, name).click()


def _text(page: QuietTimesPage, name: str) -> str:
    found = page.findChild(QLabel, name)
    return found.text() if isinstance(found, QLabel) and not found.isHidden() else ""


def _is_asking(page: QuietTimesPage) -> bool:
    return child(page, QWidget, "quietForm").isVisible()


def _day(page: QuietTimesPage, day: Weekday) -> QPushButton:
    return child(page, QPushButton, f"quietDays-{day}")


# --- The list -------------------------------------------------------------------------------------


def test_without_quiet_hours_they_are_explained(page: QuietTimesPage) -> None:
    told = [one.text() for one in page.findChildren(QLabel)]
    assert "No quiet hours" in told
    assert any("for nights" in text for text in told)
    assert _text(page, "quietNow") == ""


def test_each_entry_shows_times_group_and_whether_it_applies(
    page: QuietTimesPage, scheduler: Scheduler, clock: ManualClock, qtbot: QtBot
) -> None:
    _have(page, qtbot, scheduler, _NIGHTS, _MEETING)
    nights, meeting = _rows(page)
    assert child(meeting, WrappedText, "quietLine").text() == "Monday to Friday, 08:30 to 09:30 · group web"
    assert child(meeting, WrappedText, "quietHolds").text() == "Quiet now until 09:30"
    assert child(nights, WrappedText, "quietHolds").text() == ""
    assert _text(page, "quietNow") == "Quiet now: group web until 09:30"
    clock.advance(30 * _MINUTE)
    # It is looked at once a minute, and not at all while nobody sees it.
    assert page._minute.isActive()
    page._minute.timeout.emit()
    assert _text(page, "quietNow") == "No quiet hours right now."
    page.hide()
    assert not page._minute.isActive()


# --- Adding and changing --------------------------------------------------------------------------


def test_quiet_hours_are_added(page: QuietTimesPage, scheduler: Scheduler, qtbot: QtBot) -> None:
    _click(page, "addQuietButton")
    QTest.keyClicks(child(page, QLineEdit, "quietNameEdit"), "Meeting")
    _click(page, "quietDaysWorkDays")
    child(page, QTimeEdit, "quietStart").setTime(QTime(8, 30))
    assert _text(page, "quietHoursHint") == "Ends the next day."
    child(page, QTimeEdit, "quietEnd").setTime(QTime(9, 30))
    assert _text(page, "quietHoursHint") == ""
    group = child(page, QComboBox, "quietGroup")
    assert [group.itemText(row) for row in range(group.count())] == ["All jobs", "Group web"]
    group.setCurrentIndex(1)
    child(page, QComboBox, "quietZone").setCurrentText("Europe/Berlin")
    _click(page, "saveQuietButton")
    qtbot.waitUntil(lambda: _names(page) == ["Meeting"])
    wanted = QuietTime(
        name="Meeting",
        group="web",
        start="08:30",
        end="09:30",
        days=tuple(Weekday)[:5],
        timezone="Europe/Berlin",
    )
    assert scheduler.settings.read().quiet_times == (wanted,)
    qtbot.waitUntil(lambda: not _is_asking(page))


def test_errors_are_shown_beside_their_field(
    page: QuietTimesPage, scheduler: Scheduler, qtbot: QtBot
) -> None:
    _have(page, qtbot, scheduler, _NIGHTS)
    _click(page, "addQuietButton")
    save = child(page, QPushButton, "saveQuietButton")
    assert save.isEnabled()
    QTest.keyClicks(child(page, QLineEdit, "quietNameEdit"), "Nights")
    child(page, QComboBox, "quietZone").setCurrentText("Mars/<b>Olympus</b>")
    for day in Weekday:
        _day(page, day).click()
    assert _text(page, "quietNameEditError") == "Other quiet hours have this name."
    assert _text(page, "quietDaysError") == "Choose at least one day."
    assert "nknown time zone" in _text(page, "quietZoneError")
    assert not save.isEnabled()
    QTest.keyClick(child(page, QLineEdit, "quietNameEdit"), Qt.Key.Key_Return)
    assert _is_asking(page)
    _click(page, "quietDaysAll")
    child(page, QComboBox, "quietZone").setCurrentIndex(0)
    QTest.keyClicks(child(page, QLineEdit, "quietNameEdit"), " long")
    assert save.isEnabled()
    assert _text(page, "quietNameEditError") == ""


def test_one_is_changed_in_its_place(page: QuietTimesPage, scheduler: Scheduler, qtbot: QtBot) -> None:
    whole = QuietTime(name="Free day", start="00:00", end="24:00", group="gone")
    _have(page, qtbot, scheduler, whole, _NIGHTS)
    _press(page, 0, "editQuietButton")
    # A group that no job is in any more stays what it is.
    assert child(page, QComboBox, "quietGroup").currentData() == "gone"
    assert _text(page, "quietHoursHint") == "Lasts 24 hours."
    _day(page, Weekday.MONDAY).click()
    _click(page, "saveQuietButton")
    qtbot.waitUntil(lambda: not _is_asking(page))
    changed, other = scheduler.settings.read().quiet_times
    assert (changed.name, changed.group, changed.days) == ("Free day", "gone", tuple(Weekday)[1:])
    assert changed.length_s == whole.length_s
    assert other == _NIGHTS


def test_quiet_hours_removed_elsewhere_meanwhile_are_added_again(
    page: QuietTimesPage, scheduler: Scheduler, qtbot: QtBot
) -> None:
    _have(page, qtbot, scheduler, _NIGHTS, _MEETING)
    _press(page, 0, "editQuietButton")
    _have(page, qtbot, scheduler, _MEETING)
    _click(page, "saveQuietButton")
    qtbot.waitUntil(lambda: _names(page) == ["Meeting", "Nights"])


@pytest.mark.parametrize("name", ["quietNameEdit", "quietEnd", "quietDays-mon", "quietGroup"])
def test_the_enter_key_saves_wherever_it_is_pressed(
    page: QuietTimesPage, scheduler: Scheduler, qtbot: QtBot, name: str
) -> None:
    _click(page, "addQuietButton")
    QTest.keyClick(child(page, QWidget, name), Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: not _is_asking(page))
    assert scheduler.settings.read().quiet_times == (QuietTime(),)


def test_a_change_is_given_up_with_a_key(page: QuietTimesPage, scheduler: Scheduler, qtbot: QtBot) -> None:
    _have(page, qtbot, scheduler, _NIGHTS)
    _press(page, 0, "editQuietButton")
    QTest.keyClick(child(page, QLineEdit, "quietNameEdit"), Qt.Key.Key_Escape)
    assert not _is_asking(page)
    assert scheduler.settings.read().quiet_times == (_NIGHTS,)


def test_a_refused_change_is_reported_in_the_form_and_nothing_is_lost(
    page: QuietTimesPage, scheduler: Scheduler, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_changes: object) -> None:
        raise SchedulerError("the disk is full")

    monkeypatch.setattr(scheduler.settings, "change", refuse)
    _click(page, "addQuietButton")
    _click(page, "saveQuietButton")
    qtbot.waitUntil(lambda: _text(page, "quietError") == "The disk is full")
    assert _is_asking(page)
    qtbot.waitUntil(lambda: not _rows(page))


@pytest.mark.parametrize("button", ["addQuietButton", "editQuietButton", "removeQuietButton"])
def test_typed_text_is_kept_when_another_entry_is_chosen(
    page: QuietTimesPage, scheduler: Scheduler, qtbot: QtBot, button: str
) -> None:
    _have(page, qtbot, scheduler, _NIGHTS, _MEETING)
    _press(page, 0, "editQuietButton")
    _day(page, Weekday.SUNDAY).click()
    _click(page, button) if button == "addQuietButton" else _press(page, 1, button)
    assert _text(page, "quietHeading") == "Edit Nights"
    assert not _day(page, Weekday.SUNDAY).isChecked()
    assert _text(page, "quietError") == "Save or cancel this first."
    assert _names(page) == ["Nights", "Meeting"]
    # Back to what it was, there is nothing to lose.
    _day(page, Weekday.SUNDAY).click()
    assert _text(page, "quietError") == ""
    _press(page, 1, "editQuietButton")
    assert _text(page, "quietHeading") == "Edit Meeting"


def test_the_tab_order_follows_the_form(page: QuietTimesPage) -> None:
    _click(page, "addQuietButton")
    wanted = ["quietNameEdit", "quietGroup", "quietDays-mon", "quietStart", "quietEnd", "quietZone"]
    order: list[str] = []
    stop: QWidget | None = child(page, QLineEdit, "quietNameEdit")
    while stop is not None and stop.objectName() != "saveQuietButton":
        order.append(stop.objectName())
        stop = stop.nextInFocusChain()
    assert [name for name in order if name in wanted] == wanted


# --- Removing -------------------------------------------------------------------------------------


def test_removed_quiet_hours_are_restored_at_their_position(
    page: QuietTimesPage, scheduler: Scheduler, qtbot: QtBot
) -> None:
    _have(page, qtbot, scheduler, _NIGHTS, _MEETING)
    _press(page, 0, "removeQuietButton")
    assert _names(page) == ["Meeting"]
    assert child(page, WrappedText, "removedText").text() == "Nights removed."
    qtbot.waitUntil(lambda: scheduler.settings.read().quiet_times == (_MEETING,))
    _click(page, "undoRemoveButton")
    qtbot.waitUntil(lambda: scheduler.settings.read().quiet_times == (_NIGHTS, _MEETING))
    assert not child(page, QWidget, "removedNote").isVisible()


def test_the_way_back_is_gone_when_the_page_is_left(
    page: QuietTimesPage, scheduler: Scheduler, qtbot: QtBot
) -> None:
    _have(page, qtbot, scheduler, _NIGHTS)
    _press(page, 0, "removeQuietButton")
    assert child(page, QWidget, "removedNote").isVisible()
    page.hide()
    page.show()
    assert not child(page, QWidget, "removedNote").isVisible()
