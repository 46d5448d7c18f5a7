"""Listens to a chat service on a thread, as its watcher does."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from halo_scheduler.errors import StoreUnavailableError
from halo_scheduler.triggers.chat_service import ChatFault, ChatMessage, ChatService

LONG_S = 30.0
LONGEST_CLOSE_S = 1.0


class Hearing:
    """What one call of `listen` received, and how it ended."""

    def __init__(self, service: ChatService, state: str) -> None:
        self.service = service
        self.state = state
        self.is_store_away = False
        self.refusals = 0
        self.messages: queue.SimpleQueue[ChatMessage] = queue.SimpleQueue()
        self.has_state = threading.Event()
        self._ended: queue.SimpleQueue[Exception | None] = queue.SimpleQueue()
        self.thread = threading.Thread(target=self._run, args=(state,), daemon=True)
        self.thread.start()

    def _run(self, state: str) -> None:
        try:
            self.service.listen(state, self._accept)
        except (ChatFault, StoreUnavailableError) as error:
            self._ended.put(error)
        else:
            self._ended.put(None)

    def _accept(self, messages: Sequence[ChatMessage], state: str) -> None:
        if self.is_store_away:
            self.refusals += 1
            raise StoreUnavailableError("the disk is full")
        self.state = state
        self.has_state.set()
        for message in messages:
            self.messages.put(message)

    def next(self) -> ChatMessage:
        """Return the next message that was accepted."""
        return self.messages.get(timeout=LONG_S)

    def rest(self) -> list[str]:
        """Return the texts of all other messages so far."""
        texts = []
        while not self.messages.empty():
            texts.append(self.messages.get().text)
        return texts

    def end(self) -> Exception | None:
        """Return the exception with which `listen` ended; None if it just returned."""
        ended = self._ended.get(timeout=LONG_S)
        self.thread.join(LONG_S)
        return ended

    def fault(self) -> ChatFault:
        """Return the fault with which `listen` ended."""
        ended = self.end()
        assert isinstance(ended, ChatFault), ended
        return ended

    def close(self) -> None:
        """Close the service, which must end `listen` within a second."""
        begun = time.monotonic()
        self.service.close()
        self.thread.join(LONG_S)
        assert not self.thread.is_alive()
        assert time.monotonic() - begun < LONGEST_CLOSE_S


@contextmanager
def hearing(service: ChatService, state: str = "") -> Iterator[Hearing]:
    """Listen until the end of the block."""
    made = Hearing(service, state)
    try:
        yield made
    finally:
        made.close()


def eventually(is_so: Callable[[], object]) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + LONG_S
    while not is_so():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.005)
