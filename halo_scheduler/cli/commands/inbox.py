"""`halo inbox` and `halo answer`: questions of runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import click

from halo_scheduler.cli.options.option_values import text_of_stdin
from halo_scheduler.cli.terminal.completions import complete_questions
from halo_scheduler.cli.terminal.following import begins, exit_code_of, follow_run, interruptible, print_end
from halo_scheduler.cli.terminal.terminal import ASKS, moment, open_to_read, short_id, typed
from halo_scheduler.errors import JobNotFoundError, SchedulerError
from halo_scheduler.grammar.text import plain_line, shown_spec
from halo_scheduler.model import Question, QuestionState
from halo_scheduler.model.changes import TERMINAL
from halo_scheduler.service.lookup import MOST_QUESTIONS, near_name, open_questions, require_engine
from halo_scheduler.service.scheduler import Scheduler

_MOST_SETTLED = 100
_SHORTEST_PREFIX = 4
_LONGEST_TITLE = 200


@click.command()
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help=f"The newest {_MOST_SETTLED}, including answered and dismissed ones.",
)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable; times in epoch milliseconds.")
def inbox(*, everything: bool, as_json: bool) -> None:
    """List open questions, oldest first. Their jobs are on hold until you answer or dismiss them.

    \b
    Examples:
      halo inbox
      halo answer 3f2a9c1b "Take the second one."
      halo answer 3f2a9c1b --dismiss
    """
    with open_to_read() as scheduler:
        limit = _MOST_SETTLED if everything else MOST_QUESTIONS
        found = scheduler.questions.list(include_settled=everything, limit=limit)
        names = _names(scheduler)
    if as_json:
        data = [question.to_dict() | {"job_name": names.get(question.job_id)} for question in found]
        click.echo(json.dumps(data, ensure_ascii=False, indent=2))
        return
    if not found:
        click.echo("no questions yet" if everything else "no open questions")
    for question in found:
        _show(question, names.get(question.job_id, question.job_id))
    if any(question.state is QuestionState.OPEN for question in found):
        click.echo(click.style("answer with: halo answer RUN TEXT", dim=True))


def _show(question: Question, name: str) -> None:
    is_open = question.state is QuestionState.OPEN
    mark = ASKS if is_open else click.style("◌", dim=True)
    about = f" · on {plain_line(question.work_id, _LONGEST_TITLE)}" if question.work_id else ""
    state = "" if is_open else f" · {question.state}"
    click.echo(
        f"{mark} {click.style(name, bold=True)} · {moment(question.asked_at)} · "
        f"{short_id(question.run_id)}{about}{state}"
    )
    for line in shown_spec(question.text).splitlines():
        click.echo(f"    {line}")
    if question.answer:
        click.echo(click.style(f"    → {plain_line(question.answer, _LONGEST_TITLE)}", dim=True))


@click.command()
@click.argument("run", metavar="RUN", shell_complete=complete_questions)
@click.argument("text", required=False, metavar="TEXT|-")
@click.option("--dismiss", is_flag=True, help="Dismiss the question without an answer.")
@click.option("--wait", is_flag=True, help="Show the output of the run; exit with 1 unless it succeeds.")
def answer(*, run: str, text: str | None, dismiss: bool, wait: bool) -> None:
    """Answer a question; the job runs again with your answer.

    \b
    Examples:
      halo answer 3f2a9c1b "Take the second one."
      halo answer review --wait - <answer.md
      halo answer review --dismiss

    RUN is the id that "halo inbox" shows, or the name of a job with one open question. With - as TEXT, the answer
    is read from standard input.
    """
    if dismiss == (text is not None):
        raise click.UsageError("give either an answer or --dismiss")
    if dismiss and wait:
        raise click.UsageError("--wait needs an answer; dismissing starts no run")
    with Scheduler.open(actor=TERMINAL) as scheduler:
        if wait:
            require_engine(scheduler)
        question = _find_question(scheduler, run)
        name = _names(scheduler).get(question.job_id, question.job_id)
        if text is None:
            scheduler.questions.dismiss(question.id)
            click.echo(f"dismissed{_after_dismissal(scheduler, question.job_id, name)}")
            return
        said = text_of_stdin("the answer") if text == "-" else text
        run_id = scheduler.questions.answer(question.id, said)
        if wait:
            _wait_for(scheduler, run_id, name)
        click.echo(_after_answer(scheduler, run_id, name))


def _after_dismissal(scheduler: Scheduler, job_id: str, name: str) -> str:
    job = scheduler.get_job(job_id)
    if open_questions(scheduler, job_id):
        return f"; {name} has more open questions"
    return "" if job is None or job.next_run_at is None else f"; {name} is back on schedule"


def _wait_for(scheduler: Scheduler, run_id: str, name: str) -> None:
    with interruptible(f"{name} is still running; stop it with: halo cancel {typed(name)}"):
        done = follow_run(scheduler, run_id)
    print_end(scheduler, done)
    sys.exit(exit_code_of(done))


def _after_answer(scheduler: Scheduler, run_id: str, name: str) -> str:
    if scheduler.status().state != "running":
        return f"answered; {name} runs as soon as Halo is running; start it with: halo daemon"
    if begins(scheduler, run_id):
        return f"answered; started {name}"
    return f"answered; {name} runs when the current run or the limit allows it"


def _find_question(scheduler: Scheduler, wanted: str) -> Question:
    """Return the open question for a run or a job; refuse with the reason."""
    names = _names(scheduler)
    opened = scheduler.questions.list(limit=MOST_QUESTIONS)
    found = _matching(opened, wanted, names)
    if len(found) == 1:
        return found[0]
    if found:
        runs = ", ".join(short_id(question.run_id) for question in found[:5])
        raise click.UsageError(f"{wanted} has {len(found)} open questions; give the run: {runs}")
    settled = _matching(scheduler.questions.list(include_settled=True, limit=MOST_QUESTIONS), wanted, names)
    if settled:
        raise SchedulerError(f"the question is already {settled[0].state}")
    asking = [names.get(question.job_id, "") for question in opened]
    hint = near_name(wanted, [*asking, *(short_id(question.run_id) for question in opened)])
    raise JobNotFoundError(f"no open question of {wanted!r}{hint}")


def _matching(questions: Sequence[Question], wanted: str, names: dict[str, str]) -> list[Question]:
    """Return the questions with this id, or of this run or job; a full id wins over a name, a name over a prefix."""
    exact = [question for question in questions if wanted in (question.run_id, question.id)]
    named = [question for question in questions if wanted in (question.job_id, names.get(question.job_id))]
    if exact or named or len(wanted) < _SHORTEST_PREFIX:
        return exact or named
    return [question for question in questions if question.run_id.startswith(wanted)]


def _names(scheduler: Scheduler) -> dict[str, str]:
    return {job.id: job.name for job in (*scheduler.list_removed(), *scheduler.list_jobs())}
