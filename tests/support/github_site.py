"""A web site on this machine that behaves like GitHub's REST API for issues."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from http_site import Seen, Site, Visit, open_site
from pages import EveryPath, SeenByThread

from halo_scheduler.clock import ManualClock
from halo_scheduler.model.actions import GithubSource
from halo_scheduler.work_sources.github import Github
from halo_scheduler.work_sources.github_memory import GithubMemory
from halo_scheduler.work_sources.web import Web

REPOSITORY = "halo/tasks"
TOKEN = "ghp_0123456789abcdefSECRET"  # noqa: S105 - of a site that exists for a second
_NOT_MODIFIED = 304
_ISSUE = re.compile(r"(?:/api/v3)?/repos/([^/]+/[^/]+)/issues/([0-9]+)(/comments|/labels(?:/([^/]+))?)?")
_LIST = re.compile(r"(?:/api/v3)?/repos/([^/]+/[^/]+)/issues")
_REPOSITORY = re.compile(r"(?:/api/v3)?/repos/([^/]+/[^/]+)")


@dataclass
class Issue:
    """An issue as the site keeps it."""

    number: int
    title: str = "Something to do"
    body: str | None = "Do it well."
    labels: list[str] = field(default_factory=lambda: ["ready"])
    state: str = "open"
    is_pull_request: bool = False
    state_reason: str | None = None
    comments: list[str] = field(default_factory=list)

    def has(self, label: str) -> bool:
        return label.lower() in {name.lower() for name in self.labels}


class Ask:
    """One request on its way to its answer."""

    def __init__(self, visit: Visit, seen: Seen) -> None:
        self.visit = visit
        self.path, _, self.query = seen.path.partition("?")
        self.method, self.headers, self.sent = seen.method, seen.headers, seen.body

    @property
    def route(self) -> str:
        return f"{self.method} {self.path}"

    def say(self, status: int, data: Any = None, headers: Mapping[str, str] | None = None) -> None:
        """Answer with JSON."""
        named = {"Content-Type": "application/json", **(headers or {})}
        self.visit.answer(status, named, b"" if status == _NOT_MODIFIED else json.dumps(data).encode())

    def cut_off(self) -> None:
        """Promise more than is sent."""
        self.visit.close_connection = True
        self.visit.begin(200, {"Content-Length": "1000", "Content-Type": "application/json"})
        self.visit.wfile.write(b'[{"number":')


Hook = Callable[[Ask], None]


class GithubSite:
    """Issues of one repository, and everything that was asked of them."""

    def __init__(self, site: Site) -> None:
        self.url = site.url("")
        self.seen = SeenByThread()
        site.seen = self.seen
        site.pages = EveryPath(self._serve)
        self.issues: dict[int, Issue] = {}
        self.token: str | None = TOKEN
        self.page_length = 100
        self.requests_left: int | None = None
        self.resets_at_s = 0
        self.before: dict[str, Hook] = {}
        self.after: dict[str, Hook] = {}
        self.instead: dict[str, list[Hook]] = {}
        self._lock = threading.Lock()

    def add(self, *numbers: int, **fields: Any) -> None:
        """Open issues."""
        for number in numbers:
            self.issues[number] = Issue(number, **deepcopy(fields))

    def labels(self, number: int) -> set[str]:
        return set(self.issues[number].labels)

    def asked(self, method: str = "") -> list[str]:
        """Return what was asked, without the queries."""
        routes = [f"{seen.method} {urlsplit(seen.path).path}" for seen in self.seen]
        return [route for route in routes if route.startswith(method)]

    def _serve(self, visit: Visit) -> None:
        """Answer, or do what a test put in the answer's place; its hooks may wait for one another."""
        ask = Ask(visit, self.seen.mine.seen)
        waiting = self.instead.get(ask.route)
        if waiting:
            waiting.pop(0)(ask)
            return
        if ask.route in self.before:
            self.before[ask.route](ask)
        with self._lock:
            status, data, headers = self._answer(ask)
        if ask.route in self.after:
            self.after[ask.route](ask)
        ask.say(status, data, headers)

    # --- What GitHub does ----------------------------------------------------------------------------

    def _answer(self, ask: Ask) -> tuple[int, Any, dict[str, str]]:
        if self.token is not None and ask.headers.get("authorization") != f"Bearer {self.token}":
            return 401, {"message": "Bad credentials"}, {}
        if self.requests_left == 0:
            return 403, {"message": "API rate limit exceeded"}, self._limit()
        status, data, headers = self._do(ask)
        mark = f'W/"{hashlib.sha256(json.dumps([data, headers]).encode()).hexdigest()}"'
        if status == 200 and ask.method == "GET":
            headers["ETag"] = mark
            if ask.headers.get("if-none-match") == mark:
                return 304, None, {"ETag": mark, **self._limit()}
        if self.requests_left is not None:
            self.requests_left -= 1
        return status, data, {**headers, **self._limit()}

    def _limit(self) -> dict[str, str]:
        if self.requests_left is None:
            return {}
        return {
            "X-RateLimit-Remaining": str(self.requests_left),
            "X-RateLimit-Reset": str(self.resets_at_s),
        }

    def _do(self, ask: Ask) -> tuple[int, Any, dict[str, str]]:
        match = _ISSUE.fullmatch(ask.path) or _LIST.fullmatch(ask.path) or _REPOSITORY.fullmatch(ask.path)
        if match is None or match[1] != REPOSITORY:
            return 404, {"message": "Not Found"}, {}
        if match.re is _REPOSITORY:
            return 200, {"full_name": REPOSITORY}, {}
        if match.re is _LIST:
            return self._list(ask)
        issue = self.issues.get(int(match[2]))
        if issue is None:
            return 404, {"message": "Not Found"}, {}
        if match[3] == "/comments":
            issue.comments.append(json.loads(ask.sent)["body"])
        elif match[3]:
            return self._change_labels(ask, issue, unquote(match[4] or ""))
        if ask.method == "PATCH":
            for name, value in json.loads(ask.sent).items():
                setattr(issue, name, value)
        return 200, self._shown(issue), {}

    def _list(self, ask: Ask) -> tuple[int, Any, dict[str, str]]:
        query = {name: values[0] for name, values in parse_qs(ask.query).items()}
        assert query["state"] == "open"
        assert (query["sort"], query["direction"]) == ("created", "asc")
        found = [self.issues[number] for number in sorted(self.issues)]
        found = [issue for issue in found if issue.state == "open" and issue.has(query["labels"])]
        page, length = int(query.get("page", "1")), min(int(query["per_page"]), self.page_length)
        shown = [self._shown(issue) for issue in found[(page - 1) * length : page * length]]
        if page * length >= len(found):
            return 200, shown, {}
        asked = f"{ask.path}?{re.sub('&page=[0-9]+', '', ask.query)}"
        last = -(-len(found) // length)
        links = {"next": page + 1, "last": last}
        link = ", ".join(f'<{self.url}{asked}&page={number}>; rel="{name}"' for name, number in links.items())
        return 200, shown, {"Link": link}

    def _change_labels(self, ask: Ask, issue: Issue, label: str) -> tuple[int, Any, dict[str, str]]:
        if ask.method == "POST":
            for name in json.loads(ask.sent)["labels"]:
                if not issue.has(name):
                    issue.labels.append(name)
        elif ask.method == "DELETE":
            if not issue.has(label):
                return 404, {"message": "Label does not exist"}, {}
            issue.labels = [name for name in issue.labels if name.lower() != label.lower()]
        return 200, [{"name": name} for name in issue.labels], {}

    def _shown(self, issue: Issue) -> dict[str, Any]:
        shown = {
            "number": issue.number,
            "title": issue.title,
            "body": issue.body,
            "state": issue.state,
            "html_url": f"https://github.example/{REPOSITORY}/issues/{issue.number}",
            "labels": [{"name": name} for name in issue.labels],
        }
        return {**shown, "pull_request": {"url": "…"}} if issue.is_pull_request else shown


@contextmanager
def open_github() -> Iterator[GithubSite]:
    """Run a site until it is no longer needed."""
    with open_site() as site:
        yield GithubSite(site)


class GithubDesk:
    """Makes sources that share what they remember."""

    def __init__(self, site: GithubSite) -> None:
        self._site = site
        self.memory = GithubMemory(ManualClock(1_000_000).now_ms)

    def open(self, **fields: object) -> Github:
        values = {"repository": REPOSITORY, "token": "TOKEN", "base_url": self._site.url, **fields}
        source = GithubSource(**values)  # type: ignore[arg-type]  # one mapping for all kinds
        return Github(source, TOKEN if source.token else "", Web(deadline_s=20), self.memory)
