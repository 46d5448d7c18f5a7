"""The replies to people who started a run by chat: that it waits, its questions, and its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from halo_scheduler.model import Outcome, Question, QuestionState, Run
from halo_scheduler.model.situation import asked_waiting
from halo_scheduler.rules.chains import AN_EVENT
from halo_scheduler.rules.situation import Capacities
from halo_scheduler.store.chat import ChatThread
from halo_scheduler.store.requests import Request
from halo_scheduler.store.store import Store
from halo_scheduler.wording.chat import REPLACED, later_reply, question_reply, run_reply, waiting_reply

_GONE = "The job"
# No message is sent for a short wait.
WAIT_MS = 5_000


class News(NamedTuple):
    """A reply to a thread; the thread is then closed unless the run still waits."""

    thread: ChatThread
    text: str
    closes: bool = True
    question_id: str | None = None

    def store(self, store: Store, now_ms: int) -> None:
        """Store the reply and update its thread, inside a transaction."""
        thread = self.thread
        if self.closes:
            store.chat.close_thread(thread.event_id, self.question_id)
        else:
            store.chat.note_told(thread.event_id)
        store.chat.append_reply(thread.bot, thread.channel, thread.thread, self.text, now_ms)


def news_of(
    store: Store, thread: ChatThread, now_ms: int, is_output_awaited: Callable[[str], bool]
) -> News | None:
    """Return the next reply to a thread; None if there is nothing new."""
    name = _name(store, thread)
    question = None if thread.question_id is None else store.questions.get(thread.question_id)
    if question is not None and question.state is not QuestionState.OPEN:
        return _after_answer(store, thread, question, name, is_output_awaited)
    request = store.requests.waiting_event(thread.event_id)
    if request is not None:
        return _waiting(store, thread, request, name, now_ms)
    run = store.runs.last_of_event(thread.event_id)
    if run is None:
        return News(thread, REPLACED)
    return _ended(store, thread, run, name, is_output_awaited)


def _after_answer(
    store: Store, thread: ChatThread, question: Question, name: str, is_output_awaited: Callable[[str], bool]
) -> News | None:
    run = None if question.answer_run_id is None else store.runs.get(question.answer_run_id)
    return None if run is None else _ended(store, thread, run, name, is_output_awaited)


def _waiting(store: Store, thread: ChatThread, request: Request, name: str, now_ms: int) -> News | None:
    """Return, once, a reply with what the run waits for; None for a short wait."""
    if thread.is_told or now_ms - thread.at < WAIT_MS:
        return None
    if request.at > now_ms:
        text = later_reply(name, request.at, now_ms, is_retry=request.attempt > 1)
        return News(thread, text, closes=False)
    record = store.jobs.get(thread.job_id)
    group = None if record is None else record.spec.group
    waiting = asked_waiting(
        request.waiting_for,
        request.waiting_details,
        since=request.at,
        deadline=request.waits_until,
        capacity=Capacities(store.database).find(group),
        cause_name=AN_EVENT,
    )
    return News(thread, waiting_reply(name, waiting, now_ms), closes=False)


def _ended(
    store: Store, thread: ChatThread, run: Run, name: str, is_output_awaited: Callable[[str], bool]
) -> News | None:
    if run.outcome is Outcome.RUNNING or is_output_awaited(run.id):
        return None
    question = store.questions.of_run(run.id)
    if question is not None and question.state is QuestionState.OPEN:
        return News(thread, question_reply(question.text), question_id=question.id)
    return News(thread, run_reply(name, run, store.outputs.read(run.id)))


def _name(store: Store, thread: ChatThread) -> str:
    record = store.jobs.get(thread.job_id)
    return _GONE if record is None else record.spec.name
