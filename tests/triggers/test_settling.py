"""What has settled in a folder: files that appeared, changed or vanished and then stayed as they were."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest

from halo_scheduler.model import FileEvent, OnFile
from halo_scheduler.triggers.listing import Listing, Sight
from halo_scheduler.triggers.settling import Finding, Moment, Tracker

_WALL = 1_800_000_000_000
_DRIVE = 7


class _Folder:
    """A folder of made-up files, and a tracker that looks at it."""

    def __init__(self, on: FileEvent = FileEvent.APPEARS, known: Mapping[str, int] | None = None) -> None:
        self.now = 10_000
        self.files: dict[str, Sight] = {name: Sight(mark, 0) for name, mark in (known or {}).items()}
        self.tracker = Tracker(OnFile("/in", on=on), known or {}, _DRIVE if known else 0)
        self.changed_at = 0
        self.is_there = True
        self.device = _DRIVE
        self.has_exact_times = True

    def write(self, name: str, mark: int) -> None:
        self.files[name] = Sight(mark, _WALL + self.now)
        self.changed_at = _WALL + self.now

    def delete(self, name: str) -> None:
        del self.files[name]
        self.changed_at = _WALL + self.now

    def look(self, after_ms: int = 0) -> Finding:
        """Look after a while, without taking what is found as known."""
        self.now += after_ms
        listing = Listing(dict(self.files), self.device, self.changed_at, self.is_there, self.has_exact_times)
        return self.tracker.compare(listing, Moment(self.now, _WALL + self.now))

    def take(self, after_ms: int = 0) -> Collection[str]:
        """Look, take what is found as known, and return what is to be reported."""
        found = self.look(after_ms)
        if found.known is not None:
            self.tracker.accept(found.known)
        return found.names


def test_a_file_is_reported_once_it_has_settled() -> None:
    folder = _Folder()
    folder.write("a", 1)
    assert not folder.take()
    assert not folder.take(1_999)
    assert folder.take(1) == ("a",)
    assert not folder.take(10_000)


def test_the_next_poll_is_when_the_first_file_settles() -> None:
    folder = _Folder()
    folder.write("a", 1)
    assert folder.look(500).next_at == folder.now + 1_500


def test_a_file_that_is_still_written_waits() -> None:
    folder = _Folder()
    for mark in range(10):
        folder.write("a", mark)
        assert not folder.take(1_900)
    assert folder.take(100) == ("a",)


def test_a_change_counts_from_when_it_happened_not_from_when_it_was_noticed() -> None:
    folder = _Folder()
    folder.look()
    folder.now += 1_000
    folder.write("a", 1)
    assert folder.look(900).next_at == folder.now + 1_100


def test_a_change_is_never_older_than_the_previous_comparison() -> None:
    folder = _Folder()
    folder.look()
    folder.files["a"] = Sight(1, 0)
    assert folder.look(500).next_at == folder.now + 1_500


def test_times_by_another_computers_clock_do_not_count() -> None:
    folder = _Folder()
    folder.has_exact_times = False
    folder.files["a"] = Sight(1, 0)
    assert folder.look(500).next_at == folder.now + 2_000


def test_files_that_appeared_while_no_engine_ran_are_reported_at_once() -> None:
    folder = _Folder(known={"old": 0})
    folder.write("a", 1)
    folder.now += 60_000
    assert folder.take() == ("a",)


def test_a_report_that_was_not_stored_comes_again() -> None:
    folder = _Folder()
    folder.write("a", 1)
    folder.look()
    assert folder.look(2_000).names == ("a",)
    assert folder.look(5_000).names == ("a",)


def test_files_that_arrive_together_are_one_report() -> None:
    folder = _Folder()
    for number in range(20):
        folder.write(str(number), number)
        assert not folder.take(150)
    assert len(folder.take(2_000)) == 20


def test_a_stream_of_files_is_reported_after_a_while() -> None:
    folder = _Folder()
    reported: list[int] = []
    for number in range(60):
        folder.write(str(number), number)
        if found := folder.take(1_000):
            reported.append(len(found))
    assert reported[0] == 11, "the first one settled after 2 s, and waited for 10"
    assert sum(reported) >= 40


def test_a_long_download_keeps_no_other_file_waiting() -> None:
    folder = _Folder()
    for mark in range(5):
        folder.write("film", mark)
        folder.take(1_000)
    folder.write("a", 1)
    folder.take()
    folder.take(1_000)
    folder.write("film", 99)
    assert folder.take(1_000) == ("a",)


def test_a_name_that_was_free_for_a_moment_appears_again() -> None:
    folder = _Folder(known={"a": 0})
    folder.delete("a")
    folder.take()
    folder.write("a", 1)
    folder.take(100)
    assert folder.take(2_000) == ("a",)


def test_a_file_deleted_and_created_between_two_polls_appears() -> None:
    folder = _Folder(known={"a": 0})
    folder.tracker.forget(["a", "unknown"])
    folder.write("a", 1)
    assert folder.look().known == {}, "that it was deleted is stored at once"
    folder.take()
    assert folder.take(2_000) == ("a",)


def test_a_file_that_is_replaced_does_not_appear() -> None:
    folder = _Folder(known={"a": 0})
    folder.write("a", 2)
    assert not folder.take()
    assert not folder.take(5_000)


def test_a_change_is_reported_once_it_has_settled() -> None:
    folder = _Folder(FileEvent.CHANGES, {"a": 1, "b": 1})
    folder.write("a", 2)
    assert not folder.take()
    assert folder.take(2_000) == ("a",)
    assert not folder.take(2_000)


def test_a_file_written_back_as_it_was_has_not_changed() -> None:
    folder = _Folder(FileEvent.CHANGES, {"a": 1})
    folder.write("a", 2)
    folder.take()
    folder.write("a", 1)
    assert folder.take(2_000) == ()


def test_a_new_file_does_not_change_until_it_has_settled_once() -> None:
    folder = _Folder(FileEvent.CHANGES)
    folder.write("a", 1)
    assert not folder.take()
    assert not folder.take(2_000)
    folder.write("a", 2)
    folder.take()
    assert folder.take(2_000) == ("a",)


def test_a_file_deleted_and_created_again_soon_has_changed() -> None:
    folder = _Folder(FileEvent.CHANGES, {"a": 1})
    folder.delete("a")
    folder.take()
    folder.write("a", 2)
    folder.take(1_000)
    assert folder.take(2_000) == ("a",)


def test_a_file_that_is_gone_for_long_is_forgotten() -> None:
    folder = _Folder(FileEvent.CHANGES, {"a": 1})
    folder.delete("a")
    folder.take()
    folder.take(2_000)
    assert folder.tracker.known == {}


def test_a_vanished_file_is_reported_once_it_stays_away() -> None:
    folder = _Folder(FileEvent.VANISHES, {"a": 0, "b": 0})
    folder.delete("a")
    assert not folder.take()
    assert folder.take(2_000) == ("a",)
    assert not folder.take(2_000)


def test_a_file_that_comes_back_soon_has_not_vanished() -> None:
    folder = _Folder(FileEvent.VANISHES, {"a": 0})
    folder.delete("a")
    folder.take()
    folder.write("a", 2)
    assert not folder.take(1_000)
    assert not folder.take(2_000)


@pytest.mark.parametrize("on", FileEvent)
def test_a_missing_folder_removes_no_files(on: FileEvent) -> None:
    folder = _Folder(on, {"a": 1})
    files, folder.files, folder.is_there = folder.files, {}, False
    assert not folder.take(60_000)
    folder.files, folder.is_there = files, True
    assert not folder.take(60_000)
    assert not folder.take(2_000)


@pytest.mark.parametrize("on", FileEvent)
def test_an_empty_folder_on_another_drive_removes_no_files(on: FileEvent) -> None:
    folder = _Folder(on, {"a": 1})
    files, folder.files, folder.device = folder.files, {}, 1
    assert not folder.take(60_000)
    folder.files, folder.device = files, 9
    assert not folder.take(60_000)
    folder.delete("a")
    folder.take(60_000)
    folder.take(2_000)
    assert folder.tracker.known == {}, "the folder is on that drive now"


def test_files_deleted_with_their_folder_have_vanished() -> None:
    folder = _Folder(FileEvent.VANISHES, {"a": 0, "b": 0})
    folder.tracker.forget(["a"])
    folder.files, folder.is_there, folder.has_exact_times = {}, False, False
    folder.take()
    assert folder.take(2_000) == ("a",)


def test_a_comparison_has_news_only_if_something_differs() -> None:
    folder = _Folder()
    folder.write("a", 1)
    assert folder.look().has_news
    assert not folder.look(100).has_news
    folder.write("a", 2)
    assert folder.look(100).has_news


def test_the_ages_of_some_changed_files_are_returned() -> None:
    folder = _Folder()
    for number in range(100):
        folder.write(str(number), number)
    folder.look()
    assert folder.look(3_000).ages_ms == (3_000,) * 20
