"""Editing jobs: what their owner says of them, from the first word to the trash."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from halo_scheduler.errors import JobNotFoundError, ScheduleError, SchedulerError
from halo_scheduler.grammar.checks import require_choice, require_label
from halo_scheduler.model import (
    Action,
    Callback,
    Follower,
    Hints,
    HintSource,
    JobSpec,
    Once,
    PassedReason,
    Policy,
    Prompt,
    Schedule,
    SkipReason,
    StatusReason,
)
from halo_scheduler.model.changes import Change, ChangeKind, changes_of
from halo_scheduler.model.ids import new_job_id, new_job_ids
from halo_scheduler.model.settings import Settings
from halo_scheduler.rules.admission import refuse_chains, refuse_unobservable
from halo_scheduler.rules.planning import plan, slept_through, without_plan, without_waiting
from halo_scheduler.service.writing import Writer
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.jobs import TRASH_MS

_SPEC_NAMES = {field.name for field in fields(JobSpec)}


class Editing(Writer):
    """Adds, changes and removes jobs."""

    def add_job(
        self,
        name: str,
        schedule: Schedule,
        action: Action | None = None,
        *,
        job_id: str | None = None,
        description: str = "",
        group: str | None = None,
        anchor_at: int | None = None,
        enabled: bool = True,
        policy: Policy | None = None,
        metadata: Mapping[str, str] | None = None,
        followers: Sequence[Follower] = (),
        paused_by: StatusReason | None = None,
    ) -> str:
        """Store a job and return its id; with `paused_by` it starts paused, and says because of whom."""
        (added,) = self.add_jobs(
            [
                {
                    "name": name,
                    "schedule": schedule,
                    "action": action,
                    "job_id": job_id,
                    "description": description,
                    "group": group,
                    "anchor_at": anchor_at,
                    "enabled": enabled,
                    "policy": policy,
                    "metadata": metadata,
                    "followers": followers,
                    "paused_by": paused_by,
                }
            ]
        )
        return added

    def add_jobs(self, jobs: Iterable[Mapping[str, Any]]) -> list[str]:
        """Store several jobs, all or none; each is given as the arguments of `add_job`.

        One may follow another of them, by its `job_id`. Conditions that cannot be observed here are refused, and
        looking for that may take seconds.
        """
        now_ms = self._clock.now_ms()
        given = [dict(job) for job in jobs]
        for job, new_id in zip(given, new_job_ids(len(given)), strict=True):
            job["job_id"] = job.get("job_id") or new_id
        records = [self._new_record(job, now_ms) for job in given]
        refuse_unobservable([record.spec for record in records], (), self.check_condition)
        return self._add(records, now_ms)

    def _add(self, records: list[JobRecord], now_ms: int) -> list[str]:
        with self._store.transaction():
            self._refuse_taken(records)
            refuse_chains(self._store, {record.id: record.spec for record in records})
            self._refuse_unknown_agents([record.spec for record in records])
            self._insert(records, now_ms)
        added = [record.id for record in records]
        self._changed(*changes_of(added))
        return added

    def _insert(self, records: list[JobRecord], now_ms: int) -> None:
        """Store new jobs, and what is to be known of their beginning."""
        self._store.jobs.insert(records)
        self._store.events.append_many(
            now_ms,
            EventKind.JOB_ADDED,
            [(record.id, {"name": record.spec.name, "enabled": record.spec.enabled}) for record in records],
        )
        for record in records:
            self._note_pause(record, now_ms)

    def _new_record(self, given: dict[str, Any], now_ms: int) -> JobRecord:
        job_id = given.pop("job_id", None) or new_job_id()
        require_label("job_id", job_id)
        paused_by = _checked(given.pop("paused_by", None))
        chosen = {key: value for key, value in given.items() if value is not None}
        spec = JobSpec(**{"action": Callback(), "anchor_at": now_ms, **chosen})
        if isinstance(spec.schedule, Once) and spec.schedule.due_at <= now_ms:
            raise ScheduleError("this time is in the past; give one that lies ahead", path="schedule.at")
        record = JobRecord(
            id=job_id,
            created_at=now_ms,
            updated_at=now_ms,
            spec=spec,
            counted_until=now_ms,
            disabled_reason=None if spec.enabled else StatusReason.USER,
            paused=paused_by is not None,
            paused_by=paused_by,
        )
        return plan(record, now_ms, lambda _job_id, _slot_at: False)

    def _refuse_taken(self, records: list[JobRecord]) -> None:
        names = self._store.jobs.taken_names(record.spec.name for record in records)
        ids = set(self._store.jobs.get_many(record.id for record in records))
        for record in records:
            name = record.spec.name
            if name in names:
                raise ScheduleError(
                    f"there is already a job named {name!r}; choose another name", path="name"
                )
            if record.id in ids:
                raise ScheduleError(f"there is already a job with the id {record.id!r}", path="job_id")
            names.add(name)
            ids.add(record.id)

    def _refuse_unknown_agents(self, specs: Iterable[JobSpec]) -> None:
        """Refuse prompts for an agent that the settings do not know; one may still be taken out of them later."""
        prompts = [spec.action for spec in specs if isinstance(spec.action, Prompt)]
        settings = self._store.settings.read() if prompts else Settings()
        for prompt in prompts:
            try:
                settings.find_agent(prompt.agent)
            except ScheduleError as error:
                raise error.under("action") from None

    def _note_pause(self, record: JobRecord, now_ms: int) -> None:
        if record.paused_by is not None:
            self._store.events.append(
                now_ms, EventKind.JOB_PAUSED, record.id, until=None, by=record.paused_by
            )

    def update_job(
        self,
        job_id: str,
        *,
        paused_by: StatusReason | None = None,
        seen: JobSpec | None = None,
        **changes: Any,
    ) -> None:
        """Change what is given of a job's spec, and nothing else; refused whole when it would be invalid.

        With `paused_by` the job is paused in the same step, and says because of whom. With `seen`, what the changes
        were made from, it is refused if the job is something else by now. Conditions that are new and cannot be
        observed here are refused; looking for that may take seconds.
        """
        self._refuse_unobservable_change(job_id, changes)
        self._update(job_id, changes, paused_by=paused_by, seen=seen)

    def _refuse_unobservable_change(self, job_id: str, changes: Mapping[str, Any]) -> None:
        """Refuse new conditions that cannot be observed here; never in a transaction, as others wait for its end."""
        policy = changes.get("policy")
        if isinstance(policy, Policy) and policy.conditions:
            spec = self._existing(job_id).spec
            changed = replace(spec, policy=policy)
            refuse_unobservable([changed], spec.policy.conditions, self.check_condition)

    def _update(
        self,
        job_id: str,
        changes: Mapping[str, Any],
        *,
        paused_by: StatusReason | None = None,
        seen: JobSpec | None = None,
    ) -> None:
        now_ms = self._clock.now_ms()
        paused_by = _checked(paused_by)
        unknown = set(changes) - _SPEC_NAMES
        if unknown:
            raise ScheduleError("is not a known field of a job", path=min(unknown))
        with self._store.transaction():
            record = self._existing(job_id)
            if seen is not None and record.spec != seen:
                raise SchedulerError(
                    f"{record.spec.name} was changed elsewhere since you looked; look at it again"
                )
            spec = replace(record.spec, **changes)
            if spec.name != record.spec.name and self._store.jobs.id_of_name(spec.name) is not None:
                raise ScheduleError(
                    f"there is already a job named {spec.name!r}; choose another name", path="name"
                )
            if "action" in changes:
                # Only what is new is refused: a job whose agent is gone can still be renamed.
                self._refuse_unknown_agents([spec])
            if spec.followers != record.spec.followers:
                refuse_chains(self._store, {job_id: spec}, {job_id: record.spec})
            self._store.jobs.save_spec(job_id, spec, now_ms)
            self._store.events.append(
                now_ms, EventKind.JOB_EDITED, job_id, before=record.spec.to_dict(), after=spec.to_dict()
            )
            edited = self._after_edit(record, spec, now_ms)
            if paused_by is not None:
                edited = edited.evolve(paused=True, paused_until=None, paused_by=paused_by)
                edited = plan(edited, now_ms, self._store.runs.has_slot)
                self._note_pause(edited, now_ms)
            self._store.jobs.save_states([edited])
            # What a person has yet to review starts nothing: the last failed attempt has the followers from before.
            in_force = spec if paused_by is None else record.spec
            changed = self._ask_instead_of_retry(record, edited.evolve(spec=in_force))
            if decides_consent(record.spec, spec):
                changed += self._drop_refused_advice(now_ms)
        self._changed(Change(ChangeKind.JOB, job_id=job_id), *changed)

    def _after_edit(self, record: JobRecord, spec: JobSpec, now_ms: int) -> JobRecord:
        edited = record.evolve(spec=spec)
        if spec.enabled != record.spec.enabled:
            edited = edited.evolve(disabled_reason=None if spec.enabled else StatusReason.USER)
        if spec.schedule != record.spec.schedule:
            if isinstance(spec.schedule, Once) and spec.schedule.due_at <= now_ms:
                raise ScheduleError("this time is in the past; give one that lies ahead", path="schedule.at")
            if edited.disabled_reason is StatusReason.DONE:
                edited = edited.evolve(disabled_reason=None)
        old, new = record.spec.policy, spec.policy
        if not new.assistants_may_run and edited.hints.source is HintSource.ASSISTANT:
            edited = edited.evolve(hints=Hints())
        if (old.conditions, old.condition_deadline) != (new.conditions, new.condition_deadline):
            # Whether it waits, and until when, is found out anew.
            edited = without_waiting(edited)
            self._forget_deadlines(record.id)
        is_replanned = (spec.schedule, spec.policy, spec.anchor_at, spec.enabled) != (
            *(record.spec.schedule, record.spec.policy, record.spec.anchor_at, record.spec.enabled),
        )
        if not is_replanned or self._is_in_its_slot(record):
            return edited
        if (spec.schedule, spec.anchor_at) != (record.spec.schedule, record.spec.anchor_at):
            # A retry that will not come any more leaves its slot failed.
            errors = edited.errors + int(edited.attempt > 1)
            edited = without_plan(edited.evolve(counted_until=now_ms, errors=errors))
        return plan(edited, now_ms, self._store.runs.has_slot, reason=PassedReason.EDITED)

    def _drop_refused_advice(self, now_ms: int) -> list[Change]:
        """Drop what assistants advised on jobs that they may not start, or that start such a job."""
        dropped = [
            self._without_hints(record, now_ms)
            for record in self._store.jobs.all()
            if record.hints.source is HintSource.ASSISTANT
            and not all(found.spec.policy.assistants_may_run for found in self._with_followers(record))
        ]
        self._store.jobs.save_states(dropped)
        return [Change(ChangeKind.JOB, job_id=record.id) for record in dropped]

    def _with_followers(self, record: JobRecord) -> Iterator[JobRecord]:
        """Yield a job, then the jobs that run after it, then those that run after them."""
        seen, found = {record.id}, [record]
        while found:
            yield from found
            following = {item.job_id for job in found for item in job.spec.followers} - seen
            seen |= following
            found = list(self._store.jobs.get_many(following).values()) if following else []

    def _forget_deadlines(self, job_id: str) -> None:
        """Let runs after other jobs that wait for their conditions begin anew to count how long."""
        waiting = [request for request in self._store.requests.chain_runs() if request.job_id == job_id]
        self._store.requests.save_waiting([replace(request, waits_until=None) for request in waiting])

    def remove_job(self, job_id: str) -> None:
        """Put a job into the trash, where it stays for 30 days."""
        now_ms = self._clock.now_ms()
        with self._store.transaction():
            record = self._existing(job_id)
            self._store.jobs.set_removed(job_id, now_ms)
            removed = plan(record.evolve(removed_at=now_ms), now_ms, self._store.runs.has_slot)
            self._store.jobs.save_states([removed])
            self._store.events.append(now_ms, EventKind.JOB_REMOVED, job_id)
            changed = self._ask_instead_of_retry(record, removed)
            self._store.jobs.purge(now_ms - TRASH_MS)
        self._changed(Change(ChangeKind.JOB, job_id=job_id), *changed)

    def restore_job(self, job_id: str) -> None:
        """Take a job out of the trash; it goes on from now."""
        now_ms = self._clock.now_ms()
        with self._store.transaction():
            record = self._store.jobs.get(job_id)
            if record is None or record.removed_at is None:
                raise JobNotFoundError(f"there is no removed job {job_id!r}")
            if self._store.jobs.id_of_name(record.spec.name) is not None:
                raise ScheduleError(
                    f"there is now another job named {record.spec.name!r}; rename it first", path="name"
                )
            refuse_chains(self._store, {job_id: record.spec}, {job_id: record.spec})
            self._store.jobs.set_removed(job_id, None)
            restored = record.evolve(removed_at=None, counted_until=now_ms)
            recorded: list[Change] = []
            if not self._is_in_its_slot(record):
                restored = plan(restored, now_ms, self._store.runs.has_slot)
                recorded = self._record_time_in_trash(record, now_ms)
            self._store.jobs.save_states([restored])
            self._store.events.append(now_ms, EventKind.JOB_RESTORED, job_id)
        self._changed(Change(ChangeKind.JOB, job_id=job_id), *recorded)

    def _record_time_in_trash(self, record: JobRecord, now_ms: int) -> list[Change]:
        """Record the one slot of a `once` whose time came while it lay in the trash."""
        skipped = slept_through(record, SkipReason.DISABLED, "the job was in the trash at that time", now_ms)
        if skipped is None or (skipped.slot_at or 0) > now_ms:
            return []
        if self._store.runs.has_slot(record.id, skipped.slot_at or 0):
            return []
        row = self._store.lease.read()
        self._store.runs.insert([skipped], 0 if row is None else row.generation)
        return [Change(ChangeKind.RUN_FINISHED, job_id=record.id, run_id=skipped.id)]


def decides_consent(before: JobSpec, after: JobSpec) -> bool:
    """Tell whether a change decides what assistants may start, by the job itself or by what runs after it."""
    old, new = before.policy.assistants_may_run, after.policy.assistants_may_run
    return (old, before.followers) != (new, after.followers)


def _checked(paused_by: StatusReason | None) -> StatusReason | None:
    return None if paused_by is None else require_choice(StatusReason, paused_by, path="paused_by")
