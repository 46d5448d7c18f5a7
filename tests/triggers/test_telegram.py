"""The adapter for Telegram, against a server that behaves like the real one."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from process_probe import until
from telegram_server import ANNA, BOT, EVE, TOKEN, TelegramServer

from halo_scheduler.errors import StoreUnavailableError
from halo_scheduler.triggers import telegram
from halo_scheduler.triggers.chat_service import ChatFault, ChatMessage
from halo_scheduler.triggers.telegram import Telegram, open_service


@pytest.fixture
def server() -> Iterator[TelegramServer]:
    with TelegramServer() as made:
        yield made


class Listening:
    """Listens on a thread, and keeps what it accepted."""

    def __init__(self, server: TelegramServer, state: str = "1@9999999999999") -> None:
        self.service: Telegram = open_service(TOKEN, api=server.api)
        self.messages: list[ChatMessage] = []
        self.states = [state]
        self.refuses = 0
        self.fault: BaseException | None = None
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def _listen(self) -> None:
        try:
            self.service.listen(self.states[-1], self._accept)
        except (ChatFault, StoreUnavailableError) as fault:
            self.fault = fault

    def _accept(self, messages: Sequence[ChatMessage], state: str) -> None:
        if self.refuses:
            self.refuses -= 1
            raise StoreUnavailableError("no room")
        self.messages += messages
        self.states.append(state)

    def has(self, count: int) -> None:
        until(lambda: len(self.messages) >= count)

    def close(self) -> None:
        self.service.close()
        self._thread.join(5)
        assert not self._thread.is_alive()


@pytest.fixture
def listening(server: TelegramServer) -> Iterator[Listening]:
    made = Listening(server)
    yield made
    made.close()


def test_the_token_is_proved_by_the_name_of_the_bot(server: TelegramServer) -> None:
    assert open_service(TOKEN, api=server.api).identity() == "@halo_test_bot"


def test_a_message_is_received_once_and_acknowledged_afterwards(
    server: TelegramServer, listening: Listening
) -> None:
    number = server.write("hello")
    listening.has(1)
    (message,) = listening.messages
    assert message == ChatMessage(
        event_id=f"telegram:4711:100:{number}",
        channel="100",
        sender="100",
        sender_name="@Anna",
        text="hello",
        thread=str(number),
        at=server.now_s * 1_000,
    )
    until(lambda: server.offsets[-1] == 901)
    assert listening.states[-1].startswith("901@")


def test_a_message_that_was_not_stored_is_not_acknowledged(server: TelegramServer) -> None:
    listening = Listening(server)
    listening.refuses = 1
    server.write("first")
    until(lambda: listening.fault is not None)
    listening.close()
    assert 901 not in server.offsets
    again = Listening(server, listening.states[-1])
    again.has(1)
    again.close()
    assert [message.text for message in again.messages] == ["first"]


def test_messages_from_before_the_first_time_do_not_count(server: TelegramServer) -> None:
    server.write("old")
    listening = Listening(server, "")
    until(lambda: len(listening.states) == 2)
    server.write("new")
    listening.has(1)
    listening.close()
    assert [message.text for message in listening.messages] == ["new"]


def test_update_ids_may_restart_after_a_week_without_messages(server: TelegramServer) -> None:
    server.write("hello")
    listening = Listening(server, "5000@1")
    listening.has(1)
    listening.close()
    assert server.offsets[0] == 0


def test_bots_edits_and_messages_without_text_do_not_count(
    server: TelegramServer, listening: Listening
) -> None:
    server.write("by a bot", {**BOT, "id": 5})
    server.write(None, photo=[])
    server.write("as the group", sender_chat={"id": -5})
    server.updates.append({"update_id": 990, "edited_message": {"text": "x"}})
    server.updates.append({"update_id": 991, "message": {"text": {"a": 1}, "from": 3}})
    server._next_update = 992
    server.write("last")
    listening.has(1)
    assert [message.text for message in listening.messages] == ["last"]


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("@Halo_Test_Bot  deploy now", "deploy now"),
        ("/deploy@halo_test_bot next", "/deploy next"),
        ("/deploy@other_bot next", "/deploy@other_bot next"),
        ("mail me @halo_test_bot", "mail me @halo_test_bot"),
    ],
)
def test_a_leading_mention_of_the_bot_is_removed(
    server: TelegramServer, listening: Listening, written: str, text: str
) -> None:
    server.write(written, chat=-100)
    listening.has(1)
    assert listening.messages[0].text == text


def test_a_first_name_cannot_pass_for_a_user_name(server: TelegramServer, listening: Listening) -> None:
    server.write("let me in", EVE)
    listening.has(1)
    assert (listening.messages[0].sender, listening.messages[0].sender_name) == ("666", "Anna")


def test_a_reply_goes_to_the_thread_of_its_message(server: TelegramServer, listening: Listening) -> None:
    asked = server.write("hello", chat=-100)
    listening.has(1)
    listening.service.send("-100", str(asked), "which one?")
    answer = max(server._next_message, asked)
    server.write("the first", chat=-100, reply_to=answer)
    server.write("another", chat=-100, reply_to=3_000)
    topic: dict[str, Any] = {"reply_to_message": {"message_id": 1, "forum_topic_created": {}}}
    last = server.write("in a topic", chat=-100, **topic)
    listening.has(4)
    assert [message.thread for message in listening.messages[1:]] == [str(asked), "3000", str(last)]


def test_an_answer_is_plain_text_without_mentions_and_previews(server: TelegramServer) -> None:
    open_service(TOKEN, api=server.api).send(
        "-100", "7", "<b>\N{GRINNING FACE} @anna</b> https://example.org"
    )
    (sent,) = server.sent
    assert (sent.chat_id, sent.reply_to) == (-100, 7)
    assert "parse_mode" not in sent.data
    assert sent.data["entities"] == [{"type": "code", "offset": 6, "length": 5}]
    assert sent.data["link_preview_options"] == {"is_disabled": True}


def test_an_answer_with_very_many_mentions_is_marked_as_a_whole(server: TelegramServer) -> None:
    text = "@anna " * 200
    open_service(TOKEN, api=server.api).send("100", "", text)
    assert server.sent[0].data["entities"] == [{"type": "code", "offset": 0, "length": len(text)}]
    assert server.sent[0].reply_to is None


@pytest.mark.parametrize(
    ("status", "body", "sentence", "then"),
    [
        (401, {"ok": False}, "Telegram rejects this token", (None, True)),
        (404, {"ok": False}, "Telegram rejects this token", (None, True)),
        (409, {"description": "Conflict: terminated"}, "another program receives", (30.0, False)),
        (
            409,
            {"description": "can't use, a Webhook is active"},
            "a webhook elsewhere receives",
            (30.0, False),
        ),
        (429, {"parameters": {"retry_after": 17}}, "limits the rate", (17.0, False)),
        (429, {"parameters": {"retry_after": "x"}}, "limits the rate", (30.0, False)),
        (429, {}, "limits the rate", (30.0, False)),
        (
            400,
            {"description": "Bad Request: chat\nnot found"},
            "refused the request: Bad Request: chat",
            (None, False),
        ),
        (200, {"ok": False}, "refused the request: HTTP status 200", (None, False)),
        (200, [], "cannot be read", (None, False)),
        (200, b"<html>", "cannot be read", (None, False)),
        (200, b"[" * 100_000, "cannot be read", (None, False)),
        (502, b"Bad Gateway", "HTTP status 502", (None, False)),
    ],
)
def test_a_refusal_by_the_service_becomes_a_sentence(
    server: TelegramServer, status: int, body: Any, sentence: str, then: tuple[float | None, bool]
) -> None:
    server.answers = [(status, body)]
    with pytest.raises(ChatFault, match=sentence) as caught:
        open_service(TOKEN, api=server.api).identity()
    assert (caught.value.retry_after_s, caught.value.is_final) == then
    assert TOKEN not in str(caught.value)


def test_a_server_that_repeats_the_token_is_quoted_without_it(server: TelegramServer) -> None:
    server.answers.append((400, {"ok": False, "description": f"no such path: /bot{TOKEN}/getMe"}))
    with pytest.raises(ChatFault, match="refused the request: no such path") as fault:
        open_service(TOKEN, api=server.api).identity()
    assert TOKEN not in str(fault.value)


@pytest.mark.parametrize("again", [[], [{"update_id": 7, "message": {}}]])
def test_a_server_that_answers_at_once_with_nothing_new_is_not_asked_again_at_once(
    server: TelegramServer, monkeypatch: pytest.MonkeyPatch, again: list[dict[str, Any]]
) -> None:
    pauses: list[float] = []
    service = open_service(TOKEN, api=server.api)

    def wait(seconds: float) -> None:
        pauses.append(seconds)
        service.close()

    monkeypatch.setattr(service._closing, "wait", wait)
    server.answers += [(200, {"ok": True, "result": BOT}), (200, {"ok": True, "result": again})]
    accepted: list[str] = []
    service.listen("8@9999999999999", lambda _messages, state: accepted.append(state))
    assert accepted == []
    assert 0 < pauses[0] <= 1


def test_a_huge_answer_is_refused(server: TelegramServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telegram, "_MOST_BYTES", 1_000_000)
    server.answers = [(200, b" " * 2_000_000)]
    with pytest.raises(ChatFault, match="more than 1 MB at once"):
        open_service(TOKEN, api=server.api).identity()


@pytest.mark.parametrize("result", [{"ok": True, "result": {}}, {"ok": True, "result": [{"update_id": "x"}]}])
def test_updates_of_another_form_are_refused(server: TelegramServer, result: object) -> None:
    listening = Listening(server)
    until(lambda: bool(server.offsets))
    server.answers = [(200, result)]
    server.write()
    until(lambda: listening.fault is not None or not server.answers)
    server.write()
    until(lambda: listening.fault is not None)
    listening.close()
    assert "cannot be read" in str(listening.fault)


def test_a_server_that_cannot_be_reached_is_named_without_the_token() -> None:
    service = open_service(TOKEN, api="http://127.0.0.1:1")
    with pytest.raises(ChatFault, match=r"127\.0\.0\.1:1") as caught:
        service.identity()
    assert TOKEN not in str(caught.value)
    with pytest.raises(ChatFault, match="address of the server"):
        open_service(TOKEN, api="nonsense").identity()


@pytest.mark.parametrize("token", ["", "nonsense", "4711:short", f"{TOKEN}/../x", f"{TOKEN}\r\nX: y"])
def test_a_malformed_token_is_not_sent(token: str) -> None:
    with pytest.raises(ChatFault, match="rejects this token") as caught:
        open_service(token)
    assert caught.value.is_final


def test_a_conflicting_listener_is_reported(server: TelegramServer, listening: Listening) -> None:
    until(lambda: bool(server.offsets))
    second = Listening(server)
    until(lambda: listening.fault is not None)
    second.close()
    assert "another program receives" in str(listening.fault)
    assert second.fault is None


def test_listening_ends_at_once(server: TelegramServer) -> None:
    listening = Listening(server)
    until(lambda: bool(server.offsets))
    listening.close()
    assert listening.fault is None


def test_a_state_that_cannot_be_read_counts_as_the_beginning(server: TelegramServer) -> None:
    server.write(sender=ANNA)
    listening = Listening(server, "nonsense")
    listening.has(1)
    listening.close()
