"""Drafts: jobs as a file says them, before anything of them is stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from halo_scheduler.model import FollowOn, JobSpec
from halo_scheduler.quiet_times import QuietTime
from halo_scheduler.transfer.text_file import located


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
    `line` or `path` say where in the file it stands, `notes` what of it could not be kept.
    """

    spec: JobSpec
    job_id: str | None = None
    anchor_at: int | None = None
    followers: tuple[NamedFollower, ...] = ()
    says: frozenset[str] | None = None
    line: int | None = None
    path: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something in a file that cannot be taken in, with its place."""

    message: str
    line: int | None = None
    path: str = ""

    def __str__(self) -> str:
        return located(self.message, self.line, self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Something in a file that was understood but has no place here."""

    what: str
    why: str
    line: int | None = None


def _nowhere(_path: str) -> int | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafts:
    """All that a file holds; quiet times of None and groups that are not named stay as they are.

    `line_of` finds the line of a path, in files that have paths.
    """

    jobs: tuple[Draft, ...] = ()
    quiet_times: tuple[QuietTime, ...] | None = None
    group_limits: Mapping[str, int | None] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()
    faults: tuple[Fault, ...] = ()
    line_of: Callable[[str], int | None] = field(default=_nowhere, compare=False, repr=False)
