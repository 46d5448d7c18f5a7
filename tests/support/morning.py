"""A morning with one job, minute by minute, and what is said of it afterwards."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest
from cases import utc_ms
from machine import Bench

from halo_scheduler import Entry, Every, Run
from halo_scheduler.conditions.surroundings import Finding
from halo_scheduler.model import Condition, PathExists, Schedule
from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.why.inquiry import Answer, Verdict

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
EIGHT = utc_ms("2025-01-06T07:00Z")  # Monday, 08:00 in Berlin
DISK = PathExists(path="/mnt/disk")
_PERIOD = Every("15m")


def at(clock: str) -> int:
    """Return the instant of a wall time on the day of the tests."""
    hour, minute = clock.split(":")
    return EIGHT + (int(hour) - 8) * HOUR + int(minute) * MINUTE


class Disk:
    """Surroundings in which a disk is there or not, as a test says."""

    def __init__(self) -> None:
        self.is_there: bool | None = False

    def find(self, condition: Condition, now_ms: int) -> Finding:  # noqa: ARG002 - as the engine asks
        return Finding(
            self.is_there,
            None
            if self.is_there
            else message(MessageKind.CONDITION_STATE, of="path", path="/mnt/disk", is_there=False),
        )

    def watch(self, conditions: Collection[Condition]) -> None:
        """There is nothing to watch."""

    def close(self) -> None:
        """There is nothing to close."""


class Morning(Bench):
    """A bench that goes through the minutes of a morning with one job."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, now_ms=EIGHT, max_concurrent=1)
        self.disk = Disk()
        self.job_id = ""

    def add(self, schedule: Schedule | list[Entry] = _PERIOD, **rest: Any) -> str:
        self.job_id = self.scheduler.add_job("backup", schedule, **rest)
        self.scheduler.engine.surroundings = self.disk
        self.tick()
        return self.job_id

    def until(self, clock: str) -> list[Run]:
        """Go on minute by minute; what starts succeeds at once. Return what started."""
        before = len(self.started)
        while self.clock.now_ms() < at(clock):
            for run in self.tick(MINUTE):
                self.finish(run)
        return self.started[before:]

    def begin(self, clock: str) -> Run:
        """Go on to a minute in which one run starts, and leave it running."""
        self.until(_clock(at(clock) - MINUTE))
        (run,) = self.tick(MINUTE)
        return run

    def jump(self, clock: str) -> list[Run]:
        """Sleep until a time, and let what starts then succeed."""
        self.clock.set(at(clock))
        started = self.tick()
        for run in started:
            self.finish(run)
        return started

    def restart(self) -> None:
        self.scheduler.stop()
        self.scheduler.close()
        self.scheduler = self._open()
        self.scheduler.engine.surroundings = self.disk

    def ask(self, clock: str, span_ms: int = MINUTE) -> Answer:
        return self.scheduler.jobs.why(self.job_id, at(clock), span_ms=span_ms)

    def said(self, clock: str) -> tuple[Verdict, list[str]]:
        answer = self.ask(clock)
        return answer.verdict, list(answer.sentences)


@pytest.fixture
def morning(tmp_path: Path) -> Iterator[Morning]:
    """Have a morning before anything has happened."""
    found = Morning(tmp_path / "halo.db")
    yield found
    found.close()


def _clock(at: int) -> str:
    minutes = (at - EIGHT) // MINUTE + 8 * 60
    return f"{minutes // 60}:{minutes % 60:02}"
