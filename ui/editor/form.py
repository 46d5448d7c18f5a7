"""The four pages as one form: built bit by bit, loaded, read and compared with how it began."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QStackedWidget, QWidget

from halo_scheduler.model import Cron, JobSpec
from ui.backend import Backend
from ui.theme import Look

from .also_page import AlsoPage
from .draft import Draft
from .fields import Field, Page
from .problems import Problem
from .reading import Pages, Reading, read_pages
from .snapshot import snapshot
from .trouble_page import TroublePage
from .what_page import WhatPage
from .when_page import WhenPage


class Form(QStackedWidget):
    """Shows one page at a time.

    Only the first page is made at once: all four in one go would hold up the window that opens the editor. The
    others follow while the event loop is free, or as soon as somebody asks for what is on them.
    """

    edited = Signal()
    completed = Signal()
    second_wanted = Signal()

    def __init__(self, backend: Backend, look: Look, draft: Draft, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("pages")
        self._now_ms = backend.now_ms
        self._look = look
        self._draft = draft
        self._opened_at = backend.now_ms()
        self._start_spec: JobSpec | None = None
        self._start_shapes: list[tuple[str, ...]] = []
        self._is_edited = False
        self._unbuilt: list[Callable[[], None]] = [
            self._build_when,
            self._build_trouble,
            self._build_also,
            self._note_beginning,
        ]
        self._what = WhatPage(backend, look, draft.is_taken, self)
        self._what.load(draft.start_spec(), is_empty=draft.spec is None)
        self._add(self._what)
        QTimer.singleShot(0, self, self._build_on)

    @property
    def pages(self) -> Pages:
        """All pages; those that are not yet there are made."""
        self.complete()
        return self._pages

    @property
    def is_complete(self) -> bool:
        return not self._unbuilt

    def complete(self) -> None:
        """Make what is not yet there."""
        while self._unbuilt:
            self._unbuilt.pop(0)()

    def read(self, now_ms: int) -> Reading:
        """Return what the form says now."""
        return read_pages(self._draft, self.pages, now_ms)

    def has_changes(self) -> bool:
        """Tell whether it says something else than in the beginning."""
        reading = self.read(self._opened_at)
        if reading.spec is not None and self._start_spec is not None:
            return reading.spec != self._start_spec
        return [snapshot(page) for page in self._pages.all()] != self._start_shapes

    def show_problems(self, problems: list[Problem]) -> None:
        """Put each problem beside its field."""
        for page in self.pages.all():
            page.show_problems(problems)

    def place_of(self, problem: Problem) -> tuple[Page, Field] | None:
        """Return the page and the field that a problem belongs to."""
        for page in self.pages.all():
            field = page.field_of(problem.path)
            if field is not None:
                return page, field
        return None

    def focus_first(self) -> None:
        """Give the keyboard to the first field of the current page."""
        self.pages.all()[self.currentIndex()].focus_first()

    def focus_name(self) -> None:
        """Give the keyboard to the name."""
        self._what.focus_first()

    def deselect_name(self) -> None:
        """Leave nothing selected that a stray key would replace."""
        self._what.deselect()

    def part_schedule(self) -> Cron | None:
        """Take out the times that need a second job, and return its schedule."""
        return self.pages.when.part_schedule()

    # --- Building -------------------------------------------------------------------------------------

    def _build_on(self) -> None:
        if self._unbuilt:
            self._unbuilt.pop(0)()
            QTimer.singleShot(0, self, self._build_on)

    def _add(self, page: Page) -> None:
        self.addWidget(page)
        self._start_shapes.append(snapshot(page))
        page.edited.connect(self._note_edit)

    def _build_when(self) -> None:
        self._when = WhenPage(self._now_ms, self._look, self)
        self._when.load(self._draft.start_spec(), is_new=self._draft.is_new)
        self._when.second_wanted.connect(self.second_wanted)
        self._add(self._when)

    def _build_trouble(self) -> None:
        self._trouble = TroublePage(self)
        self._trouble.load(self._draft.start_spec().policy)
        self._add(self._trouble)

    def _build_also(self) -> None:
        self._also = AlsoPage(self._look, self._draft.groups, self)
        self._also.load(self._draft.start_spec())
        self._add(self._also)

    def _note_beginning(self) -> None:
        self._pages = Pages(what=self._what, when=self._when, trouble=self._trouble, also=self._also)
        # What was typed before all was there must not count as how it began.
        given = self._draft.spec
        self._start_spec = given if self._is_edited else self.read(self._opened_at).spec
        self.completed.emit()

    def _note_edit(self) -> None:
        self._is_edited = True
        self.edited.emit()
