"""Decides what a chat message does: start a run, answer a question, or get a refusal as reply."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from halo_scheduler.clock import Clock
from halo_scheduler.errors import ScheduleError, SchedulerError
from halo_scheduler.grammar.interval import DAY_MS
from halo_scheduler.model import CatchUp, OnChat, Outcome, Question, QuestionState
from halo_scheduler.model.changes import CHAT, Change
from halo_scheduler.model.chat import (
    DIRECT,
    ChatBot,
    ChatServiceName,
    Stranger,
    conversation_of,
    is_permitted,
)
from halo_scheduler.rules.chat import find_bot
from halo_scheduler.rules.edit import Edit
from halo_scheduler.rules.event_requests import Accepted, Happening, Refused
from halo_scheduler.rules.run_requests import answer_question
from halo_scheduler.store.chat import ChatThread
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.store import Store
from halo_scheduler.triggers.chat_service import ChatMessage
from halo_scheduler.triggers.posts import Allowance, require_visible
from halo_scheduler.wording.chat import (
    ANSWERED,
    TOO_LONG,
    TOO_MANY,
    WHICH_QUESTION,
    greeting,
    not_then_reply,
    refusal_reply,
    value_reply,
)

_PAIR = re.compile(r'\s*([a-z][a-z0-9_]*)=("[^"]*"|\S*)(?:\s+|$)')
# Telegram sends this when a person opens a conversation.
_OPENING = "/start"
_LONGEST_TEXT = 100_000
_KEPT_MS = 30 * DAY_MS
# Messages per second, and the largest burst.
_OF_ALL, _OF_ONE_PERSON = (2, 60), (0.5, 20)
# Services report times in whole seconds.
_SECOND_MS = 1_000


class Target(NamedTuple):
    """A job that messages of a conversation start."""

    record: JobRecord
    key: str
    event: OnChat

    @property
    def name(self) -> str:
        return self.record.spec.name


class Reply(NamedTuple):
    """A reply to the sender of a message."""

    message: ChatMessage
    text: str


class Start(NamedTuple):
    """A message that starts a job."""

    message: ChatMessage
    target: Target
    happening: Happening


class Answer(NamedTuple):
    """A message that answers a question."""

    message: ChatMessage
    question_id: str


@dataclass(slots=True)
class Verdict:
    """The verdict on some messages; all of it is stored in one transaction."""

    bot: str
    replies: list[Reply] = field(default_factory=list)
    starts: list[Start] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    strangers: list[Stranger] = field(default_factory=list)

    @property
    def happenings(self) -> list[Happening]:
        return [start.happening for start in self.starts]

    def store(self, store: Store, found: Sequence[Accepted | Refused], now_ms: int) -> list[Change]:
        """Store the threads and replies of the messages, inside their transaction."""
        for start, result in zip(self.starts, found, strict=True):
            self._note(store, start, result, now_ms)
        for reply in self.replies:
            self._tell(store, reply.message, reply.text, now_ms)
        store.chat.note_strangers(self.strangers)
        store.chat.forget_threads(now_ms - _KEPT_MS)
        edit = Edit(store, CHAT, now_ms)
        for answer in self.answers:
            self._answer(edit, answer)
        return edit.changes

    def _note(self, store: Store, start: Start, result: Accepted | Refused, now_ms: int) -> None:
        message, name = start.message, start.target.name
        if isinstance(result, Refused):
            self._tell(store, message, refusal_reply(name, result.reason), now_ms)
        else:
            store.chat.open_thread(
                ChatThread(
                    event_id=start.happening.event_id,
                    job_id=start.target.record.id,
                    bot=self.bot,
                    channel=message.channel,
                    thread=message.thread,
                    at=now_ms,
                )
            )

    def _answer(self, edit: Edit, answer: Answer) -> None:
        """Answer a question; reply to the sender if it was answered before."""
        try:
            answer_question(edit, answer.question_id, answer.message.text)
        except SchedulerError as error:
            question = edit.store.questions.get(answer.question_id)
            is_open = question is not None and question.state is QuestionState.OPEN
            self._tell(edit.store, answer.message, str(error) if is_open else ANSWERED, edit.now_ms)

    def _tell(self, store: Store, message: ChatMessage, text: str, now_ms: int) -> None:
        store.chat.append_reply(self.bot, message.channel, message.thread, text, now_ms)


class Judge:
    """Decides what the messages to one bot do; writes nothing, and counts messages for the rate limits."""

    def __init__(self, bot: str, clock: Clock) -> None:
        self._bot = bot
        self._clock = clock
        self._since = clock.now_ms()
        self._of_all = Allowance(*_OF_ALL, clock)
        self._of_person: dict[str, Allowance] = {}
        self._told: set[str] = set()

    def judge(self, store: Store, messages: Sequence[ChatMessage]) -> Verdict:
        """Return the verdict on messages; reads the permitted people again."""
        verdict = Verdict(self._bot)
        bot = find_bot(store, self._bot)
        if bot is None or not messages:
            return verdict
        targets = targets_of(store, bot.name)
        for message in messages:
            self._judge_one(store, bot, _clean(message), targets, verdict)
        return verdict

    def _judge_one(
        self, store: Store, bot: ChatBot, message: ChatMessage, targets: Sequence[Target], verdict: Verdict
    ) -> None:
        meant = [target for target in targets if is_meant(bot, target.event, message)]
        if not meant:
            verdict.strangers.append(_stranger(bot, message))
            return
        if not self._takes(message.sender):
            if message.sender not in self._told:
                self._told.add(message.sender)
                verdict.replies.append(Reply(message, TOO_MANY))
            return
        self._told.discard(message.sender)
        if len(message.text) > _LONGEST_TEXT:
            verdict.replies.append(Reply(message, TOO_LONG))
        elif message.text.strip() == _OPENING:
            verdict.replies.append(Reply(message, greeting([target.name for target in meant])))
        elif not self._answers(store, bot, message, meant, verdict):
            for target in meant:
                self._start(message, target, verdict)

    def _takes(self, sender: str) -> bool:
        """Return whether the rate limits allow one more message of a permitted person."""
        of_person = self._of_person.setdefault(sender, Allowance(*_OF_ONE_PERSON, self._clock))
        return of_person.take() and self._of_all.take()

    def _start(self, message: ChatMessage, target: Target, verdict: Verdict) -> None:
        record = target.record
        is_old = message.at + _SECOND_MS <= self._since
        if is_old and message.at + _SECOND_MS <= record.created_at:
            return  # It was not written to this job.
        if is_old and record.spec.policy.catch_up is CatchUp.SKIP:
            verdict.replies.append(Reply(message, not_then_reply(target.name)))
            return
        try:
            values, text = read_parameters(record.spec.parameters, message.text)
        except ScheduleError as error:
            verdict.replies.append(Reply(message, value_reply(target.name, str(error))))
            return
        happening = Happening(
            job_id=record.id,
            key=target.key,
            event_id=f"{message.event_id}:{record.id}",
            # The clock of the service may be ahead of ours.
            at=min(message.at, self._clock.now_ms()),
            input=text.encode(),
            parameters=values,
            is_answered=True,
        )
        verdict.starts.append(Start(message, target, happening))

    @staticmethod
    def _answers(
        store: Store, bot: ChatBot, message: ChatMessage, meant: Sequence[Target], verdict: Verdict
    ) -> bool:
        """Return whether a message answers a question, or replies to an answered one."""
        jobs = {target.record.id for target in meant}
        asked = [
            (thread, question)
            for thread, question in _asked(store, bot.name, message.channel)
            if thread.job_id in jobs
        ]
        is_reply = not message.event_id.endswith(f":{message.thread}")
        own = [one for one in asked if is_reply and one[0].thread == message.thread]
        free = [one for one in asked if one[1].state is QuestionState.OPEN]
        if own and own[0][1].state is not QuestionState.OPEN:
            if not _is_being_used(store, own[0][1]):
                return False
            verdict.replies.append(Reply(message, ANSWERED))
            return True
        if not own and not (free and (is_reply or is_direct(bot.service, message))):
            return False
        if not own and len(free) > 1:
            verdict.replies.append(Reply(message, WHICH_QUESTION))
            return True
        _, question = (own or free)[0]
        verdict.answers.append(Answer(message, question.id))
        return True


def _asked(store: Store, bot: str, channel: str) -> list[tuple[ChatThread, Question]]:
    found = [
        (thread, store.questions.get(thread.question_id))
        for thread in store.chat.asking(bot, channel)
        if thread.question_id is not None
    ]
    return [(thread, question) for thread, question in found if question is not None]


def _is_being_used(store: Store, question: Question) -> bool:
    """Return whether the run that got the answer to a question is waiting or running."""
    run = None if question.answer_run_id is None else store.runs.get(question.answer_run_id)
    return question.state is QuestionState.ANSWERED and (run is None or run.outcome is Outcome.RUNNING)


def _clean(message: ChatMessage) -> ChatMessage:
    """Return a message without lone surrogates and NULs, which cannot be stored."""
    text, name = (
        given.encode(errors="replace").decode().replace("\0", "")
        for given in (message.text, message.sender_name)
    )
    return replace(message, text=text, sender_name=name)


def targets_of(store: Store, bot: str) -> list[Target]:
    """Return the jobs that messages to a bot start, with the first matching event for each conversation."""
    ids = [job_id for job_id, _, text in store.webhooks.jobs_with_events() if OnChat.kind in text]
    records = store.jobs.get_many(ids) if ids else {}
    return [
        Target(record, entry.key, entry.schedule)
        for record in records.values()
        for entry in record.spec.events
        if isinstance(entry.schedule, OnChat) and entry.schedule.bot == bot
    ]


def is_meant(bot: ChatBot, event: OnChat, message: ChatMessage) -> bool:
    """Return whether an event matches the person and the conversation of a message."""
    wanted = conversation_of(event.channel).id
    is_there = is_direct(bot.service, message) if wanted == DIRECT else wanted == message.channel
    return is_there and is_permitted(event.from_ or bot.permitted, message.sender, message.sender_name)


def is_direct(service: ChatServiceName, message: ChatMessage) -> bool:
    """Return whether a message is a direct message to the bot."""
    match service:
        case ChatServiceName.TELEGRAM:
            return message.channel == message.sender
        case ChatServiceName.SLACK:
            return message.channel.startswith("D")
        case _:
            return False


def _stranger(bot: ChatBot, message: ChatMessage) -> Stranger:
    return Stranger(
        bot=bot.name,
        sender=message.sender,
        sender_name=message.sender_name,
        channel=message.channel,
        at=message.at,
    )


def read_parameters(declared: Mapping[str, str], text: str) -> tuple[Mapping[str, str], str]:
    """Return the values of declared parameters, given as `name=value` at the start, and the rest."""
    values: dict[str, str] = {}
    rest = text
    while (found := _PAIR.match(rest)) is not None and found[1] in declared:
        quoted = len(found[2]) > 1 and found[2].startswith('"') and found[2].endswith('"')
        values[found[1]] = found[2][1:-1] if quoted else found[2]
        rest = rest[found.end() :]
    return require_visible(declared, values), rest
