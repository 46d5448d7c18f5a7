"""The open questions as the window shows them, and answering them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QUrl

from halo_scheduler.model import JobStatus, Question, Run
from halo_scheduler.service.scheduler import Scheduler
from ui.style.wording import one_line

MOST_READ = 1_000
_LONGEST_LINE = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenQuestion:
    """A question with its job's name and its work item."""

    id: str
    job_id: str
    run_id: str
    job_name: str
    asked_at: int
    text: str
    """Plain lines."""
    item: str = ""
    """One plain line; empty without an item."""
    item_url: str = ""
    """A URL for the browser, or empty."""


class Sent(StrEnum):
    """What happens after an answer was sent."""

    STARTS = "starts"
    WAITS_FOR_RUN = "waits-for-run"
    WAITS_FOR_PLACE = "waits-for-place"
    WAITS_FOR_ENGINE = "waits-for-engine"


def read_questions(scheduler: Scheduler) -> tuple[OpenQuestion, ...]:
    """Return the open questions, oldest first."""
    asked = scheduler.questions.list(limit=MOST_READ)
    jobs = scheduler.jobs.get_many({question.job_id for question in asked})
    return tuple(
        _shown(question, jobs[question.job_id].name, _run_of(scheduler, question))
        for question in asked
        if question.job_id in jobs
    )


def send_answer(scheduler: Scheduler, question: OpenQuestion, text: str) -> Sent:
    """Answer a question; return whether its run starts now, or what it waits for."""
    run_id = scheduler.questions.answer(question.id, text)
    if scheduler.get_run(run_id) is not None:
        return Sent.STARTS
    job = scheduler.get_job(question.job_id)
    if job is not None and job.status is JobStatus.RUNNING:
        return Sent.WAITS_FOR_RUN
    status = scheduler.status()
    if status.state != "running":
        return Sent.WAITS_FOR_ENGINE
    has_place = status.running < scheduler.settings.read().max_concurrent
    return Sent.STARTS if has_place else Sent.WAITS_FOR_PLACE


def _run_of(scheduler: Scheduler, question: Question) -> Run | None:
    # Only runs with items matter here; such a run may have been pruned.
    return scheduler.get_run(question.run_id) if question.work_id else None


def _shown(question: Question, job_name: str, run: Run | None) -> OpenQuestion:
    title = "" if run is None else run.work_title
    return OpenQuestion(
        id=question.id,
        job_id=question.job_id,
        run_id=question.run_id,
        job_name=one_line(job_name),
        asked_at=question.asked_at,
        text=plain_lines(question.text),
        item=item_words(question.work_id, title),
        item_url=web_address("" if run is None else run.work_url),
    )


def plain_lines(text: str) -> str:
    """Return a text from outside as plain lines."""
    return "\n".join(one_line(line, _LONGEST_LINE) for line in text.split("\n")).strip()


def item_words(work_id: str, title: str) -> str:
    """Return an item's title as one line."""
    return " · ".join(dict.fromkeys(filter(None, [one_line(work_id), one_line(title)])))


def web_address(url: str) -> str:
    """Return a URL if it is safe for a browser: items come from outside."""
    parsed = QUrl(url, QUrl.ParsingMode.StrictMode)
    is_for_browsers = parsed.isValid() and parsed.scheme() in ("http", "https") and bool(parsed.host())
    return url if is_for_browsers and not parsed.userInfo() else ""
