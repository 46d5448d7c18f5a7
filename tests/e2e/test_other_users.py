"""Another user of the same computer tries to make Halo run jobs, or to stop it."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from other_users import OTHER, VICTIM, act_as, folder_of, needs_other_users, own, wal_of

from halo_scheduler import Command, Every
from halo_scheduler.service.scheduler import Scheduler

pytestmark = needs_other_users

# Every way in to a database: how a terminal, a desktop, a library and an assistant open it, and what else reads it.
_WAYS_IN = """
import os
from pathlib import Path
from halo_scheduler import Command, Every
from halo_scheduler.service.settings import find_backups, make_backup, restore_backup
from halo_scheduler.doctor.examination import examine, mend
from halo_scheduler.errors import SchedulerError
from halo_scheduler.paths import database_path
from halo_scheduler.service.quick_list import Overview
from halo_scheduler.service.scheduler import Scheduler

def listed():
    with Overview.open(1) as overview:
        return [job.name for job, _situation in overview.list_jobs()]

def completed():
    with Overview.open_for_reading() as overview:
        return [job.name for job, _situation in overview.list_jobs()]

def opened():
    with Scheduler.open() as scheduler:
        return run(scheduler)

def opened_by_path():
    with Scheduler.open(database_path()) as scheduler:
        return run(scheduler)

def run(scheduler):
    names = [job.name for job in scheduler.list_jobs()]
    for job in scheduler.list_jobs():
        scheduler.trigger(job.id)
    scheduler.tick()
    scheduler.stop()
    return names

def backed_up():
    return str(make_backup(database_path(), 5).path)

def restored(chosen=None):
    return str(restore_backup(database_path(), chosen and Path(chosen), 6)[0])

def backups_listed():
    return [str(backup.path) for backup in find_backups(database_path())]

def mended():
    return [f"{finding.what} {finding.advice}" for finding in mend(database_path(), 7).findings]

def diagnosed():
    return [finding.what for finding in examine(database_path(), 7).findings if finding.topic == "jobs"]

OPENING = (listed, completed, opened, opened_by_path)
WAYS = {way.__name__: way for way in (*OPENING, backed_up, restored, diagnosed, backups_listed, mended)}

def warm_up(folder):
    with Scheduler.open() as scheduler:
        scheduler.add_job("warm", Every("1h"), Command(argv=("true",)))
    for way in WAYS.values():
        way()
    mend(database_path(), 7)
    try:
        Scheduler.open(folder / "halo.db" / "halo.db")
    except SchedulerError:
        pass

def act(home, *names):
    os.environ["HALO_HOME"] = home
    return [said(*([name] if isinstance(name, str) else name)) for name in names]

def said(name, *arguments):
    try:
        return WAYS[name](*arguments)
    except SchedulerError as error:
        return str(error)
"""
_WRITES = """
def warm_up(_folder):
    pass

def act(source, target):
    with open(source, "rb") as hostile, open(target, "r+b") as database:
        database.truncate()
        database.write(hostile.read())
    return "written"
"""
_MAKES = """
from pathlib import Path
from halo_scheduler.errors import UnsafeFilesError
from halo_scheduler.host.owners import owner_words
from halo_scheduler.host.private_files import make_private_folder

def warm_up(_folder):
    owner_words(1)

def act(folder):
    try:
        make_private_folder(Path(folder))
    except UnsafeFilesError as error:
        return str(error)
"""
_RENAMES = """
import os

def warm_up(_folder):
    pass

def act(old, new):
    try:
        os.rename(old, new)
    except OSError as error:
        return error.strerror
    return "renamed"
"""
_WAYS = ("completed", "diagnosed", "listed", "opened", "opened_by_path", "backed_up", "restored")
_UNREAD = ["Engine, secrets, leftovers and jobs weren't checked, because the database can't be read."]


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that everybody may enter, as /home is: pytest closes its own to others."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def home(place: Path) -> Path:
    """The data folder of a user, with a job in it."""
    folder = place / "data"
    with Scheduler.open(folder / "halo.db") as scheduler:
        scheduler.add_job("mine", Every("1h"), Command(argv=("touch", str(place / "mine"))))
        scheduler.backups.make()
    for path in (folder, *folder.rglob("*")):
        os.chown(path, VICTIM, VICTIM)
    return folder


def _hostile(place: Path) -> Path:
    """A database of the other user, with a job that must never run."""
    folder = place / "hostile"
    with Scheduler.open(folder / "halo.db") as scheduler:
        scheduler.add_job("evil", Every("1h"), Command(argv=("touch", str(place / "pwned"))))
    for path in (folder, *folder.rglob("*")):
        os.chown(path, OTHER, OTHER)
    return folder


def test_a_planted_journal_is_refused_before_sqlite_replays_it(place: Path, home: Path) -> None:
    home.chmod(0o777)
    planted = home / "halo.db-wal"
    planted.write_bytes(wal_of((_hostile(place) / "halo.db").read_bytes()))
    own(planted, OTHER, 0o666)
    readers, others = _WAYS[:2], _WAYS[2:]
    completed, diagnosed = act_as(VICTIM, _WAYS_IN, home, *readers)
    assert f"other users can write to {home}" in completed
    assert diagnosed == _UNREAD
    for said in act_as(VICTIM, _WAYS_IN, home, *others):
        assert said.startswith(f"{planted} belongs to user {OTHER}, not to user {VICTIM}; ")
        assert f"mv {planted}" in said
        assert "chown" not in said
    assert not (place / "pwned").exists()
    assert planted.read_bytes()[:4] == b"\x37\x7f\x06\x82"


def test_a_database_that_others_could_write_to_is_refused_until_its_owner_has_closed_it(
    place: Path, home: Path
) -> None:
    database = home / "halo.db"
    for path in (home, *home.rglob("*")):
        path.chmod(0o777)
    assert act_as(OTHER, _WRITES, _hostile(place) / "halo.db", database) == "written"
    (completed,) = act_as(VICTIM, _WAYS_IN, home, "completed")
    assert f"other users can write to {home}" in completed
    home.chmod(0o700)
    for _ in range(2):
        completed, diagnosed, *others = act_as(VICTIM, _WAYS_IN, home, *_WAYS)
        assert diagnosed == _UNREAD
        for said in (completed, *others):
            assert said.startswith(f"other users could have changed {database}; ")
            assert f"chmod go-rwx {database}, " in said
    (looked,) = act_as(VICTIM, _WAYS_IN, home, "mended")
    assert any(f"could have changed {database}" in what for what in looked)
    assert not (place / "pwned").exists()
    database.chmod(0o600)
    assert act_as(VICTIM, _WAYS_IN, home, "listed") == [["evil"]]


@pytest.mark.parametrize("is_link", [False, True])
def test_a_backup_of_another_user_is_neither_listed_nor_restored(
    place: Path, home: Path, is_link: bool
) -> None:
    (mine,) = (home / "backups").iterdir()
    hostile = _hostile(place)
    hostile.chmod(0o755)
    (hostile / "halo.db").chmod(0o644)
    planted = home / "backups" / "halo-9999999999999.db"
    if is_link:
        planted.symlink_to(hostile / "halo.db")
    else:
        shutil.copy(hostile / "halo.db", planted)
        own(planted, OTHER, 0o644)
    loose = home / "backups" / "halo-9999999999998.db"
    shutil.copy(hostile / "halo.db", loose)
    own(loose, VICTIM, 0o666)
    found, restored, chosen, changed = act_as(
        VICTIM, _WAYS_IN, home, "backups_listed", "restored", ["restored", planted], ["restored", loose]
    )
    assert (found, restored) == ([str(mine)], str(mine))
    foreign = hostile / "halo.db" if is_link else planted
    assert chosen.startswith(f"{foreign} belongs to user {OTHER}, not to user {VICTIM}; ")
    assert changed.startswith(f"other users could have changed {loose}; ")
    assert act_as(VICTIM, _WAYS_IN, home, "listed") == [["mine"]]


def test_root_does_not_list_the_backups_of_another_user(home: Path) -> None:
    assert act_as(0, _WAYS_IN, home, "backups_listed") == [
        f"{home} belongs to user {VICTIM}, not to root; run Halo as that user: sudo -u '#{VICTIM}' halo"
    ]


def test_a_database_that_is_a_link_of_another_user_is_not_followed(place: Path, home: Path) -> None:
    other = folder_of(place / "old", VICTIM, 0o755)
    (home / "halo.db").rename(other / "halo.db")
    (home / "halo.db").symlink_to(other / "halo.db")
    os.lchown(home / "halo.db", OTHER, OTHER)
    for said in act_as(VICTIM, _WAYS_IN, home, "completed", "listed", "opened_by_path"):
        assert said.startswith(f"{home / 'halo.db'} belongs to user {OTHER}, not to user {VICTIM}; ")
    os.lchown(home / "halo.db", VICTIM, VICTIM)
    assert act_as(VICTIM, _WAYS_IN, home, "listed", "completed") == [["mine"]] * 2


@pytest.mark.parametrize("way", ["listed", "opened_by_path", "restored"])
def test_a_folder_of_ours_that_is_open_to_others_is_closed_first(home: Path, way: str) -> None:
    home.chmod(0o777)
    (home / "backups").chmod(0o777)
    (said,) = act_as(VICTIM, _WAYS_IN, home, way)
    assert "mine" in said or str(home) in said
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert stat.S_IMODE((home / "backups").stat().st_mode) == 0o700


@pytest.mark.parametrize("umask", [0o000, 0o002])
def test_parent_folders_are_created_so_that_others_cannot_rename_ours(place: Path, umask: int) -> None:
    folder_of(place / "victim", VICTIM, 0o755)
    environment = {"HOME": place / "victim"}
    assert act_as(VICTIM, _WAYS_IN, "", "listed", umask=umask, environment=environment) == [[]]
    local = place / "victim" / ".local"
    for folder in (local, local / "share", local / "share" / "halo-scheduler"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    ours = local / "share" / "halo-scheduler"
    assert act_as(OTHER, _RENAMES, ours, f"{ours}.old") == "Permission denied"


def test_a_folder_of_another_user_in_place_of_ours_is_refused(place: Path) -> None:
    local = folder_of(folder_of(place / "victim", VICTIM, 0o755) / ".local", VICTIM, 0o755)
    share = folder_of(local / "share", VICTIM, 0o777)
    hostile = _hostile(place).rename(share / "halo-scheduler")
    hostile.chmod(0o777)
    (hostile / "halo.db").chmod(0o666)
    environment = {"HOME": place / "victim"}
    refused = (
        f"other users can write to {share} and could change your jobs; keep them out with: chmod go-w {share}"
    )
    completed, diagnosed, *others = act_as(VICTIM, _WAYS_IN, "", *_WAYS, environment=environment)
    assert {completed, *others} == {refused}
    assert diagnosed == _UNREAD
    share.chmod(0o755)
    completed, diagnosed, *others = act_as(VICTIM, _WAYS_IN, "", *_WAYS, environment=environment)
    for said in (completed, *others):
        assert said.startswith(f"{hostile} belongs to user {OTHER}, not to user {VICTIM}; ")
        assert "chown" not in said
    assert diagnosed == _UNREAD
    assert not (place / "pwned").exists()


@pytest.mark.parametrize(("gid", "is_fine"), [(VICTIM, True), (100, False)])
def test_a_group_of_ones_own_may_write_and_one_of_many_may_not(place: Path, gid: int, is_fine: bool) -> None:
    """As Debian and Fedora have it, with a group for each user and a umask of 002."""
    local = folder_of(folder_of(place / "victim", VICTIM, 0o775) / ".local", VICTIM, 0o775)
    for folder in (local.parent, local):
        os.chown(folder, VICTIM, gid)
    (said,) = act_as(VICTIM, _WAYS_IN, "", "listed", umask=0o002, gid=gid, environment={"HOME": local.parent})
    assert said == [] if is_fine else f"chmod go-w {local.parent}" in said
    assert stat.S_IMODE(local.stat().st_mode) == 0o775


def test_root_does_not_run_jobs_from_a_folder_of_another_user(place: Path, home: Path) -> None:
    completed, diagnosed, *others = act_as(0, _WAYS_IN, home, *_WAYS)
    assert completed.startswith(f"{home} belongs to user {VICTIM}, not to root; ")
    assert diagnosed == _UNREAD
    for said in others:
        assert said == (
            f"{home} belongs to user {VICTIM}, not to root; run Halo as that user: sudo -u '#{VICTIM}' halo"
        )
    assert not (place / "mine").exists()


def test_a_linked_folder_is_used_where_it_is_and_not_made_private(place: Path) -> None:
    folder_of(place / "roots", 0, 0o755)
    (place / "link").symlink_to(place / "roots")
    assert act_as(0, _WAYS_IN, place / "link", "opened") == [[]]
    assert stat.S_IMODE((place / "roots").stat().st_mode) == 0o755
    assert stat.S_IMODE((place / "roots" / "halo.db").stat().st_mode) == 0o600


def test_a_link_of_another_user_is_not_followed(place: Path, home: Path) -> None:
    link = folder_of(place / "shared", 0, 0o1777) / "link"
    link.symlink_to(home)
    os.lchown(link, OTHER, OTHER)
    assert act_as(VICTIM, _WAYS_IN, link, "listed") == [
        f"{link} belongs to user {OTHER}, not to user {VICTIM}; choose a folder of your own with HALO_HOME"
    ]


def test_a_file_that_another_user_put_into_our_folder_is_refused(home: Path) -> None:
    """Each at a time; `halo list` looks at all of them, as everything that opens the database does."""
    names = ("halo-spool", "halo-trials", "halo-run", "backups", "logs", "windows")
    shutil.rmtree(home / "backups")
    for name in names:
        folder = folder_of(home / name, OTHER, 0o755)
        (said,) = act_as(VICTIM, _WAYS_IN, home, "listed")
        assert said.startswith(f"{folder} belongs to user {OTHER}, not to user {VICTIM}; ")
        assert said.endswith(f"mv {folder} {folder}.old")
        folder.rmdir()


@pytest.mark.parametrize("is_link", [False, True])
def test_a_file_of_another_user_is_refused_and_a_link_to_one(home: Path, is_link: bool) -> None:
    names = ("halo.db-wal", "halo.db-shm", "halo.db-journal", "halo-secrets.json", "halo.db")
    for name in names:
        file, target = home / name, home.parent / "hostile"
        file.unlink(missing_ok=True)
        if is_link:
            file.symlink_to(target)
        (target if is_link else file).touch()
        own(target if is_link else file, OTHER, 0o666)
        (said,) = act_as(VICTIM, _WAYS_IN, home, "listed")
        assert f"{name} cannot be used, because it is a link" in said or "belongs to" in said
        file.unlink()


def test_a_runtime_folder_that_another_user_took_is_to_be_removed_and_not_taken_over(place: Path) -> None:
    taken = folder_of(folder_of(place / "tmp", 0, 0o1777) / "halo-2001", OTHER, 0o755)
    said = act_as(VICTIM, _MAKES, taken)
    assert said.startswith(f"{taken} belongs to user {OTHER}, not to user {VICTIM}; ")
    assert "remove it" in said
    assert "shorter HALO_HOME" in said
    assert "chown" not in said


# --- A user who may have few processes ---------------------------------------------------------------------

_DAEMON = """
import contextlib, io, resource
from unittest.mock import patch
from halo_scheduler.cli import main

def run():
    heard = io.StringIO()
    with contextlib.redirect_stderr(heard):
        try:
            main(["daemon"])
        except SystemExit as ended:
            return [ended.code, heard.getvalue()]

def warm_up(folder):
    with patch("_thread.start_new_thread", side_effect=RuntimeError("can't start new thread")):
        run()

def act(processes):
    resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
    return run()
"""


@pytest.mark.parametrize("processes", [1, 2])
def test_a_daemon_that_gets_no_threads_says_so_and_ends(place: Path, processes: int) -> None:
    own(place, VICTIM, 0o700)
    code, heard = act_as(
        VICTIM, _DAEMON, processes, environment={"HALO_HOME": place, "XDG_RUNTIME_DIR": place}
    )
    assert code == 1
    assert "the system gives you no more processes or threads" in heard.splitlines()[-1]
    assert "internal error" not in heard
