"""What assistants did, as the journal, `halo assistants` and `halo why` tell it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from assistant import Assistant
from click.testing import CliRunner

from halo_scheduler import Command, Cron, Every, Manual, Outcome, SchedulerError
from halo_scheduler.cli import halo
from halo_scheduler.clock import ManualClock
from halo_scheduler.model import Follower
from halo_scheduler.model.changes import Actor
from halo_scheduler.model.settings import AssistantAccess
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.store.events import EventKind
from halo_scheduler.wording.measures import moment_in_words

_NOW = 1_800_000_000_000
_HOUR = 3_600_000
_TRUE = Command(argv=("true",))


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(_NOW)


@pytest.fixture
def scheduler(tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scheduler]:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with Scheduler.open(tmp_path / "halo.db", clock=clock) as opened:
        opened.settings.change(assistants=AssistantAccess.EDIT)
        yield opened


def _halo(*arguments: str) -> str:
    done = CliRunner().invoke(halo, arguments)
    assert done.exit_code == 0, done.output
    return done.output


def _told(scheduler: Scheduler, **which: Any) -> list[tuple[str, str, str]]:
    acts = scheduler.jobs.assistant_acts(**which)
    return [(act.assistant, act.job_name, act.words(_NOW)) for act in acts]


def _do_everything(scheduler: Scheduler) -> str:
    """Let an assistant do once all that it can do, and return the job."""
    job_id = scheduler.add_job("backup", Every("1h"), _TRUE)
    with scheduler.acting_as(Actor.assistant("claude-code")):
        scheduler.pause_job(job_id)
        scheduler.pause_job(job_id, _NOW + _HOUR)
        scheduler.resume_job(job_id)
        scheduler.propose_interval(job_id, "5m", "1h", "busy")
        scheduler.propose_next_run(job_id, _NOW + 60_000, "1h", "soon")
        scheduler.clear_hints(job_id)
        run_id = Assistant(scheduler).trigger(job_id)
    scheduler.cancel_run(run_id)
    with scheduler.acting_as(Actor.assistant("other")):
        scheduler.update_job(job_id, schedule=Every("2h"), description="x", followers=())
        scheduler.add_job("made", Manual())
    return job_id


def test_everything_an_assistant_does_is_reported_with_its_name(scheduler: Scheduler) -> None:
    _do_everything(scheduler)
    assert _told(scheduler) == [
        ("other", "made", "created it"),
        ("other", "backup", "changed its schedule and description"),
        ("claude-code", "backup", "ran it"),
        ("claude-code", "backup", "removed all hints"),
        ("claude-code", "backup", f"suggested to run it at {moment_in_words(_NOW + 60_000, _NOW)}"),
        ("claude-code", "backup", "suggested to run it every 5 min"),
        ("claude-code", "backup", "resumed it"),
        ("claude-code", "backup", f"paused it until {moment_in_words(_NOW + _HOUR, _NOW)}"),
        ("claude-code", "backup", "paused it"),
    ]


def test_actions_of_a_person_are_not_listed(scheduler: Scheduler) -> None:
    job_id = _do_everything(scheduler)
    before = _told(scheduler)
    scheduler.resume_job(job_id)
    scheduler.pause_job(job_id)
    scheduler.update_job(job_id, description="mine")
    scheduler.resume_job(job_id)
    scheduler.trigger(job_id)
    assert _told(scheduler) == before


def test_actions_are_listed_per_job_and_limited(scheduler: Scheduler) -> None:
    job_id = _do_everything(scheduler)
    assert _told(scheduler, job_id=job_id)[0][1:] == ("backup", "changed its schedule and description")
    assert [act.kind for act in scheduler.jobs.assistant_acts(2)] == [
        EventKind.JOB_ADDED,
        EventKind.JOB_EDITED,
    ]


def test_a_refused_action_is_not_recorded(scheduler: Scheduler) -> None:
    job_id = scheduler.add_job("backup", Every("1h"), _TRUE, enabled=False)
    with (
        scheduler.acting_as(Actor.assistant("claude-code")),
        pytest.raises(SchedulerError, match="a person disabled"),
    ):
        scheduler.resume_job(job_id)
    assert scheduler.jobs.assistant_acts() == []


def test_a_job_that_is_gone_leaves_its_acts(scheduler: Scheduler) -> None:
    job_id = _do_everything(scheduler)
    scheduler._store.database.rows("DELETE FROM scheduler_jobs WHERE id = ?", [job_id])
    assert ("claude-code", "a deleted job", "ran it") in _told(scheduler)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("claude-code", "claude-code"),
        ("", "assistant"),
        (" \n\t", "assistant"),
        ("\x1b[2Ka\rb\u202ec\u200bd\U000e0041e", "[2Ka b c d e"),
        ("x" * 1_000, f"{'x' * 59}…"),
        ("Ассистент 2", "Ассистент 2"),
    ],
)
def test_a_name_is_one_short_line_that_hides_nothing(scheduler: Scheduler, given: str, name: str) -> None:
    assert Actor.assistant(given).name == name
    job_id = scheduler.add_job("backup", Every("1h"), _TRUE)
    with scheduler.acting_as(Actor.assistant(given)):
        scheduler.pause_job(job_id)
    assert _told(scheduler) == [(name, "backup", "paused it")]


def test_an_assistant_without_a_name_is_recorded_as_an_assistant(scheduler: Scheduler) -> None:
    Assistant(scheduler).pause_job(scheduler.add_job("backup", Every("1h"), _TRUE))
    assert _told(scheduler) == [("assistant", "backup", "paused it")]


# --- In the terminal ----------------------------------------------------------------------------------------------


def test_the_terminal_lists_them(scheduler: Scheduler) -> None:
    assert _halo("assistants") == "no actions of assistants yet\n"
    _do_everything(scheduler)
    lines = _halo("assistants").splitlines()
    assert lines[0].split() == ["WHEN", "ASSISTANT", "JOB", "ACTION"]
    assert lines[1].endswith("created it")
    assert lines[2].endswith("changed its schedule and description")
    assert len(lines) == 10
    assert len(_halo("assistants", "made", "--limit", "5").splitlines()) == 2


def test_the_terminal_lists_them_for_programs(scheduler: Scheduler) -> None:
    job_id = _do_everything(scheduler)
    found = json.loads(_halo("assistants", "backup", "--json"))
    assert (found[0]["kind"], found[0]["changed"]) == ("job-edited", ["schedule", "description"])
    assert (found[1]["kind"], found[1]["assistant"], found[1]["job"]) == (
        "run-requested",
        "claude-code",
        "backup",
    )
    assert (found[1]["job_id"], found[1]["at"], bool(found[1]["run_id"])) == (job_id, _NOW, True)


# --- Where it is asked why ----------------------------------------------------------------------------------------


def test_why_names_the_assistant_that_left_a_job_for_review(scheduler: Scheduler) -> None:
    job_id = scheduler.add_job("backup", Every("1h"), _TRUE)
    follower = Follower(job_id=scheduler.add_job("next", Manual()))
    at = moment_in_words(_NOW, _NOW)
    with scheduler.acting_as(Actor.assistant("claude-code")):
        scheduler.pause_job(job_id)
        assert f"The assistant “claude-code” paused it at {at}." in scheduler.jobs.why(job_id).sentences
        scheduler.resume_job(job_id)
        assert not any("claude" in said for said in scheduler.jobs.why(job_id).sentences)
        scheduler.update_job(job_id, followers=(follower,))
    assert (
        f"The assistant “claude-code” changed its followers at {at}." in scheduler.jobs.why(job_id).sentences
    )
    scheduler.resume_job(job_id)
    scheduler.pause_job(job_id)
    assert not any("claude" in said for said in scheduler.jobs.why(job_id).sentences)


def test_why_names_the_assistant_that_changed_a_schedule(scheduler: Scheduler, clock: ManualClock) -> None:
    job_id = scheduler.add_job("backup", Cron("0 * * * *", timezone="UTC"), _TRUE)
    due_at = scheduler._store.jobs.require(job_id).next_run_at or 0
    clock.set(due_at + 1_000)
    with scheduler.acting_as(Actor.assistant("claude-code")):
        scheduler.update_job(job_id, schedule=Cron("30 3 * * *", timezone="UTC"))
    clock.set(due_at + 2 * _HOUR)
    said = " ".join(scheduler.jobs.why(job_id, due_at).sentences)
    assert "by the assistant “claude-code”" in said
    paused = " ".join(scheduler.jobs.why(job_id, due_at + _HOUR // 2, span_ms=60_000).sentences)
    assert "because the assistant “claude-code” had created or changed it" in paused


def test_why_names_the_assistant_that_paused_a_job(scheduler: Scheduler, clock: ManualClock) -> None:
    job_id = scheduler.add_job("backup", Cron("0 * * * *", timezone="UTC"), _TRUE)
    due_at = scheduler._store.jobs.require(job_id).next_run_at or 0
    with scheduler.acting_as(Actor.assistant("claude-code")):
        scheduler.pause_job(job_id)
        clock.set(due_at + _HOUR // 2)
        scheduler.resume_job(job_id)
    (said,) = scheduler.jobs.why(job_id, due_at).sentences
    assert said.endswith(", by the assistant “claude-code”.")


def test_a_run_says_which_assistant_asked_for_it(scheduler: Scheduler) -> None:
    scheduler.on_job_due(lambda *_due: None)
    scheduler.tick()
    job_id = scheduler.add_job("backup", Manual())
    with scheduler.acting_as(Actor.assistant("claude-code")):
        by_assistant = Assistant(scheduler).trigger(job_id)
    scheduler.tick()
    by_hand = scheduler.trigger(job_id)
    scheduler.tick()
    runs = {run.id: run for run in scheduler.get_run_log(job_id)}
    assert runs[by_assistant].outcome is Outcome.SUCCESS
    assert runs[by_assistant].note == "requested by the assistant “claude-code”"
    assert runs[by_hand].note == ""
