"""`halo add`: what is asked for is what is stored, or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from halo_scheduler import (
    After,
    Backoff,
    Command,
    Cron,
    Every,
    HttpRequest,
    Limits,
    Manual,
    Once,
    Policy,
    Retry,
)
from halo_scheduler.cli import halo
from halo_scheduler.model import BodyKind, CatchUp, JobStatus, Notify, Redirects
from halo_scheduler.service import Scheduler


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


def _add(*arguments: str) -> Result:
    return CliRunner().invoke(halo, ["add", "job", *arguments])


@pytest.mark.parametrize(
    ("arguments", "schedule"),
    [
        (["--every", "15m"], Every("15m")),
        (["--after", "5m"], After("5m")),
        (["--cron", "0 9 * * 1-5", "--tz", "Europe/Berlin"], Cron("0 9 * * 1-5", timezone="Europe/Berlin")),
        (["--manual"], Manual()),
    ],
)
def test_the_schedule_is_as_asked(arguments: list[str], schedule: object) -> None:
    assert _add(*arguments, "--", "true").exit_code == 0
    with Scheduler.open() as scheduler:
        assert scheduler.list_jobs()[0].schedule == schedule


def test_a_time_may_be_typed() -> None:
    assert _add("--once", "in 2h", "--", "true").exit_code == 0
    with Scheduler.open() as scheduler:
        (job,) = scheduler.list_jobs()
        assert isinstance(job.schedule, Once)


def test_an_anchor_may_be_given() -> None:
    assert _add("--every", "1h", "--anchor", "2030-01-01T00:00Z", "--", "true").exit_code == 0
    with Scheduler.open() as scheduler:
        assert scheduler.list_jobs()[0].anchor_at == 1_893_456_000_000


@pytest.mark.parametrize(
    ("arguments", "action"),
    [
        (["--", "rsync", "-a", "--delete", "x", "y"], Command(argv=("rsync", "-a", "--delete", "x", "y"))),
        (["--shell", "bash", "--", "a | b > c"], Command(line="a | b > c", shell="bash")),  # noqa: S604
        (
            [
                *("--dir", "~/x", "--env", "A=1=2", "--env", "T=${secret:TOKEN}", "--stdin", "in"),
                *("--success-codes", "0,3", "--no-work-code", "75", "--grace", "3s", "--", "x"),
            ],
            Command(
                argv=("x",),
                directory="~/x",
                environment={"A": "1=2", "T": "${secret:TOKEN}"},
                stdin="in",
                success_codes=(0, 3),
                no_work_code=75,
                grace="3s",
            ),
        ),
        (["--http", "GET", "https://example.org/x"], HttpRequest(url="https://example.org/x")),
        (
            [
                *(
                    "--http",
                    "POST",
                    "https://example.org/x",
                    "--header",
                    "X-A: b: c",
                    "--json-body",
                    '{"a": 1}',
                ),
                *("--expect", "200,204", "--redirects", "none"),
            ],
            HttpRequest(
                url="https://example.org/x",
                method="POST",
                headers={"X-A": "b: c"},
                body='{"a": 1}',
                body_kind=BodyKind.JSON,
                expected_statuses=(200, 204),
                redirects=Redirects.NONE,
            ),
        ),
        (
            ["--http", "PUT", "http://example.org/", "--body", "hello"],
            HttpRequest(url="http://example.org/", method="PUT", body="hello"),
        ),
    ],
)
def test_the_action_is_as_asked(arguments: list[str], action: object) -> None:
    done = _add("--manual", *arguments)
    assert done.exit_code == 0, done.output
    with Scheduler.open() as scheduler:
        assert scheduler.list_jobs()[0].action == action


def test_the_policy_is_as_asked() -> None:
    done = _add(
        *(
            "--every",
            "1h",
            "--timeout",
            "none",
            "--retries",
            "3",
            "--retry-delay",
            "10s",
            "--max-errors",
            "0",
        ),
        *("--backoff", "double", "--catch-up", "skip", "--catch-up-max-age", "1d", "--jitter", "5"),
        *("--min-interval", "1m", "--max-interval", "2h", "--notify", "all", "--", "true"),
    )
    assert done.exit_code == 0, done.output
    with Scheduler.open() as scheduler:
        assert scheduler.list_jobs()[0].policy == Policy(
            time_limit=None,
            retry=Retry(attempts=3, delay_ms=10_000),
            max_errors=0,
            backoff=Backoff.double(),
            catch_up=CatchUp.SKIP,
            catch_up_max_age="1d",
            jitter_percent=5,
            limits=Limits(min_ms=60_000, max_ms=7_200_000),
            notify=Notify.ALL,
        )


def test_without_options_the_policy_is_the_usual_one_and_a_request_gets_five_minutes() -> None:
    _add("--manual", "--", "true")
    CliRunner().invoke(halo, ["add", "request", "--manual", "--http", "GET", "http://example.org"])
    with Scheduler.open() as scheduler:
        assert {job.name: job.policy for job in scheduler.list_jobs()} == {
            "job": Policy(),
            "request": Policy(time_limit="5m"),
        }


def test_a_job_may_be_stored_disabled_with_group_and_description() -> None:
    _add("--every", "1h", "--disabled", "--group", "night", "--description", "what for", "--", "true")
    with Scheduler.open() as scheduler:
        (job,) = scheduler.list_jobs()
        assert (job.status, job.group, job.description) == (JobStatus.DISABLED, "night", "what for")


def test_it_says_what_will_happen_and_what_is_missing() -> None:
    done = _add("--every", "15m", "--env", "T=${secret:TOKEN}", "--", "true")
    assert "added job: every 15 minutes\n  next: in 15 min" in done.output
    assert "the secret TOKEN is not set yet: halo secret set TOKEN" in done.output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--manual"], "say what to run"),
        (["--", "true"], "give exactly one of"),
        (["--manual", "--http", "GET", "http://example.org", "--", "true"], "not both"),
        (["--manual", "--http", "GET", "ftp://example.org"], "must begin with http"),
        (["--manual", "--http", "GET", "http://me:pw@example.org"], "user name or password"),
        (["--manual", "--http", "GET", "http://x", "--dir", "/"], "--dir goes with a command only"),
        (["--manual", "--http", "GET", "http://x", "--body", "a", "--json-body", "1"], "either --body"),
        (["--manual", "--http", "POST", "http://x", "--json-body", "{"], "body: is not JSON"),
        (["--manual", "--header", "a: b", "--", "true"], "--header goes with --http only"),
        (["--manual", "--shell", "sh", "--", "a", "b"], "one argument, in quotes"),
        (["--manual", "--env", "A", "--", "true"], "has no '='"),
        (["--manual", "--success-codes", "a", "--", "true"], "whole numbers"),
        (["--manual", "--", "curl", "-u", "${secret:PW}"], "everybody can read a program's arguments"),
        (["--manual", "--timeout", "soon", "--", "true"], "time_limit"),
        (["--manual", "--jitter", "50", "--", "true"], "jitter_percent"),
        (["--once", "2020-01-01 00:00", "--", "true"], "in the past"),
    ],
)
def test_wrong_use_is_refused_and_nothing_is_stored(arguments: list[str], sentence: str) -> None:
    done = _add(*arguments)
    assert done.exit_code != 0
    assert sentence in f"{done.output} {done.exception}"
    with Scheduler.open() as scheduler:
        assert scheduler.list_jobs() == []


def test_a_name_is_taken_once() -> None:
    _add("--manual", "--", "true")
    assert "already a job named 'job'" in str(_add("--manual", "--", "true").exception)
