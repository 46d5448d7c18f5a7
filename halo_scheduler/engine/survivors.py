"""Looking, a moment after runs have ended, for what they left running on purpose."""

from __future__ import annotations

from collections.abc import Callable

from halo_scheduler.grammar.english import listed
from halo_scheduler.host.process_tree import marked_processes
from halo_scheduler.model import Run

_DELAY_MS = 1_000
_MOST_NAMED = 10


class Survey:
    """Looks once for many runs: going through all processes of the machine is too dear for each."""

    def __init__(self) -> None:
        self._runs: dict[str, Run] = {}
        self.due_at: int | None = None

    def add(self, run: Run, now_ms: int) -> None:
        """Look for this run's processes at the next time."""
        self._runs[run.id] = run
        self.due_at = self.due_at or now_ms + _DELAY_MS

    def shift(self, by_ms: int) -> None:
        """Move the next look: the clock was set."""
        self.due_at = None if self.due_at is None else self.due_at + by_ms

    def take(self) -> Callable[[], list[tuple[Run, str]]]:
        """Return what looks for these runs' processes, on whatever thread, and tells which left some."""
        runs, self._runs, self.due_at = self._runs, {}, None
        return lambda: [(runs[run_id], _sentence(pids)) for run_id, pids in marked_processes(runs).items()]


def _sentence(pids: list[int]) -> str:
    what = "a process it started still runs" if len(pids) == 1 else "processes it started still run"
    return f"{what} ({listed([str(pid) for pid in pids[:_MOST_NAMED]])})"
