"""What is refused of a job when it is saved, because of the other jobs or of the system it is saved on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.english import shortened
from halo_scheduler.host.presence import is_of_this_system
from halo_scheduler.model import Condition, JobSpec, Network, PathExists
from halo_scheduler.rules.chains import circle_words, find_cycle
from halo_scheduler.store.store import Store

if TYPE_CHECKING:
    from halo_scheduler.conditions.probing import ConditionState


def refuse_unobservable(
    specs: Iterable[JobSpec],
    known: Sequence[Condition],
    check: Callable[[Condition], ConditionState],
) -> None:
    """Refuse conditions that cannot be observed here, each looked at once; those that are `known` may stay.

    This may take seconds: nothing else must have to wait for it.
    """
    seen = set(known)
    for spec in specs:
        for index, condition in enumerate(spec.policy.conditions):
            if condition in seen or _is_surely_observable(condition):
                continue
            seen.add(condition)
            state = check(condition)
            if not state.is_observable:
                raise ScheduleError(state.sentence, path=f"policy.conditions[{index}]")


def _is_surely_observable(condition: Condition) -> bool:
    """Tell whether a condition needs no look to be found observable: nobody is called only to save a job."""
    if isinstance(condition, PathExists):
        return is_of_this_system(condition.path)
    return isinstance(condition, Network) and bool(condition.host)


def refuse_chains(
    store: Store, given: Mapping[str, JobSpec], before: Mapping[str, JobSpec] | None = None
) -> None:
    """Refuse followers that are new and do not exist, and chains that would never end.

    Jobs in the trash count: whoever restores one is not to find that it cannot be.
    """
    starts = [job_id for job_id, spec in given.items() if spec.followers]
    if not starts:
        return
    for job_id in starts:
        old = (before or {}).get(job_id)
        known = () if old is None else tuple(follower.job_id for follower in old.followers)
        _refuse_followers(store, job_id, given, known)
    others = store.jobs.with_followers()
    cycle = find_cycle({record.id: record.spec for record in others} | dict(given), starts)
    if cycle is not None:
        removed = {record.id for record in others if record.removed_at is not None} - given.keys()
        names = {record.id: record.spec.name for record in others}
        names |= {job_id: spec.name for job_id, spec in given.items()}
        words = [f"{shortened(names[job_id])}{' (in the trash)' * (job_id in removed)}" for job_id in cycle]
        raise ScheduleError(
            f"{circle_words(words)}: these jobs would start each other for ever; take one out of the circle",
            path="followers",
        )


def _refuse_followers(store: Store, job_id: str, given: Mapping[str, JobSpec], known: Sequence[str]) -> None:
    """Refuse the job itself, and followers that are new and not there."""
    followers = given[job_id].followers
    wanted = {follower.job_id for follower in followers} - given.keys() - set(known)
    found = store.jobs.get_many(wanted) if wanted else {}
    for index, follower in enumerate(followers):
        path = f"followers[{index}].job_id"
        if follower.job_id == job_id:
            name = shortened(given[job_id].name)
            raise ScheduleError(f"{name} → {name}: a job cannot run after itself", path=path)
        if follower.job_id not in wanted:
            continue
        record = found.get(follower.job_id)
        if record is None:
            raise ScheduleError(f"there is no job {follower.job_id!r} that could run after it", path=path)
        if record.removed_at is not None:
            name = shortened(record.spec.name)
            raise ScheduleError(f"{name} is in the trash; restore it first", path=path)
