"""Quiet notes: a sentence, a way out, a button that closes them."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QAbstractButton, QFrame
from pytestqt.qtbot import QtBot

from ui.main_window.notes import Note
from ui.style.theme import DARK, LIGHT, Appearance, Tone


def _note(qtbot: QtBot, act: str = "") -> Note:
    made = Note(Appearance(), name="note", icon="info", tone=Tone.ACCENT, act=act)
    qtbot.addWidget(made)
    return made


def _button(note: Note, name: str) -> QAbstractButton:
    found = note.findChild(QAbstractButton, name)
    assert found is not None
    return found


def test_it_is_not_there_until_there_is_something_to_say(qtbot: QtBot) -> None:
    note = _note(qtbot)
    assert note.isHidden()
    note.show_text("<b>no</b> & yes")
    assert not note.isHidden()
    assert note.text() == "<b>no</b> & yes"
    note.show_text("")
    assert note.isHidden()


def test_it_can_be_closed(qtbot: QtBot) -> None:
    note = _note(qtbot)
    note.show_text("a")
    _button(note, "noteClose").click()
    assert note.isHidden()


def test_it_may_offer_a_way_out(qtbot: QtBot) -> None:
    assert _note(qtbot).findChild(QAbstractButton, "noteAction") is None
    note = _note(qtbot, act="Start at login")
    with qtbot.waitSignal(note.acted):
        _button(note, "noteAction").click()


@pytest.mark.usefixtures("styled")
@pytest.mark.parametrize(("tone", "has_border"), [(Tone.ERROR, True), (Tone.ACCENT, False)])
def test_the_note_of_an_error_has_a_border_in_its_colour(qtbot: QtBot, tone: Tone, has_border: bool) -> None:
    note = Note(Appearance(), name="note", icon="error", tone=tone)
    qtbot.addWidget(note)
    note.show_text("Disk full")
    box = next(one for one in note.findChildren(QFrame) if one.property("role") == "note")
    image = note.grab().toImage()
    edge = image.pixelColor(box.geometry().left(), box.geometry().center().y())
    assert (edge.name() in (LIGHT.error, DARK.error)) is has_border
