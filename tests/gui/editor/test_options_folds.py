"""Daily limits and the lines of the output, in the editor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from editor_desk import FULL, Bench, Desk, opened_bench
from PySide6.QtWidgets import QCheckBox, QLabel, QSpinBox, QWidget
from pytestqt.qtbot import QtBot

from halo_scheduler import After, Command, Every, HttpRequest, Policy, Prompt
from halo_scheduler.model import Caps, JobSpec
from ui.editor.draft import PageNumber

_PROMPT = replace(FULL, action=Prompt(text="sum up"), policy=Policy())


@pytest.fixture
def bench(tmp_path: Path, qtbot: QtBot) -> Iterator[Bench]:
    with opened_bench(tmp_path, qtbot) as found:
        yield found


def _is_reading(desk: Desk) -> bool:
    return desk.find(QCheckBox, "readsLines").isChecked()


def test_daily_limits_are_set_and_summarised(bench: Bench) -> None:
    desk = bench.open(_PROMPT)
    assert desk.summary("capsFold") == "none"
    desk.press("hasRunsCap")
    desk.find(QSpinBox, "runsCap").setValue(3)
    desk.press("hasCostCap")
    desk.write("costCap", "2,5")
    assert desk.summary("capsFold") == "at most 3 runs and a cost of 2.50 a day"
    assert "at most 3 runs and a cost of 2.50 a day · " in desk.pages.summary(PageNumber.OPTIONS)
    assert desk.save().policy.caps == Caps(runs_per_day=3, cost_per_day=2.5)
    desk.press("hasRunsCap")
    assert desk.save().policy.caps == Caps(cost_per_day=2.5)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("lots", "'lots' is not an amount; enter it like 2.50."),
        (" ", "Enter an amount, like 2.50."),
        ("NaN", "'NaN' is not an amount; enter it like 2.50."),
        ("1,000", "'1,000' is not an amount; enter it like 2.50."),
        ("0", "The cost must be above 0 and at most 1000000, not 0.0."),
        ("1000001", "The cost must be above 0 and at most 1000000, not 1000001.0."),
    ],
)
def test_an_amount_that_is_none_is_refused_beside_the_field(bench: Bench, text: str, sentence: str) -> None:
    desk = bench.open(replace(_PROMPT, policy=Policy(caps=Caps(cost_per_day=1))))
    desk.write("costCap", text)
    assert (desk.error("costCapRow"), desk.can_save) == (sentence, False)
    assert desk.summary("capsFold") == "invalid"
    assert [desk.pages.summary(page) for page in (PageNumber.FAILURE, PageNumber.OPTIONS)] == [
        "stops after 2 h · no retries",
        "needs attention",
    ]


def test_an_unchecked_amount_is_not_validated(bench: Bench) -> None:
    desk = bench.open(replace(_PROMPT, policy=Policy(caps=Caps(cost_per_day=1))))
    desk.write("costCap", "lots")
    desk.press("hasCostCap")
    assert desk.save().policy.caps == Caps()


def test_a_fault_leads_out_of_the_fold(bench: Bench) -> None:
    desk = bench.open(replace(_PROMPT, policy=Policy(caps=Caps(cost_per_day=1))))
    desk.write("costCap", "x")
    desk.press("saveReason")
    assert (desk.pages.currentRow(), desk.focus) == (PageNumber.OPTIONS, "costCap")


def test_todays_usage_of_a_stored_job_is_shown(bench: Bench) -> None:
    policy = Policy(caps=Caps(runs_per_day=3))
    job_id = bench.scheduler.add_job("ask", Every("1h"), Prompt(text="x"), policy=policy)
    job = bench.scheduler.get_job(job_id)
    assert job is not None
    desk = bench.open(job.spec, job_id=job_id)
    assert desk.label("usageToday") == "Today so far: 0 runs."
    assert desk.summary("capsFold") == "at most 3 runs a day · today 0 runs"


@pytest.mark.parametrize("schedule", [Every("1h"), After("1h")])
def test_a_daily_limit_that_may_be_reached_is_shown_beside_the_schedule(
    bench: Bench, schedule: Every | After
) -> None:
    policy = Policy(caps=Caps(runs_per_day=3), time_limit="1m")
    desk = bench.open(replace(_PROMPT, schedule=schedule, policy=policy))
    note = "After 3 runs in a day, further ones are skipped until midnight."
    assert desk.label("noteText0") == note


def test_a_new_job_used_up_nothing(bench: Bench) -> None:
    desk = bench.open(_PROMPT, is_new=True)
    assert desk.label("usageToday") == ""


def test_a_daily_cost_limit_without_output_commands_shows_a_warning(bench: Bench) -> None:
    desk = bench.open(replace(_PROMPT, policy=Policy(caps=Caps(cost_per_day=1))))
    assert desk.label("costUnread") == ""
    desk.press("readsLines")
    assert "aren't known" in desk.label("costUnread")
    desk.press("readsLines")
    desk.press("actionKind_command")
    assert "aren't known" in desk.label("costUnread")


def test_the_lines_of_prompts_are_read_and_those_of_others_are_not(bench: Bench) -> None:
    desk = bench.open()
    assert not _is_reading(desk)
    desk.press("actionKind_prompt")
    assert _is_reading(desk)
    assert desk.summary("linesFold") == "on"
    desk.press("actionKind_http")
    assert not _is_reading(desk)


@pytest.mark.parametrize(
    ("action", "reads_lines", "shown"),
    [
        (Prompt(), None, True),
        (Prompt(), False, False),
        (Prompt(), True, True),
        (Command(argv=("true",)), None, False),
        (Command(argv=("true",)), True, True),
        (HttpRequest(url="http://a"), False, False),
    ],
)
def test_switching_back_and_forth_restores_the_stored_choice(
    bench: Bench, action: Prompt | Command | HttpRequest, reads_lines: bool | None, shown: bool
) -> None:
    spec = JobSpec(
        name="a", schedule=Every("1h"), action=action, policy=Policy(reads_lines=reads_lines), anchor_at=5
    )
    desk = bench.open(spec)
    assert _is_reading(desk) is shown
    desk.press("readsLines")
    assert desk.save().policy.reads_lines is not shown
    assert desk.saved[-1].reads_lines is not shown
    desk.press("readsLines")
    assert not desk.editor.has_unsaved_changes()


def test_a_choice_survives_a_change_of_the_kind(bench: Bench) -> None:
    desk = bench.open(_PROMPT)
    desk.press("readsLines")
    desk.press("actionKind_http")
    desk.press("actionKind_prompt")
    assert not _is_reading(desk)


def _explained(desk: Desk) -> list[str]:
    texts = [found.text() for found in desk.editor.findChildren(QLabel) if not found.isHidden()]
    return [text.split()[0] for text in texts if text.startswith(("::", '{"halo"'))]


def test_output_commands_are_explained_once_the_section_is_opened(bench: Bench) -> None:
    desk = bench.open(_PROMPT)
    assert _explained(desk) == []
    for _ in range(3):
        desk.press("linesFold")
    assert _explained(desk) == ["::cost", "::needs-input", "::progress", "::halo", "::halo"]


def test_for_a_request_the_object_in_its_response_is_explained(bench: Bench) -> None:
    desk = bench.open(replace(FULL, action=HttpRequest(url="http://a")))
    desk.press("linesFold")
    assert _explained(desk)[-1] == '{"halo":'
    assert "From the response" in desk.label("readsLinesHint")
    desk.press("actionKind_command")
    assert desk.find(QWidget, "haloAnswer").isHidden()
    assert "two colons" in desk.label("readsLinesHint")
