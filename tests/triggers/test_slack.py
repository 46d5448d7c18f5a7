"""Slack: messages through Socket Mode and replies through the Web API, against a site that behaves like Slack."""

from __future__ import annotations

import json
import re
import socket
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from bad_servers import bad_server, floods, says, trickles
from hearing import eventually, hearing
from slack_site import ANN, APP_TOKEN, BOT, BOT_TOKEN, CHANNEL, TEAM, TOKENS, SlackSite, open_slack
from websockets.sync.server import ServerConnection

from halo_scheduler.errors import StoreUnavailableError
from halo_scheduler.triggers import chat_link, slack
from halo_scheduler.triggers.chat_link import ChatLink
from halo_scheduler.triggers.chat_service import ChatFault
from halo_scheduler.triggers.chat_socket import ChatSocket


@pytest.fixture
def site() -> Iterator[SlackSite]:
    with open_slack() as made:
        yield made


def _bot(site: SlackSite, *, steady_s: float = 0.0, tokens: str = TOKENS) -> slack.Slack:
    """Return a bot that replaces connections of any age at once."""
    return slack.Slack(tokens, ChatLink("Slack", site.api, user_agent="test", steady_s=steady_s))


# --- Messages ------------------------------------------------------------------------------------------------


def test_a_message_arrives_once_with_all_that_is_known_of_it(site: SlackSite) -> None:
    with hearing(_bot(site)) as heard:
        eventually(lambda: site.sockets.connections)
        ts = site.post("deploy &lt;now&gt; &amp; here", ts="4000000000.123456")
        message = heard.next()
        eventually(lambda: site.unacknowledged == 0)
    assert message.event_id == f"slack:{TEAM}:{CHANNEL}:{ts}"
    assert (message.channel, message.sender, message.sender_name) == (CHANNEL, ANN, "Ann")
    assert (message.text, message.thread, message.at) == ("deploy <now> & here", ts, 4_000_000_000_123)
    assert heard.rest() == []


def test_a_message_in_a_thread_is_answered_in_that_thread(site: SlackSite) -> None:
    with hearing(_bot(site)) as heard:
        site.post("yes", thread_ts="3999999999.000001")
        assert heard.next().thread == "3999999999.000001"


def test_direct_messages_count(site: SlackSite) -> None:
    with hearing(_bot(site)) as heard:
        site.post("hello", channel="D0ANN")
        assert heard.next().channel == "D0ANN"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (f"<@{BOT}> deploy now", "deploy now"),
        (f" <@{BOT}>: deploy", "deploy"),
        (f"ask <@{BOT}> to deploy", f"ask @{BOT} to deploy"),
        (
            ":tada: <https://halo.example/a?b=1&amp;c=2|halo.example> done",
            ":tada: https://halo.example/a?b=1&c=2 done",
        ),
        ("mail <mailto:ann@halo.example|ann@halo.example>", "mail ann@halo.example"),
        ("<!here> see <#C0DEV|dev> and <@U0BEN|ben> <!subteam^S1|@ops>", "@here see #dev and @ben @ops"),
        ("a &amp;lt; b", "a &lt; b"),
    ],
)
def test_slacks_markup_is_read_as_people_see_it(site: SlackSite, written: str, read: str) -> None:
    with hearing(_bot(site)) as heard:
        site.post(written)
        assert heard.next().text == read


@pytest.mark.parametrize(
    "fields",
    [
        {"bot_id": "B1"},
        {"user": BOT},
        {"user": "USLACKBOT"},
        {"user": None},
        {"subtype": "channel_join"},
        {"subtype": "message_changed", "message": {"text": "new"}},
        {"subtype": "message_deleted"},
        {"edited": {"user": ANN, "ts": "4000000000.000002"}},
        {"text": ""},
        {"text": f"<@{BOT}> "},
        {"text": None},
        {"ts": "yesterday"},
        {"channel": "../etc"},
        {"channel": 7},
        {"type": "reaction_added"},
        {"ts": "1000000000.000001"},
    ],
)
def test_old_and_automatic_messages_are_only_acknowledged(site: SlackSite, fields: dict[str, Any]) -> None:
    with hearing(_bot(site)) as heard:
        event = {
            "type": "message",
            "channel": CHANNEL,
            "user": ANN,
            "text": "no",
            "ts": "4000000000.000001",
            **fields,
        }
        site.send_event({name: value for name, value in event.items() if value is not None})
        site.post("last")
        assert heard.next().text == "last"
        eventually(lambda: site.unacknowledged == 0)


@pytest.mark.parametrize("subtype", ["file_share", "thread_broadcast"])
def test_messages_with_files_and_those_shown_in_the_channel_too_count(site: SlackSite, subtype: str) -> None:
    with hearing(_bot(site)) as heard:
        site.post("look", subtype=subtype)
        assert heard.next().text == "look"


def test_a_mention_and_its_message_have_the_same_id(site: SlackSite) -> None:
    with hearing(_bot(site)) as heard:
        ts = site.post(f"<@{BOT}> deploy", kind="app_mention")
        site.post(f"<@{BOT}> deploy", ts=ts)
        assert heard.next() == heard.next()


def test_lone_surrogates_become_question_marks(site: SlackSite) -> None:
    with hearing(_bot(site)) as heard:
        site.post("a\ud800b")
        assert heard.next().text == "a?b"


def test_a_person_without_a_name_on_slack_is_shown_by_id(site: SlackSite) -> None:
    with hearing(_bot(site)) as heard:
        site.post("one", user="U0BEN")
        site.post("two", user="U0BEN")
        assert [heard.next().sender_name, heard.next().sender_name] == ["U0BEN", "U0BEN"]
    assert len(site.called("users.info")) == 1


def test_a_freely_chosen_name_never_looks_like_a_unique_one(site: SlackSite) -> None:
    site.names[ANN] = "@ \u2003@boss "
    with hearing(_bot(site)) as heard:
        site.post("hello")
        assert heard.next().sender_name == "boss"


def test_other_envelopes_are_acknowledged(site: SlackSite) -> None:
    with hearing(_bot(site)):
        eventually(lambda: site.sockets.connections)
        site.say({"type": "slash_commands", "envelope_id": "one", "payload": {"text": "x"}})
        site.say({"type": "interactive", "envelope_id": "two", "payload": None})
        site.say({"type": "events_api", "payload": {"event": {}}})
        eventually(lambda: site.unknown_acknowledged == ["one", "two"])


# --- Nothing is lost, nothing counts twice --------------------------------------------------------------------


def test_nothing_is_acknowledged_before_it_is_stored(site: SlackSite) -> None:
    bot = _bot(site)
    with hearing(bot) as heard:
        assert heard.has_state.wait(30)
        eventually(lambda: site.sockets.connections)
        heard.is_store_away = True
        site.post("deploy")
        assert isinstance(heard.end(), StoreUnavailableError)
        assert (site.acknowledged, site.unacknowledged) == ([], 1)
    with hearing(_bot(site), heard.state) as again:
        assert again.next().text == "deploy"
        eventually(lambda: site.unacknowledged == 0)


def test_an_envelope_that_comes_again_has_the_same_id(site: SlackSite) -> None:
    with hearing(_bot(site)) as heard:
        eventually(lambda: site.sockets.connections)
        connection = site.sockets.connections[0]
        event = {
            "type": "message",
            "channel": CHANNEL,
            "user": ANN,
            "text": "once",
            "ts": "4000000000.000001",
        }
        for attempt in range(2):
            payload = {"event_id": "Ev1", "event": event}
            envelope = {
                "type": "events_api",
                "envelope_id": f"e{attempt}",
                "payload": payload,
                "retry_attempt": attempt,
            }
            connection.send(json.dumps(envelope))
        assert heard.next().event_id == heard.next().event_id
        eventually(lambda: site.unknown_acknowledged == ["e0", "e1"])


@pytest.mark.parametrize("reason", ["warning", "refresh_requested"])
def test_a_new_connection_replaces_one_that_slack_wants_to_end(site: SlackSite, reason: str) -> None:
    with hearing(_bot(site)) as heard:
        site.post("one")
        assert heard.next().text == "one"
        eventually(lambda: site.unacknowledged == 0)
        site.disconnect(reason)
        eventually(lambda: site.sockets.visits == 2 and site.sockets.connections)
        site.post("two")
        assert heard.next().text == "two"


def test_messages_sent_during_an_interruption_arrive_over_the_next_connection(site: SlackSite) -> None:
    with hearing(_bot(site)) as heard:
        site.post("one")
        assert heard.next().text == "one"
        eventually(lambda: site.unacknowledged == 0)
        site.sockets.drop()
        site.post("two")
        assert heard.next().text == "two"
        assert heard.rest() == []


def test_messages_from_before_the_bot_was_first_switched_on_do_not_count(site: SlackSite) -> None:
    old = time.time() - 60
    site.send_event({"type": "message", "channel": CHANNEL, "user": ANN, "text": "old", "ts": f"{old:.6f}"})
    with hearing(_bot(site)) as heard:
        site.post("new")
        assert heard.next().text == "new"
        eventually(lambda: site.unacknowledged == 0)
        assert heard.rest() == []


def test_messages_from_while_it_was_off_for_a_moment_count(site: SlackSite) -> None:
    with hearing(_bot(site)) as heard:
        assert heard.has_state.wait(30)
    since = json.loads(heard.state)["since"]
    site.send_event({
        "type": "message", "channel": CHANNEL, "user": ANN, "text": "meanwhile", "ts": f"{since / 1_000 + 1:.6f}",
    })  # fmt: skip
    with hearing(_bot(site), heard.state) as again:
        assert again.next().text == "meanwhile"


@pytest.mark.parametrize("state", ["nonsense", "[]", '{"since": "x"}', '{"since": NaN}', "[" * 100_000])
def test_an_unreadable_state_counts_as_none(site: SlackSite, state: str) -> None:
    with hearing(_bot(site), state) as heard:
        site.post("hello")
        assert heard.next().text == "hello"
        assert json.loads(heard.state)["since"] > 1_000_000_000_000


# --- What goes wrong -----------------------------------------------------------------------------------------


def test_connections_that_end_at_once_are_a_fault(site: SlackSite) -> None:
    with hearing(_bot(site, steady_s=60)) as heard:
        site.post("one")
        heard.next()
        site.disconnect("warning")
        assert "after a short time" in str(heard.fault())
    assert site.sockets.visits == 1


def test_socket_mode_that_was_switched_off_is_final(site: SlackSite) -> None:
    with hearing(_bot(site)) as heard:
        eventually(lambda: site.sockets.connections)
        site.disconnect("link_disabled")
        fault = heard.fault()
    assert fault.is_final
    assert "Socket Mode is off" in str(fault)


def test_another_reason_is_a_fault_that_names_it(site: SlackSite) -> None:
    with hearing(_bot(site)) as heard:
        eventually(lambda: site.sockets.connections)
        site.disconnect("bad_mood\x1b[2J")
        assert str(heard.fault()) == "Slack ended the connection (bad_mood)"


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("too_many_websockets", "quit the others"),
        ("warning", "before its hello"),
        ("link_disabled", "is off"),
    ],
)
def test_a_connection_can_end_before_its_hello(site: SlackSite, reason: str, said: str) -> None:
    def talk(connection: ServerConnection) -> None:
        connection.send(json.dumps({"type": "disconnect", "reason": reason}))
        connection.recv()

    site.sockets.talk = talk
    with hearing(_bot(site)) as heard:
        assert said in str(heard.fault())


def _silent(connection: ServerConnection) -> None:
    connection.recv()


def _wrong_hello(connection: ServerConnection) -> None:
    connection.send('{"type": "goodbye"}')
    connection.recv()


def _nonsense(connection: ServerConnection) -> None:
    connection.send("{")
    connection.recv()


def _huge(connection: ServerConnection) -> None:
    connection.send("x" * (2 << 20))
    connection.recv()


def _endless(connection: ServerConnection) -> None:
    connection.send(iter(lambda: "x" * 100_000, ""))


def _no_object(connection: ServerConnection) -> None:
    connection.send("[1]")
    connection.recv()


def _raw(connection: ServerConnection) -> None:
    connection.socket.sendall(b"\xff" * 100)
    connection.recv()


def _text_of_bytes(connection: ServerConnection) -> None:
    connection.send(b"\xff\xfe\xfd")
    connection.recv()


@pytest.mark.parametrize(
    ("talk", "said"),
    [
        (_silent, "sent no hello"),
        (_wrong_hello, "sent no hello"),
        (_nonsense, "not a JSON object"),
        (_no_object, "not a JSON object"),
        (_text_of_bytes, "not a JSON object"),
        (_huge, "more than 1 MB at once"),
        (_endless, "more than 1 MB at once"),
        (_raw, "no WebSocket frame"),
    ],
)
def test_a_server_that_breaks_the_protocol_is_a_fault(
    site: SlackSite, talk: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slack, "_HELLO_S", 0.3)
    site.sockets.talk = talk
    with hearing(_bot(site)) as heard:
        fault = heard.fault()
    assert said in str(fault)
    assert not fault.is_final


def test_a_silent_connection_gets_a_ping_and_then_times_out(
    site: SlackSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slack, "_PING_AFTER_S", 0.1)
    monkeypatch.setattr(slack, "_LOST_AFTER_S", 0.4)
    is_over = threading.Event()

    def talk(connection: ServerConnection) -> None:
        connection.send('{"type": "hello"}')
        with connection.protocol_mutex:  # It can take in nothing, so that no pong leaves.
            is_over.wait(30)

    site.sockets.talk = talk
    with hearing(_bot(site)) as heard:
        assert "nothing arrived" in str(heard.fault())
        is_over.set()


def test_a_quiet_connection_that_answers_pings_is_kept(
    site: SlackSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slack, "_PING_AFTER_S", 0.05)
    monkeypatch.setattr(slack, "_LOST_AFTER_S", 0.5)
    pings: list[ChatSocket] = []
    ping = ChatSocket.ping

    def counted(socket: ChatSocket) -> None:
        pings.append(socket)
        ping(socket)

    monkeypatch.setattr(ChatSocket, "ping", counted)
    with hearing(_bot(site)) as heard:
        eventually(lambda: len(pings) >= 20)  # That takes twice as long as a silent connection is kept.
        site.post("still there")
        assert heard.next().text == "still there"
    assert site.sockets.visits == 1


@pytest.mark.parametrize(
    ("talk", "said"),
    [
        (says(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"), "HTTP status 403"),
        (says(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), "HTTP status 200"),
        (says(b"SSH-2.0-server\r\n"), "did not open a connection"),
        (
            says(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"),
            "did not open a connection",
        ),
        (says(b""), "did not open a connection"),
        (floods(b"HTTP/1.1 101 Switching Protocols\r\n", b"X-More: 1\r\n"), "did not open a connection"),
        (floods(b"HTTP/1.1 101 ", b"x"), "did not open a connection"),
    ],
)
def test_a_server_that_opens_no_websocket_is_a_fault(site: SlackSite, talk: Any, said: str) -> None:
    with bad_server(talk) as server:
        site.instead["apps.connections.open"] = [
            (200, {}, {"ok": True, "url": f"ws://127.0.0.1:{server.port}/"})
        ]
        with hearing(_bot(site)) as heard:
            assert said in str(heard.fault())


@pytest.mark.parametrize(
    "url", ["ws://example.com/", "http://127.0.0.1/", "file:///etc/passwd", "", "wss://", 7]
)
def test_a_websocket_elsewhere_must_be_encrypted(site: SlackSite, url: object) -> None:
    site.instead["apps.connections.open"] = [(200, {}, {"ok": True, "url": url})]
    with hearing(_bot(site)) as heard:
        assert str(heard.fault()) == "the address of Slack must be a URL that begins with wss://"


def test_without_the_library_the_fault_says_what_to_install(
    site: SlackSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "websockets.client", None)
    with hearing(_bot(site)) as heard:
        fault = heard.fault()
    assert "pip install 'halo-scheduler[chat]'" in str(fault)
    assert fault.is_final


def test_an_unreachable_server_is_a_fault_that_says_so(site: SlackSite) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    site.instead["apps.connections.open"] = [(200, {}, {"ok": True, "url": f"ws://127.0.0.1:{port}/"})]
    with hearing(_bot(site)) as heard:
        assert re.search(r"Slack cannot be reached: .*refused", str(heard.fault()))


@pytest.mark.parametrize(
    ("method", "data", "said"),
    [
        ("auth.test", {"ok": False, "error": "token_revoked"}, r"rejects the bot token \(xoxb-…\)"),
        ("apps.connections.open", {"ok": False, "error": "invalid_auth"}, r"the app-level token \(xapp-…\)"),
        (
            "apps.connections.open",
            {"ok": False, "error": "missing_scope"},
            "lacks the scope connections:write",
        ),
        ("chat.postMessage", {"ok": False, "error": "not_in_channel"}, "write /invite"),
        (
            "chat.postMessage",
            {"ok": False, "error": "missing_scope", "needed": "chat:write"},
            "the scope chat:write",
        ),
        ("chat.postMessage", {"ok": False, "error": "is_archived"}, "is archived"),
    ],
)
def test_faults_that_need_a_person_are_final(site: SlackSite, method: str, data: Any, said: str) -> None:
    site.instead[method] = [(200, {}, data)]
    bot = _bot(site)
    use = bot.identity if method != "chat.postMessage" else lambda: bot.send(CHANNEL, "1.000001", "x")
    with pytest.raises(ChatFault, match=said) as caught:
        use()
    assert caught.value.is_final


@pytest.mark.parametrize(
    ("status", "data", "said"),
    [
        (200, {"ok": False, "error": "internal_error"}, "Slack refused auth.test: internal error"),
        (200, {"ok": False, "error": "odd\x1b[2Jerror"}, "Slack refused auth.test: odderror"),
        (200, {"ok": False, "error": "ratelimited"}, "limits the rate"),
        (200, {"ok": True}, "did not return the bot's name"),
        (503, {"ok": False, "error": "service_unavailable"}, "HTTP status 503"),
        (500, b"<html>", "HTTP status 500"),
        (302, {}, "HTTP status 302"),
        (200, b"", "did not answer as expected"),
        (200, b"[" * 100_000, "did not answer as expected"),
        (200, b" " * 2_000_001, "more than 2 MB"),
    ],
)
def test_other_refusals_are_tried_again(site: SlackSite, status: int, data: Any, said: str) -> None:
    site.instead["auth.test"] = [(status, {}, data)]
    with pytest.raises(ChatFault, match=said) as caught:
        _bot(site).identity()
    assert not caught.value.is_final


def test_no_fault_repeats_a_token() -> None:
    echo = says(f"HTTP/{BOT_TOKEN} {APP_TOKEN}\r\n\r\n".encode())
    with bad_server(echo) as server, pytest.raises(ChatFault, match="cannot be reached") as caught:
        slack.Slack(TOKENS, ChatLink("Slack", f"{server.url}api", user_agent="test")).identity()
    assert "SECRET" not in str(caught.value)


# --- Replies -------------------------------------------------------------------------------------------------


def test_a_reply_is_plain_text_in_the_thread(site: SlackSite) -> None:
    _bot(site).send(CHANNEL, "4000000000.000001", "*done* <@U0ANN> & <!channel> https://halo.example")
    (call,) = site.called("chat.postMessage")
    assert call.token == BOT_TOKEN
    assert call.arguments == {
        "channel": CHANNEL,
        "thread_ts": "4000000000.000001",
        "text": "*done* &lt;@U0ANN&gt; &amp; &lt;!channel&gt; https://halo.example",
        "mrkdwn": False,
        "parse": "none",
        "link_names": False,
        "unfurl_links": False,
        "unfurl_media": False,
    }


def test_a_rate_limit_is_kept_without_asking_again(site: SlackSite) -> None:
    bot = _bot(site)
    site.instead["chat.postMessage"] = [(429, {"Retry-After": "30"}, {"ok": False, "error": "ratelimited"})]
    for _ in range(3):
        with pytest.raises(ChatFault, match="limits the rate") as caught:
            bot.send(CHANNEL, "1.000001", "x")
        assert caught.value.retry_after_s == pytest.approx(30, abs=5)
    assert len(site.called("chat.postMessage")) == 1
    assert bot.identity() == "halo (Acme)"


def test_after_a_rate_limit_replies_are_sent_again(site: SlackSite, monkeypatch: pytest.MonkeyPatch) -> None:
    bot = _bot(site)
    site.instead["chat.postMessage"] = [(429, {"Retry-After": "30"}, {})]
    with pytest.raises(ChatFault):
        bot.send(CHANNEL, "1.000001", "x")
    monkeypatch.setattr(chat_link, "monotonic", lambda: time.monotonic() + 30)
    bot.send(CHANNEL, "1.000001", "x")
    assert len(site.called("chat.postMessage")) == 2


def test_the_address_that_proved_the_token_is_used_once(site: SlackSite) -> None:
    bot = _bot(site)
    bot.identity()
    with hearing(bot):
        eventually(lambda: site.sockets.connections)
        assert len(site.called("apps.connections.open")) == 1
        site.disconnect("warning")
        eventually(lambda: site.sockets.visits == 2)
    assert len(site.called("apps.connections.open")) == 2


def test_an_address_that_has_expired_is_not_used(site: SlackSite, monkeypatch: pytest.MonkeyPatch) -> None:
    bot = _bot(site)
    bot.identity()
    monkeypatch.setattr(slack, "monotonic", lambda: time.monotonic() + 60)
    with hearing(bot):
        eventually(lambda: site.sockets.connections)
    assert len(site.called("apps.connections.open")) == 2


def test_the_identity_proves_both_tokens(site: SlackSite) -> None:
    assert _bot(site).identity() == "halo (Acme)"
    assert {call.token for call in site.calls} == {BOT_TOKEN, APP_TOKEN}
    for tokens in (f"xoxb-wrong {APP_TOKEN}", f"{BOT_TOKEN} xapp-wrong"):
        with pytest.raises(ChatFault, match="rejects"):
            _bot(site, tokens=tokens).identity()


@pytest.mark.parametrize(
    "tokens", ["", BOT_TOKEN, APP_TOKEN, f"{BOT_TOKEN} {BOT_TOKEN}", f"{TOKENS} xoxp-1", "a b"]
)
def test_anything_but_two_tokens_is_refused(tokens: str) -> None:
    with pytest.raises(ChatFault, match="two tokens") as caught:
        slack.open_service(tokens)
    assert caught.value.is_final


def test_a_token_with_special_characters_is_refused() -> None:
    with pytest.raises(ChatFault, match="special characters"):
        slack.open_service(f"xoxb-1\u200b {APP_TOKEN}")


def test_the_tokens_may_come_in_any_order(site: SlackSite) -> None:
    assert _bot(site, tokens=f"{APP_TOKEN}\n{BOT_TOKEN}").identity() == "halo (Acme)"


@pytest.mark.parametrize("api", ["http://example.com/api", "ftp://127.0.0.1", "slack.com", ""])
def test_an_address_elsewhere_must_be_encrypted(api: str) -> None:
    with pytest.raises(ChatFault, match="begins with https://"):
        slack.open_service(TOKENS, api=api)


# --- Closing -------------------------------------------------------------------------------------------------


def test_closing_ends_a_quiet_connection(site: SlackSite) -> None:
    with hearing(_bot(site)) as heard:
        eventually(lambda: site.sockets.connections)
        heard.close()
        assert heard.end() is None


@pytest.mark.parametrize(
    "talk", [trickles(b"", b"H"), trickles(b"HTTP/1.1 101 OK\r\n", b"X"), trickles(b"", b"")]
)
def test_closing_ends_a_slow_handshake(site: SlackSite, talk: Any) -> None:
    with bad_server(talk) as server:
        site.instead["apps.connections.open"] = [
            (200, {}, {"ok": True, "url": f"ws://127.0.0.1:{server.port}/"})
        ]
        with hearing(_bot(site)) as heard:
            eventually(lambda: server.visits)
            heard.close()
            assert heard.end() is None


def test_closing_ends_a_slow_call() -> None:
    with bad_server(trickles(b"HTTP/1.1 200 OK\r\n", b"X")) as server:
        bot = slack.open_service(TOKENS, api=f"{server.url}api")
        with hearing(bot) as heard:
            eventually(lambda: server.visits)
            heard.close()
            assert heard.end() is None


def test_a_closed_service_sends_nothing_more(site: SlackSite) -> None:
    bot = _bot(site)
    bot.close()
    with hearing(bot) as heard:
        assert heard.end() is None
    with pytest.raises(ChatFault, match="was closed"):
        bot.send(CHANNEL, "1.000001", "x")
    assert site.calls == []
