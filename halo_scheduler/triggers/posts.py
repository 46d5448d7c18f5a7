"""The requests of webhook clients, their checks, and the responses."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl

from halo_scheduler.clock import Clock
from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.english import shown
from halo_scheduler.grammar.interval import SECOND_MS
from halo_scheduler.grammar.text import hidden_words
from halo_scheduler.model import OnWebhook, Outcome, SkipReason
from halo_scheduler.model.jobs import given_parameters
from halo_scheduler.model.runs import new_run_id
from halo_scheduler.model.webhooks import Webhook, is_token, token_id
from halo_scheduler.rules.event_requests import MOST_WAITING, Accepted, Happening, Refused
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.secrets import SecretStore
from halo_scheduler.store.store import Store
from halo_scheduler.triggers.signatures import Delivery, SignatureError, verify

_MOST_FIELDS = 1_000
# Reading a body of a million values would delay other jobs.
_MOST_VALUES = 10_000
# Up to the next mark outside of strings; valid JSON has at most two strings between two marks.
_TO_MARK = re.compile(
    r'[^",\[\]{}]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^",\[\]{}]*+){0,2}+([,\[\]{}])', re.DOTALL
)
_NO_DELIVERY = Delivery(b"", 0)
# Requests per second, and the largest burst.
_OF_ALL, _OF_ONE_JOB, _WRONG = (1_000, 2_000), (50, 200), (20, 100)


class Answer(NamedTuple):
    """A response to a client."""

    status: HTTPStatus
    data: Mapping[str, object]


# The same response for a wrong token, for a removed job, and for a job whose webhook was removed.
NOT_FOUND = Answer(HTTPStatus.NOT_FOUND, {"error": "there is no such webhook"})
NO_STORE = Answer(HTTPStatus.SERVICE_UNAVAILABLE, {"error": "requests can't be stored now; try again later"})
NO_KEY = Answer(HTTPStatus.SERVICE_UNAVAILABLE, {"error": "the signature cannot be checked now"})
CLOSING = Answer(HTTPStatus.SERVICE_UNAVAILABLE, {"error": "Halo is closing its port; try again later"})
FAULT = Answer(HTTPStatus.INTERNAL_SERVER_ERROR, {"error": "the request could not be processed"})
RECEIVED = Answer(HTTPStatus.CONFLICT, {"error": "this request was received before"})
_TOO_LARGE = Answer(
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    {"error": f"the body has more than {_MOST_VALUES:,} JSON values, too many to take parameters from"},
)
NOT_SIGNED = Answer(HTTPStatus.UNAUTHORIZED, {"error": "the signature is missing, wrong or too old"})
_TOO_MANY = Answer(HTTPStatus.TOO_MANY_REQUESTS, {"error": "too many requests; try again later"})
_TOO_MANY_WAIT = Answer(
    HTTPStatus.TOO_MANY_REQUESTS,
    {"error": f"{MOST_WAITING} calls wait for their run already; try again later"},
)
_REFUSALS = {
    SkipReason.PAUSED: "the job is paused",
    SkipReason.DISABLED: "the job is disabled",
    SkipReason.ALREADY_RUNNING: "the job is still running",
}


class Post(NamedTuple):
    """A request to start a job."""

    token: str
    headers: Mapping[str, str]
    body: bytes
    query: str
    key: str | None = None
    """The key of its signature, once it has been read."""


class StatusQuestion(NamedTuple):
    """A request for the state of a run."""

    token: str
    run_id: str


class KeyWanted(NamedTuple):
    """The signature needs its key, which may take long to read; judge the post again with it."""

    post: Post
    read: Callable[[], str]


class Checked(NamedTuple):
    """A valid post, to be stored."""

    happening: Happening
    delivery: Delivery

    @property
    def mark(self) -> tuple[str, bytes] | None:
        """What identifies a signed post against replay; None if nothing does."""
        return (self.happening.job_id, self.delivery.digest) if self.delivery.digest else None


Reply = Answer | KeyWanted


class TooManyValuesError(Exception):
    """A JSON body has more values than are read."""


class Allowance:
    """A rate limit: a number per second, with bursts after a pause."""

    def __init__(self, per_second: float, at_once: int, clock: Clock) -> None:
        self._per_ms = per_second / SECOND_MS
        self._most = at_once
        self._clock = clock
        self._left = float(at_once)
        self._counted_at = clock.monotonic_ms()

    def take(self) -> bool:
        """Return whether one more is allowed now."""
        now_ms = self._clock.monotonic_ms()
        self._left = min(self._most, self._left + (now_ms - self._counted_at) * self._per_ms)
        self._counted_at = now_ms
        if self._left < 1:
            return False
        self._left -= 1
        return True


class Allowances:
    """The rate limits of a listener; memory grows with the number of webhooks, not with requests."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._all = Allowance(*_OF_ALL, clock)
        self._wrong = Allowance(*_WRONG, clock)
        self._by_job: dict[str, Allowance] = {}

    def take_wrong(self) -> bool:
        """Return whether one more wrong token gets its own response."""
        return self._wrong.take()

    def take(self, job_id: str) -> bool:
        """Return whether a job may receive one more request now."""
        of_job = self._by_job.setdefault(job_id, Allowance(*_OF_ONE_JOB, self._clock))
        return of_job.take() and self._all.take()


class Judge:
    """Decides the response to requests; writes nothing."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._allowances = Allowances(clock)

    def judge(self, store: Store, request: Post | StatusQuestion) -> Reply | Checked:
        """Return the response to a request, or a post to store."""
        webhook = _find(store, request.token)
        record = None if webhook is None else store.jobs.get(webhook.job_id)
        key = None if record is None else _key_of(record)
        if webhook is None or record is None or key is None:
            return NOT_FOUND if self._allowances.take_wrong() else _TOO_MANY
        if isinstance(request, Post) and request.key is not None:
            return self._check(record, key, request, webhook)
        if not self._allowances.take(record.id):
            return _TOO_MANY
        if isinstance(request, StatusQuestion):
            return _state_of(store, record.id, request.run_id)
        if webhook.signature is not None:
            return KeyWanted(request, _key_reader(store, self._path, webhook.key_name))
        return self._check(record, key, request, webhook)

    def _check(self, record: JobRecord, key: str, post: Post, webhook: Webhook) -> Answer | Checked:
        now_ms = self._clock.now_ms()
        delivery = _NO_DELIVERY
        try:
            if webhook.signature is not None and post.key is not None:
                delivery = verify(
                    webhook.signature,
                    post.key,
                    post.headers,
                    post.body,
                    now_ms=now_ms,
                    window_ms=webhook.window_ms,
                )
            parameters = read_parameters(record.spec.parameters, post)
        except SignatureError:
            return NOT_SIGNED
        except TooManyValuesError:
            return _TOO_LARGE
        except ScheduleError as error:
            return Answer(HTTPStatus.BAD_REQUEST, {"error": str(error)})
        happening = Happening(
            job_id=record.id,
            key=key,
            event_id=f"webhook:{new_run_id()}",
            at=now_ms,
            input=post.body,
            parameters=parameters,
            is_answered=True,
        )
        return Checked(happening, delivery)


def answer_to(found: Accepted | Refused) -> Answer:
    """Return the response to a post that was stored, or refused by its job."""
    if isinstance(found, Refused):
        if found.reason is SkipReason.AT_CAPACITY:
            return _TOO_MANY_WAIT
        reason = _REFUSALS.get(found.reason, "the job does not start now")
        return Answer(HTTPStatus.CONFLICT, {"error": reason, "reason": found.reason})
    return Answer(HTTPStatus.ACCEPTED, {"run": found.run_id})


def _find(store: Store, token: str) -> Webhook | None:
    """Return the webhook of a token."""
    webhook = store.webhooks.find(token_id(token)) if is_token(token) else None
    return webhook if webhook is not None and webhook.accepts(token) else None


def _key_of(record: JobRecord) -> str | None:
    """Return the key of the first webhook among a job's schedules; None if it has none, or is in the trash."""
    if record.removed_at is not None:
        return None
    return next((entry.key for entry in record.spec.schedules if isinstance(entry.schedule, OnWebhook)), None)


def _key_reader(store: Store, path: Path, name: str) -> Callable[[], str]:
    """Return a function that reads the key of a signature on any thread."""
    read = SecretStore(store.secrets, path).reader([name])
    return lambda: read()[name]


def _state_of(store: Store, job_id: str, run_id: str) -> Answer:
    """Return the state of a run, provided that it is one of this job."""
    run = store.runs.get(run_id)
    if run is not None and run.job_id == job_id:
        is_running = run.outcome is Outcome.RUNNING
        state = {"state": "running"} if is_running else {"state": "ended", "outcome": run.outcome}
        return Answer(HTTPStatus.OK, {"run": run_id, **state})
    if store.requests.is_waiting(job_id, run_id):
        return Answer(HTTPStatus.OK, {"run": run_id, "state": "waiting"})
    return NOT_FOUND


# --- Parameters --------------------------------------------------------------------------------------


def read_parameters(declared: Mapping[str, str], post: Post) -> Mapping[str, str]:
    """Return the values of declared parameters: from the query, or else from a JSON body."""
    if not declared:
        return {}
    given: dict[str, object] = _read_object(post)
    try:
        # WSGI decodes the bytes of a query as Latin-1.
        query = post.query.encode("latin-1").decode()
        given |= parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise ScheduleError("the query cannot be read") from None
    values = {
        name: _text_of(name, given[name]) for name in declared if name in given and given[name] is not None
    }
    return require_visible(declared, values)


def require_visible(declared: Mapping[str, str], values: Mapping[str, str]) -> Mapping[str, str]:
    """Return the values of parameters; refuse invisible characters in them."""
    found = given_parameters(declared, values)
    for name, value in found.items():
        if hidden := hidden_words(value):
            raise ScheduleError(f"contains invisible characters: {hidden}", path=f"parameters.{name}")
    return found


def _read_object(post: Post) -> dict[str, object]:
    """Return the JSON object in a body; an empty one if the body is something else."""
    if not post.body.lstrip().startswith(b"{"):
        return {}
    try:
        text = post.body.decode(json.detect_encoding(post.body), "surrogatepass")
        _refuse_many_values(text)
        # Numbers keep their spelling.
        found = json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError):
        if post.headers.get("CONTENT_TYPE", "").partition(";")[0].strip().lower() == "application/json":
            raise ScheduleError("the body is not JSON") from None
        return {}
    return found if isinstance(found, dict) else {}


def _refuse_many_values(text: str) -> None:
    """Count the values of the object that a text begins with; what follows it is not read."""
    values = depth = end = 0
    while (found := _TO_MARK.match(text, end)) is not None:
        end = found.end()
        if found[1] in "]}":
            depth -= 1
        else:
            values += 1
            depth += found[1] != ","
        if values > _MOST_VALUES:
            raise TooManyValuesError
        if depth <= 0:
            return


def _text_of(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        raise ScheduleError(f"must be text, not {shown(value)}", path=f"parameters.{name}")
    return value
