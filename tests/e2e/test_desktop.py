"""The desktop program on a real X display, used with keys and mouse: a first day with it."""

from __future__ import annotations

from real_desktop import Desktop, Program, running

from halo_scheduler import Command, Cron, Job, Outcome, Run
from halo_scheduler.model import JobStatus
from halo_scheduler.service.scheduler import Scheduler

_MAIN = "^Halo Scheduler$"


def test_a_first_day(desktop: Desktop) -> None:
    with running(desktop) as program:
        _answer_the_greeting(desktop)
        with Scheduler.open() as scheduler:
            _see_the_tray_menu(desktop, program)
            job = _create_a_job(desktop, scheduler)
            _run_it(desktop, scheduler, job)
            _read_its_output(desktop)
            _pause_everything(desktop, program, scheduler, job)
            _quit(desktop, program)
            assert scheduler.status().state == "stopped"
    with running(desktop) as program, Scheduler.open() as scheduler:
        _find_everything_as_it_was(desktop, scheduler, job)
        _delete_and_undo(desktop, scheduler, job)
        _quit(desktop, program)


def _answer_the_greeting(desktop: Desktop) -> None:
    desktop.wait_for_window("^Welcome")
    desktop.picture("greeting")
    desktop.key("Return")
    desktop.wait_until_gone("^Welcome")
    desktop.wait_for_window(_MAIN)
    desktop.picture("empty window")
    # It was not unticked.
    desktop.wait_for(lambda: list((desktop.folder / "config" / "autostart").glob("*.desktop")))


def _see_the_tray_menu(desktop: Desktop, program: Program) -> None:
    desktop.open_tray_menu(program.pid)
    desktop.picture("tray menu")
    desktop.key("Escape")
    desktop.wait_for(lambda: not desktop.menus(program.pid))


def _create_a_job(desktop: Desktop, scheduler: Scheduler) -> Job:
    desktop.wait_for_window(_MAIN)
    desktop.key("ctrl+n")
    desktop.wait_for_window("^New job")
    # It is put together in turns: a person looks at it before they type.
    desktop.picture("new job")
    desktop.type("Greet the world")
    desktop.key("Tab", "Tab", "Tab")
    desktop.type("echo Hello from Halo")
    desktop.picture("what")
    desktop.key("ctrl+2")
    desktop.type("23")
    desktop.picture("when")
    desktop.key("ctrl+s")
    desktop.wait_until_gone("^New job")
    desktop.wait_for_window(_MAIN)
    desktop.wait_for(scheduler.list_jobs)
    (job,) = scheduler.list_jobs()
    assert job.name == "Greet the world"
    assert job.action == Command(argv=("echo", "Hello", "from", "Halo"))
    assert isinstance(job.schedule, Cron)
    assert job.schedule.cron == "0 23 * * *"
    desktop.picture("job is there")
    return job


def _run_it(desktop: Desktop, scheduler: Scheduler, job: Job) -> None:
    desktop.key("ctrl+r")
    desktop.wait_for(lambda: [run.outcome for run in scheduler.get_run_log(job.id)] == [Outcome.SUCCESS])
    (run,) = scheduler.get_run_log(job.id)
    assert scheduler.get_output(run.id) == b"Hello from Halo\n"
    desktop.picture("job has run")


def _read_its_output(desktop: Desktop) -> None:
    desktop.key("ctrl+h")
    desktop.wait_for_window("^Run history")
    desktop.picture("history")
    desktop.wait_for(lambda: "Hello from Halo" in _copied_output(desktop))
    desktop.picture("output")
    desktop.close_window("^Run history")
    desktop.wait_until_gone("^Run history")


def _copied_output(desktop: Desktop) -> str:
    """Return what the run printed, as somebody would copy it from the window."""
    desktop.key("ctrl+shift+c")
    return desktop.clipboard()


def _pause_everything(desktop: Desktop, program: Program, scheduler: Scheduler, job: Job) -> None:
    desktop.open_tray_menu(program.pid)
    desktop.key("p")
    desktop.wait_for(lambda: len(desktop.menus(program.pid)) > 1)
    desktop.picture("pause menu")
    desktop.key("Return")
    desktop.wait_for(lambda: _now(scheduler, job).status is JobStatus.PAUSED)
    desktop.wait_for_window(_MAIN)
    desktop.picture("all paused")


def _find_everything_as_it_was(desktop: Desktop, scheduler: Scheduler, job: Job) -> None:
    desktop.wait_for_window(_MAIN)
    desktop.picture("started again")
    assert _now(scheduler, job).status is JobStatus.PAUSED
    assert _outcomes(scheduler.get_run_log(job.id)) == [Outcome.SUCCESS]
    assert not desktop.windows("^Welcome")


def _delete_and_undo(desktop: Desktop, scheduler: Scheduler, job: Job) -> None:
    desktop.key("Delete")
    desktop.wait_for(lambda: not scheduler.list_jobs())
    desktop.picture("deleted")
    desktop.key("ctrl+z")
    desktop.wait_for(scheduler.list_jobs)
    desktop.picture("undone")
    assert _now(scheduler, job).spec == job.spec


def _quit(desktop: Desktop, program: Program) -> None:
    desktop.wait_for_window(_MAIN)
    desktop.key("ctrl+q")
    assert program.wait() == 0
    assert not desktop.windows(_MAIN)


def _now(scheduler: Scheduler, job: Job) -> Job:
    found = scheduler.get_job(job.id)
    assert found is not None
    return found


def _outcomes(runs: list[Run]) -> list[Outcome]:
    return [run.outcome for run in runs]
