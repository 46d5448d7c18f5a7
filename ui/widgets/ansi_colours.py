"""The terminal colours in both themes, with sufficient contrast."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtGui import QColor, QFont, QTextCharFormat

from ui.style.theme import Colours, contrast

from .ansi import PLAIN, Colour, Style

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
