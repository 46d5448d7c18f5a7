"""Checks that the programs, agents and folders of the jobs exist."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from shlex import quote

from halo_scheduler.actions.launch import LaunchError, command_line, prepare
from halo_scheduler.doctor.findings import Finding, Topic, fine, first_of, look, wrong
from halo_scheduler.doctor.scene import Scene, within
from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.english import shortened
from halo_scheduler.host.login_environment import Environment, read_login_environment
from halo_scheduler.model import Command, JobSpec, ProcessAction
from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.model.settings import Settings
from halo_scheduler.model.work_source import FolderSource
from halo_scheduler.store.job_records import JobRecord

_TOPIC = Topic.JOBS
_LIMIT_S = 3.0
_MOST_WAITS = 3
_NO_ANSWER = "the drive of its program or folder does not answer"


def check_programs(scene: Scene) -> Iterator[Finding]:
    """Look up what each job would start, the way a run does."""
    records = [
        record
        for record in scene.jobs
        if record.disabled_reason is None and isinstance(record.spec.action, ProcessAction)
    ]
    if not records:
        return
    told = read_login_environment()
    if told is None:
        what = "Your login shell's environment can't be read; jobs run with Halo's own."
        yield look(_TOPIC, what, "Check the output of: $SHELL -i -l -c env")
    faults = list(_faults(records, scene.settings, Environment(told or os.environ)))
    yield from first_of(faults)
    if not faults:
        yield fine(_TOPIC, "All programs and folders of your jobs exist.")


def start_fault(spec: JobSpec, settings: Settings) -> str:
    """Return why a job cannot start here, or an empty string.

    Your login shell, whose environment runs get, is only asked if something is missing without it.
    """
    fault = _fault_in(os.environ, spec, settings)
    if not fault:
        return ""
    told = read_login_environment()
    return fault if told is None else _fault_in(told, spec, settings)


def _fault_in(environment: Mapping[str, str], spec: JobSpec, settings: Settings) -> str:
    try:
        within(_LIMIT_S, partial(_require_all, spec, settings, Environment(environment)))
    except ScheduleError as error:
        return error.message
    except LaunchError as error:
        return str(error)
    except TimeoutError:
        return _NO_ANSWER
    return ""


def _faults(records: Sequence[JobRecord], settings: Settings, environment: Environment) -> Iterator[Finding]:
    waits = 0
    for record in records:
        try:
            within(_LIMIT_S, partial(_require_all, record.spec, settings, environment))
        except (LaunchError, ScheduleError) as error:
            yield _fault(record, error.message if isinstance(error, ScheduleError) else str(error))
        except TimeoutError:
            yield _fault(record, _NO_ANSWER)
            waits += 1
            if waits == _MOST_WAITS:
                yield look(_TOPIC, "The programs of further jobs weren't checked.")
                return


def _require_all(spec: JobSpec, settings: Settings, environment: Environment) -> None:
    """Raise LaunchError or ScheduleError if something is missing."""
    action = spec.action
    if not isinstance(action, ProcessAction):
        return
    argv = command_line(action) if isinstance(action, Command) else settings.find_agent(action.agent).argv
    prepare(action, argv, {}, environment, dict.fromkeys(action.secret_names, ""))
    source = action.work_source
    if isinstance(source, FolderSource) and not Path(os.path.expanduser(source.path)).is_dir():  # noqa: PTH111 - a Path would raise where there is no home
        raise LaunchError(message(MessageKind.NO_ITEM_FOLDER, path=shortened(source.path)))


def _fault(record: JobRecord, why: str) -> Finding:
    name = record.spec.name
    # One that is paused may wait for just that.
    mark = wrong if record.is_active else look
    return mark(_TOPIC, f"{name} cannot start: {why}.", f"Look at it with: halo show {quote(name)}")
