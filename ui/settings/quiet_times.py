"""The quiet hours page: times in which no scheduled run starts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from halo_scheduler.grammar.interval import MINUTE_MS
from halo_scheduler.model.settings import QuietTime, Settings
from halo_scheduler.service.scheduler import Scheduler
from ui.forms.quiet_times import called, holds_words, now_words, quiet_line
from ui.style.theme import GRID, HALF, MARGIN, Appearance, Tone, small_font, strong_font
from ui.widgets.labels import WrappedText, button, icon_button, label, tint

from .list_page import EntryRow, ListPage
from .page import SettingsLink
from .quiet_time_form import QuietTimeForm


class QuietTimeRow(EntryRow):
    """Shows quiet hours, whether they apply now, and buttons to edit and remove them."""

    edit_wanted = Signal(object)
    """The QuietTime."""
    remove_wanted = Signal(object)
    """The QuietTime."""

    def __init__(self, time: QuietTime, appearance: Appearance) -> None:
        super().__init__(time)
        self.setObjectName("quietTimeRow")
        self._time = time
        self._name = WrappedText(appearance, name="quietName", font=strong_font(self.font()), most_lines=1)
        self._name.set_text(called(time))
        small = small_font(self.font())
        self._line = WrappedText(appearance, name="quietLine", font=small, tone=Tone.MUTED, most_lines=1)
        self._line.set_text(quiet_line(time))
        self._holds = WrappedText(appearance, name="quietHolds", font=small, tone=Tone.WARN, most_lines=1)
        self._holds.setVisible(False)
        self._edit = icon_button(
            appearance, "edit", self.tr("Edit {name}…").format(name=called(time)), name="editQuietButton"
        )
        self._remove = icon_button(
            appearance, "delete", self.tr("Remove {name}").format(name=called(time)), name="removeQuietButton"
        )
        self._edit.clicked.connect(lambda: self.edit_wanted.emit(time))
        self._remove.clicked.connect(lambda: self.remove_wanted.emit(time))
        self._lay_out()

    @property
    def time(self) -> QuietTime:
        return self._time

    def show_now(self, now_ms: int) -> None:
        """Show whether they apply now."""
        self._holds.set_text(holds_words(self._time, now_ms))

    def _lay_out(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(HALF)
        for part in (self._name, self._line, self._holds):
            words.addWidget(part)
        box = QHBoxLayout(self)
        box.setContentsMargins(MARGIN, GRID + HALF, GRID, GRID + HALF)
        box.setSpacing(HALF)
        box.addLayout(words, 1)
        box.addSpacing(GRID)
        for control in (self._edit, self._remove):
            box.addWidget(control, 0, Qt.AlignmentFlag.AlignVCenter)


class QuietTimesPage(ListPage[QuietTimeRow, QuietTimeForm]):
    """Lists the quiet hours and which apply now."""

    def __init__(self, link: SettingsLink, appearance: Appearance) -> None:
        super().__init__(appearance, QuietTimeForm(), error_name="quietTimesError")
        self._link = link
        self._times: tuple[QuietTime, ...] | None = None
        self._groups: frozenset[str] = frozenset()
        self._edited: QuietTime | None = None
        # Updated every minute while visible.
        self._minute = QTimer(self)
        self._minute.setSingleShot(True)
        self._minute.timeout.connect(self._show_now)
        self.add_title(
            self.tr("Quiet hours"),
            self.tr(
                "No scheduled runs start. Due runs wait or are skipped, depending on the job. Manual runs "
                "aren't affected."
            ),
        )
        self._add_bar()
        self._add_list()
        self._form.submitted.connect(self._save)
        self._form.cancelled.connect(self._give_up)
        link.follow(self._show)

    def refresh(self) -> None:
        """Load the groups."""
        self._link.backend.ask(_groups, self._take_groups, owner=self)

    # --- Showing -------------------------------------------------------------------------------------

    def _show(self, settings: Settings) -> None:
        self._take(settings.quiet_times)

    def _take(self, times: tuple[QuietTime, ...]) -> None:
        if times != self._times:
            self._times = times
            self._fill()
        self._show_now()

    def _take_groups(self, groups: frozenset[str]) -> None:
        self._groups = groups

    def _fill(self) -> None:
        self._show_rows(
            [self._row(time) for time in self._times or ()],
            self.tr("No quiet hours"),
            self.tr(
                "Jobs start whenever they're due. Add quiet hours for nights, for meetings, or for when you "
                "need the computer for yourself."
            ),
        )
        self._new.setEnabled(True)

    def _row(self, time: QuietTime) -> QuietTimeRow:
        row = QuietTimeRow(time, self._appearance)
        row.edit_wanted.connect(self._open_form)
        row.remove_wanted.connect(self._remove)
        return row

    def _show_now(self) -> None:
        now_ms = self._link.backend.now_ms()
        self._now.setText(now_words(self._times, now_ms) if self._times else "")
        for row in self._rows:
            row.show_now(now_ms)
        if self.isVisible():
            self._minute.start(MINUTE_MS - now_ms % MINUTE_MS)

    # --- Editing -------------------------------------------------------------------------------------

    def _open_form(self, time: QuietTime | None) -> None:
        if self._has_unsaved_entry():
            return
        self._edited = time
        self._drop_note()
        self._show_error("")
        others = frozenset(one.name for one in self._times or () if one != time)
        self._form.edit(time, others, self._groups)
        self.verticalScrollBar().setValue(0)

    def _give_up(self) -> None:
        self._close_form(self._edited)

    def _save(self, time: QuietTime) -> None:
        times, old = self._times or (), self._edited
        place = next((index for index, one in enumerate(times) if one == old), len(times))
        self._apply((*times[:place], time, *times[place + 1 :]), partial(self._take_saved, time))

    def _remove(self, time: QuietTime) -> None:
        times = self._times or ()
        if time not in times or self._has_unsaved_entry():
            return
        place = times.index(time)
        self._form.discard()
        self._apply(times[:place] + times[place + 1 :], self._show_error)
        words = self.tr("{name} removed.").format(name=called(time))
        self._offer_undo(words, partial(self._restore, time, place))

    def _restore(self, time: QuietTime, place: int) -> None:
        times = self._times or ()
        self._apply((*times[:place], time, *times[place:]), self._show_error)
        self._focus(time)

    def _apply(self, times: tuple[QuietTime, ...], show_error: Callable[[str], None]) -> None:
        """Change the quiet hours and show that at once, so that a second change builds on it."""
        if self._times is not None:
            self._take(times)
            self._link.change(show_error, quiet_times=times)

    # --- Building ------------------------------------------------------------------------------------

    def _add_bar(self) -> None:
        self._new = button(self.tr("&Add quiet hours…"), name="addQuietButton")
        tint(self._new, self._appearance, "add")
        self._new.setEnabled(False)
        self._new.clicked.connect(lambda: self._open_form(None))
        self._now = label("", "muted", name="quietNow", wrap=True)
        bar = QWidget()
        box = QHBoxLayout(bar)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(MARGIN)
        box.addWidget(self._new)
        box.addWidget(self._now, 1)
        self.add(bar)
        self.add(self._error)

    # --- Qt -----------------------------------------------------------------------------------------

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        super().showEvent(event)
        self._show_now()

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802
        super().hideEvent(event)
        self._minute.stop()


def _groups(scheduler: Scheduler) -> frozenset[str]:
    return frozenset(group for _name, group in scheduler.jobs.names_and_groups() if group)
