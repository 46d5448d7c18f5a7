"""Steering jobs beside their schedules: a pause, a hint, a limit for a group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.checks import (
    require_choice,
    require_instant,
    require_interval,
    require_label,
    require_line,
    require_whole,
)
from halo_scheduler.grammar.text import printed_line
from halo_scheduler.model import SHORTEST_EVERY_MS, Hints, HintSource, JobSpec, Once, PassedReason, Source
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.plans import LONGEST_REASON, require_ttl
from halo_scheduler.rules.hints import still_counting, takes_hints, with_advice
from halo_scheduler.rules.planning import plan, plan_sooner
from halo_scheduler.service.writing import Writer
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.job_records import JobRecord

_NO_HINTS = Hints()
_BY_HINT = (Source.HINT_INTERVAL, Source.HINT_ONCE)


class Steering(Writer):
    """Pauses, resumes, advises and limits jobs."""

    def pause_job(self, job_id: str, until: int | None = None) -> None:
        """Pause a job, for good or until an instant; one that runs finishes first.

        What an assistant paused goes on waiting for somebody to look at it, whatever the instant.
        """
        self._pause([job_id], until)

    def pause_all(self, until: int | None = None) -> None:
        """Pause every job that is neither disabled nor already paused for longer.

        A pause that an assistant began is this person's from then on: the assistant can no longer end it.
        """
        records = self._store.jobs.all()
        longer = [record.id for record in records if _is_paused_longer_by(record, until)]
        self._pause(longer, until)
        self._take_over_pauses(records)

    def resume_job(self, job_id: str, *, seen: JobSpec | None = None) -> None:
        """Let a paused or disabled job go on from now, its error count at 0; nothing is caught up.

        With `seen`, what the person saw of it, it is refused if an assistant has made something else of it since.
        """
        self._resume([job_id], seen)

    def resume_all(self) -> None:
        """Resume every paused job; disabled ones stay so, and so does a `once` whose time is past.

        What an assistant paused stays so too: somebody is to look at each such job first.
        """
        now_ms = self._clock.now_ms()
        paused = [record for record in self._store.jobs.all() if record.paused and record.paused_by is None]
        self._resume([record.id for record in paused if not self._is_over(record, now_ms)])

    def _take_over_pauses(self, records: Iterable[JobRecord]) -> None:
        """Record that a person wants the pauses that assistants began."""
        now_ms = self._clock.now_ms()
        with self._store.transaction():
            for record in records:
                if self._is_paused_by_assistant(record):
                    self._store.events.append(
                        now_ms, EventKind.JOB_PAUSED, record.id, until=record.paused_until
                    )

    def get_pausing_assistant(self, job_id: str) -> str | None:
        """Return the name of the assistant that paused a job itself; None if it is not, or if a person paused it."""
        return self._pausing_assistant(self._existing(job_id))

    def _pausing_assistant(self, record: JobRecord) -> str | None:
        if not record.paused or record.paused_by is not None:
            return None
        paused = self._store.events.last(record.id, EventKind.JOB_PAUSED)
        return None if paused is None else paused.assistant

    def _is_paused_by_assistant(self, record: JobRecord) -> bool:
        """Whether an assistant paused a job itself, and no person has paused it since."""
        return self._pausing_assistant(record) is not None

    def _pause(self, job_ids: list[str], until: int | None) -> None:
        now_ms = self._clock.now_ms()
        if until is not None and require_instant("until", until) <= now_ms:
            raise ScheduleError("the pause would already be over; give a time that lies ahead", path="until")
        changes = [Change(ChangeKind.JOB, job_id=job_id) for job_id in job_ids]
        with self._store.transaction():
            found = [record for job_id in job_ids if (record := self._existing(job_id)).paused_by is None]
            paused = [
                plan(record.evolve(paused=True, paused_until=until), now_ms, self._store.runs.has_slot)
                for record in found
            ]
            self._store.jobs.save_states(paused)
            for before, after in zip(found, paused, strict=True):
                self._store.events.append(now_ms, EventKind.JOB_PAUSED, after.id, until=until)
                changes += self._ask_instead_of_retry(before, after)
        self._changed(*changes)

    def _resume(self, job_ids: list[str], seen: JobSpec | None = None) -> None:
        now_ms = self._clock.now_ms()
        changes = [Change(ChangeKind.JOB, job_id=job_id) for job_id in job_ids]
        with self._store.transaction():
            found = [self._existing(job_id) for job_id in job_ids]
            for record in found:
                _refuse_changed_since(record, seen)
            resumed = [self._resumed(record, now_ms) for record in found]
            self._store.jobs.save_states(resumed)
            for before, after in zip(found, resumed, strict=True):
                by = "user" if self._store.events.assistant is None else "assistant"
                self._store.events.append(now_ms, EventKind.JOB_RESUMED, after.id, by=by)
                changes += self._ask_instead_of_retry(before, after)
        self._changed(*changes)

    def _resumed(self, record: JobRecord, now_ms: int) -> JobRecord:
        if self._is_over(record, now_ms):
            raise ScheduleError("its one time is past; give the job a new time instead", path="schedule.at")
        if not record.spec.enabled:
            self._store.jobs.save_spec(record.id, replace(record.spec, enabled=True), now_ms)
        awake = record.evolve(
            spec=replace(record.spec, enabled=True),
            paused=False,
            paused_until=None,
            paused_by=None,
            disabled_reason=None,
            errors=0,
        )
        if self._is_in_its_slot(record):
            return awake
        reason = PassedReason.PAUSED if record.paused else PassedReason.DISABLED
        return plan(awake, now_ms, self._store.runs.has_slot, reason=reason)

    def _is_over(self, record: JobRecord, now_ms: int) -> bool:
        """Whether the job is a `once` that has no run left: neither under way nor waiting for its place."""
        schedule = record.spec.schedule
        is_past = isinstance(schedule, Once) and schedule.due_at <= now_ms
        return is_past and record.next_run_at is None and not self._is_in_its_slot(record)

    def propose_interval(
        self,
        job_id: str,
        interval: str,
        ttl: str = "60m",
        reason: str = "",
        *,
        source: HintSource = HintSource.PROGRAM,
    ) -> None:
        """Advise a pace for a while: a faster one counts at once, a slower one after the next run."""
        interval_ms = max(require_interval("interval", interval), SHORTEST_EVERY_MS)
        self._propose(job_id, {"interval_ms": interval_ms}, ttl, reason, source)

    def propose_next_run(
        self,
        job_id: str,
        at: int,
        ttl: str = "60m",
        reason: str = "",
        *,
        source: HintSource = HintSource.PROGRAM,
    ) -> None:
        """Advise one run at an instant; it counts if it is earlier than what is planned."""
        self._propose(job_id, {"next_at": require_instant("at", at)}, ttl, reason, source)

    def clear_hints(self, job_id: str, *, source: HintSource = HintSource.PROGRAM) -> None:
        """Forget all advice, and plan as the schedule says; `source` is who wants it so."""
        require_choice(HintSource, source, path="source")
        now_ms = self._clock.now_ms()
        with self._store.transaction():
            record = self._existing(job_id)
            if record.hints == _NO_HINTS and record.next_source not in _BY_HINT:
                return  # Planning anew could only move what nobody advised.
            self._store.jobs.save_states([self._without_hints(record, now_ms)])
            self._store.events.append(now_ms, EventKind.JOB_HINTED, job_id, source=source, cleared=True)
        self._changed(Change(ChangeKind.JOB, job_id=job_id))

    def _propose(
        self, job_id: str, advice: Mapping[str, int], ttl: str, reason: str, source: HintSource
    ) -> None:
        now_ms = self._clock.now_ms()
        given = Hints(
            **advice,
            expires_at=now_ms + require_ttl(require_interval("ttl", ttl)),
            reason=printed_line(require_line("reason", reason, longest=LONGEST_REASON), LONGEST_REASON),
            source=source,
        )
        with self._store.transaction():
            record = self._existing(job_id)
            if not takes_hints(record.spec, now_ms):
                raise ScheduleError("a job that is never due by itself takes no hints", path="hints")
            hinted = record.evolve(hints=with_advice(still_counting(record.hints, now_ms), given))
            if not self._is_in_its_slot(record):
                hinted = plan_sooner(hinted, now_ms, self._store.runs.has_slot)
            self._store.jobs.save_states([hinted])
            detail = {name: value for name, value in given.to_dict().items() if value is not None}
            self._store.events.append(now_ms, EventKind.JOB_HINTED, job_id, **detail)
        self._changed(Change(ChangeKind.JOB, job_id=job_id))

    def set_group_limit(self, group: str, max_concurrent: int | None) -> None:
        """Let at most so many jobs of a group run at once; None lifts the limit."""
        require_label("group", group)
        if max_concurrent is not None:
            require_whole("max_concurrent", max_concurrent, 1)
        self._store.groups.set_limit(group, max_concurrent)
        self._changed(Change(ChangeKind.JOB))


def _is_paused_longer_by(record: JobRecord, until: int | None) -> bool:
    if record.disabled_reason is not None:
        return False
    if not record.paused:
        return True
    return record.paused_until is not None and (until is None or until > record.paused_until)


def _refuse_changed_since(record: JobRecord, seen: JobSpec | None) -> None:
    if seen is not None and record.paused_by is not None and record.spec != seen:
        raise ScheduleError(f"an assistant has changed {record.spec.name} since you looked; look at it again")
