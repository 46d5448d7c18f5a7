"""Output is shown as plain text, its progress lines are understood, and of a specification nothing is hidden."""

from __future__ import annotations

import json
import re
import unicodedata
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_scheduler.grammar.text import (
    ShownText,
    hidden_words,
    is_shown_whole,
    json_text,
    last_progress,
    looks_like,
    plain_line,
    printed_line,
    shown_spec,
    shown_styled,
    shown_text,
)


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
        # Lines drawn with the cursor.
        (b"abc\x1b[2DX", "aXc"),
        (b"abc\x1b[9DX\x1b[0CY", "XbY"),
        (b"abc\x1b[2Gx\x1b[GX", "Xxc"),
        (b"a\x1b[2Cb", "a  b"),
        (b"abc\b\x1b[1Kd", "  d"),
        (b"abc\x1b[3K\n", "abc\n"),
        ("abc\x9b1GX\x9bK".encode(), "X"),
        (b"a\x1b]0;\rtitle\x07b", "ab"),
        ("a\x9d0;title\x07b\x90q\x9cc".encode(), "abc"),
        (b"a\x1b[3;7Hb\x1b[Ac", "abc"),
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
def test_text_in_chunks_reads_like_the_whole(chunks: list[bytes]) -> None:
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
        b"\x1b[9999C" * 200_000 + b"x",
        b"x" * 20_000 + b"\x1b[1K" * 20_000,
    ],
    ids=["long line", "backspaces", "returns", "titles", "digits", "erased", "moves", "blanked"],
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
def test_a_printed_line_is_one_short_line(text: str, line: str) -> None:
    assert printed_line(text) == line


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


# --- Specifications ----------------------------------------------------------------------------------

_INVISIBLE = (
    "\u200b\u200c\u200d\u200e\u202e\u2066\u061c\u00ad\u034f\u115f\u1160\u3164\uffa0\u2800\ufeff\ufe0f\u180e"
)
_HOSTILE = st.text(
    st.sampled_from(
        "ab ❤👩ق\n\t\r\x00\x1b\x9b\b\x7f\u2028\ud800\ufffe\U000e0041\U000e0100\U0010ffff" + _INVISIBLE
    )
    | st.characters()
)


def _is_invisible(sign: str) -> bool:
    """Tell what nobody can see, by Unicode's own tables and not by ours."""
    return unicodedata.category(sign) in {"Cc", "Cf", "Cs", "Zl", "Zp"} or sign in _INVISIBLE


def test_every_control_format_and_separating_character_is_escaped() -> None:
    wrong = [
        hex(code)
        for code in range(0x110000)
        if _is_invisible(chr(code)) and chr(code) not in "\n\t" and is_shown_whole(f"a{chr(code)}b")
    ]
    assert wrong == []


def test_characters_without_a_glyph_are_escaped() -> None:
    ignorable = [
        *range(0x17B4, 0x17B6),
        *range(0x180B, 0x1810),
        0x2065,
        *range(0xFDD0, 0xFDF0),
        *range(0xFE00, 0xFE10),
        *range(0xFFF0, 0xFFFC),
        *range(0xE0000, 0xE1000),
        *(plane + end for plane in range(0, 0x110000, 0x10000) for end in (0xFFFE, 0xFFFF)),
    ]
    assert [hex(code) for code in ignorable if is_shown_whole(f"a{chr(code)}b")] == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "grüße",
        "日本語　です",
        "שלום",
        "ไทย",
        "❤\ufe0f backup",
        "👨\u200d👩\u200d👧",
        "1\ufe0f\u20e3",
        "می\u200cخواهم",
        "a\tb\nc",
    ],
)
def test_ordinary_text_is_not_escaped(text: str) -> None:
    assert shown_spec(text) == text
    assert is_shown_whole(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("touch owned #\rrsync -a ~/photos", r"touch owned #\rrsync -a ~/photos"),
        ("-delete \x1b]; touch owned", r"-delete \x1b]; touch owned"),
        ("owned #\b\becho", r"owned #\x08\x08echo"),
        ("a\x9b8mb\x7f", r"a\u009b8mb\u007f"),
        ("deploy\u200b", r"deploy\u200b"),
        ("news\U000e0041", r"news\udb40\udc41"),
        ("a\ufe0fb\u200dc", r"a\ufe0fb\u200dc"),
        ("❤\ufe0f\ufe0f", "❤\ufe0f\\ufe0f"),
        ("half \ud800", r"half \ud800"),
    ],
)
def test_control_and_invisible_characters_are_escaped(text: str, shown: str) -> None:
    assert shown_spec(text) == plain_line(text) == shown
    assert not is_shown_whole(text)


@given(_HOSTILE)
def test_no_invisible_character_is_left_but_within_emoji_and_words(text: str) -> None:
    for shown in (shown_spec(text), plain_line(text)):
        for at, sign in enumerate(shown):
            if _is_invisible(sign) and sign not in "\n\t":
                assert sign in "\ufe0f\u200c\u200d"
                assert at > 0
                assert not shown[at - 1].isascii() or shown[at + 1] == "\u20e3"
    assert "\n" not in plain_line(text)
    assert shown_spec(shown_spec(text)) == shown_spec(text)


@given(_HOSTILE)
def test_texts_that_are_shown_alike_differ_in_blanks_and_escapes_only(text: str) -> None:
    """What was escaped can be read back, but for a backslash that was there before."""
    if "\\" in text or "\ud800" in text:
        return
    read = re.sub(r"\\u([0-9a-f]{4})", lambda match: chr(int(match[1], 16)), shown_spec(text))
    read = re.sub(r"\\x([0-9a-f]{2})|\\r", lambda match: chr(int(match[1], 16)) if match[1] else "\r", read)
    assert read.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass") == text


def test_a_line_end_is_shown_where_it_changes_what_runs() -> None:
    assert plain_line("echo safe # \n touch owned\n") == "echo safe # ↵ touch owned"
    assert plain_line(r"printf 'a\nb'") == r"printf 'a\nb'"


def test_padding_pushes_nothing_out_of_sight() -> None:
    assert plain_line("safe" + " \t\u00a0" * 500 + "evil", 20) == "safe evil"
    assert plain_line("x" * 30, 20) == "x" * 19 + "…"


@given(st.recursive(_HOSTILE, lambda inner: st.lists(inner) | st.dictionaries(_HOSTILE, inner), max_leaves=5))
def test_json_means_the_same_and_shows_everything(data: object) -> None:
    text = json_text(data, indent=2)
    assert json.loads(text) == json.loads(json.dumps(data))
    assert not [sign for sign in text if _is_invisible(sign) and sign != "\n"]


@given(st.lists(_HOSTILE))
def test_json_that_is_printed_means_the_same(data: list[str]) -> None:
    printed = shown_styled(json.dumps(data, ensure_ascii=False))
    assert json.loads(printed) == json.loads(json.dumps(data))


def test_colours_of_ours_stay() -> None:
    assert shown_styled("\x1b[1ma\u202eb\x9b\x1b[0m") == "\x1b[1ma\\u202eb\\u009b\x1b[0m"


def test_invisible_characters_are_named() -> None:
    assert hidden_words("a\tb\n") == ""
    assert hidden_words("a\u200bb\u200b\x1b") == "U+200B ZERO WIDTH SPACE, U+001B ESCAPE"
    assert hidden_words("\x01\x02\x03\x04\x05") == "U+0001, U+0002, U+0003 and 2 more"
    assert hidden_words("❤\ufe0f") == "U+FE0F VARIATION SELECTOR-16"


@pytest.mark.parametrize(
    "other",
    [
        "deploy\u200b",
        "Deploy",
        "deploy\u3164",
        " deploy ",
        "ｄｅｐｌｏｙ",
        "dерlоу",
        "\u202edeploy",
        "deplo\u00ady",
        "DEΡLOY",
    ],
)
def test_similar_names_are_recognised_as_similar(other: str) -> None:
    assert looks_like(other) == looks_like("deploy")


@pytest.mark.parametrize("other", ["deploy2", "de ploy", "employ", "deplöy", ""])
def test_different_names_are_not_taken_for_similar(other: str) -> None:
    assert looks_like(other) != looks_like("deploy")


@pytest.mark.parametrize(
    "sign", ["\U0001d159", "\U00016fe4", "\ue000", "\U000f0000", "\u0378", "\U0003ffff", "\U00050000"]
)
def test_signs_without_a_shape_of_their_own_are_escaped(sign: str) -> None:
    assert sign not in shown_spec(f"a{sign}b")
    assert hidden_words(f"a{sign}b").startswith(f"U+{ord(sign):04X}")
    assert sign not in json_text([f"a{sign}b"])
    assert not is_shown_whole(f"a{sign}b")
    assert looks_like(f"a{sign}b") == "ab"


def test_emoji_that_are_newer_than_this_python_are_shown() -> None:
    assert shown_spec("\U0001fae8 \U0001fadf") == "\U0001fae8 \U0001fadf"
