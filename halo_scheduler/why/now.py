"""Why a job runs next when it does, or why it does not."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from halo_scheduler.model import Condition, FollowOn, JobStatus
from halo_scheduler.rules.chains import ChainLink, LinkState, chain_of
from halo_scheduler.rules.situation import read_situations
from halo_scheduler.rules.statistics import explanation
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.store import Store
from halo_scheduler.why.answer import Answer, Span, Verdict
from halo_scheduler.why.assistant_acts import assistant_sentences
from halo_scheduler.why.clock_change import clock_change_sentences
from halo_scheduler.why.gaps import is_awake
from halo_scheduler.wording.conditions import describe_condition

if TYPE_CHECKING:
    from halo_scheduler.conditions.probing import ConditionState

# Whoever does not answer by then is not waited for: a folder on a drive that is gone may never be found.
_LONGEST_LOOK_S = 6.0
_ENDS = {FollowOn.SUCCESS: "succeeds", FollowOn.FAILURE: "fails", FollowOn.ALWAYS: "ends"}
_HOLDS = {True: "yes", False: "not now", None: "nobody knows"}
_BROKEN = {
    LinkState.PAUSED: "is paused",
    LinkState.DISABLED: "is disabled",
    LinkState.REMOVED: "was removed",
}
Look = Callable[[Condition], "ConditionState"]


def answer_now(store: Store, record: JobRecord, now_ms: int, look: Look) -> Answer:
    """Return a job's plan, what stands in its way, and how its conditions are at the moment."""
    return Answer(
        job_id=record.id,
        name=record.spec.name,
        verdict=_verdict(store, record, now_ms),
        sentences=(
            *engine_sentences(store, now_ms),
            *explanation(store, record, now_ms).sentences,
            *assistant_sentences(store, record, now_ms),
            *_clock_change(record, now_ms),
            *_condition_sentences(record.spec.policy.conditions, look),
            *(_follower(link) for link in chain_of(store, record).after),
        ),
        run_id=record.run_id,
        next_run_at=record.next_run_at,
    )


def _clock_change(record: JobRecord, now_ms: int) -> list[str]:
    at = record.next_run_at
    return [] if at is None else clock_change_sentences(record.spec.schedule, Span(at, at + 1), now_ms)


def engine_sentences(store: Store, now_ms: int) -> list[str]:
    """Return that nothing starts by itself at the moment, if that is so."""
    return [] if is_awake(store, now_ms) else ["Nothing runs the jobs at the moment: Halo is not running."]


_BY_STATUS = {
    JobStatus.RUNNING: Verdict.RUNNING,
    JobStatus.DISABLED: Verdict.DISABLED,
    JobStatus.PAUSED: Verdict.PAUSED,
}


def _verdict(store: Store, record: JobRecord, now_ms: int) -> Verdict:
    found = read_situations(store.database, now_ms, [record.id])
    if any(situation.waiting is not None for _, situation in found):
        return Verdict.WAITING
    planned = Verdict.NOT_PLANNED if record.next_run_at is None else Verdict.PLANNED
    return _BY_STATUS.get(record.status, planned)


def _condition_sentences(conditions: Sequence[Condition], look: Look) -> list[str]:
    """Return how each condition is at the moment; all are looked at together, as each may take its time."""
    news: queue.SimpleQueue[tuple[Condition, ConditionState]] = queue.SimpleQueue()
    threads = [
        threading.Thread(target=lambda one=condition: news.put((one, look(one))), daemon=True)
        for condition in conditions
    ]
    for thread in threads:
        thread.start()
    found: dict[Condition, ConditionState] = {}
    for _ in threads:
        try:
            condition, state = news.get(timeout=_LONGEST_LOOK_S)
        except queue.Empty:
            break
        found[condition] = state
    return [_condition(condition, found.get(condition)) for condition in conditions]


def _condition(condition: Condition, state: ConditionState | None) -> str:
    words = describe_condition(condition)
    words = f"{words[:1].upper()}{words[1:]}"
    if state is None:
        return f"{words}: nobody knows. It could not be found out in time."
    return f"{words}: {_HOLDS[state.holds]}. {state.sentence}"


def _follower(link: ChainLink) -> str:
    after = f"After it {_ENDS[link.on]}, {link.name}"
    if link.state is LinkState.OK:
        return f"{after} runs."
    return f"{after} should run, but {_BROKEN[link.state]}."
