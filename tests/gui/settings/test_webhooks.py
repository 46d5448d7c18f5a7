"""The webhooks in the settings: what is open, and addresses that are shown once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from finding import child
from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPushButton, QSpinBox, QWidget
from pytestqt.qtbot import QtBot

from halo_scheduler import OnWebhook, Scheduler, SchedulerError
from halo_scheduler.clock import ManualClock
from halo_scheduler.model.settings import Theme
from halo_scheduler.model.webhooks import ListenerState, Place, Signature
from halo_scheduler.service.settings import Webhooks
from ui.backend.backend import Backend
from ui.settings.basic_pages import Switch
from ui.settings.page import SettingsLink
from ui.settings.webhooks import WebhooksPage
from ui.style.theme import Appearance

_NOW = 1_800_000_000_000
_PLACE = Place("127.0.0.1", 8787)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(_NOW)


@pytest.fixture
def scheduler(tmp_path: Path, clock: ManualClock) -> Iterator[Scheduler]:
    with Scheduler.open(tmp_path / "halo.db", clock=clock) as made:
        yield made


@pytest.fixture
def page(scheduler: Scheduler, clock: ManualClock, qapp: QApplication, qtbot: QtBot) -> WebhooksPage:
    appearance = Appearance(Theme.LIGHT, qapp)
    backend = Backend.inline(scheduler, clock, QObject(appearance))
    link = SettingsLink(backend, backend)
    made = WebhooksPage(link, appearance)
    qtbot.addWidget(made)
    made.resize(580, 480)
    made.show()
    link.load()
    made.refresh()
    qtbot.waitUntil(lambda: _open(made) != " ")
    return made


def _open(page: WebhooksPage) -> str:
    return child(page, QLabel, "webhooksOpen").text()


def _texts(page: WebhooksPage) -> list[str]:
    return [one.text() for one in page.findChildren(QLabel) if one.isVisible()]


def _buttons(page: WebhooksPage) -> list[QPushButton]:
    found = page.findChildren(QPushButton, "rotateWebhookButton")
    return [one for one in found if one.isVisible()]


def _line(page: WebhooksPage) -> str:
    found = [one.text() for one in page.findChildren(QLineEdit, "curlText") if one.isVisible()]
    return found[0] if found else ""


def _add(page: WebhooksPage, qtbot: QtBot, scheduler: Scheduler, name: str = "deploy") -> str:
    rows = len(_buttons(page))
    job_id = scheduler.add_job(name, OnWebhook())
    qtbot.waitUntil(lambda: len(_buttons(page)) == rows + 1)
    return job_id


def test_without_webhooks_they_are_explained(page: WebhooksPage) -> None:
    assert _open(page) == "Off"
    assert "No job has a webhook" in _texts(page)


def test_switched_on_and_moved_at_once(page: WebhooksPage, qtbot: QtBot, scheduler: Scheduler) -> None:
    child(page, Switch, "webhooksSwitch").click()
    qtbot.waitUntil(lambda: _open(page) == "On, but Halo isn't running; 127.0.0.1:8787 is not open")
    child(page, QSpinBox, "webhookPortSpin").setValue(9_000)
    qtbot.waitUntil(lambda: "9000" in _open(page))
    assert scheduler.settings.read().webhook_place == Place("127.0.0.1", 9_000)


def test_what_another_program_changes_is_shown(
    page: WebhooksPage, qtbot: QtBot, scheduler: Scheduler
) -> None:
    scheduler.settings.change(webhooks=True)
    qtbot.waitUntil(child(page, Switch, "webhooksSwitch").isChecked)


def test_a_port_that_is_open_to_other_computers_is_shown_and_closed(
    page: WebhooksPage, qtbot: QtBot, scheduler: Scheduler
) -> None:
    card = child(page, QWidget, "webhooksOpenCard")
    assert not card.isVisible()
    scheduler.settings.change(webhook_address="0.0.0.0")  # noqa: S104 - nothing is bound here
    qtbot.waitUntil(card.isVisible)
    assert "Open to other computers (0.0.0.0)" in _texts(page)
    child(page, QPushButton, "webhooksLocalButton").click()
    qtbot.waitUntil(lambda: not card.isVisible())
    assert scheduler.settings.read().webhook_address == "127.0.0.1"


def test_a_closed_port_is_shown_as_an_error(page: WebhooksPage, qtbot: QtBot, scheduler: Scheduler) -> None:
    scheduler.settings.change(webhooks=True)
    scheduler.tick()
    state = ListenerState(place=_PLACE, since=_NOW, fault="another program uses it")
    scheduler._store.webhooks.save_listener(state)
    error = child(page, QLabel, "webhooksSwitchError")
    qtbot.waitUntil(lambda: error.text() == "Not open: another program uses it")
    scheduler._store.webhooks.save_listener(ListenerState(place=_PLACE, since=_NOW))
    qtbot.waitUntil(lambda: _open(page) == "Listening on 127.0.0.1:8787, 0 jobs")
    assert not error.isVisible()


def test_an_address_is_shown_until_the_page_is_left(
    page: WebhooksPage, qtbot: QtBot, scheduler: Scheduler
) -> None:
    job_id = _add(page, qtbot, scheduler)
    assert "No address yet" in _texts(page)
    _buttons(page)[0].click()
    qtbot.waitUntil(lambda: bool(_line(page)))
    line = _line(page)
    webhook = scheduler.webhooks.get(job_id)
    assert webhook is not None
    assert webhook.accepts(line.rpartition("/")[2])
    child(page, QPushButton, "curlCopyButton").click()
    assert QGuiApplication.clipboard().text() == line
    page.hide()
    page.show()
    page.refresh()
    qtbot.waitUntil(lambda: not _line(page))
    assert any(webhook.token_id in text for text in _texts(page))


def test_a_new_address_is_scrolled_into_view(page: WebhooksPage, qtbot: QtBot, scheduler: Scheduler) -> None:
    for index in range(8):
        _add(page, qtbot, scheduler, f"deploy {index}")
    _buttons(page)[-1].click()
    qtbot.waitUntil(lambda: bool(_line(page)))
    qtbot.waitUntil(lambda: page.verticalScrollBar().value() > 0)
    made = child(page, QWidget, "newWebhook")
    assert made.visibleRegion().boundingRect() == made.rect()


def test_a_new_address_is_confirmed(page: WebhooksPage, qtbot: QtBot, scheduler: Scheduler) -> None:
    job_id = _add(page, qtbot, scheduler)
    token = scheduler.webhooks.make_address(job_id)
    qtbot.waitUntil(lambda: _buttons(page)[0].text() == "Rotate…")
    _buttons(page)[0].click()
    child(page, QPushButton, "cancelButton").click()
    assert not child(page, QWidget, "confirmation").isVisible()
    _buttons(page)[0].click()
    next(one for one in page.findChildren(QPushButton, "confirmButton") if one.isVisible()).click()
    qtbot.waitUntil(lambda: bool(_line(page)))
    webhook = scheduler.webhooks.get(job_id)
    assert webhook is not None
    assert not webhook.accepts(token)


def test_a_refusal_gets_a_reply(
    page: WebhooksPage, qtbot: QtBot, scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    _add(page, qtbot, scheduler)

    def refuse(*_: object) -> str:
        raise SchedulerError("the disk is full")

    monkeypatch.setattr(Webhooks, "make_address", refuse)
    _buttons(page)[0].click()
    error = child(page, QLabel, "webhooksError")
    qtbot.waitUntil(lambda: error.text() == "The disk is full")


def test_names_from_outside_are_plain_text_and_signatures_are_named(
    page: WebhooksPage, qtbot: QtBot, scheduler: Scheduler
) -> None:
    job_id = _add(page, qtbot, scheduler, "\u202eR&D\u200b <b>bold</b>")
    scheduler.webhooks.make_address(job_id)
    scheduler.webhooks.require_signature(job_id, Signature.STRIPE, "KEY")
    qtbot.waitUntil(lambda: any("signed with KEY as Stripe does" in text for text in _texts(page)))
    assert "\\u202eR&&D\\u200b <b>bold</b>" in _texts(page)
