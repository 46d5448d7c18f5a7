"""The icons: each one can be drawn, and each state of the tray can be told from the others."""

from __future__ import annotations

import itertools
from importlib import resources

import pytest
from PySide6.QtCore import QByteArray
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

_FOLDER = resources.files("halo_scheduler.resources.icons")
_NAMES = sorted(entry.name.removesuffix(".svg") for entry in _FOLDER.iterdir() if entry.name.endswith(".svg"))
_TRAY = ["tray-idle", "tray-running", "tray-attention", "tray-paused"]
_MARKS = [name for name in _NAMES if name.startswith("mark-")]
# Style sheets take files as they are: these exist once for each theme.
_SHEET_PICTURES = [name for name in _NAMES if name.startswith(("arrow-", "tick-"))]
_TINTED = [
    name for name in _NAMES if name != "halo" and not name.startswith("tray-") and name not in _SHEET_PICTURES
]
_WHITE, _DARK = QColor("#ffffff"), QColor("#202020")


def _source(name: str) -> str:
    return (_FOLDER / f"{name}.svg").read_text(encoding="utf-8")


def _drawn(name: str, size: int = 16, colour: str = "#101010") -> QImage:
    renderer = QSvgRenderer(QByteArray(_source(name).replace("currentColor", colour).encode()))
    assert renderer.isValid()
    image = QImage(size, size, QImage.Format.Format_ARGB32)
    image.fill(0)
    painter = QPainter(image)
    renderer.render(painter)
    painter.end()
    return image


def _pixels(image: QImage) -> list[QColor]:
    return [image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height())]


def _luminance(colour: QColor) -> float:
    def linear(value: float) -> float:
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(part) for part in (colour.redF(), colour.greenF(), colour.blueF()))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: QColor, other: QColor) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.parametrize("size", [16, 24, 64])
def test_an_icon_is_drawn_completely_at_every_size(name: str, size: int) -> None:
    image = _drawn(name, size)
    solid = [colour for colour in _pixels(image) if colour.alphaF() > 0.4]
    # The three dots are the smallest figure: some two of a hundred points.
    assert len(solid) >= size * size * 0.02


@pytest.mark.parametrize("name", _NAMES)
def test_an_icon_refers_to_nothing_outside_itself(name: str) -> None:
    source = _source(name).replace('xmlns="http://www.w3.org/2000/svg"', "")
    for reference in ("href", "http", "file:", "@import", "<image", "<script", "<!"):
        assert reference not in source


@pytest.mark.parametrize("name", _TINTED)
def test_a_line_icon_takes_the_colour_it_is_given(name: str) -> None:
    assert "currentColor" in _source(name)
    assert "#" not in _source(name)
    assert QColor("#aa3311") in _pixels(_drawn(name, 64, "#aa3311"))


@pytest.mark.parametrize("name", _TINTED)
def test_a_line_icon_is_not_cut_off_at_the_edge(name: str) -> None:
    image = _drawn(name, 64)
    edge = [image.pixelColor(x, y) for at in range(64) for x, y in ((0, at), (63, at), (at, 0), (at, 63))]
    assert not any(colour.alpha() for colour in edge)


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(_TRAY, 2)))
def test_two_states_of_the_tray_differ_at_the_smallest_size(one: str, other: str) -> None:
    pairs = zip(_pixels(_drawn(one)), _pixels(_drawn(other)), strict=True)
    assert sum(first != second for first, second in pairs) >= 16


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(_TRAY, 2)))
def test_two_states_of_the_tray_differ_without_colour(one: str, other: str) -> None:
    """As seen by someone who tells light from dark only."""

    def grey(name: str) -> list[int]:
        image = _drawn(name, 32)
        painter = QPainter(image)
        painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_DestinationOver)
        painter.fillRect(image.rect(), _DARK)
        painter.end()
        return [round(255 * _luminance(colour)) for colour in _pixels(image)]

    pairs = zip(grey(one), grey(other), strict=True)
    assert sum(abs(first - second) > 25 for first, second in pairs) >= 32


@pytest.mark.parametrize("name", _TRAY)
@pytest.mark.parametrize("panel", [_WHITE, _DARK], ids=["light", "dark"])
def test_a_tray_icon_contrasts_with_the_panel(name: str, panel: QColor) -> None:
    seen = [
        colour for colour in _pixels(_drawn(name)) if colour.alpha() == 255 and _contrast(colour, panel) >= 3
    ]
    assert len(seen) >= 20


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(_MARKS, 2)))
def test_two_outcome_marks_differ_by_shape(one: str, other: str) -> None:
    pairs = zip(_pixels(_drawn(one)), _pixels(_drawn(other)), strict=True)
    assert sum(abs(first.alpha() - second.alpha()) > 64 for first, second in pairs) >= 8
