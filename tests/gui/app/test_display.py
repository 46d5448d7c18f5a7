"""Whether there is a screen."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from ui.app.start import has_display


def test_without_any_display_none_is_found() -> None:
    assert not has_display({})


def test_a_display_that_does_not_respond_is_not_used() -> None:
    assert not has_display({"DISPLAY": ":98765"})


def test_a_display_of_another_machine_is_left_to_qt() -> None:
    assert has_display({"DISPLAY": "localhost:10.0"})


def test_a_display_that_answers_is_one() -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0/tmp/.X11-unix/X98764")
        server.listen()
        assert has_display({"DISPLAY": ":98764"})


@pytest.mark.parametrize("exists", [True, False])
def test_wayland_counts_when_its_socket_is_there(tmp_path: Path, exists: bool) -> None:
    if exists:
        (tmp_path / "wayland-0").touch()
    assert has_display({"WAYLAND_DISPLAY": "wayland-0", "XDG_RUNTIME_DIR": str(tmp_path)}) is exists


def test_a_platform_without_a_screen_needs_no_display() -> None:
    assert has_display({"QT_QPA_PLATFORM": "offscreen"})
