"""`halo list`, `show`, `remove`, and finding the job that is meant."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from pathlib import Path

import click
import pytest
from asking import ask
from click.testing import CliRunner, Result
from commands import shell
from job_values import make_run

from halo_scheduler import (
    Callback,
    Command,
    Cron,
    Every,
    HttpRequest,
    JobNotFoundError,
    Manual,
    Outcome,
    Policy,
    Prompt,
    Reminder,
)
from halo_scheduler.cli import halo
from halo_scheduler.cli.terminal import terminal as shown
from halo_scheduler.clock import ManualClock, SystemClock
from halo_scheduler.model import Action, Caps, StatusReason
from halo_scheduler.model.actions import FolderSource, GithubSource
from halo_scheduler.schedule.calendar import local_day
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.store.outputs import StoredOutput
from halo_scheduler.store.runs import Spent
from halo_scheduler.wording.measures import moment_in_words

_SECRET_NAME = "TOKEN"  # noqa: S105 - a name


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


def _halo(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(halo, arguments, input=stdin)


def _halo_on_terminal(*arguments: str, typed: str) -> subprocess.CompletedProcess[str]:
    """Run the command with a terminal as its standard input."""
    keys, terminal = os.openpty()
    try:
        os.write(keys, typed.encode())
        return subprocess.run(
            [sys.executable, "-m", "halo_scheduler", *arguments],
            stdin=terminal,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=60,
        )
    finally:
        os.close(keys)
        os.close(terminal)


def test_an_empty_list_says_how_to_begin() -> None:
    assert "halo add" in _halo("list").output


def test_the_list_shows_schedule_next_run_and_last_run() -> None:
    with Scheduler.open() as scheduler:
        scheduler.add_job("backup", Every("15m"), Command(argv=("true",)))
        paused = scheduler.add_job("report", Cron("0 9 * * *", timezone="UTC"))
        scheduler.pause_job(paused)
    lines = _halo("list").output.splitlines()
    assert [line.split()[:2] for line in lines] == [["NAME", "SCHEDULE"], ["●", "backup"], ["⏸", "report"]]
    assert "every 15 min" in lines[1]
    assert "in 15 min" in lines[1]
    assert "never" in lines[1]
    assert "paused" in lines[2]


def test_the_list_can_be_narrowed() -> None:
    with Scheduler.open() as scheduler:
        scheduler.add_job("a", Manual(), group="night")
        scheduler.add_job("b", Manual())
        scheduler.pause_job(scheduler.add_job("c", Manual(), group="night"))

    def names(*options: str) -> list[str]:
        return [job["name"] for job in json.loads(_halo("list", "--json", *options).output)]

    assert names("--group", "night") == ["a", "c"]
    assert names("--group", "night", "--status", "paused") == ["c"]
    assert names("B") == ["b"]
    assert "no matching jobs" in _halo("list", "nothing").output


def test_json_has_the_field_names_of_the_library() -> None:
    with Scheduler.open() as scheduler:
        job_id = scheduler.add_job("backup", Every("15m"), Command(argv=("true",)))
        job = scheduler.get_job(job_id)
    (listed,) = json.loads(_halo("list", "--json").output)
    assert job is not None
    assert listed == {**job.to_dict(), "waiting_reason": "", "situation": "ready"}
    assert listed["next_run_at"] == job.next_run_at
    shown_job = json.loads(_halo("show", "backup", "--json").output)
    nothing: dict[str, object] = {"runs": [], "questions": [], "waiting_runs": [], "waits_until": None}
    nothing["chain"] = {"before": [], "after": []}
    assert shown_job == {**listed, **nothing, "today": shown_job["today"]}
    assert (shown_job["today"]["runs"], shown_job["today"]["cost"]) == (0, 0)


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (Command(argv=("tar", "a b")), "tar 'a b'"),
        (Command(line="a | b", shell="sh"), "a | b (sh)"),  # noqa: S604 - a value, not a call
        (HttpRequest(url="https://example.org/"), "GET https://example.org/"),
        (Prompt(text="write"), "asks the default agent: write"),
        (Reminder(title="Stand up"), "reminds you: Stand up"),
        (Reminder(title="Stand up", text="and stretch"), "reminds you: Stand up (and stretch)"),
        (Prompt(text=" ", agent="codex"), "asks codex: Execute scheduled task."),
        (
            Prompt(text="x", work_source=FolderSource(path="/tasks")),
            "each run takes one file from /tasks/ready",
        ),
        (
            Command(argv=("x",), work_source=GithubSource(repository="me/shop", closes=True)),
            "each run takes one issue of me/shop, from ready to in_progress, then closed",
        ),
        (
            Prompt(
                text="x",
                work_source=GithubSource(
                    repository="a/b", base_url="https://git.example", token=_SECRET_NAME
                ),
            ),
            "each run takes one issue of a/b at https://git.example with the secret TOKEN",
        ),
        (Callback("f"), "calls f of the program"),
        (Command(argv=("x",), directory="/srv"), "where     /srv\n"),
        (
            Prompt(text="x", environment={"A": "1 2", "B": "${secret:B}"}),
            "with      'A=1 2' 'B=${secret:B}'\n",
        ),
        (Command(argv=("sh",), stdin="echo #\nrm x\n"), "stdin     echo # ↵ rm x\n"),
        (shell("echo # \nrm x"), "does      echo # ↵ rm x (/bin/sh)\n"),
        (
            HttpRequest(url="http://x.example", method="POST", headers={"A": "b", "C": "d"}, body="all"),
            "headers   A: b; C: d\n  body      all\n",
        ),
    ],
)
def test_a_job_is_shown_in_words(action: Action, words: str) -> None:
    with Scheduler.open() as scheduler:
        scheduler.add_job("backup", Every("15m"), action, description="all of it", group="night")
    text = _halo("show", "backup").output
    for expected in (words, "every 15 minutes", "all of it", "night", "stops after 2 hours"):
        assert expected in text


def test_daily_limits_are_shown_with_todays_usage() -> None:
    policy = Policy(caps=Caps(runs_per_day=5, cost_per_day=2), reads_lines=True)
    with Scheduler.open() as scheduler:
        now_ms = scheduler._clock.now_ms()
        job_id = scheduler.add_job("ask", Manual(), Command(argv=("x",)), policy=policy)
        other_id = scheduler.add_job("free", Manual(), Prompt(text="x"))
        used = Spent(3, 0.126)
        scheduler._store.usage.add([(job_id, local_day(now_ms), used), (other_id, local_day(now_ms), used)])
    text = _halo("show", "ask").output
    assert "3 of 5 runs · cost 0.126 of 2.00" in text
    assert "reads output commands" in text
    assert "today     cost 0.126\n" in _halo("show", "free").output


def test_a_job_with_a_question_is_marked_in_the_list_and_shown_in_full() -> None:
    with Scheduler.open() as scheduler:
        job_id = scheduler.add_job("backup", Every("15m"), Command(argv=("true",)))
        scheduler.add_job("other", Every("15m"), Command(argv=("true",)))
        question = ask(scheduler, job_id, "Which \x1b[31mone?")
    lines = _halo("list").output.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["◆", "●"]
    assert "on hold until you answer" in lines[1]
    text = _halo("show", "backup").output
    assert "question  Which \\x1b[31mone?" in text
    assert f"halo answer {question.run_id[:8]} TEXT" in text
    (listed,) = json.loads(_halo("show", "backup", "--json").output)["questions"]
    assert (listed["run_id"], listed["state"]) == (question.run_id, "open")


def test_a_run_is_shown_with_its_item_and_its_cost() -> None:
    with Scheduler.open() as scheduler:
        job_id = scheduler.add_job("backup", Manual())
        run = make_run(job_id=job_id, work_id="7", work_title="Fix\x1b[31m it", cost=0.0004)
        with scheduler._store.transaction():
            scheduler._store.runs.insert([run], 1)
    for command in ("show", "history"):
        assert "succeeded, item 7: Fix\\x1b[31m it, cost 0.0004" in _halo(command, "backup").output


def test_a_job_created_by_an_assistant_is_resumed_by_a_person() -> None:
    with Scheduler.open() as scheduler:
        scheduler.add_job("made", Every("15m"), Command(argv=("true",)), paused_by=StatusReason.ASSISTANT)
    assert "paused by an assistant" in _halo("list").output
    assert _halo("resume", "made").output == "resumed made; next: in 15 min\n"
    assert json.loads(_halo("show", "made", "--json").output)["status"] == "idle"


@pytest.mark.skipif(sys.platform == "win32", reason="the terminal is one of POSIX")
@pytest.mark.parametrize(("typed", "is_resumed"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_on_a_terminal_the_job_is_shown_in_full_before_it_is_resumed(typed: str, is_resumed: bool) -> None:
    action = Command(argv=("sh", "-c", f"echo {'x' * 5_000}; the end"))
    with Scheduler.open() as scheduler:
        scheduler.add_job("made", Every("15m"), action, paused_by=StatusReason.ASSISTANT)
    done = _halo_on_terminal("resume", "made", typed=typed)
    assert "; the end'\n" in done.stdout
    assert "Resume it? [y/N]" in done.stderr
    assert done.returncode == (0 if is_resumed else 1)
    assert json.loads(_halo("show", "made", "--json").output)["status"] == (
        "idle" if is_resumed else "paused"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="the terminal is one of POSIX")
@pytest.mark.parametrize("arguments", [[], ["--yes"]])
def test_a_job_paused_by_a_person_is_resumed_without_a_question(arguments: list[str]) -> None:
    with Scheduler.open() as scheduler:
        by = StatusReason.ASSISTANT if arguments else None
        scheduler.pause_job(scheduler.add_job("backup", Every("15m"), Command(argv=("true",)), paused_by=by))
    done = _halo_on_terminal("resume", "backup", *arguments, typed="")
    assert (done.returncode, done.stdout) == (0, "resumed backup; next: in 15 min\n")


def test_the_last_runs_are_shown_with_their_errors() -> None:
    clock = ManualClock(1_800_000_000_000)
    with Scheduler.open(clock=clock) as scheduler:
        job_id = scheduler.add_job("backup", Manual())

        def fail(_job: object, _run: object) -> None:
            raise RuntimeError("no space\x1b[31m left")

        scheduler.on_job_due(fail)
        scheduler.trigger(job_id)
        scheduler.tick()
    text = _halo("show", "backup").output
    assert "■" in text
    assert "failed: RuntimeError: no space\\x1b[31m left" in text
    assert "\x1b" not in text
    assert "RuntimeError: no space\\x1b[31m left, manual\n" in _halo("history").output
    (run,) = json.loads(_halo("history", "backup", "--json").output)
    assert (run["outcome"], run["started_at"], run["duration_ms"]) == (Outcome.FAILURE, 1_800_000_000_000, 0)
    assert json.loads(_halo("history", "--outcome", "success", "--json").output) == []


def test_more_runs_than_there_can_be_are_refused_in_words() -> None:
    done = _halo("history", "--limit", "9" * 20)
    assert done.exit_code == 2
    assert "must be between 1 and 1000000" in done.output


def test_a_name_never_overrides_the_id_of_another_job() -> None:
    with Scheduler.open() as scheduler:
        meant = scheduler.add_job("meant", Manual())
        scheduler.add_job(meant, Every("15m"), Command(argv=("true",)))
    assert json.loads(_halo("show", meant, "--json").output)["name"] == "meant"


def test_a_job_is_found_by_name_id_and_id_prefix() -> None:
    with Scheduler.open() as scheduler:
        job_id = scheduler.add_job("backup", Manual())
    for wanted in ("backup", job_id, job_id[:8]):
        assert json.loads(_halo("show", wanted, "--json").output)["id"] == job_id


def test_a_wrong_name_suggests_the_nearest() -> None:
    with Scheduler.open() as scheduler:
        scheduler.add_job("Backup", Manual())
    error = _halo("show", "bakcup").exception
    assert isinstance(error, JobNotFoundError)
    assert str(error) == "there is no job 'bakcup'; did you mean 'Backup'?"


def test_removing_puts_into_the_trash() -> None:
    with Scheduler.open() as scheduler:
        scheduler.add_job("backup", Manual())
        done = _halo("remove", "backup", "--yes")
        assert done.output == "removed backup; restore it with: halo trash restore backup\n"
        assert [job.name for job in scheduler.list_removed()] == ["backup"]


def test_without_a_terminal_nothing_is_removed_without_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halo_scheduler.cli.terminal.terminal._open_terminal", lambda: None)
    with Scheduler.open() as scheduler:
        scheduler.add_job("backup", Manual())
        done = _halo("remove", "backup")
        assert done.exit_code == 1
        assert "nothing was changed: there is no terminal for the question; add --yes" in done.output
        assert [job.name for job in scheduler.list_jobs()] == ["backup"]


@pytest.mark.parametrize("command", ["run", "cancel", "logs"])
def test_an_unknown_job_is_reported_before_a_stopped_engine(command: str) -> None:
    error = _halo(command, "nosuchjob").exception
    assert isinstance(error, JobNotFoundError)
    assert str(error) == "there is no job 'nosuchjob'"


def test_a_table_fits_the_terminal_and_wide_signs_stay_aligned(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "40")
    shown.print_table(["A", "B", "C"], [["x" * 60, "日本語", "end"], ["short", "y", "end"]])
    lines = capsys.readouterr().out.splitlines()
    assert [shown._width(line) for line in lines] == [38, 40, 40]
    assert "…" in lines[1]


def test_signs_that_take_no_room_keep_a_table_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    shown.print_table(
        ["NAME", ""], [["e\u0301a", "|"], ["❤\ufe0f", "|"], ["a\u200bb", "|"], ["กำ\u0e34", "|"]]
    )
    assert capsys.readouterr().out.splitlines()[1:] == [
        "e\u0301a        |",
        "❤\ufe0f         |",
        "a\\u200bb  |",
        "กำ\u0e34        |",
    ]


def test_no_name_turns_the_direction_of_a_line() -> None:
    with Scheduler.open() as scheduler:
        scheduler.add_job("\u202egpj.exe\u2066", Manual())
    for command in (["list"], ["show", "\u202egpj.exe\u2066"]):
        output = _halo(*command).output
        assert "\\u202egpj.exe\\u2066" in output
        assert "\u202e" not in output


def test_a_pause_that_ends_fits_into_the_list() -> None:
    with Scheduler.open() as scheduler:
        until = SystemClock().now_ms() // 1_000 * 1_000 + 400 * 86_400_000
        scheduler.pause_job(scheduler.add_job("backup", Every("1h")), until)
    assert f"paused until {moment_in_words(until, SystemClock().now_ms())}  never" in _halo("list").output


def test_a_long_text_continues_indented(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "stops after 2 hours · no retries · disabled after 5 failures"
    assert shown.folded(text, 12) == text
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "50")
    assert (
        shown.folded(text, 12) == f"stops after 2 hours · no retries ·\n{' ' * 12}disabled after 5 failures"
    )
    assert shown.folded("short", 12) == "short"
    monkeypatch.setenv("COLUMNS", "20")
    assert shown.folded(text, 12) == text


def test_a_table_fits_a_very_narrow_terminal_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "20")
    shown.print_table(["FIRST", "SECOND", "THIRD"], [["x" * 60, "日本語日本語", "the end"]])
    lines = click.unstyle(capsys.readouterr().out).splitlines()
    assert lines == ["FIRST  SECO…  THIRD", "xxxx…  日本…  the e…"]
    assert max(map(shown._width, lines)) == 20


def test_a_list_for_programs_has_one_item_in_a_line_and_one_for_people_many(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    items = [{"name": "ä"}, {"name": "b"}]
    shown.print_json_list(items)
    assert capsys.readouterr().out == '[\n{"name": "ä"},\n{"name": "b"}\n]\n'
    shown.print_json_list([])
    assert capsys.readouterr().out == "[]\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    shown.print_json_list(items)
    text = capsys.readouterr().out
    assert (len(text.splitlines()), json.loads(text)) == (8, items)


def test_spare_columns_are_left_out_where_nothing_could_be_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def headings_at(columns: int) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(columns))
        shown.print_table(["A", "B", "C"], [["x" * 30, "y" * 30, "z" * 30]], spare=["B", "A"])
        return click.unstyle(capsys.readouterr().out).splitlines()[0].split()

    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert headings_at(40) == ["A", "B", "C"]
    assert headings_at(39) == ["A", "C"]
    assert headings_at(25) == ["C"]
    assert headings_at(10) == ["C"]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False, raising=False)
    assert headings_at(10) == ["A", "B", "C"]


def test_a_due_job_without_an_engine_is_shown_as_late() -> None:
    now_ms = SystemClock().now_ms()
    with Scheduler.open(clock=ManualClock(now_ms - 20 * 60_000)) as scheduler:
        scheduler.add_job("soon", Every("1h"))
        assert _halo("list").stderr == ""
        scheduler.add_job("late", Every("15m"))
    done = _halo("list")
    assert "late  every 15 min  overdue by 5 min" in done.stdout
    assert done.stderr == '▲ Halo isn\'t running; start it with "halo" or "halo daemon"\n'
    assert "overdue by 5 min" in _halo("next").stdout


def test_a_piped_table_is_as_wide_as_it_needs_and_has_no_colours(capsys: pytest.CaptureFixture[str]) -> None:
    shown.print_table(["", "NAME"], [[shown.WAITS, "x" * 300]])
    assert capsys.readouterr().out == f"   NAME\n▲  {'x' * 300}\n"


@pytest.mark.parametrize(
    ("name", "typed"),
    [("backup", "backup"), ("my report", "'my report'"), ("it's", "'it'\"'\"'s'"), ("-x", "-- -x")],
)
def test_a_name_is_shown_as_it_has_to_be_typed(name: str, typed: str) -> None:
    assert shown.typed(name) == typed


def test_an_ambiguous_run_prefix_lists_the_runs() -> None:
    with Scheduler.open() as scheduler:
        job_id = scheduler.add_job("backup", Manual())
        runs = [make_run(id=f"abcd{number}", job_id=job_id, started_at=1, finished_at=2) for number in (1, 2)]
        scheduler._store.runs.insert(runs, 1)
    error = _halo("logs", "backup", "--run", "abcd").exception
    assert str(error) == "2 runs of backup start with 'abcd': abcd2, abcd1"
    assert _halo("logs", "backup", "--run", "abcd1").exit_code == 0


def test_the_last_output_is_found_however_often_it_was_skipped_since() -> None:
    with Scheduler.open() as scheduler:
        job_id = scheduler.add_job("backup", Manual())
        ran = make_run(id="ran", job_id=job_id, started_at=1, finished_at=2)
        skipped = [
            make_run(id=f"s{number}", job_id=job_id, outcome=Outcome.SKIPPED, started_at=None, finished_at=3)
            for number in range(1_001)
        ]
        scheduler._store.runs.insert([ran, *skipped], 3)
    assert _halo("logs", "backup").exit_code == 0
    assert str(_halo("logs", "backup", "--run", "s1").exception) == "backup has no run 's1'"


def test_following_without_an_engine_shows_the_output_so_far_and_warns() -> None:
    with Scheduler.open() as scheduler:
        job_id = scheduler.add_job("backup", Manual())
        scheduler._store.runs.insert([make_run(id="ran", job_id=job_id, started_at=1, finished_at=2)], 3)
        output = StoredOutput(run_id="ran", content=zlib.compress(b"all done\n"), total_bytes=9)
        scheduler._store.outputs.insert([output])
    done = _halo("logs", "backup", "-f")
    assert done.stdout == "all done\n"
    assert "Halo isn't running" in str(done.exception)


def test_listing_needs_neither_qt_nor_croniter_nor_the_keyring(home: Path) -> None:
    code = (
        "import sys; from halo_scheduler.cli import halo; halo.main(['list'], standalone_mode=False); "
        "print([name for name in ('PySide6', 'croniter', 'keyring', 'rich', 'mcp', 'pydantic') if name in sys.modules])"
    )
    with Scheduler.open() as scheduler:
        scheduler.add_job("backup", Every("15m"), Command(argv=("true",)))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert home.exists()
    assert done.stdout.splitlines()[-1] == "[]"
