"""Secrets: in the keyring or in a private file, and nowhere else."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import keyring
import keyring.backend
import keyring.backends.fail
import pytest
from keyring.errors import KeyringError, PasswordDeleteError

from halo_scheduler import ScheduleError
from halo_scheduler.store.secrets import SecretError, SecretName, SecretPlace, SecretStore, has_keyring
from halo_scheduler.store.store import Store

_NOW = 1_700_000_000_000
_VALUE = "hunter22-and-more"


class _MemoryKeyring(keyring.backend.KeyringBackend):
    """A keyring that can be locked."""

    priority = 1

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call] # the library's own
        self.kept: dict[tuple[str, str], str] = {}
        self.is_locked = False

    def get_password(self, service: str, username: str) -> str | None:
        self._require_unlocked()
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._require_unlocked()
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        self._require_unlocked()
        if self.kept.pop((service, username), None) is None:
            raise PasswordDeleteError("not found")

    def _require_unlocked(self) -> None:
        if self.is_locked:
            raise KeyringError("it is\nlocked")


@pytest.fixture
def ring() -> Iterator[_MemoryKeyring]:
    before = keyring.get_keyring()
    ring = _MemoryKeyring()
    keyring.set_keyring(ring)
    yield ring
    keyring.set_keyring(before)


@pytest.fixture
def no_ring(ring: _MemoryKeyring) -> None:  # noqa: ARG001 - puts back what was there
    keyring.set_keyring(keyring.backends.fail.Keyring())  # type: ignore[no-untyped-call] # the library's own


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store.open(tmp_path / "halo.db", _NOW)
    yield store
    store.close()


@pytest.fixture
def secrets(store: Store) -> SecretStore:
    return SecretStore(store.secrets, store.database.path)


@pytest.fixture
def file(store: Store) -> Path:
    """Return where secrets are kept in a file."""
    return store.database.path.with_name("halo-secrets.json")


def _kept(file: Path) -> object:
    return json.loads(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("place", SecretPlace)
@pytest.mark.usefixtures("ring")
def test_a_secret_is_given_back(secrets: SecretStore, place: SecretPlace) -> None:
    secrets.set("B", "grüße\n\t🙂", place, _NOW)
    secrets.set("A", _VALUE, place, _NOW + 1)
    assert secrets.reader(["B", "A"])() == {"A": _VALUE, "B": "grüße\n\t🙂"}
    assert secrets.list() == [
        SecretName(name="A", place=place, changed_at=_NOW + 1),
        SecretName(name="B", place=place, changed_at=_NOW),
    ]


@pytest.mark.parametrize("place", SecretPlace)
@pytest.mark.usefixtures("ring")
def test_a_removed_secret_is_gone(
    secrets: SecretStore, place: SecretPlace, ring: _MemoryKeyring, file: Path
) -> None:
    secrets.set("A", _VALUE, place, _NOW)
    secrets.remove("A")
    assert secrets.list() == []
    assert not ring.kept
    assert not file.exists() or _kept(file) == {}
    with pytest.raises(SecretError, match="the secret A is not set; set it with: halo secret set A"):
        secrets.reader(["A"])()
    with pytest.raises(SecretError, match="there is no secret named 'A'"):
        secrets.remove("A")


@pytest.mark.parametrize("place", SecretPlace)
def test_a_secret_is_never_in_the_database(
    store: Store, secrets: SecretStore, place: SecretPlace, ring: _MemoryKeyring
) -> None:
    secrets.set("A", _VALUE, place, _NOW)
    files = list(store.database.path.parent.glob("halo.db*"))
    assert any(b"scheduler_secrets" in file.read_bytes() for file in files)
    assert not any(_VALUE.encode() in file.read_bytes() for file in files)
    assert bool(ring.kept) is (place is SecretPlace.KEYRING)


def test_a_secret_that_moves_leaves_its_old_place(
    secrets: SecretStore, ring: _MemoryKeyring, file: Path
) -> None:
    secrets.set("A", _VALUE, SecretPlace.FILE, _NOW)
    secrets.set("A", "another", SecretPlace.KEYRING, _NOW)
    assert _kept(file) == {}
    secrets.set("A", "third", SecretPlace.FILE, _NOW)
    assert not ring.kept
    assert secrets.reader(["A"])() == {"A": "third"}


def test_two_databases_do_not_share_their_secrets(
    secrets: SecretStore, ring: _MemoryKeyring, tmp_path: Path
) -> None:
    other_store = Store.open(tmp_path / "other.db", _NOW)
    other = SecretStore(other_store.secrets, other_store.database.path)
    for place in SecretPlace:
        secrets.set("A", _VALUE, place, _NOW)
        other.set("A", "another", place, _NOW)
        assert (secrets.reader("A")(), other.reader("A")()) == ({"A": _VALUE}, {"A": "another"})
    assert not ring.kept
    other_store.close()


@pytest.mark.parametrize("value", ["", "abc", "x" * 65_537, "nul\0nul", "half \ud800"])
@pytest.mark.usefixtures("ring")
def test_a_value_that_could_not_be_kept_secret_is_refused(secrets: SecretStore, value: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        secrets.set("A", value, SecretPlace.KEYRING, _NOW)
    assert caught.value.path == "value"
    assert secrets.list() == []


def test_a_bad_name_is_refused(secrets: SecretStore) -> None:
    with pytest.raises(ScheduleError, match="name: 'a b' cannot name a secret"):
        secrets.set("a b", _VALUE, SecretPlace.FILE, _NOW)


# --- The keyring ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_ring")
def test_without_a_keyring_a_file_is_offered_and_nothing_is_kept(secrets: SecretStore, file: Path) -> None:
    with pytest.raises(SecretError, match=r"no keyring.* halo secret set --in-file A$"):
        secrets.set("A", _VALUE, SecretPlace.KEYRING, _NOW)
    assert secrets.list() == []
    assert not file.exists()
    secrets.set("A", _VALUE, SecretPlace.FILE, _NOW)
    assert secrets.reader(["A"])() == {"A": _VALUE}


def test_a_refusing_keyring_is_reported_in_one_line(secrets: SecretStore, ring: _MemoryKeyring) -> None:
    secrets.set("A", _VALUE, SecretPlace.KEYRING, _NOW)
    ring.is_locked = True
    with pytest.raises(SecretError, match=r"refused it \(it is locked\); .* --in-file B$"):
        secrets.set("B", _VALUE, SecretPlace.KEYRING, _NOW)
    with pytest.raises(SecretError, match=r"^the keyring did not return the secret A: it is locked$"):
        secrets.reader(["A"])()
    with pytest.raises(SecretError, match=r"^the keyring may still have the secret A: it is locked$"):
        secrets.remove("A")


def test_a_secret_the_keyring_lost_can_be_removed_or_set_again(
    secrets: SecretStore, ring: _MemoryKeyring
) -> None:
    secrets.set("A", _VALUE, SecretPlace.KEYRING, _NOW)
    ring.kept.clear()
    with pytest.raises(
        SecretError, match="the secret A no longer exists; set it again with: halo secret set A"
    ):
        secrets.reader(["A"])()
    secrets.remove("A")
    assert secrets.list() == []


# --- Changed in the meantime ----------------------------------------------------------------------


@pytest.mark.parametrize(("since", "is_given"), [(_NOW - 1, False), (_NOW, True), (_NOW + 1, True)])
def test_a_secret_changed_since_is_not_given(secrets: SecretStore, since: int, is_given: bool) -> None:
    secrets.set("A", _VALUE, SecretPlace.FILE, _NOW)
    read = secrets.reader(["A"], unchanged_since=since)
    if is_given:
        assert read() == {"A": _VALUE}
    else:
        with pytest.raises(SecretError, match="the secret A was changed during the run"):
            read()


def test_a_reader_of_nothing_reads_nothing(secrets: SecretStore, file: Path) -> None:
    file.mkdir()  # to look would fail
    assert secrets.reader([])() == {}


# --- The file -------------------------------------------------------------------------------------


def test_the_file_is_private_with_any_umask(secrets: SecretStore, file: Path) -> None:
    before = os.umask(0)
    try:
        secrets.set("A", _VALUE, SecretPlace.FILE, _NOW)
        secrets.set("B", _VALUE, SecretPlace.FILE, _NOW)
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not list(file.parent.glob("*.part"))


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_file_open_to_others_is_refused(secrets: SecretStore, file: Path, mode: int) -> None:
    secrets.set("A", _VALUE, SecretPlace.FILE, _NOW)
    file.chmod(mode)
    with pytest.raises(SecretError, match=f"chmod 600 {file}$"):
        secrets.reader(["A"])()
    with pytest.raises(SecretError, match="chmod 600"):
        secrets.set("B", _VALUE, SecretPlace.FILE, _NOW)
    file.chmod(0o600)
    assert secrets.reader(["A"])() == {"A": _VALUE}


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'"text"', b"\xff"])
def test_a_damaged_file_is_reported_and_not_changed(secrets: SecretStore, file: Path, content: bytes) -> None:
    secrets.set("A", _VALUE, SecretPlace.FILE, _NOW)
    file.write_bytes(content)
    with pytest.raises(SecretError, match="cannot be read"):
        secrets.reader(["A"])()
    with pytest.raises(SecretError, match="cannot be read"):
        secrets.set("B", _VALUE, SecretPlace.FILE, _NOW)
    assert file.read_bytes() == content


def test_a_file_that_cannot_be_written_is_reported(secrets: SecretStore, file: Path) -> None:
    file.with_suffix(".part").mkdir()
    with pytest.raises(SecretError, match="the secret cannot be written to"):
        secrets.set("A", _VALUE, SecretPlace.FILE, _NOW)
    assert secrets.list() == []


def test_a_file_half_written_by_a_crash_does_not_matter(secrets: SecretStore, file: Path) -> None:
    file.with_suffix(".part").write_text("{")
    secrets.set("A", _VALUE, SecretPlace.FILE, _NOW)
    assert secrets.reader(["A"])() == {"A": _VALUE}


@pytest.mark.usefixtures("ring")
def test_a_keyring_is_noticed() -> None:
    assert has_keyring()


@pytest.mark.usefixtures("no_ring")
def test_a_missing_keyring_is_noticed() -> None:
    assert not has_keyring()
