"""Inputs of one value: numbers, a duration, a time zone, a path, plain text, a reference to a secret."""

from __future__ import annotations

import re
from importlib import resources

from PySide6.QtCore import QMimeData, Qt, Signal
from PySide6.QtGui import QResizeEvent, QTextOption
from PySide6.QtWidgets import (
    QComboBox,
    QCompleter,
    QFileDialog,
    QHBoxLayout,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QToolButton,
    QWidget,
)

from halo_scheduler.errors import ScheduleError, SchedulerError
from halo_scheduler.grammar.english import shown
from halo_scheduler.grammar.interval import (
    DAY_MS,
    HOUR_MS,
    MINUTE_MS,
    SECOND_MS,
    format_interval,
    parse_interval,
)
from halo_scheduler.grammar.zone import machine_zone
from halo_scheduler.service.scheduler import Scheduler
from ui.backend.backend import Backend
from ui.style.theme import GRID, HALF, Appearance, mono_font
from ui.style.wording import one_line
from ui.widgets.arrange import dialog_start
from ui.widgets.boxes import dress_suggestions, number_box
from ui.widgets.labels import icon_button

_SEPARATORS = re.compile(r"[,;\s]+")
_COMMAS = re.compile(r"[,;]")
# With three digits after a comma, it could be a thousands separator.
_AMOUNT = re.compile(r"([0-9]{0,7})(?:\.([0-9]{0,9})|,([0-9]{1,2}))?", re.ASCII)
_UNITS = (("s", SECOND_MS), ("m", MINUTE_MS), ("h", HOUR_MS), ("d", DAY_MS))
_LARGEST = 999_999
# Loaded at import, which happens off the GUI thread; one file instead of a directory walk.
_ZONES = sorted(resources.files("tzdata").joinpath("zones").read_text(encoding="utf-8").split())
_BORDER = 1
# Qt takes quadratic time to break such a word.
_ENDLESS_WORD = re.compile(r"\S{2000}")


def read_numbers(text: str) -> tuple[int, ...]:
    """Return the whole numbers of a line like "0, 1, 24"."""
    words = [word for word in _SEPARATORS.split(text.strip()) if word]
    for word in words:
        if not (word.isascii() and word.isdigit() and len(word) <= 9):  # noqa: PLR2004 - as C would take it
            raise ScheduleError(f"{shown(word)} is not a whole number; enter numbers like 0, 1, 24")
    return tuple(int(word) for word in words)


def write_numbers(numbers: tuple[int, ...]) -> str:
    """Return numbers as text."""
    return ", ".join(map(str, numbers))


def read_intervals(text: str) -> tuple[int, ...]:
    """Return the milliseconds of a line like "30s, 1m, 5m"; 0 is allowed."""
    words = [word.strip() for word in _COMMAS.split(text) if word.strip()]
    if not words:
        raise ScheduleError("enter at least one interval, like 30s, 1m, 5m")
    return tuple(0 if word == "0" else parse_interval(word) for word in words)


def write_intervals(delays_ms: tuple[int, ...]) -> str:
    """Return intervals as text, rounded up to seconds."""
    return ", ".join(format_interval(_whole(delay_ms)) if delay_ms else "0" for delay_ms in delays_ms)


def read_amount(text: str) -> float:
    """Return the amount of a line like "2.50"; a comma before one or two digits is a decimal point."""
    return _read_number(text, "an amount", "2.50")


def read_number(text: str) -> float:
    """Return the number of a line like "1.5"; a comma before one or two digits is a decimal point."""
    return _read_number(text, "a number", "1.5")


def _read_number(text: str, what: str, example: str) -> float:
    if not text.strip():
        raise ScheduleError(f"enter {what}, like {example}")
    match = _AMOUNT.fullmatch(text.strip())
    if match is None or not any(match.groups()):
        raise ScheduleError(f"{shown(text.strip())} is not {what}; enter it like {example}")
    return float(f"{match[1] or 0}.{match[2] or match[3] or 0}")


def write_amount(amount: float) -> str:
    """Return an amount with two decimals, or more if they are not zero."""
    whole, _, part = f"{amount:.9f}".partition(".")
    return f"{whole}.{part[:2]}{part[2:].rstrip('0')}"


def _whole(delay_ms: int) -> int:
    return -(-delay_ms // SECOND_MS) * SECOND_MS


class IntervalEdit(QWidget):
    """Edits a number and a unit; an unchanged interval is returned exactly as loaded."""

    changed = Signal()

    def __init__(self, title: str, *, name: str, least: int = 1) -> None:
        super().__init__()
        self.setObjectName(name)
        self._number = number_box(
            least,
            _LARGEST,
            name=f"{name}Number",
            title=self.tr("{title}: number").format(title=title),
        )
        self._unit = QComboBox()
        self._unit.setObjectName(f"{name}Unit")
        self._unit.setAccessibleName(self.tr("{title}: unit").format(title=title))
        names = (self.tr("seconds"), self.tr("minutes"), self.tr("hours"), self.tr("days"))
        for words, (letter, _) in zip(names, _UNITS, strict=True):
            self._unit.addItem(words, letter)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GRID)
        layout.addWidget(self._number)
        layout.addWidget(self._unit)
        layout.addStretch(1)
        self.setFocusProxy(self._number)
        self._given_ms = 0
        self._given_text = ""
        self._given_shape = (-1, "")
        self._number.valueChanged.connect(self.changed)
        self._unit.currentIndexChanged.connect(self.changed)

    @property
    def text(self) -> str:
        """The interval as text, like "15m"."""
        if self._shape() == self._given_shape and self._given_text:
            return self._given_text
        return f"{self._number.value()}{self._unit.currentData()}"

    @property
    def milliseconds(self) -> int:
        if self._shape() == self._given_shape:
            return self._given_ms
        return self._number.value() * dict(_UNITS)[str(self._unit.currentData())]

    def set_text(self, interval: str) -> None:
        """Show an interval text."""
        stripped = interval.strip()
        unit = stripped[-1].lower()
        self._show(parse_interval(interval), unit)
        self._given_text = interval

    def set_milliseconds(self, milliseconds: int) -> None:
        """Show a duration in the largest unit that fits."""
        fits = [letter for letter, unit_ms in _UNITS if milliseconds and milliseconds % unit_ms == 0]
        self._show(milliseconds, fits[-1] if fits else "s")

    def _show(self, milliseconds: int, unit: str) -> None:
        number = -(-milliseconds // dict(_UNITS)[unit])
        if number > _LARGEST:
            unit, number = "d", -(-milliseconds // DAY_MS)
        self._unit.setCurrentIndex(self._unit.findData(unit))
        self._number.setValue(number)
        self._given_ms, self._given_text, self._given_shape = milliseconds, "", self._shape()

    def _shape(self) -> tuple[int, str]:
        return self._number.value(), str(self._unit.currentData())


class ZonePicker(QComboBox):
    """All zones, the local one first."""

    changed = Signal()

    def __init__(self, *, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(self.tr("Time zone"))
        self.setEditable(True)
        self.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.setMaxVisibleItems(12)
        self._own = self.tr("Local time zone ({zone})").format(zone=machine_zone().key)
        self.addItem(self._own)
        self.addItems(_ZONES)
        completer = _ZoneCompleter(self.model(), self)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setMaxVisibleItems(12)
        self.setCompleter(completer)
        dress_suggestions(completer, self)
        line = self.lineEdit()
        if line is not None:
            line.setAccessibleName(self.accessibleName())
        self.editTextChanged.connect(self.changed)

    @property
    def zone(self) -> str | None:
        """The name as typed; None for the local zone."""
        typed = self.currentText().strip()
        return None if typed in ("", self._own) else typed.replace(" ", "_")

    def set_zone(self, zone: str | None) -> None:
        """Show a zone."""
        self.setCurrentText(self._own if zone is None else zone)
        line = self.lineEdit()
        if line is not None:
            line.setCursorPosition(0)


class _ZoneCompleter(QCompleter):
    """Finds "new york" too: zones are written with underscores."""

    def splitPath(self, path: str) -> list[str]:  # noqa: N802 - Qt's name
        return [path.strip().replace(" ", "_")]


class DirectoryEdit(QWidget):
    """A directory, typed or chosen."""

    changed = Signal()

    def __init__(self, appearance: Appearance, *, name: str, title: str, placeholder: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self._title = title
        self.line = QLineEdit()
        self.line.setObjectName(f"{name}Line")
        self.line.setAccessibleName(title)
        self.line.setPlaceholderText(placeholder)
        self.line.setFont(mono_font(self.line.font()))
        self.line.textChanged.connect(self.changed)
        self._choose = choose = icon_button(
            appearance, "folder", self.tr("Choose a folder…"), name=f"{name}Choose"
        )
        choose.clicked.connect(self._choose_folder)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(HALF)
        layout.addWidget(self.line, 1)
        layout.addWidget(choose)

    @property
    def stops(self) -> list[QWidget]:
        """The widgets in Tab order."""
        return [self.line, self._choose]

    def _choose_folder(self) -> None:
        dialog = QFileDialog(self.window(), self._title, dialog_start(self.line.text()))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.fileSelected.connect(self.line.setText)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()


class PlainText(QPlainTextEdit):
    """Tab moves the focus on; very long words do not block the GUI."""

    def __init__(self, *, name: str, title: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(title)
        self.setTabChangesFocus(True)

    def show_text(self, text: str) -> None:
        """Replace the text."""
        self._choose_breaks(text)
        self.setPlainText(text)

    def _choose_breaks(self, text: str) -> None:
        breaks = QTextOption.WrapMode
        is_endless = _ENDLESS_WORD.search(text) is not None
        mode = breaks.WrapAnywhere if is_endless else breaks.WrapAtWordBoundaryOrAnywhere
        if mode != self.wordWrapMode():
            self.setWordWrapMode(mode)

    def insertFromMimeData(self, source: QMimeData) -> None:  # noqa: N802 - Qt's name
        if _ENDLESS_WORD.search(source.text()):
            self._choose_breaks(source.text())
        super().insertFromMimeData(source)


class GrowingText(PlainText):
    """Grows with its text, and scrolls at its maximum height."""

    def __init__(self, *, name: str, title: str, least: int, most: int) -> None:
        super().__init__(name=name, title=title)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._least = least
        self._most = most
        self.document().documentLayout().documentSizeChanged.connect(self._fit)
        self._fit()

    def _fit(self) -> None:
        # The document size of a plain text is in lines.
        lines = round(self.document().size().height())
        bars = Qt.ScrollBarPolicy
        policy = bars.ScrollBarAsNeeded if lines > self._most else bars.ScrollBarAlwaysOff
        if policy != self.verticalScrollBarPolicy():
            self.setVerticalScrollBarPolicy(policy)
        around = round(self.document().documentMargin() * 2) + (HALF + _BORDER) * 2
        height = self.fontMetrics().lineSpacing() * min(max(lines, self._least), self._most) + around
        if height != self.maximumHeight():
            self.setFixedHeight(height)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        # Qt does not signal that lines wrap differently at another width.
        self._fit()


class SecretPicker(QWidget):
    """Lists the names of the stored secrets; values are never loaded."""

    picked = Signal(str)
    """The reference to insert, like ${secret:TOKEN}."""
    named = Signal(str)
    """The name alone, like TOKEN."""
    new_wanted = Signal()
    """The user wants to add a secret."""

    def __init__(
        self, backend: Backend, appearance: Appearance, parent: QWidget | None, *, name: str
    ) -> None:
        super().__init__(parent)
        self._backend = backend
        self.button: QToolButton = icon_button(appearance, "key", self.tr("Insert a secret"), name=name)
        self._menu = QMenu(self.button)
        self._menu.setObjectName(f"{name}Menu")
        self.button.clicked.connect(self._load_names)
        self.hide()

    @property
    def menu(self) -> QMenu:
        return self._menu

    def _load_names(self) -> None:
        self._backend.ask(_names, self._show, self._show_fault, owner=self)

    def _show(self, names: list[str]) -> None:
        self._menu.clear()
        for name in names:
            # Names contain no "&", which a menu would treat as a mnemonic.
            self._menu.addAction(name).triggered.connect(self._emitter(name))
        if names:
            self._menu.addSeparator()
        self._menu.addAction(self.tr("New secret…")).triggered.connect(self.new_wanted)
        self._pop_up()

    def _show_fault(self, error: SchedulerError) -> None:
        self._menu.clear()
        self._add_message(one_line(str(error)))
        self._pop_up()

    def _add_message(self, text: str) -> None:
        self._menu.addAction(text.replace("&", "&&")).setEnabled(False)

    def _pop_up(self) -> None:
        self._menu.popup(self.button.mapToGlobal(self.button.rect().bottomLeft()))

    def _emitter(self, name: str) -> _Emit:
        return _Emit(self, name)


class _Emit:
    """Emits one secret when called."""

    def __init__(self, picker: SecretPicker, name: str) -> None:
        self._picker = picker
        self._name = name

    def __call__(self) -> None:
        self._picker.picked.emit(f"${{secret:{self._name}}}")
        self._picker.named.emit(self._name)


def _names(scheduler: Scheduler) -> list[str]:
    return [secret.name for secret in scheduler.secrets.list()]
