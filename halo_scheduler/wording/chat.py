"""Sentences about chat: the state of bots, and the replies to people who write to them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from halo_scheduler.grammar.english import counted
from halo_scheduler.grammar.text import plain_line, shown_text
from halo_scheduler.model.chat import BotStatus
from halo_scheduler.model.runs import Run
from halo_scheduler.model.situation import Waiting
from halo_scheduler.model.words import Outcome, SkipReason
from halo_scheduler.wording.messages import OUTCOMES, SKIP_REASONS
from halo_scheduler.wording.schedules import describe_when
from halo_scheduler.wording.status import waiting_words

_LONGEST_NAME = 60
_LONGEST_REASON = 300
_LAST_LINES = 10
_MOST_KEPT = 40_000
_CUT = "\n… (cut)"
_DIRECTIVE = re.compile(r"::[a-z-]+(?:\s|$)")
_REPLY = re.compile(r"::reply(?:[ \t]|$)")
TOO_MANY = "Too many messages. Wait a moment, then write again; messages until then are ignored."
TOO_LONG = "That message is too long."
ANSWERED = "This question has already been answered."
WHICH_QUESTION = "Several questions are open here. Reply to the one that you answer."
REPLACED = "A later message replaced this one."
_REFUSALS = {
    SkipReason.PAUSED: "is paused. Write again once it is resumed.",
    SkipReason.DISABLED: "is disabled and wasn't started.",
    SkipReason.AT_CAPACITY: "has too many messages waiting. Write again later.",
    SkipReason.ALREADY_RUNNING: "is still running. Write again when it is done.",
}


def bot_words(status: BotStatus) -> str:
    """Return the state of a bot: "listening as @family_bot, 2 jobs, 3 people permitted"."""
    who = "1 person" if len(status.bot.permitted) == 1 else f"{len(status.bot.permitted)} people"
    scope = f"{counted(len(status.jobs), 'job')}, {who} permitted"
    if not status.is_running:
        return f"not listening: Halo isn't running ({scope})"
    if status.state is None:
        return f"connecting ({scope})"
    if status.state.fault:
        return f"not listening: {status.state.fault}"
    return f"listening as {plain_line(status.state.identity, _LONGEST_NAME)}, {scope}"


def refusal_reply(name: str, reason: SkipReason) -> str:
    """Return the reply to a message that the job refused."""
    return f"{_named(name)} {_REFUSALS.get(reason, 'does not start now.')}"


def greeting(names: Sequence[str]) -> str:
    """Return the reply to a permitted person who opens a conversation with a bot."""
    return f"Each message to this bot starts: {', '.join(map(_named, names))}."


def not_then_reply(name: str) -> str:
    """Return the reply to a message that was written while no engine ran."""
    return f"{_named(name)} was not started: Halo was not running when you wrote. Write again."


def value_reply(name: str, fault: str) -> str:
    """Return the reply to a message with an invalid parameter."""
    return f"{_named(name)} was not started: {plain_line(fault, _LONGEST_REASON)}"


def waiting_reply(name: str, waiting: Waiting, now_ms: int) -> str:
    """Return the reply while the run waits."""
    return f"{_named(name)}: {waiting_words(waiting, now_ms)}. The answer will be posted here."


def later_reply(name: str, at: int, now_ms: int, *, is_retry: bool) -> str:
    """Return the reply while the run waits for its start time."""
    what = "failed and will be retried" if is_retry else "starts"
    return f"{_named(name)} {what} {describe_when(at, now_ms)}. The answer will be posted here."


def question_reply(text: str) -> str:
    """Return the message that asks a run's question in its thread."""
    return f"{text}\n\nReply here to answer."


def run_reply(name: str, run: Run, output: bytes) -> str:
    """Return the reply after a run: its `::reply` lines, else its output; for a failure the last lines."""
    lines = shown_text(output).splitlines()
    replies = [_REPLY.sub("", line, count=1) for line in lines if _REPLY.match(line)]
    printed = [line for line in lines if not _DIRECTIVE.match(line)]
    if run.outcome is Outcome.SUCCESS:
        return _kept("\n".join(replies or printed)) or f"{_named(name)} is done."
    ending = f"{_named(name)} {OUTCOMES[run.outcome].clause}{_why(run)}"
    last = [line for line in printed if line.strip()][-_LAST_LINES:]
    return _kept("\n".join([ending, *(replies or last)]))


def _why(run: Run) -> str:
    if run.error:
        return f": {plain_line(run.error, _LONGEST_REASON)}"
    if run.exit_code is not None:
        return f": exit code {run.exit_code}"
    return "." if run.reason is None else f": {SKIP_REASONS[run.reason]}."


def _kept(text: str) -> str:
    return text.strip("\n")[:_MOST_KEPT].rstrip()


def cut(text: str, longest: int) -> str:
    """Return a text shortened to at most so many UTF-16 units, as services count characters."""
    if _length(text) <= longest:
        return text
    left = text[: longest - len(_CUT)]
    while _length(left) > longest - len(_CUT):
        left = left[: len(left) - max(1, (_length(left) - longest + len(_CUT)) // 2)]
    return f"{left.rstrip()}{_CUT}"


def _length(text: str) -> int:
    return len(text.encode("utf-16-le", errors="replace")) // 2


def _named(name: str) -> str:
    return plain_line(name, _LONGEST_NAME)
