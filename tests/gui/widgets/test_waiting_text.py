"""Who waits for what, in one line."""

from __future__ import annotations

import pytest
from chain_waits import LIMIT, MAINS, NETWORK

from halo_scheduler.model import Capacity, Waiting, WaitingFor
from ui.widgets.waiting_text import WaitingJob, WaitingJobs, waiting_line

_FULL = Waiting(kind=WaitingFor.AT_CAPACITY, capacity=Capacity(2, 2))
_BACKUP = WaitingJob("backup", NETWORK)
_SYNC = WaitingJob("sync", MAINS)
_MAIL = WaitingJob("mail", NETWORK)
_REPORT = WaitingJob("report", _FULL)


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize(
    ("jobs", "words"),
    [
        ([], ""),
        ([_BACKUP], "backup waiting for network"),
        ([_REPORT], "report waiting: limit reached (2 of 2)"),
        ([_BACKUP, _SYNC], "2 waiting: backup (network), sync (AC power)"),
        ([_BACKUP, _MAIL], "2 jobs waiting for network"),
        ([_REPORT, WaitingJob("other", LIMIT)], "2 jobs waiting: limit reached (2 of 2)"),
        ([_REPORT, _SYNC, _MAIL], "3 waiting: report (limit reached), sync (AC power), …"),
    ],
)
def test_who_waits_for_what(jobs: list[WaitingJob], words: str) -> None:
    assert waiting_line(WaitingJobs.of(jobs), 0) == words


@pytest.mark.usefixtures("qapp")
def test_where_there_is_no_room_for_names_they_are_counted() -> None:
    assert waiting_line(WaitingJobs.of([_BACKUP, _SYNC]), 0, most_named=0) == "2 waiting"
