"""Chat: messages to bots become runs, and answers go back; each bot has a thread to listen and one to send."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from time import monotonic

from halo_scheduler.errors import SchedulerError, StoreError
from halo_scheduler.grammar.interval import DAY_MS, MINUTE_MS, SECOND_MS
from halo_scheduler.model import Event
from halo_scheduler.model.changes import Change
from halo_scheduler.model.chat import BotState, ChatBot, ChatServiceName
from halo_scheduler.rules.event_requests import Accepted, Refused
from halo_scheduler.store.chat import ChatReply
from halo_scheduler.store.connection import Database
from halo_scheduler.store.secrets import SecretStore
from halo_scheduler.store.store import Store
from halo_scheduler.triggers.chat_messages import Judge, targets_of
from halo_scheduler.triggers.chat_replies import WAIT_MS, News, news_of
from halo_scheduler.triggers.chat_service import ChatFault, ChatMessage, ChatService
from halo_scheduler.triggers.watching import Link, Watched
from halo_scheduler.wording.chat import cut

_LOG = logging.getLogger(__name__)
SERVICES: dict[ChatServiceName, str] = {
    ChatServiceName.TELEGRAM: "halo_scheduler.triggers.telegram",
    ChatServiceName.SLACK: "halo_scheduler.triggers.slack",
    ChatServiceName.DISCORD: "halo_scheduler.triggers.discord",
}
"""For each service, the module that has `open_service(token, *, api=…) -> ChatService`."""
_OWN_PACKAGE = "halo_scheduler"
_SHORTEST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 300.0
_LONGEST_RETRY_S = 3_600.0
# A connection that lasted this long resets the back-off.
_RECOVERED_MS = MINUTE_MS
_TO_CLOSE_S = 0.5
# The minimum time between two queries of the store, however often the engine ticks.
_BETWEEN_LOOKS_S = 0.1
_LONGEST_WAIT_MS = 60_000
_GIVEN_UP_MS = DAY_MS


def open_watcher(link: Link) -> ChatWatcher:
    """Open the watcher of chat, which starts listening at once."""
    return ChatWatcher(link)


def refusal(_event: Event) -> str:
    """Return "": every system can receive chat messages; the bots are checked elsewhere."""
    return ""


def open_service(bot: ChatBot, token: str) -> ChatService:
    """Return the service of a bot; ChatFault if it cannot be used here."""
    try:
        module = import_module(SERVICES[bot.service])
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if missing.startswith(_OWN_PACKAGE):
            raise ChatFault(f"this version doesn't support {bot.service.title()}", is_final=True) from None
        raise ChatFault(
            f"{bot.service.title()} needs the package {missing}; install it with: "
            "pip install 'halo-scheduler[chat]'",
            is_final=True,
        ) from None
    given = {"api": bot.api} if bot.api else {}
    service: ChatService = module.open_service(token, **given)
    return service


def read_token(store: Store, path: Path, bot: ChatBot) -> str:
    """Return the token of a bot; ChatFault if it cannot be read. May block on the keyring."""
    try:
        return SecretStore(store.secrets, path).reader([bot.secret])()[bot.secret]
    except SchedulerError as error:
        raise ChatFault(str(error), is_final=True) from error


class ChatWatcher:
    """Receives the messages to all bots in the settings while it is open."""

    def __init__(self, link: Link) -> None:
        self._bots = [BotThreads(link, bot) for bot in link.bots]
        link.after_ticks(self._wake)
        try:
            for bot in self._bots:
                bot.start()
        except RuntimeError:  # There are no more threads; it is tried again, and a bot must not listen twice.
            self.close()
            raise

    def follow(self, entries: Sequence[Watched]) -> None:
        """Do nothing: the jobs are looked up for each message, so that a change applies at once."""

    def close(self) -> None:
        """Stop listening and sending; the next engine sends the stored replies."""
        for bot in self._bots:
            bot.stop()
        ends_at = monotonic() + _TO_CLOSE_S
        for bot in self._bots:
            bot.join(ends_at)

    def _wake(self) -> None:
        for bot in self._bots:
            bot.wake()


class BotThreads:
    """Receives the messages to one bot, and sends its replies."""

    def __init__(self, link: Link, bot: ChatBot) -> None:
        self._link = link
        self._bot = bot
        self._judge = Judge(bot.name, link.clock)
        self._state = BotState(name=bot.name, token_at=bot.token_at)
        self._is_closing = threading.Event()
        self._has_news = threading.Event()
        self._lock = threading.Lock()
        self._service: ChatService | None = None
        # The same, once its token has been checked.
        self._proved: ChatService | None = None
        # Until when the service accepts no more replies, by conversation.
        self._rests: dict[str, int] = {}
        self._receiver = _Shelf(link.path)
        self._sender = _Shelf(link.path)
        self._threads = [
            threading.Thread(target=work, name=f"halo-chat-{what}-{bot.name}", daemon=True)
            for what, work in (("listen", self._listen), ("send", self._send))
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def wake(self) -> None:
        """Check for ended runs and replies to send."""
        self._has_news.set()

    def stop(self) -> None:
        """Ask both threads to end."""
        with self._lock:
            self._is_closing.set()
            if self._service is not None:
                self._service.close()
        self._has_news.set()

    def join(self, ends_at: float) -> None:
        """Wait briefly for both threads; they may end later without harm."""
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(ends_at - monotonic(), 0))

    # --- Receiving -----------------------------------------------------------------------------------

    def _listen(self) -> None:
        pause_s = _SHORTEST_PAUSE_S
        while not self._is_closing.is_set():
            began_ms = self._link.clock.monotonic_ms()
            fault = self._listen_once()
            if self._is_closing.is_set():
                break
            if self._link.clock.monotonic_ms() - began_ms > _RECOVERED_MS:
                pause_s = _SHORTEST_PAUSE_S
            self._note_fault(fault)
            self._is_closing.wait(_pause_s(fault, pause_s))
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        self._receiver.close()

    def _listen_once(self) -> ChatFault:
        """Listen until a fault occurs, and return it."""
        try:
            self._begin().listen(self._state.position, self._accept)
        except ChatFault as fault:
            if fault.is_final:
                self._drop_service()
            return fault
        except StoreError as error:
            self._receiver.close()
            return ChatFault(f"messages can't be stored now: {error}")
        except Exception:  # noqa: BLE001 - a fault in one service must not stop the other bots or the jobs
            _LOG.exception("Listening for the bot %s failed.", self._bot.name)
            self._drop_service()
            return ChatFault("an internal error occurred; see the log")
        return ChatFault("the connection ended")

    def _begin(self) -> ChatService:
        """Return the service after checking the token."""
        store = self._receiver.open()
        stored = store.chat.states().get(self._bot.name)
        if stored is not None and stored.token_at == self._bot.token_at:
            self._state = stored
        service = self._service or self._open_service(store)
        identity = service.identity()
        if self._state.fault:
            self._note_on_jobs("")
        self._save(replace(self._state, identity=identity, fault="", since=self._link.clock.now_ms()))
        self._proved = service
        self._has_news.set()
        return service

    def _open_service(self, store: Store) -> ChatService:
        service = open_service(self._bot, read_token(store, self._link.path, self._bot))
        with self._lock:
            if self._is_closing.is_set():
                service.close()
            self._service = service
        return service

    def _drop_service(self) -> None:
        """Make the next attempt read the token again."""
        with self._lock:
            service, self._service, self._proved = self._service, None, None
        if service is not None:
            service.close()

    def _accept(self, messages: Sequence[ChatMessage], position: str) -> None:
        """Store messages with their verdict; StoreUnavailableError if nothing was stored."""
        try:
            self._store_messages(messages, position)
        except StoreError:
            raise
        except Exception:  # noqa: BLE001 - one message must not block the others forever
            _LOG.exception("Processing messages to the bot %s failed.", self._bot.name)
            for one in messages if len(messages) > 1 else ():
                self._accept([one], self._state.position)
            self._store_messages((), position)

    def _store_messages(self, messages: Sequence[ChatMessage], position: str) -> None:
        now_ms = self._link.clock.now_ms()
        verdict = self._judge.judge(self._receiver.open(), messages)
        state = replace(self._state, position=position)

        def store_beside(store: Store, found: Sequence[Accepted | Refused]) -> list[Change]:
            store.chat.save_state(state)
            return verdict.store(store, found, now_ms)

        self._link.report(verdict.happenings, {}, store_beside)
        self._state = state
        self._has_news.set()

    def _note_fault(self, fault: ChatFault) -> None:
        """Store why the bot doesn't listen; the same fault is logged once."""
        text = str(fault)
        if text == self._state.fault:
            return
        _LOG.warning("The bot %s isn't listening: %s", self._bot.name, text)
        try:
            self._save(replace(self._state, fault=text, since=self._link.clock.now_ms()))
            if fault.is_final:
                self._note_on_jobs(f"the bot {self._bot.name}: {text}")
        except StoreError as error:
            _LOG.warning("The state of the bot cannot be stored: %s", error)
            self._receiver.close()

    def _note_on_jobs(self, trouble: str) -> None:
        """Store on its jobs why the bot cannot start them; "" if it can."""
        for target in targets_of(self._receiver.open(), self._bot.name):
            self._link.note_trouble(target.record.id, trouble, self._link.clock.now_ms(), target.key)

    def _save(self, state: BotState) -> None:
        def save(store: Store, _found: object) -> None:
            store.chat.save_state(state)

        self._link.report([], {}, save)
        self._state = state

    # --- Sending -------------------------------------------------------------------------------------

    def _send(self) -> None:
        while not self._is_closing.is_set():
            self._has_news.clear()
            try:
                wait_ms = self._send_due()
            except StoreError as error:
                if not self._is_closing.is_set():
                    _LOG.warning("Replies of the bot %s cannot be read: %s", self._bot.name, error)
                self._sender.close()
                wait_ms = 5 * SECOND_MS
            except Exception:  # noqa: BLE001 - one reply must not block the others
                _LOG.exception("Sending replies of the bot %s failed.", self._bot.name)
                wait_ms = _LONGEST_WAIT_MS
            self._has_news.wait(wait_ms / SECOND_MS)
            self._is_closing.wait(_BETWEEN_LOOKS_S)
        self._sender.close()

    def _send_due(self) -> int:
        """Store new replies, send those that are due, and return the time until the next one."""
        store = self._sender.open()
        wait_ms = self._gather_news(store)
        while (service := self._proved) is not None and not self._is_closing.is_set():
            reply = store.chat.due_reply(self._bot.name, self._link.clock.now_ms())
            if reply is None:
                break
            self._send_one(service, reply)
        due_at = store.chat.next_reply_at(self._bot.name)
        if due_at is not None and self._proved is not None:
            wait_ms = min(wait_ms, max(due_at - self._link.clock.now_ms(), 0))
        return wait_ms

    def _gather_news(self, store: Store) -> int:
        """Store the replies to open threads; return when the next one may get notice that its run waits."""
        now_ms, link = self._link.clock.now_ms(), self._link
        threads = [one for one in store.chat.open_threads() if one.bot == self._bot.name]
        news = [found for one in threads if (found := news_of(store, one, now_ms, link.is_output_awaited))]
        if news:
            self._store(lambda store: _store_all(store, news, now_ms))
        waits = [WAIT_MS - (now_ms - one.at) for one in threads if not one.is_told]
        return min([_LONGEST_WAIT_MS, *(wait for wait in waits if wait > 0)])

    def _send_one(self, service: ChatService, reply: ChatReply) -> None:
        """Send a reply and delete it; if that fails, retry for a day."""
        rest_ms = self._rests.get(reply.channel, 0) - self._link.clock.monotonic_ms()
        if rest_ms > 0:
            # A request before the end of a rate limit would extend it.
            self._put_off(reply, rest_ms)
            return
        try:
            service.send(reply.channel, reply.thread, cut(reply.text, service.longest_reply))
        except ChatFault as fault:
            pause_ms = int(_pause_s(fault, _SHORTEST_PAUSE_S * 2 ** min(reply.tries, 10)) * SECOND_MS)
            if fault.retry_after_s is not None:
                self._rests[reply.channel] = self._link.clock.monotonic_ms() + pause_ms
            if self._link.clock.now_ms() - reply.at < _GIVEN_UP_MS:
                self._put_off(reply, pause_ms)
                return
            _LOG.warning("A reply of the bot %s could not be sent: %s", self._bot.name, fault)
        self._store(lambda store: store.chat.remove_reply(reply))

    def _put_off(self, reply: ChatReply, pause_ms: int) -> None:
        due_at = self._link.clock.now_ms() + pause_ms
        self._store(lambda store: store.chat.put_off_reply(reply, due_at))

    def _store(self, work: Callable[[Store], None]) -> None:
        def store_beside(store: Store, _found: object) -> None:
            work(store)

        self._link.report([], {}, store_beside)


def _store_all(store: Store, news: Sequence[News], now_ms: int) -> None:
    for one in news:
        one.store(store, now_ms)


def _pause_s(fault: ChatFault, pause_s: float) -> float:
    """Return how long to wait after a fault."""
    if fault.retry_after_s is not None:
        return min(max(fault.retry_after_s, _SHORTEST_PAUSE_S), _LONGEST_RETRY_S)
    return _LONGEST_PAUSE_S if fault.is_final else min(pause_s, _LONGEST_PAUSE_S)


class _Shelf:
    """A connection to the database for one thread, opened when it is needed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._store: Store | None = None

    def open(self) -> Store:
        if self._store is None:
            # A deleted database must not be replaced by an empty one.
            self._store = Store(Database.open(self._path, must_exist=True))
        return self._store

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None
