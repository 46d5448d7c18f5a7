"""References to secrets: found, checked and filled in."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_scheduler import ScheduleError
from halo_scheduler.grammar.templates import (
    filled_in,
    referenced_names,
    refuse_references,
    require_references,
    require_secret_name,
)


@pytest.mark.parametrize("name", ["A", "_token", "BACKUP_TOKEN", "my.key-2", "x" * 64])
def test_a_plain_word_names_a_secret(name: str) -> None:
    assert require_secret_name("name", name) == name
    require_references("field", f"before ${{secret:{name}}} after")


@pytest.mark.parametrize("name", ["", "2fast", "a b", "ä", "a/b", "-x", "x" * 65, "a\n", "${secret:A", "A:B"])
def test_invalid_secret_names_are_refused(name: str) -> None:
    with pytest.raises(ScheduleError, match=r"name: .* cannot name a secret; use letters"):
        require_secret_name("name", name)
    with pytest.raises(ScheduleError, match=r"field: .* cannot name a secret"):
        require_references("field", f"fine ${{secret:FINE}} and ${{secret:{name}}}")


def test_a_name_is_text() -> None:
    with pytest.raises(ScheduleError, match="5 cannot name a secret"):
        require_secret_name("name", 5)


def test_an_open_reference_is_refused() -> None:
    with pytest.raises(ScheduleError, match=r"field: the reference .* is not closed with a brace"):
        require_references("field", "Bearer ${secret:TOKEN")


@pytest.mark.parametrize("text", ["", "$secret:A", "{secret:A}", "${SECRET:A}", "${other:A}", "$ {secret:A}"])
def test_text_that_only_resembles_a_reference_is_plain_text(text: str) -> None:
    require_references("field", text)
    refuse_references("field", text, "never said")
    assert referenced_names([text]) == frozenset()
    assert filled_in(text, {}) == text


@pytest.mark.parametrize("text", ["${secret:A}", "x${secret:A", "${secret:}", "${secret:not a name}"])
def test_a_reference_is_refused_where_others_could_read_it(text: str) -> None:
    with pytest.raises(ScheduleError, match="field: secrets cannot be used here; put it elsewhere"):
        refuse_references("field", text, "put it elsewhere")


def test_names_are_found_once_in_all_texts() -> None:
    texts = ["${secret:A} ${secret:B}", "none", "${secret:A}${secret:C}"]
    assert referenced_names(texts) == {"A", "B", "C"}


def test_values_are_filled_in_everywhere() -> None:
    values = {"A": "1", "B": "2"}
    assert filled_in("${secret:A}-${secret:B}-${secret:A}", values) == "1-2-1"


def test_a_value_is_not_searched_for_references() -> None:
    assert filled_in("${secret:A}", {"A": "${secret:B}", "B": "2"}) == "${secret:B}"


def test_a_value_is_not_taken_for_a_pattern() -> None:
    assert filled_in("${secret:A}", {"A": r"\1 \g<0> $"}) == r"\1 \g<0> $"


@given(st.text())
def test_an_escaped_value_survives_json(value: str) -> None:
    body = filled_in('{"key": "${secret:A}"}', {"A": value}, lambda text: json.dumps(text)[1:-1])
    assert json.loads(body) == {"key": value}
