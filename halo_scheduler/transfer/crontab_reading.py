"""Reads a crontab, of a user or of the system, with cron's own rules."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.checks import LONGEST_TEXT
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.grammar.zone import find_zone
from halo_scheduler.model import After, Backoff, Command, Cron, JobSpec, OnSession, Policy, SessionEvent
from halo_scheduler.transfer.crontab_lines import (
    MOST_COMMENTS,
    Names,
    name_of_command,
    name_of_comment,
    split_command,
)
from halo_scheduler.transfer.drafts import MOST_FAULTS, Draft, Drafts, Fault, LeftOut, add_fault
from halo_scheduler.transfer.text_file import MOST_COPIED, MOST_ITEMS, FileError, text_of

_LONGEST_QUOTE = 80
_LONGEST_QUOTED = 1_000  # before non-text is removed
_MOST_VARIABLES = 1_000
_MOST_KEPT = 200_000
_VARIABLE = re.compile(r"""(?P<quote>["']?)(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P=quote)\s*=\s*(?P<value>.*)""")
_LIKELY_ENTRY = re.compile(r"^[ \t]*+[0-9*@]", re.MULTILINE)
_NICKNAMED = re.compile(r"(?P<when>@\S+)\s*(?P<command>.*)")
_TIMED = re.compile(r"-?(?P<when>\S+(?:\s+\S+){4})(?:\s+(?P<command>.*))?")
# In addition to cron's own: FreeBSD's, with seconds from the end of a run.
_MORE_NICKNAMES = {"@every_minute": "* * * * *", "@every_second": "* * * * * *"}
_SECONDS = re.compile(r"@([0-9]{1,9})", re.ASCII)
# BSD flags before a command: no mail, no log, no concurrent runs. No command begins like that.
_FLAGS = re.compile(r"(?:-[nqs]+\s+)+")
_USER = re.compile(r"(?P<user>\S+)\s+(?P<command>\S.*)", re.DOTALL)
_ANACRON = re.compile(
    r"(?:[0-9]+|@(?:daily|weekly|monthly|yearly|annually))\s+[0-9]+\s+[A-Za-z][\w.-]{2,}\s+\S.*", re.ASCII
)
_MAIL = "Halo sends no mail: output is kept with each run, and failures are notified"
_UNKEPT = {
    "MAILTO": _MAIL,
    "MAILFROM": _MAIL,
    "CONTENT_TYPE": _MAIL,
    "CONTENT_TRANSFER_ENCODING": _MAIL,
    "LOGNAME": "jobs run as you",
    "USER": "jobs run as you",
    "RANDOM_DELAY": "each job has a random delay of its own; see --jitter",
    "CRON_WITHIN": "see conditions and --catch-up",
}
# Like cron: no time limit, and no disabling after failures, which many lines use to say that there is nothing to do.
_POLICY = Policy(time_limit=None, max_errors=0, backoff=Backoff.none())
_SAYS = frozenset({"schedule", "action"})


def read_crontab(content: bytes, *, user: str | None = None) -> Drafts:
    """Read a crontab; FileError refuses the whole file, faults of the drafts are single lines.

    `user` marks a system crontab, whose lines name a user before the command; only lines of this user are imported.
    """
    text = text_of(content)
    _refuse_too_many(text)
    return _Reader(user).read(text)


def _refuse_too_many(text: str) -> None:
    """Refuse a crontab with too many entries before parsing them, which would take too long."""
    excess = next(islice(_LIKELY_ENTRY.finditer(text), MOST_ITEMS, None), None)
    if excess is not None:
        line = text.count("\n", 0, excess.end()) + 1
        raise FileError(f"the crontab has more than {MOST_ITEMS} entries; split it", line=line)


@dataclass
class _Surroundings:
    """The settings from earlier lines that apply to all later ones."""

    shell: str = "/bin/sh"
    zone: str | None = None
    bad_zone: int | None = None
    """The line of an unknown time zone: the times of later lines are unknown."""
    environment: dict[str, str] = field(default_factory=dict)


class _Reader:
    """Reads the lines of one crontab."""

    def __init__(self, user: str | None) -> None:
        self._user = user
        self._surroundings = _Surroundings()
        self._size = 0
        self._kept = 0
        """The number of variables of all lines so far; each line has its own copy."""
        self._size_kept = 0
        self._comments: deque[str] = deque(maxlen=MOST_COMMENTS)
        self._has_entries = False
        self._names = Names()
        self._noted: set[tuple[str, str]] = set()
        self._are_variables_new = False
        self._jobs: list[Draft] = []
        self._left_out: list[LeftOut] = []
        self._faults: list[Fault] = []

    def read(self, text: str) -> Drafts:
        for number, line in enumerate(text.split("\n"), 1):
            # Only leading blanks are dropped: trailing ones may belong to standard input.
            self._line(line.lstrip(" \t").removesuffix("\r"), number)
        if self._faults and not self._has_entries:
            raise self._no_crontab()
        return Drafts(jobs=tuple(self._jobs), left_out=tuple(self._left_out), faults=tuple(self._faults))

    def _line(self, line: str, number: int) -> None:
        if line.startswith("#"):
            self._comments.append(line)
            return
        if len(line) > LONGEST_TEXT:
            self._fault(f"the line is longer than {LONGEST_TEXT} characters", number)
        elif line.strip() and not self._is_variable(line, number):
            self._entry(line, number)
        if max(len(self._jobs), len(self._left_out)) > MOST_ITEMS:
            raise FileError(f"the crontab has more than {MOST_ITEMS} entries; split it", line=number)
        self._comments.clear()

    def _fault(self, message: str, number: int) -> None:
        if len(self._faults) == MOST_FAULTS and not self._has_entries:
            raise self._no_crontab()
        add_fault(self._faults, Fault(message=message, line=number))

    def _no_crontab(self) -> FileError:
        first = self._faults[0]
        return FileError(f"this is neither a Halo file nor a crontab ({first.message})", line=first.line)

    # --- Variables -----------------------------------------------------------------------------------

    def _is_variable(self, line: str, number: int) -> bool:
        match = _VARIABLE.fullmatch(line)
        if match is None:
            return False
        name, value = match["name"], _unquoted(match["value"])
        if name in _UNKEPT and not value:
            return True
        if name in _UNKEPT:
            what = plain_line(line[:_LONGEST_QUOTED])
            self._left_out.append(LeftOut(what=what, why=_UNKEPT[name], line=number))
        elif name == "CRON_TZ":
            self._set_zone(value, number)
        else:
            self._keep(name, value, number)
        if name == "SHELL":  # which runs the command, and which its programs find in their environment
            self._surroundings.shell = value
        return True

    def _keep(self, name: str, value: str, number: int) -> None:
        environment = self._surroundings.environment
        if name in environment:
            self._size -= len(name) + len(environment[name])
        self._size += len(name) + len(value)
        environment[name] = value
        self._are_variables_new = True
        if len(environment) > _MOST_VARIABLES:
            raise FileError(f"the crontab has more than {_MOST_VARIABLES} variables", line=number)

    def _set_zone(self, value: str, number: int) -> None:
        self._surroundings.zone, self._surroundings.bad_zone = value or None, None
        try:
            find_zone(value or None)
        except ScheduleError as error:
            self._surroundings.bad_zone = number
            self._fault(error.message, number)

    # --- Entries -------------------------------------------------------------------------------------

    def _entry(self, line: str, number: int) -> None:
        try:
            draft = self._draft(line, number)
        except ScheduleError as error:
            self._fault(f"{error.message} (in: {_quoted(line)})", number)
            return
        if draft is not None:
            self._jobs.append(draft)
        self._kept += len(self._surroundings.environment)
        self._size_kept += self._size
        if self._kept > _MOST_KEPT or self._size_kept > MOST_COPIED:
            raise FileError("its lines have too many variables in total; split it", line=number)

    def _draft(self, line: str, number: int) -> Draft | None:
        if _ANACRON.fullmatch(line):
            raise FileError(
                "this is an anacrontab, which counts days; write its lines like @daily COMMAND instead",
                line=number,
            )
        match = _NICKNAMED.fullmatch(line) or _TIMED.fullmatch(line)
        if match is None:
            raise ScheduleError("this is not a crontab line: expected five fields and a command")
        when, (command, stdin) = match["when"], split_command((match["command"] or "").lstrip())
        if not command.rstrip().endswith("\\"):  # which may keep a blank
            command = command.rstrip()
        schedule = self._schedule(when)
        self._has_entries = True
        if not command.strip():
            raise ScheduleError("there is no command after the time")
        if self._user is not None:
            user, command = _split_user(command)
            if user != self._user:
                why = f"runs as {plain_line(user)}; jobs of Halo run as you ({self._user})"
                self._left_out.append(LeftOut(what=_quoted(line), why=why, line=number))
                return None
        command = _FLAGS.sub("", command, count=1) if command.startswith("-") else command
        action = self._action(command, stdin)
        name, description = name_of_comment(list(self._comments))
        spec = JobSpec(
            name=self._names.unique(name or name_of_command(command)),
            description=description,
            schedule=schedule,
            action=action,
            policy=_POLICY,
        )
        says = _SAYS | ({"description"} if description else set())
        notes = tuple(self._notes())
        return Draft(spec=spec, line=number, says=says, has_made_up_name=True, notes=notes)

    def _schedule(self, when: str) -> Cron | After | OnSession:
        if when.lower() == "@reboot":
            return OnSession(SessionEvent.BOOT)
        if self._surroundings.bad_zone is not None:
            raise ScheduleError(
                f"its time zone is unknown, see CRON_TZ on line {self._surroundings.bad_zone}"
            )
        if seconds := _SECONDS.fullmatch(when):
            return After(f"{seconds[1]}s")
        expression = _MORE_NICKNAMES.get(when.lower(), when)
        return Cron(" ".join(expression.split()), self._surroundings.zone)

    def _action(self, command: str, stdin: str) -> Command:
        surroundings = self._surroundings
        if not surroundings.shell.strip():
            raise ScheduleError("SHELL is empty; name one, like /bin/sh")
        return Command(
            line=command,
            shell=surroundings.shell,
            stdin=stdin,
            # Cron starts every command in the HOME of the crontab.
            directory=surroundings.environment.get("HOME") or None,
            environment=surroundings.environment,
        )

    def _notes(self) -> Iterator[str]:
        """Yield the notes on a line. The note on variables, which cron does not expand, is given once."""
        variables = self._surroundings.environment if self._are_variables_new else {}
        self._are_variables_new = False
        for name, value in variables.items():
            if "$" in value and (name, value) not in self._noted:
                self._noted.add((name, value))
                yield f"{name}={value} is used literally: cron does not expand $ there"


def _split_user(command: str) -> tuple[str, str]:
    """Split the command field of a system crontab into user and command."""
    match = _USER.fullmatch(command)
    if match is None:
        raise ScheduleError("there is no command after the user; lines of a system crontab have both")
    return match["user"], match["command"]


def _quoted(line: str) -> str:
    return plain_line(line[:_LONGEST_QUOTED], _LONGEST_QUOTE)


def _unquoted(value: str) -> str:
    value = value.strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value
