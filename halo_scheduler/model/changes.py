"""Changes, and the actors who make them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

from halo_scheduler.grammar.english import UNNAMED_ASSISTANT

_MOST_TOLD = 20
_LONGEST_NAME = 60


class ActorKind(StrEnum):
    """Who makes an edit."""

    YOU = "you"
    """A person in the desktop program, or a program that uses the library."""
    TERMINAL = "terminal"
    ASSISTANT = "assistant"
    IMPORT = "import"
    ADVISER = "adviser"
    CHAT = "chat"
    """A person who writes to a bot."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Who makes an edit; an assistant has a name."""

    kind: ActorKind
    name: str = ""

    @classmethod
    def assistant(cls, given: str) -> Self:
        """Return an assistant, named in one short line of printable characters."""
        seen = "".join(sign if sign.isprintable() else " " for sign in given[: 10 * _LONGEST_NAME])
        name = " ".join(seen.split()) or UNNAMED_ASSISTANT
        return cls(
            ActorKind.ASSISTANT, name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
        )

    @property
    def is_assistant(self) -> bool:
        return self.kind is ActorKind.ASSISTANT


YOU = Actor(ActorKind.YOU)

TERMINAL = Actor(ActorKind.TERMINAL)

IMPORT = Actor(ActorKind.IMPORT)

ADVISER = Actor(ActorKind.ADVISER)

CHAT = Actor(ActorKind.CHAT)


class ChangeKind(StrEnum):
    """What changed."""

    JOB = "job"
    RUN_STARTED = "run-started"
    RUN_PROGRESS = "run-progress"
    RUN_FINISHED = "run-finished"
    ENGINE = "engine"
    SETTINGS = "settings"
    QUESTION = "question"
    WATCH = "watch"
    """Trouble with watching an event began or ended."""
    STORE = "store"
    """The store can no longer be written, or can again."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change; read the job or the run for its new state."""

    kind: ChangeKind
    job_id: str | None = None
    run_id: str | None = None
    origin: str = field(default="", compare=False)
    """The process that made it; empty if an engine did, or if it is unknown."""


def changes_of(job_ids: Collection[str]) -> list[Change]:
    """Return changes of jobs; for many jobs one change without an id."""
    if len(job_ids) > _MOST_TOLD:
        return [Change(ChangeKind.JOB)]
    return [Change(ChangeKind.JOB, job_id=job_id) for job_id in job_ids]


def gathered(changes: Iterable[Change]) -> list[Change]:
    """Return changes to publish; many at once are merged by kind, and listeners read everything again."""
    told = list(dict.fromkeys(changes))
    if len(told) <= _MOST_TOLD:
        return told
    return list(dict.fromkeys(Change(change.kind) for change in told))
