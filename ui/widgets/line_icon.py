"""An icon widget, sharp at every scale and in theme colours."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QIcon, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from ui.style.icons import picture
from ui.style.theme import ICON, Appearance, Tone


class LineIcon(QWidget):
    """A line icon in a tone, or the application icon."""

    def __init__(
        self, appearance: Appearance, name: str, tone: Tone | None = Tone.TEXT, size: int = ICON
    ) -> None:
        super().__init__()
        self._appearance = appearance
        self._name = name
        self._tone = tone
        self.setFixedSize(size, size)
        appearance.changed.connect(self.update)

    def set_icon(self, name: str, tone: Tone | None) -> None:
        if (name, tone) != (self._name, self._tone):
            self._name, self._tone = name, tone
            self.update()

    def _icon(self) -> QIcon:
        return picture(self._name) if self._tone is None else self._appearance.icon(self._name, self._tone)

    # --- Qt -----------------------------------------------------------------------------------------

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        painter = QPainter(self)
        self._icon().paint(painter, self.rect(), Qt.AlignmentFlag.AlignCenter)
