"""`halo doctor`: what is wrong, and what to do."""

from __future__ import annotations

import json
import logging
import shutil
import sys
import textwrap
from typing import Any

import click

from halo_scheduler.cli.terminal.progress_bar import progress
from halo_scheduler.clock import SystemClock
from halo_scheduler.doctor.examination import STEPS, Report, examine, mend
from halo_scheduler.doctor.findings import Finding, Mark
from halo_scheduler.grammar.english import counted
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.paths import database_path

_MARKS = {Mark.FINE: ("●", "green"), Mark.LOOK: ("▲", "yellow"), Mark.WRONG: ("■", "red")}
_LONGEST = 1_000
_TOPIC_WIDTH = 11
_INDENT = " " * (_TOPIC_WIDTH + 4)
_NARROW = 40
_NARROWEST = 20


@click.command()
@click.option(
    "--fix", is_flag=True, help="Put right permissions, leftover spool files and the autostart entry."
)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
@click.pass_context
def doctor(context: click.Context, *, fix: bool, as_json: bool) -> None:
    """Look whether everything is in order, and say what to do where it is not.

    \b
    Examples:
      halo doctor
      halo doctor --fix
      halo doctor --json

    Looking changes nothing. The exit code is 1 when something is wrong (■), also after --fix; what one should only
    look at (▲) does not count.
    """
    # What the parts would log is among the findings.
    logging.getLogger("halo_scheduler").addHandler(logging.NullHandler())
    with progress("Looking at everything", STEPS) as update:
        report = (mend if fix else examine)(database_path(), SystemClock().now_ms(), update)
    if as_json:
        click.echo(json.dumps(_data(report), ensure_ascii=False, indent=2))
    else:
        _show(report)
    context.exit(1 if report.count(Mark.WRONG) else 0)


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
        click.echo(f"mended: {plain_line(sentence, _LONGEST)}")
    for sentence in report.refused:
        click.echo(f"could not be mended: {plain_line(sentence, _LONGEST)}")
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
    """Return a sentence in lines that fit the terminal; whoever reads a pipe gets one."""
    return textwrap.wrap(plain_line(text, _LONGEST), _room(), break_long_words=False, break_on_hyphens=False)


def _advice_lines(advice: str) -> list[str]:
    """Return what to do; a command at its end stays whole, so that it can be copied."""
    head, colon, command = plain_line(advice, _LONGEST).rpartition(": ")
    if not colon or len(advice) <= _room():
        return _wrapped(advice)
    return [*_wrapped(f"{head}:"), command]


def _room() -> int:
    if not sys.stdout.isatty():
        return _LONGEST
    return max(shutil.get_terminal_size().columns - len(_indent()), _NARROWEST)


def _indent() -> str:
    """Return what stands before a sentence: room for its topic, which stands above it on a narrow terminal."""
    is_narrow = sys.stdout.isatty() and shutil.get_terminal_size().columns < len(_INDENT) + _NARROW
    return "  " if is_narrow else _INDENT


def _summary(report: Report) -> str:
    wrong, looks = report.count(Mark.WRONG), report.count(Mark.LOOK)
    if not wrong and not looks:
        return "everything is in order"
    parts = [
        f"{counted(wrong, 'thing')} {'is' if wrong == 1 else 'are'} wrong" if wrong else "nothing is wrong"
    ]
    parts += [f"{counted(looks, 'thing')} to look at"] if looks else []
    return ", ".join(parts)
