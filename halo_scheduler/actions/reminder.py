"""A reminder: a notification, shown on its own thread because the desktop may take seconds to answer."""

from __future__ import annotations

import threading

from halo_scheduler.actions.run_services import Ended, RunServices, StopReason
from halo_scheduler.grammar.interval import MINUTE_MS
from halo_scheduler.host.desktop_notices import show_on_desktop
from halo_scheduler.model import Outcome, Reminder, Run
from halo_scheduler.model.messages import Message, MessageKind, message

_SNOOZE = "Snooze 10 min"
_SNOOZE_MS = 10 * MINUTE_MS


class ReminderWork:
    """One reminder; it succeeds once the desktop's notification service has accepted it."""

    next_look_at: int | None = None

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
            is_snoozed = show_on_desktop(self._action.title, self._action.text, _SNOOZE, self._accept)
        except OSError as error:
            why = message(MessageKind.NOT_REMINDED, error=str(error))
            self._engine.post(lambda: self._end(Outcome.FAILURE, why))
            return
        if is_snoozed and not self._is_left:
            self._engine.post(lambda: self._engine.snooze(self._job_id, _SNOOZE_MS))

    def _accept(self) -> None:
        self._engine.post(lambda: self._end(Outcome.SUCCESS, None))

    def _end(self, outcome: Outcome, why: Message | None) -> None:
        if not self._is_over:
            self._is_over = True
            self._engine.end(Ended(run_id=self._run_id, outcome=outcome, message=why))

    def look(self, now_ms: int) -> None:
        """Do nothing: there is nothing to poll."""

    def stop(self, now_ms: int, why: StopReason) -> None:  # noqa: ARG002 - as every run is stopped
        """End the run; a notification that was already sent stays."""
        self._end(why.outcome, why.message)

    def shift(self, by_ms: int) -> None:
        """Do nothing: it waits for no instant."""

    def leave(self) -> None:
        """Report nothing from now on."""
        self._is_over = self._is_left = True
