"""A line that leads somewhere."""

from __future__ import annotations

import pytest
from job_values import NASTY
from PySide6 import QtGui
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from ui.style.marks import Mark, Shape
from ui.style.theme import Appearance, Tone
from ui.widgets.signs import LinkLine


@pytest.fixture
def line(qtbot: QtBot) -> LinkLine:
    appearance = Appearance()
    made = LinkLine(appearance, name="link")
    appearance.setParent(made)
    qtbot.addWidget(made)
    return made


def test_a_click_or_a_key_follows_it(qtbot: QtBot, line: LinkLine) -> None:
    line.show_link("backup", "when it succeeds")
    assert line.accessibleName() == "backup, when it succeeds"
    with qtbot.waitSignal(line.clicked):
        QTest.mouseClick(line, Qt.MouseButton.LeftButton)
    with qtbot.waitSignal(line.clicked):
        QTest.keyClick(line, Qt.Key.Key_Space)


def test_a_link_without_a_target_cannot_be_clicked(line: LinkLine) -> None:
    line.show_link("gone", leads=False)
    assert not line.isEnabled()
    line.show_link("back")
    assert line.isEnabled()


def test_text_from_outside_is_plain_text_and_takes_no_focus(line: LinkLine) -> None:
    line.show_link(NASTY, "<i>&x</i>", mark=Mark(Shape.BARS, Tone.PAUSED))
    assert line.shortcut().isEmpty()
    assert not QtGui.Qt.mightBeRichText(line.toolTip())
    assert "\n" not in line.accessibleName()


def test_the_link_gives_way_before_it_widens_anything(line: LinkLine) -> None:
    line.show_link("x" * 200, "when it succeeds")
    line.resize(120, line.sizeHint().height())
    shown = line.grab().toImage()
    assert line.width() == 120
    # The words behind the link are drawn in their own colour, within the room there is.
    muted = line._appearance.colour(Tone.MUTED)
    columns = {x for x in range(60, 120) for y in range(shown.height()) if shown.pixelColor(x, y) == muted}
    assert columns


def test_the_focus_frame_does_not_cross_the_mark(qtbot: QtBot, line: LinkLine) -> None:
    line.show_link("backup", mark=Mark(Shape.RING, Tone.MUTED))
    line.resize(200, line.sizeHint().height())
    line.show()
    before = line.grab().toImage()
    line.setFocus()
    qtbot.waitUntil(line.hasFocus)
    after = line.grab().toImage()
    changed = {
        x
        for x in range(after.width())
        for y in range(after.height())
        if before.pixel(x, y) != after.pixel(x, y)
    }
    assert min(changed) > 9
