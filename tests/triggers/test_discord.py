"""Discord: messages through the gateway and replies through the REST API, against a site that behaves like Discord."""

from __future__ import annotations

import json
import random
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
from bad_servers import bad_server, says, trickles
from discord_site import ANN, BOT, CHANNEL, TOKEN, DiscordSite, open_discord
from hearing import Hearing, eventually, hearing
from websockets.sync.server import ServerConnection

from halo_scheduler.errors import StoreUnavailableError
from halo_scheduler.triggers import chat_link, discord
from halo_scheduler.triggers.chat_link import ChatLink
from halo_scheduler.triggers.chat_service import ChatFault


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[DiscordSite]:
    monkeypatch.setattr(discord, "_PAUSE_S", (0.01, 0.05))
    with open_discord() as made:
        yield made


def _bot(site: DiscordSite, *, steady_s: float = 0.0, token: str = TOKEN) -> discord.Discord:
    """Return a bot that replaces connections of any age at once."""
    return discord.Discord(token, ChatLink("Discord", site.api, user_agent="test", steady_s=steady_s))


def _wait_until_ready(heard: Hearing) -> None:
    assert heard.has_state.wait(30)


def _lose_connection(site: DiscordSite) -> None:
    site.sockets.drop()
    eventually(lambda: all(session.connection is None for session in site.sessions.values()))


# --- Messages ------------------------------------------------------------------------------------------------


def test_a_message_arrives_with_all_that_is_known_of_it(site: DiscordSite) -> None:
    with hearing(_bot(site)) as heard:
        _wait_until_ready(heard)
        number = site.post("deploy **now**", id="175928847299117063")
        message = heard.next()
    assert message.event_id == f"discord:{CHANNEL}:{number}"
    assert (message.channel, message.sender, message.sender_name) == (CHANNEL, ANN, "Ann")
    assert (message.text, message.thread, message.at) == ("deploy **now**", number, 1_462_015_105_796)
    assert heard.rest() == []


def test_it_asks_for_no_more_than_it_needs(site: DiscordSite) -> None:
    with hearing(_bot(site)) as heard:
        _wait_until_ready(heard)
    (asked,) = site.identified
    assert asked["intents"] == (1 << 9) | (1 << 12) | (1 << 15)
    assert site.paths == ["/?v=10&encoding=json"]


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"member": {"nick": "Queen Ann"}}, "Queen Ann"),
        ({"author": {"id": ANN, "username": "ann", "global_name": None}}, "ann"),
        ({"author": {"id": ANN}}, ANN),
        # What people choose never looks like a name that is proved.
        ({"author": {"id": ANN, "username": "ann", "global_name": "@boss"}}, "boss"),
        ({"member": {"nick": "@ "}}, "Ann"),
    ],
)
def test_people_are_called_as_discord_shows_them(
    site: DiscordSite, fields: dict[str, Any], name: str
) -> None:
    with hearing(_bot(site)) as heard:
        _wait_until_ready(heard)
        site.post("hello", **fields)
        assert heard.next().sender_name == name


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (f"<@{BOT}> deploy", "deploy"),
        (f" <@!{BOT}>, deploy\n", "deploy"),
        (f"ask <@{BOT}>", f"ask <@{BOT}>"),
        ("a\ud800b", "a?b"),
    ],
)
def test_a_mention_in_front_is_taken_off(site: DiscordSite, written: str, read: str) -> None:
    with hearing(_bot(site)) as heard:
        _wait_until_ready(heard)
        site.post(written)
        assert heard.next().text == read


@pytest.mark.parametrize(
    "fields",
    [
        {"author": {"id": "1", "username": "other", "bot": True}},
        {"author": {"id": BOT, "username": "halo"}},
        {"author": None},
        {"webhook_id": "5"},
        {"type": 7},
        {"type": "0"},
        {"content": ""},
        {"content": f"<@{BOT}>"},
        {"content": None},
        {"id": "x"},
        {"channel_id": "../users"},
        {"channel_id": 5},
    ],
)
def test_messages_that_no_person_wrote_are_ignored(site: DiscordSite, fields: dict[str, Any]) -> None:
    with hearing(_bot(site)) as heard:
        _wait_until_ready(heard)
        site.post("no", **fields)
        site.dispatch(
            "MESSAGE_UPDATE", {"id": "5", "channel_id": CHANNEL, "content": "edited", "author": {"id": ANN}}
        )
        site.dispatch("SOMETHING_NEW", [1])
        site.say({"op": 99})
        site.say({"op": 0, "t": "MESSAGE_CREATE", "s": "x", "d": {}})
        site.post("last")
        assert heard.next().text == "last"


def test_a_reply_to_the_bot_belongs_to_the_thread_of_the_first_message(site: DiscordSite) -> None:
    ours = {"id": "50", "author": {"id": BOT}, "message_reference": {"message_id": "40"}}
    theirs = {"id": "51", "author": {"id": "1"}, "message_reference": {"message_id": "41"}}
    with hearing(_bot(site)) as heard:
        _wait_until_ready(heard)
        site.post("yes", type=19, referenced_message=ours)
        assert heard.next().thread == "40"
        number = site.post("yes", type=19, referenced_message=theirs)
        assert heard.next().thread == number
        number = site.post("yes", type=19, referenced_message=None)
        assert heard.next().thread == number


# --- Nothing is lost, nothing counts twice --------------------------------------------------------------------


def test_messages_from_before_it_was_switched_on_do_not_count(site: DiscordSite) -> None:
    site.post("before")
    with hearing(_bot(site)) as heard:
        _wait_until_ready(heard)
        site.post("after")
        assert heard.next().text == "after"
    assert site.resumed == []


def test_a_lost_connection_loses_no_message(site: DiscordSite) -> None:
    with hearing(_bot(site)) as heard:
        _wait_until_ready(heard)
        site.post("one")
        assert heard.next().text == "one"
        site.sockets.drop()
        site.post("two")
        assert heard.next().text == "two"
        assert heard.rest() == []
    (asked,) = site.resumed
    assert (asked["token"], asked["seq"]) == (TOKEN, 2)
    assert site.paths[1] == "/resume/?v=10&encoding=json"


def test_a_restart_loses_no_message(site: DiscordSite) -> None:
    with hearing(_bot(site)) as heard:
        _wait_until_ready(heard)
        site.post("one")
        assert heard.next().text == "one"
    _lose_connection(site)
    site.post("meanwhile")
    with hearing(_bot(site), heard.state) as again:
        assert again.next().text == "meanwhile"
        site.post("later")
        assert again.next().text == "later"
        assert again.rest() == []
    assert len(site.identified) == 1


def test_messages_that_were_not_stored_are_received_again(site: DiscordSite) -> None:
    with hearing(_bot(site)) as heard:
        _wait_until_ready(heard)
        heard.is_store_away = True
        site.post("deploy")
        assert isinstance(heard.end(), StoreUnavailableError)
    with hearing(_bot(site), heard.state) as again:
        assert again.next().text == "deploy"


def test_discord_can_ask_for_another_connection(site: DiscordSite) -> None:
    with hearing(_bot(site)) as heard:
        _wait_until_ready(heard)
        site.say({"op": 7, "d": None})
        eventually(lambda: site.resumed)
        site.post("here")
        assert heard.next().text == "here"
    assert len(site.identified) == 1


def test_a_session_that_is_gone_is_replaced(site: DiscordSite) -> None:
    with hearing(_bot(site)) as heard:
        _wait_until_ready(heard)
    site.sessions.clear()
    with hearing(_bot(site), heard.state) as again:
        eventually(lambda: len(site.identified) == 2 and site.sessions)
        site.post("here")
        assert again.next().text == "here"
    assert again.state != heard.state


def test_a_session_that_discord_calls_resumable_is_resumed(site: DiscordSite) -> None:
    with hearing(_bot(site)) as heard:
        _wait_until_ready(heard)
        site.say({"op": 9, "d": True})
        eventually(lambda: site.resumed)
        site.post("here")
        assert heard.next().text == "here"


@pytest.mark.parametrize("code", [4007, 4009])
def test_some_close_codes_end_the_session_too(site: DiscordSite, code: int) -> None:
    with hearing(_bot(site)) as heard:
        _wait_until_ready(heard)
        site.sockets.drop()
        eventually(lambda: site.resumed)
        site.sockets.connections[-1].close(code)
        eventually(lambda: len(site.identified) == 2)
        eventually(lambda: len(site.sessions) == 2)
        site.post("here")
        assert heard.next().text == "here"


@pytest.mark.parametrize("code", [4000, 4008, 1000, 1001])
def test_other_close_codes_only_end_the_connection(site: DiscordSite, code: int) -> None:
    with hearing(_bot(site)) as heard:
        _wait_until_ready(heard)
        site.sockets.connections[-1].close(code)
        eventually(lambda: site.resumed)
        site.post("here")
        assert heard.next().text == "here"


def test_a_session_falls_back_to_the_main_address_if_its_own_does_not_answer(site: DiscordSite) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        site.resume_url = f"ws://127.0.0.1:{closed.getsockname()[1]}"
    bot = _bot(site)
    first = Hearing(bot, "")
    _wait_until_ready(first)
    site.sockets.drop()
    assert "refused" in str(first.fault())
    with hearing(bot, first.state) as again:
        eventually(lambda: site.resumed)
        site.post("here")
        assert again.next().text == "here"
    assert len(site.identified) == 1


@pytest.mark.parametrize(
    "state",
    [
        "nonsense",
        "[]",
        '{"id": "a", "url": "ws://127.0.0.1:1", "bot": ".*", "seq": 1}',
        '{"id": "a", "url": "ws://127.0.0.1:1", "bot": "5", "seq": "1"}',
        '{"id": "", "url": "ws://127.0.0.1:1", "bot": "5", "seq": 1}',
        "[" * 100_000,
    ],
)
def test_an_unreadable_state_counts_as_none(site: DiscordSite, state: str) -> None:
    with hearing(_bot(site), state) as heard:
        _wait_until_ready(heard)
        site.post("hello")
        assert heard.next().text == "hello"


# --- Heartbeats ----------------------------------------------------------------------------------------------


def test_heartbeats_contain_the_last_sequence_number(
    site: DiscordSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discord, "_SHORTEST_HEARTBEAT_S", 0.05)
    site.interval_ms = 50
    with hearing(_bot(site)) as heard:
        _wait_until_ready(heard)
        site.post("one")
        heard.next()
        eventually(lambda: site.heartbeats.count(2) >= 3)
    assert site.sockets.visits == 1


def test_the_first_heartbeat_comes_at_a_random_time(
    site: DiscordSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random, "random", lambda: 0.0)
    with hearing(_bot(site)):
        eventually(lambda: site.heartbeats)


def test_a_heartbeat_is_sent_when_discord_asks_for_it(site: DiscordSite) -> None:
    with hearing(_bot(site)) as heard:
        _wait_until_ready(heard)
        site.say({"op": 1, "d": None})
        eventually(lambda: site.heartbeats)
    assert site.heartbeats == [1]


def test_a_connection_without_answers_to_heartbeats_is_replaced(
    site: DiscordSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discord, "_SHORTEST_HEARTBEAT_S", 0.1)
    site.interval_ms = 100
    site.is_answering_heartbeats = False
    with hearing(_bot(site)) as heard:
        _wait_until_ready(heard)
        eventually(lambda: site.resumed)
        site.is_answering_heartbeats = True
        site.post("here")
        assert heard.next().text == "here"
    assert len(site.identified) == 1


@pytest.mark.parametrize("interval", [None, 0, -1, "41250", float("nan"), True, []])
def test_an_invalid_heartbeat_interval_is_a_fault(site: DiscordSite, interval: object) -> None:
    site.interval_ms = interval
    with hearing(_bot(site)) as heard:
        assert "sent no hello" in str(heard.fault())


def test_a_very_short_interval_is_not_kept(site: DiscordSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "random", lambda: 0.0)
    site.interval_ms = 0.001
    with hearing(_bot(site)) as heard:
        _wait_until_ready(heard)
        for _ in range(20):
            site.post("hello")
            heard.next()
        eventually(lambda: site.heartbeats)
    assert len(site.heartbeats) <= 3


# --- What goes wrong -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (4004, "copy a new one"),
        (4013, "update Halo Scheduler"),
        (4014, "switch on Message Content Intent"),
    ],
)
def test_faults_that_need_a_person_are_final(site: DiscordSite, code: int, said: str) -> None:
    site.close_codes = [code]
    with hearing(_bot(site)) as heard:
        fault = heard.fault()
    assert said in str(fault)
    assert fault.is_final
    assert len(site.identified) == 1


def test_a_new_session_that_is_refused_is_not_asked_for_again_at_once(site: DiscordSite) -> None:
    site.close_codes = [4009] * 5
    with hearing(_bot(site)) as heard:
        fault = heard.fault()
    assert str(fault) == "Discord ended the session"
    assert not fault.is_final
    assert len(site.identified) == 1


def test_connections_that_end_at_once_are_a_fault(site: DiscordSite) -> None:
    site.close_codes = [4000] * 5
    with hearing(_bot(site, steady_s=60)) as heard:
        assert "after a short time" in str(heard.fault())
    assert len(site.identified) == 1


def test_no_new_session_is_begun_when_discord_allows_no_more(site: DiscordSite) -> None:
    site.starts_left = 0
    with hearing(_bot(site)) as heard:
        fault = heard.fault()
    assert fault.retry_after_s == 7_200
    assert site.sockets.visits == 0


@pytest.mark.parametrize(
    "ready",
    [{"session_id": None}, {"session_id": "a b"}, {"resume_gateway_url": 5}, {"user": {}}, {"user": []}],
)
def test_a_session_with_missing_fields_is_a_fault(site: DiscordSite, ready: dict[str, Any]) -> None:
    site.ready = ready
    with hearing(_bot(site)) as heard:
        assert "without an id" in str(heard.fault())


def test_a_resume_address_elsewhere_must_be_encrypted(site: DiscordSite) -> None:
    site.resume_url = "ws://example.com"
    with hearing(_bot(site)) as heard:
        _wait_until_ready(heard)
        site.sockets.drop()
        assert "begins with wss://" in str(heard.fault())


def _stays_silent(connection: ServerConnection) -> None:
    connection.recv()


def _says(text: str) -> Any:
    def talk(connection: ServerConnection) -> None:
        connection.send(text)
        connection.recv()

    return talk


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not a JSON object"),
        ("5", "not a JSON object"),
        ('{"op": 11}', "sent no hello"),
        ('{"op": 10, "d": 5}', "sent no hello"),
        ("x" * (2 << 20), "more than 1 MB at once"),
    ],
)
def test_a_gateway_that_breaks_the_protocol_is_a_fault(site: DiscordSite, text: str, said: str) -> None:
    site.sockets.talk = _says(text)
    with hearing(_bot(site)) as heard:
        fault = heard.fault()
    assert said in str(fault)
    assert not fault.is_final


def test_a_gateway_without_a_hello_is_a_fault(site: DiscordSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discord, "_HELLO_S", 0.2)
    site.sockets.talk = _stays_silent
    with hearing(_bot(site)) as heard:
        assert "sent no hello" in str(heard.fault())


@pytest.mark.parametrize(
    ("status", "data", "said"),
    [
        (401, {"message": "401: Unauthorized", "code": 0}, "copy a new one"),
        (403, {"message": "Missing Access", "code": 50001}, "allow it View Channel"),
        (403, {"message": "Missing Permissions", "code": 50013}, "allow it Send Messages"),
        (403, {"code": 160002}, "allow it Read Message History"),
    ],
)
def test_refusals_say_what_to_do(site: DiscordSite, status: int, data: Any, said: str) -> None:
    site.instead[f"POST /channels/{CHANNEL}/messages"] = [(status, {}, data)]
    with pytest.raises(ChatFault, match=said) as caught:
        _bot(site).send(CHANNEL, "1", "x")
    assert caught.value.is_final


@pytest.mark.parametrize(
    ("status", "data", "said"),
    [
        (500, b"<html>", "HTTP status 500"),
        (403, {"message": "Odd\x1b[2J thing", "code": True}, "refused the request: Odd thing"),
        (403, {"message": "x" * 100_000, "code": [50001]}, "refused the request: x{199}…"),
    ],
)
def test_other_refusals_are_tried_again(site: DiscordSite, status: int, data: Any, said: str) -> None:
    site.instead["GET /users/@me"] = [(status, {}, data)]
    with pytest.raises(ChatFault, match=said) as caught:
        _bot(site).identity()
    assert not caught.value.is_final


def test_no_fault_repeats_the_token() -> None:
    with (
        bad_server(says(f"{TOKEN}\r\n\r\n".encode())) as server,
        pytest.raises(ChatFault) as caught,
    ):
        discord.open_service(TOKEN, api=server.url).identity()
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("token", ["", " ", "a b", "a\nb"])
def test_a_malformed_token_is_refused(token: str) -> None:
    with pytest.raises(ChatFault, match="the token for Discord") as caught:
        discord.open_service(token)
    assert caught.value.is_final


# --- Replies -------------------------------------------------------------------------------------------------


def test_a_reply_refers_to_its_message_and_mentions_nobody(site: DiscordSite) -> None:
    _bot(site).send(CHANNEL, "40", "done")
    (call,) = site.called(f"POST /channels/{CHANNEL}/messages")
    assert call.body == {
        "content": "done",
        "allowed_mentions": {"parse": []},
        "flags": 4,
        "message_reference": {"message_id": "40", "fail_if_not_exists": False},
    }


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("*a* _b_ ~c~ `d` ||e|| \\", "\\*a\\* \\_b\\_ \\~c\\~ \\`d\\` \\|\\|e\\|\\| \\\\"),
        ("<@800> <#700> [x](y)", "\\<@800> \\<#700> \\[x](y)"),
        ("# a\n> b\n  - c\n3. d", "\\# a\n\\> b\n  \\- c\n3\\. d"),
        ("1 - 2 > 0 # 1.5", "1 - 2 > 0 # 1.5"),
        ("see https://halo.example/a_b_c*d and _this_", "see https://halo.example/a_b_c*d and \\_this\\_"),
        ("https://halo.example/<@800>", "https://halo.example/\\<@800>"),
    ],
)
def test_a_reply_is_plain_text(site: DiscordSite, text: str, content: str) -> None:
    _bot(site).send(CHANNEL, "40", text)
    (call,) = site.called(f"POST /channels/{CHANNEL}/messages")
    assert call.body["content"] == content


@pytest.mark.parametrize("text", ["*" * 1_992, "`" * 1_992, "x_" * 996, "x" * 1_992])
def test_the_longest_reply_always_fits(site: DiscordSite, text: str) -> None:
    assert len(text) == discord.Discord.longest_reply
    _bot(site).send(CHANNEL, "40", text)
    (call,) = site.called(f"POST /channels/{CHANNEL}/messages")
    assert len(call.body["content"]) <= 2_000
    assert call.body["content"].count("```") in (0, 2)


def test_a_channel_that_is_no_number_is_refused(site: DiscordSite) -> None:
    with pytest.raises(ChatFault, match="is a number"):
        _bot(site).send("../users/@me", "40", "x")
    assert site.calls == []


def test_a_rate_limit_holds_for_its_channel(site: DiscordSite) -> None:
    bot, route = _bot(site), f"POST /channels/{CHANNEL}/messages"
    site.instead[route] = [(429, {"Retry-After": "99"}, {"retry_after": 30.5, "global": False})]
    for _ in range(2):
        with pytest.raises(ChatFault) as caught:
            bot.send(CHANNEL, "40", "x")
        assert caught.value.retry_after_s == pytest.approx(30, abs=5)
    assert len(site.called(route)) == 1
    assert bot.identity() == "halo"


def test_a_global_rate_limit_holds_for_everything(site: DiscordSite, monkeypatch: pytest.MonkeyPatch) -> None:
    bot = _bot(site)
    site.instead["GET /users/@me"] = [(429, {}, {"retry_after": 30, "global": True})]
    with pytest.raises(ChatFault):
        bot.identity()
    with pytest.raises(ChatFault, match="limits the rate"):
        bot.send(CHANNEL, "40", "x")
    assert len(site.calls) == 1
    monkeypatch.setattr(chat_link, "monotonic", lambda: time.monotonic() + 30)
    assert bot.identity() == "halo"


@pytest.mark.parametrize(
    ("headers", "data", "wait_s"),
    [
        ({"Retry-After": "7"}, b"<html>", 7),
        ({"Retry-After": "soon"}, {"retry_after": -1}, 30),
        ({}, {"retry_after": 1e300}, 3_600),
    ],
)
def test_a_rate_limit_without_a_sensible_time_has_one(
    site: DiscordSite, headers: dict[str, str], data: Any, wait_s: float
) -> None:
    site.instead["GET /users/@me"] = [(429, headers, data)]
    with pytest.raises(ChatFault) as caught:
        _bot(site).identity()
    assert caught.value.retry_after_s == wait_s


# --- Closing -------------------------------------------------------------------------------------------------


def test_closing_ends_a_quiet_connection_without_ending_the_session(site: DiscordSite) -> None:
    with hearing(_bot(site)) as heard:
        _wait_until_ready(heard)
        heard.close()
        assert heard.end() is None
    assert json.loads(heard.state)["id"] in site.sessions


def test_closing_ends_the_pause_before_a_new_session(
    site: DiscordSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discord, "_PAUSE_S", (60.0, 61.0))
    state = json.dumps({"id": "gone", "url": site.sockets.url, "bot": BOT, "seq": 1})
    with hearing(_bot(site), state) as heard:
        eventually(lambda: site.resumed)
        heard.close()
        assert heard.end() is None


def test_closing_ends_a_slow_handshake(site: DiscordSite) -> None:
    with bad_server(trickles(b"HTTP/1.1 101 OK\r\n", b"X")) as server:
        state = json.dumps({"id": "a", "url": f"ws://127.0.0.1:{server.port}", "bot": BOT, "seq": 1})
        with hearing(_bot(site), state) as heard:
            eventually(lambda: server.visits)
            heard.close()
            assert heard.end() is None
