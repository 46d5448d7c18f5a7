"""Variables in prompts: which there are, what is refused, and that filled-in text is left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_scheduler import ScheduleError
from halo_scheduler.grammar.templates import NEEDS_WORK, VARIABLES, render, require_prompt, variables_in

_ALIASES = {
    "issue.number": "work.id",
    "issue.title": "work.title",
    "issue.body": "work.body",
    "issue.url": "work.url",
}


@pytest.mark.parametrize("name", VARIABLES)
def test_every_variable_can_be_used_and_is_explained(name: str) -> None:
    require_prompt("text", f"before {{{{{name}}}}} behind", has_work=True)
    assert VARIABLES[name]
    value = _ALIASES.get(name, name)
    assert render(f"before {{{{{name}}}}} behind", {value: "X"}) == "before X behind"


@pytest.mark.parametrize("name", sorted(NEEDS_WORK))
def test_item_variables_need_a_work_queue(name: str) -> None:
    with pytest.raises(ScheduleError, match="needs a work queue, which this job doesn't have"):
        require_prompt("text", f"{{{{{name}}}}}", has_work=False)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{{dat}}", "text: there is no variable '{{dat}}'; did you mean {{date}}?"),
        ("{{ Date }}", "text: there is no variable '{{ Date }}'; did you mean {{date}}?"),
        ("{{}}", "text: there is no variable '{{}}'"),
        ("{{date|upper}}", "text: there is no variable '{{date|upper}}'"),
        ("{{1+1}}", "text: there is no variable '{{1+1}}'"),
        ("{{date", "text: the variable '{{date' is not closed with two braces; write \\{{ for plain braces"),
        ("{{date}", "is not closed with two braces"),
        ("{{{date}}}", "is not closed with two braces"),
    ],
)
def test_a_broken_template_is_refused_with_the_reason(text: str, sentence: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        require_prompt("text", text, has_work=True)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "plain", "{", "}", "{}", "{x}", "}}", "\\{{no variable}}", "{ {date} }"]
)
def test_text_without_double_braces_is_plain_text(text: str) -> None:
    require_prompt("text", text, has_work=False)
    assert variables_in(text) == frozenset()
    assert render(text, {"date": "X"}) == text.replace("\\{{", "{{")


def test_blanks_around_a_name_do_not_matter() -> None:
    text = "{{ date }} {{\tjob.name }}"
    require_prompt("text", text, has_work=False)
    assert render(text, {"date": "D", "job.name": "J"}) == "D J"
    assert variables_in(text) == {"date", "job.name"}


def test_another_name_counts_as_the_same_variable() -> None:
    assert variables_in("{{issue.number}} {{work.id}} {{answer}}") == {"work.id", "answer"}


def test_one_without_a_value_is_empty() -> None:
    assert render("[{{answer}}]", {}) == "[]"


@pytest.mark.parametrize("value", ["{{date}}", "\\{{x}}", "${secret:TOKEN}", "\\1 \\g<0>", "{{" * 1_000])
def test_filled_in_text_is_not_expanded_again(value: str) -> None:
    text = "{{answer}} {{question}}"
    assert render(text, {"answer": value, "question": value, "date": "D"}) == f"{value} {value}"


@given(st.text(alphabet="{}\\ dateanswr.", max_size=60), st.text(max_size=20))
def test_a_text_that_is_accepted_is_rendered_to_the_last_brace(text: str, value: str) -> None:
    try:
        require_prompt("text", text, has_work=True)
    except ScheduleError:
        return
    values = dict.fromkeys(VARIABLES, value)
    rendered = render(text, values)
    used = len(rendered) - len(render(text, {}))
    assert used % max(len(value), 1) == 0
    if not variables_in(text):
        assert rendered == text.replace("\\{{", "{{")
