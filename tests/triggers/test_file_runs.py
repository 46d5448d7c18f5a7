"""Files that start runs of real daemons, which are killed at any moment."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from daemons import House
from process_probe import until

from halo_scheduler import Command, OnFile, Trigger


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    found = House(tmp_path, monkeypatch)
    yield found
    found.close()


def _watch(house: House) -> Path:
    """Let a job note each path it is given, and return the folder it watches."""
    inbox = house.folder / "inbox"
    inbox.mkdir()
    command = Command(argv=("sh", "-c", f'cat "$HALO_INPUT_FILE" >> {house.folder}/noted'))
    house.scheduler.add_job("note", OnFile(str(inbox), settle="1s"), command)
    return inbox


def _given(house: House) -> list[str]:
    """Return the names that runs were given."""
    inputs = [house.scheduler.runs.input(run.id).decode() for run in house.scheduler.get_run_log()]
    return sorted(Path(line).name for text in inputs for line in text.splitlines())


def _has_seen(house: House) -> bool:
    return bool(house.scheduler._store.watch_states.of_jobs([job.id for job in house.scheduler.list_jobs()]))


def test_a_file_starts_a_run_with_its_path_as_input(house: House) -> None:
    inbox = _watch(house)
    house.start()
    until(lambda: _has_seen(house))
    (inbox / "a").write_text("x")
    noted = house.folder / "noted"
    until(lambda: noted.exists() and noted.read_text())
    assert noted.read_text() == f"{inbox}/a\n"
    (run,) = house.scheduler.get_run_log()
    assert (run.trigger, run.slot_at) == (Trigger.EVENT, None)


@pytest.mark.parametrize("wait_s", [0.0, 0.95, 1.0, 1.03, 1.06, 1.1])
def test_a_killed_engine_neither_loses_nor_doubles_a_file(house: House, wait_s: float) -> None:
    inbox = _watch(house)
    house.start()
    until(lambda: _has_seen(house))
    (inbox / "a").write_text("x")
    written_at = (inbox / "a").stat().st_ctime
    until(lambda: time.time() - written_at >= wait_s)
    house.crash()
    (inbox / "b").write_text("x")
    house.start()
    until(lambda: set(_given(house)) == {"a", "b"})
    (inbox / "end").write_text("x")
    until(lambda: "end" in _given(house))
    assert _given(house) == ["a", "b", "end"]
