"""An HTTP request under way, seen from the engine's thread; a thread of its own does the waiting."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from halo_scheduler.actions.run_services import Ended, RunServices, Secrets, StopReason, kept_output
from halo_scheduler.actions.spool import Spool
from halo_scheduler.errors import SchedulerError
from halo_scheduler.grammar.redaction import Redactor
from halo_scheduler.model import HttpRequest, Outcome, Run

if TYPE_CHECKING:
    from halo_scheduler.actions.http_task import HttpTask

_LOG = logging.getLogger(__name__)
_LOOK_MS = 1_000
_LONGEST_LEAVE_S = 1.0


class HttpWork:
    """One run; everything here happens on the engine's thread but for `_fetch` and what it calls."""

    def __init__(
        self, services: RunServices, run: Run, request: HttpRequest, spool: Spool, *, reads_lines: bool
    ) -> None:
        self._services = services
        self._run = run
        self._request = request
        self._spool = spool
        self._reads_lines = reads_lines
        # Guards the start: either it is cancelled in time, or there is a task to cancel.
        self._start_lock = threading.Lock()
        self._is_cancelled = False
        self._task: HttpTask | None = None
        self._is_back = threading.Event()
        self._why: StopReason | None = None
        self._is_over = False
        self.next_look_at: int | None = None

    def start(self, secrets: Secrets) -> None:
        """Send the request from another thread."""
        self.next_look_at = self._services.engine.now_ms() + _LOOK_MS
        self._services.engine.submit(lambda: self._fetch(secrets))

    def look(self, now_ms: int) -> None:
        """Keep what is written within its limit."""
        self.next_look_at = now_ms + _LOOK_MS
        self._spool.cap(self._services.spool_limit())

    def shift(self, by_ms: int) -> None:
        """Move the instant it waits for: the clock was set back."""
        if self.next_look_at is not None:
            self.next_look_at += by_ms

    def stop(self, now_ms: int, why: StopReason) -> None:  # noqa: ARG002 - a request is ended at once
        """Close the connection; the run ends when that is done, or now if there is none."""
        if self._why is not None or self._is_over:
            return
        self._why = why
        if not self._cancel():
            self._report(self._failed(why.error))

    def leave(self) -> None:
        """Break off and say nothing; what came is written for the next engine to find."""
        self._is_over = True
        if self._cancel():
            self._is_back.wait(_LONGEST_LEAVE_S)

    def _cancel(self) -> bool:
        """End the task; tell whether there is one. Secrets may be long in coming: nobody waits for that."""
        with self._start_lock:
            self._is_cancelled = True
            task = self._task
        if task is not None:
            task.cancel()
        return task is not None

    # --- On its own thread ---------------------------------------------------------------------------

    def _fetch(self, secrets: Secrets) -> None:
        ended = self._run_task(secrets)
        self._is_back.set()
        if ended is not None:
            self._services.engine.post(lambda: self._report(ended))

    def _run_task(self, secrets: Secrets) -> Ended | None:
        """Do it all, and return how it ended; None when it was called off before anything was sent."""
        try:
            values, environment = secrets(), self._services.login_environment()
        except Exception as error:  # noqa: BLE001 - whatever a keyring raises is this run's failure
            return self._failed(str(error) if isinstance(error, SchedulerError) else f"no secrets: {error!r}")
        try:
            task = self._begin()
            return None if task is None else task.run(values, environment)
        except Exception as error:  # noqa: BLE001 - whatever a server brings about is this run's failure
            # Its words may hold a secret.
            _LOG.error("A request failed for an unknown reason: %s", type(error).__name__)
            return self._failed(f"the request failed: {type(error).__name__}")

    def _begin(self) -> HttpTask | None:
        from halo_scheduler.actions.http_task import HttpTask  # noqa: PLC0415 - few have such jobs

        with self._start_lock:
            if not self._is_cancelled:
                self._task = HttpTask(
                    self._run.id,
                    self._request,
                    self._spool,
                    reads_lines=self._reads_lines,
                    pool=self._services.pool,
                )
            return self._task

    def _failed(self, sentence: str) -> Ended:
        return Ended(run_id=self._run.id, outcome=Outcome.FAILURE, error=sentence)

    # --- Ending --------------------------------------------------------------------------------------

    def _report(self, ended: Ended) -> None:
        """Tell how it ended; why it was stopped says more than how it broke off."""
        if self._is_over:
            return
        self._is_over = True
        self.next_look_at = None
        why = self._why
        if why is not None:
            ended = replace(ended, outcome=why.outcome, error=why.error, http_status=None)
        if ended.output is None or ended.output.total_bytes > self._services.output_limit():
            ended = replace(ended, output=kept_output(self._spool, self._services.output_limit, Redactor()))
        self._services.engine.end(ended)
