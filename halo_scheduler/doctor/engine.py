"""Whether something runs the jobs, and can be told of changes."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

from halo_scheduler.doctor.findings import Finding, Topic, fine, look, wrong
from halo_scheduler.doctor.scene import Scene
from halo_scheduler.grammar.english import counted
from halo_scheduler.grammar.interval import SECOND_MS
from halo_scheduler.host.peer import is_own_peer
from halo_scheduler.ipc.client import socket_path
from halo_scheduler.store.lease import EngineRow

_TOPIC = Topic.ENGINE
_START = "Start it with: halo daemon, or open the desktop program with: halo"
_LIMIT_S = 1.0


def check_engine(scene: Scene) -> Iterator[Finding]:
    """Look at who holds the engine's row."""
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
    under_way = f" {counted(running, 'run')} under way {are} not supervised." if running else ""
    if row is not None and row.stopped_at is None:
        when = scene.ago(row.last_tick_at)
        what = f"Nothing runs the jobs: {row.owner} (process {row.pid}) ended unexpectedly {when}.{under_way}"
        return look(_TOPIC, what, _START)
    if scene.jobs or running:
        return look(_TOPIC, f"Nothing runs the jobs at the moment.{under_way}", _START)
    return fine(_TOPIC, "Halo isn't running, and there are no jobs.")


def _since(scene: Scene, row: EngineRow) -> str:
    return f"started {scene.ago(row.started_at)}"


def _answers(database: Path) -> bool:
    """Tell whether the engine takes a connection; nothing is said on it."""
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
    installed_s = (Path(__file__).parents[1] / "__init__.py").stat().st_mtime
    return installed_s * SECOND_MS > row.started_at
