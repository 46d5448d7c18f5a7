"""Who waits for what, in one line."""

from __future__ import annotations

import pytest

from ui.waiting_words import WaitingJob, waiting_line

_BACKUP = WaitingJob("backup", "network")
_SYNC = WaitingJob("sync", "mains power")


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize(
    ("waiting", "words"),
    [
        ([], ""),
        ([_BACKUP], "backup waits for network"),
        ([_BACKUP, _SYNC], "2 waiting: backup for network, sync for mains power"),
        ([_BACKUP, WaitingJob("mail", "network")], "2 jobs wait for network"),
        ([_BACKUP, _SYNC, _SYNC], "3 waiting: backup for network, sync for mains power, …"),
    ],
)
def test_who_waits_for_what(waiting: list[WaitingJob], words: str) -> None:
    assert waiting_line(waiting) == words
