"""Chat in the settings: bots, who is permitted, and who tried to write."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from finding import child
from PySide6.QtCore import QObject, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QLineEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot
from telegram_server import TOKEN, TelegramServer

from halo_scheduler import OnChat, Scheduler
from halo_scheduler.clock import ManualClock
from halo_scheduler.model.chat import BotState, ChatServiceName, Stranger
from halo_scheduler.model.settings import Theme
from ui.backend.backend import Backend
from ui.settings.chat import ChatPage
from ui.settings.page import SettingsLink
from ui.style.theme import Appearance

_NOW = 1_800_000_000_000


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[Scheduler]:
    with Scheduler.open(tmp_path / "halo.db", clock=ManualClock(_NOW)) as made:
        yield made


@pytest.fixture
def server() -> Iterator[TelegramServer]:
    with TelegramServer() as made:
        yield made


@pytest.fixture
def page(scheduler: Scheduler, qapp: QApplication, qtbot: QtBot) -> ChatPage:
    appearance = Appearance(Theme.LIGHT, qapp)
    backend = Backend.inline(scheduler, ManualClock(_NOW), QObject(appearance))
    made = ChatPage(SettingsLink(backend, backend), appearance)
    qtbot.addWidget(made)
    made.resize(580, 480)
    made.show()
    made.refresh()
    qtbot.waitUntil(lambda: "No bots yet" in _texts(made))
    return made


def _texts(page: ChatPage) -> list[str]:
    return [one.text() for one in page.findChildren(QLabel) if one.isVisible()]


def _press(page: ChatPage, qtbot: QtBot, name: str) -> None:
    def found() -> list[QPushButton]:
        return [one for one in page.findChildren(QPushButton, name) if one.isVisible() and one.isEnabled()]

    qtbot.waitUntil(lambda: bool(found()))
    found()[0].click()


def _says(page: ChatPage, qtbot: QtBot, text: str) -> None:
    qtbot.waitUntil(lambda: text in _texts(page))


def _add(scheduler: Scheduler, server: TelegramServer) -> None:
    scheduler.chat.add("family", ChatServiceName.TELEGRAM, TOKEN, api=server.api, in_file=True)


def test_a_bot_is_added_with_its_token(page: ChatPage, qtbot: QtBot, scheduler: Scheduler) -> None:
    _press(page, qtbot, "addBotButton")
    save = child(page, QPushButton, "saveBotButton")
    assert not save.isEnabled()
    child(page, QLineEdit, "botNameEdit").setText("Family")
    child(page, QLineEdit, "botTokenEdit").setText("xoxb-1 xapp-2")
    child(page, QComboBox, "botServiceCombo").setCurrentIndex(1)
    assert "xapp" in child(page, QLabel, "botHint").text()
    child(page, QComboBox, "botPlaceCombo").setCurrentIndex(1)
    _press(page, qtbot, "saveBotButton")
    error = child(page, QLabel, "botError")
    qtbot.waitUntil(error.isVisible)
    assert error.text().startswith("Must be a short name of a-z")
    child(page, QLineEdit, "botNameEdit").setText("family")
    _press(page, qtbot, "saveBotButton")
    _says(page, qtbot, "✓ family added")
    _says(page, qtbot, "family · Slack")
    assert child(page, QLineEdit, "botTokenEdit").text() == ""
    (bot,) = scheduler.settings.read().chat_bots
    assert (bot.service, bot.secret) == (ChatServiceName.SLACK, "CHAT_family")


def test_escape_gives_a_new_bot_up(page: ChatPage, qtbot: QtBot) -> None:
    _press(page, qtbot, "addBotButton")
    child(page, QLineEdit, "botTokenEdit").setText("secret")
    form = child(page, QWidget, "botForm")
    QTest.keyClick(form, Qt.Key.Key_A)
    QTest.keyClick(form, Qt.Key.Key_Escape)
    assert not form.isVisible()
    assert child(page, QLineEdit, "botTokenEdit").text() == ""


def test_a_bot_is_tried(page: ChatPage, qtbot: QtBot, scheduler: Scheduler, server: TelegramServer) -> None:
    _add(scheduler, server)
    _press(page, qtbot, "testBotButton")
    _says(page, qtbot, "✓ family is @halo_test_bot")
    server.answers = [(401, {"ok": False})]
    _press(page, qtbot, "testBotButton")
    qtbot.waitUntil(lambda: "Telegram rejects" in child(page, QLabel, "chatMessage").text())


def test_people_are_permitted_and_denied(
    page: ChatPage, qtbot: QtBot, scheduler: Scheduler, server: TelegramServer
) -> None:
    _add(scheduler, server)
    scheduler._store.chat.note_strangers(
        [Stranger(bot="family", sender="100", sender_name="@Anna & co", channel="-5", at=_NOW - 60_000)]
    )
    _says(page, qtbot, "@Anna && co (100)")
    assert "Wrote in family/-5 1 min ago without permission" in _texts(page)
    _press(page, qtbot, "allowStrangerButton")
    _says(page, qtbot, "✓ 100 is permitted")
    qtbot.waitUntil(lambda: "100" in _texts(page))
    _press(page, qtbot, "allowButton")
    child(page, QLineEdit, "personEdit").setText("nonsense")
    _press(page, qtbot, "allowButton")
    qtbot.waitUntil(lambda: "id of a person" in child(page, QLabel, "chatMessage").text())
    _press(page, qtbot, "denyButton")
    _says(page, qtbot, "✓ 100 is no longer permitted")
    assert scheduler.settings.read().chat_bots[0].permitted == ()


def test_a_bot_is_removed_after_a_question(
    page: ChatPage, qtbot: QtBot, scheduler: Scheduler, server: TelegramServer
) -> None:
    _add(scheduler, server)
    _press(page, qtbot, "removeBotButton")
    _press(page, qtbot, "cancelButton")
    assert scheduler.settings.read().chat_bots
    _press(page, qtbot, "removeBotButton")
    _press(page, qtbot, "confirmButton")
    _says(page, qtbot, "No bots yet")
    assert scheduler.settings.read().chat_bots == ()


def test_the_fault_of_a_bot_is_shown(
    page: ChatPage, qtbot: QtBot, scheduler: Scheduler, server: TelegramServer
) -> None:
    _add(scheduler, server)
    scheduler.add_job("answer", OnChat("family/direct", ("100",)))
    scheduler.tick()
    state = BotState(name="family", token_at=_NOW, since=_NOW, fault="the network is down")
    scheduler._store.chat.save_state(state)
    _says(page, qtbot, "Not listening: the network is down")
    page.hide()
