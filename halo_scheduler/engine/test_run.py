"""A test run of a job that is not stored: it runs once, is shown, and leaves no record."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path

import psutil
from PySide6.QtCore import QElapsedTimer, QObject, Qt, QTimer, Signal

from halo_scheduler.actions.output_reader import SpoolReader
from halo_scheduler.actions.run_services import (
    BY_USER,
    NO_CONTEXT,
    TIME_LIMIT,
    Ended,
    RunContext,
    RunServices,
    Secrets,
    StopReason,
    Work,
)
from halo_scheduler.actions.runner import ReadSecrets, Runner
from halo_scheduler.actions.spool import Spool, left_behind
from halo_scheduler.actions.threads import DaemonPool
from halo_scheduler.clock import Clock
from halo_scheduler.engine.starting import SleepInhibitor
from halo_scheduler.grammar.redaction import Redactor
from halo_scheduler.host.event_loop import HAS_PIDFD, NotifierWatch
from halo_scheduler.host.login_environment import Environment, LoginEnvironment
from halo_scheduler.host.process import ThreadWatch
from halo_scheduler.host.process_tree import ask_to_stop, find_members, kill, marked_processes
from halo_scheduler.model import (
    Job,
    JobSpec,
    Outcome,
    ProcessAction,
    Run,
    SkipReason,
    Source,
    Trigger,
)
from halo_scheduler.model.messages import Message, MessageKind, message
from halo_scheduler.model.words import Shortage
from halo_scheduler.work_sources.work_desk import WorkDesk

_FOLDER = "trials"
_POLL_MS = 100
_MOST_PIECES = 4
_MOST_LOOKS = 4
_OUTPUT_LIMIT = 1 << 20
_SPOOL_LIMIT = 16 << 20
_NO_GRACE_MS = 0


def trial_folder(database: Path) -> Path:
    """Return the folder for the files of test runs beside a database."""
    return database.absolute().with_name(f"{database.stem}-{_FOLDER}")


def clear_left_trials(folder: Path) -> None:
    """Kill the processes and delete the files of test runs that were cut short when Halo ended."""
    run_ids = left_behind(folder)
    for run_id in marked_processes(run_ids):
        kill(find_members(run_id, None))
    for run_id in run_ids:
        Spool(folder, run_id).remove()


class Trial(QObject):
    """Runs a spec's action once, under its time limit, without storing anything.

    It belongs to the thread that created it and needs that thread's event loop. It reports its end once, after its
    processes are gone and its files are deleted.
    """

    output = Signal(bytes)
    progress = Signal(float, str)
    ended = Signal(object)
    """An Ended."""
    _posted = Signal(object)

    def __init__(
        self,
        spec: JobSpec,
        folder: Path,
        read_secrets: ReadSecrets,
        clock: Clock,
        parent: QObject | None = None,
        *,
        context: RunContext = NO_CONTEXT,
        login_environment: Callable[[], Environment] | None = None,
    ) -> None:
        super().__init__(parent)
        self._spec = spec
        self._context = context
        self._read_secrets = read_secrets
        self._clock = clock
        self._pool = DaemonPool()
        self._secrets: Mapping[str, str] | None = None
        self._run = Run(
            id=uuid.uuid4().hex,
            job_id=uuid.uuid4().hex,
            trigger=Trigger.TEST,
            source=Source.MANUAL,
            parameters=spec.parameters,
        )
        self._spool = Spool(folder, self._run.id)
        self._watch = NotifierWatch(self.post, self) if HAS_PIDFD else None
        self._runner = self._make_runner(folder, login_environment or LoginEnvironment().get)
        self._work: Work | None = None
        self._reader_of_output: SpoolReader | None = None
        self._end: Ended | None = None
        self._kill_at = 0
        self._left: list[psutil.Process] = []
        self._is_over = False
        self._notes: list[Message] = []
        self._inhibitor = SleepInhibitor(self, self.note_on)
        self._began_at = 0
        self._elapsed = QElapsedTimer()
        self._timer = QTimer(self)
        self._again = QTimer(self)
        self._set_timers()
        self._posted.connect(self._hear, Qt.ConnectionType.QueuedConnection)

    def _make_runner(self, folder: Path, login_environment: Callable[[], Environment]) -> Runner:
        services = RunServices(
            engine=self,
            watch=self._watch or ThreadWatch(self.post),
            login_environment=login_environment,
            output_limit=lambda _job_id: _OUTPUT_LIMIT,
            spool_limit=lambda: _SPOOL_LIMIT,
        )
        work_desk = WorkDesk(folder, self._read_secrets, self._clock.now_ms, environment=login_environment)
        return Runner(folder, services, self._reader, work_desk.open)

    def _set_timers(self) -> None:
        self._timer.setInterval(_POLL_MS)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._look)
        self._again.setInterval(_POLL_MS)
        self._again.setSingleShot(True)
        self._again.timeout.connect(self._look_again)

    @property
    def run_id(self) -> str:
        """The run id in the environment of its processes."""
        return self._run.id

    def start(self) -> None:
        """Start; its end will be reported."""
        self._began_at = self._clock.now_ms()
        self._elapsed.start()
        self._run = replace(self._run, started_at=self._began_at)
        job = Job(
            id=self._run.job_id,
            **{field.name: getattr(self._spec, field.name) for field in fields(JobSpec)},
        )
        self._timer.start()
        self._work = self._runner.start(job, self._run, self._context)
        if self._work is not None and self._spec.policy.keep_awake:
            self._inhibitor.hold(self._run, self._spec.name)
        if self._work is None:
            kind = self._spec.action.kind
            self.end(
                Ended(
                    run_id=self._run.id,
                    outcome=Outcome.SKIPPED,
                    reason=SkipReason.UNSUPPORTED_TYPE,
                    message=message(MessageKind.UNSUPPORTED_ACTION, action=kind),
                )
            )

    def stop(self) -> None:
        """Stop it early; its end is reported once that is done."""
        self._stop(BY_USER)

    # --- The handle that the action gets --------------------------------------------------------------------

    def now_ms(self) -> int:
        """Return the current instant by a clock that is unaffected when the wall clock is set."""
        return self._began_at + int(self._elapsed.elapsed())

    def submit(self, work: Callable[[], None]) -> None:
        """Run a call that may block on another thread."""
        self._pool.submit(work)

    def post(self, news: Callable[[], None]) -> None:
        """Run a call on this thread, from any thread."""
        self._posted.emit(news)

    def end(self, ended: Ended) -> None:
        """Take the end of the action; surviving processes are killed first."""
        self._end = ended
        self._kill_at = self.now_ms() + _grace_ms(self._spec)
        self._look_for_survivors(self._ask_survivors)

    def is_in_charge(self) -> bool:
        """Return True: test runs have no lease."""
        return True

    def note_item(self, run_id: str, work_id: str, title: str, url: str) -> None:
        """Ignore the work item: nothing of a test run is stored."""

    def note_start_wait(self, run: Run, shortage: Shortage | None) -> None:
        """Keep what the start waits for; it is reported with the end."""
        if shortage is None:
            return
        note = message(MessageKind.WAITED_FOR_SHORTAGE, shortage=shortage)
        if note not in self._notes:
            self.note_on(run, note)

    def snooze(self, job_id: str, for_ms: int) -> None:
        """Start nothing later: it was a test."""

    def note_on(self, _run: Run, note: Message) -> None:
        """Keep a note; it is reported with the end."""
        self._notes.append(note)

    # --- Polling and cleanup ----------------------------------------------------------------------------

    def _reader(self, names: Iterable[str], *, unchanged_since: int | None = None) -> Secrets:
        """Return a reader of secrets that remembers their values for redaction."""
        read = self._read_secrets(names, unchanged_since=unchanged_since)

        def remembered() -> Mapping[str, str]:
            self._secrets = read()
            return self._secrets

        return remembered

    def _hear(self, news: Callable[[], None]) -> None:
        if not self._is_over:
            news()

    def _look(self) -> None:
        """Report new output, enforce the time limit, and finish when everything has ended."""
        if self._is_over:
            return
        self._pass_on_output()
        if self._end is not None:
            return
        now_ms = self.now_ms()
        limit_ms = self._spec.policy.time_limit_ms
        if limit_ms is not None and now_ms >= self._began_at + limit_ms:
            self._stop(TIME_LIMIT)
        work = self._work
        for _ in range(_MOST_LOOKS):  # Long output needs several polls in a row.
            if work is None or work.next_poll_at is None or work.next_poll_at > now_ms:
                return
            found = work.poll(now_ms)
            if found is not None:
                self.progress.emit(*found)

    def _stop(self, why: StopReason) -> None:
        if self._work is not None and self._end is None:
            self._work.stop(self.now_ms(), why)

    def _look_for_survivors(self, then: Callable[[list[psutil.Process]], None]) -> None:
        """Scan all processes on another thread: there may be thousands."""
        if not isinstance(self._spec.action, ProcessAction):
            self.post(self._finish)
            return
        run_id, known = self._run.id, self._left

        def look() -> None:
            # Processes count as gone when two scans in a row do not find them.
            found = find_members(run_id, None, known) or find_members(run_id, None, known)
            self.post(lambda: then(found))

        self.submit(look)

    def _ask_survivors(self, found: list[psutil.Process]) -> None:
        if found and self._end is not None:
            note = message(MessageKind.ENDED_WITH_TEST, count=len(found))
            self._end = self._end._replace(notes=(*self._end.notes, note))
            ask_to_stop(found, None)
        self._end_survivors(found)

    def _end_survivors(self, found: list[psutil.Process]) -> None:
        """Kill surviving processes until none is left, except those of other users."""
        self._left = found
        denied = kill(found) if self.now_ms() >= self._kill_at else []
        if len(denied) == len(found):
            self._finish()
        else:
            self._again.start()

    def _look_again(self) -> None:
        self._look_for_survivors(self._end_survivors)

    def _pass_on_output(self) -> None:
        reader = self._reader_of_output = self._reader_of_output or self._open()
        if reader is None:
            return
        for _ in range(_MOST_PIECES):  # What prints without end must not keep this thread.
            piece = reader.read()
            if not piece:
                return
            self.output.emit(piece)

    def _open(self) -> SpoolReader | None:
        if not self._spool.exists():
            return None
        # The response to a request is redacted before it is written.
        secrets = self._secrets if isinstance(self._spec.action, ProcessAction) else None
        return SpoolReader(self._spool.output_path, Redactor((secrets or {}).values()))

    def _finish(self) -> None:
        self._is_over = True
        self._inhibitor.release(self._run.id)
        self._timer.stop()
        reader = self._reader_of_output = self._reader_of_output or self._open()
        if reader is not None:
            while piece := reader.read():
                self.output.emit(piece)
            rest = reader.end()
            if rest:
                self.output.emit(rest)
            reader.close()
        self._spool.remove()
        if self._watch is not None:
            self._watch.close()
        end = self._end
        if end is not None:
            if end.progress is not None:
                self.progress.emit(*end.progress)
            self.ended.emit(end._replace(notes=(*end.notes, *self._notes)))


def _grace_ms(spec: JobSpec) -> int:
    return spec.action.grace_ms if isinstance(spec.action, ProcessAction) else _NO_GRACE_MS
