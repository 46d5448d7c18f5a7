"""Every command as a process beside a running daemon: what it leaves with, prints, and what comes of it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asking import ask
from daemons import House
from process_probe import LONG_S, until

from halo_scheduler import After, Command, Every, Manual, Outcome
from halo_scheduler.cli.command_table import SECTIONS
from halo_scheduler.model import Job, JobStatus, WaitingFor

_HALO = Path(sys.executable).parent / "halo"
# Without being told, the daemon would look after a minute.
_SOON_S = 30
_COLOUR = "\x1b["


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with pytest.MonkeyPatch.context() as patch:
        house = House(tmp_path_factory.mktemp("house"), patch)
        house.start()
        yield house
        house.close()


def _halo(*arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [_HALO, *arguments],
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, **environment},
        check=False,
        timeout=LONG_S,
    )
    assert "Traceback" not in done.stderr
    return done


def _done(*arguments: str, stdin: str = "") -> str:
    """Run a command that is to succeed and to complain of nothing, and return what it prints."""
    done = _halo(*arguments, stdin=stdin)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def _side_by_side(*commands: tuple[str, ...]) -> dict[str, str]:
    """Run commands that only look, at once, and return what they print."""
    running = {
        " ".join(command): subprocess.Popen(
            [_HALO, *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, encoding="utf-8"
        )
        for command in commands
    }
    found = {name: process.communicate(timeout=LONG_S)[0] for name, process in running.items()}
    assert {name: process.returncode for name, process in running.items()} == dict.fromkeys(running, 0)
    return found


def _job(house: House, name: str) -> Job:
    return next(job for job in house.scheduler.list_jobs() if job.name == name)


def _runs_soon(house: House, name: str, runs: int = 1) -> None:
    """Wait until a job has run so often, which the daemon has to be told of."""
    until(
        lambda: (
            [run.outcome for run in house.scheduler.get_run_log(_job(house, name).id)]
            == [Outcome.SUCCESS] * runs
        ),
        _SOON_S,
    )


def test_jobs_are_made_changed_copied_removed_and_brought_back(house: House) -> None:
    # What counts from its last end and never ran is due at once: so the daemon shows what it was told.
    (after,) = _done("add", "tick", "--after", "1h", "--", "echo", "out").splitlines()[1:]
    assert after in ("  next: now", "  next: running")  # The daemon may be quicker than the terminal.
    _runs_soon(house, "tick")
    assert _done("edit", "tick", "--group", "day", "--description", "a clock").startswith("changed tick\n")
    _done("duplicate", "tick", "tock", "--enable")
    _runs_soon(house, "tock")
    assert _done("remove", "tock", "--yes").startswith("removed tock")
    assert "tock" in _done("trash")
    assert _done("trash", "restore", "tock").startswith("restored tock; next: ")
    assert _done("group", "day", "--max-concurrent", "1") == "day: at most 1 job at once\n"
    found = _side_by_side(("list",), ("show", "tick"), ("group", "--json"), ("list", "--json"))
    assert re.search(r"● +tock +1 h after it ends", found["list"])
    assert "a clock" in found["show tick"]
    assert json.loads(found["group --json"])[0]["jobs"] == ["tick", "tock"]
    assert {job["name"] for job in json.loads(found["list --json"])} >= {"tick", "tock"}


def test_quiet_hours_and_pauses_delay_a_job_until_they_end(house: House) -> None:
    _done("quiet", "add", "Always", "--from", "00:00", "--to", "24:00")
    _done("add", "held", "--after", "1h", "--", "true")
    until(lambda: _job(house, "held").waiting_for is WaitingFor.QUIET_TIME, _SOON_S)
    found = _side_by_side(("next", "held"), ("why", "held"), ("status",), ("quiet",))
    assert "quiet until " in found["next held"]
    assert "The quiet hours are “Always”." in found["why held"]
    assert "▲ held: quiet until " in found["status"]
    assert found["quiet"].splitlines()[1].startswith("▲  1  Always")
    assert _done("quiet", "remove", "Always", "--yes") == "removed quiet hours Always\n"
    _runs_soon(house, "held")
    assert _done("hint", "held", "--at", "in 10m").startswith("held; next: in 10 min\n")
    assert _done("pause", "held", "--for", "1h").startswith("paused held until ")
    assert _job(house, "held").status is JobStatus.PAUSED
    assert _done("resume", "held").startswith("resumed held; next: ")
    assert "skip" in _done("skip", "held")
    assert _done("skip", "held", "--undo").startswith("held")


def test_runs_are_started_followed_stopped_and_listed(house: House) -> None:
    gate = house.folder / "gate"
    os.mkfifo(gate)
    _done("add", "talk", "--manual", "--", "sh", "-c", f"echo first; read word <{gate}; echo second; exit 3")
    waiting = subprocess.Popen(
        [_HALO, "run", "talk", "--wait"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert waiting.stdout is not None
    assert waiting.stdout.readline() == "first\n"
    following = subprocess.Popen(
        [_HALO, "logs", "talk", "-f"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert following.stdout is not None
    assert following.stdout.readline() == "first\n"
    # Ctrl-C ends the looking, and the run goes on; who waited for its end does not know it.
    for looking, exit_code in ((following, 0), (waiting, 130)):
        looking.send_signal(signal.SIGINT)
        _, said = looking.communicate(timeout=LONG_S)
        assert (looking.returncode, "Traceback" in said) == (exit_code, False)
    assert "talk is still running; stop it with: halo cancel talk" in said
    again = subprocess.Popen([_HALO, "logs", "talk", "--follow"], stdout=subprocess.PIPE, text=True)
    with gate.open("w") as opened:
        opened.write("go\n")
    assert again.communicate(timeout=LONG_S)[0] == "first\nsecond\n"
    found = _side_by_side(
        ("history", "talk"), ("logs", "talk", "--raw"), ("history", "--outcome", "failure", "--json")
    )
    assert "■" in found["history talk"]
    assert found["logs talk --raw"] == "first\nsecond\n"
    assert json.loads(found["history --outcome failure --json"])[0]["exit_code"] == 3
    done = _halo("run", "talk", "--json")
    run_id = json.loads(done.stdout)["run_id"]
    until(lambda: house.text(run_id) == "first\n", _SOON_S)
    assert _done("cancel", "talk") == "asked talk to stop; it will be killed in 10 seconds\n"
    assert house.end_of(run_id).outcome is Outcome.CANCELLED


def test_questions_are_shown_and_answered(house: House) -> None:
    job_id = house.scheduler.add_job("asks", Manual())
    question = ask(house.scheduler, job_id)
    assert "Which branch shall I take?" in _done("inbox")
    assert _halo("answer", "nobody", "yes").returncode == 3
    assert _done("answer", "asks", "--dismiss").startswith("dismissed")
    assert _halo("answer", question.run_id, "late").returncode == 1


def test_jobs_go_out_and_in_again(house: House, tmp_path: Path) -> None:
    house.scheduler.add_job("moved", After("1h"), Command(argv=("true",)))
    exported = _done("export", "moved").replace("moved", "moved again")
    (tmp_path / "jobs.yaml").write_text(re.sub(r"id: .*", "", exported), encoding="utf-8")
    assert "created 1 job" in _done("import", str(tmp_path / "jobs.yaml"), "--yes")
    assert _job(house, "moved again").status is JobStatus.PAUSED
    # What is let go on is due at once, of which the daemon has to be told.
    assert "resumed 1 job" in _done("resume", "--imported")
    _runs_soon(house, "moved again")
    assert "No changes." in _done("apply", str(tmp_path), "--yes")
    made = _done("backup").strip()
    assert made in _done("backup", "list")
    # Not under the feet of the daemon.
    refused = _halo("backup", "restore", "--latest", "--yes")
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)


def test_settings_are_changed_and_shown(house: House) -> None:
    changed = _side_by_side(
        ("config", "set", "max_concurrent", "7"), ("agent", "set", "mine", "--", "my-agent", "{prompt}")
    )
    assert list(changed.values()) == [
        "max_concurrent = 7\n",
        "added mine; prompt as an argument\n",
    ]
    assert house.scheduler.settings.read().max_concurrent == 7
    assert (
        _done("secret", "set", "--in-file", "TOKEN", stdin="very secret\n")
        == "saved TOKEN to a private file\n"
    )
    found = _side_by_side(
        ("config", "get", "max_concurrent"),
        ("agent", "list"),
        ("secret", "list"),
        ("environment", "--json"),
        ("completion", "bash"),
        ("preview", "--every", "15m", "--json"),
        ("autostart", "status", "--json"),
        ("webhook", "status", "--json"),
        ("chat", "--json"),
        ("environment", "--refresh"),
    )
    assert found["config get max_concurrent"] == "7\n"
    assert "my-agent '{prompt}'" in found["agent list"]
    assert "very secret" not in found["secret list"]
    assert "PATH" in json.loads(found["environment --json"])
    assert "complete -F _halo_completion halo" in found["completion bash"]
    assert len(json.loads(found["preview --every 15m --json"])["runs"]) == 5
    assert json.loads(found["autostart status --json"])["is_on"] is False
    assert json.loads(found["webhook status --json"])["listening"] is None
    assert json.loads(found["chat --json"]) == []
    assert found["environment --refresh"] == "the next command runs with a fresh environment\n"
    manual = _halo("manual")
    assert manual.stdout.endswith("index.html\n") or "make docs" in manual.stderr
    assert _done("secret", "remove", "TOKEN", "--yes") == "deleted TOKEN\n"
    assert json.loads(_halo("doctor", "--json").stdout)


def test_every_command_is_tried_as_a_process() -> None:
    tried = Path(__file__).read_text(encoding="utf-8")
    tried += Path(__file__).with_name("test_mcp_server.py").read_text(encoding="utf-8")
    tried += Path(__file__).with_name("test_daemon.py").read_text(encoding="utf-8")
    names = {name for section in SECTIONS.values() for name in section}
    assert {name for name in names if f'"{name}"' not in tried} == set()


@pytest.mark.parametrize(
    ("arguments", "exit_code", "sentence"),
    [
        (("show", "tikc"), 3, "there is no job 'tikc'; did you mean 'tick'?"),
        (("list", "--status", "asleep"), 2, "'asleep' is not one of"),
        (("show", "\udcff"), 3, "there is no job"),
    ],
)
def test_a_refusal_is_one_sentence_on_stderr(
    house: House, arguments: tuple[str, ...], exit_code: int, sentence: str
) -> None:
    if not house.scheduler.list_jobs(text="tick"):
        house.scheduler.add_job("tick", Manual())
    done = _halo(*arguments)
    assert (done.returncode, done.stdout) == (exit_code, "")
    assert sentence in done.stderr
    assert done.stderr.startswith("halo: ")
    usage = [f"usage: halo {arguments[0]} [OPTIONS] [TEXT]"] if exit_code == 2 else []
    assert done.stderr.splitlines()[1:] == usage


def test_a_damaged_database_is_one_sentence_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "halo.db").write_text("no database at all" * 100)
    done = _halo("list", HALO_HOME=str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "halo backup restore --latest" in done.stderr


def _on_terminal(*arguments: str, typed: bytes = b"", **environment: str) -> tuple[int, str]:
    """Run a command with a terminal for all of its streams; return its exit code and what is seen there."""
    keys, terminal = os.openpty()
    os.write(keys, typed)
    process = subprocess.Popen(
        [_HALO, *arguments],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**os.environ, "TERM": "xterm", **environment},
    )
    os.close(terminal)
    seen = b""
    while True:
        try:
            piece = os.read(keys, 65_536)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    os.close(keys)
    return process.wait(LONG_S), seen.decode(errors="replace")


def test_colours_are_for_terminals_that_want_them(house: House) -> None:
    house.scheduler.add_job("coloured", Every("1h"))
    assert _COLOUR in _on_terminal("list")[1]
    assert _COLOUR not in _on_terminal("list", NO_COLOR="1")[1]
    assert _COLOUR not in _done("list")


def test_on_a_terminal_a_removal_asks_and_ctrl_d_changes_nothing(house: House) -> None:
    kept: Any = house.scheduler.add_job("kept", Manual())
    exit_code, seen = _on_terminal("remove", "kept", typed=b"n\n")
    assert (exit_code, "Remove kept? [y/N]" in seen, "halo: nothing was changed" in seen) == (
        1,
        True,
        True,
    )
    exit_code, seen = _on_terminal("remove", "kept", typed=b"\x04")
    assert (exit_code, "Traceback" in seen) == (1, False)
    assert house.scheduler.get_job(kept) is not None
    assert _on_terminal("remove", "kept", typed=b"y\n")[0] == 0
    assert house.scheduler.get_job(kept) is None
