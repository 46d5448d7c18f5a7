"""The form of a new bot in the settings."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QComboBox, QFrame, QGridLayout, QHBoxLayout, QLineEdit, QVBoxLayout

from halo_scheduler.model.chat import ChatServiceName
from ui.style.theme import GRID, MARGIN
from ui.widgets.labels import button, label


class BotForm(QFrame):
    """Edits the name, the service and the token of a new bot."""

    submitted = Signal(str, str, str, bool)
    """The name, the service, the token, and whether to store it in a private file."""
    cancelled = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "card")
        self.setObjectName("botForm")
        self._name = QLineEdit()
        self._name.setObjectName("botNameEdit")
        self._name.setPlaceholderText("family")
        self._service = QComboBox()
        self._service.setObjectName("botServiceCombo")
        for service in ChatServiceName:
            self._service.addItem(service.title(), service)
        self._token = QLineEdit()
        self._token.setObjectName("botTokenEdit")
        self._token.setEchoMode(QLineEdit.EchoMode.Password)
        self._token.setAccessibleDescription(self.tr("Never shown again."))
        self._place = QComboBox()
        self._place.setObjectName("botPlaceCombo")
        self._place.addItem(self.tr("System keyring"), False)
        self._place.addItem(self.tr("Private file"), True)
        self._hint = label("", "small", name="botHint", wrap=True)
        self._error = label("", "error", name="botError", wrap=True)
        self._save = button(self.tr("Add bot"), name="saveBotButton", kind="primary")
        self._cancel = button(self.tr("Cancel"), name="cancelBotButton", tip=self.tr("Cancel (Esc)"))
        self._lay_out()
        for field in (self._name, self._token):
            field.textChanged.connect(self._follow)
            field.returnPressed.connect(self._submit)
        self._service.currentIndexChanged.connect(self._follow)
        self._save.clicked.connect(self._submit)
        self._cancel.clicked.connect(self.cancelled)

    def open(self) -> None:
        """Show the empty form."""
        self._name.clear()
        self._token.clear()
        self.show_error("")
        self.show()
        self._name.setFocus()

    def show_keyring(self, is_there: bool) -> None:  # noqa: FBT001 - the answer to a question
        """Select the file if there is no keyring."""
        self._place.setEnabled(is_there)
        if not is_there:
            self._place.setCurrentIndex(1)

    def show_error(self, text: str) -> None:
        """Show why the bot was not added."""
        self._error.setText(text)
        self._error.setVisible(bool(text))
        self._follow()

    def discard(self) -> None:
        """Hide the form and clear the token."""
        self._token.clear()
        self.hide()

    def _lay_out(self) -> None:
        form = QGridLayout()
        form.setVerticalSpacing(GRID)
        form.setHorizontalSpacing(MARGIN)
        rows = (
            (self.tr("&Name"), self._name),
            (self.tr("&Service"), self._service),
            (self.tr("&Token"), self._token),
            (self.tr("St&ore in"), self._place),
        )
        for row, (text, field) in enumerate(rows):
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
        box.addWidget(label(self.tr("New bot"), "strong"))
        box.addLayout(form)
        box.addWidget(self._hint)
        box.addWidget(self._error)
        box.addLayout(buttons)

    def _follow(self) -> None:
        self._save.setEnabled(bool(self._name.text().strip() and self._token.text().strip()))
        self._hint.setText(
            {
                ChatServiceName.TELEGRAM: self.tr(
                    "In Telegram, write to @BotFather: /newbot gives you a token."
                ),
                ChatServiceName.SLACK: self.tr(
                    "Two tokens separated by a space: the bot token (xoxb-…) and the app-level token (xapp-…)."
                ),
                ChatServiceName.DISCORD: self.tr("The token of the bot, from Discord's developer portal."),
            }[ChatServiceName(self._service.currentData())]
        )

    def _submit(self) -> None:
        if self._save.isEnabled():
            self._save.setEnabled(False)
            self.submitted.emit(
                self._name.text().strip(),
                self._service.currentData(),
                self._token.text(),
                bool(self._place.currentData()),
            )

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        if event.key() == Qt.Key.Key_Escape:
            self.cancelled.emit()
        else:
            super().keyPressEvent(event)
