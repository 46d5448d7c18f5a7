"""`halo why`: why a job runs when it does, or what happened at some time."""

from __future__ import annotations

import json
import re

import click

from halo_scheduler.cli.options.option_values import under
from halo_scheduler.cli.terminal.completions import complete_jobs
from halo_scheduler.cli.terminal.terminal import folded, open_to_read, outcome_mark
from halo_scheduler.clock import SystemClock
from halo_scheduler.grammar.checks import LONGEST_NAME
from halo_scheduler.grammar.interval import MINUTE_MS, SECOND_MS
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.grammar.when import parse_when
from halo_scheduler.model import Outcome
from halo_scheduler.service.lookup import find_job
from halo_scheduler.why.inquiry import Answer, Verdict
from halo_scheduler.wording.messages import OUTCOMES

_TIME_OF_DAY = re.compile(r"[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?", re.ASCII)
_WITH_SECONDS = re.compile(r"[0-9]:[0-9]{2}:[0-9]{2}", re.ASCII)
_LONGEST = 1_000
_VERDICTS = {
    Verdict.RAN: ("●", "green", "ran"),
    Verdict.LATE: ("▲", "yellow", "ran late"),
    Verdict.SKIPPED: ("◌", None, "was skipped"),
    Verdict.MISSED: ("▲", "yellow", "was missed"),
    Verdict.NOT_RUNNING: ("▲", "yellow", "didn't run: Halo was off"),
    Verdict.PASSED_OVER: ("◌", None, "was coalesced"),
    Verdict.EDITED: ("◌", None, "was edited since"),
    Verdict.NOT_A_POINT: ("◌", None, "isn't due then"),
    Verdict.BEFORE_IT_EXISTED: ("◌", None, "didn't exist yet"),
    Verdict.REMOVED: ("◌", None, "was in the trash"),
    Verdict.UNKNOWN: ("▲", "yellow", "no record of a run"),
    Verdict.WAITING: ("▲", "yellow", "is waiting"),
    Verdict.PAUSED: ("⏸", None, "paused"),
    Verdict.DISABLED: ("◌", None, "disabled"),
    Verdict.RUNNING: ("▸", "blue", "is running"),
    Verdict.PLANNED: ("●", "green", "is planned"),
    Verdict.EXPECTED: ("●", "green", "is expected to run"),
    Verdict.NOT_PLANNED: ("◌", None, "has no next run"),
}


@click.command()
@click.argument("name", shell_complete=complete_jobs)
@click.option(
    "--at",
    "when",
    metavar="WHEN",
    help="What happened, or will happen, at this time; 9:00 means today.",
)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable; times in epoch milliseconds.")
def why(*, name: str, when: str | None, as_json: bool) -> None:
    """Explain when a job runs next, or why it did or didn't run at some time.

    \b
    Examples:
      halo why backup
      halo why backup --at 9:00
      halo why backup --at "yesterday 22:00"
      halo why backup --at "2027-03-28 02:30" --json
    """
    at, span_ms = _asked(when, SystemClock().now_ms())
    with open_to_read() as scheduler:
        job = find_job(scheduler, name)
        answer = scheduler.jobs.why(job.id, at, span_ms=span_ms)
    if as_json:
        click.echo(json.dumps(answer.to_dict(), ensure_ascii=False, indent=2))
    else:
        _show(answer)


def _asked(when: str | None, now_ms: int) -> tuple[int | None, int]:
    """Return the start and the length of the time that was typed: a second, or a minute."""
    if when is None:
        return None, 1
    typed = when.strip()
    with under("--at"):
        at = now_ms if typed == "now" else parse_when(_of_today(typed), now_ms)
    unit_ms = SECOND_MS if _WITH_SECONDS.search(typed) else MINUTE_MS
    return at - at % unit_ms, unit_ms


def _of_today(typed: str) -> str:
    """Return a time of day as one of today, whether it is past or not."""
    return f"today {typed}" if _TIME_OF_DAY.fullmatch(typed) else typed


def _show(answer: Answer) -> None:
    sign, colour, words = _VERDICTS[answer.verdict]
    mark = click.style(sign, fg=colour)
    is_run = answer.verdict in (Verdict.RAN, Verdict.LATE)
    if is_run and answer.outcome not in (None, Outcome.SUCCESS):
        # A run on time that failed must not look like a success.
        mark, words = outcome_mark(answer.outcome), f"{words} and {OUTCOMES[answer.outcome].clause}"
    name = click.style(plain_line(answer.name, LONGEST_NAME), bold=True)
    click.echo(f"{mark} {name} {click.style(words, dim=True)}")
    for sentence in answer.sentences:
        click.echo(f"  {folded(plain_line(sentence, _LONGEST), 2)}")
