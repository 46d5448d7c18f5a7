"""An active process: from the start of a run to the end of its last process."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from time import sleep

from halo_scheduler.actions.ending import SIGNAL_BASE, RunTree, outcome_of, with_said, without_secrets
from halo_scheduler.actions.launch import NO_FORK, Launch, ShortageError, spawn, why_not_started
from halo_scheduler.actions.output_reader import Growth
from halo_scheduler.actions.run_input import RunInput
from halo_scheduler.actions.run_services import (
    FILLS_DISK,
    Ended,
    RunServices,
    Secrets,
    StopReason,
)
from halo_scheduler.actions.spool import NOT_YET, Spool, Ticket
from halo_scheduler.grammar.redaction import Redactor
from halo_scheduler.host.process import process_start, reap, wait_until_gone
from halo_scheduler.host.reaper import REAPER
from halo_scheduler.model import Outcome, ProcessAction, Run, SkipReason, WaitingFor
from halo_scheduler.model.messages import Message, Messages
from halo_scheduler.model.words import Shortage

_QUIET_POLL_MS = 1_000
_MOST_HEARD = 16 << 20
_STOP_POLL_MS = 50
_STOP_POLL_SLOW_MS = 1_000
_UNKILLABLE_MS = 10_000
_DRAIN_POLL_MS = 500
_LONGEST_SPAWN_S = 1.0
_IN_CHARGE_LOOK_S = 0.05
# A longer wait would block the limit for other jobs.
_SHORTAGE_PAUSES_S = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0)


class ProcessWork:
    """One run of a command or a prompt; everything happens on the engine's thread except `_prepare`."""

    def __init__(
        self, services: RunServices, run: Run, action: ProcessAction, spool: Spool, *, reads_lines: bool
    ) -> None:
        self._services = services
        self._run = run
        self._action = action
        self._spool = spool
        self._reads_lines = reads_lines
        self._redactor: Redactor | None = Redactor()
        self._process: subprocess.Popen[bytes] | None = None
        self._tree = RunTree(run.id)
        self._is_main_gone = False
        self._has_ticket = False
        self._end: Ended | None = None
        self._end_size = 0
        self._is_over = False
        self._why: StopReason | None = None
        self._kill_at = 0
        self._stop_polls = 0
        self._is_unkillable = False
        self._growth = Growth(spool)
        # Guards the start: either it is cancelled before it, or its process is waited for.
        self._start_lock = threading.Lock()
        self._is_starting = False
        self._is_called_off = False
        self._is_taking = False
        self._is_left = False
        self._held_up_by: WaitingFor | None = None
        self._began_at: int | None = None
        self.has_begun = threading.Event()
        """Set once it was started or never will be: no work item is claimed for it after that."""
        self.next_poll_at: int | None = None

    # --- Beginning -----------------------------------------------------------------------------------

    def start(self, assignment: RunInput, secrets: Secrets) -> None:
        """Start the process; blocking steps happen on another thread."""
        self._services.engine.submit(lambda: self._prepare(assignment, secrets))

    def adopt(self, session: int, *, is_alive: bool) -> None:
        """Adopt a process that an earlier engine started, even if only its children are left."""
        self._tree.session = session
        self._redactor = None if self._action.secret_names else Redactor()
        self._listen()
        self.next_poll_at = self._services.engine.now_ms()
        self._growth.begin(self.next_poll_at, known_bytes=self._spool.size())
        if is_alive:
            self._services.watch.add(session, lambda: wait_until_gone(session), self._see_main_gone)
        else:
            self._is_main_gone = True

    def _prepare(self, assignment: RunInput, secrets: Secrets) -> None:
        values: Mapping[str, str] = {}
        try:
            values = secrets()
            process = self._process = self._start_process(assignment, values)
        except Exception as error:  # noqa: BLE001 - whatever keeps it from starting is this run's failure
            if self._is_left:
                assignment.give_back()
            outcome, reason, why = why_not_started(error)
            redacted = why and why.changing_text(Redactor(values.values()).text)
            self._services.engine.post(lambda: self._report(outcome, redacted, reason=reason))
        else:
            self._services.engine.post(lambda: self._take_up(process, Redactor(values.values())))
        finally:
            self.has_begun.set()

    def _start_process(
        self, assignment: RunInput, secrets: Mapping[str, str]
    ) -> subprocess.Popen[bytes] | None:
        """Start the process, unless it is cancelled meanwhile.

        Problems are found before an item is claimed, so that a broken job does not use up item after item.
        """
        launch = assignment.find_program(self._services.login_environment(), secrets)
        if self._is_called_off:
            return None
        self._is_taking = assignment.source is not None
        item = assignment.take_item()
        if item is not None:
            taken = (self._run.id, item.id, item.title, item.url)
            self._services.engine.post(lambda: self._services.engine.note_item(*taken))
        launch = assignment.hand_over(launch, item, self._spool)
        process = self._spawn_patiently(launch, has_secrets=bool(secrets))
        if process is None and self._is_left:
            # The next engine may have searched for the item before it was claimed.
            assignment.give_back()
        return process

    def _spawn_patiently(self, launch: Launch, *, has_secrets: bool) -> subprocess.Popen[bytes] | None:
        """Start the process, and retry for a while if the computer lacks resources; None if cancelled."""
        # The ticket names the secrets to redact, even if the job is edited meanwhile.
        ticket = self._ticket(NOT_YET, "") if has_secrets else None
        for pause_s in _SHORTAGE_PAUSES_S:
            try:
                return self._spawn(launch, ticket)
            except ShortageError as shortage:
                self._tell_of(shortage)
            sleep(pause_s)
        return self._spawn(launch, ticket)

    def _tell_of(self, shortage: ShortageError) -> None:
        """Show what the start waits for."""
        self._held_up_by = shortage.shortage.waiting_for
        self._services.engine.post(lambda: self._note_start_wait(shortage.shortage))

    def _note_start_wait(self, shortage: Shortage | None) -> None:
        if not self._is_over:
            self._services.engine.note_start_wait(self._run, shortage)

    def _spawn(self, launch: Launch, ticket: Ticket | None) -> subprocess.Popen[bytes] | None:
        self._wait_until_in_charge()
        with self._start_lock:
            self._is_starting = not self._is_called_off
        if not self._is_starting:
            return None
        try:
            with REAPER.spawning():
                process = spawn(launch, self._spool, ticket)
                REAPER.leave_to_owner(process, self._run.id)
        except ShortageError:
            with self._start_lock:
                # After a stop of the run or of the engine, no process may be started or waited for.
                self._is_starting, self._is_called_off = False, self._is_left or self._why is not None
            raise
        return process

    def _wait_until_in_charge(self) -> None:
        """Wait until the engine has checked its lease: this process may have been suspended for long."""
        while not self._is_called_off and not self._services.engine.is_in_charge():
            sleep(_IN_CHARGE_LOOK_S)

    def _take_up(self, process: subprocess.Popen[bytes] | None, redactor: Redactor) -> None:
        if process is None:
            self._report_stopped()
            return
        self._tree.session = process.pid
        if self._held_up_by is not None:
            self._began_at = self._services.engine.now_ms()
            self._note_start_wait(None)
        self._redactor = redactor
        self._listen()
        self.next_poll_at = self._growth.begin(self._services.engine.now_ms())
        self._services.watch.add(process.pid, process.wait, self._see_main_gone)
        if self._why is not None:
            self._begin_stop(self._services.engine.now_ms())

    def leave(self) -> None:
        """Leave the process to the next engine; a thread reaps it if it ends before this program does.

        Nothing starts after this: the next engine would not know it and would start it again.
        """
        self._is_over = True
        with self._start_lock:
            self._is_left = True
            self._is_called_off = not self._is_starting
        if self._is_starting:
            self.has_begun.wait(_LONGEST_SPAWN_S)
        process = self._process
        if process is not None:
            self._services.engine.submit(lambda: reap(process))

    # --- Polling ------------------------------------------------------------------------------------

    def poll(self, now_ms: int) -> tuple[float, str] | None:
        """Continue a stop, or poll the output."""
        if self._is_over or self._tree.session is None:
            return None
        if self._end is not None:
            self._conclude()
            return None
        if self._why is not None:
            self._spool.cap(self._services.spool_limit())
            self._go_on_stopping(now_ms)
            return None
        if self._is_main_gone:
            self._drain(now_ms)
            return None
        # Set first, so that a full disk does not cause polls without a pause.
        self.next_poll_at = now_ms + _QUIET_POLL_MS
        is_behind = self._spool.hear(_MOST_HEARD)
        self._growth.poll(now_ms)
        self._spool.cap(self._services.spool_limit())
        if self._growth.fills_disk:
            self.stop(now_ms, FILLS_DISK)
            return None
        self.next_poll_at = now_ms if is_behind else self._growth.next_poll_at()
        self._leave_ticket(self._tree.session)
        return self._spool.new_progress(self._redactor) if self._growth.grown and self._redactor else None

    def shift(self, by_ms: int) -> None:
        """Shift all instants after the clock was set."""
        self._kill_at += by_ms
        if self.next_poll_at is not None:
            self.next_poll_at += by_ms

    def _leave_ticket(self, pid: int) -> None:
        """Write the ticket that identifies the process for a later engine; until then its mark does."""
        known = None if self._has_ticket else self._spool.read_ticket()
        if not self._has_ticket and (known is None or known.pid == NOT_YET):
            self._spool.write_ticket(self._ticket(pid, process_start(pid) or ""))
        self._has_ticket = True

    def _ticket(self, pid: int, started: str) -> Ticket:
        return Ticket(pid, started, self._action, self._reads_lines)

    def _listen(self) -> None:
        """Read the directives of its output, if enabled and its secrets are known."""
        if self._reads_lines and self._redactor is not None:
            self._spool.listen(self._redactor)

    def stop(self, now_ms: int, why: StopReason) -> None:
        """Ask the process tree to end and kill it after the grace period; the run ends when it is gone."""
        if self._why is not None or self._is_over or self._end is not None:
            return
        self._why = why
        with self._start_lock:
            if not self._is_starting and self._tree.session is None:
                self._is_called_off = True
        if self._is_called_off:
            # The item, if any, is untouched: the work queue took too long.
            is_source = self._is_taking and why.outcome is Outcome.TIMEOUT
            reason = SkipReason.SOURCE_UNAVAILABLE if is_source else why.reason
            self._report(why.outcome, why.message, reason=reason)
        elif self._tree.session is not None:
            self._begin_stop(now_ms)

    def _begin_stop(self, now_ms: int) -> None:
        self._kill_at = now_ms + self._action.grace_ms
        self.next_poll_at = now_ms + _STOP_POLL_MS
        self._tree.ask_to_stop()

    def _go_on_stopping(self, now_ms: int) -> None:
        if now_ms < self._kill_at and not self._is_main_gone:
            if not self._tree.is_asked:
                self._tree.ask_latecomers()
            # Most programs need a moment; the end of the main process is reported without a poll.
            pause_ms = _STOP_POLL_SLOW_MS if self._tree.is_asked else _STOP_POLL_MS
            self.next_poll_at = min(self._kill_at, now_ms + pause_ms)
            return
        self._stop_polls += 1
        self.next_poll_at = now_ms + min(_STOP_POLL_MS * self._stop_polls, _STOP_POLL_SLOW_MS)
        is_gone = self._tree.is_gone(by_force=now_ms >= self._kill_at)
        if self._is_main_gone and is_gone:
            self._report_stopped()
        elif now_ms >= self._kill_at + _UNKILLABLE_MS and not self._is_unkillable:
            if (note := self._tree.unkillable_note()) is not None:
                self._services.engine.note_on(self._run, note)
            self._is_unkillable = True

    def _drain(self, now_ms: int) -> None:
        """Wait for processes that outlived their shim, which was killed by something else."""
        self.next_poll_at = now_ms + _DRAIN_POLL_MS
        if self._tree.members():
            self._spool.hear(_MOST_HEARD)
            self._spool.cap(self._services.spool_limit())
        else:
            self._report_exit()

    # --- Ending --------------------------------------------------------------------------------------

    def _see_main_gone(self) -> None:
        if self._is_over or self._end is not None:
            return
        if self._process is not None:
            self._process.wait()
        self._is_main_gone = True
        now_ms = self._services.engine.now_ms()
        if self._why is not None:
            self._go_on_stopping(now_ms)
        elif self._process_code() is None and self._spool.read_code() is None:
            self._drain(now_ms)
        else:
            self._report_exit()

    def _process_code(self) -> int | None:
        """Return the exit code of our child, unless only its shim was killed by a signal."""
        code = None if self._process is None else self._process.returncode
        return None if code is None or code < 0 else code

    def _known_code(self) -> int | None:
        """Return the exit code of our child, or the one its shim wrote."""
        code = self._process_code()
        written = self._spool.read_code() if code is None else None
        return code if written is None else written[0]

    def _report_exit(self) -> None:
        code = self._known_code()
        if code and self._process is not None and not self._spool.was_started():
            self._report(Outcome.INTERRUPTED, NO_FORK)
            return
        if code is None and self._process is not None:
            code = SIGNAL_BASE - self._process.returncode
        outcome, reason, why = outcome_of(self._action, code)
        notes = self._growth.notes() if outcome is Outcome.FAILURE else ()
        self._report(outcome, why, reason=reason, exit_code=code, notes=notes)

    def _report_stopped(self) -> None:
        if (why := self._why) is not None:
            notes, code = self._tree.survivors_notes(), self._known_code()
            self._report(why.outcome, why.message, reason=why.reason, exit_code=code, notes=notes)

    def _report(
        self,
        outcome: Outcome,
        why: Message | None,
        *,
        reason: SkipReason | None = None,
        exit_code: int | None = None,
        notes: Messages = (),
    ) -> None:
        if self._is_over or self._end is not None:
            return
        self._end = Ended(
            run_id=self._run.id,
            outcome=outcome,
            message=why,
            reason=reason,
            notes=notes,
            exit_code=exit_code,
            held_up_by=self._held_up_by,
            began_at=self._began_at,
        )
        # Its surviving processes may print forever.
        self._end_size = self._spool.size()
        self._conclude()

    def _conclude(self) -> None:
        """Report the end once all output is parsed; much output is parsed in steps, so that others get their turn."""
        end = self._end
        if end is None or self._has_more_to_say():
            return
        if self._redactor is None:
            end = without_secrets(end, self._action)
        else:
            output = self._services.kept_output(self._spool, self._run, self._redactor)
            end = end._replace(output=output, progress=self._last_progress(self._redactor))
            end = with_said(end, self._action, self._spool, self._redactor)
        self._is_over = True
        self.next_poll_at = None
        self._services.engine.end(end)

    def _has_more_to_say(self) -> bool:
        with suppress(OSError):
            if self._spool.hear(_MOST_HEARD) and not self._spool.has_heard(self._end_size):
                self.next_poll_at = self._services.engine.now_ms()
                self._services.engine.post(lambda: None)
                return True
        return False

    def _last_progress(self, redactor: Redactor) -> tuple[float, str] | None:
        """Return the progress reported since the last poll, if it can be read."""
        with suppress(OSError):
            return self._spool.new_progress(redactor)
        return None
