"""The secrets page: list, add, replace, remove; never shows a value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QComboBox, QFrame, QGridLayout, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from halo_scheduler.errors import SchedulerError
from halo_scheduler.service.scheduler import Scheduler
from ui.backend.backend import Lane
from ui.style.theme import GRID, MARGIN, Appearance
from ui.style.wording import ago
from ui.widgets.labels import button, label, set_role, tint

from .page import Card, Confirmation, Page, Row, SettingsLink, sentence


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

    def show_error(self, text: str, path: str = "") -> None:
        """Show why saving failed, and focus the field to correct."""
        self._error.setText(text)
        self._error.setVisible(bool(text))
        self._set_busy(False)
        if text:
            field = self._name if self._name.isEnabled() and path != "value" else self._value
            field.setFocus()
            field.selectAll()

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
        # A disabled field would pass the focus on to Cancel, which Enter would press.
        self._value.setReadOnly(is_busy)
        if is_busy:
            self._save.setEnabled(False)
        else:
            self._follow_texts()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        if event.key() == Qt.Key.Key_Escape:
            self._give_up()
        else:
            super().keyPressEvent(event)


@dataclass(frozen=True, slots=True)
class _Listed:
    name: str
    is_in_file: bool
    changed_at: int


class SecretsPage(Page):
    """Lists the secrets by name."""

    def __init__(self, link: SettingsLink, appearance: Appearance) -> None:
        super().__init__()
        self._link = link
        self._confirmation: Confirmation | None = None
        self.add_title(
            self.tr("Secrets"),
            self.tr(
                "Passwords and tokens for jobs, written as ${secret:NAME}. Values are passed to the job "
                "only, never shown, and removed from its output."
            ),
        )
        self._new = button(self.tr("&Add a secret…"), name="addSecretButton")
        tint(self._new, appearance, "add")
        self._message = label("", "ok", name="secretToldLabel", wrap=True)
        self.add(_bar(self._new, self._message))
        self._form = SecretForm()
        self._form.hide()
        self.add(self._form)
        self._card = Card()
        self.add(self._card)
        self._new.clicked.connect(lambda: self._open_form(""))
        self._form.submitted.connect(self._save)
        self._form.cancelled.connect(self._form.discard)

    def refresh(self) -> None:
        """Load the list of secrets."""
        self._link.backend.ask(_list, self._show, self._fail, owner=self)

    def _show(self, secrets: list[_Listed]) -> None:
        self._confirmation = None
        self._card.clear()
        now_ms = self._link.backend.now_ms()
        for secret in secrets:
            self._card.add(self._row(secret, now_ms))
        if not secrets:
            self._card.add(
                Row(
                    self.tr("No secrets yet"),
                    self.tr(
                        "Add one, then use ${secret:NAME} in a job's environment, input, headers or body."
                    ),
                    None,
                )
            )

    def _row(self, secret: _Listed, now_ms: int) -> Row:
        place = self.tr("in a private file") if secret.is_in_file else self.tr("in the system keyring")
        since = ago(secret.changed_at, now_ms)
        replace = button(
            self.tr("Replace…"),
            name="replaceSecretButton",
            accessible=self.tr("Replace {name}").format(name=secret.name),
        )
        remove = button(
            self.tr("Remove…"),
            name="removeSecretButton",
            accessible=self.tr("Remove {name}").format(name=secret.name),
        )
        row = Row(
            secret.name,
            self.tr("{place} · set {since}").format(place=place, since=since),
            _bar(replace, remove),
        )
        replace.clicked.connect(partial(self._open_form, secret.name))
        remove.clicked.connect(partial(self._confirm, row, secret.name))
        return row

    def _open_form(self, name: str) -> None:
        self._drop_confirmation()
        self._show_message("", "ok")
        self._form.edit(name)
        self._link.backend.ask(
            lambda scheduler: scheduler.secrets.has_keyring(),
            self._form.show_keyring,
            owner=self._form,
            lane=Lane.SLOW,
        )
        self.ensureWidgetVisible(self._form)

    def _save(self, name: str, value: str, is_in_file: bool) -> None:  # noqa: FBT001 - a slot
        self._link.backend.ask(
            lambda scheduler: scheduler.secrets.set(name, value, in_file=is_in_file),
            partial(self._take_saved, name),
            lambda error: self._form.show_error(sentence(error), getattr(error, "path", "")),
            owner=self,
            lane=Lane.SLOW,
        )

    def _take_saved(self, name: str, _nothing: None) -> None:
        self._form.discard()
        self._show_message(self.tr("✓ {name} saved").format(name=name), "ok")
        self._new.setFocus()
        self.refresh()

    def _confirm(self, row: Row, name: str) -> None:
        self._drop_confirmation()
        self._form.discard()
        confirmation = Confirmation(
            self.tr("This permanently deletes {name}. Jobs that use it will fail.").format(name=name),
            self.tr("Remove"),
        )
        confirmation.confirmed.connect(partial(self._remove, name))
        confirmation.cancelled.connect(self._drop_confirmation)
        self._card.insert_below(row, confirmation)
        self._confirmation = confirmation
        confirmation.take_focus()

    def _remove(self, name: str) -> None:
        if self._confirmation is not None:
            self._confirmation.show_busy(self.tr("Removing…"))
        self._link.backend.ask(
            lambda scheduler: scheduler.secrets.remove(name),
            partial(self._take_removed, name),
            self._fail,
            owner=self,
            lane=Lane.SLOW,
        )

    def _take_removed(self, name: str, _nothing: None) -> None:
        self._show_message(self.tr("✓ {name} removed").format(name=name), "ok")
        self._new.setFocus()
        self.refresh()

    def _fail(self, error: SchedulerError) -> None:
        self._drop_confirmation()
        self._show_message(sentence(error), "error")
        self._new.setFocus()

    def _drop_confirmation(self) -> None:
        if self._confirmation is not None:
            self._confirmation.hide()
            self._confirmation.deleteLater()
            self._confirmation = None

    def _show_message(self, text: str, role: str) -> None:
        self._message.setText(text)
        set_role(self._message, role)


def _bar(*widgets: QWidget) -> QWidget:
    bar = QWidget()
    box = QHBoxLayout(bar)
    box.setContentsMargins(0, 0, 0, 0)
    box.setSpacing(GRID)
    for widget in widgets:
        box.addWidget(widget)
    box.setStretch(len(widgets) - 1, 1)
    return bar


def _list(scheduler: Scheduler) -> list[_Listed]:
    return [_Listed(one.name, one.place.value == "file", one.changed_at) for one in scheduler.secrets.list()]
