"""What runs say about themselves and ask, heard from real processes and real answers."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_shop import AgentShop, open_agent_shop, quiet_machine
from commands import shell
from http_site import Page, Site, Visit, open_site
from process_probe import end_all, pids_in, until
from pytestqt.qtbot import QtBot

from halo_scheduler import Every, HttpRequest, Manual, Outcome, Policy, Run, ScheduleError
from halo_scheduler.actions.spool import Spool, spool_folder
from halo_scheduler.clock import ManualClock
from halo_scheduler.model import HintSource, Proposal, Question, QuestionState, SkipReason
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.store.settings import SPOOL_LIMIT_BYTES

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the programs are those of POSIX")

_SECRET = "correct horse battery"  # noqa: S105 - of this test only
_WORDS = "echo ::cost 0.12; echo '::needs-input red or blue?'; echo ::cost 0.5; echo ::cost nan; exit 3"


@pytest.fixture(autouse=True)
def _quiet_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with quiet_machine(tmp_path, monkeypatch):
        yield


@pytest.fixture
def shop(tmp_path: Path, qtbot: QtBot) -> Iterator[AgentShop]:
    with open_agent_shop(tmp_path, qtbot) as found:
        yield found


@pytest.fixture
def site() -> Iterator[Site]:
    with open_site() as found:
        yield found


def _question(shop: AgentShop, run: Run) -> Question:
    question = shop.scheduler.questions.of_run(run.id)
    assert question is not None
    return question


# --- Lines ----------------------------------------------------------------------------------------


def test_directives_of_a_command_are_read_when_enabled(shop: AgentShop) -> None:
    run = shop.run(shell(_WORDS), reads_lines=True)
    assert (run.outcome, run.exit_code, run.cost) == (Outcome.FAILURE, 3, 0.62)
    assert run.note == "a line of its output could not be read: ::cost nan"
    question = _question(shop, run)
    assert (question.text, question.state) == ("red or blue?", QuestionState.OPEN)
    assert "::cost 0.12" in shop.text(run)


def test_directives_of_a_command_are_not_read_by_default(shop: AgentShop) -> None:
    run = shop.run(shell(_WORDS))
    assert (run.exit_code, run.cost, run.note) == (3, None, "")
    assert shop.scheduler.questions.of_run(run.id) is None


def test_directives_of_an_agent_are_read_unless_disabled(shop: AgentShop) -> None:
    action = shop.prompt("x", ["say", "::cost 0.12"], ["say", "::needs-input well?"])
    run = shop.run(action)
    assert (run.outcome, run.cost, _question(shop, run).text) == (Outcome.SUCCESS, 0.12, "well?")
    run = shop.run(action, reads_lines=False)
    assert (run.outcome, run.cost) == (Outcome.SUCCESS, None)
    assert shop.scheduler.questions.of_run(run.id) is None


def test_a_line_that_is_printed_in_pieces_is_one_line(shop: AgentShop) -> None:
    line = "printf '::co'; sleep 0.6; printf 'st 1.'; sleep 0.6; printf '5\\n::cost'; sleep 0.6; printf ' 2'"
    assert shop.run(shell(line), reads_lines=True).cost == 3.5


def test_a_stopped_run_keeps_the_cost_it_reported(shop: AgentShop) -> None:
    run = shop.run(
        shell("echo ::cost 1; trap 'echo ::cost 2; exit 0' TERM; sleep 60 & wait", grace="5s"),
        reads_lines=True,
        time_limit="2s",
    )
    assert (run.outcome, run.cost) == (Outcome.TIMEOUT, 3.0)


def test_progress_is_read_along_with_other_directives(shop: AgentShop) -> None:
    run = shop.run(shell("echo ::progress 0.5 half; echo ::cost 1; sleep 0.5"), reads_lines=True)
    assert (run.progress, run.progress_text, run.cost, run.note) == (0.5, "half", 1.0, "")


def test_directives_in_the_middle_of_long_output_are_read(shop: AgentShop) -> None:
    shop.scheduler._store.settings.set_number(SPOOL_LIMIT_BYTES, 4 << 20)
    big = "head -c 40000000 /dev/zero | tr '\\0' x; echo"
    line = f"echo ::cost 1; {big}; echo ::cost 2; {big}; echo ::cost 4; {big}; echo ::cost 8; echo end"
    began = time.process_time()
    run = shop.run(shell(line), reads_lines=True)
    assert (run.outcome, run.cost) == (Outcome.SUCCESS, 15.0)
    assert shop.text(run).endswith("\n::cost 8\nend\n")
    assert time.process_time() - began < 15


def test_long_output_is_read_at_once_and_then_shortened(tmp_path: Path) -> None:
    clock = ManualClock(1_735_689_600_000)
    big = "head -c 100000000 /dev/zero | tr '\\0' x; echo"
    line = f"echo ::cost 1; {big}; echo ::cost 2; touch written; while [ ! -e go ]; do sleep 0.02; done"
    with Scheduler.open(tmp_path / "by hand.db", clock=clock) as scheduler:
        scheduler._store.settings.set_number(SPOOL_LIMIT_BYTES, 4 << 20)
        action = shell(line, directory=str(tmp_path))
        job_id = scheduler.add_job("job", Manual(), action, policy=Policy(reads_lines=True))
        run_id = scheduler.trigger(job_id)
        scheduler.tick()
        until((tmp_path / "written").exists)
        scheduler.tick()
        # From here on no time passes: what is behind is looked after without a pause.
        clock.advance(1_000)
        output = Path(Spool(spool_folder(scheduler.path), run_id).output_path)

        def is_cut() -> bool:
            scheduler.tick()
            return output.stat().st_blocks * 512 <= 4 << 20

        until(is_cut)
        (tmp_path / "go").touch()

        def is_over() -> bool:
            scheduler.tick()
            run = scheduler.get_run(run_id)
            return run is not None and run.outcome is not Outcome.RUNNING

        until(is_over)
        run = scheduler.get_run(run_id)
        assert run is not None
        assert (run.outcome, run.cost) == (Outcome.SUCCESS, 3.0)


_CHATTERS = "while :; do echo x; done"


def test_output_without_a_pause_is_not_polled_without_a_pause(tmp_path: Path) -> None:
    clock = ManualClock(1_735_689_600_000)
    line = f"echo $$ >a.pid; {_CHATTERS}"
    with Scheduler.open(tmp_path / "by hand.db", clock=clock) as scheduler:
        action = shell(line, directory=str(tmp_path), grace="1s")
        job_id = scheduler.add_job("job", Manual(), action, policy=Policy(reads_lines=True))
        run_id = scheduler.trigger(job_id)
        scheduler.tick()
        until(lambda: pids_in(tmp_path))
        engine = scheduler.engine.get_engine()
        # That it was started is told by another thread.
        until(lambda: engine.drain_inbox() or engine._runs.works[run_id].next_poll_at)
        for _ in range(20):
            scheduler.tick()
            clock.advance(1_000)
            scheduler.tick()
            next_poll_at = engine._runs.works[run_id].next_poll_at
            assert next_poll_at is not None
            assert next_poll_at >= clock.now_ms() + 500
        end_all(pids_in(tmp_path))


def test_a_process_left_printing_does_not_keep_its_run_from_ending(
    shop: AgentShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It prints faster than anybody listens.
    monkeypatch.setattr("halo_scheduler.actions.process._MOST_HEARD", 32)
    chatters = f"setsid sh -c 'echo $$ >left.pid; {_CHATTERS}' & while [ ! -s left.pid ]; do sleep 0.02; done"
    run = shop.run(shell(f"{chatters}; echo ::cost 1; exit 0", directory=str(shop.folder)), reads_lines=True)
    assert (run.outcome, run.cost) == (Outcome.SUCCESS, 1.0)
    end_all(pids_in(shop.folder))


def test_a_run_that_repeats_a_directive_endlessly_can_be_stopped(shop: AgentShop) -> None:
    shop.scheduler._store.settings.set_number(SPOOL_LIMIT_BYTES, 1 << 20)
    run = shop.run(shell("yes ::cost 0.5", grace="1s"), reads_lines=True, time_limit="2s")
    assert (run.outcome, run.cost) == (Outcome.TIMEOUT, 5_000.0)
    assert "the rest was ignored" in run.note


def test_a_secret_is_not_in_a_question(shop: AgentShop) -> None:
    shop.scheduler.secrets.set("TOKEN", _SECRET, in_file=True)
    line = 'printf "::needs-input is it ${T%% *}"; sleep 0.4; echo " ${T#* }?"'
    run = shop.run(shell(line, environment={"T": "${secret:TOKEN}"}), reads_lines=True)
    assert _question(shop, run).text == "is it ***?"


# --- Proposals ------------------------------------------------------------------------------------

_MINUTE = 60_000


def test_a_hint_of_a_command_is_stored_with_its_run_when_directives_are_read(shop: AgentShop) -> None:
    shop.scheduler.secrets.set("TOKEN", _SECRET, in_file=True)
    line = (
        'echo "::halo every=5m ttl=2h reason=\\"it is $T\\""; echo ::halo every=2; '
        "printf '::halo ne'; sleep 0.4; echo xt=1m; exit 3"
    )
    action = shell(line, environment={"T": "${secret:TOKEN}"})
    run = shop.run(action, reads_lines=True)
    assert (run.outcome, run.exit_code) == (Outcome.FAILURE, 3)
    assert run.proposal == Proposal(
        every_ms=5 * _MINUTE, next_ms=_MINUTE, ttl_ms=120 * _MINUTE, reason="it is ***"
    )
    assert run.note.startswith("a line of its output could not be read: ::halo every=2 (every: ")
    run = shop.run(action)
    assert (run.outcome, run.proposal, run.note) == (Outcome.FAILURE, None, "")


def test_a_hint_of_an_agent_is_stored_with_its_run_unless_disabled(shop: AgentShop) -> None:
    action = shop.prompt("x", ["say", "::halo next=10m"])
    assert shop.run(action).proposal == Proposal(next_ms=10 * _MINUTE)
    assert shop.run(action, reads_lines=False).proposal is None


def test_a_hint_of_a_run_makes_its_job_run_sooner(shop: AgentShop) -> None:
    action = shell("echo '::halo every=5m reason=\"long queue\"'")
    job_id = shop.scheduler.add_job("job", Every("1d"), action, policy=Policy(reads_lines=True))
    run = shop.end_of(shop.scheduler.trigger(job_id))
    job = shop.scheduler.get_job(job_id)
    assert job is not None
    assert run.finished_at is not None
    assert job.next_run_at == run.finished_at + 5 * _MINUTE
    assert (job.hints.source, job.hints.reason) == (HintSource.JOB, "long queue")
    assert job.hints.expires_at == run.finished_at + 60 * _MINUTE
    assert "could not be read" not in run.note


def test_a_stopped_run_keeps_the_hint_it_printed(shop: AgentShop) -> None:
    action = shell("echo ::halo every=5m; sleep 60", grace="1s")
    run = shop.run(action, reads_lines=True, time_limit="1s")
    assert (run.outcome, run.proposal) == (Outcome.TIMEOUT, Proposal(every_ms=5 * _MINUTE))


# --- Exit codes that ask --------------------------------------------------------------------------


@pytest.mark.parametrize("reads_lines", [True, False])
@pytest.mark.parametrize(
    ("codes", "outcome"), [((0, 42), Outcome.SUCCESS), ((0,), Outcome.FAILURE)], ids=["success", "failure"]
)
def test_a_chosen_exit_code_asks_and_the_outcome_stays(
    shop: AgentShop, codes: tuple[int, ...], outcome: Outcome, reads_lines: bool
) -> None:
    action = shell(
        "echo one; echo Shall I delete it?; echo; exit 42", needs_input_code=42, success_codes=codes
    )
    run = shop.run(action, reads_lines=reads_lines)
    assert (run.outcome, run.exit_code) == (outcome, 42)
    assert _question(shop, run).text == "It ended with exit code 42 and needs input.\nShall I delete it?"


def test_an_exit_code_that_asks_without_a_word_is_a_question_too(shop: AgentShop) -> None:
    run = shop.run(shell("exit 42", needs_input_code=42))
    assert _question(shop, run).text == "It ended with exit code 42 and needs input."


def test_a_question_in_words_goes_before_the_exit_code(shop: AgentShop) -> None:
    run = shop.run(shop.prompt("x", ["say", "::needs-input which?"], ["exit", 42], needs_input_code=42))
    assert _question(shop, run).text == "which?"


def test_another_exit_code_asks_nothing(shop: AgentShop) -> None:
    run = shop.run(shell("echo words; exit 41", needs_input_code=42))
    assert shop.scheduler.questions.of_run(run.id) is None


def test_the_exit_code_of_one_that_was_stopped_asks_nothing(shop: AgentShop) -> None:
    line = "trap 'exit 42' TERM; echo $$ >a.pid; sleep 60 & wait"
    action = shell(line, directory=str(shop.folder), needs_input_code=42)
    run_id = shop.begin(action)
    shop.until(lambda: pids_in(shop.folder))
    shop.scheduler.cancel_run(run_id)
    run = shop.end_of(run_id)
    assert (run.outcome, run.exit_code) == (Outcome.CANCELLED, 42)
    assert shop.scheduler.questions.of_run(run_id) is None


@pytest.mark.parametrize("codes", [{"no_work_code": 42}, {"needs_input_code": 256}, {"needs_input_code": -1}])
def test_a_code_that_would_mean_two_things_or_nothing_is_refused(codes: dict[str, Any]) -> None:
    with pytest.raises(ScheduleError):
        shell("true", **{"needs_input_code": 42, **codes})


# --- Answers of servers ---------------------------------------------------------------------------


def _fetch(shop: AgentShop, url: str, **policy: Any) -> Run:
    return shop.run(HttpRequest(url=url, headers={"Authorization": "Bearer ${secret:TOKEN}"}), **policy)


def test_the_body_of_an_answer_is_read_when_that_is_switched_on(shop: AgentShop, site: Site) -> None:
    shop.scheduler.secrets.set("TOKEN", _SECRET, in_file=True)
    body = f"working\n::cost 0.5\n::needs-input is it {_SECRET}?\n::cost 1".encode()
    url = site.answer(headers={"X": "::cost 7"}, body=body)
    run = _fetch(shop, url, reads_lines=True)
    assert (run.outcome, run.http_status, run.cost) == (Outcome.SUCCESS, 200, 1.5)
    assert _question(shop, run).text == "is it ***?"
    run = _fetch(shop, url)
    assert (run.outcome, run.cost, shop.scheduler.questions.of_run(run.id)) == (
        Outcome.SUCCESS,
        None,
        None,
    )


def test_an_answer_that_fails_has_a_cost_too(shop: AgentShop, site: Site) -> None:
    url = site.answer(status=500, body=b"::cost 2\n::cost x\n")
    run = shop.run(HttpRequest(url=url), reads_lines=True)
    assert (run.outcome, run.http_status, run.cost) == (Outcome.FAILURE, 500, 2.0)
    assert run.note == "a line of its output could not be read: ::cost x"


def test_only_the_last_of_several_answers_counts(shop: AgentShop, site: Site) -> None:
    last = site.answer("/last", body=b"::cost 1\n")
    first = site.answer("/first", 302, {"Location": last}, body=b"::cost 5\n::needs-input x\n")
    run = shop.run(HttpRequest(url=first), reads_lines=True)
    assert (run.outcome, run.cost) == (Outcome.SUCCESS, 1.0)
    assert shop.scheduler.questions.of_run(run.id) is None


_JSON = {"Content-Type": "application/json; charset=utf-8"}
_HALO = {"every": "5m", "reason": f"it is {_SECRET}"}


def test_the_halo_object_of_a_response_is_the_hint_of_the_run(shop: AgentShop, site: Site) -> None:
    shop.scheduler.secrets.set("TOKEN", _SECRET, in_file=True)
    body = json.dumps({"items": [], "halo": _HALO}, indent=2).encode()
    url = site.answer(headers=_JSON, body=body)
    run = _fetch(shop, url, reads_lines=True)
    assert run.proposal == Proposal(every_ms=5 * _MINUTE, reason="it is ***")
    assert run.outcome is Outcome.SUCCESS
    assert "could not be read" not in run.note
    assert _fetch(shop, url).proposal is None
    plain = site.answer("/plain", headers={"Content-Type": "text/plain"}, body=body)
    assert _fetch(shop, plain, reads_lines=True).proposal is None


def test_lines_of_an_answer_come_before_its_halo_object(shop: AgentShop, site: Site) -> None:
    body = b'{"x": 1,\n::halo every=2m ttl=2h\n"halo": {}}'
    run = shop.run(HttpRequest(url=site.answer(headers=_JSON, body=body)), reads_lines=True)
    assert run.proposal == Proposal(every_ms=2 * _MINUTE, ttl_ms=120 * _MINUTE)
    assert run.note.startswith("the response is not valid JSON")


def test_an_answer_that_fails_proposes_too_and_one_that_is_cut_off_does_not(
    shop: AgentShop, site: Site
) -> None:
    body = b'{"halo": {"next": "1m"}}'
    failing = site.answer("/failing", 503, _JSON, body)
    run = shop.run(HttpRequest(url=failing), reads_lines=True)
    assert (run.outcome, run.proposal) == (Outcome.FAILURE, Proposal(next_ms=_MINUTE))
    moved = site.answer(
        "/moved", 302, {"Location": site.url("/failing"), **_JSON}, b'{"halo": {"every": "9m"}}'
    )
    run = shop.run(HttpRequest(url=moved), reads_lines=True)
    assert run.proposal == Proposal(next_ms=_MINUTE)
    cut = site.answer("/cut", 200, {**_JSON, "Content-Length": "100", "Connection": "close"}, body)
    site.pages["/cut"] = _then_hang_up(site.pages["/cut"])
    run = shop.run(HttpRequest(url=cut), reads_lines=True)
    assert (run.outcome, run.proposal, run.note) == (Outcome.FAILURE, None, "")


def _then_hang_up(page: Page) -> Page:
    def visit(visit: Visit) -> None:
        page(visit)
        visit.close_connection = True

    return visit


def test_an_answer_that_is_hostile_is_a_note_at_most(shop: AgentShop, site: Site) -> None:
    for number, body in enumerate(
        [b'{"halo": ' + b"[" * 100_000, b'{"halo": ' + b"9" * 100_000 + b"}", b'{"halo": 5}']
    ):
        url = site.answer(f"/{number}", headers=_JSON, body=body)
        run = shop.run(HttpRequest(url=url), reads_lines=True)
        assert (run.outcome, run.proposal) == (Outcome.SUCCESS, None)
        assert run.note.startswith(
            ("the response is not valid JSON", 'the "halo" field of the response is invalid')
        )


# --- What follows ---------------------------------------------------------------------------------


def test_a_job_that_asked_waits_for_its_answer(shop: AgentShop) -> None:
    action = shop.prompt("x", ["say", "::needs-input well?"])
    job_id = shop.scheduler.add_job("job", Manual(), action, policy=Policy())
    shop.end_of(shop.scheduler.trigger(job_id))
    (question,) = shop.scheduler.questions.list()
    run = shop.end_of(shop.scheduler.questions.answer(question.id, "yes"))
    assert (run.outcome, run.reason) == (Outcome.SUCCESS, None)
    assert SkipReason.NEEDS_INPUT not in {logged.reason for logged in shop.scheduler.get_run_log(job_id)}
    assert "yes" in shop.note()["prompt"]
