"""Commands as real processes: how they start, what they get, how they end, and that nothing is left of them."""

from __future__ import annotations

import ctypes
import logging
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from commands import Workshop, shell
from process_probe import LONG_S, descriptor_count, end_all, is_living, living_in, own_zombies, pids_in, until
from pytestqt.qtbot import QtBot

from halo_scheduler import Command, Cron, Every, Manual, Outcome, Policy, Retry, Run, SchedulerShutdownError
from halo_scheduler.actions import launch
from halo_scheduler.actions.process import ProcessWork
from halo_scheduler.actions.spool import Spool, spool_folder
from halo_scheduler.clock import ManualClock
from halo_scheduler.errors import StaleEngineError, StoreUnavailableError
from halo_scheduler.host.login_environment import read_login_environment
from halo_scheduler.model import Backoff, SkipReason
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.words import Shortage
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.store.lease import LEASE_MS
from halo_scheduler.store.settings import OUTPUT_LIMIT_BYTES, NumberSetting, SettingTable

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are those of POSIX")

_START = 1_735_689_600_000  # 2025-01-01T00:00Z
_PR_GET_CHILD_SUBREAPER = 37


@pytest.fixture(autouse=True)
def _quiet_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give each test a home and a login shell of its own, and end what it leaves running."""
    for name in ("run", "home"):
        (tmp_path / name).mkdir(mode=0o700)
    for name in [name for name in os.environ if name.startswith("HALO_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SHELL", "/bin/sh")
    yield
    end_all(pids_in(tmp_path))


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[Scheduler]:
    found = Scheduler.open(tmp_path / "halo.db")
    yield found
    with suppress(SchedulerShutdownError):
        found.stop(timeout_ms=0, end_runs=True)
    found.close()


@pytest.fixture
def shop(scheduler: Scheduler, tmp_path: Path, qtbot: QtBot) -> Workshop:
    scheduler.start()
    return Workshop(scheduler, tmp_path, qtbot)


def _login_shell(tmp_path: Path, lines: str) -> str:
    """Write a login shell that does something before it does what it is asked."""
    path = tmp_path / "login-shell"
    path.write_text(f'#!/bin/sh\n{lines}\nwhile [ "$1" != -c ]; do shift; done\nexec /bin/sh "$@"\n')
    path.chmod(0o755)
    return str(path)


def _hang_login_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, then: str = ":") -> None:
    """Have a login shell that hangs until the file `go` exists.

    It may take longer than a real one: a busy machine can stop this process for more than five seconds.
    """
    monkeypatch.setattr(read_login_environment, "__defaults__", (LONG_S,))
    lines = f"echo $$ >{tmp_path}/shell.pid; while [ ! -e {tmp_path}/go ]; do sleep 0.02; done; {then}"
    monkeypatch.setenv("SHELL", _login_shell(tmp_path, lines))


def _wait_for_the_shell(shop: Workshop, run_id: str) -> None:
    """Wait until a login shell hangs and a run needs it: the engine may read the shell before any run does."""
    shop.until(lambda: pids_in(shop.folder) and shop.scheduler.get_run(run_id))


# --- What is started ------------------------------------------------------------------------------


def test_arguments_arrive_as_they_are(shop: Workshop) -> None:
    arguments = ["a b", "", "$HOME", "*", "'\"", "-n", "ä→", "x\ny"]
    run = shop.run(Command(argv=("printf", "[%s]", *arguments)))
    assert (run.outcome, run.exit_code, run.error) == (Outcome.SUCCESS, 0, "")
    assert shop.text(run) == "".join(f"[{argument}]" for argument in arguments)


def test_a_program_named_like_a_shell_builtin_is_the_program(shop: Workshop) -> None:
    program = shop.folder / "exit"
    program.write_text("#!/bin/sh\necho the program; exit 3\n")
    program.chmod(0o755)
    run = shop.run(Command(argv=("exit", "0"), environment={"PATH": f"{shop.folder}:/usr/bin:/bin"}))
    assert (run.exit_code, shop.text(run)) == (3, "the program\n")


def test_a_line_is_read_by_the_shell_that_was_chosen(shop: Workshop) -> None:
    line = "x=(1 2 3); echo ${#x[@]} | tr 3 4; exit 2"
    run = shop.run(Command(line=line, shell="bash"))  # noqa: S604 - not subprocess
    assert (run.exit_code, shop.text(run)) == (2, "4\n")


@pytest.mark.parametrize(
    ("directory", "expected"),
    [
        (None, "home"),
        ("~", "home"),
        ("~/inner", "home/inner"),
        ("inner", "home/inner"),
        ("{tmp}/else where", "else where"),
    ],
)
def test_it_runs_in_its_directory(shop: Workshop, directory: str | None, expected: str) -> None:
    (shop.folder / "home" / "inner").mkdir()
    (shop.folder / "else where").mkdir()
    chosen = directory and directory.format(tmp=shop.folder)
    run = shop.run(Command(argv=("/bin/pwd", "-P"), directory=chosen))
    assert shop.text(run) == f"{(shop.folder / expected).resolve()}\n"


def test_a_relative_program_is_resolved_in_the_working_directory(shop: Workshop) -> None:
    (shop.folder / "home" / "tool").symlink_to("/bin/echo")
    assert shop.text(shop.run(Command(argv=("./tool", "here")))) == "here\n"
    assert shop.text(shop.run(Command(argv=("~/tool", "home"), directory="/"))) == "home\n"


def test_path_is_that_of_the_login_shell(
    shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "only-in-the-terminal"
    tool.mkdir()
    (tool / "greet").symlink_to("/bin/echo")
    lines = f"echo noise; export PATH={tool}:/usr/bin:/bin FROM_LOGIN='a b'"
    monkeypatch.setenv("SHELL", _login_shell(tmp_path, lines))
    shop.scheduler.engine.refresh_environment()
    run = shop.run(Command(argv=("greet", "hello")))
    assert (run.error, shop.text(run)) == ("", "hello\n")
    run = shop.run(shell('echo "$PATH|$FROM_LOGIN"'))
    assert shop.text(run) == f"{tool}:/usr/bin:/bin|a b\n"


def test_variables_are_added_and_go_before_those_of_the_login_shell(
    shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", _login_shell(tmp_path, "export A=login B=login"))
    shop.scheduler.engine.refresh_environment()
    run = shop.run(shell('echo "$A $B $C"', environment={"B": "job", "C": "ä →"}))
    assert shop.text(run) == "login job ä →\n"


def test_the_environment_is_asked_for_again_on_demand(
    shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "value").write_text("first")
    monkeypatch.setenv("SHELL", _login_shell(tmp_path, f"export A=$(cat {tmp_path}/value)"))
    shop.scheduler.engine.refresh_environment()
    assert shop.text(shop.run(shell("echo $A"))) == "first\n"
    (tmp_path / "value").write_text("second")
    assert shop.text(shop.run(shell("echo $A"))) == "first\n"
    shop.scheduler.engine.refresh_environment()
    assert shop.text(shop.run(shell("echo $A"))) == "second\n"


@pytest.mark.parametrize("text", ["", "one line\n", "ä" * 200_000], ids=["nothing", "a line", "much"])
def test_standard_input_is_passed_unchanged(shop: Workshop, text: str) -> None:
    run = shop.run(Command(argv=("wc", "-c"), stdin=text))
    assert int(shop.text(run)) == len(text.encode())


def test_a_run_gets_its_identity_in_the_environment(shop: Workshop) -> None:
    job_id = shop.scheduler.add_job("naïve job", Manual(), shell("env | grep ^HALO_ | sort"))
    run = shop.end_of(shop.scheduler.trigger(job_id))
    assert shop.text(run).splitlines() == [
        "HALO_ATTEMPT=1",
        "HALO_INPUT=",
        "HALO_INPUT_FILE=/dev/null",
        f"HALO_JOB_ID={job_id}",
        "HALO_JOB_NAME=naïve job",
        f"HALO_RUN_ID={run.id}",
        "HALO_SLOT=",
        "HALO_TRIGGER=manual",
    ]


def test_a_scheduled_run_gets_its_slot(shop: Workshop) -> None:
    action = shell('echo "$HALO_SLOT $HALO_TRIGGER"')
    shop.scheduler.add_job("job", Cron("* * * * * *", timezone="UTC"), action)
    shop.until(lambda: shop.scheduler.get_run_log(outcome=Outcome.SUCCESS))
    run = shop.scheduler.get_run_log(outcome=Outcome.SUCCESS)[-1]
    assert run.slot_at is not None
    assert shop.text(run) == f"{run.slot_at} schedule\n"


# --- What cannot be started -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "error"),
    [
        ({"argv": ["no-such-program"]}, "there is no program 'no-such-program' on the PATH (/usr/bin:/bin)"),
        ({"argv": ["{tmp}/missing"]}, "there is no program '{tmp}/missing'"),
        ({"argv": ["{tmp}/plain.txt"]}, "'{tmp}/plain.txt' may not be executed: permission denied"),
        ({"argv": ["{tmp}"]}, "'{tmp}' is not a program"),
        (
            {"line": "true", "shell": "no-such-shell"},
            "there is no program 'no-such-shell' on the PATH (/usr/bin:/bin)",
        ),
        ({"argv": ["true"], "directory": "{tmp}/gone"}, "the working directory '{tmp}/gone' does not exist"),
        (
            {"argv": ["true"], "directory": "{tmp}/plain.txt"},
            "the working directory '{tmp}/plain.txt' is not a folder",
        ),
    ],
    ids=["no program", "no file", "not executable", "a folder", "no shell", "no directory", "no folder"],
)
def test_a_program_that_cannot_start_fails_at_once(
    shop: Workshop, action: dict[str, Any], error: str
) -> None:
    (shop.folder / "plain.txt").write_text("#!/bin/sh\n")

    def placed(text: str) -> str:
        return text.format(tmp=shop.folder)

    given: dict[str, Any] = {
        key: tuple(map(placed, value)) if key == "argv" else placed(value) for key, value in action.items()
    }
    run = shop.run(Command(environment={"PATH": "/usr/bin:/bin"}, **given))
    assert (run.outcome, run.error, run.exit_code) == (Outcome.FAILURE, placed(error), None)
    assert shop.spooled() == []


def test_a_directory_that_may_not_be_entered_fails_at_once(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = shop.folder / "closed"
    closed.mkdir()
    # Permission bits mean nothing to root.
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) != str(closed) and real(path, mode))
    run = shop.run(Command(argv=("true",), directory=str(closed)))
    assert run.error == f"the working directory '{closed}' cannot be entered: permission denied"


def test_a_program_on_the_path_that_may_not_be_executed_is_named(shop: Workshop) -> None:
    (shop.folder / "tool").write_text("#!/bin/sh\n")
    run = shop.run(Command(argv=("tool",), environment={"PATH": f"{shop.folder}:/bin"}))
    assert run.error == f"'{shop.folder}/tool' may not be executed: permission denied"


def test_a_start_that_the_system_refuses_fails_at_once(shop: Workshop) -> None:
    run = shop.run(Command(argv=("true", "x" * 900_000)))
    assert (run.outcome, run.error) == (Outcome.FAILURE, "it could not be started: argument list too long")
    assert shop.spooled() == []


def test_a_missing_interpreter_is_reported(shop: Workshop) -> None:
    script = shop.folder / "script"
    script.write_text("#!/no/such/interpreter -x\n")
    script.chmod(0o755)
    run = shop.run(Command(argv=(str(script),)))
    assert (run.outcome, run.exit_code) == (Outcome.FAILURE, None)
    assert run.error == f"'{script}' needs '/no/such/interpreter', which does not exist"


def test_a_fault_of_ours_while_starting_is_the_runs_failure(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("what nobody thought of")

    monkeypatch.setattr("halo_scheduler.actions.run_input.prepare", fail)
    run = shop.run(Command(argv=("true",)))
    assert (run.outcome, run.error) == (Outcome.FAILURE, "it could not be started: what nobody thought of")


# --- How it ends ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "outcome", "code", "error"),
    [
        ("exit 0", Outcome.SUCCESS, 0, ""),
        ("exit 3", Outcome.FAILURE, 3, "exit code 3"),
        (
            "kill -9 $$",
            Outcome.FAILURE,
            137,
            "exit code 137 (SIGKILL: killed, perhaps out of memory)",
        ),
        ("kill -SEGV $$", Outcome.FAILURE, 139, "exit code 139 (SIGSEGV)"),
        ("exit 255", Outcome.FAILURE, 255, "exit code 255"),
    ],
)
def test_the_exit_code_is_the_outcome(
    shop: Workshop, line: str, outcome: Outcome, code: int, error: str
) -> None:
    run = shop.run(shell(line))
    assert (run.outcome, run.exit_code, run.error) == (outcome, code, error)
    assert shop.text(run) == ""


@pytest.mark.parametrize(
    ("code", "outcome"), [(0, Outcome.FAILURE), (1, Outcome.SUCCESS), (7, Outcome.SUCCESS)]
)
def test_success_codes_are_the_users_choice(shop: Workshop, code: int, outcome: Outcome) -> None:
    assert shop.run(shell(f"exit {code}", success_codes=(1, 7))).outcome is outcome


def test_nothing_to_do_is_not_an_error(shop: Workshop) -> None:
    action = shell("exit $(cat code)", directory=str(shop.folder), no_work_code=75)
    code = shop.folder / "code"
    code.write_text("1")
    job_id = shop.scheduler.add_job(
        "job", Cron("* * * * * *", timezone="UTC"), action, policy=Policy(max_errors=0)
    )

    def errors() -> int:
        job = shop.scheduler.get_job(job_id)
        assert job is not None
        return job.errors

    shop.until(lambda: errors() == 1)
    code.write_text("75")
    shop.scheduler.update_job(job_id, policy=Policy(max_errors=0, backoff=Backoff.none()))
    shop.until(lambda: shop.scheduler.get_run_log(job_id, outcome=Outcome.SKIPPED))
    run = shop.scheduler.get_run_log(job_id, outcome=Outcome.SKIPPED)[0]
    assert (run.reason, run.error, run.exit_code, errors()) == (SkipReason.NO_WORK, "", 75, 1)


def test_both_streams_are_kept_in_the_order_of_writing(shop: Workshop) -> None:
    run = shop.run(shell("for i in 1 2 3; do echo out $i; echo err $i >&2; done; printf end"))
    assert shop.text(run) == "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\nend"


def test_output_can_be_read_while_it_runs(shop: Workshop) -> None:
    run_id = shop.begin(
        shell("echo early; while [ ! -e go ]; do sleep 0.05; done; echo late", directory=str(shop.folder))
    )
    shop.until(lambda: shop.scheduler.get_run(run_id) and shop.scheduler.get_output(run_id) == b"early\n")
    (shop.folder / "go").touch()
    assert shop.text(shop.end_of(run_id)) == "early\nlate\n"


def test_output_that_cannot_be_read_does_not_keep_the_run_from_ending(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Spool, "kept", fail)
    run = shop.run(shell("echo x; exit 4"))
    assert (run.outcome, run.exit_code) == (Outcome.FAILURE, 4)
    assert shop.text(run) == "[output lost, as it could not be read: Input/output error]\n"


def test_a_run_can_end_while_the_settings_cannot_be_read(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = SettingTable.number

    def fail(self: SettingTable, setting: NumberSetting) -> int:
        if setting is OUTPUT_LIMIT_BYTES:
            raise StoreUnavailableError("busy")
        return real(self, setting)

    monkeypatch.setattr(SettingTable, "number", fail)
    run = shop.run(shell("echo x"))
    assert (run.outcome, shop.text(run)) == (Outcome.SUCCESS, "x\n")


def test_a_full_disk_is_neither_the_end_nor_asked_without_a_pause(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Spool, "write_ticket", fail)
    with caplog.at_level(logging.WARNING):
        run = shop.run(shell("sleep 1.5"))
    assert run.outcome is Outcome.SUCCESS
    assert 1 <= caplog.text.count("No space left on device") <= 3


def test_a_run_keeps_running_when_only_its_shim_is_killed(shop: Workshop) -> None:
    run_id = shop.begin(shell("echo $PPID >shim.pid; sleep 0.5; echo done", directory=str(shop.folder)))
    shop.until(lambda: pids_in(shop.folder))
    os.kill(pids_in(shop.folder)[0], signal.SIGKILL)
    run = shop.end_of(run_id)
    assert (run.outcome, run.error) == (
        Outcome.FAILURE,
        "exit code 137 (SIGKILL: killed, perhaps out of memory)",
    )
    assert shop.text(run) == "done\n"


def test_progress_is_reported(shop: Workshop) -> None:
    heard: list[Change] = []
    shop.scheduler.subscribe(heard.append)
    line = "echo ::progress 0.37 half way; while [ ! -e go ]; do sleep 0.05; done; echo ::progress 1 done"
    run_id = shop.begin(shell(line, directory=str(shop.folder)))
    shop.until(lambda: any(change.kind is ChangeKind.RUN_PROGRESS for change in heard))
    run = shop.get(run_id)
    assert (run.progress, run.progress_text, run.outcome) == (0.37, "half way", Outcome.RUNNING)
    assert Change(ChangeKind.RUN_PROGRESS, run.job_id, run_id) in heard
    (shop.folder / "go").touch()
    run = shop.end_of(run_id)
    assert (run.progress, run.progress_text) == (1.0, "done")
    assert shop.text(run) == "::progress 0.37 half way\n::progress 1 done\n"


def test_survivors_of_a_normal_exit_are_left_alive_and_noted(shop: Workshop) -> None:
    line = "setsid sh -c 'echo $$ >left.pid; exec sleep 60' & while [ ! -s left.pid ]; do sleep 0.02; done"
    run = shop.run(shell(line, directory=str(shop.folder)))
    assert run.outcome is Outcome.SUCCESS
    (left,) = pids_in(shop.folder)
    shop.until(lambda: shop.get(run.id).note)
    assert shop.get(run.id).note == f"a process it started still runs ({left})"
    assert is_living(left)
    assert shop.spooled() == []


def test_a_process_that_ends_just_after_its_run_is_not_noted(shop: Workshop) -> None:
    run = shop.run(shell("sleep 1.2; sleep 0.1 &"))
    assert shop.scheduler.engine._engine is not None
    survey = shop.scheduler.engine._engine._post_run.scan
    shop.until(lambda: survey.due_at is None)
    assert shop.get(run.id).note == ""


# --- Stopping -------------------------------------------------------------------------------------

_IGNORES_TERM = "trap '' TERM; echo $$ >a.pid; while :; do sleep 60; done"
_SLEEPS = "echo $$ >a.pid; exec sleep 60"
# Each writes the number of one process into a.pid, and that of its main process into b.pid.
_TREES = {
    "a child": f"sh -c '{_SLEEPS}' & echo $$ >b.pid; wait",
    "one with a session of its own": f"setsid sh -c '{_SLEEPS}' & echo $$ >b.pid; wait",
    "one without a mark": f"env -i setsid sh -c '{_SLEEPS}' & echo $$ >b.pid; wait",
    "an orphan with a mark": f"(setsid sh -c '{_SLEEPS}' &); echo $$ >b.pid; exec sleep 60",
    "an orphan without a mark": f"(env -i setsid sh -c '{_SLEEPS}' &); echo $$ >b.pid; exec sleep 60",
    "one that does not listen": 'sh -c "$DEAF" & echo $$ >b.pid; wait',
    "one of its own session that does not listen": 'setsid sh -c "$DEAF" & echo $$ >b.pid; wait',
    "one without a mark that does not listen": 'env -i setsid sh -c "$DEAF" & echo $$ >b.pid; wait',
}


class _Witness:
    """Writes down, at the moment a run is told to be over, which of its processes live."""

    def __init__(self, shop: Workshop) -> None:
        self._shop = shop
        self.saw: list[list[int]] = []
        shop.scheduler.subscribe(self._look)

    def _look(self, change: Change) -> None:
        if change.kind is ChangeKind.RUN_FINISHED:
            self.saw.append(living_in(self._shop.folder))


def _let_two_hours_pass(scheduler: Scheduler) -> None:
    """Let the clock that runs began by be two hours ahead of it."""
    engine, loop = scheduler.engine._engine, scheduler._session.loop
    assert engine is not None
    assert loop is not None
    engine._runs.shift(-2 * 3_600_000)
    loop.look_again()


@pytest.mark.parametrize("line", _TREES.values(), ids=_TREES.keys())
@pytest.mark.parametrize("way", ["time limit", "cancel"])
def test_the_whole_tree_is_gone_before_the_outcome_is_written(shop: Workshop, line: str, way: str) -> None:
    witness = _Witness(shop)
    action = shell(line, directory=str(shop.folder), grace="1s", environment={"DEAF": _IGNORES_TERM})
    run_id = shop.begin(action, time_limit="2h")
    shop.until(lambda: len(pids_in(shop.folder)) == 2)
    assert len(living_in(shop.folder)) == 2
    if way == "cancel":
        shop.scheduler.cancel_run(run_id)
    else:
        _let_two_hours_pass(shop.scheduler)
    run = shop.end_of(run_id)
    assert (run.outcome, run.error) == (
        (Outcome.TIMEOUT, "it ran longer than its time limit")
        if way == "time limit"
        else (Outcome.CANCELLED, "stopped by the user")
    )
    assert witness.saw == [[]]
    assert shop.spooled() == []


def test_one_that_says_farewell_in_time_is_not_killed(shop: Workshop) -> None:
    line = "trap 'sleep 0.3; echo farewell; exit 0' TERM; echo $$ >a.pid; exec 2>/dev/null; while :; do sleep 1; done"
    run_id = shop.begin(shell(line, directory=str(shop.folder), grace="120s"))
    shop.until(lambda: pids_in(shop.folder))
    began = time.monotonic()
    shop.scheduler.cancel_run(run_id)
    run = shop.end_of(run_id)
    assert (run.outcome, run.exit_code, shop.text(run)) == (Outcome.CANCELLED, 0, "farewell\n")
    assert time.monotonic() - began < 60


def test_one_that_does_not_listen_is_killed_after_its_grace(shop: Workshop) -> None:
    line = f"echo started; {_IGNORES_TERM}"
    run_id = shop.begin(shell(line, directory=str(shop.folder), grace="1s"))
    shop.until(lambda: pids_in(shop.folder))
    began = time.monotonic()
    shop.scheduler.cancel_run(run_id)
    run = shop.end_of(run_id)
    assert time.monotonic() - began > 0.95
    assert (run.outcome, shop.text(run)) == (Outcome.CANCELLED, "started\n")


def test_one_that_its_shim_starts_only_after_the_stop_is_asked_too(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = shop.folder / "gate"
    os.mkfifo(gate)
    # Without a child of its own, the shim waits at the gate, also when a signal wakes it.
    slow = f": >{shop.folder}/begun; until read line <{gate}; do :; done; f=$1"
    script = launch._SHIM[2].replace("trap : ", f"trap ': >{shop.folder}/asked' ").replace("f=$1", slow)
    monkeypatch.setattr(launch, "_SHIM", ("/bin/sh", "-c", script))
    run_id = shop.begin(shell("echo $$ >a.pid; exec sleep 60", directory=str(shop.folder), grace="60s"))
    shop.until((shop.folder / "begun").exists)
    shop.scheduler.cancel_run(run_id)
    shop.until((shop.folder / "asked").exists)
    gate.write_text("open\n")
    run = shop.end_of(run_id)
    assert (run.outcome, living_in(shop.folder)) == (Outcome.CANCELLED, [])


def test_a_cleanup_process_of_a_stopped_program_is_not_stopped(shop: Workshop) -> None:
    farewell = "trap 'sh -c \"sleep 1; echo tidy\"; exit 0' TERM"
    line = f"{farewell}; echo $$ >a.pid; exec 2>/dev/null; while :; do sleep 0.05; done"
    run_id = shop.begin(shell(line, directory=str(shop.folder), grace="20s"))
    shop.until(lambda: pids_in(shop.folder))
    shop.scheduler.cancel_run(run_id)
    assert shop.text(shop.end_of(run_id)) == "tidy\n"


def test_a_halted_command_is_stopped(shop: Workshop) -> None:
    run_id = shop.begin(shell("echo $$ >a.pid; exec sleep 60", directory=str(shop.folder)))
    shop.until(lambda: pids_in(shop.folder))
    os.kill(pids_in(shop.folder)[0], signal.SIGSTOP)
    shop.scheduler.cancel_run(run_id)
    assert shop.end_of(run_id).outcome is Outcome.CANCELLED


def test_a_second_cancel_changes_nothing(shop: Workshop) -> None:
    line = "trap 'echo asked; sleep 0.5; exit' TERM; echo $$ >a.pid; exec 2>/dev/null; while :; do sleep 0.05; done"
    run_id = shop.begin(shell(line, directory=str(shop.folder)))
    shop.until(lambda: pids_in(shop.folder))
    shop.scheduler.cancel_run(run_id)
    shop.until(lambda: "asked" in shop.text(shop.get(run_id)))
    shop.scheduler.cancel_run(run_id)
    assert shop.text(shop.end_of(run_id)) == "asked\n"


def test_members_of_other_users_are_reported(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    line = "setsid sh -c 'echo $$ >left.pid; trap \"\" TERM; sleep 60' & echo $$ >main.pid; wait"
    run_id = shop.begin(shell(line, directory=str(shop.folder), grace="1s"))
    shop.until(lambda: len(pids_in(shop.folder)) == 2)

    def refuse(process: psutil.Process) -> None:
        raise psutil.AccessDenied(process.pid)

    with monkeypatch.context() as patched:
        patched.setattr(psutil.Process, "kill", refuse)
        shop.scheduler.cancel_run(run_id)
        run = shop.end_of(run_id)
    left = psutil.Process(pids_in(shop.folder)[0])
    assert run.outcome is Outcome.CANCELLED
    assert f"not stopped, because it belongs to another user: processes {left.pid} (sh) and" in run.note


def test_a_process_that_does_not_end_when_killed_is_named_and_waited_for(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = shop.begin(
        shell(
            "echo $$ >main.pid; trap '' TERM; while :; do sleep 60; done",
            grace="1s",
            directory=str(shop.folder),
        )
    )
    shop.until(lambda: pids_in(shop.folder))
    engine = shop.scheduler.engine._engine
    assert engine is not None
    with monkeypatch.context() as patched:
        # As in uninterruptible sleep, on a network drive that does not answer.
        patched.setattr(psutil.Process, "kill", lambda _process: None)
        shop.scheduler.cancel_run(run_id)
        shop.until(lambda: engine._runs.works[run_id]._why is not None)  # type: ignore[attr-defined] # ours
        engine._runs.shift(-11_000)
        shop.until(lambda: shop.get(run_id).note)
        run = shop.get(run_id)
    assert run.outcome is Outcome.RUNNING
    assert run.note.startswith("killed, but still there: processes ")
    assert f"{pids_in(shop.folder)[0]} (sh)" in run.note
    assert shop.end_of(run_id).outcome is Outcome.CANCELLED
    assert shop.get(run_id).note == run.note


def _is_subreaper() -> bool:
    found = ctypes.c_int()
    ctypes.CDLL(None).prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(found), 0, 0, 0)
    return bool(found.value)


@pytest.mark.skipif(sys.platform != "linux", reason="subreapers are a thing of Linux")
def test_only_a_program_that_asks_for_it_becomes_a_subreaper(scheduler: Scheduler, qtbot: QtBot) -> None:  # noqa: ARG001 - the event loop
    scheduler.start()
    assert not _is_subreaper()
    scheduler.stop()
    scheduler.start(adopt_orphans=True)
    assert _is_subreaper()
    scheduler.stop()
    assert not _is_subreaper()


def test_a_cancel_while_the_login_shell_hangs_ends_at_once_and_starts_nothing(
    shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _hang_login_shell(tmp_path, monkeypatch, then=f"touch {tmp_path}/went")
    shop.scheduler.engine.refresh_environment()
    run_id = shop.begin(Command(argv=("touch", str(tmp_path / "started"))))
    _wait_for_the_shell(shop, run_id)
    shop.scheduler.cancel_run(run_id)
    run = shop.end_of(run_id)
    assert living_in(tmp_path), "the shell was not waited for"
    assert (run.outcome, run.error) == (Outcome.CANCELLED, "stopped by the user")
    (tmp_path / "go").touch()
    # One that is started after it shows that the shell has answered.
    assert shop.run(Command(argv=("true",))).outcome is Outcome.SUCCESS
    assert (tmp_path / "went").exists()
    assert not (tmp_path / "started").exists()
    assert shop.spooled() == []


def test_a_cancel_while_a_process_cannot_be_created_ends_at_once_and_starts_nothing(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_spawning, may_fail = threading.Event(), threading.Event()
    attempts: list[str] = []

    def fail(*_: Any) -> None:
        attempts.append("started")
        is_spawning.set()
        may_fail.wait(LONG_S)
        raise launch.ShortageError(Shortage.PROCESSES)

    monkeypatch.setattr("halo_scheduler.actions.process.spawn", fail)
    run_id = shop.begin(Command(argv=("true",)))
    shop.until(is_spawning.is_set)
    assert shop.scheduler.engine._engine is not None
    (work,) = shop.scheduler.engine._engine._runs.works.values()
    assert isinstance(work, ProcessWork)
    shop.scheduler.cancel_run(run_id)
    shop.until(lambda: work._why)
    may_fail.set()
    run = shop.end_of(run_id)
    assert (run.outcome, run.error, attempts) == (Outcome.CANCELLED, "stopped by the user", ["started"])


def test_a_hanging_login_shell_does_not_block_the_event_loop(
    shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _hang_login_shell(tmp_path, monkeypatch)
    shop.scheduler.engine.refresh_environment()
    shop.scheduler.on_job_due(lambda *_: None)
    run_id = shop.begin(Command(argv=("true",)))
    _wait_for_the_shell(shop, run_id)
    callback = shop.scheduler.trigger(shop.scheduler.add_job("callback", Manual()))
    assert shop.end_of(callback).outcome is Outcome.SUCCESS
    assert not shop.is_over(run_id)
    (tmp_path / "go").touch()
    assert shop.end_of(run_id).outcome is Outcome.SUCCESS


def test_quitting_ends_runs_when_that_is_wanted(shop: Workshop) -> None:
    witness = _Witness(shop)
    line = "setsid sh -c 'echo $$ >a.pid; exec sleep 60' & echo $$ >b.pid; wait"
    run_id = shop.begin(shell(line, directory=str(shop.folder)))
    shop.until(lambda: len(pids_in(shop.folder)) == 2)
    with pytest.raises(SchedulerShutdownError):
        shop.scheduler.stop(timeout_ms=50, end_runs=True)
    run = shop.get(run_id)
    assert (run.outcome, run.error) == (Outcome.CANCELLED, "stopped because Halo was quit")
    assert witness.saw == [[]]
    assert shop.spooled() == []


def test_without_that_a_command_lives_on_and_is_taken_up_again(shop: Workshop) -> None:
    line = "echo $$ >a.pid; echo one; while [ ! -e go ]; do sleep 0.05; done; echo two; exit 5"
    run_id = shop.begin(shell(line, directory=str(shop.folder)))
    shop.until(lambda: pids_in(shop.folder))
    shop.scheduler.stop(wait=False)
    assert living_in(shop.folder)
    assert not shop.is_over(run_id)
    shop.scheduler.start()
    (shop.folder / "go").touch()
    run = shop.end_of(run_id)
    assert (run.outcome, run.exit_code, shop.text(run)) == (Outcome.FAILURE, 5, "one\ntwo\n")
    assert len(shop.scheduler.get_run_log()) == 1
    until(lambda: not own_zombies())


def test_nothing_is_started_after_the_engine_has_left(
    shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _hang_login_shell(tmp_path, monkeypatch)
    shop.scheduler.engine.refresh_environment()
    run_id = shop.begin(Command(argv=("touch", str(tmp_path / "started"))))
    _wait_for_the_shell(shop, run_id)
    assert shop.scheduler.engine._engine is not None
    (work,) = shop.scheduler.engine._engine._runs.works.values()
    assert isinstance(work, ProcessWork)
    shop.scheduler.stop(wait=False)
    (tmp_path / "go").touch()
    assert work.has_begun.wait(60)
    assert not (tmp_path / "started").exists()
    shop.scheduler.start()
    assert shop.end_of(run_id).outcome is Outcome.INTERRUPTED


def test_leaving_waits_for_a_start_in_progress(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    real, is_spawning, may_go = launch.spawn, threading.Event(), threading.Event()

    def slow_spawn(*rest: Any) -> Any:
        is_spawning.set()
        may_go.wait(0.3)
        return real(*rest)

    monkeypatch.setattr("halo_scheduler.actions.process.spawn", slow_spawn)
    monkeypatch.setattr("halo_scheduler.actions.process._LONGEST_SPAWN_S", 60)
    run_id = shop.begin(shell("echo $$ >a.pid; sleep 0.5; exit 6", directory=str(shop.folder)))
    shop.until(is_spawning.is_set)
    shop.scheduler.stop(wait=False)
    shop.scheduler.start()
    run = shop.end_of(run_id)
    assert (run.outcome, run.exit_code) == (Outcome.FAILURE, 6)
    until(lambda: not own_zombies())


# --- Nothing is left ------------------------------------------------------------------------------


def test_many_short_runs_leave_nothing_behind(shop: Workshop) -> None:
    shop.run(Command(argv=("true",)))
    actions = [
        Command(argv=("true",)),
        Command(argv=("false",)),
        Command(argv=("cat",), stdin="x"),
        shell("echo x"),
    ]
    job_ids = shop.scheduler.add_jobs(
        {"name": f"short {index}", "schedule": Manual(), "action": actions[index % 4]} for index in range(50)
    )
    counts = []
    for _ in range(6):
        run_ids = [shop.scheduler.trigger(job_id) for job_id in job_ids]
        shop.until(lambda run_ids=run_ids: all(map(shop.is_over, run_ids)))  # type: ignore[misc] # bound now
        counts.append(descriptor_count())
    runs = shop.scheduler.get_run_log(limit=1_000)
    assert len(runs) == 301
    assert {run.outcome for run in runs} == {Outcome.SUCCESS, Outcome.FAILURE}
    shop.until(lambda: shop.spooled() == [])
    assert own_zombies() == []
    # What is open for a moment may come and go, and SQLite keeps the descriptor of a closed connection for the next.
    shop.until(lambda: descriptor_count() <= max(counts[:2]) + 1)


# --- Retries and neighbours -----------------------------------------------------------------------


def test_each_attempt_is_a_run_and_the_error_count_moves_once(shop: Workshop) -> None:
    action = shell("echo attempt $HALO_ATTEMPT; exit 1")
    policy = Policy(retry=Retry(attempts=2, delay_ms=10))
    job_id = shop.scheduler.add_job("job", Cron("* * * * * *", timezone="UTC"), action, policy=policy)
    counts: set[tuple[int, int]] = set()

    def note() -> bool:
        job = shop.scheduler.get_job(job_id)
        assert job is not None
        ended = [run for run in shop.scheduler.get_run_log(job_id) if run.outcome is Outcome.FAILURE]
        counts.add((len(ended), job.errors))
        return len(ended) == 3

    shop.until(note)
    runs = shop.scheduler.get_run_log(job_id)[::-1]
    assert [run.attempt for run in runs] == [1, 2, 3]
    assert len({run.slot_at for run in runs}) == 1
    assert [shop.text(run) for run in runs] == [f"attempt {number}\n" for number in (1, 2, 3)]
    assert {errors for ended, errors in counts if ended < 3} == {0}
    assert (3, 1) in counts


def test_a_retry_that_succeeds_is_not_an_error(shop: Workshop) -> None:
    action = shell("test $HALO_ATTEMPT = 2")
    policy = Policy(retry=Retry(attempts=5, delay_ms=10))
    job_id = shop.scheduler.add_job("job", Cron("* * * * * *", timezone="UTC"), action, policy=policy)
    shop.until(lambda: shop.scheduler.get_run_log(job_id, outcome=Outcome.SUCCESS))
    job = shop.scheduler.get_job(job_id)
    assert job is not None
    assert job.errors == 0
    assert [run.attempt for run in shop.scheduler.get_run_log(job_id)][::-1][:2] == [1, 2]


@pytest.mark.parametrize("name", ["PATH", "HOME"])
def test_a_secret_is_not_in_the_sentence_of_a_failed_start(shop: Workshop, name: str) -> None:
    shop.scheduler.secrets.set("TOKEN", "correct horse", in_file=True)
    run = shop.run(Command(argv=("no-such-program",), environment={name: "/x/${secret:TOKEN}"}))
    assert run.outcome is Outcome.FAILURE
    assert "/x/***" in run.error
    assert "correct horse" not in run.error


def test_a_secret_that_is_half_printed_is_not_shown(shop: Workshop) -> None:
    shop.scheduler.secrets.set("TOKEN", "correct horse", in_file=True)
    line = f"printf 'x correct hor'; until test -e {shop.folder}/go; do sleep 0.02; done; echo se"
    run_id = shop.begin(shell(line, environment={"TOKEN": "${secret:TOKEN}"}))
    spool = Spool(spool_folder(shop.scheduler.path), run_id)
    shop.until(lambda: spool.size() == len("x correct hor"))
    assert b"c" not in shop.scheduler.get_output(run_id)
    (shop.folder / "go").touch()
    assert shop.text(shop.end_of(run_id)) == "x ***\n"


def test_a_run_that_cannot_be_stopped_at_once_does_not_prevent_starting(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    stubborn = shop.begin(shell("exec sleep 60", grace="1s"))
    shop.until(shop.spooled)
    faults = [OSError(24, "Too many open files")]
    real = ProcessWork.stop

    def fail_once(self: ProcessWork, *rest: Any) -> None:
        if faults:
            raise faults.pop()
        real(self, *rest)

    monkeypatch.setattr(ProcessWork, "stop", fail_once)
    shop.scheduler.cancel_run(stubborn)
    with caplog.at_level(logging.ERROR):
        assert shop.run(Command(argv=("true",))).outcome is Outcome.SUCCESS
    assert "could not be asked to stop" in caplog.text
    assert shop.end_of(stubborn).outcome is Outcome.CANCELLED


def test_a_bad_neighbour_does_not_affect_others(shop: Workshop) -> None:
    vanishing = shop.folder / "vanishing"
    vanishing.mkdir()
    bad = shop.begin(
        shell(
            "echo $$ >../bad.pid; trap '' TERM; while :; do sleep 60; done",
            directory=str(vanishing),
            grace="1s",
        )
    )
    shop.until(lambda: pids_in(shop.folder))
    shutil.rmtree(vanishing)
    hung = shop.begin(shell("cat /dev/zero >/dev/null", grace="1s"), time_limit="1s")
    again = shop.run(Command(argv=("true",), directory=str(vanishing)))
    assert again.error == f"the working directory '{vanishing}' does not exist"
    for _ in range(10):
        began = time.monotonic()
        assert shop.run(Command(argv=("true",))).outcome is Outcome.SUCCESS
        assert time.monotonic() - began < 20
    assert shop.end_of(hung).outcome is Outcome.TIMEOUT
    assert not shop.is_over(bad)
    shop.scheduler.cancel_run(bad)
    assert shop.end_of(bad).outcome is Outcome.CANCELLED


# --- Without an event loop ------------------------------------------------------------------------


class _Hand:
    """A scheduler whose time is in the test's hands; its processes are real."""

    def __init__(self, path: Path) -> None:
        self.clock = ManualClock(_START)
        self.scheduler = Scheduler.open(path, clock=self.clock)

    def begin(self, action: Command, **policy: Any) -> str:
        run_id = self.scheduler.trigger(
            self.scheduler.add_job("job", Manual(), action, policy=Policy(**policy))
        )
        self.scheduler.tick()
        return run_id

    def end_of(self, run_id: str, step_ms: int = 0) -> Run:
        def is_over() -> bool:
            self.clock.advance(step_ms)
            self.scheduler.tick()
            run = self.scheduler.get_run(run_id)
            return run is not None and run.outcome is not Outcome.RUNNING

        until(is_over)
        run = self.scheduler.get_run(run_id)
        assert run is not None
        return run


@pytest.fixture
def hand(tmp_path: Path) -> Iterator[_Hand]:
    found = _Hand(tmp_path / "halo.db")
    yield found
    found.scheduler.close()


def test_ticks_alone_run_a_command(hand: _Hand) -> None:
    run = hand.end_of(hand.begin(shell("echo $HALO_TRIGGER; exit 2")))
    assert (run.outcome, run.exit_code) == (Outcome.FAILURE, 2)
    assert hand.scheduler.get_output(run.id) == b"manual\n"
    assert list(spool_folder(hand.scheduler.path).iterdir()) == []


def test_nothing_is_started_by_an_engine_that_stood_still_until_another_took_over(
    hand: _Hand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _hang_login_shell(tmp_path, monkeypatch)
    run_id = hand.begin(Command(argv=("touch", str(tmp_path / "started"))))
    until(lambda: pids_in(tmp_path))
    assert hand.scheduler.engine._engine is not None
    (work,) = hand.scheduler.engine._engine._runs.works.values()
    assert isinstance(work, ProcessWork)
    hand.clock.advance(LEASE_MS)
    (tmp_path / "go").touch()
    assert not work.has_begun.wait(1)
    with Scheduler.open(hand.scheduler.path, clock=hand.clock) as other:
        other.tick()
        with pytest.raises(StaleEngineError):
            hand.scheduler.tick()
        hand.scheduler.engine._engine.leave_runs()
        assert work.has_begun.wait(60)
        run = other.get_run(run_id)
    assert run is not None
    assert (run.outcome, (tmp_path / "started").exists()) == (Outcome.INTERRUPTED, False)


def test_an_engine_that_was_suspended_and_keeps_its_lease_continues_its_start(
    hand: _Hand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _hang_login_shell(tmp_path, monkeypatch)
    run_id = hand.begin(shell("echo started"))
    until(lambda: pids_in(tmp_path))
    hand.clock.advance(LEASE_MS)
    (tmp_path / "go").touch()
    assert hand.scheduler.get_output(hand.end_of(run_id).id) == b"started\n"


def test_ticks_alone_keep_the_time_limit(hand: _Hand, tmp_path: Path) -> None:
    line = "setsid sh -c 'echo $$ >a.pid; exec sleep 60' & echo $$ >b.pid; wait"
    run_id = hand.begin(shell(line, directory=str(tmp_path)), time_limit="1h")
    until(lambda: len(pids_in(tmp_path)) == 2)
    hand.clock.advance(3_599_999)
    hand.scheduler.tick()
    assert len(living_in(tmp_path)) == 2
    run = hand.end_of(run_id, step_ms=1)
    assert run.outcome is Outcome.TIMEOUT
    assert living_in(tmp_path) == []


def test_ticks_alone_kill_after_the_grace(hand: _Hand, tmp_path: Path) -> None:
    run_id = hand.begin(shell(_IGNORES_TERM, directory=str(tmp_path), grace="1h"))
    until(lambda: pids_in(tmp_path))
    engine = hand.scheduler.engine.get_engine()
    # That it was started is told by another thread.
    until(lambda: engine.drain_inbox() or engine._runs.works[run_id].next_poll_at)
    hand.scheduler.cancel_run(run_id)
    hand.scheduler.tick()
    hand.clock.advance(3_599_999)
    hand.scheduler.tick()
    assert living_in(tmp_path)
    hand.clock.advance(1)
    assert hand.end_of(run_id, step_ms=50).outcome is Outcome.CANCELLED
    assert living_in(tmp_path) == []


def test_stopping_without_an_event_loop_waits_for_a_command(hand: _Hand) -> None:
    job_id = hand.scheduler.add_job("job", Every("1h"), shell("sleep 0.3; echo done"))
    run_id = hand.scheduler.trigger(job_id)
    hand.scheduler.tick()
    hand.scheduler.stop()
    run = hand.scheduler.get_run(run_id)
    assert run is not None
    assert run.outcome is Outcome.SUCCESS


def test_a_clock_set_back_does_not_delay_a_stop(hand: _Hand) -> None:
    run_id = hand.begin(shell("trap '' TERM; echo up; while :; do sleep 0.05; done", grace="1s"))

    def is_up() -> bool:
        hand.scheduler.tick()
        return bool(hand.scheduler.get_output(run_id))

    until(is_up)
    hand.scheduler.cancel_run(run_id)
    hand.scheduler.tick()
    hand.clock.advance(-3_600_000)
    run = hand.end_of(run_id, step_ms=100)
    assert run.outcome is Outcome.CANCELLED
    assert hand.clock.now_ms() < _START - 3_000_000


def test_a_clock_set_back_does_not_lengthen_a_time_limit(hand: _Hand) -> None:
    run_id = hand.begin(shell("exec sleep 60", grace="1s"), time_limit="1m")
    hand.clock.advance(-3_600_000)
    hand.scheduler.tick()
    hand.clock.advance(60_000)
    assert hand.end_of(run_id).outcome is Outcome.TIMEOUT


def test_a_job_may_keep_more_or_less_of_its_output_than_the_settings_say(shop: Workshop) -> None:
    printing = shell("head -c 400000 /dev/zero | tr '\\0' x")
    usual = shop.run(printing)
    assert len(shop.text(usual)) < 270_000
    for limit in (1_000_000, 10_000, 0):
        run = shop.run(printing, output_limit_bytes=limit)
        assert len(shop.text(run)) <= min(limit + 100, 400_000)
        assert len(shop.text(run)) >= min(limit, 400_000)
        assert shop.scheduler.runs.printed_bytes(run.id) == 400_000


def test_the_settings_say_how_much_output_is_kept(shop: Workshop) -> None:
    shop.scheduler.settings.change(output_limit_bytes=2_000)
    assert len(shop.text(shop.run(shell("head -c 40000 /dev/zero | tr '\\0' x")))) < 2_100
