"""`halo import`: jobs from a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from halo_scheduler.cli.terminal.completions import complete_files
from halo_scheduler.cli.terminal.progress_bar import progress
from halo_scheduler.errors import SchedulerError
from halo_scheduler.grammar.english import counted, listed
from halo_scheduler.model.changes import TERMINAL
from halo_scheduler.service.scheduler import Scheduler

if TYPE_CHECKING:
    from halo_scheduler.transfer.import_plan import ImportPlan
import os
import sys
from contextlib import closing
from typing import TextIO

_TERMINAL = "/dev/tty"
_YES = {"y", "yes"}


def confirm(question: str) -> bool | None:
    """Ask the person at the terminal, and return what they say; None when there is nobody to ask."""
    terminal = _open_terminal()
    if terminal is None:
        return None
    sys.stdout.flush()
    with closing(terminal):
        os.write(terminal.fileno(), f"{question} [y/N]: ".encode())
        answer = terminal.readline()
        if not answer.endswith("\n"):
            os.write(terminal.fileno(), b"\n")
    return answer.strip().lower() in _YES


def require_yes(question: str) -> None:
    """Go on only if the person at the terminal says so."""
    answer = confirm(question)
    if answer is None:
        raise click.ClickException("nothing was stored: there is no terminal to ask on; to do it, add --yes")
    if not answer:
        raise click.ClickException("nothing was stored")


def _open_terminal() -> TextIO | None:
    try:
        descriptor = os.open(_TERMINAL, os.O_RDWR | getattr(os, "O_NOCTTY", 0))
    except OSError:
        # Elsewhere there is no such file: then it is standard input, or nothing.
        if os.name == "posix" or not sys.stdin.isatty():
            return None
        descriptor = os.dup(sys.stdin.fileno())
    return os.fdopen(descriptor, encoding="utf-8", errors="replace")


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE|-", shell_complete=complete_files)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--enable", is_flag=True, help="Let the new jobs run at once, instead of paused.")
@click.option("--skip-bad", is_flag=True, help="Take in the rest of a file that has faults.")
def import_(*, files: tuple[str, ...], yes: bool, enable: bool, skip_bad: bool) -> None:
    """Take in jobs from a file: what "halo export" wrote, a crontab, a systemd timer, an agent with schedules.

    \b
    Examples:
      crontab -l | halo import -
      halo import jobs.yaml
      halo import ~/.config/systemd/user/*.timer
      ssh nas halo export | halo import - --enable

    You see what will be created, changed and left out, and are asked before anything is stored. New jobs start
    paused, so that you can look at them: "halo resume NAME", or "halo resume --imported", lets them run. A job that
    is there already is found by its id, else by its name; taking in the same file again changes nothing.
    """
    from halo_scheduler.cli.terminal.job_files import keeping_everything, read_files  # noqa: PLC0415 - for those who import

    with keeping_everything():
        drafts = read_files(files)
        with Scheduler.open(actor=TERMINAL) as scheduler:
            with progress("Comparing"):
                plan = scheduler.imports.plan(drafts)
            take_in(scheduler, plan, yes=yes, paused=not enable, skip_bad=skip_bad)


def take_in(
    scheduler: Scheduler, plan: ImportPlan, *, yes: bool, paused: bool, skip_bad: bool | None
) -> None:
    """Show what a plan would do, ask, and do it; with `skip_bad` of None leaving something out is no choice."""
    from halo_scheduler.cli.terminal.import_preview import print_preview  # noqa: PLC0415

    names = {job.id: job.name for job in scheduler.list_jobs()}
    is_refused = bool(plan.faults) and not skip_bad
    try:
        print_preview(plan, names, paused=paused, is_refused=is_refused)
    except BrokenPipeError:
        click.echo("halo: nothing was stored: nobody saw all that it would be", err=True)
        raise
    if is_refused:
        rest = "" if plan.is_empty or skip_bad is None else ", or take in the rest with --skip-bad"
        raise SchedulerError(f"nothing was stored; mend the {_faults(plan)} above{rest}")
    if plan.is_empty:
        click.echo("There is nothing to change.")
        return
    if not yes:
        require_yes("Do that?")
    with progress("Storing", len(plan.created)) as update:
        scheduler.imports.apply(plan, paused=paused, skip_bad=bool(skip_bad), progress=update)
    _tell_done(plan, paused=paused)
    _tell_missing_secrets(scheduler, plan)


def _faults(plan: ImportPlan) -> str:
    return "fault" if len(plan.faults) == 1 else f"{len(plan.faults)} faults"


def _tell_done(plan: ImportPlan, *, paused: bool) -> None:
    changed = [
        *([counted(len(plan.changed), "job")] if plan.changed else []),
        *(["the quiet times"] if plan.quiet_times else []),
        *(["the limits of groups"] if plan.group_limits else []),
    ]
    done = [
        *([f"created {counted(len(plan.created), 'job')}"] if plan.created else []),
        *([f"changed {listed(changed)}"] if changed else []),
        *([f"removed {counted(len(plan.removed), 'job')}"] if plan.removed else []),
    ]
    click.echo("; ".join(done))
    if plan.created and paused:
        click.echo(
            "  the new ones are paused; let them run with: halo resume --imported, or one with: halo resume NAME"
        )


def _tell_missing_secrets(scheduler: Scheduler, plan: ImportPlan) -> None:
    actions = [one.spec.action for one in plan.created] + [one.after.action for one in plan.changed]
    known = {secret.name for secret in scheduler.secrets.list()}
    for name in sorted({name for action in actions for name in _secret_names(action)} - known):
        click.echo(
            f"{click.style('▲', fg='yellow')} the secret {name} is not set yet: halo secret set {name}"
        )


def _secret_names(action: object) -> frozenset[str]:
    own: frozenset[str] = getattr(action, "secret_names", frozenset())
    source = getattr(action, "work_source", None)
    return own if source is None else own | source.secret_names
