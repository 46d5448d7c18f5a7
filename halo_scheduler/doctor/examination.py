"""Runs every check, whatever state the installation is in."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from halo_scheduler.doctor.database import (
    check_backups,
    check_database,
    check_disk,
    check_users,
    is_missing,
    open_database,
)
from halo_scheduler.doctor.engine import (
    check_chat,
    check_crash,
    check_engine,
    check_processes,
    check_spool,
    check_webhooks,
)
from halo_scheduler.doctor.jobs import check_jobs, check_programs, check_secrets
from halo_scheduler.doctor.permissions import check_permissions
from halo_scheduler.doctor.scene import Finding, Mark, Scene, Topic, look, wrong_because
from halo_scheduler.doctor.surroundings import check_autostart, check_tray, check_zone
from halo_scheduler.errors import SchedulerError

Check = Callable[[Scene], Iterable[Finding]]

_ON_DATABASE: tuple[tuple[Topic, Check], ...] = (
    (Topic.DATABASE, check_database),
    (Topic.ENGINE, check_engine),
    (Topic.WEBHOOKS, check_webhooks),
    (Topic.CHAT, check_chat),
    (Topic.SECRETS, check_secrets),
    (Topic.PROCESSES, check_processes),
    (Topic.SPOOL, check_spool),
    (Topic.JOBS, check_jobs),
    (Topic.JOBS, check_programs),
)
_ALWAYS: tuple[tuple[Topic, Check], ...] = (
    (Topic.DATABASE, check_users),
    (Topic.DATABASE, check_disk),
    (Topic.PERMISSIONS, check_permissions),
    (Topic.BACKUPS, check_backups),
    (Topic.ENGINE, check_crash),
    (Topic.ZONE, check_zone),
    (Topic.AUTOSTART, check_autostart),
    (Topic.TRAY, check_tray),
)
_MENDED: tuple[tuple[Topic, Check], ...] = (
    (Topic.PERMISSIONS, check_permissions),
    (Topic.SPOOL, check_spool),
    (Topic.AUTOSTART, check_autostart),
)
STEPS = len(_ON_DATABASE) + len(_ALWAYS)
"""The number of checks, for progress displays."""
_ORDER = list(Topic)


@dataclass(frozen=True, slots=True)
class Report:
    """The findings that remain after repairs."""

    findings: tuple[Finding, ...]
    mended: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    """Why a fix failed."""

    def count(self, mark: Mark) -> int:
        """Return the number of findings with this mark."""
        return sum(finding.mark is mark for finding in self.findings)


def examine(path: Path, now_ms: int, tell: Callable[[int], None] = lambda _done: None) -> Report:
    """Check a database and its surroundings without changing anything, even if it is missing or old."""
    was_still = not _has_journal(path)
    report = _examine(path, now_ms, tell)
    # Without a journal, data read while another program began to write may be inconsistent.
    return _examine(path, now_ms, tell) if was_still and _has_journal(path) else report


def _has_journal(path: Path) -> bool:
    return os.path.exists(f"{path}-wal")  # noqa: PTH110 - pathlib raises where the folder is closed to us


def _examine(path: Path, now_ms: int, tell: Callable[[int], None]) -> Report:
    findings: list[Finding] = []
    with _opened(path, now_ms) as (scene, found):
        findings += found
        checks = (*(_ON_DATABASE if scene.is_readable else ()), *_ALWAYS)
        for done, (topic, check) in enumerate(checks, start=1):
            findings += _tried(topic, check, scene)
            tell(done)
        if not scene.is_readable and not is_missing(path):
            others = (
                "Engine, secrets, leftovers and jobs weren't checked, because the database can't be read."
            )
            findings.append(look(Topic.JOBS, others))
    return Report(tuple(sorted(findings, key=lambda finding: _ORDER.index(finding.topic))))


def mend(path: Path, now_ms: int, tell: Callable[[int], None] = lambda _done: None) -> Report:
    """Apply safe repairs, then check everything."""
    mended: list[str] = []
    refused: list[str] = []
    with _opened(path, now_ms) as (scene, _):
        for topic, check in _MENDED:
            if topic is Topic.SPOOL and not scene.is_readable:
                continue
            for finding in _tried(topic, check, scene):
                if finding.mend is not None:
                    try:
                        mended.append(finding.mend())
                    except (SchedulerError, OSError, RuntimeError) as error:
                        refused.append(f"{topic}: {error}")
    return replace(examine(path, now_ms, tell), mended=tuple(mended), refused=tuple(refused))


@contextmanager
def _opened(path: Path, now_ms: int) -> Iterator[tuple[Scene, list[Finding]]]:
    """Return the scene for the checks, and the findings from opening it."""
    store, findings = open_database(path)
    with nullcontext() if store is None else closing(store):
        yield Scene(path, now_ms, store), findings


def _tried(topic: Topic, check: Check, scene: Scene) -> list[Finding]:
    """Return a check's findings; a check that crashes must not stop the others."""
    try:
        return list(check(scene))
    except (SchedulerError, OSError, ValueError, RuntimeError) as error:
        # The last where there is no home.
        return [wrong_because(topic, error)]
