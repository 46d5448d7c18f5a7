"""Looking at a database as `halo doctor` does, one check at a time."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from halo_scheduler.clock import SystemClock
from halo_scheduler.doctor.scene import Finding, Mark, Scene, Topic
from halo_scheduler.store.connection import Database
from halo_scheduler.store.store import Store

# Becomes nobody only when all is loaded: the files of Python may be for root alone.
_LOOK = """
import os, sys
from pathlib import Path
from halo_scheduler.doctor.database import open_database
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
store, findings = open_database(Path(sys.argv[1]))
print(store and len(store.jobs.ids()), [finding.what for finding in findings])
"""

# Everything that is loaded late is loaded by a first look, for the same reason.
_LOOK_AND_MEND = """
import json, os, sys
from pathlib import Path
from halo_scheduler.doctor.examination import examine, mend
from halo_scheduler.doctor.scene import Mark
examine(Path(sys.argv[1]), 0)
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
looked, mended = examine(Path(sys.argv[2]), 0), mend(Path(sys.argv[2]), 0)
found = [[f"{f.topic}: {f.what}" for f in report.findings if f.mark is Mark.WRONG] for report in (looked, mended)]
print(json.dumps([*found, list(mended.mended)]))
"""


@contextmanager
def scene_of(path: Path, now_ms: int | None = None) -> Iterator[Scene]:
    """Give the scene of a database that can be read, or of one that is not there."""
    store = Store(Database.open_for_reading(path)) if path.exists() else None
    yield Scene(path, SystemClock().now_ms() if now_ms is None else now_ms, store)
    if store is not None:
        store.close()


def found_by(
    check: Callable[[Scene], Iterable[Finding]], path: Path, now_ms: int | None = None
) -> list[Finding]:
    """Return what a check finds."""
    with scene_of(path, now_ms) as scene:
        return list(check(scene))


def only(findings: Iterable[Finding], topic: Topic | None = None) -> Finding:
    """Return the one thing that is not fine."""
    (finding,) = [
        item for item in findings if item.mark is not Mark.FINE and (topic is None or item.topic is topic)
    ]
    return finding


def is_fine(findings: Iterable[Finding]) -> bool:
    """Tell whether something was found, and all of it is in order."""
    marks = {item.mark for item in findings}
    return marks == {Mark.FINE}


def everything_in(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Return all files below a folder with what would show that somebody touched them."""
    statuses = {str(path.relative_to(folder)): path.lstat() for path in sorted(folder.rglob("*"))}
    return {name: (status.st_mode, status.st_size, status.st_mtime_ns) for name, status in statuses.items()}


def seen_by_nobody(path: Path) -> str:
    """Return how many jobs somebody sees in a database who may not do everything, as root may, and what is found."""
    return _said_by_nobody(_LOOK, path)


def mended_by_nobody(path: Path, *, other: Path) -> tuple[list[str], list[str], list[str]]:
    """Return what is wrong for such a person, what still is after mending, and what was mended."""
    looked, left, mended = json.loads(_said_by_nobody(_LOOK_AND_MEND, other, path))
    return looked, left, mended


def _said_by_nobody(program: str, *paths: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, paths)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
