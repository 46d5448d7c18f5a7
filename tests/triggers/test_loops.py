"""Jobs that start themselves, or one another in a loop, by the files that they write."""

from __future__ import annotations

from collections.abc import Sequence

from halo_scheduler.triggers.loops import Loops


class _Jobs:
    """Jobs that watch folders; the test says whose runs wrote the files."""

    def __init__(self) -> None:
        self.active: set[str] = set()
        self.asked: list[str] = []
        self.loops = Loops(self._was_running)

    def _was_running(self, job_id: str, _written_at: Sequence[int]) -> bool:
        self.asked.append(job_id)
        return job_id in self.active

    def report(self, job_id: str, *active: str) -> int:
        """Report files to a job, written while other jobs ran; return the delay."""
        self.active = set(active)
        writers = self.loops.writers((job_id, "1"), [0])
        delay_ms = self.loops.delay_ms((job_id, "1"), writers)
        self.loops.note_report((job_id, "1"), writers)
        return delay_ms


def test_a_job_that_starts_itself_is_slowed_more_and_more() -> None:
    jobs = _Jobs()
    delays = [jobs.report("a", *("a" if number else "")) for number in range(20)]
    assert delays == [0] * 11 + [10_000 << power for power in range(6)] + [600_000] * 3


def test_jobs_that_start_one_another_in_a_circle_are_slowed() -> None:
    for circle in ("ab", "abc", "abcdefgh"):
        jobs = _Jobs()
        first = jobs.report("a")
        rounds = [
            [jobs.report(job, circle[index - 1]) for index, job in enumerate(circle) if number or index]
            for number in range(13)
        ]
        assert first == sum(map(sum, rounds[:10])) == 0
        assert all(min(delays) >= 10_000 for delays in rounds[11:])


def test_a_file_from_elsewhere_ends_the_suspicion() -> None:
    jobs = _Jobs()
    for _ in range(20):
        jobs.report("a", "b")
        jobs.report("b", "a")
    assert jobs.report("a", "b") > 0
    assert jobs.report("a") == 0
    assert jobs.report("b", "a") == 0


def test_jobs_that_hand_on_files_in_a_line_are_not_slowed() -> None:
    jobs = _Jobs()
    delays = [
        jobs.report(job, *active) for _ in range(50) for job, active in (("a", ""), ("b", "a"), ("c", "b"))
    ]
    assert set(delays) == {0}
    assert "c" not in jobs.active


def test_jobs_that_happen_to_run_at_the_same_time_are_not_slowed() -> None:
    jobs = _Jobs()
    # Both get files from elsewhere; b runs long, a has ended each time.
    assert {jobs.report(job, *active) for _ in range(50) for job, active in (("a", "b"), ("b", ""))} == {0}


def test_only_jobs_that_were_started_since_are_asked_about() -> None:
    jobs = _Jobs()
    for number in range(100):
        jobs.report(f"job {number}")
    jobs.asked.clear()
    jobs.report("job 99")
    assert jobs.asked == ["job 99"]
    jobs.asked.clear()
    jobs.report("job 0")
    assert jobs.asked == ["job 0", *(f"job {number}" for number in range(99, 79, -1))]


def test_removed_jobs_are_forgotten() -> None:
    jobs = _Jobs()
    for _ in range(20):
        jobs.report("a", "b")
        jobs.report("b", "a")
    jobs.loops.keep_only([("a", "1")])
    jobs.asked.clear()
    assert jobs.report("a", "b") == 0
    assert jobs.asked == ["a"]
