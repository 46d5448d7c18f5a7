"""Entries of several schedules, and what happens when one is due while the job still runs."""

from __future__ import annotations

import pytest

from halo_scheduler import After, Cron, Entry, Every, Overlap, ScheduleError, Several
from halo_scheduler.model.schedules import combine, schedules_from_list

_QUEUED = {"kind": "every", "every": "15m", "on_overlap": "queue"}


def test_the_overlap_policy_is_read_and_written() -> None:
    found = schedules_from_list([_QUEUED, {"kind": "cron", "cron": "0 9 * * *"}])

    assert isinstance(found, Several)
    assert [entry.on_overlap for entry in found.entries] == [Overlap.QUEUE, None]
    assert [entry.to_dict() for entry in found.entries] == [
        {"key": "1", **_QUEUED},
        {"key": "2", "kind": "cron", "cron": "0 9 * * *", "timezone": None},
    ]


def test_an_only_schedule_with_a_rule_for_overlaps_stays_an_entry() -> None:
    entry = Entry(Every("15m"), on_overlap=Overlap.RESTART)
    assert combine([entry]) == Several((Entry(Every("15m"), "1", on_overlap=Overlap.RESTART),))
    assert combine([Entry(Every("15m"))]) == Every("15m")


@pytest.mark.parametrize(
    ("schedule", "on_overlap", "sentence"),
    [
        (Cron("0 9 * * *"), "wait", "on_overlap: must be one of skip, queue, latest, restart, not 'wait'"),
        (After("5m"), "queue", "on_overlap: a schedule with `after` is never due while the job runs"),
    ],
)
def test_a_wrong_rule_for_overlaps_is_refused(
    schedule: Cron | After, on_overlap: Overlap, sentence: str
) -> None:
    with pytest.raises(ScheduleError) as refused:
        Entry(schedule, on_overlap=on_overlap)
    assert str(refused.value) == sentence


@pytest.mark.parametrize(
    ("form", "known"),
    [
        (
            {"kind": "every", "every": "1h"},
            "every, key, anchor_at, from, until, only, not, parameters, on_overlap",
        ),
        (
            {"kind": "cron", "cron": "0 9 * * *"},
            "cron, timezone, key, from, until, only, not, shift, parameters, on_overlap",
        ),
        ({"kind": "after", "after": "5m"}, "after, key, from, until, only, not, parameters"),
        ({"kind": "webhook"}, "key, parameters, on_overlap"),
        ({"kind": "chat", "channel": "a/b"}, "channel, from, key, parameters, on_overlap"),
    ],
)
def test_an_unknown_field_is_refused_with_all_that_are_known(form: dict[str, str], known: str) -> None:
    with pytest.raises(ScheduleError) as refused:
        schedules_from_list([form | {"bogus": "1"}])
    assert str(refused.value) == f"schedules[0].bogus: is not a known field; known are {known}"
