"""A watcher of chat over the jobs of a bench, and the Telegram that its bot is on."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

from machine import Bench
from process_probe import until
from telegram_server import ANNA, TOKEN, TelegramServer

from halo_scheduler import Callback, OnChat, Run
from halo_scheduler.model.chat import ChatServiceName
from halo_scheduler.store.outputs import StoredOutput
from halo_scheduler.store.store import Store
from halo_scheduler.triggers.chat import ChatWatcher, open_watcher
from halo_scheduler.triggers.watching import Link, Reporter

DIRECT = "family/direct"
ANNA_ID = str(ANNA["id"])


class ChatRoom:
    """A bot that listens; its engine holds the lease but ticks only when told to."""

    def __init__(self, bench: Bench, server: TelegramServer) -> None:
        self.bench = bench
        self.server = server
        server.now_s = bench.clock.now_ms() // 1_000
        bench.tick()
        self.beside: Callable[[], None] = lambda: None
        self.awaited: set[str] = set()
        self.told: list[tuple[str, str]] = []
        self._wakes: list[Callable[[], None]] = []
        self._reporter: Reporter | None = None
        self._watcher: ChatWatcher | None = None
        self.add_bot()

    @property
    def store(self) -> Store:
        return self.bench.scheduler._store

    def add_bot(self, **rest: Any) -> None:
        chat = self.bench.scheduler.chat
        chat.add("family", ChatServiceName.TELEGRAM, TOKEN, in_file=True, api=self.server.api, **rest)

    def open(self, *, waits: bool = True) -> None:
        """Let the bot listen, and wait until it does."""
        lease = self.store.lease.read()
        assert lease is not None
        self._reporter = Reporter(self.bench.path, lease.generation, lambda _changes: None)
        link = Link(
            self._report,
            self._reporter.states,
            self.bench.clock,
            self.bench.path,
            bots=self.store.settings.chat_bots(),
            after_ticks=self._wakes.append,
            is_output_awaited=self.awaited.__contains__,
            note_trouble=self._note_trouble,
        )
        polls = len(self.server.offsets)
        self._watcher = open_watcher(link)
        # The first poll of a new bot only skips what is old.
        until(lambda: not waits or len(self.server.offsets) > polls + 1 or self.server.offsets[polls:] > [0])

    def _note_trouble(self, job_id: str, text: str, _now_ms: int, _key: str = "", /) -> bool:
        self.told.append((job_id, text))
        return True

    def _report(self, *given: Any) -> Any:
        self.beside()
        assert self._reporter is not None
        return self._reporter.report(*given)

    def add(self, name: str = "deploy", channel: str = DIRECT, *people: str, **rest: Any) -> str:
        """Add a job that Anna, or others, may start."""
        event = OnChat(channel, people or (ANNA_ID,))
        return self.bench.scheduler.add_job(name, event, Callback(), job_id=name, **rest)

    def write(self, text: str, *given: Any, **more: Any) -> int:
        """Let somebody write, and wait until that is received."""
        number = self.server.write(text, *given, **more)
        self.wait_until_received()
        return number

    def wait_until_received(self) -> None:
        last = self.server.updates[-1]["update_id"] if self.server.updates else 0
        until(lambda: self.server.offsets[-1] > last)

    def wake(self) -> None:
        """Do what the engine does after each tick."""
        for wake in self._wakes:
            wake()

    def is_told(self, text: str, count: int = 1) -> None:
        """Wait until the bot has sent this so many times."""
        until(lambda: self.texts.count(text) >= count)

    @property
    def texts(self) -> list[str]:
        return [sent.text for sent in self.server.sent]

    def run(self, job_id: str = "deploy") -> Run:
        """Tick, and return the run that this started."""
        (run,) = [run for run in self.bench.tick() if run.job_id == job_id]
        return run

    def end(self, run: Run, printed: str = "", **how: Any) -> None:
        """Let a run print something and end."""
        content = printed.encode()
        if content:
            stored = StoredOutput(run_id=run.id, content=zlib.compress(content), total_bytes=len(content))
            self.store.outputs.insert([stored])
        self.bench.end(run, **how)
        self.wake()

    def inputs(self, job_id: str = "deploy") -> list[str]:
        """Return the inputs of the waiting runs of a job."""
        rows = self.store.database.rows(
            "SELECT input FROM scheduler_requests WHERE kind = 'event' AND job_id = ? ORDER BY seq", [job_id]
        )
        return [zlib.decompress(content).decode() if content else "" for (content,) in rows]

    def close(self) -> None:
        if self._watcher is not None:
            self._watcher.close()
            self._watcher = None
        if self._reporter is not None:
            self._reporter.close()
