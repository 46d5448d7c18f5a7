"""Fields for plain text of several lines."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QTextOption
from pytestqt.qtbot import QtBot

from ui.forms.plain_text import GrowingText, PlainText

_ENDLESS = "x" * 200_000
_AT_WORDS = QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere


def _paste(edit: PlainText, text: str) -> None:
    data = QMimeData()
    data.setText(text)
    edit.insertFromMimeData(data)


@pytest.fixture
def edit(qtbot: QtBot) -> PlainText:
    made = PlainText(name="text", title="Text")
    qtbot.addWidget(made)
    made.show()
    return made


@pytest.mark.parametrize("put", [PlainText.show_text, _paste], ids=["shown", "pasted"])
def test_a_word_without_end_is_broken_anywhere(
    edit: PlainText, put: Callable[[PlainText, str], None]
) -> None:
    """Breaking it between words, as Qt does otherwise, would take some seconds here and minutes at full length."""
    put(edit, "some words")
    assert edit.wordWrapMode() is _AT_WORDS
    put(edit, f"a {_ENDLESS} b")
    assert edit.wordWrapMode() is QTextOption.WrapMode.WrapAnywhere
    assert _ENDLESS in edit.toPlainText()


def test_another_text_is_broken_between_words_again(edit: PlainText) -> None:
    edit.show_text(_ENDLESS)
    edit.show_text("some words")
    assert edit.wordWrapMode() is _AT_WORDS


def test_a_paste_of_words_does_not_bring_an_endless_one_back_to_words(edit: PlainText) -> None:
    edit.show_text(_ENDLESS)
    _paste(edit, "some words")
    assert edit.wordWrapMode() is QTextOption.WrapMode.WrapAnywhere


def test_a_text_grows_with_what_is_broken_at_another_width(qtbot: QtBot) -> None:
    made = GrowingText(name="text", title="Text", least=1, most=50)
    qtbot.addWidget(made)
    made.resize(600, 40)
    made.show()
    made.show_text("some words " * 20)
    wide = made.height()
    made.resize(150, made.height())
    qtbot.waitUntil(lambda: made.height() > wide)
    assert made.verticalScrollBarPolicy() is Qt.ScrollBarPolicy.ScrollBarAlwaysOff
    made.show_text("\n".join("x" * 60))
    assert made.verticalScrollBarPolicy() is Qt.ScrollBarPolicy.ScrollBarAsNeeded
