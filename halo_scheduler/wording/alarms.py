"""Words for a store that cannot be written: what is wrong, since when, and what to do."""

from __future__ import annotations

from pathlib import Path

from halo_scheduler.model.alarms import StoreTrouble, TroubleKind
from halo_scheduler.wording.measures import moment_in_words

_TITLES = {
    TroubleKind.FULL: "Disk full: runs can't be recorded",
    TroubleKind.READ_ONLY: "Database is read-only: runs can't be recorded",
    TroubleKind.LOCKED: "Database is locked: runs can't be recorded",
    TroubleKind.GONE: "Database was deleted or replaced",
    TroubleKind.UNUSABLE: "Database can't be used",
}
_ADVICE = {
    TroubleKind.FULL: "Free some space on the disk of {path}",
    TroubleKind.READ_ONLY: "Make {path} and its disk writable",
    TroubleKind.LOCKED: "Close the other program that uses {path}",
    TroubleKind.GONE: "Put {path} back, or restart Halo to use the current file",
}


def trouble_title(trouble: StoreTrouble) -> str:
    """Return what is wrong: "Disk full: runs can't be recorded"."""
    return _TITLES[trouble.kind]


def trouble_text(trouble: StoreTrouble, path: Path, now_ms: int) -> str:
    """Return since when no jobs start, and what to do."""
    advice = _ADVICE.get(trouble.kind, trouble.detail).format(path=path)
    advice = f"{advice[:1].upper()}{advice[1:]}"
    since = f"No jobs have started since {moment_in_words(trouble.since, now_ms)}."
    if trouble.kind is TroubleKind.GONE:
        return f"{since} {advice}."
    return f"{since} {advice}; Halo then continues."
