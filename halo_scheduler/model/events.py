"""Events: what starts a job other than a time."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, ClassVar

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.checks import require_choice, require_interval, require_line, require_whole_path
from halo_scheduler.grammar.interval import INTERVAL_FORM, parse_interval
from halo_scheduler.model.codec import Value, put

_LONGEST_PATTERN = 255
USUAL_SETTLE = "2s"


class FileEvent(StrEnum):
    """What happens to a file."""

    APPEARS = "appears"
    CHANGES = "changes"
    VANISHES = "vanishes"


class SessionEvent(StrEnum):
    """What happens to the computer or the session on it."""

    LOGIN = "login"
    BOOT = "boot"
    WAKE = "wake"
    UNLOCK = "unlock"
    NETWORK = "network"
    MAINS = "mains"


class Event(Value):
    """A schedule without times: OnFile, OnSession, OnWebhook or OnChat."""

    __slots__ = ()
    kind: ClassVar[str]


@dataclass(frozen=True, slots=True)
class OnFile(Event):
    """Run when a file appears in a folder, changes or vanishes; its path is the input of the run."""

    kind: ClassVar = "file"
    path: Annotated[str, "the folder to watch; starts with / or ~/"]
    match: Annotated[str, "a pattern for file names, such as *.pdf"] = "*"
    on: Annotated[FileEvent, "what happens to the file"] = FileEvent.APPEARS
    settle: Annotated[str, f"how long a file must stay unchanged first: {INTERVAL_FORM}"] = USUAL_SETTLE

    def __post_init__(self) -> None:
        require_whole_path("path", self.path)
        require_line("match", self.match, longest=_LONGEST_PATTERN)
        if not self.match or "/" in self.match:
            raise ScheduleError("must be a pattern for names, like *.pdf, without a folder", path="match")
        put(self, on=require_choice(FileEvent, self.on, path="on"))
        require_interval("settle", self.settle)

    @property
    def settle_ms(self) -> int:
        return parse_interval(self.settle)


@dataclass(frozen=True, slots=True)
class OnSession(Event):
    """Run at login, at boot or at another event of the computer; with a delay, that long after it."""

    kind: ClassVar = "session"
    on: Annotated[SessionEvent, "the event of the computer or the session"]
    delay: Annotated[str | None, f"the time from the event to the run; null for none: {INTERVAL_FORM}"] = None

    def __post_init__(self) -> None:
        put(self, on=require_choice(SessionEvent, self.on, path="on"))
        if self.delay is not None:
            require_interval("delay", self.delay)

    @property
    def delay_ms(self) -> int:
        return 0 if self.delay is None else parse_interval(self.delay)


@dataclass(frozen=True, slots=True)
class OnWebhook(Event):
    """Run when another program calls the job's webhook; the body of the request is the run's input."""

    kind: ClassVar = "webhook"


@dataclass(frozen=True, slots=True)
class OnChat(Event):
    """Run when a permitted person writes to a bot; the text is the input, the output is the reply."""

    kind: ClassVar = "chat"
    channel: Annotated[
        str, "the bot and the conversation, like family/-100123, or family/direct for direct messages"
    ]
    from_: Annotated[
        tuple[str, ...], "who may start the job, by id or @name; if empty, the people permitted for the bot"
    ] = ()

    def __post_init__(self) -> None:
        from halo_scheduler.model.chat import conversation_of, require_people  # noqa: PLC0415 - few jobs need it

        conversation_of(self.channel)
        put(self, from_=require_people("from", self.from_))

    @property
    def bot(self) -> str:
        """The name of the bot in the settings."""
        return self.channel.partition("/")[0]


EventRule = OnFile | OnSession | OnWebhook | OnChat
"""The kinds of events."""
