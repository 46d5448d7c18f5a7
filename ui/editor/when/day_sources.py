"""Holidays, business days and calendar files in lines of days: their words, and the dialog that picks a place."""

from __future__ import annotations

import re

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QDialog, QFormLayout, QHBoxLayout, QVBoxLayout, QWidget

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.places import countries
from halo_scheduler.model.calendars import DAY_GROUPS, SourceKind, read_source
from halo_scheduler.wording.day_sources import source_words
from ui.style.theme import GRID, MARGIN
from ui.widgets.boxes import let_shrink
from ui.widgets.labels import button, label

# A file's path is in quotes and may contain any other character.
_ITEM = re.compile(r'(?:[^,;"]|"[^"]*"?)+')


def written_days(items: tuple[str, ...]) -> str:
    """Return days as the text of a line: "weekdays, holidays in Germany (Bavaria), 2026-12-24"."""
    return ", ".join(map(_written, items))


def _written(item: str) -> str:
    if item in DAY_GROUPS or item[0].isdigit():
        return item
    words = source_words(item)
    return item if "," in words and '"' not in words else words


def read_days(text: str) -> tuple[str, ...]:
    """Return the days of a line; `Calendar` refuses invalid ones."""
    found: list[str] = []
    for item in (part.strip() for part in _ITEM.findall(text)):
        words = item.split()
        is_list = all(word[0].isdigit() or word.lower() in DAY_GROUPS for word in words)
        found += [word.lower() for word in words] if is_list else [_read(item)]
    return tuple(found)


def _read(item: str) -> str:
    try:
        source = read_source(item)
    except ScheduleError:
        source = None
    return item if source is None else str(source)


class PlaceDialog(QDialog):
    """Picks a country and one of its regions; initially, nothing is chosen."""

    picked = Signal(str)
    """The holidays or business days, like "holidays DE-BY"."""

    def __init__(self, kind: SourceKind, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._kind = kind
        self.setObjectName("placeDialog")
        is_business = kind is SourceKind.BUSINESS_DAYS
        title = self.tr("Business days") if is_business else self.tr("Holidays")
        self.setWindowTitle(title)
        self.setMinimumWidth(400)
        self._country = self._box("placeCountry", self.tr("Country"))
        self._country.setPlaceholderText(self.tr("Choose a country"))
        for code, country in sorted(countries().items(), key=lambda item: item[1].name.casefold()):
            self._country.addItem(country.name, code)
        self._country.setCurrentIndex(-1)
        self._region = self._box("placeRegion", self.tr("Region"))
        form = QFormLayout()
        form.setSpacing(GRID)
        form.addRow(self.tr("Country"), self._country)
        form.addRow(self.tr("Region"), self._region)
        hint = self.tr("Its usual working days, without its holidays.") if is_business else ""
        column = QVBoxLayout(self)
        column.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        column.setSpacing(GRID)
        column.addLayout(form)
        if hint:
            column.addWidget(label(hint, "muted", wrap=True))
        column.addSpacing(GRID)
        column.addLayout(self._buttons())
        self._country.currentIndexChanged.connect(self._show_regions)
        self.accepted.connect(self._tell)
        self._show_regions()

    @staticmethod
    def _box(name: str, title: str) -> QComboBox:
        made = QComboBox()
        made.setObjectName(name)
        made.setAccessibleName(title)
        let_shrink(made)
        return made

    def _buttons(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.addStretch(1)
        cancel = button(self.tr("Cancel"), name="cancelButton", tip=self.tr("Cancel (Esc)"))
        cancel.clicked.connect(self.reject)
        row.addWidget(cancel)
        self._add = button(self.tr("Add"), name="addPlace", kind="primary", tip=self.tr("Add (Return)"))
        self._add.setDefault(True)
        self._add.clicked.connect(self.accept)
        row.addWidget(self._add)
        return row

    def _show_regions(self) -> None:
        code = self._country.currentData()
        regions = {} if code is None else countries()[code].regions
        self._region.clear()
        self._region.addItem(self.tr("Whole country"), "")
        for region, name in sorted(regions.items(), key=lambda item: item[1].casefold()):
            self._region.addItem(name, region)
        self._region.setEnabled(bool(regions))
        self._add.setEnabled(code is not None)

    def _tell(self) -> None:
        code, region = self._country.currentData(), self._region.currentData()
        self.picked.emit(f"{self._kind} {code}-{region}" if region else f"{self._kind} {code}")
