"""A claim's note that stays in memory, for tests of sources without a desk."""

from __future__ import annotations

from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.work_sources.item import SourceError


class Note:
    """What a source wrote down about a claim, in order; it can refuse to write."""

    def __init__(self, key: str = "run-1") -> None:
        self.key = key
        self.steps: list[str] = []
        self.refuses = ""

    def begin(self) -> None:
        self._write("begin")

    def take(self, place: str) -> None:
        self._write(f"take {place}")

    def drop(self) -> None:
        self._write("drop")

    def _write(self, step: str) -> None:
        if step == self.refuses:
            raise SourceError(message(MessageKind.TEXT, text="the disk is full"))
        self.steps.append(step)
