"""Reads a systemd timer and its service."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePath

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.interval import SECOND_MS, format_interval
from halo_scheduler.model import (
    After,
    Backoff,
    CatchUp,
    Condition,
    Cron,
    Every,
    JobSpec,
    MainsPower,
    Once,
    OnSession,
    PathExists,
    Policy,
    SessionEvent,
)
from halo_scheduler.model.schedules import MOST_SCHEDULES, combine
from halo_scheduler.transfer.calendar_event import read_calendar_event, read_span
from halo_scheduler.transfer.drafts import Draft, Drafts, Fault, LeftOut
from halo_scheduler.transfer.text_file import FileError
from halo_scheduler.transfer.unit_file import ServiceReader, Setting, UnitFile, read_unit
from halo_scheduler.wording.schedules import describe

_Schedule = Cron | Once | Every | After | OnSession
_ESCAPED = re.compile(r"\\x([0-9a-fA-F]{2})")
_ZERO = re.compile(r"\s*0+\s*[a-z]*\s*", re.ASCII)
_TRUTHS = {"1", "yes", "true", "on"}
_FROM_THE_START = "it counts from the start of the timer, which is not a schedule"
_WITHOUT_A_TIME = {
    "OnActiveSec": _FROM_THE_START,
    "OnClockChange": "Halo replans when the clock jumps",
    "OnTimezoneChange": "Halo replans when the time zone changes",
    "WakeSystem": "Halo doesn't wake a sleeping computer; missed runs can be caught up",
}
_MEANINGLESS = {
    "Unit",
    "AccuracySec",
    "Persistent",
    "RandomizedDelaySec",
    "FixedRandomDelay",
    "RemainAfterElapse",
}
_SAYS = frozenset({"schedule", "action", "description"})
_EVENTS = {"OnBootSec": SessionEvent.BOOT, "OnStartupSec": SessionEvent.LOGIN}
_SCHEDULES = ("OnCalendar", "OnUnitActiveSec", "OnUnitInactiveSec", *_EVENTS)
_OF_SERVICE = {
    *("ExecStart", "ExecStartPre", "ExecStartPost", "WorkingDirectory", "Environment", "SuccessExitStatus"),
    *("Type", "TimeoutStartSec", "RuntimeMaxSec", "TimeoutSec", "RemainAfterExit", "SyslogIdentifier"),
    *("StandardOutput", "StandardError"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The values of the computer that unit files refer to: user name and home directory."""

    home: str = "~"
    user: str = ""


def read_timer(
    content: bytes, name: str, find_unit: Callable[[str], bytes | None], machine: Machine | None = None
) -> Drafts:
    """Read a timer; `find_unit` returns the content of a unit in the same folder.

    FileError refuses the whole file; faults of the drafts are single lines.
    """
    return _TimerReader(read_unit(content), name, machine or Machine()).read(find_unit)


class _TimerReader:
    """Reads one timer."""

    def __init__(self, timer: UnitFile, name: str, machine: Machine) -> None:
        self._timer = timer
        self._stem = PurePath(name).name.removesuffix(".timer") or "timer"
        self._machine = machine
        self._left_out: list[LeftOut] = []
        self._faults: list[Fault] = []

    def read(self, find_unit: Callable[[str], bytes | None]) -> Drafts:
        if self._stem.endswith("@"):
            raise FileError("this is a timer template; copy it with an instance name, like backup@home.timer")
        self._leave_out()
        settings = [(name, setting) for name in _SCHEDULES for setting in self._timer.all("Timer", name)]
        if len(settings) > MOST_SCHEDULES:
            line = settings[MOST_SCHEDULES][1].line
            raise FileError(f"it has more than {MOST_SCHEDULES} times; split it", line=line)
        schedules = list(self._schedules(settings))
        if not schedules and not self._faults:
            why = "it has no schedule: neither OnCalendar nor OnUnitActiveSec nor OnBootSec"
            self._left_out.append(LeftOut(what=f"{self._stem}.timer", why=why))
        jobs: list[Draft] = []
        if schedules:
            setting = self._timer.last("Timer", "Unit")
            name = f"{self._stem}.service" if setting is None else setting.value
            service = self._service(find_unit, name, None if setting is None else setting.line)
            job = None if service is None else self._job(schedules, service, name)
            jobs = [] if job is None else [job]
        return Drafts(jobs=tuple(jobs), left_out=tuple(self._left_out), faults=tuple(self._faults))

    def _leave_out(self) -> None:
        for name, setting in self._timer.names("Timer"):
            why = _WITHOUT_A_TIME.get(name, "Halo has no equivalent")
            if name not in _MEANINGLESS and name not in _SCHEDULES and setting.value.lower() != "false":
                self._left_out.append(LeftOut(what=f"{name}={setting.value}", why=why, line=setting.line))

    def _schedules(self, settings: list[tuple[str, Setting]]) -> Iterator[tuple[_Schedule, Setting]]:
        for name, setting in settings:
            try:
                yield _schedule(name, setting.value), setting
            except ScheduleError as error:
                self._faults.append(Fault(message=error.message, line=setting.line))

    # --- The service ---------------------------------------------------------------------------------

    def _service(
        self, find_unit: Callable[[str], bytes | None], name: str, line: int | None
    ) -> UnitFile | None:
        content = find_unit(name)
        if content is None and "@" in name:
            template, _, rest = name.partition("@")
            content = find_unit(f"{template}@.{rest.rpartition('.')[2]}")
        if content is None:
            message = f"{name}, which it starts, is missing; put both into one folder"
            self._faults.append(Fault(message=message, line=line))
            return None
        try:
            return read_unit(content)
        except FileError as error:
            self._faults.append(Fault(message=f"{name}: {error}", line=line))
            return None

    def _job(self, schedules: list[tuple[_Schedule, Setting]], service: UnitFile, name: str) -> Draft | None:
        """Return the timer's job with all its times, each of them once."""
        lines: dict[_Schedule, int] = {}
        for schedule, setting in schedules:
            lines.setdefault(schedule, setting.line)
        places = {f"schedules[{index}]": line for index, line in enumerate(lines.values())}
        reader = ServiceReader(service, self._specifiers(name))
        description = self._timer.last("Unit", "Description") or service.last("Unit", "Description")
        try:
            spec = JobSpec(
                name=self._stem,
                description="" if description is None else description.value,
                schedule=combine(lines),
                action=reader.command(),
                policy=self._policy(service, reader),
            )
        except ScheduleError as error:
            self._faults.append(Fault(message=f"its service: {error}"))
            return None
        raised = (_raised(schedule, setting) for schedule, setting in schedules)
        notes = (*self._notes(service), *raised)
        return Draft(
            spec=spec,
            line=schedules[0][1].line,
            line_of=lambda path: places.get(path.partition(".")[0]),
            notes=tuple(filter(None, notes)),
            says=_SAYS,
            has_made_up_name=True,
        )

    def _policy(self, service: UnitFile, reader: ServiceReader) -> Policy:
        return Policy(
            time_limit=self._time_limit(service),
            # After a failure it is started at its next time, as before.
            max_errors=0,
            backoff=Backoff.none(),
            catch_up=CatchUp.ONCE if self._is_true("Persistent") else CatchUp.SKIP,
            jitter=self._jitter(),
            is_jitter_fixed=self._is_true("FixedRandomDelay"),
            conditions=tuple(dict.fromkeys(self._conditions(service, reader))),
        )

    def _jitter(self) -> str | None:
        setting = self._timer.last("Timer", "RandomizedDelaySec")
        if setting is None or setting.value in {"", "0"}:
            return None
        return format_interval(-(-read_span(setting.value) // SECOND_MS) * SECOND_MS)

    def _specifiers(self, name: str) -> dict[str, str]:
        """Return the values of the service's specifiers; the instance name is empty without an instance."""
        stem = name.removesuffix(".service")
        prefix, _, instance = stem.partition("@")
        found = {"h": self._machine.home, "u": self._machine.user, "p": prefix, "N": stem, "n": name}
        return found | {"i": instance, "I": _unescaped(instance)}

    def _conditions(self, service: UnitFile, reader: ServiceReader) -> Iterator[Condition]:
        for unit in (self._timer, service):
            power = unit.last("Unit", "ConditionACPower")
            if power is not None and power.value.lower() in _TRUTHS:
                yield MainsPower()
            for setting in unit.all("Unit", "ConditionPathExists"):
                if not setting.value.startswith(("!", "|")):
                    yield PathExists(path=reader.filled_in(setting.value))

    def _time_limit(self, service: UnitFile) -> str | None:
        """Return the service's time limit; systemd sets none for services that a timer starts."""
        for name in ("RuntimeMaxSec", "TimeoutStartSec", "TimeoutSec"):
            setting = service.last("Service", name)
            if setting is not None and setting.value.lower() not in {"infinity", "0"}:
                return format_interval(max(read_span(setting.value) // SECOND_MS, 1) * SECOND_MS)
        return None

    def _notes(self, service: UnitFile) -> Iterator[str]:
        """Yield the settings of a service that are not kept."""
        lost = [f"{name}={one.value}" for name, one in service.names("Service") if name not in _OF_SERVICE]
        if lost:
            yield f"not kept of its service: {'; '.join(lost)}"

    def _is_true(self, name: str) -> bool:
        setting = self._timer.last("Timer", name)
        return setting is not None and setting.value.lower() in _TRUTHS


def _unescaped(name: str) -> str:
    r"""Return a unit name without escapes: a hyphen stands for a slash, \x2d for a hyphen."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), name.replace("-", "/"))


def _raised(schedule: _Schedule, setting: Setting) -> str:
    if not isinstance(schedule, Every) or not schedule.is_raised:
        return ""
    return f"OnUnitActiveSec={setting.value} becomes {describe(schedule)}: the shortest interval"


def _schedule(name: str, text: str) -> _Schedule:
    if name == "OnCalendar":
        return read_calendar_event(text)
    if name in _EVENTS:
        delay_s = 0 if _ZERO.fullmatch(text) else -(-read_span(text) // SECOND_MS)
        return OnSession(_EVENTS[name], format_interval(delay_s * SECOND_MS) if delay_s else None)
    span = format_interval(max(read_span(text) // SECOND_MS, 1) * SECOND_MS)
    return Every(span) if name == "OnUnitActiveSec" else After(span)
