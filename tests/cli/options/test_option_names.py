"""Refusals of the command line name the option that was typed."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from halo_scheduler.cli import halo
from halo_scheduler.cli.commands.edit import OPTIONS_BY_FIELD, edit
from halo_scheduler.errors import ScheduleError
from halo_scheduler.model import Entry, JobSpec
from halo_scheduler.model.schedules import ENTRY_KEYS

# These choose the kind of a value, or clear one, and have no field of their own.
_WITHOUT_FIELD = {
    "--manual", "--no-env", "--no-headers", "--no-work", "--no-conditions", "--no-followers", "--no-group",
    "--no-params",
    # click refuses other words than theirs.
    "--on", "--file-event", "--webhook", "--chat-from",
    "--help", "-h",
}  # fmt: skip


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


def _values_in(hint: object) -> Iterator[type]:
    """Yield the value classes that an annotation mentions."""
    if isinstance(hint, type) and is_dataclass(hint):
        yield hint
    for part in typing.get_args(hint) if not isinstance(hint, type) else ():
        yield from _values_in(part)


_ENTRY_KEYS = {ENTRY_KEYS.get(field.name, field.name) for field in fields(Entry)} | {"only", "not", "shift"}


def _paths(value: type, prefix: str = "") -> Iterator[str]:
    """Yield the paths of all fields below a value class."""
    hints = typing.get_type_hints(value)
    for field in fields(value):
        yield f"{prefix}{field.name}"
        for inner in _values_in(hints[field.name]):
            yield from _paths(inner, f"{prefix}{field.name}.")


def test_every_option_that_sets_a_field_is_in_the_table() -> None:
    known = {name for names in OPTIONS_BY_FIELD.values() for name in names}
    options = {
        parameter.opts[0]
        for parameter in edit.get_params(click.Context(edit))
        if isinstance(parameter, click.Option)
    }
    assert options - _WITHOUT_FIELD <= known
    assert known - {"NAME", "COMMAND"} <= options


def test_every_field_of_the_table_exists() -> None:
    # The text of --when becomes a schedule of any kind; the others belong to the entry of a schedule.
    entry = {f"{schedule}.{name}" for schedule in ("schedule", "schedules") for name in _ENTRY_KEYS}
    assert set(OPTIONS_BY_FIELD) - {"schedule.when"} <= set(_paths(JobSpec)) | entry


_COMMAND = ["--", "true"]
_REQUEST = ["--http", "GET", "http://127.0.0.1"]
_PROMPT = ["--prompt", "hi"]
_GITHUB = ["--work-github", "me/shop", "--work-token", "T"]


@pytest.mark.parametrize(
    ("option", "given", "action"),
    [
        ("--when", ["--when", "every blue moon"], _COMMAND),
        ("--every", ["--every", "1x"], _COMMAND),
        ("--after", ["--after", "1x"], _COMMAND),
        ("--cron", ["--cron", "99"], _COMMAND),
        ("--tz", ["--cron", "@daily", "--tz", "Nowhere"], _COMMAND),
        ("--once", ["--once", "never"], _COMMAND),
        ("--chat", ["--chat", "family"], _COMMAND),
        ("--anchor", ["--every", "1h", "--anchor", "never"], _COMMAND),
        ("NAME", [], _COMMAND),
        ("COMMAND", [], ["--", ""]),
        ("--shell", ["--shell", " "], _COMMAND),
        ("--stdin", ["--stdin", "${secret:no name}"], _COMMAND),
        ("--dir", ["--dir", ""], _COMMAND),
        ("--env", ["--env", "=x"], _COMMAND),
        ("--env", ["--env", "A=${secret:no name}"], _COMMAND),
        ("--success-codes", ["--success-codes", "999"], _COMMAND),
        ("--no-work-code", ["--no-work-code", "999"], _COMMAND),
        ("--needs-input-code", ["--needs-input-code", "999"], _COMMAND),
        ("--grace", ["--grace", "1x"], _COMMAND),
        ("--http", ["--http", "GET", "nowhere"], []),
        ("--http", ["--http", "G@T", "http://127.0.0.1"], []),
        ("--header", ["--header", ":x"], _REQUEST),
        ("--body", ["--body", "${secret:no name}"], _REQUEST),
        ("--json-body", ["--json-body", "{"], _REQUEST),
        ("--expect", ["--expect", "9999"], _REQUEST),
        ("--prompt", ["--prompt", "a\0b"], []),
        ("--agent", ["--agent", "nobody"], _PROMPT),
        ("--work-folder", ["--work-folder", " "], _COMMAND),
        ("--work-github", ["--work-github", "shop", "--work-token", "T"], _COMMAND),
        ("--work-token", ["--work-github", "me/shop", "--work-token", "no name"], _COMMAND),
        ("--work-ready", [*_GITHUB, "--work-ready", "a,b"], _COMMAND),
        ("--work-in-progress", [*_GITHUB, "--work-in-progress", "a,b"], _COMMAND),
        ("--work-url", [*_GITHUB, "--work-url", "http://example.org"], _COMMAND),
        ("--timeout", ["--timeout", "1x"], _COMMAND),
        ("--retries", ["--retries", "-1"], _COMMAND),
        ("--retry-delay", ["--retry-delay", "1x"], _COMMAND),
        ("--max-errors", ["--max-errors", "-1"], _COMMAND),
        ("--catch-up-max-age", ["--catch-up-max-age", "1x"], _COMMAND),
        ("--jitter", ["--jitter", "50"], _COMMAND),
        ("--jitter", ["--jitter", "50%"], _COMMAND),
        ("--jitter", ["--jitter", "1x"], _COMMAND),
        ("--min-interval", ["--min-interval", "2d", "--max-interval", "1d"], _COMMAND),
        ("--max-interval", ["--max-interval", "1x"], _COMMAND),
        ("--max-runs-per-day", ["--max-runs-per-day", "0"], _COMMAND),
        ("--max-cost-per-day", ["--max-cost-per-day", "-1"], _COMMAND),
        ("--if-reachable", ["--if-reachable", "nas:99999"], _COMMAND),
        ("--if-idle", ["--if-idle", "1x"], _COMMAND),
        ("--if-load-below", ["--if-load-below", "-1"], _COMMAND),
        ("--if-path", ["--if-path", ""], _COMMAND),
        ("--if-deadline", ["--if-mains", "--if-deadline", "1x"], _COMMAND),
        ("--group", ["--group", ""], _COMMAND),
        ("--description", ["--description", "a\0b"], _COMMAND),
    ],
)
def test_a_refusal_names_the_option(option: str, given: list[str], action: list[str]) -> None:
    schedule = [] if {"--every", "--after", "--cron", "--once", "--chat"} & set(given) else ["--manual"]
    name = "" if option == "NAME" else "job"
    done = CliRunner().invoke(halo, ["add", name, *schedule, *given, *action])
    assert isinstance(done.exception, ScheduleError)
    assert str(done.exception).startswith(f"{option}: ")


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["edit", "job", "--rename", ""], "--rename"),
        (["edit", "job", "--timeout", "1x"], "--timeout"),
        (["edit", "job", "--on-success", "job"], "--on-success"),
        (["preview", "--every", "1x"], "--every"),
        (["preview", "--every", "1h", "--from", "never"], "--from"),
        (["pause", "job", "--until", "never"], "--until"),
        (["pause", "job", "--for", "1x"], "--for"),
        (["hint", "job", "--every", "1x"], "--every"),
        (["hint", "job", "--at", "never"], "--at"),
        (["hint", "job", "--every", "1m", "--ttl", "1x"], "--ttl"),
        (["hint", "job", "--every", "1m", "--ttl", "900d"], "--ttl"),
        (["why", "job", "--at", "never"], "--at"),
        (["quiet", "add", "--from", "25:00", "--to", "06:00"], "--from"),
        (["quiet", "add", "--from", "22:00", "--to", "x"], "--to"),
        (["quiet", "add", "--from", "22:00", "--to", "06:00", "--tz", "Nowhere"], "--tz"),
        (["agent", "set", "mine", "--", ""], "PROGRAM"),
        (["daemon", "--stop-timeout", "1x"], "--stop-timeout"),
    ],
)
def test_other_commands_name_their_options_too(arguments: list[str], option: str) -> None:
    CliRunner().invoke(halo, ["add", "job", "--manual", "--", "true"])
    done = CliRunner().invoke(halo, arguments)
    assert isinstance(done.exception, ScheduleError), done.output
    assert str(done.exception).startswith(f"{option}: ")


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_prompt_is_refused_unless_a_work_source_gives_the_work(text: str, tmp_path: Path) -> None:
    runner, empty = CliRunner(), ["--manual", "--prompt", text]
    refused = runner.invoke(halo, ["add", "a", *empty])
    assert refused.exit_code == 2
    assert "--prompt is empty; write what the agent should do, or add a work queue" in refused.stderr
    assert runner.invoke(halo, ["list", "--json"]).stdout.strip() == "[]"
    assert runner.invoke(halo, ["add", "a", "--manual", *_PROMPT]).exit_code == 0
    assert runner.invoke(halo, ["edit", "a", "--prompt", text]).exit_code == 2
    assert runner.invoke(halo, ["add", "b", *empty, "--work-folder", str(tmp_path)]).exit_code == 0
