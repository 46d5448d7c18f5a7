"""What the pane tells of what a job adapts to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chain_waits import NETWORK, waits
from job_values import MINUTE, NOW
from pane_desk import PaneDesk
from pytestqt.qtbot import QtBot

from halo_scheduler.model import (
    Command,
    Every,
    Follower,
    HintSource,
    InQuietTime,
    Manual,
    Network,
    PathExists,
    Policy,
)
from halo_scheduler.model.settings import QuietTime

pytestmark = pytest.mark.usefixtures("machine_in_berlin")


@pytest.fixture
def desk(qtbot: QtBot, tmp_path: Path) -> Iterator[PaneDesk]:
    made = PaneDesk(qtbot, tmp_path / "halo.db")
    yield made
    made.bench.close()


def _waiting(desk: PaneDesk, waits_until: int | None = None, **policy: Any) -> str:
    """Add a job that is due and waits for its conditions, as the engine leaves it."""
    job_id = desk.scheduler.add_job("backup", Every("1h"), policy=Policy(**policy))
    store = desk.scheduler._store
    record = store.jobs.get(job_id)
    assert record is not None
    state = record.evolve(
        next_run_at=NOW - 5 * MINUTE,
        waits_until=waits_until,
        **waits(NETWORK),
    )
    store.jobs.save_states([state])
    return job_id


def test_a_hint_shows_from_whom_it_comes_and_can_be_cleared(desk: PaneDesk) -> None:
    job_id = desk.scheduler.add_job("a", Every("1h"))
    desk.show(job_id)
    assert not desk.is_shown("hintSection")
    desk.scheduler.propose_interval(job_id, "2m", reason="<b>busy</b>", source=HintSource.JOB)
    desk.show(job_id)
    assert desk.text("hintWhat") == "Every 2 minutes, until 10:00"
    assert desk.text("hintOrigin") == "From the job itself: <b>busy</b>"
    desk.button("clearHintButton").click()
    job = desk.scheduler.get_job(job_id)
    assert job is not None
    assert job.hints.interval_ms is None
    desk.show(job_id)
    assert not desk.is_shown("hintSection")


def test_the_key_that_clears_a_hint_does_nothing_else_when_pressed_twice(desk: PaneDesk) -> None:
    scheduler = desk.scheduler
    then = scheduler.add_job("then", Manual())
    job_id = scheduler.add_job("a", Every("1h"), followers=(Follower(job_id=then),))
    scheduler.propose_interval(job_id, "2m")
    desk.show(job_id)
    desk.button("clearHintButton").setFocus()
    scheduler.clear_hints(job_id)
    desk.show(job_id)
    assert not desk.is_shown("hintSection")
    # Otherwise it would be the link to the job that comes then.
    assert desk.button("detailMore").hasFocus()


def test_a_hint_is_gone_when_it_no_longer_counts(desk: PaneDesk) -> None:
    job_id = desk.scheduler.add_job("a", Every("1h"))
    desk.scheduler.propose_interval(job_id, "2m", ttl="10m")
    desk.show(job_id)
    assert 10 * MINUTE in desk.pane.waits(NOW)
    desk.bench.clock.advance(10 * MINUTE)
    desk.pane.count_seconds()
    assert not desk.is_shown("hintSection")


def test_a_waiting_job_shows_reason_start_and_deadline(desk: PaneDesk) -> None:
    conditions = (Network(), PathExists(path="/mnt/<b>disk</b>"))
    policy = {"conditions": conditions, "condition_deadline": "2h", "keep_awake": True}
    desk.show(_waiting(desk, NOW + 115 * MINUTE, **policy))
    assert desk.text("detailStatus") == "Waiting for network"
    assert desk.text("waitingSentence") == (
        "Due since 08:55. Skipped if it still waits at 10:55. “Run now” ignores conditions and quiet hours."
    )
    assert desk.text("detailConditions") == "with a network\nwhen /mnt/<b>disk</b> exists"
    assert desk.text("detailDeadline") == "Waits up to 2 h, then the run is skipped."
    assert desk.text("detailAwake") == "Prevents sleep while running"
    # What is told above is not told once more.
    assert "waits" not in desk.text("detailWhy")
    assert "starts only" not in desk.text("detailWhy")


def test_a_manual_run_that_waits_for_its_group_explains_how_to_start_it_anyway(desk: PaneDesk) -> None:
    desk.scheduler.set_group_limit("disk", 1)
    first, second = (desk.scheduler.add_job(name, Manual(), group="disk") for name in ("first", "second"))
    desk.scheduler.trigger(first)
    desk.bench.tick()
    desk.show(second)
    assert (desk.is_shown("detailRun"), desk.is_shown("detailStartAnyway")) == (True, False)
    desk.scheduler.trigger(second)
    desk.bench.tick()
    desk.show(second)
    assert (desk.is_shown("detailRun"), desk.is_shown("detailStartAnyway")) == (False, True)
    assert desk.text("waitingSentence").endswith(
        "“Start anyway” ignores the limit of its group, but not the limit for all jobs."
    )
    desk.button("detailStartAnyway").click()
    assert [run.job_id for run in desk.bench.tick()] == [second]


def test_a_job_excluded_from_assistants_is_marked(desk: PaneDesk) -> None:
    desk.show(desk.scheduler.add_job("mine", Every("1h"), policy=Policy(assistants_may_run=False)))
    assert desk.text("detailAssistants") == "Assistants can't run this job"
    desk.show(desk.scheduler.add_job("theirs", Every("1h"), Command(argv=("true",))))
    assert not desk.is_shown("detailAssistants")


def test_sections_that_do_not_apply_are_hidden(desk: PaneDesk) -> None:
    plain = desk.scheduler.add_job("plain", Manual())
    desk.show(_waiting(desk, conditions=(Network(),)))
    assert desk.text("detailDeadline") == ""
    desk.show(plain)
    late = ("hintSection", "detailConditions", "runsAfter", "thenRuns")
    assert not any(map(desk.is_shown, (*late, "waitingSentence", "detailAwake")))


def test_a_changed_setting_is_read_again(desk: PaneDesk, qtbot: QtBot) -> None:
    desk.show(desk.scheduler.add_job("a", Every("1h")))
    assert "quiet" not in desk.text("detailWhy")
    with qtbot.waitSignal(desk.pane.times_changed):
        desk.scheduler.settings.change(quiet_times=(QuietTime(name="All day", start="00:00", end="24:00"),))
    assert "That falls in the quiet hours All day" in desk.text("detailWhy")


def test_the_times_that_are_quiet_are_reported_among_the_next(desk: PaneDesk) -> None:
    # It is 09:00 in Berlin.
    meeting = QuietTime(name="Meeting", start="09:50", end="11:30")
    desk.scheduler.settings.change(quiet_times=(meeting,))
    waits = desk.scheduler.add_job("waits", Every("1h"))
    desk.show(waits)
    assert desk.text("detailStatus") == "Ready, next run today at 10:00 · quiet"
    assert desk.label("nextRunAt0").text() == "quiet"
    assert "and starts when they end, at 11:30" in desk.label("nextRunAt0").toolTip()
    # 11:00 is passed over.
    assert desk.label("nextRun1").text() == "today at 12:00"
    skips = desk.scheduler.add_job("skips", Every("1h"), policy=Policy(in_quiet_time=InQuietTime.SKIP))
    desk.show(skips)
    assert desk.text("detailStatus") == "Ready, next run today at 10:00 · skipped"
    assert [desk.label(f"nextRunAt{row}").text() for row in range(3)] == ["quiet", "quiet", ""]
    assert "will be skipped" in desk.label("nextRunAt1").toolTip()


def test_slots_that_pass_while_a_job_waits_are_replaced_by_later_ones(desk: PaneDesk, qtbot: QtBot) -> None:
    desk.show(_waiting(desk))
    assert desk.label("nextRun0").text() == "waiting"
    assert desk.label("nextRunAt4").isVisible()
    last = desk.label("nextRunAt4").text()
    with qtbot.waitSignal(desk.pane.times_changed):
        desk.bench.clock.advance(61 * MINUTE)
        desk.pane.count_seconds()
    assert desk.label("nextRun0").text() == "waiting"
    assert desk.label("nextRunAt4").isVisible()
    assert desk.label("nextRunAt3").text() == last
