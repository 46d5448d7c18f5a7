"""Words for jobs: what a search covers, and the hints of runs."""

from __future__ import annotations

import pytest

from halo_scheduler import Callback, Command, Cron, Every, HttpRequest, Prompt, Reminder
from halo_scheduler.model import Action, Proposal
from halo_scheduler.wording.jobs import action_text, is_found, proposal_words, searched_text


@pytest.mark.parametrize(
    ("action", "text"),
    [
        (Command(argv=("pg_dump", "-Fc", "my shop")), "pg_dump -Fc 'my shop'"),
        (Command(line="a  b | c", shell="/bin/sh", directory="/srv"), "a  b | c\n/srv"),  # noqa: S604 - never run
        (HttpRequest(url="https://example.com/ping"), "GET https://example.com/ping"),
        (Reminder(title="Stand up", text="and stretch"), "Stand up\nand stretch"),
        (Prompt(text="Sum up\nthe mail", agent="claude"), "Sum up\nthe mail\nclaude"),
        (Callback(name="tidy"), "tidy"),
    ],
)
def test_an_action_is_searched_as_it_was_written(action: Action, text: str) -> None:
    assert action_text(action) == text


@pytest.mark.parametrize(
    "wanted", ["Shop", "NIGHTLY", "of the shop", "PG_DUMP", "every 15", "15 min", " dump "]
)
def test_everything_that_is_shown_of_a_job_is_searched(wanted: str) -> None:
    text = searched_text(
        "Shop backup", "nightly", "Copies of the shop", Every("15m"), Command(argv=("pg_dump", "shop"))
    )
    assert is_found(wanted, text)


@pytest.mark.parametrize("wanted", ["weekdays", "mon–fri", "0 9 * * 1-5", "09:00"])
def test_a_schedule_is_found_by_its_sentence_its_short_words_and_its_cron_text(wanted: str) -> None:
    text = searched_text("x", None, "", Cron("0 9 * * 1-5"))
    assert is_found(wanted, text)
    assert not is_found("tuesday", text)


@pytest.mark.parametrize(
    ("proposal", "words"),
    [
        (
            Proposal(every_ms=300_000, next_ms=600_000, reason="queue is long"),
            "every 5 min for 1 h and a run 10 min later: queue is long",
        ),
        (Proposal(every_ms=300_000, ttl_ms=600_000), "every 5 min for 10 min"),
        (Proposal(next_ms=600_000), "a run 10 min later"),
        (Proposal(every_ms=10_000, reason="two\nlines"), "every 10 s for 1 h: two ↵ lines"),
        (Proposal(reason="a reason alone"), ""),
        (None, ""),
    ],
)
def test_the_hint_of_a_run_says_pace_next_run_and_reason(proposal: Proposal | None, words: str) -> None:
    assert proposal_words(proposal) == words
