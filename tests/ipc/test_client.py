"""The private socket's client side: what is said of changes, and how it is heard."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from other_users import needs_other_users
from process_probe import until
from PySide6.QtCore import QThread
from pytestqt.qtbot import QtBot

from halo_scheduler import Every
from halo_scheduler.host.private_files import make_private_folder
from halo_scheduler.ipc import client as ipc
from halo_scheduler.ipc.client import ChangeStream, change_of, message_of, poke, socket_path
from halo_scheduler.ipc.server import ChangeServer
from halo_scheduler.model.changes import Change, ChangeKind, gathered
from halo_scheduler.service.scheduler import Scheduler

_MUCH = Change(ChangeKind.JOB)


@pytest.fixture(autouse=True)
def _runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent")


@pytest.fixture
def pair() -> Iterator[tuple[ChangeStream, socket.socket]]:
    """A stream, and the end that an engine would write to."""
    near, far = socket.socketpair(socket.AF_UNIX)
    stream = ChangeStream(near)
    yield stream, far
    stream.close()
    far.close()


@pytest.fixture
def server(tmp_path: Path, qapp: object) -> Iterator[ChangeServer]:
    assert qapp is not None
    found = ChangeServer(tmp_path / "halo.db")
    assert found.start()
    yield found
    found.stop()


@pytest.mark.parametrize("mode", [0o700, 0o755])
def test_a_program_without_its_variable_finds_the_folder_of_its_user_if_it_is_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    usual = tmp_path / "users" / str(os.getuid())
    usual.mkdir(parents=True)
    usual.chmod(mode)
    monkeypatch.setattr(ipc, "_RUNTIME_FOLDERS", tmp_path / "users")
    monkeypatch.setattr(ipc, "_LONGEST_PLACE", 1_000)
    expected = usual if mode == 0o700 else tmp_path / "halo-run"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(usual))
    assert socket_path(tmp_path / "halo.db").parent == expected
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert socket_path(tmp_path / "halo.db").parent == expected


def test_a_runtime_folder_that_is_not_private_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one that others can write to, they could take our name first."""
    monkeypatch.setattr(ipc, "_RUNTIME_FOLDERS", tmp_path / "none")
    monkeypatch.setattr(ipc, "_LONGEST_PLACE", 1_000)
    shared, link = tmp_path / "shared", tmp_path / "link"
    shared.mkdir()
    shared.chmod(0o1777)
    link.symlink_to(tmp_path / "run")
    for folder in (shared, link, tmp_path / "none"):
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
        assert socket_path(tmp_path / "halo.db").parent == tmp_path / "halo-run"


def _listen_as_other(path: Path) -> subprocess.Popen[bytes]:
    """Let another user listen at a place, and keep what is said to it."""
    ready = path.with_name("ready")
    process = subprocess.Popen([sys.executable, "-c", _LISTENS, path, ready], stdout=subprocess.PIPE)
    until(ready.exists)
    return process


_LISTENS = """
import os, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.settimeout(60)
os.setgid(2002)
os.setuid(2002)
listener.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
listener.listen()
open(sys.argv[2], "w").close()
for _ in range(2):
    connection, _ = listener.accept()
    connection.settimeout(60)
    print(connection.recv(1000), flush=True)
"""


@needs_other_users
def test_nothing_is_sent_to_a_server_of_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o1777)
        place = Path(folder, "squatted")
        monkeypatch.setattr(ipc, "socket_path", lambda _database: place)
        with _listen_as_other(place) as server:
            assert not poke(Path("halo.db"), [Change(ChangeKind.JOB, "secret id")])
            with pytest.raises(PermissionError, match="another user listens"):
                ChangeStream.connect(Path("halo.db"))
            assert server.stdout is not None
            assert server.stdout.read().split() == [b"b''", b"b''"]


def _line(change: Change) -> bytes:
    return json.dumps(message_of(change)).encode() + b"\n"


def test_a_folder_with_too_long_a_path_for_sockets_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ("x" * 80)
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    place = socket_path(tmp_path / "halo.db")
    make_private_folder(place.parent)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{place}-window")
    Path(f"{place}-window").unlink()


@pytest.mark.parametrize("kind", ChangeKind)
def test_a_change_survives_the_way(kind: ChangeKind) -> None:
    for change in (Change(kind), Change(kind, "job"), Change(kind, "job", "run")):
        assert change_of(json.loads(_line(change))) == change


@pytest.mark.parametrize(
    "message",
    [
        {},
        [],
        "job",
        None,
        {"kind": "earthquake", "job_id": "1"},
        {"kind": 5},
        {"kind": ["job"]},
        {"kind": "run-started", "job_id": 5},
        {"kind": "run-started", "job_id": "1", "run_id": {}},
        {"kind": "run-started", "job_id": "x" * 501},
    ],
)
def test_an_unreadable_change_reports_only_that_something_changed(message: object) -> None:
    assert change_of(message) == _MUCH


def test_of_many_changes_only_the_kinds_are_reported() -> None:
    few = [Change(ChangeKind.JOB, str(number)) for number in range(20)]
    assert gathered([*few, *few]) == few
    assert gathered([*few, Change(ChangeKind.ENGINE)]) == [_MUCH, Change(ChangeKind.ENGINE)]


def test_a_stream_returns_what_has_arrived_without_waiting(pair: tuple[ChangeStream, socket.socket]) -> None:
    stream, far = pair
    changes = [Change(ChangeKind.RUN_STARTED, "1", "a"), Change(ChangeKind.RUN_FINISHED, "1", "a")]
    assert stream.take() == []
    whole = b"".join(map(_line, changes))
    far.sendall(whole[:-10])
    assert stream.take() == changes[:1]
    far.sendall(whole[-10:])
    assert stream.take() == changes[1:]
    assert stream.take() == []


def test_a_stream_that_ends_gives_the_last_changes_first(pair: tuple[ChangeStream, socket.socket]) -> None:
    stream, far = pair
    far.sendall(_line(Change(ChangeKind.ENGINE)) + b"half a li")
    far.close()
    assert stream.take() == [Change(ChangeKind.ENGINE)]
    assert stream.take() is None
    assert not stream.is_open
    assert stream.take() is None


def test_a_line_that_is_not_a_message_still_counts_as_a_change(
    pair: tuple[ChangeStream, socket.socket],
) -> None:
    stream, far = pair
    far.sendall(b"\xff\xfe nonsense\n")
    assert stream.take() == [_MUCH]


def test_of_many_changes_a_stream_gives_the_kinds(pair: tuple[ChangeStream, socket.socket]) -> None:
    stream, far = pair
    far.sendall(b"".join(_line(Change(ChangeKind.JOB, str(number))) for number in range(100)))
    assert stream.take() == [_MUCH]


def test_of_very_many_changes_a_stream_says_that_everything_may_have_changed(
    pair: tuple[ChangeStream, socket.socket],
) -> None:
    stream, far = pair
    far.sendall(b"".join(b"%d\n" % number for number in range(501)))
    assert stream.take() == [Change(kind) for kind in ChangeKind]


def test_one_read_is_limited(
    pair: tuple[ChangeStream, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    stream, far = pair
    line = _line(_MUCH)
    monkeypatch.setattr(ipc, "_MOST_PER_LOOK", 2 * len(line))
    far.sendall(5 * line)
    for left in (3, 1, 0):
        assert stream.take() == [_MUCH]
        assert len(
            stream._connection.recv(1_000, socket.MSG_PEEK | socket.MSG_DONTWAIT) if left else b""
        ) == left * len(line)
    assert stream.take() == []


def test_a_client_that_sends_an_endless_line_is_ignored(
    pair: tuple[ChangeStream, socket.socket],
) -> None:
    stream, far = pair
    far.sendall(_line(_MUCH) + b"x" * 5_000)
    assert stream.take() == [_MUCH]
    assert stream.take() is None
    assert not stream.is_open


def test_a_line_that_is_nested_without_reason_is_still_news(pair: tuple[ChangeStream, socket.socket]) -> None:
    stream, far = pair
    far.sendall(b"[" * 4_000 + b"\n")
    assert stream.take() == [_MUCH]


def test_a_closed_stream_is_closed(pair: tuple[ChangeStream, socket.socket]) -> None:
    stream, _ = pair
    stream.close()
    assert stream.take() is None


def test_the_changes_of_a_poke_reach_the_server(server: ChangeServer, tmp_path: Path, qtbot: QtBot) -> None:
    heard: list[Change] = []
    server._changed = heard.append
    told = [
        Change(ChangeKind.JOB, "1"),
        Change(ChangeKind.SETTINGS),
        Change(ChangeKind.RUN_STARTED, "1", "ä"),
    ]
    assert poke(tmp_path / "halo.db", told)
    qtbot.waitUntil(lambda: len(heard) == 3, timeout=10_000)
    assert heard == told
    assert poke(tmp_path / "halo.db")
    qtbot.waitUntil(lambda: len(heard) == 4, timeout=10_000)
    assert heard[-1] == _MUCH


def test_a_client_that_finds_no_place_counts_as_a_change(
    server: ChangeServer, tmp_path: Path, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("halo_scheduler.ipc.server._MOST_CLIENTS", 2)
    heard: list[Change] = []
    server._changed = heard.append
    with ExitStack() as held:
        for _ in range(2):
            held.enter_context(socket.socket(socket.AF_UNIX)).connect(str(socket_path(tmp_path / "halo.db")))
        qtbot.waitUntil(lambda: len(server._clients) == 2, timeout=10_000)
        assert heard == []
        held.enter_context(socket.socket(socket.AF_UNIX)).connect(str(socket_path(tmp_path / "halo.db")))
        qtbot.waitUntil(lambda: heard == [_MUCH], timeout=10_000)


def test_an_engine_in_the_same_process_is_reached_without_its_socket(
    server: ChangeServer, tmp_path: Path, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[tuple[Change, QThread]] = []
    server._changed = lambda change: heard.append((change, QThread.currentThread()))
    monkeypatch.setattr("halo_scheduler.ipc.client._connected", _refuse_connection)
    path, told = tmp_path / "halo.db", [Change(ChangeKind.JOB, "1"), Change(ChangeKind.SETTINGS)]
    saving = threading.Thread(target=poke, args=(path, told))
    saving.start()
    saving.join()
    assert heard == []
    qtbot.waitUntil(lambda: len(heard) == 2, timeout=10_000)
    assert heard == [(change, server.thread()) for change in told]
    server.stop()
    assert not poke(path, told)


def _refuse_connection(_path: Path) -> socket.socket:
    raise ConnectionRefusedError


def test_a_stream_may_leave_out_the_changes_of_its_own_process(
    server: ChangeServer, tmp_path: Path, qtbot: QtBot
) -> None:
    path = tmp_path / "halo.db"
    relayed: list[Change] = []

    def relay(change: Change) -> None:
        server.tell(change)
        relayed.append(change)

    server._changed = relay
    everything, others = (ChangeStream.connect(path, skips_own=skips_own) for skips_own in (False, True))
    qtbot.waitUntil(lambda: sum(client.is_subscriber for client in server._clients) == 2, timeout=10_000)
    own, theirs, last = (Change(ChangeKind.JOB, name) for name in ("own", "theirs", "last"))
    assert poke(path, [own, theirs])
    qtbot.waitUntil(lambda: len(relayed) == 2, timeout=10_000)
    # Another process has changed one of the same jobs meanwhile.
    server.tell(replace(theirs, origin="another process"))
    server.tell(last)
    heard: list[Change] = []
    qtbot.waitUntil(lambda: last in _extend(heard, everything), timeout=10_000)
    assert set(heard) == {own, theirs, last}
    heard = []
    qtbot.waitUntil(lambda: last in _extend(heard, others), timeout=10_000)
    assert heard == [theirs, last]
    everything.close()
    others.close()


def test_a_poke_without_details_is_understood(server: ChangeServer, tmp_path: Path, qtbot: QtBot) -> None:
    heard: list[Change] = []
    server._changed = heard.append
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(socket_path(tmp_path / "halo.db")))
        client.sendall(b'{"say":"changed"}\n{"say":"changed","kind":"x","job_id":7}\n')
        qtbot.waitUntil(lambda: len(heard) == 2, timeout=10_000)
    assert heard == [_MUCH, _MUCH]


def test_a_change_of_another_process_reaches_every_subscriber_unchanged(tmp_path: Path, qtbot: QtBot) -> None:
    with Scheduler.open(tmp_path / "halo.db") as engine, Scheduler.open(tmp_path / "halo.db") as other:
        heard: list[Change] = []
        engine.subscribe(heard.append)
        engine.start()
        stream = ChangeStream.connect(engine.path)
        qtbot.waitUntil(lambda: ChangeKind.ENGINE in [change.kind for change in heard], timeout=10_000)
        heard.clear()
        qtbot.waitUntil(lambda: other.status().ticks == 1, timeout=10_000)
        ids = other.add_jobs([{"name": name, "schedule": Every("1h")} for name in "abc"])
        expected = [Change(ChangeKind.JOB, job_id) for job_id in ids]
        qtbot.waitUntil(lambda: len(heard) == 3, timeout=10_000)
        assert heard == expected
        found: list[Change] = []
        qtbot.waitUntil(lambda: len(_extend(found, stream)) == 3, timeout=10_000)
        assert found == expected
        # Three changes that came together make the engine look once.
        qtbot.waitUntil(lambda: other.status().ticks > 1, timeout=10_000)
        assert other.status().ticks == 2
        stream.close()


def _extend(found: list[Change], stream: ChangeStream) -> list[Change]:
    found += stream.take() or []
    return found
