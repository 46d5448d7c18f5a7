"""The row above the table: what is looked for."""

from __future__ import annotations

from itertools import combinations

import pytest
from job_values import make_job, row_of
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QFont, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QMenu,
    QPushButton,
    QSizePolicy,
    QWidget,
)
from pytestqt.qtbot import QtBot

from halo_scheduler import HttpRequest
from ui.forms.templates import TEMPLATES
from ui.main_window.table.job_rows import JobFilter, KindChoice, StatusChoice
from ui.main_window.toolbar import JobToolbar, menu_text
from ui.style.theme import GRID, Appearance


@pytest.fixture
def toolbar(qtbot: QtBot) -> JobToolbar:
    made = JobToolbar(Appearance())
    qtbot.addWidget(made)
    made.show()
    return made


def _action(toolbar: JobToolbar, menu: str, text: str) -> QAction:
    found = toolbar.findChild(QMenu, menu)
    assert found is not None
    return next(action for action in found.actions() if action.text().startswith(text))


def _button(toolbar: JobToolbar, name: str) -> QPushButton:
    found = toolbar.findChild(QPushButton, name)
    assert found is not None
    return found


def test_every_letter_is_searched_for(toolbar: JobToolbar) -> None:
    told: list[JobFilter] = []
    toolbar.filter_changed.connect(told.append)
    QTest.keyClicks(toolbar.search_field, "ab")
    assert told == [JobFilter(text="a"), JobFilter(text="ab")]


def test_a_status_is_chosen_and_shown(qtbot: QtBot, toolbar: JobToolbar) -> None:
    with qtbot.waitSignal(toolbar.filter_changed) as told:
        _action(toolbar, "statusFilterMenu", "Failing").trigger()
    assert told.args == [JobFilter(statuses=frozenset({StatusChoice.FAILING}))]
    assert _button(toolbar, "statusFilter").text() == "Failing"


def test_several_statuses_and_kinds_are_chosen_together(qtbot: QtBot, toolbar: JobToolbar) -> None:
    for text in ("Failing", "Paused"):
        _action(toolbar, "statusFilterMenu", text).trigger()
    assert _button(toolbar, "statusFilter").text() == "Failing, Paused"
    with qtbot.waitSignal(toolbar.filter_changed) as told:
        _action(toolbar, "statusFilterMenu", "Prompts").trigger()
    statuses = frozenset({StatusChoice.FAILING, StatusChoice.PAUSED})
    assert told.args == [JobFilter(statuses=statuses, kinds=frozenset({KindChoice.PROMPT}))]
    assert _button(toolbar, "statusFilter").text() == "3 filters"
    _action(toolbar, "statusFilterMenu", "Failing").trigger()
    assert not _action(toolbar, "statusFilterMenu", "Failing").isChecked()
    _action(toolbar, "statusFilterMenu", "All jobs").trigger()
    assert _button(toolbar, "statusFilter").text() == "All jobs"


@pytest.mark.qt_log_ignore("This plugin does not support")
def test_each_choice_shows_its_number_of_jobs_and_a_click_leaves_the_menu_open(qtbot: QtBot) -> None:
    jobs = [make_job("a", errors=1), make_job("b", action=HttpRequest(url="https://example.com/"))]
    toolbar = JobToolbar(Appearance(), rows=lambda: [row_of(job) for job in jobs])
    qtbot.addWidget(toolbar)
    menu = toolbar.findChild(QMenu, "statusFilterMenu")
    assert menu is not None
    menu.popup(toolbar.pos())
    texts = [action.text() for action in menu.actions() if action.isVisible() and action.text()]
    assert texts == [
        *("All jobs\t2", "Running\t0", "Needs you\t0", "Waiting\t0", "Failing\t1", "Paused\t0"),
        *("Disabled or finished\t0", "Commands\t0", "HTTP requests\t1", "Prompts\t0", "Functions\t1"),
    ]
    failing = _action(toolbar, "statusFilterMenu", "Failing")
    QTest.mouseClick(menu, Qt.MouseButton.LeftButton, pos=menu.actionGeometry(failing).center())
    assert failing.isChecked()
    assert menu.isVisible()
    menu.close()


def test_the_search_field_names_what_it_searches(toolbar: JobToolbar) -> None:
    toolbar.resize(1_366, toolbar.height())
    assert toolbar.search_field.placeholderText() == "Search names, commands, schedules"
    assert "URLs" in toolbar.search_field.toolTip()


def test_a_group_is_chosen_and_has_its_limit_in_its_menu(qtbot: QtBot, toolbar: JobToolbar) -> None:
    toolbar.set_groups(["web", "Home"], {"web": 2})
    menu = toolbar.findChild(QMenu, "groupFilterMenu")
    assert menu is not None
    texts = [action.text() for action in menu.actions() if action.text()]
    assert texts == ["All groups", "Home", "web  (limit 2)"]
    with qtbot.waitSignal(toolbar.filter_changed) as told:
        _action(toolbar, "groupFilterMenu", "web").trigger()
    assert told.args == [JobFilter(group="web")]
    with qtbot.waitSignal(toolbar.limit_wanted) as limit:
        _action(toolbar, "groupFilterMenu", "Group limit").trigger()
    assert limit.args == ["web"]


def test_without_groups_their_filter_is_hidden(toolbar: JobToolbar) -> None:
    assert _button(toolbar, "groupFilter").isHidden()
    toolbar.set_groups(["web"], {})
    assert not _button(toolbar, "groupFilter").isHidden()


def test_an_ampersand_in_a_group_is_an_ampersand(toolbar: JobToolbar) -> None:
    assert menu_text("a & b\nc") == "a && b ↵ c"
    toolbar.set_groups(["r&d"], {})
    assert _action(toolbar, "groupFilterMenu", "r").text() == "r&&d"


def test_clearing_shows_everything_and_emits_that_once(qtbot: QtBot, toolbar: JobToolbar) -> None:
    toolbar.set_filter(JobFilter("a", frozenset({StatusChoice.OFF}), group="web"))
    told: list[JobFilter] = []
    toolbar.filter_changed.connect(told.append)
    toolbar.clear()
    assert told == [JobFilter()]
    assert toolbar.search_field.text() == ""
    with qtbot.assertNotEmitted(toolbar.filter_changed):
        toolbar.clear()


@pytest.mark.parametrize("key", [Qt.Key.Key_Down, Qt.Key.Key_Return])
def test_keys_move_from_the_search_to_the_results(qtbot: QtBot, toolbar: JobToolbar, key: Qt.Key) -> None:
    toolbar.focus_search()
    with qtbot.waitSignal(toolbar.left):
        QTest.keyClick(toolbar.search_field, key)


def test_escape_clears_the_search(qtbot: QtBot, toolbar: JobToolbar) -> None:
    toolbar.focus_search()
    QTest.keyClicks(toolbar.search_field, "ab")
    with qtbot.waitSignal(toolbar.left):
        QTest.keyClick(toolbar.search_field, Qt.Key.Key_Escape)
    assert toolbar.search_field.text() == ""


def test_the_button_that_clears_is_there_before_the_first_letter(qtbot: QtBot, toolbar: JobToolbar) -> None:
    assert not toolbar.search_field.isClearButtonEnabled()
    toolbar.set_searchable(True)
    qtbot.waitUntil(toolbar.search_field.isClearButtonEnabled)


def test_templates_are_offered_beside_new_job_whatever_jobs_there_are(
    qtbot: QtBot, toolbar: JobToolbar
) -> None:
    toolbar.set_searchable(True)
    assert _button(toolbar, "templatesButton").isVisible()
    menu = toolbar.findChild(QMenu, "templatesMenu")
    assert menu is not None
    menu.aboutToShow.emit()
    assert [action.objectName() for action in menu.actions()] == [f"new-{key}" for key in TEMPLATES]
    with qtbot.waitSignal(toolbar.template_wanted) as told:
        menu.actions()[0].trigger()
    assert told.args == [next(iter(TEMPLATES))]


def test_every_button_shows_its_name_and_its_key(toolbar: JobToolbar) -> None:
    buttons = toolbar.findChildren(QPushButton)
    assert all(button.accessibleName() and button.toolTip() for button in buttons)
    assert "Ctrl+N" in toolbar.new_button.toolTip()
    assert "Ctrl+F" in toolbar.search_field.toolTip()


@pytest.mark.parametrize("width", [640, 800, 1_000, 1_280])
def test_with_a_large_font_nothing_is_cut(qtbot: QtBot, qapp: QApplication, width: int) -> None:
    house = QWidget()
    qtbot.addWidget(house)
    appearance = Appearance()
    appearance.apply()
    toolbar = JobToolbar(appearance, house)
    large = QFont(toolbar.font())
    large.setPointSizeF(17)
    for part in (toolbar, *toolbar.findChildren(QWidget)):
        part.setFont(large)
    toolbar.set_searchable(True)
    toolbar.set_groups(["backups", "web"], {})
    house.show()
    qapp.processEvents()
    toolbar.setGeometry(0, 0, width, toolbar.sizeHint().height())
    qapp.processEvents()
    shown = [
        one for one in toolbar.findChildren(QAbstractButton) if one.isVisibleTo(toolbar) and one.objectName()
    ]
    assert [
        one.objectName() for one in shown if one.text() and one.width() < one.minimumSizeHint().width()
    ] == []
    assert [one.objectName() for one in shown if one.height() < one.minimumSizeHint().height()] == []
    assert max(one.geometry().right() for one in shown) < width
    places = [one.geometry() for one in (*shown, toolbar.search_field) if one.parent() is toolbar]
    assert not [(one, other) for one, other in combinations(places, 2) if one.intersects(other)]
    # Filters that are not set are icons before words are cut, and the search field says what it is for.
    assert not [one.objectName() for one in shown if "…" in one.text()]
    search = toolbar.search_field
    assert search.fontMetrics().horizontalAdvance(search.placeholderText()) < search.width() - 40
    assert width not in (640, 1_280) or _button(toolbar, "newJobButton").text() == (
        "" if width == 640 else "New job"
    )
    assert toolbar.sizePolicy().verticalPolicy() is QSizePolicy.Policy.Fixed
    qapp.setStyleSheet("")


@pytest.mark.parametrize("width", range(600, 1_100, 50))
def test_the_search_takes_the_room_that_is_left(toolbar: JobToolbar, width: int) -> None:
    toolbar.set_groups(["backups"], {})
    toolbar.set_searchable(True)
    toolbar.resize(width, toolbar.sizeHint().height())
    toolbar.show()
    search = toolbar.search_field
    gap = _button(toolbar, "historyButton").x() - _button(toolbar, "groupFilter").geometry().right()
    assert gap < 3 * GRID or search.width() == search.maximumWidth()


@pytest.mark.parametrize(("width", "is_labelled"), [(1_280, True), (480, False)])
def test_history_and_settings_show_their_words_where_there_is_room(
    qtbot: QtBot, width: int, *, is_labelled: bool
) -> None:
    house = QWidget()
    qtbot.addWidget(house)
    toolbar = JobToolbar(Appearance(), house)
    toolbar.set_searchable(True)
    house.show()
    toolbar.setGeometry(0, 0, width, toolbar.sizeHint().height())
    for name, keys in (("historyButton", "Ctrl+H"), ("settingsButton", "Ctrl+,")):
        one = toolbar.findChild(QPushButton, name)
        assert one is not None
        assert one.shortcut() == QKeySequence(keys)
        assert bool(one.text()) is is_labelled
