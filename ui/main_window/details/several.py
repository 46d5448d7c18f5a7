"""A selection of several jobs in the pane beside the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from operator import attrgetter

from PySide6.QtWidgets import QVBoxLayout, QWidget

from halo_scheduler.model import Job, JobStatus
from ui.main_window.job_actions import JobActions
from ui.style.theme import GRID, HALF, MARGIN, Appearance, Tone, title_font
from ui.style.wording import status_words, waited_for
from ui.widgets.wrapped_text import WrappedText

from .actions import ActionButtons

# What makes a job's status words: taken from thousands of jobs, the words made for a few.
_STATUS = attrgetter("status", "status_reason", "waiting_for", "waiting_reason", "errors")


class SeveralJobs(QWidget):
    """A selection of several jobs: how many, what they do, what can be done with all of them."""

    def __init__(self, appearance: Appearance, actions: JobActions) -> None:
        super().__init__()
        self._title = WrappedText(appearance, name="severalTitle", font=title_font(self.font()))
        self._counts = WrappedText(appearance, name="severalCounts", tone=Tone.MUTED)
        self._buttons = ActionButtons(appearance, actions, "several")
        column = QVBoxLayout(self)
        column.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        column.setSpacing(GRID)
        column.addWidget(self._title)
        column.addWidget(self._counts)
        column.addSpacing(HALF)
        column.addWidget(self._buttons)
        column.addStretch(1)

    def show_jobs(self, jobs: tuple[Job, ...], asking: Container[str] = ()) -> None:
        """Show how many of some jobs do what; those of `asking` wait for an answer."""
        self._title.set_text(self.tr("{count} jobs selected").format(count=len(jobs)))
        statuses = [(_STATUS(job), job.id in asking) for job in jobs]
        alike = dict(zip(statuses, jobs, strict=True))
        counts: Counter[str] = Counter()
        reasons = {waited_for(job) for (_, asks), job in alike.items() if _only_waits(job, asks=asks)}
        for status, count in Counter(statuses).items():
            job, asks = alike[status], status[1]
            # What each of them waits for would be a long list.
            is_one_of_many = len(reasons) > 1 and _only_waits(job, asks=asks)
            words = self.tr("Waiting") if is_one_of_many else status_words(job, asks=asks)
            counts[words] += count
        self._counts.set_text("\n".join(f"{count} × {words}" for words, count in counts.most_common()))
        self._buttons.fit()


def _only_waits(job: Job, *, asks: bool) -> bool:
    """Tell whether a job's status is that it waits."""
    return job.waiting_for is not None and job.status is JobStatus.IDLE and not asks
