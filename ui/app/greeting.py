"""The welcome dialog at the first start; it asks whether Halo may start at login."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QCheckBox, QDialog, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from ui.style.icons import picture
from ui.style.theme import GRID, MARGIN
from ui.widgets.arrange import fit_height
from ui.widgets.labels import button, label

_PICTURE = 64
_WIDTH = 464
_TITLE_BAR = 32


class Greeting(QDialog):
    """Asked once; closing it without an answer leaves it open for the next start."""

    answered = Signal(bool)
    """Whether Halo should start at login."""

    def __init__(self, parent: QWidget | None = None, *, has_tray: bool = True) -> None:
        super().__init__(parent)
        self.setObjectName("greeting")
        self.setWindowTitle(self.tr("Welcome"))
        self.setFixedWidth(_WIDTH)
        self._login = QCheckBox(self.tr("&Start Halo when I log in"))
        self._login.setObjectName("greetingLoginCheck")
        self._login.setChecked(True)
        hint = (
            self.tr("Halo starts in the tray. Jobs run only while it is open.")
            if has_tray
            else self.tr("Jobs run only while Halo is open.")
        )
        self._login.setAccessibleDescription(hint)
        proceed = button(
            self.tr("Continue"), name="continueButton", kind="primary", tip=self.tr("Continue (Enter)")
        )
        proceed.setDefault(True)
        proceed.clicked.connect(self.accept)
        self.accepted.connect(self._answer)
        indented = label(hint, "small", wrap=True)
        indented.setContentsMargins(24, 0, 0, 0)
        box = QVBoxLayout(self)
        box.setContentsMargins(2 * MARGIN, 2 * MARGIN, 2 * MARGIN, MARGIN + GRID)
        box.setSpacing(GRID)
        self._drawing = _drawing()
        box.addWidget(self._drawing, 0, Qt.AlignmentFlag.AlignHCenter)
        box.addSpacing(GRID)
        box.addWidget(_centred(label(self.tr("Welcome to Halo"), "title")))
        box.addWidget(
            _centred(
                label(
                    self._about(has_tray=has_tray),
                    "muted",
                    wrap=True,
                )
            )
        )
        box.addSpacing(MARGIN)
        box.addWidget(self._login)
        box.addWidget(indented)
        box.addSpacing(MARGIN)
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        buttons.addWidget(proceed)
        buttons.addStretch(1)
        box.addLayout(buttons)
        proceed.setFocus()

    def _about(self, *, has_tray: bool) -> str:
        words = self.tr("Halo runs your jobs on time, every time, and keeps a record of what happened.")
        return f"{words} {self.tr('It lives in the tray and stays out of your way.')}" if has_tray else words

    @property
    def starts_at_login(self) -> bool:
        """Whether the box is checked."""
        return self._login.isChecked()

    def _answer(self) -> None:
        self.answered.emit(self.starts_at_login)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        fit_height(self, _WIDTH)
        # On a low screen with a large font the button would lie below the edge.
        if self.height() > self.screen().availableGeometry().height() - _TITLE_BAR:
            self._drawing.hide()
            fit_height(self, _WIDTH)
        super().showEvent(event)


def _drawing() -> QLabel:
    made = QLabel()
    made.setPixmap(picture("halo").pixmap(QSize(_PICTURE, _PICTURE)))
    made.setAccessibleName("Halo")
    return made


def _centred(words: QLabel) -> QLabel:
    words.setAlignment(Qt.AlignmentFlag.AlignHCenter)
    return words
