"""What is wrong with the store, as a value that travels."""

from __future__ import annotations

import pytest

from halo_scheduler.errors import (
    SchedulerError,
    StoreFullError,
    StoreLockedError,
    StoreReadOnlyError,
    StoreReplacedError,
    StoreUnavailableError,
)
from halo_scheduler.model import Outcome
from halo_scheduler.model.alarms import StoreTrouble, TroubleKind, UnrecordedEnd

_END = UnrecordedEnd("run", "job", Outcome.FAILURE, 5)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (StoreFullError("x"), TroubleKind.FULL),
        (StoreReadOnlyError("x"), TroubleKind.READ_ONLY),
        (StoreReplacedError("x"), TroubleKind.GONE),
        (StoreLockedError("x"), TroubleKind.LOCKED),
        (StoreUnavailableError("x"), TroubleKind.UNUSABLE),
    ],
)
def test_the_kind_comes_from_the_error(error: SchedulerError, kind: TroubleKind) -> None:
    assert StoreTrouble.of(error, 7) == StoreTrouble(kind, 7, "x")


def test_it_survives_the_way_through_plain_data() -> None:
    trouble = StoreTrouble(TroubleKind.FULL, 7, "full", (_END,))
    assert StoreTrouble.from_data(trouble.to_data()) == trouble


def test_of_many_ends_the_newest_are_reported() -> None:
    ends = tuple(UnrecordedEnd(f"run {number}", "job", Outcome.SUCCESS, number) for number in range(50))
    told = StoreTrouble.of(StoreFullError("x"), 7, ends).ends
    assert len(told) == 20
    assert told[-1] == ends[-1]


@pytest.mark.parametrize("data", [None, "full", {}, {"kind": "?", "since": 1, "detail": "", "ends": []}])
def test_invalid_alarms_are_ignored(data: object) -> None:
    assert StoreTrouble.from_data(data) is None
