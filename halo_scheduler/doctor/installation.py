"""What a bug report needs to know: versions, system and counts, and nothing that names what a person does."""

from __future__ import annotations

import locale
import os
import platform
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path

from halo_scheduler.doctor.scene import Finding, Mark, size_of
from halo_scheduler.grammar.english import counted
from halo_scheduler.grammar.zone import machine_zone
from halo_scheduler.host.crash_file import find_crash
from halo_scheduler.paths import database_bytes
from halo_scheduler.service.scheduler import Scheduler

_PACKAGE = "halo-scheduler"
_MOST_CRASH_LINES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFacts:
    """Counts that the service reports about itself."""

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
    """Read the counts from the service; slow with many jobs."""
    status = scheduler.status()
    statuses: Counter[str] = Counter()
    schedules: Counter[str] = Counter()
    actions: Counter[str] = Counter()
    for page in scheduler.jobs.in_pages():
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
        unseen_failures=len(scheduler.runs.unseen_failures()),
        secrets=len(scheduler.secrets.list()),
        backups=len(scheduler.backups.list()),
        database_bytes=database_bytes(scheduler.path),
    )


def versions() -> list[tuple[str, str]]:
    """Return the program and its dependencies with their versions."""
    return [
        ("Halo Scheduler", package_version(_PACKAGE)),
        ("Python", platform.python_version()),
        ("PySide", package_version("PySide6-Essentials")),
        # The wheel's version begins with that of its SQLite.
        ("SQLite", ".".join(package_version("apsw").split(".")[:3])),
    ]


def package_version(name: str) -> str:
    """Return the version of an installed package."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


def installed_as() -> str:
    """Return the form in which the program was installed."""
    if getattr(sys, "frozen", False):
        return "Debian package" if sys.executable.startswith("/opt/") else "bundle"
    if "pipx" in Path(sys.prefix).parts:
        return "pipx"
    # Building in the source folder leaves an egg-info there, which hides how pip installed the program.
    found = [package.read_text("direct_url.json") or "" for package in distributions(name=_PACKAGE)]
    return "source tree" if not found or any("editable" in text for text in found) else "pip"


def system_lines(data_folder: Path) -> list[str]:
    """Return lines on the program, its versions and the system."""
    return [
        *(f"{name} {number}" for name, number in versions()),
        f"Installed as: {installed_as()}",
        f"System: {platform.platform()} ({platform.machine()})",
        f"Time zone: {machine_zone().key}",
        f"Locale: {locale.getlocale()[0] or 'C'}",
        f"Data folder: {_without_home(data_folder)}",
    ]


def engine_lines(facts: EngineFacts | None) -> list[str]:
    """Return lines on the engine and the jobs, as numbers; without facts the service did not respond."""
    if facts is None:
        return ["Engine: not responding"]
    where = " in another process" if facts.is_elsewhere else ""
    lines = [f"Engine: {facts.state}{where}, {facts.ticks} ticks, {facts.running} running"]
    if facts.started_at is not None:
        lines.append(f"Engine started: {_instant(facts.started_at)}")
    if facts.last_tick_at is not None:
        lines.append(f"Last tick: {_instant(facts.last_tick_at)}")
    return [
        *lines,
        f"Jobs: {_counted(facts.jobs_by_status)}",
        f"Schedules: {_counted(facts.jobs_by_schedule)}",
        f"Actions: {_counted(facts.jobs_by_action)}",
        f"Unseen failures: {facts.unseen_failures}",
        f"Secrets: {facts.secrets} · backups: {facts.backups} · database: {size_of(facts.database_bytes)}",
    ]


def display_line(environment: Mapping[str, str] = os.environ) -> str:
    """Return which desktop and display the session has, without asking them."""
    shown = [name for name in ("WAYLAND_DISPLAY", "DISPLAY") if environment.get(name)]
    kinds = {"WAYLAND_DISPLAY": "Wayland", "DISPLAY": "X11"}
    desktop = environment.get("XDG_CURRENT_DESKTOP", "") or "no desktop named"
    return f"Display: {', '.join(kinds[name] for name in shown) or 'none'} ({desktop})"


def finding_lines(findings: Sequence[Finding]) -> list[str]:
    """Return how each check of the doctor went; its sentences may name jobs and folders, so they are left out."""
    marks: dict[str, list[Mark]] = {}
    for finding in findings:
        marks.setdefault(finding.topic.value, []).append(finding.mark)
    return [f"Check of {topic}: {_worst(found)}" for topic, found in marks.items()]


def crash_lines(database: Path) -> list[str]:
    """Return the stacks of the newest crash file, without messages, which may name jobs and folders."""
    crash = find_crash(database)
    if crash is None:
        return []
    what = "Ended unexpectedly" if crash.has_ended else "Internal error"
    return [f"{what}: {_instant(crash.at_ms)}", *crash.shareable_lines[:_MOST_CRASH_LINES]]


def _worst(marks: Sequence[Mark]) -> str:
    wrong, looks = marks.count(Mark.WRONG), marks.count(Mark.LOOK)
    parts = [counted(wrong, "problem")] if wrong else []
    parts += [counted(looks, "warning")] if looks else []
    return ", ".join(parts) or "fine"


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "none"


def _instant(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1_000, UTC).isoformat(" ", "seconds")


def _without_home(folder: Path) -> str:
    """Return a folder without the user's name."""
    try:
        return str(Path("~") / folder.relative_to(Path.home()))
    except (ValueError, RuntimeError):
        return "a custom folder"
