"""What the engine and its runs say to each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from halo_scheduler.actions.spool import Output, Spool
from halo_scheduler.grammar.redaction import Redactor
from halo_scheduler.host.login_environment import Environment
from halo_scheduler.host.watch import Watch
from halo_scheduler.model import Outcome, Proposal, Run, SkipReason, WaitingFor
from halo_scheduler.model.agents import Agent
from halo_scheduler.model.work_source import WorkSource
from halo_scheduler.web.pool import ConnectionPool
from halo_scheduler.work_sources.item import Item


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a run ended; `finished_at` is known better than now only when it ended unseen."""

    run_id: str
    outcome: Outcome
    error: str = ""
    reason: SkipReason | None = None
    note: str = ""
    exit_code: int | None = None
    http_status: int | None = None
    finished_at: int | None = None
    progress: tuple[float, str] | None = None
    cost: float | None = None
    question: str = ""
    """What it left for a person to decide."""
    proposal: Proposal | None = None
    """What it proposed about its own job."""
    output: Output | None = None
    needs_secrets: frozenset[str] = frozenset()
    """Secrets without which the output cannot be stored: it follows when they are at hand."""
    held_up_by: WaitingFor | None = None
    """What the machine lacked when it was to be started."""
    began_at: int | None = None
    """When a start that was held up succeeded; None if it did not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Late:
    """What of an end could only be read once the secrets were at hand that must not be in it.

    The run is recorded by then, without any of this.
    """

    output: Output
    cost: float | None = None
    question: str = ""
    """What it asks in words; that it asks may be known by its exit code."""
    note: str = ""
    proposal: Proposal | None = None


@dataclass(frozen=True, slots=True)
class StopReason:
    """Why a run is stopped before its end: the outcome it then has, and the sentence for it."""

    outcome: Outcome
    error: str


BY_USER = StopReason(Outcome.CANCELLED, "stopped by the user")
TIME_LIMIT = StopReason(Outcome.TIMEOUT, "it ran longer than its time limit")
FILLS_DISK = StopReason(
    Outcome.FAILURE, "stopped: it filled the disk with its output faster than Halo could shorten that"
)
QUIT = StopReason(Outcome.CANCELLED, "stopped because Halo was quit")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainCause:
    """The run of another job whose end started this one, with what is stored of its output.

    What is no longer known of it is empty.
    """

    job_id: str = ""
    job_name: str = ""
    run_id: str
    outcome: str = ""
    output: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """What a run is told about its circumstances; gathered by the engine before it starts."""

    agent: Agent | None = None
    """Who is given the prompt; None for other actions, or when the settings know no such agent."""
    no_agent: str = ""
    """Why there is none: a sentence."""
    last_outcome: str = "none"
    last_output: str = ""
    """What the run before printed, as plain text; only gathered for a prompt that asks for it."""
    question: str = ""
    answer: str = ""
    work_id: str = ""
    """The one item that an answer is about; empty when any will do."""
    asked_by: str = ""
    """The run that left the question, and has kept the item for this one."""
    chain: ChainCause | None = None
    """What started a run of a chain; None for every other run."""


NO_CONTEXT = RunContext()


class Work(Protocol):
    """A run under way, seen from the engine's thread."""

    @property
    def next_look_at(self) -> int | None:
        """When it wants to be looked after again."""

    def look(self, now_ms: int) -> tuple[float, str] | None:
        """Do what is due by now; return the progress, if there is news of it."""

    def stop(self, now_ms: int, why: StopReason) -> None:
        """End the run as soon as it can be done cleanly; a second call changes nothing."""

    def shift(self, by_ms: int) -> None:
        """Move all instants it waits for: the clock was set."""

    def leave(self) -> None:
        """Say nothing any more: the engine goes, and what can live on without it does."""


class EngineHandle(Protocol):
    """The engine, as its runs see it."""

    def now_ms(self) -> int:
        """Return the current instant."""

    def submit(self, work: Callable[[], None]) -> None:
        """Do something that may block, on another thread."""

    def post(self, news: Callable[[], None]) -> None:
        """Do something on the engine's thread, from whatever thread."""

    def end(self, ended: Ended) -> None:
        """Take in the end of a run, on the engine's thread."""

    def is_in_charge(self) -> bool:
        """Tell, on whatever thread, whether nobody else can have taken over meanwhile."""

    def note_item(self, run_id: str, work_id: str, title: str, url: str) -> None:
        """Write down which item a run works on, on the engine's thread."""

    def note_start_wait(self, run: Run, waiting_for: WaitingFor | None, reason: str = "") -> None:
        """Show, on the engine's thread, what the start of a run waits for; None once it has started."""

    def note_on(self, run: Run, sentence: str) -> None:
        """Add a note to a run, on the engine's thread."""


class Secrets(Protocol):
    """Gives the secrets a run needs; asked on a thread that may wait."""

    def __call__(self) -> Mapping[str, str]: ...


class OpenedSource(Protocol):
    """A work source at hand, asked on a thread that may wait; SourceError when it cannot be asked."""

    def claim(self, run_id: str, only: str = "") -> Item:
        """Take an item for a run: the first to be had, or `only` that one; NoWorkError when there is none."""

    def take_over(self, run_id: str, from_run: str) -> Item | None:
        """Go on with the item that an earlier run has kept; None when it has none of this source."""

    def first(self) -> Item:
        """Return the first item without taking it; NoWorkError when there is none."""

    def give_back(self, run_id: str) -> None:
        """Let somebody else have what a run has claimed."""


class OpenSource(Protocol):
    """Makes a work source ready to be asked, on the engine's thread."""

    def __call__(self, source: WorkSource) -> OpenedSource: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunServices:
    """What runs need of their surroundings."""

    engine: EngineHandle
    watch: Watch
    login_environment: Callable[[], Environment]
    output_limit: Callable[[], int]
    spool_limit: Callable[[], int]
    pool: ConnectionPool | None = None
    """Where requests leave their connections for the next; without it, each closes its own."""


def kept_output(spool: Spool, most_bytes: Callable[[], int], redactor: Redactor) -> Output:
    """Return a run's output as it is stored; that it cannot be read must not keep the run from ending."""
    try:
        return spool.kept(most_bytes, redactor)
    except OSError as error:
        text = f"[output lost, as it could not be read: {error.strerror}]\n".encode()
        return Output.of(text, len(text))
