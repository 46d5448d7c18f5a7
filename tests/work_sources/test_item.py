"""The texts of items: plain whatever came, and cut when they are too long."""

from __future__ import annotations

from dataclasses import replace

import pytest

from halo_scheduler import Outcome, Run, Source, Trigger
from halo_scheduler.work_sources.item import (
    LONGEST_BODY,
    MarkdownText,
    plain_body,
    plain_labels,
    plain_title,
    priority_in,
    result_comment,
)


def test_a_title_is_one_short_line() -> None:
    assert plain_title("  Fix\nthe\tdoor \x1b[31mnow\x1b[0m ", "x") == "Fix the door now"
    assert len(plain_title("a" * 5_000_000, "x")) == 300
    assert plain_title("\n \t", "x") == "x"
    assert plain_title("half \ud800", "x") == "half \ufffd"


def test_labels_are_short_lines_and_not_too_many() -> None:
    assert plain_labels(["bug", " ", "a\nb", "\udfff"]) == ("bug", "a b", "\ufffd")
    assert len(plain_labels(str(number) for number in range(1_000))) == 100
    assert len(plain_labels(["a" * 1_000])[0]) == 100


@pytest.mark.parametrize(
    ("labels", "priority"),
    [
        (["bug", "priority: high"], "high"),
        (["Priority/low"], "low"),
        (["prio-2"], "2"),
        (["P1"], "P1"),
        (["p10"], ""),
        (["priorities"], ""),
        (["bug"], ""),
        ([], ""),
    ],
)
def test_a_label_can_set_the_priority(labels: list[str], priority: str) -> None:
    assert priority_in(labels) == priority


def test_a_body_is_text_with_any_bytes() -> None:
    content = b"\xef\xbb\xbfone\r\ntwo\0\xff\xe4"
    assert plain_body(content, len(content)) == ("one\ntwo\ufffd\ufffd\ufffd", "")


def test_a_body_of_just_the_longest_is_complete() -> None:
    assert plain_body(b"a" * LONGEST_BODY, LONGEST_BODY) == ("a" * LONGEST_BODY, "")


def test_a_longer_body_is_cut_between_characters_with_a_note() -> None:
    content = b"a" + "é".encode() * LONGEST_BODY
    body, note = plain_body(content, len(content))
    assert note == "its text is cut after 1 MiB of 2.0 MiB"
    assert body.startswith("aéé")
    assert body.endswith("é\n\n[… its text is cut after 1 MiB of 2.0 MiB …]\n")
    assert "\ufffd" not in body


@pytest.mark.parametrize(
    ("text", "title", "body"),
    [
        ("# Fix the door\n\nIt squeaks.\n", "Fix the door", "It squeaks.\n"),
        ("\n\n  ## Fix it ##\nNow.", "Fix it", "Now."),
        ("Fix the door\nIt squeaks.\n", "Fix the door", "Fix the door\nIt squeaks.\n"),
        ("#hashtag\nMore", "#hashtag", "#hashtag\nMore"),
        ("Text\n# Later heading", "Text", "Text\n# Later heading"),
        ("", "name", ""),
        ("\n \n", "name", "\n \n"),
        ("#", "#", "#"),
    ],
)
def test_the_first_line_is_the_title_and_a_heading_is_not_repeated(text: str, title: str, body: str) -> None:
    said = MarkdownText(text, "name")
    assert (said.title, said.body) == (title, body)


def test_front_matter_can_set_title_labels_and_priority() -> None:
    said = MarkdownText(
        "---\ntitle: 'A: b'\nLabels: [bug, ui ]\npriority: high\n---\n\n# Heading\ntext", "name"
    )
    assert (said.title, said.labels, said.priority) == ("A: b", ("bug", "ui"), "high")
    assert said.body == "# Heading\ntext"


def test_the_priority_may_be_one_of_the_labels() -> None:
    assert MarkdownText("---\nlabels: bug, p1\n---\n", "name").priority == "p1"


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: a\ncreated: today\n---\ntext",
        "---\ntitle: a\nnever ended",
        "---\n" + "title: a\n" * 30 + "---\ntext",
        "text\n---\ntitle: a\n---\n",
    ],
)
def test_front_matter_that_says_other_things_is_left_in_the_text(text: str) -> None:
    said = MarkdownText(text, "name")
    assert (said.body, said.labels) == (text, ())


def test_a_comment_shows_how_a_run_ended_without_mentioning_anybody() -> None:
    run = Run(
        id="run-1",
        job_id="1",
        trigger=Trigger.SCHEDULE,
        source=Source.EVERY,
        outcome=Outcome.FAILURE,
        started_at=0,
        finished_at=65_000,
        error="exit code 3",
    )
    output = b"begun\ncannot `open` @somebody's file\n::progress 0.5\n\n"
    assert result_comment(run, output) == (
        "Halo: failure after 1 min 5 s: exit code 3\n\n`cannot 'open' @somebody's file`\n\nRun `run-1`"
    )
    done = replace(run, outcome=Outcome.SUCCESS, error="", finished_at=None)
    assert result_comment(done, b"") == "Halo: success\n\nRun `run-1`"
    assert result_comment(None, b"x") == ""
