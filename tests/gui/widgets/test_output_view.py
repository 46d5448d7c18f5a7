"""The view of what a run printed."""

from __future__ import annotations

from pathlib import Path

import pytest
from finding import child
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QLabel, QLineEdit, QPlainTextEdit, QToolButton
from pytestqt.qtbot import QtBot

from halo_scheduler.model.settings import Theme
from ui.style.theme import Appearance
from ui.widgets.find_bar import FindBar
from ui.widgets.output_view import OutputView

_HOSTILE = "<b>bold</b> & \u202ereversed\n" + "x" * 10_000 + "\n🎉 שלום\n"


@pytest.fixture
def view(qtbot: QtBot) -> OutputView:
    appearance = Appearance(Theme.LIGHT)
    made = OutputView(appearance)
    appearance.setParent(made)
    made.resize(500, 300)
    qtbot.addWidget(made)
    made.show()
    return made


def _screen(view: OutputView) -> QPlainTextEdit:
    return child(view, QPlainTextEdit, "outputScreen")


def _button(view: OutputView, name: str) -> QToolButton:
    return child(view, QToolButton, name)


def _count(view: OutputView) -> str:
    return child(view, QLabel, "findCount").text()


def _is_at_end(view: OutputView) -> bool:
    bar = _screen(view).verticalScrollBar()
    return bar.maximum() > 0 and bar.value() == bar.maximum()


def test_output_appears_as_it_comes(view: OutputView) -> None:
    view.feed(b"one\ntw")
    assert view.text() == "one\ntw"
    view.feed(b"o\n10%\r20%")
    assert view.text() == "one\ntwo\n20%"
    view.end()
    assert view.text() == "one\ntwo\n20%"


def test_colours_are_drawn(view: OutputView) -> None:
    view.set_content(b"plain \x1b[1mbold\x1b[0m")
    cursor = QTextCursor(_screen(view).document())
    cursor.setPosition(8)
    assert cursor.charFormat().fontWeight() > 500


def test_texts_from_outside_are_only_shown(view: OutputView, qtbot: QtBot) -> None:
    view.set_content(_HOSTILE.encode())
    qtbot.waitUntil(view.is_drawn)
    assert "<b>bold</b> & \ufffdreversed" in view.text()
    assert "🎉 שלום" in view.text()


def test_much_output_is_drawn_in_turns_and_its_oldest_lines_are_left_out(
    view: OutputView, qtbot: QtBot
) -> None:
    content = b"".join(b"line %d of many\n" % number for number in range(25_000))
    view.set_content(content)
    assert not view.is_drawn()
    qtbot.waitUntil(view.is_drawn)
    assert view.text().endswith("line 24999 of many")
    assert "line 1 of many\n" not in view.text()
    assert "20000" in child(view, QLabel, "outputNote").text()
    assert view.content() == content


def test_nothing_printed_is_reported(view: OutputView) -> None:
    view.clear("Nothing so far.")
    assert _screen(view).placeholderText() == "Nothing so far."
    view.end()
    assert _screen(view).placeholderText() == "No output"


def test_output_of_nothing_but_hidden_lines_is_reported(view: OutputView) -> None:
    view.set_content(b"::progress 10\n::cost 0.1\n")
    assert (view.text(), _screen(view).placeholderText()[:20]) == ("", "Only lines for Halo ")
    _button(view, "linesButton").click()
    assert view.text() == "::progress 10\n::cost 0.1"


def test_another_theme_draws_the_same_text(view: OutputView) -> None:
    view.set_content(b"\x1b[31mred\x1b[0m\nlast")
    child(view, Appearance).choose(Theme.DARK)
    assert view.text() == "red\nlast"


def test_the_view_follows_the_end_until_the_user_scrolls_up(view: OutputView, qtbot: QtBot) -> None:
    view.feed(b"line\n" * 200)
    qtbot.waitUntil(lambda: _is_at_end(view))
    view.feed(b"more\n" * 50)
    assert _is_at_end(view)
    _screen(view).verticalScrollBar().setValue(3)
    assert not _button(view, "followButton").isChecked()
    view.feed(b"more\n" * 50)
    assert _screen(view).verticalScrollBar().value() == 3
    _button(view, "followButton").click()
    assert _is_at_end(view)


def test_scrolling_back_to_the_end_follows_again(view: OutputView, qtbot: QtBot) -> None:
    view.feed(b"line\n" * 200)
    qtbot.waitUntil(lambda: _is_at_end(view))
    bar = _screen(view).verticalScrollBar()
    bar.setValue(0)
    bar.setValue(bar.maximum())
    assert _button(view, "followButton").isChecked()


def test_long_lines_wrap_or_not(view: OutputView) -> None:
    modes = QPlainTextEdit.LineWrapMode
    assert _screen(view).lineWrapMode() is modes.WidgetWidth
    _button(view, "wrapButton").click()
    assert _screen(view).lineWrapMode() is modes.NoWrap


def test_words_are_found_onward_and_back_and_counted(view: OutputView) -> None:
    view.set_content("🎉 needle\nhay\nNeedle needle\n".encode())
    QTest.keyClick(_screen(view), Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    field = child(view, QLineEdit, "findField")
    assert field.isVisible()
    field.setText("needle")
    assert _count(view) == "1 of 3"
    QTest.keyClick(field, Qt.Key.Key_F3)
    assert _count(view) == "2 of 3"
    QTest.keyClick(field, Qt.Key.Key_Return)
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert _count(view) == "1 of 3"
    QTest.keyClick(field, Qt.Key.Key_F3, Qt.KeyboardModifier.ShiftModifier)
    assert _count(view) == "3 of 3"
    assert _screen(view).textCursor().selectedText() == "needle"
    assert len(_screen(view).extraSelections()) == 3
    field.setText("nowhere")
    assert _count(view) == "not found"
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert not child(view, FindBar).isVisible()
    assert _screen(view).extraSelections() == []


def test_all_is_copied_unless_something_is_selected(view: OutputView) -> None:
    view.set_content(b"first second")
    _button(view, "copyButton").click()
    assert QGuiApplication.clipboard().text() == "first second"
    cursor = _screen(view).textCursor()
    cursor.setPosition(0)
    cursor.movePosition(QTextCursor.MoveOperation.NextWord, QTextCursor.MoveMode.KeepAnchor)
    _screen(view).setTextCursor(cursor)
    _button(view, "copyButton").click()
    assert QGuiApplication.clipboard().text() == "first "


def test_the_bytes_are_saved_as_they_came(
    view: OutputView, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ui.widgets.output_view.documents", lambda: str(tmp_path))
    view.set_content(b"\x1b[31mred\x1b[0m\r\n\xff")
    _button(view, "saveOutputButton").click()
    dialog = child(view, QFileDialog, "saveOutputDialog")
    assert dialog.directory().absolutePath() == str(tmp_path), "not the program's working directory"
    dialog.fileSelected.emit(str(tmp_path / "out.log"))
    dialog.reject()
    assert (tmp_path / "out.log").read_bytes() == b"\x1b[31mred\x1b[0m\r\n\xff"


def test_a_file_that_cannot_be_written_is_reported(view: OutputView, tmp_path: Path) -> None:
    view.set_content(b"text")
    view._save_to(str(tmp_path / "none" / "out.log"))
    assert "Can't save the output" in child(view, QLabel, "outputNote").text()


def test_every_button_has_a_key_and_shows_it(view: OutputView) -> None:
    for name in ("findButton", "wrapButton", "followButton", "copyButton", "saveOutputButton"):
        keys = _button(view, name).shortcut().toString()
        assert keys, name
        assert f"({keys})" in _button(view, name).toolTip()


def test_there_is_nothing_to_save_in_nothing(view: OutputView) -> None:
    view.clear()
    assert not _button(view, "saveOutputButton").isEnabled()


def test_the_head_shows_how_much_of_the_output_is_kept(view: OutputView) -> None:
    view.feed(b"x" * 262_144)
    view.set_total(12_478_054)
    view.end()
    assert child(view, QLabel, "outputSize").text() == "256 KB of 12 MB kept"
    view.set_content(b"abc")
    assert child(view, QLabel, "outputSize").text() == "3 B"


def test_lines_for_halo_are_hidden_until_they_are_wanted(view: OutputView) -> None:
    button = view.findChild(QToolButton, "linesButton")
    assert button is not None
    view.set_content(b"a\nb\n")
    assert button.isHidden()
    view.set_content(b"a\n::progress 0.5 half\nb\n")
    assert not button.isHidden()
    assert view.text() == "a\nb"
    button.click()
    assert view.text() == "a\n::progress 0.5 half\nb"
    assert view.content() == b"a\n::progress 0.5 half\nb\n"


def test_a_search_is_marked_and_scrolled_to_without_taking_the_keyboard(view: OutputView) -> None:
    view.resize(500, 200)
    view.show()
    view.set_search("needle")
    view.set_content(b"needle in front\n" + b"hay\n" * 500 + b"the needle\n" + b"hay\n" * 500)
    screen = view.findChild(QPlainTextEdit, "outputScreen")
    assert screen is not None
    assert screen.textCursor().selectedText() == "needle"
    assert screen.verticalScrollBar().value() == 0
    assert screen.extraSelections()
    assert _count(view) == "1 of 2"
    view.set_search("")
    assert not screen.extraSelections()


def test_the_beginning_can_be_shown_instead_of_the_end(view: OutputView) -> None:
    view.resize(500, 200)
    view.show()
    view.set_content(b"HTTP/1.1 200 OK\n" + b"line\n" * 500)
    screen = view.findChild(QPlainTextEdit, "outputScreen")
    assert screen is not None
    assert screen.verticalScrollBar().value() > 0
    view.go_to_beginning()
    assert screen.verticalScrollBar().value() == 0


def test_nothing_is_below_the_last_line(view: OutputView) -> None:
    view.set_content(b"first\nlast\n")
    assert view.text() == "first\nlast"
