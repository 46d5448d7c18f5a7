"""The meaning of schedules: equal exactly if their runs are."""

from __future__ import annotations

import pytest

from halo_scheduler import After, Cron, Every, Manual, Once
from halo_scheduler.model import Schedule
from halo_scheduler.model.schedules import Several, combine
from halo_scheduler.schedule.normal import normal


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Every("60m"), Every("1h")),
        (Every("3s"), Every("10s")),
        (After("24h"), After("1d")),
        (Once("2026-12-24T18:00:00+01:00"), Once("2026-12-24T17:00:00.400Z")),
        (Cron("@daily"), Cron("0 0 * * *")),
        (Cron("0 9 * * 1-5"), Cron("0 0 9 * 1-12 MON,TUE,WED,THU,FRI")),
        (Cron("*/15 * * * *"), Cron("0,15,30,45 * * * *")),
        # If one day field always matches, either has no effect.
        (Cron("0 9 1-31 * 1"), Cron("0 9 * * *")),
        (Cron("0 9 13 * 0-6"), Cron("0 9 * * *")),
        (Cron("0 9 */1 * 1"), Cron("0 9 * * 1")),
        (Cron("0 9 1-31,L * *"), Cron("0 9 * * *")),
        (Cron("0 9 * * MON,MON#2,1L"), Cron("0 9 * * MON")),
        (Manual(), Manual()),
        (combine([Every("60m"), Cron("@daily")]), combine([Cron("0 0 * * *"), Every("1h")])),
    ],
)
def test_the_same_runs_are_the_same_meaning(one: Schedule | Several, other: Schedule | Several) -> None:
    assert normal(one) == normal(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Every("1h"), After("1h")),
        (Every("1h"), Cron("0 * * * *")),
        (Cron("0 */2 * * *"), Cron("0 0-23/2 * * *")),
        (Cron("0 9 * * *"), Cron("0 9 * * *", timezone="UTC")),
        (Cron("0 9 */10 * 1"), Cron("0 9 1-31/10 * 1")),
        (Cron("0 9 13 * 5"), Cron("0 9 13 * *")),
        (Cron("0 9 * * MON#1"), Cron("0 9 * * 1L")),
        (Cron("0 9 1 1 *"), Cron("0 9 1 * *")),
        (Once("2026-12-24T18:00:00Z"), Once("2026-12-24T18:00:01Z")),
        (Manual(), Every("1d")),
        (combine([Every("1h"), Cron("@daily")]), Every("1h")),
        (combine([Every("1h"), Cron("@daily")]), combine([Every("1h"), Cron("@weekly")])),
    ],
)
def test_different_runs_are_different_meanings(one: Schedule | Several, other: Schedule | Several) -> None:
    assert normal(one) != normal(other)
