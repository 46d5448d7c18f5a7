"""The interfaces between the engine and its runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

from halo_scheduler.actions.spool import Output, Spool
from halo_scheduler.grammar.redaction import Redactor
from halo_scheduler.host.login_environment import Environment
from halo_scheduler.host.process import Watch
from halo_scheduler.model import Outcome, Proposal, Run, SkipReason, WaitingFor
from halo_scheduler.model.actions import WorkSource
from halo_scheduler.model.messages import Message, MessageKind, Messages, message
from halo_scheduler.model.settings import Agent
from halo_scheduler.model.words import Shortage
from halo_scheduler.web.pool import ConnectionPool
from halo_scheduler.work_sources.item import Item


class Ended(NamedTuple):
    """The end of a run; `finished_at` is set only if it ended while no engine watched it.

    (A tuple, because thousands of runs may end at once.)
    """

    run_id: str
    outcome: Outcome
    message: Message | None = None
    reason: SkipReason | None = None
    notes: Messages = ()
    exit_code: int | None = None
    http_status: int | None = None
    finished_at: int | None = None
    progress: tuple[float, str] | None = None
    cost: float | None = None
    question: str = ""
    """The question it left for a person."""
    proposal: Proposal | None = None
    """The hint for its own job."""
    output: Output | None = None
    has_files: bool = True
    """Whether it may have left files to delete."""
    needs_secrets: frozenset[str] = frozenset()
    """Secrets needed to redact the output; it is stored once they are available."""
    held_up_by: WaitingFor | None = None
    """The resource that was missing at its start."""
    began_at: int | None = None
    """When a start that was held up succeeded; None if it did not."""
    clock_step_ms: int = 0
    """How far the clock was set while it was active; the engine fills it in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Late:
    """The parts of an end that could be read only once the secrets to redact were available.

    The run is already recorded by then, without them.
    """

    output: Output
    cost: float | None = None
    question: str = ""
    """Its question; an exit code may tell earlier that there is one."""
    note: Message | None = None
    proposal: Proposal | None = None


@dataclass(frozen=True, slots=True)
class StopReason:
    """Why a run is stopped early: its outcome, message and reason."""

    outcome: Outcome
    message: Message
    reason: SkipReason | None = None


BY_USER = StopReason(Outcome.CANCELLED, message(MessageKind.STOPPED_BY_USER))
TIME_LIMIT = StopReason(Outcome.TIMEOUT, message(MessageKind.TIME_LIMIT))
FILLS_DISK = StopReason(Outcome.FAILURE, message(MessageKind.FILLED_DISK))
RESTART = StopReason(Outcome.CANCELLED, message(MessageKind.STOPPED_TO_RESTART), SkipReason.RESTARTED)
QUIT = StopReason(Outcome.CANCELLED, message(MessageKind.STOPPED_AT_QUIT))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainCause:
    """The run of another job whose end started this one, with its stored output.

    Unknown values are empty.
    """

    job_id: str = ""
    job_name: str = ""
    run_id: str
    outcome: str = ""
    output: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """The context of a run, gathered by the engine before it starts."""

    agent: Agent | None = None
    """The agent for the prompt; None for other actions, or if the settings have no such agent."""
    no_agent: str = ""
    """Why there is no agent, as a sentence."""
    last_outcome: str = "none"
    last_output: str = ""
    """The output of the previous run, as plain text; only for a prompt that uses it."""
    question: str = ""
    answer: str = ""
    work_id: str = ""
    """The item that an answer is about; empty for any item."""
    asked_by: str = ""
    """The run that left the question, and has kept the item for this one."""
    chain: ChainCause | None = None
    """The run that triggered a chain run; None for other runs."""
    input: bytes = b""
    """The parameters and input of the run."""


NO_CONTEXT = RunContext()


class Work(Protocol):
    """An active run, as the engine's thread sees it."""

    @property
    def next_poll_at(self) -> int | None:
        """When it is due for a poll."""

    def poll(self, now_ms: int) -> tuple[float, str] | None:
        """Do the work that is due; return the progress, if it is new."""

    def stop(self, now_ms: int, why: StopReason) -> None:
        """End the run as soon as that is cleanly possible; a second call has no effect."""

    def shift(self, by_ms: int) -> None:
        """Shift all instants after the clock was set."""

    def leave(self) -> None:
        """Stop reporting: the engine stops, and processes that can run without it continue."""


class EngineHandle(Protocol):
    """The engine, as its runs see it."""

    def now_ms(self) -> int:
        """Return the current instant."""

    def submit(self, work: Callable[[], None]) -> None:
        """Run a call that may block on another thread."""

    def post(self, news: Callable[[], None]) -> None:
        """Run a call on the engine's thread, from any thread."""

    def end(self, ended: Ended) -> None:
        """Take the end of a run, on the engine's thread."""

    def is_in_charge(self) -> bool:
        """Return, on any thread, whether this engine certainly still holds the lease."""

    def note_item(self, run_id: str, work_id: str, title: str, url: str) -> None:
        """Store which work item a run has taken, on the engine's thread."""

    def note_start_wait(self, run: Run, shortage: Shortage | None) -> None:
        """Show, on the engine's thread, what the start of a run waits for; None once it has started."""

    def note_on(self, run: Run, note: Message) -> None:
        """Add a note to a run, on the engine's thread."""

    def snooze(self, job_id: str, for_ms: int) -> None:
        """Request another run of a job at an instant or later, on the engine's thread."""


class Secrets(Protocol):
    """Reads the secrets of a run, on a thread that may block."""

    def __call__(self) -> Mapping[str, str]: ...


class OpenedSource(Protocol):
    """An opened work queue, used on a thread that may block; SourceError if it does not answer."""

    def claim(self, run_id: str, only: str = "") -> Item:
        """Claim an item for a run: the first ready one, or `only` this one; NoWorkError if there is none."""

    def take_over(self, run_id: str, from_run: str) -> Item | None:
        """Take over the item that an earlier run kept; None if it has none of this queue."""

    def first(self) -> Item:
        """Return the first ready item without claiming it; NoWorkError if there is none."""

    def give_back(self, run_id: str) -> None:
        """Release the item that a run has claimed."""


class OpenSource(Protocol):
    """Opens a work queue, on the engine's thread."""

    def __call__(self, source: WorkSource) -> OpenedSource: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunServices:
    """The services that runs use."""

    engine: EngineHandle
    watch: Watch
    login_environment: Callable[[], Environment]
    output_limit: Callable[[str], int]
    """How many bytes of the output are kept of a run of the job with this id."""
    spool_limit: Callable[[], int]
    pool: ConnectionPool | None = None
    """The pool of HTTP connections; without it, each request closes its own."""

    def kept_output(self, spool: Spool, run: Run, redactor: Redactor) -> Output:
        """Return a run's output as it is stored; an unreadable output does not keep the run from ending."""
        return kept_output(spool, partial(self.output_limit, run.job_id), redactor)


def kept_output(spool: Spool, most_bytes: Callable[[], int], redactor: Redactor) -> Output:
    """Return an output as it is stored, or a note why it cannot be read."""
    try:
        return spool.kept(most_bytes, redactor)
    except OSError as error:
        text = f"[output lost, as it could not be read: {error.strerror}]\n".encode()
        return Output.of(text, len(text))
