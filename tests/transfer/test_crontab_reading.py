"""Crontabs as people have them."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from timing import at_most_ms

from halo_scheduler.clock import ManualClock
from halo_scheduler.model import Command, Cron
from halo_scheduler.service import Scheduler
from halo_scheduler.transfer.any_file import read_jobs
from halo_scheduler.transfer.crontab_names import name_of_command, name_of_comment
from halo_scheduler.transfer.crontab_reading import is_user, read_crontab
from halo_scheduler.transfer.crontab_writing import write_crontab
from halo_scheduler.transfer.drafts import Draft, Drafts
from halo_scheduler.transfer.text_file import FileError

_CRONTABS = sorted((Path(__file__).parents[1] / "data" / "crontabs").glob("*.crontab"))


def _read(text: str) -> Drafts:
    return read_crontab(text.encode(), is_user={"root", "www-data"}.__contains__)


def _job(draft: Draft) -> dict[str, Any]:
    """Return what a line became, without what is as usual."""
    spec, action = draft.spec, draft.spec.action
    assert isinstance(spec.schedule, Cron)
    assert isinstance(action, Command)
    rest = {
        "zone": spec.schedule.timezone,
        "stdin": action.stdin,
        "shell": "" if action.shell == "/bin/sh" else action.shell,
        "environment": dict(action.environment),
        "directory": action.directory,
        "description": spec.description,
    }
    found = {"line": draft.line, "name": spec.name, "cron": spec.schedule.cron, "command": action.line}
    return found | {key: value for key, value in rest.items() if value}


def test_there_are_many_crontabs() -> None:
    assert len(_CRONTABS) >= 30


@pytest.mark.parametrize("path", _CRONTABS, ids=[path.stem for path in _CRONTABS])
def test_a_crontab_is_read_as_cron_reads_it(path: Path) -> None:
    drafts = read_crontab(path.read_bytes(), is_user={"root", "www-data"}.__contains__)
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert [_job(draft) for draft in drafts.jobs] == expected["jobs"]
    assert [[one.line, one.what] for one in drafts.left_out] == expected.get("left_out", [])
    faults = [[one.line, one.message.partition(" (in:")[0]] for one in drafts.faults]
    assert faults == expected.get("faults", [])


def test_all_of_them_are_taken_in_and_then_nothing_more(tmp_path: Path) -> None:
    with Scheduler.open(tmp_path / "halo.db", clock=ManualClock(1_800_000_000_000)) as scheduler:
        for path in _CRONTABS:
            drafts = read_crontab(path.read_bytes())
            scheduler.apply_import(scheduler.plan_import(drafts), skip_bad=True)
            assert scheduler.plan_import(drafts).is_empty, path.stem
            for job in scheduler.list_jobs():
                scheduler.remove_job(job.id)


def test_what_was_changed_by_hand_is_not_undone_by_the_same_crontab(tmp_path: Path) -> None:
    with Scheduler.open(tmp_path / "halo.db", clock=ManualClock(1_800_000_000_000)) as scheduler:
        drafts = _read("0 1 * * * /opt/x")
        scheduler.apply_import(scheduler.plan_import(drafts))
        (job,) = scheduler.list_jobs()
        scheduler.update_job(job.id, description="mine", group="night")
        assert scheduler.plan_import(drafts).is_empty


def test_a_crontab_of_ours_is_read_back() -> None:
    text = "# one\n0 1 * * * date +\\%F%a%b\n# two\n@daily env 'A=b c' x\n\nCRON_TZ=Asia/Tokyo\n# three\n5 5 * * 1 y\n"
    drafts = _read(text)
    again = _read(write_crontab([draft.spec for draft in drafts.jobs]))
    assert {draft.spec.name: _job(draft) | {"line": 0} for draft in again.jobs} == {
        draft.spec.name: _job(draft) | {"line": 0} for draft in drafts.jobs
    }


def test_cron_has_no_limit_for_a_run() -> None:
    (draft,) = _read("@daily x").jobs
    assert draft.spec.policy.time_limit is None


def test_what_cron_does_not_fill_in_is_said_once() -> None:
    first, second = _read("PATH=$HOME/bin\n@daily x\n@daily y").jobs
    assert first.notes == ("PATH=$HOME/bin is taken as it is: no $ is filled in there",)
    assert second.notes == ()


def test_a_secret_cannot_be_smuggled_into_a_command() -> None:
    assert "secrets cannot be used here" in _read("@daily x\n@daily echo ${secret:TOKEN}").faults[0].message


def test_blanks_count_where_they_mean_something() -> None:
    first, second, third = _read("@daily x  \n@daily cat% a \n@daily ls a\\ \n").jobs
    actions = [draft.spec.action for draft in (first, second, third)]
    assert [(action.line, action.stdin) for action in actions if isinstance(action, Command)] == [
        ("x", ""),
        ("cat", " a \n"),
        ("ls a\\ ", ""),
    ]


def test_an_empty_shell_is_refused() -> None:
    drafts = _read("@daily x\nSHELL=\n@daily y")
    assert [fault.line for fault in drafts.faults] == [3]


@pytest.mark.parametrize("text", ["hello", "To whom it may concern,\nthis is a letter about five words.\n"])
def test_what_is_no_crontab_is_refused(text: str) -> None:
    with pytest.raises(FileError, match="line 1: this is neither a file of Halo nor a crontab"):
        read_jobs(text.encode())


def test_users_are_no_programs() -> None:
    assert is_user("root")
    assert not is_user("nobody-of-this-name")
    assert not is_user("\0")
    # There is a user of this name on many systems, and a program on all.
    assert not is_user("sync")


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("/usr/bin/backup --full", "backup"),
        ("python3 -u /opt/x/run.py", "run.py"),
        ("java -jar /opt/app.jar", "app.jar"),
        ("node", "node"),
        ("sh -c 'exec /opt/deep/inside -v'", "inside"),
        ("nice", "nice"),
        ("nice -n", "nice -n"),
        ("php bin/console cache:clear", "console"),
        ("php artisan --version", "artisan"),
        ("cd /only", "cd"),
        ('"/opt/with blank/run" x', "run"),
        ("((", "(("),
        ("x" * 500, "x" * 59 + "…"),
        ("echo 'a;b' && y", "echo"),
        ("'unclosed quote", "'unclosed quote"),
        ("A=1", "A=1"),
        ("tool\x1b[31m/x", "x"),
    ],
)
def test_a_line_is_named_after_its_program(command: str, name: str) -> None:
    assert name_of_command(command) == name


@pytest.mark.parametrize(
    ("comments", "name", "description"),
    [
        ([], "", ""),
        (["# Backup:"], "Backup", ""),
        (["#Backup"], "Backup", ""),
        (["# about the file", "#", "# Backup"], "Backup", ""),
        (["# about the file", "#"], "", ""),
        (["# -----", "# ====="], "", ""),
        (["# m h dom mon dow command"], "", ""),
        (["# 0 5 * * 1 tar x"], "", ""),
        (["# @daily x"], "", ""),
        (["# PATH=/bin"], "", ""),
        (["# one", "# two", "# three"], "one", "two\nthree"),
        (["# a", "# b", "# c", "# d", "# e"], "", ""),
        (["# " + "long " * 30], "", ("long " * 30).strip()),
        (["# not kept: its retries", "# Backup"], "Backup", ""),
        (["# tab\there \x1b[31mred"], "tab here red", ""),
    ],
)
def test_a_comment_names_the_line_below_it(comments: list[str], name: str, description: str) -> None:
    assert name_of_comment(comments) == (name, description)


@pytest.mark.parametrize(
    ("content", "refusal"),
    [
        (b"@daily x\n" * 30_000, "more than 20000 entries"),
        (b"x" * 5_000_000, "neither a file of Halo nor a crontab"),
        (b" " * 5_000_000, "the file is empty"),
        (b"a " * 2_500_000, "neither a file of Halo nor a crontab"),
        (b"@" * 5_000_000, "neither a file of Halo nor a crontab"),
        (b"A" + b" " * 5_000_000, "neither a file of Halo nor a crontab"),
        (b"* * * * * " + b"(" * 4_000_000, ""),
        (b"* * * * * " + b"[ ] && " * 600_000, ""),
        (b"#" * 5_000_000 + b"\n@daily x", ""),
        (b"\x80" * 100, "no text in UTF-8"),
        (b"@daily x\0", "NUL"),
    ],
    ids=range(11),
)
def test_hostile_files_are_dealt_with_within_a_second(content: bytes, refusal: str) -> None:
    # A second, where nobody counts the lines that are run.
    with at_most_ms(5_000), pytest.raises(FileError, match=refusal) if refusal else nullcontext():
        read_jobs(content)
