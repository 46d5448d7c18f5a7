"""What one would tell who helps: versions, machine, numbers. No names, commands, variables or secrets."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from PySide6.QtCore import QLocale, Qt, qVersion
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QSystemTrayIcon

from halo_scheduler.grammar.zone import machine_zone
from halo_scheduler.service.scheduler import Scheduler
from ui.style.wording import moment, size_words


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFacts:
    """What the service knows about itself, in numbers."""

    state: str
    is_elsewhere: bool
    started_at: int | None
    last_tick_at: int | None
    ticks: int
    running: int
    jobs_by_status: Mapping[str, int]
    jobs_by_schedule: Mapping[str, int]
    jobs_by_action: Mapping[str, int]
    unseen_failures: int
    secrets: int
    backups: int
    database_bytes: int


def engine_facts(scheduler: Scheduler, own_pid: int) -> EngineFacts:
    """Ask the service; slow with many jobs."""
    status = scheduler.status()
    statuses: Counter[str] = Counter()
    schedules: Counter[str] = Counter()
    actions: Counter[str] = Counter()
    for page in scheduler.list_jobs_in_pages():
        statuses.update(job.status.value for job in page)
        schedules.update(job.schedule.kind for job in page)
        actions.update(job.action.kind for job in page)
    return EngineFacts(
        state=status.state,
        is_elsewhere=status.pid not in {None, own_pid},
        started_at=status.started_at,
        last_tick_at=status.last_tick_at,
        ticks=status.ticks,
        running=status.running,
        jobs_by_status=dict(statuses),
        jobs_by_schedule=dict(schedules),
        jobs_by_action=dict(actions),
        unseen_failures=len(scheduler.unseen_failures()),
        secrets=len(scheduler.list_secrets()),
        backups=len(scheduler.list_backups()),
        database_bytes=scheduler.path.stat().st_size,
    )


def versions() -> list[tuple[str, str]]:
    """Return the program and what it is built on, each with its version."""
    return [
        ("Halo Scheduler", package_version("halo-scheduler")),
        ("Python", platform.python_version()),
        ("Qt", qVersion()),
        ("PySide", package_version("PySide6-Essentials")),
        # The wheel carries the SQLite whose version it has; what follows counts its own changes.
        ("SQLite", ".".join(package_version("apsw").split(".")[:3])),
    ]


def package_version(name: str) -> str:
    """Return the version of an installed package."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


def diagnostics_text(facts: EngineFacts | None, data_folder: Path) -> str:
    """Return all of it as lines to paste; without facts the service could not be asked."""
    lines = [f"{name} {number}" for name, number in versions()]
    lines += [
        f"System: {platform.platform()} ({platform.machine()})",
        f"Time zone: {machine_zone().key}",
        f"Locale: {QLocale.system().name()}",
        *_display_lines(),
        f"Data folder: {_without_home(data_folder)}",
    ]
    lines += ["Engine: cannot be asked"] if facts is None else _engine_lines(facts)
    return "\n".join(lines) + "\n"


def _display_lines() -> list[str]:
    screens = [
        f"{screen.size().width()}×{screen.size().height()} at {screen.devicePixelRatio():g}x"
        for screen in QGuiApplication.screens()
    ]
    is_dark = QGuiApplication.styleHints().colorScheme() is Qt.ColorScheme.Dark
    return [
        f"Display: {QGuiApplication.platformName()}, {', '.join(screens) or 'no screen'}",
        f"System theme: {'dark' if is_dark else 'light'}",
        f"Tray: {'available' if QSystemTrayIcon.isSystemTrayAvailable() else 'not available'}",
        f"Tray messages: {'supported' if QSystemTrayIcon.supportsMessages() else 'not supported'}",
    ]


def _engine_lines(facts: EngineFacts) -> list[str]:
    where = " in another process" if facts.is_elsewhere else ""
    lines = [f"Engine: {facts.state}{where}, {facts.ticks} ticks, {facts.running} running"]
    if facts.started_at is not None:
        lines.append(f"Engine started: {moment(facts.started_at)}")
    if facts.last_tick_at is not None:
        lines.append(f"Last tick: {moment(facts.last_tick_at)}")
    return [
        *lines,
        f"Jobs: {_counted(facts.jobs_by_status)}",
        f"Schedules: {_counted(facts.jobs_by_schedule)}",
        f"Actions: {_counted(facts.jobs_by_action)}",
        f"Unseen failures: {facts.unseen_failures}",
        f"Secrets: {facts.secrets} · backups: {facts.backups} · database: {size_words(facts.database_bytes)}",
    ]


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "none"


def _without_home(folder: Path) -> str:
    """Return a folder without the name of its user."""
    try:
        return str(Path("~") / folder.relative_to(Path.home()))
    except ValueError:
        return "a folder of its own choice"
