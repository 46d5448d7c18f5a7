"""Importing jobs: what files say is looked at beside what there is, then stored whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from halo_scheduler.errors import ScheduleError, SchedulerError
from halo_scheduler.model import Condition, JobSpec, PathExists, StatusReason
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.ids import new_job_id
from halo_scheduler.rules.admission import refuse_chains, refuse_unobservable
from halo_scheduler.service.jobs import Editing, decides_consent
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.job_records import JobRecord

if TYPE_CHECKING:
    from halo_scheduler.conditions.probing import ConditionState
    from halo_scheduler.transfer.drafts import Draft, Drafts
    from halo_scheduler.transfer.import_plan import Alteration, Creation, Existing, ImportPlan

_PAGE = 500


class Importing(Editing):
    """Takes in what files say."""

    def plan_import(self, drafts: Drafts, *, prune: bool = False) -> ImportPlan:
        """Return what taking in drafts would change, without changing anything; `prune` removes all other jobs.

        Conditions that are new and cannot be observed here are faults; looking for that may take seconds.
        """
        from halo_scheduler.transfer.import_plan import plan_import  # noqa: PLC0415 - for those who import

        existing = self._existing_now()
        observable = self._without_unobservable(drafts, existing)
        return plan_import(
            observable, existing, self._clock.now_ms(), lambda _name: new_job_id(), prune=prune
        )

    def apply_import(
        self,
        plan: ImportPlan,
        *,
        paused: bool = True,
        skip_bad: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Do what a plan says, all or nothing; refused if it would be another one by now.

        New jobs start paused until a person has looked at them, unless `paused` is off. What has a fault is left
        out with `skip_bad`, otherwise nothing is stored. `progress` is told how many jobs are done.
        """
        if plan.faults and not skip_bad:
            more = f" (and {len(plan.faults) - 1} more)" if len(plan.faults) > 1 else ""
            raise SchedulerError(f"nothing was stored: {plan.faults[0]}{more}")
        now_ms = self._clock.now_ms()
        with self._store.transaction():
            self._refuse_outdated(plan)
            specs = {alteration.job_id: alteration.after for alteration in plan.changed}
            specs |= {creation.job_id: creation.spec for creation in plan.created}
            before = {alteration.job_id: alteration.before for alteration in plan.changed}
            refuse_chains(self._store, specs, before)
            for removal in plan.removed:
                self.remove_job(removal.job_id)
            asked = self._alter(plan.changed, now_ms)
            self._create(plan.created, now_ms, paused, progress or (lambda _count: None))
            self._change_surroundings(plan)
        changed = [*specs, *(removal.job_id for removal in plan.removed)]
        kinds = [ChangeKind.SETTINGS] * bool(plan.quiet_times) + [ChangeKind.JOB] * bool(plan.group_limits)
        told = [Change(ChangeKind.JOB, job_id=job_id) for job_id in changed]
        self._changed(*told, *asked, *map(Change, kinds))

    def _existing_now(self) -> Existing:
        from halo_scheduler.transfer.import_plan import Existing  # noqa: PLC0415

        return Existing(
            jobs={record.id: record.spec for record in self._store.jobs.all()},
            removed={record.id: record.spec for record in self._store.jobs.all(removed=True)},
            settings=self._store.settings.read(),
            group_limits=self._store.groups.limits(),
        )

    def _without_unobservable(self, drafts: Drafts, existing: Existing) -> Drafts:
        """Turn drafts whose conditions cannot be observed here into faults; what a job has already may stay."""
        from halo_scheduler.transfer.drafts import add_fault  # noqa: PLC0415

        known = {condition for spec in existing.jobs.values() for condition in spec.policy.conditions}
        check = _looking_once(self.check_condition)
        faults = list(drafts.faults)
        jobs: list[Draft] = []
        for draft in drafts.jobs:
            conditions = draft.spec.policy.conditions
            try:
                refuse_unobservable([draft.spec], [one for one in conditions if one in known], check)
            except ScheduleError as error:
                add_fault(faults, draft.fault(error))
            else:
                jobs.append(draft)
        return replace(drafts, jobs=tuple(jobs), faults=tuple(faults))

    def _refuse_outdated(self, plan: ImportPlan) -> None:
        """Refuse a plan that somebody was shown when the jobs were others."""
        from halo_scheduler.transfer.import_plan import plan_import  # noqa: PLC0415

        ids = plan.new_ids
        now = plan_import(
            plan.drafts,
            self._existing_now(),
            plan.made_at,
            lambda name: ids.get(name) or new_job_id(),
            prune=plan.prunes,
        )
        if now != plan:
            raise SchedulerError("the jobs were changed elsewhere since you looked; look at it again")

    def _alter(self, alterations: tuple[Alteration, ...], now_ms: int) -> list[Change]:
        changes: list[Change] = []
        renamed = [one for one in alterations if one.after.name != one.before.name]
        for one in renamed:
            # Two jobs may change their names with each other: no name may be there twice in between.
            self._store.jobs.save_spec(one.job_id, replace(one.before, name=new_job_id()), now_ms)
        for one in alterations:
            record = self._existing(one.job_id).evolve(spec=one.before)
            self._store.jobs.save_spec(one.job_id, one.after, now_ms)
            self._store.events.append(
                now_ms,
                EventKind.JOB_EDITED,
                one.job_id,
                before=one.before.to_dict(),
                after=one.after.to_dict(),
            )
            edited = self._after_edit(record, one.after, now_ms)
            self._store.jobs.save_states([edited])
            changes += self._ask_instead_of_retry(record, edited)
        if any(decides_consent(one.before, one.after) for one in alterations):
            changes += self._drop_refused_advice(now_ms)
        return changes

    def _create(
        self,
        creations: tuple[Creation, ...],
        now_ms: int,
        paused: bool,  # noqa: FBT001 - passed on as it was given
        progress: Callable[[int], None],
    ) -> None:
        for start in range(0, len(creations), _PAGE):
            page = creations[start : start + _PAGE]
            records = [self._imported(creation, now_ms, paused=paused) for creation in page]
            self._insert(records, now_ms)
            progress(start + len(page))

    def _imported(self, creation: Creation, now_ms: int, *, paused: bool) -> JobRecord:
        spec = creation.spec
        anchor_at = now_ms if creation.draft.anchor_at is None else spec.anchor_at
        given = {name: getattr(spec, name) for name in JobSpec.__dataclass_fields__}
        paused_by = StatusReason.IMPORTED if paused else None
        return self._new_record(
            {**given, "anchor_at": anchor_at, "job_id": creation.job_id, "paused_by": paused_by}, now_ms
        )

    def _change_surroundings(self, plan: ImportPlan) -> None:
        from halo_scheduler.transfer.surrounding_changes import changed_quiet_times  # noqa: PLC0415

        if plan.quiet_times:
            settings = self._store.settings.read()
            quiet_times = changed_quiet_times(settings.quiet_times, plan.quiet_times)
            settings = replace(settings, quiet_times=quiet_times)
            self._store.settings.save({"quiet_times": settings.quiet_times})
        for change in plan.group_limits:
            self._store.groups.set_limit(change.group, change.after)


def _looking_once(check: Callable[[Condition], ConditionState]) -> Callable[[Condition], ConditionState]:
    """Look once at each kind of condition, not for each of ten thousand jobs: what is observed here is of a kind."""
    states: dict[object, ConditionState] = {}

    def look(condition: Condition) -> ConditionState:
        key = condition if isinstance(condition, PathExists) else type(condition)
        if key not in states:
            states[key] = check(condition)
        return states[key]

    return look
