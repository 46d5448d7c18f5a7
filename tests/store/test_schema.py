"""Bringing a database that holds every kind of waiting up to date, and refusing to while an older engine lives."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from halo_scheduler.errors import StoreUnavailableError
from halo_scheduler.host.process import own_identity, process_start
from halo_scheduler.model import NO_DETAILS, WaitingFor
from halo_scheduler.store import schema
from halo_scheduler.store.backup import list_backups, restore
from halo_scheduler.store.connection import Database
from halo_scheduler.store.store import Store

_NOW = 1_700_000_000_000
_JOBS = {
    "limit": ("at_capacity", "", None),
    "power": ("condition", "mains power and network", _NOW + 60_000),
    "lost": ("condition", "nas.local:22 to answer, which cannot be observed now", None),
    "quiet": ("quiet_time", "the end of the quiet time Night at 07:00", _NOW + 90_000),
    "ready": (None, "", None),
}
_CHAIN_RUNS = {
    "place": ("", None),
    "behind": ("its last run to end", None),
    "output": ("the output of backup", None),
    "condition": ("network", _NOW + 60_000),
    "quiet": ("the end of the quiet time Night at 07:00", None),
}
_CLEARED_BY = 8
# The first version in which jobs could wait for more than a place.
_WITH_REASONS = 5


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "halo.db"


def _make(path: Path, version: int) -> None:
    """Make a database as a released version left it, with every kind of waiting that it knew."""
    database = Database.open(path)
    for number in range(1, version + 1):
        database.run_script(schema._steps()[number])
    database.run_script(f"PRAGMA user_version = {version}")
    for name, waiting in _JOBS.items():
        _insert_job(database, name, version, waiting)
    for number, (run_id, (reason, until)) in enumerate(
        _CHAIN_RUNS.items() if version >= _WITH_REASONS else ()
    ):
        database.rows(
            "INSERT INTO scheduler_requests (kind, job_id, run_id, at, payload, waiting_reason, waits_until) "
            "VALUES ('chain', 'ready', ?, ?, ?, ?, ?)",
            [run_id, _NOW + number, f"cause {number}", reason, until],
        )
    database.close()


def _insert_job(
    database: Database, name: str, version: int, waiting: tuple[str | None, str, int | None]
) -> None:
    kind, reason, until = waiting
    columns: dict[str, str | int | None] = {
        "id": name,
        "name": name,
        "description": "",
        "enabled": 1,
        "metadata": "{}",
        "schedule": '{"kind": "manual"}',
        "action": '{"kind": "callback", "name": ""}',
        "policy": "{}",
        "created_at": _NOW,
        "updated_at": _NOW,
        "counted_until": _NOW,
        "anchor_at": _NOW,
        "next_run_at": _NOW,
        "waiting_for": kind,
    }
    if version >= _WITH_REASONS:
        columns |= {"waiting_reason": reason, "waits_until": until}
    database.rows(
        f"INSERT INTO scheduler_jobs ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})",
        list(columns.values()),
    )


@pytest.mark.parametrize("version", range(1, _CLEARED_BY))
def test_sentences_about_waiting_are_cleared_and_the_rest_is_kept(path: Path, version: int) -> None:
    _make(path, version)
    store = Store.open(path, _NOW)
    jobs = {record.id: record for record in store.jobs.all()}
    assert {name: record.waiting_for for name, record in jobs.items()} == {
        name: kind and WaitingFor(kind) for name, (kind, _, _) in _JOBS.items()
    }
    assert all(record.waiting_details == NO_DETAILS for record in jobs.values())
    if version >= _WITH_REASONS:
        # A deadline is no sentence: it still holds.
        assert {name: record.waits_until for name, record in jobs.items()} == {
            name: until for name, (_, _, until) in _JOBS.items()
        }
        runs = store.requests.chain_runs()
        assert [(run.run_id, run.waiting_for, run.waiting_details) for run in runs] == [
            (run_id, None, NO_DETAILS) for run_id in _CHAIN_RUNS
        ]
        assert [run.waits_until for run in runs] == [until for _, until in _CHAIN_RUNS.values()]
    assert store.database.rows("PRAGMA integrity_check") == [("ok",)]
    store.close()


@pytest.mark.parametrize("version", range(1, _CLEARED_BY))
def test_every_released_schema_becomes_the_new_one(path: Path, version: int) -> None:
    _make(path, version)
    schemas = []
    for file in (path, path.with_name("new.db")):
        store = Store.open(file, _NOW)
        schemas.append(store.database.rows("SELECT type, name, sql FROM sqlite_schema ORDER BY name"))
        store.close()
    assert schemas[0] == schemas[1]


def test_the_backup_before_the_step_leads_back_to_the_sentences(path: Path) -> None:
    _make(path, 7)
    Store.open(path, _NOW).close()
    (backup,) = list_backups(path)
    restore(path, backup, _NOW + 1)
    database = Database.open_for_reading(path)
    assert schema.stored_version(database) == 7
    rows: dict[str, str] = dict(database.rows("SELECT id, waiting_reason FROM scheduler_jobs"))
    assert rows == {name: reason for name, (_, reason, _) in _JOBS.items()}
    database.close()


# --- An older engine ------------------------------------------------------------------------------------


@pytest.fixture
def other_process() -> Iterator[int]:
    """A process that lives as long as the test."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process.pid
        process.communicate(b"\n")


def _lease(path: Path, pid: int, start: str, **changes: str | int) -> None:
    columns: dict[str, str | int] = {
        "id": 1,
        "generation": 1,
        "owner": "daemon",
        "pid": pid,
        "process_start": start,
        "expires_at": _NOW + 60_000,
        "started_at": _NOW - 60_000,
        "last_tick_at": _NOW,
        "ticks": 1,
        "runs": 0,
        "zone": "UTC",
    }
    columns.update(changes)
    connection = apsw.Connection(str(path))
    connection.execute(
        f"INSERT INTO scheduler_engine ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})",
        list(columns.values()),
    ).fetchall()
    connection.close()


@pytest.mark.parametrize("version", [1, 6, 7])
def test_the_schema_stays_as_it_is_while_an_older_engine_lives(
    path: Path, version: int, other_process: int
) -> None:
    _make(path, version)
    _lease(path, other_process, process_start(other_process) or "")
    with pytest.raises(
        StoreUnavailableError, match=rf"older Halo \(daemon, process {other_process}\); quit it"
    ):
        Store.open(path, _NOW)
    database = Database.open_for_reading(path)
    assert schema.stored_version(database) == version
    database.close()
    assert list_backups(path) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"stopped_at": _NOW - 1},
        {"expires_at": _NOW - 1},
        {"process_start": "another start of that process"},
        {"file": "the file that this is a copy of"},
    ],
)
def test_an_engine_that_is_gone_or_has_another_file_open_keeps_nobody(
    path: Path, changes: dict[str, Any]
) -> None:
    _make(path, 7)
    pid, start = own_identity()
    _lease(path, pid, start, **changes)
    Store.open(path, _NOW).close()


def test_the_check_sees_this_process_too(path: Path) -> None:
    _make(path, 7)
    _lease(path, os.getpid(), own_identity()[1])
    with pytest.raises(StoreUnavailableError):
        Store.open(path, _NOW)
