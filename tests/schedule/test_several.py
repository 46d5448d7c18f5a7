"""Several schedules of a job: one grid, checked against the points of each schedule collected one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import takewhile
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest
from cases import utc_ms
from hypothesis import given
from hypothesis import strategies as st

from halo_scheduler import (
    After,
    Backoff,
    Cron,
    Entry,
    Every,
    Hints,
    Limits,
    Manual,
    Once,
    Retry,
    ScheduleError,
    Several,
    Source,
    count_due,
    next_run,
    plan_next_run,
    previous_run,
)
from halo_scheduler.grammar.checks import MAX_INSTANT
from halo_scheduler.grammar.interval import DAY_MS, HOUR_MS, MINUTE_MS
from halo_scheduler.grammar.zone import find_zone, to_instant, to_wall, wall_seconds
from halo_scheduler.model import Calendar, Plan, Schedule, Shift
from halo_scheduler.model.schedules import combine, with_keys
from halo_scheduler.model.time_rules import calendar_for
from halo_scheduler.schedule import entries as entries_module
from halo_scheduler.schedule import single as single_module
from halo_scheduler.schedule.entries import due_points, pending_point
from halo_scheduler.schedule.single import Jitter, jitter_ms

# The days around both clock changes, and an ordinary one.
_DAYS = [utc_ms(text) for text in ("2026-03-29T00:00:00Z", "2026-10-25T00:00:00Z", "2026-07-01T00:00:00Z")]
_NINE, _NOON = utc_ms("2026-07-01T09:00:00Z"), utc_ms("2026-07-01T12:00:00Z")
_KEY = "job"

_CRONS = st.builds(
    Cron,
    st.sampled_from(
        ["0 9 * * *", "30 14 * * 1-5", "*/20 * * * *", "15 2 * * *", "0 */2 * * *", "0 0 * * SUN"]
    ),
    timezone=st.sampled_from(["UTC", "Europe/Berlin"]),
)
_EVERIES = st.integers(5, 300).map(lambda minutes: Every(f"{minutes}m"))
_INSTANTS = st.builds(
    lambda day, minute: day + minute * MINUTE_MS, st.sampled_from(_DAYS), st.integers(-1500, 1500)
)
_ONCES = _INSTANTS.map(Once)
# The days around the clock changes and other times that the instants lie near.
_DATES = (
    st.none()
    | st.none()
    | st.builds(
        lambda day, more: (datetime.fromtimestamp(day / 1000, UTC) + timedelta(days=more)).date().isoformat(),
        st.sampled_from(_DAYS),
        st.integers(-1, 1),
    )
)


_CALENDARS = st.builds(
    lambda groups, dates, shift: Calendar(
        only=groups[0],
        excluded=(*groups[1], *dates),
        shift=shift if groups[0] or groups[1] or dates else None,
    ),
    st.sampled_from(
        [((), ()), (("weekdays",), ()), ((), ("weekdays",)), (("weekends",), ()), ((), ("weekends",))]
    ),
    st.lists(_DATES.filter(bool), max_size=5),
    st.none() | st.sampled_from(Shift),
)


def _limited(entry: Entry, first: str | None, last: str | None, calendar: Calendar) -> Entry:
    if first and last and last < first:
        first, last = last, first
    calendar = calendar_for(entry.schedule, calendar)
    return replace(entry, from_date=first, until_date=last, calendar=calendar)


_ENTRIES = st.one_of(
    st.builds(Entry, _CRONS | _ONCES),
    st.builds(_limited, st.builds(Entry, _CRONS), _DATES, _DATES, _CALENDARS),
    st.builds(Entry, _EVERIES, anchor_at=st.none() | _INSTANTS),
    st.builds(
        _limited, st.builds(Entry, _EVERIES, anchor_at=st.none() | _INSTANTS), _DATES, _DATES, _CALENDARS
    ),
)
_SEVERAL = st.lists(_ENTRIES, min_size=2, max_size=6, unique_by=lambda entry: entry.timing).map(
    lambda entries: Several(tuple(entries))
)
_JITTERS = st.sampled_from(
    [
        *(Jitter(), Jitter(), Jitter(3, _KEY), Jitter(10, _KEY), Jitter(10, _KEY, is_fixed=True)),
        *(Jitter(0, _KEY, most_ms) for most_ms in (1_000, HOUR_MS, 20 * HOUR_MS)),
        Jitter(0, _KEY, HOUR_MS, is_fixed=True),
    ]
)


class _Due(NamedTuple):
    at: int
    key: str


def _points(entry: Entry, anchor_at: int, since: int) -> Iterator[int]:
    """Return the points after an instant, worked out day by day."""
    at = since if isinstance(entry.schedule, Once) else next_run(entry.schedule, since, anchor_at=since)
    if isinstance(entry.schedule, Once):
        yield from [entry.schedule.due_at] if entry.schedule.due_at > since else []
        return
    day = _day(entry, since)
    last = day + timedelta(days=500)
    while at is not None and day <= last and day.isoformat() <= (entry.until_date or "9999"):
        if _is_open(entry, day):
            yield from sorted({at for at in _points_of_day(entry, anchor_at, day) if at > since})
        day += timedelta(days=1)


def _points_of_day(entry: Entry, anchor_at: int, day: date) -> Iterator[int]:
    zone = _zone(entry)
    step = timedelta(days=-1 if entry.calendar.shift is Shift.NEXT else 1)
    source = day
    while source == day or (entry.calendar.shift and not entry.calendar.allows(source)):
        begin = to_instant(zone, wall_seconds(datetime.combine(source, time()))) * 1_000
        at = next_run(entry.schedule, begin - 1, anchor_at=entry.anchor(anchor_at))
        while at is not None and _day(entry, at) == source:
            if _is_within(entry, source):
                wall_s = to_wall(zone, at // 1_000) + (day - source) // timedelta(seconds=1)
                yield at if source == day else to_instant(zone, wall_s) * 1_000
            at = next_run(entry.schedule, at, anchor_at=entry.anchor(anchor_at))
        source += step


def _is_open(entry: Entry, day: date) -> bool:
    return _is_within(entry, day) and entry.calendar.allows(day)


def _is_within(entry: Entry, day: date) -> bool:
    return (entry.from_date or "") <= day.isoformat() <= (entry.until_date or "9999")


def _zone(entry: Entry) -> ZoneInfo:
    return find_zone(entry.schedule.timezone if isinstance(entry.schedule, Cron) else None)


def _day(entry: Entry, at: int) -> date:
    return datetime.fromtimestamp(at / 1000, _zone(entry)).date()


def _following(entry: Entry, anchor_at: int, point: int) -> int | None:
    """Return the point after one whose times move to other days."""
    if entry.calendar.shift is None:
        return None
    return next(iter(takewhile(lambda at: at < point + 500 * DAY_MS, _points(entry, anchor_at, point))), None)


def _delay(entry: Entry, anchor_at: int, point: int, jitter: Jitter) -> int:
    schedule = entry.schedule
    if isinstance(schedule, Once):
        return 0
    if not jitter.is_on:
        return 0
    moved_at = _following(entry, anchor_at, point)
    following = moved_at or next_run(schedule, point, anchor_at=point)
    assert following is not None
    distance_ms = following - point
    if isinstance(schedule, After):
        distance_ms = max(distance_ms, jitter.most_ms + 1)
    most_ms = min(jitter.most_ms, distance_ms - 1) if jitter.most_ms else distance_ms * jitter.percent // 100
    delay_ms = jitter.delay_ms(schedule, point, moved_at)
    assert 0 <= delay_ms <= most_ms
    return delay_ms


def _plan(several: Several, now_ms: int, anchor_at: int, jitter: Jitter) -> Plan:
    return plan_next_run(
        several,
        now_ms,
        anchor_at=anchor_at,
        jitter_percent=jitter.percent,
        jitter_ms=jitter.most_ms,
        is_jitter_fixed=jitter.is_fixed,
        key=_KEY,
    )


def _collected(several: Several, anchor_at: int, since: int, until: int, jitter: Jitter) -> list[_Due]:
    """Return everything that is due in (since, until], schedule by schedule and point by point."""
    found = [
        _Due(point + _delay(entry, anchor_at, point, jitter), entry.key)
        for entry in several.entries
        for point in takewhile(lambda at: at <= until, _points(entry, anchor_at, since - DAY_MS))
    ]
    return [item for item in found if since < item.at <= until]


@given(_SEVERAL, _INSTANTS, _INSTANTS, _JITTERS)
def test_the_plan_is_the_earliest_of_all(
    several: Several, anchor_at: int, now_ms: int, jitter: Jitter
) -> None:
    plan = _plan(several, now_ms, anchor_at, jitter)
    # Only the points of a `once` come to an end: they lie within days.
    until = now_ms + 400 * DAY_MS if plan.at is None else plan.at
    due = _collected(several, anchor_at, now_ms, until, jitter)
    assert plan.at == min((item.at for item in due), default=None)
    assert list(plan.keys) == [entry.key for entry in several.entries if _Due(plan.at or 0, entry.key) in due]
    if not jitter.is_on:
        assert next_run(several, now_ms, anchor_at=anchor_at) == plan.at


@given(_SEVERAL, _INSTANTS, _INSTANTS, st.integers(0, DAY_MS), _JITTERS)
def test_points_that_coincide_count_once(
    several: Several, anchor_at: int, after_at: int, span_ms: int, jitter: Jitter
) -> None:
    until_at = after_at + span_ms
    due = {item.at for item in _collected(several, anchor_at, after_at, until_at, jitter)}
    found = count_due(several, after_at, until_at, anchor_at=anchor_at, jitter=jitter)
    assert found == len(due)
    assert not found.capped


@given(_SEVERAL, _INSTANTS, _INSTANTS, _JITTERS)
def test_the_previous_run_is_the_last_of_all(
    several: Several, anchor_at: int, now_ms: int, jitter: Jitter
) -> None:
    found = previous_run(several, now_ms, anchor_at=anchor_at, jitter=jitter)
    since = now_ms - 2 * DAY_MS if found is None else found - 1
    due = [item.at for item in _collected(several, anchor_at, since, now_ms, jitter)]
    assert found == max(due, default=None)


@given(_SEVERAL, _INSTANTS, _INSTANTS, _JITTERS)
def test_walking_from_plan_to_plan_meets_each_instant_once(
    several: Several, anchor_at: int, now_ms: int, jitter: Jitter
) -> None:
    until, at, met = now_ms + 3 * HOUR_MS, now_ms, []
    while True:
        plan = _plan(several, at, anchor_at, jitter)
        if plan.at is None or plan.at > until:
            break
        at = plan.at
        met.append(at)
    due = {item.at for item in _collected(several, anchor_at, now_ms, until, jitter)}
    assert met == sorted(due)


def test_counting_several_stops_at_its_maximum_and_says_so() -> None:
    several = combine([Cron("* * * * *"), Every("1h")])
    found = count_due(several, 0, 10 * DAY_MS, most=100)
    assert (found, found.capped) == (100, True)


def test_the_calendar_ends_for_several_too() -> None:
    january = Cron("0 0 1 1 *", timezone="UTC")
    several = Several((Entry(january, "1"), Entry(Cron("0 0 1 2 *", timezone="UTC"), "2")))
    points = list(due_points(several, MAX_INSTANT - DAY_MS, 0, None, Jitter()))
    assert points == [utc_ms("9999-01-01T00:00:00Z"), utc_ms("9999-02-01T00:00:00Z")]
    assert pending_point(Entry(january), points[0], 0, None, Jitter(10, _KEY)) is None


def test_few_answers_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: dict[object, object] = {}
    monkeypatch.setattr(single_module, "_last_answers", answers)
    monkeypatch.setattr(single_module, "_MOST_ANSWERS", 3)
    for minute in range(7):
        assert (
            plan_next_run(Cron(f"{minute} 10 * * *", timezone="UTC"), _NINE).at
            == _NINE + HOUR_MS + minute * MINUTE_MS
        )
        assert len(answers) <= 3


def test_schedules_that_coincide_are_one_run_that_names_both() -> None:
    plan = plan_next_run([Cron("0 12 * * *", timezone="UTC"), Every("3h")], _NINE, anchor_at=_NINE)
    assert (plan.at, plan.source, plan.keys) == (_NOON, Source.CRON, ("1", "2"))


def test_a_point_whose_jitter_lies_ahead_waits_for_it() -> None:
    several = combine([Cron("0 9 * * *", timezone="UTC"), Cron("0 9 * * 1", timezone="UTC")])
    plan = plan_next_run(several, _NINE, jitter_percent=10, key=_KEY)
    assert plan.at == _NINE + jitter_ms(_KEY, _NINE, DAY_MS, 10) > _NINE
    assert plan.keys == ("1",)


def test_an_anchor_of_its_own_moves_only_its_schedule() -> None:
    plan = plan_next_run(
        [Entry(Every("3h"), anchor_at=_NINE + MINUTE_MS), Every("4h")], _NINE, anchor_at=_NINE
    )
    assert (plan.at, plan.keys) == (_NINE + MINUTE_MS, ("1",))


def test_the_only_schedule_of_a_list_is_planned_as_before() -> None:
    assert plan_next_run([Every("1h")], _NINE, anchor_at=_NINE) == plan_next_run(
        Every("1h"), _NINE, anchor_at=_NINE
    )
    assert plan_next_run([Manual()], _NINE).at is None


def test_an_after_beside_other_times_counts_from_the_end() -> None:
    several = combine([After("5m"), Cron("0 12 * * *", timezone="UTC")])
    assert plan_next_run(several, _NINE).at == _NINE
    assert plan_next_run(several, _NINE, last_completed_at=_NINE).at == _NINE + 5 * MINUTE_MS
    assert plan_next_run(several, _NOON - 1, last_completed_at=_NOON - 1).keys == ("2",)


def test_a_used_once_leaves_the_others() -> None:
    several = combine([Once(_NINE), Every("1h")])
    assert plan_next_run(several, _NINE, anchor_at=_NINE).keys == ("2",)
    assert plan_next_run(combine([Once(_NINE), Once(_NINE - 1)]), _NINE).at is None


def test_the_last_once_can_still_be_retried() -> None:
    several = combine([Once(_NINE), Once(_NINE - HOUR_MS)])
    plan = plan_next_run(several, _NINE, failed=True, retry=Retry(attempts=2, delay_ms=MINUTE_MS))
    assert (plan.at, plan.source, plan.attempt) == (_NINE + MINUTE_MS, Source.RETRY, 2)


def test_a_pace_replaces_all_but_a_once() -> None:
    hints = Hints(interval_ms=2 * HOUR_MS, expires_at=_NINE + DAY_MS)
    later, sooner = Once(_NOON), Once(_NINE + HOUR_MS)
    hinted = plan_next_run([Every("1h"), later], _NINE, anchor_at=_NINE, hints=hints)
    assert (hinted.at, hinted.source, hinted.keys) == (_NINE + 2 * HOUR_MS, Source.HINT_INTERVAL, ())
    kept = plan_next_run([Every("30m"), sooner], _NINE, anchor_at=_NINE, hints=hints)
    assert (kept.at, kept.source, kept.keys) == (sooner.due_at, Source.ONCE, ("2",))


def test_limits_move_a_run_of_several_but_not_that_of_a_once() -> None:
    limits = Limits(min_ms=2 * HOUR_MS)
    moved = plan_next_run([Every("1h"), Once(_NOON)], _NINE, anchor_at=_NINE, limits=limits)
    assert (moved.at, moved.source, moved.keys) == (_NINE + 2 * HOUR_MS, Source.CLAMPED_MIN, ("1",))
    kept = plan_next_run([Every("2h"), Once(_NINE + HOUR_MS)], _NINE, anchor_at=_NINE, limits=limits)
    assert (kept.at, kept.keys) == (_NINE + HOUR_MS, ("2",))


def test_back_off_keeps_the_schedule_it_delays() -> None:
    plan = plan_next_run(
        [Every("5m"), Every("7m")], _NINE, anchor_at=_NINE, errors=1, backoff=Backoff.ladder(10 * MINUTE_MS)
    )
    assert (plan.at, plan.source, plan.keys) == (_NINE + 10 * MINUTE_MS, Source.BACKOFF, ("1",))


def test_doubling_acts_on_each_schedule() -> None:
    crons = Cron("10 * * * *", timezone="UTC")
    plan = plan_next_run([Every("5m"), crons], _NINE, anchor_at=_NINE, errors=2, backoff=Backoff.double())
    assert (plan.at, plan.keys) == (_NINE + 10 * MINUTE_MS, ("2",))


def test_a_pause_wins_over_several() -> None:
    plan = plan_next_run([Every("5m"), Every("7m")], _NINE, paused_until=_NOON)
    assert (plan.at, plan.source, plan.keys) == (_NOON, Source.PAUSED, ())


# --- the value -----------------------------------------------------------------------------------------


def test_entries_without_a_key_get_the_first_free_number() -> None:
    several = combine(
        [Every("1h"), Entry(Every("2h"), key="1"), Entry(Every("3h"), key="night"), Every("4h")]
    )
    assert isinstance(several, Several)
    assert [entry.key for entry in several.entries] == ["2", "1", "night", "3"]
    assert [entry.schedule for entry in several.find(["night", "2"])] == [Every("1h"), Every("3h")]


def test_one_schedule_stays_itself() -> None:
    assert combine([Every("1h")]) == Every("1h")


@pytest.mark.parametrize(
    ("schedules", "path", "words"),
    [
        ([], "schedules", "is empty; say when the job runs"),
        ([Every("1h"), Manual()], "schedules[1].kind", "a manual job has no other schedules"),
        ([Every("1h"), Every("1h")], "schedules[1]", "the same schedule appears twice"),
        (
            [Entry(Every("1h"), key="a"), Entry(Every("2h"), key="a")],
            "schedules[1].key",
            "the key of another",
        ),
        ([Every(f"{n}m") for n in range(1, 102)], "schedules", "at most 100 schedules"),
        ([Every("1h"), "2h"], "schedules[1].schedule", "one schedule, like Every('15m')"),
    ],
)
def test_invalid_combinations_are_refused(schedules: list[Schedule], path: str, words: str) -> None:
    with pytest.raises(ScheduleError, match=f".*{words}".replace("(", r"\(").replace(")", r"\)")) as caught:
        combine(schedules)
    assert caught.value.path == path


def test_schedules_of_a_job_are_never_none() -> None:
    with pytest.raises(ScheduleError, match="is empty; say when the job runs"):
        Several(())


def test_several_among_schedules_are_taken_one_by_one() -> None:
    several = combine([Cron("0 9 * * *"), Cron("30 14 * * *")])
    found = with_keys([several, Every("1h")], {})
    assert [entry.schedule for entry in found] == [Cron("0 9 * * *"), Cron("30 14 * * *"), Every("1h")]


def test_a_key_is_a_short_name() -> None:
    with pytest.raises(ScheduleError, match="short name"):
        Entry(Every("1h"), key="Nine o'clock")


def test_only_every_counts_from_an_anchor() -> None:
    with pytest.raises(ScheduleError, match="only `every` counts from an anchor"):
        Entry(Cron("@daily"), anchor_at=5)


@given(_SEVERAL)
def test_the_json_form_reads_back(several: Several) -> None:
    assert Several.from_form({"schedules": several.to_dict()["schedules"]}) == several


def test_the_json_form_is_a_list_of_schedules_with_keys() -> None:
    several = combine([Entry(Every("1h"), anchor_at=5), Cron("@daily")])
    assert several.to_dict() == {
        "kind": "several",
        "schedules": [
            {"key": "1", "kind": "every", "every": "1h", "anchor_at": 5},
            {"key": "2", "kind": "cron", "cron": "@daily", "timezone": None},
        ],
    }


# --- What is remembered --------------------------------------------------------------------------------


@given(_SEVERAL, st.lists(st.tuples(_INSTANTS, st.sampled_from(_DAYS)), min_size=2, max_size=8))
def test_the_cache_never_changes_a_result(several: Several, asked: list[tuple[int, int]]) -> None:
    for now_ms, anchor_at in asked:
        # An equal value that nothing is known about yet.
        fresh = Several(several.entries)
        assert plan_next_run(several, now_ms, anchor_at=anchor_at) == plan_next_run(
            fresh, now_ms, anchor_at=anchor_at
        )


def test_an_after_among_several_counts_from_each_run() -> None:
    several = Several((Entry(After("1h")), Entry(Cron("0 0 1 1 *", timezone="UTC"))))
    for ended_at in (_NINE, _NINE + MINUTE_MS, _NINE - MINUTE_MS):
        plan = plan_next_run(several, _NINE + MINUTE_MS, last_completed_at=ended_at)
        assert plan.at == ended_at + HOUR_MS


def test_after_a_run_only_the_schedule_that_was_due_is_computed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    several = Several(tuple(Entry(Every(f"{minutes}m")) for minutes in range(7, 17)))
    due_at = plan_next_run(several, _NINE, anchor_at=_NINE).at
    assert due_at == _NINE + 7 * MINUTE_MS
    computed: list[Schedule] = []
    time_of = entries_module._time_of

    def spy(entry: Entry, now_ms: int, anchor_at: int, ended_at: int | None) -> int:
        computed.append(entry.schedule)
        return time_of(entry, now_ms, anchor_at, ended_at)

    monkeypatch.setattr(entries_module, "_time_of", spy)
    assert plan_next_run(several, due_at, anchor_at=_NINE).keys == ("2",)
    assert computed == [Every("7m")]
    assert plan_next_run(several, due_at + 1, anchor_at=_NINE).keys == ("2",)
    assert computed == [Every("7m")]


def test_another_zone_of_the_computer_moves_remembered_times(monkeypatch: pytest.MonkeyPatch) -> None:
    several = Several((Entry(Cron("0 12 * * *")), Entry(Cron("0 13 * * *"))))
    zones = {None: ZoneInfo("UTC")}
    for module in (entries_module, single_module):
        monkeypatch.setattr(module, "find_zone", lambda name: zones[name])
    assert next_run(several, _NINE) == _NOON
    zones[None] = ZoneInfo("Europe/Berlin")
    assert next_run(several, _NINE) == _NOON - 2 * HOUR_MS


def test_the_cache_of_jobs_with_several_schedules_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    known: dict[tuple[int, int], object] = {}
    monkeypatch.setattr(entries_module, "_upcoming", known)
    monkeypatch.setattr(entries_module, "_MOST_REMEMBERED", 3)
    for minutes in range(7, 17):
        several = Several((Entry(Every(f"{minutes}m")), Entry(Every("1h"))))
        assert next_run(several, _NINE, anchor_at=_NINE) == _NINE + minutes * MINUTE_MS
        assert 1 <= len(known) <= 3
