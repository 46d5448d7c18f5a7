"""Plans an import: compares drafts with the stored jobs before anything is stored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.english import shortened, shown
from halo_scheduler.model import Follower, JobSpec, Once, Prompt
from halo_scheduler.model.settings import Settings
from halo_scheduler.rules.chains import circle_fault
from halo_scheduler.transfer.drafts import (
    Draft,
    Drafts,
    Fault,
    LeftOut,
    NamedFollower,
    add_fault,
    complete,
    find_circles,
    find_meant,
    with_kept_keys,
)
from halo_scheduler.transfer.import_changes import (
    FieldChange,
    LimitChange,
    QuietTimeChange,
    SettingChange,
    changed_quiet_times,
    changed_settings,
    changes_between,
    is_same_once,
    limit_changes,
    quiet_time_changes,
    setting_changes,
)
from halo_scheduler.transfer.job_form import job_to_plain
from halo_scheduler.wording.schedules import describe


@dataclass(frozen=True, slots=True, kw_only=True)
class Existing:
    """The state before an import; specs by job id."""

    jobs: Mapping[str, JobSpec] = field(default_factory=dict)
    removed: Mapping[str, JobSpec] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    group_limits: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Creation:
    """A job to create; its anchor is set when it is stored, unless the draft has one."""

    job_id: str
    draft: Draft
    spec: JobSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Alteration:
    """A job to change."""

    job_id: str
    draft: Draft
    before: JobSpec
    after: JobSpec
    changes: tuple[FieldChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """A job to remove because no file contains it."""

    job_id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportPlan:
    """The changes of an import; jobs with faults are not part of it.

    `prunes` means that other jobs are removed, but only without faults.
    """

    drafts: Drafts
    made_at: int
    prunes: bool = False
    created: tuple[Creation, ...] = ()
    changed: tuple[Alteration, ...] = ()
    unchanged: tuple[str, ...] = ()
    found_alike: Mapping[str, str] = field(default_factory=dict)
    """The names of existing jobs with the same schedule and command, by the names that new jobs would have got."""
    removed: tuple[Removal, ...] = ()
    quiet_times: tuple[QuietTimeChange, ...] = ()
    group_limits: tuple[LimitChange, ...] = ()
    settings: tuple[SettingChange, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    faults: tuple[Fault, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the import changes nothing."""
        jobs = self.created or self.changed or self.removed
        return not (jobs or self.quiet_times or self.group_limits or self.settings)

    @property
    def new_ids(self) -> dict[str, str]:
        """The ids of new jobs by name."""
        return {creation.spec.name: creation.job_id for creation in self.created}


def plan_import(
    drafts: Drafts, existing: Existing, now_ms: int, new_id: Callable[[str], str], *, prune: bool = False
) -> ImportPlan:
    """Plan the import of drafts; `new_id` returns an id for a new job's name, if its draft has no usable one.

    FileError if far too many drafts have faults.
    """
    return _Planner(drafts, existing, now_ms, new_id).plan(prune=prune)


class _Planner:
    """Matches drafts with stored jobs, and drops impossible drafts until the rest is consistent."""

    def __init__(self, drafts: Drafts, existing: Existing, now_ms: int, new_id: Callable[[str], str]) -> None:
        self._drafts = drafts
        self._existing = existing
        self._now_ms = now_ms
        self._new_id = new_id
        self._faults = list(drafts.faults)
        self._left_out = list(drafts.left_out)
        self._settings = setting_changes(existing.settings, drafts.settings)
        self._meant: dict[str, Draft] = {}
        """The drafts by the ids of their jobs, in the order of the file."""
        self._carried: dict[str, str] = {}
        """The ids of the matched jobs, by their ids in the file."""
        self._kept: Mapping[str, JobSpec] = existing.jobs
        """The existing jobs, without those to be removed."""

    def plan(self, *, prune: bool) -> ImportPlan:
        self._meant = find_meant(
            self._without_twins(), self._existing.jobs, self._existing.removed, self._new_id
        )
        self._carried = {draft.job_id: job_id for job_id, draft in self._meant.items() if draft.job_id}
        if prune:
            self._kept = {job_id: spec for job_id, spec in self._kept.items() if job_id in self._meant}
        self._leave_out_what_is_past()
        specs = self._specs()
        names = self._names(self._existing.jobs)
        changed: list[Alteration] = []
        unchanged: list[Alteration] = []
        for job_id, spec in specs.items():
            if job_id in self._existing.jobs:
                alteration = self._alteration(job_id, spec, names)
                (changed if alteration.changes else unchanged).append(alteration)
        self._refuse_too_many_quiet_times()
        existing, asked = self._existing, prune
        prune = prune and not self._faults
        return ImportPlan(
            drafts=self._drafts,
            made_at=self._now_ms,
            prunes=asked,
            created=tuple(
                Creation(job_id=job_id, draft=self._meant[job_id], spec=spec)
                for job_id, spec in specs.items()
                if job_id not in existing.jobs
            ),
            changed=tuple(changed),
            unchanged=tuple(alteration.before.name for alteration in unchanged),
            found_alike={
                draft.replaced_name: draft.spec.name for draft in self._meant.values() if draft.replaced_name
            },
            removed=tuple(self._removals()) if prune else (),
            quiet_times=quiet_time_changes(
                existing.settings.quiet_times, self._drafts.quiet_times, prune=prune
            ),
            group_limits=limit_changes(existing.group_limits, self._drafts.group_limits, prune=prune),
            settings=self._settings,
            left_out=tuple(self._left_out),
            faults=tuple(self._faults),
        )

    # --- Matching drafts with jobs ---------------------------------------------------------------------

    def _without_twins(self) -> list[Draft]:
        """Return the drafts without those that repeat an earlier name or id."""
        names: dict[str, Draft] = {}
        ids: dict[str, Draft] = {}
        found: list[Draft] = []
        for draft in self._drafts.jobs:
            if (twin := names.get(draft.spec.name)) is not None:
                self._refuse_twin(draft, twin, "name")
            elif (twin := ids.get(draft.job_id or "")) is not None:
                self._refuse_twin(draft, twin, "id")
            else:
                found.append(draft)
            names.setdefault(draft.spec.name, draft)
            if draft.job_id:
                ids.setdefault(draft.job_id, draft)
        return found

    def _refuse_twin(self, draft: Draft, twin: Draft, field: str) -> None:
        where = "" if draft.file == twin.file else f", in {twin.file}"
        self._fault(draft, ScheduleError(f"another imported job has this {field}{where}", path=field))

    def _leave_out_what_is_past(self) -> None:
        past: set[str] = set()
        for job_id, draft in list(self._meant.items()):
            # An archive also contains finished jobs, because of their runs.
            if draft.state is None and job_id not in self._existing.jobs and self._is_past(draft.spec):
                del self._meant[job_id]
                past.add(draft.spec.name)
                self._leave_out(draft, f"its only time is in the past: {describe(draft.spec.schedule)}")
        for job_id, draft in self._meant.items() if past else ():
            self._meant[job_id] = self._without_past(draft, past)

    def _without_past(self, draft: Draft, past: set[str]) -> Draft:
        """Return a draft without followers that were skipped because they would never run."""
        for name in sorted({follower.name for follower in draft.followers} & past):
            self._leave_out(draft, f"{shortened(name)}, which should run after it, is skipped")
        kept = tuple(follower for follower in draft.followers if follower.name not in past)
        return draft if kept == draft.followers else replace(draft, followers=kept)

    def _leave_out(self, draft: Draft, why: str) -> None:
        line = draft.line or draft.line_of(draft.path)
        self._left_out.append(LeftOut(what=draft.spec.name, why=why, file=draft.file, line=line))

    def _is_past(self, spec: JobSpec) -> bool:
        return isinstance(spec.schedule, Once) and spec.schedule.due_at <= self._now_ms

    # --- The resulting specs -----------------------------------------------------------------------------

    def _specs(self) -> dict[str, JobSpec]:
        """Return the resulting specs by job id; drop impossible drafts and everything that needs them."""
        ids = {name: job_id for job_id, name in self._names(self._kept).items()}
        taken = {spec.name for job_id, spec in self._kept.items() if job_id not in self._meant}
        needed_by = self._needed_by()
        specs: dict[str, JobSpec] = {}
        looked_at: Iterable[str] = list(self._meant)
        while True:
            bad: dict[str, ScheduleError] = {}
            for job_id in looked_at:
                try:
                    specs[job_id] = self._spec(job_id, self._meant[job_id], ids, taken)
                except ScheduleError as error:
                    bad[job_id] = error
            bad = bad or self._circles(specs)
            if not bad:
                return {job_id: specs[job_id] for job_id in self._meant}
            touched: dict[str, None] = {}
            for job_id, fault in bad.items():
                draft = self._meant.pop(job_id)
                specs.pop(job_id, None)
                self._fault(draft, fault)
                touched |= dict.fromkeys(self._give_back(job_id, draft, ids, taken, needed_by))
            looked_at = [job_id for job_id in touched if job_id in self._meant]

    def _needed_by(self) -> Mapping[str, list[str]]:
        """Return the jobs that depend on a name or id: those that have it as follower, and those that claim it."""
        found: dict[str, list[str]] = defaultdict(list)
        for job_id, draft in self._meant.items():
            for word in (draft.spec.name, *(named.name or named.job_id for named in draft.followers)):
                found[word].append(job_id)
        return found

    def _give_back(
        self,
        job_id: str,
        draft: Draft,
        ids: dict[str, str],
        taken: set[str],
        needed_by: Mapping[str, list[str]],
    ) -> Iterator[str]:
        """Undo a dropped draft's claims on names, and yield the jobs to check again."""
        words = {draft.spec.name, draft.job_id or ""}
        if ids.get(draft.spec.name) == job_id:
            del ids[draft.spec.name]
        before = self._existing.jobs.get(job_id)
        if before is not None:
            ids[before.name] = job_id
            taken.add(before.name)
            words.add(before.name)
        for word in sorted(words):
            yield from needed_by.get(word, ())

    def _spec(self, job_id: str, draft: Draft, ids: Mapping[str, str], taken: set[str]) -> JobSpec:
        if draft.spec.name in taken:
            raise ScheduleError(
                f"there is already another job named {shown(draft.spec.name)}; choose another name",
                path="name",
            )
        before = self._existing.jobs.get(job_id)
        followers = tuple(self._followers(job_id, draft, ids))
        if before is None:
            spec = complete(draft.spec, followers, draft.anchor_at or 0)
        else:
            spec = self._changed_spec(before, draft, followers)
        if isinstance(spec.action, Prompt) and (before is None or before.action != spec.action):
            self._refuse_unknown_agent(spec.action)
        return spec

    def _changed_spec(self, before: JobSpec, draft: Draft, followers: tuple[Follower, ...]) -> JobSpec:
        anchor_at = before.anchor_at if draft.anchor_at is None else draft.anchor_at
        spec = with_kept_keys(complete(draft.spec, followers, anchor_at), before)
        if draft.says is not None:
            spec = replace(before, **{name: getattr(spec, name) for name in draft.says})
        if is_same_once(before, spec):
            # The same instant written differently is not a new time, which would have to be in the future.
            return replace(spec, schedule=before.schedule)
        if spec.schedule != before.schedule and self._is_past(spec):
            raise ScheduleError("this time is in the past; enter a future time", path="schedule.once")
        return spec

    def _followers(self, job_id: str, draft: Draft, ids: Mapping[str, str]) -> Iterator[Follower]:
        """Yield a job's followers by id."""
        found: set[str] = set()
        for index, named in enumerate(draft.followers):
            follower_id = self._follower_id(job_id, named, ids)
            path = f"followers[{index}]"
            if follower_id is None:
                words = f"named {shown(named.name)}" if named.name else f"with the id {shown(named.job_id)}"
                raise ScheduleError(f"there is no job {words} to run next", path=path)
            if follower_id == job_id:
                name = shortened(draft.spec.name)
                raise ScheduleError(f"{name} → {name}: a job cannot run after itself", path=path)
            if follower_id in found:
                raise ScheduleError("the same job is listed twice; choose `always` instead", path=path)
            found.add(follower_id)
            yield Follower(job_id=follower_id, on=named.on)

    def _follower_id(self, job_id: str, named: NamedFollower, ids: Mapping[str, str]) -> str | None:
        if named.name:
            return ids.get(named.name)
        before = self._existing.jobs.get(job_id)
        known = {follower.job_id for follower in before.followers} if before is not None else set()
        carried = self._carried.get(named.job_id)
        if carried in self._meant:
            return carried
        known -= self._existing.jobs.keys() - self._kept.keys()
        return named.job_id if named.job_id in known or named.job_id in self._kept else None

    def _refuse_unknown_agent(self, prompt: Prompt) -> None:
        try:
            changed_settings(self._existing.settings, self._settings).find_agent(prompt.agent)
        except ScheduleError as error:
            # Agents belong to the computer: no file contains them.
            message = f"{error.message}; add it first, with: halo agent set"
            raise ScheduleError(message, path=error.path).under("action") from None

    def _circles(self, specs: Mapping[str, JobSpec]) -> dict[str, ScheduleError]:
        """Return the jobs in the file that would start each other endlessly, each with its circle."""
        starts = {job_id: None for job_id, spec in specs.items() if spec.followers}
        if not starts:
            return {}
        known = {**self._existing.removed, **self._existing.jobs, **specs}
        followers = {
            job_id: [follower.job_id for follower in spec.followers]
            for job_id, spec in known.items()
            if spec.followers
        }
        faults: dict[str, ScheduleError] = {}
        for circle, members in find_circles(followers, starts):
            message = circle_fault([shortened(known[job_id].name) for job_id in circle])
            faults |= {job_id: ScheduleError(message, path="followers") for job_id in members}
        return faults

    # --- The changes ---------------------------------------------------------------------------

    def _names(self, jobs: Mapping[str, JobSpec]) -> dict[str, str]:
        """Return the resulting names by job id."""
        before = {job_id: spec.name for job_id, spec in jobs.items()}
        return before | {job_id: draft.spec.name for job_id, draft in self._meant.items()}

    def _alteration(self, job_id: str, spec: JobSpec, names: Mapping[str, str]) -> Alteration:
        before = self._existing.jobs[job_id]
        changes: Iterable[FieldChange] = ()
        if spec != before:
            changes = changes_between(job_to_plain(before, names), job_to_plain(spec, names))
        return Alteration(
            job_id=job_id, draft=self._meant[job_id], before=before, after=spec, changes=tuple(changes)
        )

    def _refuse_too_many_quiet_times(self) -> None:
        settings = self._existing.settings
        changes = quiet_time_changes(settings.quiet_times, self._drafts.quiet_times)
        try:
            replace(settings, quiet_times=changed_quiet_times(settings.quiet_times, changes))
        except ScheduleError as error:
            self._faults.append(Fault(message=error.message, path=error.path))

    def _removals(self) -> Iterator[Removal]:
        for job_id, spec in sorted(self._existing.jobs.items(), key=lambda item: item[1].name):
            if job_id not in self._meant:
                yield Removal(job_id=job_id, name=spec.name)

    def _fault(self, draft: Draft, error: ScheduleError) -> None:
        add_fault(self._faults, draft.fault(error))
