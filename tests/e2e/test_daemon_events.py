"""Real daemons, killed while events happen: each event has one run, whatever the moment."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from daemons import House
from process_probe import until

from halo_scheduler import OnWebhook, Outcome, Run
from halo_scheduler.ipc.client import poke
from halo_scheduler.rules.event_requests import Accepted, Happening, accept

_DAEMON = (sys.executable, Path(__file__).parents[1] / "support" / "kill_daemon.py")
_KILLS, _EVENTS = 5, 6


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    found = House(tmp_path, monkeypatch)
    yield found
    found.close()


def _happen(house: House, job_id: str, event_id: str) -> None:
    store = house.scheduler._store
    happening = Happening(job_id=job_id, key="", event_id=event_id, at=house.scheduler.jobs.now_ms())
    with store.transaction():
        assert isinstance(accept(store, happening), Accepted)
    poke(house.scheduler.path)


def _runs(house: House) -> list[Run]:
    return house.scheduler.get_run_log(limit=10_000)


def test_each_event_has_one_run_although_daemons_are_killed(house: House) -> None:
    job_id = house.scheduler.add_job("job", OnWebhook())
    for kill in range(_KILLS):
        house.start(_DAEMON)
        for number in range(_EVENTS):
            _happen(house, job_id, f"{kill}-{number}")
        # Another moment of the work each time: while it is claimed, runs or is recorded.
        until(lambda seen=kill: len(_runs(house)) > seen * 2)  # type: ignore[misc]  # bound now
        house.crash()
    house.start(_DAEMON)
    expected = {f"{kill}-{number}" for kill in range(_KILLS) for number in range(_EVENTS)}
    until(lambda: sum(run.outcome is not Outcome.RUNNING for run in _runs(house)) >= len(expected))
    assert house.stop() == 0
    assert Counter(run.event_id for run in _runs(house)) == dict.fromkeys(expected, 1)
    assert house.scheduler._store.requests.events() == []
