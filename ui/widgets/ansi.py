"""Parsing of terminal output into styled text, and the terminal colours in both themes.

Colours and weights are kept, an overwritten line shows its last state, other control sequences are dropped, and
invisible or direction-changing characters are replaced by a sign.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from typing import Any

from PySide6.QtGui import QColor, QFont, QTextCharFormat

from halo_scheduler.grammar.text import ESCAPES, c1_as_escapes, moved
from ui.style.theme import Colours, contrast

Colour = int | tuple[int, int, int]
"""One of the sixteen palette colours, or red, green and blue."""
_LONGEST_LINE = 10_240
_LONGEST_PENDING = 4_096
_REPLACED = "\ufffd"
_TOKENS = re.compile(
    rf"(?P<escape>{ESCAPES})|(?P<move>[\r\n\x08])|(?P<text>[^\x00-\x08\x0a-\x1f\x7f-\x9f]+)|(?P<control>.)",
    re.DOTALL,
)
# An incomplete control sequence at the end of a chunk.
_PENDING = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[ -/]*|[\]PX^_](?:[^\x07\x1b\n]|\x1b(?!\\))*)\Z")
# U+202A–202E and U+2066–2069 change the text direction; Qt treats U+2028, U+2029, U+FDD0 and U+FDD1 as line ends.
_UNSHOWN = re.compile("[\u200e\u200f\u061c\u2028\u2029\u202a-\u202e\u2066-\u2069\ufdd0-\ufdef\ufffc]")
_CUBE_STEPS = (0, 95, 135, 175, 215, 255)
READABLE = 4.5
_STEPS = 20
# Black, red, green, yellow, blue, magenta, cyan, white; then the same, bright. Black and white are the theme's own.
_LIGHT_HUES = (
    *("", "#b8222a", "#17713a", "#855200", "#1f56c4", "#8a2f96", "#0b6b78", ""),
    *("", "#c9252d", "#157a35", "#8f5800", "#2563d9", "#a033ad", "#0a7280", ""),
)
_DARK_HUES = (
    *("", "#ff938d", "#62d28c", "#eab54f", "#82abff", "#dd9bea", "#5fcbd8", ""),
    *("", "#ffaaa5", "#84e3a6", "#f5cb77", "#a5c3ff", "#e9b8f3", "#86dfe9", ""),
)


@dataclass(frozen=True, slots=True)
class Style:
    """The style of a text; None is the default colour of the window."""

    foreground: Colour | None = None
    background: Colour | None = None
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    strike: bool = False
    inverse: bool = False


PLAIN = Style()


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of text in one style."""

    text: str
    style: Style = PLAIN


class AnsiStream:
    """Turns a stream of bytes into styled lines."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._pending = ""
        self._style = PLAIN
        self._line = _Line()

    def feed(self, chunk: bytes) -> list[Segment]:
        """Parse some bytes and return the completed lines, with line ends."""
        text = self._pending + c1_as_escapes(self._decoder.decode(chunk))
        pending = _PENDING.search(text, max(0, len(text) - _LONGEST_PENDING))
        end = len(text) if pending is None else pending.start()
        self._pending = text[end:]
        return self._read(text, end)

    def unfinished(self) -> list[Segment]:
        """Return the current, incomplete line."""
        return self._line.segments()

    def end(self) -> list[Segment]:
        """Return the rest of the last line and reset."""
        text = self._pending + self._decoder.decode(b"", final=True)
        segments = [*self._read(text, len(text)), *self._line.segments()]
        self.__init__()  # type: ignore[misc]  # every field has its first value again
        return segments

    def _read(self, text: str, end: int) -> list[Segment]:
        done: list[Segment] = []
        for token in _TOKENS.finditer(text):
            if token.start() >= end:
                break
            kind = token.lastgroup
            if kind == "text":
                self._write(token[0], done)
            elif kind == "move":
                self._move(token[0], done)
            elif token["final"]:
                self._obey(token["final"], token["parameters"])
            elif kind == "control":
                self._write(_REPLACED, done)
        return _merged(done)

    def _write(self, text: str, done: list[Segment]) -> None:
        if not text.isprintable():
            text = _UNSHOWN.sub(_REPLACED, text)
        while text:
            room = _LONGEST_LINE - self._line.at
            self._line.write(text[:room], self._style)
            text = text[room:]
            if self._line.at >= _LONGEST_LINE:
                # An endless line would be laid out again with each chunk.
                self._finish_line(done)

    def _move(self, move: str, done: list[Segment]) -> None:
        if move == "\n":
            self._finish_line(done)
        elif move == "\r":
            self._line.at = 0
        else:
            self._line.at = max(0, self._line.at - 1)

    def _finish_line(self, done: list[Segment]) -> None:
        done += self._line.segments()
        done.append(Segment("\n"))
        self._line = _Line()

    def _obey(self, final: str, parameters: str) -> None:
        if final == "m":
            self._style = styled(self._style, parameters)
        elif final == "K":
            self._line.erase(parameters)
        else:
            self._line.at = moved(self._line.at, final, parameters)


class _Line:
    """A line being written, with its cursor position.

    Most lines are only appended to; an overwritten line is stored as single characters.
    """

    def __init__(self) -> None:
        self.at = 0
        self._pieces: list[Segment] = []
        self._length = 0
        self._cells: list[str] | None = None
        self._styles: list[Style] = []

    def segments(self) -> list[Segment]:
        if self._cells is None:
            return list(self._pieces)
        at = 0
        found = []
        for style, group in groupby(self._styles):
            end = at + len(list(group))
            found.append(Segment("".join(self._cells[at:end]), style))
            at = end
        return found

    def write(self, text: str, style: Style) -> None:
        if self._cells is None and self.at == self._length:
            self._pieces.append(Segment(text, style))
            self._length += len(text)
            self.at += len(text)
            return
        cells = self._single_cells()
        missing = self.at - len(cells)
        cells += " " * missing
        self._styles += [PLAIN] * missing
        end = self.at + len(text)
        cells[self.at : end] = text
        self._styles[self.at : end] = [style] * len(text)
        self.at = end

    def erase(self, what: str) -> None:
        """Erase to the end, from the start, or all; erasing all moves the cursor to the start."""
        if what not in ("", "0", "1", "2"):
            return
        cells = self._single_cells()
        if what == "1":
            blank = min(self.at + 1, len(cells))
            cells[:blank] = " " * blank
            self._styles[:blank] = [PLAIN] * blank
            return
        self.at = 0 if what == "2" else self.at
        del cells[self.at :], self._styles[self.at :]

    def _single_cells(self) -> list[str]:
        if self._cells is None:
            self._cells = [character for piece in self._pieces for character in piece.text]
            self._styles = [piece.style for piece in self._pieces for _ in piece.text]
        return self._cells


def styled(style: Style, parameters: str) -> Style:
    """Return a style after an SGR sequence with these parameters."""
    codes = _codes(parameters)
    while codes:
        code = codes.pop(0)
        if code in _COLOURED:
            wanted: dict[str, Any] = {_COLOURED[code]: _taken_colour(codes)}
            style = replace(style, **wanted)
        elif code in _CHANGES:
            style = replace(style, **_CHANGES[code]) if code else PLAIN
    return style


def _codes(parameters: str) -> list[int]:
    codes: list[int] = []
    for part in parameters.split(";"):
        numbers = [_number(number, 0) for number in part.split(":")]
        if numbers[0] in _COLOURED and len(numbers) > 5:  # noqa: PLR2004 - 38:2:colour space:r:g:b
            del numbers[2]
        elif numbers[0] == 4 and len(numbers) > 1:  # noqa: PLR2004 - 4:0 ends a line under the text, 4:n begins one
            numbers = [4 if numbers[1] else 24]
        codes += numbers
    return codes


def _number(text: str, without: int) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else without  # noqa: PLR2004


def _taken_colour(codes: list[int]) -> Colour | None:
    """Consume the colour that follows code 38 or 48."""
    kind = codes.pop(0) if codes else 0
    if kind == 5 and codes:  # noqa: PLR2004 - one of 256
        return _of_256(codes.pop(0))
    if kind == 2 and len(codes) >= 3:  # noqa: PLR2004 - red, green, blue
        red, green, blue = (min(part, 255) for part in codes[:3])
        del codes[:3]
        return red, green, blue
    return None


def _of_256(number: int) -> Colour | None:
    if number < 16:  # noqa: PLR2004 - the theme's own
        return number
    if number < 232:  # noqa: PLR2004 - a cube of six steps
        red, rest = divmod(number - 16, 36)
        return _CUBE_STEPS[red], _CUBE_STEPS[rest // 6], _CUBE_STEPS[rest % 6]
    if number < 256:  # noqa: PLR2004 - greys
        grey = 8 + (number - 232) * 10
        return grey, grey, grey
    return None


def _merged(segments: list[Segment]) -> list[Segment]:
    """Merge segments of the same style; line ends take any style."""
    merged: list[Segment] = []
    texts: list[str] = []
    style = PLAIN
    for segment in segments:
        if segment.text != "\n" and segment.style != style:
            if texts:
                merged.append(Segment("".join(texts), style))
            texts, style = [], segment.style
        texts.append(segment.text)
    if texts:
        merged.append(Segment("".join(texts), style))
    return merged


_COLOURED = {38: "foreground", 48: "background"}

_CHANGES: dict[int, dict[str, Any]] = {
    0: {},
    1: {"bold": True},
    2: {"dim": True},
    3: {"italic": True},
    4: {"underline": True},
    7: {"inverse": True},
    9: {"strike": True},
    21: {"underline": True},
    22: {"bold": False, "dim": False},
    23: {"italic": False},
    24: {"underline": False},
    27: {"inverse": False},
    29: {"strike": False},
    39: {"foreground": None},
    49: {"background": None},
    **{30 + number: {"foreground": number} for number in range(8)},
    **{40 + number: {"background": number} for number in range(8)},
    **{90 + number: {"foreground": 8 + number} for number in range(8)},
    **{100 + number: {"background": 8 + number} for number in range(8)},
}


def palette_colour(number: int, colours: Colours, *, is_dark: bool) -> str:
    """Return one of the sixteen colours for a theme's raised background."""
    if number in (0, 8):
        return colours.muted if is_dark or number == 8 else colours.text  # noqa: PLR2004 - bright black is grey
    if number in (7, 15):
        return colours.text if is_dark or number == 15 else colours.muted  # noqa: PLR2004 - bright white
    return (_DARK_HUES if is_dark else _LIGHT_HUES)[number]


@lru_cache(maxsize=4096)
def readable(colour: str, ground: str) -> str:
    """Return a colour, or the nearest one with enough contrast to the background."""
    if contrast(colour, ground) >= READABLE:
        return colour
    black, white = QColor(0, 0, 0), QColor(255, 255, 255)
    goal = max((black, white), key=lambda one: contrast(one.name(), ground))
    given = QColor(colour)
    for step in range(1, _STEPS):
        mixed = _mixed(given, goal, step / _STEPS).name()
        if contrast(mixed, ground) >= READABLE:
            return mixed
    return goal.name()


class CharFormats:
    """The text formats of styles in one theme, cached."""

    def __init__(self, colours: Colours, *, is_dark: bool) -> None:
        self._colours = colours
        self._is_dark = is_dark
        self._made: dict[Style, QTextCharFormat] = {PLAIN: QTextCharFormat()}

    def of(self, style: Style) -> QTextCharFormat:
        """Return the format of a style."""
        made = self._made.get(style)
        if made is None:
            made = self._made[style] = self._make(style)
        return made

    def _make(self, style: Style) -> QTextCharFormat:
        made = QTextCharFormat()
        front, back = self._pair(style)
        made.setForeground(QColor(front))
        if back != self._colours.raised:
            made.setBackground(QColor(back))
        if style.bold:
            made.setFontWeight(QFont.Weight.Bold)
        made.setFontItalic(style.italic)
        made.setFontUnderline(style.underline)
        made.setFontStrikeOut(style.strike)
        return made

    def _pair(self, style: Style) -> tuple[str, str]:
        front = self._named(style.foreground, self._colours.muted if style.dim else self._colours.text)
        back = self._named(style.background, self._colours.raised)
        if style.inverse:
            front, back = back, front
        return readable(front, back), back

    def _named(self, colour: Colour | None, without: str) -> str:
        if colour is None:
            return without
        if isinstance(colour, int):
            return palette_colour(colour, self._colours, is_dark=self._is_dark)
        return QColor(*colour).name()


def _mixed(one: QColor, other: QColor, share: float) -> QColor:
    """Mix two colours; `share` is the weight of the second."""
    mixed = (
        round(part + (wanted - part) * share)
        for part, wanted in zip(one.getRgb()[:3], other.getRgb()[:3], strict=True)  # type: ignore[index]
    )
    return QColor(*mixed)
