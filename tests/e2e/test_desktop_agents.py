"""The desktop program on a real X display: an agent asks, and somebody answers with the keyboard."""

from __future__ import annotations

from real_desktop import Desktop, Program, running

from halo_scheduler import Manual, Outcome, Prompt, Run, Trigger
from halo_scheduler.model import QuestionState
from halo_scheduler.model.settings import Agent
from halo_scheduler.service.scheduler import Scheduler
from ui.style.theme import LIGHT

_MAIN = "^Halo Scheduler$"
# It asks until it is given an answer, which it repeats.
_ASKS = """
prompt=$(cat)
case "$prompt" in
    "answer=") echo "::needs-input Two branches fit: main or next?"; echo "::needs-input Which one shall I take?" ;;
    *) echo "took $prompt"; echo "::cost 0.12" ;;
esac
"""
_QUESTION = "Two branches fit: main or next?\nWhich one shall I take?"


def test_an_agent_asks_and_is_answered(desktop: Desktop, scheduler: Scheduler) -> None:
    asker = Agent(name="asker", argv=("/bin/sh", "-c", _ASKS))
    scheduler.settings.change(agents=(asker,), default_agent="asker")
    job_id = scheduler.add_job("Fix the shop", Manual(), Prompt(text="answer={{answer}}"))
    with running(desktop) as program:
        desktop.wait_for_window(_MAIN)
        _let_it_ask(desktop, scheduler)
        _answer_in_the_window(desktop, scheduler, job_id)
        _close_the_window(desktop)
        # The first close is told of; later ones are not.
        desktop.wait_for(lambda: _opens_by_its_message(desktop, program))
        desktop.wait_for_window(_MAIN)
        for answer_it in (_answer_from_the_message, _answer_from_the_tray):
            _close_the_window(desktop)
            scheduler.trigger(job_id)
            answer_it(desktop, program, scheduler, job_id)


def _let_it_ask(desktop: Desktop, scheduler: Scheduler) -> None:
    desktop.key("ctrl+r")
    (question,) = desktop.wait_for(scheduler.questions.list)
    assert question.text == _QUESTION
    desktop.wait_for(lambda: _has_bar(desktop))
    desktop.picture("it asks")


def _answer_in_the_window(desktop: Desktop, scheduler: Scheduler, job_id: str) -> None:
    desktop.key("ctrl+i")
    desktop.picture("its question")
    desktop.type("take main")
    desktop.picture("an answer")
    desktop.key("ctrl+Return")
    _see_the_answer_taken(desktop, scheduler, job_id, "take main")
    desktop.picture("answered")
    desktop.wait_for(lambda: not _has_bar(desktop))
    desktop.key("Escape")
    desktop.picture("the jobs again")


def _close_the_window(desktop: Desktop) -> None:
    desktop.close_window(_MAIN)
    desktop.wait_until_gone(_MAIN)


def _answer_from_the_message(desktop: Desktop, program: Program, scheduler: Scheduler, job_id: str) -> None:
    desktop.wait_for(scheduler.questions.list)
    desktop.wait_for(lambda: _opens_by_its_message(desktop, program))
    desktop.wait_for_window(_MAIN)
    desktop.wait_for(lambda: _has_bar(desktop))
    desktop.picture("opened from the message")
    desktop.type("take both")
    desktop.key("ctrl+Return")
    _see_the_answer_taken(desktop, scheduler, job_id, "take both")


def _opens_by_its_message(desktop: Desktop, program: Program) -> bool:
    """Click where the icon's message hangs, once it does; tell whether the window is there."""
    x, y = desktop.wait_for_icon(program.pid)
    desktop.picture("message")
    if desktop.windows(_MAIN):  # On a busy machine it comes late; another click would hit what is in it.
        return True
    desktop.click(x - 150, y + 60)
    desktop.settle()
    return bool(desktop.windows(_MAIN))


def _answer_from_the_tray(desktop: Desktop, program: Program, scheduler: Scheduler, job_id: str) -> None:
    desktop.wait_for(scheduler.questions.list)
    # The menu is told anew when it opens, and again a moment later.
    desktop.wait_for(lambda: _opens_the_list(desktop, program))
    desktop.wait_for_window(_MAIN)
    desktop.wait_for(lambda: _has_bar(desktop))
    desktop.picture("opened from the tray")
    desktop.type("take next")
    desktop.key("ctrl+Return")
    _see_the_answer_taken(desktop, scheduler, job_id, "take next")


def _opens_the_list(desktop: Desktop, program: Program) -> bool:
    """Open the tray's menu and choose what stands first if somebody is needed; tell whether it was there."""
    desktop.open_tray_menu(program.pid)
    desktop.picture("tray menu")
    desktop.key("n")
    desktop.settle()
    if desktop.windows(_MAIN):
        return True
    desktop.key("Escape")
    desktop.wait_for(lambda: not desktop.menus(program.pid))
    return False


def _see_the_answer_taken(desktop: Desktop, scheduler: Scheduler, job_id: str, answer: str) -> None:
    run = desktop.wait_for(lambda: _last_answer(scheduler, job_id, answer))
    assert scheduler.get_output(run.id).startswith(f"took answer={answer}\n".encode())
    assert run.cost == 0.12
    assert not scheduler.questions.list()
    newest, *_ = scheduler.questions.list(include_settled=True)
    assert (newest.state, newest.answer) == (QuestionState.ANSWERED, answer)
    assert newest.answer_run_id == run.id


def _last_answer(scheduler: Scheduler, job_id: str, answer: str) -> Run | None:
    """Return the run that was given this answer, once it has ended well."""
    runs = scheduler.get_run_log(job_id, trigger=Trigger.ANSWER, outcome=Outcome.SUCCESS)
    settled = scheduler.questions.list(include_settled=True)
    given = {question.answer_run_id: question.answer for question in settled}
    return next((run for run in runs if given.get(run.id) == answer), None)


def _has_bar(desktop: Desktop) -> bool:
    """Tell whether the bar that somebody is needed is there: wider than any row of a table, with its mark."""
    image = desktop.image()
    ground, mark = (int(colour.removeprefix("#"), 16) for colour in (LIGHT.selected, LIGHT.warn))

    def is_coloured(x: int, y: int, colour: int) -> bool:
        return image.pixel(x, y) & 0xFFFFFF == colour

    columns = range(0, image.width(), 16)
    rows = [
        y
        for y in range(0, image.height() // 3, 2)
        if sum(is_coloured(x, y, ground) for x in columns) > 0.75 * len(columns)
    ]
    return any(is_coloured(x, y, mark) for y in rows for x in range(80))
