"""What a look at each condition finds, and how it says that."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from halo_scheduler.conditions.looking import Look, NoAnswerError, Senses, look_at
from halo_scheduler.model.conditions import Idle, Load, MainsPower, Network, PathExists


def _no_answer(_: str, __: int) -> None:
    raise NoAnswerError("connection refused")


def _blocked(_: str) -> bool:
    raise PermissionError(13, "Permission denied")


def _broken(_: str) -> bool:
    raise OSError


@pytest.mark.parametrize(
    ("condition", "senses", "expected"),
    [
        (MainsPower(), Senses(runs_on_mains=lambda: True), (True, "the machine runs on AC power")),
        (MainsPower(), Senses(runs_on_mains=lambda: False), (False, "the machine runs on its battery")),
        (
            MainsPower(),
            Senses(runs_on_mains=lambda: None),
            (None, "the power source can't be detected on this system", False),
        ),
        (Network(), Senses(has_way_out=lambda: True), (True, "there is a network")),
        (Network(), Senses(has_way_out=lambda: False), (False, "there is no network")),
        (Network(host="nas", port=22), Senses(require_answer=lambda *_: None), (True, "nas:22 answers")),
        (
            Network(host="fe80::1", port=22),
            Senses(require_answer=_no_answer),
            (False, "[fe80::1]:22 does not answer (connection refused)"),
        ),
        (Idle(idle="10m"), Senses(idle_ms=lambda: 600_000), (True, "the last input was 10 min ago")),
        (Idle(idle="10m"), Senses(idle_ms=lambda: 599_999), (False, "the last input was 9 min ago")),
        (Idle(idle="10m"), Senses(idle_ms=lambda: 4_000), (False, "the last input was 4 s ago")),
        (Idle(idle="10m"), Senses(idle_ms=lambda: 9_000_000), (True, "the last input was 2 h ago")),
        (
            Idle(idle="10m"),
            Senses(idle_ms=lambda: None),
            (None, "idle time can't be detected on this system", False),
        ),
        (Load(below=2), Senses(load=lambda: 1.99), (True, "the load is 1.99")),
        (Load(below=2), Senses(load=lambda: 2.0), (False, "the load is 2.00")),
        (
            Load(below=2),
            Senses(load=lambda: None),
            (None, "the load can't be detected on this system", False),
        ),
        (PathExists(path="/mnt/x"), Senses(is_there=lambda _: True), (True, "/mnt/x is there")),
        (PathExists(path="/mnt/x"), Senses(is_there=lambda _: False), (False, "/mnt/x is not there")),
        (
            PathExists(path="/mnt/x"),
            Senses(is_there=_blocked),
            (None, "/mnt/x can't be accessed (permission denied)"),
        ),
        (
            PathExists(path="/mnt/x"),
            Senses(is_there=_broken),
            (None, "/mnt/x can't be accessed (no reason given)"),
        ),
    ],
)
def test_what_is_found_is_said(
    condition: MainsPower | Network | Idle | Load | PathExists,
    senses: Senses,
    expected: tuple[bool | None, str] | tuple[bool | None, str, bool],
) -> None:
    assert look_at(condition, senses) == Look(*expected)


def test_a_path_is_looked_for_on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "file").touch()
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    assert look_at(PathExists(path=str(tmp_path))).holds is True
    assert look_at(PathExists(path="~/file")).holds is True
    assert look_at(PathExists(path="~")).holds is True
    for missing in ("nothing", "file/below", "dangling", "x" * 300):
        assert look_at(PathExists(path=f"{tmp_path}/{missing}")).holds is not True


def test_a_path_of_another_system_is_none_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "C:\\backup").touch()
    look = look_at(PathExists(path="C:\\backup"))
    assert look == Look(None, "C:\\backup is not an absolute path on this system", is_observable=False)


def test_this_machine_knows_its_load() -> None:
    assert look_at(Load(below=10_000)).holds is True


def test_a_host_is_asked_on_this_machine() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert look_at(Network(host="127.0.0.1", port=server.getsockname()[1])).holds is True
