"""The input fields of each kind of condition."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple, assert_never

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QLineEdit, QSizePolicy, QWidget

from halo_scheduler.errors import ScheduleError
from halo_scheduler.model import Condition, Idle, Load, MainsPower, Network, PathExists
from ui.forms.inputs import IntervalEdit, read_number
from ui.style.theme import GRID, HALF, MARGIN, Appearance, mono_font, number_font, scaled
from ui.widgets.arrange import dialog_start
from ui.widgets.boxes import number_box
from ui.widgets.labels import icon_button, label

_HIGHEST_PORT = 65_535
_USUAL_PORT = 22
_USUAL_IDLE = "10m"
_USUAL_LOAD = 1.0
# A host with a port: nas.local:22, [fe80::1]:22.
_HOST_AND_PORT = re.compile(r"(?:\[([^\[\]]+)\]|([^:\[\]]+)):([0-9]{1,5})", re.ASCII)


class ConditionKind(StrEnum):
    """The kinds of conditions, in the order of the buttons."""

    MAINS = "mains"
    NETWORK = "network"
    HOST = "host"
    IDLE = "idle"
    LOAD = "load"
    PATH = "path"


SINGLE = frozenset([ConditionKind.MAINS, ConditionKind.NETWORK])
"""Kinds that make sense only once per job."""


def kind_of(condition: Condition) -> ConditionKind:
    """Return the kind of a condition."""
    match condition:
        case MainsPower():
            return ConditionKind.MAINS
        case Network():
            return ConditionKind.HOST if condition.host else ConditionKind.NETWORK
        case Idle():
            return ConditionKind.IDLE
        case Load():
            return ConditionKind.LOAD
        case PathExists():
            return ConditionKind.PATH
        case _:
            assert_never(condition)


class Offer(NamedTuple):
    """The button that adds a condition."""

    words: str
    icon: str
    tip: str


def offer_of(kind: ConditionKind) -> Offer:
    """Return the button of a kind."""
    return {
        ConditionKind.MAINS: Offer(_tr("On AC power"), "plug", _tr("Not on battery")),
        ConditionKind.NETWORK: Offer(_tr("Network"), "globe", _tr("Any network connection")),
        ConditionKind.HOST: Offer(
            _tr("Host is reachable"), "host", _tr("A TCP connection to a host and port succeeds")
        ),
        ConditionKind.IDLE: Offer(
            _tr("Computer is idle"), "user", _tr("No keyboard or mouse input for a while")
        ),
        ConditionKind.LOAD: Offer(_tr("Low system load"), "chart", _tr("Load average below a limit")),
        ConditionKind.PATH: Offer(
            _tr("Path exists"), "folder", _tr("A file, a folder or a mounted disk exists")
        ),
    }[kind]


def form_of(kind: ConditionKind, appearance: Appearance, *, name: str) -> ConditionForm:
    """Return an empty form."""
    match kind:
        case ConditionKind.MAINS:
            return FixedForm(MainsPower(), _tr("On AC power"), name=name)
        case ConditionKind.NETWORK:
            return FixedForm(Network(), _tr("Connected to a network"), name=name)
        case ConditionKind.HOST:
            return HostForm(name=name)
        case ConditionKind.IDLE:
            return IdleForm(name=name)
        case ConditionKind.LOAD:
            return LoadForm(name=name)
        case ConditionKind.PATH:
            return PathForm(appearance, name=name)
        case _:
            assert_never(kind)


def _tr(text: str) -> str:
    return QCoreApplication.translate("ConditionForm", text)


class ConditionForm(QWidget):
    """One row of labels and inputs; unchanged values are returned exactly as loaded."""

    changed = Signal()

    def __init__(self, *, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.row = QHBoxLayout(self)
        self.row.setContentsMargins(0, 0, 0, 0)
        self.row.setSpacing(GRID)

    @property
    def targets(self) -> Mapping[str, QWidget]:
        """The input to focus for an error, by field of the condition."""
        return {}

    @property
    def missing(self) -> str:
        """A sentence on what is still to be filled in; empty when the form is complete."""
        return ""

    def load(self, condition: Condition) -> None:
        """Show a condition of this kind."""

    def read(self) -> Condition:
        """Return the condition, or raise ScheduleError."""
        raise NotImplementedError


class FixedForm(ConditionForm):
    """A condition without inputs."""

    def __init__(self, condition: Condition, words: str, *, name: str) -> None:
        super().__init__(name=name)
        self._condition = condition
        self.row.addWidget(label(words, wrap=True), 1)

    def read(self) -> Condition:
        """Return the fixed condition."""
        return self._condition


class HostForm(ConditionForm):
    """A TCP connection to a host succeeds."""

    def __init__(self, *, name: str) -> None:
        super().__init__(name=name)
        self._host = _line(f"{name}Host", self.tr("Host"), "nas.local")
        self._port = number_box(1, _HIGHEST_PORT, name=f"{name}Port", title=self.tr("Port"), width=88)
        self._port.setValue(_USUAL_PORT)
        self._host.setMinimumWidth(scaled(MARGIN * 5))
        self.row.addWidget(self._host, 1)
        self.row.addWidget(label(self.tr("is reachable on port")))
        self.row.addWidget(self._port)
        self._host.textChanged.connect(self.changed)
        self._host.editingFinished.connect(self._split_port)
        self._port.valueChanged.connect(self.changed)

    @property
    def targets(self) -> Mapping[str, QWidget]:
        return {"host": self._host, "port": self._port}

    @property
    def missing(self) -> str:
        return "" if self._host.text().strip() else self.tr("Enter a host.")

    def load(self, condition: Condition) -> None:
        """Show a host and its port."""
        if isinstance(condition, Network):
            self._host.setText(condition.host)
            self._host.setCursorPosition(0)
            self._port.setValue(condition.port or _USUAL_PORT)

    def read(self) -> Condition:
        """Return the host with its port."""
        return Network(host=self._host.text().strip(), port=self._port.value())

    def _split_port(self) -> None:
        """Split "host:port" that was typed or pasted into the host field."""
        match = _HOST_AND_PORT.fullmatch(self._host.text().strip())
        if match is not None and 1 <= int(match[3]) <= _HIGHEST_PORT:
            self._host.setText(match[1] or match[2])
            self._port.setValue(int(match[3]))


class IdleForm(ConditionForm):
    """No input for some time."""

    def __init__(self, *, name: str) -> None:
        super().__init__(name=name)
        self._idle = IntervalEdit(self.tr("Idle time"), name=f"{name}Idle")
        self._idle.set_text(_USUAL_IDLE)
        self.row.addWidget(label(self.tr("Idle for at least"), wrap=True), 1)
        self.row.addWidget(self._idle)
        self._idle.changed.connect(self.changed)

    @property
    def targets(self) -> Mapping[str, QWidget]:
        return {"idle": self._idle}

    def load(self, condition: Condition) -> None:
        """Show the idle time."""
        if isinstance(condition, Idle):
            self._idle.set_text(condition.idle)

    def read(self) -> Condition:
        """Return the idle time."""
        return Idle(idle=self._idle.text)


class LoadForm(ConditionForm):
    """The load average is below a limit."""

    def __init__(self, *, name: str) -> None:
        super().__init__(name=name)
        self._given: float | None = None
        self._below = _line(f"{name}Below", self.tr("Load"), "1.5")
        self._below.setFixedWidth(88)
        self._below.setFont(number_font(self._below.font()))
        self._below.setText(f"{_USUAL_LOAD:g}")
        self.row.addWidget(label(self.tr("1-minute load average below"), wrap=True), 1)
        self.row.addWidget(self._below)
        self._below.textChanged.connect(self.changed)

    @property
    def targets(self) -> Mapping[str, QWidget]:
        return {"below": self._below}

    @property
    def missing(self) -> str:
        return "" if self._below.text().strip() else self.tr("Enter a number, like 1.5.")

    def load(self, condition: Condition) -> None:
        """Show the limit."""
        if isinstance(condition, Load):
            self._given = condition.below
            self._below.setText(f"{condition.below:g}")

    def read(self) -> Condition:
        """Return the limit."""
        given = self._given
        if given is not None and self._below.text() == f"{given:g}":
            return Load(below=given)
        try:
            return Load(below=read_number(self._below.text()))
        except ScheduleError as error:
            raise error if error.path else error.under("below") from None


class PathForm(ConditionForm):
    """A path exists."""

    def __init__(self, appearance: Appearance, *, name: str) -> None:
        super().__init__(name=name)
        self._path = _line(f"{name}Path", self.tr("File or folder"), "/media/backup")
        choose = icon_button(appearance, "folder", self.tr("Choose a folder…"), name=f"{name}Choose")
        choose.clicked.connect(self._choose_path)
        both = QHBoxLayout()
        both.setSpacing(HALF)
        both.addWidget(self._path, 1)
        both.addWidget(choose)
        self.row.addLayout(both, 1)
        self.row.addWidget(label(self.tr("exists")))
        self._path.textChanged.connect(self.changed)

    @property
    def targets(self) -> Mapping[str, QWidget]:
        return {"path": self._path}

    @property
    def missing(self) -> str:
        return "" if self._path.text().strip() else self.tr("Enter the path of a file or folder.")

    def load(self, condition: Condition) -> None:
        """Show a path."""
        if isinstance(condition, PathExists):
            self._path.setText(condition.path)
            self._path.setCursorPosition(0)

    def read(self) -> Condition:
        """Return the path; a trailing blank may be part of it."""
        return PathExists(path=self._path.text().lstrip())

    def _choose_path(self) -> None:
        dialog = QFileDialog(self.window(), self.tr("File or folder"), dialog_start(self._path.text()))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.fileSelected.connect(self._path.setText)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()


def _line(name: str, title: str, placeholder: str) -> QLineEdit:
    made = QLineEdit()
    made.setObjectName(name)
    made.setAccessibleName(title)
    made.setPlaceholderText(placeholder)
    made.setFont(mono_font(made.font()))
    made.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
    return made
