"""The command line over a running daemon, as a newcomer would use it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from chain_waits import awaited
from process_probe import LONG_S, is_living, until

from halo_scheduler import Command, Manual, Outcome
from halo_scheduler.model.settings import QuietTime
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.store.settings import MAX_CONCURRENT

_HALO = Path(sys.executable).parent / "halo"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    runtime = tmp_path / "runtime"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("HALO_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    return tmp_path / "home"


class _Daemon:
    """The program as `halo` or `halo daemon` starts it."""

    def __init__(self, *arguments: str, without: tuple[str, ...] = ()) -> None:
        environment = {name: value for name, value in os.environ.items() if name not in without}
        self.process = subprocess.Popen(
            [_HALO, *arguments], stderr=subprocess.PIPE, text=True, env=environment
        )
        self.said = ""
        assert self.process.stderr is not None
        while "running jobs from" not in self.said:
            line = self.process.stderr.readline()
            assert line, self.said
            self.said += line

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=LONG_S)
        return self.process.returncode, said


@pytest.fixture
def daemon() -> Iterator[_Daemon]:
    found = _Daemon("daemon")
    yield found
    if found.process.poll() is None:
        found.stop()


def _halo(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [_HALO, *arguments], capture_output=True, text=True, check=False, timeout=LONG_S, encoding="utf-8"
    )


@pytest.mark.usefixtures("daemon")
def test_a_command_added_in_one_terminal_runs_in_the_daemon() -> None:
    assert _halo("add", "hello", "--manual", "--", "sh", "-c", "echo out; echo err >&2").returncode == 0
    done = _halo("run", "hello", "--wait")
    assert (done.returncode, done.stdout) == (0, "out\nerr\n")
    assert "● succeeded" in done.stderr
    assert _halo("logs", "hello").stdout == "out\nerr\n"
    (run,) = json.loads(_halo("history", "hello", "--json").stdout)
    assert (run["outcome"], run["exit_code"], run["trigger"]) == ("success", 0, "manual")
    assert _halo("remove", "hello", "--yes").returncode == 0
    assert json.loads(_halo("list", "--json").stdout) == []


@pytest.mark.usefixtures("daemon")
@pytest.mark.parametrize(
    ("code", "exit_code"),
    [("exit 3", 1), ("exit 75", 0), ("exit 0", 0)],
    ids=["failure", "no work", "success"],
)
def test_waiting_returns_the_jobs_success(code: str, exit_code: int) -> None:
    _halo("add", "job", "--manual", "--no-work-code", "75", "--", "sh", "-c", code)
    done = _halo("run", "job", "--wait", "--json")
    assert done.returncode == exit_code
    assert json.loads(done.stdout)["exit_code"] == int(code.split()[1])


@pytest.mark.usefixtures("daemon")
def test_following_shows_lines_as_they_come_and_ctrl_c_leaves_the_run_alone(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    _halo("add", "job", "--manual", "--", "sh", "-c", f"echo first; read x <{gate}; echo second")
    _halo("run", "job")
    with Scheduler.open() as scheduler:
        until(lambda: len(scheduler.get_run_log(outcome=Outcome.RUNNING)) == 1)
    watcher = subprocess.Popen([_HALO, "logs", "job", "-f"], stdout=subprocess.PIPE, text=True)
    follower = subprocess.Popen([_HALO, "logs", "job", "-f"], stdout=subprocess.PIPE, text=True)
    assert watcher.stdout is not None
    assert follower.stdout is not None
    assert watcher.stdout.readline() == "first\n"
    assert follower.stdout.readline() == "first\n"
    watcher.send_signal(signal.SIGINT)
    watcher.communicate(timeout=LONG_S)
    assert watcher.returncode == 0
    with gate.open("w") as opened:
        opened.write("go\n")
    rest, _ = follower.communicate(timeout=LONG_S)
    assert rest == "second\n"
    assert follower.returncode == 0
    (run,) = json.loads(_halo("history", "--json").stdout)
    assert run["outcome"] == "success"


@pytest.mark.usefixtures("daemon")
def test_cancel_stops_the_run() -> None:
    _halo("add", "job", "--manual", "--", "sleep", "1000")
    assert _halo("cancel", "job").returncode == 1
    _halo("run", "job")
    with Scheduler.open() as scheduler:
        until(lambda: len(scheduler.get_run_log(outcome=Outcome.RUNNING)) == 1)
        done = _halo("cancel", "job")
        assert (done.returncode, done.stdout) == (0, "asked job to stop; it will be killed in 10 seconds\n")
        until(lambda: scheduler.get_run_log()[0].outcome is Outcome.CANCELLED)


@pytest.mark.usefixtures("daemon")
def test_a_job_runs_after_another_and_waits_for_its_conditions() -> None:
    missing = "/nowhere/disk"
    _halo("add", "report", "--manual", "--", "sh", "-c", 'echo "$HALO_CHAIN_JOB: $HALO_CHAIN_OUTCOME"')
    _halo("add", "backup", "--manual", "--if-path", missing, "--on-success", "report", "--", "true")
    with Scheduler.open() as scheduler:
        report = next(job for job in scheduler.list_jobs() if job.name == "report")
        done = _halo("run", "backup", "--wait")
        assert done.returncode == 0
        assert f"▲ manual run: conditions ignored ({missing} to exist)\n" in done.stderr
        assert f"(conditions ignored: {missing} to exist)" in done.stderr.splitlines()[-1]
        until(lambda: [run.outcome for run in scheduler.get_run_log(report.id)] == [Outcome.SUCCESS])
        logs = _halo("logs", "report")
        assert (logs.stdout, logs.stderr) == ("backup: success\n", "  ran after backup\n")

        # The follower waits for what it needs itself, and can be called off.
        assert _halo("edit", "report", "--if-path", missing, "--if-deadline", "1h").returncode == 0
        scheduler.trigger(next(job.id for job in scheduler.list_jobs() if job.name == "backup"))
        reason = f"{missing} to exist"
        until(lambda: [awaited(run) for run in scheduler.runs.waiting_in_chains()] == [reason])
        assert f"▲ report: waiting for {reason} (1 run after backup)\n" in _halo("status").stdout
        assert _halo("cancel", "report").stdout == "cancelled the waiting runs of report after backup\n"
        until(lambda: scheduler.get_run_log(report.id)[0].outcome is Outcome.CANCELLED)
        assert scheduler.runs.waiting_in_chains() == []

        # What is due waits visibly, and starts once it need not any more.
        _halo("add", "copy", "--after", "1h", "--if-path", missing, "--", "true")
        (copy,) = scheduler.list_jobs(text="copy")
        until(lambda: awaited(scheduler.jobs.get_many([copy.id])[copy.id]) == reason)
        assert f"waiting for {reason}" in _halo("list", "copy").stdout
        assert _halo("edit", "copy", "--no-conditions").returncode == 0
        until(lambda: scheduler.jobs.get_many([copy.id])[copy.id].last_outcome is Outcome.SUCCESS)

        scheduler.settings.change(quiet_times=(QuietTime(name="Always", start="00:00", end="24:00"),))
        done = _halo("run", "copy")
        assert done.stdout == "started copy\n"
        assert done.stderr == "▲ manual run: quiet hours ignored (Always)\n"


def test_without_an_engine_running_is_refused_with_the_way_out() -> None:
    _halo("add", "job", "--manual", "--", "true")
    for command in (("run", "job"), ("run", "job", "--wait"), ("cancel", "job")):
        done = _halo(*command)
        assert (done.returncode, done.stdout) == (1, "")
        assert "Halo isn't running" in done.stderr
    assert _halo("run", "nothing").returncode == 3
    assert _halo("show", "nothing").returncode == 3


def test_an_engine_that_dies_ends_the_waiting_with_a_sentence(daemon: _Daemon) -> None:
    _halo("add", "job", "--manual", "--", "sh", "-c", "echo up; exec sleep 1000")
    waiting = subprocess.Popen(
        [_HALO, "run", "job", "--wait"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert waiting.stdout is not None
    assert waiting.stdout.readline() == "up\n"
    with Scheduler.open() as scheduler:
        daemon.process.kill()
        daemon.process.communicate()
        _, said = waiting.communicate(timeout=LONG_S)
        assert waiting.returncode == 1
        assert "Halo stopped; the job may still be running" in said
        again = _Daemon("daemon", "--stop-timeout", "1s")
        assert again.stop()[0] == 1
        assert scheduler.get_run_log()[0].outcome is Outcome.CANCELLED


def test_halo_alone_without_a_display_says_so_and_runs_the_jobs() -> None:
    program = _Daemon(without=("DISPLAY", "WAYLAND_DISPLAY"))
    assert "no display found, running jobs without a window" in program.said
    _halo("add", "hello", "--manual", "--", "echo", "hi")
    assert _halo("run", "hello", "--wait").stdout == "hi\n"
    assert program.stop(signal.SIGINT)[0] == 0


def test_the_daemon_logs_failures_and_with_verbose_everything() -> None:
    program = _Daemon("daemon")
    _halo("add", "bad", "--manual", "--", "sh", "-c", "exit 3")
    assert _halo("run", "bad", "--wait").returncode == 1
    said = program.stop()[1]
    assert "WARNING halo_scheduler.engine.run_log: bad failed after under a second: " in said
    assert "exit code 3 (run " in said
    assert "started" not in said
    program = _Daemon("daemon", "--verbose")
    assert _halo("run", "bad", "--wait").returncode == 1
    said = program.stop()[1]
    assert "INFO halo_scheduler.engine.run_log: bad started (manual, run " in said


@pytest.mark.parametrize("leaves", [False, True])
def test_runs_that_do_not_finish_in_time_are_stopped_or_left_as_chosen(leaves: bool) -> None:
    options = ("--leave-running",) if leaves else ()
    program = _Daemon("daemon", "--stop-timeout", "1s", *options)
    with Scheduler.open() as scheduler:
        job_id = scheduler.add_job("job", Manual(), Command(argv=("sh", "-c", "echo $$; exec sleep 1000")))
        run_id = scheduler.trigger(job_id)
        pid = int(until(lambda: scheduler.get_output(run_id)))
        exit_code, said = program.stop()
        assert exit_code == 1
        assert "1 run did not end within 1 s" in said
        assert is_living(pid) is leaves
        run = scheduler.get_run(run_id)
        assert run is not None
        if not leaves:
            assert (run.outcome, run.error) == (Outcome.CANCELLED, "stopped because Halo was quit")
            return
        assert run.outcome is Outcome.RUNNING
        again = _Daemon("daemon", "--stop-timeout", "1s")
        _halo("cancel", "job")
        until(lambda: not is_living(pid))
        assert again.stop()[0] == 0
        after = scheduler.get_run(run_id)
        assert after is not None
        assert after.outcome is Outcome.CANCELLED


@pytest.mark.usefixtures("daemon")
def test_a_run_that_waits_for_a_limit_is_shown_and_can_be_cancelled() -> None:
    with Scheduler.open() as scheduler:
        scheduler._store.settings.set_number(MAX_CONCURRENT, 1)
        _halo("add", "first", "--manual", "--", "sleep", "1000")
        _halo("add", "second", "--manual", "--", "true")
        assert _halo("run", "first").stdout == "started first\n"
        assert (
            _halo("run", "second").stdout == "second is waiting: limit of all jobs reached (1 of 1: first)\n"
        )
        assert _halo("cancel", "second").stdout == "cancelled the waiting run of second\n"
        _halo("cancel", "first")
        until(lambda: [run.outcome for run in scheduler.get_run_log()] == [Outcome.CANCELLED])


@pytest.mark.usefixtures("daemon")
def test_a_removed_job_that_runs_can_still_be_read_and_stopped() -> None:
    _halo("add", "job", "--manual", "--", "sh", "-c", "echo up; exec sleep 1000")
    _halo("run", "job")
    with Scheduler.open() as scheduler:
        run = until(scheduler.get_run_log)[0]
        until(lambda: scheduler.get_output(run.id) == b"up\n")
        assert _halo("remove", "job", "--yes").returncode == 0
        assert _halo("logs", "job").stdout == "up\n"
        assert _halo("cancel", "job").returncode == 0
        until(lambda: scheduler.get_run_log()[0].outcome is Outcome.CANCELLED)
