"""The chat page: the bots that receive messages, and who may write to them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QTimer
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from halo_scheduler.errors import SchedulerError
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.chat import BotStatus, ChatServiceName, Stranger
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.chat import bot_words
from ui.backend.backend import Lane
from ui.style.theme import GRID, MARGIN, Appearance, scaled
from ui.style.wording import ago, one_line
from ui.widgets.labels import button, label, set_role, tint

from .bot_form import BotForm
from .page import Card, Confirmation, Page, Row, SettingsLink, sentence

_FIELD_WIDTH = 160
_LONGEST_NAME = 40
_MOST_STRANGERS = 5
# Bots connect soon after a change, without a notification.
_AGAIN_MS = 2_000


@dataclass(frozen=True, slots=True)
class _Shown:
    """The data of the page."""

    bots: tuple[BotStatus, ...]
    strangers: tuple[Stranger, ...]


class ChatPage(Page):
    """Lists the bots with permitted people, and people who wrote without permission."""

    def __init__(self, link: SettingsLink, appearance: Appearance) -> None:
        super().__init__()
        self._link = link
        self._shown: _Shown | None = None
        self._confirmation: Confirmation | None = None
        self.add_title(
            self.tr("Chat"),
            self.tr(
                "People can start jobs by writing to a bot, and get the reply there. Halo connects to the chat service "
                "and opens no port. Only people whom you permit, or whom a job names, can start jobs."
            ),
        )
        self._new = button(self.tr("&Add a bot…"), name="addBotButton")
        tint(self._new, appearance, "add")
        self._message = label("", "ok", name="chatMessage", wrap=True)
        self.add(_bar(self._new, self._message))
        self._form = BotForm()
        self._form.hide()
        self.add(self._form)
        self._cards = QWidget()
        self._cards_box = QVBoxLayout(self._cards)
        self._cards_box.setContentsMargins(0, 0, 0, 0)
        self._cards_box.setSpacing(MARGIN)
        self.add(self._cards)
        self._again = QTimer(self)
        self._again.setSingleShot(True)
        self._again.timeout.connect(self.refresh)
        self._new.clicked.connect(self._open_form)
        self._form.submitted.connect(self._add)
        self._form.cancelled.connect(self._form.discard)
        link.backend.changed.connect(self._notice)

    def refresh(self) -> None:
        """Load the bots."""
        self._link.backend.ask(_read, self._show, self._fail, owner=self)
        if self.isVisible():
            self._again.start(_AGAIN_MS)

    def _notice(self, change: Change) -> None:
        if change.kind in (ChangeKind.SETTINGS, ChangeKind.ENGINE) and self.isVisible():
            self.refresh()

    # --- The bots ------------------------------------------------------------------------------------

    def _show(self, shown: _Shown) -> None:
        if shown == self._shown:
            return
        self._shown = shown
        self._confirmation = None
        while (item := self._cards_box.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        for status in shown.bots:
            self._cards_box.addWidget(self._card_of(status, shown.strangers))
        if not shown.bots:
            card = Card()
            card.add(Row(self.tr("No bots yet"), self.tr("Add one to let people start jobs by chat."), None))
            self._cards_box.addWidget(card)

    def _card_of(self, status: BotStatus, strangers: tuple[Stranger, ...]) -> Card:
        bot, card = status.bot, Card()
        card.setObjectName("botCard")
        name = bot.name
        tried = self._button("testBotButton", self.tr("Test"), name)
        removed = self._button("removeBotButton", self.tr("Remove…"), name)
        words = bot_words(status)
        is_faulty = status.state is not None and bool(status.state.fault)
        row = Row(f"{name} · {bot.service.title()}", f"{words[:1].upper()}{words[1:]}", _bar(tried, removed))
        if is_faulty:
            set_role(row.hint, "error")
        card.add(row)
        tried.clicked.connect(partial(self._test, name))
        removed.clicked.connect(partial(self._confirm, card, row, name))
        for person in bot.permitted:
            denied = self._button("denyButton", self.tr("Deny"), person)
            denied.clicked.connect(partial(self._forbid, name, person))
            card.add(Row(person, self.tr("May start the jobs of this bot"), denied))
        own = [one for one in strangers if one.bot == name]
        for stranger in own[:_MOST_STRANGERS]:
            card.add(self._stranger(stranger))
        card.add(self._permitting(name))
        return card

    def _stranger(self, stranger: Stranger) -> Row:
        shown = one_line(stranger.sender_name, _LONGEST_NAME)
        allowed = self._button("allowStrangerButton", self.tr("Allow"), stranger.sender)
        allowed.clicked.connect(partial(self._permit, stranger.bot, stranger.sender))
        return Row(
            f"{shown.replace('&', '&&')} ({stranger.sender})",
            self.tr("Wrote in {channel} {since} without permission").format(
                channel=f"{stranger.bot}/{stranger.channel}",
                since=ago(stranger.at, self._link.backend.now_ms()),
            ),
            allowed,
        )

    def _permitting(self, name: str) -> Row:
        """Return the row that permits a person by id."""
        person = QLineEdit()
        person.setObjectName("personEdit")
        person.setPlaceholderText("123456789")
        person.setFixedWidth(scaled(_FIELD_WIDTH))
        allowed = self._button("allowButton", self.tr("Allow"), name)
        row = Row(
            self.tr("Permit a person"),
            self.tr("By id, or on Telegram by @name"),
            _bar(person, allowed),
            buddy=person,
        )

        def permit() -> None:
            if person.text().strip():
                self._permit(name, person.text().strip())

        person.returnPressed.connect(permit)
        allowed.clicked.connect(permit)
        return row

    @staticmethod
    def _button(name: str, text: str, about: str) -> QPushButton:
        return button(text, name=name, accessible=f"{text.rstrip('…')} {about}")

    # --- Changes -------------------------------------------------------------------------------------

    def _open_form(self) -> None:
        self._drop_confirmation()
        self._show_message("", "ok")
        self._form.open()
        self._link.backend.ask(
            lambda scheduler: scheduler.secrets.has_keyring(),
            self._form.show_keyring,
            owner=self._form,
            lane=Lane.SLOW,
        )
        self.ensureWidgetVisible(self._form)

    def _add(self, name: str, service: str, token: str, in_file: bool) -> None:  # noqa: FBT001 - a slot
        self._link.backend.ask(
            lambda scheduler: scheduler.chat.add(name, ChatServiceName(service), token, in_file=in_file),
            lambda _bot: self._take_added(name),
            lambda error: self._form.show_error(sentence(error)),
            owner=self,
            lane=Lane.SLOW,
        )

    def _take_added(self, name: str) -> None:
        self._form.discard()
        self._succeed(self.tr("✓ {name} added").format(name=name))

    def _test(self, name: str) -> None:
        self._show_message(self.tr("Testing {name}…").format(name=name), "muted")
        self._link.backend.ask(
            lambda scheduler: scheduler.chat.test(name),
            lambda identity: self._succeed(
                self.tr("✓ {name} is {identity}").format(
                    name=name, identity=one_line(identity, _LONGEST_NAME)
                )
            ),
            self._fail,
            owner=self,
            lane=Lane.SLOW,
        )

    def _permit(self, name: str, person: str) -> None:
        self._link.backend.ask(
            lambda scheduler: scheduler.chat.permit(name, person),
            lambda _none: self._succeed(self.tr("✓ {person} is permitted").format(person=person)),
            self._fail,
            owner=self,
        )

    def _forbid(self, name: str, person: str) -> None:
        self._link.backend.ask(
            lambda scheduler: scheduler.chat.forbid(name, person),
            lambda _none: self._succeed(self.tr("✓ {person} is no longer permitted").format(person=person)),
            self._fail,
            owner=self,
        )

    def _confirm(self, card: Card, row: Row, name: str) -> None:
        self._drop_confirmation()
        confirmation = Confirmation(
            self.tr("This removes {name} and its token. Messages to it no longer start jobs.").format(
                name=name
            ),
            self.tr("Remove"),
        )
        confirmation.confirmed.connect(partial(self._remove, name))
        confirmation.cancelled.connect(self._drop_confirmation)
        card.insert_below(row, confirmation)
        self._confirmation = confirmation
        confirmation.take_focus()

    def _remove(self, name: str) -> None:
        self._link.backend.ask(
            lambda scheduler: scheduler.chat.remove(name),
            lambda _none: self._succeed(self.tr("✓ {name} removed").format(name=name)),
            self._fail,
            owner=self,
            lane=Lane.SLOW,
        )

    def _succeed(self, text: str) -> None:
        self._drop_confirmation()
        self._show_message(text, "ok")
        self.refresh()

    def _fail(self, error: SchedulerError) -> None:
        self._drop_confirmation()
        self._show_message(sentence(error), "error")

    def _drop_confirmation(self) -> None:
        if self._confirmation is not None:
            self._confirmation.hide()
            self._confirmation.deleteLater()
            self._confirmation = None

    def _show_message(self, text: str, role: str) -> None:
        self._message.setText(text)
        set_role(self._message, role)

    # --- Qt ------------------------------------------------------------------------------------------

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        super().showEvent(event)
        self._again.start(_AGAIN_MS)

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802
        super().hideEvent(event)
        self._again.stop()


def _bar(*widgets: QWidget) -> QWidget:
    bar = QWidget()
    box = QHBoxLayout(bar)
    box.setContentsMargins(0, 0, 0, 0)
    box.setSpacing(GRID)
    for widget in widgets:
        box.addWidget(widget)
    box.setStretch(len(widgets) - 1, 1)
    return bar


def _read(scheduler: Scheduler) -> _Shown:
    bots = tuple(scheduler.chat.status())
    strangers = (one for bot in bots for one in scheduler.chat.strangers(bot.bot.name))
    return _Shown(bots, tuple(strangers))
