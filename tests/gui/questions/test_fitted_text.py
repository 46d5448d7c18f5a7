"""Fields that are as high as what is written in them."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QFontMetrics
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from ui.questions.card import FittedText, ReadText


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    QVBoxLayout(made)
    made.resize(400, 600)
    return made


def _shown(window: QWidget, text: FittedText) -> FittedText:
    layout = window.layout()
    assert layout is not None
    layout.addWidget(text)
    window.show()
    QTest.qWait(0)
    return text


def _height(text: FittedText, lines: int) -> int:
    before = text.toPlainText()
    text.setPlainText("\n".join("x" * lines))
    found = text.height()
    text.setPlainText(before)
    return found


def test_it_grows_with_its_lines_up_to_a_bound(window: QWidget) -> None:
    text = _shown(window, FittedText(name="t", title="T", least_lines=2, most_lines=4))
    heights = [_height(text, lines) for lines in range(1, 7)]
    line = QFontMetrics(text.font()).lineSpacing()
    assert heights == [heights[0], heights[0], heights[0] + line] + 3 * [heights[0] + 2 * line]


def test_a_line_that_wraps_counts_as_several(window: QWidget) -> None:
    text = _shown(window, FittedText(name="t", title="T"))
    text.setPlainText("word " * 100)
    assert text.height() > _height(text, 3)
    # All of it is seen, without scrolling.
    text.setPlainText("word " * 40)
    assert text.verticalScrollBar().maximum() == 0


@pytest.mark.parametrize("points", [9, 11.5, 13, 17, 21.5])
def test_text_that_fits_is_shown_without_a_scroll_bar(window: QWidget, points: float) -> None:
    text = _shown(window, ReadText(name="t", title="T", most_lines=10))
    font = QFont(text.font())
    font.setPointSizeF(points)
    text.setFont(font)
    for lines in range(1, 11):
        text.setPlainText("\n".join("x" * lines))
        assert not text.verticalScrollBar().isVisible(), lines
    text.setPlainText("\n".join("x" * 12))
    assert text.verticalScrollBar().isVisible()


def test_a_word_without_a_blank_wraps_too(window: QWidget) -> None:
    text = _shown(window, FittedText(name="t", title="T", most_lines=50))
    text.setPlainText("x" * 500)
    assert text.horizontalScrollBar().maximum() == 0
    assert text.height() > _height(text, 5)


def test_tab_leaves_it(window: QWidget) -> None:
    text = _shown(window, FittedText(name="t", title="T"))
    after = _shown(window, FittedText(name="u", title="U"))
    text.setFocus()
    QTest.keyClick(text, Qt.Key.Key_Tab)
    assert text.toPlainText() == ""
    assert window.focusWidget() is after


def test_read_only_text_takes_only_scroll_keys(window: QWidget) -> None:
    text = _shown(window, ReadText(name="t", title="T", most_lines=3))
    text.setPlainText("one\ntwo")
    assert not text.focusPolicy() & Qt.FocusPolicy.TabFocus
    text.setPlainText("\n".join("12345"))
    assert text.is_cut
    assert text.focusPolicy() & Qt.FocusPolicy.TabFocus


def test_read_only_text_is_plain_text(window: QWidget) -> None:
    text = _shown(window, ReadText(name="t", title="T"))
    text.setPlainText("<b>x</b>")
    assert text.toPlainText() == "<b>x</b>"
    QTest.keyClick(text, Qt.Key.Key_A)
    assert text.toPlainText() == "<b>x</b>"
