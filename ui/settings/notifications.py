"""The settings of notifications: which ends of runs the user is told about."""

from __future__ import annotations

from PySide6.QtWidgets import QButtonGroup, QRadioButton, QVBoxLayout, QWidget

from halo_scheduler.model import Notify
from halo_scheduler.model.settings import Settings
from ui.style.theme import GRID, HALF, MARGIN
from ui.widgets.labels import label

from .link import SettingsLink
from .page import Card, Page

_INDENT = 24


class NotificationsPage(Page):
    """None, failures or all."""

    def __init__(self, link: SettingsLink) -> None:
        super().__init__()
        self._link = link
        self._choices = QButtonGroup(self)
        self.add_title(self.tr("Notifications"), self.tr("What Halo tells you about on your desktop."))
        card = Card()
        card.add(self._choice(Notify.NONE, self.tr("&Nothing"), self.tr("You look when you want to.")))
        card.add(
            self._choice(
                Notify.FAILURES,
                self.tr("&Failures"),
                self.tr(
                    "One notice when a job begins to fail, and one when it has recovered. Also when it asks you "
                    "something, or is held back by its cap."
                ),
            )
        )
        card.add(self._choice(Notify.ALL, self.tr("&All runs"), self.tr("Also every run that ended well.")))
        self.add(card)
        self._error = label("", "error", name="notifyError", wrap=True)
        self._error.hide()
        self.add(self._error)
        self.add_remark(
            self.tr(
                "Each job can have its own choice: edit it, then “Also”. "
                "A job that stops itself after too many errors always tells you."
            )
        )
        self._choices.buttonClicked.connect(self._choose)
        link.follow(self._show)

    def _choice(self, notify: Notify, text: str, hint: str) -> QWidget:
        made = QRadioButton(text)
        made.setObjectName(f"notify{notify.value.capitalize()}Radio")
        made.setAccessibleDescription(hint)
        made.setProperty("notify", notify.value)
        self._choices.addButton(made)
        words = label(hint, "small", wrap=True)
        words.setContentsMargins(_INDENT, 0, 0, 0)
        holder = QWidget()
        box = QVBoxLayout(holder)
        box.setContentsMargins(MARGIN, GRID + HALF, MARGIN, GRID + HALF)
        box.setSpacing(HALF)
        box.addWidget(made)
        box.addWidget(words)
        return holder

    def _show(self, settings: Settings) -> None:
        for made in self._choices.buttons():
            made.setChecked(made.property("notify") == settings.notify.value)

    def _choose(self, chosen: QRadioButton) -> None:
        self._link.change(self._show_error, notify=Notify(str(chosen.property("notify"))))

    def _show_error(self, text: str) -> None:
        self._error.setText(text)
        self._error.setVisible(bool(text))
