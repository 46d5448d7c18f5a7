"""What the tests of the engine share: benches to run jobs on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from machine import Bench
from stand_in_watcher import StandInWatcher, opened

from halo_scheduler.engine import handle
from halo_scheduler.triggers import watching


@pytest.fixture
def dead_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let former processes count as dead: on a bench they are this one, which lives on."""
    monkeypatch.setattr(handle, "is_alive", lambda _pid, _start: False)


@pytest.fixture
def stand_in_watchers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[StandInWatcher]]:
    """Let stand-ins watch every kind of event; they are in this list as soon as they are opened."""
    opened.clear()
    kinds = dict.fromkeys(("file", "session", "webhook", "chat"), StandInWatcher.__module__)
    monkeypatch.setattr(watching, "WATCHERS", kinds)
    yield opened
    opened.clear()


@pytest.fixture
def bench(tmp_path: Path, dead_processes: None) -> Iterator[Bench]:  # noqa: ARG001 - they die before it opens
    """Have a bench whose former processes count as dead."""
    found = Bench(tmp_path / "halo.db")
    yield found
    found.close()


@pytest.fixture
def narrow(tmp_path: Path, dead_processes: None) -> Iterator[Bench]:  # noqa: ARG001 - likewise
    """Have a bench with one place, whose former processes count as dead."""
    found = Bench(tmp_path / "narrow.db", max_concurrent=1)
    yield found
    found.close()
