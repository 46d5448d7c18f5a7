"""Read-only reports for the windows: trends, usage, gaps, and upcoming runs."""

from __future__ import annotations

import heapq
import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from itertools import islice, pairwise

from halo_scheduler.grammar.interval import MINUTE_MS, SECOND_MS
from halo_scheduler.grammar.zone import machine_zone, to_instant, to_wall, wall_seconds, wall_time
from halo_scheduler.model import After, Caps, InQuietTime, Job, Outcome, Rule, Several, Source, Step, Trigger
from halo_scheduler.model.alarms import Alarm, AlarmKind
from halo_scheduler.model.plans import Topic
from halo_scheduler.model.settings import Quiet, QuietTime
from halo_scheduler.rules.blockers import Hold, Holds
from halo_scheduler.rules.chains import LinkState, chain_of, waiting_runs
from halo_scheduler.rules.pending import read_pending
from halo_scheduler.rules.situation import due_waiting, read_situations
from halo_scheduler.schedule.calendar import day_ends_at, local_day, quiet_at
from halo_scheduler.schedule.entries import previous_of, without_after
from halo_scheduler.schedule.next_run import next_run
from halo_scheduler.store.events import Event, EventKind
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.store import Store
from halo_scheduler.wording.messages import message_words
from halo_scheduler.wording.plans import Explanation, Part, PlanText, Predecessor, about, explain_plan
from halo_scheduler.wording.status import later_sentence, manual_sentence, pending_sentence

# All UTC offsets are multiples of this, so no day begins within a step.
_STEP_MS = 15 * MINUTE_MS
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """One ended run, reduced to what a chart draws."""

    run_id: str
    outcome: Outcome
    duration_ms: int | None
    at: int


@dataclass(frozen=True, slots=True)
class DayCount:
    """The outcomes of one local day's runs."""

    day: str
    by_outcome: Mapping[Outcome, int]


class GapKind(StrEnum):
    """Why Halo was not running."""

    OFF = "off"
    ASLEEP = "asleep"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A time in which Halo was off or the computer slept, and the slots missed or caught up in it."""

    began_at: int
    ended_at: int
    kind: GapKind
    caught_up: int
    missed: int
    run_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """A job's usage on a local day: its runs, an active one included, and their cost."""

    day: str
    runs: int
    cost: float
    caps: Caps
    resets_at: int


def usage(store: Store, record: JobRecord, now_ms: int) -> Usage:
    """Return a job's usage of its daily limits today."""
    day = local_day(now_ms)
    spent = store.usage.of(record.id, day)
    running = None if record.run_id is None else store.runs.get(record.run_id)
    # An active run is counted when it ends, on the day it began.
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
    """Return the last ended runs of each job, oldest first; jobs without any are left out."""
    found: dict[str, list[TrendPoint]] = {}
    for job_id, run_id, outcome, duration_ms, at in reversed(store.history.trends(job_ids, limit)):
        found.setdefault(job_id, []).append(TrendPoint(run_id, outcome, duration_ms, at))
    return {job_id: tuple(points) for job_id, points in found.items()}


def next_runs(record: JobRecord, count: int, now_ms: int, since: int | None = None) -> list[int]:
    """Return a job's planned run and the ones after it as things are, from an instant on."""
    if not record.is_active:
        return []
    schedule, anchor_at = record.spec.schedule, record.spec.anchor_at
    at = record.next_run_at
    if at is None:
        at = next_run(without_after(schedule), now_ms, anchor_at=anchor_at)
    if at is not None and since is not None and at < since:
        at = next_run(schedule, since - 1, anchor_at=anchor_at, last_completed_at=at)
        at = at if at is None else max(at, since)
    found: list[int] = []
    while at is not None and len(found) < count:
        found.append(at)
        # An `after` job's later runs depend on when this one ends.
        at = None if isinstance(schedule, After) else run_after(record, max(at, now_ms))
    return found


def run_after(record: JobRecord, at: int) -> int | None:
    """Return the run that follows one at an instant: by the current pace hint, else by the schedule."""
    hints, limits = record.hints, record.spec.policy.limits
    advised_ms = hints.pace_at(at)
    if advised_ms is None:
        return next_run(without_after(record.spec.schedule), at, anchor_at=record.spec.anchor_at)
    pace_ms = max(advised_ms, limits.min_ms or 0)
    return at + (pace_ms if limits.max_ms is None else min(pace_ms, limits.max_ms))


def explanation(store: Store, record: JobRecord, now_ms: int) -> Explanation:
    """Return why a job's next run is when it is, or why there is none, and what would block it then."""
    hold = _hold(store, record, now_ms)
    outlook = _outlook(store, record, now_ms, is_held=hold is not None)
    found = explain_plan(record.job, trail_of(record), now_ms, attempt=record.attempt, outlook=outlook)
    manual = about(Topic.WAITING, _manual_sentences(store, record, now_ms))
    further = about(Topic.PLAN, _further(store, record, now_ms))
    found = replace(found, parts=(*manual, *found.parts))
    skipped = "But it will be skipped then"
    if hold is None and outlook.predecessors and record.is_active:
        hold = Holds(store, now_ms).find(record, is_slot=False)
        skipped = "But after another job it would be skipped now"
    if hold is not None:
        words = message_words(hold.message)
        end = "" if words.endswith((".", "!", "?", "…")) else "."
        further = [Part(Topic.PLAN, f"{skipped}: {words}{end}"), *further]
    return replace(found, parts=(*found.parts, *further))


def _manual_sentences(store: Store, record: JobRecord, now_ms: int) -> list[str]:
    """Return what a pending manual run of a job waits for; nothing if there is none."""
    found = [situation.waiting for _, situation in read_situations(store.database, now_ms, [record.id])]
    return [manual_sentence(one, now_ms) for one in found if one is not None and one.is_manual]


def _further(store: Store, record: JobRecord, now_ms: int) -> list[str]:
    """Return the runs besides the planned one: pending points, and planned manual runs."""
    pending = len(read_pending(record.pending))
    later = [request.at for request in store.requests.later(now_ms) if request.job_id == record.id]
    return [
        *([pending_sentence(pending)] if pending else []),
        *([later_sentence(later, now_ms)] if later else []),
    ]


def _outlook(store: Store, record: JobRecord, now_ms: int, *, is_held: bool) -> PlanText:
    """Return what will block a job's planned run; a hold comes first and hides the others."""
    quiet = None
    if record.next_run_at is not None and not is_held:
        times = store.settings.quiet_times()
        quiet = quiet_at(times, record.spec.group, max(now_ms, record.next_run_at))
    return PlanText(
        waiting=due_waiting(store.database, record),
        quiet=quiet,
        waits_until=record.waits_until,
        predecessors=tuple(
            Predecessor(link.name, link.on, "" if link.state is LinkState.OK else link.state)
            for link in chain_of(store, record).before
        ),
        chain_waits=tuple(wait.waiting for wait in waiting_runs(store, now_ms) if wait.job_id == record.id),
    )


def _hold(store: Store, record: JobRecord, now_ms: int) -> Hold | None:
    """Return the hold that would skip a job's planned run as things are."""
    if record.next_run_at is None:
        return None
    return Holds(store, max(now_ms, record.next_run_at)).find(record)


def trail_of(record: JobRecord) -> list[Step]:
    """Return the steps that led to a job's planned run."""
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
    """Return the outcomes per local day, for the days of a span that have any."""
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
        # Scheduled runs are counted as all runs minus the few others, which is faster.
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
    """Return the times Halo was off or asleep that led to missed or caught-up runs, newest first."""
    found = (_gap(store, event) for event in store.events.gaps(since))
    return [gap for gap in found if gap is not None]


def alarms(store: Store, since: int) -> list[Alarm]:
    """Return the alarms of engines, oldest first."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Upcoming:
    """An upcoming run: the planned one of its job, or a later grid point.

    `quiet` is the quiet hours that it falls into; `goes_on` means that more runs of its job lie before the end of the
    list but did not fit.
    """

    job: Job
    at: int
    is_planned: bool
    quiet: Quiet | None = None
    goes_on: bool = False

    @property
    def source(self) -> str:
        """The kind of the schedule that gives this time, without hints and limits."""
        timed = (
            entry.schedule.kind
            for entry in self.job.schedules
            if previous_of(entry, self.at, self.job.anchor_at) == self.at
        )
        return next(timed, "several") if isinstance(self.job.schedule, Several) else self.job.schedule.kind


def upcoming(store: Store, count: int, now_ms: int, job_ids: Collection[str] | None = None) -> list[Upcoming]:
    """Return the next runs of all jobs, or of some, by time.

    Each job's next run comes first and further runs only fill the rest, so a frequent job does not hide the others.
    """
    quiet_times = store.settings.quiet_times()
    records = [record for record in store.jobs.all() if record.is_active]
    rows = [
        _runs(record, quiet_times, now_ms) for record in records if job_ids is None or record.id in job_ids
    ]
    return _chosen(rows, count)


def _chosen(rows: list[Iterator[Upcoming]], count: int) -> list[Upcoming]:
    begun = sorted(((run, row) for row in rows for run in islice(row, 1)), key=lambda first: first[0].at)
    del begun[count:]
    found = [run for run, _ in begun]
    # The first run of each job that is not listed yet; its index breaks ties.
    left = [(run.at, place, run, row) for place, (_, row) in enumerate(begun) for run in islice(row, 1)]
    heapq.heapify(left)
    while left and len(found) < count:
        _, place, run, row = left[0]
        found.append(run)
        following = next(row, None)
        if following is None:
            heapq.heappop(left)
        else:
            heapq.heapreplace(left, (following.at, place, following, row))
    found.sort(key=lambda run: run.at)
    return _with_those_that_go_on(found, {run.job.id: at for at, _, run, _ in left})


def _with_those_that_go_on(found: list[Upcoming], left: dict[str, int]) -> list[Upcoming]:
    """Return the runs; the last one of each job has `goes_on` set if later ones were left out."""
    last = {run.job.id: place for place, run in enumerate(found)}
    for job_id, place in last.items():
        run = found[place]
        next_at = left.get(job_id)
        if isinstance(run.job.schedule, After):
            next_at = run.at + run.job.schedule.after_ms
        if next_at is not None and next_at <= found[-1].at:
            found[place] = replace(run, goes_on=True)
    return found


def _runs(record: JobRecord, quiet_times: tuple[QuietTime, ...], now_ms: int) -> Iterator[Upcoming]:
    """Yield a job's planned run, then the grid points after it."""
    spec, job = record.spec, record.job
    at = record.next_run_at
    is_planned = at is not None
    if at is None:
        # The job is running, and is replanned when that run ends.
        at = next_run(without_after(spec.schedule), now_ms, anchor_at=spec.anchor_at)
    while at is not None:
        quiet = quiet_at(quiet_times, spec.group, max(at, now_ms))
        yield Upcoming(job=job, at=at, is_planned=is_planned, quiet=quiet)
        if isinstance(spec.schedule, After):
            return  # The others wait for the end of this one.
        started_at = max(at, now_ms)
        if quiet is not None and spec.policy.in_quiet_time is InQuietTime.WAIT:
            # Slots that come due while this one waits are coalesced.
            started_at = quiet.until
        at, is_planned = run_after(record, started_at), False
