"""Opens job editors, and saves and tests for them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QCoreApplication, QObject, Qt, Signal
from shiboken6 import isValid

from halo_scheduler.errors import JobNotFoundError, ScheduleError, SchedulerError
from halo_scheduler.grammar.english import listed
from halo_scheduler.model import Job, JobSpec, Outcome, Run, Source, StatusReason, Trigger
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.messages import message_words, messages_words
from halo_scheduler.wording.schedules import describe
from ui.backend.backend import Backend, Lane
from ui.backend.engine_thread import EngineThread
from ui.style.theme import Appearance
from ui.style.wording import natural_key, run_words

from .draft import Draft

if TYPE_CHECKING:
    from halo_scheduler.actions.run_services import Ended

    from .job_editor import JobEditor

_SPEC_NAMES = tuple(field.name for field in fields(JobSpec))
_FIELD_WORDS = {"anchor_at": "start", "followers": "next jobs", "policy": "options", "enabled": "on or off"}


def tr(text: str) -> str:
    """Return a text in the user's language."""
    return QCoreApplication.translate("EditorSessions", text)


class EditorSessions(QObject):
    """Keeps one open editor per job."""

    job_saved = Signal(str)
    quiet_times_requested = Signal()
    """Requests the quiet hours page of the settings."""
    secrets_requested = Signal()
    """Requests the secrets page of the settings."""
    webhooks_requested = Signal()
    """Requests the webhooks page of the settings."""
    chat_requested = Signal()
    """Requests the chat page of the settings."""
    fault = Signal(str)

    def __init__(
        self,
        backend: Backend,
        appearance: Appearance,
        engine: EngineThread,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._backend = backend
        self._appearance = appearance
        self._engine = engine
        self._open: list[_Session] = []

    def new(self, template: str | None = None) -> None:
        """Open an editor for a new job, empty or filled from a template."""
        from ui.forms.templates import TEMPLATES  # noqa: PLC0415 - once one is wanted

        spec = None if template is None else TEMPLATES[template].spec
        self._open_draft(lambda scheduler: _new_draft(scheduler, spec))

    def new_from(self, spec: JobSpec, review: StatusReason | None = None) -> None:
        """Open an editor for a new, unsaved job that takes over part of another one.

        `review` says why that other job still needs a review.
        """
        self._open_draft(lambda scheduler: replace(_new_draft(scheduler, spec), is_begun=True, review=review))

    def edit(self, job_id: str) -> None:
        """Open the editor of a job, or raise it if it is open."""
        for session in self._open:
            if session.job_id == job_id:
                session.editor.raise_()
                session.editor.activateWindow()
                return
        self._open_draft(lambda scheduler: _edit_draft(scheduler, job_id))

    def duplicate(self, job_id: str) -> None:
        """Open an editor for a copy of a job."""
        self._open_draft(lambda scheduler: _copy_draft(scheduler, job_id))

    def unsaved_names(self) -> list[str]:
        """Return the titles of the editors with unsaved changes."""
        return [
            session.editor.windowTitle() for session in self._open if session.editor.has_unsaved_changes()
        ]

    def raise_unsaved(self) -> None:
        """Raise the first editor with unsaved changes."""
        for session in self._open:
            if session.editor.has_unsaved_changes():
                session.editor.raise_()
                session.editor.activateWindow()
                return

    def _open_draft(self, draft: Callable[[Scheduler], Draft]) -> None:
        def work(scheduler: Scheduler) -> Draft:
            # Import the editor's modules here, off the GUI thread.
            importlib.import_module("ui.editor.job_editor")
            return draft(scheduler)

        self._backend.ask(work, self._show, owner=self)

    def _show(self, draft: Draft) -> None:
        from .job_editor import JobEditor  # noqa: PLC0415 - once one is opened

        editor = JobEditor(self._backend, self._appearance, draft, None)
        editor.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        session = _Session(self._backend, self._engine, editor, draft)
        session.setParent(self)
        self._open.append(session)
        session.saved.connect(self.job_saved)
        editor.job_requested.connect(self.edit)
        editor.quiet_times_requested.connect(self.quiet_times_requested)
        editor.secrets_requested.connect(self.secrets_requested)
        editor.webhooks_requested.connect(self.webhooks_requested)
        editor.chat_requested.connect(self.chat_requested)
        editor.destroyed.connect(partial(self._forget, session))
        editor.show()

    def _forget(self, session: _Session, _gone: QObject | None = None) -> None:
        if isValid(self) and isValid(session) and session in self._open:
            self._open.remove(session)
            session.end()
            session.deleteLater()


class _Session(QObject):
    """One editor with its saving and testing."""

    saved = Signal(str)

    def __init__(self, backend: Backend, engine: EngineThread, editor: JobEditor, draft: Draft) -> None:
        super().__init__()
        self._backend = backend
        self.editor = editor
        self.job_id = draft.job_id
        self._before = draft.spec
        self._review = draft.review
        self._trial = _Trial(engine, editor, self)
        self._test = _Test(backend, editor, self)
        editor.saved.connect(self._save)
        editor.test_requested.connect(self._start_test)
        editor.test_stop_requested.connect(self._stop_test)

    def end(self) -> None:
        """Stop the test run, as its output is no longer shown."""
        self._stop_test()

    def _save(self, spec: JobSpec) -> None:
        job_id = self.job_id
        add = partial(_add, spec, self._review)
        work = add if job_id is None else partial(_update, job_id, self._before, spec)
        known = () if job_id is None or self._before is None else self._before.policy.conditions
        # New conditions are checked first, which may take seconds.
        is_slow = not set(spec.policy.conditions) <= set(known)
        if is_slow:
            self.editor.show_saving()
        lane = Lane.SLOW if is_slow else Lane.QUICK
        self._backend.ask(work, self._finish_save, self._refuse, owner=self, lane=lane)

    def _finish_save(self, job_id: str) -> None:
        self.saved.emit(job_id)
        self.editor.accept()

    def _refuse(self, error: SchedulerError) -> None:
        if isinstance(error, _ChangedElsewhereError) and self._before is not None:
            self._before = replace(self._before, **error.changed)
        if isinstance(error, ScheduleError):
            self.editor.show_error(error.path, error.message)
        else:
            self.editor.show_error("", str(error))

    def _start_test(self, spec: JobSpec) -> None:
        if self.job_id is None:
            self._trial.start(spec)
        else:
            self._test.start(self.job_id, spec)

    def _stop_test(self) -> None:
        self._trial.stop()
        self._test.stop()


class _Trial(QObject):
    """Tests a job that is not stored; the run is not stored either."""

    def __init__(self, engine: EngineThread, editor: JobEditor, parent: QObject) -> None:
        super().__init__(parent)
        self._engine = engine
        self._editor = editor
        self._number: int | None = None
        engine.trial_output.connect(self._feed)
        engine.trial_ended.connect(self._end)

    def start(self, spec: JobSpec) -> None:
        self._editor.show_test_started()
        self._number = self._engine.start_trial(spec)

    def stop(self) -> None:
        if self._number is not None:
            self._engine.stop_trial(self._number)

    def _feed(self, number: int, chunk: bytes) -> None:
        if number == self._number:
            self._editor.feed_test(chunk)

    def _end(self, number: int, ended: Ended) -> None:
        if number != self._number:
            return
        self._number = None
        # The question of an unstored job cannot be answered, but is worth showing.
        asked = tr("asks: {question}").format(question=ended.question) if ended.question else ""
        run = Run(
            id="trial",
            job_id="",
            trigger=Trigger.TEST,
            source=Source.MANUAL,
            outcome=ended.outcome,
            reason=ended.reason,
            error=message_words(ended.message),
            note=" · ".join(filter(None, (asked, messages_words(ended.notes)))),
            exit_code=ended.exit_code,
            http_status=ended.http_status,
            cost=ended.cost,
            proposal=ended.proposal,
        )
        self._editor.show_test_ended(run, run_words(run))


class _Test(QObject):
    """Tests a stored job with its edited spec, outside its schedule."""

    def __init__(self, backend: Backend, editor: JobEditor, parent: QObject) -> None:
        from ui.widgets.output_feed import OutputFeed  # noqa: PLC0415 - once something is tested

        super().__init__(parent)
        self._backend = backend
        self._editor = editor
        self._run_id: str | None = None
        self._feed = OutputFeed(backend, editor)
        self._feed.chunk.connect(editor.feed_test)
        backend.changed.connect(self._notice)

    def start(self, job_id: str, spec: JobSpec) -> None:
        self._backend.ask(
            lambda scheduler: scheduler.runs.request_test(job_id, spec),
            self._follow_run,
            self._refuse,
            owner=self,
        )

    def stop(self) -> None:
        run_id = self._run_id
        if run_id is not None:
            self._backend.ask(lambda scheduler: scheduler.cancel_run(run_id), failed=lambda _error: None)

    def _follow_run(self, run_id: str) -> None:
        self._run_id = run_id
        self._editor.show_test_started()
        self._feed.follow(run_id)
        self._poll()

    def _refuse(self, error: SchedulerError) -> None:
        self._editor.show_test_ended(None, str(error))

    def _notice(self, change: Change) -> None:
        if self._run_id is not None and change.run_id == self._run_id:
            if change.kind is ChangeKind.RUN_STARTED:
                self._feed.follow(self._run_id)
            self._poll()

    def _poll(self) -> None:
        run_id = self._run_id
        if run_id is not None:
            self._backend.ask(lambda scheduler: scheduler.get_run(run_id), self._show_result, owner=self)

    def _show_result(self, run: Run | None) -> None:
        if run is None or run.id != self._run_id or run.outcome is Outcome.RUNNING:
            return
        self._run_id = None
        self._editor.show_test_ended(run, run_words(run))


@dataclass(frozen=True, slots=True)
class _Existing:
    groups: tuple[str, ...]
    names: frozenset[str]


def _existing(scheduler: Scheduler) -> _Existing:
    found = scheduler.jobs.names_and_groups()
    groups = sorted({group for _, group in found if group is not None}, key=natural_key)
    return _Existing(tuple(groups), frozenset(name for name, _ in found))


def _new_draft(scheduler: Scheduler, spec: JobSpec | None) -> Draft:
    existing = _existing(scheduler)
    if spec is not None and spec.name in existing.names:
        spec = replace(spec, name=scheduler.jobs.unused_name(spec.name))
    return Draft(
        spec=spec,
        settings=scheduler.settings.read(),
        groups=existing.groups,
        taken_names=existing.names,
    )


def _edit_draft(scheduler: Scheduler, job_id: str) -> Draft:
    job = scheduler.get_job(job_id)
    if job is None:
        raise JobNotFoundError("this job no longer exists")
    existing = _existing(scheduler)
    return Draft(
        # The switch shows whether the job is enabled now; turning it on resumes one that errors disabled.
        spec=replace(job.spec, enabled=job.enabled),
        job_id=job_id,
        is_new=False,
        review=job.review,
        settings=scheduler.settings.read(),
        groups=existing.groups,
        taken_names=existing.names,
    )


def _copy_draft(scheduler: Scheduler, job_id: str) -> Draft:
    draft = _edit_draft(scheduler, job_id)
    assert draft.spec is not None  # noqa: S101 - that of a job
    copy = replace(draft.spec, name=scheduler.jobs.unused_name(draft.spec.name), enabled=True)
    return replace(draft, spec=copy, job_id=None, is_new=True)


def _add(spec: JobSpec, review: StatusReason | None, scheduler: Scheduler) -> str:
    """Store a new job; a copy of an unreviewed job needs a review too."""
    given = {name: getattr(spec, name) for name in _SPEC_NAMES}
    if not spec.anchor_at:
        given["anchor_at"] = None  # counted from now on
    return scheduler.add_job(**given, paused_by=review)


def _update(job_id: str, before: JobSpec | None, after: JobSpec, scheduler: Scheduler) -> str:
    """Store only the fields edited here, so that changes made elsewhere stay."""
    changes = {
        name: getattr(after, name)
        for name in _SPEC_NAMES
        if before is None or getattr(after, name) != getattr(before, name)
    }
    job = scheduler.get_job(job_id)
    if job is not None and before is not None:
        _refuse_conflicts(job, before, changes)
    scheduler.update_job(job_id, **changes)
    return job_id


class _ChangedElsewhereError(SchedulerError):
    """Fields edited here were changed elsewhere meanwhile; saving again replaces those changes."""

    def __init__(self, message: str, changed: dict[str, Any]) -> None:
        super().__init__(message)
        self.changed = changed


def _refuse_conflicts(job: Job, before: JobSpec, changes: dict[str, Any]) -> None:
    """Refuse to silently overwrite changes made elsewhere since the editor opened."""
    changed = {
        name: getattr(job, name)
        for name, value in changes.items()
        if getattr(job, name) not in (getattr(before, name), value)
    }
    if changed:
        what = listed([_FIELD_WORDS.get(name, name) for name in sorted(changed)])
        now = f": {describe(job.schedule)}" if list(changed) == ["schedule"] else ""
        raise _ChangedElsewhereError(
            f"Changed elsewhere since you opened it ({what}{now}). Save again to replace that.", changed
        )
