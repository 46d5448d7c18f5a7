"""Parameters of jobs: names, limits, values of a run; and where variables may stand."""

from __future__ import annotations

import pytest

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.templates import filled_request
from halo_scheduler.model import Command, HttpRequest, JobSpec, Manual, Prompt
from halo_scheduler.model.jobs import (
    MOST_INPUT_BYTES,
    MOST_PARAMETERS,
    MOST_VALUE_BYTES,
    given_parameters,
    require_input,
    require_parameters,
    still_declared,
)


@pytest.mark.parametrize("name", ["Mode", "1st", "a-b", "", "é", "a b", "_a", "a" * 51, "a\n"])
def test_a_name_that_no_variable_could_have_is_refused(name: str) -> None:
    with pytest.raises(ScheduleError, match="cannot name a parameter"):
        require_parameters("parameters", {name: "x"})


@pytest.mark.parametrize(
    ("value", "refusal"),
    [
        ("x" * (MOST_VALUE_BYTES + 1), "longer than"),
        ("é" * (MOST_VALUE_BYTES // 2 + 1), "longer than"),
        ("a\0b", "NUL"),
        ("\ud800", "half of a character"),
        ("${secret:TOKEN}", "secrets cannot be used here"),
        (5, "must be text"),
    ],
)
def test_a_value_that_cannot_be_handed_over_is_refused_by_path(value: object, refusal: str) -> None:
    with pytest.raises(ScheduleError, match=refusal) as refused:
        require_parameters("parameters", {"mode": value})
    assert refused.value.path == "parameters.mode"


def test_the_longest_value_and_the_most_parameters_are_taken() -> None:
    values = {f"p{number}": "x" * MOST_VALUE_BYTES for number in range(MOST_PARAMETERS)}
    assert require_parameters("parameters", values) == values
    with pytest.raises(ScheduleError, match="at most 50 parameters"):
        require_parameters("parameters", {**values, "more": ""})


def test_given_values_replace_defaults() -> None:
    declared = {"mode": "full", "target": "nas"}
    given = given_parameters(declared, {"mode": "quick"})
    assert given == {"mode": "quick"}
    assert still_declared(declared, given) == {"mode": "quick", "target": "nas"}
    assert still_declared(declared, given_parameters(declared, None)) == declared


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ScheduleError, match="there is no parameter 'mdoe'; known are mode, target"):
        given_parameters({"mode": "full", "target": "nas"}, {"mdoe": "x"})
    with pytest.raises(ScheduleError, match="this job has none"):
        given_parameters({}, {"mode": "x"})


def test_the_values_of_an_earlier_run_count_as_far_as_they_are_declared() -> None:
    assert still_declared({"a": "1", "b": "2"}, {"a": "old", "gone": "x"}) == {"a": "old", "b": "2"}


def test_an_input_is_text_or_bytes_up_to_a_limit() -> None:
    assert require_input("grün") == "grün".encode()
    assert require_input(b"\xff\0") == b"\xff\0"
    assert require_input("a\0b") == b"a\0b"
    assert require_input(None) == b""
    assert len(require_input("x" * MOST_INPUT_BYTES)) == MOST_INPUT_BYTES
    for bad in ("é" * (MOST_INPUT_BYTES // 2 + 1), b"x" * (MOST_INPUT_BYTES + 1), "\ud800", 5):
        with pytest.raises(ScheduleError) as refused:
            require_input(bad)
        assert refused.value.path == "input"


def _spec(action: Command | HttpRequest | Prompt, **parameters: str) -> JobSpec:
    return JobSpec(name="job", schedule=Manual(), action=action, parameters=parameters)


@pytest.mark.parametrize(
    ("action", "path"),
    [
        (Prompt(text="Do {{param.mode}}"), "action.text"),
        (HttpRequest(url="http://h/?a={{param.mode}}"), "action.url"),
        (HttpRequest(url="http://h/", headers={"X-Mode": "{{ param.mode }}"}), "action.headers.X-Mode"),
        (HttpRequest(url="http://h/", body="{{param.mode}}"), "action.body"),
    ],
)
def test_only_declared_parameters_can_be_used(action: Prompt | HttpRequest, path: str) -> None:
    assert _spec(action, mode="full").parameters == {"mode": "full"}
    with pytest.raises(ScheduleError, match=r"param\.mode.* known are other") as refused:
        _spec(action, other="x")
    assert refused.value.path == path


@pytest.mark.parametrize("url", ["http://{{input}}/", "http://h/{{param.a}}?x=1", "http://h/?x=1#{{input}}"])
def test_a_variable_outside_the_query_of_a_url_is_refused(url: str) -> None:
    with pytest.raises(ScheduleError, match="after the \\?"):
        HttpRequest(url=url)


def test_a_job_without_parameters_is_written_as_version_1() -> None:
    plain, new = _spec(Command(argv=("true",))), _spec(Command(argv=("true",)), mode="full")
    assert plain.to_dict()["version"] == 1
    assert "parameters" not in plain.to_dict()
    assert (new.to_dict()["version"], new.to_dict()["parameters"]) == (2, {"mode": "full"})
    assert JobSpec.from_dict(new.to_dict()) == new


def test_values_in_requests_are_not_expanded_again() -> None:
    values = {"input": "{{param.a}} ${secret:S}", "param.a": "A"}
    text = r"{{input}} {{ param.a }} ${secret:S} \{{input}} {{other}} \{{other}} \{{param.A}} \{{inputs}}"
    filled = filled_request(text, {"S": "{{input}}"}, values)
    assert filled == (
        r"{{param.a}} ${secret:S} A {{input}} {{input}} {{other}} \{{other}} {{param.A}} {{inputs}}"
    )
