"""One door to a run's output, whether it runs or not."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from halo_scheduler import Command, Manual, Outcome, Prompt, Run, Source, Trigger
from halo_scheduler.actions.output_reader import OutputFollower
from halo_scheduler.actions.spool import Spool, spool_folder
from halo_scheduler.errors import SecretError
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.store.outputs import StoredOutput
from halo_scheduler.store.runs import RunEnd

_RUN = "abc"


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[Scheduler]:
    """A database in which a run is under way."""
    with Scheduler.open(tmp_path / "halo.db") as found:
        action = Command(argv=("x",), environment={"T": "${secret:TOKEN}"})
        job_id = found.add_job("job", Manual(), action)
        run = Run(id=_RUN, job_id=job_id, trigger=Trigger.MANUAL, source=Source.MANUAL, started_at=5)
        found._store.runs.insert([run], 1)
        yield found


def _print(scheduler: Scheduler, data: bytes) -> None:
    descriptor = Spool(spool_folder(scheduler.path), _RUN).create()
    os.write(descriptor, data)
    os.close(descriptor)


def _end(scheduler: Scheduler, output: bytes) -> None:
    """Do what the engine does at the end of a run."""
    scheduler._store.runs.finish([(_RUN, RunEnd(outcome=Outcome.SUCCESS, finished_at=9))])
    stored = StoredOutput(run_id=_RUN, content=zlib.compress(output), total_bytes=len(output))
    scheduler._store.outputs.insert([stored])
    Spool(spool_folder(scheduler.path), _RUN).remove()


def _set_token(scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the secret since before the run began."""
    monkeypatch.setattr(scheduler._clock, "now_ms", lambda: 1, raising=False)
    scheduler.secrets.set("TOKEN", "correct horse", in_file=True)


def test_what_has_not_begun_has_printed_nothing(scheduler: Scheduler) -> None:
    assert scheduler.get_output(_RUN) == b""


def test_a_run_is_followed_and_its_secrets_are_left_out(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    _set_token(scheduler, monkeypatch)
    _print(scheduler, b"a correct horse and more words\n")
    with scheduler.runs.follow_output(_RUN) as output:
        shown = output.read()
        assert shown.startswith(b"a ***")
        _end(scheduler, b"stored")
        assert shown + output.read() + output.end() == b"a *** and more words\n"


def test_secrets_are_left_out_of_what_an_agent_prints(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    _set_token(scheduler, monkeypatch)
    run = scheduler.get_run(_RUN)
    assert run is not None
    scheduler.update_job(run.job_id, action=Prompt(text="x", environment={"T": "${secret:TOKEN}"}))
    _print(scheduler, b"a correct horse and more words\n")
    with scheduler.runs.follow_output(_RUN) as output:
        assert output.read() + output.end() == b"a *** and more words\n"


def test_output_is_not_shown_without_the_secret_that_must_be_left_out(scheduler: Scheduler) -> None:
    _print(scheduler, b"a correct horse\n")
    with pytest.raises(SecretError, match="cannot be shown before it ends: the secret TOKEN is not set"):
        scheduler.get_output(_RUN)


def test_output_that_moves_at_the_moment_of_looking_is_found(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    def move(_follower: OutputFollower) -> None:
        _end(scheduler, b"all of it\n")

    monkeypatch.setattr(OutputFollower, "_open", move)
    assert scheduler.get_output(_RUN) == b"all of it\n"


def test_a_run_that_does_not_exist_has_printed_nothing(scheduler: Scheduler) -> None:
    assert scheduler.get_output("nothing") == b""
