"""A job in the terminal: its details as labelled lines, and warnings after it was saved."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from halo_scheduler.cli.terminal.terminal import WAITS, folded, moment, short_id, status_mark
from halo_scheduler.grammar.checks import LONGEST_NAME
from halo_scheduler.grammar.english import assistant_words, counted, listed, shown
from halo_scheduler.grammar.text import exact_line, plain_line, whole_line
from halo_scheduler.model import (
    Action,
    Command,
    FollowOn,
    InQuietTime,
    Job,
    JobStatus,
    OnWebhook,
    ProcessAction,
    Question,
    Several,
    Situation,
    StatusReason,
)
from halo_scheduler.model.codec import encode
from halo_scheduler.model.settings import QuietTime
from halo_scheduler.rules.chains import Chain, ChainLink, LinkState, WaitingRun, alike
from halo_scheduler.rules.grid import is_used_up
from halo_scheduler.rules.statistics import Usage
from halo_scheduler.schedule.calendar import quiet_at
from halo_scheduler.service.lookup import open_questions
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.jobs import (
    action_words,
    condition_words,
    entry_words,
    hint_words,
    more_words,
    parameter_words,
    policy_words,
    work_words,
)
from halo_scheduler.wording.lint import Note, Reviewer, Severity, lint
from halo_scheduler.wording.measures import amount_words, moment_in_words
from halo_scheduler.wording.schedules import describe
from halo_scheduler.wording.status import awaited_words, next_words, status_words, waiting_words

_SEVERITIES = {Severity.INFO: ("●", "blue"), Severity.WARNING: ("▲", "yellow"), Severity.ERROR: ("■", "red")}
_LABEL_WIDTH = 12
_LONGEST_NOTE = 500
# A whole line as a program, and words that only a shell interprets.
_SHELL_LINE = re.compile(r"[|&;<>$`*?]|\s")
_SHELL_WORD = re.compile(r"\|\|?|&&?|;|[0-9&]?>{1,2}(?:&[0-9])?|<{1,2}|\$\{?\w+\}?(?:/.*)?|`.*`|\$\(.*\)")
_EXACT = frozenset({"does", "with", "stdin", "headers", "body"})
_ENDS = {
    FollowOn.SUCCESS: "after each success",
    FollowOn.FAILURE: "after each failure",
    FollowOn.ALWAYS: "after each run",
}


def note_line(note: Note) -> str:
    """Return a lint note with its sign."""
    sign, colour = _SEVERITIES[note.severity]
    return f"{click.style(sign, fg=colour)} {note.message}"


def print_notes(scheduler: Scheduler, job: Job, now_ms: int) -> None:
    """Print warnings about the schedule of a job, about what it starts, and its secrets that are not set."""
    for note in lint(job.schedule, now_ms, anchor_at=job.anchor_at):
        click.echo(note_line(note))
    if isinstance(job.action, ProcessAction):
        words = _literal_words(job.action) or _start_words(scheduler, job)
        if words:
            click.echo(f"{WAITS} {plain_line(words, _LONGEST_NOTE)}")
    if any(isinstance(entry.schedule, OnWebhook) for entry in job.spec.events):
        _print_missing_of_webhook(scheduler, job)
    known = {secret.name for secret in scheduler.secrets.list()}
    for name in sorted(_secret_names(job.action) - known):
        click.echo(f"{WAITS} the secret {name} isn't set; set it with: halo secret set {name}")


def _print_missing_of_webhook(scheduler: Scheduler, job: Job) -> None:
    """Print what is missing before other programs can call a job."""
    if scheduler.webhooks.get(job.id) is None:
        click.echo(
            f"{WAITS} it has no address yet; create one with: halo webhook url {plain_line(job.name, _LONGEST_NOTE)}"
        )
    if not scheduler.settings.read().webhooks:
        click.echo(f"{WAITS} webhooks are off; turn them on with: halo webhook on")


def _literal_words(action: ProcessAction) -> str:
    """Return the warning that a command without a shell has something only a shell would interpret."""
    argv = action.argv if isinstance(action, Command) else ()
    # The user's shell has removed quotes: a pattern may be meant for the program, as in find -name '*.log'.
    program = [word for word in argv[:1] if _SHELL_LINE.search(word) and not Path(word).exists()]
    found = program or [word for word in argv[1:] if _SHELL_WORD.fullmatch(word)]
    if not found:
        return ""
    return f"{shown(found[0])} is passed literally; pipes, wildcards and variables need a shell: add --shell /bin/sh"


def _start_words(scheduler: Scheduler, job: Job) -> str:
    from halo_scheduler.doctor.jobs import start_fault  # noqa: PLC0415 - loads psutil

    fault = start_fault(job.spec, scheduler.settings.read())
    return f"{job.name} cannot start: {fault}" if fault else ""


def _secret_names(action: Action) -> frozenset[str]:
    """Return the secrets that an action and its work queue need."""
    names: frozenset[str] = getattr(action, "secret_names", frozenset())
    source = getattr(action, "work_source", None)
    return names | (frozenset() if source is None else source.secret_names)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobContext:
    """The data that the details show besides the job itself."""

    situation: Situation
    usage: Usage
    questions: Sequence[Question]
    chain: Chain
    waiting: Sequence[WaitingRun]
    quiet_times: Sequence[QuietTime]
    notes: Sequence[str]
    paused_by: str | None


def job_context(scheduler: Scheduler, job: Job) -> JobContext:
    """Read the data that the details show besides the job itself."""
    return JobContext(
        situation=scheduler.jobs.situation(job.id),
        usage=scheduler.jobs.usage(job.id),
        questions=open_questions(scheduler, job.id),
        chain=scheduler.jobs.chain(job.id),
        waiting=[run for run in scheduler.runs.waiting_in_chains() if run.job_id == job.id],
        quiet_times=[time for time in scheduler.settings.read().quiet_times if time.is_for(job.group)],
        notes=Reviewer(known.name for known in scheduler.jobs.names()).notes(job.spec),
        paused_by=scheduler.jobs.pausing_assistant(job.id),
    )


def details(job: Job, context: JobContext, now_ms: int) -> list[tuple[str, str]]:
    """Return the labelled lines of a job, without empty ones."""
    situation = context.situation
    found = [
        ("id", job.id),
        (
            "status",
            f"{status_words(situation, now_ms)}{_pause_words(job, context)}{_deadline_words(situation, now_ms)}",
        ),
        *(("warning", note) for note in context.notes),
        ("about", job.description),
        ("group", job.group or ""),
        ("does", action_words(job.action)),
        *more_words(job.action),
        ("work", work_words(job.action)),
        ("params", parameter_words(job.parameters)),
        *(("when", words) for words in _when_words(job, now_ms)),
        ("starts", condition_words(job.policy)),
        ("quiet", _quiet_words(job, context.quiet_times, now_ms)),
        *(("follows", _link_words(link)) for link in context.chain.before),
        *(("then", _link_words(link)) for link in context.chain.after),
        ("next", next_words(situation, now_ms)),
        *(("waits", _waiting_words(runs, now_ms)) for runs in alike(context.waiting)),
        ("hint", hint_words(job.hints, now_ms)),
        ("policy", policy_words(job)),
        ("today", _usage_words(context.usage)),
        ("failures", f"{job.errors} in a row: {job.last_error}" if job.errors else ""),
        *(("question", _question_words(question)) for question in context.questions),
    ]
    return [(label, text) for label, text in found if text]


def _when_words(job: Job, now_ms: int) -> list[str]:
    """Return the schedule; of several each with its key, by which runs name it."""
    if not isinstance(job.schedule, Several):
        return [describe(job.schedule)]
    return [
        f"{entry.key}: {entry_words(entry)}"
        f"{' (used)' if is_used_up(Several((entry,)), now_ms, job.anchor_at) else ''}"
        for entry in job.schedules
    ]


def print_details(job: Job, context: JobContext, now_ms: int) -> None:
    """Print the details of a job, without its runs."""
    name = click.style(plain_line(job.name, LONGEST_NAME), bold=True)
    click.echo(f"{status_mark(context.situation)} {name}")
    for label, text in details(job, context, now_ms):
        line = exact_line(text) if label in _EXACT else whole_line(text)
        words = folded(line, _LABEL_WIDTH)
        click.echo(f"  {click.style(f'{label:<9}', dim=True)} {words}")


def _pause_words(job: Job, context: JobContext) -> str:
    if job.status is not JobStatus.PAUSED or context.paused_by is None:
        return ""
    if job.status_reason is StatusReason.PAUSED_BY_ASSISTANT:
        return f" (“{context.paused_by}”)"  # The status says already that it was an assistant.
    return f" by {assistant_words(context.paused_by)}"


def _quiet_words(job: Job, times: Sequence[QuietTime], now_ms: int) -> str:
    """Return what the job does in the quiet hours that apply to it."""
    is_skipped = job.policy.in_quiet_time is InQuietTime.SKIP
    words = "skipped" if is_skipped else "waits"
    if not times:
        return f"{words} in quiet hours" if is_skipped else ""
    names = listed([time.name or f"{time.start}–{time.end}" for time in times])
    quiet = quiet_at(times, job.group, now_ms)
    until = "" if quiet is None else f"; now quiet until {moment_in_words(quiet.until, now_ms)}"
    return f"{words} in quiet hours {names}{until}"


def _link_words(link: ChainLink) -> str:
    state = "" if link.state is LinkState.OK else f" ({link.name} is {link.state})"
    return f"{link.name}, {_ENDS[link.on]}{state}"


def _waiting_words(runs: Sequence[WaitingRun], now_ms: int) -> str:
    first, count = runs[0], len(runs)
    since = moment_in_words(first.at, now_ms)
    end = _end_words(first.waits_until, now_ms)
    who, since = ("a run", f"since {since}") if count == 1 else (f"{count} runs", f"the first since {since}")
    return f"{who} after {first.cause_name}, {waiting_words(first.waiting, now_ms)}, {since}{end}"


def waiting_run_data(run: WaitingRun, now_ms: int) -> dict[str, object]:
    """Return a waiting run of a chain as JSON data."""
    return {**encode(run), "reason": awaited_words(run.waiting, now_ms)}


def _deadline_words(situation: Situation, now_ms: int) -> str:
    return "" if situation.waiting is None else _end_words(situation.waiting.deadline, now_ms)


def _end_words(until: int | None, now_ms: int) -> str:
    return "" if until is None else f", deadline {moment_in_words(until, now_ms)}"


def _usage_words(usage: Usage) -> str:
    """Return today's runs and costs; nothing for a job without limits and costs."""
    runs, cost = usage.caps.runs_per_day, usage.caps.cost_per_day
    parts = []
    if runs is not None:
        parts.append(f"{usage.runs} of {counted(runs, 'run')}")
    if cost is not None:
        parts.append(f"cost {amount_words(usage.cost)} of {amount_words(cost)}")
    elif usage.cost:
        parts.append(f"cost {amount_words(usage.cost)}")
    return " · ".join(parts)


def _question_words(question: Question) -> str:
    return f"{question.text} ({moment(question.asked_at)}; halo answer {short_id(question.run_id)} TEXT)"
