"""A command under way: from its start to the end of its last process."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress

import psutil

from halo_scheduler.actions.launch import own_variables, prepare, spawn
from halo_scheduler.actions.spool import NOT_YET, Spool, Ticket
from halo_scheduler.actions.work import Desk, Ended, Secrets, StopReason, kept_output
from halo_scheduler.errors import SchedulerError
from halo_scheduler.host.process import process_start
from halo_scheduler.host.process_tree import ask_to_stop, find_members, kill
from halo_scheduler.model import Command, Job, Outcome, Run, SkipReason
from halo_scheduler.redaction import Redactor

_FIRST_LOOK_MS = 250
_QUIET_LOOK_MS = 1_000
_BUSY_LOOK_MS = 500
_BUSY_BYTES = 4 << 20
_STOP_LOOK_MS = 50
_STOP_LOOK_SLOW_MS = 1_000
_DRAIN_LOOK_MS = 500
_LONGEST_SPAWN_S = 1.0
_SIGNAL_BASE = 128
UNSEEN_END = "ended while Halo was not running, exit code unknown"


class CommandWork:
    """One run of a command; everything here happens on the engine's thread but for `_prepare`."""

    def __init__(self, desk: Desk, run: Run, command: Command, spool: Spool) -> None:
        self._desk = desk
        self._run = run
        self._command = command
        self._spool = spool
        self._redactor: Redactor | None = Redactor()
        self._process: subprocess.Popen[bytes] | None = None
        self._session: int | None = None
        self._is_main_gone = False
        self._has_ticket = False
        self._is_over = False
        self._why: StopReason | None = None
        self._kill_at = 0
        self._stop_looks = 0
        self._size = 0
        # Guards the moment of the start: either it is called off in time, or its process is waited for.
        self._start_lock = threading.Lock()
        self._is_starting = False
        self._is_called_off = False
        self._has_begun = threading.Event()
        self._seen: list[psutil.Process] = []
        self.next_look_at: int | None = None

    # --- Beginning -----------------------------------------------------------------------------------

    def start(self, job: Job, secrets: Secrets) -> None:
        """Start the command; what may block happens on another thread."""
        self._desk.home.submit(lambda: self._prepare(job, secrets))

    def adopt(self, session: int, *, is_alive: bool) -> None:
        """Go on with a command that an earlier engine started, be it only with what is left of it."""
        self._session = session
        self._redactor = None if self._command.secret_names else Redactor()
        self._size = self._spool.size()
        self.next_look_at = self._desk.home.now_ms()
        if is_alive:
            self._watch(session, lambda: _wait_for(session))
        else:
            self._is_main_gone = True

    def _prepare(self, job: Job, secrets: Secrets) -> None:
        values: Mapping[str, str] = {}
        try:
            values = secrets()
            launch = prepare(
                self._command, own_variables(job, self._run), self._desk.login_environment(), values
            )
            with self._start_lock:
                if self._is_called_off:
                    return
                self._is_starting = True
            if values:
                # Whoever reads the output must know what to take out of it, also if the job is edited meanwhile.
                self._spool.write_ticket(Ticket(NOT_YET, "", self._command))
            process = self._process = spawn(launch, self._spool)
        except Exception as error:  # noqa: BLE001 - whatever keeps it from starting is this run's failure
            sentence = (
                str(error) if isinstance(error, SchedulerError) else f"it could not be started: {error}"
            )
            redacted = Redactor(values.values()).text(sentence)
            self._desk.home.post(lambda: self._report(Outcome.FAILURE, redacted))
        else:
            self._desk.home.post(lambda: self._take_up(process, Redactor(values.values())))
        finally:
            self._has_begun.set()

    def _take_up(self, process: subprocess.Popen[bytes], redactor: Redactor) -> None:
        self._session = process.pid
        self._redactor = redactor
        self.next_look_at = self._desk.home.now_ms() + _FIRST_LOOK_MS
        self._watch(process.pid, process.wait)
        if self._why is not None:
            self._begin_stop(self._desk.home.now_ms())

    def _watch(self, pid: int, wait: Callable[[], object]) -> None:
        self._desk.watch.add(pid, wait, self._see_main_gone)

    def leave(self) -> None:
        """Let it live on without us; a thread buries it should it end first.

        Nothing starts behind our back: the next engine would not know of it, and start it again.
        """
        self._is_over = True
        with self._start_lock:
            self._is_called_off = not self._is_starting
        if self._is_starting:
            self._has_begun.wait(_LONGEST_SPAWN_S)
        process = self._process
        if process is not None:
            self._desk.home.submit(lambda: _bury(process))

    # --- Looking after it ----------------------------------------------------------------------------

    def look(self, now_ms: int) -> tuple[float, str] | None:
        """Go on with a stop that is under way, or see how the output grows."""
        if self._is_over or self._session is None:
            return None
        if self._why is not None:
            self._go_on_stopping(now_ms)
            return None
        if self._is_main_gone:
            self._drain(now_ms)
            return None
        # Said first, so that a full disk is not asked about without a pause.
        self.next_look_at = now_ms + _QUIET_LOOK_MS
        self._spool.cap(self._desk.spool_limit())
        self._leave_ticket(self._session)
        size = self._spool.size()
        grown, self._size = size - self._size, size
        if grown > _BUSY_BYTES:
            self.next_look_at = now_ms + _BUSY_LOOK_MS
        return self._spool.new_progress(self._redactor) if grown and self._redactor else None

    def shift(self, by_ms: int) -> None:
        """Move all instants it waits for: the clock was set back."""
        self._kill_at += by_ms
        if self.next_look_at is not None:
            self.next_look_at += by_ms

    def _leave_ticket(self, pid: int) -> None:
        """Leave word of the process for an engine after us; until then its mark in the environment tells."""
        known = None if self._has_ticket else self._spool.read_ticket()
        if not self._has_ticket and (known is None or known.pid == NOT_YET):
            self._spool.write_ticket(Ticket(pid, process_start(pid) or "", self._command))
        self._has_ticket = True

    def stop(self, now_ms: int, why: StopReason) -> None:
        """Ask the whole tree to end, later make it; the run ends when it is gone."""
        if self._why is not None or self._is_over:
            return
        self._why = why
        with self._start_lock:
            if not self._is_starting and self._session is None:
                self._is_called_off = True
        if self._is_called_off:
            self._report(why.outcome, why.error)
        elif self._session is not None:
            self._begin_stop(now_ms)

    def _begin_stop(self, now_ms: int) -> None:
        self._kill_at = now_ms + self._command.grace_ms
        self.next_look_at = now_ms + _STOP_LOOK_MS
        ask_to_stop(self._members(), self._session)

    def _go_on_stopping(self, now_ms: int) -> None:
        if now_ms < self._kill_at and not self._is_main_gone:
            # Most programs need a moment; that the first one is gone is told without looking.
            self.next_look_at = min(self._kill_at, now_ms + _STOP_LOOK_SLOW_MS)
            return
        self._stop_looks += 1
        self.next_look_at = now_ms + min(_STOP_LOOK_MS * self._stop_looks, _STOP_LOOK_SLOW_MS)
        left = self._members()
        denied = kill(left) if now_ms >= self._kill_at else 0
        if self._is_main_gone and (not left or denied == len(left)):
            self._report_stopped(denied)

    def _drain(self, now_ms: int) -> None:
        """Wait for what goes on without the shim: somebody ended only that."""
        self.next_look_at = now_ms + _DRAIN_LOOK_MS
        if self._members():
            self._spool.cap(self._desk.spool_limit())
        else:
            self._report_exit()

    def _members(self) -> list[psutil.Process]:
        """Return what lives of the run; gone is what two looks in a row do not find.

        One look may come between a process that ends and the child it has just started, or in the middle of an
        exec, when the mark cannot be read.
        """
        known = self._seen
        self._seen = find_members(self._run.id, self._session, known) or find_members(
            self._run.id, self._session, known
        )
        return self._seen

    # --- Ending --------------------------------------------------------------------------------------

    def _see_main_gone(self) -> None:
        if self._is_over:
            return
        if self._process is not None:
            self._process.wait()
        self._is_main_gone = True
        now_ms = self._desk.home.now_ms()
        if self._why is not None:
            self._go_on_stopping(now_ms)
        elif self._process_code() is None and self._spool.read_code() is None:
            self._drain(now_ms)
        else:
            self._report_exit()

    def _process_code(self) -> int | None:
        """Return the exit code of our own child, unless only its shim was ended by a signal."""
        code = None if self._process is None else self._process.returncode
        return None if code is None or code < 0 else code

    def _known_code(self) -> int | None:
        """Return the exit code, be it that of our child or the one its shim wrote."""
        code = self._process_code()
        written = self._spool.read_code() if code is None else None
        return code if written is None else written[0]

    def _report_exit(self) -> None:
        code = self._known_code()
        if code is None and self._process is not None:
            code = _SIGNAL_BASE - self._process.returncode
        outcome, reason, error = outcome_of(self._command, code)
        self._report(outcome, error, reason=reason, exit_code=code)

    def _report_stopped(self, denied: int) -> None:
        why = self._why
        note = f"not all could be stopped: {denied} belong to another user and still run" if denied else ""
        if why is not None:
            self._report(why.outcome, why.error, exit_code=self._known_code(), note=note)

    def _report(
        self,
        outcome: Outcome,
        error: str,
        *,
        reason: SkipReason | None = None,
        exit_code: int | None = None,
        note: str = "",
    ) -> None:
        if self._is_over:
            return
        redactor, limit = self._redactor, self._desk.output_limit
        output = None if redactor is None else kept_output(self._spool, limit, redactor)
        self._is_over = True
        self.next_look_at = None
        self._desk.home.end(
            Ended(
                run_id=self._run.id,
                outcome=outcome,
                error=error,
                reason=reason,
                note=note,
                exit_code=exit_code,
                progress=self._last_progress(),
                output=output,
                needs_secrets=frozenset() if output else self._command.secret_names,
            )
        )

    def _last_progress(self) -> tuple[float, str] | None:
        """Return the progress told of since the last look, if it can be read."""
        with suppress(OSError):
            return None if self._redactor is None else self._spool.new_progress(self._redactor)
        return None


def _bury(process: subprocess.Popen[bytes]) -> None:
    process.wait()


def _wait_for(pid: int) -> None:
    """Wait until a process that is not our child is gone."""
    with suppress(psutil.Error):
        psutil.Process(pid).wait()


def outcome_of(command: Command, code: int | None) -> tuple[Outcome, SkipReason | None, str]:
    """Return what an exit code means for a command; None is one that nobody knows."""
    if code is None:
        return Outcome.INTERRUPTED, None, UNSEEN_END
    if code in command.success_codes:
        return Outcome.SUCCESS, None, ""
    if code == command.no_work_code:
        return Outcome.SKIPPED, SkipReason.NO_WORK, ""
    return Outcome.FAILURE, None, f"it ended with exit code {code}{_signal_name(code)}"


def _signal_name(code: int) -> str:
    if code <= _SIGNAL_BASE:
        return ""
    try:
        return f" ({signal.Signals(code - _SIGNAL_BASE).name})"
    except ValueError:
        return ""
