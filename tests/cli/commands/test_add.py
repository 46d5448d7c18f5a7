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
    JobNotFoundError,
    Limits,
    Manual,
    Once,
    Policy,
    Prompt,
    Reminder,
    Retry,
)
from halo_scheduler.cli import halo
from halo_scheduler.conditions.probes import ConditionState
from halo_scheduler.model import (
    BodyKind,
    Caps,
    CatchUp,
    Follower,
    FollowOn,
    Idle,
    InQuietTime,
    JobStatus,
    Load,
    MainsPower,
    Network,
    Notify,
    PathExists,
    Redirects,
)
from halo_scheduler.model.actions import FolderSource, GithubSource
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.service.session import Session


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


def test_adding_a_job_warns_if_no_engine_runs() -> None:
    done = _add("--every", "15m", "--", "true")
    assert done.stderr == '▲ Halo isn\'t running; start it with "halo" or "halo daemon"\n'
    assert CliRunner().invoke(halo, ["add", "other", "--manual", "--", "true"]).stderr == ""


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
        (["--remind", "Stand up"], Reminder(title="Stand up")),
        (["--remind", "Stand up\nand stretch"], Reminder(title="Stand up", text="and stretch")),
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
        (["--prompt", "look at {{date}}"], Prompt(text="look at {{date}}")),
        (
            [
                *("--prompt", "{{work.title}}", "--agent", "codex", "--directory", "~/x", "--env", "A=1"),
                *("--success-codes", "0,3", "--no-work-code", "75", "--needs-input-code", "76"),
                *("--grace", "3s", "--work-folder", "~/tasks"),
            ],
            Prompt(
                text="{{work.title}}",
                agent="codex",
                directory="~/x",
                environment={"A": "1"},
                success_codes=(0, 3),
                no_work_code=75,
                needs_input_code=76,
                grace="3s",
                work_source=FolderSource(path="~/tasks"),
            ),
        ),
        (
            [
                *("--work-github", "me/shop", "--work-token", "GITHUB", "--work-ready", "todo"),
                *("--work-in-progress", "doing", "--work-url", "https://git.example/api/v3", "--work-close"),
                *("--", "./fix"),
            ],
            Command(
                argv=("./fix",),
                work_source=GithubSource(
                    repository="me/shop",
                    token="GITHUB",  # noqa: S106 - a name
                    ready="todo",
                    in_progress="doing",
                    base_url="https://git.example/api/v3",
                    closes=True,
                ),
            ),
        ),
        (
            ["--work-github", "me/shop", "--", "./fix"],
            Command(argv=("./fix",), work_source=GithubSource(repository="me/shop")),
        ),
    ],
)
def test_the_action_is_as_asked(arguments: list[str], action: object) -> None:
    done = _add("--manual", *arguments)
    assert done.exit_code == 0, done.output
    with Scheduler.open() as scheduler:
        assert scheduler.list_jobs()[0].action == action


def test_a_prompt_may_be_in_a_file_or_on_standard_input(tmp_path: Path) -> None:
    (tmp_path / "prompt.md").write_text("from a file, größer\n", encoding="utf-8")
    assert _add("--manual", "--prompt", f"@{tmp_path}/prompt.md").exit_code == 0
    done = CliRunner().invoke(halo, ["add", "other", "--manual", "--prompt", "-"], input="from a pipe\n")
    assert done.exit_code == 0
    with Scheduler.open() as scheduler:
        assert {job.name: job.action for job in scheduler.list_jobs()} == {
            "job": Prompt(text="from a file, größer\n"),
            "other": Prompt(text="from a pipe\n"),
        }


def test_a_folder_of_work_means_the_same_wherever_the_jobs_are_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert _add("--manual", "--work-folder", "tasks", "--", "true").exit_code == 0
    with Scheduler.open() as scheduler:
        (job,) = scheduler.list_jobs()
        assert isinstance(job.action, Command)
        assert job.action.work_source == FolderSource(path=str(tmp_path / "tasks"))


@pytest.mark.parametrize(
    ("options", "reads_lines"), [([], None), (["--read-lines"], True), (["--no-read-lines"], False)]
)
def test_daily_limits_and_reading_of_directives_are_stored_as_given(
    options: list[str], reads_lines: bool | None
) -> None:
    caps = ("--max-runs-per-day", "5", "--max-cost-per-day", "1.5")
    assert _add("--manual", *caps, *options, "--prompt", "x").exit_code == 0
    with Scheduler.open() as scheduler:
        (job,) = scheduler.list_jobs()
        caps_given = Caps(runs_per_day=5, cost_per_day=1.5)
        assert job.policy == Policy(caps=caps_given, reads_lines=reads_lines, notify=Notify.SETTINGS)
        assert job.reads_lines is (True if reads_lines is None else reads_lines)


def test_conditions_and_their_options_are_stored_as_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    observable = ConditionState(is_observable=True, holds=True, sentence="")
    monkeypatch.setattr(Session, "check_condition", lambda *_: observable)
    done = _add(
        *("--manual", "--if-mains", "--if-network", "--if-reachable", "nas.local:22"),
        *("--if-reachable", "[fd00::1]:443", "--if-idle", "10m", "--if-load-below", "1.5"),
        *("--if-path", "/mnt/backup", "--if-path", "disk", "--if-deadline", "1h"),
        *("--keep-awake", "--no-assistants-may-run", "--in-quiet-time", "skip", "--", "true"),
    )
    assert done.exit_code == 0, done.output
    with Scheduler.open() as scheduler:
        assert scheduler.list_jobs()[0].policy == Policy(
            conditions=(
                *(MainsPower(), Network(), Idle(idle="10m"), Load(below=1.5)),
                *(Network(host="nas.local", port=22), Network(host="fd00::1", port=443)),
                *(PathExists(path="/mnt/backup"), PathExists(path=str(tmp_path / "disk"))),
            ),
            condition_deadline="1h",
            keep_awake=True,
            assistants_may_run=False,
            in_quiet_time=InQuietTime.SKIP,
            notify=Notify.SETTINGS,
        )


def test_jobs_that_follow_are_named_like_everywhere() -> None:
    with Scheduler.open() as scheduler:
        first, second, third = (scheduler.add_job(name, Manual()) for name in ("report", "alarm", "tidy"))
    ends = ("--on-success", "report", "--on-failure", second, "--then", third[:8])
    assert _add("--manual", *ends, "--", "true").exit_code == 0
    with Scheduler.open() as scheduler:
        (job,) = scheduler.list_jobs(text="job")
        assert job.followers == (
            Follower(job_id=first, on=FollowOn.SUCCESS),
            Follower(job_id=second, on=FollowOn.FAILURE),
            Follower(job_id=third, on=FollowOn.ALWAYS),
        )
    done = CliRunner().invoke(halo, ["add", "other", "--manual", "--then", "reprot", "--", "true"])
    assert isinstance(done.exception, JobNotFoundError)
    assert "did you mean 'report'?" in str(done.exception)


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
        *(
            "--backoff",
            "double",
            "--catch-up",
            "skip",
            "--catch-up-limit",
            "7",
            "--catch-up-max-age",
            "1d",
            "--jitter",
            "5",
        ),
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
            catch_up_limit=7,
            catch_up_max_age="1d",
            jitter_percent=5,
            limits=Limits(min_ms=60_000, max_ms=7_200_000),
            notify=Notify.ALL,
        )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--jitter", "1h", "--fixed-jitter"), Policy(jitter="1h", is_jitter_fixed=True)),
        (("--jitter", "7%"), Policy(jitter_percent=7)),
        (("--jitter", "none"), Policy()),
    ],
)
def test_a_random_delay_is_a_duration_or_a_percentage(options: tuple[str, ...], expected: Policy) -> None:
    done = _add("--every", "1d", "--jitter", "5", "--", "true")
    assert done.exit_code == 0, done.output
    edited = CliRunner().invoke(halo, ["edit", "job", *options])
    assert edited.exit_code == 0, edited.output
    with Scheduler.open() as scheduler:
        policy = scheduler.list_jobs()[0].policy
    assert (policy.jitter, policy.jitter_percent) == (expected.jitter, expected.jitter_percent)
    assert policy.is_jitter_fixed is expected.is_jitter_fixed


def test_without_options_the_policy_follows_the_settings_and_a_request_gets_five_minutes() -> None:
    with Scheduler.open() as scheduler:
        scheduler.settings.change(default_time_limit="3h")
    _add("--manual", "--", "true")
    CliRunner().invoke(halo, ["add", "request", "--manual", "--http", "GET", "http://example.org"])
    with Scheduler.open() as scheduler:
        assert {job.name: job.policy for job in scheduler.list_jobs()} == {
            "job": Policy(time_limit="3h", notify=Notify.SETTINGS),
            "request": Policy(time_limit="5m", notify=Notify.SETTINGS),
        }


def test_a_job_may_be_stored_disabled_with_group_and_description() -> None:
    _add("--every", "1h", "--disabled", "--group", "night", "--description", "what for", "--", "true")
    with Scheduler.open() as scheduler:
        (job,) = scheduler.list_jobs()
        assert (job.status, job.group, job.description) == (JobStatus.DISABLED, "night", "what for")


def test_manual_is_shown_once_for_a_manual_job() -> None:
    assert _add("--manual", "--", "true").output == "added job: manual only\n"
    disabled = CliRunner().invoke(halo, ["add", "other", "--manual", "--disabled", "--", "true"])
    assert disabled.output == "added other: manual only\n  next: disabled\n"


def test_adding_shows_the_next_run_and_missing_programs() -> None:
    done = _add("--every", "15m", "--env", "T=${secret:TOKEN}", "--", "true")
    assert "added job: every 15 minutes\n  next: in 15 min" in done.output
    assert "the secret TOKEN isn't set; set it with: halo secret set TOKEN" in done.output
    token = ("--work-github", "a/b", "--work-token", "GITHUB")
    done = CliRunner().invoke(halo, ["add", "other", "--manual", *token, "--prompt", "x"])
    assert "the secret GITHUB isn't set; set it with: halo secret set GITHUB" in done.output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--manual"], "give an action"),
        (["--", "true"], "give a schedule: --when, --every"),
        (["--manual", "--http", "GET", "http://example.org", "--", "true"], "give only one of"),
        (["--manual", "--remind", "x", "--prompt", "y"], "give only one of"),
        (["--manual", "--remind", " "], "--remind: is empty"),
        (["--manual", "--remind", "x", "--dir", "/"], "--dir needs a command, a request or a prompt"),
        (["--manual", "--http", "GET", "ftp://example.org"], "must begin with http"),
        (["--manual", "--http", "GET", "http://me:pw@example.org"], "user name or password"),
        (
            ["--manual", "--http", "GET", "http://x", "--dir", "/"],
            "--dir needs a command or a prompt",
        ),
        (["--manual", "--http", "GET", "http://x", "--body", "a", "--json-body", "1"], "either --body"),
        (["--manual", "--http", "POST", "http://x", "--json-body", "{"], "body: is not JSON"),
        (["--manual", "--header", "a: b", "--", "true"], "--header needs --http"),
        (["--manual", "--shell", "sh", "--", "a", "b"], "one quoted argument"),
        (["--manual", "--env", "A", "--", "true"], "has no '='"),
        (["--manual", "--success-codes", "a", "--", "true"], "whole numbers"),
        (["--manual", "--", "curl", "-u", "${secret:PW}"], "everybody can read a program's arguments"),
        (["--manual", "--timeout", "soon", "--", "true"], "--timeout: "),
        (["--manual", "--jitter", "50", "--", "true"], "--jitter: "),
        (["--once", "2020-01-01 00:00", "--", "true"], "in the past"),
        (["--manual", "--prompt", "x", "--", "true"], "give only one of"),
        (["--manual", "--prompt", "x", "--http", "GET", "http://x"], "give only one of"),
        (["--manual", "--prompt", "x", "--stdin", "y"], "--stdin needs a command"),
        (["--manual", "--prompt", "x", "--body", "y"], "--body needs --http"),
        (["--manual", "--agent", "claude", "--", "true"], "--agent needs --prompt"),
        (["--manual", "--prompt", "x", "--agent", "nobody"], "there is no agent named 'nobody'"),
        (["--manual", "--prompt", "{{dat}}"], "did you mean {{date}}?"),
        (["--manual", "--prompt", "{{work.title}}"], "needs a work queue"),
        (["--manual", "--prompt", "${secret:X}"], "secrets cannot be used here"),
        (["--manual", "--prompt", "@/nowhere/x"], "cannot read the prompt"),
        (["--manual", "--prompt", "@/bin/ls"], "is not UTF-8 text"),
        (
            ["--manual", "--http", "GET", "http://x", "--work-folder", "/x"],
            "--work-folder needs a command",
        ),
        (
            ["--manual", "--http", "GET", "http://x", "--no-work-code", "0"],
            "--no-work-code needs a command",
        ),
        (["--manual", "--work-folder", "/x", "--work-github", "a/b", "--", "x"], "either --work-folder or"),
        (["--manual", "--work-token", "X", "--", "true"], "--work-token needs --work-github"),
        (
            ["--manual", "--work-folder", "/x", "--work-close", "--", "x"],
            "--work-close needs --work-github",
        ),
        (["--manual", "--work-github", "shop", "--", "true"], "must be like owner/name"),
        (["--manual", "--work-folder", "", "--", "true"], "choose the folder that holds ready/"),
        (["--manual", "--max-runs-per-day", "0", "--", "true"], "--max-runs-per-day: must be"),
        (["--manual", "--max-cost-per-day", "nan", "--", "true"], "--max-cost-per-day: must be"),
        (["--manual", "--needs-input-code", "300", "--", "true"], "--needs-input-code: must be"),
        (["--manual", "--if-reachable", "nas.local", "--", "true"], "write HOST:PORT, like nas.local:22"),
        (["--manual", "--if-reachable", "fd00::1:22", "--", "true"], "or [fd00::1]:22"),
        (["--manual", "--if-reachable", f"x:{'9' * 5_000}", "--", "true"], "write HOST:PORT"),
        (["--manual", "--if-reachable", "nas:99999", "--", "true"], "--if-reachable: must be between"),
        (["--manual", "--if-idle", "soon", "--", "true"], "idle: cannot read the interval"),
        (["--manual", "--if-load-below", "nan", "--", "true"], "below: must be"),
        (["--manual", "--if-path", "", "--", "true"], "must be an absolute path"),
        (
            ["--manual", "--if-path", "/x", "--if-path", "/x", "--if-deadline", "x", "--", "true"],
            "--if-deadline: ",
        ),
        (["--manual", "--if-deadline", "1h", "--", "true"], "--if-deadline needs a condition"),
        (["--manual", "--in-quiet-time", "shout", "--", "true"], "'shout' is not one of 'wait', 'skip'"),
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


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(halo, arguments)


@pytest.mark.parametrize(
    ("arguments", "warning"),
    [
        (["--", "ls | wc"], "▲ 'ls | wc' is passed literally; pipes, wildcards and variables need a shell"),
        (["--", "ls", ">", "x"], "▲ '>' is passed literally"),
        (["--", "echo", "$HOME"], "▲ '$HOME' is passed literally"),
        (
            ["--", "no-such-program-here"],
            "▲ job cannot start: there is no program 'no-such-program-here' on the PATH",
        ),
        (["--dir", "/nope", "--", "ls"], "▲ job cannot start: the working directory '/nope' does not exist"),
    ],
)
def test_a_program_that_cannot_start_is_reported_on_add_and_on_edit(
    arguments: list[str], warning: str
) -> None:
    assert warning in _run("add", "job", "--every", "1h", *arguments).output
    _run("add", "other", "--every", "1h", "--", "true")
    assert warning.replace("job", "other") in _run("edit", "other", *arguments).output


@pytest.mark.parametrize(
    "arguments", [["--", "find", ".", "-name", "*.log"], ["--shell", "/bin/sh", "--", "ls | wc"]]
)
def test_a_program_that_can_start_is_added_without_a_warning(arguments: list[str]) -> None:
    lines = _run("add", "job", "--every", "1h", *arguments).stdout.splitlines()
    assert [line for line in lines if line.startswith("▲")] == []
