"""Who may change what Halo opens: what is tightened, what is refused, and what is left alone."""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path

import pytest

if sys.platform != "win32":
    import grp
    import pwd

from halo_scheduler.errors import UnsafeFilesError
from halo_scheduler.host import owners
from halo_scheduler.host.private_files import (
    is_private_folder,
    make_folders,
    make_private_folder,
    require_private_database,
    require_readable_database,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps its users apart by itself")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database in a folder of Halo's own, which lies in one that everybody may read."""
    folder = tmp_path / "shared" / "halo"
    folder.mkdir(parents=True)
    for path, mode in ((folder.parent, 0o755), (folder, 0o700)):
        path.chmod(mode)
    path = folder / "halo.db"
    path.touch(mode=0o600)
    return path


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077])
def test_every_folder_that_is_made_is_private(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        require_private_database(tmp_path / "a" / "b" / "c" / "halo.db")
    finally:
        os.umask(before)
    assert {_mode(tmp_path.joinpath(*names)) for names in (("a",), ("a", "b"), ("a", "b", "c"))} == {0o700}


@pytest.mark.parametrize("mode", [0o777, 0o755, 0o770, 0o701])
def test_a_folder_of_halos_own_is_made_private(database: Path, mode: int) -> None:
    database.parent.chmod(mode)
    require_private_database(database)
    assert _mode(database.parent) == 0o700


def test_the_default_folder_is_made_private_with_its_content(tmp_path: Path) -> None:
    folder = tmp_path / "halo-scheduler"
    folder.mkdir()
    folder.chmod(0o755)
    (folder / "notes.txt").touch()
    require_private_database(folder / "halo.db")
    assert _mode(folder) == 0o700


@pytest.mark.parametrize("name", ["halo.db", "jobs.db"])
def test_a_folder_with_other_files_is_not_changed(database: Path, name: str) -> None:
    folder = database.parent
    (folder / "notes.txt").touch()
    folder.chmod(0o755)
    require_private_database(folder / name)
    assert _mode(folder) == 0o755
    folder.chmod(0o777)
    with pytest.raises(UnsafeFilesError, match=f"chmod go-w {folder}$"):
        require_private_database(folder / name)
    assert _mode(folder) == 0o777


def test_a_chosen_folder_is_never_made_private(database: Path) -> None:
    database.parent.chmod(0o755)
    require_private_database(database.with_name("jobs.db"))
    assert _mode(database.parent) == 0o755


def test_a_linked_folder_is_never_made_private(database: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(database.parent)
    database.parent.chmod(0o755)
    require_private_database(tmp_path / "link" / "halo.db")
    assert _mode(database.parent) == 0o755
    database.parent.chmod(0o777)
    with pytest.raises(UnsafeFilesError, match=f"chmod go-w {database.parent}$"):
        require_private_database(tmp_path / "link" / "halo.db")


def test_our_own_rights_stay_as_they_are(database: Path) -> None:
    database.chmod(0o444)
    database.parent.chmod(0o555)
    require_private_database(database)
    assert (_mode(database.parent), _mode(database)) == (0o500, 0o400)


@pytest.mark.parametrize("name", ["halo.db", "halo.db-wal", "halo.db-shm", "halo.db-journal"])
def test_a_file_that_others_can_read_is_made_private(database: Path, name: str) -> None:
    database.with_name(name).touch()
    database.with_name(name).chmod(0o644)
    require_private_database(database)
    assert _mode(database.with_name(name)) == 0o600


@pytest.mark.parametrize(
    "names", [["halo.db"], ["halo.db-wal"], ["halo.db", "halo.db-shm", "halo.db-journal"]]
)
@pytest.mark.parametrize("folder_mode", [0o777, 0o700])
def test_a_file_that_others_could_have_changed_is_refused_until_it_is_closed_to_them(
    database: Path, names: list[str], folder_mode: int
) -> None:
    files = [database.with_name(name) for name in names]
    for file in files:
        file.touch()
        file.chmod(0o666)
    database.parent.chmod(folder_mode)
    command = f"chmod go-rwx {' '.join(map(str, files))}"
    for _ in range(2):
        with pytest.raises(
            UnsafeFilesError, match=f"could have changed {files[0]}.* {command}, .* halo list"
        ):
            require_private_database(database)
    assert {_mode(file) for file in files} == {0o666}
    database.parent.chmod(0o700)
    with pytest.raises(UnsafeFilesError, match=command):
        require_readable_database(database)
    for file in files:
        file.chmod(0o600)
    require_private_database(database)
    require_readable_database(database)


@pytest.mark.parametrize(("primary", "is_fine"), [([], True), ([54_321], False)])
def test_a_group_is_private_only_if_it_has_no_other_members(
    database: Path, monkeypatch: pytest.MonkeyPatch, primary: list[int], is_fine: bool
) -> None:
    group = grp.struct_group(("me", "x", os.getgid(), []))
    users = [
        pwd.struct_passwd(("x", "x", uid, os.getgid(), "", "/", "/bin/sh")) for uid in (os.getuid(), *primary)
    ]
    monkeypatch.setattr(grp, "getgrgid", lambda _: group)
    monkeypatch.setattr(pwd, "getpwall", lambda: users)
    monkeypatch.setattr(owners, "user_name", lambda _: "me")
    owners._is_private_group.cache_clear()
    database.chmod(0o660)
    try:
        if is_fine:
            require_private_database(database)
        else:
            with pytest.raises(UnsafeFilesError, match="could have changed"):
                require_private_database(database)
    finally:
        owners._is_private_group.cache_clear()
    assert _mode(database) == (0o600 if is_fine else 0o660)


@pytest.mark.parametrize("mode", [0o777, 0o757])
def test_a_folder_above_that_others_can_write_to_is_refused_and_left_alone(
    database: Path, tmp_path: Path, mode: int
) -> None:
    above = database.parent.parent
    above.chmod(mode)
    (tmp_path / "link").symlink_to(above)
    for path in (database, tmp_path / "link" / "halo" / "halo.db", above / "new" / "halo.db"):
        with pytest.raises(UnsafeFilesError, match=f"write to {above} .* chmod go-w {above}$"):
            require_private_database(path)
        with pytest.raises(UnsafeFilesError, match=f"chmod go-w {above}$"):
            require_readable_database(path)
    assert _mode(above) == mode
    assert not (above / "new").exists()


def test_in_a_folder_like_tmp_one_of_ours_is_safe_and_a_file_of_ours_is_not(database: Path) -> None:
    database.parent.parent.chmod(0o1777)
    require_private_database(database)
    for require in (require_private_database, require_readable_database):
        with pytest.raises(UnsafeFilesError, match="choose a folder of your own"):
            require(database.parent.parent / "halo-in-tmp.db")


def test_a_journal_that_is_a_link_is_refused(database: Path) -> None:
    database.with_name("halo.db-wal").symlink_to(database)
    for require in (require_private_database, require_readable_database):
        with pytest.raises(
            UnsafeFilesError, match=r"halo\.db-wal cannot be used, because it is a link; .* mv "
        ):
            require(database)


def test_a_linked_database_is_checked_where_it_is(database: Path, tmp_path: Path) -> None:
    (tmp_path / "halo").mkdir(mode=0o700)
    link = tmp_path / "halo" / "halo.db"
    link.symlink_to(database)
    database.chmod(0o644)
    require_private_database(link)
    assert _mode(database) == 0o600
    database.parent.chmod(0o777)
    for require in (require_private_database, require_readable_database):
        with pytest.raises(UnsafeFilesError, match=f"chmod go-w {database.parent}$"):
            require(link)


def test_backups_may_be_linked_to_another_disk_if_they_are_safe_there(database: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    disk.chmod(0o755)
    (database.parent / "backups").symlink_to(disk)
    require_private_database(database)
    assert _mode(disk) == 0o755
    disk.chmod(0o777)
    with pytest.raises(UnsafeFilesError, match=f"chmod go-w {disk}$"):
        require_private_database(database)


def test_a_cycle_of_links_is_an_error_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        make_folders(tmp_path / "a" / "c")


def test_a_file_instead_of_a_folder_is_a_system_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "c"):
        with pytest.raises(NotADirectoryError):
            make_private_folder(folder)


def test_on_a_disk_that_is_read_only_nothing_is_tightened(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.parent.chmod(0o755)

    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "chmod", refuse)
    require_private_database(database)


def test_a_disk_that_keeps_no_permissions_is_refused(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a memory stick, which says that all went well."""
    database.parent.chmod(0o777)
    monkeypatch.setattr(os, "chmod", lambda *_: None)
    with pytest.raises(UnsafeFilesError, match="its disk keeps no permissions"):
        require_private_database(database)


def test_reading_changes_nothing(database: Path) -> None:
    database.parent.chmod(0o755)
    database.chmod(0o644)
    require_readable_database(database)
    assert (_mode(database.parent), _mode(database)) == (0o755, 0o644)


def test_in_a_sandbox_without_root_the_overflow_user_counts_as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    for has_unmapped in (False, True):
        monkeypatch.setattr(owners, "_has_unmapped_users", lambda has=has_unmapped: has)
        assert owners.is_trusted(65_534) is has_unmapped


@pytest.mark.parametrize(
    ("mode", "is_private"), [(0o700, True), (0o500, True), (0o750, False), (0o701, False)]
)
def test_a_private_folder_is_ours_alone_and_no_link(tmp_path: Path, mode: int, is_private: bool) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(mode)
    assert is_private_folder(folder) is is_private
    (tmp_path / "link").symlink_to(folder)
    (tmp_path / "file").touch(mode=0o600)
    assert not any(is_private_folder(tmp_path / name) for name in ("link", "file", "none"))
