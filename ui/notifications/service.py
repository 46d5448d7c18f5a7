"""The desktop's notification service: told what to show, it tells what was clicked."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from html import escape
from typing import Any

from jeepney import DBusAddress, HeaderFields, MatchRule, Message, MessageType, new_method_call

from halo_scheduler.grammar.text import plain_line
from halo_scheduler.rules.notices import Notice, NoticeKind

from .session_bus import BusError, CallError, SessionBus
from .waker import Waker

_LOG = logging.getLogger(__name__)
_NAME = "org.freedesktop.Notifications"
_ADDRESS = DBusAddress("/org/freedesktop/Notifications", bus_name=_NAME, interface=_NAME)
_DEFAULT_ACTION = "default"
_NORMAL, _CRITICAL = 1, 2
_AS_LONG_AS_THE_DESKTOP_LIKES = -1
_LONGEST_TITLE = 200
_LONGEST_TEXT = 500


class NotificationService:
    """Shows notices through one connection to the bus, and remembers which of them can still be clicked."""

    def __init__(
        self, bus: SessionBus, *, icon: str, open_label: str, clicked: Callable[[Notice, str], None]
    ) -> None:
        """`clicked` is given the notice and the desktop's leave to come to the front, where it gives one."""
        self._bus = bus
        self._icon = icon
        self._open_label = open_label
        self._clicked = clicked
        self._capabilities: frozenset[str] | None = None
        self._shown: dict[int, Notice] = {}
        self._tokens: dict[int, str] = {}
        bus.follow(MatchRule(type="signal", sender=_NAME, interface=_NAME))
        owner = MatchRule(
            type="signal",
            sender="org.freedesktop.DBus",
            interface="org.freedesktop.DBus",
            member="NameOwnerChanged",
        )
        owner.add_arg_condition(0, _NAME)
        bus.follow(owner)

    def show(self, notice: Notice) -> None:
        """Show a notice in place of the last one on the same job, if that is still to be seen."""
        capabilities = self._ask_capabilities()
        text = _plain(notice.text, _LONGEST_TEXT)
        actions = [_DEFAULT_ACTION, self._open_label] if "actions" in capabilities else []
        urgency = _CRITICAL if notice.kind in (NoticeKind.DISABLED, NoticeKind.STUCK) else _NORMAL
        body = (
            "Halo Scheduler",
            self._earlier(notice),
            self._icon,
            _plain(notice.title, _LONGEST_TITLE),
            # A service that knows markup would take "<b>" in a text for its own.
            escape(text, quote=False) if "body-markup" in capabilities else text,
            actions,
            {"urgency": ("y", urgency), "desktop-entry": ("s", "halo-scheduler")},
            _AS_LONG_AS_THE_DESKTOP_LIKES,
        )
        (number,) = self._call("Notify", "susssasa{sv}i", body)
        self._shown[number] = notice

    def take(self, message: Message) -> None:
        """Follow what the service, or the bus about it, signals."""
        if message.header.message_type is not MessageType.signal:
            return
        match message.header.fields.get(HeaderFields.member), *message.body:
            case "ActivationToken", int(number), str(token) if number in self._shown:
                self._tokens[number] = token
            case "ActionInvoked", int(number), "default" if number in self._shown:
                self._clicked(self._shown[number], self._tokens.pop(number, ""))
            case "NotificationClosed", int(number), _:
                # From here on the number may be another program's.
                self._shown.pop(number, None)
                self._tokens.pop(number, None)
            case "NameOwnerChanged", *_:
                self._shown.clear()
                self._tokens.clear()
                self._capabilities = None

    def _ask_capabilities(self) -> frozenset[str]:
        if self._capabilities is None:
            (names,) = self._call("GetCapabilities", None, ())
            self._capabilities = frozenset(names)
        return self._capabilities

    def _earlier(self, notice: Notice) -> int:
        """Return the number of the notice that this one replaces; 0 for none."""
        if notice.job_id is None:
            return 0
        return next((number for number, shown in self._shown.items() if shown.job_id == notice.job_id), 0)

    def _call(self, method: str, signature: str | None, body: tuple[Any, ...]) -> tuple[Any, ...]:
        return self._bus.call(new_method_call(_ADDRESS, method, signature, body), self.take)


def _plain(text: str, longest: int) -> str:
    """Return one line that a message can carry: half a sign, as undecodable output leaves it, cannot travel."""
    return plain_line(text, longest).encode(errors="replace").decode()


def serve(
    waiting: deque[Notice],
    waker: Waker,
    *,
    icon: str,
    open_label: str,
    clicked: Callable[[Notice, str], None],
    refused: Callable[[Notice], None],
    answer_limit_s: float,
) -> None:
    """Show what waits and whatever the waker announces, until the bus has gone; what it left then still waits."""
    try:
        bus = SessionBus(waker, answer_limit_s)
        try:
            service = NotificationService(bus, icon=icon, open_label=open_label, clicked=clicked)
            while True:
                _show_waiting(service, waiting, refused)
                message = bus.wait()
                if message is not None:
                    service.take(message)
        finally:
            bus.close()
    except BusError as error:
        _LOG.info("the session bus shows no notices: %s", error)


def _show_waiting(
    service: NotificationService, waiting: deque[Notice], refused: Callable[[Notice], None]
) -> None:
    while waiting:
        try:
            # It leaves the queue when it is shown: should the bus go meanwhile, it is still there.
            service.show(waiting[0])
        except CallError as error:
            _LOG.info("the desktop shows no notices: %s", error)
            refused(waiting[0])
        waiting.popleft()
