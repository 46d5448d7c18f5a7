"""A process under way: from the start of a run to the end of its last process."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from time import sleep

from halo_scheduler.actions.ending import SIGNAL_BASE, outcome_of, with_said, without_secrets
from halo_scheduler.actions.growth import Growth
from halo_scheduler.actions.launch import Launch, spawn
from halo_scheduler.actions.run_input import RunInput
from halo_scheduler.actions.run_services import (
    FILLS_DISK,
    Ended,
    RunServices,
    Secrets,
    StopReason,
    kept_output,
)
from halo_scheduler.actions.run_tree import RunTree
from halo_scheduler.actions.spool import NOT_YET, Spool, Ticket
from halo_scheduler.actions.start_errors import NO_FORK, ShortageError, why_not_started
from halo_scheduler.grammar.redaction import Redactor
from halo_scheduler.host.process import process_start, reap, wait_until_gone
from halo_scheduler.host.reaper import REAPER
from halo_scheduler.model import Outcome, ProcessAction, Run, SkipReason, WaitingFor

_QUIET_LOOK_MS = 1_000
_MOST_HEARD = 16 << 20
_STOP_LOOK_MS = 50
_STOP_LOOK_SLOW_MS = 1_000
_UNKILLABLE_MS = 10_000
_DRAIN_LOOK_MS = 500
_LONGEST_SPAWN_S = 1.0
_IN_CHARGE_LOOK_S = 0.05
_SHORTAGE_PAUSES_S = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0)  # Longer, it would keep its place from others.


class ProcessWork:
    """One run of a command or a prompt; everything here happens on the engine's thread but for `_prepare`."""

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
        self._stop_looks = 0
        self._is_unkillable = False
        self._growth = Growth(spool)
        # Guards the moment of the start: either it is called off in time, or its process is waited for.
        self._start_lock = threading.Lock()
        self._is_starting = False
        self._is_called_off = False
        self._is_taking = False
        self._is_left = False
        self._held_up_by: WaitingFor | None = None
        self._began_at: int | None = None
        self.has_begun = threading.Event()
        """Set when it was started, or never will be: nothing is claimed for it any more."""
        self.next_look_at: int | None = None

    # --- Beginning -----------------------------------------------------------------------------------

    def start(self, assignment: RunInput, secrets: Secrets) -> None:
        """Start the process; what may block happens on another thread."""
        self._services.engine.submit(lambda: self._prepare(assignment, secrets))

    def adopt(self, session: int, *, is_alive: bool) -> None:
        """Go on with a process that an earlier engine started, be it only with what is left of it."""
        self._tree.session = session
        self._redactor = None if self._action.secret_names else Redactor()
        self._listen()
        self.next_look_at = self._services.engine.now_ms()
        self._growth.begin(self.next_look_at, known_bytes=self._spool.size())
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
            outcome, reason, sentence = why_not_started(error)
            redacted = Redactor(values.values()).text(sentence)
            self._services.engine.post(lambda: self._report(outcome, redacted, reason=reason))
        else:
            if process is not None:
                self._services.engine.post(lambda: self._take_up(process, Redactor(values.values())))
        finally:
            self.has_begun.set()

    def _start_process(
        self, assignment: RunInput, secrets: Mapping[str, str]
    ) -> subprocess.Popen[bytes] | None:
        """Start the process, unless it is called off on the way.

        What is missing is found out before an item is claimed: it must not use up one after the other.
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
            # Whoever comes after us may have looked for it before we had it.
            assignment.give_back()
        return process

    def _spawn_patiently(self, launch: Launch, *, has_secrets: bool) -> subprocess.Popen[bytes] | None:
        """Start the process, and try again for a while if the machine has no room for it; None if called off."""
        # Whoever reads the output must know what to take out of it, also if the job is edited meanwhile.
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
        waiting_for, awaited = shortage.waiting_for, shortage.awaited
        self._held_up_by = waiting_for
        self._services.engine.post(lambda: self._note_start_wait(waiting_for, awaited))

    def _note_start_wait(self, waiting_for: WaitingFor | None, awaited: str = "") -> None:
        if not self._is_over:
            self._services.engine.note_start_wait(self._run, waiting_for, awaited)

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
                # Nobody may wait for a process, or start one, after the engine has left.
                self._is_starting, self._is_called_off = False, self._is_left
            raise
        return process

    def _wait_until_in_charge(self) -> None:
        """Wait until the engine has looked whether it still is the one: all of this may have stood still for long."""
        while not self._is_called_off and not self._services.engine.is_in_charge():
            sleep(_IN_CHARGE_LOOK_S)

    def _take_up(self, process: subprocess.Popen[bytes], redactor: Redactor) -> None:
        self._tree.session = process.pid
        if self._held_up_by is not None:
            self._began_at = self._services.engine.now_ms()
            self._note_start_wait(None)
        self._redactor = redactor
        self._listen()
        self.next_look_at = self._growth.begin(self._services.engine.now_ms())
        self._services.watch.add(process.pid, process.wait, self._see_main_gone)
        if self._why is not None:
            self._begin_stop(self._services.engine.now_ms())

    def leave(self) -> None:
        """Let it live on without us; a thread buries it should it end first.

        Nothing starts behind our back: the next engine would not know of it, and start it again.
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

    # --- Looking after it ----------------------------------------------------------------------------

    def look(self, now_ms: int) -> tuple[float, str] | None:
        """Go on with a stop that is under way, or see how the output grows."""
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
        # Said first, so that a full disk is not asked about without a pause.
        self.next_look_at = now_ms + _QUIET_LOOK_MS
        is_behind = self._spool.hear(_MOST_HEARD)
        self._growth.look(now_ms)
        self._spool.cap(self._services.spool_limit())
        if self._growth.fills_disk:
            self.stop(now_ms, FILLS_DISK)
            return None
        self.next_look_at = now_ms if is_behind else self._growth.next_look_at()
        self._leave_ticket(self._tree.session)
        return self._spool.new_progress(self._redactor) if self._growth.grown and self._redactor else None

    def shift(self, by_ms: int) -> None:
        """Move all instants it waits for: the clock was set."""
        self._kill_at += by_ms
        if self.next_look_at is not None:
            self.next_look_at += by_ms

    def _leave_ticket(self, pid: int) -> None:
        """Leave word of the process for an engine after us; until then its mark in the environment tells."""
        known = None if self._has_ticket else self._spool.read_ticket()
        if not self._has_ticket and (known is None or known.pid == NOT_YET):
            self._spool.write_ticket(self._ticket(pid, process_start(pid) or ""))
        self._has_ticket = True

    def _ticket(self, pid: int, started: str) -> Ticket:
        return Ticket(pid, started, self._action, self._reads_lines)

    def _listen(self) -> None:
        """Take in what it says about itself, if that is wanted and its secrets are known."""
        if self._reads_lines and self._redactor is not None:
            self._spool.listen(self._redactor)

    def stop(self, now_ms: int, why: StopReason) -> None:
        """Ask the whole tree to end, later make it; the run ends when it is gone."""
        if self._why is not None or self._is_over or self._end is not None:
            return
        self._why = why
        with self._start_lock:
            if not self._is_starting and self._tree.session is None:
                self._is_called_off = True
        if self._is_called_off:
            # Nobody has worked on the item yet, should there be one: it was the source that took too long.
            is_source = self._is_taking and why.outcome is Outcome.TIMEOUT
            reason = SkipReason.SOURCE_UNAVAILABLE if is_source else None
            self._report(why.outcome, why.error, reason=reason)
        elif self._tree.session is not None:
            self._begin_stop(now_ms)

    def _begin_stop(self, now_ms: int) -> None:
        self._kill_at = now_ms + self._action.grace_ms
        self.next_look_at = now_ms + _STOP_LOOK_MS
        self._tree.ask_to_stop()

    def _go_on_stopping(self, now_ms: int) -> None:
        if now_ms < self._kill_at and not self._is_main_gone:
            if not self._tree.is_asked:
                self._tree.ask_latecomers()
            # Most programs need a moment; that the first one is gone is told without looking.
            pause_ms = _STOP_LOOK_SLOW_MS if self._tree.is_asked else _STOP_LOOK_MS
            self.next_look_at = min(self._kill_at, now_ms + pause_ms)
            return
        self._stop_looks += 1
        self.next_look_at = now_ms + min(_STOP_LOOK_MS * self._stop_looks, _STOP_LOOK_SLOW_MS)
        is_gone = self._tree.is_gone(by_force=now_ms >= self._kill_at)
        if self._is_main_gone and is_gone:
            self._report_stopped()
        elif now_ms >= self._kill_at + _UNKILLABLE_MS and not self._is_unkillable:
            self._services.engine.note_on(self._run, self._tree.unkillable_note())
            self._is_unkillable = True

    def _drain(self, now_ms: int) -> None:
        """Wait for what goes on without the shim: somebody ended only that."""
        self.next_look_at = now_ms + _DRAIN_LOOK_MS
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
        if code and self._process is not None and not self._spool.was_started():
            self._report(Outcome.INTERRUPTED, NO_FORK)
            return
        if code is None and self._process is not None:
            code = SIGNAL_BASE - self._process.returncode
        outcome, reason, error = outcome_of(self._action, code)
        note = self._growth.note() if outcome is Outcome.FAILURE else ""
        self._report(outcome, error, reason=reason, exit_code=code, note=note)

    def _report_stopped(self) -> None:
        why = self._why
        if why is not None:
            note = self._tree.survivors_note()
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
        if self._is_over or self._end is not None:
            return
        self._end = Ended(
            run_id=self._run.id,
            outcome=outcome,
            error=error,
            reason=reason,
            note=note,
            exit_code=exit_code,
            held_up_by=self._held_up_by,
            began_at=self._began_at,
        )
        # What it left running may go on printing without end.
        self._end_size = self._spool.size()
        self._conclude()

    def _conclude(self) -> None:
        """Tell of the end as soon as all was heard; much is heard in several steps, so that others have their turn."""
        end = self._end
        if end is None or self._has_more_to_say():
            return
        if self._redactor is None:
            end = without_secrets(end, self._action)
        else:
            output = kept_output(self._spool, self._services.output_limit, self._redactor)
            end = replace(end, output=output, progress=self._last_progress(self._redactor))
            end = with_said(end, self._action, self._spool, self._redactor)
        self._is_over = True
        self.next_look_at = None
        self._services.engine.end(end)

    def _has_more_to_say(self) -> bool:
        with suppress(OSError):
            if self._spool.hear(_MOST_HEARD) and not self._spool.has_heard(self._end_size):
                self.next_look_at = self._services.engine.now_ms()
                self._services.engine.post(lambda: None)
                return True
        return False

    def _last_progress(self, redactor: Redactor) -> tuple[float, str] | None:
        """Return the progress told of since the last look, if it can be read."""
        with suppress(OSError):
            return self._spool.new_progress(redactor)
        return None
