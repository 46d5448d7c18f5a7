"""Chain runs that wait are told as due jobs are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from machine import Bench

from halo_scheduler import Manual
from halo_scheduler.model import Follower, Outcome, WaitingFor
from halo_scheduler.model.quiet_times import QuietTime
from ui.backend.waiting_jobs import read_waiting
from ui.main_window.table.job_rows import as_waiting
from ui.tray.state import TrayReader

pytestmark = pytest.mark.usefixtures("machine_in_berlin")
_NOW = 1_800_000_000_000  # Fri 15 Jan 2027, 09:00 in Berlin


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "halo.db", now_ms=_NOW)
    yield made
    made.close()


def test_one_that_waits_for_the_end_of_a_quiet_time_says_so_as_briefly_as_a_due_job(bench: Bench) -> None:
    scheduler = bench.scheduler
    scheduler.settings.change(quiet_times=(QuietTime(name="Work", group="loud", start="08:00", end="17:00"),))
    then = scheduler.add_job("then", Manual(), group="loud")
    first = scheduler.add_job("first", Manual(), followers=(Follower(job_id=then),))
    scheduler.trigger(first)
    (run,) = bench.tick()
    bench.end(run, Outcome.SUCCESS)
    bench.tick()
    job = scheduler.get_job(then)
    assert job is not None
    shown = as_waiting(job, read_waiting(scheduler)[then])
    assert shown.waiting_for is WaitingFor.QUIET_TIME
    assert shown.waiting_reason == "the end of the quiet time Work at 17:00"
    (waiting,) = TrayReader().read(scheduler, None).waiting
    assert (waiting.reason, waiting.shortly) == (shown.waiting_reason, "a quiet time to end")
