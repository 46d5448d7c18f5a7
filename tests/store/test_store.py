"""The database: private, durable, and honest about what is wrong with it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
import threading
import zlib
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import apsw
import pytest

from halo_scheduler import Every, Outcome, Run, Source, Trigger
from halo_scheduler.errors import (
    StoreDamagedError,
    StoreReplacedError,
    StoreTooNewError,
    StoreUnavailableError,
)
from halo_scheduler.model import JobSpec, Question, QuestionState, SkipReason
from halo_scheduler.model.changes import Actor
from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.model.settings import AssistantAccess
from halo_scheduler.store import history, schema
from halo_scheduler.store.backup import back_up, check, list_backups, restore
from halo_scheduler.store.connection import Database
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.history import RunFilter
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.outputs import StoredOutput
from halo_scheduler.store.runs import Spent
from halo_scheduler.store.secrets import SecretName, SecretPlace
from halo_scheduler.store.store import Store

_NOW = 1_700_000_000_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "halo.db"


def _record(job_id: str = "1", name: str = "job") -> JobRecord:
    spec = JobSpec(name=name, schedule=Every("15m"))
    return JobRecord(id=job_id, created_at=_NOW, updated_at=_NOW, spec=spec, counted_until=_NOW)


def _insert_twice(store: Store) -> None:
    store.jobs.insert([_record()])
    with store.transaction():
        store.jobs.insert([_record("2", "other"), _record("2", "again")])


def test_files_are_private_with_any_umask(path: Path) -> None:
    before = os.umask(0)
    try:
        store = Store.open(path, _NOW)
        store.jobs.insert([_record()])
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    files = list(path.parent.iterdir())
    assert len(files) == 3
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    store.close()


def test_a_file_open_to_others_is_closed_to_them(path: Path) -> None:
    Store.open(path, _NOW).close()
    path.chmod(0o644)
    Store.open(path, _NOW).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_settings_are_the_safe_ones(path: Path) -> None:
    database = Database.open(path)
    assert database.rows("PRAGMA journal_mode") == [("wal",)]
    assert database.rows("PRAGMA synchronous") == [(2,)]
    assert database.rows("PRAGMA foreign_keys") == [(1,)]
    database.close()


def test_a_transaction_is_all_or_nothing(path: Path) -> None:
    store = Store.open(path, _NOW)
    with pytest.raises(apsw.ConstraintError), store.transaction():
        _insert_twice(store)
    assert store.jobs.all() == []
    store.close()


def test_a_slot_cannot_have_two_runs_of_one_attempt(path: Path) -> None:
    store = Store.open(path, _NOW)
    store.jobs.insert([_record()])
    run = Run(id="a", job_id="1", trigger=Trigger.SCHEDULE, source=Source.EVERY, slot_at=5)
    store.runs.insert([run], 1)
    with pytest.raises(apsw.ConstraintError):
        store.runs.insert(
            [Run(id="b", job_id="1", trigger=Trigger.SCHEDULE, source=Source.EVERY, slot_at=5)], 1
        )
    by_hand = [Run(id=name, job_id="1", trigger=Trigger.MANUAL, source=Source.MANUAL) for name in "cd"]
    store.runs.insert(by_hand, 1)
    store.close()


def test_due_jobs_are_found_by_an_index(path: Path) -> None:
    store = Store.open(path, _NOW)
    plan = store.database.rows(
        "EXPLAIN QUERY PLAN SELECT id FROM scheduler_jobs WHERE next_run_at IS NOT NULL AND run_id IS NULL "
        "AND removed_at IS NULL AND next_run_at <= ? ORDER BY next_run_at",
        [_NOW],
    )
    assert "scheduler_jobs_due" in plan[0][-1]
    store.close()


def test_a_job_is_read_as_it_was_written(path: Path) -> None:
    store = Store.open(path, _NOW)
    record = _record()
    store.jobs.insert([record])
    assert store.jobs.get("1") == record
    assert store.jobs.all() == [record]
    store.close()


def test_an_edit_leaves_the_state_and_the_engine_leaves_the_spec(path: Path) -> None:
    store = Store.open(path, _NOW)
    store.jobs.insert([_record()])
    stale = store.jobs.get("1")
    assert stale is not None
    store.jobs.save_spec("1", JobSpec(name="renamed", schedule=Every("5m")), _NOW + 1)
    store.jobs.save_states([stale])
    found = store.jobs.get("1")
    assert found is not None
    assert found.spec.name == "renamed"
    store.close()


def test_a_newer_database_is_refused(path: Path) -> None:
    store = Store.open(path, _NOW)
    store.database.run_script("PRAGMA user_version = 99")
    store.close()
    with pytest.raises(StoreTooNewError, match="newer Halo"):
        Store.open(path, _NOW)


def test_an_older_database_is_backed_up_and_brought_up_to_date(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.open(path, _NOW)
    store.jobs.insert([_record()])
    store.close()
    steps = schema._steps()
    later = max(steps) + 1
    monkeypatch.setattr(schema, "NEWEST", later)
    monkeypatch.setattr(schema, "_steps", lambda: steps | {later: "CREATE TABLE later (x INTEGER) STRICT"})
    store = Store.open(path, _NOW + 1)
    assert store.database.rows("PRAGMA user_version") == [(later,)]
    assert [record.id for record in store.jobs.all()] == ["1"]
    assert [backup.made_at for backup in list_backups(path)] == [_NOW + 1]
    store.close()


def test_the_newest_step_is_known() -> None:
    assert max(schema._steps()) == schema.NEWEST


def test_every_step_of_the_schema_has_its_own_number() -> None:
    files = [item.name for item in resources.files("halo_scheduler.store.migrations").iterdir()]
    numbers = sorted(name[:4] for name in files if name.endswith(".sql"))
    assert numbers == [f"{number:04}" for number in range(1, schema.NEWEST + 1)]


def test_a_step_that_fails_leaves_the_old_schema(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Store.open(path, _NOW).close()
    steps = schema._steps()
    broken = "CREATE TABLE later (x INTEGER) STRICT; CREATE TABLE later (x INTEGER) STRICT"
    later = max(steps) + 1
    monkeypatch.setattr(schema, "NEWEST", later)
    monkeypatch.setattr(schema, "_steps", lambda: steps | {later: broken})
    with pytest.raises(StoreDamagedError):
        Store.open(path, _NOW)
    monkeypatch.undo()
    store = Store.open(path, _NOW)
    assert store.database.rows("PRAGMA user_version") == [(max(steps),)]
    assert store.database.rows("SELECT name FROM sqlite_schema WHERE name = 'later'") == []
    store.close()


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="no other user to be")
def test_a_folder_that_may_not_be_written_is_reported() -> None:
    """Root may write anywhere: so this is tried as somebody else where the tests run as root."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        Store.open(folder / "halo.db", _NOW).close()
        (folder / "halo.db").chmod(0o444)
        folder.chmod(0o555)
        me = os.geteuid()
        if me == 0:
            os.seteuid(65_534)
        try:
            for path in (folder / "halo.db", folder / "new" / "halo.db"):
                with pytest.raises(
                    StoreUnavailableError, match=r"check the folder and the disk|belongs to root"
                ):
                    Store.open(path, _NOW)
        finally:
            os.seteuid(me)
            folder.chmod(0o755)


@pytest.mark.parametrize("content", [b"not a database at all" * 500, b"SQLite format 3\0" + b"x" * 5_000])
def test_a_file_that_is_not_a_database_is_reported(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(StoreDamagedError, match="halo backup restore --latest"):
        Store.open(path, _NOW)
    assert path.read_bytes() == content


def test_another_sqlite_database_is_left_alone(path: Path) -> None:
    path.parent.mkdir(parents=True)
    other = apsw.Connection(str(path))
    other.execute("CREATE TABLE scheduler_jobs (x)").fetchall()
    other.close()
    with pytest.raises(StoreDamagedError, match="not a Halo database"):
        Store.open(path, _NOW)


def test_a_folder_in_the_way_is_reported(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(StoreUnavailableError, match="cannot be used"):
        Store.open(path, _NOW)


def test_a_locked_database_is_reported(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halo_scheduler.store.connection._BUSY_TIMEOUT_MS", 1)
    store, other = Store.open(path, _NOW), Store.open(path, _NOW)
    with store.transaction(), pytest.raises(StoreUnavailableError, match="in use by another program"):
        other.jobs.insert([_record()])
    store.close()
    other.close()


def test_threads_of_a_process_take_turns_to_write(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Store.open(path, _NOW).close()
    # So SQLite would refuse the second thread at once.
    monkeypatch.setattr(Database, "open", _open_without_patience(Database.open))
    inside, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        store = Store(Database.open(path))
        with store.transaction():
            inside.set()
            may_end.wait()
        store.close()

    holder = threading.Thread(target=hold)
    holder.start()
    inside.wait()
    store = Store(Database.open(path))
    threading.Timer(0.05, may_end.set).start()
    with store.transaction():
        store.jobs.insert([_record()])
    holder.join()
    store.close()


def _open_without_patience(really_open: Callable[[Path], Database]) -> Callable[[Path], Database]:
    def open_one(path: Path) -> Database:
        database = really_open(path)
        database._connection.set_busy_timeout(0)
        return database

    return open_one


def test_a_full_disk_loses_nothing_that_was_written(path: Path) -> None:
    store = Store.open(path, _NOW)
    store.jobs.insert([_record()])
    pages = store.database.rows("PRAGMA page_count")[0][0]
    store.database.rows(f"PRAGMA max_page_count = {pages + 1}")
    with pytest.raises(StoreUnavailableError, match=r"disk .* is full"), store.transaction():
        store.jobs.insert([_record(str(index), "x" * 190 + str(index)) for index in range(2, 500)])
    assert [record.id for record in store.jobs.all()] == ["1"]
    assert store.database.rows("PRAGMA integrity_check") == [("ok",)]
    store.close()


def test_a_replaced_file_is_noticed(path: Path) -> None:
    store = Store.open(path, _NOW)
    store.jobs.insert([_record()])
    for change in (lambda: path.rename(path.with_suffix(".away")), path.touch):
        change()
        with pytest.raises(StoreUnavailableError, match="deleted or replaced"), store.transaction():
            store.jobs.insert([_record("2", "lost")])
    store.close()


def test_a_helper_of_the_engine_creates_no_database(tmp_path: Path) -> None:
    path = tmp_path / "halo.db"
    with pytest.raises(StoreUnavailableError, match=r"halo\.db cannot be used"):
        Database.open(path, must_exist=True)
    assert not path.exists()


@pytest.mark.parametrize("endings", [("-wal", "-shm"), ("-wal",), ("-shm",)])
def test_a_deleted_journal_is_noticed(path: Path, endings: tuple[str, ...]) -> None:
    store = Store.open(path, _NOW)
    store.jobs.insert([_record()])
    for ending in endings:
        path.with_name(path.name + ending).unlink()
    with pytest.raises(StoreReplacedError, match="was deleted or replaced"), store.transaction():
        store.jobs.insert([_record("2", "lost")])
    # Others make new ones: these are not ours either.
    for ending in endings:
        path.with_name(path.name + ending).touch()
    with pytest.raises(StoreReplacedError, match="was deleted or replaced"):
        store.database.require_in_place()
    store.close()


_ADD = """
import sys
from pathlib import Path
from halo_scheduler.store.store import Store
store = Store.open(Path(sys.argv[1]), 1)
store.settings.save({"max_concurrent": 7})
"""


@pytest.mark.parametrize("is_used_by_others", [False, True])
def test_a_deleted_journal_is_kept_unless_others_have_begun_a_new_one(
    path: Path, is_used_by_others: bool
) -> None:
    store = Store.open(path, _NOW)
    store.database.reuse_journal()
    store.jobs.insert([_record()])
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink()
    if is_used_by_others:
        subprocess.run([sys.executable, "-c", _ADD, path], check=True)
    store.close()
    after = Store.open(path, _NOW)
    assert len(after.jobs.all()) == (0 if is_used_by_others else 1)
    assert (after.settings.read().max_concurrent == 7) == is_used_by_others
    after.check()
    after.close()


def test_the_write_ahead_log_of_an_open_database_survives_other_connections(path: Path) -> None:
    store = Store.open(path, _NOW)
    Store.open(path, _NOW).close()
    come_and_go = (
        "import sys; from pathlib import Path; from halo_scheduler.store.store import Store; "
        f"Store.open(Path(sys.argv[1]), {_NOW}).close()"
    )
    subprocess.run([sys.executable, "-c", come_and_go, path], check=True)
    for _ in range(2):
        with store.transaction():
            store.settings.save({"max_concurrent": 3})
        store.database.reuse_journal()
    store.close()


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="only Linux lists the locks on a file")
def test_opening_a_database_twice_keeps_the_locks_of_the_first(path: Path) -> None:
    store = Store.open(path, _NOW)
    inode = f":{path.stat().st_ino} "
    assert inode in Path("/proc/locks").read_text()
    Store.open(path, _NOW).close()
    assert inode in Path("/proc/locks").read_text()
    store.close()


def test_a_file_that_is_emptied_is_detected(path: Path) -> None:
    store = Store.open(path, _NOW)
    store.jobs.insert([_record()])
    os.truncate(path, 0)
    with pytest.raises(StoreDamagedError, match="overwritten"), store.transaction():
        store.jobs.insert([_record("2", "lost")])


def test_a_backup_that_is_copied_over_the_open_file_is_noticed(path: Path) -> None:
    store = Store.open(path, _NOW)
    store.jobs.insert([_record(str(number), f"job {number}") for number in range(300)])
    backup = back_up(store.database, _NOW)
    store.database.reuse_journal()
    with store.transaction():
        store.jobs.insert([_record("1000", "later")])
    path.write_bytes(backup.path.read_bytes())
    with pytest.raises(StoreDamagedError), store.transaction():
        store.jobs.insert([_record("1001", "lost")])


def test_a_truncated_wal_opens_consistently(path: Path) -> None:
    store = Store.open(path, _NOW)
    for index in range(20):
        store.jobs.insert([_record(str(index), f"job {index}")])
    copy = path.with_name("copy.db")
    copy.write_bytes(path.read_bytes())
    wal = path.with_name(path.name + "-wal").read_bytes()
    copy.with_name("copy.db-wal").write_bytes(wal[: len(wal) * 2 // 3])
    store.close()
    found = Store.open(copy, _NOW)
    assert found.database.rows("PRAGMA integrity_check") == [("ok",)]
    names = [record.id for record in sorted(found.jobs.all(), key=lambda record: int(record.id))]
    assert names == [str(index) for index in range(len(names))]
    found.close()


def test_a_backup_contains_everything_but_the_output(path: Path) -> None:
    store = Store.open(path, _NOW)
    store.jobs.insert([_record()])
    store.runs.insert([Run(id="a", job_id="1", trigger=Trigger.SCHEDULE, source=Source.EVERY, slot_at=5)], 1)
    store.outputs.insert(
        [StoredOutput(run_id="a", content=zlib.compress(b"secret output", 0), total_bytes=13)]
    )
    store.inputs.insert(_outputs("a"))
    assert store.outputs.read("a") == b"secret output"
    backup = back_up(store.database, _NOW)
    store.close()
    assert stat.S_IMODE(backup.path.stat().st_mode) == 0o600
    copy = Store.open(backup.path, _NOW)
    assert [record.id for record in copy.jobs.all()] == ["1"]
    assert copy.runs.get("a") is not None
    assert (copy.outputs.read("a"), copy.inputs.read("a")) == (b"", b"")
    assert copy.database.rows("PRAGMA integrity_check") == [("ok",)]
    copy.close()
    assert b"secret output" not in backup.path.read_bytes()


def test_seven_backups_are_kept(path: Path) -> None:
    store = Store.open(path, _NOW)
    for day in range(9):
        back_up(store.database, _NOW + day)
    store.close()
    assert [backup.made_at - _NOW for backup in list_backups(path)] == [8, 7, 6, 5, 4, 3, 2]


def test_a_restored_backup_replaces_a_truncated_file_which_is_kept(path: Path) -> None:
    store = Store.open(path, _NOW)
    store.jobs.insert([_record()])
    backup = back_up(store.database, _NOW)
    store.close()
    broken = path.read_bytes()[:5_000]
    path.write_bytes(broken)
    with pytest.raises(StoreDamagedError):
        Store.open(path, _NOW)
    aside = restore(path, backup, _NOW)
    assert aside is not None
    assert aside.read_bytes() == broken
    restored = Store.open(path, _NOW)
    assert [record.id for record in restored.jobs.all()] == ["1"]
    restored.close()


def test_a_backup_that_is_exchanged_after_it_was_checked_is_not_taken(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.open(path, _NOW)
    store.jobs.insert([_record()])
    backup = back_up(store.database, _NOW)
    store.close()

    def exchange(checked: Path) -> None:
        check(checked)
        checked.unlink()
        checked.write_bytes(b"planted")

    monkeypatch.setattr("halo_scheduler.store.backup.check", exchange)
    restore(path, backup, _NOW)
    restored = Store.open(path, _NOW)
    assert [record.id for record in restored.jobs.all()] == ["1"]
    restored.close()


def test_a_damaged_backup_is_not_restored(path: Path) -> None:
    store = Store.open(path, _NOW)
    store.jobs.insert([_record()])
    backup = back_up(store.database, _NOW)
    store.close()
    backup.path.write_bytes(b"junk" * 1_000)
    before = path.read_bytes()
    with pytest.raises(StoreDamagedError):
        restore(path, backup, _NOW)
    assert path.read_bytes() == before


def test_a_file_that_is_not_our_backup_is_not_restored(path: Path) -> None:
    Store.open(path, _NOW).close()
    empty = path.parent / "backups" / "halo-5.db"
    empty.parent.mkdir()
    empty.touch()
    (empty.parent / "halo-old.db").touch()
    (found,) = list_backups(path)
    with pytest.raises(StoreDamagedError, match="not a backup of Halo"):
        restore(path, found, _NOW)


def test_a_file_set_aside_is_never_overwritten(path: Path) -> None:
    store = Store.open(path, _NOW)
    backup = back_up(store.database, _NOW)
    store.close()
    asides = {restore(path, backup, _NOW) for _ in range(3)}
    assert len(asides) == 3
    assert all(aside is not None and aside.exists() for aside in asides)


def test_a_backup_does_not_prevent_writing(path: Path) -> None:
    store, other = Store.open(path, _NOW), Store.open(path, _NOW)
    with other.database.snapshot():
        other.jobs.all()
        store.jobs.insert([_record()])
        assert other.jobs.all() == []
    assert len(other.jobs.all()) == 1
    store.close()
    other.close()


def test_old_and_surplus_runs_are_pruned_in_steps(path: Path) -> None:
    store = Store.open(path, _NOW)
    store.jobs.insert([_record()])
    runs = [
        Run(
            id=str(index),
            job_id="1",
            trigger=Trigger.SCHEDULE,
            source=Source.EVERY,
            slot_at=index,
            finished_at=index,
            outcome="success",  # type: ignore[arg-type] # the word will do
        )
        for index in range(20)
    ]
    store.runs.insert(runs, 1)
    assert store.runs.prune(keep_per_job=100, ended_before=5, most=3) == 3
    assert store.runs.prune(keep_per_job=100, ended_before=5, most=3) == 2
    assert store.runs.prune(keep_per_job=10, ended_before=5, most=100) == 5
    assert store.runs.prune(keep_per_job=10, ended_before=5, most=100) == 0
    assert store.database.rows("SELECT min(slot_at), count(*) FROM scheduler_run_log") == [(10, 10)]
    # What was pruned still counts as run.
    assert [store.runs.has_slot("1", slot) for slot in (0, 9, 10, 19, 20)] == [True, True, True, True, False]
    store.close()


# --- Output ---------------------------------------------------------------------------------------


def _store_with_runs(path: Path, names: str) -> Store:
    store = Store.open(path, _NOW)
    store.jobs.insert([_record()])
    runs = [Run(id=name, job_id="1", trigger=Trigger.MANUAL, source=Source.MANUAL) for name in names]
    store.runs.insert(runs, 1)
    return store


def _outputs(names: str, content_bytes: int = 100) -> list[StoredOutput]:
    contents = {name: zlib.compress(name.encode() * content_bytes, 0) for name in names}
    return [
        StoredOutput(run_id=name, content=content, total_bytes=content_bytes)
        for name, content in contents.items()
    ]


def test_output_is_read_as_it_was_printed(path: Path) -> None:
    store = _store_with_runs(path, "abc")
    raw = bytes(range(256)) * 100
    store.outputs.insert(
        [
            StoredOutput(run_id="a", content=zlib.compress(raw), total_bytes=10**12),
            StoredOutput(run_id="b", content=b"", total_bytes=0),
        ]
    )
    assert [store.outputs.read(name) for name in "abc"] == [raw, b"", b""]
    assert store.database.rows("SELECT total_bytes, stored_bytes FROM scheduler_run_output") == [
        (10**12, len(zlib.compress(raw))),
        (0, 0),
    ]
    store.close()


def test_the_first_output_of_a_run_stays(path: Path) -> None:
    store = _store_with_runs(path, "a")
    store.outputs.insert(_outputs("a", 5))
    store.outputs.insert(_outputs("a", 9))
    assert store.outputs.read("a") == b"aaaaa"
    store.close()


def test_output_goes_with_its_run(path: Path) -> None:
    store = _store_with_runs(path, "ab")
    store.outputs.insert(_outputs("ab"))
    store.database.rows("DELETE FROM scheduler_run_log WHERE id = 'a'")
    assert [store.outputs.read(name) for name in "ab"] == [b"", b"b" * 100]
    with pytest.raises(apsw.ConstraintError):
        store.outputs.insert(_outputs("x"))
    store.close()


def test_the_oldest_output_is_dropped_in_steps_and_its_runs_stay(path: Path) -> None:
    store = _store_with_runs(path, "abcdef")
    outputs = _outputs("abcdef")
    store.outputs.insert(outputs)
    room = sum(len(output.content) for output in outputs[3:])
    assert store.outputs.prune(keep_bytes=10**9, most=100) == 0
    assert store.outputs.prune(keep_bytes=room, most=2) == 2
    assert store.outputs.prune(keep_bytes=room, most=2) == 1
    assert store.outputs.prune(keep_bytes=room, most=2) == 0
    assert "".join(name for name in "abcdef" if store.outputs.read(name)) == "def"
    assert store.outputs.prune(keep_bytes=room - 1, most=2) == 1
    assert store.outputs.prune(keep_bytes=0, most=100) == 2
    assert store.database.rows("SELECT count(*) FROM scheduler_run_log") == [(6,)]
    store.close()


def test_adding_up_output_reads_only_its_sizes(path: Path) -> None:
    store = Store.open(path, _NOW)
    plan = store.database.rows("EXPLAIN QUERY PLAN SELECT sum(stored_bytes) FROM scheduler_run_output")
    assert any("COVERING INDEX scheduler_run_output_size" in row[-1] for row in plan)
    store.close()


# --- Names of secrets -----------------------------------------------------------------------------


def test_names_of_secrets_are_kept_replaced_and_removed(path: Path) -> None:
    store = Store.open(path, _NOW)
    in_ring = SecretName(name="B", place=SecretPlace.KEYRING, changed_at=_NOW)
    in_file = SecretName(name="A", place=SecretPlace.FILE, changed_at=_NOW + 1)
    moved = SecretName(name="B", place=SecretPlace.FILE, changed_at=_NOW + 2)
    for secret in (in_ring, in_file):
        store.secrets.save(secret)
    assert store.secrets.all() == [in_file, in_ring]
    assert store.secrets.get_many(["B", "C"]) == {"B": in_ring}
    assert store.secrets.get_many([]) == {}
    store.secrets.save(moved)
    assert store.secrets.all() == [in_file, moved]
    store.secrets.remove("A")
    store.secrets.remove("never there")
    assert store.secrets.all() == [moved]
    store.close()


# --- From the first schema ------------------------------------------------------------------------


def _make_old(path: Path, version: int) -> Database:
    """Make a database as an earlier version left it, with a job."""
    database = Database.open(path)
    for number in range(1, version + 1):
        database.run_script(schema._steps()[number])
    database.run_script(f"PRAGMA user_version = {version}")
    columns = [row[1] for row in database.rows("PRAGMA table_info(scheduler_jobs)")]
    store = Store.open(path.with_name("new.db"), _NOW)
    store.jobs.insert([_record()])
    renamed = {"waiting_reason": "waiting_details"}
    (job,) = store.database.rows(
        f"SELECT {', '.join(renamed.get(name, name) for name in columns)} FROM scheduler_jobs"
    )
    store.close()
    database.rows(f"INSERT INTO scheduler_jobs VALUES ({', '.join('?' * len(job))})", job)
    policy = json.loads(job[columns.index("policy")])
    for added in ("caps", "reads_lines"):
        policy.pop(added)
    database.rows("UPDATE scheduler_jobs SET policy = ?", [json.dumps(policy)])
    return database


def _make_first(path: Path) -> None:
    """Make a database as the first version left it, with a job and a run."""
    database = _make_old(path, 1)
    database.rows(
        "INSERT INTO scheduler_run_log (id, job_id, slot_at, attempt, trigger, source, outcome, error, generation) "
        "VALUES ('a', '1', 5, 1, 'schedule', 'every', 'failure', 'it broke', 1)"
    )
    database.close()


def test_a_database_of_the_first_version_keeps_its_jobs_and_runs(path: Path) -> None:
    _make_first(path)
    store = Store.open(path, _NOW + 1)
    assert store.database.rows("PRAGMA user_version") == [(max(schema._steps()),)]
    assert store.jobs.all() == [_record()]
    run = store.runs.get("a")
    assert run is not None
    assert (run.slot_at, run.error, run.note, run.progress, run.progress_text) == (
        5,
        "it broke",
        "",
        None,
        "",
    )
    store.outputs.insert(_outputs("a"))
    assert store.outputs.read("a") == b"a" * 100
    assert store.secrets.all() == []
    assert store.database.rows("PRAGMA integrity_check") == [("ok",)]
    assert store.database.rows("PRAGMA foreign_key_check") == []
    store.close()


def test_a_migrated_database_has_the_schema_of_a_new_one(path: Path) -> None:
    _make_first(path)
    schemas = []
    for file in (path, path.with_name("another.db")):
        store = Store.open(file, _NOW)
        schemas.append(store.database.rows("SELECT type, name, sql FROM sqlite_schema ORDER BY name"))
        store.close()
    assert schemas[0] == schemas[1]


def test_the_first_version_is_backed_up_before_it_is_changed(path: Path) -> None:
    _make_first(path)
    Store.open(path, _NOW + 1).close()
    (backup,) = list_backups(path)
    copy = apsw.Connection(str(backup.path))
    assert copy.execute("PRAGMA user_version").fetchall() == [(1,)]
    assert copy.execute("SELECT id, error FROM scheduler_run_log").fetchall() == [("a", "it broke")]
    copy.close()


# --- From the second schema -----------------------------------------------------------------------


def _make_second(path: Path) -> None:
    """Make a database as the second version left it: a job, a run that ended, one under way, and two wishes."""
    database = _make_old(path, 2)
    for run_id, outcome, finished_at in (("a", "failure", _NOW + 5), ("b", "running", None)):
        database.rows(
            "INSERT INTO scheduler_run_log "
            "(id, job_id, attempt, trigger, source, outcome, started_at, finished_at, generation) "
            "VALUES (?, '1', 1, 'manual', 'manual', ?, ?, ?, 1)",
            [run_id, outcome, _NOW, finished_at],
        )
    for kind, run_id in (("trigger", "c"), ("cancel", "b")):
        database.rows(
            "INSERT INTO scheduler_requests (kind, job_id, run_id, at) VALUES (?, '1', ?, ?)",
            [kind, run_id, _NOW],
        )
    database.rows("INSERT INTO scheduler_settings VALUES ('max_concurrent', '7')")
    database.close()


def test_a_database_of_the_second_version_keeps_its_data(path: Path) -> None:
    _make_second(path)
    store = Store.open(path, _NOW + 1)
    assert store.database.rows("PRAGMA user_version") == [(max(schema._steps()),)]
    assert [record.evolve(last_ended_at=None) for record in store.jobs.all()] == [_record()]
    assert [run.id for run in store.history.log(RunFilter(), 10)] == ["b", "a"]
    assert [run.id for run in store.history.log(RunFilter(outcomes=[Outcome.FAILURE]), 10)] == ["a"]
    assert [run.id for run in store.history.failures_after(0, [], 10)] == ["a"]
    assert [(request.kind, request.payload) for request in store.requests.triggers()] == [("trigger", "")]
    assert [request.run_id for request in store.requests.others()] == ["b"]
    assert store.requests.tests_under_way() == {}
    assert store.settings.read().max_concurrent == 7
    assert store.database.rows("PRAGMA integrity_check") == [("ok",)]
    (backup,) = list_backups(path)
    copy = apsw.Connection(str(backup.path))
    assert copy.execute("PRAGMA user_version").fetchall() == [(2,)]
    copy.close()
    store.close()


def test_both_old_schemas_become_the_new_one(path: Path) -> None:
    _make_second(path)
    schemas = []
    for file in (path, path.with_name("another.db")):
        store = Store.open(file, _NOW)
        schemas.append(store.database.rows("SELECT type, name, sql FROM sqlite_schema ORDER BY name"))
        store.close()
    assert schemas[0] == schemas[1]


# --- From the third schema ------------------------------------------------------------------------


def _make_third(path: Path) -> None:
    """Make a database as the third version left it: a job, a run, a wish and a test run that is wanted."""
    database = _make_old(path, 3)
    database.rows(
        "INSERT INTO scheduler_run_log (id, job_id, attempt, trigger, source, outcome, finished_at, generation) "
        "VALUES ('a', '1', 1, 'manual', 'manual', 'success', ?, 1)",
        [_NOW],
    )
    for kind in ("trigger", "test"):
        database.rows(
            "INSERT INTO scheduler_requests (kind, job_id, run_id, at, payload) VALUES (?, '1', ?, ?, '{}')",
            [kind, kind, _NOW],
        )
    database.close()


def test_a_database_of_the_third_version_keeps_its_data(path: Path) -> None:
    _make_third(path)
    store = Store.open(path, _NOW + 1)
    assert store.jobs.all() == [_record()]
    run = store.runs.get("a")
    assert run is not None
    assert (run.cost, run.work_id, run.work_title, run.work_url) == (None, "", "", "")
    assert [request.run_id for request in store.requests.triggers()] == ["trigger", "test"]
    assert store.questions.newest(10) == []
    assert store.usage.of("1", "2025-01-01") == Spent(0, 0.0)
    assert store.database.rows("PRAGMA integrity_check") == [("ok",)]
    store.close()


def test_the_third_schema_becomes_the_new_one(path: Path) -> None:
    _make_third(path)
    schemas = []
    for file in (path, path.with_name("another.db")):
        store = Store.open(file, _NOW)
        schemas.append(store.database.rows("SELECT type, name, sql FROM sqlite_schema ORDER BY name"))
        store.close()
    assert schemas[0] == schemas[1]


# --- From the fifth schema ------------------------------------------------------------------------


def _make_fifth(path: Path, may_edit: str | None) -> None:
    """Make a database as the fifth version left it: a job, what happened to it, and the switch for assistants."""
    database = _make_old(path, 5)
    database.rows(
        "INSERT INTO scheduler_events (at, job_id, kind, detail) VALUES (?, '1', 'job-paused', '{\"until\": 7}')",
        [_NOW],
    )
    if may_edit is not None:
        database.rows("INSERT INTO scheduler_settings VALUES ('assistants_may_edit', ?)", [may_edit])
    database.close()


@pytest.mark.parametrize(
    ("may_edit", "access"),
    [("true", AssistantAccess.EDIT), ("false", AssistantAccess.RUN), (None, AssistantAccess.RUN)],
)
def test_a_database_of_the_fifth_version_keeps_its_data(
    path: Path, may_edit: str | None, access: AssistantAccess
) -> None:
    _make_fifth(path, may_edit)
    store = Store.open(path, _NOW + 1)
    assert store.jobs.all() == [_record()]
    assert store.jobs.all()[0].spec.policy.assistants_may_run
    (event,) = store.events.of_job("1")
    assert (event.kind, event.detail, event.assistant) == (EventKind.JOB_PAUSED, {"until": 7}, None)
    assert store.events.of_assistants(10) == []
    assert store.settings.read().assistants is access
    assert store.database.rows("SELECT 1 FROM scheduler_settings WHERE key = 'assistants_may_edit'") == []
    assert store.database.rows("PRAGMA integrity_check") == [("ok",)]
    store.close()


def test_the_fifth_schema_becomes_the_new_one(path: Path) -> None:
    _make_fifth(path, "true")
    schemas = []
    for file in (path, path.with_name("another.db")):
        store = Store.open(file, _NOW)
        schemas.append(store.database.rows("SELECT type, name, sql FROM sqlite_schema ORDER BY name"))
        store.close()
    assert schemas[0] == schemas[1]


def test_actions_of_assistants_are_found_by_an_index(path: Path) -> None:
    store = Store.open(path, _NOW)
    actor = Actor.assistant("claude-code")
    store.events.append(_NOW, EventKind.JOB_PAUSED, "1", actor=actor, until=None)
    store.events.append_many(_NOW, EventKind.JOB_ADDED, [("2", {})], actor)
    store.events.append(_NOW, EventKind.JOB_PAUSED, "2", actor=actor, by="assistant")
    store.events.append(_NOW, EventKind.JOB_PAUSED, "1", until=None)
    assert [(event.job_id, event.assistant) for event in store.events.of_assistants(10)] == [
        ("2", "claude-code"),
        ("1", "claude-code"),
    ]
    assert [event.job_id for event in store.events.of_assistants(10, job_id="1")] == ["1"]
    sql = "EXPLAIN QUERY PLAN SELECT seq FROM scheduler_events WHERE assistant IS NOT NULL ORDER BY seq DESC"
    assert "scheduler_events_assistant" in store.database.rows(sql)[0][-1]
    store.close()


@pytest.mark.parametrize(
    ("chosen", "index"),
    [
        (RunFilter(), "scheduler_run_log_at"),
        (RunFilter(job_id="1", since=5), "scheduler_run_log_job"),
        (RunFilter(trigger=Trigger.MANUAL, outcomes=[Outcome.FAILURE]), "scheduler_run_log_trigger"),
        (RunFilter(trigger=Trigger.SCHEDULE, since=5, until=9), "scheduler_run_log_at"),
        (RunFilter(outcomes=[Outcome.FAILURE, Outcome.TIMEOUT], since=5), "scheduler_run_log_outcome"),
        (RunFilter(outcomes=[Outcome.RUNNING]), "scheduler_run_log_running"),
    ],
)
def test_every_page_is_found_by_an_index_and_never_sorted_as_a_whole(
    path: Path, chosen: RunFilter, index: str
) -> None:
    store = Store.open(path, _NOW)
    sql, values = store.history._page(chosen, 50)
    plan = [row[-1] for row in store.database.rows(f"EXPLAIN QUERY PLAN {sql}", values)]
    used = [step for step in plan if "scheduler_run_log" in step]
    assert used
    assert all(index in step for step in used)
    # Those of several outcomes are merged, those under way are few: nothing else is put in order.
    sorts = [step for step in plan if "TEMP B-TREE" in step]
    is_sorted_apart = chosen.outcomes is not None and (len(chosen.outcomes) > 1 or index.endswith("running"))
    assert bool(sorts) == is_sorted_apart
    store.close()


def test_pruning_keeps_the_newest_of_each_job_and_active_runs(path: Path) -> None:
    store = Store.open(path, _NOW)
    store.jobs.insert([_record("1", "one"), _record("2", "two")])
    for index in range(12):
        is_running = index == 0
        run = Run(
            id=f"{index}",
            job_id="1" if index % 2 == 0 else "2",
            trigger=Trigger.MANUAL,
            source=Source.MANUAL,
            outcome=Outcome.RUNNING if is_running else Outcome.SUCCESS,
            started_at=_NOW + index,
            finished_at=None if is_running else _NOW + index,
        )
        store.runs.insert([run], 1)
    assert store.runs.prune(keep_per_job=3, ended_before=0, most=4) == 4
    assert store.runs.prune(keep_per_job=3, ended_before=0, most=4) == 1
    assert store.runs.prune(keep_per_job=3, ended_before=0, most=4) == 0
    kept = {run.id for run in store.history.log(RunFilter(), 50)}
    assert kept == {"0", "6", "8", "10", "7", "9", "11"}
    assert store.runs.prune(keep_per_job=100, ended_before=_NOW + 9, most=100) == 3
    assert {run.id for run in store.history.log(RunFilter(), 50)} == {"0", "10", "9", "11"}
    store.close()


def test_every_outcome_that_is_an_error_counts_as_a_failure(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "ERRORS", (Outcome.FAILURE, Outcome.TIMEOUT, Outcome.CANCELLED))
    store = Store.open(path, _NOW)
    store.jobs.insert([_record()])
    for index, outcome in enumerate((Outcome.SUCCESS, Outcome.FAILURE, Outcome.CANCELLED, Outcome.TIMEOUT)):
        run = Run(
            id=outcome,
            job_id="1",
            trigger=Trigger.SCHEDULE,
            source=Source.EVERY,
            outcome=outcome,
            started_at=_NOW + index,
            finished_at=_NOW + index,
        )
        store.runs.insert([run], 1)
    assert [run.id for run in store.history.failures_after(0, [], 10)] == ["timeout", "cancelled", "failure"]
    store.close()


def _ended(run_id: str, reason: SkipReason | None = None) -> Run:
    return Run(
        id=run_id,
        job_id="1",
        trigger=Trigger.SCHEDULE,
        source=Source.EVERY,
        slot_at=_NOW + int(run_id),
        outcome=Outcome.SUCCESS if reason is None else Outcome.SKIPPED,
        reason=reason,
        finished_at=_NOW + int(run_id),
    )


def test_skipped_slots_are_pruned_before_real_runs(path: Path) -> None:
    store = Store.open(path, _NOW)
    store.jobs.insert([_record()])
    held = [SkipReason.CAP, SkipReason.NEEDS_INPUT, SkipReason.NO_WORK]
    runs = [_ended("0"), _ended("1", SkipReason.PAUSED)]
    runs += [_ended(str(number), held[number % 3]) for number in range(2, 8)]
    store.runs.insert([*runs, _ended("8")], 1)
    assert store.runs.prune(keep_per_job=5, ended_before=0, most=3) == 3
    assert store.runs.prune(keep_per_job=5, ended_before=0, most=3) == 1
    assert [run.id for run in store.history.log(RunFilter(), 50)] == ["8", "7", "6", "1", "0"]
    assert store.runs.has_slot("1", _NOW + 3)
    store.close()


def test_the_newest_rows_are_kept_even_if_they_are_skipped_slots(path: Path) -> None:
    store = Store.open(path, _NOW)
    store.jobs.insert([_record()])
    runs = [_ended(str(number)) for number in range(8)]
    runs += [_ended(str(number), SkipReason.NEEDS_INPUT) for number in range(8, 12)]
    store.runs.insert(runs, 1)
    while store.runs.prune(keep_per_job=8, ended_before=0, most=3):
        pass
    kept = [run.id for run in store.history.log(RunFilter(), 50)]
    assert kept == ["11", "10", *(str(number) for number in range(7, 1, -1))]
    store.close()


# --- Questions and usage --------------------------------------------------------------------------


def _question(number: int, job_id: str = "1") -> Question:
    return Question(
        id=f"q{number}", job_id=job_id, run_id=f"r{number}", asked_at=_NOW + number, text=f"Which {number}?"
    )


def test_questions_are_kept_and_settled_once(path: Path) -> None:
    store = Store.open(path, _NOW)
    store.jobs.insert([_record()])
    store.questions.insert([_question(1), _question(2)])
    assert store.questions.open_ones() == [_question(1), _question(2)]
    assert store.questions.newest(1) == [_question(2)]
    assert store.questions.of_run("r2") == _question(2)
    assert store.questions.of_run("r3") is None
    answered = QuestionState.ANSWERED
    assert store.questions.settle("q1", answered, _NOW + 9, answer="this", answer_run_id="a1")
    assert not store.questions.settle("q1", QuestionState.DISMISSED, _NOW + 10)
    found = store.questions.answered_by("a1")
    assert found is not None
    assert (found.state, found.answer, found.settled_at) == (answered, "this", _NOW + 9)
    assert store.questions.open_ones() == [_question(2)]
    assert store.questions.reopen("a1") == _question(1)
    assert store.questions.reopen("a1") is None
    assert store.questions.open_ones(1) == [_question(1)]
    store.close()


def test_the_oldest_open_question_of_each_job_blocks_it(path: Path) -> None:
    store = Store.open(path, _NOW)
    store.jobs.insert([_record(), _record("2", "other")])
    store.questions.insert([_question(1), _question(2), _question(3, "2")])
    assert store.questions.asked_by_jobs() == {"1": "Which 1?", "2": "Which 3?"}
    store.questions.settle("q1", QuestionState.DISMISSED, _NOW)
    store.questions.settle("q3", QuestionState.DISMISSED, _NOW)
    assert store.questions.asked_by_jobs() == {"1": "Which 2?"}
    store.close()


def test_questions_lie_in_the_trash_with_their_job_and_go_with_it(path: Path) -> None:
    store = Store.open(path, _NOW)
    store.jobs.insert([_record()])
    store.questions.insert([_question(1), _question(2, "nobody's")])
    store.jobs.set_removed("1", _NOW)
    assert store.questions.open_ones() == store.questions.newest(10) == []
    assert store.questions.get("q1") == _question(1)
    assert store.questions.get("q2") is None
    store.jobs.set_removed("1", None)
    assert store.questions.newest(10) == [_question(1)]
    store.jobs.set_removed("1", _NOW)
    store.jobs.purge(_NOW + 1)
    assert store.questions.get("q1") is None
    store.close()


def test_open_questions_are_found_without_reading_the_settled_ones(path: Path) -> None:
    store = Store.open(path, _NOW)
    plan = store.database.rows(
        "EXPLAIN QUERY PLAN SELECT job_id, text FROM scheduler_questions INDEXED BY scheduler_questions_open "
        "WHERE state = 'open' ORDER BY seq DESC"
    )
    assert any("scheduler_questions_open" in row[-1] for row in plan)
    store.close()


def test_costs_are_added_up_by_day(path: Path) -> None:
    store = Store.open(path, _NOW)
    store.jobs.insert([_record()])
    store.usage.add([("1", "2025-01-01", Spent(1, 0.1)), ("1", "2025-01-01", Spent(1, 0.2))])
    store.usage.add([("1", "2025-01-02", Spent(0, 1.0)), ("nobody's", "2025-01-02", Spent(1, 1.0))])
    assert store.usage.of("1", "2025-01-01") == Spent(2, 0.3)
    assert store.usage.of("1", "2025-01-02") == Spent(0, 1.0)
    store.usage.forget_before("2025-01-02")
    assert store.usage.of("1", "2025-01-01") == Spent(0, 0.0)
    assert store.database.rows("SELECT job_id FROM scheduler_usage") == [("1",)]
    store.close()


def test_a_note_is_added_behind_the_one_that_is_there(path: Path) -> None:
    store = _store_with_runs(path, "a")
    for note in ("one", "two"):
        store.runs.add_note("a", message(MessageKind.TEXT, text=note))
    run = store.runs.get("a")
    assert run is not None
    assert run.note == "one; two"
    store.close()


def test_a_system_error_is_reported_without_its_number(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(StoreUnavailableError) as caught:
        Store.open(path, _NOW)
    assert str(caught.value) == f"{path} cannot be used (permission denied); check the folder and the disk"


def test_a_file_instead_of_the_folder_is_reported_in_words(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("mine")
    for path in (tmp_path / "home" / "halo.db", tmp_path / "home" / "below" / "halo.db"):
        with pytest.raises(StoreUnavailableError, match="there is a file in the place of its folder"):
            Store.open(path, _NOW)
