"""Keeping the machine awake for the runs that want it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from halo_scheduler.grammar.english import shortened
from halo_scheduler.model import Run

if TYPE_CHECKING:
    from halo_scheduler.host.awake import KeepAwake


_LOG = logging.getLogger(__name__)


class Threads(Protocol):
    """Where things happen: on a thread that may wait, or on the engine's."""

    def submit(self, work: Callable[[], None]) -> None: ...

    def post(self, news: Callable[[], None]) -> None: ...


class SleepInhibitor:
    """Holds one inhibitor lock per such run, from its start to its recorded end; costs nothing without them."""

    def __init__(self, threads: Threads, add_note: Callable[[Run, str], None]) -> None:
        """`add_note` is called on the engine's thread, with a run that cannot have what it wants."""
        self._threads = threads
        self._add_note = add_note
        self._keeper: KeepAwake | None = None

    def hold(self, run: Run, job_name: str) -> None:
        """Keep the machine awake for a run that wants it; that it cannot be had is noted, and holds up nothing."""
        try:
            self._hold(run, job_name)
        except Exception as error:  # noqa: BLE001 - the run has begun: it must not fail because of this
            _LOG.exception("The machine is not kept awake.")
            self._add_note(run, f"the machine could not be kept awake: {error}")

    def _hold(self, run: Run, job_name: str) -> None:
        if self._keeper is None:
            from halo_scheduler.host.awake import KeepAwake  # noqa: PLC0415 - only for those who want it

            self._keeper = KeepAwake(self._threads.submit)

        def fail(sentence: str) -> None:
            note = f"{sentence[:1].lower()}{sentence[1:]}".rstrip(".")
            self._threads.post(lambda: self._add_note(run, note))

        self._keeper.hold(run.id, f"{shortened(job_name)} is running", fail)

    def release(self, run_id: str) -> None:
        """Let the machine sleep, as far as this run is concerned."""
        if self._keeper is not None:
            self._keeper.release(run_id)

    def close(self) -> None:
        """Let go of everything."""
        if self._keeper is not None:
            self._keeper.close()
            self._keeper = None
