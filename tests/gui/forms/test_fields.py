"""What is wrong with a form, and the sentences for it."""

from __future__ import annotations

import pytest

from halo_scheduler import Every, ScheduleError
from ui.forms.fields import Findings, Problem, as_sentence, is_under


def test_an_error_is_recorded_under_its_path_and_reading_continues() -> None:
    findings = Findings()
    assert findings.take("schedule", lambda: Every("5x")) is None
    assert findings.take("schedule", lambda: Every("5m")) == Every("5m")
    (problem,) = findings.problems
    assert (problem.path, problem.is_missing) == ("schedule.every", False)
    assert "the unit is unknown" in problem.message


def test_an_error_with_its_own_path_keeps_it() -> None:
    def refuse() -> None:
        raise ScheduleError("is empty", path="name")

    findings = Findings()
    findings.take("", refuse)
    findings.miss("action.argv", "Enter a command.")
    findings.refuse("group", "is too long")
    assert findings.problems == [
        Problem("name", "is empty"),
        Problem("action.argv", "Enter a command.", is_missing=True),
        Problem("group", "is too long"),
    ]


def test_other_errors_are_bugs_and_pass_through() -> None:
    with pytest.raises(ZeroDivisionError):
        Findings().take("x", lambda: 1 // 0)


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ("is empty", "The name is empty."),
        ("must be between 0 and 10, not 11", "The name must be between 0 and 10, not 11."),
        ("contains half of a character", "The name contains half of a character."),
        ("cannot read it", "Cannot read it."),
        ("Say when.", "Say when."),
        ("", "."),
    ],
)
def test_a_message_becomes_a_sentence(message: str, sentence: str) -> None:
    assert as_sentence("The name", message) == sentence


@pytest.mark.parametrize(
    ("path", "field", "expected"),
    [
        ("action.argv", "action.argv", True),
        ("action.argv[0]", "action.argv", True),
        ("action.environment.PATH", "action.environment", True),
        ("action.arguments", "action.argv", False),
        ("names", "name", False),
        ("action", "action.argv", False),
    ],
)
def test_an_error_belongs_to_the_field_with_the_longest_matching_path(
    path: str, field: str, expected: bool
) -> None:
    assert is_under(path, field) is expected
