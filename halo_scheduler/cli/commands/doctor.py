"""`halo doctor`: problems of the installation, and how to fix them."""

from __future__ import annotations

import json
import logging
import os
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import click

from halo_scheduler.cli.terminal.progress_bar import progress
from halo_scheduler.clock import SystemClock
from halo_scheduler.doctor.database import is_missing
from halo_scheduler.doctor.examination import STEPS, Report, examine, mend
from halo_scheduler.doctor.scene import Finding, Mark
from halo_scheduler.errors import SchedulerError
from halo_scheduler.grammar.english import counted
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.paths import database_path

if TYPE_CHECKING:
    from halo_scheduler.doctor.installation import EngineFacts

_MARKS = {Mark.FINE: ("●", "green"), Mark.LOOK: ("▲", "yellow"), Mark.WRONG: ("■", "red")}
_LONGEST = 1_000
_TOPIC_WIDTH = 11
_INDENT = " " * (_TOPIC_WIDTH + 4)
_NARROW = 40
_NARROWEST = 20


@click.command()
@click.option("--fix", is_flag=True, help="Fix permissions, leftover spool files and the autostart entry.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
@click.option(
    "--report", "as_report", is_flag=True, help="Print details for a bug report, without names or secrets."
)
@click.pass_context
def doctor(context: click.Context, *, fix: bool, as_json: bool, as_report: bool) -> None:
    """Check the installation and fix common problems.

    \b
    Examples:
      halo doctor
      halo doctor --fix
      halo doctor --json
      halo doctor --report

    Without --fix, nothing is changed. The exit code is 1 if there are problems (■), even after --fix; warnings (▲)
    don't count.
    """
    # The findings already contain what would be logged.
    logging.getLogger("halo_scheduler").addHandler(logging.NullHandler())
    with progress("Checking", STEPS) as update:
        report = (mend if fix else examine)(database_path(), SystemClock().now_ms(), update)
    if as_report:
        _write_report(report)
    elif as_json:
        click.echo(json.dumps(_data(report), ensure_ascii=False, indent=2))
    else:
        _show(report)
    context.exit(1 if report.count(Mark.WRONG) else 0)


def _write_report(report: Report) -> None:
    """Print versions, system, counts and how each check went: no names, commands, paths of the user or secrets."""
    from halo_scheduler.doctor.installation import (  # noqa: PLC0415 - only for a report
        crash_lines,
        display_line,
        engine_lines,
        finding_lines,
        system_lines,
    )

    lines = [*system_lines(database_path().parent), display_line(), *engine_lines(_facts())]
    click.echo("\n".join([*lines, *finding_lines(report.findings), *crash_lines(database_path())]))


def _facts() -> EngineFacts | None:
    """Return the counts; None when the database is missing or cannot be read."""
    from halo_scheduler.doctor.installation import engine_facts  # noqa: PLC0415
    from halo_scheduler.service.scheduler import Scheduler  # noqa: PLC0415

    if is_missing(database_path()):
        return None
    try:
        with Scheduler.open_to_read() as scheduler:
            return engine_facts(scheduler, os.getpid())
    except (SchedulerError, OSError):
        return None


def _data(report: Report) -> dict[str, Any]:
    return {
        "wrong": report.count(Mark.WRONG),
        "look": report.count(Mark.LOOK),
        "findings": [
            {
                "topic": finding.topic,
                "mark": finding.mark,
                "what": finding.what,
                "advice": finding.advice,
                "can_be_fixed": finding.mend is not None,
            }
            for finding in report.findings
        ],
        "mended": list(report.mended),
        "refused": list(report.refused),
    }


def _show(report: Report) -> None:
    last = ""
    for finding in report.findings:
        _show_finding(finding, "" if finding.topic == last else finding.topic)
        last = finding.topic
    click.echo()
    for sentence in report.mended:
        click.echo(f"fixed: {plain_line(sentence, _LONGEST)}")
    for sentence in report.refused:
        click.echo(f"could not be fixed: {plain_line(sentence, _LONGEST)}")
    click.echo(_summary(report))


def _show_finding(finding: Finding, topic: str) -> None:
    sign, colour = _MARKS[finding.mark]
    mark, lines = click.style(sign, fg=colour), _wrapped(finding.what)
    indent = _indent()
    if indent == _INDENT:
        click.echo(f"{mark} {click.style(topic.ljust(_TOPIC_WIDTH), bold=True)}  {lines.pop(0)}")
    else:
        click.echo(f"{mark} {click.style(topic, bold=True) if topic else lines.pop(0)}")
    for line in lines:
        click.echo(f"{indent}{line}")
    for line in _advice_lines(finding.advice):
        click.echo(click.style(f"{indent}{line}", dim=True))


def _wrapped(text: str) -> list[str]:
    """Wrap a sentence to the width of the terminal; in a pipe it stays one line."""
    return textwrap.wrap(plain_line(text, _LONGEST), _room(), break_long_words=False, break_on_hyphens=False)


def _advice_lines(advice: str) -> list[str]:
    """Wrap advice; a command at its end stays on one line, so that it can be copied."""
    head, colon, command = plain_line(advice, _LONGEST).rpartition(": ")
    if not colon or len(advice) <= _room():
        return _wrapped(advice)
    return [*_wrapped(f"{head}:"), command]


def _room() -> int:
    if not sys.stdout.isatty():
        return _LONGEST
    return max(shutil.get_terminal_size().columns - len(_indent()), _NARROWEST)


def _indent() -> str:
    """Return the indent of a sentence: the width of the topic column; on a narrow terminal the topic is above it."""
    is_narrow = sys.stdout.isatty() and shutil.get_terminal_size().columns < len(_INDENT) + _NARROW
    return "  " if is_narrow else _INDENT


def _summary(report: Report) -> str:
    wrong, looks = report.count(Mark.WRONG), report.count(Mark.LOOK)
    if not wrong and not looks:
        return "no problems found"
    parts = [counted(wrong, "problem") if wrong else "no problems"]
    parts += [counted(looks, "warning")] if looks else []
    return ", ".join(parts)
