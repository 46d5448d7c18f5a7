"""Drafts: jobs as a file says them, before anything of them is stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.english import shortened
from halo_scheduler.model import FollowOn, JobSpec
from halo_scheduler.model.quiet_times import QuietTime
from halo_scheduler.transfer.text_file import FileError, located

MOST_FAULTS = 1_000
LineOf = Callable[[str], int | None]
"""Finds the line of a path, in files that have paths."""


def _nowhere(_path: str) -> int | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFollower:
    """A job that is to follow another, by its name; or by its id, where it has no name that others know."""

    name: str = ""
    job_id: str = ""
    on: FollowOn = FollowOn.SUCCESS


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A job of a file: its spec without followers; no `anchor_at` leaves it to whoever stores the job.

    `says` are the fields of the spec that the file speaks of, None all of them: a job that is there keeps the others.
    `has_made_up_name` says that the name is ours, after what it runs, and not one that somebody goes by.
    `file`, and `line` or `path`, say where it stands, `notes` what of it could not be kept.
    """

    spec: JobSpec
    job_id: str | None = None
    anchor_at: int | None = None
    followers: tuple[NamedFollower, ...] = ()
    says: frozenset[str] | None = None
    has_made_up_name: bool = False
    file: str = ""
    line: int | None = None
    path: str = ""
    notes: tuple[str, ...] = ()
    line_of: LineOf = field(default=_nowhere, compare=False, repr=False)

    def fault(self, error: ScheduleError) -> Fault:
        """Return what is wrong with it, with its place."""
        if self.path:
            error = error.under(self.path)
        line = self.line or self.line_of(error.path)
        return Fault(message=error.message, line=line, path=error.path, file=self.file)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something in a file that cannot be taken in, with its place."""

    message: str
    file: str = ""
    line: int | None = None
    path: str = ""

    def __str__(self) -> str:
        return located(self.message, self.line, self.path, self.file)


def add_fault(faults: list[Fault], fault: Fault) -> None:
    """Note a fault; a file with too many is refused whole: it is not what it was taken for."""
    faults.append(fault)
    if len(faults) > MOST_FAULTS:
        raise too_many_faults(faults[0])


def too_many_faults(first: Fault) -> FileError:
    """Return the refusal of a file that has this fault and far too many more."""
    message = f"{first.message} (the first of more than {MOST_FAULTS} faults; is it the right file?)"
    return FileError(message, line=first.line, path=first.path, file=first.file)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Something in a file that was understood but has no place here."""

    what: str
    why: str
    file: str = ""
    line: int | None = None

    def __str__(self) -> str:
        return located(f"{self.what}: {self.why}", self.line, file=self.file)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafts:
    """All that a file holds; quiet times of None and groups that are not named stay as they are."""

    jobs: tuple[Draft, ...] = ()
    quiet_times: tuple[QuietTime, ...] | None = None
    group_limits: Mapping[str, int | None] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()
    faults: tuple[Fault, ...] = ()


def of_file(drafts: Drafts, file: str) -> Drafts:
    """Return what a file holds, with its name on everything."""
    return replace(
        drafts,
        jobs=tuple(replace(draft, file=file) for draft in drafts.jobs),
        left_out=tuple(replace(one, file=file) for one in drafts.left_out),
        faults=tuple(replace(one, file=file) for one in drafts.faults),
    )


def merged(parts: Sequence[Drafts]) -> Drafts:
    """Return what several files hold together."""
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
