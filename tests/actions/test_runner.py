"""Taking up what an earlier engine left: whose processes these are, also when numbers were given anew."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import cast

import pytest
from commands import shell
from process_probe import end_all, is_living, living_in, pids_in, until

from halo_scheduler import Command, Manual, Outcome, Run, Source, Trigger
from halo_scheduler.actions.run_services import EngineHandle, Late, RunServices, Secrets
from halo_scheduler.actions.runner import ReadSecrets, Runner
from halo_scheduler.actions.spool import Spool, Ticket, spool_folder
from halo_scheduler.clock import SystemClock
from halo_scheduler.host.login_environment import Environment
from halo_scheduler.host.process import ThreadWatch
from halo_scheduler.model import Proposal
from halo_scheduler.service.scheduler import Scheduler

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are those of POSIX")


@pytest.fixture
def stranger() -> Iterator[int]:
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    yield process.pid
    process.kill()
    process.wait()


@pytest.fixture(autouse=True)
def _end_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SHELL", "/bin/sh")
    yield
    end_all(pids_in(tmp_path))


def test_a_reused_session_id_of_another_process_is_left_alone(tmp_path: Path, stranger: int) -> None:
    action = shell(
        "setsid sh -c 'echo $$ >left.pid; exec sleep 60' & echo $PPID >shim.pid; echo $$ >main.pid; wait",
        directory=str(tmp_path),
        grace="1s",
    )
    first = Scheduler.open(tmp_path / "halo.db", clock=SystemClock())
    run_id = first.trigger(first.add_job("job", Manual(), action))
    first.tick()
    until(lambda: len(pids_in(tmp_path)) == 3)
    # As after a crash long ago, since when the shim has died and its number has come round.
    first.engine.get_engine().leave_runs()
    first._store.close()
    for name in ("shim", "main"):
        os.kill(int((tmp_path / f"{name}.pid").read_text()), 9)
    spool = Spool(spool_folder(tmp_path / "halo.db"), run_id)
    spool.write_ticket(Ticket(stranger, "another boot/1", action))
    second = Scheduler.open(tmp_path / "halo.db")
    second._store.database.rows("UPDATE scheduler_engine SET expires_at = 0")
    second.tick()
    second.cancel_run(run_id)

    def is_over() -> bool:
        second.tick()
        run = second.get_run(run_id)
        return run is not None and run.outcome is Outcome.CANCELLED

    until(is_over)
    second.close()
    assert is_living(stranger)
    assert living_in(tmp_path) == []


# --- What runs proposed ---------------------------------------------------------------------------

_NOW = 1_735_689_600_000
_PROPOSED = b"""::cost 1
::halo every=5m reason="it is hunter22"
"""


class _Engine:
    """Does everything at once."""

    def submit(self, work: Callable[[], None]) -> None:
        work()

    post = submit


def _read_secrets(names: Iterable[str], *, unchanged_since: int | None = None) -> Secrets:  # noqa: ARG001 - a Protocol's
    return lambda: dict.fromkeys(names, "hunter22")


def _runner(folder: Path, read_secrets: ReadSecrets = _read_secrets) -> Runner:
    services = RunServices(
        engine=cast("EngineHandle", _Engine()),
        watch=ThreadWatch(_Engine().post),
        login_environment=lambda: Environment({}),
        output_limit=lambda _job_id: 1 << 20,
        spool_limit=lambda: 1 << 20,
    )
    return Runner(folder, services, read_secrets, None)


def _leave(folder: Path, action: Command, *, reads_lines: bool) -> Run:
    """Leave the files of a run that ended well while nobody looked."""
    spool = Spool(folder, "r1")
    spool.write(spool.output_path, _PROPOSED)
    spool.write(spool.code_path, b"0\n")
    spool.write_ticket(Ticket(2**22, "another boot/1", action, reads_lines))
    return Run(id="r1", job_id="1", trigger=Trigger.SCHEDULE, source=Source.EVERY, started_at=_NOW)


def test_the_hint_of_a_run_that_ended_unseen_is_read(tmp_path: Path) -> None:
    run = _leave(tmp_path, shell("true"), reads_lines=True)
    (left,) = _runner(tmp_path).find_leftovers([run], {}, {}, _NOW)
    assert left.ended.outcome is Outcome.SUCCESS
    assert left.ended.proposal == Proposal(every_ms=300_000, reason="it is hunter22")


def test_the_hint_of_a_run_whose_directives_are_not_read_is_ignored(tmp_path: Path) -> None:
    run = _leave(tmp_path, shell("true"), reads_lines=False)
    (left,) = _runner(tmp_path).find_leftovers([run], {}, {}, _NOW)
    assert (left.ended.outcome, left.ended.proposal, left.ended.cost) == (Outcome.SUCCESS, None, None)


def test_the_hint_of_a_run_with_secrets_is_read_once_they_are_available(tmp_path: Path) -> None:
    action = shell("true", environment={"T": "${secret:TOKEN}"})
    run = _leave(tmp_path, action, reads_lines=True)
    runner = _runner(tmp_path)
    (left,) = runner.find_leftovers([run], {}, {}, _NOW)
    assert (left.ended.proposal, left.ended.needs_secrets) == (None, frozenset({"TOKEN"}))
    lates: list[Late] = []
    runner.read_later(run, left.ended.needs_secrets, lates.append)
    (late,) = lates
    assert (late.proposal, late.cost) == (Proposal(every_ms=300_000, reason="it is ***"), 1.0)


def test_output_is_withheld_if_the_keyring_raises_any_error(tmp_path: Path) -> None:
    def stumble() -> dict[str, str]:
        raise KeyError("hunter22")

    run = _leave(tmp_path, shell("true", environment={"T": "${secret:TOKEN}"}), reads_lines=True)
    runner = _runner(tmp_path, lambda _names, *, unchanged_since=None: stumble)  # noqa: ARG005 - a Protocol's
    lates: list[Late] = []
    runner.read_later(run, {"TOKEN"}, lates.append)
    (late,) = lates
    withheld = b"[output withheld, as secrets cannot be taken out of it: KeyError]\n"
    assert (zlib.decompress(late.output.content), late.proposal) == (withheld, None)
