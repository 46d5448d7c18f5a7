"""Crontabs as people have them."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from timing import at_most_ms

from halo_scheduler.clock import ManualClock
from halo_scheduler.model import After, Backoff, Command, Cron, OnSession
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.transfer.crontab_lines import name_of_command, name_of_comment
from halo_scheduler.transfer.crontab_reading import read_crontab
from halo_scheduler.transfer.crontab_writing import write_crontab
from halo_scheduler.transfer.drafts import Draft, Drafts
from halo_scheduler.transfer.job_files import read_jobs
from halo_scheduler.transfer.text_file import FileError
from halo_scheduler.transfer.timer_reading import Machine

_CRONTABS = sorted((Path(__file__).parents[1] / "data" / "crontabs").glob("*.crontab"))
_SYSTEM_CRONTABS = sorted((Path(__file__).parents[1] / "data" / "system_crontabs").glob("*.crontab"))


def _read(text: str) -> Drafts:
    return read_crontab(text.encode())


def _job(draft: Draft) -> dict[str, Any]:
    """Return what a line became, without what is as usual."""
    spec, action = draft.spec, draft.spec.action
    assert isinstance(spec.schedule, Cron | After | OnSession)
    assert isinstance(action, Command)
    rest = {
        "zone": spec.schedule.timezone if isinstance(spec.schedule, Cron) else None,
        "stdin": action.stdin,
        "shell": "" if action.shell == "/bin/sh" else action.shell,
        "environment": dict(action.environment),
        "directory": action.directory,
        "description": spec.description,
    }
    when = spec.schedule.to_dict()
    when = {name: when[name] for name in ("cron", "after", "on") if name in when}
    found = {"line": draft.line, "name": spec.name, **when, "command": action.line}
    return found | {key: value for key, value in rest.items() if value}


def test_there_are_many_crontabs() -> None:
    assert len(_CRONTABS) >= 30


@pytest.mark.parametrize("path", _CRONTABS, ids=[path.stem for path in _CRONTABS])
def test_a_crontab_is_read_as_cron_reads_it(path: Path) -> None:
    drafts = read_crontab(path.read_bytes())
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert [_job(draft) for draft in drafts.jobs] == expected["jobs"]
    assert [[one.line, one.what] for one in drafts.left_out] == expected.get("left_out", [])
    faults = [[one.line, one.message.partition(" (in:")[0]] for one in drafts.faults]
    assert faults == expected.get("faults", [])


def test_all_of_them_are_imported_and_then_nothing_more(tmp_path: Path) -> None:
    with Scheduler.open(tmp_path / "halo.db", clock=ManualClock(1_800_000_000_000)) as scheduler:
        for path in _CRONTABS:
            drafts = read_crontab(path.read_bytes())
            scheduler.imports.apply(scheduler.imports.plan(drafts), skip_bad=True)
            assert scheduler.imports.plan(drafts).is_empty, path.stem
            for job in scheduler.list_jobs():
                scheduler.remove_job(job.id)


def test_manual_changes_are_not_undone_by_the_same_crontab(tmp_path: Path) -> None:
    with Scheduler.open(tmp_path / "halo.db", clock=ManualClock(1_800_000_000_000)) as scheduler:
        drafts = _read("0 1 * * * /opt/x")
        scheduler.imports.apply(scheduler.imports.plan(drafts))
        (job,) = scheduler.list_jobs()
        scheduler.update_job(job.id, description="mine", group="night")
        assert scheduler.imports.plan(drafts).is_empty


def test_a_crontab_of_ours_is_read_back() -> None:
    text = "# one\n0 1 * * * date +\\%F%a%b\n# two\n@daily env 'A=b c' x\n\nCRON_TZ=Asia/Tokyo\n# three\n5 5 * * 1 y\n"
    drafts = _read(text)
    again = _read(write_crontab([draft.spec for draft in drafts.jobs]))
    assert {draft.spec.name: _job(draft) | {"line": 0} for draft in again.jobs} == {
        draft.spec.name: _job(draft) | {"line": 0} for draft in drafts.jobs
    }


def test_cron_neither_stops_a_run_nor_gives_up() -> None:
    (draft,) = _read("@daily [ -x /opt/x ] && /opt/x").jobs
    policy = draft.spec.policy
    assert (policy.time_limit, policy.max_errors, policy.backoff) == (None, 0, Backoff.none())


def test_variables_that_cron_does_not_expand_are_reported_once() -> None:
    first, second = _read("PATH=$HOME/bin\n@daily x\n@daily y").jobs
    assert first.notes == ("PATH=$HOME/bin is used literally: cron does not expand $ there",)
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
def test_files_that_are_not_crontabs_are_refused(text: str) -> None:
    with pytest.raises(FileError, match="line 1: this is neither a Halo file nor a crontab"):
        read_jobs(text.encode())


def test_the_first_word_of_a_user_crontab_is_a_program_whatever_users_exist() -> None:
    text = "0 1 * * * mail -s 'It is 10' joe\n0 2 * * * root /opt/backup\n"
    assert [draft.spec.name for draft in read_jobs(text.encode(), "/home/me/crontab").jobs] == [
        "mail",
        "root",
    ]


@pytest.mark.parametrize("path", _SYSTEM_CRONTABS, ids=[path.stem for path in _SYSTEM_CRONTABS])
def test_of_a_system_crontab_the_lines_of_one_user_are_taken(path: Path) -> None:
    drafts = read_crontab(path.read_bytes(), user="root")
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert [_job(draft) for draft in drafts.jobs] == expected["jobs"]
    assert [[one.line, one.why.partition(";")[0]] for one in drafts.left_out] == expected.get("left_out", [])
    faults = [[one.line, one.message.partition(" (in:")[0]] for one in drafts.faults]
    assert faults == expected.get("faults", [])


def test_lines_of_other_users_are_listed() -> None:
    drafts = read_crontab(b"2 * * * * logcheck /usr/sbin/logcheck\n3 * * * * me /opt/x\n", user="me")
    assert [str(one) for one in drafts.left_out] == [
        "line 1: 2 * * * * logcheck /usr/sbin/logcheck: runs as logcheck; jobs of Halo run as you (me)"
    ]
    assert [_job(draft)["command"] for draft in drafts.jobs] == ["/opt/x"]


def test_a_system_crontab_is_recognised_by_its_path_or_an_option() -> None:
    machine = Machine(user="me")
    for name, is_system in (
        ("/etc/crontab", False),
        ("/etc/cron.d/backup", False),
        ("old", True),
        ("", True),
    ):
        drafts = read_jobs(b"0 1 * * * me /opt/backup", name, machine=machine, is_system=is_system)
        assert [_job(draft)["command"] for draft in drafts.jobs] == ["/opt/backup"]


def test_an_anacrontab_is_refused() -> None:
    for line in ("1\t5\tcron.daily\trun-parts /etc/cron.daily", "@monthly 15 cron.monthly x"):
        with pytest.raises(FileError, match=r"line 2: this is an anacrontab"):
            _read(f"SHELL=/bin/sh\n{line}\n")
    assert len(_read("0 5 L * * last day\n").jobs) == 1


def test_variables_are_not_kept_a_million_times() -> None:
    variables = "".join(f"V{number}={'x' * 1_000}\n" for number in range(900))
    with at_most_ms(5_000), pytest.raises(FileError, match="too many variables"):
        _read(variables + "* * * * * x\n" * 9_000)
    with pytest.raises(FileError, match="more than 1000 variables"):
        _read("".join(f"V{number}=x\n" for number in range(1_001)) + "@daily x\n")
    again = "".join(f"V{number}=x\n" for number in range(900)) + "A=x\n" * 100_000 + "@daily x\n"
    with at_most_ms(3_000):
        assert len(_read(again).jobs) == 1


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
        ("if [ -x /opt/x ] && [ $(date +%d) -le 7 ]; then nice /opt/x; fi", "x"),
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
        (["#* * * * * /opt/old"], "", ""),
        (["## * * * * * root /opt/old"], "", ""),
        (["#-*/15 * * * * /opt/old"], "", ""),
        (["#0 0 * * * "], "", ""),
        (["# off since May: 0 4 * * * /opt/old"], "", ""),
        (["#30 2 1,15 jan-mar sun /opt/old"], "", ""),
        (["#0~59 3 * * * /opt/old"], "", ""),
        (["#export PATH=/bin"], "", ""),
        (["# mm hh dd mt wd command"], "", ""),
        (["# 5 10 or 15 items at a time, no more"], "5 10 or 15 items at a time, no more", ""),
        (["# *** Backup ***"], "Backup", ""),
        (["# one", "# two", "# three"], "one", "two\nthree"),
        (["# a", "# b", "# c", "# d", "# e"], "", ""),
        (["# " + "long " * 30], "", ("long " * 30).strip()),
        (["# not kept: its retries", "# Backup"], "Backup", ""),
        (["# tab\there \x1b[31mred"], r"tab here \x1b[31mred", ""),
    ],
)
def test_a_comment_names_the_line_below_it(comments: list[str], name: str, description: str) -> None:
    assert name_of_comment(comments) == (name, description)


@pytest.mark.parametrize(
    ("content", "refusal"),
    [
        (b"@daily x\n" * 30_000, "line 10001: the crontab has more than 10000 entries"),
        (b"@daily x\n" + b"MAILTO=x\n" * 300_000, "line 10002: the crontab has more than 10000 entries"),
        (
            b"@daily x\n" + b"hello\n" * 300_000,
            "line 2: this is not a crontab line.* of more than 1000 faults",
        ),
        (b"hello\n" * 300_000, "line 1: this is neither a Halo file nor a crontab"),
        (b"\n" * 300_000 + b"\r" * 900_000 + b"hello", "line 300001: this is neither"),
        (
            b"".join(b"A%d=$B\n" % n for n in range(999)) + b"* * * * * x\n" * 3_000,
            "line 1200: its lines have too many variables",
        ),
        (b"x" * 5_000_000, "neither a Halo file nor a crontab"),
        (b" " * 5_000_000, "the file is empty"),
        (b"a " * 2_500_000, "neither a Halo file nor a crontab"),
        (b"@" * 5_000_000, "neither a Halo file nor a crontab"),
        (b"A" + b" " * 5_000_000, "neither a Halo file nor a crontab"),
        (b"* * * * * " + b"(" * 900_000, ""),
        (b"* * * * * " + b"[ ] && " * 100_000, ""),
        (b"* * * * * " + b"(" * 4_000_000, "neither .*the line is longer than 1000000 characters"),
        (b"# x\n" * 300_000 + b"@daily x", ""),
        (b"#" * 5_000_000 + b"\n@daily x", ""),
        (b"\x80" * 100, "not UTF-8 text"),
        (b"@daily x\0", "NUL"),
    ],
    ids=range(18),
)
def test_hostile_files_are_dealt_with_within_a_second(content: bytes, refusal: str) -> None:
    # A second, where nobody counts the lines that are run.
    with at_most_ms(5_000), pytest.raises(FileError, match=refusal) if refusal else nullcontext():
        read_jobs(content)
