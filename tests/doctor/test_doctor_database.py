"""Looking at the database, in whatever state it is, without touching it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import apsw
import pytest
from checkup import everything_in, found_by, is_fine, mended_by_nobody, only, scene_of, seen_by_nobody
from process_probe import until

from halo_scheduler import Every
from halo_scheduler.doctor import examination
from halo_scheduler.doctor.database import check_database, check_disk, check_users, open_database
from halo_scheduler.doctor.permissions import check_permissions
from halo_scheduler.doctor.scene import Finding, Mark, Scene, Topic, size_of
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.service.settings import make_backup
from halo_scheduler.store.schema import NEWEST

_NOW = 1_800_000_000_000


class _Usage(NamedTuple):
    """How full a disk is."""

    free: int


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "halo" / "halo.db"
    with Scheduler.open(path) as scheduler:
        scheduler.add_job("job", Every("1h"))
    return path


@pytest.fixture
def passable(path: Path) -> Iterator[Path]:
    """A copy of the database in a folder that everybody may pass: pytest closes its own when another run begins."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        yield Path(shutil.copytree(path.parent, Path(folder) / "halo")) / path.name


def _opened(path: Path) -> list[Finding]:
    """Open a database and return what is wrong with it; nothing around it may have changed."""
    before = everything_in(path.parent)
    store, findings = open_database(path)
    if store is not None:
        store.close()
    assert everything_in(path.parent) == before
    assert (store is None) == bool(findings)
    return findings


def _set_version(path: Path, version: int) -> None:
    connection = apsw.Connection(str(path))
    connection.execute(f"PRAGMA user_version = {version}").fetchall()
    connection.close()


def test_a_file_instead_of_the_data_folder_is_reported_and_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "mine.txt"
    place.touch(mode=0o644)
    store, findings = open_database(place / "halo.db")
    assert store is None
    assert only(findings).mark is Mark.WRONG
    assert only(findings).what == f"{place} is a file, not a folder; nothing can be stored there."
    assert not [finding for finding in found_by(check_permissions, place / "halo.db") if finding.mend]


def test_an_intact_database_is_counted_and_not_changed(path: Path) -> None:
    assert _opened(path) == []
    (finding,) = found_by(check_database, path)
    assert finding.mark is Mark.FINE
    assert "1 job" in finding.what


def test_checking_creates_no_database(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "halo.db"
    store, findings = open_database(path)
    assert store is None
    assert is_fine(findings)
    assert found_by(check_disk, path) == []
    assert list(tmp_path.iterdir()) == []


def test_a_database_that_is_gone_is_to_be_restored(path: Path) -> None:
    make_backup(path, _NOW)
    path.unlink()
    finding = only(_opened(path))
    assert (finding.mark, finding.advice) == (
        Mark.WRONG,
        "Restore the newest backup with: halo backup restore --latest",
    )
    assert "is missing" in finding.what


@pytest.mark.parametrize("content", [b"junk" * 2_000, b"SQLite format 3\0" + b"\xff" * 8_000])
def test_a_file_that_is_not_a_database_is_reported_and_kept(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    finding = only(_opened(path))
    assert finding.mark is Mark.WRONG
    assert "halo backup restore --latest" in finding.advice
    assert path.read_bytes() == content


def test_a_page_that_was_overwritten_is_noticed(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(4_096)
        file.write(b"\0" * 8_192)
    assert only(_opened(path)).mark is Mark.WRONG


def test_a_folder_instead_of_the_database_causes_no_crash(path: Path) -> None:
    path.unlink()
    path.mkdir()
    assert only(_opened(path)).mark is Mark.WRONG


def test_a_newer_database_names_the_backup_that_was_made_before(path: Path) -> None:
    made = make_backup(path, _NOW)
    _set_version(path, NEWEST + 1)
    newer = make_backup(path, _NOW + 1)
    finding = only(_opened(path))
    assert finding.mark is Mark.WRONG
    assert f"schema {NEWEST + 1}" in finding.what
    assert f"halo backup restore {made.path}" in finding.advice
    made.path.unlink()
    assert str(newer.path) not in only(_opened(path)).advice


def test_checking_does_not_upgrade_an_older_database(path: Path) -> None:
    _set_version(path, NEWEST - 1)
    assert only(_opened(path)).mark is Mark.LOOK
    connection = apsw.Connection(str(path))
    assert connection.execute("PRAGMA user_version").fetchall() == [(NEWEST - 1,)]
    connection.close()


def test_an_empty_file_is_not_filled(path: Path) -> None:
    path.write_bytes(b"")
    assert is_fine(_opened(path))
    (path.parent / "backups").mkdir()
    (path.parent / "backups" / "halo-1.db").touch(mode=0o600)
    assert only(_opened(path)).mark is Mark.WRONG


def test_the_database_of_another_program_is_none_of_ours(path: Path) -> None:
    path.unlink()
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE bookmarks (url)").fetchall()
    connection.close()
    assert "another program" in only(_opened(path)).what


def test_a_database_locked_by_another_process_is_reported(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
    connection.execute("BEGIN IMMEDIATE; UPDATE scheduler_jobs SET errors = 1; COMMIT").fetchall()
    finding = only(_opened(path))
    assert finding.mark is Mark.WRONG
    assert "in use by another program" in finding.what
    connection.close()


def test_records_in_the_write_ahead_log_count(path: Path) -> None:
    with Scheduler.open(path) as scheduler:
        scheduler.add_job("in the journal", Every("1h"))
        with scene_of(path) as scene:
            assert [record.spec.name for record in scene.jobs] == ["in the journal", "job"]
        size = path.stat().st_size + path.with_name("halo.db-wal").stat().st_size
        (finding,) = found_by(check_database, path)
        assert finding.what == f"{path} is intact: 2 jobs, {size_of(size)}."


def test_a_journal_on_a_disk_that_cannot_be_written_hides_only_itself(path: Path, passable: Path) -> None:
    with Scheduler.open(path) as scheduler:
        scheduler.add_job("in the journal", Every("1h"))
        folder = passable.parent.with_name("copy")
        folder.mkdir()
        for name in ("halo.db", "halo.db-wal"):
            shutil.copy(path.with_name(name), folder)
            (folder / name).chmod(0o444)
    folder.chmod(0o555)
    assert seen_by_nobody(folder / "halo.db") == "1 []"
    folder.chmod(0o755)


def test_a_user_without_read_permission_gets_an_error(passable: Path) -> None:
    passable.chmod(0o000)
    passable.parent.chmod(0o755)
    assert seen_by_nobody(passable) == f'None ["You don\'t have permission to read {passable}."]'


def test_a_folder_that_its_owner_cannot_use_is_reported_and_fixed(
    path: Path, passable: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = passable.parent
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder.with_name("config")))
    for place in (passable, folder):
        if os.geteuid() == 0:
            os.chown(place, 65_534, 65_534)
        place.chmod(0)
    looked, left, mended = mended_by_nobody(passable, other=path)
    assert looked[:2] == [
        f"database: You don't have permission to open {folder}.",
        f"permissions: You can't access {folder}.",
    ]
    assert not any("Errno" in sentence for sentence in looked)
    assert left == []
    assert mended == [f"Only you can use {folder} and {passable} now."]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has folders that are closed to others for good")
def test_a_folder_of_another_user_is_reported(path: Path, passable: Path) -> None:
    passable.parent.chmod(0o700)
    looked, left, mended = mended_by_nobody(passable, other=path)
    assert looked[:2] == [
        f"database: You don't have permission to open {passable.parent}.",
        f"permissions: {passable.parent} belongs to root, not to you.",
    ]
    assert (left, mended) == (looked, [])


def test_a_program_that_writes_into_a_deleted_database_is_named(path: Path) -> None:
    program = "import sys; f = open(sys.argv[1], 'rb'); print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert found_by(check_users, path) == []
        copy = path.with_name("copy")
        shutil.copy(path, copy)
        copy.replace(path)
        finding = only(found_by(check_users, path))
        assert finding.mark is Mark.WRONG
        assert f"(process {process.pid}) still uses a database" in finding.what
        process.kill()
    until(lambda: found_by(check_users, path) == [])


@pytest.mark.parametrize(
    ("free", "mark"), [(1_000, Mark.WRONG), (100_000_000, Mark.LOOK), (10_000_000_000, None)]
)
def test_a_nearly_full_disk_is_reported(
    path: Path, monkeypatch: pytest.MonkeyPatch, free: int, mark: Mark | None
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: _Usage(free))
    assert [finding.mark for finding in found_by(check_disk, path)] == ([] if mark is None else [mark])


def test_a_read_only_disk_is_reported(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.statvfs

    class Status:
        f_flag = os.ST_RDONLY

    monkeypatch.setattr(os, "statvfs", lambda place: Status if place == path.parent else real(place))
    finding = only(found_by(check_disk, path))
    assert (finding.mark, "read-only" in finding.what) == (Mark.WRONG, True)


def test_a_huge_write_ahead_log_is_reported(path: Path) -> None:
    with Scheduler.open(path) as scheduler:
        scheduler.add_job("other", Every("1h"))
        os.truncate(path.with_name("halo.db-wal"), 300 << 20)
        assert "journal" in only(found_by(check_database, path)).what


def test_a_write_that_starts_during_the_check_is_seen(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writers: list[Scheduler] = []

    def write(_scene: Scene) -> list[Finding]:
        if not writers:
            writers.append(Scheduler.open(path))
            writers[0].add_job("late", Every("1h"))
        return []

    monkeypatch.setattr(examination, "_ON_DATABASE", ((Topic.DATABASE, check_database),))
    monkeypatch.setattr(examination, "_ALWAYS", ((Topic.DATABASE, write),))
    (finding,) = examination.examine(path, _NOW).findings
    assert "2 jobs" in finding.what
    writers[0].close()


def test_a_check_that_fails_keeps_no_other_from_being_made(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_scene: Scene) -> list[Finding]:
        raise RuntimeError("Could not determine home directory.")

    checks = ((Topic.AUTOSTART, fail), (Topic.DATABASE, check_database))
    monkeypatch.setattr(examination, "_ON_DATABASE", ())
    monkeypatch.setattr(examination, "_ALWAYS", checks)
    findings = examination.examine(path, _NOW).findings
    assert [(finding.topic, finding.mark) for finding in findings] == [
        (Topic.DATABASE, Mark.FINE),
        (Topic.AUTOSTART, Mark.WRONG),
    ]


def test_a_problem_that_cannot_be_fixed_is_reported_and_still_counts(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.chmod(0o644)

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "chmod", refuse)
    report = examination.mend(path, _NOW)
    assert report.mended == ()
    assert "Operation not permitted" in report.refused[0]
    assert Topic.PERMISSIONS in {finding.topic for finding in report.findings if finding.mark is Mark.WRONG}
