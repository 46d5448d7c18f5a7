"""The tree of exceptions."""

from __future__ import annotations

import copy
import pickle

import pytest

from halo_scheduler import (
    CronParseError,
    IntervalParseError,
    JobNotFoundError,
    ScheduleError,
    SchedulerError,
    SchedulerShutdownError,
    ScheduleTriggerError,
)


@pytest.mark.parametrize(
    ("error", "kinds"),
    [
        (ScheduleError("no"), (SchedulerError, ValueError)),
        (IntervalParseError("no", "5x"), (ScheduleError,)),
        (CronParseError("no", "* *"), (ScheduleError,)),
        (JobNotFoundError("no"), (SchedulerError, LookupError)),
        (ScheduleTriggerError("no", "already_running"), (SchedulerError,)),
        (SchedulerShutdownError("no", 3), (SchedulerError, TimeoutError)),
    ],
)
def test_an_error_is_caught_by_its_kind_and_is_a_sentence(
    error: Exception, kinds: tuple[type[Exception], ...]
) -> None:
    for kind in kinds:
        assert isinstance(error, kind)
    assert str(error) == "no"


def test_errors_carry_their_details() -> None:
    assert IntervalParseError("no", "5x").interval == "5x"
    assert CronParseError("no", "* *").expression == "* *"
    assert ScheduleTriggerError("no", "already_running").reason == "already_running"
    assert SchedulerShutdownError("no", 3).running == 3
    assert SchedulerShutdownError("no", 3).timed_out
    assert not SchedulerShutdownError("no", 3, timed_out=False).timed_out


@pytest.mark.parametrize(
    "error",
    [
        ScheduleError("no", path="a.b"),
        IntervalParseError("no", "5x"),
        CronParseError("no", "* *"),
        ScheduleTriggerError("no", "already_running"),
        SchedulerShutdownError("no", 3),
        SchedulerShutdownError("no", 3, timed_out=False),
    ],
)
def test_an_error_can_be_copied_and_sent(error: Exception) -> None:
    for again in (copy.copy(error), pickle.loads(pickle.dumps(error))):  # noqa: S301 - our own
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert vars(again) == vars(error)


def test_a_path_grows_from_the_inside_out() -> None:
    error = ScheduleError("must be text", path="[2]").under("argv").under("action")
    assert error.path == "action.argv[2]"
    assert str(error) == "action.argv[2]: must be text"
