"""The end of a run's processes: stop, kill, confirm that they are gone, and the resulting outcome."""

from __future__ import annotations

import signal
from collections.abc import Iterable
from contextlib import suppress

import psutil

from halo_scheduler.actions.run_services import Ended
from halo_scheduler.actions.spool import Spool
from halo_scheduler.grammar.redaction import Redactor
from halo_scheduler.host.process import stat_of
from halo_scheduler.host.process_tree import ask_to_stop, beside_first, find_members, kill
from halo_scheduler.host.reaper import REAPER
from halo_scheduler.model import Outcome, ProcessAction, SkipReason
from halo_scheduler.model.messages import Message, MessageKind, Messages, message

SIGNAL_BASE = 128
_BY_ITSELF = frozenset({Outcome.SUCCESS, Outcome.FAILURE, Outcome.SKIPPED})
_MOST_NAMED = 10


def outcome_of(action: ProcessAction, code: int | None) -> tuple[Outcome, SkipReason | None, Message | None]:
    """Return the outcome of an exit code; None means unknown."""
    if code is None:
        return Outcome.INTERRUPTED, None, message(MessageKind.EXIT_UNKNOWN)
    if code in action.success_codes:
        return Outcome.SUCCESS, None, None
    if code == action.no_work_code:
        return Outcome.SKIPPED, SkipReason.NO_WORK, None
    return Outcome.FAILURE, None, message(MessageKind.EXIT_CODE, code=code, **_signal_of(code))


def without_secrets(ended: Ended, action: ProcessAction) -> Ended:
    """Return an end whose output follows once the run's secrets are available; its question is kept."""
    question = _question_of_code(ended) if asks_by_code(ended, action) else ""
    return ended._replace(question=question, needs_secrets=action.secret_names)


def with_said(ended: Ended, action: ProcessAction, spool: Spool, redactor: Redactor) -> Ended:
    """Return an end with the directives read so far, including the question."""
    said = spool.said()
    question = said.question
    if not question and asks_by_code(ended, action):
        with suppress(OSError):
            question = spool.last_line(redactor)
        question = "\n".join(filter(None, [_question_of_code(ended), question]))
    return ended._replace(
        cost=said.cost,
        question=question,
        proposal=said.proposal,
        notes=ended.notes if said.fault is None else (*ended.notes, said.fault),
    )


def asks_by_code(ended: Ended, action: ProcessAction) -> bool:
    """Return whether the exit code means "needs input"; the code of a stopped run does not count."""
    code = action.needs_input_code
    return code is not None and ended.exit_code == code and ended.outcome in _BY_ITSELF


def _question_of_code(ended: Ended) -> str:
    return f"It ended with exit code {ended.exit_code} and needs input."


def _signal_of(code: int) -> dict[str, str]:
    """Return the signal name that a code stands for, as a parameter of the message."""
    with suppress(ValueError):
        return {"signal": signal.Signals(code - SIGNAL_BASE).name} if code > SIGNAL_BASE else {}
    return {}


class RunTree:
    """Finds the processes of a run while it lasts."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self.session: int | None = None
        """The number of its first process, once there is one."""
        self._began = 0
        self.is_asked = False
        """Whether a program, not only the shim that starts it, was asked to stop."""
        self._seen: list[psutil.Process] = []
        self._denied: list[psutil.Process] = []

    def members(self) -> list[psutil.Process]:
        """Return the living processes of the run; a process counts as gone if two scans in a row do not find it.

        A single scan may fall between the end of a process and the start of its child, or into an exec, when the mark
        cannot be read.
        """
        run_id, known = self._run_id, self._seen
        self._seen = find_members(run_id, self.session, known) or find_members(run_id, self.session, known)
        return self._seen

    def ask_to_stop(self) -> None:
        """Ask all processes to stop."""
        first = None if self.session is None else stat_of(self.session)
        self._began = 0 if first is None else first.started
        members = self.members()
        self.is_asked = bool(beside_first(members, self.session))
        ask_to_stop(members, self.session)

    def ask_latecomers(self) -> None:
        """Ask the program to stop if its shim had not started it at the first request.

        Only that one: what a program starts after the request may be its cleanup.
        """
        latecomers = beside_first(self.members(), self.session)
        self.is_asked = bool(latecomers)
        ask_to_stop(latecomers, None)

    def is_gone(self, *, by_force: bool) -> bool:
        """Return whether only processes are left that we may not kill; with `by_force`, kill the others."""
        left = self.members()
        self._denied = kill(left) if by_force else []
        return len(self._denied) == len(left)

    def unkillable_note(self) -> Message | None:
        """Return the note for a run whose processes survived being killed."""
        return _named(MessageKind.NOT_GONE, self._seen)

    def survivors_notes(self) -> Messages:
        """Return the notes for a stopped run that name surviving processes; none if all are confirmed gone."""
        denied = _named(MessageKind.NOT_STOPPED, self._denied)
        strays = _named(MessageKind.PERHAPS_RUNNING, self._strays())
        return tuple(note for note in (denied, strays) if note is not None)

    def _strays(self) -> Iterable[psutil.Process]:
        """Yield the orphans of no active run that lost their parent since the run began."""
        for pid in sorted(set(REAPER.strays(self._began)) - {process.pid for process in self._denied}):
            with suppress(psutil.Error):
                yield psutil.Process(pid)


def _named(kind: MessageKind, processes: Iterable[psutil.Process]) -> Message | None:
    """Return a note that names processes; nothing for none."""
    named = [[process.pid, _name_of(process)] for process in processes]
    more = max(0, len(named) - _MOST_NAMED)
    return message(kind, processes=named[:_MOST_NAMED], more=more) if named else None


def _name_of(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        return process.name()
    return "?"
