"""Webhooks and a real daemon: what was accepted runs once, whenever the daemon is killed."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from daemons import House
from process_probe import until
from web_door import free_port

from halo_scheduler import Callback, OnWebhook, Outcome, Trigger

_DAEMON = (sys.executable, str(Path(__file__).parents[1] / "support" / "kill_daemon.py"))
_HALO = Path(sys.executable).with_name("halo")
_POSTS, _KILLS = 60, 3


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    found = House(tmp_path, monkeypatch)
    yield found
    found.close()


def _open(house: House) -> tuple[int, str]:
    """Switch webhooks on, and return the port and the token of a job."""
    port = free_port()
    house.scheduler.settings.change(webhooks=True, webhook_port=port)
    job_id = house.scheduler.add_job("called", OnWebhook(), Callback(), parameters={"number": "0"})
    return port, house.scheduler.webhooks.make_address(job_id)


def _post(port: int, token: str, number: int) -> str | None:
    """Post once, and return the run if that was accepted."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("POST", f"/hook/{token}?number={number}")
        answer = connection.getresponse()
        data = json.loads(answer.read())
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    return str(data["run"]) if answer.status == 202 else None


def _has(accepted: dict[int, str], least: int) -> bool:
    return len(accepted) >= least


def test_an_accepted_request_runs_once_even_if_the_daemon_is_killed(house: House) -> None:
    port, token = _open(house)
    accepted: dict[int, str] = {}

    def post_until_accepted(number: int) -> None:
        def is_accepted() -> bool:
            run_id = _post(port, token, number)
            if run_id is not None:
                accepted[number] = run_id
            return run_id is not None

        until(is_accepted)

    with ThreadPoolExecutor(4) as clients:
        coming = [clients.submit(post_until_accepted, number) for number in range(_POSTS)]
        for kill in range(_KILLS):
            house.start(_DAEMON)
            least = _POSTS * (kill + 1) // (_KILLS + 2)
            until(partial(_has, accepted, least))
            house.crash()
        house.start(_DAEMON)
        for one in coming:
            one.result()
    until(lambda: all(house.is_over(run_id) for run_id in accepted.values()))
    runs = {run_id: house.get(run_id) for run_id in accepted.values()}
    assert len(runs) == _POSTS
    assert {run.trigger for run in runs.values()} == {Trigger.EVENT}
    assert {number: runs[run_id].parameters["number"] for number, run_id in accepted.items()} == {
        number: str(number) for number in range(_POSTS)
    }
    assert {run.outcome for run in runs.values()} <= {Outcome.SUCCESS, Outcome.INTERRUPTED}


def test_the_terminal_shows_the_state_of_webhooks(house: House) -> None:
    port, token = _open(house)
    house.start(_DAEMON)
    until(lambda: house.scheduler.webhooks.status().is_listening)
    shown = subprocess.run([_HALO, "status"], capture_output=True, text=True, check=False).stdout
    assert f"  webhooks: listening on 127.0.0.1:{port}, 1 job\n" in shown
    house.scheduler.settings.change(webhooks=False)
    until(lambda: not house.scheduler.webhooks.status().is_listening)
    until(lambda: _post(port, token, 1) is None)
    house.scheduler.settings.change(webhooks=True)
    until(lambda: _post(port, token, 1) is not None)
    assert house.stop() == 0
    assert _post(port, token, 1) is None
