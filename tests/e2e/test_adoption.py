"""Commands that outlive a crash of ours: kill -9 of the daemon, not of the job."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from commands import shell
from daemons import House
from past_daemon import PastClock
from process_probe import is_living, living_in, pids_in, until

from halo_scheduler import (
    Command,
    Cron,
    Every,
    Manual,
    Outcome,
    Policy,
    ScheduleTriggerError,
    Source,
    Trigger,
)
from halo_scheduler.actions.spool import spool_folder
from halo_scheduler.clock import SystemClock
from halo_scheduler.model import SkipReason
from halo_scheduler.service.scheduler import Scheduler

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are those of POSIX")

_PAST_DAEMON = Path(__file__).parents[1] / "support" / "past_daemon.py"
_HOUR_MS = 3_600_000


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    found = House(tmp_path, monkeypatch)
    yield found
    found.close()


def _line(*steps: str) -> str:
    """Return a line that notes its processes and its start, then takes its steps, waiting for a file before each."""
    waits = [f"while [ ! -e go{index} ]; do sleep 0.02; done; {step}" for index, step in enumerate(steps)]
    return "; ".join(["echo x >>starts; echo $PPID >shim.pid; echo $$ >main.pid; echo before", *waits])


def _begin(house: House, action: Command, **policy: str | None) -> str:
    """Start a command under a daemon, and wait until its ticket is written."""
    house.start()
    run_id = house.begin(action, **policy)
    until(lambda: house.spooled(".ticket") and len(pids_in(house.folder)) >= 2)
    return run_id


def _crash_before_the_ticket(house: House) -> None:
    house.crash()
    # There is none yet, but on a very busy machine.
    for name in house.spooled(".ticket"):
        (spool_folder(house.scheduler.path) / name).unlink()


def _starts(house: House) -> int:
    return (house.folder / "starts").read_text().count("x")


def test_a_command_that_keeps_running_is_adopted(house: House) -> None:
    action = shell(_line("echo during", "echo after >&2", "exit 7"), directory=str(house.folder))
    run_id = _begin(house, action)
    house.crash()
    house.touch("go0")
    until(lambda: "during" in house.text(run_id))
    house.start()
    assert house.get(run_id).outcome is Outcome.RUNNING
    assert house.scheduler.status().running == 1
    with pytest.raises(ScheduleTriggerError):
        house.scheduler.trigger(house.get(run_id).job_id)
    assert house.text(run_id) == "before\nduring\n"
    house.touch("go1")
    house.touch("go2")
    run = house.end_of(run_id)
    assert (run.outcome, run.exit_code, run.error) == (Outcome.FAILURE, 7, "exit code 7")
    assert house.text(run_id) == "before\nduring\nafter\n"
    assert [logged.id for logged in house.scheduler.get_run_log()] == [run_id]
    assert _starts(house) == 1
    house.wait_until_cleared()


def test_a_due_job_is_not_started_again_while_its_adopted_run_keeps_running(house: House) -> None:
    every_second = Cron("* * * * * *", timezone="UTC")
    house.start()
    job_id = house.scheduler.add_job(
        "long", every_second, shell(_line("exit 0"), directory=str(house.folder))
    )
    until(lambda: house.spooled(".ticket"))
    house.crash()
    house.start()
    house.scheduler.add_job("short", every_second, Command(argv=("true",)))
    until(lambda: len(house.scheduler.get_run_log(outcome=Outcome.SUCCESS)) >= 2)
    assert [run.outcome for run in house.scheduler.get_run_log(job_id)] == [Outcome.RUNNING]
    assert _starts(house) == 1
    house.touch("go0")
    until(lambda: house.scheduler.get_run_log(job_id, outcome=Outcome.SUCCESS))
    runs = house.scheduler.get_run_log(job_id)
    assert len({run.slot_at for run in runs}) == len(runs)


def test_an_adopted_test_run_keeps_its_edited_action(house: House) -> None:
    job_id = house.scheduler.add_job(
        "job", Manual(), Command(argv=("false",)), policy=Policy(time_limit="1s")
    )
    before = house.scheduler.get_job(job_id)
    assert before is not None
    edited = shell(_line("exit 9"), directory=str(house.folder), success_codes=(9,))
    house.start()
    run_id = house.scheduler.runs.request_test(
        job_id, replace(before.spec, action=edited, policy=Policy(time_limit="1h"))
    )
    until(lambda: house.spooled(".ticket") and len(pids_in(house.folder)) >= 2)
    started_at = house.get(run_id).started_at or 0
    # The stored job's time limit would end it; it is not the one that is tried.
    until(lambda: SystemClock().now_ms() > started_at + 1_100)
    house.crash()
    house.start()
    assert house.get(run_id).outcome is Outcome.RUNNING
    house.touch("go0")
    run = house.end_of(run_id)
    assert (run.trigger, run.outcome, run.exit_code) == (Trigger.TEST, Outcome.SUCCESS, 9)
    until(lambda: house.scheduler.get_job(job_id) == before)
    assert _starts(house) == 1


def test_a_run_outlives_several_crashes(house: House) -> None:
    run_id = _begin(house, shell(_line("echo end; exit 3"), directory=str(house.folder)))
    for _ in range(3):
        house.crash()
        house.start()
    house.touch("go0")
    run = house.end_of(run_id)
    assert (run.exit_code, house.text(run_id), _starts(house)) == (3, "before\nend\n", 1)
    house.wait_until_cleared()


@pytest.mark.parametrize(
    ("code", "outcome", "reason", "error"),
    [
        (0, Outcome.SUCCESS, None, ""),
        (3, Outcome.FAILURE, None, "exit code 3"),
        (75, Outcome.SKIPPED, SkipReason.NO_WORK, ""),
    ],
)
def test_one_that_ended_unseen_has_its_true_end(
    house: House, code: int, outcome: Outcome, reason: SkipReason | None, error: str
) -> None:
    action = shell(_line(f"echo last; exit {code}"), directory=str(house.folder), no_work_code=75)
    run_id = _begin(house, action)
    house.crash()
    house.touch("go0")
    until(lambda: not living_in(house.folder))
    gone_at = time.time_ns() // 1_000_000
    (shim_code,) = house.spooled(".code")
    written_ns = (spool_folder(house.scheduler.path) / shim_code).stat().st_mtime_ns
    house.start()
    run = house.get(run_id)
    assert (run.outcome, run.reason, run.exit_code, run.error) == (outcome, reason, code, error)
    assert run.note == "it ended while Halo was not running"
    assert run.finished_at == written_ns // 1_000_000
    assert run.finished_at <= gone_at
    assert house.text(run_id) == "before\nlast\n"
    assert _starts(house) == 1
    house.wait_until_cleared()


def test_one_whose_processes_were_all_killed_is_interrupted(house: House) -> None:
    run_id = _begin(house, shell(_line("exit 0"), directory=str(house.folder)))
    house.crash()
    # The shim first: left alive, it would note how its command ended.
    for name in ("shim", "main"):
        os.kill(int((house.folder / f"{name}.pid").read_text()), 9)
    until(lambda: not living_in(house.folder))
    house.start()
    run = house.get(run_id)
    assert (run.outcome, run.error) == (
        Outcome.INTERRUPTED,
        "ended while Halo was not running, exit code unknown",
    )
    assert (run.exit_code, house.text(run_id)) == (None, "before\n")
    house.wait_until_cleared()


def test_one_whose_shim_alone_was_killed_is_waited_for(house: House) -> None:
    action = shell(_line("echo alone", "echo last"), directory=str(house.folder))
    run_id = _begin(house, action)
    house.crash()
    os.kill(int((house.folder / "shim.pid").read_text()), 9)
    house.touch("go0")
    house.start()
    assert house.get(run_id).outcome is Outcome.RUNNING
    house.touch("go1")
    run = house.end_of(run_id)
    assert (run.outcome, run.exit_code) == (Outcome.INTERRUPTED, None)
    assert (house.text(run_id), _starts(house)) == ("before\nalone\nlast\n", 1)
    house.wait_until_cleared()


_TREE = "setsid sh -c 'trap \"\" TERM; echo $$ >deaf.pid; while :; do sleep 60; done' & " + _line("exit 0")


@pytest.mark.parametrize("when", ["before the restart", "after the restart"])
def test_an_adopted_run_can_be_cancelled(house: House, when: str) -> None:
    run_id = _begin(house, shell(_TREE, directory=str(house.folder), grace="1s"))
    until(lambda: len(living_in(house.folder)) == 3)
    house.crash()
    if when == "before the restart":
        house.scheduler.cancel_run(run_id)
    house.start()
    if when == "after the restart":
        house.scheduler.cancel_run(run_id)
    until(lambda: house.is_over(run_id) or len(living_in(house.folder)) < 3)
    run = house.end_of(run_id)
    assert living_in(house.folder) == []
    assert (run.outcome, run.error) == (Outcome.CANCELLED, "stopped by the user")
    assert house.text(run_id).startswith("before\n")
    house.wait_until_cleared()


@pytest.mark.parametrize("way", ["cancel", "time limit"])
@pytest.mark.parametrize("is_survived", [True, False], ids=["something lives on", "all is gone"])
def test_a_stop_that_a_crash_interrupted_is_finished(house: House, way: str, is_survived: bool) -> None:
    deaf = "setsid sh -c 'trap \"\" TERM; echo $$ >deaf.pid; while :; do sleep 60; done' & "
    waits = "touch asked; while [ ! -e crashed ]; do sleep 0.02; done; exit 9"
    line = f"trap '{waits}' TERM; {deaf if is_survived else ''}{_line('exit 0')}"
    action = shell(line, directory=str(house.folder), grace="2s")
    run_id = _begin(house, action, time_limit="3s" if way == "time limit" else None)
    until(lambda: len(pids_in(house.folder)) == 2 + is_survived)
    if way == "cancel":
        house.scheduler.cancel_run(run_id)
    until((house.folder / "asked").exists)
    house.crash()
    house.touch("crashed")
    until(lambda: len(living_in(house.folder)) == int(is_survived))
    assert not house.is_over(run_id)
    house.start()
    run = house.end_of(run_id)
    assert living_in(house.folder) == []
    assert (run.outcome, run.exit_code) == (
        Outcome.CANCELLED if way == "cancel" else Outcome.TIMEOUT,
        9,
    )
    house.wait_until_cleared()


def test_a_cancel_that_came_too_late_changes_nothing(house: House) -> None:
    run_id = _begin(house, shell(_line("exit 0"), directory=str(house.folder)))
    house.crash()
    house.touch("go0")
    until(lambda: not living_in(house.folder))
    house.scheduler.cancel_run(run_id)
    house.start()
    assert house.get(run_id).outcome is Outcome.SUCCESS


@pytest.mark.parametrize("is_passed", [True, False], ids=["passed while nobody looked", "still ahead"])
def test_an_adopted_run_has_its_time_limit(house: House, is_passed: bool) -> None:
    run_id = _begin(house, shell(_TREE, directory=str(house.folder), grace="1s"))
    until(lambda: len(living_in(house.folder)) == 3)
    house.crash()
    begun = house.get(run_id)
    started_at = begun.started_at or 0
    # Until then it is the engine that comes next which looks at it, however long that takes to come.
    limit_s = (SystemClock().now_ms() - started_at) // 1_000 + (1 if is_passed else 4)
    house.scheduler.update_job(begun.job_id, policy=Policy(time_limit=f"{limit_s}s"))
    until(lambda: not is_passed or SystemClock().now_ms() > started_at + limit_s * 1_000)
    assert len(living_in(house.folder)) == 3
    house.start()
    run = house.end_of(run_id)
    assert living_in(house.folder) == []
    assert (run.outcome, run.error) == (Outcome.TIMEOUT, "it ran longer than its time limit")
    assert run.duration_ms is not None
    assert run.duration_ms >= limit_s * 1_000
    house.wait_until_cleared()


def test_a_crash_before_the_ticket_is_written_loses_nothing(house: House) -> None:
    house.start()
    # The first run also asks the login shell.
    house.end_of(house.begin(Command(argv=("true",))))
    run_id = house.begin(shell(_line("echo end", "exit 4"), directory=str(house.folder)))
    until(lambda: len(pids_in(house.folder)) == 2)
    _crash_before_the_ticket(house)
    house.start()
    assert house.get(run_id).outcome is Outcome.RUNNING
    # Now there is one: what the job says from here on does not change how this run is judged.
    until(lambda: house.spooled(".ticket"))
    house.scheduler.update_job(house.get(run_id).job_id, action=Command(argv=("true",), success_codes=(4,)))
    house.crash()
    house.start()
    house.touch("go0")
    house.touch("go1")
    run = house.end_of(run_id)
    assert (run.outcome, run.exit_code, house.text(run_id)) == (Outcome.FAILURE, 4, "before\nend\n")
    assert _starts(house) == 1
    house.wait_until_cleared()


def test_a_crash_before_the_ticket_of_one_that_ends_unseen_loses_nothing(house: House) -> None:
    house.start()
    house.end_of(house.begin(Command(argv=("true",))))
    run_id = house.begin(shell(_line("echo end; exit 4"), directory=str(house.folder)))
    until(lambda: len(pids_in(house.folder)) == 2)
    _crash_before_the_ticket(house)
    house.touch("go0")
    until(lambda: not living_in(house.folder))
    house.start()
    run = house.get(run_id)
    assert (run.outcome, run.exit_code, house.text(run_id)) == (Outcome.FAILURE, 4, "before\nend\n")
    house.wait_until_cleared()


@pytest.mark.parametrize("is_adopted", [True, False], ids=["adopted", "ended unseen"])
def test_secrets_are_not_in_what_outlived_the_crash(house: House, is_adopted: bool) -> None:
    value = "correct horse battery staple"
    house.scheduler.secrets.set("TOKEN", value, in_file=True)
    line = _line('echo "token $TOKEN"', 'echo "again $TOKEN"')
    action = shell(line, directory=str(house.folder), environment={"TOKEN": "${secret:TOKEN}"})
    run_id = _begin(house, action)
    house.crash()
    house.touch("go0")
    if is_adopted:
        house.start()
    house.touch("go1")
    if not is_adopted:
        until(lambda: not living_in(house.folder))
        house.start()
    assert house.end_of(run_id).exit_code == 0
    house.wait_until_cleared()
    text = house.text(run_id)
    assert value not in text
    assert [line.partition(" ")[0] for line in text.splitlines()] == ["before", "token", "again"]


def test_output_with_a_secret_that_was_changed_meanwhile_is_withheld(house: House) -> None:
    house.scheduler.secrets.set("TOKEN", "correct horse battery staple", in_file=True)
    action = shell(
        _line("echo $TOKEN"), directory=str(house.folder), environment={"TOKEN": "${secret:TOKEN}"}
    )
    run_id = _begin(house, action)
    house.crash()
    house.scheduler.secrets.set("TOKEN", "something else", in_file=True)
    house.touch("go0")
    house.start()
    house.end_of(run_id)
    house.wait_until_cleared()
    assert house.text(run_id) == (
        "[output withheld, as secrets cannot be taken out of it: "
        "the secret TOKEN was changed during the run]\n"
    )


def test_survivors_of_a_run_that_ended_unseen_do_not_keep_it_open(house: House) -> None:
    line = "setsid sh -c 'echo $$ >left.pid; exec sleep 60' & " + _line("exit 2")
    run_id = _begin(house, shell(line, directory=str(house.folder)))
    until(lambda: len(pids_in(house.folder)) == 3)
    house.crash()
    house.touch("go0")
    main = int((house.folder / "shim.pid").read_text())
    until(lambda: not is_living(main))
    house.start()
    assert (house.get(run_id).outcome, house.get(run_id).exit_code) == (Outcome.FAILURE, 2)
    assert len(living_in(house.folder)) == 1


def test_slots_missed_after_a_run_that_ended_unseen_are_caught_up_once(house: House) -> None:
    back_ms = 7 * _HOUR_MS // 2
    past = PastClock(back_ms)
    with Scheduler.open(clock=past) as scheduler:
        job_id = scheduler.add_job(
            "hourly",
            Every("1h"),
            shell(_line("exit 0"), directory=str(house.folder)),
            anchor_at=past.now_ms() + 1_500,
        )
    house.start((sys.executable, _PAST_DAEMON), {"HALO_BACK_MS": str(back_ms)})
    until(lambda: house.spooled(".ticket"))
    house.crash()
    house.touch("go0")
    until(lambda: not living_in(house.folder))
    (shim_code,) = house.spooled(".code")
    path = spool_folder(house.scheduler.path) / shim_code
    ended_s = path.stat().st_mtime - back_ms / 1_000
    os.utime(path, (ended_s, ended_s))
    house.start()
    until(lambda: len(house.scheduler.get_run_log(job_id, outcome=Outcome.SUCCESS)) == 2)
    late, first = house.scheduler.get_run_log(job_id)
    assert first.slot_at is not None
    assert first.finished_at is not None
    assert first.finished_at - first.slot_at < _HOUR_MS
    # Those of one and two hours after it are counted on the newest, that of three hours after it.
    assert (late.source, late.slot_at, late.passed_over) == (Source.CATCH_UP, first.slot_at + 3 * _HOUR_MS, 2)
    assert _starts(house) == 2
    house.wait_until_cleared()


def test_an_edit_after_an_early_crash_does_not_uncover_a_secret(house: House) -> None:
    house.scheduler.secrets.set("TOKEN", "correct horse", in_file=True)
    house.start()
    house.end_of(house.begin(Command(argv=("true",))))
    line = _line('echo "token $TOKEN"')
    run_id = house.begin(shell(line, directory=str(house.folder), environment={"TOKEN": "${secret:TOKEN}"}))
    until(lambda: len(pids_in(house.folder)) == 2)
    house.crash()
    house.scheduler.update_job(house.get(run_id).job_id, action=Command(argv=("true",)))
    house.touch("go0")
    until(lambda: not living_in(house.folder))
    assert "correct" not in house.text(run_id)
    house.start()
    house.wait_until_cleared()
    assert house.text(run_id) == "before\ntoken ***\n"
    assert b"correct horse" not in house.scheduler.path.read_bytes()


def test_output_that_waits_for_its_secrets_outlives_another_end_of_halo(house: House) -> None:
    house.scheduler.secrets.set("TOKEN", "correct horse", in_file=True)
    line = _line('echo "token $TOKEN"')
    action = shell(line, directory=str(house.folder), environment={"TOKEN": "${secret:TOKEN}"})
    run_id = _begin(house, action)
    house.crash()
    house.touch("go0")
    until(lambda: not living_in(house.folder))
    # As if the keyring had not answered before the next end: the run is recorded, its output is not.
    house.scheduler._store.database.rows(
        "UPDATE scheduler_run_log SET outcome = 'success', finished_at = started_at WHERE id = ?", [run_id]
    )
    assert "follows as soon as" in house.text(run_id)
    house.start()
    house.wait_until_cleared()
    assert house.text(run_id) == "before\ntoken ***\n"
