"""GitHub issues as a work queue: labels mark them ready or in progress, through the part of the REST API they need."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from halo_scheduler.grammar.redaction import Redactor
from halo_scheduler.grammar.text import printed_line
from halo_scheduler.model.actions import GithubSource
from halo_scheduler.model.messages import Message, MessageKind, message
from halo_scheduler.work_sources.github_memory import GithubMemory, Page
from halo_scheduler.work_sources.item import (
    Claim,
    ClaimNote,
    Item,
    SourceError,
    Verdict,
    plain_body,
    plain_labels,
    plain_title,
    priority_in,
)
from halo_scheduler.work_sources.web import Answer, CutOffError, Request, Web, is_same_host, redirect_target

# So many of the longest texts that GitHub takes still fit into an answer that is not too long.
_PAGE_LENGTH = 30
_MOST_PAGES = 10
# The requests needed to claim an issue and report its result: with fewer left, an issue could get stuck.
_REQUESTS_FOR_ONE = 10
_NEXT_LINK = re.compile(r"<([^<>]*)>\s*;[^<>]*?\brel=\"?next\"?")
_WEB_ADDRESS = re.compile(r"https?://[!-~]{1,2000}")
_NUMBER = re.compile(r"[1-9][0-9]{0,14}")
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


class Github:
    """The ready issues of a repository."""

    def __init__(self, source: GithubSource, token: str, web: Web, memory: GithubMemory) -> None:
        self._source = source
        self._memory = memory
        self._api = GithubApi(source, token, web, memory)
        self._repository = f"{self._api.base}/repos/{source.repository}"

    def prepare(self) -> None:
        """Do nothing; GitHub creates labels on first use."""

    def ready(self) -> Iterator[Item]:
        """Yield open, ready issues, oldest first, without their bodies."""
        query = {"labels": self._source.ready, "state": "open", "sort": "created", "direction": "asc"}
        url = f"{self._repository}/issues?{urlencode({**query, 'per_page': _PAGE_LENGTH})}"
        for _ in range(_MOST_PAGES):
            page = self._page(url)
            yield from page.items
            if not page.next_url:
                return
            url = page.next_url

    def read(self, item_id: str) -> Item | None:
        """Return an issue with its body."""
        issue = self._issue(item_id)
        return issue.item() if issue is not None and issue.is_ready else None

    def claim(self, item_id: str, note: ClaimNote) -> Item | None:
        """Add `in_progress` and remove `ready` unless another worker did; then read the issue again."""
        self._memory.require_requests(self._source, _REQUESTS_FOR_ONE)
        issue = self._issue(item_id)
        if issue is None or not issue.is_ready:
            return None
        note.begin()
        self._add(item_id, self._source.in_progress)
        if not self._remove(item_id, self._source.ready):
            return None
        note.take(item_id)
        return self._confirmed(item_id)

    def resume(self, claim: Claim) -> Item | None:
        """Return a claimed issue if it is still in progress."""
        issue = self._issue(claim.item_id)
        is_ours = issue is not None and issue.is_open and issue.has(self._source.in_progress)
        return issue.item() if issue is not None and is_ours else None

    def settle(self, claim: Claim, verdict: Verdict, comment: str = "") -> None:
        """Remove `in_progress` after commenting, and restoring `ready` or closing the issue.

        This order makes every step repeatable; a comment is repeated only if Halo stopped in between. An issue without
        the label is no longer ours. After an interrupted claim the winner is unknown; the issue then becomes ready
        again, because otherwise no worker might take it.
        """
        number = claim.item_id
        issue = self._issue(number)
        if issue is None:
            self._api.get(self._repository)  # Raises when it is the repository that cannot be seen.
            return
        if not issue.has(self._source.in_progress):
            return
        if comment and claim.place and verdict is not Verdict.RELEASED:
            self._comment(claim, comment)
        if claim.place and verdict is Verdict.DONE:
            if self._source.closes and issue.is_open:
                self._close(number)
        elif issue.is_open and not issue.has(self._source.ready):
            self._add(number, self._source.ready)
        self._remove(number, self._source.in_progress)

    # --- Steps ---------------------------------------------------------------------------------------

    def _confirmed(self, number: str) -> Item | None:
        issue = self._issue(number)
        if issue is None:
            return None
        if not issue.is_open:  # Somebody settled it in this moment.
            self._remove(number, self._source.in_progress)
            return None
        if not issue.has(self._source.in_progress):  # Somebody who gave up took it off.
            self._add(number, self._source.in_progress)
        return issue.item()

    def _page(self, url: str) -> Page:
        known = self._memory.page(self._source, url)
        reply = self._api.get(url, etag=known.etag if known else "", accepted={NOT_MODIFIED})
        if known is not None and reply.status == NOT_MODIFIED:
            return known
        if not isinstance(reply.data, list):
            raise SourceError(message(MessageKind.NO_ISSUES, base=self._api.base))
        issues = (_Issue.of(data, self._source, self._api.redactor.text) for data in reply.data)
        items = tuple(issue.item(is_whole=False) for issue in issues if issue is not None and issue.is_ready)
        page = Page(reply.headers.get("etag", ""), items, self._next_url(url, reply))
        if page.etag:
            self._memory.keep_page(self._source, url, page)
        return page

    def _next_url(self, url: str, reply: Reply) -> str:
        link = _NEXT_LINK.search(reply.headers.get("link", ""))
        if link is None:
            return ""
        if not is_same_host(url, link[1]):
            raise SourceError(message(MessageKind.ISSUES_ELSEWHERE, base=self._api.base))
        return link[1]

    def _issue(self, number: str) -> _Issue | None:
        if not _NUMBER.fullmatch(number):
            return None
        reply = self._api.get(f"{self._repository}/issues/{number}", accepted=ABSENT)
        issue = (
            None if reply.status in ABSENT else _Issue.of(reply.data, self._source, self._api.redactor.text)
        )
        # One that was moved to another repository answers from there.
        return issue if issue is not None and str(issue.number) == number else None

    def _add(self, number: str, label: str) -> None:
        self._api.change("POST", f"{self._repository}/issues/{number}/labels", {"labels": [label]})

    def _remove(self, number: str, label: str) -> bool:
        """Remove a label; return False if it was not there."""
        url = f"{self._repository}/issues/{number}/labels/{quote(label, safe='')}"
        return self._api.change("DELETE", url, accepted=ABSENT).status not in ABSENT

    def _comment(self, claim: Claim, text: str) -> None:
        if self._memory.has_commented(claim.key):
            return
        self._api.change("POST", f"{self._repository}/issues/{claim.item_id}/comments", {"body": text})
        self._memory.keep_commented(claim.key)

    def _close(self, number: str) -> None:
        payload = {"state": "closed", "state_reason": "completed"}
        self._api.change("PATCH", f"{self._repository}/issues/{number}", payload)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Issue:
    """An issue as GitHub describes it; missing or malformed values are empty."""

    number: int
    is_open: bool
    label_names: tuple[str, ...]
    title: str
    body: str
    url: str
    source: GithubSource

    @classmethod
    def of(cls, data: Any, source: GithubSource, redacted: Callable[[str], str]) -> _Issue | None:
        """Return an issue from GitHub's JSON; None for pull requests and anything else."""
        if not isinstance(data, dict) or "pull_request" in data or type(data.get("number")) is not int:
            return None
        labels = data.get("labels")
        return cls(
            number=data["number"],
            is_open=data.get("state") == "open",
            label_names=tuple(
                redacted(name) for name in _label_names(labels if isinstance(labels, list) else [])
            ),
            title=redacted(_text(data.get("title"))),
            body=redacted(_text(data.get("body"))),
            url=_text(data.get("html_url")),
            source=source,
        )

    @property
    def is_ready(self) -> bool:
        return self.is_open and self.has(self.source.ready) and not self.has(self.source.in_progress)

    def has(self, label: str) -> bool:
        """Return whether the issue has a label; GitHub ignores case."""
        return label.casefold() in {name.casefold() for name in self.label_names}

    def item(self, *, is_whole: bool = True) -> Item:
        """Return the issue as an item, without the labels of the queue itself."""
        ours = {self.source.ready.casefold(), self.source.in_progress.casefold()}
        labels = plain_labels(name for name in self.label_names if name.casefold() not in ours)
        content = self.body.encode(errors="replace") if is_whole else b""
        body, note = plain_body(content, len(content))
        return Item(
            id=str(self.number),
            title=plain_title(self.title, otherwise=f"issue {self.number}"),
            url=self.url if _WEB_ADDRESS.fullmatch(self.url) else "",
            body=body,
            labels=labels,
            priority=priority_in(labels),
            note=note,
        )


def _label_names(labels: list[Any]) -> Iterator[str]:
    for label in labels:
        name = label.get("name") if isinstance(label, dict) else label
        if isinstance(name, str):
            yield name


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


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
        """Modify a resource. No retry: without a response, it is unknown whether the change was made."""
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
