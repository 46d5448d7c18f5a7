"""The notifications page: which runs to notify about."""

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
        self.add_title(self.tr("Notifications"), self.tr("When Halo shows a desktop notification."))
        card = Card()
        card.add(self._choice(Notify.NONE, self.tr("&None"), self.tr("")))
        card.add(
            self._choice(
                Notify.FAILURES,
                self.tr("&Failures"),
                self.tr("When a job starts failing, recovers, needs input or reaches a daily limit."),
            )
        )
        card.add(self._choice(Notify.ALL, self.tr("&All runs"), self.tr("Successful runs too.")))
        self.add(card)
        self._error = label("", "error", name="notifyError", wrap=True)
        self._error.hide()
        self.add(self._error)
        self.add_remark(
            self.tr("Jobs can override this under Options. You're always told when a job is disabled.")
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
        if hint:
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
