"""Starting runs by what they are to do, and taking up what an earlier engine left running."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from halo_scheduler.actions.command import UNSEEN_END, CommandWork, Desk, Secrets, outcome_of
from halo_scheduler.actions.spool import Output, Spool, left_behind, make_private_folder
from halo_scheduler.actions.work import Ended, Work
from halo_scheduler.errors import SchedulerError
from halo_scheduler.host.process import is_alive
from halo_scheduler.host.process_tree import marked_processes
from halo_scheduler.model import Action, Command, HttpRequest, Job, Outcome, Run
from halo_scheduler.redaction import Redactor

_CRASHED = "Halo ended while it ran"


class ReadSecrets(Protocol):
    """Finds out where secrets are, and returns what gets them later, on a thread that may wait."""

    def __call__(self, names: Iterable[str], *, unchanged_since: int | None = None) -> Secrets: ...


class StartHttp(Protocol):
    """Begins an HTTP request."""

    def __call__(
        self, desk: Desk, run: Run, request: HttpRequest, spool: Spool, secrets: Secrets
    ) -> Work: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """What an earlier engine left of a run: a process that lives, or how it ended."""

    run: Run
    command: Command | None
    session: int | None
    is_main_alive: bool
    ended: Ended


class Runner:
    """Starts runs, and looks after the files of all of them."""

    def __init__(self, folder: Path, desk: Desk, read_secrets: ReadSecrets, http: StartHttp | None) -> None:
        self._folder = folder
        self._desk = desk
        self._read_secrets = read_secrets
        self._http = http
        self._has_folder = False

    def start(self, job: Job, run: Run) -> Work | None:
        """Begin a run; None when nothing here can run such a job."""
        action = job.action
        if isinstance(action, Command):
            self._make_folder()
            work = CommandWork(self._desk, run, action, self.spool(run.id))
            work.start(job, self._read_secrets(action.secret_names))
            return work
        if isinstance(action, HttpRequest) and self._http is not None:
            self._make_folder()
            secrets = self._read_secrets(action.secret_names)
            return self._http(self._desk, run, action, self.spool(run.id), secrets)
        return None

    def _make_folder(self) -> None:
        if not self._has_folder:
            make_private_folder(self._folder)
        self._has_folder = True

    def spool(self, run_id: str) -> Spool:
        """Return the files of a run."""
        return Spool(self._folder, run_id)

    # --- After a crash -------------------------------------------------------------------------------

    def find_leftovers(
        self, runs: Iterable[Run], actions: Mapping[str, Action], now_ms: int
    ) -> list[Leftover]:
        """Return what became of runs that another engine started; `actions` are those of their jobs today."""
        open_runs = list(runs)
        living = marked_processes(run.id for run in open_runs)
        return [
            self._leftover(run, actions.get(run.job_id), next(iter(living.get(run.id, [])), None), now_ms)
            for run in open_runs
        ]

    def _leftover(self, run: Run, action: Action | None, marked_pid: int | None, now_ms: int) -> Leftover:
        spool = self.spool(run.id)
        ticket = spool.read_ticket()
        action = action if ticket is None else ticket.action
        is_main_alive = ticket is not None and is_alive(ticket.pid, ticket.process_start)
        # Without its ticket, the first process that carries the mark is the shim, or what is left.
        is_under_way = is_main_alive or (marked_pid is not None and spool.read_code() is None)
        command = action if isinstance(action, Command) else None
        return Leftover(
            run=run,
            command=command,
            session=(ticket.pid if ticket else marked_pid) if is_under_way else None,
            is_main_alive=is_main_alive or (ticket is None and is_under_way),
            ended=self._ended_unseen(run, command, spool, now_ms),
        )

    def _ended_unseen(self, run: Run, command: Command | None, spool: Spool, now_ms: int) -> Ended:
        written = spool.read_code()
        if command is None or not spool.exists():
            output = self._kept(command, spool)
            return Ended(run_id=run.id, outcome=Outcome.INTERRUPTED, error=_CRASHED, output=output)
        if written is None:
            outcome, reason, error = Outcome.INTERRUPTED, None, UNSEEN_END
            finished_at = None
        else:
            outcome, reason, error = outcome_of(command, written[0])
            finished_at = min(max(written[1], run.started_at or 0), now_ms)
        return Ended(
            run_id=run.id,
            outcome=outcome,
            reason=reason,
            error=error,
            note="it ended while Halo was not running" if written else "",
            exit_code=written[0] if written else None,
            finished_at=finished_at,
            output=self._kept(command, spool),
            needs_secrets=command.secret_names,
        )

    def _kept(self, command: Command | None, spool: Spool) -> Output | None:
        """Return the output, unless it holds secrets that must be had first."""
        if command is not None and command.secret_names:
            return None
        return spool.kept(self._desk.output_limit, Redactor()) if spool.exists() else None

    def adopt(self, left: Leftover) -> Work:
        """Go on with a run whose process lives."""
        work = CommandWork(
            self._desk, left.run, left.command or Command(argv=("?",)), self.spool(left.run.id)
        )
        work.adopt(left.session or 0, is_alive=left.is_main_alive)
        return work

    def read_later(self, run: Run, names: Iterable[str], done: Callable[[Output], None]) -> None:
        """Get the secrets a run was given, then its output, redacted; without them it is withheld."""
        secrets = self._read_secrets(names, unchanged_since=run.started_at)
        spool = self.spool(run.id)
        limit = self._desk.output_limit()

        def read() -> None:
            try:
                output = spool.kept(lambda: limit, Redactor(secrets().values()))
            except SchedulerError as error:
                text = f"[output withheld, as secrets cannot be taken out of it: {error}]\n"
                output = Output.of(text.encode(), spool.size())
            self._desk.home.post(lambda: done(output))

        self._desk.home.submit(read)

    def clear_away(self, keep: Iterable[str]) -> None:
        """Delete the files of all runs but some: nobody needs them any more."""
        for run_id in left_behind(self._folder) - set(keep):
            self.spool(run_id).remove()
