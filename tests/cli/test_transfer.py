"""`halo export` and `halo import`."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from commands import shell

from halo_scheduler import Command, Cron, Every, HttpRequest, Manual, Policy, Prompt, action_from_dict
from halo_scheduler.cli import halo
from halo_scheduler.model import Follower, FollowOn, JobStatus, PathExists, Retry, StatusReason
from halo_scheduler.model.settings import Agent, QuietTime
from halo_scheduler.service.scheduler import Scheduler

_FILE = """\
version: 1
groups:
  night: {max_concurrent: 2}
quiet_times:
  - {name: Nights, start: "22:00", end: "06:00"}
jobs:
  - name: backup
    group: night
    schedule: {cron: 30 2 * * *, timezone: Europe/Berlin}
    action:
      kind: command
      argv: [rsync, -a, /home, "/mnt/back up"]
      environment: {TOKEN: "${secret:NAS}"}
    policy:
      retry: {attempts: 2}
      conditions: [{path: /mnt/backup}]
    followers: [{job: alarm, on: failure}]
  - name: alarm
    schedule: manual
    action: {kind: http, url: "https://example.org/alarm", method: POST}
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALO_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture(autouse=True)
def nobody_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halo_scheduler.cli.terminal.terminal._open_terminal", lambda: None)


def _halo(*arguments: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(halo, arguments, input=stdin)


def _names() -> list[str]:
    with Scheduler.open() as scheduler:
        return sorted(job.name for job in scheduler.list_jobs())


def test_an_import_is_shown_first_and_stored_with_yes() -> None:
    done = _halo("import", "-", "--yes", stdin=_FILE)
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "New, paused until you resume them:",
        "  + backup",
        "      when     at 02:30 every day (Europe/Berlin)",
        "      does     rsync -a /home '/mnt/back up'",
        "      with     'TOKEN=${secret:NAS}'",
        "      starts   only when /mnt/backup exists",
        "      then     alarm after each failure",
        "      group    night",
        "      policy   stops after 2 hours · 2 retries after 1 min · disabled after 5 failures · catches up once",
        "  + alarm",
        "      when     manual only",
        "      does     POST https://example.org/alarm",
        "Quiet hours:",
        "  + Nights: every day, 22:00–06:00",
        "Group limits:",
        "  ~ night: no limit → 2 at once",
        "created 2 jobs; changed quiet hours and group limits",
        "  all 2 are paused; resume them with: halo resume --imported, or halo resume NAME",
        "▲ the secret NAS isn't set; set it with: halo secret set NAS",
    ]
    with Scheduler.open() as scheduler:
        jobs = {job.name: job for job in scheduler.list_jobs()}
        assert scheduler.settings.read().quiet_times == (QuietTime(name="Nights"),)
        assert scheduler.jobs.group_limits() == {"night": 2}
    assert jobs["backup"].status_reason is StatusReason.IMPORTED
    assert jobs["backup"].followers == (Follower(job_id=jobs["alarm"].id, on=FollowOn.FAILURE),)


def test_the_reasons_that_keep_a_job_from_starting_are_shown_too() -> None:
    policy = "policy: {in_quiet_time: skip, caps: {runs_per_day: 3, cost_per_day: 1.5}}"
    done = _halo("import", "-", stdin=_FILE.replace("schedule: manual", f"schedule: manual\n    {policy}"))
    assert "      quiet    skipped in quiet hours\n" in done.stdout
    assert "      limits   3 runs a day · cost 1.50 a day\n" in done.stdout


def test_the_same_file_again_changes_nothing() -> None:
    _halo("import", "-", "--yes", stdin=_FILE)
    again = _halo("import", "-", stdin=_FILE)
    assert (again.exit_code, again.stdout) == (0, "Unchanged: 2 jobs (backup, alarm)\nNo changes.\n")


def test_changes_are_shown_field_by_field() -> None:
    _halo("import", "-", "--yes", stdin=_FILE)
    other = _FILE.replace("30 2", "45 2").replace("attempts: 2", "attempts: 2, delay: 5m")
    other = other.replace("name: alarm\n", "name: alarm\n    description: |\n      one\n      two\n")
    done = _halo("import", "-", "--yes", stdin=other.replace("22:00", "23:00"))
    assert done.stdout.splitlines() == [
        "Changed:",
        "  ~ backup",
        "      schedule.cron: 30 2 * * * → 45 2 * * *",
        "      policy.retry.delay: (default) → 5m",
        "  ~ alarm",
        "      description:",
        "        @@ -0,0 +1,2 @@",
        "        +one",
        "        +two",
        "Quiet hours:",
        "  ~ Nights: every day, 22:00–06:00 → Nights: every day, 23:00–06:00",
        "changed 2 jobs and quiet hours",
        "▲ the secret NAS isn't set; set it with: halo secret set NAS",
    ]


def test_without_anybody_to_ask_nothing_is_stored() -> None:
    done = _halo("import", "-", stdin=_FILE)
    assert done.exit_code == 1
    assert "there is no terminal for the question; add --yes" in done.stderr
    assert _names() == []


def test_jobs_run_at_once_only_when_that_is_wanted() -> None:
    _halo("import", "-", "--yes", "--enable", stdin=_FILE)
    with Scheduler.open() as scheduler:
        assert {job.status for job in scheduler.list_jobs()} == {JobStatus.IDLE}


def test_a_fault_keeps_the_whole_file_out_unless_it_is_skipped() -> None:
    bad = _FILE.replace("schedule: manual", "schedule: never")
    done = _halo("import", "-", "--yes", stdin=bad)
    assert done.exit_code == 1
    assert "■ line 19, jobs[1].schedule.kind: must be one of every" in done.stdout
    assert "■ line 17, jobs[0].followers[0]: there is no job named 'alarm'" in done.stdout
    assert isinstance(done.exception, Exception)
    assert str(done.exception).startswith("nothing was saved; fix the 2 errors above")
    assert _names() == []
    skipped = _halo(
        "import", "-", "--yes", "--skip-bad", stdin=bad.replace("[{job: alarm, on: failure}]", "[]")
    )
    assert skipped.exit_code == 0
    assert _names() == ["backup"]


def test_of_a_large_file_with_a_fault_not_everything_is_shown() -> None:
    jobs = "".join(f"@daily echo {number}\n" for number in range(150))
    done = _halo("import", "-", "--yes", stdin=f"{jobs}hello\n")
    assert done.exit_code == 1
    assert "  + echo 100\n" in done.stdout
    assert "echo 101" not in done.stdout
    assert "  … and 50 more\n" in done.stdout
    assert "■ line 151: this is not a crontab line" in done.stdout
    assert "echo 150" in _halo("import", "-", "--skip-bad", stdin=f"{jobs}hello\n").stdout


def test_terminal_control_sequences_are_shown_as_text() -> None:
    nasty = _FILE.replace("/home,", '"\\e[2J\\e]0;x\\a/home",').replace(
        "group: night", 'description: "a\\e[31mb"'
    )
    shown = _halo("import", "-", stdin=nasty).stdout
    assert "\x1b" not in shown
    assert "\x07" not in shown


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "the file is empty"),
        (b"\0\0", "the file is not text"),
        (b"version: 1\njobs: [", "this is not YAML"),
        (b'{"version": 1, "jobs": [}', "this is not JSON"),
        (b"version: 1\n" + b"#" * (5 << 20), "larger than 5 MB"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(content: bytes, sentence: str) -> None:
    done = _halo("import", "-", "--yes", stdin=content)
    assert done.exit_code != 0
    assert sentence in str(done.exception)


def test_a_file_is_read_by_the_ending_of_its_name(home: Path) -> None:
    _halo("import", "-", "--yes", stdin=_FILE)
    for name in ("jobs.json", "jobs.yaml", "jobs.yml"):
        assert _halo("export", "-o", str(home / name)).exit_code == 0
        assert "No changes." in _halo("import", str(home / name)).stdout
    assert json.loads((home / "jobs.json").read_text())["version"] == 1
    missing = _halo("import", str(home / "missing.yaml"))
    assert missing.exit_code == 2
    assert f"cannot read {home / 'missing.yaml'}: No such file or directory" in missing.stderr
    # An endless file is not read to its end.
    assert "larger than 5 MB" in str(_halo("import", "/dev/zero").exception)


def test_an_export_is_imported_elsewhere_without_loss(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _halo("import", "-", "--yes", stdin=_FILE)
    written = _halo("export").stdout
    monkeypatch.setenv("HALO_HOME", str(home / "elsewhere"))
    assert _halo("import", "-", "--yes", stdin=written).exit_code == 0
    assert _halo("export").stdout == written
    assert _halo("export", "--format", "json").stdout.startswith('{\n  "version": 1,')


def test_an_export_of_some_jobs_contains_nothing_else() -> None:
    _halo("import", "-", "--yes", stdin=_FILE)
    written = _halo("export", "backup").stdout
    assert "name: backup" in written
    assert "job: alarm" in written
    assert "name: alarm" not in written
    assert "Nights" not in written
    assert "groups" not in written
    missing = _halo("export", "bakcup")
    assert "did you mean 'backup'?" in str(missing.exception)


def test_an_export_lists_the_next_jobs_it_leaves_out() -> None:
    _halo("import", "-", "--yes", stdin=_FILE)
    _halo("remove", "alarm", "--yes")
    done = _halo("export")
    assert "followers" not in done.stdout
    assert "▲ backup: left out a follow-up job that no longer exists" in done.stderr


def test_an_export_lists_the_secrets_and_agents_it_only_names(monkeypatch: pytest.MonkeyPatch) -> None:
    with Scheduler.open() as scheduler:
        mine = Agent(name="mine", argv=("my agent", "{prompt}"))
        scheduler.settings.change(agents=(*scheduler.settings.read().agents, mine))
        for name, agent in (("a", "mine"), ("b", "claude"), ("c", "")):
            scheduler.add_job(name, Manual(), Prompt(text="hi", agent=agent))
    command = "halo agent set mine -- 'my agent' '{prompt}'"
    assert _halo("export").stderr.splitlines() == [
        f"▲ the file doesn't contain the agent mine; where you import it, first run: {command}"
    ]
    assert _halo("export", "b", "c").stderr == ""
    monkeypatch.setattr("halo_scheduler.transfer.text_file.MOST_ITEMS", 1)
    assert "▲ an import takes at most 1 jobs and 5 MB" in _halo("export", "b", "c").stderr
    assert _halo("export", "--format", "crontab").stderr == ""


def test_an_export_never_leaves_half_a_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _halo("import", "-", "--yes", stdin=_FILE)
    kept = home / "kept.yaml"
    kept.write_text("before")
    kept.chmod(0o640)

    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr("pathlib.Path.replace", full_disk)
        assert _halo("export", "-o", str(kept)).exit_code != 0
    assert kept.read_text() == "before"
    assert [path.name for path in home.glob(".kept*")] == []
    assert _halo("export", "-o", str(kept)).exit_code == 0
    assert kept.read_text().startswith("# Jobs of Halo Scheduler")
    assert kept.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("place", "sentence"),
    [("missing/jobs.yaml", "No such file or directory"), ("", "Is a directory")],
)
def test_a_file_that_cannot_be_written_is_named(home: Path, place: str, sentence: str) -> None:
    done = _halo("export", "-o", str(home / place))
    assert done.exit_code == 1
    assert done.stderr == f"Error: cannot write {home / place}: {sentence}\n"


def test_the_file_name_decides_the_format(home: Path) -> None:
    _halo("import", "-", "--yes", stdin=_FILE)
    for name, beginning in {
        "x.cron": "# Jobs of Halo Scheduler as a crontab",
        "x.JSON": "{",
        "x": "# Jobs",
    }.items():
        _halo("export", "-o", str(home / name))
        assert (home / name).read_text().startswith(beginning)


def test_a_crontab_lists_the_settings_it_cannot_express() -> None:
    with Scheduler.open() as scheduler:
        add = scheduler.add_job
        add("disk", Cron("5 0 * * *"), Command(argv=("df", "-h", "/my disk")))
        add("stamp", Cron("@hourly"), shell("date +%F", stdin="100%\n"))
        add("tidy", Every("15m"), Command(argv=("tidy",), directory="~/a b"), anchor_at=1_800_000_060_000)
        add("tidy 2", Every("30m"), Command(argv=("x",)), anchor_at=1_800_000_095_250)
        in_bash = {"kind": "command", "line": "make | tee log", "shell": "/bin/bash"}
        add("build", Cron("0 6 * * 1-5", "Europe/Berlin"), action_from_dict(in_bash))
        add("with env", Cron("0 1 * * *"), Command(argv=("x",), environment={"A": "b c"}), enabled=False)
        add("lines", Cron("0 1 * * *"), shell("a\nb"))
        add("seconds", Cron("*/10 * * * * *"), Command(argv=("x",)))
        add("last", Cron("0 0 L * *"), Command(argv=("x",)))
        add("odd", Every("7m"), Command(argv=("x",)))
        add("web", Cron("@daily"), HttpRequest(url="https://example.org"))
        add("ask", Cron("@daily"), Prompt(text="hi"))
        add("hand", Manual(), Command(argv=("x",)))
        add("key", Cron("@daily"), Command(argv=("x",), environment={"A": "${secret:B}"}))
        add("long", Cron("@daily"), Command(argv=("x" * 1_000,)))
        add(
            "disk 2",
            Cron("@daily"),
            Command(argv=("x",), success_codes=(0, 1)),
            policy=Policy(retry=Retry(attempts=1), conditions=(PathExists(path="/x"),)),
        )
    assert _halo("export", "--format", "crontab").stdout.splitlines()[2:] == [
        "",
        "# disk",
        "5 0 * * * df -h '/my disk'",
        "# not kept: what it waits for, its retries and which exit codes mean success",
        "# disk 2",
        "@daily x",
        "# stamp",
        r"@hourly date +\%F%100\%",
        "# tidy",
        "1,16,31,46 * * * * cd ~/'a b' && tidy",
        "# not kept: its seconds",
        "# tidy 2",
        "1,31 * * * * x",
        "# with env",
        "# disabled: 0 1 * * * env 'A=b c' x",
        "",
        "# Not every cron knows time zones: cronie does.",
        "CRON_TZ=Europe/Berlin",
        "# build",
        "0 6 * * 1-5 /bin/bash -c 'make | tee log'",
        "",
        "# Jobs that cannot be written as a crontab:",
        "# ask: it asks an agent",
        "# hand: it runs only manually or after another job",
        "# key: it uses secrets, which a crontab must not contain",
        "# last: cron has no last days and no nth weekdays",
        "# lines: its command has several lines",
        "# long: its command is longer than the 998 characters that every cron takes",
        "# odd: it runs every 7 minutes from its own start, which cron cannot express",
        "# seconds: cron has no seconds",
        "# web: it sends an HTTP request",
    ]


def _at_a_terminal(home: Path, *arguments: str, typed: str, stdin: Path) -> subprocess.CompletedProcess[str]:
    """Run the command at a terminal of its own, with a file as its standard input."""
    line = f"{shlex.join([sys.executable, '-m', 'halo_scheduler', *arguments])} < {shlex.quote(str(stdin))}"
    spawn = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(['sh', '-c', sys.argv[1]])))"
    return subprocess.run(
        [sys.executable, "-c", spawn, line],
        input=typed,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=home,
    )


def test_the_question_is_asked_on_the_terminal_also_when_the_file_comes_from_standard_input(
    home: Path,
) -> None:
    file = home / "jobs.yaml"
    file.write_text(_FILE)
    refused = _at_a_terminal(home, "import", "-", typed="n\n", stdin=file)
    assert "Apply these changes? [y/N]:" in refused.stdout
    assert refused.returncode == 1
    assert _names() == []
    done = _at_a_terminal(home, "import", "-", typed="y\n", stdin=file)
    assert done.returncode == 0
    assert _names() == ["alarm", "backup"]
