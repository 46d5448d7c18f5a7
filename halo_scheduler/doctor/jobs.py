"""Checks that jobs can be read, can start, and lead to jobs that can."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from halo_scheduler.conditions.looking import check_condition
from halo_scheduler.doctor.findings import Finding, Topic, fine, first_of, look, named, wrong
from halo_scheduler.doctor.scene import Scene
from halo_scheduler.model import Condition, Network
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.wording.conditions import describe_condition

_TOPIC = Topic.JOBS


def check_jobs(scene: Scene) -> Iterator[Finding]:
    """Check the stored jobs."""
    found = [*first_of(_unreadable(scene)), *first_of(_unobservable(scene)), *first_of(_broken_chains(scene))]
    yield from found
    if not found:
        yield fine(_TOPIC, "All jobs are readable, and all next jobs exist." if scene.jobs else "No jobs.")


def _unreadable(scene: Scene) -> Iterator[Finding]:
    for job in scene.unreadable_jobs:
        what = f"The job {job.name} cannot be read: {job.why}."
        yield wrong(_TOPIC, what, "Use the Halo that wrote it, or restore a backup: halo backup list")


def _unobservable(scene: Scene) -> Iterator[Finding]:
    """Find conditions that cannot be observed on this machine: their jobs would wait forever."""
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
                what = f"After {name} should run {other}."
                yield wrong(_TOPIC, what, f"Choose what runs after it with: halo edit {quote(name)}")
            elif after.removed_at is not None:
                what = f"After {name} should run {other}, which was removed."
                yield wrong(_TOPIC, what, f"Restore it with: halo trash restore {quote(other)}")
            elif isinstance(after, JobRecord) and after.disabled_reason is not None:
                what = f"After {name} should run {other}, which is disabled."
                yield look(_TOPIC, what, f"Enable it with: halo resume {quote(other)}")
