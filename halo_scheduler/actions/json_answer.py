"""What the JSON answer of a server proposes about the job that asked: its `halo` object."""

from __future__ import annotations

import json
from typing import Any

from halo_scheduler.actions.directives import NOTHING_SAID, Said
from halo_scheduler.actions.proposals import read_wish
from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.redaction import Redactor
from halo_scheduler.grammar.text import printed_line

_KEY = "halo"
_MOST_BYTES = 1 << 20
_LONGEST_KEY = 60


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

    def read(self, redactor: Redactor) -> Said:
        """Return what it says; a body that says nothing of Halo is none of our business, whatever it is."""
        if self._is_too_long:
            return Said(fault=f"its answer has more than {_MOST_BYTES:,} bytes and was not searched for halo")
        if b'"%s"' % _KEY.encode() not in self._body:
            return NOTHING_SAID
        try:
            answer = json.loads(self._body, object_pairs_hook=_object)
        except (ValueError, RecursionError):
            return Said(fault="its answer could not be read as JSON")
        if not isinstance(answer, dict) or answer.get(_KEY) is None:
            return NOTHING_SAID
        try:
            return Said(wish=read_wish(_pairs(answer[_KEY], redactor))).without_secrets(redactor)
        except ScheduleError as error:
            return Said(fault=f"the halo of its answer could not be read: {error}")


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
