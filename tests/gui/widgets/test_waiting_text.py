"""Who waits for what, in one line."""

from __future__ import annotations

import pytest

from ui.widgets.waiting_text import WaitingJob, WaitingJobs, waiting_line

_BACKUP = WaitingJob("backup", "network")
_SYNC = WaitingJob("sync", "mains power")


_MAIL = WaitingJob("mail", "network")


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize(
    ("waiting", "words"),
    [
        (WaitingJobs(), ""),
        (WaitingJobs((_BACKUP,), 1, is_alike=True), "backup waits for network"),
        (WaitingJobs((_BACKUP, _SYNC), 2), "2 waiting: backup for network, sync for mains power"),
        (WaitingJobs((_BACKUP, _MAIL), 2, is_alike=True), "2 jobs wait for network"),
        (WaitingJobs((_BACKUP, _SYNC), 3), "3 waiting: backup for network, sync for mains power, …"),
        (WaitingJobs((_BACKUP, _SYNC, _MAIL), 3), "3 waiting: backup for network, sync for mains power, …"),
    ],
)
def test_who_waits_for_what(waiting: WaitingJobs, words: str) -> None:
    assert waiting_line(waiting) == words
