"""Terminal output read as styled text, and the terminal colours."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PySide6.QtGui import QColor, QFont

from halo_scheduler.grammar.text import shown_text
from ui.style.theme import DARK, LIGHT, Colours, contrast
from ui.widgets.ansi import (
    PLAIN,
    READABLE,
    AnsiStream,
    CharFormats,
    Segment,
    Style,
    palette_colour,
    readable,
    styled,
)

_THEMES = [(LIGHT, False), (DARK, True)]
_PART = st.integers(0, 255)
_COLOUR = st.one_of(st.none(), st.integers(0, 15), st.tuples(_PART, _PART, _PART))


def _text(*chunks: bytes) -> str:
    stream = AnsiStream()
    segments = [segment for chunk in chunks for segment in stream.feed(chunk)]
    return "".join(segment.text for segment in [*segments, *stream.end()])


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        (b"plain\n", "plain\n"),
        (b"no end", "no end"),
        (b"10%\r50%\r100%\n", "100%\n"),
        (b"Progress: 10%\rDone\n", "Doneress: 10%\n"),
        (b"Progress: 10%\r\x1b[KDone\n", "Done\n"),
        (b"Progress\x1b[2KDone\n", "Done\n"),
        (b"abc\x1b[1Kd\n", "   d\n"),
        (b"ab\b\bX\n", "Xb\n"),
        (b"dos\r\n", "dos\n"),
        (b"a\x1b[3Cb\n", "a   b\n"),
        (b"abc\x1b[2DX\n", "aXc\n"),
        (b"abc\x1b[1GX\n", "Xbc\n"),
        (b"\x1b]0;title\x07text\n", "text\n"),
        (b"\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\\n", "link\n"),
        (b"\x1b]never ended\nnext\n", "\nnext\n"),
        (b"\x1b[?25l\x1b[2J\x1b(Btext\x07\n", "text\n"),
        (b"\xff\xfe\n", "\ufffd\ufffd\n"),
        (b"nul\x00 bell\x07 del\x7f\n", "nul\ufffd bell del\ufffd\n"),
        ("turn \u202e around \u2028 \ufdd0\n".encode(), "turn \ufffd around \ufffd \ufffd\n"),
        ("tab\t日本 🎉 שלום\n".encode(), "tab\t日本 🎉 שלום\n"),
    ],
)
def test_a_terminal_would_show_the_same(printed: bytes, shown: str) -> None:
    assert _text(printed) == shown


_PIECES = [
    *(
        "a",
        "bc",
        " ",
        "\t",
        "\n",
        "\r",
        "\b",
        "\x07",
        "\x00",
        "\x01",
        "\x7f",
        "\x1b",
        "\x1b[",
        "\x1b[1",
        "\x9b",
    ),
    *("\x1b[C", "\x1b[3C", "\x1b[D", "\x1b[2D", "\x1b[G", "\x1b[5G", "\x9b0D", "\x1b[1;2C", "\x1b[9999999C"),
    *(
        "\x1b[K",
        "\x1b[0K",
        "\x1b[1K",
        "\x1b[2K",
        "\x1b[3K",
        "\x9bK",
        "\x1b[ K",
        "\x1b[31m",
        "\x1b(B",
        "\x1bc",
    ),
    *("\x1b]0;t", "\x1bP", "\x1b\\", "\x9c", "\x9d", "\x90", "\x98", "\x9e", "\x9f", "\x84", "\u202e"),
]


@given(st.lists(st.sampled_from(_PIECES), max_size=12).map(lambda pieces: "".join(pieces).encode()))
@example(b"a\x1b]0;t\x1b[1mbc\x07")
@example(b"a\x1b]0;\r\x07bc")
@example(b"\x1b[1\n")
@example(b"\x1b(\n")
def test_the_window_shows_the_text_that_redaction_and_the_terminal_see(printed: bytes) -> None:
    """A secret that only one of the two ways of reading puts together would not be hidden."""
    assert _text(printed) == shown_text(printed)


@given(st.binary(max_size=200), st.integers(0, 200))
def test_where_the_stream_is_cut_makes_no_difference(printed: bytes, cut: int) -> None:
    assert _text(printed[:cut], printed[cut:]) == _text(printed)


@given(
    st.lists(
        st.sampled_from([b"\x1b", b"[", b"3", b"1", b"m", b"]", b"\r", b"\b", b"K", b"a", b"\n", b"\xc3"])
    )
)
@example([b"\x1b", b"]", b"[", b"\x1b", b"\x1b", b"\x1b"])
@example([b"\x1b", b"]", b"[", b"\x1b", b"[", b"\x1b"])
def test_each_byte_for_itself_shows_the_same(pieces: list[bytes]) -> None:
    assert _text(*pieces) == _text(b"".join(pieces))


def test_complete_lines_come_at_once_and_the_rest_can_be_read_early() -> None:
    stream = AnsiStream()
    assert stream.feed(b"one\ntw") == [Segment("one\n")]
    assert stream.unfinished() == [Segment("tw")]
    assert stream.feed(b"o\n") == [Segment("two\n")]
    assert stream.unfinished() == []


def test_colours_span_lines_until_they_are_reset() -> None:
    red = Style(foreground=1)
    assert AnsiStream().feed(b"\x1b[31mone\ntwo\x1b[m three\n") == [
        Segment("one\ntwo", red),
        Segment(" three\n"),
    ]


def test_an_overwritten_line_keeps_the_colours_of_the_rest() -> None:
    stream = AnsiStream()
    stream.feed(b"\x1b[32mgreen\x1b[0m\r\x1b[1mG\x1b[0m")
    assert stream.unfinished() == [Segment("G", Style(bold=True)), Segment("reen", Style(foreground=2))]


@pytest.mark.parametrize(
    ("parameters", "style"),
    [
        ("", PLAIN),
        ("0", PLAIN),
        ("1;31", Style(bold=True, foreground=1)),
        ("91", Style(foreground=9)),
        ("44", Style(background=4)),
        ("103", Style(background=11)),
        ("38;5;208", Style(foreground=(255, 135, 0))),
        ("48;5;3", Style(background=3)),
        ("38;5;232", Style(foreground=(8, 8, 8))),
        ("38;2;1;2;300", Style(foreground=(1, 2, 255))),
        ("38:2::1:2:3", Style(foreground=(1, 2, 3))),
        ("38:5:1", Style(foreground=1)),
        ("4:3", Style(underline=True)),
        ("4;4:0", PLAIN),
        ("2;3;7;9", Style(dim=True, italic=True, inverse=True, strike=True)),
        ("1;2;3;4;7;9;22;23;24;27;29", PLAIN),
        ("31;41;39;49", PLAIN),
        ("38;5", PLAIN),
        ("38;5;999", PLAIN),
        ("99999999;<;7", Style(inverse=True)),
    ],
)
def test_renditions(parameters: str, style: Style) -> None:
    assert styled(PLAIN, parameters) == style


def test_a_very_long_line_is_broken() -> None:
    stream = AnsiStream()
    shown = "".join(segment.text for segment in stream.feed(b"x" * 25_000))
    assert shown.count("\n") == 2
    assert len(shown) - 2 + sum(len(segment.text) for segment in stream.unfinished()) == 25_000


def test_moving_far_to_the_right_costs_no_memory() -> None:
    stream = AnsiStream()
    stream.feed(b"\x1b[1000C" * 1_000 + b"x")
    assert sum(len(segment.text) for segment in stream.unfinished()) <= 10_240


@pytest.mark.parametrize(("colours", "is_dark"), _THEMES)
@pytest.mark.parametrize("number", range(16))
def test_each_of_the_sixteen_can_be_read(number: int, colours: Colours, is_dark: bool) -> None:
    assert contrast(palette_colour(number, colours, is_dark=is_dark), colours.raised) >= READABLE


@given(
    foreground=_COLOUR,
    background=_COLOUR,
    inverse=st.booleans(),
    dim=st.booleans(),
    theme=st.sampled_from(_THEMES),
)
def test_any_two_colours_can_be_read(
    foreground: int | tuple[int, int, int] | None,
    background: int | tuple[int, int, int] | None,
    inverse: bool,
    dim: bool,
    theme: tuple[Colours, bool],
) -> None:
    colours, is_dark = theme
    style = Style(foreground, background, inverse=inverse, dim=dim)
    made = CharFormats(colours, is_dark=is_dark).of(style)
    ground = made.background().color().name() if made.background().style().value else colours.raised
    front = colours.text if style == PLAIN else made.foreground().color().name()
    assert contrast(front, ground) >= READABLE


def test_a_colour_that_can_be_read_stays() -> None:
    blue = QColor(0, 0, 200).name()
    assert readable(blue, LIGHT.raised) == blue


def test_weights_and_lines_are_kept() -> None:
    made = CharFormats(LIGHT, is_dark=False).of(Style(bold=True, italic=True, underline=True, strike=True))
    assert made.fontWeight() == QFont.Weight.Bold
    assert made.fontItalic()
    assert made.fontUnderline()
    assert made.fontStrikeOut()
