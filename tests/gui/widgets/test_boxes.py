"""Boxes for numbers and times."""

from __future__ import annotations

from PySide6.QtCore import QTime
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from ui.widgets.boxes import time_box


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
