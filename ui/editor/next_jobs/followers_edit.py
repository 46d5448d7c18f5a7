"""The list of jobs that run when a job finishes."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QVBoxLayout, QWidget

from halo_scheduler.model import MOST_FOLLOWERS, Follower, FollowOn
from halo_scheduler.rules.chains import LinkState
from ui.editor.job_catalogue import JobCatalogue
from ui.editor.job_choice import JobChoice
from ui.forms.fields import CONTENT, Field, Findings, Page
from ui.forms.rows import RowList, link, tab_before
from ui.style.theme import GRID, HALF, Appearance, Tone
from ui.widgets.arrange import show_if
from ui.widgets.labels import WrappedText, icon_button, tint


class FollowersEdit(QWidget):
    """One row per job; the list is loaded and read as a whole."""

    changed = Signal()
    job_wanted = Signal(str)
    """The id of a job to open."""

    def __init__(self, catalogue: JobCatalogue, appearance: Appearance, page: Page) -> None:
        super().__init__()
        self.setObjectName("followers")
        self._catalogue = catalogue
        self._appearance = appearance
        self._page = page
        self._rows: RowList[FollowerRow] = RowList(page, stem="follower", path="followers", spacing=GRID)
        self._add = link(self.tr("Add a job"), name="followersAdd")
        tint(self._add, appearance, "add")
        adding = page.watch_field(
            Field("", self._add, path="followers", subject=self.tr("The list of jobs"), target=self._add)
        )
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GRID)
        layout.addLayout(self._rows.layout)
        layout.addWidget(adding, alignment=Qt.AlignmentFlag.AlignLeft)
        self._add.clicked.connect(self._add_and_focus)
        catalogue.changed.connect(self._show_states)

    def focus_first(self) -> None:
        """Focus the first job, or the link that adds one."""
        first = next(iter(self._rows), None)
        (self._add if first is None else first.on).setFocus()

    def load(self, followers: Iterable[Follower]) -> None:
        """Show these jobs."""
        self._rows.clear()
        for follower in followers:
            self._add_row(follower.on, follower.job_id)
        self._follow()

    def read(self, findings: Findings) -> tuple[Follower, ...] | None:
        """Return the next jobs, or None after recording the problems."""
        found: list[Follower] = []
        for index, row in enumerate(self._rows):
            path = f"followers[{index}]"
            if not row.job.job_id:
                findings.miss(f"{path}.job_id", self.tr("Choose a job."))
                continue
            if any(follower.job_id == row.job.job_id for follower in found):
                findings.refuse(f"{path}.job_id", self.tr("Already listed. Set it to “Always” instead."))
                continue
            follower = findings.take(path, row.read)
            found += [] if follower is None else [follower]
        return tuple(found) if len(found) == len(self._rows) else None

    def names(self) -> tuple[str, ...]:
        """Return the names of the jobs, where known."""
        return tuple(row.job.name for row in self._rows)

    # --- Jobs that run after a failure ---------------------------------------------------------------

    def failure_job(self) -> str:
        """Return the id of the first job that runs only after failures; empty for none."""
        row = self._failure_row()
        return "" if row is None else row.job.job_id

    def other_failure_names(self) -> tuple[str, ...]:
        """Return the names of the other jobs that run after a failure."""
        first = self._failure_row()
        on = (FollowOn.FAILURE, FollowOn.ALWAYS)
        return tuple(row.job.name for row in self._rows if row is not first and row.choice in on)

    def set_failure_job(self, job_id: str) -> None:
        """Replace the job that runs after failures; a job listed for successes then runs always."""
        row = self._failure_row()
        other = next((one for one in self._rows if one is not row and one.job.job_id == job_id), None)
        if job_id and other is not None:
            other.choose(FollowOn.ALWAYS)
        if row is not None and (not job_id or other is not None):
            self._rows.drop(row)
        elif row is not None:
            row.job.set_job(job_id)
        elif job_id and other is None and len(self._rows) < MOST_FOLLOWERS:
            self._add_row(FollowOn.FAILURE, job_id)
        self._announce_change()

    def _failure_row(self) -> FollowerRow | None:
        return next((row for row in self._rows if row.choice is FollowOn.FAILURE), None)

    # --- Rows ----------------------------------------------------------------------------------------

    def _add_and_focus(self) -> None:
        row = self._add_row(FollowOn.SUCCESS, "")
        self._follow()
        row.job.setFocus()
        self._page.ensureWidgetVisible(row.field)
        self.changed.emit()

    def _add_row(self, on: FollowOn, job_id: str) -> FollowerRow:
        row = FollowerRow(self._catalogue, self._appearance, name=self._rows.next_name)
        row.choose(on)
        row.job.set_job(job_id)
        self._rows.append(row)
        tab_before(self._add, [stop for one in self._rows for stop in one.stops])
        row.changed.connect(self._announce_change)
        row.removal_wanted.connect(self._remove)
        row.job_wanted.connect(self.job_wanted)
        return row

    def _remove(self, row: FollowerRow) -> None:
        neighbour = self._rows.drop(row)
        if neighbour is not None:
            neighbour.on.setFocus()
        else:
            self._add.setFocus()
        self._announce_change()

    def _announce_change(self) -> None:
        self._follow()
        self.changed.emit()

    def _follow(self) -> None:
        self._catalogue.follow(row.job.job_id for row in self._rows if row.job.job_id)
        self._add.setEnabled(len(self._rows) < MOST_FOLLOWERS)
        self._show_states()

    def _show_states(self) -> None:
        for row in self._rows:
            row.show_state()


class FollowerRow(QWidget):
    """When to run, which job, and what keeps that job from running."""

    changed = Signal()
    removal_wanted = Signal(object)
    job_wanted = Signal(str)

    def __init__(self, catalogue: JobCatalogue, appearance: Appearance, *, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setProperty(CONTENT, "")
        self._catalogue = catalogue
        self._refusal = ""
        self.on = QComboBox()
        self.on.setObjectName(f"{name}On")
        self.on.setAccessibleName(self.tr("When to run"))
        self.on.addItem(self.tr("On success"), FollowOn.SUCCESS)
        self.on.addItem(self.tr("On failure"), FollowOn.FAILURE)
        self.on.addItem(self.tr("Always"), FollowOn.ALWAYS)
        self.job = JobChoice(
            catalogue, name=f"{name}Job", title=self.tr("Job to run"), placeholder=self.tr("choose a job")
        )
        self._open = icon_button(appearance, "external", self.tr("Open this job"), name=f"{name}Open")
        self._remove = icon_button(appearance, "close", self.tr("Remove"), name=f"{name}Remove")
        self._note = WrappedText(appearance, name=f"{name}Note", tone=Tone.WARN)
        head = QHBoxLayout()
        head.setSpacing(GRID)
        head.addWidget(self.on)
        head.addWidget(self.job, 1)
        buttons = QHBoxLayout()
        buttons.setSpacing(HALF)
        buttons.addWidget(self._open)
        buttons.addWidget(self._remove)
        head.addLayout(buttons)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(HALF)
        layout.addLayout(head)
        layout.addWidget(self._note)
        self._note.hide()
        self.field = _RowField(self)
        self.on.currentIndexChanged.connect(self.changed)
        self.job.chosen.connect(self._announce_change)
        self.job.refused.connect(self._show_refusal)
        self._open.clicked.connect(self._want_job)
        self._remove.clicked.connect(self._want_removal)

    @property
    def stops(self) -> list[QWidget]:
        """The widgets in Tab order."""
        return [self.on, self.job, self._open, self._remove]

    @property
    def choice(self) -> FollowOn:
        return FollowOn(self.on.currentData())

    def choose(self, on: FollowOn) -> None:
        """Show when the job runs."""
        self.on.setCurrentIndex(self.on.findData(on))

    def read(self) -> Follower:
        """Return the job and when it runs."""
        return Follower(job_id=self.job.job_id, on=self.choice)

    def show_state(self) -> None:
        """Show what keeps the job from running."""
        self.setProperty(CONTENT, self.job.job_id)
        entry = self._catalogue.entry(self.job.job_id)
        state = LinkState.OK if entry is None else entry.state
        words = {
            LinkState.OK: "",
            LinkState.PAUSED: self.tr("This job is paused and is skipped until you resume it."),
            LinkState.DISABLED: self.tr("This job is disabled and is skipped until you enable it."),
            LinkState.REMOVED: self.tr(
                "This job was removed, so nothing runs. Restore it or choose another."
            ),
        }[state]
        # An error takes precedence over the job's state.
        shown = self._refusal or ("" if self.field.error else words)
        self._note.set_text(shown)
        show_if(self._note, bool(shown))
        self._open.setEnabled(bool(self.job.job_id) and state is not LinkState.REMOVED)

    def _announce_change(self) -> None:
        self._refusal = ""
        self.changed.emit()

    def _show_refusal(self, sentence: str) -> None:
        self._refusal = sentence
        self.show_state()

    def _want_job(self) -> None:
        self.job_wanted.emit(self.job.job_id)

    def _want_removal(self) -> None:
        self.removal_wanted.emit(self)


class _RowField(Field):
    """Updates the note of its row with the error."""

    def __init__(self, row: FollowerRow) -> None:
        super().__init__("", row, subject=row.tr("The choice"), target=row.job, targets={"on": row.on})
        self._row = row

    def show_error(self, sentence: str, path: str = "") -> None:
        """Show or clear the error below the row."""
        super().show_error(sentence, path)
        self._row.show_state()
