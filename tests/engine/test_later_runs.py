"""Manual runs for a time: kept until then over restarts, shown, and taken back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from assistant import Assistant
from machine import START, Bench

from halo_scheduler import (
    Cron,
    Every,
    JobNotFoundError,
    Manual,
    Outcome,
    ScheduleError,
    SchedulerError,
    ScheduleTriggerError,
    Trigger,
)
from halo_scheduler.model import SkipReason
from halo_scheduler.model.settings import AssistantAccess
from halo_scheduler.rules import run_requests
from halo_scheduler.wording.status import next_sentence, next_words, status_sentence

_MINUTE = 60_000
_HOUR = 60 * _MINUTE


@pytest.fixture
def bench(tmp_path: Path, dead_processes: None) -> Iterator[Bench]:  # noqa: ARG001 - they die before it opens
    found = Bench(tmp_path / "halo.db")
    yield found
    found.close()


def _words(bench: Bench, job_id: str) -> str:
    return next_words(bench.scheduler.jobs.situation(job_id), bench.clock.now_ms())


def test_a_run_starts_at_its_time_and_not_before(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Manual(), parameters={"mode": "full"})
    run_id = bench.scheduler.trigger(job_id, at=START + _HOUR, parameters={"mode": "quick"}, input="notes")

    assert bench.tick(_HOUR - 1) == []
    assert bench.scheduler.engine.get_engine().delay_ms() == 1
    (run,) = bench.tick(1)

    assert (run.id, run.trigger, run.late_ms) == (run_id, Trigger.MANUAL, 0)
    assert run.parameters == {"mode": "quick"}
    assert bench.scheduler.runs.input(run_id) == b"notes"
    assert bench.tick(1) == []


def test_it_survives_restarts_and_runs_late_after_a_downtime(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Manual())
    run_id = bench.scheduler.trigger(job_id, at=START + _HOUR)
    bench.tick()

    bench.crash()
    (run,) = bench.tick(2 * _HOUR)
    bench.crash()
    bench.tick(_HOUR)

    assert (run.id, run.late_ms) == (run_id, _HOUR)
    assert [run.id for run in bench.scheduler.get_run_log(job_id)] == [run_id]


def test_it_waits_for_the_run_under_way(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    bench.scheduler.trigger(job_id, at=START + _HOUR + _MINUTE)
    (scheduled,) = bench.tick(_HOUR)
    assert bench.tick(_MINUTE) == []
    assert bench.scheduler.engine.get_engine().delay_ms() > 1_000

    bench.end(scheduled)

    assert bench.started[-1].trigger is Trigger.MANUAL


def test_it_waits_for_a_place_and_says_so(bench: Bench) -> None:
    bench.scheduler.set_group_limit("group", 1)
    other = bench.scheduler.add_job("other", Manual(), group="group")
    job_id = bench.scheduler.add_job("job", Manual(), group="group")
    bench.scheduler.trigger(other)
    bench.scheduler.trigger(job_id, at=START + _MINUTE)
    (first,) = bench.tick()
    assert bench.tick(_MINUTE) == []
    assert _words(bench, job_id) == "waiting: limit of group reached (1 of 1: other)"
    assert bench.scheduler.runs.waiting_of(job_id) is not None
    assert not bench.scheduler.engine.get_engine().is_overlooking()

    run_id = bench.scheduler.trigger(job_id, now=True)

    (run,) = bench.tick()
    assert run.id == run_id
    bench.end(first)


def test_it_is_shown_wherever_the_next_run_is(bench: Bench) -> None:
    manual = bench.scheduler.add_job("manual", Manual())
    hourly = bench.scheduler.add_job("hourly", Cron("0 * * * *", timezone="UTC"))
    for job_id in (manual, hourly):
        bench.scheduler.trigger(job_id, at=START + 30 * _MINUTE)
    situation = bench.scheduler.jobs.situation(manual)

    assert _words(bench, manual) == _words(bench, hourly) == "in 30 min · manual run"
    assert status_sentence(situation, START) == "ready, next run in 30 min · manual run"
    assert next_sentence(situation, START).endswith(" · manual run.")
    assert situation.starts_at == bench.scheduler.status().next_due_at == START + 30 * _MINUTE
    assert any("A manual run is planned for" in one for one in bench.scheduler.jobs.explain(manual).sentences)
    bench.scheduler.pause_job(hourly)
    assert _words(bench, hourly) == "paused, manual run in 30 min"


def test_many_planned_runs_are_described_in_one_sentence(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Manual())
    for hour in range(1, 6):
        bench.scheduler.trigger(job_id, at=START + hour * _HOUR)
    (sentence,) = [one for one in bench.scheduler.jobs.explain(job_id).sentences if "planned for" in one]
    assert sentence.endswith(" and 2 more times.")
    assert [run.at for run in bench.scheduler.runs.later(job_id)] == [
        START + hour * _HOUR for hour in range(1, 6)
    ]


def test_it_can_be_cancelled(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Manual())
    run_id = bench.scheduler.trigger(job_id, at=START + _HOUR)

    bench.scheduler.cancel_run(run_id)

    assert bench.tick(_HOUR) == []
    assert bench.scheduler.runs.later() == []
    with pytest.raises(JobNotFoundError):
        bench.scheduler.cancel_run(run_id)


def test_a_removed_job_does_not_run(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Manual())
    bench.scheduler.trigger(job_id, at=START + _HOUR)
    bench.scheduler.remove_job(job_id)
    assert bench.tick(_HOUR) == []


def test_a_time_in_the_past_is_refused(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Manual())
    with pytest.raises(ScheduleError, match="at: this time is in the past; enter a future time"):
        bench.scheduler.trigger(job_id, at=START)


def test_too_many_are_refused(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_requests, "MOST_LATER", 1)
    job_id = bench.scheduler.add_job("job", Manual())
    bench.scheduler.trigger(job_id, at=START + _HOUR)
    with pytest.raises(ScheduleTriggerError, match="already has 1 planned manual runs; cancel some first"):
        bench.scheduler.trigger(job_id, at=START + 2 * _HOUR)


def test_an_assistant_gives_hints_instead(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    with pytest.raises(SchedulerError, match="assistants cannot plan runs"):
        Assistant(bench.scheduler).trigger(job_id, at=START + _HOUR)


def test_a_job_that_an_assistant_changed_since_does_not_run_unreviewed(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    bench.scheduler.trigger(job_id, at=START + _MINUTE)
    bench.scheduler.settings.change(assistants=AssistantAccess.EDIT)
    Assistant(bench.scheduler).update_job(job_id, schedule=Every("2h"))

    assert bench.tick(_MINUTE) == []

    (run,) = bench.scheduler.get_run_log(job_id)
    assert (run.outcome, run.reason) == (Outcome.SKIPPED, SkipReason.PAUSED)
    assert run.error == "an assistant changed the job, and the change has not been reviewed"
