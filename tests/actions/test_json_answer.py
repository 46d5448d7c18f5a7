"""The halo object of answers in JSON, from servers that mean well and others."""

from __future__ import annotations

import json

import pytest

from halo_scheduler.actions.directives import NO_DIRECTIVES, Directives
from halo_scheduler.actions.http_record import JsonAnswer
from halo_scheduler.grammar.redaction import Redactor
from halo_scheduler.model import Proposal
from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.wording.messages import message_words

_HIDDEN = "hunter22"
_MINUTE = 60_000
_MIB = 1 << 20


def _directives(body: object, content_type: str = "application/json") -> Directives:
    answer = JsonAnswer(content_type)
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    for start in range(0, len(data), 100_000):
        answer.feed(data[start : start + 100_000])
    return answer.read(Redactor([_HIDDEN]))


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "Application/JSON; charset=utf-8", " application/problem+json ;x", "text/x+json"],
)
def test_the_halo_object_of_a_json_answer_is_read(content_type: str) -> None:
    halo = {"every": "5m", "next": "1m", "ttl": "2h", "reason": "queue is long"}
    said = _directives({"items": [1, 2], "halo": halo}, content_type)
    assert said.proposal == Proposal(
        every_ms=5 * _MINUTE, next_ms=_MINUTE, ttl_ms=120 * _MINUTE, reason="queue is long"
    )
    assert said.fault is None


@pytest.mark.parametrize(
    "content_type", ["", "text/plain", "application/jsonx", "json", "text/html;x=application/json"]
)
def test_a_response_without_a_json_content_type_is_not_parsed(content_type: str) -> None:
    assert _directives({"halo": {"every": "5m"}}, content_type) == NO_DIRECTIVES


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no json",
        {},
        [],
        5,
        "text",
        None,
        {"Halo": {"every": "5m"}},
        {"halo": None},
        {"x": {"halo": {"every": "5m"}}},
        [{"halo": {"every": "5m"}}],
        "halo",
        b"[" * 500_000,
        b"9" * 10_000,
    ],
)
def test_an_answer_without_a_halo_says_nothing(body: object) -> None:
    assert _directives(body) == NO_DIRECTIVES


def test_null_is_a_key_that_is_not_there() -> None:
    assert _directives({"halo": {"every": "5m", "ttl": None, "reason": None}}).proposal == Proposal(
        every_ms=5 * _MINUTE
    )


@pytest.mark.parametrize(
    ("halo", "why"),
    [
        ("every=5m", "it is not an object"),
        ([], "it is not an object"),
        (5, "it is not an object"),
        ({}, "it needs every, next or both"),
        ({"every": None}, "it needs every, next or both"),
        ({"ttl": "5m"}, "it needs every, next or both"),
        ({"every": 300}, "every: must be text, like 5m"),
        ({"every": True}, "every: must be text"),
        ({"every": ["5m"]}, "every: must be text"),
        ({"every": {"x": _HIDDEN}}, "every: must be text"),
        ({"every": "5m", "reason": 7}, "reason: must be text"),
        ({"every": "5"}, "every: cannot read the interval '5'"),
        ({"every": "5m", "ttl": "400d"}, "ttl: a hint lasts 366d at most"),
        ({"every": "5m", "pace": "1m"}, "there is no key 'pace'"),
        ({"every": _HIDDEN}, "every: cannot read the interval '***'"),
        ({_HIDDEN: "5m"}, "there is no key '***'"),
        ({"k\n\x1b[31m" * 100: 5}, "must be text"),
    ],
)
def test_a_halo_that_cannot_be_read_is_a_note_at_most(halo: object, why: str) -> None:
    said = _directives({"halo": halo})
    assert said.proposal is None
    assert message_words(said.fault).startswith('the "halo" field of the response is invalid: ')
    assert why in message_words(said.fault)
    assert _HIDDEN not in message_words(said.fault)
    assert message_words(said.fault).isprintable()
    assert len(message_words(said.fault)) < 300


def test_a_key_that_is_there_twice_is_refused() -> None:
    said = _directives(b'{"halo": {"every": "5m", "every": "6m"}}')
    assert said == Directives(fault=message(MessageKind.UNREADABLE_ANSWER, error="a key appears twice"))


@pytest.mark.parametrize(
    "body",
    [
        b'{"halo": {"every": "5m"}',
        b'{"halo": {"every": "5m"}} {"halo": 1}',
        b'{"halo": ' + b"[" * 500_000,
        b'{"halo": ' + b'{"a":' * 100_000,
        b'{"halo": ' + b"9" * 500_000 + b"}",
        b'{"halo": {"every": "\xff"}}',
        b"\x00" * 50 + b'"halo"',
    ],
    ids=["open", "two", "deep lists", "deep objects", "number", "no text", "zeros"],
)
def test_a_halo_object_in_invalid_json_is_reported(body: bytes) -> None:
    assert _directives(body) == Directives(fault=message(MessageKind.ANSWER_NOT_JSON))


def test_an_answer_of_a_mebibyte_is_read_and_one_byte_more_is_not() -> None:
    body = json.dumps({"halo": {"next": "1m"}, "x": ""}).encode()
    body = body.replace(b'""', b'"' + b"x" * (_MIB - len(body)) + b'"')
    assert len(body) == _MIB
    assert _directives(body).proposal == Proposal(next_ms=_MINUTE)
    said = _directives(body + b" ")
    assert said == Directives(fault=message(MessageKind.ANSWER_TOO_LONG, most=1 << 20))


def test_an_endless_answer_is_not_kept() -> None:
    answer = JsonAnswer("application/json")
    for _ in range(100):
        answer.feed(b"x" * 100_000)
    assert len(answer._body) == 0


def test_a_reason_is_short_plain_and_without_secrets_however_it_is_written() -> None:
    body = b'{"halo": {"next": "1m", "reason": "a\\u0000\\n\\ud800 \\u0068unter22 ' + b"x" * 300 + b'"}}'
    proposal = _directives(body).proposal
    assert proposal is not None
    assert proposal.reason.startswith("a\ufffd ? *** xxx")
    assert len(proposal.reason) == 200
