"""A client of the desktop's notification service: shows notices and reports clicks."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from jeepney import HeaderFields, MatchRule, Message, MessageType, message_bus

from halo_scheduler.host.bus import (
    Bus,
    BusStream,
    CallError,
    body_of,
    method_call,
    owner_rule,
)
from halo_scheduler.host.desktop import NAME, NOTIFY_SIGNATURE, SERVICE, notify_body
from halo_scheduler.wording.notices import Notice, NoticeKind

_LOG = logging.getLogger(__name__)
OPEN = "default"
"""The action of a click on the notification itself."""
_URGENT = (NoticeKind.DISABLED, NoticeKind.STORE, NoticeKind.STUCK)
_Answered = Callable[[tuple[Any, ...]], None]


class NotificationService:
    """Shows notices over one bus connection and tracks which of them can still be clicked.

    Never blocks: each call is sent after the reply to the previous one. A `BusError` ends it.
    """

    def __init__(
        self,
        waiting: deque[Notice],
        *,
        icon: str,
        labels: Mapping[str, str],
        clicked: Callable[[Notice, str, str], None],
        refused: Callable[[Notice], None],
    ) -> None:
        """Connect; a notice leaves `waiting` when it is shown or refused.

        `labels` are those of the actions. `clicked` gets the notice, the action, and the desktop's activation token
        for raising a window, if there is one.
        """
        self._waiting = waiting
        self._icon = icon
        self._labels = labels
        self._clicked = clicked
        self._refused = refused
        self._capabilities: frozenset[str] | None = None
        self._shown: dict[int, Notice] = {}
        self._tokens: dict[int, str] = {}
        self.awaited: int | None = None
        """The serial number of the pending call."""
        self._answered: _Answered = self._take_capabilities
        self._stream = BusStream(Bus.SESSION)
        for rule in (MatchRule(type="signal", sender=NAME, interface=NAME), owner_rule(NAME)):
            self._stream.send(message_bus.AddMatch(rule))

    def fileno(self) -> int:
        """Return the descriptor that is readable when `take` has messages to handle."""
        return self._stream.fileno()

    def close(self) -> None:
        """Disconnect from the bus; visible notifications stay."""
        self._stream.close()

    def show_waiting(self) -> None:
        """Handle incoming messages, then show the next waiting notice."""
        self.take()
        self._go_on()

    def take(self) -> None:
        """Handle the messages of the service, and of the bus about it."""
        for message in self._stream.receive():
            if message.header.message_type is MessageType.signal:
                self._take_signal(message)
            elif self.awaited == message.header.fields.get(HeaderFields.reply_serial, 0):
                self._take_answer(message)

    def _go_on(self) -> None:
        if self.awaited is not None or not self._waiting:
            return
        if self._capabilities is None:
            self._call(self._take_capabilities, "GetCapabilities", None, ())
        else:
            body = self._notify_body(self._waiting[0], self._capabilities)
            self._call(self._take_number, "Notify", NOTIFY_SIGNATURE, body)

    def _notify_body(self, notice: Notice, capabilities: frozenset[str]) -> tuple[Any, ...]:
        return notify_body(
            notice.title,
            notice.text,
            capabilities=capabilities,
            actions=self._actions(notice),
            icon=self._icon,
            replaces=self._earlier(notice),
            is_urgent=notice.kind in _URGENT,
        )

    def _earlier(self, notice: Notice) -> int:
        """Return the id of the notification that this notice replaces; 0 for none."""
        return next((number for number, shown in self._shown.items() if _replaces(notice, shown)), 0)

    def _actions(self, notice: Notice) -> list[str]:
        """Return the actions of a notice with their labels, including the click on the notification itself."""
        names = [OPEN, *notice.actions]
        return [word for name in names for word in (name, self._labels[name])]

    def _call(self, answered: _Answered, method: str, signature: str | None, body: tuple[Any, ...]) -> None:
        self._answered = answered
        self.awaited = self._stream.send(method_call(SERVICE, method, signature, body, starts_service=True))

    def _take_answer(self, message: Message) -> None:
        self.awaited = None
        try:
            self._answered(body_of(message))
        except CallError as error:
            _LOG.info("the desktop shows no notices: %s", error)
            self._refused(self._waiting.popleft())
        self._go_on()

    def _take_capabilities(self, body: tuple[Any, ...]) -> None:
        match body:
            case (list(names),):
                self._capabilities = frozenset(map(str, names))
            case _:
                raise CallError("it does not report its capabilities")

    def _take_number(self, body: tuple[Any, ...]) -> None:
        match body:
            case (int(number),):
                self._shown[number] = self._waiting.popleft()
                self._close_merged(number)
            case _:
                raise CallError("it returns no number for the notification")

    def _close_merged(self, number: int) -> None:
        """Close the notifications that a new one covers; it could replace only one of them itself."""
        notice = self._shown[number]
        merged = [
            other for other, shown in self._shown.items() if other != number and _replaces(notice, shown)
        ]
        for other in merged:
            del self._shown[other]
            self._tokens.pop(other, None)
            self._stream.send(method_call(SERVICE, "CloseNotification", "u", (other,), starts_service=False))

    def _take_signal(self, message: Message) -> None:
        match message.header.fields.get(HeaderFields.member), *message.body:
            case "ActivationToken", int(number), str(token) if number in self._shown:
                self._tokens[number] = token
            case "ActionInvoked", int(number), str(name) if number in self._shown:
                notice = self._shown[number]
                if name in (OPEN, *notice.actions):
                    self._clicked(notice, name, self._tokens.pop(number, ""))
            case "NotificationClosed", int(number), _:
                # From now on the id may belong to another program's notification.
                self._shown.pop(number, None)
                self._tokens.pop(number, None)
            case "NameOwnerChanged", *_:
                self._shown.clear()
                self._tokens.clear()
                self._capabilities = None


def _replaces(notice: Notice, shown: Notice) -> bool:
    """Return whether a notice replaces a visible one: about the same job, or merged into it."""
    if notice.job_id is not None:
        return shown.job_id == notice.job_id
    return bool(shown.run_ids) and shown.kind is notice.kind and set(shown.run_ids) < set(notice.run_ids)
