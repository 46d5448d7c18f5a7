"""The concurrency page: how many jobs run at a time, and the default time limit."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QSpinBox, QWidget

from halo_scheduler.model.settings import Settings
from ui.style.theme import GRID, HALF, Appearance

from .link import SettingsLink
from .page import Card, Page, Row
from .switch import Switch

_FIELD_WIDTH = 96
_MOST_AT_ONCE = 1_000
_USUAL_LIMIT = "2h"


class ConcurrencyPage(Page):
    """The global limit, and the time limit of new jobs."""

    def __init__(self, link: SettingsLink, appearance: Appearance) -> None:
        super().__init__()
        self._link = link
        self.add_title(self.tr("Concurrency"))
        card = Card()
        card.add(self._concurrency_row())
        card.add(self._limit_row(appearance))
        self.add(card)
        self.add_remark(self.tr("Groups can have their own limit (Groups menu)."))
        link.follow(self._show)

    def _concurrency_row(self) -> Row:
        self._concurrency = QSpinBox()
        self._concurrency.setObjectName("maxConcurrentSpin")
        self._concurrency.setRange(1, _MOST_AT_ONCE)
        self._concurrency.setFixedWidth(_FIELD_WIDTH)
        self._concurrency.setKeyboardTracking(False)
        self._concurrency.lineEdit().setTextMargins(HALF, 0, 0, 0)
        self._concurrency_setting = Row(
            self.tr("Jobs running at the &same time"),
            self.tr("Others wait in line, oldest first."),
            self._concurrency,
        )
        self._concurrency.valueChanged.connect(
            lambda value: self._link.change(self._concurrency_setting.show_error, max_concurrent=value)
        )
        return self._concurrency_setting

    def _limit_row(self, appearance: Appearance) -> Row:
        self._has_limit = Switch(appearance, "timeLimitSwitch", self.tr("Give new jobs a time limit"))
        self._limit = QLineEdit()
        self._limit.setObjectName("timeLimitEdit")
        self._limit.setFixedWidth(_FIELD_WIDTH)
        self._limit.setPlaceholderText(self.tr("none"))
        self._limit.setAccessibleName(self.tr("Default time limit"))
        both = QWidget()
        box = QHBoxLayout(both)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(GRID)
        box.addWidget(self._has_limit)
        box.addWidget(self._limit)
        self._limit_setting = Row(
            self.tr("Default &time limit"),
            self.tr("Longer runs are stopped. Enter 30m, 2h or 1d. Jobs can have their own."),
            both,
            buddy=self._limit,
        )
        self._has_limit.toggled.connect(self._switch_limit)
        self._limit.editingFinished.connect(self._change_limit)
        return self._limit_setting

    def _show(self, settings: Settings) -> None:
        with QSignalBlocker(self._concurrency):
            self._concurrency.setValue(settings.max_concurrent)
        with QSignalBlocker(self._has_limit):
            self._has_limit.setChecked(settings.default_time_limit is not None)
        self._limit.setEnabled(settings.default_time_limit is not None)
        self._limit.setText(settings.default_time_limit or "")

    def _switch_limit(self, is_on: bool) -> None:  # noqa: FBT001 - a slot of `toggled`
        self._link.change(self._limit_setting.show_error, default_time_limit=_USUAL_LIMIT if is_on else None)

    def _change_limit(self) -> None:
        # Turning the limit off also ends editing of the field; ignore that.
        if self._limit.isEnabled() and self._has_limit.isChecked():
            self._link.change(self._limit_setting.show_error, default_time_limit=self._limit.text().strip())
