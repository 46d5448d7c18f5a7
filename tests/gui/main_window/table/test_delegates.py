"""Painting of rows: the name first, the group where there is room for it, the trend of the last runs."""

from __future__ import annotations

import pytest
from job_values import NOW, make_job, make_run, row_of
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter
from pytestqt.qtbot import QtBot

from halo_scheduler import Command, Cron
from halo_scheduler.clock import ManualClock
from halo_scheduler.model import JobStatus, Outcome
from halo_scheduler.model.settings import Theme
from halo_scheduler.rules.statistics import TrendPoint
from ui.main_window.table.delegates import NameDelegate
from ui.main_window.table.drawings import TREND_WIDTH, Letters, bar_height, paint_trend
from ui.main_window.table.job_rows import Column, JobFilter
from ui.main_window.table.job_table import JobTableModel
from ui.main_window.table.job_view import JobView
from ui.style.theme import Appearance, contrast


@pytest.fixture
def model(qtbot: QtBot) -> JobTableModel:  # noqa: ARG001 - an application
    return JobTableModel(ManualClock(NOW))


@pytest.fixture
def view(qtbot: QtBot, model: JobTableModel) -> JobView:
    made = JobView(model, Appearance())
    qtbot.addWidget(made)
    made.resize(900, 200)
    made.show()
    return made


@pytest.fixture
def delegate(view: JobView) -> NameDelegate:
    found = view.itemDelegateForColumn(Column.NAME)
    assert isinstance(found, NameDelegate)
    return found


def test_a_group_is_shown_in_full_where_there_is_room(delegate: NameDelegate) -> None:
    whole = delegate._drawings.width("office", Letters.SMALL) + 16
    assert delegate._chip_width("office", 400, 100) == whole
    assert delegate._chip_width("", 400, 100) == 0


def test_a_name_gives_way_to_a_short_group_only_as_long_as_it_can_be_read(delegate: NameDelegate) -> None:
    assert delegate._chip_width("web", 240, 500) > 0
    assert delegate._chip_width("web", 150, 500) == 0


def test_a_long_group_is_shortened_not_the_name(delegate: NameDelegate) -> None:
    assert 64 <= delegate._chip_width("g" * 100, 400, 200) <= 192


def test_a_running_job_has_a_bar_of_its_progress(view: JobView, model: JobTableModel) -> None:
    model.replace([row_of(make_job(status=JobStatus.RUNNING, next_run_at=None))])
    seen = []
    for progress in (None, 0.1, 0.9):
        model.set_running({"backup": make_run(Outcome.RUNNING, progress=progress)})
        seen.append(view.grab().toImage())
    assert seen[0] != seen[1] != seen[2]


@pytest.mark.parametrize("status", [JobStatus.PAUSED, JobStatus.DISABLED, JobStatus.RUNNING])
def test_a_status_is_recognisable_without_colour(
    view: JobView, model: JobTableModel, status: JobStatus
) -> None:
    model.replace([row_of(make_job(last_outcome=Outcome.SUCCESS))])
    place = (16, 32, 10, 36)
    ready = view.grab().toImage().convertToFormat(view.grab().toImage().Format.Format_Mono).copy(*place)
    model.replace([row_of(make_job(status=status, last_outcome=Outcome.SUCCESS))])
    other = view.grab().toImage().convertToFormat(view.grab().toImage().Format.Format_Mono).copy(*place)
    assert ready != other


def test_the_border_of_a_group_is_seen_on_a_selected_row_too(
    view: JobView, model: JobTableModel, delegate: NameDelegate
) -> None:
    model.replace([row_of(make_job("a"))])
    view.select_ids(["a"])
    view.grab()
    ground = Appearance().colours.selected
    image = QImage(80, 36, QImage.Format.Format_RGB32)
    image.fill(QColor(ground))
    painter = QPainter(image)
    delegate._chip(painter, image.rect(), "office")
    painter.end()
    border = max(contrast(image.pixelColor(40, y).name(), ground) for y in range(12))
    assert border > 3


def test_a_job_with_a_question_is_drawn_differently_from_a_ready_one(
    view: JobView, model: JobTableModel
) -> None:
    seen = []
    for asks in (False, True):
        model.replace([row_of(make_job(last_outcome=Outcome.SUCCESS), asks=asks)])
        seen.append(view.grab().toImage().convertToFormat(QImage.Format.Format_Mono).copy(16, 32, 10, 36))
    assert seen[0] != seen[1]


@pytest.fixture
def appearance(qtbot: QtBot) -> Appearance:  # noqa: ARG001 - an application
    return Appearance(Theme.LIGHT)


def _drawn(appearance: Appearance, *outcomes: Outcome) -> QImage:
    image = QImage(TREND_WIDTH, 24, QImage.Format.Format_ARGB32)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    points = [TrendPoint(str(index), outcome, 1_000, NOW) for index, outcome in enumerate(outcomes)]
    paint_trend(painter, QRectF(0, 0, TREND_WIDTH, 24), points, appearance)
    painter.end()
    return image


def _pattern(image: QImage) -> list[int]:
    """Return where there is any colour: the shape, whatever its colour."""
    return [
        int(image.pixelColor(x, y).alpha() > 127) for y in range(image.height()) for x in range(image.width())
    ]


def test_a_run_four_times_as_long_is_twice_as_high() -> None:
    assert bar_height(1_000, 4_000, 20) == pytest.approx(bar_height(4_000, 4_000, 20) / 2)


def test_a_run_without_a_duration_can_still_be_seen() -> None:
    assert bar_height(None, 4_000, 20) > 0
    assert bar_height(0, 0, 20) > 0


def test_outcomes_differ_in_shape_not_only_in_colour(appearance: Appearance) -> None:
    kinds = (Outcome.SUCCESS, Outcome.FAILURE, Outcome.MISSED, Outcome.SKIPPED)
    patterns = [tuple(_pattern(_drawn(appearance, kind))) for kind in kinds]
    assert len(set(patterns)) == len(kinds)


def test_the_newest_run_is_at_the_right_end(appearance: Appearance) -> None:
    image = _drawn(appearance, Outcome.SUCCESS)
    columns = {x for x in range(TREND_WIDTH) for y in range(24) if image.pixelColor(x, y).alpha()}
    assert min(columns) >= TREND_WIDTH - 4


def test_of_many_runs_the_newest_are_drawn(appearance: Appearance) -> None:
    many = [Outcome.FAILURE] * 10 + [Outcome.SUCCESS] * 20
    assert _pattern(_drawn(appearance, *many)) == _pattern(_drawn(appearance, *many[-20:]))


def test_no_runs_leave_it_blank(appearance: Appearance) -> None:
    assert not any(_pattern(_drawn(appearance)))


def test_matches_are_highlighted_and_hidden_matches_are_shown(qtbot: QtBot, model: JobTableModel) -> None:
    view = JobView(model, Appearance())
    qtbot.addWidget(view)
    view.resize(900, 300)
    dump = make_job("nightly", action=Command(argv=("pg_dump", "shop")), schedule=Cron("0 9 * * 1-5"))
    model.replace([row_of(dump)])
    view.show()
    plain = view.grab().toImage()
    pictures = []
    for text in ("night", "mon–fri", "pg_dump"):
        model.set_filter(JobFilter(text=text))
        pictures.append(view.grab().toImage())
    widths = [view.columnViewportPosition(Column.SCHEDULE)]
    changed = [_changed_columns(plain, picture) for picture in pictures]
    # The name, the schedule, and behind the name what the command says.
    assert max(changed[0]) < widths[0]
    assert min(changed[1]) >= widths[0]
    assert max(changed[2]) < widths[0]
    assert min(changed[2]) > max(changed[0])


def _changed_columns(before: QImage, after: QImage) -> list[int]:
    rows = range(40, before.height())
    return [x for x in range(before.width()) if any(before.pixel(x, y) != after.pixel(x, y) for y in rows)]
