"""Warnings about a job that was just saved."""

from __future__ import annotations

import click

from halo_scheduler.cli.terminal.terminal import WAITS
from halo_scheduler.model import Action, Callback, Job
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.lint import Note, Severity, lint

_SEVERITIES = {Severity.INFO: ("●", "blue"), Severity.WARNING: ("▲", "yellow"), Severity.ERROR: ("■", "red")}


def note_line(note: Note) -> str:
    """Return a lint note with its sign."""
    sign, colour = _SEVERITIES[note.severity]
    return f"{click.style(sign, fg=colour)} {note.message}"


def print_notes(scheduler: Scheduler, job: Job, now_ms: int) -> None:
    """Print warnings about the schedule of a job, and its secrets that are not set."""
    for note in lint(job.schedule, now_ms, anchor_at=job.anchor_at):
        click.echo(note_line(note))
    known = {secret.name for secret in scheduler.secrets.list()}
    for name in sorted(_secret_names(job.action) - known):
        click.echo(f"{WAITS} the secret {name} isn't set; set it with: halo secret set {name}")


def _secret_names(action: Action) -> frozenset[str]:
    """Return the secrets that an action and its work queue need."""
    if isinstance(action, Callback):
        return frozenset()
    source = getattr(action, "work_source", None)
    return action.secret_names | (frozenset() if source is None else source.secret_names)
