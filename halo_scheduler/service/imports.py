"""Importing jobs: compare drafts from files with the stored jobs, then apply the plan, all or nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from halo_scheduler.errors import ScheduleError, SchedulerError
from halo_scheduler.model import Condition, JobSpec, Once, PathExists, Schedule, StatusReason
from halo_scheduler.model.changes import IMPORT, ChangeKind
from halo_scheduler.model.jobs import new_job_id
from halo_scheduler.rules.assistants import decides_consent, drop_refused_advice, refuse_assistants
from halo_scheduler.rules.edit import Edit, refuse_chains, refuse_unobservable
from halo_scheduler.rules.job_edits import change_spec, insert, new_record, remove
from halo_scheduler.service.session import Session
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.run_transfer import RunCopy, RunTransfer

if TYPE_CHECKING:
    from halo_scheduler.conditions.probes import ConditionState
    from halo_scheduler.transfer.drafts import Draft, Drafts, MovedState
    from halo_scheduler.transfer.import_plan import Alteration, Creation, Existing, ImportPlan

_PAGE = 500
_PAGE_BYTES = 8 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRuns:
    """The runs that an import adds to the history: how many, and when the first and the last began or ended."""

    count: int = 0
    first_at: int = 0
    last_at: int = 0


class Imports:
    """Plans and applies imports of jobs, settings, quiet hours, group limits and histories."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._store = session.store

    def plan(self, drafts: Drafts, *, prune: bool = False) -> ImportPlan:
        """Return what importing drafts would change, without changing anything; `prune` removes all other jobs.

        New conditions that this system cannot probe are faults; checking that may take seconds.
        """
        from halo_scheduler.transfer.import_plan import plan_import  # noqa: PLC0415 - only to import

        existing = self._existing_now()
        observable = self._without_unobservable(drafts, existing)
        return plan_import(
            observable, existing, self._session.clock.now_ms(), lambda _name: new_job_id(), prune=prune
        )

    def apply(
        self,
        plan: ImportPlan,
        *,
        paused: bool = True,
        skip_bad: bool = False,
        progress: Callable[[int], None] | None = None,
        runs: Iterable[RunCopy] = (),
        run_count: int = 0,
    ) -> None:
        """Apply a plan, all or nothing; refused if the jobs have changed since it was made.

        `runs` are those of the imported jobs on another computer, at most `run_count`. They become older than any here.

        New jobs start paused until a person reviews them, unless `paused` is off. With `skip_bad` faulty drafts are
        left out, otherwise nothing is stored. `progress` is called with the number of jobs done.
        """
        if plan.faults and not skip_bad:
            more = f" (and {len(plan.faults) - 1} more)" if len(plan.faults) > 1 else ""
            raise SchedulerError(f"nothing was stored: {plan.faults[0]}{more}")
        with self._session.edit() as edit:
            refuse_assistants(edit.actor, "import jobs")
            edit.actor = IMPORT
            self._refuse_outdated(plan)
            _refuse_chains_of(edit, plan)
            for removal in plan.removed:
                remove(edit, removal.job_id)
            _alter(edit, plan.changed)
            _create(edit, plan.created, progress or (lambda _count: None), paused=paused)
            _change_surroundings(edit, plan)
            _add_runs(edit, self._of_jobs_here(plan, runs), run_count)

    def find_new_runs(self, plan: ImportPlan, runs: Iterable[RunCopy]) -> NewRuns:
        """Return which runs an import would add: those of its jobs that are not stored here."""
        transfer = RunTransfer(self._store.database)
        found = NewRuns()
        for page in _pages(self._of_jobs_here(plan, runs)):
            known = transfer.known(copy.run.id for copy in page)
            for run in (copy.run for copy in page if copy.run.id not in known):
                at = run.started_at or run.finished_at or 0
                first = min(found.first_at, at) if found.count else at
                found = NewRuns(count=found.count + 1, first_at=first, last_at=max(found.last_at, at))
        return found

    def missing_secrets(self, plan: ImportPlan) -> list[str]:
        """Return the names of secrets that the imported jobs use and that are not set."""
        actions = [one.spec.action for one in plan.created] + [one.after.action for one in plan.changed]
        known = {secret.name for secret in self._session.secrets.list()}
        return sorted({name for action in actions for name in _secret_names(action)} - known)

    def _of_jobs_here(self, plan: ImportPlan, runs: Iterable[RunCopy]) -> Iterator[RunCopy]:
        """Yield the runs with the ids that their jobs have here, without those of jobs that are not imported."""
        ids = {spec.name: job_id for job_id, spec in self._existing_now().jobs.items()}
        unchanged = set(plan.unchanged)
        meant = {
            draft.job_id: ids[draft.spec.name] for draft in plan.drafts.jobs if draft.spec.name in unchanged
        }
        meant |= {changed.draft.job_id: changed.job_id for changed in plan.changed}
        meant |= {created.draft.job_id: created.job_id for created in plan.created}
        for copy in runs:
            job_id = meant.get(copy.run.job_id)
            if job_id == copy.run.job_id:
                yield copy
            elif job_id is not None:
                yield replace(copy, run=replace(copy.run, job_id=job_id))

    def _existing_now(self) -> Existing:
        from halo_scheduler.transfer.import_plan import Existing  # noqa: PLC0415

        return Existing(
            jobs={record.id: record.spec for record in self._store.jobs.all()},
            removed={record.id: record.spec for record in self._store.jobs.all(removed=True)},
            settings=self._store.settings.read(),
            group_limits=self._store.groups.limits(),
        )

    def _without_unobservable(self, drafts: Drafts, existing: Existing) -> Drafts:
        """Turn drafts with new conditions or events that this system cannot observe into faults."""
        from halo_scheduler.transfer.drafts import add_fault  # noqa: PLC0415

        known = {one for spec in existing.jobs.values() for one in _observed(spec)}
        known_sources = [stored.source for stored in self._store.day_sources.all()]
        check = _checking_once(self._session.check_condition)
        faults = list(drafts.faults)
        jobs: list[Draft] = []
        for draft in drafts.jobs:
            try:
                refuse_unobservable(
                    [draft.spec],
                    [one for one in _observed(draft.spec) if one in known],
                    check,
                    self._session.why_unobservable,
                )
                filled = self._session.with_days(draft.spec.schedule, known_sources)
            except ScheduleError as error:
                add_fault(faults, draft.fault(error))
            else:
                is_same = filled is draft.spec.schedule
                jobs.append(draft if is_same else replace(draft, spec=replace(draft.spec, schedule=filled)))
        return replace(drafts, jobs=tuple(jobs), faults=tuple(faults))

    def _refuse_outdated(self, plan: ImportPlan) -> None:
        """Refuse a plan if the jobs have changed since it was shown."""
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
            raise SchedulerError("the jobs were changed elsewhere in the meantime; review it again")


def _observed(spec: JobSpec) -> list[Condition | Schedule]:
    """Return the conditions and events of a job."""
    return [*spec.policy.conditions, *(entry.schedule for entry in spec.events)]


def _secret_names(action: object) -> frozenset[str]:
    own: frozenset[str] = getattr(action, "secret_names", frozenset())
    source = getattr(action, "work_source", None)
    return own if source is None else own | source.secret_names


def _refuse_chains_of(edit: Edit, plan: ImportPlan) -> None:
    specs = {alteration.job_id: alteration.after for alteration in plan.changed}
    specs |= {creation.job_id: creation.spec for creation in plan.created}
    refuse_chains(edit.store, specs, {alteration.job_id: alteration.before for alteration in plan.changed})


def _alter(edit: Edit, alterations: tuple[Alteration, ...]) -> None:
    renamed = [one for one in alterations if one.after.name != one.before.name]
    for one in renamed:
        # Two jobs may swap their names: no name may exist twice in between.
        edit.store.jobs.save_spec(one.job_id, replace(one.before, name=new_job_id()), edit.now_ms)
    for one in alterations:
        record = edit.store.jobs.require(one.job_id).evolve(spec=one.before)
        edit.save(record, change_spec(edit, record, one.after))
    if any(decides_consent(one.before, one.after) for one in alterations):
        drop_refused_advice(edit)


def _create(
    edit: Edit, creations: tuple[Creation, ...], progress: Callable[[int], None], *, paused: bool
) -> None:
    for start in range(0, len(creations), _PAGE):
        page = creations[start : start + _PAGE]
        insert(edit, [_record_of(creation, edit, paused=paused) for creation in page])
        for creation in page:
            edit.changed(ChangeKind.JOB, creation.job_id)
        progress(start + len(page))


def _record_of(creation: Creation, edit: Edit, *, paused: bool) -> JobRecord:
    given = {name: getattr(creation.spec, name) for name in JobSpec.__dataclass_fields__}
    given["job_id"] = creation.job_id
    given["paused_by"] = StatusReason.IMPORTED if paused else None
    if creation.draft.anchor_at is None:
        given["anchor_at"] = edit.now_ms
    state = creation.draft.state
    if state is None:
        return new_record(given, edit.actor, edit.now_ms)
    return _moved(edit, given, state)


def _moved(edit: Edit, given: dict[str, Any], state: MovedState) -> JobRecord:
    """Return a new job with its state on another computer; a pause or a review here counts more than that there."""
    schedule = given["schedule"]
    is_over = isinstance(schedule, Once) and schedule.due_at <= edit.now_ms
    if is_over:
        given["paused_by"] = None  # It will not run, so that there is nothing to review.
    record = new_record(given, edit.actor, edit.now_ms, is_over=is_over)
    if not record.paused and state.paused and (state.paused_until or math.inf) > edit.now_ms and not is_over:
        record = record.evolve(paused=True, paused_until=state.paused_until)
    by = StatusReason.DONE if is_over else state.disabled
    return edit.plan(
        record.evolve(
            disabled_reason=record.disabled_reason or by,
            errors=state.errors,
            last_run_at=state.last_run_at,
            last_completed_at=state.last_completed_at,
            last_ended_at=state.last_ended_at,
            last_outcome=state.last_outcome,
            last_message=state.last_message,
            resumed_since_run=state.resumed_since_run,
        )
    )


def _add_runs(edit: Edit, runs: Iterable[RunCopy], count: int) -> None:
    transfer = RunTransfer(edit.store.database)
    place = transfer.first_place(count)
    for page in _pages(runs):
        transfer.insert(page, place)
        place += len(page)
    if count:
        edit.changed(ChangeKind.JOB)


def _pages(runs: Iterable[RunCopy]) -> Iterator[list[RunCopy]]:
    page: list[RunCopy] = []
    size = 0
    for copy in runs:
        page.append(copy)
        size += len(copy.output.content) if copy.output else 0
        if len(page) == _PAGE or size > _PAGE_BYTES:
            yield page
            page, size = [], 0
    if page:
        yield page


def _change_surroundings(edit: Edit, plan: ImportPlan) -> None:
    """Store the settings, quiet hours and group limits of a plan."""
    from halo_scheduler.transfer.import_changes import changed_quiet_times  # noqa: PLC0415

    changes = {change.name: change.after for change in plan.settings}
    if plan.quiet_times:
        before = edit.store.settings.read().quiet_times
        changes["quiet_times"] = changed_quiet_times(before, plan.quiet_times)
    if changes:
        replace(edit.store.settings.read(), **changes)  # raises unless they are valid together
        edit.store.settings.save(changes)
        edit.changed(ChangeKind.SETTINGS)
    for change in plan.group_limits:
        edit.store.groups.set_limit(change.group, change.after)
        edit.changed(ChangeKind.JOB)


def _checking_once(check: Callable[[Condition], ConditionState]) -> Callable[[Condition], ConditionState]:
    """Check each kind of condition once rather than per job: a system supports a kind or does not."""
    states: dict[object, ConditionState] = {}

    def check_kind(condition: Condition) -> ConditionState:
        key = condition if isinstance(condition, PathExists) else type(condition)
        if key not in states:
            states[key] = check(condition)
        return states[key]

    return check_kind
