"""Runs in the terminal: as lines of text, and followed with their output to their end."""

from __future__ import annotations

import select
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import monotonic, sleep

import click

from halo_scheduler.cli.terminal.terminal import ASKS, outcome_mark, short_id
from halo_scheduler.clock import SystemClock
from halo_scheduler.errors import SchedulerError
from halo_scheduler.grammar.text import ShownText, plain_line
from halo_scheduler.ipc.client import ChangeStream, poke
from halo_scheduler.model import Outcome, QuestionState, Run, SkipReason
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.jobs import given_words, proposal_words
from halo_scheduler.wording.measures import amount_words, took_words
from halo_scheduler.wording.runs import run_words

_ANOTHER = "another job"
_BACK = "\r\x1b[K"
_FAILED = 1
_INTERRUPTED = 130
_POLL_S = 0.2
_SHORTEST_POLL_S = 0.02
_MOMENT_S = 1.0
_PATIENCE_S = 10.0
_LONGEST_QUESTION = 1_000
_LONGEST_NOTE = 1_000


def run_line(run: Run) -> str:
    """Return everything that a run reports, in one line."""
    words = run_words(run)
    if run.outcome is Outcome.RUNNING and run.error:
        return plain_line(words, 500)  # It has not been started yet.
    if run.note:
        words += f" ({run.note})"
    if run.work_id:
        words += f", item {run.work_id}: {run.work_title}" if run.work_title else f", item {run.work_id}"
    if run.cost is not None:
        words += f", cost {amount_words(run.cost)}"
    if proposed := proposal_words(run.proposal):
        words += f", hint: {proposed}"
    return plain_line(words, 500)


def causes_of(scheduler: Scheduler, runs: Sequence[Run]) -> dict[str, str]:
    """Return the names of the jobs that triggered some runs, by the id of the triggering run."""
    caused_by = {run.caused_by for run in runs if run.caused_by is not None}
    if not caused_by:
        return {}
    names = {job.id: job.name for job in (*scheduler.list_removed(), *scheduler.list_jobs())}
    return {
        run_id: names.get(run.job_id, _ANOTHER) for run_id, run in scheduler.runs.get_many(caused_by).items()
    }


def cause_words(run: Run, causes: Mapping[str, str]) -> str:
    """Return which job triggered a run: ", after backup"; nothing for other triggers."""
    return "" if run.caused_by is None else f", after {causes.get(run.caused_by, _ANOTHER)}"


def run_data(run: Run) -> dict[str, object]:
    """Return a run as JSON data."""
    return run.to_dict() | {"duration_ms": run.duration_ms}


class Printer:
    """Writes output to the terminal, as plain text or raw.

    On a terminal, an unfinished line, such as a prompt or a progress bar, is drawn and redrawn as it changes.
    """

    def __init__(self, *, raw: bool = False, quiet: bool = False) -> None:
        self._raw = raw
        self._quiet = quiet
        self._text = ShownText()
        self._drawn = ""

    def write(self, chunk: bytes) -> None:
        """Write the complete lines of some output."""
        if self._quiet:
            return
        if self._raw:
            sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
            return
        self._write_lines(self._text.feed(chunk))

    def draw_unfinished(self) -> None:
        """Draw the unfinished line, on a terminal."""
        if self._quiet or self._raw or not sys.stdout.isatty():
            return
        line = self._text.unfinished()[: shutil.get_terminal_size().columns - 1]
        if line != self._drawn:
            self._drawn = line
            _write(f"{_BACK}{line}")

    def end(self, chunk: bytes) -> None:
        """Write the rest; an unfinished last line gets a line end."""
        self.write(chunk)
        if self._quiet or self._raw:
            return
        rest = self._text.end()
        self._write_lines(f"{rest}\n" if rest else "")

    def _write_lines(self, lines: str) -> None:
        if lines:
            _write(f"{_BACK if self._drawn else ''}{lines}")
            self._drawn = ""


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def begins(scheduler: Scheduler, run_id: str) -> bool:
    """Tell whether a requested run starts within a second, or at the engine's next tick."""
    with _changes_of(scheduler) as changes:
        moment_ends = monotonic() + _MOMENT_S
        if _begins_until(scheduler, run_id, changes, lambda: monotonic() >= moment_ends):
            return True
        # The engine may be busy: what it does not start at its next tick has to wait.
        asked_at, patience_ends = SystemClock().now_ms(), monotonic() + _PATIENCE_S
        poke(scheduler.path)

        def is_enough() -> bool:
            return (scheduler.status().last_tick_at or 0) >= asked_at or monotonic() >= patience_ends

        return _begins_until(scheduler, run_id, changes, is_enough)


def _begins_until(
    scheduler: Scheduler, run_id: str, changes: _Changes, is_enough: Callable[[], bool]
) -> bool:
    while True:
        is_last_poll = is_enough()
        if scheduler.get_run(run_id) is not None:
            return True
        if is_last_poll:
            return False
        changes.wait()


def follow_run(scheduler: Scheduler, run_id: str, *, raw: bool = False, quiet: bool = False) -> Run:
    """Show the output of a run until it ends, and return the run."""
    printer = Printer(raw=raw, quiet=quiet)
    with _changes_of(scheduler) as changes, scheduler.runs.follow_output(run_id) as output:
        while True:
            run = scheduler.get_run(run_id)
            is_over = run is not None and run.outcome is not Outcome.RUNNING
            while run is not None and (chunk := output.read()):
                printer.write(chunk)
            if run is not None and is_over:
                printer.end(output.end())
                return run
            printer.draw_unfinished()
            if scheduler.status().state == "stopped":
                raise SchedulerError(
                    "Halo stopped; the job may still be running, and Halo picks it up at the next start"
                )
            changes.wait()


def print_end(scheduler: Scheduler, run: Run) -> None:
    """Print the outcome of a run and its question, on standard error."""
    cause = cause_words(run, causes_of(scheduler, [run]))
    click.echo(f"{outcome_mark(run.outcome)} {run_line(run)}{cause}, {took_words(run.duration_ms)}", err=True)
    print_question(scheduler, run.id)


def print_details_of_run(scheduler: Scheduler, run: Run) -> None:
    """Print what triggered a run, what it was given, the hint it gave and its note, on standard error."""
    cause = cause_words(run, causes_of(scheduler, [run])).removeprefix(", ")
    proposed = proposal_words(run.proposal)
    given = given_words(run)
    lines = (
        f"ran {cause}" if cause else "",
        f"with {given}" if given else "",
        f"hint: {proposed}" if proposed else "",
        run.note,
    )
    for line in lines:
        if line:
            click.echo(click.style(f"  {plain_line(line, _LONGEST_NOTE)}", dim=True), err=True)


def print_question(scheduler: Scheduler, run_id: str) -> None:
    """Print the open question of a run, on standard error."""
    question = scheduler.questions.of_run(run_id)
    if question is not None and question.state is QuestionState.OPEN:
        click.echo(f"{ASKS} needs input: {plain_line(question.text, _LONGEST_QUESTION)}", err=True)
        click.echo(f"  answer with: halo answer {short_id(run_id)} TEXT", err=True)


def exit_code_of(run: Run) -> int:
    """Return the exit code for a run; "nothing to do" counts as success."""
    is_fine = run.outcome is Outcome.SUCCESS or run.reason is SkipReason.NO_WORK
    return 0 if is_fine else _FAILED


@contextmanager
def interruptible(note: str) -> Iterator[None]:
    """Let Ctrl-C stop following without stopping the run; with a note, exit with 130."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo(f"\n{note}" if note else "", err=True)
        sys.exit(_INTERRUPTED if note else 0)


@contextmanager
def _changes_of(scheduler: Scheduler) -> Iterator[_Changes]:
    try:
        stream = ChangeStream.connect(scheduler.path)
    except OSError:
        yield _Changes(None)
        return
    try:
        yield _Changes(stream)
    finally:
        stream.close()


class _Changes:
    """Waits for changes of the database."""

    def __init__(self, stream: ChangeStream | None) -> None:
        self._stream = stream
        self._woke_at = -_SHORTEST_POLL_S

    def wait(self) -> None:
        """Wait for a change or 0.2 s, whichever comes first, but at least 20 ms between two returns."""
        stream = self._stream
        if stream is None or not stream.is_open:
            sleep(_POLL_S)
        elif select.select([stream], [], [], _POLL_S)[0]:
            sleep(max(0.0, self._woke_at + _SHORTEST_POLL_S - monotonic()))
            stream.drain()
        self._woke_at = monotonic()
