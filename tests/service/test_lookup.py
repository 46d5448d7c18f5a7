"""Finding the job that is meant."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from halo_scheduler import Cron, JobNotFoundError, Manual
from halo_scheduler.service.lookup import find_job, find_removed
from halo_scheduler.service.scheduler import Scheduler


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[Scheduler]:
    with Scheduler.open(tmp_path / "halo.db") as scheduler:
        yield scheduler


def _refusal(scheduler: Scheduler, wanted: str, *, also_removed: bool = False) -> str:
    with pytest.raises(JobNotFoundError) as caught:
        find_job(scheduler, wanted, also_removed=also_removed)
    return str(caught.value)


@pytest.mark.parametrize("wanted", ["backup", "abcdef-1", "abcdef"])
def test_a_job_is_found_by_name_id_or_id_prefix(scheduler: Scheduler, wanted: str) -> None:
    scheduler.add_job("backup", Manual(), job_id="abcdef-1")
    scheduler.add_job("report", Manual(), job_id="fedcba-1")
    assert find_job(scheduler, wanted).name == "backup"


def test_an_id_takes_precedence_over_a_name_and_a_name_over_a_prefix(scheduler: Scheduler) -> None:
    scheduler.add_job("first", Manual(), job_id="abcd-1")
    scheduler.add_job("abcd-1", Manual(), job_id="abcd-2")
    scheduler.add_job("abcd", Manual(), job_id="other")
    assert find_job(scheduler, "abcd-1").name == "first"
    assert find_job(scheduler, "abcd").id == "other"


def test_an_ambiguous_prefix_lists_its_jobs(scheduler: Scheduler) -> None:
    for number in range(7):
        scheduler.add_job(f"job {number}", Manual(), job_id=f"abcdefgh-{number}")
    assert _refusal(scheduler, "abcd") == (
        "7 jobs have an id that begins with 'abcd': job 0 (abcdefgh…), job 1 (abcdefgh…), job 2 (abcdefgh…), "
        "job 3 (abcdefgh…), job 4 (abcdefgh…), …"
    )


def test_three_characters_are_too_short_for_a_prefix(scheduler: Scheduler) -> None:
    scheduler.add_job("backup", Manual(), job_id="abcdef")
    assert _refusal(scheduler, "abc") == "there is no job 'abc'"
    assert _refusal(scheduler, "") == "there is no job ''"


def test_a_group_suggests_its_own_jobs(scheduler: Scheduler) -> None:
    scheduler.add_job("issue-processor-2/process-issues", Manual(), group="issue-processor-2")
    scheduler.add_job("issue-processor/process-issues", Manual())
    assert _refusal(scheduler, "issue-processor") == (
        "there is no job 'issue-processor'; did you mean 'issue-processor/process-issues'?"
    )
    for number in range(6):
        scheduler.add_job(f"job {number}", Manual(), group="issue-processor")
    assert _refusal(scheduler, "Issue-Processor") == (
        "there is no job 'Issue-Processor'; jobs of this group: issue-processor/process-issues, job 0, job 1, "
        "job 2, job 3, …"
    )


def test_the_nearest_name_is_suggested_case_insensitively(scheduler: Scheduler) -> None:
    scheduler.add_job("Nightly Backup", Manual())
    assert _refusal(scheduler, "nightly bakcup").endswith("; did you mean 'Nightly Backup'?")


@pytest.mark.parametrize("wanted", ["x" * 100_000, "\udcff", "\x1b]0;evil\x07", "%", "'; DROP TABLE x; --"])
def test_any_input_gives_a_short_sentence_in_one_line(scheduler: Scheduler, wanted: str) -> None:
    sentence = _refusal(scheduler, wanted, also_removed=True)
    assert sentence.startswith("there is no job ")
    assert len(sentence) < 200
    assert sentence.isprintable()


def test_jobs_in_the_trash_are_found_only_by_trash_commands(scheduler: Scheduler) -> None:
    older = scheduler.add_job("backup", Manual(), job_id="older")
    scheduler.remove_job(older)
    newer = scheduler.add_job("backup", Manual(), job_id="newer")
    scheduler.remove_job(newer)
    assert _refusal(scheduler, "backup") == (
        "there is no job 'backup'; it is in the trash, restore it with: halo trash restore backup"
    )
    assert find_job(scheduler, "older", also_removed=True).id == older
    # Both were removed within a moment: then the one of them.
    assert find_job(scheduler, "backup", also_removed=True).name == "backup"
    assert find_removed(scheduler, "newer").id == newer
    there = scheduler.add_job("backup", Manual(), job_id="there")
    assert find_job(scheduler, "backup", also_removed=True).id == there
    with pytest.raises(JobNotFoundError, match="no job 'there' in the trash"):
        find_removed(scheduler, "there")


def test_a_job_that_cannot_be_read_is_reported(scheduler: Scheduler) -> None:
    job_id = scheduler.add_job("broken", Cron("0 9 * * *", timezone="Europe/Berlin"))
    scheduler._store.database.rows(
        "UPDATE scheduler_jobs SET schedule = ? WHERE id = ?",
        ['{"kind":"cron","cron":"0 9 * * *","timezone":"Mars/Base"}', job_id],
    )
    assert _refusal(scheduler, "broken") == (
        "the job 'broken' cannot be read here; find out why with: halo doctor"
    )
