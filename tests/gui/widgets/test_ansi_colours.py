"""The terminal's colours: readable in both themes, whatever a program asks for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QColor, QFont

from ui.style.theme import DARK, LIGHT, Colours, contrast
from ui.widgets.ansi import PLAIN, Style
from ui.widgets.ansi_colours import READABLE, CharFormats, palette_colour, readable

_THEMES = [(LIGHT, False), (DARK, True)]
_PART = st.integers(0, 255)
_COLOUR = st.one_of(st.none(), st.integers(0, 15), st.tuples(_PART, _PART, _PART))


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
