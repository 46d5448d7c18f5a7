"""Edit a job as a YAML file in the user's editor."""

from __future__ import annotations

import os
import tempfile
from dataclasses import fields
from typing import Any

import click

from halo_scheduler.errors import ScheduleError, SchedulerError
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.model import Job, JobSpec
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.transfer.job_form import draft_of, job_to_plain, spec_of
from halo_scheduler.transfer.text_file import FileError, TextFile
from halo_scheduler.transfer.yaml_text import read_yaml, write_yaml

_ENDING = ".yaml"
_LONGEST = 500
_TITLE = "A job of Halo Scheduler."
_FAULT = "■ "
_HEADER = (
    _TITLE,
    "Save the file to change the job. To cancel, leave it unchanged or empty it.",
    "Fields that are missing have their default value; more fields are listed at the end.",
    "",
)
MORE = """
# More fields of a job:
#
# description: what the job is for
# group: night
# enabled: false
# schedule: {every: 15m}             # or {after: 5m}, {cron: "0 9 * * 1-5", timezone: Europe/Berlin},
#                                    # {once: "2030-12-24T18:00:00+01:00"}, manual
# followers:
#   - {job: report, on: success}     # or failure, or always
# policy:
#   time_limit: 2h                   # or null
#   max_errors: 5
#   retry: {attempts: 2, delay: 1m}
#   catch_up: skip                   # or once, all
#   conditions:
#     - mains_power
#     - network
#     - {kind: network, host: nas.local, port: 22}
#     - idle: 10m
#     - {kind: load, below: 2}
#     - path: /mnt/backup
#   condition_deadline: 6h
#   in_quiet_time: skip              # or wait
#   keep_awake: true
#   output_limit_bytes: 1048576
#   assistants_may_run: false
"""
"""The examples at the end of the file; the jobs they name need not exist."""


def edit_as_file(scheduler: Scheduler, job: Job) -> None:
    """Let the user edit a job until it is valid or they give up; it is saved whole or not at all."""
    original = content = _content_of(scheduler, job)
    while (edited := _edit(content)) != original:
        try:
            _store(scheduler, job, edited)
        except (FileError, ScheduleError) as error:
            fault = plain_line(str(error), _LONGEST)
            click.echo(f"{click.style('■', fg='red')} {fault}", err=True)
            if not click.confirm("Edit again?", default=True, err=True):
                raise SchedulerError(f"{job.name} wasn't changed") from None
            content = _with_fault(edited, fault)
        except SchedulerError as error:
            raise SchedulerError(f"{error}; your text was saved to {_save_text(edited)}") from None
        else:
            return


def _content_of(scheduler: Scheduler, job: Job) -> bytes:
    names = {found.id: found.name for found in scheduler.list_jobs()}
    return (write_yaml(job_to_plain(job.spec, names), _HEADER) + MORE).encode()


def _edit(content: bytes) -> bytes:
    try:
        edited = click.edit(content, require_save=False, extension=_ENDING)
    except ValueError as error:  # an unclosed quote in $EDITOR
        raise SchedulerError(f"cannot start the editor: {error}") from None
    return content if edited is None else edited


def _store(scheduler: Scheduler, job: Job, content: bytes) -> None:
    file = read_yaml(content)
    if file.data is None:
        return
    try:
        changes = _changes(scheduler, job, file)
        if changes:
            scheduler.update_job(job.id, seen=job.spec, **changes)
    except ScheduleError as error:
        raise FileError(error.message, line=file.line_of(error.path), path=error.path) from None


def _changes(scheduler: Scheduler, job: Job, file: TextFile) -> dict[str, Any]:
    draft = draft_of(file.data)
    if draft.job_id not in (None, job.id):
        raise ScheduleError("the id of a job can't be changed; remove this line", path="id")
    ids = {found.name: found.id for found in scheduler.list_jobs()}
    before = job.spec
    after = spec_of(draft, ids, anchor_at=before.anchor_at)
    values = ((field.name, getattr(after, field.name)) for field in fields(JobSpec))
    return {name: value for name, value in values if value != getattr(before, name)}


def _with_fault(content: bytes, fault: str) -> bytes:
    """Return a file whose first line is the error; no line moves, because the error names a line."""
    first, _, rest = content.partition(b"\n")
    own = tuple(f"# {start}".encode() for start in (_TITLE, _FAULT))
    line = f"# {_FAULT}{fault}\n".encode()
    return line + (rest if first.startswith(own) else content)


def _save_text(content: bytes) -> str:
    handle, path = tempfile.mkstemp(prefix="halo-", suffix=_ENDING)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    return path
