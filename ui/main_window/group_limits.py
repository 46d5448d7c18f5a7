"""Group limits: reads them for the toolbar and lets the user change one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QCheckBox, QDialog, QHBoxLayout, QSpinBox, QVBoxLayout, QWidget

from halo_scheduler.errors import SchedulerError
from ui.backend.backend import Backend
from ui.style.theme import GRID, MARGIN, Appearance, strong_font
from ui.widgets.labels import WrappedText, button, label

_MOST = 1_000


class GroupLimitDialog(QDialog):
    """Edits the limit of one group; None means no limit."""

    def __init__(
        self, appearance: Appearance, group: str, limit: int | None, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("groupLimitDialog")
        self.setWindowTitle(self.tr("Group limit"))
        self.setMinimumWidth(400)
        column = QVBoxLayout(self)
        column.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        column.setSpacing(GRID + GRID // 2)
        title = WrappedText(appearance, name="groupLimitTitle", font=strong_font(self.font()), most_lines=2)
        title.set_text(self.tr("Group “{name}”").format(name=group))
        column.addWidget(title)
        row = QHBoxLayout()
        self._has_limit = QCheckBox(self.tr("Run at most"))
        self._has_limit.setObjectName("hasLimit")
        self._has_limit.setChecked(limit is not None)
        row.addWidget(self._has_limit)
        self._count = QSpinBox()
        self._count.setObjectName("limitCount")
        self._count.setAccessibleName(self.tr("Maximum concurrent jobs in this group"))
        self._count.setRange(1, _MOST)
        self._count.setValue(limit or 1)
        self._count.setEnabled(limit is not None)
        self._has_limit.toggled.connect(self._count.setEnabled)
        row.addWidget(self._count)
        row.addWidget(label(self.tr("jobs of this group at once")))
        row.addStretch(1)
        column.addLayout(row)
        column.addWidget(label(self.tr("Further jobs wait until one ends."), "muted", wrap=True))
        column.addSpacing(GRID)
        column.addLayout(self._buttons())

    def _buttons(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.addStretch(1)
        cancel = button(self.tr("Cancel"), name="cancelButton", tip=self.tr("Cancel (Esc)"))
        cancel.clicked.connect(self.reject)
        row.addWidget(cancel)
        save = button(self.tr("Save"), name="saveButton", kind="primary", tip=self.tr("Save (Return)"))
        save.setDefault(True)
        save.clicked.connect(self.accept)
        row.addWidget(save)
        return row

    @property
    def limit(self) -> int | None:
        """The limit as entered."""
        return self._count.value() if self._has_limit.isChecked() else None


class GroupLimits(QObject):
    """Reads the group limits and saves the ones the user changes."""

    read = Signal(object, object)
    """All groups, and the limits of the groups that have one."""
    refused = Signal(str)

    def __init__(self, backend: Backend, appearance: Appearance, window: QWidget) -> None:
        super().__init__(window)
        self._backend = backend
        self._appearance = appearance
        self._window = window

    def read_for(self, groups: Iterable[str]) -> None:
        """Read the limits and emit them together with these groups."""
        known = frozenset(groups)
        self._backend.ask(
            lambda scheduler: scheduler.jobs.group_limits(), partial(self._tell, known), owner=self
        )

    def ask(self, group: str) -> None:
        """Ask the user for the limit of a group."""
        self._backend.ask(
            lambda scheduler: scheduler.jobs.group_limits().get(group),
            lambda limit: self._open(group, limit),
            owner=self,
        )

    def _tell(self, groups: frozenset[str], limits: Mapping[str, int]) -> None:
        self.read.emit(groups, limits)

    def _open(self, group: str, limit: int | None) -> None:

        dialog = GroupLimitDialog(self._appearance, group, limit, self._window)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.accepted.connect(lambda: self._set(group, dialog.limit))
        dialog.open()

    def _set(self, group: str, limit: int | None) -> None:
        self._backend.ask(
            lambda scheduler: scheduler.set_group_limit(group, limit), None, self._refuse, owner=self
        )

    def _refuse(self, error: SchedulerError) -> None:
        self.refused.emit(str(error))
