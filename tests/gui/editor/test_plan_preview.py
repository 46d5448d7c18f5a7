"""Looking ahead from a schedule."""

from __future__ import annotations

import pytest

from halo_scheduler import After, Cron, Every, Manual, Once, Policy
from halo_scheduler.model import Caps, JobStatus, Schedule, Situation
from halo_scheduler.wording.lint import LintCode
from ui.editor.plan_preview import preview_schedule

_NOW = 1_784_000_000_000


def test_the_next_five_runs_follow_the_anchor() -> None:
    found = preview_schedule(Every("1h"), _NOW, anchor_at=_NOW - 600_000)
    assert found.runs == tuple(_NOW + 3_000_000 + step * 3_600_000 for step in range(5))
    assert found.words == "every hour"


@pytest.mark.parametrize(
    ("schedule", "runs"),
    [(Manual(), ()), (Once(_NOW + 5), (_NOW + 5,)), (Once(_NOW), ()), (After("5m"), (_NOW,))],
)
def test_some_schedules_have_fewer(schedule: Schedule, runs: tuple[int, ...]) -> None:
    found = preview_schedule(schedule, _NOW, anchor_at=0)
    assert (found.runs, found.is_after) == (runs, isinstance(schedule, After))


def test_the_notes_tell_of_the_next_clock_change_and_of_the_time_limit() -> None:
    schedule = Cron("30 2 * * *", "Europe/Berlin")
    found = preview_schedule(schedule, _NOW, anchor_at=0, policy=Policy(time_limit="200000s"))
    assert {note.code for note in found.notes} == {LintCode.CLOCK_CHANGE, LintCode.OVERLAPS_ITSELF}


@pytest.mark.parametrize(
    ("schedule", "most", "capped_at"),
    [
        (Every("1h"), 23, 23),
        (Every("1h"), 24, None),
        (Every("1h"), None, None),
        (Cron("* * * * * *"), 5, 5),
        (Cron("* * * * * *"), 1_000_000, None),
        (Cron("0 9 * * *"), 1, None),
        (Manual(), 1, None),
        (After("1h"), 23, 23),
        (After("1h"), 24, None),
    ],
)
def test_a_cap_that_the_schedule_goes_beyond_is_reported(
    schedule: Schedule, most: int | None, capped_at: int | None
) -> None:
    policy = Policy(caps=Caps(runs_per_day=most))
    assert preview_schedule(schedule, _NOW, anchor_at=_NOW, policy=policy).capped_at == capped_at


def test_points_during_a_pause_are_not_previewed() -> None:
    paused = Situation("id", "job", status=JobStatus.PAUSED, paused_until=_NOW + 7_200_000)
    found = preview_schedule(Every("1h"), _NOW, anchor_at=_NOW, situation=paused)
    assert found.runs[0] == _NOW + 10_800_000
    assert found.pause.startswith("paused until ")
    assert not found.is_pause_open


def test_a_pause_without_an_end_is_reported() -> None:
    paused = Situation("id", "job", status=JobStatus.PAUSED)
    found = preview_schedule(Every("1h"), _NOW, anchor_at=_NOW, situation=paused)
    assert (found.pause, found.is_pause_open) == ("paused", True)
    ready = preview_schedule(Every("1h"), _NOW, anchor_at=_NOW, situation=Situation("id", "job"))
    assert (ready.pause, ready.is_pause_open) == ("", False)
