"""`halo export --all` and `halo import` of such an archive: everything moves to another computer, and only once."""

from __future__ import annotations

import gzip
import json
import os
import stat
import zlib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from halo_scheduler import Command, Cron, Every, Manual, Once, Prompt
from halo_scheduler.cli import halo
from halo_scheduler.clock import ManualClock
from halo_scheduler.model import JobStatus, Outcome, Run, Source, StatusReason, Trigger
from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.model.settings import PRESETS, Agent, AssistantAccess, QuietTime, Theme
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.store.outputs import StoredOutput
from halo_scheduler.store.run_transfer import RunCopy
from halo_scheduler.store.store import Store

_LONG_AGO = 1_700_000_000_000
_DAY = 86_400_000


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALO_HOME", str(tmp_path / "old"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr("halo_scheduler.cli.terminal.terminal._open_terminal", lambda: None)
    return tmp_path


def _halo(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(halo, arguments, input=stdin)


def _fill(path: Path) -> dict[str, str]:
    """Make a home as it is after a year of use; return the ids of its jobs by name."""
    with Scheduler.open(path / "halo.db", clock=ManualClock(_LONG_AGO)) as scheduler:
        ids = {
            "backup": scheduler.add_job("backup", Every("6h"), Command(argv=("true",)), group="night"),
        }
        scheduler.settings.change(
            agents=(*PRESETS[:2], Agent(name="mine", argv=("my-agent", "--quiet"))),
            default_agent="mine",
            theme=Theme.DARK,
            max_concurrent=9,
            default_time_limit=None,
            assistants=AssistantAccess.READ,
            autostart_asked=True,
            quiet_times=(QuietTime(name="Nights"),),
        )
        ids["report"] = scheduler.add_job("report", Cron("@daily"), Prompt(text="Hi", agent="mine"))
        ids["once"] = scheduler.add_job("once", Once(_LONG_AGO + 60_000), Command(argv=("true",)))
        ids["held"] = scheduler.add_job("held", Manual(), Command(argv=("true",)))
        ids["gone"] = scheduler.add_job("gone", Manual(), Command(argv=("true",)))
        scheduler.pause_job(ids["held"])
        scheduler.set_group_limit("night", 2)
        scheduler.remove_job(ids["gone"])
    store = Store.open(path / "halo.db", _LONG_AGO)
    with store.transaction():
        store.runs.insert([_run(ids["backup"], number) for number in range(1_200)], 1)
        store.runs.insert([_run(ids["once"], 5_000), _run(ids["gone"], 5_001)], 1)
        store.runs.insert([_run(ids["held"], 5_002, outcome=Outcome.RUNNING, finished_at=None)], 1)
        store.outputs.insert(
            [StoredOutput(run_id=f"{7:032x}", content=zlib.compress(b"seven\n"), total_bytes=6)]
        )
        record = store.jobs.require(ids["once"])
        store.jobs.save_states([record.evolve(disabled_reason=StatusReason.DONE, next_run_at=None)])
        record = store.jobs.require(ids["backup"])
        store.jobs.save_states([record.evolve(last_outcome=Outcome.FAILURE, resumed_since_run=True)])
        record = store.jobs.require(ids["report"])
        failed = message(MessageKind.EXIT_CODE, code=3, signal=None)
        store.jobs.save_states(
            [
                record.evolve(
                    errors=2, last_run_at=_LONG_AGO, last_outcome=Outcome.FAILURE, last_message=failed
                )
            ]
        )
    store.close()
    return ids


def _run(job_id: str, number: int, **fields: Any) -> Run:
    at = _LONG_AGO + number * 1_000
    failed = number % 3 == 0
    given: dict[str, Any] = {
        "id": f"{number:032x}",
        "job_id": job_id,
        "trigger": Trigger.SCHEDULE,
        "source": Source.EVERY,
        "slot_at": at,
        "outcome": Outcome.FAILURE if failed else Outcome.SUCCESS,
        "message": message(MessageKind.EXIT_CODE, code=3, signal=None) if failed else None,
        "started_at": at,
        "finished_at": at + 500,
        "exit_code": 3 if failed else 0,
        "cost": 0.25,
    }
    return Run(**{**given, **fields})


def _moved(place: Path, monkeypatch: pytest.MonkeyPatch, *options: str) -> tuple[bytes, Result]:
    """Export the old home with output, and import that into a new one."""
    archive = place / "all.gz"
    exported = _halo("export", "--all", "--with-output", "-o", str(archive))
    assert exported.exit_code == 0, exported.output
    monkeypatch.setenv("HALO_HOME", str(place / "new"))
    return archive.read_bytes(), _halo("import", str(archive), "--yes", *options)


@pytest.mark.parametrize("options", [(), ("--enable",)])
def test_exporting_imported_jobs_gives_the_same_file(
    place: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    ids = _fill(place / "old")
    first, imported = _moved(place, monkeypatch, *options)
    assert imported.exit_code == 0, imported.output
    again = place / "again.gz"
    assert _halo("export", "--all", "--with-output", "-o", str(again)).exit_code == 0
    expected = gzip.decompress(first)
    if not options:
        # Until somebody reviews it, it is paused for that reason.
        expected = expected.replace(b'"state":{"paused":true}', b'"state":{}')
    assert gzip.decompress(again.read_bytes()) == expected
    with Scheduler.open_to_read() as scheduler:
        assert len(scheduler.get_run_log(ids["backup"], limit=5_000)) == 1_200
        assert not scheduler.jobs.situation(ids["backup"]).is_failing, "it was resumed there"
        run = scheduler.get_run(f"{0:032x}")
        assert run is not None
        assert run.error == "exit code 3"
        assert scheduler.get_output(f"{7:032x}") == b"seven\n"
        assert scheduler.list_removed() == []


def test_the_review_lists_settings_and_history_and_nothing_changes_without_yes(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fill(place / "old")
    archive = place / "all.gz"
    _halo("export", "--all", "-o", str(archive))
    monkeypatch.setenv("HALO_HOME", str(place / "new"))
    shown = _halo("import", str(archive))
    assert shown.exit_code != 0
    for line in (
        "Settings:",
        "  ~ max_concurrent: 5 → 9",
        "  ~ default_time_limit: 2h → none",
        "  ~ assistants: run → read",
        "      − gemini: gemini -p '{prompt}'",
        "      + mine: my-agent --quiet",
        "  + Nights: every day, 22:00–06:00",
        "  + held (paused on the other computer)",
        "  + once (disabled)",
        "  + 1201 runs (2023-11-14 – 2023-11-14)",
    ):
        assert line in shown.stdout.splitlines(), line
    assert "autostart" not in shown.stdout
    with Scheduler.open_to_read() as scheduler:
        assert scheduler.list_jobs() == []
        assert scheduler.settings.read().max_concurrent == 5


def test_imported_jobs_wait_for_a_review_unless_enabled(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fill(place / "old")
    _, imported = _moved(place, monkeypatch)
    assert (
        "created 4 jobs; changed 6 settings, quiet hours and group limits; added 1201 runs" in imported.stdout
    )
    assert "all 3 are paused" in imported.stdout
    with Scheduler.open_to_read() as scheduler:
        jobs = {job.name: job for job in scheduler.list_jobs()}
    reasons = {name: job.status_reason for name, job in jobs.items()}
    assert reasons == {
        "backup": StatusReason.IMPORTED,
        "report": StatusReason.IMPORTED,
        "held": StatusReason.IMPORTED,
        "once": StatusReason.DONE,
    }
    assert (jobs["report"].errors, jobs["report"].last_error) == (2, "exit code 3")
    assert _halo("resume", "--imported").exit_code == 0


def test_enabled_jobs_are_as_they_were(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fill(place / "old")
    _moved(place, monkeypatch, "--enable")
    with Scheduler.open_to_read() as scheduler:
        status = {job.name: (job.status, job.status_reason) for job in scheduler.list_jobs()}
    assert status == {
        "backup": (JobStatus.IDLE, None),
        "report": (JobStatus.IDLE, None),
        "held": (JobStatus.PAUSED, StatusReason.USER),
        "once": (JobStatus.DISABLED, StatusReason.DONE),
    }


def test_the_same_archive_again_changes_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fill(place / "old")
    archive, _ = _moved(place, monkeypatch)
    again = _halo("import", str(place / "all.gz"))
    assert (again.exit_code, again.stdout.splitlines()[-1]) == (0, "No changes.")
    piped = _halo("import", "-", stdin=archive)
    assert (piped.exit_code, piped.stdout.splitlines()[-1]) == (0, "No changes.")


def test_runs_go_to_the_job_of_the_same_name_and_before_its_own(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fill(place / "old")
    new = place / "new"
    with Scheduler.open(new / "halo.db") as scheduler:
        job_id = scheduler.add_job("backup", Every("6h"), Command(argv=("true",)), group="night")
    store = Store.open(new / "halo.db", _LONG_AGO)
    with store.transaction():
        store.runs.insert([_run(job_id, 9_999)], 1)
    store.close()
    _moved(place, monkeypatch)
    with Scheduler.open_to_read() as scheduler:
        log = scheduler.get_run_log(job_id, limit=5_000)
    assert [run.id for run in log[:2]] == [f"{9_999:032x}", f"{1_199:032x}"]
    assert len(log) == 1_201


def test_no_secret_and_nothing_from_the_trash_is_in_the_file(place: Path) -> None:
    ids = _fill(place / "old")
    _halo("secret", "set", "TOKEN", "--in-file", stdin=b"hunter2hunter2\n")
    archive = place / "all.gz"
    _halo("export", "--all", "--with-output", "-o", str(archive))
    text = gzip.decompress(archive.read_bytes())
    assert b"hunter2" not in text
    assert ids["gone"].encode() not in text
    if os.name == "posix":
        assert stat.S_IMODE(archive.stat().st_mode) == 0o600


@pytest.mark.parametrize("left", [0.1, 0.5, 0.999])
def test_a_cut_archive_is_refused_entirely(place: Path, monkeypatch: pytest.MonkeyPatch, left: float) -> None:
    _fill(place / "old")
    archive = place / "all.gz"
    _halo("export", "--all", "-o", str(archive))
    content = archive.read_bytes()
    archive.write_bytes(content[: int(len(content) * left)])
    monkeypatch.setenv("HALO_HOME", str(place / "new"))
    done = _halo("import", str(archive), "--yes")
    assert done.exit_code == 1
    assert "the archive is incomplete or damaged" in str(done.exception)
    assert not (place / "new" / "halo.db").exists()


def _with_line(content: bytes, old: bytes, new: bytes) -> bytes:
    text = gzip.decompress(content)
    assert old in text
    return gzip.compress(text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (b'"version":1', b'"version":2', "newer Halo"),
        (b'"format":"halo-archive"', b'"format":"something"', "not a Halo archive"),
        (b'"id":"00000000000000000000000000000003"', b'"id":"../../halo"', "damaged"),
        (b'"exit_code":3', b'"exit_code":99999999999999999999', "damaged"),
        (b'"outcome":"success"', b'"outcome":"running"', "damaged"),
        (b'"max_concurrent":9', b'"max_concurrent":0', "max_concurrent"),
        (b'"runs":1201', b'"runs":1200', "damaged"),
        (b'"cost":0.25', b'"cost":NaN', "damaged"),
        (b'"state":{"disabled":"done"', b'"state":{"disabled":"imported"', "state"),
    ],
)
def test_a_forged_archive_is_refused(
    place: Path, monkeypatch: pytest.MonkeyPatch, old: bytes, new: bytes, why: str
) -> None:
    _fill(place / "old")
    archive = place / "all.gz"
    _halo("export", "--all", "-o", str(archive))
    archive.write_bytes(_with_line(archive.read_bytes(), old, new))
    monkeypatch.setenv("HALO_HOME", str(place / "new"))
    done = _halo("import", str(archive), "--yes")
    assert done.exit_code == 1, done.output
    assert why in f"{done.exception}{done.output}"


def test_a_failure_while_runs_are_stored_leaves_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fill(place / "old")
    insert = "halo_scheduler.store.run_transfer.RunTransfer.insert"
    pages: list[int] = []

    def fail(_self: object, copies: list[RunCopy], _place: int) -> None:
        pages.append(len(copies))
        if len(pages) > 1:
            raise OSError("no more")

    monkeypatch.setattr(insert, fail)
    _, imported = _moved(place, monkeypatch)
    assert imported.exit_code != 0
    with Scheduler.open_to_read() as scheduler:
        assert scheduler.list_jobs() == []
        assert scheduler.settings.read().max_concurrent == 5


def test_names_and_formats_do_not_go_with_all() -> None:
    assert _halo("export", "--all", "backup").exit_code == 2
    assert _halo("export", "--all", "--format", "json").exit_code == 2
    assert _halo("export", "--with-output").exit_code == 2


def test_an_archive_can_be_read_with_other_tools(place: Path) -> None:
    _fill(place / "old")
    done = CliRunner().invoke(halo, ["export", "--all"])
    lines = [json.loads(line) for line in gzip.decompress(done.stdout_bytes).splitlines()]
    assert lines[0]["format"] == "halo-archive"
    assert lines[-1] == {"end": {"jobs": 4, "runs": 1_201}}
    assert sum("run" in line for line in lines) == 1_201
