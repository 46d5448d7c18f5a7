"""A button that puts a variable into a prompt."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QMenu, QPushButton, QWidget

from halo_scheduler.grammar.templates import NEEDS_WORK, VARIABLES
from ui.style.theme import Look
from ui.widgets.labels import button, tint

# Other names for what the list has already.
_ALIASES = "issue."
# What those before a dot have in common, where there are several of them.
_PARTS = ("chain", "work")


class VariableMenu(QWidget):
    """Lists the variables with what they stand for; those of work items only where there are any."""

    picked = Signal(str)
    """The name of a variable."""

    def __init__(self, look: Look, parent: QWidget, *, name: str) -> None:
        super().__init__(parent)
        self.has_work = False
        self.button: QPushButton = button(
            self.tr("Insert variable"),
            name=name,
            kind="quiet",
            tip=self.tr("Insert something that is filled in when the run starts"),
        )
        self.button.setAutoDefault(False)
        tint(self.button, look, "add")
        self._menu = QMenu(self.button)
        self._menu.setObjectName(f"{name}Menu")
        self.button.clicked.connect(self._pop_up)
        self.hide()

    @property
    def menu(self) -> QMenu:
        return self._menu

    def _pop_up(self) -> None:
        self._menu.clear()
        part = ""
        for variable, explanation in VARIABLES.items():
            if variable.startswith(_ALIASES) or (variable in NEEDS_WORK and not self.has_work):
                continue
            before, part = part, variable.partition(".")[0]
            if part in _PARTS and part != before:
                self._menu.addSeparator()
            added = self._menu.addAction(f"{{{{{variable}}}}}\t{explanation}")
            added.triggered.connect(_Emit(self, variable))
        if not self.has_work:
            self._menu.addSeparator()
            more = self.tr("More once it has a work source")
            self._menu.addAction(more).setEnabled(False)
        self._menu.popup(self.button.mapToGlobal(self.button.rect().bottomLeft()))


class _Emit:
    """Emits one name."""

    def __init__(self, menu: VariableMenu, variable: str) -> None:
        self._menu = menu
        self._variable = variable

    def __call__(self) -> None:
        self._menu.picked.emit(self._variable)
