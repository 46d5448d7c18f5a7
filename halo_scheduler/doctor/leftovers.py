"""What runs left behind: processes, and files in the spool."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from halo_scheduler.actions.holes import used_bytes
from halo_scheduler.actions.spool import Spool, left_behind, spool_folder
from halo_scheduler.doctor.findings import Finding, Topic, fine, first_of, look, size_of
from halo_scheduler.doctor.scene import Scene
from halo_scheduler.grammar.english import counted
from halo_scheduler.grammar.interval import HOUR_MS, SECOND_MS
from halo_scheduler.model import Outcome, ProcessAction

_SHORT_ID = 8


def check_processes(scene: Scene) -> Iterator[Finding]:
    """Look for processes of runs that are over; some are left on purpose, so they are only named."""
    found = list(_left_processes(scene))
    yield from first_of(found)
    if not found:
        yield fine(Topic.PROCESSES, "No leftover processes.")


def _left_processes(scene: Scene) -> Iterator[Finding]:
    for run_id, pids in sorted(scene.marked.items()):
        run = scene.store.runs.get(run_id)
        if run is None or run.outcome is Outcome.RUNNING:
            continue  # Of another database, or at work.
        names = [f"{_program_of(pid)} (process {pid})" for pid in pids]
        ended = "" if run.finished_at is None else f", which ended {scene.ago(run.finished_at)}"
        what = (
            f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} left of the run {run_id[:_SHORT_ID]} of "
            f"{scene.name_of(run.job_id)}{ended}."
        )
        numbers = " ".join(map(str, pids))
        yield look(Topic.PROCESSES, what, f"If that isn't intended, end it with: kill {numbers}")


def _program_of(pid: int) -> str:
    with suppress(psutil.Error):
        return psutil.Process(pid).name()
    return "a program"


def check_spool(scene: Scene) -> Iterator[Finding]:
    """Look for files of runs that are over, and that nobody needs any more."""
    folder = spool_folder(scene.path)
    files = _files_by_run(folder)
    left = [
        run_id for run_id in sorted(files) if _is_left(scene, Spool(folder, run_id), run_id, files[run_id])
    ]
    if not left:
        yield fine(Topic.SPOOL, "No leftover files.")
        return
    room = sum(used_bytes(status) for run_id in left for status in files[run_id])
    are = "1 run that is over" if len(left) == 1 else f"{len(left)} runs that are over"
    what = f"{are} left files in {folder} ({size_of(room)})."
    yield look(Topic.SPOOL, what, "Delete them with: halo doctor --fix", lambda: _clear(folder, left))


def _files_by_run(folder: Path) -> dict[str, list[os.stat_result]]:
    run_ids = left_behind(folder)
    found: dict[str, list[os.stat_result]] = {run_id: [] for run_id in run_ids}
    for path in folder.iterdir() if run_ids else ():
        if path.stem in found:
            with suppress(OSError):  # Its run has just ended.
                found[path.stem].append(path.lstat())
    return found


def _is_left(scene: Scene, spool: Spool, run_id: str, files: Iterable[os.stat_result]) -> bool:
    """Tell whether the files of a run are of no use: it is over, its output is stored, no process writes them.

    An engine may be about to take away what is young, and while somebody writes into a database that was deleted
    nothing can be known.
    """
    if run_id in scene.marked or any(user.is_deleted for user in scene.users):
        return False
    run = scene.store.runs.get(run_id)
    if run is not None and run.outcome is Outcome.RUNNING:
        return False
    if max((status.st_mtime for status in files), default=0.0) * SECOND_MS > scene.now_ms - HOUR_MS:
        return False
    return run is None or scene.store.outputs.has(run_id) or not _has_secrets(spool)


def _has_secrets(spool: Spool) -> bool:
    """Tell whether what a run printed waits for the secrets that are to be taken out of it."""
    ticket = spool.read_ticket()
    return (
        ticket is not None and isinstance(ticket.action, ProcessAction) and bool(ticket.action.secret_names)
    )


def _clear(folder: Path, run_ids: list[str]) -> str:
    for run_id in run_ids:
        Spool(folder, run_id).remove()
    return f"The files of {counted(len(run_ids), 'run')} in {folder} were deleted."
