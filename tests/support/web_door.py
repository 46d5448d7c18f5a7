"""A listener for webhooks over the jobs of a bench, and the clients that come to it."""

from __future__ import annotations

import http.client
import json
import socket
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from machine import Bench

from halo_scheduler import Callback, OnWebhook
from halo_scheduler.model.webhooks import LOOPBACK, Place
from halo_scheduler.store.store import Store
from halo_scheduler.triggers.watching import Link, Reporter
from halo_scheduler.triggers.webhooks import WebhookWatcher, open_watcher

_LONGEST_S = 60


class Reply(NamedTuple):
    """What a client was answered."""

    status: int
    data: Any
    headers: Mapping[str, str]


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


class Door:
    """An open listener; its engine holds the lease but does not tick by itself."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        bench.tick()
        self.place = Place(LOOPBACK, free_port())
        self.woken = 0
        self.told: list[tuple[str, str]] = []
        self._reporter = Reporter(bench.path, self.store.lease.read().generation, self._wake)  # type: ignore[union-attr]  # it is held
        self.beside: Callable[[], None] = lambda: None
        self.watcher: WebhookWatcher | None = None

    @property
    def store(self) -> Store:
        return self.bench.scheduler._store

    def open(self) -> None:
        link = Link(
            self._report,
            self._reporter.states,
            self.bench.clock,
            self.bench.path,
            self.place,
            note_trouble=self._tell,
        )
        self.watcher = open_watcher(link)

    def _tell(self, job_id: str, text: str, _now_ms: int, _key: str = "", /) -> bool:
        self.told.append((job_id, text))
        return True

    def _report(self, *given: Any) -> Any:
        self.beside()
        return self._reporter.report(*given)

    def _wake(self, _changes: object) -> None:
        self.woken += 1

    def add(self, name: str = "deploy", **rest: Any) -> str:
        """Add a job with a webhook, and return its token."""
        job_id = self.bench.scheduler.add_job(name, OnWebhook(), Callback(), job_id=name, **rest)
        return self.bench.scheduler.webhooks.make_address(job_id)

    def call(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Send one request and return its answer."""
        connection = http.client.HTTPConnection(*self.place, timeout=_LONGEST_S)
        try:
            connection.request(method, path, body, dict(headers or {}))
            answer = connection.getresponse()
            content = answer.read()
            is_json = answer.getheader("Content-Type") == "application/json"
            data = json.loads(content) if is_json else content
            return Reply(answer.status, data, dict(answer.getheaders()))
        finally:
            connection.close()

    def post(self, token: str, body: bytes = b"", query: str = "", **headers: str) -> Reply:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.call("POST", f"/hook/{token}{query}", body, named)

    def post_many(self, tokens: Iterable[str]) -> list[int]:
        """Post to many tokens over one connection, and return the statuses of the answers."""
        connection = http.client.HTTPConnection(*self.place, timeout=_LONGEST_S)
        statuses = []
        for token in tokens:
            connection.request("POST", f"/hook/{token}")
            answer = connection.getresponse()
            answer.read()
            statuses.append(answer.status)
        connection.close()
        return statuses

    def status(self, token: str, run_id: str) -> Reply:
        return self.call("GET", f"/status/{run_id}", headers={"Authorization": f"Bearer {token}"})

    @contextmanager
    def connect(self) -> Iterator[socket.socket]:
        with socket.create_connection(self.place, timeout=_LONGEST_S) as connection:
            yield connection

    def requests(self, job_id: str = "deploy") -> list[tuple[str, Mapping[str, str], bytes]]:
        """Return the events that wait for their run: their ids, parameters and inputs."""
        rows = self.store.database.rows(
            "SELECT run_id, parameters, input FROM scheduler_requests WHERE kind = 'event' AND job_id = ? "
            "ORDER BY seq",
            [job_id],
        )
        return [
            (run_id, json.loads(values), zlib.decompress(content) if content else b"")
            for run_id, values, content in rows
        ]

    def close(self) -> None:
        if self.watcher is not None:
            self.watcher.close()
        self._reporter.close()
