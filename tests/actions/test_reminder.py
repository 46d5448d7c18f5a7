"""Reminders, with a real bus and a stand-in for the desktop's notification service."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from notification_server import NotificationServer, private_bus
from process_probe import until

from halo_scheduler import Manual, Outcome, Reminder, Run, Scheduler
from halo_scheduler.clock import ManualClock

pytestmark = pytest.mark.usefixtures("qapp")


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with private_bus() as found:
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", found)
        yield found


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_800_000_000_000)


@pytest.fixture
def scheduler(tmp_path: Path, clock: ManualClock) -> Iterator[Scheduler]:
    with Scheduler.open(tmp_path / "halo.db", clock=clock) as made:
        yield made


def _run(scheduler: Scheduler, reminder: Reminder) -> Run:
    job_id = scheduler.add_job("stretch", Manual(), reminder)
    run_id = scheduler.trigger(job_id)
    scheduler.tick()

    def ended() -> bool:
        scheduler.tick()
        run = scheduler.get_run(run_id)
        return run is not None and run.outcome is not Outcome.RUNNING

    until(ended)
    run = scheduler.get_run(run_id)
    assert run is not None
    return run


def test_a_reminder_is_shown_and_succeeds_once_the_desktop_accepted_it(
    address: str, scheduler: Scheduler
) -> None:
    server = NotificationServer(address, capabilities=("body", "body-markup"))
    run = _run(scheduler, Reminder(title="Stand up", text="and <stretch>\nnow"))
    assert run.outcome is Outcome.SUCCESS
    (told,) = server.told
    assert (told.title, told.text) == ("Stand up", "and &lt;stretch&gt;\nnow")
    server.close()


def test_a_snoozed_reminder_comes_again_after_ten_minutes(
    address: str, scheduler: Scheduler, clock: ManualClock
) -> None:
    server = NotificationServer(address, capabilities=("body", "actions"))
    first = _run(scheduler, Reminder(title="Stand up"))
    assert server.told[0].actions == ["snooze", "Snooze 10 min"]
    server.click(server.told[0].number, action="snooze")

    def is_snoozed() -> bool:
        scheduler.tick()
        return scheduler._store.jobs.next_instant(clock.now_ms()) == clock.now_ms() + 600_000

    until(is_snoozed)
    assert [run.id for run in scheduler.get_run_log()] == [first.id]
    clock.advance(600_000)
    scheduler.tick()
    until(lambda: len(server.told) == 2)
    server.close()


@pytest.mark.usefixtures("address")
def test_without_a_notification_service_it_fails(scheduler: Scheduler) -> None:
    run = _run(scheduler, Reminder(title="Stand up"))
    assert run.outcome is Outcome.FAILURE
    assert run.error.startswith("the notification could not be shown: ")


def test_without_a_bus_it_fails(scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent")
    assert _run(scheduler, Reminder(title="Stand up")).outcome is Outcome.FAILURE
