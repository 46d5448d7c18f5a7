"""`halo list`, `show`, `remove`, and finding the job that is meant."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from halo_scheduler import (
    Callback,
    Command,
    Cron,
    Every,
    HttpRequest,
    JobNotFoundError,
    Manual,
    Outcome,
    Prompt,
)
from halo_scheduler.cli import halo, shown
from halo_scheduler.clock import ManualClock
from halo_scheduler.service import Scheduler


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


def _halo(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(halo, arguments, input=stdin)


def test_an_empty_list_says_how_to_begin() -> None:
    assert "halo add" in _halo("list").output


def test_the_list_has_what_one_wants_to_know() -> None:
    with Scheduler.open() as scheduler:
        scheduler.add_job("backup", Every("15m"), Command(argv=("true",)))
        paused = scheduler.add_job("report", Cron("0 9 * * *", timezone="UTC"))
        scheduler.pause_job(paused)
    lines = _halo("list").output.splitlines()
    assert [line.split()[:2] for line in lines] == [["NAME", "SCHEDULE"], ["●", "backup"], ["⏸", "report"]]
    assert "every 15 minutes" in lines[1]
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
    assert "no such jobs" in _halo("list", "nothing").output


def test_json_has_the_field_names_of_the_library() -> None:
    with Scheduler.open() as scheduler:
        job_id = scheduler.add_job("backup", Every("15m"), Command(argv=("true",)))
        job = scheduler.get_job(job_id)
    (listed,) = json.loads(_halo("list", "--json").output)
    assert job is not None
    assert listed == job.to_dict()
    assert listed["next_run_at"] == job.next_run_at
    assert json.loads(_halo("show", "backup", "--json").output) == {**listed, "runs": []}


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (Command(argv=("tar", "a b")), "tar 'a b'"),
        (Command(line="a | b", shell="sh"), "a | b (sh)"),  # noqa: S604 - a value, not a call
        (HttpRequest(url="https://example.org/"), "GET https://example.org/"),
        (Prompt(text="write"), "asks the default agent: write"),
        (Callback("f"), "calls f of the program"),
    ],
)
def test_a_job_is_shown_in_words(action: Command, words: str) -> None:
    with Scheduler.open() as scheduler:
        scheduler.add_job("backup", Every("15m"), action, description="all of it", group="night")
    text = _halo("show", "backup").output
    for expected in (words, "every 15 minutes", "all of it", "night", "stops after 2 hours"):
        assert expected in text


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
    assert "failure (RuntimeError: no space left)" in text
    assert "\x1b" not in text
    assert "RuntimeError: no space left" in _halo("history").output
    (run,) = json.loads(_halo("history", "backup", "--json").output)
    assert (run["outcome"], run["started_at"], run["duration_ms"]) == (Outcome.FAILURE, 1_800_000_000_000, 0)
    assert json.loads(_halo("history", "--outcome", "success", "--json").output) == []


def test_a_job_is_found_by_name_id_and_the_beginning_of_its_id() -> None:
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
        assert _halo("remove", "backup").output == "removed backup\n"
        assert [job.name for job in scheduler.list_removed()] == ["backup"]


def test_a_table_fits_the_terminal_and_wide_signs_stay_aligned(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "40")
    shown.print_table(["A", "B", "C"], [["x" * 60, "日本語", "end"], ["short", "y", "end"]])
    lines = capsys.readouterr().out.splitlines()
    assert [shown._width(line) for line in lines] == [38, 40, 40]
    assert "…" in lines[1]


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [(None, ""), (400, "0.4 s"), (12_000, "12 s"), (185_000, "3 min 5 s"), (7_800_000, "2 h 10 min")],
)
def test_durations_are_short(milliseconds: int | None, words: str) -> None:
    assert shown.duration(milliseconds) == words


def test_listing_needs_neither_qt_nor_croniter_nor_the_keyring(home: Path) -> None:
    code = (
        "import sys; from halo_scheduler.cli import halo; halo.main(['list'], standalone_mode=False); "
        "print([name for name in ('PySide6', 'croniter', 'keyring', 'rich') if name in sys.modules])"
    )
    with Scheduler.open() as scheduler:
        scheduler.add_job("backup", Every("15m"), Command(argv=("true",)))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert home.exists()
    assert done.stdout.splitlines()[-1] == "[]"
