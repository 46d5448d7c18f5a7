"""What is said about chat, and to the people who write."""

from __future__ import annotations

from typing import Any

import pytest

from halo_scheduler.model import Outcome, Run, SkipReason, Source, Trigger
from halo_scheduler.model.chat import BotState, BotStatus, ChatBot, ChatServiceName
from halo_scheduler.wording.chat import bot_words, cut, later_reply, refusal_reply, run_reply

_BOT = ChatBot(name="family", service=ChatServiceName.TELEGRAM, secret="X", permitted=("1",))  # noqa: S106 - a name


def _status(*, is_running: bool = True, jobs: tuple[str, ...] = ("a", "b"), **state: Any) -> BotStatus:
    known = BotState(name="family", token_at=0, **state) if state else None
    return BotStatus(bot=_BOT, state=known, is_running=is_running, jobs=jobs)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (_status(identity="@halo"), "listening as @halo, 2 jobs, 1 person permitted"),
        (_status(identity="@halo", fault="the network is down"), "not listening: the network is down"),
        (_status(jobs=("a",)), "connecting (1 job, 1 person permitted)"),
        (_status(is_running=False), "not listening: Halo isn't running (2 jobs, 1 person permitted)"),
        (
            BotStatus(
                bot=ChatBot(name="b", service=ChatServiceName.SLACK, secret="X"),  # noqa: S106 - a name
                state=None,
                is_running=True,
                jobs=(),
            ),
            "connecting (0 jobs, 0 people permitted)",
        ),
    ],
)
def test_the_state_of_a_bot_is_described(status: BotStatus, words: str) -> None:
    assert bot_words(status) == words


def _run(outcome: Outcome, **rest: Any) -> Run:
    return Run(id="1", job_id="job", trigger=Trigger.EVENT, source=Source.MANUAL, outcome=outcome, **rest)


@pytest.mark.parametrize(
    ("run", "output", "text"),
    [
        (_run(Outcome.SUCCESS), b"\n\nhello\n\n", "hello"),
        (_run(Outcome.SUCCESS), b"::halo every=5m\n", "backup is done."),
        (_run(Outcome.SUCCESS), b"::replying is not that\n::reply\tthis is\n", "this is"),
        (
            _run(Outcome.FAILURE, exit_code=3),
            b"no such\n\nfile\n",
            "backup failed: exit code 3\nno such\nfile",
        ),
        (_run(Outcome.FAILURE, error="the program is missing"), b"", "backup failed: the program is missing"),
        (_run(Outcome.SKIPPED, reason=SkipReason.PAUSED), b"", "backup was skipped: it was paused."),
        (_run(Outcome.CANCELLED), b"x", "backup was cancelled.\nx"),
        (_run(Outcome.SUCCESS), b"a" * 50_000, "a" * 40_000),
    ],
)
def test_the_reply_after_a_run(run: Run, output: bytes, text: str) -> None:
    assert run_reply("backup", run, output) == text


def test_a_run_that_waits_for_its_time_says_when() -> None:
    assert later_reply("backup", 120_000, 60_000, is_retry=False) == (
        "backup starts in 1 min. The answer will be posted here."
    )
    assert later_reply("backup", 120_000, 60_000, is_retry=True).startswith(
        "backup failed and will be retried in"
    )


def test_any_refusal_has_words() -> None:
    assert refusal_reply("backup", SkipReason.CAP) == "backup does not start now."


def test_a_text_is_cut_where_the_service_ends_it() -> None:
    assert cut("short", 5) == "short"
    assert cut("a" * 20, 15) == "aaaaaaa\n… (cut)"
    smile = "\N{GRINNING FACE}"
    assert cut(smile * 20, 17) == f"{smile * 4}\n… (cut)"
