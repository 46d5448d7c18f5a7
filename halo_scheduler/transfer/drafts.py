"""Drafts: jobs as a file describes them, before anything is stored, and the check for endless chains."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.english import shortened
from halo_scheduler.model import Follower, FollowOn, JobSpec, Outcome, StatusReason
from halo_scheduler.model.codec import Value
from halo_scheduler.model.messages import Message
from halo_scheduler.model.schedules import keep_keys
from halo_scheduler.model.settings import QuietTime
from halo_scheduler.transfer.text_file import FileError, located

MOST_FAULTS = 1_000
LineOf = Callable[[str], int | None]
"""Finds the line of a path, in files that have paths."""


def _nowhere(_path: str) -> int | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFollower:
    """A follower named in a file, by name or by id."""

    name: str = ""
    job_id: str = ""
    on: FollowOn = FollowOn.SUCCESS


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedState(Value):
    """The part of a job's state that moves to another computer with it; `paused` is a pause by the user."""

    paused: bool = False
    paused_until: int | None = None
    disabled: StatusReason | None = None
    errors: int = 0
    last_run_at: int | None = None
    last_completed_at: int | None = None
    last_ended_at: int | None = None
    last_outcome: Outcome | None = None
    last_message: Message | None = None
    resumed_since_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A job in a file: its spec without followers. Without `anchor_at`, the anchor is set when the job is stored.

    `says` are the fields that the file sets, None for all; an existing job keeps its other fields. `has_made_up_name`
    means that the name was derived from the command; `replaced_name` is such a name, replaced by that of an existing
    job with the same schedule and command. `state` is the job's state in an archive. `file` and `line` or `path` are
    its place; `notes` list settings that could not be kept.
    """

    spec: JobSpec
    job_id: str | None = None
    anchor_at: int | None = None
    followers: tuple[NamedFollower, ...] = ()
    says: frozenset[str] | None = None
    has_made_up_name: bool = False
    replaced_name: str = ""
    state: MovedState | None = None
    file: str = ""
    line: int | None = None
    path: str = ""
    notes: tuple[str, ...] = ()
    line_of: LineOf = field(default=_nowhere, compare=False, repr=False)

    def fault(self, error: ScheduleError) -> Fault:
        """Return a fault of this draft, with its place."""
        if self.path:
            error = error.under(self.path)
        line = self.line_of(error.path) or self.line
        return Fault(message=error.message, line=line, path=error.path, file=self.file)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A part of a file that cannot be imported, with its place."""

    message: str
    file: str = ""
    line: int | None = None
    path: str = ""

    def __str__(self) -> str:
        return located(self.message, self.line, self.path, self.file)


def add_fault(faults: list[Fault], fault: Fault) -> None:
    """Record a fault; refuse the whole file when it has too many."""
    faults.append(fault)
    if len(faults) > MOST_FAULTS:
        raise too_many_faults(faults[0])


def too_many_faults(first: Fault) -> FileError:
    """Return the error for a file with too many faults, naming this one."""
    message = f"{first.message} (the first of more than {MOST_FAULTS} faults; is it the right file?)"
    return FileError(message, line=first.line, path=first.path, file=first.file)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A part of a file that was understood but has no equivalent here."""

    what: str
    why: str
    file: str = ""
    line: int | None = None

    def __str__(self) -> str:
        return located(f"{self.what}: {self.why}", self.line, file=self.file)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafts:
    """The content of a file; quiet times of None, and groups and settings that it doesn't name, stay unchanged."""

    jobs: tuple[Draft, ...] = ()
    quiet_times: tuple[QuietTime, ...] | None = None
    group_limits: Mapping[str, int | None] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()
    faults: tuple[Fault, ...] = ()


def of_file(drafts: Drafts, file: str) -> Drafts:
    """Return a file's drafts, each with the file's name."""
    return replace(
        drafts,
        jobs=tuple(replace(draft, file=file) for draft in drafts.jobs),
        left_out=tuple(replace(one, file=file) for one in drafts.left_out),
        faults=tuple(replace(one, file=file) for one in drafts.faults),
    )


def merged(parts: Sequence[Drafts]) -> Drafts:
    """Return the drafts of several files as one."""
    limits: dict[str, int | None] = {}
    faults = [one for part in parts for one in part.faults]
    for group, most in (item for part in parts for item in part.group_limits.items()):
        if limits.setdefault(group, most) != most:
            message = f"the files give the group {shortened(group)} different limits"
            faults.append(Fault(message=message, path="groups"))
    spoken_of = [part.quiet_times for part in parts if part.quiet_times is not None]
    return Drafts(
        jobs=tuple(draft for part in parts for draft in part.jobs),
        quiet_times=tuple(one for quiet_times in spoken_of for one in quiet_times) if spoken_of else None,
        group_limits=limits,
        left_out=tuple(one for part in parts for one in part.left_out),
        faults=tuple(dict.fromkeys(faults)),
    )


def find_meant(
    drafts: Sequence[Draft],
    jobs: Mapping[str, JobSpec],
    removed: Collection[str],
    new_id: Callable[[str], str],
) -> dict[str, Draft]:
    """Match drafts with jobs by id, else by name; return them by job id, a new id if nothing matches.

    A draft with a made-up name also matches a job with the same schedule and command, which may have been renamed
    since. Ids from the trash, `removed`, are not used again.
    """
    by_id = {draft.job_id for draft in drafts if draft.job_id in jobs}
    by_name = {spec.name: job_id for job_id, spec in jobs.items() if job_id not in by_id}
    if any(draft.has_made_up_name and draft.spec.name not in by_name for draft in drafts):
        drafts = list(_renamed(drafts, jobs, by_name))

    def meant_id(draft: Draft) -> str:
        if draft.job_id is not None and draft.job_id in jobs:
            return draft.job_id
        if draft.spec.name in by_name:
            return by_name[draft.spec.name]
        if draft.job_id is not None and draft.job_id not in removed:
            return draft.job_id
        return new_id(draft.spec.name)

    return {meant_id(draft): draft for draft in drafts}


def _renamed(
    drafts: Sequence[Draft], jobs: Mapping[str, JobSpec], by_name: Mapping[str, str]
) -> Iterator[Draft]:
    """Yield the drafts under the names their jobs have now."""
    names = {draft.spec.name for draft in drafts}
    others: dict[object, list[str]] = defaultdict(list)
    for name in sorted(by_name.keys() - names, reverse=True):
        spec = jobs[by_name[name]]
        others[spec.schedule, spec.action].append(name)
    for draft in drafts:
        same = others.get((draft.spec.schedule, draft.spec.action))
        if draft.has_made_up_name and draft.spec.name not in by_name and same:
            name = draft.spec.name
            yield replace(draft, spec=replace(draft.spec, name=same.pop()), replaced_name=name)
        else:
            yield draft


def complete(spec: JobSpec, followers: tuple[Follower, ...], anchor_at: int) -> JobSpec:
    """Return a spec with its followers and anchor. Most jobs have none, and copying thousands of specs is slow."""
    if not followers and spec.anchor_at == anchor_at:
        return spec
    return replace(spec, followers=followers, anchor_at=anchor_at)


def find_circles(
    followers: Mapping[str, Sequence[str]], given: Collection[str]
) -> Iterator[tuple[list[str], list[str]]]:
    """Yield each cycle, its first id repeated at the end, and the given jobs in it that are in no earlier cycle.

    `followers` are the ids of each job's followers. Only jobs reachable from the given ones are searched. After
    removing the yielded jobs, cycles through other jobs may remain: search again.
    """
    found: set[str] = set()
    for circle in _circles(followers, given, found):
        members = [job_id for job_id in circle[:-1] if job_id in given and job_id not in found]
        found.update(members)
        yield circle, members


def _circles(
    followers: Mapping[str, Sequence[str]], given: Collection[str], found: Collection[str]
) -> Iterator[list[str]]:
    """Walk every chain once; a link back to a job on the current path closes a cycle."""
    done: set[str] = set()
    for start in given:
        path: list[str] = []
        places: dict[str, int] = {}
        # An explicit stack: a chain may be deeper than Python's recursion limit.
        stack: list[tuple[str, bool]] = [(start, False)]
        while stack:
            job_id, is_left = stack.pop()
            if is_left:
                del places[path.pop()]
                done.add(job_id)
            elif job_id in places:
                if job_id not in found and path[-1] not in found:
                    yield [*path[places[job_id] :], job_id]
            elif job_id not in done and job_id in followers:
                places[job_id] = len(path)
                path.append(job_id)
                stack.append((job_id, True))
                stack += [(follower_id, False) for follower_id in reversed(followers[job_id])]


def with_kept_keys(spec: JobSpec, before: JobSpec) -> JobSpec:
    """Return a spec whose schedules, if the file gives no keys, have those of the same schedules from before."""
    schedule = keep_keys(spec.schedule, before.schedule)
    return spec if schedule is spec.schedule else replace(spec, schedule=schedule)
