"""`halo list` stays quick: it loads only what the table needs."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest
from chain_waits import NETWORK, waits
from click.testing import CliRunner
from job_values import make_run

from halo_scheduler import Command, Cron, Every, HttpRequest
from halo_scheduler.cli import halo
from halo_scheduler.clock import SystemClock
from halo_scheduler.grammar.zone import local_time
from halo_scheduler.model import Outcome
from halo_scheduler.service.scheduler import Scheduler

_MOST_MODULES = 44
_COUNT = """
import sys
from halo_scheduler.cli import main
sys.argv = ["halo", "list"]
try:
    main()
except SystemExit:
    pass
print(*(name for name in sys.modules if name.partition(".")[0] in ("halo_scheduler", "ui")), file=sys.stderr)
"""


def _loaded(home: Path) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", _COUNT],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "HALO_HOME": str(home)},
    )
    assert "backup" in done.stdout
    return set(done.stderr.split())


def test_a_list_loads_few_modules(tmp_path: Path) -> None:
    with Scheduler.open(tmp_path / "halo.db") as scheduler:
        scheduler.add_job("backup", Every("15m"))
    loaded = _loaded(tmp_path)
    assert len(loaded) <= _MOST_MODULES, sorted(loaded)
    assert "halo_scheduler.service.scheduler" not in loaded


@pytest.mark.parametrize(("option", "printer"), [([], "print_table"), (["--json"], "print_json_list")])
def test_no_garbage_is_collected_while_jobs_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: list[str], printer: str
) -> None:
    with Scheduler.open(tmp_path / "halo.db") as scheduler:
        scheduler.add_job("backup", Every("15m"))
    collects: list[bool] = []
    module = import_module("halo_scheduler.cli.commands.list")
    monkeypatch.setattr(module, printer, lambda *_, **__: collects.append(gc.isenabled()))
    gc.enable()  # as in a process of its own
    try:
        CliRunner().invoke(halo, ["list", *option], env={"HALO_HOME": str(tmp_path)}, catch_exceptions=False)
        assert (collects, gc.isenabled()) == ([False], True)
    finally:
        gc.disable()


def test_rarely_used_modules_are_loaded_only_on_demand(tmp_path: Path) -> None:
    with Scheduler.open(tmp_path / "halo.db") as scheduler:
        job_id = scheduler.add_job("backup", Every("15m"))
    assert "halo_scheduler.wording.conditions" not in _loaded(tmp_path)
    with Scheduler.open(tmp_path / "halo.db") as scheduler:
        record = scheduler._store.jobs.get(job_id)
        assert record is not None
        scheduler._store.jobs.save_states([record.evolve(**waits(NETWORK))])
    assert "halo_scheduler.wording.conditions" in _loaded(tmp_path)


def test_a_search_finds_commands_and_schedules(tmp_path: Path) -> None:
    with Scheduler.open(tmp_path / "halo.db") as scheduler:
        scheduler.add_job("dump", Every("15m"), Command(argv=("pg_dump", "-Fc", "shop")))
        scheduler.add_job("ping", Every("1h"), HttpRequest(url="https://example.com/health"))
    for text, found in (("PG_DUMP", "dump"), ("every 15", "dump"), ("example.com", "ping")):
        done = CliRunner().invoke(halo, ["list", text], env={"HALO_HOME": str(tmp_path)})
        assert found in done.stdout, text
        assert len(done.stdout.splitlines()) == 2, text


def test_show_keeps_the_blanks_of_a_command(tmp_path: Path) -> None:
    line = """printf '%s' "c  d" """.strip()
    with Scheduler.open(tmp_path / "halo.db") as scheduler:
        scheduler.add_job("print", Every("1h"), Command(line=line, shell="/bin/sh"))  # noqa: S604 - never run
    done = CliRunner().invoke(halo, ["show", "print"], env={"HALO_HOME": str(tmp_path)})
    assert line in done.stdout


def test_an_output_limit_is_given_in_kilobytes_and_megabytes(tmp_path: Path) -> None:
    env = {"HALO_HOME": str(tmp_path)}
    for size, limit in (("64K", 64 << 10), ("2M", 2 << 20), ("500", 500), ("none", None)):
        arguments = ["add", f"job {size}", "--every", "1h", "--output-limit", size, "--", "true"]
        done = CliRunner().invoke(halo, arguments, env=env)
        assert done.exit_code == 0, done.output
        with Scheduler.open(tmp_path / "halo.db") as scheduler:
            (job,) = scheduler.list_jobs(text=f"job {size}")
        assert job.policy.output_limit_bytes == limit
    done = CliRunner().invoke(halo, ["edit", "job 2M", "--output-limit", "much"], env=env)
    assert "write a size like 64K or 2M" in done.output
    assert "keeps 64 KB of its output" in CliRunner().invoke(halo, ["show", "job 64K"], env=env).output


def test_a_narrow_terminal_shows_names_and_times_in_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _self: True, raising=False)
    monkeypatch.setenv("COLUMNS", "60")
    now_ms = SystemClock().now_ms()
    name = "Back up photos to nas"
    with Scheduler.open() as scheduler:
        job_id = scheduler.add_job(name, Cron("7,22,37,52 * * * *"))
        yesterday = now_ms - 26 * 3_600_000
        run = make_run(
            job_id=job_id, outcome=Outcome.FAILURE, started_at=yesterday, finished_at=yesterday + 5_000
        )
        scheduler._store.runs.insert([run], 1)
    local = local_time(yesterday)
    listed, following, past = (
        click.unstyle(CliRunner().invoke(halo, [command]).stdout) for command in ("list", "next", "history")
    )
    assert all(len(line) <= 60 for line in f"{listed}{following}{past}".splitlines())
    assert all(name in text for text in (listed, following, past))
    assert "SCHEDULE" in listed
    monkeypatch.setenv("COLUMNS", "48")
    narrower = click.unstyle(CliRunner().invoke(halo, ["list"]).stdout)
    assert name in narrower
    assert "SCHEDULE" not in narrower
    assert f" {local.day} {local:%b %H:%M} " in past
    assert re.search(r" (\d\d:\d\d:\d\d|\d+ [A-Z][a-z]{2} \d\d:\d\d) ", following.splitlines()[1])
