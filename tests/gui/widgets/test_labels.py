"""Labels, buttons and wrapped text as every window makes them."""

from __future__ import annotations

import pytest
from job_values import NASTY
from PySide6.QtGui import QFontMetrics, QShortcutEvent
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from halo_scheduler.model.settings import Theme
from ui.style.theme import Appearance, Tone
from ui.widgets.labels import WrappedText, button, icon_button, set_words, without_mnemonic


@pytest.mark.parametrize(
    ("text", "read"), [("&Copy", "Copy"), ("R&&D", "R&D"), ("S&ave R&&D", "Save R&D"), ("Close", "Close")]
)
def test_a_text_is_read_without_its_mnemonic(text: str, read: str) -> None:
    assert without_mnemonic(text) == read


def test_a_button_shows_its_mnemonic_on_hover_only(qtbot: QtBot) -> None:
    made = button("&Copy", name="copyButton")
    qtbot.addWidget(made)
    assert made.accessibleName() == "Copy"
    assert "Copy (Alt+C)" in made.toolTip()


def test_a_button_keeps_its_shortcut_when_its_words_change(qtbot: QtBot) -> None:
    made = button("All", name="allButton", shortcut="Ctrl+L")
    qtbot.addWidget(made)
    set_words(made, "Some")
    assert made.text() == "Some"
    assert made.shortcut().toString() == "Ctrl+L"


def test_the_keys_of_an_icon_button_click_it_at_once(qtbot: QtBot) -> None:
    appearance = Appearance(Theme.LIGHT)
    made = icon_button(appearance, "history", "History", name="historyButton", shortcut="Ctrl+H")
    appearance.setParent(made)
    qtbot.addWidget(made)
    clicks: list[str] = []
    made.clicked.connect(lambda: clicks.append("click"))
    QApplication.sendEvent(made, QShortcutEvent(made.shortcut(), 1))
    assert clicks == ["click"]
    assert not made.isDown()


def test_the_keys_of_a_button_click_it_at_once(qtbot: QtBot) -> None:
    made = button("Save", name="saveButton", shortcut="Ctrl+S")
    qtbot.addWidget(made)
    clicks: list[str] = []
    made.clicked.connect(lambda: clicks.append("click"))
    QApplication.sendEvent(made, QShortcutEvent(made.shortcut(), 1))
    assert clicks == ["click"]
    assert not made.isDown()


@pytest.fixture
def appearance(qtbot: QtBot) -> Appearance:  # noqa: ARG001 - an application
    return Appearance()


def _text(qtbot: QtBot, appearance: Appearance, text: str, most_lines: int = 0) -> WrappedText:
    made = WrappedText(appearance, name="text", most_lines=most_lines)
    qtbot.addWidget(made)
    made.set_text(text)
    return made


def test_a_very_long_word_wraps_and_widens_nothing(qtbot: QtBot, appearance: Appearance) -> None:
    made = _text(qtbot, appearance, "x" * 500)
    assert made.minimumSizeHint().width() < 100
    assert made.heightForWidth(200) > 5 * QFontMetrics(made.font()).height()


def test_it_keeps_to_its_most_lines(qtbot: QtBot, appearance: Appearance) -> None:
    long = _text(qtbot, appearance, "word " * 300, most_lines=2)
    assert long.heightForWidth(200) < 3 * QFontMetrics(long.font()).lineSpacing() + 8
    assert "word" in long.toolTip()


def test_markup_and_turned_writing_are_shown_as_they_are(qtbot: QtBot, appearance: Appearance) -> None:
    made = _text(qtbot, appearance, NASTY)
    assert made.text().startswith("<b>bold</b> & ")
    assert "\u202e" not in made.text()
    assert made.accessibleName() == made.text()
    made.resize(200, 100)
    assert not made.grab().isNull()


def test_lines_are_kept(qtbot: QtBot, appearance: Appearance) -> None:
    one, two = _text(qtbot, appearance, "a"), _text(qtbot, appearance, "a\nb")
    assert two.heightForWidth(200) > one.heightForWidth(200)


def test_nothing_to_say_takes_no_room(qtbot: QtBot, appearance: Appearance) -> None:
    made = _text(qtbot, appearance, "a")
    made.set_text("")
    assert made.heightForWidth(200) == 0
    assert made.isHidden()


def test_a_tone_can_change_with_the_text(qtbot: QtBot, appearance: Appearance) -> None:
    made = _text(qtbot, appearance, "a")
    before = made.grab().toImage()
    made.set_text("a", Tone.ERROR)
    assert made.grab().toImage() != before


def test_it_appears_with_its_parent_and_never_alone(qtbot: QtBot, appearance: Appearance) -> None:
    made = WrappedText(appearance, name="text")
    made.setVisible(False)
    made.set_text("hello")
    assert not made.isVisible()
    window = QWidget()
    qtbot.addWidget(window)
    QVBoxLayout(window).addWidget(made)
    window.show()
    assert made.isVisible()
    made.set_text("")
    assert not made.isVisible()


@pytest.mark.parametrize("is_exact", [True, False])
@pytest.mark.parametrize("blank", [" ", "\n"])
def test_a_text_hidden_behind_many_blanks_is_marked(qtbot: QtBot, is_exact: bool, blank: str) -> None:
    text = WrappedText(Appearance(), name="long", is_exact=is_exact)
    qtbot.addWidget(text)
    text.set_text(f"date{blank * 5_000}; rm -r ~")
    assert text.text() == "date …"
    text.set_text(f"date{blank * 5_000}")
    assert text.text() == "date"


def test_an_exact_text_keeps_its_blanks_and_breaks_at_blanks_only(qtbot: QtBot) -> None:
    text = WrappedText(Appearance(), name="exact", is_exact=True)
    qtbot.addWidget(text)
    text.set_text("""printf '%s' "c  d" >/dev/null 2>&1; ls /home/kim/a-long-name/of/a/folder\nnext\u200b""")
    assert text.text() == (
        """printf '%s' "c  d" >/dev/null 2>&1; ls /home/kim/a-long-name/of/a/folder\nnext\\u200b"""
    )
    assert text.accessibleName() == text.text()
    for width in range(330, 700, 10):
        laid_out = text._layout(text._text, width)
        lines = [laid_out.lineAt(number) for number in range(laid_out.lineCount())]
        starts = [line.textStart() for line in lines[1:]]
        assert all(laid_out.text()[start - 1] in " \u2028" for start in starts)
