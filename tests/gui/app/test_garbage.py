"""Garbage: found in the window's thread, whoever made it, and only when there is enough of it."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from ui.app.program import MOST_NEW_OBJECTS, GarbageCollector


@pytest.fixture(autouse=True)
def collector(qtbot: QtBot) -> Iterator[None]:  # noqa: ARG001 - an event loop
    gc.collect()
    owner = QObject()
    GarbageCollector(owner)
    yield
    owner.deleteLater()


class _Knot:
    """Refers to itself, so that only a search finds it; notes in which thread that was."""

    def __init__(self, ends: list[int]) -> None:
        self.itself = self
        weakref.finalize(self, lambda: ends.append(threading.get_ident()))


def _in_another_thread(count: int) -> tuple[list[int], list[list[int]]]:
    """Leave a knot and many objects behind in another thread."""
    ends: list[int] = []
    kept: list[list[int]] = []

    def work() -> None:
        _Knot(ends)
        kept.extend([] for _ in range(count))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return ends, kept


def test_objects_left_by_another_thread_are_destroyed_in_the_gui_thread(qtbot: QtBot) -> None:
    ends, _kept = _in_another_thread(MOST_NEW_OBJECTS + 1)
    assert not ends
    qtbot.waitUntil(lambda: bool(ends))
    assert ends == [threading.get_ident()]


def test_little_garbage_is_not_collected(qtbot: QtBot) -> None:
    ends, _kept = _in_another_thread(100)
    qtbot.wait(20)
    assert not ends


def test_the_interpreter_does_not_collect_by_itself() -> None:
    gc.enable()
    try:
        owner = QObject()
        GarbageCollector(owner)
        assert not gc.isenabled()
    finally:
        gc.disable()


@pytest.mark.parametrize(
    ("counts", "generations"),
    [
        ((MOST_NEW_OBJECTS, 99, 99), []),
        ((MOST_NEW_OBJECTS + 1, 1, 1), [0]),
        ((MOST_NEW_OBJECTS + 1, 99, 1), [1]),
        ((MOST_NEW_OBJECTS + 1, 1, 99), [2]),
    ],
)
def test_old_objects_are_collected_less_often(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, counts: tuple[int, int, int], generations: list[int]
) -> None:
    seen: list[int] = []
    monkeypatch.setattr(gc, "get_count", lambda: counts)
    monkeypatch.setattr(gc, "collect", lambda generation=2: seen.append(generation))
    # It looks whenever the event loop is about to wait.
    qtbot.wait(20)
    if generations:
        qtbot.waitUntil(lambda: bool(seen))
    monkeypatch.undo()
    assert sorted(set(seen)) == generations
