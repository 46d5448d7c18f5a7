"""Searching what runs printed."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from machine import START

from halo_scheduler import Manual, Outcome, Run, Source, Trigger
from halo_scheduler.clock import ManualClock
from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.store.outputs import StoredOutput
from halo_scheduler.store.secrets import SecretError

_OK, _BAD = Outcome.SUCCESS, Outcome.FAILURE


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[Scheduler]:
    with Scheduler.open(tmp_path / "halo.db", clock=ManualClock(START)) as found:
        yield found


def _log(scheduler: Scheduler, run_id: str, job_id: str, at: int, outcome: Outcome = _OK) -> None:
    run = Run(
        id=run_id,
        job_id=job_id,
        trigger=Trigger.SCHEDULE,
        source=Source.EVERY,
        outcome=outcome,
        started_at=at,
        finished_at=None if outcome is Outcome.RUNNING else at,
    )
    scheduler._store.runs.insert([run], 1)


def _store(scheduler: Scheduler, run_id: str, text: str) -> None:
    stored = StoredOutput(run_id=run_id, content=zlib.compress(text.encode()), total_bytes=len(text))
    scheduler._store.outputs.insert([stored])


def _hits(found: Iterator[Run | None]) -> list[str]:
    return [run.id for run in found if run is not None]


def test_output_is_searched_as_it_is_shown_newest_first(scheduler: Scheduler) -> None:
    one, two = (scheduler.add_job(name, Manual()) for name in "ab")
    printed = {
        "plain": "It FAILED here\n",
        "coloured": "it fa\x1b[31miled\x1b[0m there",
        "drawn over": "failed?\rsucceeded",
        "other": "nothing of that kind: STRASSE",
    }
    for index, (run_id, text) in enumerate(printed.items()):
        is_coloured = run_id == "coloured"
        _log(scheduler, run_id, two if is_coloured else one, START + index, _BAD if is_coloured else _OK)
        _store(scheduler, run_id, text)
    _log(scheduler, "silent", one, START + 4)
    assert _hits(scheduler.runs.search_output("failed")) == ["coloured", "plain"]
    assert _hits(scheduler.runs.search_output("failed", job_id=one)) == ["plain"]
    assert _hits(scheduler.runs.search_output("failed", outcomes=[_BAD])) == ["coloured"]
    assert _hits(scheduler.runs.search_output("failed", until=START + 1)) == ["plain"]
    assert _hits(scheduler.runs.search_output("failed", since=START + 1)) == ["coloured"]
    assert _hits(scheduler.runs.search_output("failed", trigger=Trigger.MANUAL)) == []
    assert _hits(scheduler.runs.search_output("straße")) == ["other"]


def test_a_search_gives_signs_of_life_and_can_be_cancelled(scheduler: Scheduler) -> None:
    job_id = scheduler.add_job("job", Manual())
    for index in range(120):
        _log(scheduler, f"{index:03}", job_id, START + index)
        _store(scheduler, f"{index:03}", f"number {index}.")
    found = list(scheduler.runs.search_output("number 0."))
    assert found.count(None) == 2
    assert [run.id for run in found if run] == ["000"]
    asked: list[bool] = []

    def is_cancelled() -> bool:
        asked.append(True)
        return len(asked) > 1

    assert len(_hits(scheduler.runs.search_output("number", is_cancelled=is_cancelled))) == 50
    assert list(scheduler.runs.search_output("number", is_cancelled=lambda: True)) == []


def test_output_of_an_active_run_is_searched_too(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = scheduler.add_job("job", Manual())
    _log(scheduler, "now", job_id, START, Outcome.RUNNING)
    _log(scheduler, "secret", job_id, START + 1, Outcome.RUNNING)

    def get_output(run_id: str) -> bytes:
        if run_id == "secret":
            raise SecretError(message(MessageKind.OUTPUT_NOT_SHOWN, error="locked"))
        return b"so far, so good"

    monkeypatch.setattr(scheduler.runs, "output", get_output)
    assert _hits(scheduler.runs.search_output("so good")) == ["now"]
