"""Checks that jobs can be read and can start: their conditions, next jobs, programs, agents, folders and secrets."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from shlex import quote

from halo_scheduler.actions.launch import LaunchError, command_line, prepare
from halo_scheduler.conditions.probes import check_condition
from halo_scheduler.doctor.scene import (
    Finding,
    Scene,
    Topic,
    fine,
    first_of,
    look,
    named,
    within,
    wrong,
    wrong_because,
)
from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.english import counted, shortened
from halo_scheduler.host.login_environment import Environment, read_login_environment
from halo_scheduler.model import Action, Command, Condition, HttpRequest, JobSpec, Network, ProcessAction
from halo_scheduler.model.actions import FolderSource
from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.model.settings import Settings
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.secrets import SecretError, SecretName, SecretPlace, SecretStore, has_keyring
from halo_scheduler.wording.conditions import describe_condition
from halo_scheduler.wording.day_sources import source_words

_TOPIC = Topic.JOBS
_LIMIT_S = 3.0
_MOST_WAITS = 3
_NO_ANSWER = "the drive of its program or folder doesn't respond"
# A locked keyring prompts the user, who may be away.
_KEYRING_LIMIT_S = 5.0


def check_jobs(scene: Scene) -> Iterator[Finding]:
    """Check the stored jobs."""
    found = [
        *first_of(_unreadable(scene)),
        *first_of(_unobservable(scene)),
        *first_of(_broken_chains(scene)),
        *first_of(_outdated_days(scene)),
    ]
    yield from found
    if not found:
        yield fine(_TOPIC, "All jobs are readable, and all next jobs exist." if scene.jobs else "No jobs.")


def _unreadable(scene: Scene) -> Iterator[Finding]:
    for job in scene.unreadable_jobs:
        what = f"The job {job.name} cannot be read: {job.why}."
        yield wrong(_TOPIC, what, "Use the Halo that wrote it, or restore a backup: halo backup list")


def _unobservable(scene: Scene) -> Iterator[Finding]:
    """Find conditions that cannot be observed on this computer: their jobs would wait forever."""
    waiting: dict[Condition, list[str]] = {}
    for record in scene.jobs:
        for condition in record.spec.policy.conditions if record.disabled_reason is None else ():
            waiting.setdefault(condition, []).append(record.spec.name)
    for condition, names in waiting.items():
        if isinstance(condition, Network) and condition.host:
            continue  # Every system can check these, and the doctor should open no connections.
        state = check_condition(condition)
        if not state.is_observable:
            start = "starts" if len(names) == 1 else "start"
            what = f"{named(names)} {start} only {describe_condition(condition)}: {state.sentence}"
            yield look(
                _TOPIC, what, "If the engine can't check it either, remove the condition with: halo edit"
            )


def _broken_chains(scene: Scene) -> Iterator[Finding]:
    known = {record.id: record for record in scene.all_jobs}
    for record in scene.jobs:
        for follower in record.spec.followers if record.disabled_reason is None else ():
            after = known.get(follower.job_id)
            name, other = record.spec.name, scene.name_of(follower.job_id)
            if after is None:
                what = f"The next job of {name} does not exist."
                yield wrong(_TOPIC, what, f"Choose another one with: halo edit {quote(name)}")
            elif after.removed_at is not None:
                what = f"The next job of {name}, {other}, was removed."
                yield wrong(_TOPIC, what, f"Restore it with: halo trash restore {quote(other)}")
            elif isinstance(after, JobRecord) and after.disabled_reason is not None:
                what = f"The next job of {name}, {other}, is disabled."
                yield look(_TOPIC, what, f"Enable it with: halo resume {quote(other)}")


def _outdated_days(scene: Scene) -> Iterator[Finding]:
    """Find holidays and calendar files that could not be refreshed: schedules use the days last read."""
    for stored in scene.store.day_sources.all():
        if stored.trouble:
            what = f"The {source_words(stored.source)} were last read {scene.ago(stored.read_at)}: {stored.trouble}."
            yield look(_TOPIC, what, "Schedules use the days last read; Halo tries again every day")


def check_programs(scene: Scene) -> Iterator[Finding]:
    """Look up the program of each job, the way a run does."""
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

    The environment of your login shell is only read if something is missing without it.
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
    if isinstance(source, FolderSource) and not Path(os.path.expanduser(source.path)).is_dir():  # noqa: PTH111 - a Path would raise without a home folder
        raise LaunchError(message(MessageKind.NO_ITEM_FOLDER, path=shortened(source.path)))


def _fault(record: JobRecord, why: str) -> Finding:
    name = record.spec.name
    # A paused job may be waiting for exactly that.
    mark = wrong if record.is_active else look
    return mark(_TOPIC, f"{name} cannot start: {why}.", f"Check it with: halo show {quote(name)}")


def check_secrets(scene: Scene) -> Iterator[Finding]:
    """Check that each secret can be read, and find secrets that jobs use but that are not set."""
    known = scene.store.secrets.all()
    yield from first_of(_unset(scene, {item.name for item in known}))
    in_keyring = [item for item in known if item.place is SecretPlace.KEYRING]
    in_file = [item for item in known if item.place is SecretPlace.FILE]
    yield from first_of(_in_keyring(scene, in_keyring))
    yield from first_of(_in_file(scene, in_file))


def _unset(scene: Scene, known: set[str]) -> Iterator[Finding]:
    users: dict[str, list[str]] = {}
    for record in scene.jobs:
        for name in _used_by(record.spec.action) - known if record.disabled_reason is None else ():
            users.setdefault(name, []).append(record.spec.name)
    for name, jobs in sorted(users.items()):
        use = "uses" if len(jobs) == 1 else "use"
        what = f"{named(jobs)} {use} the secret {name}, which is not set."
        yield wrong(Topic.SECRETS, what, f"Set it with: halo secret set {name}")


def _used_by(action: Action) -> frozenset[str]:
    names = action.secret_names if isinstance(action, (ProcessAction, HttpRequest)) else frozenset[str]()
    source = action.work_source if isinstance(action, ProcessAction) else None
    return names if source is None else names | source.secret_names


def _in_keyring(scene: Scene, secrets: list[SecretName]) -> Iterator[Finding]:
    is_there = within(_KEYRING_LIMIT_S, has_keyring)
    if not is_there and not secrets:
        yield fine(
            Topic.SECRETS,
            "No keyring found.",
            "Store secrets in a private file: halo secret set --in-file",
        )
        return
    if not is_there:
        what = f"No keyring found, but {named([item.name for item in secrets])} should be in one."
        yield look(Topic.SECRETS, what, "Check again in a desktop session, where jobs may reach it")
        return
    faults = list(_secret_faults(scene, secrets))
    yield from faults
    if not faults:
        has = f" with {counted(len(secrets), 'secret')}" if secrets else ""
        yield fine(Topic.SECRETS, f"There is a keyring{has}.")


def _in_file(scene: Scene, secrets: list[SecretName]) -> Iterator[Finding]:
    file = scene.path.with_name(f"{scene.path.stem}-secrets.json")
    if not secrets or (os.name == "posix" and file.exists() and file.stat().st_mode & 0o077):
        return  # If others can read it, the check of permissions reports that; until it is fixed, it is not read.
    faults = list(_secret_faults(scene, secrets))
    yield from faults
    if not faults:
        yield fine(Topic.SECRETS, f"The private file has {counted(len(secrets), 'secret')}.")


def _secret_faults(scene: Scene, secrets: list[SecretName]) -> Iterator[Finding]:
    """Read each secret, and discard its value."""
    store = SecretStore(scene.store.secrets, scene.path)
    for secret in secrets:
        try:
            within(_KEYRING_LIMIT_S, store.reader([secret.name]))
        except SecretError as error:
            yield wrong_because(Topic.SECRETS, error)
        except TimeoutError:
            yield look(
                Topic.SECRETS, "The keyring doesn't respond; it may be locked.", "Unlock it, then check again"
            )
            return
