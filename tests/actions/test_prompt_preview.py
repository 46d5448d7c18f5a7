"""Prompts as they are previewed, and the agents they are for."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from cases import utc_ms
from machine import Bench

from halo_scheduler import Command, Every, Manual, Prompt, ScheduleError
from halo_scheduler.grammar.templates import VARIABLES
from halo_scheduler.model import JobSpec, Schedule
from halo_scheduler.model.actions import FolderSource
from halo_scheduler.model.settings import Agent
from halo_scheduler.store.outputs import StoredOutput

pytestmark = pytest.mark.usefixtures("machine_in_berlin")

_NOW = utc_ms("2026-12-24T18:00+01:00")
_SOURCE = FolderSource(path="/somewhere")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    found = Bench(tmp_path / "halo.db", now_ms=_NOW)
    yield found
    found.close()


def _spec(prompt: Prompt, schedule: Schedule | None = None) -> JobSpec:
    return JobSpec(name="Nightly <b>job</b>", schedule=schedule or Every("1h"), action=prompt)


def test_a_preview_is_the_prompt_that_an_agent_would_read_now(bench: Bench) -> None:
    prompt = Prompt(text="{{date}} {{time}} {{job.name}} {{slot}} {{last.outcome}}[{{last.output}}]")
    assert bench.scheduler.jobs.preview_prompt(_spec(prompt)) == (
        "2026-12-24 18:00 Nightly <b>job</b> 2026-12-24T18:00:00+01:00 none[]"
    )
    by_hand = bench.scheduler.jobs.preview_prompt(_spec(Prompt(text="[{{slot}}]"), Manual()))
    assert by_hand == "[]"


def test_a_preview_knows_how_the_job_went_last(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Manual())
    bench.tick()
    bench.scheduler.trigger(job_id)
    (run,) = bench.tick()
    bench.finish(run)
    text = b"\x1b[31mall\x1b[0m is {{date}} well\n"
    bench.scheduler._store.outputs.insert(
        [StoredOutput(run_id=run.id, content=zlib.compress(text), total_bytes=len(text))]
    )
    prompt = Prompt(text="{{last.outcome}}: {{ last.output }}")
    preview = bench.scheduler.jobs.preview_prompt(_spec(prompt), job_id)
    assert preview == "success: all is {{date}} well\n"


def test_unknown_values_are_shown_as_words_in_brackets(bench: Bench) -> None:
    prompt = Prompt(text="{{work.title}} {{issue.number}} {{question}} {{answer}}", work_source=_SOURCE)
    assert bench.scheduler.jobs.preview_prompt(_spec(prompt)) == (
        "(the item's title) (its number or file name) (what the agent asked) (what you answered)"
    )


def test_the_cause_of_a_chain_run_is_shown_as_words_in_brackets(bench: Bench) -> None:
    prompt = Prompt(text="{{chain.job}} {{chain.run}} {{ chain.outcome }} {{chain.output}}")
    assert bench.scheduler.jobs.preview_prompt(_spec(prompt)) == (
        "(the job before this one) (the id of its run) (how it ended) (what it printed)"
    )


def test_every_variable_can_be_previewed(bench: Bench) -> None:
    for name in VARIABLES:
        prompt = Prompt(text=f"[{{{{{name}}}}}]", work_source=_SOURCE)
        assert "{{" not in bench.scheduler.jobs.preview_prompt(_spec(prompt))


def test_without_a_source_and_a_question_nothing_is_added(bench: Bench) -> None:
    assert bench.scheduler.jobs.preview_prompt(_spec(Prompt(text="just this"))) == "just this"
    assert bench.scheduler.jobs.preview_prompt(_spec(Prompt(text=" \n"))) == "Execute scheduled task."


def test_a_prompt_for_an_agent_that_is_not_known_can_be_previewed(bench: Bench) -> None:
    assert bench.scheduler.jobs.preview_prompt(_spec(Prompt(text="x", agent="nobody"))) == "x"


def test_only_a_prompt_has_a_preview(bench: Bench) -> None:
    spec = JobSpec(name="job", schedule=Manual(), action=Command(argv=("true",)))
    with pytest.raises(ScheduleError, match="action: only a prompt can be previewed"):
        bench.scheduler.jobs.preview_prompt(spec)


# --- Agents -------------------------------------------------------------------------------------------


def test_a_prompt_for_an_agent_that_is_not_known_is_not_added(bench: Bench) -> None:
    with pytest.raises(ScheduleError) as caught:
        bench.scheduler.add_job("job", Manual(), Prompt(agent="cloude"))
    assert str(caught.value).startswith(
        "action.agent: there is no agent named 'cloude' in the settings; known"
    )
    with pytest.raises(ScheduleError):
        bench.scheduler.add_jobs(
            [
                {"name": "good", "schedule": Manual(), "action": Prompt(agent="claude")},
                {"name": "bad", "schedule": Manual(), "action": Prompt(agent="cloude")},
            ]
        )
    assert bench.scheduler.list_jobs() == []


def test_an_agent_of_the_settings_can_be_used_and_the_default_one_without_a_name(bench: Bench) -> None:
    bench.scheduler.settings.change(agents=(Agent(name="mine", argv=("mine",)),), default_agent="mine")
    for name in ("mine", ""):
        bench.scheduler.add_job(f"for {name!r}", Manual(), Prompt(agent=name))
    bench.scheduler.settings.change(default_agent="gone")
    with pytest.raises(
        ScheduleError, match=r"^action\.agent: the settings name no default agent that exists"
    ):
        bench.scheduler.add_job("another", Manual(), Prompt())


def test_a_job_whose_agent_was_removed_can_be_edited_but_not_given_that_agent(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Manual(), Prompt(agent="codex"))
    bench.scheduler.settings.change(agents=())
    bench.scheduler.update_job(job_id, name="renamed", enabled=False)
    with pytest.raises(ScheduleError, match=r"^action\.agent: there is no agent named 'codex'"):
        bench.scheduler.update_job(job_id, action=Prompt(text="new", agent="codex"))
    job = bench.scheduler.get_job(job_id)
    assert job is not None
    assert job.action == Prompt(agent="codex")
    bench.scheduler.update_job(job_id, action=Command(argv=("true",)))
