"""The history page: how many runs and how much output to keep."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker
from PySide6.QtWidgets import QSpinBox

from halo_scheduler.model.policies import MOST_OUTPUT_BYTES
from halo_scheduler.model.settings import Settings
from halo_scheduler.paths import database_bytes
from ui.backend.backend import Lane
from ui.style.theme import HALF, scaled
from ui.style.wording import size_words

from .page import Card, Page, Row, SettingsLink

_FIELD_WIDTH = 136
_MEGABYTE = 1 << 20
_MOST_RUNS = 10_000_000
_MOST_DAYS = 36_500
_MOST_MEGABYTES = 1 << 30


class HistoryPage(Page):
    """Limits for runs and output."""

    def __init__(self, link: SettingsLink) -> None:
        super().__init__()
        self._link = link
        self.add_title(self.tr("History"), self.tr("Runs beyond these limits are deleted automatically."))
        self._runs = _spin("runsKeptSpin", 1, _MOST_RUNS, self.tr(" runs"))
        self._days = _spin("daysKeptSpin", 1, _MOST_DAYS, self.tr(" days"))
        self._output = _spin("outputKeptSpin", 0, _MOST_MEGABYTES, self.tr(" MB"))
        self._output.setSpecialValueText(self.tr("none"))
        self._output.setSingleStep(64)
        runs = Row(self.tr("&Runs per job"), self.tr("The newest are kept."), self._runs)
        days = Row(self.tr("&Keep runs for"), self.tr("Older runs are deleted."), self._days)
        output = Row(
            self.tr("Total &output"),
            self.tr("The oldest output is deleted first; its run stays listed."),
            self._output,
        )
        self._each = _spin("outputLimitSpin", 0, MOST_OUTPUT_BYTES >> 10, self.tr(" KB"))
        self._each.setSpecialValueText(self.tr("none"))
        self._each.setSingleStep(64)
        each = Row(
            self.tr("Output per r&un"),
            self.tr("The middle of longer output is dropped. Jobs can have their own limit."),
            self._each,
        )
        self._each.valueChanged.connect(
            lambda value: link.change(each.show_error, output_limit_bytes=value << 10)
        )
        self._runs.valueChanged.connect(lambda value: link.change(runs.show_error, runs_kept_per_job=value))
        self._days.valueChanged.connect(lambda value: link.change(days.show_error, runs_kept_days=value))
        self._output.valueChanged.connect(
            lambda value: link.change(output.show_error, output_kept_bytes=value * _MEGABYTE)
        )
        card = Card()
        for row in (runs, days, each, output):
            card.add(row)
        self.add(card)
        self._size = self.add_remark("")
        self._size.setObjectName("databaseSizeLabel")
        link.follow(self._show)

    def refresh(self) -> None:
        """Load the size of the database."""
        self._link.backend.ask(
            lambda scheduler: database_bytes(scheduler.path), self._show_size, owner=self, lane=Lane.SLOW
        )

    def _show(self, settings: Settings) -> None:
        for spin, value in (
            (self._runs, settings.runs_kept_per_job),
            (self._days, settings.runs_kept_days),
            (self._each, settings.output_limit_bytes >> 10),
            (self._output, settings.output_kept_bytes // _MEGABYTE),
        ):
            with QSignalBlocker(spin):
                spin.setValue(value)

    def _show_size(self, size: int) -> None:
        self._size.setText(self.tr("Currently using {size}.").format(size=size_words(size)))


def _spin(name: str, least: int, most: int, suffix: str) -> QSpinBox:
    made = QSpinBox()
    made.setObjectName(name)
    made.setRange(least, most)
    made.setSuffix(suffix)
    made.setGroupSeparatorShown(True)
    made.setKeyboardTracking(False)
    made.lineEdit().setTextMargins(HALF, 0, 0, 0)
    made.setFixedWidth(scaled(_FIELD_WIDTH))
    return made
