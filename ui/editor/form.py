"""All pages as one form: built step by step, and loaded."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace

from PySide6.QtCore import QElapsedTimer, QSignalBlocker, QTimer, Signal
from PySide6.QtWidgets import QStackedWidget, QWidget

from halo_scheduler.model import JobSpec
from ui.backend.backend import Backend
from ui.editor.conditions.page import ConditionsPage
from ui.editor.next_jobs.page import NextJobsPage
from ui.editor.what.page import WhatPage
from ui.editor.when.page import WhenPage
from ui.forms.fields import Field, Findings, Page, Problem, snapshot
from ui.style.theme import Appearance

from .draft import Draft
from .failure_page import FailurePage
from .job_catalogue import JobCatalogue
from .options_page import OptionsPage
from .reading import Pages, Reading, read_pages

_TURN_MS = 4


class Form(QStackedWidget):
    """Shows one page at a time.

    Building all pages at once would block every window. They are built part by part while the event loop is idle, or
    at once when their contents are needed. Only the name field exists from the start, because the user can type into
    it as soon as the window appears.
    """

    edited = Signal()
    learned = Signal()
    completed = Signal()
    job_wanted = Signal(str)
    quiet_times_wanted = Signal()
    webhooks_wanted = Signal()
    chat_wanted = Signal()
    secret_wanted = Signal()

    def __init__(self, backend: Backend, appearance: Appearance, draft: Draft, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("pages")
        self._appearance = appearance
        self._draft = draft
        self._opened_at = backend.now_ms()
        self._start_spec: JobSpec | None = None
        self._start_contents: dict[str, str] = {}
        self._is_edited = False
        self._backend = backend
        self._is_open = False
        self._is_complete = False
        self._building = self._build()
        QTimer.singleShot(0, self, self._build_on)

    @property
    def pages(self) -> Pages:
        """All pages; builds those that are missing."""
        self.complete()
        return self._pages

    @property
    def is_complete(self) -> bool:
        return self._is_complete

    def complete(self) -> None:
        """Build the parts that are missing."""
        if not self._is_complete:
            for _ in self._building:
                pass

    def begin(self) -> None:
        """Build the name field, after the other widgets of the window."""
        # Tab order follows creation order.
        next(self._building)

    def open(self) -> None:
        """Build the rest of the first page."""
        while not self._is_open:
            next(self._building)

    def read(self, now_ms: int) -> Reading:
        """Return the current values."""
        return read_pages(self._draft, self.pages, now_ms)

    def has_changes(self, reading: Reading) -> bool:
        """Return whether a reading differs from the initial values."""
        # Only the schedule depends on the time: it is compared as of when the form was opened.
        when = None if reading.spec is None else self.pages.when.read(Findings(), self._opened_at)
        if reading.spec is None or when is None or self._start_spec is None:
            return self._contents() != self._start_contents
        return replace(reading.spec, schedule=when.schedule, anchor_at=when.anchor_at) != self._start_spec

    def _contents(self) -> dict[str, str]:
        return {name: text for page in self._pages.all() for name, text in snapshot(page).items()}

    def show_problems(self, problems: list[Problem]) -> None:
        """Show each problem at its field."""
        for page in self.pages.all():
            page.show_problems(problems)

    def place_of(self, problem: Problem) -> tuple[Page, Field] | None:
        """Return the page and the field of a problem."""
        for page in self.pages.all():
            field = page.field_of(problem.path)
            if field is not None:
                return page, field
        return None

    def focus_first(self) -> None:
        """Focus the first field of the current page."""
        self.pages.all()[self.currentIndex()].focus_first()

    def focus_first_page(self) -> None:
        """Focus the name field."""
        self._what.focus_first()

    def select_name(self, *, is_on: bool) -> None:
        """Select the name for overwriting, or deselect it so that a stray key does not replace it."""
        self._what.select_name(is_on=is_on)

    def preview_prompt(self, reading: Reading) -> None:
        """Show the prompt as the agent would receive it."""
        self._what.preview_prompt(reading.what, self._draft.job_id)

    # --- Building -------------------------------------------------------------------------------------

    def _build_on(self) -> None:
        """Build for a few milliseconds, then return to the event loop."""
        clock = QElapsedTimer()
        clock.start()
        while not self._is_complete and not clock.hasExpired(_TURN_MS):
            next(self._building, None)
        if not self._is_complete:
            QTimer.singleShot(0, self, self._build_on)

    def _build(self) -> Iterator[None]:
        spec = self._draft.start_spec()
        what = yield from self._build_what(spec)
        self._is_open = True
        yield
        when = yield from self._build_when(spec)
        yield
        conditions = ConditionsPage(self._backend, self._appearance, self._draft.settings, self)
        yield from conditions.build()
        conditions.load(spec.policy, is_stored=not self._draft.is_new)
        self._add(conditions)
        yield
        catalogue = JobCatalogue(self._backend, self._appearance, self._draft.job_id, self)
        failure = FailurePage(catalogue, self)
        failure.load(spec.policy)
        self._add(failure)
        yield
        next_jobs = NextJobsPage(self._backend, self._appearance, catalogue, self._draft.job_id, self)
        yield from next_jobs.build()
        next_jobs.load(spec.followers)
        self._add(next_jobs)
        yield
        options = yield from self._build_options(spec)
        yield
        self._pages = Pages(
            what=what, when=when, conditions=conditions, failure=failure, next_jobs=next_jobs, options=options
        )
        self._is_complete = True
        self._link_pages()
        self._remember_start()

    def _build_what(self, spec: JobSpec) -> Generator[None, None, WhatPage]:
        """Build the first page, the name field first."""
        what = self._what = WhatPage(
            self._backend, self._appearance, self._draft.settings, self._draft.is_taken, self
        )
        what.begin("" if self._draft.spec is None else spec.name)
        self.addWidget(what)
        name_at_first = snapshot(what)
        what.edited.connect(self._announce_edit)
        yield
        yield from what.build()
        yield
        quiet = QSignalBlocker(what)
        what.load(spec, is_empty=self._draft.spec is None)
        quiet.unblock()
        self._remember_contents(what)
        self._start_contents |= name_at_first
        what.part_made.connect(self._remember_contents)
        what.secret_wanted.connect(self.secret_wanted)
        return what

    def _build_when(self, spec: JobSpec) -> Generator[None, None, WhenPage]:
        when = WhenPage(self._backend, self._appearance, self)
        yield from when.build()
        yield
        when.load(spec, is_new=self._draft.is_new)
        self._add(when)
        return when

    def _build_options(self, spec: JobSpec) -> Generator[None, None, OptionsPage]:
        options = OptionsPage(self._backend, self._appearance, self._draft.groups, self)
        yield from options.build()
        options.load(spec)
        if self._draft.job_id is not None:
            options.load_usage(self._draft.job_id)
        self._add(options)
        return options

    def _link_pages(self) -> None:
        """Connect values that also appear on another page."""
        pages = self._pages
        pages.what.kind_changed.connect(self._follow_kind)
        pages.options.group_changed.connect(self._follow_group)
        pages.next_jobs.rows.changed.connect(self._follow_chain)
        pages.next_jobs.learned.connect(self._follow_chain)
        pages.failure.failure_job_chosen.connect(pages.next_jobs.rows.set_failure_job)
        pages.next_jobs.job_wanted.connect(self.job_wanted)
        pages.conditions.quiet_times_wanted.connect(self.quiet_times_wanted)
        pages.when.webhooks_wanted.connect(self.webhooks_wanted)
        pages.when.chat_wanted.connect(self.chat_wanted)
        self._follow_kind()
        self._follow_group()
        self._follow_chain()

    def _follow_kind(self) -> None:
        what = self._pages.what
        self._pages.options.follow(is_prompt=what.is_prompt, is_http=what.is_http)
        if self._draft.spec is None:
            self._pages.failure.suggest_limit(self._draft.suggested_limit(is_http=what.is_http))

    def _follow_group(self) -> None:
        self._pages.conditions.follow_group(self._pages.options.group)

    def _follow_chain(self) -> None:
        rows = self._pages.next_jobs.rows
        self._pages.failure.show_failure_job(rows.failure_job(), rows.other_failure_names())

    def _add(self, page: Page) -> None:
        self.addWidget(page)
        self._remember_contents(page)
        page.part_made.connect(self._remember_contents)
        page.edited.connect(self._announce_edit)
        page.learned.connect(self.learned)

    def _remember_contents(self, part: QWidget) -> None:
        """Remember the initial contents of a part when it is built."""
        self._start_contents.update(snapshot(part))

    def _remember_start(self) -> None:
        # Text typed before all pages were built is an edit, not the initial state. A value that is invalid now, like
        # an agent missing from the settings, may become valid later.
        given = self._draft.spec
        self._start_spec = given if self._is_edited else self.read(self._opened_at).spec or given
        self.completed.emit()

    def _announce_edit(self) -> None:
        self._is_edited = True
        self.edited.emit()
