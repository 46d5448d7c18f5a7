"""The windows show every character of a job: nothing in its name, its command or its group is invisible."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import shell
from job_values import NOW
from machine import Bench
from pane_desk import PaneDesk
from PySide6.QtCore import QAbstractItemModel, QAbstractListModel, QModelIndex, QObject, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QWidget,
)
from pytestqt.qtbot import QtBot

from halo_scheduler import Every, HttpRequest, Manual, Prompt
from halo_scheduler.model import Action, Follower
from halo_scheduler.model.settings import Theme
from ui.backend.backend import Backend
from ui.history.run_table import State
from ui.history.window import HistoryWindow
from ui.main_window.trash import TrashDialog
from ui.main_window.window import MainWindow
from ui.style.theme import Appearance
from ui.style.wording import one_line, plain_tooltip
from ui.tray.icon import Tray
from ui.widgets.job_text import action_words
from ui.widgets.labels import WrappedText

_HIDING = "\u200b\u202e\u061c\ufeff\u3164\ufe0f\U000e0041\U000e0101\u00ad\u2800"
_NAME = f"deploy{_HIDING}"
_SHOWN = r"deploy\u200b\u202e\u061c\ufeff\u3164\ufe0f\udb40\udc41\udb40\udd01\u00ad\u2800"
_ROLES = (
    Qt.ItemDataRole.DisplayRole,
    Qt.ItemDataRole.ToolTipRole,
    Qt.ItemDataRole.AccessibleTextRole,
    Qt.ItemDataRole.AccessibleDescriptionRole,
    Qt.ItemDataRole.StatusTipRole,
)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "halo.db", now_ms=NOW)
    yield made
    made.close()


@pytest.fixture
def backend(bench: Bench, qapp: QApplication) -> Backend:
    return Backend.inline(bench.scheduler, bench.clock, qapp)


def _hidden_in(texts: Iterator[str]) -> list[str]:
    return [
        text
        for text in texts
        if any(
            (unicodedata.category(sign) in {"Cc", "Cf"} and sign not in "\n\t") or sign in _HIDING
            for sign in text
        )
    ]


def _texts_of(top: QWidget) -> Iterator[str]:
    """Yield all that a window shows, but for the fields in which somebody writes."""
    for found in (top, *top.findChildren(QObject)):
        if isinstance(found, QLineEdit | QPlainTextEdit):
            continue
        if isinstance(found, QWidget):
            yield from (
                found.windowTitle(),
                found.toolTip(),
                found.accessibleName(),
                found.accessibleDescription(),
            )
        if isinstance(found, QAction):
            yield from (found.text(), found.toolTip())
        if isinstance(found, QAbstractItemView) and found.model() is not None:
            yield from _texts_in(found.model())
        if isinstance(found, QLabel | QAbstractButton | WrappedText):
            yield found.text()


def _texts_in(model: QAbstractItemModel) -> Iterator[str]:
    for row in range(model.rowCount()):
        for column in range(1 if isinstance(model, QAbstractListModel) else model.columnCount()):
            index = model.index(row, column, QModelIndex())
            yield from (str(index.data(role)) for role in _ROLES if index.data(role) is not None)


def _add_hostile(bench: Bench) -> str:
    scheduler = bench.scheduler
    first = scheduler.add_job(
        _NAME,
        Every("1h"),
        shell(f"touch owned #\recho {_HIDING}"),
        group=f"night{_HIDING}",
        description=f"what{_HIDING}\nfor",
    )
    return scheduler.add_job(f"x{_NAME}", Manual(), Prompt(text=_NAME), followers=(Follower(job_id=first),))


def test_the_job_window_shows_every_character(qtbot: QtBot, bench: Bench, backend: Backend) -> None:
    _add_hostile(bench)
    window = MainWindow(backend, Appearance(Theme.LIGHT))
    qtbot.addWidget(window)
    with qtbot.waitSignal(window._loader.loaded):
        window.show()
    qtbot.waitUntil(lambda: window._pane._asked is None and not window._totals.is_due)
    texts = list(_texts_of(window))
    assert any(_SHOWN in text for text in texts)
    assert any(r"touch owned #\recho " in text for text in texts)
    assert _hidden_in(iter(texts)) == []


def test_the_pane_points_out_invisible_characters_and_similar_names(qtbot: QtBot, tmp_path: Path) -> None:
    desk = PaneDesk(qtbot, tmp_path / "halo.db")
    desk.scheduler.add_job("deploy", Manual(), shell("true"))
    desk.show(desk.scheduler.add_job("Deploy", Every("1h"), shell("echo \u200b")))
    assert desk.text("reviewSentence") == (
        "Invisible characters in action.line: U+200B ZERO WIDTH SPACE.\n"
        "Its name looks like that of another job: deploy."
    )
    desk.show(desk.scheduler.add_job("plain", Manual(), shell("true")))
    assert not desk.is_shown("reviewNote")
    desk.bench.close()


def test_history_shows_every_character(qtbot: QtBot, bench: Bench, backend: Backend) -> None:
    _add_hostile(bench)
    for job in bench.scheduler.list_jobs():
        bench.scheduler.trigger(job.id)
    bench.scheduler.tick()
    window = HistoryWindow(backend, Appearance(Theme.LIGHT))
    qtbot.addWidget(window)
    window.show()
    qtbot.waitUntil(lambda: window.model.state is State.READY)
    texts = list(_texts_of(window))
    assert any(_SHOWN in text for text in texts)
    assert _hidden_in(iter(texts)) == []


def test_the_trash_shows_every_character(qtbot: QtBot, bench: Bench) -> None:
    _add_hostile(bench)
    dialog = TrashDialog(Appearance())
    qtbot.addWidget(dialog)
    dialog.set_jobs(bench.scheduler.list_jobs(), {})
    texts = list(_texts_of(dialog))
    assert any("deploy" in text for text in texts)
    assert _hidden_in(iter(texts)) == []


def test_the_tray_shows_every_character(qtbot: QtBot, bench: Bench, backend: Backend) -> None:
    _add_hostile(bench)
    parent = QObject()
    tray = Tray(backend, Appearance(parent=parent), parent)
    tray.refresh()
    qtbot.waitUntil(lambda: not tray._is_asking and not tray._rest.isActive())
    texts = [
        tray._icon.toolTip(),
        *(action.text() for action in tray._icon.contextMenu().findChildren(QAction)),
    ]
    assert any("deploy" in text for text in texts)
    assert _hidden_in(iter(texts)) == []


@pytest.mark.parametrize(
    ("action", "shown"),
    [
        (shell("touch owned1 #\rrsync -a ~/photos /mnt      "), r"touch owned1 #\rrsync -a ~/photos /mnt"),
        (shell("find ~/tmp -delete \x1b]; touch owned2"), r"find ~/tmp -delete \x1b]; touch owned2"),
        (shell("touch owned3 #\b\b\becho hello"), r"touch owned3 #\x08\x08\x08echo hello"),
        (shell("touch owned4 #\x1b[2Kcurl http://127.0.0.1"), r"touch owned4 #\x1b[2Kcurl http://127.0.0.1"),
        (shell("echo hello #\ntouch owned5"), "echo hello # ↵ touch owned5"),
        (HttpRequest(url="http://127.0.0.1/\u202egpj"), r"GET http://127.0.0.1/\u202egpj"),
        (Prompt(text="Sum up.\U000e0041"), r"prompt: Sum up.\udb40\udc41"),
    ],
)
def test_the_window_shows_the_escaped_action(action: Action, shown: str) -> None:
    assert action_words(action) == shown


def test_lines_and_tooltips_show_every_character() -> None:
    assert one_line(_NAME) == _SHOWN
    assert _SHOWN in plain_tooltip(_NAME)
