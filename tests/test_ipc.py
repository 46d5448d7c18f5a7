"""The private socket's client side: what is said of changes, and how it is heard."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from halo_scheduler import Every, ipc
from halo_scheduler.changes import Change, ChangeKind, gathered
from halo_scheduler.engine.server import ChangeServer
from halo_scheduler.ipc import ChangeStream, change_of, message_of, poke, socket_path
from halo_scheduler.service import Scheduler

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
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(usual))
    named = socket_path(tmp_path / "halo.db")
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert (socket_path(tmp_path / "halo.db") == named) is (mode == 0o700)


def _line(change: Change) -> bytes:
    return json.dumps(message_of(change)).encode() + b"\n"


def test_a_folder_with_too_long_a_name_for_sockets_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ("x" * 80)
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    place = socket_path(tmp_path / "halo.db")
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
def test_what_makes_no_sense_says_only_that_something_changed(message: object) -> None:
    assert change_of(message) == _MUCH


def test_of_many_changes_only_the_kinds_are_told() -> None:
    few = [Change(ChangeKind.JOB, str(number)) for number in range(20)]
    assert gathered([*few, *few]) == few
    assert gathered([*few, Change(ChangeKind.ENGINE)]) == [_MUCH, Change(ChangeKind.ENGINE)]


def test_a_stream_gives_what_has_arrived_and_does_not_wait(pair: tuple[ChangeStream, socket.socket]) -> None:
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


def test_a_line_that_is_no_message_is_still_news(pair: tuple[ChangeStream, socket.socket]) -> None:
    stream, far = pair
    far.sendall(b"\xff\xfe nonsense\n")
    assert stream.take() == [_MUCH]


def test_more_than_one_read_is_taken_at_once(pair: tuple[ChangeStream, socket.socket]) -> None:
    stream, far = pair
    far.setblocking(False)
    line, sent = _line(Change(ChangeKind.JOB, "x" * 200)), 0
    while sent < 400:
        try:
            far.sendall(line)
        except BlockingIOError:
            break
        sent += 1
    found = stream.take()
    assert found is not None
    assert len(found) == sent > 100


def test_a_closed_stream_is_closed(pair: tuple[ChangeStream, socket.socket]) -> None:
    stream, _ = pair
    stream.close()
    assert stream.take() is None


def test_the_changes_of_a_poke_reach_the_server(server: ChangeServer, tmp_path: Path, qtbot: QtBot) -> None:
    heard: list[Change] = []
    server.changed.connect(heard.append)
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


def test_a_poke_without_details_is_understood(server: ChangeServer, tmp_path: Path, qtbot: QtBot) -> None:
    heard: list[Change] = []
    server.changed.connect(heard.append)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(socket_path(tmp_path / "halo.db")))
        client.sendall(b'{"say":"changed"}\n{"say":"changed","kind":"x","job_id":7}\n')
        qtbot.waitUntil(lambda: len(heard) == 2, timeout=10_000)
    assert heard == [_MUCH, _MUCH]


def test_what_another_process_changes_is_told_to_every_subscriber_as_it_was_said(
    tmp_path: Path, qtbot: QtBot
) -> None:
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
