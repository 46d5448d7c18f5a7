"""Draw the icons of the Windows and macOS programs: `python packaging/icons.py FOLDER`."""

import os
import sys
from pathlib import Path

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QGuiApplication, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

_SIZES = {"halo.ico": 256, "halo.icns": 512}


def main(folder: Path) -> None:
    """Write each icon in its largest size; the systems scale it down."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    application = QGuiApplication(sys.argv[:1])
    drawing = Path(__file__).parents[1] / "resources" / "icons" / "halo.svg"
    folder.mkdir(parents=True, exist_ok=True)
    for name, size in _SIZES.items():
        image = QImage(size, size, QImage.Format.Format_ARGB32)
        image.fill(Qt.GlobalColor.transparent)
        painter = QPainter(image)
        QSvgRenderer(str(drawing)).render(painter, QRectF(0, 0, size, size))
        painter.end()
        if not image.save(str(folder / name)):
            sys.exit(f"Qt could not write {name}.")
    del application


if __name__ == "__main__":
    main(Path(sys.argv[1]))
