"""Webhooks: stores requests of other programs as events, many in one transaction."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, NamedTuple

from halo_scheduler.errors import SchedulerError, StoreError
from halo_scheduler.model import Event
from halo_scheduler.rules.event_requests import Accepted, Refused
from halo_scheduler.store.connection import Database
from halo_scheduler.store.store import Store
from halo_scheduler.triggers.posts import (
    CLOSING,
    FAULT,
    NO_KEY,
    NO_STORE,
    NOT_SIGNED,
    RECEIVED,
    Answer,
    Checked,
    Judge,
    Post,
    Reply,
    StatusQuestion,
    answer_to,
)
from halo_scheduler.triggers.troubles import Troubles
from halo_scheduler.triggers.watching import Link, Watched

if TYPE_CHECKING:
    from halo_scheduler.triggers.listener import Listener

_LOG = logging.getLogger(__name__)
_MOST_AT_ONCE = 100
_FORGOTTEN_AT_ONCE = 100
_TO_CLOSE_S = 0.5


def open_watcher(link: Link) -> WebhookWatcher:
    """Open the watcher of webhooks, which starts listening at once."""
    return WebhookWatcher(link)


def refusal(_event: Event) -> str:
    """Return "": every system can receive webhooks."""
    return ""


class WebhookWatcher:
    """Listens while it is open, on the address in the settings."""

    def __init__(self, link: Link) -> None:
        # The web server is loaded only if webhooks are on.
        from halo_scheduler.triggers.listener import Listener  # noqa: PLC0415

        if link.place is None:
            raise ValueError("webhooks are off")
        self._lock = threading.Lock()
        self._troubles = Troubles(link)
        self._followed: Sequence[Watched] = ()
        self._fault = ""
        self._listener: Listener = Listener(link.place, Intake(link), link.clock, self._note_fault)
        self._listener.start()

    def follow(self, entries: Sequence[Watched]) -> None:
        """Report on these jobs if nothing listens; their state is looked up for each request."""
        with self._lock:
            self._followed = list(entries)
            self._troubles.keep_only(entries)
            self._tell()

    def _note_fault(self, fault: str) -> None:
        with self._lock:
            self._fault = fault
            self._tell()

    def _tell(self) -> None:
        for entry in self._followed:
            self._troubles.note(entry, self._fault)

    def close(self) -> None:
        """Stop listening; answer received requests first."""
        self._listener.close(_TO_CLOSE_S)


class _Waiting(NamedTuple):
    """A request, and the future of its response."""

    request: Post | StatusQuestion
    reply: Future[Reply]

    def settle(self, reply: Reply) -> None:
        if not self.reply.done():
            self.reply.set_result(reply)


class Intake:
    """Checks and stores requests on its own thread; all waiting requests share one commit.

    A response is sent only after its event is on disk.
    """

    def __init__(self, link: Link) -> None:
        self._link = link
        self._judge = Judge(link.path, link.clock)
        self._queue: queue.SimpleQueue[_Waiting | Callable[[Store], None] | None] = queue.SimpleQueue()
        self._store: Store | None = None
        self._lock = threading.Lock()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="halo-webhook-intake", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Answer the waiting requests, then stop."""
        with self._lock:
            self._is_closed = True
            self._queue.put(None)
        self._thread.join()

    def answer(self, request: Post | StatusQuestion) -> Answer:
        """Return the response to a request once its event is on disk; any thread may call it.

        The signature's key is read on the caller's thread, because that may take long.
        """
        found = self._ask(request)
        if isinstance(found, Answer):
            return found
        try:
            key = found.read()
        except SchedulerError as error:
            _LOG.warning("The signature of a webhook cannot be checked: %s", error)
            return NO_KEY
        again = self._ask(found.post._replace(key=key))
        return again if isinstance(again, Answer) else NOT_SIGNED

    def run_with_store(self, work: Callable[[Store], None]) -> None:
        """Run a function with the store on the intake's thread; store errors are only logged."""
        self._queue.put(work)

    def _ask(self, request: Post | StatusQuestion) -> Reply:
        waiting = _Waiting(request, Future())
        with self._lock:
            if self._is_closed:
                return CLOSING
            self._queue.put(waiting)
        return waiting.reply.result()

    # --- The thread ----------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            found = [self._queue.get()]
            while len(found) < _MOST_AT_ONCE and not self._queue.empty():
                found.append(self._queue.get())
            for work in found:
                if callable(work):
                    self._do(work)
            self._serve([one for one in found if isinstance(one, _Waiting)])
            if None in found:
                self._close_store()
                return

    def _do(self, work: Callable[[Store], None]) -> None:
        try:
            work(self._open_store())
        except StoreError as error:
            _LOG.warning("The state of the webhooks cannot be stored: %s", error)
            self._close_store()

    def _serve(self, waiting: Sequence[_Waiting]) -> None:
        """Answer every request, even after an internal error."""
        try:
            self._store_all(waiting)
        except StoreError as error:
            _LOG.warning("Webhooks cannot be stored: %s", error)
            self._close_store()
            _settle_all(waiting, NO_STORE)
        except Exception:  # noqa: BLE001 - every client must get a response
            if len(waiting) == 1:
                _LOG.exception("A webhook could not be processed.")
                _settle_all(waiting, FAULT)
            else:
                # One request caused the error; retry the others without it.
                for one in waiting:
                    self._serve([one])

    def _store_all(self, waiting: Sequence[_Waiting]) -> None:
        store = self._open_store()
        checked: list[tuple[_Waiting, Checked]] = []
        signed: set[tuple[str, bytes]] = set()
        for one in waiting:
            found = self._judge.judge(store, one.request)
            if not isinstance(found, Checked):
                one.settle(found)
            elif found.mark in signed or _was_received(store, found):
                one.settle(RECEIVED)
            else:
                checked.append((one, found))
                signed.update([found.mark] if found.mark else [])
        if checked:
            self._report(checked)

    def _report(self, checked: Sequence[tuple[_Waiting, Checked]]) -> None:
        posts = [post for _, post in checked]

        def remember(store: Store, answers: Sequence[Accepted | Refused]) -> None:
            store.webhooks.forget_received(self._link.clock.now_ms(), _FORGOTTEN_AT_ONCE)
            for post, answer in zip(posts, answers, strict=True):
                if post.mark is not None and isinstance(answer, Accepted):
                    store.webhooks.note_received(*post.mark, post.delivery.forget_at)

        answers = self._link.report([post.happening for post in posts], {}, remember)
        for (one, _), answer in zip(checked, answers, strict=True):
            one.settle(answer_to(answer))

    def _open_store(self) -> Store:
        if self._store is None:
            # A deleted database must not be replaced by an empty one.
            self._store = Store(Database.open(self._link.path, must_exist=True))
        return self._store

    def _close_store(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None


def _was_received(store: Store, post: Checked) -> bool:
    return post.mark is not None and store.webhooks.was_received(*post.mark)


def _settle_all(waiting: Sequence[_Waiting], answer: Answer) -> None:
    for one in waiting:
        one.settle(answer)
