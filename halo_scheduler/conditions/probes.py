"""Probes for conditions: whether they are met, and whether this computer can observe them."""

from __future__ import annotations

import errno
import os
import selectors
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from time import monotonic
from typing import Any, NamedTuple, assert_never

from halo_scheduler.host.machine_state import (
    ForeignPathError,
    idle_ms,
    is_there,
    load_of_last_minute,
    runs_on_mains,
)
from halo_scheduler.model.conditions import Condition, Idle, Load, MainsPower, Network, PathExists
from halo_scheduler.model.messages import Message, MessageKind, message, text_message
from halo_scheduler.wording.conditions import describe_condition, end_of, host_and_port
from halo_scheduler.wording.messages import MessageError, message_words

# Addresses reserved for documentation: nothing is sent to them, the kernel only looks up a route.
_OUTSIDE = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))
_ANY_PORT = 9
_MOST_ADDRESSES = 8
_UNDER_WAY = (errno.EINPROGRESS, errno.EWOULDBLOCK, 0)
ANSWER_LIMIT_S = 5.0
# Longer than any probe takes, unless it hangs.
_LIMIT_S = 8.0


class NoAnswerError(MessageError):
    """Nothing answers; the message gives the reason."""


def has_way_out() -> bool:
    """Return whether the kernel has a route to the network; sends nothing."""
    return any(_knows_way_to(family, address) for family, address in _OUTSIDE)


def _knows_way_to(family: int, address: str) -> bool:
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, _ANY_PORT))
    except OSError:
        return False
    return True


def require_answer(host: str, port: int, *, limit_s: float = ANSWER_LIMIT_S) -> None:
    """Return once a connection to a host succeeds; raise `NoAnswerError` if none does."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NoAnswerError(message(MessageKind.NAME_NOT_FOUND, host=host)) from error
    with ExitStack() as stack:
        selector = stack.enter_context(selectors.DefaultSelector())
        fault = errno.EHOSTUNREACH
        # All at once: a host whose first address is dead answers just as well on its second.
        for family, kind, protocol, _, address in found[:_MOST_ADDRESSES]:
            try:
                probe = stack.enter_context(socket.socket(family, kind, protocol))
            except OSError:
                continue  # This computer does not support the address family.
            probe.setblocking(False)
            fault = probe.connect_ex(address)
            if fault in _UNDER_WAY:
                selector.register(probe, selectors.EVENT_WRITE, probe)
        if (said := _wait_for_one(selector, monotonic() + limit_s, fault)) is not None:
            raise NoAnswerError(text_message(said) or message(MessageKind.HOST_TOO_SLOW, seconds=limit_s))


def _wait_for_one(selector: selectors.BaseSelector, deadline: float, fault: int) -> str | None:
    """Return None as soon as one socket is connected, else the last error; empty at the deadline."""
    while selector.get_map():
        ready = selector.select(max(deadline - monotonic(), 0))
        if not ready:
            return ""
        for key, _ in ready:
            fault = key.data.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if fault == 0:
                return None
            selector.unregister(key.fileobj)
    return os.strerror(fault).lower()


class ProbeResult(NamedTuple):
    """The result of a probe; `holds` is None if unknown, perhaps because it can't be observed here."""

    holds: bool | None
    state: Message
    is_observable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Senses:
    """The functions that observe this computer; each may take seconds, `is_there` forever."""

    runs_on_mains: Callable[[], bool | None] = runs_on_mains
    has_way_out: Callable[[], bool] = has_way_out
    require_answer: Callable[[str, int], None] = require_answer
    idle_ms: Callable[[], int | None] = idle_ms
    load: Callable[[], float | None] = load_of_last_minute
    is_there: Callable[[str], bool] = is_there


def probe(condition: Condition, senses: Senses = Senses()) -> ProbeResult:
    """Probe a condition; may take seconds, or forever for a path on a dead drive."""
    match condition:
        case MainsPower():
            return _probe_power(senses)
        case Network():
            return _probe_network(condition, senses)
        case Idle():
            return _probe_idle_time(condition, senses)
        case Load():
            return _probe_load(condition, senses)
        case PathExists():
            return _probe_path(condition, senses)
        case _:
            assert_never(condition)


def _probe_power(senses: Senses) -> ProbeResult:
    on_mains = senses.runs_on_mains()
    if on_mains is None:
        return _undetectable("power")
    return ProbeResult(on_mains, _state("power", is_on_mains=on_mains))


def _probe_network(condition: Network, senses: Senses) -> ProbeResult:
    if condition.port is None:
        has_network = senses.has_way_out()
        return ProbeResult(has_network, _state("network", is_there=has_network))
    name = host_and_port(condition)
    try:
        senses.require_answer(condition.host, condition.port)
    except NoAnswerError as error:
        return ProbeResult(False, _state("host", place=name, error=error.message))
    return ProbeResult(True, _state("host", place=name))


def _probe_idle_time(condition: Idle, senses: Senses) -> ProbeResult:
    found_ms = senses.idle_ms()
    if found_ms is None:
        return _undetectable("idle")
    return ProbeResult(found_ms >= condition.idle_ms, _state("idle", ago_ms=found_ms))


def _probe_load(condition: Load, senses: Senses) -> ProbeResult:
    load = senses.load()
    if load is None:
        return _undetectable("load")
    return ProbeResult(load < condition.below, _state("load", load=load))


def _probe_path(condition: PathExists, senses: Senses) -> ProbeResult:
    name = end_of(condition.path)
    try:
        found = senses.is_there(condition.path)
    except ForeignPathError:
        return ProbeResult(None, message(MessageKind.FOREIGN_PATH, path=name), is_observable=False)
    except OSError as error:
        return ProbeResult(None, message(MessageKind.PATH_CLOSED, path=name, error=error.strerror or ""))
    return ProbeResult(found, _state("path", path=name, is_there=found))


def _state(of: str, **found: Any) -> Message:
    """Return the observed state; `wording/conditions.py` has the words."""
    return message(MessageKind.CONDITION_STATE, of=of, **found)


def _undetectable(what: str) -> ProbeResult:
    return ProbeResult(None, message(MessageKind.UNDETECTABLE, what=what), is_observable=False)


class ConditionState(NamedTuple):
    """Whether a condition can be observed here, whether it is met (None: unknown), and a sentence about it."""

    is_observable: bool
    holds: bool | None
    sentence: str


class Prober:
    """Probes conditions for callers that wait, but not forever.

    Only one probe per condition runs at a time, so probes of a dead drive don't pile up.
    """

    def __init__(self, look: Callable[[Condition], ProbeResult] = probe, limit_s: float = _LIMIT_S) -> None:
        self._look = look
        self._limit_s = limit_s
        self._lock = threading.Lock()
        self._under_way: dict[Condition, _Probe] = {}

    def check(self, condition: Condition) -> ConditionState:
        """Probe a condition, or wait for the probe already in progress."""
        with self._lock:
            probe = self._under_way.get(condition)
            if probe is None:
                probe = _Probe()
                thread = threading.Thread(
                    target=self._run, args=(condition, probe), name="halo-probe", daemon=True
                )
                thread.start()
                self._under_way[condition] = probe
        probe.is_over.wait(self._limit_s)
        found = probe.result
        if found is None:
            words = describe_condition(condition)
            sentence = f"No result yet; a job that starts only {words} would wait."
            return ConditionState(is_observable=True, holds=None, sentence=sentence)
        return ConditionState(found.is_observable, found.holds, _sentence(message_words(found.state)))

    def _run(self, condition: Condition, probe: _Probe) -> None:
        try:
            probe.result = self._look(condition)
        finally:
            with self._lock:
                del self._under_way[condition]
            probe.is_over.set()


class _Probe:
    """A probe in progress."""

    def __init__(self) -> None:
        self.is_over = threading.Event()
        self.result: ProbeResult | None = None


def _sentence(words: str) -> str:
    first, _, _ = words.partition(" ")
    # The name of a host or a path stays as it is.
    return f"{words[0].upper()}{words[1:]}." if first.isalpha() else f"{words}."


_PROBER = Prober()


def check_condition(condition: Condition) -> ConditionState:
    """Probe a condition now, with a time limit."""
    return _PROBER.check(condition)
