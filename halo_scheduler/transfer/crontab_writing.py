"""Writes jobs as a crontab; comments say what cron cannot do."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from halo_scheduler.grammar.english import listed
from halo_scheduler.grammar.interval import HOUR_MS, MINUTE_MS, SECOND_MS
from halo_scheduler.grammar.text import shown_spec
from halo_scheduler.grammar.zone import find_zone, to_wall
from halo_scheduler.model import (
    Action,
    After,
    Callback,
    Command,
    Cron,
    Entry,
    Every,
    HttpRequest,
    JobSpec,
    Manual,
    Once,
    OnSession,
    Policy,
    Prompt,
    Schedule,
    SessionEvent,
    Several,
)
from halo_scheduler.transfer.crontab_lines import command_field
from halo_scheduler.wording.schedules import describe

_HEADER = (
    "# Jobs of Halo Scheduler as a crontab; the comment above a line is the name of its job.",
    "# Cron neither catches up nor retries, and its PATH is shorter than a terminal's.",
)
_SHELL = "/bin/sh"
_LONGEST_COMMAND = 998  # of Vixie cron
_USUAL = Policy()
_POLICY_WORDS = {
    "conditions": "what it waits for",
    "retry": "its retries",
    "limits": "its limits",
    "caps": "its limits per day",
    "jitter_percent": "its spread",
    "jitter": "its spread",
    "keep_awake": "that it keeps the computer awake",
}


@dataclass(frozen=True, slots=True)
class _Line:
    """One crontab line: schedule, time zone and command."""

    zone: str | None
    text: str
    notes: tuple[str, ...]


def write_crontab(specs: Sequence[JobSpec]) -> str:
    """Return jobs as a crontab, sorted by name; jobs with their own time zone come last."""
    lines: dict[str | None, list[str]] = {None: []}
    left_out: list[str] = []
    for spec in sorted(specs, key=lambda spec: spec.name):
        try:
            written = _lines(spec)
        except ValueError as error:
            left_out.append(f"# {shown_spec(spec.name)}: {error}")
            continue
        sign = "" if spec.enabled else "# disabled: "
        for line in written:
            notes = [f"# not kept: {listed(line.notes)}"] if line.notes else []
            text = [*notes, f"# {shown_spec(spec.name)}", f"{sign}{line.text}"]
            lines.setdefault(line.zone, []).extend(text)
    return "\n".join([*_HEADER, *_sections(lines), *_left_out(left_out), ""])


def _sections(lines: dict[str | None, list[str]]) -> Iterator[str]:
    for zone in sorted(lines, key=lambda zone: zone or ""):
        if lines[zone]:
            yield ""
        if zone is not None:
            yield "# Not every cron knows time zones: cronie does."
            yield f"CRON_TZ={zone}"
        yield from lines[zone]


def _left_out(comments: list[str]) -> list[str]:
    return ["", "# Jobs that cannot be written as a crontab:", *comments] if comments else []


def _lines(spec: JobSpec) -> list[_Line]:
    """Return the crontab line of each schedule of a job. ValueError says why there is none."""
    if not isinstance(spec.schedule, Several):
        return [_line(spec, spec.schedule)]
    return [_entry_line(spec, entry) for entry in spec.schedule.entries]


def _entry_line(spec: JobSpec, entry: Entry) -> _Line:
    line = _line(
        replace(spec, schedule=entry.schedule, anchor_at=entry.anchor(spec.anchor_at)), entry.schedule
    )
    lost = ["the days it is limited to"] if entry.is_limited else []
    lost += ["what it does on overlap"] if entry.on_overlap else []
    return replace(line, notes=(*line.notes, *lost)) if lost else line


def _line(spec: JobSpec, schedule: Schedule) -> _Line:
    """Return the crontab line of a job with one schedule. ValueError says why there is none."""
    when = _when(schedule, spec.anchor_at)
    command = _command(spec.action)
    if len(command) > _LONGEST_COMMAND:
        raise ValueError(
            f"its command is longer than the {_LONGEST_COMMAND} characters that every cron takes"
        )
    zone = schedule.timezone if isinstance(schedule, Cron) else None
    return _Line(zone, f"{when} {command}", tuple(_lost(spec)))


def _when(schedule: Schedule, anchor_at: int) -> str:
    match schedule:
        case Cron():
            return _cron(schedule)
        case Every():
            return _minutes(schedule, anchor_at)
        case After():
            raise ValueError(f"it runs {describe(schedule)}, and cron does not know when runs end")
        case Once():
            raise ValueError("it runs once")
        case OnSession(on=SessionEvent.BOOT, delay=None):
            return "@reboot"
        case Manual():
            raise ValueError("it runs only manually or after another job")
        case _:
            raise ValueError(f"it runs {describe(schedule)}")


def _cron(schedule: Cron) -> str:
    fields = schedule.expression.fields
    if fields.seconds != (0,):
        raise ValueError("cron has no seconds")
    if fields.last_day or fields.last_weekdays or fields.nth_weekdays:
        raise ValueError("cron has no last days and no nth weekdays")
    text = schedule.cron.strip()
    return text if text.startswith("@") else " ".join(fields.texts[1:])


def _minutes(schedule: Every, anchor_at: int) -> str:
    """Return an interval as minutes of the hour that clock changes never affect."""
    if HOUR_MS % schedule.every_ms or schedule.every_ms % MINUTE_MS:
        raise ValueError(f"it runs {describe(schedule)} from its own start, which cron cannot express")
    step = schedule.every_ms // MINUTE_MS
    first = to_wall(find_zone(None), anchor_at // SECOND_MS) // 60 % step
    minutes = range(first, 60, step)
    return f"{'*' if step == 1 else ','.join(map(str, minutes))} * * * *"


def _command(action: Action) -> str:
    match action:
        case Command():
            if action.secret_names:
                raise ValueError("it uses secrets, which a crontab must not contain")
            if action.work_source is not None:
                raise ValueError("it has a work queue")
            return command_field(_shell_line(action), action.stdin)
        case HttpRequest():
            raise ValueError("it sends an HTTP request")
        case Prompt():
            raise ValueError("it asks an agent")
        case Callback():
            raise ValueError("it calls a function of another program")
        case _:
            raise ValueError(f"it is a {action.kind}")


def _shell_line(command: Command) -> str:
    """Return the command line for a plain shell."""
    line = shlex.join(command.argv) if command.argv else command.line.strip()
    environment = dict(command.environment)
    if environment.get("SHELL") == _SHELL:
        del environment["SHELL"]  # as cron sets it by itself
    if environment or (command.line and command.shell != _SHELL):
        words = list(command.argv) or [command.shell, "-c", command.line]
        pairs = [f"{name}={value}" for name, value in sorted(environment.items())]
        line = shlex.join(["env", *pairs, *words] if pairs else words)
    return line if command.directory is None else f"cd {_quoted_path(command.directory)} && {line}"


def _quoted_path(path: str) -> str:
    """Return a path quoted for the shell, which expands the home directory itself."""
    home, slash, rest = path.partition("/")
    if home != "~":
        return shlex.quote(path)
    return f"~{slash}{shlex.quote(rest) if rest else ''}"


def _lost(spec: JobSpec) -> Iterator[str]:
    """Yield the settings of a job that a crontab line cannot express."""
    for name, words in _POLICY_WORDS.items():
        if getattr(spec.policy, name) != getattr(_USUAL, name):
            yield words
    if isinstance(spec.schedule, Every) and spec.anchor_at % MINUTE_MS:
        yield "its seconds"
    if spec.parameters:
        yield "its parameters"
    if spec.followers:
        yield "what runs after it"
    if isinstance(spec.action, Command) and spec.action.success_codes != (0,):
        yield "which exit codes mean success"
