"""One door to a run's output, whether it runs or not."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from halo_scheduler import Command, Manual, Outcome, Prompt, Run, Source, Trigger
from halo_scheduler.actions import output_reader as growth_module
from halo_scheduler.actions.output_reader import Growth, OutputFollower
from halo_scheduler.actions.spool import Spool, spool_folder
from halo_scheduler.host.disk_space import DiskSpace
from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.store.outputs import StoredOutput
from halo_scheduler.store.runs import RunEnd
from halo_scheduler.store.secrets import SecretError

_RUN = "abc"
_MB = 1 << 20
_TOTAL = 400 * _MB  # of which 20 are kept free


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


def test_a_run_that_has_not_started_has_no_output(scheduler: Scheduler) -> None:
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


def test_secrets_are_removed_from_the_output_of_an_agent(
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


def test_output_that_is_moved_while_it_is_read_is_found(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    def move(_follower: OutputFollower) -> None:
        _end(scheduler, b"all of it\n")

    monkeypatch.setattr(OutputFollower, "_open", move)
    assert scheduler.get_output(_RUN) == b"all of it\n"


def test_a_run_that_does_not_exist_has_printed_nothing(scheduler: Scheduler) -> None:
    assert scheduler.get_output("nothing") == b""


class _Scene:
    """An output that grows on a disk with a little room."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.free = _TOTAL
        self._monkeypatch = monkeypatch
        monkeypatch.setattr(growth_module, "disk_space", lambda _folder: DiskSpace(_TOTAL, self.free))
        self._spool = Spool(folder, "run")
        os.close(self._spool.create())
        self.growth = Growth(self._spool)
        self.now_ms = 0

    def look(self, grown: int, after_ms: int = 100) -> int:
        """Let it grow, look, and return how long until the next look."""
        os.truncate(self._spool.output_path, self._spool.size() + grown)
        self.now_ms += after_ms
        self.growth.poll(self.now_ms)
        return self.growth.next_poll_at() - self.now_ms


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Scene:
    return _Scene(tmp_path, monkeypatch)


def test_output_before_the_first_poll_counts_as_growth(scene: _Scene) -> None:
    scene.look(10)
    scene.growth.begin(0)
    scene.look(0)
    assert scene.growth.grown == 10


def test_output_that_an_earlier_engine_read_is_not_growth(scene: _Scene) -> None:
    scene.look(10)
    scene.growth.begin(0, known_bytes=10)
    scene.look(0)
    assert scene.growth.grown == 0


@pytest.mark.parametrize(("room", "first_ms"), [(380 * _MB, 190), (100 * _MB, 50), (_MB, 20), (-_MB, 20)])
def test_the_first_poll_comes_before_the_fastest_program_can_fill_the_disk(
    scene: _Scene, room: int, first_ms: int
) -> None:
    scene.free = room + 20 * _MB
    assert scene.growth.begin(1_000) == 1_000 + first_ms


def test_a_disk_of_unknown_size_does_not_speed_up_polling(
    scene: _Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growth_module, "disk_space", lambda _folder: None)
    assert scene.growth.begin(0) == 250
    assert scene.look(100 * _MB) == 500


def test_output_that_hardly_grows_is_not_shortened_however_full_the_disk(scene: _Scene) -> None:
    scene.free = 0
    scene.growth.begin(0)
    assert scene.look(1_000) == 1_000


@pytest.mark.parametrize(
    ("grown", "room", "pause_ms"),
    [
        (10 * _MB, 300 * _MB, 500),  # 3 s would fill it
        (10 * _MB, 50 * _MB, 250),  # half a second
        (100 * _MB, 50 * _MB, 25),
        (100 * _MB, 0, 20),
    ],
)
def test_the_next_poll_comes_before_the_disk_is_full_at_the_current_pace(
    scene: _Scene, grown: int, room: int, pause_ms: int
) -> None:
    scene.growth.begin(0)
    scene.free = room + 20 * _MB
    assert scene.look(grown) == pause_ms


def test_one_that_fills_the_disk_again_and_again_is_too_much(scene: _Scene) -> None:
    scene.growth.begin(0)
    scene.free = 0
    for _ in range(9):
        scene.look(_MB)
    assert not scene.growth.fills_disk
    scene.look(_MB)
    assert scene.growth.fills_disk


def test_one_that_pauses_or_leaves_room_once_is_not(scene: _Scene) -> None:
    scene.growth.begin(0)
    scene.free = 0
    for grown in (*[_MB] * 9, 0, *[_MB] * 9):
        scene.look(grown)
        assert not scene.growth.fills_disk
    scene.free = 5 * _MB
    scene.look(_MB)
    assert not scene.growth.fills_disk


def test_one_that_prints_little_is_not_blamed_for_a_disk_that_others_filled(scene: _Scene) -> None:
    scene.growth.begin(0)
    scene.free = 0
    for _ in range(100):
        scene.look(10_000)
    assert not scene.growth.fills_disk


def test_a_disk_that_was_full_once_is_noted_also_when_there_is_room_again(scene: _Scene) -> None:
    scene.growth.begin(0)
    assert scene.growth.notes() == ()
    scene.free = 0
    assert scene.growth.notes() == (message(MessageKind.DISK_WAS_FULL),)
    scene.look(_MB)
    scene.free = _TOTAL
    assert scene.growth.notes() == (message(MessageKind.DISK_WAS_FULL),)


def _grow(scene: _Scene, grown: int) -> None:
    """Let it grow without a poll."""
    os.truncate(scene._spool.output_path, scene._spool.size() + grown)


def test_a_disk_that_was_filled_and_freed_between_two_polls_is_noted(scene: _Scene) -> None:
    scene.free = 100 * _MB
    scene.growth.begin(0)
    scene.look(_MB)
    _grow(scene, 100 * _MB)
    assert scene.growth.notes() == (message(MessageKind.DISK_WAS_FULL),)


def test_a_disk_that_was_filled_during_the_poll_that_freed_space_is_noted(scene: _Scene) -> None:
    scene.free = 100 * _MB
    scene.growth.begin(0)
    _grow(scene, 10 * _MB)
    scene.growth.poll(100)
    _grow(scene, 100 * _MB)
    scene.growth.next_poll_at()
    assert scene.growth.notes() == (message(MessageKind.DISK_WAS_FULL),)


def test_a_failure_with_room_for_its_output_has_no_note(scene: _Scene) -> None:
    scene.free = 100 * _MB
    scene.growth.begin(0)
    scene.look(10 * _MB)
    # The space that was freed counts, and what was printed before counts once.
    scene.look(90 * _MB)
    _grow(scene, 50 * _MB)
    assert scene.growth.notes() == ()
