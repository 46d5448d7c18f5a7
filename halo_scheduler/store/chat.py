"""The tables of chat: the state of bots, people who wrote without permission, threads, and replies to send."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass

from halo_scheduler.model.chat import BotState, Stranger
from halo_scheduler.store.connection import Database, Row

_MOST_STRANGERS = 20
_MOST_REPLIES = 500
_FORGOTTEN_AT_ONCE = 100
_THREAD = "event_id, job_id, bot, channel, thread, at, is_told, question_id"
_REPLY = "seq, bot, channel, thread, text, at, tries"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatThread:
    """Where the reply to a message goes."""

    event_id: str
    """The event of the message; its run provides the reply."""
    job_id: str
    bot: str
    channel: str
    thread: str
    at: int
    is_told: bool = False
    """Whether the sender got notice that the run waits."""
    question_id: str | None = None
    """The last question that its run asked in the thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """A reply to send once it is due."""

    seq: int
    bot: str
    channel: str
    thread: str
    text: str
    at: int
    tries: int


class ChatTable:
    """Reads and writes the tables of chat."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # --- Bots ----------------------------------------------------------------------------------------

    def states(self) -> dict[str, BotState]:
        """Return the stored states of bots by name."""
        rows = self._database.rows(
            "SELECT name, token_at, position, identity, since, fault FROM scheduler_chat_bots"
        )
        return {
            name: BotState(
                name=name, token_at=token_at, position=position, identity=identity, since=since, fault=fault
            )
            for name, token_at, position, identity, since, fault in rows
        }

    def save_state(self, state: BotState) -> None:
        self._database.rows(
            "INSERT OR REPLACE INTO scheduler_chat_bots (name, token_at, position, identity, since, fault) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            astuple(state),
        )

    def forget_bot(self, name: str) -> None:
        """Delete all data of a removed bot."""
        self._database.rows("DELETE FROM scheduler_chat_bots WHERE name = ?", [name])
        for table in ("strangers", "threads", "replies"):
            self._database.rows(f"DELETE FROM scheduler_chat_{table} WHERE bot = ?", [name])

    def note_strangers(self, strangers: Iterable[Stranger]) -> None:
        """Store people who wrote without permission; only the newest of each bot are kept."""
        found = {(one.bot, one.sender): one for one in strangers}
        self._database.run_many(
            "INSERT OR REPLACE INTO scheduler_chat_strangers (bot, sender, sender_name, channel, at) "
            "VALUES (?, ?, ?, ?, ?)",
            [astuple(one) for one in found.values()],
        )
        for bot in {bot for bot, _ in found}:
            self._database.rows(
                "DELETE FROM scheduler_chat_strangers WHERE bot = ?1 AND sender NOT IN "
                "(SELECT sender FROM scheduler_chat_strangers WHERE bot = ?1 ORDER BY at DESC LIMIT ?2)",
                [bot, _MOST_STRANGERS],
            )

    def strangers(self, bot: str) -> list[Stranger]:
        """Return the people who wrote to a bot without permission, newest first."""
        rows = self._database.rows(
            "SELECT bot, sender, sender_name, channel, at FROM scheduler_chat_strangers WHERE bot = ? "
            "ORDER BY at DESC, sender",
            [bot],
        )
        return [
            Stranger(bot=bot, sender=sender, sender_name=name, channel=channel, at=at)
            for bot, sender, name, channel, at in rows
        ]

    def forget_stranger(self, bot: str, sender: str) -> None:
        self._database.rows(
            "DELETE FROM scheduler_chat_strangers WHERE bot = ?1 AND (sender = ?2 OR lower(sender_name) = ?2)",
            [bot, sender],
        )

    # --- Threads -------------------------------------------------------------------------------------

    def open_thread(self, thread: ChatThread) -> None:
        """Store where the reply to a message goes, unless it is stored already."""
        self._database.rows(
            f"INSERT OR IGNORE INTO scheduler_chat_threads ({_THREAD}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            astuple(thread),
        )

    def open_threads(self) -> list[ChatThread]:
        """Return the threads that await a reply, oldest first, including those whose question was answered."""
        return self._threads(
            "is_open = 1 OR (question_id IS NOT NULL AND EXISTS (SELECT 1 FROM scheduler_questions AS question "
            "WHERE question.id = question_id AND question.state = 'answered')) ORDER BY at"
        )

    def asking(self, bot: str, channel: str) -> list[ChatThread]:
        """Return the threads of a conversation in which a question was asked, newest first."""
        return self._threads(
            "bot = ? AND channel = ? AND question_id IS NOT NULL ORDER BY at DESC", bot, channel
        )

    def note_told(self, event_id: str) -> None:
        """Record that the sender got notice that the run waits."""
        self._database.rows("UPDATE scheduler_chat_threads SET is_told = 1 WHERE event_id = ?", [event_id])

    def close_thread(self, event_id: str, question_id: str | None) -> None:
        """Record that a thread awaits no reply, except after an answer to the question of its run."""
        self._database.rows(
            "UPDATE scheduler_chat_threads SET is_open = 0, question_id = ? WHERE event_id = ?",
            [question_id, event_id],
        )

    def forget_threads(self, before: int) -> None:
        """Delete some of the old threads."""
        self._database.rows(
            "DELETE FROM scheduler_chat_threads WHERE event_id IN "
            "(SELECT event_id FROM scheduler_chat_threads WHERE at < ? AND is_open = 0 LIMIT ?)",
            [before, _FORGOTTEN_AT_ONCE],
        )

    def _threads(self, which: str, *values: str) -> list[ChatThread]:
        rows = self._database.rows(f"SELECT {_THREAD} FROM scheduler_chat_threads WHERE {which}", values)
        return [_thread_of(row) for row in rows]

    # --- Replies -------------------------------------------------------------------------------------

    def append_reply(self, bot: str, channel: str, thread: str, text: str, at: int) -> None:
        """Store a reply to send; if too many are waiting, the oldest is dropped."""
        self._database.rows(
            "INSERT INTO scheduler_chat_replies (bot, channel, thread, text, at) VALUES (?, ?, ?, ?, ?)",
            [bot, channel, thread, text, at],
        )
        self._database.rows(
            "DELETE FROM scheduler_chat_replies WHERE bot = ?1 AND seq <= "
            "(SELECT seq FROM scheduler_chat_replies WHERE bot = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2)",
            [bot, _MOST_REPLIES],
        )

    def due_reply(self, bot: str, now_ms: int) -> ChatReply | None:
        """Return the oldest due reply of a bot."""
        row = self._database.row(
            f"SELECT {_REPLY} FROM scheduler_chat_replies WHERE bot = ? AND due_at <= ? ORDER BY seq LIMIT 1",
            [bot, now_ms],
        )
        if row is None:
            return None
        seq, bot, channel, thread, text, at, tries = row
        return ChatReply(seq=seq, bot=bot, channel=channel, thread=thread, text=text, at=at, tries=tries)

    def next_reply_at(self, bot: str) -> int | None:
        """Return when the next reply of a bot is due; None if there is none."""
        row = self._database.row("SELECT min(due_at) FROM scheduler_chat_replies WHERE bot = ?", [bot])
        return None if row is None else row[0]

    def put_off_reply(self, reply: ChatReply, due_at: int) -> None:
        """Postpone a reply after a failed attempt."""
        self._database.rows(
            "UPDATE scheduler_chat_replies SET tries = tries + 1, due_at = ? WHERE seq = ?",
            [due_at, reply.seq],
        )

    def remove_reply(self, reply: ChatReply) -> None:
        self._database.rows("DELETE FROM scheduler_chat_replies WHERE seq = ?", [reply.seq])


def _thread_of(row: Row) -> ChatThread:
    event_id, job_id, bot, channel, thread, at, is_told, question_id = row
    return ChatThread(
        event_id=event_id,
        job_id=job_id,
        bot=bot,
        channel=channel,
        thread=thread,
        at=at,
        is_told=bool(is_told),
        question_id=question_id,
    )
