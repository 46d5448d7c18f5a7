"""A reminder: a notification, shown on its own thread because the desktop may take seconds to answer."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

from halo_scheduler.actions.run_services import Ended, RunServices, StopReason
from halo_scheduler.grammar.interval import MINUTE_MS
from halo_scheduler.model import Outcome, Reminder, Run, SkipReason
from halo_scheduler.model.messages import Message, MessageKind, message

_SNOOZE = "snooze"
_SNOOZE_LABEL = "Snooze 10 min"
_SNOOZE_MS = 10 * MINUTE_MS
# How long to wait for a click.
_LONGEST_WAIT_S = 3_600.0


class ReminderWork:
    """One reminder; it succeeds once the desktop's notification service has accepted it."""

    next_poll_at: int | None = None

    def __init__(self, services: RunServices, run: Run, action: Reminder) -> None:
        self._engine = services.engine
        self._run_id, self._job_id = run.id, run.job_id
        self._action = action
        self._is_over = self._is_left = False

    def start(self) -> None:
        """Show the notification, on a thread that may also wait for a click."""
        threading.Thread(target=self._show, name="halo-reminder", daemon=True).start()

    def _show(self) -> None:
        try:
            is_snoozed = _show_on_desktop(self._action, self._accept)
        except OSError as error:
            why = message(MessageKind.NOT_REMINDED, error=str(error))
            self._engine.post(lambda: self._end(Outcome.FAILURE, why))
            return
        if is_snoozed and not self._is_left:
            self._engine.post(lambda: self._engine.snooze(self._job_id, _SNOOZE_MS))

    def _accept(self) -> None:
        self._engine.post(lambda: self._end(Outcome.SUCCESS, None))

    def _end(self, outcome: Outcome, why: Message | None, reason: SkipReason | None = None) -> None:
        if not self._is_over:
            self._is_over = True
            self._engine.end(Ended(run_id=self._run_id, outcome=outcome, message=why, reason=reason))

    def poll(self, now_ms: int) -> None:
        """Do nothing: there is nothing to poll."""

    def stop(self, now_ms: int, why: StopReason) -> None:  # noqa: ARG002 - as every run is stopped
        """End the run; a notification that was already sent stays."""
        self._end(why.outcome, why.message, why.reason)

    def shift(self, by_ms: int) -> None:
        """Do nothing: it waits for no instant."""

    def leave(self) -> None:
        """Report nothing from now on."""
        self._is_over = self._is_left = True


def _show_on_desktop(reminder: Reminder, accepted: Callable[[], None]) -> bool:
    """Show a notification; OSError when no notification service accepts it. It may take seconds.

    Once it is `accepted`, wait until it is closed, for an hour at most, and return whether it is to be snoozed.
    """
    if sys.platform != "linux":
        raise OSError("only Linux desktops can be reached")
    from halo_scheduler.host import desktop  # noqa: PLC0415 - it loads the client of the bus
    from halo_scheduler.host.bus import Bus, BusConnection, BusError, method_call, signals_of  # noqa: PLC0415

    with BusConnection(Bus.SESSION) as connection:
        connection.call(signals_of(desktop.NAME))
        told = connection.call(method_call(desktop.SERVICE, "GetCapabilities", starts_service=True))
        body = desktop.notify_body(
            reminder.title,
            reminder.text,
            capabilities=frozenset(map(str, told[0])) if told and isinstance(told[0], list) else frozenset(),
            actions=[_SNOOZE, _SNOOZE_LABEL],
        )
        notify = method_call(desktop.SERVICE, "Notify", desktop.NOTIFY_SIGNATURE, body, starts_service=True)
        number = next(iter(connection.call(notify)), None)
        accepted()
        try:
            while number is not None and (signal := connection.next_signal(_LONGEST_WAIT_S)) is not None:
                match signal:
                    case "ActionInvoked", (clicked, "snooze") if clicked == number:
                        return True
                    case "NotificationClosed", (closed, *_) if closed == number:
                        return False
        except BusError:
            pass  # The desktop has gone; the notification was shown.
    return False
