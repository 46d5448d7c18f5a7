"""`halo edit` in an editor: a file that is stored whole, or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from halo_scheduler import Command, Every, Manual, Policy, Prompt
from halo_scheduler.cli.terminal.editor_file import MORE, edit_as_file
from halo_scheduler.errors import SchedulerError
from halo_scheduler.model import Follower, FollowOn, Job, PathExists
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.transfer.job_form import draft_of
from halo_scheduler.transfer.yaml_text import read_yaml

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the editors are ones of POSIX")

_ACTION = Command(argv=("rsync", "-a"), environment={"T": "${secret:TOKEN}"})


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("VISUAL", raising=False)
    return tmp_path


def _editor(folder: Path, *scripts: str) -> str:
    """Return an editor that does one thing with the file ($1) when it is opened first, another the next time."""
    turns = "\n".join(f"{number}) {script} ;;" for number, script in enumerate(scripts, 1))
    path = folder / "editor"
    (folder / "editor.times").unlink(missing_ok=True)
    path.write_text(f'#!/bin/sh\necho x >>"$0.times"\ncase $(wc -l <"$0.times") in\n{turns}\nesac\n')
    path.chmod(0o700)
    return str(path)


def _edit(job_id: str, editor: str, monkeypatch: pytest.MonkeyPatch, typed: str = "") -> tuple[Job, str]:
    monkeypatch.setenv("EDITOR", editor)
    with (
        Scheduler.open() as scheduler,
        CliRunner().isolation(input=typed) as (_, said, _),
    ):
        job = scheduler.get_job(job_id)
        assert job is not None
        try:
            edit_as_file(scheduler, job)
        finally:
            told = said.getvalue().decode()
        changed = scheduler.get_job(job_id)
    assert changed is not None
    return changed, told


def _add() -> str:
    with Scheduler.open() as scheduler:
        report = scheduler.add_job("report", Manual())
        return scheduler.add_job(
            "backup",
            Every("6h"),
            _ACTION,
            policy=Policy(conditions=(PathExists(path="/mnt/x"),), keep_awake=True),
            followers=(Follower(job_id=report, on=FollowOn.ALWAYS),),
            metadata={"from": "me"},
        )


def _job(job_id: str) -> Job:
    with Scheduler.open() as scheduler:
        job = scheduler.get_job(job_id)
    assert job is not None
    return job


def test_on_a_terminal_an_invalid_edit_is_reported_and_can_be_corrected(home: Path) -> None:
    job_id = _add()
    editor = _editor(home, 'sed -i s/6h/6x/ "$1"', f'cp "$1" {home}/again; sed -i s/6x/12h/ "$1"')
    keys, terminal = os.openpty()
    with os.fdopen(keys, "rb+", buffering=0) as screen:
        screen.write(b"\n")
        done = subprocess.run(
            [sys.executable, "-m", "halo_scheduler", "edit", "backup"],
            stdin=terminal,
            stdout=terminal,
            stderr=subprocess.PIPE,
            env={**os.environ, "EDITOR": editor, "NO_COLOR": "1", "TMPDIR": str(home)},
            check=False,
            timeout=60,
        )
        os.close(terminal)
        shown = screen.read(65_536).decode()
    fault = "line 7, schedule.every: cannot read the interval '6x'"
    assert done.returncode == 0
    assert fault in done.stderr.decode()
    assert "Edit again? [Y/n]" in done.stderr.decode()
    again = (home / "again").read_text().splitlines()
    assert again[0].startswith(f"# ■ {fault}")
    assert "every: 6x" in again[6]
    assert "changed backup\r\n  when      every 12 hours\r\n" in shown
    assert _job(job_id).schedule == Every("12h")
    assert not list(home.glob("editor-*"))


def test_an_unchanged_file_changes_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job_id = _add()
    before = _job(job_id)
    for script in ("true", 'touch "$1"', ': >"$1"', "sed -i 's/^/# /' \"$1\""):
        assert _edit(job_id, _editor(home, script), monkeypatch)[0] == before


def test_the_file_has_all_fields_of_a_job_and_no_secrets(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job_id = _add()
    _edit(job_id, _editor(home, f'cp "$1" {home}/seen'), monkeypatch)
    text = (home / "seen").read_text()
    assert "${secret:TOKEN}" in text
    draft = draft_of(read_yaml(text.encode()).data)
    job = _job(job_id)
    assert (draft.spec.schedule, draft.spec.action, draft.spec.policy) == (
        job.schedule,
        job.action,
        job.policy,
    )
    assert [(follower.name, follower.on) for follower in draft.followers] == [("report", "always")]
    assert (draft.anchor_at, draft.spec.metadata) == (job.anchor_at, {"from": "me"})


def test_a_change_in_the_file_changes_that_and_nothing_else(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = _add()
    before = _job(job_id)
    scripts = ("sed -i '/anchor/d; s/on: always/on: failure/' \"$1\"; echo 'description: ümläut' >>\"$1\"",)
    job, _ = _edit(job_id, _editor(home, *scripts), monkeypatch)
    assert job.description == "ümläut"
    assert [follower.on for follower in job.followers] == ["failure"]
    assert (job.schedule, job.anchor_at, job.policy) == (before.schedule, before.anchor_at, before.policy)


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("echo '&a [*a]' >\"$1\"", "anchors and aliases are not supported"),
        ("echo 'name: [' >\"$1\"", "this is not YAML"),
        ("printf '\\377\\376' >\"$1\"", "not UTF-8 text"),
        ("sed -i 's/^name: .*/name: report/' \"$1\"", "already a job named 'report'"),
        ("sed -i 's/job: report/job: nobody/' \"$1\"", "there is no job named 'nobody'"),
        ("sed -i 's/job: report/job: backup/' \"$1\"", "a job cannot run after itself"),
        ("echo 'colour: red' >>\"$1\"", "colour: is not a known field"),
        ("echo 'id: other' >>\"$1\"", "the id of a job can't be changed"),
    ],
)
def test_invalid_values_are_reported_and_nothing_is_stored(
    home: Path, monkeypatch: pytest.MonkeyPatch, script: str, sentence: str
) -> None:
    job_id = _add()
    before = _job(job_id)
    with pytest.raises(SchedulerError, match="backup wasn't changed"):
        _edit(job_id, _editor(home, script), monkeypatch, typed="n\n")
    assert _job(job_id) == before
    job, told = _edit(job_id, _editor(home, script, ': >"$1"'), monkeypatch, typed="y\n")
    assert sentence in told
    assert job == before


def test_changes_made_elsewhere_are_not_overwritten_and_the_file_is_kept(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = _add()
    elsewhere = f"{sys.executable} -m halo_scheduler edit backup --description elsewhere"
    with pytest.raises(SchedulerError, match="changed elsewhere") as caught:
        _edit(job_id, _editor(home, f'{elsewhere}; sed -i s/6h/12h/ "$1"'), monkeypatch)
    job = _job(job_id)
    assert (job.schedule, job.description) == (Every("6h"), "elsewhere")
    (kept,) = home.glob("halo-*.yaml")
    assert str(kept) in str(caught.value)
    assert "every: 12h" in kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("editor", ["/nowhere/editor", "false", "'"])
def test_an_editor_that_fails_changes_nothing(monkeypatch: pytest.MonkeyPatch, editor: str) -> None:
    job_id = _add()
    before = _job(job_id)
    with pytest.raises(Exception, match=r"Editing failed|cannot start"):
        _edit(job_id, editor, monkeypatch)
    assert _job(job_id) == before


def test_long_texts_are_shown_unchanged(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prompt = "Look at this:\n\n  - one\n# two\n"
    with Scheduler.open() as scheduler:
        job_id = scheduler.add_job("ask", Manual(), Prompt(text=prompt))
    script = "sed -i 's/- one/- three/' \"$1\""
    job, _ = _edit(job_id, _editor(home, script), monkeypatch)
    assert job.action == Prompt(text=prompt.replace("one", "three"))


def test_the_examples_at_the_end_of_the_file_are_valid() -> None:
    lines = [line.removeprefix("# ") for line in MORE.strip().splitlines()[2:]]
    taught = "\n".join(line for line in lines if not line.startswith("#"))
    data = read_yaml(f"name: x\naction: {{kind: command, argv: [x]}}\n{taught}\n".encode()).data
    draft = draft_of(data)
    assert len(draft.spec.policy.conditions) == 6
    assert (draft.spec.schedule, draft.spec.policy.keep_awake) == (Every("15m"), True)
