"""What jobs say about themselves in lines of their output, in whatever pieces it comes."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_scheduler.actions.directives import NO_DIRECTIVES, Directives, LineReader
from halo_scheduler.grammar.redaction import Redactor
from halo_scheduler.model import Proposal
from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.wording.messages import message_words

_HIDDEN = "hunter22"
_KIB = 1_024


def _directives(*pieces: bytes, secrets: tuple[str, ...] = ()) -> Directives:
    reader = LineReader(Redactor(secrets))
    for piece in pieces:
        reader.feed(piece)
    return reader.end()


# --- Costs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "cost"),
    [
        (b"::cost 0.12", 0.12),
        (b"::cost 3", 3.0),
        (b"::cost .5", 0.5),
        (b"::cost \t 0.000000001  ", 0.000000001),
        (b"::cost 0", 0.0),
        (b"::cost 9999999", 9_999_999.0),
    ],
)
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""], ids=["line", "dos", "no end"])
def test_a_cost_is_read(line: bytes, cost: float, end: bytes) -> None:
    assert _directives(line + end) == Directives(cost=cost)


def test_costs_are_added_up() -> None:
    assert _directives(b"::cost 0.1\nwords\n::cost 0.2\n::cost 0\n").cost == 0.3


@pytest.mark.parametrize(
    "line",
    [
        b"::cost",
        b"::cost ",
        b"::cost x",
        b"::cost -1",
        b"::cost +1",
        b"::cost nan",
        b"::cost inf",
        b"::cost 1e9",
        b"::cost 12345678",
        b"::cost 1,5",
        b"::cost 1 2",
        b"::cost 0.1234567890",
        b"::cost $5",
        "::cost \u0661".encode(),
        b"::cost \xff",
        b"::cost 1\r\r",
        b"::needs-input",
        b"::needs-input  \t ",
    ],
)
def test_an_unreadable_directive_is_reported_and_the_others_count(line: bytes) -> None:
    said = _directives(b"::cost 1\n" + line + b"\n::needs-input really?\n::cost 2\n")
    assert (said.cost, said.question) == (3.0, "really?")
    assert message_words(said.fault).startswith("a line of its output could not be read: ::")


def test_of_several_faults_the_first_is_reported() -> None:
    assert (
        message_words(_directives(b"::cost a\n::cost b\n").fault)
        == "a line of its output could not be read: ::cost a"
    )


def test_a_fault_is_shown_short_and_plain() -> None:
    fault = message_words(_directives(b"::cost \x1b[31m" + b"y" * 500 + b"\n").fault)
    assert len(fault) < 150
    assert fault.isprintable()


# --- Questions ------------------------------------------------------------------------------------


def test_a_question_is_read() -> None:
    assert _directives(b"working\n::needs-input Which branch?\n") == Directives(question="Which branch?")


def test_several_lines_make_one_question() -> None:
    assert _directives(b"::needs-input a\nx\n::needs-input  b\t c \n").question == "a\nb c"


def test_a_question_is_plain_text() -> None:
    said = _directives(b"::needs-input \x1b]0;title\x07\x1b[31mred\x1b[0m \xff\xe2\x80\xae evil\n")
    assert said.question == "red \ufffd\ufffd evil"


def test_a_question_has_an_end() -> None:
    said = _directives(*[b"::needs-input " + b"x" * 5_000 + b"\n"] * 10)
    assert len(said.question) == 2_000


# --- Proposals ------------------------------------------------------------------------------------

_MINUTE = 60_000


@pytest.mark.parametrize(
    ("line", "proposal"),
    [
        (b"::halo every=5m", Proposal(every_ms=5 * _MINUTE)),
        (b"::halo next=10m", Proposal(next_ms=10 * _MINUTE)),
        (b'::halo next="1 H" \t every=5M\t ', Proposal(every_ms=5 * _MINUTE, next_ms=60 * _MINUTE)),
        (
            b'::halo every=5m ttl=2h reason="queue is long"',
            Proposal(every_ms=5 * _MINUTE, ttl_ms=120 * _MINUTE, reason="queue is long"),
        ),
        (
            b"::halo reason=busy ttl=366d every=1s",
            Proposal(every_ms=1_000, ttl_ms=31_622_400_000, reason="busy"),
        ),
        (
            rb'::halo next=1m reason="a \"b\" \\ c=d every=9m"',
            Proposal(next_ms=_MINUTE, reason=r'a "b" \ c=d every=9m'),
        ),
        (b'::halo next=1m reason=""', Proposal(next_ms=_MINUTE)),
        (b"::halo next=1m reason=a=b", Proposal(next_ms=_MINUTE, reason="a=b")),
    ],
)
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""], ids=["line", "dos", "no end"])
def test_a_proposal_is_read(line: bytes, proposal: Proposal, end: bytes) -> None:
    said = _directives(line + end)
    assert (said.proposal, said.fault) == (proposal, None)


def test_later_lines_override_earlier_ones_key_by_key() -> None:
    said = _directives(
        b'::halo every=5m ttl=2h reason="first"\n::halo next=1m\n::halo every=6m reason=""\n::halo next=3m ttl=1h\n'
    )
    assert said.proposal == Proposal(every_ms=6 * _MINUTE, next_ms=3 * _MINUTE, ttl_ms=60 * _MINUTE)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"::halo", "write it like ::halo every=5m"),
        (b"::halo ", "write it like"),
        (b"::halo every", "write it like"),
        (b"::halo every=", "write it like"),
        (b"::halo every =5m", "write it like"),
        (b"::halo =5m", "write it like"),
        (b"::halo,every=5m", "write it like"),
        (b'::halo every="5m', "write it like"),
        (b'::halo every=5m"', "write it like"),
        (b'::halo every="5m"next="6m"', "write it like"),
        (rb'::halo every=5m reason="C:\temp"', "write it like"),
        (rb'::halo every=5m reason="open\"', "write it like"),
        (b"::halo every=5m words", "write it like"),
        (b"::halo every=5m every=6m", "a key appears twice"),
        (b"::halo every=5m pace=6m", "there is no key 'pace'; known are every, next, ttl, reason"),
        (b"::halo Every=5m", "there is no key 'Every'"),
        (b"::halo ttl=5m reason=x", "it needs every, next or both"),
        (b"::halo every=5", "every: cannot read the interval '5': the unit is missing"),
        (b"::halo every=0s", "is zero"),
        (b"::halo every=-5m", "it is negative"),
        (b"::halo next=1.5h", "it has a decimal"),
        (b'::halo next=""', "next: the interval is empty"),
        (b"::halo next=36501d", "longer than 100 years"),
        (b"::halo next=1m ttl=x", "ttl: cannot read the interval 'x'"),
        (b"::halo next=1m ttl=367d", "ttl: a hint lasts 366d at most"),
        ("::halo every=\u0665m".encode(), "it is malformed"),
        (b"::halo every=" + b"9" * 5_000 + b"m", "longer than 64 characters"),
        (b"::halo every=5m\r\r", ""),
    ],
)
def test_an_unreadable_hint_is_reported_and_the_other_directives_count(line: bytes, why: str) -> None:
    said = _directives(b"::halo next=2m\n" + line + b"\n::halo ttl=2h every=3m\n")
    assert said.proposal == Proposal(every_ms=3 * _MINUTE, next_ms=2 * _MINUTE, ttl_ms=120 * _MINUTE)
    assert message_words(said.fault).startswith("a line of its output could not be read: ::halo")
    assert why in message_words(said.fault)
    assert message_words(said.fault).isprintable()
    assert len(message_words(said.fault)) < 400


@pytest.mark.parametrize(
    "text", [b"::halos every=5m\n", b"::halo-x every=5m\n", b" ::halo every=5m\n", b"x::halo every=5m\n"]
)
def test_a_line_that_only_resembles_a_hint_is_ignored(text: bytes) -> None:
    assert _directives(text) == NO_DIRECTIVES


def test_a_reason_is_short_plain_text() -> None:
    said = _directives(b'::halo every=5m reason="\x1b[31mred\x1b[0m \xff\0 \xe2\x80\xae evil"\n')
    assert said.proposal == Proposal(every_ms=5 * _MINUTE, reason="red \ufffd\ufffd \ufffd evil")
    long = _directives(b'::halo every=5m reason="' + b"x" * 5_000 + b'"\n').proposal
    assert long is not None
    assert (len(long.reason), long.reason[-2:]) == (200, "x…")


@pytest.mark.parametrize("size", [1, 4, 9, 100])
def test_a_secret_is_taken_out_of_a_proposal(size: int) -> None:
    text = rb'::halo every=5m reason="it is hunter22, or hun\"ter"' + b"\n"
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    said = _directives(*pieces, secrets=(_HIDDEN, 'hun"ter'))
    assert said.proposal == Proposal(every_ms=5 * _MINUTE, reason="it is ***, or ***")
    assert "77m" not in message_words(_directives(b"::halo every=77m\n", secrets=("77m",)).fault)


# --- Whole lines only -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"nothing",
        b" ::cost 1\n",
        b"x::cost 1\n",
        b"\r::cost 1\n",
        b":::cost 1\n",
        b"::costs 1\n",
        b"::cost-center 1\n",
        b"::Cost 1\n",
        b"::needs-inputs x\n",
        b"::progress 0.5\n::group::x\n",
        b"::\n::\n::\n",
        b"> ::needs-input quoted\n",
    ],
)
def test_all_else_says_nothing(text: bytes) -> None:
    assert _directives(text) == NO_DIRECTIVES


_TEXT = (
    b"start\n::cost 1\n\n::needs-input one\r\n::costly\n::cost x\n:: cost 5\nx ::cost 7\n"
    b"::progress 0.5\n::cost 0.25\nend hunter22 ::cost 3\n::needs-input hunter22\n::needs-input last"
)
_MEANT = Directives(
    cost=1.25, question="one\n***\nlast", fault=message(MessageKind.UNREADABLE_LINE, line="::cost x", why="")
)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 16, 64, 1_000])
def test_pieces_of_any_size_say_the_same(size: int) -> None:
    pieces = [_TEXT[start : start + size] for start in range(0, len(_TEXT), size)]
    assert _directives(*pieces, secrets=(_HIDDEN,)) == _MEANT


@given(
    st.lists(
        st.sampled_from(
            [
                *[
                    b"\n",
                    b"::",
                    b"cost ",
                    b"1",
                    b"::cost 2",
                    b"::needs-input ",
                    b"w",
                    b"\r",
                    b"hun",
                    b"ter22",
                ],
                *[b"::halo every=2m", b" next=", b'reason="', b'"', b"\\"],
            ]
        )
    ),
    st.lists(st.integers(0, 60), max_size=8),
)
def test_where_pieces_end_makes_no_difference(parts: list[bytes], cuts: list[int]) -> None:
    text = b"".join(parts)
    ends = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[first:behind] for first, behind in pairwise(ends)]
    assert _directives(*pieces, secrets=(_HIDDEN,)) == _directives(text, secrets=(_HIDDEN,))


def test_a_line_of_16_kib_is_read_and_one_byte_more_is_not() -> None:
    line = b"::needs-input ".ljust(16 * _KIB, b"x")
    assert _directives(line + b"\n").question.startswith("xxx")
    said = _directives(line + b"x\n::cost 1\n")
    assert (said.cost, said.question) == (1.0, "")
    assert message_words(said.fault).startswith("a line of its output could not be read: ::needs-input xxx")


def test_a_long_line_is_not_kept() -> None:
    reader = LineReader(Redactor())
    reader.feed(b"::needs-input ")
    for _ in range(100):
        reader.feed(b"x" * 100_000)
        assert reader.held_bytes <= 17 * _KIB
    reader.feed(b"\n::cost 1\n")
    assert reader.end().cost == 1.0
    assert reader.directives.question == ""


def test_a_secret_cannot_make_a_long_line_short() -> None:
    line = b"::needs-input " + _HIDDEN.encode() * 3_000
    said = _directives(line + b"\n", secrets=(_HIDDEN,))
    assert said.question == ""
    assert "hunter" not in message_words(said.fault)


# --- Secrets --------------------------------------------------------------------------------------


def test_a_secret_is_taken_out_before_a_line_is_read() -> None:
    assert _directives(b"::needs-input is it hunter22?\n", secrets=(_HIDDEN,)).question == "is it ***?"
    assert "hunter" not in message_words(_directives(b"::cost hunter22\n", secrets=(_HIDDEN,)).fault)


@pytest.mark.parametrize("start", [b"::needs-input ", b"::halo every=5m reason="])
def test_a_secret_that_only_its_own_text_draws_is_taken_out(start: bytes) -> None:
    said = _directives(start + b"xxxxer22" + 20 * b"\b" + b"hunt\n", secrets=(_HIDDEN,))
    assert "***" in f"{said}"
    assert _HIDDEN not in f"{said}"


def test_a_secret_that_resembles_a_directive_is_ignored() -> None:
    assert _directives(b"x\n::cost 5\n", secrets=("::cost 5",)) == NO_DIRECTIVES
    assert _directives(b"x\n::cost 5\n", secrets=("x\n::cost",)) == NO_DIRECTIVES


def test_a_secret_of_several_lines_is_taken_out_of_each() -> None:
    key = "ab\n::needs-input cd\nef"
    text = b"::needs-input ab\n::needs-input cd\nef\n::cost 1\n"
    for size in (1, 4, 9, 100):
        pieces = [text[start : start + size] for start in range(0, len(text), size)]
        said = _directives(*pieces, secrets=(key,))
        assert said == Directives(cost=1.0, question="***")


# --- Gaps -----------------------------------------------------------------------------------------


def test_behind_a_gap_the_first_line_is_incomplete() -> None:
    reader = LineReader(Redactor())
    reader.feed(b"::cost 1\n::cost 2")
    reader.leave_gap()
    reader.feed(b"::cost 4\n::cost 8\n")
    assert reader.end().cost == 9.0


def test_text_right_after_a_gap_may_be_the_end_of_a_secret() -> None:
    redactor = Redactor(["sec\n::needs-input ret"])
    reader = LineReader(redactor)
    reader.leave_gap()
    reader.feed(b"\n::needs-input ret\n::needs-input fine\n" + b"-" * redactor.reach + b"\n::cost 1\n")
    assert "ret" not in reader.end().question.split()
    assert reader.directives.cost == 1.0


@given(st.integers(0, len(_TEXT)), st.integers(1, 50))
def test_another_reader_can_continue_where_one_stopped(at: int, size: int) -> None:
    secrets = Redactor([_HIDDEN, "z" * 40])
    first = LineReader(secrets)
    for start in range(0, at, size):
        first.feed(_TEXT[start : min(start + size, at)])
    unread_from = max(0, at - first.unread_bytes)
    again_from = max(0, unread_from - secrets.reach)
    second = LineReader(secrets, first.directives)
    if unread_from:
        second.skip(unread_from - again_from)
    second.feed(_TEXT[again_from:])
    assert second.end() == _MEANT


# --- Much of it -----------------------------------------------------------------------------------


def test_too_many_lines_are_not_read_and_that_is_reported() -> None:
    reader = LineReader(Redactor())
    for _ in range(20):
        reader.feed(b"::cost 1\n" * 1_000)
    said = reader.end()
    assert said.cost == 10_000.0
    assert message_words(said.fault) == "it printed more than 10,000 output commands; the rest was ignored"


@pytest.mark.parametrize(
    "line", [b"::progress 0.5\n", b"\n", b"::x\n", b"y\n", b"\0"], ids=["progress", "empty", "x", "y", "zero"]
)
def test_much_that_says_nothing_costs_little(line: bytes) -> None:
    reader = LineReader(Redactor([_HIDDEN]))
    piece = line * ((1 << 20) // len(line))
    began = time.process_time()
    for _ in range(100):
        reader.feed(piece)
    assert reader.end() == NO_DIRECTIVES
    assert time.process_time() - began < 2
