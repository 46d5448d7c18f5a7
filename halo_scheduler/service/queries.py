"""Everything that can be read of the scheduler: jobs, runs, reports, settings, what the engine is doing."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from halo_scheduler.clock import Clock
from halo_scheduler.errors import JobNotFoundError
from halo_scheduler.grammar.checks import LONGEST_NAME, require_instant, require_whole
from halo_scheduler.host.process import is_alive
from halo_scheduler.model import (
    Condition,
    Job,
    JobSpec,
    JobStatus,
    Outcome,
    Question,
    Run,
    SkipReason,
    Trigger,
)
from halo_scheduler.model.alarms import Alarm
from halo_scheduler.model.settings import Settings
from halo_scheduler.model.work_source import WorkSource
from halo_scheduler.rules import statistics as reports
from halo_scheduler.rules.chains import BrokenLink, Chain, WaitingRun, broken_links, chain_of, waiting_runs
from halo_scheduler.rules.statistics import DayCount, Gap, TrendPoint, Usage
from halo_scheduler.service.backups import find_backups
from halo_scheduler.service.searching import search
from halo_scheduler.store.backup import Backup
from halo_scheduler.store.history import RunFilter
from halo_scheduler.store.job_lines import JobLineTable, JobName
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.jobs import TRASH_MS
from halo_scheduler.store.secret_names import SecretName
from halo_scheduler.store.secrets import SecretStore, has_keyring
from halo_scheduler.store.store import Store
from halo_scheduler.wording.plans import Explanation

if TYPE_CHECKING:
    from halo_scheduler.actions.output_reader import OutputFollower
    from halo_scheduler.conditions.probing import ConditionState
    from halo_scheduler.rules.upcoming import Upcoming
    from halo_scheduler.why.answer import Answer
    from halo_scheduler.work_sources.item import Item

_COPY = re.compile(r" \(copy(?: [0-9]+)?\)$")
_MOST_UNSEEN = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What the engine of a database is doing, in whatever process it is."""

    state: str
    owner: str
    pid: int | None
    started_at: int | None
    last_tick_at: int | None
    ticks: int
    runs: int
    running: int
    running_by_group: Mapping[str, int]
    next_due_at: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStats:
    """A job's history in numbers; the streak counts the same outcome back from the newest run."""

    total: int
    by_outcome: Mapping[Outcome, int]
    average_ms: int | None
    p95_ms: int | None
    last_run: Run | None
    streak: int


class Reader:
    """Reads, and changes nothing; used by the thread that opened the store."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._secrets = SecretStore(store.secrets, store.database.path)
        self._lines = JobLineTable(store.database)

    @property
    def path(self) -> Path:
        """The database's file."""
        return self._store.database.path

    # --- Jobs ----------------------------------------------------------------------------------------

    def get_job(self, job_id: str) -> Job | None:
        """Return a job, unless it does not exist or lies in the trash."""
        record = self._store.jobs.get(job_id)
        return None if record is None or record.removed_at is not None else record.job

    def get_jobs(self, job_ids: Iterable[str]) -> dict[str, Job]:
        """Return those of some jobs that exist and do not lie in the trash."""
        records = self._store.jobs.get_many(job_ids)
        return {job_id: record.job for job_id, record in records.items() if record.removed_at is None}

    def list_jobs(
        self,
        *,
        status: JobStatus | None = None,
        group: str | None = None,
        text: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> list[Job]:
        """Return jobs by next run; a text is looked for in name, description and group."""
        jobs = (record.job for record in self._store.jobs.all())
        wanted = (text or "").casefold()
        return [
            job
            for job in jobs
            if (status is None or job.status == status)
            and (group is None or job.group == group)
            and wanted in f"{job.name}\n{job.description}\n{job.group or ''}".casefold()
            and (metadata or {}).items() <= job.metadata.items()
        ]

    def list_jobs_in_pages(self, size: int = 500) -> Iterator[list[Job]]:
        """Yield the jobs in the order of `list_jobs`, so many at a time; one removed meanwhile is left out."""
        require_whole("size", size, 1)
        ids = self._store.jobs.ids()
        for start in range(0, len(ids), size):
            page = ids[start : start + size]
            jobs = self.get_jobs(page)
            yield [jobs[job_id] for job_id in page if job_id in jobs]

    def list_removed(self) -> list[Job]:
        """Return the jobs in the trash, the last removed first."""
        return [record.job for record in self._store.jobs.all(removed=True)]

    def get_trash_times(self) -> dict[str, tuple[int, int]]:
        """Return since when each job in the trash lies there, and until when it is kept."""
        return {job_id: (at, at + TRASH_MS) for job_id, at in self._lines.removal_times().items()}

    def list_job_names(self, *, removed: bool = False) -> list[JobName]:
        """Return what all jobs are called, or those in the trash, without the jobs."""
        return self._lines.names(removed=removed)

    def unused_name(self, name: str) -> str:
        """Return a name for a copy of a job: "backup (copy)", "backup (copy 2)"."""
        stem = _COPY.sub("", name) or name
        for number in itertools.count(1):
            ending = " (copy)" if number == 1 else f" (copy {number})"
            found = stem[: LONGEST_NAME - len(ending)] + ending
            if self._store.jobs.id_of_name(found) is None:
                return found
        raise AssertionError("counting has no end")

    def list_next_runs(self, job_id: str, count: int = 5, *, since: int | None = None) -> list[int]:
        """Return a job's planned run, then what its schedule alone gives after it; only those from an instant on."""
        return reports.next_runs(self._existing(job_id), count, self._clock.now_ms(), since)

    def list_upcoming(self, count: int = 5, job_ids: Collection[str] | None = None) -> list[Upcoming]:
        """Return the next runs of all jobs, or of some, in the order in which they come; what is due is first."""
        from halo_scheduler.rules.upcoming import upcoming  # noqa: PLC0415 - for those who look ahead

        return upcoming(self._store, require_whole("count", count, 1), self._clock.now_ms(), job_ids)

    def explain(self, job_id: str) -> Explanation:
        """Return why a job's next run is when it is, or why there is none."""
        return reports.explanation(self._store, self._existing(job_id), self._clock.now_ms())

    def why(self, job_id: str, at: int | None = None, *, span_ms: int = 1) -> Answer:
        """Return why a job runs next when it does; or what became, or becomes, of it at an instant.

        The instant may be a span: a minute, for one, is 60,000 ms from its beginning. Without an instant the job's
        conditions are looked at, which may take seconds.
        """
        from halo_scheduler.why.answering import answer, answer_now  # noqa: PLC0415 - for those who ask

        record, now_ms = self._existing(job_id), self._clock.now_ms()
        if at is None:
            return answer_now(self._store, record, now_ms, self.check_condition)
        span = (require_instant("at", at), at + require_whole("span_ms", span_ms, 1))
        return answer(self._store, record, span, now_ms)

    def get_holds(self, job_ids: Iterable[str]) -> dict[str, SkipReason]:
        """Return why the planned runs of some jobs would be skipped as things are: an open question, a cap."""
        records = self._store.jobs.get_many(job_ids).values()
        return reports.holds(self._store, records, self._clock.now_ms())

    def get_chain(self, job_id: str) -> Chain:
        """Return which jobs a job runs after, and which run after it."""
        return chain_of(self._store, self._existing(job_id))

    def check_condition(self, condition: Condition) -> ConditionState:
        """Look whether a condition can be observed here and holds now, which may take seconds."""
        from halo_scheduler.conditions.probing import check_condition  # noqa: PLC0415 - for those who need it

        return check_condition(condition)

    def list_names(self) -> list[tuple[str, str | None]]:
        """Return the name and the group of every job, without the jobs."""
        return self._store.jobs.names()

    def get_usage(self, job_id: str) -> Usage:
        """Return how often a job ran today, for how much, and what it may."""
        return reports.usage(self._store, self._existing(job_id), self._clock.now_ms())

    def preview_prompt(self, spec: JobSpec, job_id: str | None = None) -> str:
        """Return what an agent would read if a run started now; where there is nothing yet, a word for it."""
        from halo_scheduler.service.prompt_preview import preview_prompt  # noqa: PLC0415 - for those who write prompts

        return preview_prompt(self._store, spec, job_id, self._clock.now_ms())

    def list_ready_items(self, source: WorkSource) -> list[Item]:
        """Ask a work source what is to be done, which may take long; SourceError says why it cannot be asked."""
        from halo_scheduler.actions.spool import spool_folder  # noqa: PLC0415 - only for those who want work
        from halo_scheduler.work_sources.work_desk import WorkDesk  # noqa: PLC0415

        desk = WorkDesk(spool_folder(self.path), self._secrets.reader, self._clock.now_ms)
        return desk.open(source).ready()

    def list_group_limits(self) -> dict[str, int]:
        """Return how many jobs of a group may run at once, for the groups that have a limit."""
        return self._store.groups.limits()

    def _existing(self, job_id: str) -> JobRecord:
        record = self._store.jobs.get(job_id)
        if record is None or record.removed_at is not None:
            raise JobNotFoundError(f"there is no job {job_id!r}")
        return record

    # --- Runs ----------------------------------------------------------------------------------------

    def get_run(self, run_id: str) -> Run | None:
        """Return a run; None also while one asked for by hand waits for its place."""
        return self._store.runs.get(run_id)

    def get_runs(self, run_ids: Iterable[str]) -> dict[str, Run]:
        """Return those of some runs that are in the log."""
        return self._store.history.get_many(run_ids)

    def get_waiting_run(self, job_id: str) -> str | None:
        """Return the id of a run by hand that was asked for and waits for its place, if there is one."""
        waiting = (request for request in self._store.requests.triggers() if request.job_id == job_id)
        return next((request.run_id for request in waiting), None)

    def list_waiting_runs(self) -> dict[str, str]:
        """Return the ids of the runs by hand that were asked for and wait for their place, by job."""
        return {request.job_id: request.run_id for request in self._store.requests.triggers()}

    def list_waiting_chain_runs(self) -> list[WaitingRun]:
        """Return the runs that the end of another job's run started and that wait for their turn, longest first."""
        return waiting_runs(self._store)

    def list_caused_runs(self, run_id: str) -> list[Run]:
        """Return the runs of other jobs that the end of a run started, also those that then did not run."""
        return self._store.history.caused_by(run_id)

    def list_broken_links(self, run_id: str) -> list[BrokenLink]:
        """Return which jobs should have run after a run, but are gone; one that is paused has a skipped run instead."""
        return broken_links(self._store, run_id)

    def get_waits_until(self, job_id: str) -> int | None:
        """Return until when a due job waits for its conditions; None when it waits for none, or without an end."""
        return self._existing(job_id).waits_until

    def get_output(self, run_id: str) -> bytes:
        """Return what a run printed, or has printed by now; what is secret is left out."""
        with self.follow_output(run_id) as output:
            # Asked first: what is held back of a run that goes on may be the beginning of a secret.
            is_over = output.is_run_over()
            content = b"".join(iter(output.read, b""))
            return content + output.end() if is_over else content

    def follow_output(self, run_id: str) -> OutputFollower:
        """Return what gives a run's output piece by piece, also while it runs."""
        from halo_scheduler.actions.output_reader import OutputFollower  # noqa: PLC0415 - for those who follow

        return OutputFollower(self._store, run_id, self._secrets)

    def get_run_log(
        self,
        job_id: str | None = None,
        limit: int = 50,
        *,
        outcome: Outcome | None = None,
        outcomes: Collection[Outcome] | None = None,
        trigger: Trigger | None = None,
        since: int | None = None,
        until: int | None = None,
        before: str | None = None,
    ) -> list[Run]:
        """Return runs, newest first; `before` is the last run of the page that came before this one."""
        require_whole("limit", limit, 1)
        chosen = RunFilter(
            job_id=job_id,
            outcomes=outcomes if outcome is None else [outcome],
            trigger=trigger,
            since=since,
            until=until,
            before=before,
        )
        return self._store.history.log(chosen, limit)

    def search_output(
        self,
        text: str,
        *,
        job_id: str | None = None,
        outcomes: Collection[Outcome] | None = None,
        trigger: Trigger | None = None,
        since: int | None = None,
        until: int | None = None,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> Iterator[Run | None]:
        """Yield the runs that printed a text, newest first, whatever its case; None now and then as a sign of life."""
        chosen = RunFilter(job_id=job_id, outcomes=outcomes, trigger=trigger, since=since, until=until)
        return search(self._store.history, text, chosen, self.get_output, is_cancelled)

    def list_running(self) -> list[Run]:
        """Return the runs under way, oldest first."""
        return self._store.runs.running()

    def get_last_runs(self, job_ids: Iterable[str]) -> dict[str, Run]:
        """Return the newest ended run of each job that has one; test runs do not count."""
        return {run.job_id: run for run in self._store.history.last_ended(job_ids)}

    def get_trends(self, job_ids: Iterable[str], limit: int = 20) -> dict[str, tuple[TrendPoint, ...]]:
        """Return the last ended runs of each job that has any, oldest first; test runs do not count."""
        return reports.trends(self._store, job_ids, limit)

    def get_run_stats(self, job_id: str, since: int | None = None) -> RunStats:
        """Return a job's history in numbers."""
        self._existing(job_id)
        ends = self._store.runs.ends(job_id, since)
        outcomes = [outcome for outcome, _ in ends]
        durations = sorted(duration_ms for _, duration_ms in ends if duration_ms is not None)
        streak = next(
            (index for index, outcome in enumerate(outcomes) if outcome != outcomes[0]), len(outcomes)
        )
        newest = self._store.history.newest(job_id)
        return RunStats(
            total=len(ends),
            by_outcome={outcome: outcomes.count(outcome) for outcome in dict.fromkeys(outcomes)},
            average_ms=sum(durations) // len(durations) if durations else None,
            p95_ms=durations[(len(durations) * 95 - 1) // 100] if durations else None,
            last_run=newest,
            streak=streak,
        )

    def count_runs_by_day(
        self,
        since: int,
        until: int,
        *,
        job_id: str | None = None,
        outcome: Outcome | None = None,
        trigger: Trigger | None = None,
    ) -> list[DayCount]:
        """Return how the ended runs of each local day went, days without any left out."""
        return reports.days(self._store, since, until, job_id=job_id, outcome=outcome, trigger=trigger)

    def list_gaps(self, since: int) -> list[Gap]:
        """Return when nobody was awake and something was caught up or missed because of it, newest first."""
        return reports.gaps(self._store, since)

    def list_alarms(self, since: int) -> list[Alarm]:
        """Return when the engine noticed, from an instant on, that it did not do its work; oldest first."""
        return reports.alarms(self._store, since)

    def unseen_failures(self) -> list[Run]:
        """Return failures since `mark_failures_seen`, newest first, a hundred at most; no tests, no removed jobs."""
        seq, under_way = self._store.settings.failures_seen()
        return self._store.history.failures_after(seq, under_way, _MOST_UNSEEN)

    # --- Questions -----------------------------------------------------------------------------------

    def list_questions(self, *, include_settled: bool = False, limit: int = 100) -> list[Question]:
        """Return what runs ask of people, oldest first; with those that are settled, newest first."""
        require_whole("limit", limit, 1)
        questions = self._store.questions
        return questions.newest(limit) if include_settled else questions.open_ones(limit)

    def get_question(self, question_id: str) -> Question | None:
        """Return a question, in whatever state it is."""
        return self._store.questions.get(question_id)

    def get_question_of_run(self, run_id: str) -> Question | None:
        """Return what a run asked, if it did."""
        return self._store.questions.of_run(run_id)

    def get_question_answered_by(self, run_id: str) -> Question | None:
        """Return the question whose answer a run was given."""
        return self._store.questions.answered_by(run_id)

    # --- Everything else -------------------------------------------------------------------------------

    def get_settings(self) -> Settings:
        """Return what the user chose for the whole program."""
        return self._store.settings.read()

    def list_secrets(self) -> list[SecretName]:
        """Return the names of the secrets and where each is kept."""
        return self._secrets.list()

    def has_keyring(self) -> bool:
        """Tell whether this system has a keyring that can store secrets; asking may take a moment."""
        return has_keyring()

    def list_backups(self) -> list[Backup]:
        """Return the backups there are, newest first."""
        return find_backups(self.path)

    def status(self) -> Status:
        """Return what the engine is doing, in whatever process it is."""
        now_ms = self._clock.now_ms()
        row = self._store.lease.read()
        is_held = row is not None and row.is_held(now_ms) and is_alive(row.pid, row.process_start)
        return Status(
            state="running" if is_held else "stopped",
            owner=row.owner if row and is_held else "",
            pid=row.pid if row and is_held else None,
            started_at=row.started_at if row and is_held else None,
            last_tick_at=row.last_tick_at if row else None,
            ticks=row.ticks if row else 0,
            runs=row.runs if row else 0,
            running=self._store.runs.count_running(),
            running_by_group=self._store.runs.running_by_group(),
            next_due_at=self._store.jobs.next_due(),
        )
