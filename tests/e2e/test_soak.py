"""A soak: many mixed commands under a daemon that is killed again and again. HALO_SOAK=10000 is the long mode."""

from __future__ import annotations

import faulthandler
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
from commands import shell
from daemons import House
from process_probe import until

from halo_scheduler import Command, Cron, Manual, Outcome, Policy, Retry, Run
from halo_scheduler.host.process_tree import marked_processes
from halo_scheduler.model import Backoff
from halo_scheduler.store.settings import MAX_CONCURRENT

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are those of POSIX")

_RUNS = int(os.environ.get("HALO_SOAK", "300"))
_LONG_RUNS = 1_000
_KILLS = int(os.environ.get("HALO_SOAK_KILLS", "3" if _RUNS < _LONG_RUNS else "20"))
_IN_ROUND = min(max(_RUNS // 100, 30), 100)
_ROUND_S = 120
# What a process without a mark can be told by, also from those of another run of these tests.
_UNMARKED = f"3717.{os.getpid()}"


@dataclass(frozen=True)
class _Kind:
    """A kind of command: how it ends, if nobody kills the daemon before it is started."""

    line: str
    outcome: Outcome
    share: int
    """How many of a hundred runs are such."""
    exit_code: int | None = None
    text: str = ""
    time_limit: str | None = None
    is_cancelled: bool = False


_LINES = "".join(f"{number}\n" for number in range(1, 201))
_KINDS = (
    _Kind("true", Outcome.SUCCESS, 30, 0),
    _Kind("exit 1", Outcome.FAILURE, 20, 1),
    _Kind("seq 200; sleep 0.05; echo end >&2", Outcome.SUCCESS, 17, 0, text=f"{_LINES}end\n"),
    _Kind("echo a; sleep 0.4; echo b; exit 3", Outcome.FAILURE, 10, 3, text="a\nb\n"),
    _Kind("exit 75", Outcome.SKIPPED, 4, 75),
    _Kind("setsid sleep 1 & exit 0", Outcome.SUCCESS, 5, 0),
    _Kind("exec sleep 60", Outcome.TIMEOUT, 4, time_limit="1s"),
    _Kind(
        f"setsid sleep 60 & env -i setsid sleep {_UNMARKED} & sleep 60 & wait",
        Outcome.TIMEOUT,
        3,
        time_limit="1s",
    ),
    _Kind("exec sleep 60", Outcome.CANCELLED, 4, is_cancelled=True),
    _Kind("setsid sleep 60 & sleep 60", Outcome.CANCELLED, 3, is_cancelled=True),
)


@dataclass
class _Soak:
    """The jobs, and what was asked of them."""

    house: House
    kinds: dict[str, _Kind] = field(default_factory=dict)
    asked: dict[str, _Kind] = field(default_factory=dict)
    cancelled: set[str] = field(default_factory=set)

    def add_jobs(self) -> None:
        for kind in _KINDS:
            for index in range(max(1, kind.share * _IN_ROUND // 100)):
                action = shell(
                    f"echo $HALO_RUN_ID >>starts; {kind.line}",
                    directory=str(self.house.folder),
                    no_work_code=75,
                    grace="5s",
                )
                policy = Policy(time_limit=kind.time_limit)
                name = f"{kind.outcome} {kind.line} {index}"
                self.kinds[self.house.scheduler.add_job(name, Manual(), action, policy=policy)] = kind

    def round(self, kill_after_s: float | None) -> None:
        """Run every job once, and maybe kill the daemon on the way."""
        run_ids = {self.house.scheduler.trigger(job_id): kind for job_id, kind in self.kinds.items()}
        self.asked |= run_ids
        if kill_after_s is not None:
            self._cancel_for(run_ids, kill_after_s)
            self.house.crash()
            self.house.start()
        until(lambda: self._is_over(run_ids), _ROUND_S)

    def _cancel_for(self, run_ids: dict[str, _Kind], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        until(lambda: self._is_over(run_ids) or time.monotonic() >= deadline)

    def _is_over(self, run_ids: dict[str, _Kind]) -> bool:
        """Cancel what is to be cancelled and runs by now; tell whether everything has ended."""
        runs = [self.house.scheduler.get_run(run_id) for run_id in run_ids]
        for run in runs:
            if run is not None and run_ids[run.id].is_cancelled and run.id not in self.cancelled:
                self.cancelled.add(run.id)
                self.house.scheduler.cancel_run(run.id)
        return all(run is not None and run.outcome is not Outcome.RUNNING for run in runs)

    def starts(self) -> Counter[str]:
        return Counter((self.house.folder / "starts").read_text().split())


@pytest.fixture
def no_limit_of_the_long_mode() -> None:
    """Let the long mode take its time: each of its rounds has a limit."""
    if _RUNS >= _LONG_RUNS:
        faulthandler.cancel_dump_traceback_later()


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    found = House(tmp_path, monkeypatch)
    yield found
    found.close()


@pytest.mark.usefixtures("no_limit_of_the_long_mode")
def test_many_runs_and_kills_end_with_everything_accounted_for(house: House) -> None:
    moments = random.Random(20_261_116)  # noqa: S311 - the same moments each time
    house.scheduler._store.settings.set_number(MAX_CONCURRENT, 16)
    soak = _Soak(house)
    soak.add_jobs()
    again_id = _add_retrying(house)
    rounds = -(-_RUNS // len(soak.kinds))
    # The last rounds belong to one daemon, whose descriptors are counted before and after.
    kill_rounds = set(moments.sample(range(rounds - 2), min(_KILLS, rounds - 2)))
    house.start()
    for number in range(rounds):
        if number == rounds - 2:
            house.end_of(house.begin(Command(argv=("true",))))
            before = _open_files(house)
        soak.round(moments.uniform(0, 0.9) if number in kill_rounds else None)
    house.scheduler.pause_job(again_id)
    until(lambda: house.scheduler.status().running == 0)

    runs = house.scheduler.get_run_log(limit=1_000_000)
    by_hand = [run for run in runs if run.id in soak.asked]
    assert Counter(run.id for run in by_hand) == Counter(dict.fromkeys(soak.asked, 1))
    assert {run.outcome for run in runs} & {Outcome.RUNNING} == set()
    _check_ends(soak, by_hand)
    _check_slots([run for run in runs if run.job_id == again_id])
    until(lambda: marked_processes(run.id for run in runs) == {})
    until(lambda: not any(map(_is_unmarked, psutil.process_iter(["cmdline"]))))
    house.wait_until_cleared()
    until(lambda: psutil.Process(house.pid).children() == [])
    until(lambda: _open_files(house) <= before)
    assert house.scheduler._store.database.rows("PRAGMA integrity_check") == [("ok",)]
    assert "Traceback" not in house.log()
    assert house.stop() == 0


def _open_files(house: House) -> Counter[str]:
    """Return the kinds of what the daemon has open, but for the database.

    SQLite keeps the descriptor of a second connection, as a backup has one, for the next such connection.
    """
    kinds = (_target(link).partition(":")[0] for link in Path(f"/proc/{house.pid}/fd").iterdir())
    return Counter(kind for kind in kinds if kind != str(house.scheduler.path))


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:  # It was closed in between.
        return ""


def _is_unmarked(process: psutil.Process) -> bool:
    return (process.info["cmdline"] or [])[1:] == [_UNMARKED]


def _add_retrying(house: House) -> str:
    policy = Policy(max_errors=0, backoff=Backoff.none(), retry=Retry(attempts=1, delay_ms=10))
    action = Command(argv=("false",))
    return house.scheduler.add_job("again", Cron("* * * * * *", timezone="UTC"), action, policy=policy)


def _check_ends(soak: _Soak, runs: list[Run]) -> None:
    """Each run has the end of its kind, and was started once; only a kill right at the start can prevent it."""
    starts = soak.starts()
    assert max(starts.values()) == 1
    assert set(starts) <= set(soak.asked)
    unstarted = [run for run in runs if run.id not in starts]
    assert len([run for run in unstarted if run.outcome is Outcome.INTERRUPTED]) <= _KILLS * 16
    for run in runs:
        kind = soak.asked[run.id]
        if run.id in starts:
            assert run.outcome is kind.outcome, run
            assert run.exit_code == kind.exit_code or kind.exit_code is None, run
            assert soak.house.text(run.id) == kind.text or kind.exit_code is None, run
        else:
            # It may also have been cancelled, or be due to end, before it was started.
            assert run.outcome in {Outcome.INTERRUPTED, kind.outcome} - {Outcome.SUCCESS}, run


def _check_slots(runs: list[Run]) -> None:
    attempts: dict[int | None, list[Run]] = {}
    for run in reversed(runs):
        attempts.setdefault(run.slot_at, []).append(run)
    assert None not in attempts
    for slot in attempts.values():
        assert [run.attempt for run in slot] in ([1], [1, 2])
        assert slot[0].outcome in {Outcome.FAILURE, Outcome.INTERRUPTED}
