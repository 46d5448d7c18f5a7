"""The careful friend."""

from __future__ import annotations

import pytest
from cases import utc_ms
from cron_oracle import Expression, expressions
from hypothesis import assume, given, settings
from timing import at_most_ms

from halo_scheduler import After, Command, Cron, CronParseError, Entry, Every, Manual, Once, lint
from halo_scheduler.model import JobSpec, Schedule
from halo_scheduler.model.schedules import combine
from halo_scheduler.wording.lint import LintCode, Reviewer, Severity

_NOW = utc_ms("2026-11-16T12:00Z")


def _messages(
    schedule: Schedule, code: LintCode, *, now_ms: int = _NOW, time_limit_ms: int | None = None
) -> list[str]:
    notes = lint(
        schedule,
        now_ms,
        anchor_at=utc_ms("2026-11-16T08:00Z"),
        time_limit_ms=time_limit_ms,
        timezone="Europe/Berlin",
    )
    return [note.message for note in notes if note.code is code]


@pytest.mark.parametrize(
    "schedule",
    [
        Every("15m"),
        After("5m"),
        Manual(),
        Once("2026-12-24T18:00:00+01:00"),
        Cron("0 9 * * 1-5", timezone="UTC"),
    ],
)
def test_a_plain_schedule_needs_no_word(schedule: Schedule) -> None:
    assert lint(schedule, _NOW, timezone="Europe/Berlin") == []


def test_a_short_interval_is_raised() -> None:
    assert _messages(Every(" 5s"), LintCode.INTERVAL_RAISED) == ["5s is too short: it runs every 10 seconds."]
    assert _messages(Every("10s"), LintCode.INTERVAL_RAISED) == []


@pytest.mark.parametrize("schedule", [Every("366d"), After("366d")])
def test_more_than_a_year_is_questioned(schedule: Schedule) -> None:
    assert _messages(schedule, LintCode.LONG_INTERVAL) == ["366 days is more than a year: is that meant?"]
    assert _messages(Every("365d"), LintCode.LONG_INTERVAL) == []


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("*/7 * * * *", "*/7 starts again with every hour: its last step has only 4 minutes."),
        ("0 */5 * * *", "*/5 starts again with every day: its last step has only 4 hours."),
        ("*/7,3 * * * *", "*/7 starts again with every hour: its last step has only 4 minutes."),
        ("*/59 * * * * *", "*/59 starts again with every minute: its last step has only 1 second."),
    ],
)
def test_an_uneven_step_is_pointed_out(expression: str, message: str) -> None:
    assert _messages(Cron(expression, timezone="UTC"), LintCode.UNEVEN_STEP) == [message]


@pytest.mark.parametrize(
    "expression", ["*/15 * * * *", "0-58/7 * * * *", "* * * * *", "0 */6 * * *", "*/7 9 * * *"]
)
def test_an_even_step_is_not(expression: str) -> None:
    assert _messages(Cron(expression, timezone="UTC"), LintCode.UNEVEN_STEP) == []


def test_both_day_fields_are_explained() -> None:
    (either,) = _messages(Cron("0 0 13 * 5", timezone="UTC"), LintCode.BOTH_DAY_FIELDS)
    assert either.endswith("it runs when either matches.")
    (both,) = _messages(Cron("0 0 */2 * 5", timezone="UTC"), LintCode.BOTH_DAY_FIELDS)
    assert both.endswith("it runs only when both match.")


@pytest.mark.parametrize(
    ("expression", "idle"), [("0 9 1-31 * 1", "weekday"), ("0 9 13 * 0-6", "day of the month")]
)
def test_a_day_field_without_effect_is_pointed_out(expression: str, idle: str) -> None:
    (message,) = _messages(Cron(expression, timezone="UTC"), LintCode.BOTH_DAY_FIELDS)
    assert message.endswith(f"one of them always does: the {idle} has no effect.")


_NO_31 = "no 31st in February, April, June, September and November"


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            "0 0 31 * *",
            f"There is {_NO_31}: it does not run on that day there. L means the last day of the month.",
        ),
        ("0 0 1,30 * *", "There is no 30th in February: it does not run on that day there."),
        (
            "0 0 29,31 * *",
            f"There is no 29th in February outside leap years and {_NO_31}: it does not run on that day there.",
        ),
        ("0 0 31,L * *", f"There is {_NO_31}: it does not run on that day there."),
    ],
)
def test_months_without_the_day_are_named(expression: str, message: str) -> None:
    assert _messages(Cron(expression, timezone="UTC"), LintCode.SKIPS_MONTHS) == [message]


@pytest.mark.parametrize("expression", ["0 0 28 * *", "0 0 31 1 *", "0 0 */2 * *", "0 0 L * *", "0 0 * * *"])
def test_days_that_every_month_has_are_not(expression: str) -> None:
    assert _messages(Cron(expression, timezone="UTC"), LintCode.SKIPS_MONTHS) == []


_FORWARD = "On 28 Mar 2027 the clocks go forward from 02:00 to 03:00: "
_FORWARD_2032 = "On 28 Mar 2032 the clocks go forward from 02:00 to 03:00: "
_BACK = "On 31 Oct 2027 the clocks go back from 03:00 to 02:00: "


@pytest.mark.parametrize(
    ("expression", "now", "message"),
    [
        ("30 2 * * *", "2026-11-16T12:00Z", _FORWARD + "the run at 02:30 will start at 03:00, once."),
        ("0,30 2 * * *", "2026-11-16T12:00Z", _FORWARD + "the runs in between will start at 03:00, once."),
        (
            "*/15 * * * *",
            "2026-11-16T12:00Z",
            _FORWARD + "the runs in between will be skipped, as that time does not exist.",
        ),
        ("30 2 * * *", "2027-04-01T12:00Z", _BACK + "the run at 02:30 will happen in the first pass only."),
        (
            "30 * * * *",
            "2027-04-01T12:00Z",
            _BACK + "the run at 02:30 will happen in both passes of that time.",
        ),
        # The change falls on that date again in 2032.
        ("30 2 28 3 *", "2027-04-01T12:00Z", f"{_FORWARD_2032}the run at 02:30 will start at 03:00, once."),
        # Only the change in October lies on this date.
        ("30 2 31 10 *", "2026-11-16T12:00Z", _BACK + "the run at 02:30 will happen in the first pass only."),
    ],
)
def test_the_next_clock_change_that_touches_it_is_reported(expression: str, now: str, message: str) -> None:
    schedule = Cron(expression, timezone="Europe/Berlin")
    assert _messages(schedule, LintCode.CLOCK_CHANGE, now_ms=utc_ms(now)) == [message]


@pytest.mark.parametrize(("expression", "zone"), [("0 9 * * *", "Europe/Berlin"), ("30 2 * * *", "UTC")])
def test_a_schedule_no_clock_change_touches_is_left_in_peace(expression: str, zone: str) -> None:
    assert _messages(Cron(expression, timezone=zone), LintCode.CLOCK_CHANGE) == []


def test_whole_days_move_on_the_wall_clock() -> None:
    (message,) = _messages(Every("1d"), LintCode.WALL_TIME_MOVES)
    assert message == (
        "1d keeps 24 hours between runs, so its wall time moves when the clocks change: "
        "from 28 Mar 2027 on it runs at 10:00 instead of 09:00."
    )


def test_the_change_that_matters_is_the_first_after_the_anchor() -> None:
    found = lint(Every("1d"), _NOW, anchor_at=utc_ms("2027-05-01T07:00Z"), timezone="Europe/Berlin")
    assert [note.message.split(": ")[1] for note in found] == [
        "from 31 Oct 2027 on it runs at 08:00 instead of 09:00."
    ]


@pytest.mark.parametrize("text", ["1h", "12h", "36h"])
def test_other_intervals_do_not(text: str) -> None:
    assert _messages(Every(text), LintCode.WALL_TIME_MOVES) == []


def test_a_zone_without_clock_changes_moves_nothing() -> None:
    assert lint(Every("1d"), _NOW, timezone="Asia/Kolkata") == []


def test_once_in_the_past_is_an_error() -> None:
    (note,) = lint(Once("2026-11-16T12:00:00Z"), _NOW, timezone="UTC")
    assert (note.code, note.severity) == (LintCode.IN_THE_PAST, Severity.ERROR)


def test_epoch_milliseconds_have_no_zone_to_differ_from() -> None:
    assert lint(Once(_NOW + 1), _NOW, timezone="Asia/Tokyo") == []


def test_a_time_of_another_zone_is_translated() -> None:
    schedule = Once("2026-12-24T18:00:00-05:00")
    assert _messages(schedule, LintCode.OTHER_OFFSET) == [
        "The time was given for another zone: on your clock it is 25 Dec 2026 at 00:00."
    ]


@pytest.mark.parametrize(
    ("schedule", "messages"),
    [
        (Every("15m"), 1),
        (Every("2h"), 0),
        (Cron("*/15 * * * *", timezone="UTC"), 1),
        (Cron("0 9 * * *", timezone="UTC"), 0),
        (After("5m"), 0),
        (Once("2026-12-24T18:00:00+01:00"), 0),
    ],
)
def test_due_more_often_than_it_may_run(schedule: Schedule, messages: int) -> None:
    found = _messages(schedule, LintCode.OVERLAPS_ITSELF, time_limit_ms=7_200_000)
    assert len(found) == messages
    if messages:
        assert found[0].startswith("Runs are 15 minutes apart but may take up to 2 hours")


def test_a_time_limit_need_not_be_whole_seconds() -> None:
    (message,) = _messages(Every("15m"), LintCode.OVERLAPS_ITSELF, time_limit_ms=900_001)
    assert "may take up to 901 seconds" in message


@pytest.mark.parametrize(
    ("schedule", "severity"),
    [
        (Every("5s"), Severity.WARNING),
        (Every("366d"), Severity.WARNING),
        (Every("1d"), Severity.INFO),
        (Cron("*/7 9-17 * * *", timezone="UTC"), Severity.WARNING),
        (Cron("0 0 13 * 5", timezone="UTC"), Severity.WARNING),
        (Cron("0 0 31 * *", timezone="UTC"), Severity.WARNING),
        (Cron("30 2 * * *", timezone="Europe/Berlin"), Severity.INFO),
    ],
)
def test_how_much_a_note_matters(schedule: Schedule, severity: Severity) -> None:
    assert [note.severity for note in lint(schedule, _NOW, timezone="Europe/Berlin")][:1] == [severity]


def test_a_schedule_at_the_end_of_the_calendar_is_still_read() -> None:
    nearly_over = utc_ms("9998-12-31T23:59Z")
    assert (
        _messages(
            Cron("0 0 1 1 *", timezone="UTC"), LintCode.OVERLAPS_ITSELF, now_ms=nearly_over, time_limit_ms=1
        )
        == []
    )


@settings(deadline=None, max_examples=50)
@given(expressions(seconds=False))
def test_no_schedule_makes_the_friend_stumble(expression: Expression) -> None:
    try:
        schedule = Cron(expression.text, timezone="Europe/Berlin")
    except CronParseError:
        assume(False)
    with at_most_ms(150):
        for note in lint(schedule, _NOW, time_limit_ms=7_200_000):
            assert note.message.endswith((".", "?"))


def test_each_of_several_schedules_is_checked_but_a_used_once_stays_listed() -> None:
    now_ms = utc_ms("2026-07-01T12:00:00Z")
    several = combine([Every("3s"), Once(now_ms - 1), Cron("0 9 31 * *", timezone="UTC")])
    codes = [note.code for note in lint(several, now_ms)]
    assert LintCode.IN_THE_PAST not in codes
    assert codes[0] == lint(Every("3s"), now_ms)[0].code
    assert codes[1] == lint(Cron("0 9 31 * *", timezone="UTC"), now_ms)[0].code


def test_schedules_less_than_a_second_apart_are_described_as_a_second() -> None:
    several = combine([Every("1h"), Entry(Every("1h"), anchor_at=5)])
    (note,) = lint(several, utc_ms("2026-07-01T12:00:00Z"), time_limit_ms=60_000)
    assert note.message.startswith("Runs are 1 second apart")


def test_invisible_characters_and_look_alike_names_are_pointed_out() -> None:
    job = JobSpec(name="backup", schedule=Every("1h"), action=Command(argv=("true", "a\u200bb")))
    plain = JobSpec(name="report", schedule=Every("1h"), action=Command(argv=("printf", "a\\n")))
    reviewer = Reviewer(["backup", "b\u0430ckup", "report"])

    hidden, alike = reviewer.notes(job)
    assert hidden.startswith("invisible characters in action.argv[1]: ")
    assert alike == "its name looks like that of another job: b\u0430ckup"
    assert reviewer.notes(plain) == []
