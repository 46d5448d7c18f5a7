"""The panel beside the form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from editor_desk import FULL, Bench, Desk, opened_bench
from pytestqt.qtbot import QtBot

from halo_scheduler import Cron, Every
from halo_scheduler.model import JobSpec
from halo_scheduler.model.calendars import Calendar
from halo_scheduler.model.schedules import Entry, Several
from ui.editor.draft import PageNumber

pytestmark = pytest.mark.usefixtures("machine_in_berlin")


@pytest.fixture
def bench(tmp_path: Path, qtbot: QtBot) -> Iterator[Bench]:
    with opened_bench(tmp_path, qtbot) as found:
        yield found


def _open_stored(bench: Bench, spec: JobSpec, *, is_paused: bool = False, until: int | None = None) -> Desk:
    job_id = bench.scheduler.add_job(spec.name, spec.schedule, spec.action, anchor_at=spec.anchor_at)
    if is_paused:
        bench.scheduler.pause_job(job_id, until)
    return bench.open(spec, job_id=job_id)


def test_a_paused_job_is_called_paused_instead_of_counting_down(bench: Bench) -> None:
    spec = replace(FULL, schedule=Every("3h"), anchor_at=bench.clock.now_ms(), enabled=True)
    desk = _open_stored(bench, spec, is_paused=True)
    assert desk.label("scheduleRemark") == "The job is paused."
    assert desk.label("nextRunsTitle") == "Next runs once resumed"
    assert desk.label("nextRun0")
    assert desk.label("nextRunIn0") == ""
    assert desk.pages.summary(PageNumber.WHEN) == "paused · every 3 hours"


def test_a_pause_with_an_end_shows_the_runs_after_it(bench: Bench) -> None:
    now_ms = bench.clock.now_ms()
    spec = replace(FULL, schedule=Every("3h"), anchor_at=now_ms, enabled=True)
    desk = _open_stored(bench, spec, is_paused=True, until=now_ms + 4 * 3_600_000)
    assert desk.label("scheduleRemark").startswith("The job is paused until ")
    assert desk.label("nextRunIn0") == "in 6 h"


def test_a_disabled_job_does_not_count_down(bench: Bench) -> None:
    desk = bench.open(FULL)
    assert desk.label("nextRunsTitle") == "Next runs once enabled"
    assert desk.label("nextRunIn0") == ""


def test_runs_in_another_zone_show_both_times(bench: Bench) -> None:
    desk = bench.open(replace(FULL, schedule=Cron("0 9 * * *", "America/New_York"), enabled=True))
    assert desk.label("nextRunsTitle") == "Next runs (America/New_York)"
    assert desk.label("nextRun0").endswith(", 09:00")
    assert desk.label("nextRunLocal0") == "15:00 local time"
    desk = bench.open(replace(FULL, schedule=Cron("0 9 * * *", "Europe/Paris"), enabled=True))
    assert desk.label("nextRunsTitle") == "Next runs"
    assert desk.label("nextRunLocal0") == ""


def test_a_calendar_file_that_is_gone_leaves_the_days_the_job_knows(bench: Bench, tmp_path: Path) -> None:
    days = tmp_path / "closed.ics"
    event = "BEGIN:VEVENT\nUID:1\nDTSTART;VALUE=DATE:20260101\nEND:VEVENT\n"
    days.write_text(f"BEGIN:VCALENDAR\nVERSION:2.0\n{event}END:VCALENDAR\n", encoding="utf-8")
    times = Several((Entry(Cron("0 9 * * *"), calendar=Calendar(excluded=(f"ics {days}",))),))
    spec = replace(FULL, schedule=times, enabled=True)
    job_id = bench.scheduler.add_job(spec.name, times, spec.action)
    days.unlink()
    assert bench.open(spec, job_id=job_id).label("nextRun0").endswith(", 09:00")
    new = bench.open(spec)
    assert new.label("scheduleWords") == "No preview"
    assert "closed.ics" in new.label("scheduleRemark")
