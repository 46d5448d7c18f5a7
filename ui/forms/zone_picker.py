"""A time zone, chosen by typing part of its name."""

from __future__ import annotations

from importlib import resources

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QCompleter

from halo_scheduler.grammar.zone import machine_zone

# Loaded at import, which happens off the GUI thread; one file instead of a directory walk.
_ZONES = sorted(resources.files("tzdata").joinpath("zones").read_text(encoding="utf-8").split())


class ZonePicker(QComboBox):
    """All zones, the local one first."""

    changed = Signal()

    def __init__(self, *, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(self.tr("Time zone"))
        self.setEditable(True)
        self.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.setMaxVisibleItems(12)
        self._own = self.tr("Local time zone ({zone})").format(zone=machine_zone().key)
        self.addItem(self._own)
        self.addItems(_ZONES)
        completer = QCompleter(self.model(), self)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setMaxVisibleItems(12)
        self.setCompleter(completer)
        line = self.lineEdit()
        if line is not None:
            line.setAccessibleName(self.accessibleName())
        self.editTextChanged.connect(self.changed)

    @property
    def zone(self) -> str | None:
        """The name as typed; None for the local zone."""
        typed = self.currentText().strip()
        return None if typed in ("", self._own) else typed.replace(" ", "_")

    def set_zone(self, zone: str | None) -> None:
        """Show a zone."""
        self.setCurrentText(self._own if zone is None else zone)
        line = self.lineEdit()
        if line is not None:
            line.setCursorPosition(0)
