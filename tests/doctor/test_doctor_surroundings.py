"""Looking at what lies around a database: permissions, backups, the time zone, autostart, secrets."""

from __future__ import annotations

import os
import stat
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import keyring
import keyring.backend
import keyring.backends.fail
import pytest
from checkup import everything_in, found_by, is_fine, only

from halo_scheduler import Command, Every, HttpRequest
from halo_scheduler.clock import SystemClock
from halo_scheduler.doctor import jobs
from halo_scheduler.doctor.database import check_backups
from halo_scheduler.doctor.jobs import check_secrets
from halo_scheduler.doctor.permissions import check_permissions
from halo_scheduler.doctor.scene import Mark, Scene
from halo_scheduler.doctor.surroundings import check_autostart, check_tray, check_zone
from halo_scheduler.grammar.zone import machine_zone
from halo_scheduler.host.autostart import login_command, system_autostart
from halo_scheduler.ipc.client import socket_path
from halo_scheduler.ipc.server import ChangeServer
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.service.settings import make_backup

_DAY = 86_400_000


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("halo", "run", "config"):
        (tmp_path / name).mkdir(mode=0o700)
    monkeypatch.setenv("HALO_HOME", str(tmp_path / "halo"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    with Scheduler.open() as scheduler:
        scheduler.add_job("job", Every("1h"), Command(argv=("true",)))
        return scheduler.path


# --- Permissions -----------------------------------------------------------------------------------------


def test_files_that_only_their_owner_can_read_are_fine(path: Path) -> None:
    make_backup(path, 1)
    assert is_fine(found_by(check_permissions, path))


def test_files_that_others_can_read_are_made_private(path: Path) -> None:
    backup = make_backup(path, 1).path
    secrets = path.with_name("halo-secrets.json")
    spooled = path.with_name("halo-spool") / "run.out"
    spooled.parent.mkdir(mode=0o755)
    for file in (secrets, spooled):
        file.touch()
    wanted = {
        path.parent: 0o700,
        path: 0o600,
        backup.parent: 0o700,
        backup: 0o600,
        secrets: 0o600,
        spooled.parent: 0o700,
        spooled: 0o600,
    }
    for place, mode in wanted.items():
        place.chmod(mode | 0o044)
    finding = only(found_by(check_permissions, path))
    assert finding.mark is Mark.WRONG
    assert str(path.parent) in finding.what
    assert finding.mend is not None
    assert finding.mend()
    assert {place: stat.S_IMODE(place.stat().st_mode) for place in wanted} == wanted
    assert is_fine(found_by(check_permissions, path))


def test_a_shared_folder_may_be_readable_but_not_writable(path: Path) -> None:
    path.with_name("notes.txt").touch(mode=0o644)
    path.parent.chmod(0o755)
    assert is_fine(found_by(check_permissions, path))
    path.parent.chmod(0o777)
    finding = only(check_permissions(Scene(path, 1, None)))
    assert (finding.mark, finding.advice) == (Mark.WRONG, f"Keep them out with: chmod go-w {path.parent}")
    assert finding.mend is not None
    assert finding.mend() == f"Only you can write to {path.parent} now."
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o755
    assert is_fine(found_by(check_permissions, path))


def test_a_folder_above_that_others_can_write_to_is_reported_and_closed(path: Path) -> None:
    above = path.parent.parent
    above.chmod(0o777)
    finding = only(check_permissions(Scene(path, 1, None)))
    assert (finding.mark, finding.advice) == (Mark.WRONG, f"Keep them out with: chmod go-w {above}")
    assert finding.mend is not None
    assert finding.mend() == f"Only you can write to {above} now."
    assert is_fine(found_by(check_permissions, path))


def test_files_that_their_owner_cannot_read_are_made_readable(path: Path) -> None:
    path.chmod(0o400)
    finding = only(found_by(check_permissions, path))
    assert "You can't access" in finding.what
    assert finding.mend is not None
    finding.mend()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_is_left_alone(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.touch()
    target.chmod(0o644)
    path.with_name("halo-link").symlink_to(target)
    assert is_fine(found_by(check_permissions, path))


@pytest.mark.usefixtures("qapp")
def test_the_socket_of_an_engine_that_runs_is_fine(path: Path) -> None:
    server = ChangeServer(path)
    try:
        assert server.start()
        assert is_fine(found_by(check_permissions, path))
    finally:
        server.stop()


def test_a_socket_that_others_could_use_is_wrong(path: Path) -> None:
    place = socket_path(path)
    place.touch()
    place.chmod(0o777)
    finding = only(found_by(check_permissions, path))
    assert str(place) in finding.what
    assert finding.mend is not None
    finding.mend()
    assert stat.S_IMODE(place.stat().st_mode) == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_files_of_another_user_are_reported(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.chown(path, 65_534, 65_534)
    scene = Scene(path, 1, None)
    finding = only(check_permissions(scene))
    assert (finding.mark, finding.mend) == (Mark.LOOK, None)
    monkeypatch.setattr(os, "geteuid", lambda: 12_345)
    finding = only(check_permissions(scene))
    assert finding.mark is Mark.WRONG
    assert "chown" not in finding.advice
    assert f"mv {path.parent} {path.parent}.old" in finding.advice


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps its users apart by itself")
def test_a_database_that_others_could_have_changed_is_reported_and_not_mended(path: Path) -> None:
    path.chmod(0o666)
    finding = only(check_permissions(Scene(path, 1, None)))
    assert (finding.mark, finding.mend) == (Mark.WRONG, None)
    assert f"ther users could have changed {path}" in finding.what
    assert f"chmod go-rwx {path}" in finding.advice


@pytest.mark.parametrize("missing", ["data", "data/deep"])
@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps its users apart by itself")
def test_a_folder_above_is_reported_and_closed_before_the_data_folder_exists(
    tmp_path: Path, missing: str
) -> None:
    above = tmp_path / "shared"
    above.mkdir()
    above.chmod(0o777)
    path = above / missing / "halo.db"
    finding = only(found_by(check_permissions, path))
    assert (finding.mark, finding.advice) == (Mark.WRONG, f"Keep them out with: chmod go-w {above}")
    assert finding.mend is not None
    assert finding.mend() == f"Only you can write to {above} now."
    assert is_fine(found_by(check_permissions, path))
    assert list(above.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps its users apart by itself")
def test_a_data_folder_to_be_created_in_a_sticky_folder_is_fine(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    assert is_fine(found_by(check_permissions, tmp_path / "data" / "halo.db"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives folders away")
def test_a_missing_data_folder_below_another_users_is_reported_and_not_fixed(tmp_path: Path) -> None:
    above = tmp_path / "theirs"
    above.mkdir()
    os.chown(above, 65_534, 65_534)
    finding = only(found_by(check_permissions, above / "data" / "halo.db"))
    assert (finding.mark, finding.mend) == (Mark.WRONG, None)
    assert finding.what.startswith(f"{above} belongs to ")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_a_data_folder_below_a_closed_one_is_left_to_the_check_of_the_database(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    os.seteuid(65_534)
    try:
        findings = list(check_permissions(Scene(tmp_path / "closed" / "data" / "halo.db", 1, None)))
    finally:
        os.seteuid(0)
    assert is_fine(findings)


def test_without_a_folder_nothing_is_made(tmp_path: Path) -> None:
    assert is_fine(found_by(check_permissions, tmp_path / "none" / "halo.db"))
    assert not (tmp_path / "none").exists()


# --- Backups ---------------------------------------------------------------------------------------------


def test_without_a_backup_one_is_to_be_made(path: Path) -> None:
    finding = only(found_by(check_backups, path))
    assert (finding.mark, finding.advice) == (Mark.LOOK, "Make one now with: halo backup")


def test_a_fresh_backup_is_fine_and_an_old_one_is_not(path: Path) -> None:
    made_at = make_backup(path, 1_800_000_000_000).made_at
    before = everything_in(path.parent)
    assert is_fine(found_by(check_backups, path, made_at + _DAY))
    assert "15 days ago" in only(found_by(check_backups, path, made_at + 15 * _DAY)).what
    assert everything_in(path.parent) == before


def test_a_damaged_backup_is_named_and_the_previous_one_checked(path: Path) -> None:
    make_backup(path, 1_000)
    broken = make_backup(path, 2_000).path
    broken.write_bytes(b"junk" * 2_000)
    findings = found_by(check_backups, path, 3_000)
    assert [finding.mark for finding in findings] == [Mark.WRONG, Mark.FINE]
    assert broken.name in findings[0].what
    assert broken.exists()


def test_a_backup_that_was_never_finished_is_named_after_a_day(path: Path) -> None:
    now_ms = SystemClock().now_ms()
    part = make_backup(path, now_ms).path.with_name("halo-1.part")
    part.touch()
    assert is_fine(found_by(check_backups, path))
    os.utime(part, ns=(1, (now_ms - 2 * _DAY) * 1_000_000))
    assert str(part) in only(found_by(check_backups, path)).what


# --- The time zone ---------------------------------------------------------------------------------------


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    with monkeypatch.context() as patch:
        yield patch
    time.tzset()
    machine_zone.cache_clear()


def test_the_time_zone_is_named(path: Path, zone: pytest.MonkeyPatch) -> None:
    zone.setenv("TZ", "Europe/Berlin")
    (finding,) = found_by(check_zone, path)
    assert (finding.mark, finding.what) == (Mark.FINE, "The time zone is Europe/Berlin.")


@pytest.mark.parametrize("name", ["CET-1CEST", "Mars/Olympus"])
def test_a_time_zone_that_cannot_be_read_is_reported(path: Path, zone: pytest.MonkeyPatch, name: str) -> None:
    zone.setenv("TZ", name)
    machine_zone.cache_clear()
    finding = only(found_by(check_zone, path))
    assert finding.what.startswith(f"TZ is '{name}', which is not the name of a time zone; Halo uses ")
    assert "Europe/Berlin" in finding.advice


def test_the_fault_of_a_time_zone_is_one_line(path: Path, zone: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise KeyError("there are two of them. \nChoose one")

    zone.delenv("TZ", raising=False)
    time.tzset()
    zone.setattr("halo_scheduler.doctor.surroundings.read_machine_zone", refuse)
    finding = only(found_by(check_zone, path))
    assert finding.what.startswith(
        "The time zone cannot be read (there are two of them. Choose one); Halo uses"
    )


# --- Autostart -------------------------------------------------------------------------------------------


def test_no_autostart_is_nobodys_fault(path: Path) -> None:
    assert is_fine(found_by(check_autostart, path))


def test_an_entry_for_this_program_is_fine(path: Path) -> None:
    system_autostart().turn_on(login_command())
    assert is_fine(found_by(check_autostart, path))


def test_an_entry_for_a_program_that_is_gone_is_mended(path: Path) -> None:
    system_autostart().turn_on(["/opt/old halo/bin/python", "-m", "ui"])
    finding = only(found_by(check_autostart, path))
    assert finding.mark is Mark.WRONG
    assert "/opt/old halo/bin/python" in finding.what
    assert finding.mend is not None
    finding.mend()
    assert system_autostart().is_current(login_command())


def test_an_entry_for_another_program_is_the_users_choice(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system_autostart().turn_on([sys.executable, "-m", "another"])
    finding = only(found_by(check_autostart, path))
    assert (finding.mark, finding.mend) == (Mark.LOOK, None)
    system_autostart().turn_on(login_command())
    monkeypatch.setenv("HALO_HOME", str(path.parent / "other"))
    assert only(found_by(check_autostart, path)).mend is None


def test_a_disabled_entry_stays_disabled(path: Path) -> None:
    autostart = system_autostart()
    autostart.turn_on(["/gone"])
    with Path(autostart.where()).open("a") as file:
        file.write("Hidden=true\n")
    assert is_fine(found_by(check_autostart, path))


# --- The tray --------------------------------------------------------------------------------------------


def test_without_a_desktop_there_is_nothing_to_say_of_a_tray(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    (finding,) = found_by(check_tray, path)
    assert (finding.mark, "can't be checked" in finding.what) == (Mark.FINE, True)


# --- Secrets ---------------------------------------------------------------------------------------------


class _Keyring(keyring.backend.KeyringBackend):
    """A keyring that may wait for its user."""

    priority = 1

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call] # the library's own
        self.kept: dict[str, str] = {}
        self.is_open = threading.Event()
        self.is_open.set()

    def get_password(self, service: str, username: str) -> str | None:
        assert service
        self.is_open.wait()
        return self.kept.get(username)

    def set_password(self, service: str, username: str, password: str) -> None:
        assert service
        self.kept[username] = password


@pytest.fixture
def ring() -> Iterator[_Keyring]:
    before = keyring.get_keyring()
    ring = _Keyring()
    keyring.set_keyring(ring)
    yield ring
    ring.is_open.set()
    keyring.set_keyring(before)


@pytest.mark.usefixtures("ring")
def test_a_keyring_is_fine(path: Path) -> None:
    with Scheduler.open() as scheduler:
        scheduler.secrets.set("TOKEN", "hunter22")
    (finding,) = found_by(check_secrets, path)
    assert (finding.mark, finding.what) == (Mark.FINE, "There is a keyring with 1 secret.")


def test_a_secret_that_is_gone_from_the_keyring_is_named(path: Path, ring: _Keyring) -> None:
    with Scheduler.open() as scheduler:
        scheduler.secrets.set("TOKEN", "hunter22")
    ring.kept.clear()
    finding = only(found_by(check_secrets, path))
    assert (finding.mark, finding.what) == (Mark.WRONG, "The secret TOKEN no longer exists.")
    assert "halo secret set TOKEN" in finding.advice


def test_a_keyring_that_waits_for_its_user_is_not_waited_for(
    path: Path, ring: _Keyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Scheduler.open() as scheduler:
        scheduler.secrets.set("TOKEN", "hunter22")
        scheduler.secrets.set("OTHER", "hunter22")
    ring.is_open.clear()
    monkeypatch.setattr(jobs, "_LIMIT_S", 0.1)
    finding = only(found_by(check_secrets, path))
    assert (finding.mark, "may be locked" in finding.what) == (Mark.LOOK, True)


def test_without_a_keyring_the_private_file_is_named(path: Path, ring: _Keyring) -> None:
    with Scheduler.open() as scheduler:
        scheduler.secrets.set("TOKEN", "hunter22")
    keyring.set_keyring(keyring.backends.fail.Keyring())  # type: ignore[no-untyped-call] # the library's own
    finding = only(found_by(check_secrets, path))
    assert finding.mark is Mark.LOOK
    assert finding.what == "No keyring found, but TOKEN should be in one."
    with Scheduler.open() as scheduler:
        scheduler.secrets.set("FILED", "hunter22", in_file=True)
    keyring.set_keyring(ring)
    assert [finding.mark for finding in found_by(check_secrets, path)] == [Mark.FINE, Mark.FINE]


@pytest.mark.usefixtures("ring")
def test_a_secret_that_is_gone_from_its_file_is_named(path: Path) -> None:
    with Scheduler.open() as scheduler:
        scheduler.secrets.set("FILED", "hunter22", in_file=True)
    file = path.with_name("halo-secrets.json")
    file.write_text("{}")
    assert "FILED" in only(found_by(check_secrets, path)).what
    file.write_text("[1]")
    assert "cannot be read" in only(found_by(check_secrets, path)).what
    # The permissions say so themselves.
    file.chmod(0o644)
    assert is_fine(found_by(check_secrets, path))


@pytest.mark.usefixtures("ring")
def test_a_secret_that_jobs_use_but_that_is_not_set_is_named(path: Path) -> None:
    with Scheduler.open() as scheduler:
        for name in ("a", "b"):
            action = Command(argv=("true",), environment={"T": "${secret:TOKEN}"})
            scheduler.add_job(name, Every("1h"), action)
        request = HttpRequest(method="GET", url="https://example.org", headers={"X": "${secret:KEY}"})
        scheduler.add_job("c", Every("1h"), request, enabled=False)
    finding = only(found_by(check_secrets, path))
    assert (finding.mark, finding.what) == (Mark.WRONG, "a and b use the secret TOKEN, which is not set.")
