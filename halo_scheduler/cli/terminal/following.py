"""Following a run from the terminal: what it prints, and its end."""

from __future__ import annotations

import select
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, sleep

import click

from halo_scheduler.cli.terminal.printer import Printer
from halo_scheduler.cli.terminal.runs import cause_words, causes_of, run_words
from halo_scheduler.cli.terminal.terminal import ASKS, duration, outcome_mark, short_id
from halo_scheduler.clock import SystemClock
from halo_scheduler.errors import SchedulerError
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.ipc.client import ChangeStream, poke
from halo_scheduler.model import Outcome, QuestionState, Run, SkipReason
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.hints import proposal_words

_FAILED = 1
_INTERRUPTED = 130
_LOOK_S = 0.2
_SHORTEST_LOOK_S = 0.02
_MOMENT_S = 1.0
_PATIENCE_S = 10.0
_LONGEST_QUESTION = 1_000
_LONGEST_NOTE = 1_000


def begins(scheduler: Scheduler, run_id: str) -> bool:
    """Tell whether a run that was asked for begins, within a moment or as soon as the engine has looked."""
    with _news_of(scheduler) as news:
        moment_ends = monotonic() + _MOMENT_S
        if _begins_until(scheduler, run_id, news, lambda: monotonic() >= moment_ends):
            return True
        # The engine may only be busy: what it does not start when it looks again has to wait.
        asked_at, patience_ends = SystemClock().now_ms(), monotonic() + _PATIENCE_S
        poke(scheduler.path)

        def is_enough() -> bool:
            return (scheduler.status().last_tick_at or 0) >= asked_at or monotonic() >= patience_ends

        return _begins_until(scheduler, run_id, news, is_enough)


def _begins_until(scheduler: Scheduler, run_id: str, news: _News, is_enough: Callable[[], bool]) -> bool:
    while True:
        is_last_look = is_enough()
        if scheduler.get_run(run_id) is not None:
            return True
        if is_last_look:
            return False
        news.wait()


def follow_run(scheduler: Scheduler, run_id: str, *, raw: bool = False, quiet: bool = False) -> Run:
    """Show what a run prints until it is over, and return it."""
    printer = Printer(raw=raw, quiet=quiet)
    with _news_of(scheduler) as news, scheduler.runs.follow_output(run_id) as output:
        while True:
            run = scheduler.get_run(run_id)
            is_over = run is not None and run.outcome is not Outcome.RUNNING
            while run is not None and (chunk := output.read()):
                printer.write(chunk)
            if run is not None and is_over:
                printer.end(output.end())
                return run
            printer.draw_unfinished()
            if scheduler.status().state != "running":
                raise SchedulerError(
                    "the engine is gone; the job may go on, and is looked after when it is back"
                )
            news.wait()


def tell_end(scheduler: Scheduler, run: Run) -> None:
    """Say how a run ended, and what it asks, beside what it printed."""
    cause = cause_words(run, causes_of(scheduler, [run]))
    click.echo(f"{outcome_mark(run.outcome)} {run_words(run)}{cause}, {duration(run.duration_ms)}", err=True)
    tell_question(scheduler, run.id)


def tell_beside(scheduler: Scheduler, run: Run) -> None:
    """Say what there is to know of a run beside what it printed: what caused it, what it proposed, a note."""
    cause = cause_words(run, causes_of(scheduler, [run])).removeprefix(", ")
    proposed = "" if run.proposal is None else proposal_words(run.proposal)
    lines = (f"it ran {cause}" if cause else "", f"it proposed {proposed}" if proposed else "", run.note)
    for line in lines:
        if line:
            click.echo(click.style(f"  {plain_line(line, _LONGEST_NOTE)}", dim=True), err=True)


def tell_question(scheduler: Scheduler, run_id: str) -> None:
    """Say what a run asks, if nobody has answered."""
    question = scheduler.questions.of_run(run_id)
    if question is not None and question.state is QuestionState.OPEN:
        click.echo(f"{ASKS} it asks you: {plain_line(question.text, _LONGEST_QUESTION)}", err=True)
        click.echo(f"  answer with: halo answer {short_id(run_id)} TEXT", err=True)


def exit_code_of(run: Run) -> int:
    """Return what the command leaves with: nothing to do is no failure."""
    is_fine = run.outcome is Outcome.SUCCESS or run.reason is SkipReason.NO_WORK
    return 0 if is_fine else _FAILED


@contextmanager
def interruptible(note: str) -> Iterator[None]:
    """Let Ctrl-C end the looking, and nothing else; with a note it was waiting for an end that it does not know."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo(f"\n{note}" if note else "", err=True)
        sys.exit(_INTERRUPTED if note else 0)


@contextmanager
def _news_of(scheduler: Scheduler) -> Iterator[_News]:
    try:
        stream = ChangeStream.connect(scheduler.path)
    except OSError:
        yield _News(None)
        return
    try:
        yield _News(stream)
    finally:
        stream.close()


class _News:
    """Wakes whoever follows a run."""

    def __init__(self, stream: ChangeStream | None) -> None:
        self._stream = stream
        self._woke_at = -_SHORTEST_LOOK_S

    def wait(self) -> None:
        """Wait a moment, or for news, whichever comes first; however much news there is, never without a pause."""
        stream = self._stream
        if stream is None or not stream.is_open:
            sleep(_LOOK_S)
        elif select.select([stream], [], [], _LOOK_S)[0]:
            sleep(max(0.0, self._woke_at + _SHORTEST_LOOK_S - monotonic()))
            stream.drain()
        self._woke_at = monotonic()
