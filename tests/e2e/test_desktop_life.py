"""The desktop program as a process: starting twice, hiding, ending, and living beside a daemon and a tray."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from process_probe import LONG_S, until
from real_desktop import Desktop, Program, daemon, running

from halo_scheduler import After, Command, Every, Manual, Outcome
from halo_scheduler.service.scheduler import Scheduler

_MAIN = "^Halo Scheduler$"
_ECHO = Command(argv=("echo", "hello"))
_SLEEP = Command(argv=("sleep", "300"))


def test_a_second_start_raises_the_first_ones_window(desktop: Desktop, scheduler: Scheduler) -> None:
    with running(desktop, "--hidden") as program:
        desktop.wait_for(lambda: scheduler.status().pid == program.pid)
        second = Program(desktop)
        assert second.wait() == 0
        desktop.wait_for_window(_MAIN)
        assert desktop.windows(_MAIN, program.pid)
        assert scheduler.status().pid == program.pid


def test_hidden_shows_only_the_icon(desktop: Desktop, scheduler: Scheduler) -> None:
    with running(desktop, "--hidden") as program:
        desktop.wait_for(lambda: scheduler.status().pid == program.pid)
        place = desktop.wait_for_icon(program.pid)
        assert not desktop.windows("Halo")
        desktop.click(*place)
        desktop.wait_for_window(_MAIN)


def test_closing_the_window_keeps_jobs_running(desktop: Desktop, scheduler: Scheduler) -> None:
    scheduler.add_job("again and again", After("1s"), _ECHO)
    with running(desktop) as program:
        desktop.wait_for(lambda: desktop.tray_icon(program.pid))
        desktop.close_window(_MAIN)
        desktop.wait_until_gone(_MAIN)
        desktop.picture("closed")
        before = len(scheduler.get_run_log())
        desktop.wait_for(lambda: len(scheduler.get_run_log()) > before + 2)
        assert not desktop.windows(_MAIN)
        assert scheduler.status().pid == program.pid


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(desktop: Desktop, scheduler: Scheduler, number: signal.Signals) -> None:
    scheduler.add_job("again and again", After("1s"), _ECHO)
    with running(desktop) as program:
        desktop.wait_for_window(_MAIN)
        desktop.wait_for(scheduler.get_run_log)
        program.signal(number)
        assert program.wait() == 0
        assert scheduler.status().state == "stopped"
        assert not desktop.windows(_MAIN)


def test_beside_a_daemon_it_edits_the_same_jobs_and_takes_over_when_that_dies(
    desktop: Desktop, scheduler: Scheduler
) -> None:
    job_id = scheduler.add_job("by the daemon", Manual(), _ECHO)
    with daemon(desktop) as daemon_pid:
        until(lambda: scheduler.status().pid == daemon_pid)
        with running(desktop) as program:
            desktop.wait_for_window(_MAIN)
            desktop.picture("a daemon has the engine")
            desktop.key("ctrl+r")
            desktop.wait_for(
                lambda: [run.outcome for run in scheduler.get_run_log(job_id)] == [Outcome.SUCCESS]
            )
            assert scheduler.status().pid == daemon_pid
            os.kill(daemon_pid, signal.SIGKILL)
            desktop.wait_for(lambda: scheduler.status().pid == program.pid)
            desktop.picture("taken over")
            desktop.key("ctrl+r")
            desktop.wait_for(lambda: len(scheduler.get_run_log(job_id)) == 2)


def test_a_change_from_elsewhere_is_shown_at_once(desktop: Desktop, scheduler: Scheduler) -> None:
    with running(desktop):
        desktop.wait_for_window(_MAIN)
        desktop.picture("empty")
        before = desktop.image()
        scheduler.add_job("from a terminal", Every("1h"), _ECHO)
        desktop.wait_for(lambda: desktop.image() != before)
        desktop.picture("one job")


def test_without_a_display_it_says_so_and_runs_the_jobs(bare_desktop: Desktop, scheduler: Scheduler) -> None:
    environment = {name: value for name, value in bare_desktop.environment.items() if name != "DISPLAY"}
    process = subprocess.Popen(
        [sys.executable, "-m", "ui"], env=environment, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        assert "no display" in process.stderr.readline()
        until(lambda: scheduler.status().pid == process.pid)
        process.terminate()
        assert process.wait(LONG_S) == 0
    finally:
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def test_a_tray_that_comes_late_goes_and_comes_back_has_the_icon(
    bare_desktop: Desktop, scheduler: Scheduler
) -> None:
    with running(bare_desktop, "--hidden") as program:
        bare_desktop.wait_for(lambda: scheduler.status().pid == program.pid)
        with bare_desktop.tray():
            bare_desktop.wait_for(lambda: bare_desktop.tray_icon(program.pid))
        bare_desktop.wait_for(lambda: not bare_desktop.tray_icon(program.pid))
        with bare_desktop.tray():
            bare_desktop.open_tray_menu(program.pid)
            bare_desktop.picture("menu in a late tray")
            bare_desktop.key("Escape")


def test_without_a_tray_a_closed_window_can_be_brought_back(
    bare_desktop: Desktop, scheduler: Scheduler
) -> None:
    with running(bare_desktop) as program:
        bare_desktop.wait_for_window(_MAIN)
        bare_desktop.wait_for(lambda: scheduler.status().pid == program.pid)
        bare_desktop.picture("no tray")
        bare_desktop.close_window(_MAIN)
        bare_desktop.wait_for(lambda: bare_desktop.is_minimised(_MAIN))
        assert scheduler.status().pid == program.pid
        second = Program(bare_desktop)
        assert second.wait() == 0
        bare_desktop.wait_for_window(_MAIN)


def test_quitting_while_a_job_runs_asks_and_can_leave_it_running(
    desktop: Desktop, scheduler: Scheduler
) -> None:
    job_id = scheduler.add_job("long", Manual(), _SLEEP)
    with running(desktop) as program:
        desktop.wait_for_window(_MAIN)
        desktop.key("ctrl+r")
        desktop.wait_for(scheduler.runs.running)
        desktop.key("ctrl+q")
        desktop.wait_for_window("^Quit Halo")
        desktop.picture("asks")
        desktop.key("Escape")
        desktop.wait_for_window(_MAIN)
        desktop.key("ctrl+q")
        desktop.wait_for_window("^Quit Halo")
        desktop.key("alt+l")
        assert program.wait() == 0
        assert len(scheduler.runs.running()) == 1
    with running(desktop) as program:
        desktop.wait_for(lambda: scheduler.status().pid == program.pid)
        (run,) = scheduler.runs.running()
        scheduler.cancel_run(run.id)
        desktop.wait_for(
            lambda: [run.outcome for run in scheduler.get_run_log(job_id)] == [Outcome.CANCELLED]
        )


_ODD_TEXTS = {
    "tags": "<b>bold</b> <img src=x onerror=alert(1)> <a href='https://example.com'>link</a>",
    "ampersands": "&File & Co && &amp;",
    "direction": "\u202eevil\u202c \u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd",
    "emoji": "🚀 👩‍👩‍👧‍👦 🇪🇺 done ✅",
    "long": "long " * 40,
}


def test_odd_texts_neither_style_nor_break_anything(desktop: Desktop, scheduler: Scheduler) -> None:
    endless = Path(desktop.folder / "odd")
    endless.write_text("<b>" + "x" * 10_000 + "\u202e\n&lt;\n" + "\x1b[31mred\x1b[0m\r\n" * 50)
    for number, text in enumerate(_ODD_TEXTS.values()):
        scheduler.add_job(
            f"{number} {text}"[:200].rstrip(),
            Every("1h"),
            Command(argv=("cat", str(endless))),
            group=text[:60].rstrip(),
            description=text * 40,
        )
    with running(desktop) as program:
        desktop.wait_for_window(_MAIN)
        desktop.wait_for(lambda: scheduler.status().pid == program.pid)
        desktop.key("ctrl+a", "ctrl+r")
        desktop.wait_for(lambda: len(_ended(scheduler)) == len(_ODD_TEXTS))
        for number in range(len(_ODD_TEXTS)):
            desktop.key("Home" if number == 0 else "Down")
            desktop.picture(f"job {number}")
        desktop.key("ctrl+h")
        desktop.wait_for_window("^Run history")
        desktop.picture("history")
        desktop.open_tray_menu(program.pid)
        desktop.picture("tray")
        desktop.key("Escape")
        program.signal(signal.SIGTERM)
        assert program.wait() == 0
        assert not program.printed()


def _ended(scheduler: Scheduler) -> list[str]:
    return [run.id for run in scheduler.get_run_log() if run.outcome is Outcome.SUCCESS]
