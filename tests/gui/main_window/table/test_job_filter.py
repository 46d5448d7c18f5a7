"""Which jobs the table shows."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from job_values import make_job, row_of

from halo_scheduler import Callback, Command, Cron, HttpRequest, Prompt
from halo_scheduler.model import Job, JobStatus, StatusReason, WaitingFor
from ui.main_window.table.job_rows import (
    JobFilter,
    KindChoice,
    StatusChoice,
    count_choices,
    hidden_match,
    match_in,
)

_DUMP = Command(argv=("pg_dump", "-Fc", "shop"))
_PING = HttpRequest(url="https://example.com/health")
_MAIL = Prompt(text="Sum up the mail")


def _found(jobs: Sequence[Job], chosen: JobFilter) -> list[str]:
    return [row.job.name for row in chosen.choose([row_of(job) for job in jobs])]


@pytest.mark.parametrize("text", ["STRASSE", "straße", " clean ", "home", "two\nlines"])
def test_names_groups_and_descriptions_are_searched_case_insensitively(text: str) -> None:
    wanted = make_job("Straße", group="Home", description="clean up\ntwo\nlines")
    assert _found([wanted, make_job("other")], JobFilter(text=text)) == ["Straße"]


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        (set(), ["ready", "running", "waiting", "failing", "paused", "off", "gave up"]),
        ({StatusChoice.RUNNING}, ["running"]),
        ({StatusChoice.WAITING}, ["waiting"]),
        ({StatusChoice.FAILING}, ["failing", "gave up"]),
        ({StatusChoice.PAUSED, StatusChoice.RUNNING}, ["running", "paused"]),
        ({StatusChoice.OFF}, ["off", "gave up"]),
    ],
)
def test_statuses_are_chosen(statuses: set[StatusChoice], expected: list[str]) -> None:
    jobs = [
        make_job("ready"),
        make_job("running", status=JobStatus.RUNNING),
        make_job("waiting", waiting_for=WaitingFor.AT_CAPACITY),
        make_job("failing", errors=1),
        make_job("paused", status=JobStatus.PAUSED),
        make_job("off", status=JobStatus.DISABLED, status_reason=StatusReason.USER),
        make_job("gave up", status=JobStatus.DISABLED, status_reason=StatusReason.ERRORS),
    ]
    assert _found(jobs, JobFilter(statuses=frozenset(statuses))) == expected


def test_jobs_with_questions_are_found_in_every_status() -> None:
    rows = [
        row_of(make_job("ready")),
        row_of(make_job("asks"), asks=True),
        row_of(make_job("asks and is paused", status=JobStatus.PAUSED), asks=True),
    ]
    found = JobFilter(statuses=frozenset({StatusChoice.ASKING})).choose(rows)
    assert [row.job.name for row in found] == ["asks", "asks and is paused"]


def test_a_group_is_chosen_together_with_a_text() -> None:
    jobs = [make_job("a", group="web"), make_job("ab", group="web"), make_job("abc", group="home")]
    assert _found(jobs, JobFilter(text="ab", group="web")) == ["ab"]


def test_only_an_open_filter_leaves_nothing_out() -> None:
    assert JobFilter().is_open
    assert not JobFilter(text="a").is_open


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("PG_DUMP", "dump"),
        ("example.com", "ping"),
        ("the mail", "mail"),
        ("mon–fri", "dump"),
        ("weekdays", "dump"),
    ],
)
def test_commands_urls_prompts_and_schedules_are_searched(text: str, name: str) -> None:
    jobs = [
        make_job("dump", action=_DUMP, schedule=Cron("0 9 * * 1-5")),
        make_job("ping", action=_PING),
        make_job("mail", action=_MAIL),
    ]
    assert _found(jobs, JobFilter(text=text)) == [name]


def test_kinds_are_chosen_and_all_choices_counted() -> None:
    jobs = [
        make_job("dump", action=_DUMP, errors=1),
        make_job("ping", action=_PING),
        make_job("ping 2", action=_PING, status=JobStatus.PAUSED),
        make_job("mail", action=_MAIL),
        make_job("function", action=Callback(name="tidy")),
    ]
    assert _found(jobs, JobFilter(kinds=frozenset({KindChoice.HTTP, KindChoice.PROMPT}))) == [
        *("ping", "ping 2", "mail"),
    ]
    assert count_choices(map(row_of, jobs)) == {
        KindChoice.COMMAND: 1,
        KindChoice.HTTP: 2,
        KindChoice.PROMPT: 1,
        KindChoice.FUNCTION: 1,
        StatusChoice.FAILING: 1,
        StatusChoice.PAUSED: 1,
    }


@pytest.mark.parametrize(
    ("text", "words", "found"),
    [("Backup", "up", (4, 6)), ("Backup", "x", None), ("Backup", "", None), ("Straße", "str", None)],
)
def test_a_match_has_a_place(text: str, words: str, found: tuple[int, int] | None) -> None:
    assert match_in(text, words) == found


def test_a_hidden_match_is_shown() -> None:
    row = row_of(
        make_job("nightly", action=Command(argv=("/usr/local/bin/pg_dump", "shop")), description="Shop")
    )
    assert hidden_match(row, "pg_dump") == "…bin/pg_dump shop"
    assert hidden_match(row, "nothing") == ""
