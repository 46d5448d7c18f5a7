"""The icons: line drawings, tinted by meaning."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

_APP_SIZES = (16, 22, 24, 32, 48, 64, 128, 256)


class IconMaker:
    """Renders each icon once per colour and size."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str, int], QIcon] = {}

    def icon(self, name: str, colour: str, size: int) -> QIcon:
        """Return an icon in a colour; the style dims it while its control is disabled."""
        key = (name, colour, size)
        if key not in self._made:
            made = QIcon()
            # For normal and for double pixel density.
            for pixels in (size, 2 * size):
                made.addPixmap(draw(name, pixels, colour))
            self._made[key] = made
        return self._made[key]


@lru_cache(maxsize=16)
def picture(name: str) -> QIcon:
    """Return an icon with its own colours, such as the program's or the tray's."""
    made = QIcon()
    for size in _APP_SIZES:
        made.addPixmap(draw(name, size))
    return made


def draw(name: str, size: int, colour: str = "") -> QPixmap:
    """Render an icon at a size in pixels."""
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
    """Return an icon's file as a style sheet URL."""
    return Path(str(_folder().joinpath(f"{name}.svg"))).as_posix()


@lru_cache(maxsize=256)
def _source(name: str) -> str:
    return _folder().joinpath(f"{name}.svg").read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _folder() -> Traversable:
    # Looked up once, which takes longer than reading the drawing.
    return files("halo_scheduler.resources.icons")
