"""The look: readable in both themes, and following the user's choice."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QLineEdit,
    QPushButton,
    QSpinBox,
    QTimeEdit,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from halo_scheduler.model.settings import Theme
from ui.style.theme import BACKGROUNDS, DARK, LIGHT, Appearance, Colours, Tone, contrast, icon_size, scaled

_READABLE = 4.5


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("background", BACKGROUNDS)
@pytest.mark.parametrize("tone", [tone for tone in Tone if tone is not Tone.ON_ACCENT])
def test_every_text_can_be_read_on_every_background(tone: Tone, background: str, colours: Colours) -> None:
    assert contrast(getattr(colours, tone), getattr(colours, background)) >= _READABLE


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_the_text_of_a_primary_button_can_be_read(colours: Colours) -> None:
    assert contrast(colours.on_accent, colours.accent) >= _READABLE


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_the_chosen_theme_is_put_on_at_once(qapp: QApplication) -> None:
    appearance = Appearance(Theme.LIGHT)
    appearance.apply()
    changes: list[bool] = []
    appearance.changed.connect(lambda: changes.append(appearance.is_dark))
    assert qapp.palette().window().color().name() == LIGHT.surface
    appearance.choose(Theme.DARK)
    assert qapp.palette().window().color().name() == DARK.surface
    assert DARK.raised in qapp.styleSheet()
    appearance.choose(Theme.DARK)
    assert changes == [True]
    appearance.choose(Theme.LIGHT)
    qapp.setStyleSheet("")


def test_an_icon_has_the_colour_of_its_meaning(qapp: QApplication) -> None:  # noqa: ARG001 - pixmaps need it
    appearance = Appearance(Theme.LIGHT)
    image = appearance.icon("mark-ok", Tone.OK).pixmap(16, 16).toImage()
    middle = image.pixelColor(image.width() // 2, image.height() // 2)
    assert middle.name() == LIGHT.ok


def test_icons_and_lengths_are_those_of_the_design_with_usual_letters(qapp: QApplication) -> None:
    assert (icon_size(), scaled(100)) == (16, 100)
    assert "icon-size" not in qapp.styleSheet()


@pytest.mark.usefixtures("large_letters")
def test_icons_and_lengths_grow_with_large_letters(qtbot: QtBot) -> None:
    assert icon_size() == 24
    assert scaled(100) > 140
    button = QPushButton("New job")
    qtbot.addWidget(button)
    button.ensurePolished()
    assert button.iconSize().width() == 24
    drawn = Appearance(Theme.LIGHT).icon("mark-ok", Tone.OK)
    assert drawn.actualSize(button.iconSize()) == button.iconSize()


@pytest.mark.usefixtures("large_letters")
@pytest.mark.parametrize("kind", [QPushButton, QLineEdit, QComboBox, QSpinBox, QTimeEdit])
def test_large_letters_are_not_cut_where_room_is_short(qtbot: QtBot, kind: type[QWidget]) -> None:
    made = kind()
    qtbot.addWidget(made)
    made.ensurePolished()
    assert made.minimumSizeHint().height() >= made.fontMetrics().height() + 8
    squeezed = QWidget()
    qtbot.addWidget(squeezed)
    column = QVBoxLayout(squeezed)
    column.addWidget(made)
    squeezed.resize(200, 10)
    squeezed.show()
    assert made.height() >= made.fontMetrics().height() + 8
