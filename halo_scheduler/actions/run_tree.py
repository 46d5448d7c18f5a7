"""All processes of one run: how they are asked to stop, killed, and confirmed gone."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

import psutil

from halo_scheduler.actions.ending import joined
from halo_scheduler.grammar.english import listed
from halo_scheduler.host.proc_files import stat_of
from halo_scheduler.host.process_tree import ask_to_stop, beside_first, find_members, kill
from halo_scheduler.host.reaper import REAPER

_MOST_NAMED = 10


class RunTree:
    """Finds the processes of a run as long as it lasts."""

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
        """Return what lives of the run; gone is what two looks in a row do not find.

        One look may come between a process that ends and the child it has just started, or in the middle of an
        exec, when the mark cannot be read.
        """
        run_id, known = self._run_id, self._seen
        self._seen = find_members(run_id, self.session, known) or find_members(run_id, self.session, known)
        return self._seen

    def ask_to_stop(self) -> None:
        """Ask all members to stop."""
        first = None if self.session is None else stat_of(self.session)
        self._began = 0 if first is None else first.started
        members = self.members()
        self.is_asked = bool(beside_first(members, self.session))
        ask_to_stop(members, self.session)

    def ask_latecomers(self) -> None:
        """Ask a program to stop that its shim, which goes on when it is asked, had not yet started.

        Only that one: what a program starts after it was asked may be its way of leaving things in order.
        """
        latecomers = beside_first(self.members(), self.session)
        self.is_asked = bool(latecomers)
        ask_to_stop(latecomers, None)

    def is_gone(self, *, by_force: bool) -> bool:
        """Tell whether nothing is left but what we may not kill; with `by_force`, kill the others."""
        left = self.members()
        self._denied = kill(left) if by_force else []
        return len(self._denied) == len(left)

    def unkillable_note(self) -> str:
        """Return the note for a run whose processes do not end although they were killed."""
        named = _named(self._seen)
        return (
            f"killed, but not gone yet: {named}; the run ends when the system lets go of them"
            if named
            else ""
        )

    def survivors_note(self) -> str:
        """Return the note for a stopped run that names what may still run; empty when all is confirmed gone."""
        denied, strays = _named(self._denied), _named(self._strays())
        return joined(
            f"not stopped, because it belongs to another user: {denied}" if denied else "",
            f"still running, and perhaps started by this run: {strays}" if strays else "",
        )

    def _strays(self) -> Iterable[psutil.Process]:
        """Yield the processes, of no run that is under way, that lost their parent since the run began."""
        for pid in sorted(set(REAPER.strays(self._began)) - {process.pid for process in self._denied}):
            with suppress(psutil.Error):
                yield psutil.Process(pid)


def _named(processes: Iterable[psutil.Process]) -> str:
    """Return "process 12 (sleep)" or "processes 12 (sleep) and 13 (cp)"; empty for none."""
    names = [f"{process.pid} ({_name_of(process)})" for process in processes]
    more = [f"{len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else []
    what = "process" if len(names) == 1 else "processes"
    return f"{what} {listed([*names[:_MOST_NAMED], *more])}" if names else ""


def _name_of(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        return process.name()
    return "?"
