"""Groups of jobs: the actions on a whole group, moving jobs between groups, and the limits of groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QHBoxLayout,
    QInputDialog,
    QMenu,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from halo_scheduler.errors import SchedulerError
from halo_scheduler.model import Job, JobStatus
from halo_scheduler.service.scheduler import Scheduler
from ui.backend.backend import Backend
from ui.main_window.table.job_rows import JobRow
from ui.style.theme import GRID, MARGIN, Appearance, strong_font
from ui.style.wording import natural_key
from ui.widgets.labels import WrappedText, button, label

from .toolbar import menu_text

_LONGEST = 24
_MOST = 1_000


class GroupActions(QObject):
    """Acts on the jobs that are in a group at that time; None stands for the jobs without a group."""

    shown_wanted = Signal(str)
    limit_wanted = Signal(str)
    refused = Signal(str)

    def __init__(self, backend: Backend, window: QWidget, rows: Callable[[], Iterable[JobRow]]) -> None:
        super().__init__(window)
        self._backend = backend
        self._window = window
        self._rows = rows

    # --- Menus --------------------------------------------------------------------------------------

    def fill(self, menu: QMenu, group: str | None) -> None:
        """Add the actions on a group to a menu."""
        jobs = self._jobs(group)
        paused = [job for job in jobs if job.is_paused]
        self._add(menu, "runGroup", self.tr("Run all now"), partial(self._run, group))
        if len(paused) < len(jobs):
            self._add(menu, "pauseGroup", self.tr("Pause all"), partial(self._pause, group))
        if paused:
            self._add(menu, "resumeGroup", self.tr("Resume all"), partial(self._resume, group))
        if group is not None:
            menu.addSeparator()
            self._add(menu, "renameGroup", self.tr("Rename…"), partial(self._ask_name, group))
            self._add(
                menu, "onlyGroup", self.tr("Show only this group"), partial(self.shown_wanted.emit, group)
            )
            self._add(menu, "limitGroup", self.tr("Group limit…"), partial(self.limit_wanted.emit, group))

    def fill_targets(self, menu: QMenu, jobs: Sequence[Job]) -> None:
        """Add the groups that jobs can be moved to."""
        there = {job.group for job in jobs}
        groups = {row.job.group for row in self._rows() if row.job.group}
        for group in sorted(groups, key=natural_key):
            action = self._add(
                menu, "moveToGroup", menu_text(group, _LONGEST), partial(self.move, jobs, group)
            )
            action.setEnabled(there != {group})
        if groups:
            menu.addSeparator()
        self._add(menu, "moveToNewGroup", self.tr("New group…"), partial(self._ask_new, jobs))
        if there != {None}:
            self._add(menu, "moveToNoGroup", self.tr("No group"), partial(self.move, jobs, None))

    @staticmethod
    def _add(menu: QMenu, name: str, text: str, act: Callable[[], object]) -> QAction:
        made = menu.addAction(text)
        made.setObjectName(name)
        made.triggered.connect(lambda _checked=False: act())
        return made

    # --- Acting -------------------------------------------------------------------------------------

    def move(self, jobs: Sequence[Job], group: str | None) -> None:
        """Move jobs to a group, or out of theirs for None."""
        ids = [job.id for job in jobs if job.group != group]
        self._each(ids, lambda scheduler, job_id: scheduler.update_job(job_id, group=group))

    def rename(self, group: str, name: str) -> None:
        """Rename a group and keep its limit; with the name of another group, the two are merged."""
        ids, name = [job.id for job in self._jobs(group)], name.strip()
        if not name or name == group:
            return

        def take_limit(scheduler: Scheduler) -> None:
            limit = scheduler.jobs.group_limits().get(group)
            if limit is not None:
                scheduler.set_group_limit(name, limit)
                scheduler.set_group_limit(group, None)

        self._each(ids, lambda scheduler, job_id: scheduler.update_job(job_id, group=name), take_limit)

    def _jobs(self, group: str | None) -> list[Job]:
        return [row.job for row in self._rows() if row.job.group == group]

    def _run(self, group: str | None) -> None:
        idle = [job.id for job in self._jobs(group) if job.status is not JobStatus.RUNNING]
        self._each(idle, lambda scheduler, job_id: scheduler.trigger(job_id))

    def _pause(self, group: str | None) -> None:
        awake = [job.id for job in self._jobs(group) if job.status_reason is None]
        self._each(awake, lambda scheduler, job_id: scheduler.pause_job(job_id))

    def _resume(self, group: str | None) -> None:
        paused = {job.id: job for job in self._jobs(group) if job.is_paused}
        self._each(
            list(paused), lambda scheduler, job_id: scheduler.resume_job(job_id, seen=paused[job_id].spec)
        )

    def _ask_name(self, group: str) -> None:
        self._ask(self.tr("Rename group"), group, partial(self.rename, group))

    def _ask_new(self, jobs: Sequence[Job]) -> None:
        self._ask(self.tr("New group"), "", lambda name: self.move(jobs, name.strip() or None))

    def _ask(self, title: str, name: str, then: Callable[[str], None]) -> None:
        dialog = QInputDialog(self._window)
        dialog.setObjectName("groupNameDialog")
        dialog.setWindowTitle(title)
        dialog.setLabelText(self.tr("Name"))
        dialog.setTextValue(name)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.textValueSelected.connect(then)
        dialog.open()

    def _each(
        self,
        job_ids: Sequence[str],
        work: Callable[[Scheduler, str], object],
        finally_: Callable[[Scheduler], None] | None = None,
    ) -> None:
        """Call something for each job; an error of one job does not stop the others."""

        def work_all(scheduler: Scheduler) -> list[str]:
            refused = []
            for job_id in job_ids:
                try:
                    work(scheduler, job_id)
                except SchedulerError as error:
                    refused.append(str(error))
            if finally_ is not None and not refused:
                finally_(scheduler)
            return refused

        if job_ids:
            self._backend.ask(work_all, self._tell, lambda error: self._tell([str(error)]), owner=self)

    def _tell(self, refused: list[str]) -> None:
        if len(refused) > 1:
            words = self.tr("{sentence} (and {count} more)")
            self.refused.emit(words.format(sentence=refused[0], count=len(refused) - 1))
        elif refused:
            self.refused.emit(refused[0])


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
