"""The chart above the list, with a sentence about the highlighted bar."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import date, timedelta

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from halo_scheduler.errors import SchedulerError
from halo_scheduler.model import Outcome, Run
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.words import ERRORS
from halo_scheduler.rules.statistics import DayCount
from halo_scheduler.service.scheduler import Scheduler
from ui.backend.backend import Asked, Backend, Lane
from ui.style.theme import GRID, HALF, MARGIN, Appearance
from ui.widgets.labels import label

from .chart import DayChart
from .chart_parts import Legend, bucket_words
from .choice import Bucket, Choice, DaySpan, buckets, day_start, hours, run_at, today

_FEWEST_DAYS = 30
_YOUNGEST_DAYS = 7
_MOST_DAYS = 90
_SETTLE_MS = 2_000
_DAY = timedelta(days=1)
_WEEK = 7
_Counted = tuple[list[DayCount], list[Bucket]]


class Overview(QFrame):
    """Counts runs in the background and charts them; a click on a day emits it."""

    days_picked = Signal(object)
    """A DaySpan."""

    def __init__(self, backend: Backend, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("overview")
        self.setProperty("role", "card")
        self._backend = backend
        self._choice = Choice()
        self._span = DaySpan()
        self._shown: tuple[date | None, date] | None = None
        self._asked: Asked | None = None
        self._buckets: list[Bucket] = []
        self.chart = DayChart(appearance)
        self._title = label(self.tr("Runs per day"), "strong", name="overviewTitle")
        self._words = label("", "muted", name="overviewWords")
        self._lay_out(appearance)
        self.chart.pointed.connect(self._tell)
        self.chart.chosen.connect(self._pick)
        self._settling = QTimer(self)
        self._settling.setSingleShot(True)
        self._settling.setInterval(_SETTLE_MS)
        self._settling.timeout.connect(self._count)
        backend.changed.connect(self._notice)

    def show_choice(self, choice: Choice, span: DaySpan) -> None:
        """Count the chosen runs; if only the days within the chart changed, just highlight them."""
        is_same = _without_days(choice) == _without_days(self._choice)
        is_picked = self._shown is not None and _is_within(span, self._shown)
        self._choice, self._span = choice, span
        self.chart.set_span(span)
        if choice.text:
            # Search results arrive through `show_found`.
            self._shown = self._days_to_show(span)
            self.show_found(())
            return
        if is_same and is_picked and self._buckets:
            self._tell(self.chart.pointed_bucket)
            return
        self._shown = self._days_to_show(span)
        self._count()

    def show_found(self, runs: Iterable[Run]) -> None:
        """Chart the runs that a search has found so far."""
        if self._asked is not None:
            self._asked.cancel()
        days: dict[str, Counter[Outcome]] = {}
        for run in runs:
            days.setdefault(today(run_at(run)).isoformat(), Counter())[run.outcome] += 1
        self._take(([DayCount(day, counts) for day, counts in sorted(days.items())], []))

    def _days_to_show(self, span: DaySpan) -> tuple[date | None, date]:
        """Return a span around the chosen one that fills a chart; None starts with the history."""
        now = today(self._backend.now_ms())
        if span.first is None:
            return None, span.last or now
        last = span.last or now
        if last < now and (now - span.first).days < _MOST_DAYS:
            last = now
        missing = _FEWEST_DAYS - 1 - (last - span.first).days
        if missing <= 0:
            return span.first, last
        after = min(missing // 2, max(0, (now - last).days))
        return span.first - (missing - after) * _DAY, last + after * _DAY

    def _count(self) -> None:
        if self._asked is not None:
            self._asked.cancel()
        if self._shown is None or self._choice.text:
            return
        first, last = self._shown
        self._asked = self._backend.ask(
            _counting(self._choice, first, last), self._take, self._fail, owner=self, lane=Lane.SLOW
        )

    def _take(self, counted: _Counted) -> None:
        days, by_hour = counted
        self._asked = None
        if self._shown is None:
            return
        first, last = self._shown
        oldest = date.fromisoformat(days[0].day) if days else last
        if first is None or self._span.last is None:
            # Empty days before the first run are shown for one week at most.
            begin = min(oldest, last - (_YOUNGEST_DAYS - 1) * _DAY)
            first = begin if first is None else max(first, begin)
        self._buckets = by_hour or buckets(first, last, days)
        self.chart.show_buckets(self._buckets, self._span)

    def _fail(self, error: SchedulerError) -> None:
        self._asked = None
        self._words.setText(str(error))

    def _tell(self, bucket: Bucket | None) -> None:
        self._words.setText(self._summary() if bucket is None else bucket_words(bucket))
        self._title.setText(self._title_words())

    def _title_words(self) -> str:
        first = self._buckets[0] if self._buckets else None
        if first is not None and first.hour_at is not None:
            return self.tr("Runs per hour")
        length = 1 if first is None else (first.last - first.first).days + 1
        if length == 1:
            return self.tr("Runs per day")
        return self.tr("Runs per week") if length <= _WEEK else self.tr("Runs per month")

    def _summary(self) -> str:
        counts: Counter[Outcome] = Counter()
        for bucket in self._buckets:
            if self._span.holds(bucket.first) or self._span.holds(bucket.last):
                counts.update(bucket.counts)
        total = counts.total()
        failed = sum(counts[outcome] for outcome in ERRORS)
        if not total:
            return ""
        words = self.tr("1 run") if total == 1 else self.tr("{count} runs").format(count=f"{total:,}")
        return (
            self.tr("{runs}, {failed} failed").format(runs=words, failed=f"{failed:,}") if failed else words
        )

    def _pick(self, bucket: Bucket) -> None:
        self.days_picked.emit(DaySpan(bucket.first, bucket.last))

    def _notice(self, change: Change) -> None:
        is_news = change.kind is ChangeKind.RUN_FINISHED or change.kind is ChangeKind.ENGINE
        if is_news and self.isVisible() and not self._settling.isActive():
            self._settling.start()

    def _lay_out(self, appearance: Appearance) -> None:
        head = QHBoxLayout()
        head.setSpacing(GRID)
        head.addWidget(self._title)
        head.addWidget(self._words, 1)
        head.addWidget(Legend(appearance))
        column = QVBoxLayout(self)
        column.setContentsMargins(MARGIN, GRID + HALF, MARGIN, GRID)
        column.setSpacing(GRID)
        column.addLayout(head)
        column.addWidget(self.chart)


def _counting(choice: Choice, first: date | None, last: date) -> Callable[[Scheduler], _Counted]:
    """Count by day; by hour too if there are runs on the last day only."""
    since = 0 if first is None else day_start(first)

    def count(scheduler: Scheduler) -> _Counted:
        days = choice.days(scheduler, since, day_start(last + _DAY))
        is_young = [one.day for one in days] == [last.isoformat()]
        return days, hours(scheduler, choice, last) if is_young else []

    return count


def _without_days(choice: Choice) -> tuple[object, ...]:
    return choice.job_id, choice.outcomes, choice.trigger, choice.text


def _is_within(span: DaySpan, shown: tuple[date | None, date]) -> bool:
    first, last = shown
    if span.first is None:
        return first is None
    return (first is None or span.first >= first) and (span.last or last) <= last
