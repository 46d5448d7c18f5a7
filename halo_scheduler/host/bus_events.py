"""Signals of D-Bus services about power, network, sleep and idle time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jeepney import HeaderFields, MatchRule, Message, MessageType, message_bus

from halo_scheduler.host.bus import Bus, BusStream, Callee, method_call, owner_rule
from halo_scheduler.host.machine_state import (
    LOGIND,
    LOGIND_PATH,
    MUTTER,
    MUTTER_PATH,
    SCREEN_SAVER,
    SCREEN_SAVER_PATH,
    UPOWER,
    UPOWER_PATH,
)
from halo_scheduler.host.observer import Happening, Interest

_NETWORK_MANAGER = "org.freedesktop.NetworkManager"


@dataclass(frozen=True, slots=True)
class Service:
    """A service whose signals are watched; `members` are its signals, at its path or below."""

    bus: Bus
    name: str
    path: str
    happening: Happening
    members: tuple[str, ...]
    has_objects: bool = False

    def rules(self) -> Iterator[MatchRule]:
        """Yield the match rules for the service's signals and for its start and end."""
        where = {"path_namespace" if self.has_objects else "path": self.path}
        for member in self.members:
            yield MatchRule(type="signal", sender=self.name, member=member, **where)
        yield owner_rule(self.name)

    def is_at(self, path: object) -> bool:
        """Return whether a signal with this sender and path is the service's."""
        return path == self.path or (self.has_objects and str(path).startswith(f"{self.path}/"))


_CHANGED = "PropertiesChanged"
SERVICES = (
    Service(Bus.SYSTEM, UPOWER, UPOWER_PATH, Happening.POWER, (_CHANGED,)),
    Service(
        Bus.SYSTEM,
        _NETWORK_MANAGER,
        "/org/freedesktop/NetworkManager",
        Happening.NETWORK,
        ("StateChanged", _CHANGED),
    ),
    Service(Bus.SYSTEM, LOGIND, LOGIND_PATH, Happening.IDLE, (_CHANGED,), has_objects=True),
    Service(Bus.SESSION, MUTTER, MUTTER_PATH, Happening.IDLE, ("WatchFired",)),
    Service(Bus.SESSION, SCREEN_SAVER, SCREEN_SAVER_PATH, Happening.IDLE, ("ActiveChanged",)),
)


def services_of(bus: Bus, interest: Interest) -> list[Service]:
    """Return the services on a bus that report what the interests name."""
    return [item for item in SERVICES if item.bus is bus and item.happening in interest.happenings]


class BusEvents:
    """Watches services on one bus, also those that start later or restart."""

    is_urgent = False

    def __init__(self, bus: Bus, interest: Interest) -> None:
        """Start watching; `BusError` if there is no bus."""
        self._services = services_of(bus, interest)
        self._idle_ms = interest.idle_ms
        self._stream = BusStream(bus)
        self._last_rule = 0
        for service in self._services:
            for rule in service.rules():
                self._last_rule = self._stream.send(message_bus.AddMatch(rule))
            self._begin_with(service)

    def fileno(self) -> int:
        return self._stream.fileno()

    def take(self) -> frozenset[Happening]:
        """Return what the services reported; `BusError` if the bus is gone."""
        return frozenset(found for message in self._stream.receive() for found in self._told_by(message))

    def close(self) -> None:
        self._stream.close()

    def _told_by(self, message: Message) -> Iterator[Happening]:
        fields = message.header.fields
        if fields.get(HeaderFields.reply_serial) == self._last_rule:
            # From now on no event is missed; changes before this may have been.
            yield from (service.happening for service in self._services)
        if message.header.message_type is not MessageType.signal:
            return
        match fields.get(HeaderFields.member), *message.body:
            case "NameOwnerChanged", str(name), str(), str(owner):
                for service in self._services:
                    if service.name == name:
                        yield service.happening
                        if owner:
                            self._begin_with(service)
            case member, *_:
                for service in self._services:
                    if member in service.members and service.is_at(fields.get(HeaderFields.path)):
                        yield service.happening

    def _begin_with(self, service: Service) -> None:
        """Subscribe to idle time, where that needs a request; errors are ignored."""
        if service.name != MUTTER:
            return
        for idle_ms in sorted(self._idle_ms):
            watch = method_call(Callee(MUTTER, MUTTER_PATH, MUTTER), "AddIdleWatch", "t", (idle_ms,))
            self._stream.send(watch)


class WakeEvents:
    """Watches logind, which signals before the computer goes to sleep and after it wakes up."""

    def __init__(self) -> None:
        """Start watching; `BusError` if there is no system bus."""
        self._stream = BusStream(Bus.SYSTEM)
        rule = MatchRule(type="signal", sender=LOGIND, path=LOGIND_PATH, member="PrepareForSleep")
        self._stream.send(message_bus.AddMatch(rule))

    def fileno(self) -> int:
        return self._stream.fileno()

    def take(self) -> bool:
        """Return whether the computer woke up since the last call; `BusError` if the bus is gone."""
        return any(_is_wake(message) for message in self._stream.receive())

    def close(self) -> None:
        self._stream.close()


def _is_wake(message: Message) -> bool:
    match message.header.fields.get(HeaderFields.member), *message.body:
        case "PrepareForSleep", False:
            return True
    return False
