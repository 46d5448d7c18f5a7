"""Many jobs that are due at once: their order, and what a tick costs that finds them waiting."""

from __future__ import annotations

from machine import Bench

from halo_scheduler import Every

_HOUR_MS = 3_600_000


def test_jobs_that_were_added_together_start_in_the_order_they_were_given(narrow: Bench) -> None:
    ids = narrow.scheduler.add_jobs([{"name": f"{n}", "schedule": Every("1h")} for n in range(30)])
    narrow.tick()

    narrow.tick(_HOUR_MS)
    while narrow.open_runs:
        narrow.finish(narrow.started[-1])

    assert [run.job_id for run in narrow.started] == ids
