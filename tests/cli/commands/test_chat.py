"""`halo chat`: bots, their tokens and the people who may write to them, in the terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from telegram_server import TOKEN, TelegramServer

from halo_scheduler import OnChat
from halo_scheduler.cli import halo
from halo_scheduler.errors import ScheduleError, SchedulerError
from halo_scheduler.model.chat import BotState, Stranger
from halo_scheduler.service.scheduler import Scheduler


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def server() -> Iterator[TelegramServer]:
    with TelegramServer() as made:
        yield made


def _run(*arguments: str, typed: str = "") -> Result:
    return CliRunner().invoke(halo, arguments, input=typed)


def _chat(*arguments: str, typed: str = "") -> str:
    done = _run("chat", *arguments, typed=typed)
    assert done.exit_code == 0, done.output
    return done.output


def _add(server: TelegramServer, token: str = TOKEN) -> str:
    given = ("add", "family", "--service", "telegram", "--api", server.api, "--in-file")
    return _chat(*given, typed=f"{token}\n")


def _data(*arguments: str) -> Any:
    return json.loads(_chat(*arguments, "--json"))


def test_without_bots_it_says_how_to_add_one() -> None:
    assert _chat() == "no bots yet; add one with: halo chat add family --service telegram\n"
    assert _data() == []


def test_a_bot_is_added_tried_listed_and_removed(server: TelegramServer, home: Path) -> None:
    assert _add(server) == "added family; test it with: halo chat test family\n"
    assert _chat("test", "family") == (
        "family is @halo_test_bot on Telegram\n"
        "▲ not listening: Halo isn't running (0 jobs, 0 people permitted)\n"
    )
    assert "family  telegram  not listening: Halo isn't running" in _chat()
    assert _data()[0] == {
        "name": "family",
        "service": "telegram",
        "permitted": [],
        "listening": False,
        "identity": "",
        "fault": "",
        "jobs": [],
    }
    assert TOKEN.encode() not in (home / "halo.db").read_bytes()
    assert _run("chat", "remove", "family").exit_code != 0
    assert _chat("remove", "family", "--yes") == "removed family\n"
    assert _data() == []


def test_a_token_is_replaced(server: TelegramServer) -> None:
    _add(server, "1:an-older-token-of-it")
    wrong = _run("chat", "test", "family")
    assert isinstance(wrong.exception, SchedulerError)
    assert "rejects this token" in str(wrong.exception)
    assert _chat("token", "family", "--in-file", typed=TOKEN) == "family has a new token\n"
    assert "@halo_test_bot" in _chat("test", "family")


def test_who_wrote_is_shown_and_permitted(server: TelegramServer) -> None:
    _add(server)
    assert _chat("who", "family") == "nobody has written to family without permission\n"
    with Scheduler.open() as scheduler:
        stranger = Stranger(bot="family", sender="100", sender_name="@Anna", channel="-5", at=1_000)
        scheduler._store.chat.note_strangers([stranger])
    shown = _chat("who", "family")
    assert "100  @Anna  family/-5" in shown
    assert shown.endswith("Permit a person with: halo chat allow family ID\n")
    assert _data("who", "family") == [{"id": "100", "name": "@Anna", "conversation": "-5", "at": 1_000}]
    assert _chat("allow", "family", "@ANNA") == "@ANNA may start jobs through family\n"
    assert _data()[0]["permitted"] == ["@anna"]
    assert _data("who", "family") == []
    assert _chat("deny", "family", "@anna") == "@anna is no longer permitted for family\n"
    assert isinstance(_run("chat", "deny", "family", "@anna").exception, ScheduleError)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("allow", "family", "anna"), "WHO: must be the id of a person"),
        (("allow", "work", "1"), "NAME: there is no bot named work; there is family"),
        (("add", "Family", "--service", "slack", "--in-file"), "NAME: must be a short name"),
        (("add", "family", "--service", "slack", "--in-file"), "NAME: there is already a bot named family"),
        (
            ("add", "x", "--service", "slack", "--api", "http://example.org"),
            "--api: must begin with https://",
        ),
    ],
)
def test_invalid_arguments_are_refused_with_their_option(
    server: TelegramServer, arguments: tuple[str, ...], sentence: str
) -> None:
    _add(server)
    done = _run("chat", *arguments, typed="some-token")
    assert isinstance(done.exception, ScheduleError)
    assert sentence in str(done.exception)


def test_a_name_is_refused_where_names_are_not_unique() -> None:
    _chat("add", "games", "--service", "discord", "--in-file", typed="some-token")
    done = _run("chat", "allow", "games", "@ann")
    assert str(done.exception).startswith("WHO: names aren't unique on Discord")


def test_a_job_is_added_and_shown(server: TelegramServer) -> None:
    _add(server)
    given = ("--chat", "family/direct", "--chat-from", "100", "--chat-from", "@Anna", "--", "true")
    assert _run("add", "answer", *given).exit_code == 0
    with Scheduler.open() as scheduler:
        (job,) = scheduler.list_jobs()
        assert job.schedule == OnChat("family/direct", ("100", "@anna"))
    assert "when 100 or @anna writes to family/direct" in _run("show", "answer").output
    assert _run("add", "spoken", "--when", "when 100 writes to family/direct", "--", "true").exit_code == 0
    refused = _run("add", "x", "--chat", "family/direct", "--chat-from", "anna", "--", "true")
    assert (refused.exit_code, "--chat-from must be the id" in refused.output) == (2, True)
    assert _run("add", "x", "--chat-from", "1", "--manual", "--", "true").exit_code == 2
    assert isinstance(_run("add", "x", "--chat", "other/direct", "--", "true").exception, ScheduleError)


def test_status_and_doctor_show_the_state_of_bots(server: TelegramServer) -> None:
    _add(server)
    shown = _run("status").output
    assert "  chat: family (telegram), not listening: Halo isn't running" in shown
    assert json.loads(_run("status", "--json").output)["chat"][0]["name"] == "family"
    assert "Chat: family (telegram), not listening: Halo isn't running" in _run("doctor").output
    with Scheduler.open() as scheduler:
        scheduler.add_job("answer", OnChat("family/direct", ("100",)))
        scheduler.tick()
        now_ms = scheduler._session.clock.now_ms()
        token_at = scheduler.settings.read().chat_bots[0].token_at
        state = BotState(name="family", token_at=token_at, since=now_ms, fault="the network is down")
        scheduler._store.chat.save_state(state)
        assert "not listening: the network is down" in _run("doctor").output
        scheduler._store.chat.save_state(
            BotState(name="family", token_at=token_at, since=now_ms, identity="@halo")
        )
        assert "listening as @halo, 1 job, 0 people permitted" in _run("status").output
