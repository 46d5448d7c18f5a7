"""The theme: every colour, font and distance, named by meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import lru_cache
from string import Template

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontInfo, QFontMetrics, QGuiApplication, QIcon, QPalette
from PySide6.QtWidgets import QApplication

from halo_scheduler.model.settings import Theme

from .icons import IconMaker, icon_path

# Variants: "kind" (buttons: primary, quiet, danger, link, inline) and "role" (labels: title, muted, small, error, ...).
_SHEET = Template("""
QToolTip { color: $text; background: $raised; border: 1px solid $line; padding: 4px 6px; }
QLabel[role="muted"], QLabel[role="small"] { color: $muted; }
QLabel[role="error"] { color: $error; }
QLabel[role="warn"] { color: $warn; }
QLabel[role="ok"] { color: $ok; }
QFrame[role="card"] { background: $raised; border: 1px solid $line; border-radius: 8px; }
QFrame[role="bar"] { background: $raised; border: none; border-top: 1px solid $line; }
QFrame[role="note"] { background: $selected; border: none; border-radius: 6px; }
QFrame[role="note"][tone="error"] { background: $raised; border: 1px solid $error; }
QFrame[role="line"] { background: $line; border: none; }

QPushButton, QToolButton[kind="button"] {
    background: $raised; color: $text; border: 1px solid $line; border-radius: 6px;
    padding: 5px 12px; min-height: ${button}px;
}
QPushButton:hover, QToolButton[kind="button"]:hover { background: $hover; }
QPushButton:pressed, QToolButton[kind="button"]:pressed { background: $selected; }
QPushButton:focus, QToolButton:focus { border: 1px solid $accent; outline: none; }
QPushButton:disabled { color: $muted; background: $surface; }
QPushButton:checked { background: $selected; border-color: $accent; }
QPushButton:checked:focus { border: 2px solid $accent; padding: 4px 11px; }
QPushButton[role="toggle"] { padding: 5px 2px; }
QPushButton[role="toggle"]:checked:focus { padding: 4px 1px; }
QPushButton[kind="primary"] { background: $accent; color: $on_accent; border-color: $accent; font-weight: 600; }
QPushButton[kind="primary"]:hover { border-color: $text; }
QPushButton[kind="primary"]:focus { border: 2px solid $text; padding: 4px 11px; }
QPushButton[kind="primary"]:disabled { background: $sunken; color: $muted; border-color: $line; }
QPushButton[kind="danger"] { color: $error; }
QPushButton[kind="quiet"], QToolButton {
    background: transparent; border: 1px solid transparent; border-radius: 6px; padding: 5px 8px; color: $text;
}
QToolButton[kind="inline"] { padding: 0 4px; border-radius: 4px; }
QPushButton[kind="quiet"]:hover, QToolButton:hover { background: $hover; }
QPushButton[kind="quiet"]:pressed, QToolButton:pressed, QToolButton:checked { background: $selected; }
QPushButton[kind="link"] {
    background: transparent; border: 1px solid transparent; color: $accent; padding: 2px 4px; text-align: left;
}
QPushButton[kind="link"]:hover { text-decoration: underline; }
QPushButton[kind="quiet"]:focus, QPushButton[kind="link"]:focus { border-color: $accent; }
QPushButton::menu-indicator, QToolButton::menu-indicator { image: none; width: 0; }

QLineEdit, QPlainTextEdit, QTextEdit, QSpinBox, QComboBox, QDateEdit, QTimeEdit, QDateTimeEdit, QKeySequenceEdit {
    background: $raised; color: $text; border: 1px solid $line; border-radius: 6px; padding: 4px 8px;
    selection-background-color: $accent; selection-color: $on_accent;
}
QLineEdit, QSpinBox, QComboBox, QDateEdit, QTimeEdit, QDateTimeEdit { min-height: ${field}px; }
QLineEdit:focus, QPlainTextEdit:focus, QTextEdit:focus, QSpinBox:focus, QComboBox:focus, QDateEdit:focus,
QTimeEdit:focus, QDateTimeEdit:focus { border: 1px solid $accent; }
QLineEdit:disabled, QPlainTextEdit:disabled, QSpinBox:disabled, QComboBox:disabled,
QDateEdit:disabled {
    background: $surface; color: $muted;
}
QLineEdit[invalid="true"], QPlainTextEdit[invalid="true"], QComboBox[invalid="true"], QSpinBox[invalid="true"] {
    border: 1px solid $error;
}
QPlainTextEdit[kind="read"] { background: transparent; border: none; padding: 0; }
QPlainTextEdit[kind="read"]:focus { background: $hover; border: none; }
QComboBox::drop-down { border: none; width: 24px; }
QComboBox::down-arrow, QSpinBox::down-arrow, QDateTimeEdit::down-arrow, QDateEdit::down-arrow,
QTimeEdit::down-arrow { image: url("$arrow_down"); width: 12px; height: 12px; }
QHeaderView::up-arrow { image: url("$arrow_up"); width: 12px; height: 12px; }
QHeaderView::down-arrow { image: url("$arrow_down"); width: 12px; height: 12px; }
QSpinBox::up-arrow, QDateTimeEdit::up-arrow, QDateEdit::up-arrow, QTimeEdit::up-arrow {
    image: url("$arrow_up"); width: 10px; height: 10px;
}
QSpinBox::up-button, QSpinBox::down-button, QDateTimeEdit::up-button, QDateTimeEdit::down-button,
QDateEdit::up-button, QDateEdit::down-button, QTimeEdit::up-button, QTimeEdit::down-button {
    border: none; width: 20px; background: transparent;
}
QComboBox QAbstractItemView { background: $raised; border: 1px solid $line; padding: 4px; outline: none; }

QCheckBox, QRadioButton { spacing: 8px; }
QCheckBox::indicator, QRadioButton::indicator {
    width: 14px; height: 14px; border: 1px solid $muted; background: $raised;
}
QCheckBox::indicator { border-radius: 4px; }
QRadioButton::indicator { border-radius: 8px; }
QCheckBox::indicator:hover, QRadioButton::indicator:hover { border-color: $accent; }
QCheckBox::indicator:checked { background: $accent; border-color: $accent; image: url("$tick"); }
QRadioButton::indicator:checked { width: 6px; height: 6px; border: 5px solid $accent; background: $on_accent; }
QCheckBox::indicator:focus, QRadioButton::indicator:focus { border-color: $accent; }
QCheckBox::indicator:disabled, QRadioButton::indicator:disabled { border-color: $line; background: $surface; }
QCheckBox:focus, QRadioButton:focus { color: $accent; }
QCheckBox:disabled, QRadioButton:disabled { color: $muted; }

QTableView, QTreeView, QListView {
    background: $raised; border: none; outline: none; gridline-color: transparent; color: $text;
    selection-background-color: $selected; selection-color: $text; alternate-background-color: $raised;
}
QListView[role="popup"] { border: 1px solid $line; }
QTableView::item, QTreeView::item, QListView::item { border: none; padding: 0 8px; }
QListView::item:hover { background: $hover; }
QTableView::item:selected, QListView::item:selected, QTreeView::item:selected { background: $selected; color: $text; }
QHeaderView { background: $raised; border: none; }
QHeaderView::section {
    background: $raised; color: $muted; border: none; border-bottom: 1px solid $line;
    padding: 6px 8px; font-weight: 400;
}
QTableCornerButton::section { background: $raised; border: none; }

QMenu { background: $raised; color: $text; border: 1px solid $line; padding: 4px; }
QMenu::item { padding: 6px 24px 6px 12px; border-radius: 4px; min-height: 18px; }
QMenu::item:selected { background: $selected; }
QMenu::item:disabled { color: $muted; }
QMenu::icon { padding-left: 8px; }
QMenu::separator { height: 1px; background: $line; margin: 4px 8px; }

QScrollArea { background: transparent; border: none; }
QScrollBar:vertical { background: transparent; width: 12px; margin: 2px; }
QScrollBar:horizontal { background: transparent; height: 12px; margin: 2px; }
QScrollBar::handle { background: $line; border-radius: 4px; min-height: 32px; min-width: 32px; }
QScrollBar::handle:hover { background: $muted; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }

QAbstractScrollArea::corner { background: transparent; border: none; }
QSplitter::handle { background: $line; }
QStatusBar { background: $raised; border-top: 1px solid $line; }
QStatusBar::item { border: none; }
QProgressBar { background: $sunken; border: none; border-radius: 3px; max-height: 6px; min-height: 6px; }
QProgressBar::chunk { background: $running; border-radius: 3px; }
QTabBar::tab {
    background: transparent; color: $muted; padding: 8px 12px; border: none; border-bottom: 2px solid transparent;
}
QTabBar::tab:selected { color: $text; border-bottom: 2px solid $accent; }
QTabBar::tab:hover { color: $text; }
QTabBar::tab:focus { color: $accent; }
QTabWidget::pane { border: none; border-top: 1px solid $line; }
QDialog, QMainWindow { background: $surface; }
""")

GRID = 8
HALF = 4
MARGIN = 16
ROW = 36
_ICONS = (32, 24, 20, 16)
_USUAL_PIXELS = 15  # Lengths grow with fonts above this size.
_NEARLY_BLACK = 0.04045


def stylesheet(colours: Mapping[str, str], arrow_down: str, arrow_up: str, tick: str) -> str:
    """Return the style sheet in a theme's colours; its images are files, because style sheets accept no others."""
    letters = QFontMetrics(QApplication.font()).height() + 4
    heights = {"button": max(20, letters), "field": max(22, letters)}
    return _SHEET.substitute(colours, arrow_down=arrow_down, arrow_up=arrow_up, tick=tick, **heights)


def icon_size() -> int:
    """Return the size of icons beside text in the application's font, in steps that keep lines sharp."""
    fitting = QFontInfo(QApplication.font()).pixelSize() * 1.25
    return next((size for size in _ICONS if size <= fitting), _ICONS[-1])


def scaled(length: int) -> int:
    """Return a length, scaled with a large font of the application."""
    return length * max(QFontInfo(QApplication.font()).pixelSize(), _USUAL_PIXELS) // _USUAL_PIXELS


class Tone(StrEnum):
    """The meaning of a colour; each is a field of Colours."""

    TEXT = "text"
    MUTED = "muted"
    ACCENT = "accent"
    ON_ACCENT = "on_accent"
    OK = "ok"
    WARN = "warn"
    ERROR = "error"
    RUNNING = "running"
    PAUSED = "paused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Colours:
    """One theme's colours."""

    surface: str
    raised: str
    sunken: str
    line: str
    hover: str
    selected: str
    text: str
    muted: str
    accent: str
    on_accent: str
    ok: str
    warn: str
    error: str
    running: str
    paused: str

    def of(self, tone: Tone) -> QColor:
        """Return the colour for a meaning."""
        return _colour(getattr(self, tone))


@lru_cache(maxsize=64)
def _colour(value: str) -> QColor:
    return QColor(value)


LIGHT = Colours(
    surface="#f5f6f8",
    raised="#ffffff",
    sunken="#e9ecf1",
    line="#d5dae2",
    hover="#eef2f8",
    selected="#dde8fc",
    text="#1a1e26",
    muted="#565e6c",
    accent="#1f56c4",
    on_accent="#ffffff",
    ok="#17713a",
    warn="#855200",
    error="#b8222a",
    running="#1f56c4",
    paused="#66538c",
)
DARK = Colours(
    surface="#1a1c21",
    raised="#23262d",
    sunken="#141619",
    line="#373c47",
    hover="#2a2e37",
    selected="#2a3a5c",
    text="#e9ebf0",
    muted="#a9b0bd",
    accent="#82abff",
    on_accent="#0c1424",
    ok="#62d28c",
    warn="#eab54f",
    error="#ff938d",
    running="#82abff",
    paused="#c0aeea",
)
BACKGROUNDS = ("surface", "raised", "hover", "selected")


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, from 1 to 21, as WCAG defines it."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    made = QColor(colour)
    return 0.2126 * _linear(made.redF()) + 0.7152 * _linear(made.greenF()) + 0.0722 * _linear(made.blueF())


def _linear(part: float) -> float:
    return part / 12.92 if part <= _NEARLY_BLACK else float(((part + 0.055) / 1.055) ** 2.4)


class Appearance(QObject):
    """The active theme: palette, fonts and icons."""

    changed = Signal()

    def __init__(self, theme: Theme = Theme.SYSTEM, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._icons = IconMaker()
        self._colours = self._chosen()
        hints = QGuiApplication.styleHints()
        hints.colorSchemeChanged.connect(self._follow_system)

    @property
    def colours(self) -> Colours:
        return self._colours

    @property
    def is_dark(self) -> bool:
        return self._colours is DARK

    def apply(self) -> None:
        """Apply the theme to the application."""
        QApplication.setStyle("Fusion")
        self._dress()

    def choose(self, theme: Theme) -> None:
        """Switch to a theme, or to the system's choice."""
        self._theme = theme
        self._follow_system()

    def colour(self, tone: Tone) -> QColor:
        return self._colours.of(tone)

    def icon(self, name: str, tone: Tone = Tone.TEXT) -> QIcon:
        """Return a line icon in the colour of a meaning; ask again after `changed`."""
        return self._icons.icon(name, getattr(self._colours, tone), icon_size())

    def _chosen(self) -> Colours:
        is_dark = self._theme is Theme.DARK
        if self._theme is Theme.SYSTEM:
            is_dark = QGuiApplication.styleHints().colorScheme() is Qt.ColorScheme.Dark
        return DARK if is_dark else LIGHT

    def _follow_system(self) -> None:
        chosen = self._chosen()
        if chosen is not self._colours:
            self._colours = chosen
            self._dress()
            self.changed.emit()

    def _dress(self) -> None:
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.setPalette(palette(self._colours))
            colours = {field.name: getattr(self._colours, field.name) for field in fields(Colours)}
            name = "dark" if self.is_dark else "light"
            pictures = (icon_path(f"{picture}-{name}") for picture in ("arrow-down", "arrow-up", "tick"))
            # The size of icons in buttons, menus and fields without their own.
            sizes = f"* {{ icon-size: {icon_size()}px; }}" if icon_size() > _ICONS[-1] else ""
            application.setStyleSheet(stylesheet(colours, *pictures) + sizes)


def palette(colours: Colours) -> QPalette:
    """Return Qt's palette for a theme."""
    made = QPalette()
    role = QPalette.ColorRole
    for roles, value in (
        ((role.Window, role.AlternateBase), colours.surface),
        ((role.Base, role.ToolTipBase, role.Button, role.Light), colours.raised),
        ((role.WindowText, role.Text, role.ButtonText, role.ToolTipText, role.BrightText), colours.text),
        ((role.PlaceholderText,), colours.muted),
        ((role.Highlight,), colours.selected),
        ((role.HighlightedText,), colours.text),
        ((role.Link, role.LinkVisited, role.Accent), colours.accent),
        ((role.Mid, role.Dark, role.Midlight), colours.line),
        ((role.Shadow,), colours.line),
    ):
        for one in roles:
            made.setColor(one, QColor(value))
    faint = QColor(colours.muted)
    for one in (role.WindowText, role.Text, role.ButtonText):
        made.setColor(QPalette.ColorGroup.Disabled, one, faint)
    return made


def title_font(font: QFont) -> QFont:
    """Return the title font, derived from the system's."""
    return _sized(font, 1.3, QFont.Weight.DemiBold)


def strong_font(font: QFont) -> QFont:
    """Return the strong font."""
    return _sized(font, 1.0, QFont.Weight.DemiBold)


def small_font(font: QFont) -> QFont:
    """Return the small font."""
    return _sized(font, 0.9, QFont.Weight.Normal)


def number_font(font: QFont) -> QFont:
    """Return a font with digits of equal width, so that counters do not jitter."""
    made = QFont(font)
    made.setFeature(QFont.Tag("tnum"), 1)
    return made


def mono_font(font: QFont) -> QFont:
    """Return the monospaced font for output and expressions."""
    made = QFont(font)
    made.setFamilies(["monospace"])
    made.setStyleHint(QFont.StyleHint.Monospace)
    made.setFixedPitch(True)
    return made


def _sized(font: QFont, factor: float, weight: QFont.Weight) -> QFont:
    made = QFont(font)
    if font.pointSizeF() > 0:
        made.setPointSizeF(font.pointSizeF() * factor)
    else:
        made.setPixelSize(round(font.pixelSize() * factor))
    made.setWeight(weight)
    return made
