"""Drawing rows: the name first, the group where there is room for it."""

from __future__ import annotations

import pytest
from job_values import NOW, make_job, make_run, row_of
from PySide6.QtGui import QColor, QImage, QPainter
from pytestqt.qtbot import QtBot

from halo_scheduler.clock import ManualClock
from halo_scheduler.model import JobStatus, Outcome
from ui.main_window.table.delegates import Letters, NameDelegate
from ui.main_window.table.job_rows import Column
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


def test_a_group_is_shown_whole_where_there_is_room(delegate: NameDelegate) -> None:
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
def test_a_status_can_be_told_without_colour(view: JobView, model: JobTableModel, status: JobStatus) -> None:
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


def test_a_job_that_asks_looks_different_from_one_that_is_ready(view: JobView, model: JobTableModel) -> None:
    seen = []
    for asks in (False, True):
        model.replace([row_of(make_job(last_outcome=Outcome.SUCCESS), asks=asks)])
        seen.append(view.grab().toImage().convertToFormat(QImage.Format.Format_Mono).copy(16, 32, 10, 36))
    assert seen[0] != seen[1]
