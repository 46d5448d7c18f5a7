"""The part of GitHub's REST API that issues need, with a sentence for every error."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from halo_scheduler.grammar.redaction import Redactor
from halo_scheduler.grammar.text import printed_line
from halo_scheduler.model.messages import Message, MessageKind, message
from halo_scheduler.model.work_source import GithubSource
from halo_scheduler.work_sources.github_memory import GithubMemory
from halo_scheduler.work_sources.item import SourceError
from halo_scheduler.work_sources.web import Answer, CutOffError, Request, Web, redirect_target

_HEADERS = {
    "Accept": "application/vnd.github+json",
    "User-Agent": "halo-scheduler",
    "X-GitHub-Api-Version": "2022-11-28",
}
_TOKEN = re.compile(r"[!-~]+")
_FIRST_REDIRECT, _FIRST_REFUSAL, _FIRST_FAULT = 300, 400, 500
NOT_MODIFIED = 304
_UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _GONE = 401, 403, 404, 410
_TRIES = 2
ABSENT = frozenset({_NOT_FOUND, _GONE})


@dataclass(frozen=True, slots=True)
class Reply:
    """A response with an expected status, and its JSON."""

    status: int
    headers: Mapping[str, str]
    data: Any


class GithubApi:
    """Sends the requests of one source."""

    def __init__(self, source: GithubSource, token: str, web: Web, memory: GithubMemory) -> None:
        self._source = source
        self._token = token.strip()
        if self._token and not _TOKEN.fullmatch(self._token):
            raise SourceError(message(MessageKind.NOT_A_TOKEN, name=source.token))
        self._web = web
        self._memory = memory
        self.base = source.base_url.rstrip("/")
        self.redactor = Redactor([self._token] if self._token else [])

    def get(self, url: str, *, etag: str = "", accepted: Collection[int] = ()) -> Reply:
        """Read a resource; retry once after a server error or a truncated response."""
        request = self._request("GET", url, headers={"If-None-Match": etag} if etag else {})
        for _ in range(_TRIES - 1):
            try:
                answer = self._send(request)
            except CutOffError:
                continue
            if answer.status < _FIRST_FAULT:
                return self._reply(request, answer, accepted)
        return self._reply(request, self._send(request), accepted)

    def change(self, method: str, url: str, payload: Any = None, *, accepted: Collection[int] = ()) -> Reply:
        """Modify a resource. No retry: without a response, it is unknown whether it took effect."""
        request = self._request(method, url, payload=payload)
        return self._reply(request, self._send(request), accepted)

    def _request(
        self, method: str, url: str, *, payload: Any = None, headers: Mapping[str, str] | None = None
    ) -> Request:
        body = None if payload is None else json.dumps(payload).encode()
        kind = {} if body is None else {"Content-Type": "application/json"}
        return Request(
            method=method,
            url=url,
            token=self._token,
            headers={**_HEADERS, **kind, **(headers or {})},
            body=body,
        )

    def _send(self, request: Request) -> Answer:
        self._memory.require_requests(self._source, 1)
        return self._web.send(request)

    def _reply(self, request: Request, answer: Answer, accepted: Collection[int]) -> Reply:
        said = self._said(answer)
        if self._memory.note_limit(self._source, answer, said):
            self._memory.require_requests(self._source, 1)
        if answer.status in accepted:
            return Reply(answer.status, answer.headers, None)
        if answer.status >= _FIRST_REDIRECT:
            raise SourceError(self._refusal(request, answer, said))
        return Reply(answer.status, answer.headers, self._data(answer))

    def _data(self, answer: Answer) -> Any:
        if not answer.body:
            return None
        try:
            return json.loads(answer.body)
        except (ValueError, RecursionError):
            raise SourceError(message(MessageKind.NOT_GITHUB, place=self._host, base=self.base)) from None

    def _said(self, answer: Answer) -> str:
        """Return GitHub's own error message."""
        if answer.status < _FIRST_REFUSAL:
            return ""
        try:
            data = json.loads(answer.body)
        except (ValueError, RecursionError):
            return ""
        said = data.get("message") if isinstance(data, dict) else None
        return printed_line(self.redactor.text(said[:1_000])).rstrip(".") if isinstance(said, str) else ""

    @property
    def _host(self) -> str:
        return urlsplit(self.base).netloc

    def _refusal(self, request: Request, answer: Answer, said: str) -> Message:
        status = answer.status
        if status < _FIRST_REFUSAL:
            target = printed_line(redirect_target(request.url, answer))
            return message(MessageKind.GITHUB_MOVED, place=self._host, target=target)
        if status == _UNAUTHORIZED:
            return message(MessageKind.GITHUB_TOKEN, name=self._source.token, said=said)
        if status == _FORBIDDEN:
            return message(MessageKind.GITHUB_FORBIDDEN, said=said)
        if status in ABSENT:
            return self._not_found(request, said)
        kind = MessageKind.GITHUB_FAULT if status >= _FIRST_FAULT else MessageKind.GITHUB_REFUSED
        return message(kind, status=status, said=said)

    def _not_found(self, request: Request, said: str) -> Message:
        if request.method != "GET":
            return message(MessageKind.GITHUB_NOT_FOUND, said=said)
        return message(
            MessageKind.GITHUB_NO_REPOSITORY,
            repository=self._source.repository,
            place=self._host,
            has_token=bool(self._token),
        )
