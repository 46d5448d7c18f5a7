"""Boxes for numbers and times, and menus."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QTime
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QCompleter, QLineEdit, QMenu, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from ui.style.theme import Appearance
from ui.widgets.boxes import EdgeMenu, dress_suggestions, elide, time_box


def test_a_time_typed_over_the_whole_of_another_takes_its_place(qtbot: QtBot) -> None:
    box = time_box(22, 0, name="box", title="Time")
    qtbot.addWidget(box)
    box.show()
    box.selectAll()
    QTest.keyClicks(box, "1315")
    assert box.time() == QTime(13, 15)
    # Within it, typing changes the part that is selected, as ever.
    box.setSelectedSection(box.Section.MinuteSection)
    QTest.keyClicks(box, "45")
    assert box.time() == QTime(13, 45)


def test_a_long_text_that_is_not_edited_ends_with_an_ellipsis(qtbot: QtBot) -> None:
    box, other = QComboBox(), QLineEdit()
    for widget in (box, other):
        qtbot.addWidget(widget)
        widget.show()
    box.setEditable(True)
    box.resize(120, 28)
    field = box.lineEdit()
    assert field is not None
    other.setFocus()

    def drawn(text: str) -> QImage:
        field.setText(text)
        field.setCursorPosition(0)
        return field.grab().toImage()

    cut, short = drawn("a name that is too long"), drawn("short")
    elide(field)
    assert drawn("a name that is too long") == drawn("a name that is too long, and longer") != cut
    assert drawn("short") == short


@pytest.mark.qt_log_ignore("This plugin does not support")
@pytest.mark.usefixtures("styled")
def test_suggestions_show_complete_rows_below_the_border_of_their_field(qtbot: QtBot) -> None:
    field = QLineEdit()
    qtbot.addWidget(field)
    completer = QCompleter(["America/New_York", "America/Nome"], field)
    field.setCompleter(completer)
    dress_suggestions(completer, field)
    field.show()
    QTest.keyClicks(field, "America/New")
    popup = completer.popup()
    assert popup is not None
    qtbot.waitUntil(popup.isVisible)
    assert popup.y() >= field.mapToGlobal(QPoint(0, field.height())).y()
    assert popup.viewport().height() >= popup.sizeHintForRow(0)
    popup.hide()


@pytest.mark.qt_log_ignore("This plugin does not support")
def test_a_menu_at_the_right_edge_stays_within_its_window(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(300, 100)
    opener = QPushButton("…", window)
    opener.setGeometry(260, 10, 30, 30)
    window.show()
    menu = EdgeMenu(opener)
    menu.addAction("Something that is longer than the button")
    menu.popup(opener.mapToGlobal(QPoint(0, 30)))
    right = window.mapToGlobal(QPoint(window.width(), 0)).x()
    assert menu.width() > 40
    assert menu.geometry().right() <= right
    menu.close()


def test_entries_of_a_menu_are_equally_high_with_and_without_icons(qtbot: QtBot, qapp: QApplication) -> None:
    appearance = Appearance()
    appearance.apply()
    menu = QMenu()
    qtbot.addWidget(menu)
    plain, marked = menu.addAction("Plain"), menu.addAction(appearance.icon("run"), "Marked")
    plain_height, marked_height = (menu.actionGeometry(one).height() for one in (plain, marked))
    qapp.setStyleSheet("")
    assert plain_height == marked_height
