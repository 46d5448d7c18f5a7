"""The actions on the selected jobs, for menus, buttons and shortcuts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from PySide6.QtCore import QObject, QPoint, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from halo_scheduler.errors import SchedulerError
from halo_scheduler.model import Job, JobStatus, Situation, StatusReason
from halo_scheduler.service.scheduler import Scheduler
from ui.backend.backend import Backend
from ui.main_window.table.job_rows import JobRow, Section
from ui.style.theme import Appearance
from ui.style.wording import one_line, plain_tooltip
from ui.widgets.labels import action
from ui.widgets.pauses import PauseChoice, add_pause_choices, pause_end

from .groups import GroupActions
from .run_dialog import RunDialog
from .toolbar import menu_text

_SHORT_NAME = 60


class JobActions(QObject):
    """The actions on jobs; an error of the service is emitted as a sentence."""

    edit_requested = Signal(str)
    duplicate_requested = Signal(str)
    history_requested = Signal(object)
    removed = Signal(str, object)
    """A sentence that names the deleted jobs, and their ids."""
    restored = Signal(object)
    """The ids of the restored jobs."""
    refused = Signal(str)
    group_wanted = Signal(str)
    limit_wanted = Signal(str)
    answer_wanted = Signal(str)
    """The id of the job whose question is to be answered."""

    def __init__(
        self,
        backend: Backend,
        appearance: Appearance,
        window: QWidget,
        rows: Callable[[], Iterable[JobRow]] = tuple,
    ) -> None:
        super().__init__(window)
        self._window = window
        self.groups = GroupActions(backend, window, rows)
        self.groups.refused.connect(self.refused)
        self.groups.shown_wanted.connect(self.group_wanted)
        self.groups.limit_wanted.connect(self.limit_wanted)
        self._backend = backend
        self._appearance = appearance
        self._jobs: tuple[Job, ...] = ()
        self._held: tuple[str, ...] = ()
        self._later: tuple[str, ...] = ()
        self._skips = True
        add = partial(self._add, window, appearance)
        self.run = add("run", self.tr("Run now"), self._run, name="runAction", shortcut="Ctrl+R")
        self.run_with = add("run", self.tr("Run with…"), self._ask_values, name="runWithAction")
        self.run_at = add("clock", self.tr("Run at…"), self._ask_time, name="runAtAction")
        self.cancel_later = add(
            "close", self.tr("Cancel planned run"), self._cancel_later, name="cancelLaterAction"
        )
        self.start_anyway = add("run", self.tr("Start anyway"), self._start_anyway, name="startAnywayAction")
        explained = self.tr("Ignores the limit of its group, but not the limit for all jobs.")
        self.start_anyway.setToolTip(plain_tooltip(f"{self.start_anyway.text()}: {explained}"))
        self.skip = add("mark-skipped", self.tr("Skip next run"), self._skip, name="skipAction")
        self.stop = add("stop", self.tr("Stop"), self._stop, name="stopAction", shortcut="Ctrl+.")
        self.edit = add("edit", self.tr("Edit…"), self._edit, name="editAction", shortcut="Return")
        self.duplicate = add(
            "duplicate", self.tr("Duplicate…"), self._duplicate, name="duplicateAction", shortcut="Ctrl+D"
        )
        self.pause = add(
            "pause", self.tr("Pause"), self.pause_or_resume, name="pauseAction", shortcut="Ctrl+P"
        )
        self.resume = add(
            "resume", self.tr("Resume"), self._resume, name="resumeAction", shortcut="Ctrl+Shift+R"
        )
        self.history = add(
            "history",
            self.tr("Job history"),
            self._history,
            name="jobHistoryAction",
            shortcut="Ctrl+Shift+H",
        )
        self.answer = add("mark-asks", self.tr("Answer…"), self._answer, name="answerAction")
        self.remove = add("delete", self.tr("Delete"), self._remove, name="deleteAction", shortcut="Del")
        self.pause_menu = QMenu(self.tr("Pause"), window)
        self.pause_menu.setObjectName("pauseMenu")
        self.pause_menu.setIcon(self.pause.icon())
        appearance.changed.connect(lambda: self.pause_menu.setIcon(self.pause.icon()))
        add_pause_choices(self.pause_menu, self._pause)
        self.set_jobs(())

    def _add(
        self,
        window: QWidget,
        appearance: Appearance,
        icon: str,
        text: str,
        act: Callable[[], None],
        *,
        name: str,
        shortcut: str = "",
    ) -> QAction:
        made = action(appearance, icon, text, window, name=name, shortcut=shortcut)
        made.triggered.connect(lambda _checked=False: act())
        return made

    def add_to(self, window: QWidget, table: QWidget) -> None:
        """Activate the shortcuts: in the whole window, or only in the table if a text field uses the same keys."""
        window.addActions([self.run, self.stop, self.duplicate, self.pause, self.resume, self.history])
        for one in (self.edit, self.remove):
            one.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
            table.addAction(one)

    # --- Selection ----------------------------------------------------------------------------------

    @property
    def jobs(self) -> tuple[Job, ...]:
        return self._jobs

    def set_jobs(self, jobs: Iterable[Job], situations: Sequence[Situation] = ()) -> None:
        """Set the jobs to act on; their situations determine which can be answered or started anyway."""
        self._jobs = tuple(jobs)
        self._held = tuple(
            one.job_id for one in situations if one.waiting is not None and one.waiting.may_pass_group
        )
        one, some = len(self._jobs) == 1, bool(self._jobs)
        running = sum(job.status is JobStatus.RUNNING for job in self._jobs)
        self.run.setEnabled(running < len(self._jobs))
        self.run_with.setEnabled(one and self.run.isEnabled())
        self.run_at.setEnabled(one)
        self._later = tuple(one.job_id for one in situations if one.later_at is not None)
        self.cancel_later.setEnabled(bool(self._later))
        self.stop.setEnabled(running > 0)
        self._skips = not all(job.skips_next for job in self._planned())
        self.skip.setText(self.tr("Skip next run") if self._skips else self.tr("Don't skip next run"))
        self.skip.setEnabled(bool(self._planned()))
        self.edit.setEnabled(one)
        self.duplicate.setEnabled(one)
        self.history.setEnabled(one)
        self.pause.setEnabled(some)
        self.pause_menu.setEnabled(not all(map(is_resting, self._jobs)))
        self.resume.setEnabled(any(can_resume(job) for job in self._jobs))
        self.start_anyway.setEnabled(bool(self._held))
        self.answer.setEnabled(one and any(situation.question is not None for situation in situations))
        self.remove.setEnabled(some)

    def fill_menu(self, menu: QMenu) -> None:
        """Add every action to a menu."""
        if self.answer.isEnabled():
            menu.addAction(self.answer)
            menu.addSeparator()
        if self.start_anyway.isEnabled():
            menu.addAction(self.start_anyway)
        menu.addActions([self.run, self.run_with, self.run_at, self.stop])
        if self.cancel_later.isEnabled():
            menu.addAction(self.cancel_later)
        if self.skip.isEnabled():
            menu.addAction(self.skip)
        menu.addSeparator()
        menu.addActions([self.edit, self.duplicate])
        if self.pause_menu.isEnabled():
            menu.addMenu(self.pause_menu)
        if self.resume.isEnabled():
            menu.addAction(self.resume)
        menu.addAction(self.history)
        groups = {job.group for job in self._jobs if job.group}
        if self._jobs:
            move = menu.addMenu(self.tr("Move to group"))
            move.setObjectName("moveMenu")
            self.groups.fill_targets(move, self._jobs)
        if len(groups) == 1:
            self._add_group(menu, groups.pop())
        menu.addSeparator()
        menu.addAction(self.remove)

    def _add_group(self, menu: QMenu, group: str) -> None:
        inner = menu.addMenu(self.tr("Group “{name}”").format(name=menu_text(group, 24)))
        inner.setObjectName("groupMenu")
        self.groups.fill(inner, group)

    def show_menu(self, at: QPoint, section: Section | None) -> None:
        """Show the actions on the selected jobs, or on the group of a heading."""
        if section is None and not self._jobs:
            return
        menu = QMenu(self._window)
        menu.setObjectName("jobMenu" if section is None else "groupMenu")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if section is None:
            self.fill_menu(menu)
        else:
            self.groups.fill(menu, section.group)
        menu.popup(at)

    # --- Acting -------------------------------------------------------------------------------------

    def pause_or_resume(self) -> None:
        """Pause the selection, or resume it if all of it is paused or disabled."""
        if all(is_resting(job) for job in self._jobs):
            self._resume()
        else:
            self._pause(PauseChoice.UNTIL_RESUMED)

    def restore(self, job_ids: Sequence[str]) -> None:
        """Restore jobs from the trash."""
        self._each(job_ids, lambda scheduler, job_id: scheduler.restore_job(job_id), self.restored.emit)

    def _run(self) -> None:
        idle = [job.id for job in self._jobs if job.status is not JobStatus.RUNNING]
        self._each(idle, lambda scheduler, job_id: scheduler.trigger(job_id))

    def _start_anyway(self) -> None:
        self._each(self._held, lambda scheduler, job_id: scheduler.trigger(job_id, now=True))

    def _ask_values(self) -> None:
        self._open_dialog(is_later=False)

    def _ask_time(self) -> None:
        self._open_dialog(is_later=True)

    def _open_dialog(self, *, is_later: bool) -> None:
        job = self._jobs[0]
        dialog = RunDialog(
            self._appearance,
            job.name,
            job.parameters,
            self._backend.now_ms,
            self._window,
            is_later=is_later,
        )
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.accepted.connect(lambda: self._run_with(job.id, dialog.parameters, dialog.input, dialog.at))
        dialog.open()

    def _run_with(self, job_id: str, parameters: Mapping[str, str], given: str, at: int | None) -> None:
        self._each(
            [job_id],
            lambda scheduler, wanted: scheduler.trigger(wanted, parameters=parameters, input=given, at=at),
        )

    def _cancel_later(self) -> None:
        def cancel(scheduler: Scheduler, job_id: str) -> None:
            for run in scheduler.runs.later(job_id):
                scheduler.cancel_run(run.run_id)

        self._each(self._later, cancel)

    def _planned(self) -> list[Job]:
        """Return the selected jobs whose next run can be skipped."""
        return [job for job in self._jobs if job.next_run_at is not None]

    def _skip(self) -> None:
        """Skip the next run of each job; if all are skipped already, cancel the skips."""
        skip = self._skips
        wanted = [job.id for job in self._planned() if job.skips_next is not skip]
        self._each(wanted, lambda scheduler, job_id: scheduler.skip_next(job_id, skip=skip))

    def _stop(self) -> None:
        wanted = {job.id for job in self._jobs}

        def stop(scheduler: Scheduler) -> None:
            for run in scheduler.runs.running():
                if run.job_id in wanted:
                    scheduler.cancel_run(run.id)

        self._backend.ask(stop, None, self._refuse, owner=self)

    def _edit(self) -> None:
        if len(self._jobs) == 1:
            self.edit_requested.emit(self._jobs[0].id)

    def _duplicate(self) -> None:
        if len(self._jobs) == 1:
            self.duplicate_requested.emit(self._jobs[0].id)

    def _history(self) -> None:
        if len(self._jobs) == 1:
            self.history_requested.emit(self._jobs[0].id)

    def _answer(self) -> None:
        if len(self._jobs) == 1:
            self.answer_wanted.emit(self._jobs[0].id)

    def _pause(self, choice: PauseChoice) -> None:
        until = pause_end(choice, self._backend.now_ms())
        awake = [job.id for job in self._jobs if not is_resting(job)]
        self._each(awake, lambda scheduler, job_id: scheduler.pause_job(job_id, until))

    def _resume(self) -> None:
        # In a mixed selection only paused jobs resume: disabled and finished jobs stay as they are.
        paused = [job.id for job in self._jobs if job.is_paused]
        resting = paused or [job.id for job in self._jobs if can_resume(job)]
        seen = {job.id: job for job in self._jobs}
        self._each(resting, lambda scheduler, job_id: scheduler.resume_job(job_id, seen=seen[job_id].spec))

    def _remove(self) -> None:
        jobs = self._jobs
        if not jobs:
            return
        names = {job.id: job.name for job in jobs}
        self._each(
            tuple(names),
            lambda scheduler, job_id: scheduler.remove_job(job_id),
            lambda removed: self._tell_removed(removed, names),
        )

    def _tell_removed(self, removed: tuple[str, ...], names: Mapping[str, str]) -> None:
        if len(removed) == 1:
            words = self.tr("Deleted “{name}”.").format(name=one_line(names[removed[0]], _SHORT_NAME))
        else:
            words = self.tr("Deleted {count} jobs.").format(count=len(removed))
        self.removed.emit(words, removed)

    def _each(
        self,
        job_ids: Sequence[str],
        work: Callable[[Scheduler, str], object],
        then: Callable[[tuple[str, ...]], object] | None = None,
    ) -> None:
        """Call something for each job; an error of one job does not stop the others."""
        if not job_ids:
            return

        def work_all(scheduler: Scheduler) -> tuple[tuple[str, ...], list[str]]:
            done, refused = [], []
            for job_id in job_ids:
                try:
                    work(scheduler, job_id)
                    done.append(job_id)
                except SchedulerError as error:
                    refused.append(str(error))
            return tuple(done), refused

        def told(answer: tuple[tuple[str, ...], list[str]]) -> None:
            done, refused = answer
            if then is not None and done:
                then(done)
            if refused:
                self._tell_refused(refused)

        self._backend.ask(work_all, told, self._refuse, owner=self)

    def _tell_refused(self, refused: list[str]) -> None:
        first, others = refused[0], len(refused) - 1
        if others:
            first = self.tr("{sentence} (and {count} more)").format(sentence=first, count=others)
        self.refused.emit(first)

    def _refuse(self, error: SchedulerError) -> None:
        self.refused.emit(str(error))


def can_resume(job: Job) -> bool:
    """Return whether a job can be resumed; a finished one needs a new time first."""
    return is_resting(job) and job.status_reason is not StatusReason.DONE


def is_resting(job: Job) -> bool:
    """Return whether a job is paused or disabled, also while it runs."""
    return job.status_reason is not None
