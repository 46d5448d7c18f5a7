"""Checks that a usable backup exists."""

from __future__ import annotations

from collections.abc import Iterator

from halo_scheduler.doctor.findings import Finding, Topic, fine, look, named, wrong
from halo_scheduler.doctor.scene import Scene
from halo_scheduler.errors import StoreError
from halo_scheduler.grammar.interval import DAY_MS, SECOND_MS
from halo_scheduler.service.settings import Backup, find_backups
from halo_scheduler.store.backup import check

_TOPIC = Topic.BACKUPS
_MAKE_ONE = "Make one now with: halo backup"
# The engine makes one each day; without an engine nothing changes by itself.
_OLD_WITH_ENGINE_MS = 2 * DAY_MS
_OLD_MS = 14 * DAY_MS


def check_backups(scene: Scene) -> Iterator[Finding]:
    """Check the newest backups until one is valid."""
    broken: list[str] = []
    usable: Backup | None = None
    for backup in find_backups(scene.path):
        try:
            check(backup.path)
        except StoreError:
            broken.append(backup.path.name)
        else:
            usable = backup
            break
    if broken:
        what = f"{named(broken)} cannot be restored: damaged or unreadable."
        yield wrong(_TOPIC, what, f"Remove it from {scene.path.parent / 'backups'}. {_MAKE_ONE}")
    if usable is not None:
        yield _on_age(scene, usable)
    elif not broken:
        yield _on_none(scene)
    yield from _on_unfinished(scene)


def _on_age(scene: Scene, newest: Backup) -> Finding:
    age_ms = scene.now_ms - newest.made_at
    when = scene.ago(newest.made_at)
    limit_ms = _OLD_WITH_ENGINE_MS if scene.has_engine else _OLD_MS
    if age_ms <= limit_ms:
        return fine(_TOPIC, f"The newest backup is intact, made {when}.")
    return look(_TOPIC, f"The newest backup is old, made {when}.", _MAKE_ONE)


def _on_none(scene: Scene) -> Finding:
    if scene.is_readable and scene.jobs:
        return look(_TOPIC, "No backup yet.", _MAKE_ONE)
    return fine(_TOPIC, "No backup yet, and no jobs to back up.")


def _on_unfinished(scene: Scene) -> Iterator[Finding]:
    """Find remains of interrupted backups."""
    before_s = (scene.now_ms - DAY_MS) / SECOND_MS
    parts = (scene.path.parent / "backups").glob(f"{scene.path.stem}-*.part")
    old = sorted(str(path) for path in parts if path.lstat().st_mtime < before_s)
    if old:
        yield look(_TOPIC, f"{named(old)} is left from an unfinished backup.", "It can be deleted")
