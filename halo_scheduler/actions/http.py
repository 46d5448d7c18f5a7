"""An active HTTP request as the engine's thread sees it; its own thread waits for the response."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from halo_scheduler.actions.run_services import Ended, RunServices, Secrets, StopReason
from halo_scheduler.actions.spool import Output, Spool
from halo_scheduler.errors import SchedulerError
from halo_scheduler.grammar.redaction import Redactor
from halo_scheduler.grammar.templates import given_values
from halo_scheduler.model import HttpRequest, Outcome, Run
from halo_scheduler.model.messages import Message, MessageKind, message
from halo_scheduler.wording.messages import error_message

if TYPE_CHECKING:
    from halo_scheduler.actions.http_task import HttpTask

_LOG = logging.getLogger(__name__)
_POLL_MS = 1_000
_LONGEST_LEAVE_S = 1.0
# A smaller output would not become shorter: the marker for its middle needs space too.
_ALWAYS_KEPT = 256


class HttpWork:
    """One run; everything happens on the engine's thread except `_fetch` and its callees."""

    def __init__(
        self,
        services: RunServices,
        run: Run,
        request: HttpRequest,
        spool: Spool,
        *,
        reads_lines: bool,
        makes_file: bool = True,
        given: bytes = b"",
    ) -> None:
        self._services = services
        self._run = run
        self._request = request
        self._spool = spool
        self._reads_lines = reads_lines
        self._makes_file = makes_file
        self._given = given
        # Guards the start: either it is cancelled before it, or there is a task to cancel.
        self._start_lock = threading.Lock()
        self._is_cancelled = False
        self._task: HttpTask | None = None
        self._is_back = threading.Event()
        self._in_memory: Output | None = None
        self._why: StopReason | None = None
        self._is_over = False
        self.next_poll_at: int | None = None

    def start(self, secrets: Secrets) -> None:
        """Send the request from another thread."""
        self.next_poll_at = self._services.engine.now_ms() + _POLL_MS
        self._services.engine.submit(lambda: self._fetch(secrets))

    def poll(self, now_ms: int) -> None:
        """Keep the written output within its limit."""
        self.next_poll_at = now_ms + _POLL_MS
        self._spool.cap(self._services.spool_limit())

    def shift(self, by_ms: int) -> None:
        """Shift its poll time after the clock was set."""
        if self.next_poll_at is not None:
            self.next_poll_at += by_ms

    def stop(self, now_ms: int, why: StopReason) -> None:  # noqa: ARG002 - a request is ended at once
        """Close the connection; the run ends when that is done, or now if there is none."""
        if self._why is not None or self._is_over:
            return
        self._why = why
        if not self._cancel():
            self._report(self._failed(why.message))

    def leave(self) -> None:
        """Abort without a report; the response so far is written for the next engine."""
        self._is_over = True
        if self._cancel():
            self._is_back.wait(_LONGEST_LEAVE_S)
        self._save()

    def _save(self) -> None:
        """Write a response that is only in memory to its spool file."""
        if self._in_memory is not None:
            with suppress(OSError):
                self._spool.write(self._spool.output_path, self._in_memory.text())
                self._in_memory = None

    def _cancel(self) -> bool:
        """Cancel the task; return whether there is one: while secrets are read there is none."""
        with self._start_lock:
            self._is_cancelled = True
            task = self._task
        if task is not None:
            task.cancel()
        return task is not None

    # --- On its own thread ---------------------------------------------------------------------------

    def _fetch(self, secrets: Secrets) -> None:
        ended = self._run_task(secrets)
        self._in_memory = None if ended is None or ended.has_files else ended.output
        self._is_back.set()
        if ended is not None:
            self._services.engine.post(lambda: self._report(ended))

    def _run_task(self, secrets: Secrets) -> Ended | None:
        """Run the request and return its end; None if it was cancelled before anything was sent."""
        try:
            values, environment = secrets(), self._services.login_environment()
        except Exception as error:  # noqa: BLE001 - whatever a keyring raises is this run's failure
            is_ours = isinstance(error, SchedulerError)
            return self._failed(
                error_message(error) if is_ours else message(MessageKind.NO_SECRETS, error=repr(error))
            )
        try:
            task = self._begin()
            return None if task is None else task.run(values, environment)
        except Exception as error:  # noqa: BLE001 - whatever a server brings about is this run's failure
            # The error's text may contain a secret.
            _LOG.error("A request failed for an unknown reason: %s", type(error).__name__)
            return self._failed(message(MessageKind.REQUEST_FAILED, error=type(error).__name__))

    def _begin(self) -> HttpTask | None:
        from halo_scheduler.actions.http_task import HttpTask  # noqa: PLC0415 - few have such jobs

        with self._start_lock:
            if not self._is_cancelled:
                self._task = HttpTask(
                    self._run.id,
                    self._request,
                    self._spool,
                    reads_lines=self._reads_lines,
                    makes_file=self._makes_file,
                    pool=self._services.pool,
                    values=given_values(self._run.parameters, self._given.decode(errors="replace")),
                )
            return self._task

    def _failed(self, why: Message) -> Ended:
        return Ended(run_id=self._run.id, outcome=Outcome.FAILURE, message=why)

    # --- Ending --------------------------------------------------------------------------------------

    def _is_too_long(self, output: Output) -> bool:
        limit = self._services.output_limit
        return output.total_bytes > _ALWAYS_KEPT and output.total_bytes > limit(self._run.job_id)

    def _report(self, ended: Ended) -> None:
        """Report the end; the stop reason takes precedence over the connection error it caused."""
        if self._is_over:
            return
        self._is_over = True
        self.next_poll_at = None
        why = self._why
        if why is not None:
            ended = ended._replace(
                outcome=why.outcome, message=why.message, reason=why.reason, http_status=None
            )
        if ended.output is None or self._is_too_long(ended.output):
            self._save()
            output = self._services.kept_output(self._spool, self._run, Redactor())
            ended = ended._replace(output=output, has_files=True)
        self._services.engine.end(ended)
