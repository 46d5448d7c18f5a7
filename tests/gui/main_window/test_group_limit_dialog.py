"""The limit of a group: a value in, a value out."""

from __future__ import annotations

from PySide6.QtWidgets import QCheckBox, QSpinBox
from pytestqt.qtbot import QtBot

from ui.main_window.groups import GroupLimitDialog
from ui.style.theme import Appearance


def _dialog(qtbot: QtBot, limit: int | None) -> GroupLimitDialog:
    made = GroupLimitDialog(Appearance(), "web", limit)
    qtbot.addWidget(made)
    return made


def test_the_dialog_returns_its_value(qtbot: QtBot) -> None:
    assert _dialog(qtbot, 3).limit == 3
    assert _dialog(qtbot, None).limit is None


def test_a_limit_can_be_set_and_lifted(qtbot: QtBot) -> None:
    dialog = _dialog(qtbot, None)
    has_limit, count = dialog.findChild(QCheckBox, "hasLimit"), dialog.findChild(QSpinBox, "limitCount")
    assert has_limit is not None
    assert count is not None
    assert not count.isEnabled()
    has_limit.setChecked(True)
    count.setValue(4)
    assert dialog.limit == 4
    has_limit.setChecked(False)
    assert dialog.limit is None
