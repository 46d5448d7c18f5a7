"""Reports: what a window shows beside jobs and runs, read from the store and never written."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from itertools import pairwise

from halo_scheduler.grammar.interval import MINUTE_MS, SECOND_MS
from halo_scheduler.grammar.zone import machine_zone, to_instant, to_wall, wall_seconds, wall_time
from halo_scheduler.model import After, Caps, Outcome, Rule, Source, Step, Trigger
from halo_scheduler.model.alarms import Alarm, AlarmKind
from halo_scheduler.rules.blockers import Hold, Holds
from halo_scheduler.rules.chains import LinkState, chain_of, waiting_runs
from halo_scheduler.schedule.days import day_ends_at, local_day
from halo_scheduler.schedule.next_run import next_run
from halo_scheduler.schedule.quiet_times import quiet_at
from halo_scheduler.store.events import Event, EventKind
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.store import Store
from halo_scheduler.wording.plans import Explanation, PlanText, Predecessor, explain_plan

# No zone is off by less than that, so no day begins within a step.
_STEP_MS = 15 * MINUTE_MS
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """One ended run, as small as it is drawn."""

    run_id: str
    outcome: Outcome
    duration_ms: int | None
    at: int


@dataclass(frozen=True, slots=True)
class DayCount:
    """How the runs of one local day ended."""

    day: str
    by_outcome: Mapping[Outcome, int]


class GapKind(StrEnum):
    """Why nobody was awake."""

    OFF = "off"
    ASLEEP = "asleep"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A time when nobody was awake, and what became of the slots in it."""

    began_at: int
    ended_at: int
    kind: GapKind
    caught_up: int
    missed: int
    run_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a job has used up of a local day: its runs, one under way included, and what they cost."""

    day: str
    runs: int
    cost: float
    caps: Caps
    resets_at: int


def usage(store: Store, record: JobRecord, now_ms: int) -> Usage:
    """Return what a job has used up of its caps today."""
    day = local_day(now_ms)
    spent = store.usage.of(record.id, day)
    running = None if record.run_id is None else store.runs.get(record.run_id)
    # What runs is counted when it ends, on the day it began.
    is_counted_later = (
        running is not None
        and running.trigger is not Trigger.TEST
        and running.started_at is not None
        and local_day(running.started_at) == day
    )
    return Usage(
        day=day,
        runs=spent.runs + int(is_counted_later),
        cost=spent.cost,
        caps=record.spec.policy.caps,
        resets_at=day_ends_at(now_ms),
    )


def trends(store: Store, job_ids: Iterable[str], limit: int) -> dict[str, tuple[TrendPoint, ...]]:
    """Return the last ended runs of each job, oldest first; a job without any is left out."""
    found: dict[str, list[TrendPoint]] = {}
    for job_id, run_id, outcome, duration_ms, at in reversed(store.history.trends(job_ids, limit)):
        found.setdefault(job_id, []).append(TrendPoint(run_id, outcome, duration_ms, at))
    return {job_id: tuple(points) for job_id, points in found.items()}


def next_runs(record: JobRecord, count: int, now_ms: int, since: int | None = None) -> list[int]:
    """Return a job's planned run, then what follows it as things are; only those from an instant on."""
    if not record.is_active:
        return []
    schedule, anchor_at = record.spec.schedule, record.spec.anchor_at
    at = record.next_run_at
    if at is None and not isinstance(schedule, After):
        at = next_run(schedule, now_ms, anchor_at=anchor_at)
    if at is not None and since is not None and at < since:
        at = next_run(schedule, since - 1, anchor_at=anchor_at, last_completed_at=at)
        at = at if at is None else max(at, since)
    found: list[int] = []
    while at is not None and len(found) < count:
        found.append(at)
        at = run_after(record, max(at, now_ms))
    return found


def run_after(record: JobRecord, at: int) -> int | None:
    """Return what follows a run at an instant: at the pace that somebody asked for, or as the schedule says."""
    hints, limits = record.hints, record.spec.policy.limits
    if hints.interval_ms is None or not hints.count_at(at):
        return next_run(record.spec.schedule, at, anchor_at=record.spec.anchor_at, last_completed_at=at)
    pace_ms = max(hints.interval_ms, limits.min_ms or 0)
    return at + (pace_ms if limits.max_ms is None else min(pace_ms, limits.max_ms))


def explanation(store: Store, record: JobRecord, now_ms: int) -> Explanation:
    """Return why a job's next run is when it is, or why there is none; and what would keep it from starting then."""
    hold = _hold(store, record, now_ms)
    outlook = _outlook(store, record, now_ms, is_held=hold is not None)
    found = explain_plan(record.job, trail_of(record), now_ms, attempt=record.attempt, outlook=outlook)
    skipped = "But it will be skipped then"
    if hold is None and outlook.predecessors and record.is_active:
        hold = Holds(store, now_ms).find(record, is_slot=False)
        skipped = "But after another job it would be skipped now"
    if hold is None:
        return found
    end = "" if hold.sentence.endswith((".", "!", "?", "…")) else "."
    return replace(found, sentences=(*found.sentences, f"{skipped}: {hold.sentence}{end}"))


def _outlook(store: Store, record: JobRecord, now_ms: int, *, is_held: bool) -> PlanText:
    """Return what a job meets beside its plan; one that is held back is skipped before anything else is asked."""
    quiet = None
    if record.next_run_at is not None and not is_held:
        times = store.settings.quiet_times()
        quiet = quiet_at(times, record.spec.group, max(now_ms, record.next_run_at))
    return PlanText(
        quiet=quiet,
        waits_until=record.waits_until,
        predecessors=tuple(
            Predecessor(link.name, link.on, "" if link.state is LinkState.OK else link.state)
            for link in chain_of(store, record).before
        ),
        chain_waits=tuple(wait.waiting for wait in waiting_runs(store) if wait.job_id == record.id),
    )


def _hold(store: Store, record: JobRecord, now_ms: int) -> Hold | None:
    """Return why the planned run of a job would be skipped as things are."""
    if record.next_run_at is None:
        return None
    return Holds(store, max(now_ms, record.next_run_at)).find(record)


def trail_of(record: JobRecord) -> list[Step]:
    """Return the steps that led to a job's plan."""
    steps = json.loads(record.trail)
    return [Step(Rule(rule), at, Source(source), took_ms) for rule, at, source, took_ms in steps]


# --- Days -------------------------------------------------------------------------------------------


def days(
    store: Store,
    since: int,
    until: int,
    *,
    job_id: str | None = None,
    outcome: Outcome | None = None,
    trigger: Trigger | None = None,
) -> list[DayCount]:
    """Return how runs ended on each local day of a span that has any."""
    oldest_at = store.history.oldest_at()
    if oldest_at is None or max(since, oldest_at) >= until:
        return []
    since = max(since, oldest_at)
    starts = list(_midnights(since, until))
    labels = [label for label, _ in starts]
    counts: Counter[tuple[int, Outcome]] = Counter()
    if job_id is None and trigger in (None, Trigger.SCHEDULE):
        edges = [since, *(at for _, at in starts[1:]), until]
        outcomes = list(Outcome) if outcome is None else [outcome]
        for index, found, count in store.history.count_spans(list(pairwise(edges)), outcomes):
            counts[index, found] += count
    if job_id is not None or trigger is not None:
        # What the schedule started is everything but the few others.
        others = None if job_id is None and trigger is Trigger.SCHEDULE else trigger
        sign = -1 if job_id is None and trigger is Trigger.SCHEDULE else 1
        midnights = [at for _, at in starts]
        for step, found, count in store.history.count_steps(
            _STEP_MS, since, until, job_id=job_id, trigger=others
        ):
            counts[max(0, bisect_right(midnights, step * _STEP_MS) - 1), found] += sign * count
    return _by_day(labels, counts, outcome)


def _by_day(
    labels: list[str], counts: Counter[tuple[int, Outcome]], outcome: Outcome | None
) -> list[DayCount]:
    by_day: dict[int, dict[Outcome, int]] = {}
    for (index, found), count in sorted(counts.items()):
        if count > 0 and outcome in (None, found):
            by_day.setdefault(index, {})[found] = count
    return [DayCount(labels[index], found) for index, found in by_day.items()]


def _midnights(since: int, until: int) -> Iterator[tuple[str, int]]:
    """Yield the local days of a span with the instants they begin at; the first begins before the span."""
    zone = machine_zone()
    day = wall_time(to_wall(zone, since // SECOND_MS)).replace(hour=0, minute=0, second=0)
    at = to_instant(zone, wall_seconds(day)) * SECOND_MS
    while at < until:
        yield day.strftime("%Y-%m-%d"), at
        day += _DAY
        at = to_instant(zone, wall_seconds(day)) * SECOND_MS


# --- Gaps -------------------------------------------------------------------------------------------


def gaps(store: Store, since: int) -> list[Gap]:
    """Return when nobody was awake and something was caught up or missed because of it, newest first."""
    found = (_gap(store, event) for event in store.events.gaps(since))
    return [gap for gap in found if gap is not None]


def alarms(store: Store, since: int) -> list[Alarm]:
    """Return when engines noticed that they did not do their work, oldest first."""
    return [Alarm(AlarmKind(event.detail["alarm"]), event.at) for event in store.events.alarms(since)]


def _gap(store: Store, event: Event) -> Gap | None:
    is_sleep = event.kind is EventKind.SLEEP_GAP
    began_at = event.detail.get("since" if is_sleep else "awake_until")
    if not isinstance(began_at, int) or began_at >= event.at:
        return None
    caught_up = store.history.caught_up(began_at, event.at)
    missed = store.history.missed(began_at, event.at)
    waiting = store.jobs.waiting_to_catch_up(began_at, event.at)
    if not caught_up and not missed and not waiting:
        return None
    return Gap(
        began_at=began_at,
        ended_at=event.at,
        kind=GapKind.ASLEEP if is_sleep else GapKind.OFF,
        caught_up=len(caught_up) + waiting,
        missed=len(missed),
        run_ids=(*caught_up, *missed),
    )
