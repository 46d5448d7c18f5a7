"""The form for a secret; its value is never shown again."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QComboBox, QFrame, QGridLayout, QHBoxLayout, QLineEdit, QVBoxLayout

from ui.style.theme import GRID, MARGIN
from ui.widgets.labels import button, label


class SecretForm(QFrame):
    """Edits the name, the value and where it is stored."""

    submitted = Signal(str, str, bool)
    """The name, the value, and whether to store it in a private file."""
    cancelled = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "card")
        self.setObjectName("secretForm")
        self._heading = label("", "strong")
        self._name = QLineEdit()
        self._name.setObjectName("secretNameEdit")
        self._name.setPlaceholderText("API_TOKEN")
        self._name.setMaxLength(200)
        self._value = QLineEdit()
        self._value.setObjectName("secretValueEdit")
        self._value.setEchoMode(QLineEdit.EchoMode.Password)
        self._value.setAccessibleDescription(self.tr("Never shown again."))
        self._place = QComboBox()
        self._place.setObjectName("secretPlaceCombo")
        self._place.addItem(self.tr("System keyring"), False)
        self._place.addItem(self.tr("Private file"), True)
        self._note = label("", "small", name="secretNote", wrap=True)
        self._error = label("", "error", name="secretError", wrap=True)
        self._save = button(
            self.tr("Save secret"),
            name="saveSecretButton",
            kind="primary",
            tip=self.tr("Save secret (Enter)"),
        )
        self._cancel = button(self.tr("Cancel"), name="cancelSecretButton", tip=self.tr("Cancel (Esc)"))
        self._lay_out()
        self._connect()
        self._note.hide()

    def edit(self, name: str = "") -> None:
        """Open the form for a new secret, or for a new value of an existing one."""
        self._heading.setText(
            self.tr("Replace the value of {name}").format(name=name) if name else self.tr("New secret")
        )
        self._name.setText(name)
        self._name.setEnabled(not name)
        self._value.clear()
        self.show_error("")
        self._set_busy(False)
        self._follow_texts()
        self.show()
        (self._value if name else self._name).setFocus()

    def show_keyring(self, is_there: bool) -> None:  # noqa: FBT001 - the answer to a question
        """Select the file if there is no keyring, and explain that."""
        self._place.setEnabled(is_there)
        if not is_there:
            self._place.setCurrentIndex(1)
            self._note.setText(
                self.tr("This system has no keyring, so the secret is stored in a private file.")
            )
        self._note.setVisible(not is_there)

    def show_error(self, text: str) -> None:
        """Show why saving failed."""
        self._error.setText(text)
        self._error.setVisible(bool(text))
        self._set_busy(False)

    def discard(self) -> None:
        """Hide the form and clear the value."""
        self._value.clear()
        self.hide()

    def _lay_out(self) -> None:
        form = QGridLayout()
        form.setSpacing(GRID)
        form.setHorizontalSpacing(MARGIN)
        for row, (text, field) in enumerate(
            (
                (self.tr("&Name"), self._name),
                (self.tr("&Value"), self._value),
                (self.tr("&Store in"), self._place),
            )
        ):
            name = label(text)
            name.setBuddy(field)
            field.setAccessibleName(text.replace("&", ""))
            form.addWidget(name, row, 0)
            form.addWidget(field, row, 1)
        form.setColumnStretch(1, 1)
        buttons = QHBoxLayout()
        buttons.setSpacing(GRID)
        buttons.addStretch(1)
        buttons.addWidget(self._cancel)
        buttons.addWidget(self._save)
        box = QVBoxLayout(self)
        box.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        box.setSpacing(GRID)
        box.addWidget(self._heading)
        box.addLayout(form)
        box.addWidget(self._note)
        box.addWidget(self._error)
        box.addLayout(buttons)

    def _connect(self) -> None:
        self._name.textChanged.connect(self._follow_texts)
        self._value.textChanged.connect(self._follow_texts)
        self._name.returnPressed.connect(self._submit)
        self._value.returnPressed.connect(self._submit)
        self._save.clicked.connect(self._submit)
        self._cancel.clicked.connect(self._give_up)

    def _follow_texts(self) -> None:
        self._save.setEnabled(bool(self._name.text().strip() and self._value.text()))

    def _submit(self) -> None:
        if self._save.isEnabled():
            self._set_busy(True)
            self.submitted.emit(
                self._name.text().strip(), self._value.text(), bool(self._place.currentData())
            )

    def _give_up(self) -> None:
        self._value.clear()
        self.cancelled.emit()

    def _set_busy(self, is_busy: bool) -> None:  # noqa: FBT001
        self._value.setEnabled(not is_busy)
        if is_busy:
            self._save.setEnabled(False)
        else:
            self._follow_texts()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        if event.key() == Qt.Key.Key_Escape:
            self._give_up()
        else:
            super().keyPressEvent(event)
