"""Parameters of a job in the terminal: add, edit, show, run, logs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from halo_scheduler import Callback, Manual, Run
from halo_scheduler.cli import halo
from halo_scheduler.cli.commands import runs
from halo_scheduler.errors import ScheduleError
from halo_scheduler.service.scheduler import Scheduler


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    # The engine of this test is not ticking meanwhile.
    monkeypatch.setattr(runs, "begins", lambda _scheduler, _run_id: True)
    return tmp_path


@pytest.fixture
def engine() -> Iterator[Scheduler]:
    with Scheduler.open() as scheduler:
        scheduler.on_job_due(lambda _job, _run: None)
        scheduler.tick()
        yield scheduler
        scheduler.stop()


def _halo(*arguments: str, stdin: bytes = b"") -> Result:
    return CliRunner().invoke(halo, arguments, input=stdin, catch_exceptions=False)


def _parameters() -> dict[str, str]:
    found: dict[str, str] = json.loads(_halo("show", "build", "--json").stdout)["parameters"]
    return found


def _add(*more: str) -> None:
    result = _halo(
        "add", "build", "--manual", "--param", "branch=main", "--param", "mode=a=b", *more, "--", "true"
    )
    assert result.exit_code == 0, result.output


def test_declared_parameters_are_shown_changed_and_removed() -> None:
    _add()
    assert _parameters() == {"branch": "main", "mode": "a=b"}
    assert "branch=main, mode=a=b" in _halo("show", "build").output
    assert (
        "branch=next, mode=a=b, x="
        in _halo("edit", "build", "--param", "branch=next", "--param", "x=").output
    )
    assert _parameters() == {"branch": "next", "mode": "a=b", "x": ""}
    assert "params    none" in _halo("edit", "build", "--no-params").output
    assert _parameters() == {}


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ("Branch=x", "--param: 'Branch' cannot name a parameter; use a-z, 0-9 and _"),
        ("x=${secret:A}", "--param: secrets cannot be used here"),
    ],
)
def test_a_bad_parameter_is_refused_by_its_option(given: str, refusal: str) -> None:
    with pytest.raises(ScheduleError) as refused:
        _add("--param", given)
    assert str(refused.value).startswith(refusal)


def test_a_parameter_without_a_sign_is_wrong_use() -> None:
    result = _halo("add", "build", "--manual", "--param", "branch", "--", "true")
    assert (result.exit_code, "--param: 'branch' has no '='" in result.output) == (2, True)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("full, dry_run=yes", 'mode="full, dry_run=yes"'),
        ("full; an input of 9 bytes", 'mode="full; an input of 9 bytes"'),
        ('full", x="', r'mode="full\", x=\""'),
        ("full\n  when  never", r'mode="full\n when never"'),
        ("full \u200b", r'mode="full \u200b"'),
        ("a=b", "mode=a=b"),
    ],
)
def test_a_value_cannot_look_like_other_parameters(value: str, shown: str) -> None:
    _add("--param", f"mode={value}")
    assert f"params    branch=main, {shown}\n" in _halo("show", "build").stdout


def _run(engine: Scheduler, *options: str, stdin: bytes = b"") -> Run:
    engine.add_job("build", Manual(), Callback(), parameters={"branch": "main"})
    result = _halo("run", "build", *options, "--json", stdin=stdin)
    assert result.exit_code == 0, result.output
    engine.tick()
    run = engine.get_run(json.loads(result.stdout)["run_id"])
    assert run is not None
    return run


def test_run_sets_values(engine: Scheduler) -> None:
    run = _run(engine, "--set", "branch=next")
    assert (run.parameters, run.input_bytes) == ({"branch": "next"}, 0)


@pytest.mark.parametrize(
    ("given", "content"), [("grün", "grün".encode()), ("-", b"\xff piped"), ("@{}/file", b"\0 of a file")]
)
def test_run_takes_an_input(engine: Scheduler, home: Path, given: str, content: bytes) -> None:
    (home / "file").write_bytes(b"\0 of a file")
    run = _run(engine, "--input", given.format(home), stdin=b"\xff piped")
    assert engine.runs.input(run.id) == content
    engine.tick()
    words = _halo("logs", "build").stderr
    assert f"with branch=main; an input of {len(content)} bytes" in words


def test_undeclared_parameters_are_refused_by_run(engine: Scheduler, home: Path) -> None:
    engine.add_job("build", Manual(), parameters={"branch": "main"})
    with pytest.raises(ScheduleError, match="--set: there is no parameter 'brnch'; known are branch"):
        _halo("run", "build", "--set", "brnch=x")
    result = _halo("run", "build", "--input", f"@{home}/none")
    assert (result.exit_code, "--input: cannot read the file" in result.output) == (2, True)
    assert engine.runs.waiting() == {}


@pytest.mark.parametrize("given", ["-", "@/dev/zero"])
@pytest.mark.skipif(sys.platform == "win32", reason="it has no endless files")
def test_an_input_without_an_end_is_refused_at_its_limit(engine: Scheduler, given: str) -> None:
    engine.add_job("build", Manual(), Callback())
    # Another process, because all of an endless input would end this one.
    arguments = [sys.executable, "-m", "halo_scheduler", "run", "build", "--input", given]
    with Path("/dev/zero").open("rb") as endless:
        done = subprocess.run(
            ["/bin/sh", "-c", 'ulimit -v 2000000; exec "$@"', "sh", *arguments],
            stdin=endless,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert (done.returncode, done.stderr) == (2, "halo: --input: is longer than 1000000 bytes\n")
