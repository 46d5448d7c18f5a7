"""The record of a request's responses: written as they arrive, redacted, and searched for directives."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from halo_scheduler.actions.directives import NO_DIRECTIVES, Directives, LineReader, read_wish
from halo_scheduler.actions.spool import Output
from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.redaction import MARK, Redactor
from halo_scheduler.grammar.text import printed_line
from halo_scheduler.model import BodyKind, HttpRequest
from halo_scheduler.model.messages import MessageKind, message

if TYPE_CHECKING:
    from halo_scheduler.web.client import Response


_KEY = "halo"
_MOST_BYTES = 1 << 20
_LONGEST_KEY = 60
# A record up to this size is passed on in memory, so that the file is not read again.
_SMALL = 16 << 10
_SHORTEST_SECRET = 4
_SECRET_WORDS = re.compile("auth|cookie|token|secret|passw|key|session|signature")
_CHALLENGES = frozenset({"www-authenticate", "proxy-authenticate"})
_USER_INFO = re.compile(rb"(?<=//)[^/?#\s]*@")


class JsonAnswer:
    """Keeps the body of a response, if it is JSON and not too long, until it can be parsed as a whole."""

    def __init__(self, content_type: str) -> None:
        kind = content_type.partition(";")[0].strip().lower()
        self._is_json = kind == "application/json" or kind.endswith("+json")
        self._body = bytearray()
        self._is_too_long = False

    def feed(self, data: bytes) -> None:
        """Add the next chunk."""
        if not self._is_json or self._is_too_long:
            return
        self._is_too_long = len(self._body) + len(data) > _MOST_BYTES
        if self._is_too_long:
            self._body.clear()
        else:
            self._body += data

    def read(self, redactor: Redactor) -> Directives:
        """Return the directives; a body without any for Halo is ignored, whatever it is."""
        if self._is_too_long:
            return Directives(fault=message(MessageKind.ANSWER_TOO_LONG, most=_MOST_BYTES))
        if b'"%s"' % _KEY.encode() not in self._body:
            return NO_DIRECTIVES
        try:
            answer = json.loads(self._body, object_pairs_hook=_object)
        except (ValueError, RecursionError):
            return Directives(fault=message(MessageKind.ANSWER_NOT_JSON))
        if not isinstance(answer, dict) or answer.get(_KEY) is None:
            return NO_DIRECTIVES
        try:
            return Directives(wish=read_wish(_pairs(answer[_KEY], redactor))).without_secrets(redactor)
        except ScheduleError as error:
            return Directives(fault=message(MessageKind.UNREADABLE_ANSWER, error=str(error)))


class _Doubled(dict[str, Any]):
    """An object with a duplicate key."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    return found if len(found) == len(pairs) else _Doubled(found)


def _pairs(given: object, redactor: Redactor) -> list[tuple[str, str]]:
    """Return keys and values as a directive line has them, redacted; a null value counts as missing."""
    if not isinstance(given, dict):
        raise ScheduleError("it is not an object")
    if isinstance(given, _Doubled):
        raise ScheduleError("a key appears twice")
    pairs: list[tuple[str, str]] = []
    for raw_key, value in given.items():
        key = printed_line(redactor.text(raw_key), _LONGEST_KEY)
        if value is None:
            continue
        if not isinstance(value, str):
            # Not quoted, because it may contain part of a secret.
            raise ScheduleError("must be text, like 5m", path=key)
        pairs.append((key, redactor.text(value)))
    return pairs


class UnwritableError(Exception):
    """The record cannot be written; not an OSError, which would be taken for a connection error."""


class Record:
    """Writes to a file that `create` makes on demand; UnwritableError if that fails."""

    def __init__(self, create: Callable[[], int], redactor: Redactor, *, reads_lines: bool) -> None:
        self._create = create
        self._descriptor: int | None = None
        self._unsaved = b""
        self._redactor = redactor
        self._reads_lines = reads_lines
        self._stream = redactor.stream()
        self._lines: LineReader | None = None
        self._json: JsonAnswer | None = None
        self._written: bytearray | None = bytearray()

    def begin(self, response: Response) -> None:
        """Write the head of a response; directives of earlier responses, before a redirect, are discarded."""
        self._stream = self._redactor.stream()
        self._lines = LineReader(self._redactor) if self._reads_lines else None
        self._json = JsonAnswer(response.header("content-type")) if self._reads_lines else None
        lines = [f"HTTP {response.status} ".encode() + response.phrase]
        for name, value in response.headers():
            if name == "content-encoding" and response.is_decoded:
                continue  # The body below is not the one this header describes.
            lines.append(name.encode("latin-1") + b": " + shown_value(name, value))
        self._write(self._stream.feed(b"\n".join(line.rstrip() for line in lines) + b"\n\n"))

    def take(self, piece: bytes) -> None:
        """Write a chunk of the body."""
        if self._lines is not None:
            self._lines.feed(piece)
        if self._json is not None:
            self._json.feed(piece)
        self._write(self._stream.feed(piece))

    def flush(self) -> None:
        """Write the rest that was buffered because it could be the start of a secret."""
        self._write(self._stream.end())

    def note_redirect(self, target: str) -> None:
        """Write where the next response comes from."""
        self._write(self._redactor.redacted(f"[redirected to {printed_line(target)}]\n\n".encode()))

    def said(self, *, is_whole: bool) -> Directives:
        """Return the directives of the last response; JSON is parsed as a whole."""
        said = NO_DIRECTIVES if self._lines is None else self._lines.end()
        return said.and_then(self._json.read(self._redactor)) if is_whole and self._json is not None else said

    @property
    def has_file(self) -> bool:
        return self._descriptor is not None

    def make_file(self) -> None:
        """Create the file now, to fail before a request is sent rather than after."""
        if self._descriptor is None:
            try:
                self._descriptor = self._create()
            except OSError as error:
                raise UnwritableError(error.strerror) from error

    def save(self) -> None:
        """Write to the file what is only in memory so far."""
        data, self._unsaved = self._unsaved, b""
        if not data:
            return
        self.make_file()
        assert self._descriptor is not None  # noqa: S101 - it was made
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError as error:
            raise UnwritableError(error.strerror) from error

    def output(self) -> Output | None:
        """Return the whole record if it is small; None if the file must be read."""
        return None if self._written is None else Output.of(bytes(self._written), len(self._written))

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)

    def _write(self, data: bytes) -> None:
        self._unsaved += data
        if self._written is not None:
            self._written += data
            if len(self._written) > _SMALL:
                self._written = None
        if self._written is None:
            self.save()


def default_headers(request: HttpRequest) -> dict[str, str]:
    """Return the default headers of a request."""
    headers = {"User-Agent": _user_agent()}
    if request.body:
        is_json = request.body_kind is BodyKind.JSON
        headers["Content-Type"] = "application/json" if is_json else "text/plain; charset=utf-8"
    return headers


def without(headers: Mapping[str, str], name: str) -> dict[str, str]:
    """Return all headers but one."""
    return {key: value for key, value in headers.items() if key.lower() != name.lower()}


def _is_secret_name(name: str) -> bool:
    return _SECRET_WORDS.search(name) is not None and name not in _CHALLENGES


def shown_value(name: str, value: bytes) -> bytes:
    """Return the value of a response header, redacted for storage."""
    if _is_secret_name(name):
        return MARK
    return _USER_INFO.sub(MARK + b"@", value) if name == "location" else value


def credentials(headers: Mapping[str, str]) -> Iterator[str]:
    """Return the credentials in request headers, to redact them from responses that repeat them."""
    for name, value in headers.items():
        if not _is_secret_name(name.lower()):
            continue
        # The parts without the scheme, as in "Bearer abc", and without names, as in "a=b; c=d".
        cookies = value.split("; ") if name.lower() == "cookie" else []
        parts = (value, value.rpartition(" ")[2], *(cookie.partition("=")[2] for cookie in cookies))
        yield from (part for part in parts if len(part) >= _SHORTEST_SECRET)


@cache
def _user_agent() -> str:
    from importlib.metadata import version  # noqa: PLC0415 - loads the email package

    return f"halo-scheduler/{version('halo-scheduler')}"
