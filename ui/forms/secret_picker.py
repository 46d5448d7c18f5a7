"""A button that inserts a reference to a secret."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from halo_scheduler.errors import SchedulerError
from halo_scheduler.service.scheduler import Scheduler
from ui.backend.backend import Backend
from ui.style.theme import Appearance
from ui.style.wording import one_line
from ui.widgets.labels import icon_button


class SecretPicker(QWidget):
    """Lists the names of the stored secrets; values are never loaded."""

    picked = Signal(str)
    """The reference to insert, like ${secret:TOKEN}."""
    named = Signal(str)
    """The name alone, like TOKEN."""
    new_wanted = Signal()
    """The user wants to add a secret."""

    def __init__(
        self, backend: Backend, appearance: Appearance, parent: QWidget | None, *, name: str
    ) -> None:
        super().__init__(parent)
        self._backend = backend
        self.button: QToolButton = icon_button(appearance, "key", self.tr("Insert a secret"), name=name)
        self._menu = QMenu(self.button)
        self._menu.setObjectName(f"{name}Menu")
        self.button.clicked.connect(self._load_names)
        self.hide()

    @property
    def menu(self) -> QMenu:
        return self._menu

    def _load_names(self) -> None:
        self._backend.ask(_names, self._show, self._show_fault, owner=self)

    def _show(self, names: list[str]) -> None:
        self._menu.clear()
        for name in names:
            # Names contain no "&", which a menu would treat as a mnemonic.
            self._menu.addAction(name).triggered.connect(self._emitter(name))
        if names:
            self._menu.addSeparator()
        self._menu.addAction(self.tr("New secret…")).triggered.connect(self.new_wanted)
        self._pop_up()

    def _show_fault(self, error: SchedulerError) -> None:
        self._menu.clear()
        self._add_message(one_line(str(error)))
        self._pop_up()

    def _add_message(self, text: str) -> None:
        self._menu.addAction(text.replace("&", "&&")).setEnabled(False)

    def _pop_up(self) -> None:
        self._menu.popup(self.button.mapToGlobal(self.button.rect().bottomLeft()))

    def _emitter(self, name: str) -> _Emit:
        return _Emit(self, name)


class _Emit:
    """Emits one secret when called."""

    def __init__(self, picker: SecretPicker, name: str) -> None:
        self._picker = picker
        self._name = name

    def __call__(self) -> None:
        self._picker.picked.emit(f"${{secret:{self._name}}}")
        self._picker.named.emit(self._name)


def _names(scheduler: Scheduler) -> list[str]:
    return [secret.name for secret in scheduler.secrets.list()]
