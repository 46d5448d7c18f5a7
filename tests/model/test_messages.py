"""What is stored about runs: kinds with their parameters."""

from __future__ import annotations

import pytest

from halo_scheduler.model.messages import (
    MessageKind,
    message,
    read_message,
    read_messages,
    stored_message,
    stored_messages,
    text_message,
)

EXIT = message(MessageKind.EXIT_CODE, code=3)
NOTE = message(MessageKind.TEXT, text="für “dich”\n")


@pytest.mark.parametrize("messages", [(), (EXIT,), (EXIT, NOTE)])
def test_messages_are_read_as_they_were_stored(messages: tuple[object, ...]) -> None:
    assert read_messages(stored_messages(messages)) == messages  # type: ignore[arg-type]


def test_no_message_is_stored_as_nothing() -> None:
    assert stored_messages([]) == stored_message(None) == ""
    assert read_message("") is None


def test_one_message_is_read_as_it_was_stored() -> None:
    assert read_message(stored_message(EXIT)) == EXIT


@pytest.mark.parametrize(
    "stored", ["boom", "[1]", "{}x", '[{"kind":"of_tomorrow","params":{}}]', '[{"kind":"text"}]', "3"]
)
def test_unreadable_messages_are_shown_unchanged(stored: str) -> None:
    assert read_messages(stored) == (message(MessageKind.TEXT, text=stored),)


def test_words_that_are_not_ours_are_a_message_too() -> None:
    assert text_message("boom") == message(MessageKind.TEXT, text="boom")
    assert text_message("") is None


def test_every_text_of_a_message_can_be_changed() -> None:
    told = message(MessageKind.WAITED, a="s3cret", b=["s3cret", 1], c={"d": "s3cret"}, e=None)
    hidden = told.changing_text(lambda text: text.replace("s3cret", "•••"))
    assert hidden.params == {"a": "•••", "b": ["•••", 1], "c": {"d": "•••"}, "e": None}


def test_a_message_within_another_is_stored_and_redacted_with_it() -> None:
    told = message(MessageKind.ITEM_SET_ASIDE, error=NOTE, states=[EXIT, NOTE], folder="failed")
    assert read_message(stored_message(told)) == told
    hidden = told.changing_text(lambda text: text.replace("dich", "•••"))
    assert hidden.params["error"] == hidden.params["states"][1] == message(NOTE.kind, text="für “•••”\n")


def test_a_message_takes_more_parameters() -> None:
    assert EXIT.adding(signal="SIGINT") == message(MessageKind.EXIT_CODE, code=3, signal="SIGINT")


def test_equal_messages_are_one_in_a_set() -> None:
    assert len({EXIT, message(MessageKind.EXIT_CODE, code=3), NOTE}) == 2
