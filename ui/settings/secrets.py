"""The secrets page: list, add, replace, remove; never shows a value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from PySide6.QtWidgets import QHBoxLayout, QWidget

from halo_scheduler.errors import SchedulerError
from halo_scheduler.service.scheduler import Scheduler
from ui.backend.backend import Lane
from ui.style.theme import GRID, Appearance
from ui.style.wording import ago
from ui.widgets.labels import button, label, set_role, tint

from .confirmation import Confirmation
from .link import SettingsLink
from .page import Card, Page, Row, sentence
from .secret_form import SecretForm


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
            lambda error: self._form.show_error(sentence(error)),
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
