"""Clearing away after runs: what goes wrong there is nobody else's loss."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import shell
from process_probe import until

from halo_scheduler import Manual, Outcome, Policy
from halo_scheduler.service.scheduler import Scheduler


def test_a_fault_in_clearing_away_doubles_no_end_and_keeps_nobody_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SHELL", "/bin/sh")
    action = shell("echo ::cost 1; echo ::needs-input what now")
    with Scheduler.open(tmp_path / "halo.db") as scheduler:
        first = scheduler.add_job("first", Manual(), action, policy=Policy(reads_lines=True))
        second = scheduler.add_job("second", Manual(), shell("true"))
        scheduler.trigger(first)
        scheduler.tick()
        engine = scheduler.engine.get_engine()
        until(lambda: engine.wait_for_end(1))

        def stumble(_run_id: str) -> None:
            raise RuntimeError("can't start new thread")

        run_id = scheduler.trigger(second)
        with monkeypatch.context() as context:
            context.setattr(engine.resources, "clear_spool", stumble)
            scheduler.tick()
        assert "could not be cleared away" in caplog.text

        def is_over() -> bool:
            engine.wait_for_end(1)
            scheduler.tick()
            run = scheduler.get_run(run_id)
            return run is not None and run.outcome is Outcome.SUCCESS

        until(is_over)
        assert scheduler.jobs.usage(first).cost == 1
        assert len(scheduler.questions.list()) == 1
