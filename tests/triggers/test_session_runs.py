"""Logins that start runs of real daemons, which are killed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from daemons import House
from process_probe import until
from stand_in_services import Buses, LoginService, private_buses

from halo_scheduler import Command, OnSession
from halo_scheduler.model import SessionEvent


@pytest.fixture
def buses() -> Iterator[Buses]:
    with private_buses() as found:
        yield found


@pytest.fixture
def house(tmp_path: Path, buses: Buses, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    found = House(tmp_path, monkeypatch)
    for name, value in buses.environment.items():
        monkeypatch.setenv(name, value)
    yield found
    found.close()


def test_a_login_starts_one_run_over_crashes(house: House, buses: Buses) -> None:
    with LoginService(buses, sessions=("1",)) as logind:
        event = OnSession(SessionEvent.LOGIN)
        job_id = house.scheduler.add_job("greet", event, Command(argv=("true",)))
        house.start()
        until(lambda: house.scheduler._store.watch_states.of_jobs([job_id]))
        house.crash()
        logind.sessions = ("1", "2")
        house.start()
        until(house.scheduler.get_run_log)
        house.crash()
        logind.sessions = ("1", "2", "3")
        house.start()
        until(lambda: len(house.scheduler.get_run_log()) > 1)
        found = {str(run.event_id).split(":")[1].rpartition("/")[2] for run in house.scheduler.get_run_log()}
        assert found == {"2", "3"}
        assert len(house.scheduler.get_run_log()) == 2
