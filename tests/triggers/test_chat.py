"""Chat: messages to a bot on a server like Telegram's, and what comes of them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest
from chat_room import ANNA_ID, DIRECT, ChatRoom
from machine import Bench
from process_probe import until
from telegram_server import ANNA, BOT, EVE, TOKEN, TelegramServer

from halo_scheduler import OnChat, Outcome, Policy, Retry, Trigger
from halo_scheduler.errors import ScheduleError, StoreUnavailableError
from halo_scheduler.model import CatchUp, Entry, QuestionState, Several
from halo_scheduler.model.chat import ChatBot, ChatServiceName
from halo_scheduler.model.schedules import Overlap
from halo_scheduler.triggers import chat, chat_messages
from halo_scheduler.triggers.chat import open_service
from halo_scheduler.triggers.chat_service import ChatFault, ChatMessage
from halo_scheduler.triggers.watching import refusal
from halo_scheduler.wording.chat import ANSWERED, TOO_LONG, TOO_MANY, WHICH_QUESTION

_GROUP = -100123
_NAME = "OF_A_SECRET"
BEN = {"id": 200, "is_bot": False, "first_name": "Ben"}


@pytest.fixture
def room(bench: Bench) -> Iterator[ChatRoom]:
    with TelegramServer() as server:
        found = ChatRoom(bench, server)
        yield found
        found.close()


# --- Who may -----------------------------------------------------------------------------------------


def test_a_message_of_a_permitted_person_is_the_input_of_one_run(room: ChatRoom) -> None:
    room.add()
    room.open()
    number = room.write("what is new?")
    assert room.inputs() == ["what is new?"]
    run = room.run()
    assert (run.trigger, run.event_id) == (Trigger.EVENT, f"telegram:4711:100:{number}:deploy")


def test_a_message_that_is_delivered_twice_is_one_run_with_one_answer(room: ChatRoom) -> None:
    room.add()
    room.open()
    room.write("go")
    room.server._next_message -= 1
    room.write("go")
    assert room.inputs() == ["go"]
    room.end(room.run(), "done")
    room.is_told("done")
    room.server._next_message -= 2
    room.write("go")
    room.write("/start")
    room.is_told("Each message to this bot starts: deploy.")
    assert room.bench.tick() == []
    assert room.texts.count("done") == 1


def test_others_start_no_run_get_no_reply_and_are_listed(room: ChatRoom) -> None:
    room.add("deploy", DIRECT, "@anna")
    room.open()
    room.write("let me in", EVE)
    room.write("me too", EVE)
    room.write("in a group", ANNA, chat=_GROUP)
    assert room.inputs() == []
    assert room.texts == []
    found = room.bench.scheduler.chat.strangers("family")
    assert {(one.sender, one.sender_name, one.channel) for one in found} == {
        ("666", "Anna", "666"),
        (ANNA_ID, "@Anna", str(_GROUP)),
    }
    room.write("it is me")
    assert room.inputs() == ["it is me"]


def test_only_the_newest_strangers_are_remembered(room: ChatRoom) -> None:
    room.open()
    for number in range(50):
        room.server.write("hi", {"id": 1_000 + number, "first_name": "x"})
    room.wait_until_received()
    assert len(room.bench.scheduler.chat.strangers("family")) == 20


def test_people_permitted_for_the_bot_may_start_jobs_without_their_own_list(room: ChatRoom) -> None:
    chat_part = room.bench.scheduler.chat
    with pytest.raises(ScheduleError, match="nobody is permitted to start it"):
        room.bench.scheduler.add_job("deploy", OnChat(DIRECT))
    chat_part.permit("family", ANNA_ID)
    room.bench.scheduler.add_job("deploy", OnChat(DIRECT), job_id="deploy")
    room.open()
    room.write("one")
    chat_part.forbid("family", ANNA_ID)
    room.write("two")
    assert room.inputs() == ["one"]
    chat_part.permit("family", ANNA_ID)
    room.write("three")
    assert room.inputs() == ["one", "three"]


@pytest.mark.parametrize(
    ("event", "sentence"),
    [
        (OnChat("work/direct", ("1",)), "there is no bot named work"),
        (OnChat("talk/direct", ("1",)), "Discord doesn't report which conversations are direct"),
        (OnChat("talk/123", ("@anna",)), "names aren't unique on Discord"),
    ],
)
def test_an_event_that_no_message_could_meet_is_refused(room: ChatRoom, event: OnChat, sentence: str) -> None:
    bots = (
        *room.store.settings.chat_bots(),
        ChatBot(name="talk", service=ChatServiceName.DISCORD, secret=_NAME),
    )
    room.bench.scheduler.settings.change(chat_bots=bots)
    with pytest.raises(ScheduleError, match=sentence):
        room.bench.scheduler.add_job("deploy", event)
    assert refusal(event) == ""


def test_one_message_starts_each_job_of_its_conversation_once(room: ChatRoom) -> None:
    entries = Several((Entry(OnChat(DIRECT, (ANNA_ID,))), Entry(OnChat(DIRECT, (ANNA_ID, "@anna")))))
    room.bench.scheduler.add_job("twice", entries, job_id="twice")
    room.add("other")
    room.add("elsewhere", f"family/{_GROUP}")
    room.open()
    room.write("go")
    assert [room.inputs(name) for name in ("twice", "other", "elsewhere")] == [["go"], ["go"], []]


def test_whoever_opens_a_conversation_is_greeted(room: ChatRoom) -> None:
    room.add()
    room.open()
    room.write("/start")
    room.is_told("Each message to this bot starts: deploy.")
    assert room.inputs() == []


# --- What the run gets ---------------------------------------------------------------------------------


def test_declared_parameters_stand_at_the_beginning(room: ChatRoom) -> None:
    room.add(parameters={"branch": "main", "note": ""})
    room.open()
    room.write('branch=next note="two words" other=1 branch=late')
    (row,) = room.store.database.rows("SELECT parameters FROM scheduler_requests WHERE kind = 'event'")
    assert row == ('{"branch": "next", "note": "two words"}',)
    assert room.inputs() == ["other=1 branch=late"]


def test_a_value_that_cannot_be_one_is_refused_with_the_reason(room: ChatRoom) -> None:
    room.add(parameters={"branch": "main"})
    room.open()
    room.write("branch=a\u200bb")
    until(lambda: len(room.texts) == 1)
    assert room.texts[0].startswith(
        "deploy was not started: parameters.branch: contains invisible characters"
    )
    assert room.inputs() == []


def test_a_text_that_is_too_long_is_refused(room: ChatRoom) -> None:
    room.add()
    room.open()
    room.write("x" * 100_001)
    room.is_told(TOO_LONG)
    assert room.inputs() == []


def test_a_message_that_was_written_before_its_job_was_made_does_not_count(room: ChatRoom) -> None:
    room.open()
    room.close()
    room.server.write("old")
    room.bench.clock.advance(10_000)
    room.add()
    room.open()
    room.wait_until_received()
    assert room.inputs() == []
    room.write("by a clock that is late")
    assert room.inputs() == []
    room.server.now_s += 10
    room.write("new")
    assert room.inputs() == ["new"]


def test_messages_from_times_without_an_engine_start_runs_if_the_job_catches_up(
    room: ChatRoom,
) -> None:
    room.add("late")
    room.add("never", policy=Policy(catch_up=CatchUp.SKIP))
    room.open()
    room.close()
    room.bench.clock.advance(3_600_000)
    room.server.write("hello")
    room.open()
    room.wait_until_received()
    assert [room.inputs("late"), room.inputs("never")] == [["hello"], []]
    room.is_told("never was not started: Halo was not running when you wrote. Write again.")


# --- Answers -------------------------------------------------------------------------------------------


def test_the_output_comes_back_into_the_thread(room: ChatRoom) -> None:
    room.add()
    room.open()
    number = room.write("go")
    room.end(room.run(), "::progress 50\nall\n\nwell\n::cost 0.1\n")
    room.is_told("all\n\nwell")
    assert (room.server.sent[0].chat_id, room.server.sent[0].reply_to) == (100, number)
    room.wake()
    room.write("again")
    room.end(room.run(), "second")
    room.is_told("second")
    assert room.texts == ["all\n\nwell", "second"]


@pytest.mark.parametrize(
    ("printed", "how", "text"),
    [
        ("noise\n::reply first\n::reply\n::reply  third\n", {}, "first\n\n third"),
        ("", {}, "deploy is done."),
        (
            "".join(f"line {number}\n" for number in range(20)),
            {"outcome": Outcome.FAILURE},
            "deploy failed.\n" + "\n".join(f"line {number}" for number in range(10, 20)),
        ),
        ("::reply sorry\nx\n", {"outcome": Outcome.TIMEOUT}, "deploy timed out.\nsorry"),
    ],
)
def test_the_reply_is_the_output_of_the_run(
    room: ChatRoom, printed: str, how: dict[str, Outcome], text: str
) -> None:
    room.add()
    room.open()
    room.write("go")
    room.end(room.run(), printed, **how)
    room.is_told(text)


def test_a_reply_is_shortened_to_the_limit_of_the_service(room: ChatRoom) -> None:
    room.add()
    room.open()
    room.write("go")
    room.end(room.run(), "\N{GRINNING FACE}" * 5_000)
    until(lambda: len(room.texts) == 1)
    text = room.texts[0]
    assert text.endswith("\N{GRINNING FACE}\n… (cut)")
    assert 4_090 <= len(text.encode("utf-16-le")) // 2 <= 4_096


def test_an_output_that_is_still_to_be_read_is_awaited(room: ChatRoom) -> None:
    room.add()
    room.open()
    room.write("go")
    run = room.run()
    room.awaited.add(run.id)
    room.end(run)
    room.write("/start")
    room.is_told("Each message to this bot starts: deploy.")
    assert len(room.texts) == 1
    room.awaited.clear()
    room.wake()
    room.is_told("deploy is done.")


def test_an_answer_that_cannot_be_sent_is_sent_later(room: ChatRoom) -> None:
    room.add()
    room.open()
    room.write("go")
    run = room.run()
    room.server.answers = [(429, {"ok": False, "parameters": {"retry_after": 7}})]
    room.end(run, "done")
    until(lambda: room.store.chat.next_reply_at("family") == room.bench.clock.now_ms() + 7_000)
    room.bench.clock.advance(6_999)
    room.wake()
    room.bench.clock.advance(1)
    room.wake()
    room.is_told("done")
    until(lambda: room.store.chat.next_reply_at("family") is None)


def test_a_rate_limit_holds_for_all_replies_of_its_conversation(room: ChatRoom) -> None:
    room.open()
    now_ms = room.bench.clock.now_ms()
    room.server.answers = [(429, {"ok": False, "parameters": {"retry_after": 7}})]
    for channel, text in (("100", "first"), ("100", "second"), ("200", "other")):
        room.store.chat.append_reply("family", channel, "1", text, now_ms)
    room.wake()
    room.is_told("other")
    assert [sent.text for sent in room.server.sent] == ["other"]
    until(lambda: room.store.chat.next_reply_at("family") == now_ms + 7_000)
    room.bench.clock.advance(7_000)
    room.wake()
    room.is_told("second")
    assert [sent.text for sent in room.server.sent] == ["other", "first", "second"]


def test_a_reply_is_dropped_after_a_day(room: ChatRoom, caplog: pytest.LogCaptureFixture) -> None:
    room.open()
    room.store.chat.append_reply("family", "100", "1", "old", room.bench.clock.now_ms() - 86_400_000)
    room.server.answers = [(400, {"description": "chat not found"})]
    with caplog.at_level(logging.WARNING):
        room.wake()
        until(lambda: room.store.chat.next_reply_at("family") is None)
    assert "could not be sent: Telegram refused the request: chat not found" in caplog.text


def test_only_the_newest_answers_wait(room: ChatRoom) -> None:
    for number in range(600):
        room.store.chat.append_reply("family", "100", "1", str(number), 0)
    (row,) = room.store.database.rows("SELECT count(*), min(text) FROM scheduler_chat_replies")
    assert row == (500, "100")


# --- Waiting -------------------------------------------------------------------------------------------


def test_a_paused_or_disabled_job_refuses_messages(room: ChatRoom) -> None:
    room.add("paused")
    room.add("off", enabled=False)
    room.bench.scheduler.pause_job("paused")
    room.open()
    room.write("go")
    room.is_told("paused is paused. Write again once it is resumed.")
    room.is_told("off is disabled and wasn't started.")
    assert room.inputs("paused") == room.inputs("off") == []


def test_the_sender_gets_one_reply_with_what_the_run_waits_for(room: ChatRoom) -> None:
    room.add()
    room.open()
    room.write("one")
    first = room.run()
    room.write("two")
    room.bench.tick()
    room.wake()
    room.bench.clock.advance(5_000)
    room.wake()
    room.is_told("deploy: waiting for its previous run to end. The answer will be posted here.")
    room.end(first, "1")
    room.is_told("1")
    second = room.bench.started[-1]
    room.end(second, "2")
    room.is_told("2")
    assert len(room.texts) == 3


def test_an_event_skipped_while_the_job_runs_gets_a_reply(room: ChatRoom) -> None:
    event = Entry(OnChat(DIRECT, (ANNA_ID,)), on_overlap=Overlap.SKIP)
    room.bench.scheduler.add_job("deploy", Several((event,)), job_id="deploy")
    room.open()
    room.write("one")
    room.bench.tick()
    room.write("two")
    room.is_told("deploy is still running. Write again when it is done.")


def test_a_replaced_message_gets_a_reply(room: ChatRoom) -> None:
    event = Entry(OnChat(DIRECT, (ANNA_ID,)), on_overlap=Overlap.LATEST)
    room.bench.scheduler.add_job("deploy", Several((event,)), job_id="deploy")
    room.open()
    room.write("one")
    first = room.write("two")
    room.wake()
    room.is_told("A later message replaced this one.")
    assert room.server.sent[0].reply_to == first - 1
    room.end(room.run(), "done")
    room.is_told("done")


def test_messages_beyond_those_that_wait_are_refused(room: ChatRoom, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halo_scheduler.rules.event_requests.MOST_WAITING", 1)
    room.add()
    room.open()
    room.write("one")
    room.write("two")
    room.is_told("deploy has too many messages waiting. Write again later.")
    assert room.inputs() == ["one"]


# --- Floods --------------------------------------------------------------------------------------------


def test_a_flood_of_one_person_is_limited_with_one_reply(room: ChatRoom) -> None:
    room.add("deploy", f"family/{_GROUP}", ANNA_ID, "200")
    room.open()
    for number in range(300):
        room.server.write(str(number), chat=_GROUP)
    room.wait_until_received()
    assert len(room.inputs()) == 20
    room.is_told(TOO_MANY)
    room.write("quiet", BEN, chat=_GROUP)
    assert room.inputs()[-1] == "quiet"
    room.bench.clock.advance(2_000)
    room.write("later", chat=_GROUP)
    assert room.inputs()[-1] == "later"
    assert room.texts.count(TOO_MANY) == 1


def test_a_flood_of_all_is_limited(room: ChatRoom) -> None:
    people = [{"id": number, "first_name": "x"} for number in range(1, 10)]
    room.add("deploy", f"family/{_GROUP}", *(str(one["id"]) for one in people))
    room.open()
    for _ in range(15):
        for one in people:
            room.server.write("go", one, chat=_GROUP)
    room.wait_until_received()
    assert len(room.inputs()) == 60


# --- Questions -----------------------------------------------------------------------------------------


def test_a_question_is_asked_in_the_thread_and_answered_there(room: ChatRoom) -> None:
    room.add("deploy", f"family/{_GROUP}", ANNA_ID, "200")
    room.open()
    number = room.write("go", chat=_GROUP)
    room.end(room.run(), question="Which branch?")
    room.is_told("Which branch?\n\nReply here to answer.")
    asked = room.server._next_message
    room.write("not for you", EVE, chat=_GROUP, reply_to=asked)
    room.write("next", chat=_GROUP, reply_to=asked)
    room.write("main", BEN, chat=_GROUP, reply_to=asked)
    room.is_told(ANSWERED)
    (question,) = room.store.questions.newest(10)
    assert (question.state, question.answer) == (QuestionState.ANSWERED, "next")
    run = room.run()
    assert run.trigger is Trigger.ANSWER
    room.end(run, "deployed next")
    room.is_told("deployed next")
    assert room.server.sent[-1].reply_to == number
    room.write("thanks", chat=_GROUP, reply_to=asked)
    assert room.inputs() == ["thanks"]


def test_in_a_direct_conversation_the_next_message_is_the_answer(room: ChatRoom) -> None:
    room.add()
    room.open()
    room.write("go")
    room.end(room.run(), question="Which branch?")
    room.is_told("Which branch?\n\nReply here to answer.")
    room.write("next")
    assert room.store.questions.newest(1)[0].answer == "next"
    room.end(room.run(), question="Sure?")
    room.is_told("Sure?\n\nReply here to answer.")
    room.write("yes")
    assert room.store.questions.newest(1)[0].answer == "yes"
    room.end(room.run(), "ok")
    room.is_told("ok")


def test_the_answer_to_a_question_that_was_answered_elsewhere_comes_too(room: ChatRoom) -> None:
    room.add()
    room.open()
    room.write("go")
    room.end(room.run(), question="Which branch?")
    room.is_told("Which branch?\n\nReply here to answer.")
    scheduler = room.bench.scheduler
    scheduler.questions.answer(room.store.questions.newest(1)[0].id, "main")
    room.end(room.run(), "deployed main")
    room.is_told("deployed main")
    room.wake()
    room.write("again")
    room.end(room.run(), "done")
    room.is_told("done")
    assert room.texts.count("deployed main") == 1


def test_of_several_open_questions_the_one_replied_to_is_answered(room: ChatRoom) -> None:
    room.add("a")
    room.add("b")
    room.open()
    room.write("go")
    for run in room.bench.tick():
        room.end(run, question=f"{run.job_id}?")
    room.is_told("a?\n\nReply here to answer.")
    room.is_told("b?\n\nReply here to answer.")
    room.write("yes")
    room.is_told(WHICH_QUESTION)


def test_a_message_in_a_group_without_reply_is_no_answer(room: ChatRoom) -> None:
    room.add("deploy", f"family/{_GROUP}")
    room.open()
    room.write("go", chat=_GROUP)
    room.end(room.run(), question="Which branch?")
    room.is_told("Which branch?\n\nReply here to answer.")
    room.write("next", chat=_GROUP)
    assert room.store.questions.newest(1)[0].state is QuestionState.OPEN
    room.write("main", chat=_GROUP, reply_to=9_999)
    assert room.store.questions.newest(1)[0].answer == "main"


# --- The bot -------------------------------------------------------------------------------------------


def test_who_listens_is_known(room: ChatRoom) -> None:
    room.add()
    room.open()
    (status,) = room.bench.scheduler.chat.status()
    assert status.state is not None
    assert (status.state.identity, status.state.fault, status.jobs) == ("@halo_test_bot", "", ("deploy",))
    assert status.is_listening


def test_a_wrong_token_is_reported_on_the_jobs_and_retried(bench: Bench) -> None:
    with TelegramServer() as server:
        server.answers = [(401, {"ok": False, "description": "Unauthorized"})]
        room = ChatRoom(bench, server)
        room.add()
        room.open(waits=False)
        until(lambda: bool(room.told))
        assert room.told[0][0] == "deploy"
        assert "rejects this token" in room.told[0][1]
        (status,) = bench.scheduler.chat.status()
        assert not status.is_listening
        room.close()
        room.open()
        assert room.told[-1] == ("deploy", "")
        room.close()


def test_listening_continues_at_the_last_position_after_a_fault(room: ChatRoom) -> None:
    room.add()
    room.open()
    room.write("one")
    room.server.answers = [(502, b"Bad Gateway")]
    room.server.write("two")
    until(lambda: room.inputs() == ["one", "two"])
    room.server.answers = [(200, b"nonsense"), (200, {"ok": True, "result": 5})]
    room.server.write("three")
    until(lambda: room.inputs() == ["one", "two", "three"])
    (status,) = room.bench.scheduler.chat.status()
    assert status.is_listening


def test_messages_that_cannot_be_stored_are_received_again(room: ChatRoom) -> None:
    room.add()
    room.open()
    failures = [StoreUnavailableError("the disk is full")]

    def fail_once() -> None:
        if failures:
            raise failures.pop()

    room.beside = fail_once
    room.server.write("hello")
    until(lambda: room.inputs() == ["hello"])
    room.bench.tick()
    assert len(room.bench.started) == 1


def test_a_message_that_cannot_be_processed_does_not_keep_the_others(
    room: ChatRoom, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    room.add()
    room.open()
    read = chat_messages.read_parameters

    def fail_at_some(declared: Mapping[str, str], text: str) -> tuple[Mapping[str, str], str]:
        if text == "bad":
            raise RuntimeError("a fault")
        return read(declared, text)

    monkeypatch.setattr(chat_messages, "read_parameters", fail_at_some)
    with room.server._lock:
        for text in ("one", "bad", "two"):
            room.server.write(text)
    room.wait_until_received()
    assert room.inputs() == ["one", "two"]
    assert "Processing messages to the bot family failed." in caplog.text


def test_characters_that_cannot_be_stored_are_replaced(room: ChatRoom) -> None:
    room.add()
    room.open()
    room.write("a\ud800b\0c")
    room.write("hi", {**EVE, "first_name": "x\ud800"})
    assert room.inputs() == ["a?bc"]
    assert room.bench.scheduler.chat.strangers("family")[0].sender_name == "x\\ud800"


def test_an_empty_answer_is_refused_with_the_reason(room: ChatRoom) -> None:
    room.add()
    room.open()
    room.write("go")
    room.end(room.run(), question="Which branch?")
    room.is_told("Which branch?\n\nReply here to answer.")
    room.write("  ")
    until(lambda: len(room.texts) == 2)
    assert "the answer is empty" in room.texts[1]


def test_the_retry_of_a_failed_run_is_announced_and_gets_a_reply(room: ChatRoom) -> None:
    room.add(policy=Policy(retry=Retry(attempts=1, delay_ms=60_000)))
    room.open()
    room.write("go")
    run = room.run()
    room.bench.clock.advance(10_000)
    room.end(run, outcome=Outcome.FAILURE)
    room.is_told("deploy failed and will be retried in 1 min. The answer will be posted here.")
    room.bench.clock.advance(60_000)
    room.end(room.run(), "now it works")
    room.is_told("now it works")
    assert len(room.texts) == 2


def test_a_removed_bot_is_forgotten_with_its_token(room: ChatRoom) -> None:
    room.open()
    room.write("hi", EVE)
    room.close()
    room.bench.scheduler.chat.remove("family")
    assert room.store.chat.states() == {}
    assert room.store.chat.strangers("family") == []
    assert [secret.name for secret in room.bench.scheduler.secrets.list()] == []
    room.add_bot()
    assert room.bench.scheduler.chat.test("family") == f"@{BOT['username']}"


def test_a_missing_package_or_service_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    bot = ChatBot(name="work", service=ChatServiceName.SLACK, secret=_NAME)
    monkeypatch.setitem(chat.SERVICES, bot.service, "halo_scheduler.triggers.nonsense")
    with pytest.raises(ChatFault, match="this version doesn't support Slack"):
        open_service(bot, TOKEN)
    monkeypatch.setitem(chat.SERVICES, bot.service, "websockets_that_are_not_there")
    with pytest.raises(ChatFault, match=r"Slack needs the package websockets_.*halo-scheduler\[chat\]"):
        open_service(bot, TOKEN)


def test_a_bot_without_its_secret_reports_a_fault(room: ChatRoom) -> None:
    room.bench.scheduler.secrets.remove("CHAT_family")
    with pytest.raises(ChatFault, match="CHAT_family"):
        room.bench.scheduler.chat.test("family")


def test_direct_conversations_are_known_by_service() -> None:
    message = ChatMessage(
        event_id="x", channel="D1", sender="U1", sender_name="x", text="x", thread="1", at=0
    )
    assert chat_messages.is_direct(ChatServiceName.SLACK, message)
    assert not chat_messages.is_direct(ChatServiceName.SLACK, replace(message, channel="C1"))
    assert not chat_messages.is_direct(ChatServiceName.DISCORD, message)


def test_a_bot_that_lacks_a_thread_to_send_does_not_listen(
    room: ChatRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = threading.Thread.start

    def start(thread: threading.Thread) -> None:
        if thread.name == "halo-chat-send-family":
            raise RuntimeError("can't start new thread")
        real(thread)

    with monkeypatch.context() as context:
        context.setattr(threading.Thread, "start", start)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            room.open()
    until(lambda: not [thread for thread in threading.enumerate() if thread.name.startswith("halo-chat-")])
    room.open()
