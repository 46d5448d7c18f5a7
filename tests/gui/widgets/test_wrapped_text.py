"""Plain text that wraps: nothing from outside widens a window, styles anything or gets lost."""

from __future__ import annotations

import pytest
from job_values import NASTY
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from ui.style.theme import Appearance, Tone
from ui.widgets.wrapped_text import WrappedText


@pytest.fixture
def appearance(qtbot: QtBot) -> Appearance:  # noqa: ARG001 - an application
    return Appearance()


def _text(qtbot: QtBot, appearance: Appearance, text: str, most_lines: int = 0) -> WrappedText:
    made = WrappedText(appearance, name="text", most_lines=most_lines)
    qtbot.addWidget(made)
    made.set_text(text)
    return made


def test_a_word_without_end_is_broken_and_widens_nothing(qtbot: QtBot, appearance: Appearance) -> None:
    made = _text(qtbot, appearance, "x" * 500)
    assert made.minimumSizeHint().width() < 100
    assert made.heightForWidth(200) > 5 * QFontMetrics(made.font()).height()


def test_it_keeps_to_its_most_lines(qtbot: QtBot, appearance: Appearance) -> None:
    long = _text(qtbot, appearance, "word " * 300, most_lines=2)
    assert long.heightForWidth(200) < 3 * QFontMetrics(long.font()).lineSpacing() + 8
    assert "word" in long.toolTip()


def test_markup_and_turned_writing_are_shown_as_they_are(qtbot: QtBot, appearance: Appearance) -> None:
    made = _text(qtbot, appearance, NASTY)
    assert made.text().startswith("<b>bold</b> & ")
    assert "\u202e" not in made.text()
    assert made.accessibleName() == made.text()
    made.resize(200, 100)
    assert not made.grab().isNull()


def test_lines_are_kept(qtbot: QtBot, appearance: Appearance) -> None:
    one, two = _text(qtbot, appearance, "a"), _text(qtbot, appearance, "a\nb")
    assert two.heightForWidth(200) > one.heightForWidth(200)


def test_nothing_to_say_takes_no_room(qtbot: QtBot, appearance: Appearance) -> None:
    made = _text(qtbot, appearance, "a")
    made.set_text("")
    assert made.heightForWidth(200) == 0
    assert made.isHidden()


def test_a_tone_can_change_with_the_text(qtbot: QtBot, appearance: Appearance) -> None:
    made = _text(qtbot, appearance, "a")
    before = made.grab().toImage()
    made.set_text("a", Tone.ERROR)
    assert made.grab().toImage() != before


def test_it_comes_up_with_what_it_is_put_into_and_never_alone(qtbot: QtBot, appearance: Appearance) -> None:
    made = WrappedText(appearance, name="text")
    made.setVisible(False)
    made.set_text("hello")
    assert not made.isVisible()
    window = QWidget()
    qtbot.addWidget(window)
    QVBoxLayout(window).addWidget(made)
    window.show()
    assert made.isVisible()
    made.set_text("")
    assert not made.isVisible()
