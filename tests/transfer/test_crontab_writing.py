"""Jobs as a crontab."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spec_strategies import SPECS

from halo_scheduler.grammar.text import shown_spec
from halo_scheduler.model import (
    After,
    Callback,
    Command,
    Cron,
    Follower,
    JobSpec,
    Once,
    OnSession,
    OnWebhook,
    Prompt,
    Reminder,
    Schedule,
    SessionEvent,
    action_from_dict,
)
from halo_scheduler.model.actions import FolderSource
from halo_scheduler.transfer.crontab_reading import read_crontab
from halo_scheduler.transfer.crontab_writing import write_crontab

_CRON = Cron("0 1 * * *")


def _written(action: Any, schedule: Schedule = _CRON, **fields: Any) -> str:
    """Return the last line of a crontab with one job."""
    text = write_crontab([JobSpec(name="job", schedule=schedule, action=action, **fields)])
    return text.splitlines()[-1]


@pytest.mark.parametrize(
    ("action", "line"),
    [
        (Command(argv=("x",), directory="~"), "cd ~ && x"),
        (Command(argv=("x",), directory="~/a"), "cd ~/a && x"),
        (Command(argv=("x",), directory="/a b"), "cd '/a b' && x"),
        (Command(argv=("echo", "50%")), r"echo 50\%"),
        (action_from_dict({"kind": "command", "line": "  a | b ", "shell": "/bin/sh"}), "a | b"),
        (
            action_from_dict(
                {"kind": "command", "line": "a; b", "shell": "/bin/sh", "environment": {"B": "2", "A": "1"}}
            ),
            "env A=1 B=2 /bin/sh -c 'a; b'",
        ),
    ],
)
def test_a_command_is_written_for_a_plain_shell(action: Command, line: str) -> None:
    assert _written(action) == f"0 1 * * * {line}"


@pytest.mark.parametrize(
    ("action", "schedule", "reason"),
    [
        (
            Command(argv=("x",)),
            After("5m"),
            "it runs 5 minutes after it finishes, and cron does not know when runs end",
        ),
        (Command(argv=("x",)), Once(5), "it runs once"),
        (Command(argv=("x",)), OnSession(SessionEvent.BOOT, "5m"), "it runs 5 minutes after boot"),
        (Command(argv=("x",)), OnWebhook(), "it runs when its webhook is called"),
        (Reminder(title="Stand up"), _CRON, "it is a reminder"),
        (Callback("f"), _CRON, "it calls a function of another program"),
        (Prompt(text="x"), _CRON, "it asks an agent"),
        (Command(argv=("x",), work_source=FolderSource(path="/x")), _CRON, "it has a work queue"),
        (Command(argv=("x",)), Cron("0 0 * * MON#2"), "cron has no last days and no nth weekdays"),
    ],
)
def test_settings_that_cron_cannot_express_are_listed(action: Any, schedule: Schedule, reason: str) -> None:
    assert _written(action, schedule) == f"# job: {reason}"


def test_a_job_that_runs_at_boot_is_a_line() -> None:
    assert _written(Command(argv=("x",)), OnSession(SessionEvent.BOOT)) == "@reboot x"


def test_six_fields_without_seconds_are_five() -> None:
    assert _written(Command(argv=("x",)), Cron("0 0 9 * * 1-5")) == "0 9 * * 1-5 x"


@pytest.mark.parametrize(
    ("shell", "line"), [("/bin/sh", "x | y"), ("/bin/bash", "env SHELL=/bin/bash /bin/bash -c 'x | y'")]
)
def test_the_shell_that_cron_sets_by_itself_is_not_set(shell: str, line: str) -> None:
    command = Command(line="x | y", shell=shell, environment={"SHELL": shell})
    assert _written(command, Cron("0 9 * * *")) == f"0 9 * * * {line}"


def test_next_jobs_are_not_kept() -> None:
    text = write_crontab(
        [JobSpec(name="a", schedule=_CRON, action=Command(argv=("x",)), followers=(Follower(job_id="b"),))]
    )
    assert "# not kept: what runs after it\n# a\n" in text


@settings(max_examples=30)
@given(st.lists(SPECS, max_size=4, unique_by=lambda spec: spec.name))
def test_every_job_is_a_line_or_a_reason(specs: list[JobSpec]) -> None:
    """What is a line is read back as the same time and the same command."""
    text = write_crontab(specs)
    lines = text.split("\n")
    for spec in specs:
        assert any(line.startswith(f"# {shown_spec(spec.name)}") for line in lines)
    entries = [line for line in lines if line and not line.startswith(("#", "CRON_TZ="))]
    drafts = read_crontab(text.encode())
    assert drafts.faults == ()
    assert len(drafts.jobs) == len(entries)
    commands = [spec.action for spec in specs if isinstance(spec.action, Command)]
    for draft in drafts.jobs:
        assert isinstance(draft.spec.action, Command)
        assert draft.spec.action.stdin in {command.stdin for command in commands}
