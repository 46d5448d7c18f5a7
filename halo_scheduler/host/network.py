"""Whether there is a network, or somebody who answers on it."""

from __future__ import annotations

import errno
import os
import selectors
import socket
from contextlib import ExitStack
from time import monotonic

# Addresses that documents use for examples: no packet is ever sent to them, the kernel only looks for the way.
_OUTSIDE = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))
_ANY_PORT = 9
_MOST_ADDRESSES = 8
_UNDER_WAY = (errno.EINPROGRESS, errno.EWOULDBLOCK, 0)
ANSWER_LIMIT_S = 5.0


class NoAnswerError(Exception):
    """Nobody answers; the text says why, as the end of a sentence."""


def has_way_out() -> bool:
    """Tell whether the kernel knows a way out of this machine; sends nothing."""
    return any(_knows_way_to(family, address) for family, address in _OUTSIDE)


def _knows_way_to(family: int, address: str) -> bool:
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, _ANY_PORT))
    except OSError:
        return False
    return True


def require_answer(host: str, port: int, *, limit_s: float = ANSWER_LIMIT_S) -> None:
    """Return when a connection to a host was made; `NoAnswerError` when none can be."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NoAnswerError(f"the name {host} is not known") from error
    with ExitStack() as stack:
        selector = stack.enter_context(selectors.DefaultSelector())
        fault = errno.EHOSTUNREACH
        # All at once: a host whose first address is dead answers just as well on its second.
        for family, kind, protocol, _, address in found[:_MOST_ADDRESSES]:
            try:
                probe = stack.enter_context(socket.socket(family, kind, protocol))
            except OSError:
                continue  # This machine does not speak that family.
            probe.setblocking(False)
            fault = probe.connect_ex(address)
            if fault in _UNDER_WAY:
                selector.register(probe, selectors.EVENT_WRITE, probe)
        if (words := _wait_for_one(selector, monotonic() + limit_s, fault)) is not None:
            raise NoAnswerError(words or f"it does not answer within {limit_s:g} s")


def _wait_for_one(selector: selectors.BaseSelector, deadline: float, fault: int) -> str | None:
    """Return None as soon as one is connected, else what the last fault was; an empty one when it is too late."""
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
