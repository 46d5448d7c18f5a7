"""The look: every colour, font and distance, named by meaning."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from functools import lru_cache

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QGuiApplication, QIcon, QPalette
from PySide6.QtWidgets import QApplication

from halo_scheduler.model.settings import Theme

from .icons import IconMaker, icon_path
from .stylesheet import stylesheet

GRID = 8
HALF = 4
MARGIN = 16
ROW = 36
ICON = 16
_NEARLY_BLACK = 0.04045


class Tone(StrEnum):
    """What a colour means; each is a field of Colours."""

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
        """Return the colour of a meaning."""
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
    """Return how well two colours can be told apart, from 1 to 21, as WCAG defines it."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    made = QColor(colour)
    return 0.2126 * _linear(made.redF()) + 0.7152 * _linear(made.greenF()) + 0.0722 * _linear(made.blueF())


def _linear(part: float) -> float:
    return part / 12.92 if part <= _NEARLY_BLACK else float(((part + 0.055) / 1.055) ** 2.4)


class Look(QObject):
    """The look in force: the program's one palette, its fonts and its icons."""

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
        """Dress the whole program."""
        QApplication.setStyle("Fusion")
        self._dress()

    def choose(self, theme: Theme) -> None:
        """Change to a theme, or back to the system's choice."""
        self._theme = theme
        self._follow_system()

    def colour(self, tone: Tone) -> QColor:
        return self._colours.of(tone)

    def icon(self, name: str, tone: Tone = Tone.TEXT) -> QIcon:
        """Return a line icon in the colour of a meaning; ask again when `changed` was emitted."""
        return self._icons.icon(name, getattr(self._colours, tone))

    def _chosen(self) -> Colours:
        if self._theme is Theme.SYSTEM:
            is_dark = QGuiApplication.styleHints().colorScheme() is Qt.ColorScheme.Dark
        else:
            is_dark = self._theme is Theme.DARK
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
            application.setStyleSheet(stylesheet(colours, *pictures))


def palette(colours: Colours) -> QPalette:
    """Return Qt's palette for a theme."""
    made = QPalette()
    role = QPalette.ColorRole
    for roles, value in (
        ((role.Window, role.AlternateBase), colours.surface),
        ((role.Base, role.ToolTipBase, role.Button), colours.raised),
        ((role.WindowText, role.Text, role.ButtonText, role.ToolTipText, role.BrightText), colours.text),
        ((role.PlaceholderText,), colours.muted),
        ((role.Highlight,), colours.selected),
        ((role.HighlightedText,), colours.text),
        ((role.Link, role.LinkVisited, role.Accent), colours.accent),
        ((role.Mid, role.Dark, role.Midlight), colours.line),
        ((role.Light,), colours.raised),
        ((role.Shadow,), colours.line),
    ):
        for one in roles:
            made.setColor(one, QColor(value))
    faint = QColor(colours.muted)
    for one in (role.WindowText, role.Text, role.ButtonText):
        made.setColor(QPalette.ColorGroup.Disabled, one, faint)
    return made


def title_font(font: QFont) -> QFont:
    """Return the font of titles, made from the system's."""
    return _sized(font, 1.3, QFont.Weight.DemiBold)


def strong_font(font: QFont) -> QFont:
    """Return the font of what is read first."""
    return _sized(font, 1.0, QFont.Weight.DemiBold)


def small_font(font: QFont) -> QFont:
    """Return the font of side remarks."""
    return _sized(font, 0.9, QFont.Weight.Normal)


def number_font(font: QFont) -> QFont:
    """Return a font whose figures are all of one width, so that what counts does not jitter."""
    made = QFont(font)
    made.setFeature(QFont.Tag("tnum"), 1)
    return made


def mono_font(font: QFont) -> QFont:
    """Return the font of output and expressions."""
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
