"""Completion: what a shell is told, and what it makes of it."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from job_values import make_run
from typing_shell import TypingShell

from halo_scheduler import Every, Manual
from halo_scheduler.cli import halo, main
from halo_scheduler.cli.terminal.shell_completion import Typed, split_line
from halo_scheduler.service.scheduler import Scheduler

_ODD = """odd "na:me's"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def jobs() -> None:
    with Scheduler.open() as scheduler:
        scheduler.add_job("my report", Every("1h"), group="night", description="what\nhappened")
        for name in ("größe $x", _ODD, "db:dump", "db:restore", "a,b", "star * $(date)"):
            scheduler.add_job(name, Manual())
        scheduler.remove_job(scheduler.add_job("gone away", Manual()))


def _offered(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], asking: str = "fish"
) -> list[tuple[str, str, str]]:
    """Return the kinds, words and helps that a shell is offered for the end of a line."""
    _, typed = split_line(line)
    monkeypatch.setenv("_HALO_COMPLETE", f"{asking}_complete")
    monkeypatch.setenv("COMP_LINE", line)
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", shlex.quote(typed.value) if typed.value else "")
    with pytest.raises(SystemExit) as leaving:
        main([])
    assert leaving.value.code == 0
    found = capsys.readouterr()
    assert found.err == ""
    rows = (row.partition(",") for row in found.out.splitlines() if row)
    return [(kind, *rest.partition("\t")[::2]) for kind, _, rest in rows]


@pytest.mark.parametrize(
    ("line", "words", "last"),
    [
        ("", [], Typed()),
        ("halo ", ["halo"], Typed()),
        ("halo sh", ["halo"], Typed("sh")),
        ("halo  show   ", ["halo", "show"], Typed()),
        (r"halo show my\ rep", ["halo", "show"], Typed("my rep")),
        ('halo show "my rep', ["halo", "show"], Typed("my rep", '"')),
        ("halo show 'my rep", ["halo", "show"], Typed("my rep", "'")),
        ('halo show "my report" --js', ["halo", "show", "my report"], Typed("--js")),
        ("halo show ''", ["halo", "show"], Typed()),
        ("halo show '' x", ["halo", "show", ""], Typed("x")),
        ("halo show db:du", ["halo", "show"], Typed("db:du", "", 3)),
        (r"halo show db\:du", ["halo", "show"], Typed("db:du")),
        ("halo list --group=ni", ["halo", "list"], Typed("--group=ni", "", 8)),
        ('halo list --group="ni', ["halo", "list"], Typed("--group=ni", '"', 8)),
        (r'halo show "a\"b\c$', ["halo", "show"], Typed(r'a"b\c$', '"')),
        (r"halo show 'a\b", ["halo", "show"], Typed(r"a\b", "'")),
        ("halo show x\\", ["halo", "show"], Typed("x")),
    ],
)
def test_a_line_is_read_as_the_shell_reads_it(line: str, words: list[str], last: Typed) -> None:
    assert split_line(line) == (words, last)


@pytest.mark.usefixtures("jobs")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("halo sho", ["show"]),
        ("halo show my", ["my report"]),
        ("halo pause db:dump db", ["db:restore"]),
        ("halo trash re", ["restore"]),
        ("halo trash restore g", ["gone away"]),
        ("halo logs g", ["größe $x", "gone away"]),
        ("halo list --group n", ["night"]),
        ("halo list --group=n", ["--group=night"]),
        ("halo list --st", ["--status"]),
        ("halo list --status p", ["paused"]),
        ("halo add new --on-success my", ["my report"]),
        ("halo add new --tz Europe/Berl", ["Europe/Berlin"]),
        ("halo agent default cod", ["codex"]),
        ("halo config get max_", ["max_concurrent"]),
        ("halo completion f", ["fish"]),
        ("halo show nobody", []),
        ("halo show -- my", ["my report"]),
    ],
)
def test_completion_offers_commands_options_and_names(
    line: str, offered: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [word for _, word, _ in _offered(line, monkeypatch, capsys)] == offered


@pytest.mark.usefixtures("jobs")
def test_files_and_folders_are_left_to_the_shell(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for line, kind in (
        ("halo import jo", "file"),
        ("halo add x --every 1h -- rs", "file"),
        ("halo add x --dir ~/", "dir"),
        ("halo apply ", "dir"),
    ):
        assert [found for found, _, _ in _offered(line, monkeypatch, capsys)] == [kind]


@pytest.mark.usefixtures("jobs")
def test_runs_are_offered_with_their_outcomes_and_jobs_with_a_word_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Scheduler.open() as scheduler:
        job = scheduler.list_jobs(text="my report")[0]
        scheduler._store.runs.insert([make_run(id="abc123", job_id=job.id, started_at=1, finished_at=2)], 1)
    (run,) = _offered("halo logs 'my report' --run a", monkeypatch, capsys)
    assert run == ("plain", "abc123", "success")
    assert _offered("halo show my", monkeypatch, capsys) == [("plain", "my report", "what ↵ happened")]


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_a_name_that_cannot_be_seen_in_full_is_not_offered(
    shell: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Scheduler.open() as scheduler:
        for name in ("report", "report\u200b", "report\u202egnp"):
            scheduler.add_job(name, Manual(), group=f"{name}s")
    assert [word.strip() for _, word, _ in _offered("halo show rep", monkeypatch, capsys, shell)] == [
        "report"
    ]
    offered = _offered("halo list --group rep", monkeypatch, capsys, shell)
    assert [word.strip() for _, word, _ in offered] == ["reports"]


def test_without_a_readable_database_completion_offers_nothing_silently(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _offered("halo show ", monkeypatch, capsys) == []
    assert list(home.iterdir()) == []
    (home / "halo.db").write_bytes(b"no database" * 1_000)
    assert _offered("halo show ", monkeypatch, capsys) == []


@pytest.mark.usefixtures("jobs")
@pytest.mark.parametrize(
    ("line", "replaced_by"),
    [
        ("halo show my", r"my\ report"),
        ('halo show "my', "my report"),
        ('halo show "gr', r"größe \$x"),
        ("halo show 'od", """odd "na:me'\\''s"""),
        ("halo show od", r"odd\ \"na\:me\'s"),
        ("halo show db:d", "dump"),
        ("halo list --group=n", "night"),
    ],
)
def test_bash_gets_the_rest_of_a_word_after_a_word_break(
    line: str, replaced_by: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ((_, word, _),) = _offered(line, monkeypatch, capsys, asking="bash")
    assert word == replaced_by


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script_and_the_help_says_how_to_install_it(shell: str) -> None:
    assert "_HALO_COMPLETE" in CliRunner().invoke(halo, ["completion", shell]).output
    assert f"halo completion {shell}" in CliRunner().invoke(halo, ["completion", "--help"]).output


@pytest.mark.usefixtures("jobs")
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_real_shell_completes_names_as_they_are(shell: str, home: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    typing = TypingShell(shell, {**os.environ, "PATH": programs, "HOME": str(home)})
    try:
        for typed, words in (
            ('halo show "gr', ["halo", "show", "größe $x"]),
            ("halo show od", ["halo", "show", _ODD]),
            ("halo show db:d", ["halo", "show", "db:dump"]),
            ("halo list --group=ni", ["halo", "list", "--group=night"]),
            ("halo show a,", ["halo", "show", "a,b"]),
            ("halo show st", ["halo", "show", "star * $(date)"]),
        ):
            assert typing.complete(typed) == words
    finally:
        typing.close()
