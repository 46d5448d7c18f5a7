"""Bringing a database that holds every kind of stored sentence up to date; refusing to while an older engine lives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from halo_scheduler.errors import StoreUnavailableError
from halo_scheduler.grammar.templates import filled_request
from halo_scheduler.host.process import own_identity, process_start
from halo_scheduler.model import NO_DETAILS, HttpRequest, Outcome, WaitingFor
from halo_scheduler.model.messages import MessageKind, message, text_message
from halo_scheduler.store import schema
from halo_scheduler.store.backup import back_up, list_backups, restore
from halo_scheduler.store.connection import Database
from halo_scheduler.store.store import Store

_NOW = 1_700_000_000_000
_WITH_LAST_END = 10
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
_WITH_LAST_END = 10
_WITH_PARAMETERS = 13


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
        _CHAIN_RUNS.items() if _WITH_REASONS <= version < _CLEARED_BY else ()
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
        column = "waiting_reason" if version < _CLEARED_BY else "waiting_details"
        columns |= {column: reason, "waits_until": until}
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
        runs = store.requests.queued(0)
        assert [(run.run_id, run.waiting_for, run.waiting_details) for run in runs] == [
            (run_id, None, NO_DETAILS) for run_id in _CHAIN_RUNS
        ]
        assert [run.waits_until for run in runs] == [until for _, until in _CHAIN_RUNS.values()]
    assert store.database.rows("PRAGMA integrity_check") == [("ok",)]
    store.close()


@pytest.mark.parametrize("version", range(1, _WITH_LAST_END))
def test_the_last_end_and_the_advice_on_a_single_run_are_taken_over(path: Path, version: int) -> None:
    _make(path, version)
    database = Database.open(path)
    database.rows("UPDATE scheduler_jobs SET last_completed_at = 100, hint_next_at = 7, hint_expires_at = 8")
    database.rows(
        "UPDATE scheduler_jobs SET hint_reason = 'why', last_completed_at = NULL WHERE id = 'ready'"
    )
    for run_id, trigger, started_at, finished_at in (
        ("own", "schedule", 10, 100),
        ("manual", "manual", 150, 200),
        ("trial", "test", 250, 300),
        ("skipped", "chain", None, 400),
    ):
        database.rows(
            "INSERT INTO scheduler_run_log (id, job_id, attempt, trigger, source, outcome, started_at, "
            "finished_at, generation) VALUES (?, 'limit', 1, ?, 'manual', 'success', ?, ?, 1)",
            [run_id, trigger, started_at, finished_at],
        )
    database.close()
    store = Store.open(path, _NOW)
    jobs = {record.id: record for record in store.jobs.all()}
    assert (jobs["limit"].last_ended_at, jobs["power"].last_ended_at, jobs["ready"].last_ended_at) == (
        200,
        100,
        None,
    )
    hints = jobs["ready"].hints
    assert (hints.next_at, hints.next_expires_at, hints.next_reason) == (7, 8, "why")
    store.close()


@pytest.mark.parametrize("version", range(1, _WITH_PARAMETERS))
def test_braces_in_requests_of_older_versions_stay_plain_text(path: Path, version: int) -> None:
    _make(path, version)
    request = HttpRequest(url="http://localhost/", method="POST")
    text = r"{{x}} {{input}} {{ param.mode }} {{inputs}} {{param.A}} \{{input}} {{  input }}"
    old = request.to_dict() | {"body": text, "url": "http://localhost/{{input}}"}
    database = Database.open(path)
    database.rows("UPDATE scheduler_jobs SET action = ? WHERE id = 'ready'", [json.dumps(old)])
    database.close()
    store = Store.open(path, _NOW)
    action = store.jobs.require("ready").spec.action
    assert isinstance(action, HttpRequest)
    assert filled_request(action.body, {}, {"input": "given"}) == text
    assert filled_request(action.url, {}, {"input": "given"}) == "http://localhost/{{input}}"
    store.close()


@pytest.mark.parametrize("version", range(1, schema.NEWEST))
def test_a_run_of_an_older_version_keeps_its_duration(path: Path, version: int) -> None:
    _make(path, version)
    database = Database.open(path)
    database.rows(
        "INSERT INTO scheduler_run_log (id, job_id, attempt, trigger, source, outcome, started_at, finished_at, "
        "generation) VALUES ('old', 'ready', 1, 'schedule', 'every', 'success', 10, 100, 1)"
    )
    database.close()
    store = Store.open(path, _NOW)
    run = store.runs.get("old")
    assert run is not None
    assert (run.clock_step_ms, run.duration_ms) == (0, 90)
    assert store.runs.ends("ready", None) == [(Outcome.SUCCESS, 90)]
    store.close()


@pytest.mark.parametrize("version", range(1, schema.NEWEST))
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


# --- Sentences about runs ---------------------------------------------------------------------------

_WITH_SENTENCES = 8
_ERRORS = {
    "fine": ("success", None, ""),
    "code": ("failure", None, "exit code 3"),
    "own words": ("failure", None, 'RuntimeError: "[{}]" \\ \u202e\ttab'),
    "list": ("failure", None, "[1, 2]"),
    "stopped": ("cancelled", None, "stopped by the user"),
    "cap": ("skipped", "cap", "2 runs today, as many as its cap allows; it may run again after midnight"),
    "missed": ("missed", "missed", "Halo was not running at that time"),
    "starting": ("running", None, "waiting for free memory to start"),
}
_NOTES = {
    "fine": "",
    "code": "a process it started still runs (12)",
    "own words": "started by hand in a quiet time; a line of its output could not be read: ::cost x",
    "list": "[",
    "stopped": "requested by the assistant “codex”",
    "cap": "",
    "missed": "",
    "starting": "it waited for free memory to start",
}


def _make_eighth(path: Path) -> None:
    """Make a database as version 8 left it, with every kind of sentence about runs and jobs."""
    database = Database.open(path)
    for number in range(1, _WITH_SENTENCES + 1):
        database.run_script(schema._steps()[number])
    database.run_script(f"PRAGMA user_version = {_WITH_SENTENCES}")
    for run_id, (outcome, reason, error) in _ERRORS.items():
        _insert_job(database, run_id, 1, ("resources" if outcome == "running" else None, "", None))
        database.rows("UPDATE scheduler_jobs SET last_error = ? WHERE id = ?", [error, run_id])
        database.rows(
            "INSERT INTO scheduler_run_log "
            "(id, job_id, attempt, trigger, source, outcome, reason, error, note, generation) "
            "VALUES (?, ?, 1, 'schedule', 'every', ?, ?, ?, ?, 1)",
            [run_id, run_id, outcome, reason, error, _NOTES[run_id]],
        )
    database.rows(
        'UPDATE scheduler_jobs SET waiting_details = \'{"name": "x"}\' WHERE waiting_for IS NOT NULL'
    )
    database.close()


def test_sentences_about_runs_stay_readable(path: Path) -> None:
    _make_eighth(path)
    store = Store.open(path, _NOW)
    runs = {run_id: store.runs.get(run_id) for run_id in _ERRORS}
    jobs = {record.id: record for record in store.jobs.all()}
    for run_id, (outcome, reason, error) in _ERRORS.items():
        run = runs[run_id]
        assert run is not None
        assert (run.outcome, run.reason) == (outcome, reason)
        assert (run.error, run.note) == (error, _NOTES[run_id])
        assert run.message == text_message(error)
        assert run.notes == tuple(filter(None, [text_message(_NOTES[run_id])]))
        assert jobs[run_id].job.last_error == error
    store.close()


def test_no_run_waits_to_start_when_no_engine_runs(path: Path) -> None:
    _make_eighth(path)
    store = Store.open(path, _NOW)
    assert [
        record.id for record in store.jobs.all() if record.waiting_for or record.waiting_details != NO_DETAILS
    ] == []
    store.close()


def test_a_note_is_added_to_notes_of_an_older_version(path: Path) -> None:
    _make_eighth(path)
    store = Store.open(path, _NOW)
    for run_id in ("code", "fine", "list"):
        store.runs.add_note(run_id, message(MessageKind.LEFT_RUNNING, pids=[7]))
    notes = [run.note for run_id in ("code", "fine", "list") if (run := store.runs.get(run_id))]
    left = "a process it started still runs (7)"
    assert notes == [f"{_NOTES['code']}; {left}", left, f"[; {left}"]
    store.close()


def test_the_schema_of_the_eighth_version_becomes_the_new_one(path: Path) -> None:
    _make_eighth(path)
    schemas = []
    for file in (path, path.with_name("new.db")):
        store = Store.open(file, _NOW)
        schemas.append(store.database.rows("SELECT type, name, sql FROM sqlite_schema ORDER BY name"))
        store.close()
    assert schemas[0] == schemas[1]


def test_the_backup_before_the_step_leads_back_to_the_sentences_about_runs(path: Path) -> None:
    _make_eighth(path)
    Store.open(path, _NOW).close()
    (backup,) = list_backups(path)
    restore(path, backup, _NOW + 1)
    database = Database.open_for_reading(path)
    assert schema.stored_version(database) == _WITH_SENTENCES
    rows = {
        run_id: (error, note)
        for run_id, error, note in database.rows("SELECT id, error, note FROM scheduler_run_log")
    }
    assert rows == {run_id: (error, _NOTES[run_id]) for run_id, (_, _, error) in _ERRORS.items()}
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


@pytest.mark.parametrize("version", [1, 6, 7, 8])
def test_the_schema_is_not_upgraded_while_an_older_engine_lives(
    path: Path, version: int, other_process: int
) -> None:
    if version == _WITH_SENTENCES:
        _make_eighth(path)
    else:
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
def test_an_engine_that_is_gone_or_uses_another_file_blocks_no_upgrade(
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


def test_a_lost_database_is_not_replaced_by_an_empty_one_to_read_it(tmp_path: Path) -> None:
    path = tmp_path / "halo.db"
    database = schema.open_to_read(path, 0)
    back_up(database, 0)
    database.close()
    path.unlink()
    with pytest.raises(StoreUnavailableError, match="is missing; put it back, or restore a backup"):
        schema.open_to_read(path, 0)
    assert not path.exists()
    schema.open_up_to_date(path, 0).close()
    schema.open_to_read(path, 0).close()
