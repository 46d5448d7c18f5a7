"""What is kept of the responses to a request: written as they come, without secrets, and searched for words to us."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from halo_scheduler.actions.directives import NO_DIRECTIVES, Directives, LineReader, read_wish
from halo_scheduler.actions.http_headers import shown_value
from halo_scheduler.actions.spool import Output
from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.redaction import Redactor
from halo_scheduler.grammar.text import printed_line

if TYPE_CHECKING:
    from halo_scheduler.web.client import Response

_KEY = "halo"
_MOST_BYTES = 1 << 20
_LONGEST_KEY = 60
# A whole record up to this size is handed over in memory, so that nobody has to read the file again.
_SMALL = 16 << 10


class JsonAnswer:
    """Keeps the body of an answer, if it is JSON and not too long, until it can be read as a whole."""

    def __init__(self, content_type: str) -> None:
        kind = content_type.partition(";")[0].strip().lower()
        self._is_json = kind == "application/json" or kind.endswith("+json")
        self._body = bytearray()
        self._is_too_long = False

    def feed(self, data: bytes) -> None:
        """Take in what follows."""
        if not self._is_json or self._is_too_long:
            return
        self._is_too_long = len(self._body) + len(data) > _MOST_BYTES
        if self._is_too_long:
            self._body.clear()
        else:
            self._body += data

    def read(self, redactor: Redactor) -> Directives:
        """Return what it says; a body that says nothing of Halo is none of our business, whatever it is."""
        if self._is_too_long:
            return Directives(
                fault=f"its answer has more than {_MOST_BYTES:,} bytes and was not searched for halo"
            )
        if b'"%s"' % _KEY.encode() not in self._body:
            return NO_DIRECTIVES
        try:
            answer = json.loads(self._body, object_pairs_hook=_object)
        except (ValueError, RecursionError):
            return Directives(fault="its answer could not be read as JSON")
        if not isinstance(answer, dict) or answer.get(_KEY) is None:
            return NO_DIRECTIVES
        try:
            return Directives(wish=read_wish(_pairs(answer[_KEY], redactor))).without_secrets(redactor)
        except ScheduleError as error:
            return Directives(fault=f"the halo of its answer could not be read: {error}")


class _Doubled(dict[str, Any]):
    """An object in which a key is there twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    return found if len(found) == len(pairs) else _Doubled(found)


def _pairs(given: object, redactor: Redactor) -> list[tuple[str, str]]:
    """Return keys and values as a line would have them, without secrets; null is a key that is not there."""
    if not isinstance(given, dict):
        raise ScheduleError("it is no object")
    if isinstance(given, _Doubled):
        raise ScheduleError("a key is there twice")
    pairs: list[tuple[str, str]] = []
    for raw_key, value in given.items():
        key = printed_line(redactor.text(raw_key), _LONGEST_KEY)
        if value is None:
            continue
        if not isinstance(value, str):
            # It is not shown: a part of it may be a part of a secret.
            raise ScheduleError("must be text, like 5m", path=key)
        pairs.append((key, redactor.text(value)))
    return pairs


class Record:
    """Writes to a descriptor, which it closes; OSError when that fails."""

    def __init__(self, descriptor: int, redactor: Redactor, *, reads_lines: bool) -> None:
        self._descriptor = descriptor
        self._redactor = redactor
        self._reads_lines = reads_lines
        self._stream = redactor.stream()
        self._lines: LineReader | None = None
        self._json: JsonAnswer | None = None
        self._written: bytearray | None = bytearray()

    def begin(self, response: Response) -> None:
        """Write the head of a response; what an earlier one said, on the way here, does not count."""
        self._stream = self._redactor.stream()
        self._lines = LineReader(self._redactor) if self._reads_lines else None
        self._json = JsonAnswer(response.header("content-type")) if self._reads_lines else None
        lines = [f"HTTP {response.status} ".encode() + response.phrase]
        for name, value in response.headers():
            if name == "content-encoding" and response.is_decoded:
                continue  # The body below is another than the one it tells of.
            lines.append(name.encode("latin-1") + b": " + shown_value(name, value))
        self._write(self._stream.feed(b"\n".join(line.rstrip() for line in lines) + b"\n\n"))

    def take(self, piece: bytes) -> None:
        """Write a piece of the body."""
        if self._lines is not None:
            self._lines.feed(piece)
        if self._json is not None:
            self._json.feed(piece)
        self._write(self._stream.feed(piece))

    def flush(self) -> None:
        """Write what was held back in case it became a secret."""
        self._write(self._stream.end())

    def note_redirect(self, target: str) -> None:
        """Write where the next response comes from."""
        self._write(self._redactor.redacted(f"[redirected to {printed_line(target)}]\n\n".encode()))

    def said(self, *, is_whole: bool) -> Directives:
        """Return what the last response said; JSON can only be read as a whole."""
        said = NO_DIRECTIVES if self._lines is None else self._lines.end()
        return said.and_then(self._json.read(self._redactor)) if is_whole and self._json is not None else said

    def output(self) -> Output | None:
        """Return all that was written, if it is small; None means that the file must be read."""
        return None if self._written is None else Output.of(bytes(self._written), len(self._written))

    def close(self) -> None:
        os.close(self._descriptor)

    def _write(self, data: bytes) -> None:
        if self._written is not None:
            self._written += data
            if len(self._written) > _SMALL:
                self._written = None
        while data:
            data = data[os.write(self._descriptor, data) :]
