"""Output is shown as plain text, and its progress lines are understood."""

from __future__ import annotations

import unicodedata
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_scheduler.output_text import ShownText, last_progress, plain_line, shown_text


def shown_output(content: bytes) -> str:
    """Return all of an output as plain text."""
    text = ShownText()
    return text.feed(content) + text.end()


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        (b"", ""),
        (b"one\ntwo", "one\ntwo"),
        (b"one\r\ntwo\r\n", "one\ntwo\n"),
        ("tab\tgrüße 🙂\n".encode(), "tab\tgrüße 🙂\n"),
        (b"bad \xff\xfe end", "bad \ufffd\ufffd end"),
        (b"cut \xc3", "cut \ufffd"),
        (b"nul \0 end", "nul \ufffd end"),
        (b"bell\x07", "bell"),
        ("left \u202eright\u2028".encode(), "left \ufffdright\ufffd"),
        # Colours, movements, titles.
        (b"\x1b[1;31mred\x1b[0m", "red"),
        (b"\x1b[38:5:1mred\x1b[m\x1b(B.", "red."),
        ("\x9b31mred".encode(), "red"),
        (b"\x1b]0;title\x07text", "text"),
        (b"\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1bPdevice\x1b\\text", "text"),
        (b"\x1b7saved\x1b8\x1b=", "saved"),
        (b"\x1b]0;a title without an end\nnext\nlast", "\nnext\nlast"),
        (b"lone \x1b\nnext\nlast", "lone \nnext\nlast"),
        (b"at the end \x1b", "at the end "),
        # Lines drawn over.
        (b" 10 %\r 50 %\r100 %\n", "100 %\n"),
        (b"long text\rshort\n", "shorttext\n"),
        (b"long text\r\x1b[Kshort\n", "short\n"),
        (b"long text\x1b[2K\rshort\n", "short\n"),
        (b"spin |\b/\b-\b\\ done", "spin \\ done"),
        (b"b\bbo\bol\bld", "bold"),
        (b"\b\bfirst", "first"),
        (b"abc\b\bX", "aXc"),
        (b"\r\r\n", "\n"),
    ],
)
def test_output_is_shown_as_a_terminal_would_leave_it(printed: bytes, shown: str) -> None:
    assert shown_output(printed) == shown


@given(st.binary() | st.text("ab\r\n\b\x1b[]0;mK\x07\u202e").map(str.encode))
def test_nothing_that_is_shown_can_act_on_a_terminal(printed: bytes) -> None:
    shown = shown_output(printed)
    assert not [sign for sign in shown if unicodedata.category(sign) == "Cc" and sign not in "\t\n"]
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029")


@given(st.lists(st.binary(max_size=8) | st.sampled_from([b"\n", b"\r", b"\x1b[1m", "ü".encode()])))
def test_chunks_show_what_the_whole_shows(chunks: list[bytes]) -> None:
    text = ShownText()
    shown = "".join([*(text.feed(chunk) for chunk in chunks), text.end()])
    assert shown == shown_output(b"".join(chunks))


def test_a_line_is_shown_when_it_is_complete() -> None:
    text = ShownText()
    assert [text.feed(chunk) for chunk in (b"10 %\r", b"100 %", b"\nnext")] == ["", "", "100 %\n"]
    assert text.end() == "next"
    assert text.end() == ""


def test_an_endless_line_comes_in_pieces() -> None:
    text = ShownText()
    assert text.feed(b"one\n" + b"x" * 65_536) == "one\n"
    assert len(text.feed(b"x")) == 65_537
    assert text.feed(b"y\n") == "y\n"


@pytest.mark.parametrize(
    "printed",
    [
        b"x" * 10_000_000,
        b"x" * 200_000 + b"\b" * 200_000,
        b"x" * 200_000 + b"\ry" * 100_000,
        b"\x1b]" * 200_000,
        b"\x1b[" + b"0" * 400_000,
        b"x" * 200_000 + b"\x1b[2Ky" * 50_000,
    ],
    ids=["long line", "backspaces", "returns", "titles", "digits", "erased"],
)
def test_hostile_output_does_not_take_long(printed: bytes) -> None:
    before = process_time()
    shown_output(printed)
    assert process_time() - before < 5


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (b"::progress 0.37 copying files\n", (0.37, "copying files")),
        (b"::progress 1\n", (1.0, "")),
        (b"::progress 0\r\n", (0.0, "")),
        (b"::progress .5\tin the middle\n", (0.5, "in the middle")),
        (b"::progress 0.1 one\nother\n::progress 0.2 two\nother\n", (0.2, "two")),
        (b"::progress 0.1 fine\n::progress 1.5 too much\n", (0.1, "fine")),
        (b"::progress 0.1 \x1b[31mred\x1b[0m \xff\n", (0.1, "red \ufffd")),
        (b"::progress 0.1 ::progress 0.2\n", (0.1, "::progress 0.2")),
        (b"::progress 0.4", (0.4, "")),
        (b"", None),
        (b" ::progress 0.5\n", None),
        (b"say ::progress 0.5\n", None),
        (b"::progress\n", None),
        (b"::progress \n", None),
        (b"::progress -0.5\n", None),
        (b"::progress nan\n", None),
        (b"::progress 1e-3\n", None),
        (b"::progress 50%\n", None),
        (b"::progress 1.\n", None),
        (b"::progress0.5\n", None),
        ("::progress ٠\n".encode(), None),
        pytest.param(b"::progress " + b"9" * 60_000 + b"\n", None, id="endless number"),
        pytest.param(b"::progress " + b"9" * 60_000 + b"x\n", None, id="endless number with a letter"),
    ],
)
def test_the_last_valid_progress_line_counts(lines: bytes, expected: tuple[float, str] | None) -> None:
    assert last_progress(lines) == expected


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("  two\n lines\t", "two lines"),
        ("x" * 200, "x" * 200),
        ("x" * 201, "x" * 199 + "…"),
        ("\x1b[31mred", "red"),
    ],
)
def test_a_plain_line_is_one_short_line(text: str, line: str) -> None:
    assert plain_line(text) == line


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", ""),
        (b"two\nlines\tof text\n", "two\nlines\tof text\n"),
        ("Größe 💾".encode(), "Größe 💾"),
        (b"\x1b[31mred\x1b[0m\n10 %\r20 %\n", "red\n20 %\n"),
        (b"\xff\x00", "\ufffd\ufffd"),
    ],
)
def test_a_whole_output_is_shown_as_its_lines_are(content: bytes, text: str) -> None:
    assert shown_text(content) == text
    lines = ShownText()
    assert lines.feed(content) + lines.end() == text
