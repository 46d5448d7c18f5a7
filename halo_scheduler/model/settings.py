"""The settings of the whole program, including quiet hours and agents."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.checks import (
    LONGEST_NAME,
    frozen_list,
    require_choice,
    require_interval,
    require_kind,
    require_label,
    require_line,
    require_text,
    require_whole,
)
from halo_scheduler.grammar.english import shown
from halo_scheduler.grammar.templates import refuse_references
from halo_scheduler.grammar.zone import find_zone
from halo_scheduler.model import Notify
from halo_scheduler.model.chat import MOST_BOTS, ChatBot
from halo_scheduler.model.codec import Value, put
from halo_scheduler.model.policies import MOST_OUTPUT_BYTES, Policy
from halo_scheduler.model.webhooks import LOOPBACK, USUAL_PORT, Place

PROMPT = "{prompt}"
PROMPT_FILE = "{prompt_file}"
LONGEST_ARGUMENT_BYTES = 100 << 10
"""How long a prompt may be that is given as an argument: systems take little more."""
_HTTP_TIME_LIMIT = "5m"
_MOST_CONCURRENT = 1_000
_MOST_RUNS = 10_000_000
_MOST_DAYS = 36_500
_MOST_BYTES = 1 << 50
_TIME = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]|24:00", re.ASCII)
_LONGEST_NAME = 60
# Lower ports are reserved for system services.
_LOWEST_PORT, _HIGHEST_PORT = 1_024, 65_535
MOST_QUIET_TIMES = 100


class Weekday(StrEnum):
    """A day of the week, in the order of the calendar."""

    MONDAY = "mon"
    TUESDAY = "tue"
    WEDNESDAY = "wed"
    THURSDAY = "thu"
    FRIDAY = "fri"
    SATURDAY = "sat"
    SUNDAY = "sun"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietTime(Value):
    """A span of wall time on the weekdays on which it begins; it ends on the next day unless the end is later.

    Without a group it applies to all jobs; without a zone it uses the computer's.
    """

    name: str = ""
    group: str | None = None
    days: tuple[Weekday, ...] = tuple(Weekday)
    start: str = "22:00"
    end: str = "06:00"
    timezone: str | None = None

    def __post_init__(self) -> None:
        require_line("name", self.name, longest=_LONGEST_NAME)
        if self.group is not None:
            require_label("group", self.group)
        days = {require_choice(Weekday, day, path="days") for day in frozen_list("days", self.days)}
        if not days:
            raise ScheduleError("choose at least one day", path="days")
        put(self, days=tuple(day for day in Weekday if day in days))
        for name in ("start", "end"):
            text = getattr(self, name)
            if not isinstance(text, str) or not _TIME.fullmatch(text):
                raise ScheduleError(f"must be a time of day like 22:00, not {shown(text)}", path=name)
        if self.start == "24:00":
            raise ScheduleError("must be before 24:00; write 00:00 and the next day", path="start")
        if self.timezone is not None:
            require_line("timezone", self.timezone)
            try:
                find_zone(self.timezone)
            except ScheduleError as error:
                raise error.under("timezone") from None

    @property
    def start_s(self) -> int:
        """The second of the day on which it begins."""
        return _seconds(self.start)

    @property
    def length_s(self) -> int:
        """How many seconds of wall time it lasts; the same start and end are a whole day."""
        length_s = _seconds(self.end) - self.start_s
        return length_s if length_s > 0 else length_s + _seconds("24:00")

    def is_for(self, group: str | None) -> bool:
        """Return whether it applies to jobs of a group."""
        return self.group is None or self.group == group


@dataclass(frozen=True, slots=True)
class Quiet:
    """The quiet hours at an instant: those that end last, and when scheduled runs start again."""

    until: int
    by: QuietTime


def _seconds(time_of_day: str) -> int:
    hours, minutes = time_of_day.split(":")
    return int(hours) * 3600 + int(minutes) * 60


def _require_address(path: str, value: object) -> None:
    """Refuse text that is not a numeric IP address."""
    from ipaddress import ip_address  # noqa: PLC0415 - slow to load, needed only for other addresses

    text = require_line(path, value)
    try:
        ip_address(text)
    except ValueError:
        raise ScheduleError(
            f"must be an address of this computer, like {LOOPBACK}, not {shown(text)}", path=path
        ) from None


class Delivery(StrEnum):
    """How an agent gets its prompt."""

    STDIN = "stdin"
    ARGUMENT = "argument"
    FILE = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent(Value):
    """A program with its arguments; `{prompt}` or `{prompt_file}` in one of them stands for the prompt.

    Without either, the prompt goes to the program's standard input.
    """

    name: str
    argv: tuple[str, ...]

    def __post_init__(self) -> None:
        require_label("name", self.name)
        put(self, argv=frozen_list("argv", self.argv))
        for index, argument in enumerate(self.argv):
            path = f"argv[{index}]"
            refuse_references(path, require_text(path, argument), "put it into the job's environment")
        if not self.argv or not self.argv[0].strip():
            raise ScheduleError("the program is empty", path="argv")
        if any(sign in self.argv[0] for sign in (PROMPT, PROMPT_FILE)):
            raise ScheduleError("the program cannot be the prompt; put it into an argument", path="argv[0]")
        rest = " ".join(self.argv[1:])
        if PROMPT in rest and PROMPT_FILE in rest:
            raise ScheduleError(f"use either {PROMPT} or {PROMPT_FILE}, not both", path="argv")

    @property
    def delivery(self) -> Delivery:
        rest = " ".join(self.argv[1:])
        if PROMPT in rest:
            return Delivery.ARGUMENT
        return Delivery.FILE if PROMPT_FILE in rest else Delivery.STDIN

    def command_line(self, prompt: str, prompt_file: str) -> tuple[str, ...]:
        """Return the program and its arguments with the prompt, or its file, inserted."""
        sign, words = (PROMPT, prompt) if self.delivery is Delivery.ARGUMENT else (PROMPT_FILE, prompt_file)
        return (self.argv[0], *(argument.replace(sign, words) for argument in self.argv[1:]))


PRESETS: tuple[Agent, ...] = (
    Agent(name="claude", argv=("claude", "-p")),
    Agent(name="codex", argv=("codex", "exec", "-")),
    Agent(name="gemini", argv=("gemini", "-p", PROMPT)),
    Agent(name="ollama", argv=("ollama", "run", "llama3.2")),
)


class Theme(StrEnum):
    """The colour scheme of the windows."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


class AssistantAccess(StrEnum):
    """What assistants may do; each level includes those before it."""

    READ = "read"
    RUN = "run"
    EDIT = "edit"

    def includes(self, other: AssistantAccess) -> bool:
        """Return whether this level allows everything that another one does."""
        levels = list(AssistantAccess)
        return levels.index(self) >= levels.index(other)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings; a default time limit of None means that runs of new jobs have none."""

    theme: Theme = Theme.SYSTEM
    start_hidden: bool = False
    notify: Notify = Notify.FAILURES
    max_concurrent: int = 5
    default_time_limit: str | None = "2h"
    runs_kept_per_job: int = 1_000
    runs_kept_days: int = 90
    output_kept_bytes: int = 1 << 30
    output_limit_bytes: int = 256 << 10
    autostart_asked: bool = False
    closing_explained: bool = False
    agents: tuple[Agent, ...] = PRESETS
    default_agent: str = PRESETS[0].name
    assistants: AssistantAccess = AssistantAccess.RUN
    quiet_times: tuple[QuietTime, ...] = ()
    webhooks: bool = False
    webhook_port: int = USUAL_PORT
    webhook_address: str = LOOPBACK
    chat_bots: tuple[ChatBot, ...] = ()

    @property
    def webhook_place(self) -> Place | None:
        """Where to listen for webhooks; None while they are off."""
        return Place(self.webhook_address, self.webhook_port) if self.webhooks else None

    def policy_of_new(self, *, is_http: bool = False) -> Policy:
        """Return the policy that a new job starts with, in the window as in the terminal."""
        limit = _HTTP_TIME_LIMIT if is_http else self.default_time_limit
        return Policy(time_limit=limit, notify=Notify.SETTINGS)

    def __post_init__(self) -> None:
        object.__setattr__(self, "theme", require_choice(Theme, self.theme, path="theme"))
        object.__setattr__(self, "notify", require_choice(Notify, self.notify, path="notify"))
        if self.notify is Notify.SETTINGS:
            raise ScheduleError(
                "the settings cannot follow themselves; choose none, failures or all", path="notify"
            )
        for name in ("start_hidden", "autostart_asked", "closing_explained", "webhooks"):
            require_kind(name, getattr(self, name), bool, "true or false")
        object.__setattr__(
            self, "assistants", require_choice(AssistantAccess, self.assistants, path="assistants")
        )
        if self.default_time_limit is not None:
            require_interval("default_time_limit", self.default_time_limit)
        require_whole("max_concurrent", self.max_concurrent, 1, _MOST_CONCURRENT)
        require_whole("runs_kept_per_job", self.runs_kept_per_job, 1, _MOST_RUNS)
        require_whole("runs_kept_days", self.runs_kept_days, 1, _MOST_DAYS)
        require_whole("output_kept_bytes", self.output_kept_bytes, 0, _MOST_BYTES)
        require_whole("output_limit_bytes", self.output_limit_bytes, 0, MOST_OUTPUT_BYTES)
        require_whole("webhook_port", self.webhook_port, _LOWEST_PORT, _HIGHEST_PORT)
        if self.webhook_address != LOOPBACK:
            _require_address("webhook_address", self.webhook_address)
        self._check_agents()
        object.__setattr__(self, "quiet_times", frozen_list("quiet_times", self.quiet_times))
        if len(self.quiet_times) > MOST_QUIET_TIMES:
            raise ScheduleError(f"at most {MOST_QUIET_TIMES} quiet hours can be stored", path="quiet_times")
        for index, quiet_time in enumerate(self.quiet_times):
            require_kind(f"quiet_times[{index}]", quiet_time, QuietTime, "a QuietTime")
        self._check_bots()

    def _check_bots(self) -> None:
        object.__setattr__(self, "chat_bots", frozen_list("chat_bots", self.chat_bots))
        if len(self.chat_bots) > MOST_BOTS:
            raise ScheduleError(f"at most {MOST_BOTS} bots can be stored", path="chat_bots")
        for index, bot in enumerate(self.chat_bots):
            require_kind(f"chat_bots[{index}]", bot, ChatBot, "a ChatBot")
        names = [bot.name for bot in self.chat_bots]
        for name in names:
            if names.count(name) > 1:
                raise ScheduleError(f"there are two bots named {name}", path="chat_bots")

    def _check_agents(self) -> None:
        object.__setattr__(self, "agents", frozen_list("agents", self.agents))
        names: set[str] = set()
        for index, agent in enumerate(self.agents):
            require_kind(f"agents[{index}]", agent, Agent, "an Agent")
            if agent.name in names:
                raise ScheduleError(f"there are two agents named {agent.name!r}", path="agents")
            names.add(agent.name)
        require_text("default_agent", self.default_agent, longest=LONGEST_NAME)

    @property
    def assistants_may_edit(self) -> bool:
        """Whether assistants may create and change jobs; the former setting, from before there were three levels."""
        return self.assistants is AssistantAccess.EDIT

    def with_current_names(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return changes in which the former switch `assistants_may_edit` is replaced by its level."""
        named = dict(changes)
        if "assistants_may_edit" in named:
            may_edit = named.pop("assistants_may_edit")
            require_kind("assistants_may_edit", may_edit, bool, "true or false")
            unchanged = AssistantAccess.RUN if self.assistants_may_edit else self.assistants
            named.setdefault("assistants", AssistantAccess.EDIT if may_edit else unchanged)
        return named

    def find_agent(self, name: str) -> Agent:
        """Return the agent of a name, or the default one for an empty name."""
        wanted = name or self.default_agent
        for agent in self.agents:
            if agent.name == wanted:
                return agent
        known = ", ".join(agent.name for agent in self.agents) or "none"
        if name:
            raise ScheduleError(
                f"there is no agent named {name!r} in the settings; known: {known}", path="agent"
            )
        raise ScheduleError(f"the settings name no default agent that exists; known: {known}", path="agent")
