"""Chat and a real daemon: each message runs once and is answered, whenever the daemon is killed."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from daemons import House
from process_probe import until
from telegram_server import ANNA, TOKEN, TelegramServer

from halo_scheduler import Callback, Command, OnChat, Outcome, Trigger
from halo_scheduler.model.chat import ChatServiceName
from halo_scheduler.triggers import chat_messages

_DAEMON = (sys.executable, str(Path(__file__).parents[1] / "support" / "kill_daemon.py"))
_MESSAGES, _KILLS = 15, 4


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    found = House(tmp_path, monkeypatch)
    yield found
    found.close()


@pytest.fixture
def server(house: House) -> Iterator[TelegramServer]:
    with TelegramServer() as made:
        # Messages are newer than the jobs, however long those take to be added.
        made.now_s = int(time.time()) + 60
        house.scheduler.chat.add("family", ChatServiceName.TELEGRAM, TOKEN, api=made.api, in_file=True)
        house.scheduler.chat.permit("family", str(ANNA["id"]))
        yield made


def _listens(house: House) -> bool:
    (status,) = house.scheduler.chat.status()
    return status.is_listening


def _has(server: TelegramServer, least: int) -> bool:
    return len({sent.reply_to for sent in server.sent}) >= least


def test_each_message_runs_once_and_is_answered_although_the_daemon_is_killed(
    house: House, server: TelegramServer
) -> None:
    assert chat_messages._OF_ONE_PERSON[1] >= _MESSAGES
    house.scheduler.add_job("answer", OnChat("family/direct"), Callback(), parameters={"number": "0"})
    house.start(_DAEMON)
    until(lambda: _listens(house))
    written: dict[int, str] = {}
    for kill in range(_KILLS):
        for _ in range(_MESSAGES // _KILLS):
            number = len(written)
            written[server.write(f"number={number} hello")] = str(number)
        # Now before, now while, now after it stores and answers.
        until(partial(_has, server, max(0, len(written) - 2)))
        time.sleep(0.01 * kill)
        house.crash()
        house.start(_DAEMON)
    until(lambda: {sent.reply_to for sent in server.sent} >= set(written))
    runs = [run for run in house.scheduler.get_run_log(limit=100) if run.trigger is Trigger.EVENT]
    assert sorted(run.parameters["number"] for run in runs) == sorted(written.values())
    assert len({run.event_id for run in runs}) == len(written)
    assert {run.outcome for run in runs} <= {Outcome.SUCCESS, Outcome.INTERRUPTED}


def test_a_reply_contains_no_secrets(house: House, server: TelegramServer) -> None:
    house.scheduler.secrets.set("KEY", "correct-horse", in_file=True)
    script = 'printf "you wrote %s\\n$KEY\\n" "$HALO_INPUT"'
    command = Command(argv=("sh", "-c", script), environment={"KEY": "${secret:KEY}"})
    house.scheduler.add_job("answer", OnChat("family/direct"), command)
    house.start()
    until(lambda: _listens(house))
    number = server.write("$(id); `id`")
    until(lambda: bool(server.sent))
    (sent,) = server.sent
    assert (sent.chat_id, sent.reply_to) == (ANNA["id"], number)
    assert sent.text.startswith("you wrote $(id); `id`\n")
    assert "correct-horse" not in sent.text
    assert TOKEN not in house.log()
