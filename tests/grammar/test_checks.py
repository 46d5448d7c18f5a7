"""Checks of single values."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_scheduler import ScheduleError
from halo_scheduler.grammar.checks import (
    MAX_INSTANT,
    frozen_list,
    frozen_mapping,
    parse_instant,
    require_amount,
    require_choice,
    require_instant,
    require_json,
    require_label,
    require_line,
    require_text,
    require_token,
    require_url,
    require_whole,
)
from halo_scheduler.model import CatchUp


@pytest.mark.parametrize(
    ("check", "value", "sentence"),
    [
        (require_text, 5, "must be text, not 5"),
        (require_text, "a\0b", "must not contain a NUL character"),
        (require_text, "\ud800", "half of a character"),
        (require_text, "x" * 1_000_001, "is longer than 1000000 characters"),
        (require_line, "a\nb", "must be a single line"),
        (require_line, "a\u2028b", "must be a single line"),
        (require_line, "a\x1b[31mb", "must be a single line"),
        (require_label, "  ", "is empty"),
        (require_label, "x" * 201, "is longer than 200 characters"),
        (require_token, "two words", "'two words' is not one plain word"),
        (require_token, "", "'' is not one plain word"),
        (require_url, "ftp://example.org", "must begin with http:// or https://"),
        (require_url, "http://", "must begin with http:// or https://"),
        (require_url, "http://example.org:99999/", "names a port that does not exist"),
        (require_url, "http://[::1", "must begin with http:// or https://"),
        (require_url, "http://a b/", "must begin with http:// or https://"),
        (require_url, "http://a:0/", "names a port that does not exist"),
        (require_url, "https://user:password@example.org/", "must not carry a user name or password"),
        (require_url, "https://user@example.org/", "must not carry a user name or password"),
        (require_json, "", "is not JSON: "),
        (require_json, "{'a': 1}", "is not JSON: "),
        (require_json, '{"a": 1} more', "is not JSON: "),
        (require_json, '{"a": NaN}', "is not JSON: NaN is a number in Python only"),
        (require_json, "-Infinity", "is not JSON: "),
        pytest.param(require_json, "[" * 100_000, "is not JSON: ", id="deep"),
        (require_instant, -1, f"must be between 0 and {MAX_INSTANT}"),
        pytest.param(require_instant, 10**5_000, "not a value that is too long", id="endless"),
        (require_instant, True, "must be a whole number, not True"),
        (require_instant, 1.5, "must be a whole number, not 1.5"),
        (require_amount, "5", "must be a number, not '5'"),
        (require_amount, True, "must be a number, not True"),
        (require_amount, None, "must be a number, not None"),
        (require_amount, 0, "must be above 0 and at most 1000000, not 0"),
        (require_amount, -0.01, "must be above 0"),
        (require_amount, 1_000_000.01, "must be above 0 and at most 1000000"),
        (require_amount, float("nan"), "must be above 0 and at most 1000000, not nan"),
        (require_amount, float("inf"), "must be above 0 and at most 1000000, not inf"),
        pytest.param(require_amount, 10**5_000, "must be above 0", id="endless amount"),
        (frozen_list, "text", "must be a list"),
        (frozen_list, 5, "must be a list"),
        (frozen_mapping, [], "must be an object"),
        (frozen_mapping, {"a": 5}, "must be text, not 5"),
        (frozen_mapping, {5: "a"}, "must be text, not 5"),
    ],
)
def test_a_refusal_names_the_field(
    check: Callable[[str, object], object], value: object, sentence: str
) -> None:
    with pytest.raises(ScheduleError) as caught:
        check("field", value)
    assert caught.value.path.startswith("field")
    assert sentence in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("check", "value"),
    [
        (require_text, "line\nline\ttab 🙂"),
        (require_label, "Sicherung <b>täglich</b>"),
        (require_token, "X-Api-Key"),
        (require_url, "https://example.org:8443/a?b=c#d"),
        (require_url, "http://[::1]:8080/"),
        (require_url, "https://example.org/@user?mail=a@b"),
        (require_amount, 0.000001),
        (require_amount, 1_000_000),
        (require_instant, 0),
        (require_instant, MAX_INSTANT),
    ],
)
def test_valid_values_are_returned(check: Callable[[str, object], object], value: object) -> None:
    assert check("field", value) == value


@pytest.mark.parametrize("host", ["example.org", "example.org:99999", "example.org:x"])
def test_a_password_in_a_url_is_not_repeated(host: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        require_url("url", f"https://user:hunter22@{host}/")
    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize("text", ["{}", "[1, 2.5, null]", '"text"', "0", ' {"a": "${secret:A}"}\n'])
def test_json_is_any_json(text: str) -> None:
    require_json("body", text)


def test_a_number_may_have_only_a_lower_bound() -> None:
    assert require_whole("field", 10**9, 0) == 10**9
    with pytest.raises(ScheduleError, match="field: must be at least 0, not -1"):
        require_whole("field", -1, 0)


def test_a_choice_is_one_of_its_words() -> None:
    assert require_choice(CatchUp, "skip") is CatchUp.SKIP
    with pytest.raises(ScheduleError, match="field: must be one of once, skip, all, not 'twice'"):
        require_choice(CatchUp, "twice", path="field")


def test_a_frozen_mapping_is_a_copy_that_cannot_change() -> None:
    given_mapping = {"a": "1"}
    frozen = frozen_mapping("field", given_mapping)
    given_mapping["a"] = "2"
    assert frozen["a"] == "1"
    with pytest.raises(TypeError):
        frozen["a"] = "3"  # type: ignore[index] # it is read-only


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-12-24T18:00:00+01:00", datetime(2026, 12, 24, 17, tzinfo=UTC)),
        ("2026-12-24 18:00Z", datetime(2026, 12, 24, 18, tzinfo=UTC)),
        ("2026-12-24t18:00:00.5z", datetime(2026, 12, 24, 18, 0, 0, 500_000, tzinfo=UTC)),
    ],
)
def test_an_instant_is_read(text: str, expected: datetime) -> None:
    assert parse_instant("at", text) == int(expected.timestamp() * 1_000)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-12-24",
        "2026-12-24T18:00:00",
        "2026-13-24T18:00:00Z",
        "2026-12-24T25:00:00Z",
        "2026-12-24T18:00:00+99:00",
        "1969-12-31T23:59:59Z",
        "9999-12-31T23:59:59Z",
        "0001-01-01T00:00:00+14:00",
        "٢٠٢٦-12-24T18:00:00Z",
        "20261224T180000Z",
    ],
)
def test_an_unclear_instant_is_refused(text: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse_instant("at", text)
    assert caught.value.path == "at"


@given(st.text())
def test_no_text_makes_the_instant_reader_stumble(text: str) -> None:
    try:
        assert parse_instant("at", text) >= 0
    except ScheduleError as error:
        assert error.path == "at"
