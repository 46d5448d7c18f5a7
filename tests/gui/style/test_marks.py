"""The marks: one shape and one colour for each meaning."""

from __future__ import annotations

import pytest
from job_values import situation_of
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QApplication

from halo_scheduler import Every, Outcome
from halo_scheduler.model import Job, JobStatus, StatusReason, WaitingFor
from ui.style.marks import ASKS, Shape, job_mark, outcome_mark, paint_mark
from ui.style.theme import Tone

_EVERY = Every("15m")


def _drawn(shape: Shape) -> bytes:
    image = QImage(24, 24, QImage.Format.Format_ARGB32)
    image.fill(Qt.GlobalColor.white)
    painter = QPainter(image)
    paint_mark(painter, QRectF(2, 2, 20, 20), shape, QColor("black"))
    painter.end()
    return bytes(image.constBits())


def test_every_shape_is_different(qapp: QApplication) -> None:  # noqa: ARG001 - painting needs it
    assert len({_drawn(shape) for shape in Shape}) == len(Shape)


def test_good_and_bad_differ_in_shape_and_colour() -> None:
    good, bad = outcome_mark(Outcome.SUCCESS), outcome_mark(Outcome.FAILURE)
    assert good.shape is not bad.shape
    assert good.tone is not bad.tone
    assert all(outcome_mark(outcome) for outcome in Outcome)


@pytest.mark.parametrize(
    ("job", "shape", "tone"),
    [
        (Job(id="j", name="n", schedule=_EVERY), Shape.RING, Tone.OK),
        (Job(id="j", name="n", schedule=_EVERY, last_outcome=Outcome.SUCCESS), Shape.CIRCLE, Tone.OK),
        (Job(id="j", name="n", schedule=_EVERY, errors=1), Shape.TRIANGLE, Tone.WARN),
        (
            Job(id="j", name="n", schedule=_EVERY, waiting_for=WaitingFor.AT_CAPACITY),
            Shape.TRIANGLE,
            Tone.WARN,
        ),
        (
            Job(
                id="j",
                name="n",
                schedule=_EVERY,
                status=JobStatus.RUNNING,
                waiting_for=WaitingFor.RESOURCES,
            ),
            Shape.TRIANGLE,
            Tone.WARN,
        ),
        (
            Job(id="j", name="n", schedule=_EVERY, status=JobStatus.RUNNING, errors=1),
            Shape.PLAY,
            Tone.RUNNING,
        ),
        (Job(id="j", name="n", schedule=_EVERY, status=JobStatus.PAUSED), Shape.BARS, Tone.PAUSED),
        (
            Job(
                id="j",
                name="n",
                schedule=_EVERY,
                status=JobStatus.PAUSED,
                status_reason=StatusReason.ASSISTANT,
            ),
            Shape.BARS,
            Tone.WARN,
        ),
        (Job(id="j", name="n", schedule=_EVERY, status=JobStatus.DISABLED), Shape.DASH, Tone.MUTED),
        (
            Job(
                id="j",
                name="n",
                schedule=_EVERY,
                status=JobStatus.DISABLED,
                status_reason=StatusReason.ERRORS,
            ),
            Shape.SQUARE,
            Tone.ERROR,
        ),
    ],
)
def test_the_mark_of_a_job(job: Job, shape: Shape, tone: Tone) -> None:
    mark = job_mark(situation_of(job))
    assert (mark.shape, mark.tone) == (shape, tone)


def test_a_job_with_a_question_has_its_own_mark_unless_it_runs() -> None:
    paused = Job(id="j", name="n", schedule=_EVERY, status=JobStatus.PAUSED)
    assert job_mark(situation_of(paused, asks=True)) == ASKS
    running = Job(id="j", name="n", schedule=_EVERY, status=JobStatus.RUNNING)
    assert job_mark(situation_of(running, asks=True)).shape is Shape.PLAY
