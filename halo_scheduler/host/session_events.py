"""Boots, logins, wake-ups and unlocking on Linux."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from jeepney import HeaderFields, MatchRule, Message, MessageType, message_bus

from halo_scheduler.host.bus import (
    Bus,
    BusConnection,
    BusError,
    BusStream,
    Callee,
    CallError,
    ask,
    ask_properties,
    method_call,
)
from halo_scheduler.host.machine_state import LOGIND, LOGIND_PATH, UPOWER
from halo_scheduler.host.observer import EventSource, Happening, Interest, linux_sources

SCREEN_SAVERS = (
    "org.freedesktop.ScreenSaver",
    "org.gnome.ScreenSaver",
    "org.cinnamon.ScreenSaver",
    "org.mate.ScreenSaver",
)
_BUS = Callee("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
_USER = Callee(LOGIND, f"{LOGIND_PATH}/user/self", f"{LOGIND}.User")
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_UPTIME = Path("/proc/uptime")
_AUDIT_SESSION = Path("/proc/self/sessionid")
# The session id of a process outside any session.
_NO_SESSION = str(2**32 - 1)
_MS = 1_000


def boot_id(path: Path = _BOOT_ID) -> str:
    """Return the id of this boot of the computer; "" if unknown."""
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def uptime_ms(path: Path = _UPTIME) -> int:
    """Return how long ago the computer was started, including sleep; 0 if unknown."""
    try:
        return int(float(path.read_text(encoding="ascii").split()[0]) * _MS)
    except (OSError, ValueError, IndexError):
        return 0


def login_sessions(audit: Path = _AUDIT_SESSION) -> frozenset[str] | None:
    """Return the ids of the sessions in which the user is logged in at this computer; None if unknown."""
    try:
        return frozenset(_local_sessions())
    except BusError:
        found = os.environ.get("XDG_SESSION_ID", "").strip() or _audit_session(audit)
        return frozenset({found}) if found else None


def _local_sessions() -> Iterator[str]:
    for session_id, path in _user_sessions():
        about = ask_properties(Bus.SYSTEM, Callee(LOGIND, path, f"{LOGIND}.Session"))
        # Programs on other computers may log in all the time.
        if about.get("Class") == "user" and about.get("Remote") is not True:
            yield session_id


def _user_sessions() -> list[tuple[str, str]]:
    """Return id and path of each of the user's sessions; `BusError` without logind."""
    match ask_properties(Bus.SYSTEM, _USER).get("Sessions"):
        case list(listed):
            return [(item[0], item[1]) for item in listed if _is_session(item)]
    raise BusError("logind does not report sessions")


def _is_session(item: object) -> bool:
    return isinstance(item, tuple) and len(item) == 2 and all(isinstance(text, str) for text in item)  # noqa: PLR2004


def _audit_session(path: Path) -> str:
    try:
        found = path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""
    # logind uses these numbers for its sessions.
    return "" if found == _NO_SESSION else found


def reports_sleep() -> bool:
    """Return whether a service reports wake-ups."""
    return _is_offered(Bus.SYSTEM, LOGIND)


def reports_power() -> bool:
    """Return whether a service reports AC power."""
    return _is_offered(Bus.SYSTEM, UPOWER)


def reports_locking() -> bool:
    """Return whether a service reports unlocking."""
    return reports_sleep() or any(_is_offered(Bus.SESSION, name) for name in SCREEN_SAVERS)


def _is_offered(bus: Bus, name: str) -> bool:
    """Return whether a service runs on a bus or can be activated."""
    try:
        if ask(bus, method_call(_BUS, "NameHasOwner", "s", (name,))) == (True,):
            return True
        (startable,) = ask(bus, method_call(_BUS, "ListActivatableNames"))
    except (BusError, ValueError):
        return False
    return name in startable


def session_sources(interest: Interest) -> Mapping[str, Callable[[], EventSource]]:
    """Return the functions that open the sources of session, sleep, network and power events, by name."""
    sources = dict(linux_sources(interest))
    if interest.happenings & {Happening.WAKE, Happening.SESSION, Happening.UNLOCK}:
        sources["logind"] = partial(Signals, Bus.SYSTEM, (LOGIND,), _logind_rules())
    if Happening.UNLOCK in interest.happenings:
        sources["screen savers"] = partial(Signals, Bus.SESSION, SCREEN_SAVERS, _screen_saver_rules())
    return sources


def _logind_rules() -> list[MatchRule]:
    signals = {"PrepareForSleep": LOGIND_PATH, "SessionNew": LOGIND_PATH}
    rules = [MatchRule(type="signal", sender=LOGIND, member=name, path=at) for name, at in signals.items()]
    for member in ("Unlock", "PropertiesChanged"):
        below = f"{LOGIND_PATH}/session"
        rules.append(MatchRule(type="signal", sender=LOGIND, member=member, path_namespace=below))
    return rules


def _screen_saver_rules() -> list[MatchRule]:
    return [
        MatchRule(type="signal", sender=name, interface=name, member="ActiveChanged")
        for name in SCREEN_SAVERS
    ]


class Signals:
    """The signals of services on one bus; earlier signals are unknown."""

    is_urgent = False

    def __init__(self, bus: Bus, services: Collection[str], rules: Iterable[MatchRule]) -> None:
        """Start listening; `BusError` if there is no bus."""
        self._bus = bus
        self._services = services
        self._stream = BusStream(bus)
        for rule in rules:
            self._stream.send(message_bus.AddMatch(rule))

    def fileno(self) -> int:
        return self._stream.fileno()

    def take(self) -> frozenset[Happening]:
        """Return the events from new signals; `BusError` if the bus is gone."""
        messages = self._stream.receive()
        signals = [item for item in messages if item.header.message_type is MessageType.signal]
        # A bus also delivers messages that other programs address to us, regardless of the match rules.
        senders = self._owners() if signals else frozenset()
        found = (
            _happening_of(item) for item in signals if item.header.fields.get(HeaderFields.sender) in senders
        )
        return frozenset(happening for happening in found if happening is not None)

    def close(self) -> None:
        self._stream.close()

    def _owners(self) -> frozenset[object]:
        """Return the connections of the running services."""
        with BusConnection(self._bus) as connection:
            return frozenset(owner for name in self._services for owner in _owner_of(connection, name))


def _owner_of(connection: BusConnection, name: str) -> tuple[object, ...]:
    """Return the connection of a service; empty if it does not run."""
    try:
        return connection.call(method_call(_BUS, "GetNameOwner", "s", (name,)))
    except CallError:
        return ()


def _happening_of(message: Message) -> Happening | None:
    fields = message.header.fields
    match fields.get(HeaderFields.member), *message.body:
        case "PrepareForSleep", False:
            return Happening.WAKE
        case "SessionNew", *_:
            return Happening.SESSION
        case "ActiveChanged", False:
            return Happening.UNLOCK
        case "Unlock", *_:
            return _unlocked(fields.get(HeaderFields.path))
        case "PropertiesChanged", str(), {"LockedHint": (str(), False)}, *_:
            return _unlocked(fields.get(HeaderFields.path))
    return None


def _unlocked(path: object) -> Happening | None:
    """Return the unlock event if the session is the user's: logind reports those of all users."""
    try:
        return Happening.UNLOCK if path in [session for _, session in _user_sessions()] else None
    except BusError:
        return None
