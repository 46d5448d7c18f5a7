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
            raise SourceError(
                f"the secret {source.token} is not a token: it has blanks or signs that none has"
            )
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
        """Modify a resource. No retry: without a response, nobody knows whether it took effect."""
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
        message = self._message(answer)
        if self._memory.note_limit(self._source, answer, message):
            self._memory.require_requests(self._source, 1)
        if answer.status in accepted:
            return Reply(answer.status, answer.headers, None)
        if answer.status >= _FIRST_REDIRECT:
            raise SourceError(self._refusal(request, answer, message))
        return Reply(answer.status, answer.headers, self._data(answer))

    def _data(self, answer: Answer) -> Any:
        if not answer.body:
            return None
        try:
            return json.loads(answer.body)
        except (ValueError, RecursionError):
            sentence = f"{self._host} does not answer as GitHub does; is {self.base} the address of its API?"
            raise SourceError(sentence) from None

    def _message(self, answer: Answer) -> str:
        """Return GitHub's own error message as part of a sentence."""
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

    def _refusal(self, request: Request, answer: Answer, message: str) -> str:
        status = answer.status
        said = f" ({message})" if message else ""
        if status < _FIRST_REFUSAL:
            target = printed_line(redirect_target(request.url, answer))
            return f"{self._host} sends us on to {target}; if that is right, change the repository or the base URL"
        if status == _UNAUTHORIZED:
            return self._token_refused(said)
        if status == _FORBIDDEN:
            return f"GitHub does not allow it{said}; the token must be allowed to read and write issues"
        if status in ABSENT:
            return self._not_found(request, said)
        if status >= _FIRST_FAULT:
            return f"GitHub has trouble of its own: it answers with status {status}{said}"
        return f"GitHub does not accept what was asked: status {status}{said}"

    def _token_refused(self, said: str) -> str:
        name = self._source.token
        if not name:
            return f"GitHub wants a token{said}; name the secret that holds one in the job"
        return f"the token was refused{said}; set a new one with: halo secret set {name}"

    def _not_found(self, request: Request, said: str) -> str:
        if request.method != "GET":
            return f"GitHub does not find what is to be changed{said}; may the token write issues?"
        may_not = "or the token may not see it" if self._token else "or it can only be seen with a token"
        return f"there is no repository {self._source.repository} with issues at {self._host}, {may_not}"
