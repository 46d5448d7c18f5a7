"""`halo edit`: what is given is changed, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from halo_scheduler import After, Callback, Command, Cron, Every, HttpRequest, Manual, Policy, Prompt, Retry
from halo_scheduler.cli import halo
from halo_scheduler.errors import SchedulerError
from halo_scheduler.model import (
    BodyKind,
    Caps,
    Follower,
    FollowOn,
    Job,
    Limits,
    Load,
    Network,
    PathExists,
    Redirects,
    StatusReason,
)
from halo_scheduler.model.actions import FolderSource, GithubSource
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.store.events import EventKind

_COMMAND = Command(
    argv=("rsync", "-a"), directory="/srv", environment={"A": "1"}, grace="5s", no_work_code=75, stdin="x"
)
_LINE = Command(line="a | b", shell="sh")  # noqa: S604 - a value, not a call
_PROMPT = Prompt(text="look", agent="codex", directory="/srv", work_source=FolderSource(path="/tasks"))
_REQUEST = HttpRequest(
    url="http://x.example/", method="POST", headers={"A": "b"}, body="hello", expected_statuses=(204,)
)
_GITHUB = GithubSource(repository="me/shop", token="TOKEN", closes=True)  # noqa: S106 - a name


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


def _edit(*arguments: str) -> Result:
    return CliRunner().invoke(halo, ["edit", "job", *arguments])


def _job(job_id: str) -> Job:
    with Scheduler.open() as scheduler:
        job = scheduler.get_job(job_id)
    assert job is not None
    return job


def _add(**fields: Any) -> str:
    with Scheduler.open() as scheduler:
        return scheduler.add_job(**{"name": "job", "schedule": Manual(), "action": _COMMAND, **fields})


@pytest.mark.parametrize(
    ("before", "arguments", "after"),
    [
        (Every("1h"), ["--after", "5m"], After("5m")),
        (Every("1h"), ["--manual"], Manual()),
        (Cron("0 9 * * *", timezone="UTC"), ["--cron", "0 8 * * *"], Cron("0 8 * * *", timezone="UTC")),
        (Cron("0 9 * * *", timezone="UTC"), ["--tz", "none"], Cron("0 9 * * *")),
        (Cron("0 9 * * *"), ["--tz", "Asia/Tokyo"], Cron("0 9 * * *", timezone="Asia/Tokyo")),
        (Cron("0 9 * * *"), ["--group", "night"], Cron("0 9 * * *")),
    ],
)
def test_the_schedule_is_replaced_as_given(before: Any, arguments: list[str], after: object) -> None:
    job_id = _add(schedule=before, description="kept")
    assert _edit(*arguments).exit_code == 0
    assert (_job(job_id).schedule, _job(job_id).description) == (after, "kept")


def test_an_interval_keeps_its_anchor_until_another_is_given() -> None:
    job_id = _add(schedule=Every("1h"), anchor_at=1_000)
    assert _edit("--every", "2h").exit_code == 0
    assert (_job(job_id).schedule, _job(job_id).anchor_at) == (Every("2h"), 1_000)
    assert _edit("--anchor", "2030-01-01T00:00Z").exit_code == 0
    assert _job(job_id).anchor_at == 1_893_456_000_000


@pytest.mark.parametrize(
    ("before", "arguments", "changes"),
    [
        (_COMMAND, ["--", "tar", "-x"], {"argv": ("tar", "-x")}),
        (_COMMAND, ["--shell", "sh", "--", "a | b"], {"argv": (), "line": "a | b", "shell": "sh"}),
        (_LINE, ["--shell", "bash"], {"shell": "bash"}),
        (_LINE, ["--", "ls"], {"argv": ("ls",), "line": "", "shell": ""}),
        (_COMMAND, ["--env", "B=2", "--env", "A=3"], {"environment": {"A": "3", "B": "2"}}),
        (_COMMAND, ["--no-env", "--env", "B=2"], {"environment": {"B": "2"}}),
        (_COMMAND, ["--no-work-code", "none", "--stdin", ""], {"no_work_code": None, "stdin": ""}),
        (_COMMAND, ["--success-codes", "0,1", "--grace", "1s"], {"success_codes": (0, 1), "grace": "1s"}),
        (_COMMAND, ["--work-folder", "/new"], {"work_source": FolderSource(path="/new")}),
        (_PROMPT, ["--prompt", "read", "--agent", ""], {"text": "read", "agent": ""}),
        (_PROMPT, ["--no-work"], {"work_source": None}),
        (
            Prompt(text="x", work_source=_GITHUB),
            ["--work-ready", "todo", "--no-work-close"],
            {"work_source": GithubSource(repository="me/shop", token="TOKEN", ready="todo")},  # noqa: S106
        ),
        (
            Prompt(text="x", work_source=_GITHUB),
            ["--work-github", "me/other"],
            {"work_source": GithubSource(repository="me/other", token="TOKEN", closes=True)},  # noqa: S106
        ),
        (_REQUEST, ["--http", "PUT", "http://y.example/"], {"method": "PUT", "url": "http://y.example/"}),
        (_REQUEST, ["--json-body", "{}"], {"body": "{}", "body_kind": BodyKind.JSON}),
        (_REQUEST, ["--header", "C: d"], {"headers": {"A": "b", "C": "d"}}),
        (_REQUEST, ["--no-headers", "--body", ""], {"headers": {}, "body": ""}),
        (
            _REQUEST,
            ["--expect", "any", "--redirects", "any"],
            {"expected_statuses": (), "redirects": Redirects.ANY},
        ),
    ],
)
def test_only_the_given_fields_of_an_action_are_changed(
    before: Any, arguments: list[str], changes: Mapping[str, Any]
) -> None:
    job_id = _add(action=before)
    done = _edit(*arguments)
    assert done.exit_code == 0, (done.output, done.exception)
    assert _job(job_id).action.to_dict() == replace(before, **changes).to_dict()


def test_a_command_that_becomes_a_prompt_keeps_its_directory_and_a_request_keeps_nothing() -> None:
    job_id = _add()
    assert _edit("--prompt", "look").exit_code == 0
    assert _job(job_id).action == Prompt(
        text="look", directory="/srv", environment={"A": "1"}, grace="5s", no_work_code=75
    )
    assert _edit("--http", "GET", "http://x.example/").exit_code == 0
    assert _job(job_id).action == HttpRequest(url="http://x.example/")


def test_a_policy_keeps_omitted_fields_and_none_removes_a_limit() -> None:
    policy = Policy(
        time_limit="1h",
        retry=Retry(attempts=2, delay_ms=5_000),
        limits=Limits(min_ms=60_000, max_ms=120_000),
        caps=Caps(runs_per_day=5, cost_per_day=1),
        keep_awake=True,
        reads_lines=True,
        assistants_may_run=False,
    )
    job_id = _add(policy=policy)
    given = ("--timeout", "none", "--retries", "3", "--min-interval", "none", "--max-runs-per-day", "none")
    assert _edit(*given, "--no-keep-awake", "--no-read-lines", "--assistants-may-run").exit_code == 0
    assert _job(job_id).policy == Policy(
        time_limit=None,
        retry=Retry(attempts=3, delay_ms=5_000),
        limits=Limits(max_ms=120_000),
        caps=Caps(cost_per_day=1),
        reads_lines=False,
    )


def test_conditions_are_added_replaced_and_dropped() -> None:
    disk, load = PathExists(path="/mnt/disk"), Load(below=2)
    job_id = _add(policy=Policy(conditions=(disk, load), condition_deadline="1h"))
    assert _edit("--if-reachable", "nas:22", "--if-load-below", "1", "--if-path", "/mnt/disk").exit_code == 0
    assert set(_job(job_id).policy.conditions) == {disk, Load(below=1), Network(host="nas", port=22)}
    assert _edit("--no-conditions", "--if-path", "/mnt/disk").exit_code == 0
    assert _job(job_id).policy == Policy(conditions=(disk,))
    assert _edit("--no-conditions").exit_code == 0
    assert _job(job_id).policy == Policy()


def test_next_jobs_are_added_changed_and_removed() -> None:
    with Scheduler.open() as scheduler:
        first, second = (scheduler.add_job(name, Manual()) for name in ("report", "alarm"))
    job_id = _add(followers=(Follower(job_id=first),))
    done = _edit("--on-failure", "alarm", "--then", "report")
    assert _job(job_id).followers == (
        Follower(job_id=first, on=FollowOn.ALWAYS),
        Follower(job_id=second, on=FollowOn.FAILURE),
    )
    assert "then      report, after each run; alarm, after each failure\n" in done.output
    assert _edit("--no-followers").output == "changed job\n  then      none\n"
    assert _job(job_id).followers == ()


def test_name_group_description_and_enabling() -> None:
    job_id = _add(group="night")
    done = _edit("--rename", "backup", "--no-group", "--description", "all of it", "--disabled")
    job = _job(job_id)
    assert (job.name, job.group, job.description, job.enabled) == ("backup", None, "all of it", False)
    assert done.output.splitlines() == [
        "changed backup",
        "  status    disabled",
        "  about     all of it",
        "  next      disabled",
        "  group     none",
    ]
    assert CliRunner().invoke(halo, ["edit", "backup", "--enabled", "--group", "day"]).exit_code == 0
    assert (_job(job_id).enabled, _job(job_id).group) == (True, "day")


def test_an_edit_without_a_difference_changes_nothing() -> None:
    job_id = _add(schedule=Every("1h"))
    done = _edit("--every", "1h", "--dir", "/srv")
    assert (done.exit_code, done.output) == (0, "no changes to job\n")
    with Scheduler.open() as scheduler:
        assert EventKind.JOB_EDITED not in {event.kind for event in scheduler._store.events.of_job(job_id)}


def test_editing_shows_the_next_run_and_missing_programs() -> None:
    _add(schedule=Every("1h"))
    done = _edit("--every", "5s", "--env", "T=${secret:TOKEN}")
    assert "  when      every 10 seconds\n" in done.output
    assert "▲ 5s is too short" in done.output
    assert "the secret TOKEN isn't set; set it with: halo secret set TOKEN" in done.output


@pytest.mark.parametrize(
    ("before", "arguments", "sentence"),
    [
        (_COMMAND, [], "give at least one option"),
        (_COMMAND, ["--header", "a: b"], "--header needs --http"),
        (_COMMAND, ["--agent", "codex"], "--agent needs --prompt"),
        (_COMMAND, ["--shell", "sh"], "give the line as one quoted argument"),
        (_COMMAND, ["--tz", "UTC"], "--tz needs --cron"),
        (_COMMAND, ["--anchor", "9:00"], "--anchor needs --every"),
        (_COMMAND, ["--work-token", "X"], "--work-token needs --work-github"),
        (_COMMAND, ["--if-deadline", "1h"], "--if-deadline needs a condition"),
        (_COMMAND, ["--group", "a", "--no-group"], "give either --group or --no-group"),
        (_COMMAND, ["--on-success", "other", "--then", "other"], "use --then to run it after every run"),
        (_COMMAND, ["--rename", "other"], "already a job named 'other'"),
        (_COMMAND, ["--then", "job"], "a job cannot run after itself"),
        (_COMMAND, ["--then", "ohter"], "did you mean 'other'?"),
        (_REQUEST, ["--dir", "/"], "--dir needs a command or a prompt"),
        (_REQUEST, ["--stdin", "x"], "--stdin needs a command"),
        (Callback("f"), ["--dir", "/"], "--dir needs a command, a request or a prompt"),
    ],
)
def test_wrong_use_is_refused_and_nothing_is_changed(
    before: Any, arguments: list[str], sentence: str
) -> None:
    with Scheduler.open() as scheduler:
        scheduler.add_job("other", Manual())
    job = _job(_add(action=before))
    done = _edit(*arguments)
    assert done.exit_code != 0
    assert sentence in f"{done.output} {done.exception}"
    assert _job(job.id) == job


def test_a_job_that_was_changed_meanwhile_is_not_overwritten() -> None:
    job_id = _add()
    seen = _job(job_id).spec
    _edit("--description", "from elsewhere")
    with (
        Scheduler.open() as scheduler,
        pytest.raises(SchedulerError, match="changed elsewhere in the meantime"),
    ):
        scheduler.update_job(job_id, seen=seen, schedule=Every("1h"))
    assert (_job(job_id).schedule, _job(job_id).description) == (Manual(), "from elsewhere")


def test_help_has_the_options_in_sections_and_no_usual_values() -> None:
    changing, adding = (CliRunner().invoke(halo, [name, "--help"]).output for name in ("edit", "add"))
    titles = ["Schedule:", "Action:", "Conditions (a due run waits until all are met):", "Follow-up jobs:"]
    for text in (changing, adding):
        assert sorted(titles, key=text.index) == titles
        assert text.index("Examples:") < text.index("Schedule:")
    assert "Exit codes that mean success. [0]" in adding
    assert "Exit codes that mean success." in changing
    assert "Exit codes that mean success. [0]" not in changing
    assert "--rename" not in adding


def test_enabling_a_job_that_errors_disabled_resumes_it() -> None:
    with Scheduler.open() as scheduler:
        job_id = scheduler.add_job("job", Every("1h"), _COMMAND)
        record = scheduler._store.jobs.require(job_id)
        with scheduler._store.transaction():
            disabled = record.evolve(disabled_reason=StatusReason.ERRORS, errors=5, next_run_at=None)
            scheduler._store.jobs.save_states([disabled])
    done = _edit("--enabled")
    assert (done.exit_code, done.output.splitlines()[0]) == (0, "changed job")
    job = _job(job_id)
    assert (job.enabled, job.errors, job.status_reason) == (True, 0, None)
    assert _edit("--enabled").output == "no changes to job\n"
