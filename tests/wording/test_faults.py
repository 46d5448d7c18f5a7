"""What is wrong with the store, in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from halo_scheduler.model.alarms import StoreTrouble, TroubleKind
from halo_scheduler.wording.faults import trouble_text, trouble_title

_PATH = Path("/data/halo.db")


@pytest.mark.parametrize(
    ("kind", "title", "advice"),
    [
        (
            TroubleKind.FULL,
            "Disk full: runs can't be recorded",
            "Free some space on the disk of /data/halo.db",
        ),
        (
            TroubleKind.READ_ONLY,
            "Database is read-only: runs can't be recorded",
            "Make /data/halo.db and its disk writable",
        ),
        (
            TroubleKind.LOCKED,
            "Database is locked: runs can't be recorded",
            "Close the other program that uses /data/halo.db",
        ),
        (TroubleKind.UNUSABLE, "Database can't be used", "It cannot be read"),
    ],
)
def test_a_fault_gives_its_cause_and_advice(kind: TroubleKind, title: str, advice: str) -> None:
    trouble = StoreTrouble(kind, 0, "it cannot be read")
    assert trouble_title(trouble) == title
    assert trouble_text(trouble, _PATH, 0).endswith(f" {advice}; Halo then continues.")


def test_a_disk_without_room_does_not_stop_the_jobs() -> None:
    trouble = StoreTrouble(TroubleKind.ALMOST_FULL, 0, "little space")
    assert trouble_title(trouble) == "Disk almost full: jobs may fail"
    text = trouble_text(trouble, _PATH, 0)
    assert text.startswith("There has been almost no free space since ")
    assert text.endswith(". Free some space on the disk of /data/halo.db.")


def test_a_deleted_file_does_not_recover_by_itself() -> None:
    text = trouble_text(StoreTrouble(TroubleKind.GONE, 0), _PATH, 0)
    assert text.startswith("No jobs have started since ")
    assert text.endswith(". Put /data/halo.db back, or restart Halo to use the current file.")
