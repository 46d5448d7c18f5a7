"""The program's icons: line drawings tinted in the colour of their meaning."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

# As icons are shown, and as on a screen of twice the density.
_SIZES = (16, 32)
_APP_SIZES = (16, 22, 24, 32, 48, 64, 128, 256)


class IconMaker:
    """Makes each icon once for each colour."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str], QIcon] = {}

    def icon(self, name: str, colour: str) -> QIcon:
        """Return an icon in a colour; the style pales it while its control is disabled."""
        key = (name, colour)
        if key not in self._made:
            made = QIcon()
            for size in _SIZES:
                made.addPixmap(draw(name, size, colour))
            self._made[key] = made
        return self._made[key]


@lru_cache(maxsize=16)
def picture(name: str) -> QIcon:
    """Return an icon that has colours of its own, such as the program's or the tray's."""
    made = QIcon()
    for size in _APP_SIZES:
        made.addPixmap(draw(name, size))
    return made


def draw(name: str, size: int, colour: str = "") -> QPixmap:
    """Draw an icon at a size in pixels."""
    pixmap = QPixmap(size, size)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    _renderer(name, colour).render(painter, QRectF(0, 0, size, size))
    painter.end()
    return pixmap


@lru_cache(maxsize=256)
def _renderer(name: str, colour: str) -> QSvgRenderer:
    drawing = _source(name)
    return QSvgRenderer(QByteArray((drawing.replace("currentColor", colour) if colour else drawing).encode()))


def icon_path(name: str) -> str:
    """Return the file of an icon, in the way a style sheet writes it on every system."""
    return Path(str(_folder().joinpath(f"{name}.svg"))).as_posix()


@lru_cache(maxsize=256)
def _source(name: str) -> str:
    return _folder().joinpath(f"{name}.svg").read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _folder() -> Traversable:
    # Looked for once: it takes longer than reading a drawing.
    return files("halo_scheduler.resources.icons")
