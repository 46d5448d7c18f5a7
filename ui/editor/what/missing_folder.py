"""A note on a missing folder, with a button that creates it."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from halo_scheduler.errors import SchedulerError
from ui.backend.backend import Asked, Backend, Lane
from ui.forms.seen import show_if
from ui.style.theme import GRID
from ui.style.wording import one_line
from ui.widgets.labels import button, label, set_role

# While typing, nearly every prefix of a path is a missing folder.
_PATIENCE_MS = 400
_READY = "ready"


class MissingFolder(QWidget):
    """Checks whether a work folder exists; hidden while it does."""

    noticed = Signal()
    """It is known whether the folder exists."""
    created = Signal()

    def __init__(self, backend: Backend, *, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self._backend = backend
        self.is_missing = False
        self._path = ""
        self._asked: Asked | None = None
        self._words = label("", "warn", wrap=True, name=f"{name}Words")
        self._create = button(
            self.tr("Create folder"),
            name=f"{name}Create",
            tip=self.tr("Create the folder with a “ready” folder inside"),
        )
        self._create.setAutoDefault(False)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GRID)
        layout.addWidget(self._words, 1)
        layout.addWidget(self._create)
        self._timer = QTimer(self, singleShot=True, interval=_PATIENCE_MS)
        self._timer.timeout.connect(self._check_now)
        self._create.clicked.connect(self._make)
        self.hide()

    def check(self, path: str) -> None:
        """Check a folder after a pause in typing."""
        self._path = path
        self._forget()
        self._set_missing(is_missing=False)
        self._timer.start()

    def _set_missing(self, *, is_missing: bool) -> None:
        self.is_missing = is_missing
        show_if(self, is_missing)

    def _forget(self) -> None:
        if self._asked is not None:
            self._asked.cancel()

    def _check_now(self) -> None:
        path = self._path
        self._asked = self._backend.ask(
            lambda _scheduler: _is_missing(path), self._show, self._ignore, owner=self, lane=Lane.SLOW
        )

    def _show(self, is_missing: bool) -> None:  # noqa: FBT001 - an answer
        set_role(self._words, "warn")
        self._words.setText(self.tr("This folder doesn't exist yet."))
        self._set_missing(is_missing=is_missing)
        self.noticed.emit()

    def _make(self) -> None:
        path = self._path
        self._forget()
        self._asked = self._backend.ask(
            lambda _scheduler: _why_not_made(path), self._show_made, self._ignore, owner=self, lane=Lane.SLOW
        )

    def _show_made(self, why_not: str) -> None:
        if why_not:
            set_role(self._words, "error")
            self._words.setText(
                self.tr("The folder couldn't be created: {reason}.").format(reason=one_line(why_not))
            )
            return
        self._set_missing(is_missing=False)
        self.created.emit()

    def _ignore(self, _error: SchedulerError) -> None:
        """Ignored: the request never uses the scheduler."""


def _is_missing(path: str) -> bool:
    """Return whether nothing exists at an absolute path; other errors are reported by the field."""
    try:
        place = Path(path).expanduser()
        place.stat()
    except FileNotFoundError:
        return place.is_absolute()
    except (OSError, RuntimeError, ValueError):
        return False
    return False


def _why_not_made(path: str) -> str:
    """Create a work folder; return why that failed, or an empty text."""
    try:
        (Path(path).expanduser() / _READY).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return error.strerror or str(error)
    except (RuntimeError, ValueError) as error:
        return str(error)
    return ""
