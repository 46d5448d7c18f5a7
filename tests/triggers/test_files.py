"""Watching files: what is reported, when folders are read, and what happens when that fails."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from process_probe import LONG_S, until

from halo_scheduler.clock import ManualClock, SystemClock
from halo_scheduler.errors import StoreUnavailableError
from halo_scheduler.host.folder_events import FolderEvents, Hint
from halo_scheduler.model import FileEvent, OnFile
from halo_scheduler.rules.event_requests import Accepted, Happening, Refused
from halo_scheduler.triggers import files as module
from halo_scheduler.triggers.files import FileRounds, FileWatcher, open_watcher, refusal
from halo_scheduler.triggers.listing import list_files
from halo_scheduler.triggers.watching import Key, Link, Watched


class _Store:
    """Takes reports, or is out of order."""

    def __init__(self) -> None:
        self.kept: dict[Key, str] = {}
        self.inputs: list[str] = []
        self.event_ids: list[str] = []
        self.told: list[str] = []
        self.is_out_of_order = False
        self.catches_up = True
        self.is_own_work = False
        self.active: set[str] = set()

    def report(
        self, happenings: Sequence[Happening], states: Mapping[Key, str], _beside: object = None, /
    ) -> list[Accepted | Refused]:
        if self.is_out_of_order:
            raise StoreUnavailableError("it is locked")
        self.kept.update(states)
        self.inputs += [item.input.decode() for item in happenings]
        self.event_ids += [item.event_id for item in happenings]
        return [Accepted("run") for _ in happenings]

    def states(self) -> dict[Key, str]:
        if self.is_out_of_order:
            raise StoreUnavailableError("it is locked")
        return dict(self.kept)

    def link(self, clock: ManualClock | SystemClock) -> Link:
        return Link(
            self.report,
            self.states,
            clock,
            Path("/nowhere"),
            was_running=lambda job_id, _instants: self.is_own_work or job_id in self.active,
            catches_up=lambda _job_id: self.catches_up,
            note_trouble=self.note_trouble,
        )

    def note_trouble(self, _job_id: str, text: str, _now_ms: int, _key: str = "", /) -> bool:
        self.told += [] if self.is_out_of_order else [text]
        return not self.is_out_of_order


class _Events(FolderEvents):
    """Follows folders, and hints what the test says."""

    def __init__(self) -> None:
        super().__init__(lambda: None)
        self.followed: dict[str, bool] = {}
        self.hints: dict[str, Hint] = {}
        self.refuses = False
        self.reason = ""

    def fault(self, _folder: str) -> str:
        return self.reason

    def follow(self, folders: Mapping[str, bool]) -> set[str]:
        new = set() if self.refuses else folders.keys() - self.followed.keys()
        self.followed = {} if self.refuses else dict(folders)
        return new

    def is_followed(self, folder: str) -> bool:
        return folder in self.followed

    def take(self) -> dict[str, Hint]:
        hints, self.hints = self.hints, {}
        return hints


class _Desk:
    """Turns rounds over a folder by a clock of the test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = ManualClock(time.time_ns() // 1_000_000)
        self.store = _Store()
        self.events = _Events()
        self.is_silent = False
        self.woken = threading.Event()
        self.wanted: list[Watched] = []
        self.begin()

    def begin(self) -> None:
        """Begin as a new engine does."""
        self.rounds = FileRounds(
            self.store.link(self.clock), self.events, lambda _path: not self.is_silent, self.woken.set
        )

    def want(self, event: OnFile | None = None, job_id: str = "job") -> None:
        event = event or OnFile(str(self.folder))
        self.wanted = [*(item for item in self.wanted if item.job_id != job_id)]
        self.wanted.append(Watched(job_id, "", event, "a job"))
        self.turn()
        self.turn(50)
        self.clock.advance(1_000)

    def turn(self, after_ms: int = 0) -> int:
        """Turn after a while; return when to turn again."""
        self.clock.advance(after_ms)
        return self.rounds.turn(self.wanted)

    def hint(self, *deleted: str, count: int = 1, folder: Path | None = None) -> None:
        self.events.hints[str(folder or self.folder)] = Hint(set(deleted), count)

    def write(self, name: str, text: str = "") -> Path:
        """Write a file just now, and hint at that."""
        path = self.folder / name
        path.write_text(text)
        self.hint()
        # The clock of the test stands still, that of the files does not.
        self.clock.set(time.time_ns() // 1_000_000)
        return path

    def settle(self) -> None:
        """Notice what was written, and let it settle."""
        self.turn(50)
        self.turn(2_000)

    @property
    def reported(self) -> list[list[str]]:
        """The names in each report."""
        return [[os.path.basename(line) for line in text.splitlines()] for text in self.store.inputs]  # noqa: PTH119


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[_Desk]:
    folder = tmp_path / "in"
    folder.mkdir()
    desk = _Desk(folder)
    yield desk
    desk.rounds.close()


def test_files_can_be_observed_everywhere() -> None:
    assert refusal(OnFile("/in")) == ""


def test_a_new_file_is_reported_with_its_path_once_it_has_settled(desk: _Desk) -> None:
    desk.want()
    desk.write("a")
    desk.turn(50)
    assert not desk.reported
    desk.turn(2_000)
    assert desk.store.inputs == [f"{desk.folder}/a\n"]


def test_existing_files_are_not_reported(desk: _Desk) -> None:
    desk.write("old")
    desk.want()
    desk.settle()
    assert not desk.reported


def test_the_next_turn_is_when_a_file_settles(desk: _Desk) -> None:
    desk.want()
    desk.write("a")
    assert 1_900 <= desk.turn(50) <= 2_000


def test_without_changes_a_folder_is_read_twice_a_minute(desk: _Desk) -> None:
    desk.want()
    assert desk.turn() == 29_000


def test_ten_thousand_files_are_one_report(desk: _Desk) -> None:
    desk.want()
    for number in range(10_000):
        (desk.folder / f"{number:05}").touch()
    desk.write("last")
    desk.turn(50)
    desk.turn(10_000)
    assert [len(names) for names in desk.reported] == [10_001]


def test_changes_while_no_engine_ran_are_one_report(desk: _Desk) -> None:
    desk.want()
    desk.write("a")
    desk.write("b")
    desk.clock.advance(60_000)
    desk.begin()
    desk.turn()
    assert [sorted(names) for names in desk.reported] == [["a", "b"]]


def test_a_job_without_catch_up_ignores_changes_while_no_engine_ran(desk: _Desk) -> None:
    desk.store.catches_up = False
    desk.want()
    desk.write("a")
    desk.clock.advance(60_000)
    desk.begin()
    desk.turn()
    desk.write("b")
    desk.settle()
    assert desk.reported == [["b"]]


def test_a_file_that_has_not_settled_when_the_engine_ends_is_reported_by_the_next(desk: _Desk) -> None:
    desk.want()
    desk.write("a")
    desk.turn(50)
    desk.begin()
    desk.turn(2_000)
    assert desk.reported == [["a"]]
    desk.begin()
    desk.turn(2_000)
    assert desk.reported == [["a"]]


def test_an_edited_or_resumed_event_starts_afresh(desk: _Desk) -> None:
    desk.want()
    desk.write("a")
    desk.store.kept.clear()
    desk.want(job_id="other")
    desk.settle()
    assert not desk.reported
    desk.write("b.pdf")
    desk.want(OnFile(str(desk.folder), "*.pdf"))
    desk.settle()
    assert desk.reported == [["b.pdf"]], "only the other job had seen it come"


def test_other_jobs_do_not_affect_the_watch_state(desk: _Desk) -> None:
    desk.want()
    desk.write("a")
    desk.want(job_id="other")
    desk.settle()
    assert desk.reported == [["a"]]


def test_a_store_that_cannot_be_read_yet_is_asked_again(desk: _Desk) -> None:
    desk.store.is_out_of_order = True
    desk.wanted = [Watched("job", "", OnFile(str(desk.folder)), "a job")]
    assert desk.turn() == 5_000
    desk.store.is_out_of_order = False
    desk.turn(5_000)
    desk.turn(50)
    desk.write("a")
    desk.settle()
    assert desk.reported == [["a"]]


def test_a_report_that_cannot_be_stored_is_sent_again_as_it_was(desk: _Desk) -> None:
    desk.want()
    desk.write("a")
    desk.turn(50)
    desk.store.is_out_of_order = True
    assert desk.turn(2_000) == 5_000
    desk.write("b")
    desk.store.is_out_of_order = False
    desk.turn(5_000)
    assert desk.reported == [["a"]]
    desk.turn(50)
    desk.turn(2_000)
    assert desk.reported == [["a"], ["b"]]
    assert len(set(desk.store.event_ids)) == 2


def test_a_baseline_that_cannot_be_stored_is_sent_again(desk: _Desk) -> None:
    desk.wanted = [Watched("job", "", OnFile(str(desk.folder)), "a job")]
    states, desk.store.states = desk.store.states, dict  # type: ignore[method-assign]
    desk.begin()
    desk.store.is_out_of_order = True
    desk.turn()
    assert desk.turn(50) == 5_000
    desk.store.is_out_of_order = False
    desk.turn(5_000)
    assert states()


# --- Folders -------------------------------------------------------------------------------------------


def test_a_missing_folder_is_noticed_when_it_comes(desk: _Desk) -> None:
    folder = desk.folder / "a" / "b"
    desk.want(OnFile(str(folder)))
    assert set(desk.events.followed) == {str(desk.folder)}
    (desk.folder / "a").mkdir()
    desk.hint()
    desk.turn(1_000)
    assert set(desk.events.followed) == {str(desk.folder / "a")}
    folder.mkdir()
    (folder / "x").touch()
    desk.hint(folder=desk.folder / "a")
    desk.turn(1_000)
    assert set(desk.events.followed) == {str(folder)}
    desk.turn(2_000)
    assert desk.reported == [["x"]]


def test_a_folder_that_is_deleted_and_made_again_is_watched_again(desk: _Desk) -> None:
    desk.want()
    desk.folder.rmdir()
    desk.hint()
    desk.turn(50)
    assert set(desk.events.followed) == {str(desk.folder.parent)}
    desk.folder.mkdir()
    desk.hint(folder=desk.folder.parent)
    desk.turn(50)
    desk.write("a")
    desk.settle()
    assert desk.reported == [["a"]]


def test_a_file_deleted_and_created_again_is_reported_again(desk: _Desk) -> None:
    desk.want()
    path = desk.write("a")
    desk.settle()
    path.unlink()
    desk.write("a")
    desk.hint("a")
    desk.settle()
    assert desk.reported == [["a"], ["a"]]


def test_a_single_file_is_watched_through_its_folder(desk: _Desk) -> None:
    path = desk.write("notes")
    desk.want(OnFile(str(path), on=FileEvent.VANISHES))
    assert set(desk.events.followed) == {str(desk.folder)}
    path.unlink()
    desk.hint("notes")
    desk.settle()
    assert desk.reported == [["notes"]]


def test_changes_of_files_are_asked_for_only_where_they_count(desk: _Desk) -> None:
    desk.want()
    assert desk.events.followed == {str(desk.folder): False}
    desk.want(OnFile(str(desk.folder), on=FileEvent.CHANGES), "other")
    assert desk.events.followed == {str(desk.folder): True}


def test_a_folder_without_reports_is_polled(desk: _Desk) -> None:
    desk.events.refuses = True
    desk.want()
    assert desk.turn() == pytest.approx(9_000, abs=100)


def test_an_unreadable_folder_is_reported_once_and_retried(
    desk: _Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.want()

    def scandir(_path: str) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "scandir", scandir)
    for _ in range(2):
        desk.hint()
        assert desk.turn(1_000) <= 10_000
    assert desk.store.told == [f"{desk.folder} cannot be read: permission denied"]
    monkeypatch.undo()
    desk.turn(10_000)
    assert desk.store.told[1:] == [""]
    desk.write("a")
    desk.turn(10_000)
    desk.turn(2_000)
    assert desk.reported == [["a"]]


def test_a_new_file_that_no_input_can_name_is_reported_until_it_is_gone(desk: _Desk) -> None:
    desk.write("old\nname")
    desk.want()
    desk.turn(10_000)
    assert not desk.store.told
    path = desk.write("new\x1b[2J.pdf")
    later = desk.clock.now_ms() // 1_000 + 1
    os.utime(path, (later, later))
    desk.settle()
    assert desk.store.told == [
        f"a file in {desk.folder} starts nothing, because its name has control characters; rename it"
    ]
    path.rename(desk.folder / "new.pdf")
    desk.write("b")
    desk.settle()
    assert desk.store.told[1:] == [""]
    assert desk.reported == [["b", "new.pdf"]]


def test_trouble_is_reported_once_it_can_be_stored(desk: _Desk) -> None:
    desk.want()
    desk.events.reason = "too many files are watched"
    desk.store.is_out_of_order = True
    desk.turn(10_000)
    assert not desk.store.told
    desk.store.is_out_of_order = False
    desk.turn(10_000)
    desk.turn(10_000)
    told = f"changes in {desk.folder} are detected late: too many files are watched"
    assert desk.store.told == [told]
    desk.want(OnFile(str(desk.folder), "*.pdf"))
    assert desk.store.told == [told]
    desk.events.reason = ""
    desk.turn(10_000)
    assert desk.store.told == [told, ""]


def test_a_silent_drive_is_read_on_a_thread_of_its_own(desk: _Desk) -> None:
    desk.is_silent = True
    (desk.folder / "old").touch()
    desk.wanted = [Watched("job", "", OnFile(str(desk.folder)), "a job")]

    def read() -> None:
        assert desk.woken.wait(LONG_S)
        desk.woken.clear()

    assert desk.turn() == 30_000, "it is woken when the drive has answered"
    read()
    assert desk.turn() == pytest.approx(10_000, abs=100)
    (desk.folder / "a").touch()
    for after_ms in (10_000, 2_000):
        desk.turn(after_ms)
        read()
        desk.turn()
    assert not desk.events.followed
    assert desk.reported == [["a"]]


def test_a_folder_with_too_many_events_is_polled(desk: _Desk) -> None:
    desk.want()
    desk.write("a")
    desk.hint(count=10_000)
    assert desk.turn(50) == 250
    assert not desk.events.followed
    desk.turn(250)
    assert desk.events.followed
    desk.turn(2_000)
    assert desk.reported == [["a"]]


def test_a_folder_in_which_only_other_files_come_is_read_less_often(desk: _Desk) -> None:
    desk.want(OnFile(str(desk.folder), "*.pdf"))
    rests: list[int] = []
    for _ in range(8):
        desk.hint()
        rests.append(desk.turn())
        desk.turn(rests[-1])
    assert rests[-1] == 1_000


def test_a_large_folder_rests_longer(desk: _Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.want()
    read = list_files

    def slow(*args: object, **options: object) -> object:
        desk.clock.advance(400)
        return read(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "list_files", slow)
    desk.write("a")
    desk.turn(50)
    desk.hint()
    assert 1_000 < desk.turn() <= 2_000


# --- Files that the job itself writes ------------------------------------------------------------------


def _round(desk: _Desk, number: int, wait_ms: int = 2_000) -> int:
    """Let the job write a file, and wait; return how many reports there are."""
    desk.write(f"out{number}")
    desk.turn(50)
    desk.turn(wait_ms)
    return len(desk.reported)


def test_a_job_that_starts_itself_is_delayed_and_reports_trouble(desk: _Desk) -> None:
    desk.want()
    desk.store.is_own_work = True
    assert [_round(desk, number) for number in range(11)] == [*range(1, 11), 10]
    (told,) = desk.store.told
    assert told.startswith(
        f"its own runs change the files in {desk.folder} that start it, so its starts are delayed"
    )
    desk.turn(10_000)
    assert len(desk.reported) == 11
    assert _round(desk, 11, 12_000) == 11
    desk.turn(10_000)
    assert len(desk.reported) == 12
    assert len(desk.store.told) == 1


def test_a_file_from_elsewhere_ends_the_suspicion(desk: _Desk) -> None:
    desk.want()
    desk.store.is_own_work = True
    for number in range(11):
        _round(desk, number)
    desk.store.is_own_work = False
    assert _round(desk, 11) == 11
    assert desk.reported[-1] == ["out10", "out11"]
    desk.store.is_own_work = True
    assert _round(desk, 12) == 12


def test_jobs_that_start_each_other_are_delayed_and_report_trouble(desk: _Desk, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    desk.want(job_id="there")
    desk.want(OnFile(str(other)), job_id="back")
    started: list[int] = []
    for number in range(12):
        for folder, writer in ((desk.folder, "back"), (other, "there")):
            desk.store.active = {writer} if number or folder is other else set()
            desk.hint(folder=folder)
            (folder / f"{number}").touch()
            desk.clock.set(time.time_ns() // 1_000_000)
            desk.settle()
            started.append(len(desk.reported))
            desk.turn(10_000)
    assert started == [*range(1, 22), 21, 22, 23]
    assert set(desk.store.told) == {
        f"runs that it starts change the files in {folder} that start it, so its starts are delayed"
        for folder in (desk.folder, other)
    }


# --- The thread ----------------------------------------------------------------------------------------


@pytest.fixture
def watcher() -> Iterator[tuple[FileWatcher, _Store]]:
    store = _Store()
    watcher = open_watcher(store.link(SystemClock()))
    yield watcher, store
    watcher.close()
    until(lambda: not [item for item in threading.enumerate() if item.name == "halo-files"])


def test_the_thread_begins_with_the_first_event(watcher: tuple[FileWatcher, _Store]) -> None:
    watcher[0].close()
    assert "halo-files" not in [item.name for item in threading.enumerate()]


def _move_to(path: Path) -> None:
    made = path.parent.parent / "made elsewhere"
    made.touch()
    made.rename(path)


@pytest.mark.parametrize("write", [Path.touch, _move_to])
def test_files_are_watched(
    watcher: tuple[FileWatcher, _Store], tmp_path: Path, write: Callable[[Path], object]
) -> None:
    folder = tmp_path / "in"
    watcher[0].follow([Watched("job", "", OnFile(str(folder), settle="1s"), "a job")])
    until(lambda: watcher[1].kept)
    folder.mkdir()
    write(folder / "a")
    until(lambda: watcher[1].inputs)
    assert watcher[1].inputs == [f"{folder}/a\n"]


def test_a_fault_does_not_end_the_thread(
    watcher: tuple[FileWatcher, _Store],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(module, "_RETRY_MS", 1)
    faults = iter([ValueError("an internal error")])
    turn = FileRounds.turn

    def fail_once(rounds: FileRounds, wanted: Sequence[Watched]) -> int:
        for fault in faults:
            raise fault
        return turn(rounds, wanted)

    monkeypatch.setattr(FileRounds, "turn", fail_once)
    watcher[0].follow([Watched("job", "", OnFile(str(tmp_path)), "a job")])
    until(lambda: watcher[1].kept)
    assert "Watching folders failed." in caplog.text
