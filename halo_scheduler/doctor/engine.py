"""Checks that an engine runs and listens, and finds leftovers of runs."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from halo_scheduler.actions.spool import Spool, left_behind, spool_folder
from halo_scheduler.doctor.scene import Finding, Scene, Topic, fine, first_of, look, size_of, wrong
from halo_scheduler.grammar.english import counted
from halo_scheduler.grammar.interval import HOUR_MS, SECOND_MS
from halo_scheduler.host.crash_file import find_crash
from halo_scheduler.host.disk_space import used_bytes
from halo_scheduler.host.owners import is_own_peer
from halo_scheduler.ipc.client import socket_path
from halo_scheduler.model import Outcome, ProcessAction
from halo_scheduler.rules.chat import chat_status
from halo_scheduler.rules.webhooks import webhook_status
from halo_scheduler.store.lease import EngineRow
from halo_scheduler.wording.chat import bot_words
from halo_scheduler.wording.webhooks import OPEN_WARNING, open_words

_TOPIC = Topic.ENGINE
_START = "Start it with: halo daemon, or open the desktop program with: halo"
_LIMIT_S = 1.0
_SHORT_ID = 8


def check_crash(scene: Scene) -> Iterator[Finding]:
    """Find the crash file of an earlier program."""
    crash = find_crash(scene.path)
    if crash is not None:
        advice = f"To report it, add what this prints: halo doctor --report. Then delete {crash.path}."
        what = "ended unexpectedly" if crash.has_ended else "had an internal error"
        yield look(_TOPIC, f"Halo {what} {scene.ago(crash.at_ms)}; see {crash.path}.", advice)


def check_engine(scene: Scene) -> Iterator[Finding]:
    """Check the holder of the engine lease."""
    row = scene.engine
    if row is None or not scene.has_engine:
        yield _on_none(scene, row)
        return
    if row.is_held(scene.now_ms):
        yield fine(_TOPIC, f"Halo is running: {row.owner} (process {row.pid}), {_since(scene, row)}.")
    else:
        when = scene.ago(row.last_tick_at)
        what = f"{row.owner} (process {row.pid}) should run the jobs but last checked them {when}."
        yield wrong(_TOPIC, what, f"If the computer did not just wake up: kill {row.pid}, then: halo daemon")
    if not _answers(scene.path):
        what = "The engine isn't notified of changes made here; it sees them within a minute."
        yield look(
            _TOPIC, what, "Start both with the same XDG_RUNTIME_DIR and HALO_HOME, or restart the engine"
        )
    if _was_updated_since(row):
        yield look(
            _TOPIC, "Halo was updated after the engine started.", "Restart Halo to use the new version"
        )


def _on_none(scene: Scene, row: EngineRow | None) -> Finding:
    running = scene.store.runs.count_running()
    are = "is" if running == 1 else "are"
    under_way = f" {counted(running, 'run')} {are} active but not supervised." if running else ""
    if row is not None and row.stopped_at is None:
        when = scene.ago(row.last_tick_at)
        what = f"Nothing runs the jobs: {row.owner} (process {row.pid}) ended unexpectedly {when}.{under_way}"
        return look(_TOPIC, what, _START)
    if scene.jobs or running:
        return look(_TOPIC, f"Halo isn't running, so no jobs run.{under_way}", _START)
    return fine(_TOPIC, "Halo isn't running, and there are no jobs.")


def check_webhooks(scene: Scene) -> Iterator[Finding]:
    """Report which port is open to other programs, or why it is closed."""
    row = scene.engine
    found = webhook_status(scene.store, engine_since=row.started_at if row and scene.has_engine else None)
    what = f"Webhooks: {open_words(found)}."
    listener, place = found.listener, found.place
    if listener is not None and listener.fault:
        yield wrong(Topic.WEBHOOKS, what, "Choose another port with: halo webhook on --port NUMBER")
    elif place is not None and not place.is_local:
        yield look(
            Topic.WEBHOOKS, f"{what} {OPEN_WARNING}", "To undo this: halo webhook on --address 127.0.0.1"
        )
    elif found.jobs and place is None:
        yield look(Topic.WEBHOOKS, what, "Turn them on with: halo webhook on")
    else:
        yield fine(Topic.WEBHOOKS, what)


def check_chat(scene: Scene) -> Iterator[Finding]:
    """Report which bots receive messages, or why they don't."""
    row = scene.engine
    found = chat_status(scene.store, engine_since=row.started_at if row and scene.has_engine else None)
    for status in found:
        name = status.bot.name
        what = f"Chat: {name} ({status.bot.service}), {bot_words(status)}."
        if status.state is not None and status.state.fault:
            yield wrong(Topic.CHAT, what, f"Try it with: halo chat test {name}")
        elif not status.jobs:
            yield look(
                Topic.CHAT,
                what,
                f"Add a job with --chat {name}/direct, or: halo chat remove {name}",
            )
        else:
            yield fine(Topic.CHAT, what)
    if not found:
        yield fine(Topic.CHAT, "Chat: off, there are no bots.")


def _since(scene: Scene, row: EngineRow) -> str:
    return f"started {scene.ago(row.started_at)}"


def _answers(database: Path) -> bool:
    """Return whether the engine accepts a connection, without sending anything."""
    if not hasattr(socket, "AF_UNIX"):
        return True  # On Windows it is something else, that cannot be asked so.
    try:
        path = socket_path(database)
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_LIMIT_S)
            connection.connect(str(path))
            return is_own_peer(connection.fileno())
    except OSError:
        return False


def _was_updated_since(row: EngineRow) -> bool:
    # Packages date their files by the commit, so it is the time of the change that tells when they were installed.
    installed_s = Path(__file__).stat().st_ctime
    return installed_s * SECOND_MS > row.started_at


def check_processes(scene: Scene) -> Iterator[Finding]:
    """Find processes of ended runs; some are left on purpose, so they are only reported."""
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
    """Find spool files of ended runs that are no longer needed."""
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
    """Return whether a run's files are useless: it has ended, its output is stored, no process writes them.

    Young files are left to the engine. While a process writes to a deleted database, nothing is certain.
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
    """Return whether a run's output is still waiting for redaction."""
    ticket = spool.read_ticket()
    return (
        ticket is not None and isinstance(ticket.action, ProcessAction) and bool(ticket.action.secret_names)
    )


def _clear(folder: Path, run_ids: list[str]) -> str:
    for run_id in run_ids:
        Spool(folder, run_id).remove()
    return f"The files of {counted(len(run_ids), 'run')} in {folder} were deleted."
