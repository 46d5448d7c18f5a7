"""Output that can be stored only once the secrets are at hand that must not be in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from halo_scheduler.actions.run_services import Late
from halo_scheduler.model import Run

ReadLater = Callable[[Run, Iterable[str], Callable[[Late], None]], None]


class LateOutputs:
    """Keeps in mind whose output is to come, and what has come until it is stored."""

    def __init__(self) -> None:
        self._awaited: set[str] = set()
        self.arrived: dict[str, tuple[Run, Late]] = {}

    def expect(self, run_ids: Iterable[str]) -> None:
        """Note that the output of some runs is to come."""
        self._awaited.update(run_ids)

    def fetch(self, run: Run, names: frozenset[str], read_later: ReadLater) -> None:
        """Have the output of a recorded run read once its secrets are at hand."""

        def arrive(late: Late) -> None:
            self.arrived[run.id] = run, late

        self._awaited.add(run.id)
        read_later(run, names, arrive)

    def is_awaited(self, run_id: str) -> bool:
        """Tell whether the output of a recorded run is still to come."""
        return run_id in self._awaited and run_id not in self.arrived

    def take_stored(self) -> list[str]:
        """Forget what has come, now that it is stored; return whose it was."""
        stored = list(self.arrived)
        self._awaited.difference_update(stored)
        self.arrived.clear()
        return stored
