"""A line for a path, with a button that opens a file dialog."""

from __future__ import annotations

import os.path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QLineEdit, QWidget

from ui.style.theme import HALF, Appearance, mono_font
from ui.widgets.labels import icon_button


class DirectoryEdit(QWidget):
    """A directory, typed or chosen."""

    changed = Signal()

    def __init__(self, appearance: Appearance, *, name: str, title: str, placeholder: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self._title = title
        self.line = QLineEdit()
        self.line.setObjectName(f"{name}Line")
        self.line.setAccessibleName(title)
        self.line.setPlaceholderText(placeholder)
        self.line.setFont(mono_font(self.line.font()))
        self.line.textChanged.connect(self.changed)
        self._choose = choose = icon_button(
            appearance, "folder", self.tr("Choose a folder…"), name=f"{name}Choose"
        )
        choose.clicked.connect(self._choose_folder)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(HALF)
        layout.addWidget(self.line, 1)
        layout.addWidget(choose)

    @property
    def stops(self) -> list[QWidget]:
        """The widgets in Tab order."""
        return [self.line, self._choose]

    def _choose_folder(self) -> None:
        # Path.expanduser raises for the home of an unknown user.
        start = os.path.expanduser(self.line.text())  # noqa: PTH111 - see above
        dialog = QFileDialog(self.window(), self._title, start)
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.fileSelected.connect(self.line.setText)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
