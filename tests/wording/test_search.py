"""What a search looks through."""

from __future__ import annotations

import pytest

from halo_scheduler import Callback, Command, Cron, Every, HttpRequest, Prompt, Reminder
from halo_scheduler.model import Action
from halo_scheduler.wording.search import action_text, is_found, searched_text


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
