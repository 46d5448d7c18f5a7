"""Reading jobs: names, plans, explanations, chains, usage."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from halo_scheduler.errors import JobNotFoundError
from halo_scheduler.grammar.checks import LONGEST_NAME, require_instant, require_whole
from halo_scheduler.model import (
    Condition,
    Job,
    JobSpec,
    JobStatus,
    Schedule,
    Several,
    Situation,
    SkipReason,
    StartCheck,
)
from halo_scheduler.model.actions import WorkSource
from halo_scheduler.model.plans import Topic
from halo_scheduler.model.schedules import day_sources
from halo_scheduler.rules import job_edits
from halo_scheduler.rules import statistics as reports
from halo_scheduler.rules.assistants import pausing_assistant
from halo_scheduler.rules.chains import Chain, chain_of
from halo_scheduler.rules.situation import Capacities, read_situations
from halo_scheduler.rules.statistics import Usage
from halo_scheduler.service.session import Session
from halo_scheduler.store.job_lines import JobLineTable, JobName
from halo_scheduler.store.jobs import TRASH_MS
from halo_scheduler.wording.jobs import is_found, searched_text
from halo_scheduler.wording.plans import Explanation

if TYPE_CHECKING:
    from halo_scheduler.conditions.probes import ConditionState
    from halo_scheduler.rules.statistics import Upcoming
    from halo_scheduler.why.inquiry import Answer
    from halo_scheduler.why.journal import AssistantAct
    from halo_scheduler.work_sources.item import Item

_COPY = re.compile(r" \(copy(?: [0-9]+)?\)$")


class Jobs:
    """Reads jobs and related data, and empties the trash."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._store = session.store
        self._lines = JobLineTable(session.store.database)

    def get(self, job_id: str) -> Job | None:
        """Return a job; None if it does not exist or is in the trash."""
        record = self._store.jobs.get(job_id)
        return None if record is None or record.removed_at is not None else record.job

    def get_many(self, job_ids: Iterable[str]) -> dict[str, Job]:
        """Return the given jobs that exist and are not in the trash."""
        records = self._store.jobs.get_many(job_ids)
        return {job_id: record.job for job_id, record in records.items() if record.removed_at is None}

    def in_pages(self, size: int = 500) -> Iterator[list[Job]]:
        """Yield the jobs by next run in pages; jobs removed meanwhile are left out."""
        require_whole("size", size, 1)
        ids = self._store.jobs.ids()
        for start in range(0, len(ids), size):
            page = ids[start : start + size]
            jobs = self.get_many(page)
            yield [jobs[job_id] for job_id in page if job_id in jobs]

    def removed(self) -> list[Job]:
        """Return the jobs in the trash, last removed first."""
        return [record.job for record in self._store.jobs.all(removed=True)]

    def trash_times(self) -> dict[str, tuple[int, int]]:
        """Return when each job in the trash was removed, and until when it is kept."""
        return {job_id: (at, at + TRASH_MS) for job_id, at in self._lines.removal_times().items()}

    def delete_removed(self, job_ids: Iterable[str]) -> None:
        """Delete jobs in the trash for good, with their runs; one that still runs stays until it has ended."""
        with self._session.edit() as edit:
            job_edits.delete_removed(edit, job_ids)

    # --- Names and groups ----------------------------------------------------------------------------

    def names(self, *, removed: bool = False) -> list[JobName]:
        """Return the names and ids of all jobs, or of those in the trash, without the rest."""
        return self._lines.names(removed=removed)

    def names_and_groups(self) -> list[tuple[str, str | None]]:
        """Return the name and the group of every job, without the rest."""
        return self._store.jobs.names()

    def first_of_group(self, group: str) -> str | None:
        """Return the id of the job of a group that was added first, or None."""
        return self._lines.first_of_group(group)

    def unused_name(self, name: str) -> str:
        """Return a name for a copy of a job: "backup (copy)", "backup (copy 2)"."""
        stem = _COPY.sub("", name) or name
        for number in itertools.count(1):
            ending = " (copy)" if number == 1 else f" (copy {number})"
            found = stem[: LONGEST_NAME - len(ending)] + ending
            if self._store.jobs.id_of_name(found) is None:
                return found
        raise AssertionError("counting has no end")

    def group_limits(self) -> dict[str, int]:
        """Return the concurrency limits of the groups that have one."""
        return self._store.groups.limits()

    def look_up_days(self, schedule: Schedule | Several, job_id: str | None = None) -> Schedule | Several:
        """Return unstored schedules with the days of their calendars; may take a second.

        Calendars that the stored job has are not looked up again.
        """
        record = None if job_id is None else self._store.jobs.get(job_id)
        known = () if record is None else day_sources(record.spec.schedule)
        return self._session.with_days(schedule, known)

    # --- Plans ---------------------------------------------------------------------------------------

    def next_runs(self, job_id: str, count: int = 5, *, since: int | None = None) -> list[int]:
        """Return a job's planned run, then the times of its schedule after it, from an instant on."""
        return reports.next_runs(self._store.jobs.require(job_id), count, self.now_ms(), since)

    def upcoming(self, count: int = 5, job_ids: Collection[str] | None = None) -> list[Upcoming]:
        """Return the next runs of all jobs, or of some, in order; due runs come first."""
        from halo_scheduler.rules.statistics import upcoming  # noqa: PLC0415 - only when needed

        return upcoming(self._store, require_whole("count", count, 1), self.now_ms(), job_ids)

    def explain(self, job_id: str) -> Explanation:
        """Return why a job's next run is when it is, or why there is none."""
        return reports.explanation(self._store, self._store.jobs.require(job_id), self.now_ms())

    def why(
        self, job_id: str, at: int | None = None, *, span_ms: int = 1, topics: Collection[Topic] | None = None
    ) -> Answer:
        """Return why a job runs next when it does, or what it did or will do at an instant.

        The instant may be a span: a minute, for example, is 60,000 ms from its beginning. Without an instant, `topics`
        limit the answer; one of them probes the job's conditions, which may take seconds.
        """
        from halo_scheduler.why.answering import NOW, answer  # noqa: PLC0415 - only when needed

        span = None
        if at is not None:
            span = (require_instant("at", at), at + require_whole("span_ms", span_ms, 1))
        record, now_ms = self._store.jobs.require(job_id), self.now_ms()
        wanted = NOW if topics is None else topics
        return answer(self._store, record, now_ms, span=span, look=self.check_condition, topics=wanted)

    def situations(self, job_ids: Iterable[str] | None = None) -> dict[str, Situation]:
        """Return what jobs are doing, what they wait for and when they run next: all jobs, or some."""
        found = read_situations(self._store.database, self.now_ms(), job_ids)
        return {line.id: situation for line, situation in found}

    def situation(self, job_id: str) -> Situation:
        """Return what a job is doing, what it waits for and when it runs next."""
        found = self.situations([job_id])
        if job_id not in found:
            raise JobNotFoundError(f"there is no job {job_id!r}")
        return found[job_id]

    def check_start(self, job_id: str) -> StartCheck:
        """Return whether a job would start on its schedule now, or why not; probing its conditions may take seconds."""
        record, now_ms = self._store.jobs.require(job_id), self.now_ms()
        reason = self.situation(job_id).skip_reason(now_ms)
        if reason is None and Capacities(self._store.database).find(record.spec.group) is not None:
            reason = SkipReason.AT_CAPACITY
        conditions = record.spec.policy.conditions
        if reason is None and not all(self.check_condition(one).holds for one in conditions):
            reason = SkipReason.CONDITION
        return StartCheck(reason is None, reason)

    def holds(self, job_ids: Iterable[str]) -> dict[str, SkipReason]:
        """Return why the planned runs of some jobs would be skipped as things are: an open question, a daily limit."""
        return {
            job_id: situation.blocker
            for job_id, situation in self.situations(job_ids).items()
            if situation.blocker is not None and situation.is_held
        }

    def waits_until(self, job_id: str) -> int | None:
        """Return a due job's condition deadline; None if it waits for no conditions, or without a deadline."""
        return self._store.jobs.require(job_id).waits_until

    def check_condition(self, condition: Condition) -> ConditionState:
        """Check whether this system can probe a condition and whether it is met now; may take seconds."""
        return self._session.check_condition(condition)

    # --- Chains, usage and prompts ------------------------------------------------------------------

    def chain(self, job_id: str) -> Chain:
        """Return which jobs a job runs after, and which run after it."""
        return chain_of(self._store, self._store.jobs.require(job_id))

    def usage(self, job_id: str) -> Usage:
        """Return how many runs a job had today, their cost, and its daily limits."""
        return reports.usage(self._store, self._store.jobs.require(job_id), self.now_ms())

    def pausing_assistant(self, job_id: str) -> str | None:
        """Return the name of the assistant that paused a job; None if a person did or it is not paused."""
        return pausing_assistant(self._store, self._store.jobs.require(job_id))

    def assistant_acts(self, limit: int = 100, *, job_id: str | None = None) -> list[AssistantAct]:
        """Return the actions of assistants, newest first; with a job, only those on that job."""
        from halo_scheduler.why.journal import assistant_acts  # noqa: PLC0415 - only when needed

        return assistant_acts(self._store, limit, job_id)

    def preview_prompt(self, spec: JobSpec, job_id: str | None = None) -> str:
        """Return the prompt an agent would get if a run started now, with words in brackets for unknown values."""
        from halo_scheduler.actions.run_context import preview_prompt  # noqa: PLC0415 - only when needed

        return preview_prompt(self._store, spec, job_id, self.now_ms())

    def ready_items(self, source: WorkSource) -> list[Item]:
        """Return the ready items of a work queue, which may take long; SourceError says why it does not answer."""
        from halo_scheduler.actions.spool import spool_folder  # noqa: PLC0415 - only when needed
        from halo_scheduler.work_sources.work_desk import WorkDesk  # noqa: PLC0415

        session = self._session
        desk = WorkDesk(spool_folder(session.path), session.secrets.reader, session.clock.now_ms)
        return desk.open(source).ready()

    def now_ms(self) -> int:
        """Return the current instant of the scheduler's clock."""
        return self._session.clock.now_ms()

    def list(
        self,
        *,
        status: JobStatus | None = None,
        group: str | None = None,
        text: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> list[Job]:
        """Return jobs, the next to run first; `text` searches names, groups, descriptions, actions and schedules."""
        jobs = (record.job for record in self._store.jobs.all())
        return [
            job
            for job in jobs
            if (status is None or job.status == status)
            and (group is None or job.group == group)
            and (not text or is_found(text, _searched_text(job)))
            and (metadata or {}).items() <= job.metadata.items()
        ]


def _searched_text(job: Job) -> str:
    return searched_text(job.name, job.group, job.description, job.schedule, job.action)
