"""What a run is told about its circumstances."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from halo_scheduler import Command, HttpRequest, Manual, Outcome, Prompt, Run, Scheduler, Source, Trigger
from halo_scheduler.actions.run_context import context_of
from halo_scheduler.actions.run_services import NO_CONTEXT, ChainCause
from halo_scheduler.model import Action, JobSpec, Question, QuestionState, SkipReason
from halo_scheduler.model.agents import Agent
from halo_scheduler.store.outputs import StoredOutput
from halo_scheduler.store.store import Store

_RUN = Run(id="now", job_id="1", trigger=Trigger.SCHEDULE, source=Source.EVERY)
_ASKS = Prompt(text="{{last.output}}")


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[Scheduler]:
    with Scheduler.open(tmp_path / "halo.db") as opened:
        opened.add_job("job", Manual(), job_id="1")
        yield opened


@pytest.fixture
def store(scheduler: Scheduler) -> Store:
    return scheduler._store


def _spec(action: Action) -> JobSpec:
    return JobSpec(name="job", schedule=Manual(), action=action)


def _record(
    store: Store,
    run_id: str,
    outcome: Outcome,
    output: bytes = b"",
    *,
    trigger: Trigger = Trigger.MANUAL,
    reason: SkipReason | None = None,
) -> None:
    store.runs.insert([replace(_RUN, id=run_id, outcome=outcome, trigger=trigger, reason=reason)], 1)
    if output:
        stored = StoredOutput(run_id=run_id, content=zlib.compress(output), total_bytes=len(output))
        store.outputs.insert([stored])


def test_the_first_run_is_told_that_there_was_none_before(store: Store) -> None:
    occasion = context_of(store, "1", _spec(_ASKS), _RUN)
    assert (occasion.last_outcome, occasion.last_output, occasion.question) == ("none", "", "")
    assert occasion.agent is not None
    assert occasion.agent.name == "claude"


def test_only_runs_that_did_something_count_as_the_last(store: Store) -> None:
    _record(store, "failed", Outcome.FAILURE, b"broken\n")
    _record(store, "tried", Outcome.SUCCESS, b"tried\n", trigger=Trigger.TEST)
    _record(store, "held", Outcome.SKIPPED, reason=SkipReason.CAP)
    _record(store, "missed", Outcome.MISSED)
    _record(store, "now", Outcome.RUNNING)
    occasion = context_of(store, "1", _spec(_ASKS), _RUN)
    assert (occasion.last_outcome, occasion.last_output) == ("failure", "broken\n")


def test_the_output_is_read_only_for_those_who_ask_for_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    _record(store, "a", Outcome.SUCCESS, b"printed")
    monkeypatch.setattr(store.outputs, "read", lambda _run_id: 1 // 0)
    occasion = context_of(store, "1", _spec(Prompt(text="{{last.outcome}} \\{{last.output}}")), _RUN)
    assert (occasion.last_outcome, occasion.last_output) == ("success", "")


def test_the_output_is_plain_text(store: Store) -> None:
    _record(store, "a", Outcome.SUCCESS, b"\x1b[1mbold\x1b[0m \xff 10%\r100%\n")
    assert context_of(store, "1", _spec(_ASKS), _RUN).last_output == "100% � 10%\n"


def test_of_a_long_output_the_last_whole_lines_are_told(store: Store) -> None:
    lines = [f"line {number} ä\n" for number in range(20_000)]
    _record(store, "a", Outcome.SUCCESS, "".join(lines).encode())
    told = context_of(store, "1", _spec(_ASKS), _RUN).last_output
    assert told.startswith("line ")
    assert told.endswith("line 19999 ä\n")
    assert 60 << 10 < len(told.encode()) <= 64 << 10


def test_one_endless_line_is_cut(store: Store) -> None:
    _record(store, "a", Outcome.SUCCESS, b"x" * 100_000)
    assert context_of(store, "1", _spec(_ASKS), _RUN).last_output == "x" * (64 << 10)


def test_an_agent_that_is_not_known_has_a_sentence(scheduler: Scheduler, store: Store) -> None:
    occasion = context_of(store, "1", _spec(Prompt(agent="cloude")), _RUN)
    assert occasion.agent is None
    assert occasion.no_agent.startswith("there is no agent named 'cloude' in the settings; known: claude")
    agent = Agent(name="cloude", argv=("cloude", "{prompt}"))
    scheduler.settings.change(agents=(agent,))
    occasion = context_of(store, "1", _spec(Prompt(agent="cloude")), _RUN)
    assert (occasion.agent, occasion.no_agent) == (agent, "")


@pytest.mark.parametrize("action", [_ASKS, Command(argv=("true",))])
def test_the_run_of_an_answer_is_told_question_answer_and_item(store: Store, action: Action) -> None:
    question = Question(id="q", job_id="1", run_id="r", asked_at=0, text="Which?", work_id="7")
    store.questions.insert([question])
    store.questions.settle("q", QuestionState.ANSWERED, 1, answer="This", answer_run_id="now")
    answering = replace(_RUN, trigger=Trigger.ANSWER)
    occasion = context_of(store, "1", _spec(action), answering)
    assert (occasion.question, occasion.answer, occasion.work_id) == ("Which?", "This", "7")
    other = context_of(store, "1", _spec(action), replace(answering, id="other"))
    assert (other.question, other.answer, other.work_id) == ("", "", "")


def test_a_command_is_told_nothing_and_costs_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store.database, "rows", lambda *_: 1 // 0)
    assert context_of(store, "1", _spec(Command(argv=("true",))), _RUN) is NO_CONTEXT


# --- Chains ---------------------------------------------------------------------------------------

_CHAINED = replace(_RUN, id="now", job_id="2", trigger=Trigger.CHAIN, caused_by="before")
_COMMAND = Command(argv=("true",))


@pytest.mark.parametrize("action", [_ASKS, _COMMAND], ids=["prompt", "command"])
def test_a_chain_run_is_told_what_started_it(scheduler: Scheduler, store: Store, action: Action) -> None:
    _record(store, "before", Outcome.FAILURE, b"\x1b[1mbroken\x1b[0m\n")
    cause = ChainCause(
        job_id="1", job_name="job", run_id="before", outcome="failure", output=b"\x1b[1mbroken\x1b[0m\n"
    )
    assert context_of(store, "2", _spec(action), _CHAINED).chain == cause
    scheduler.remove_job("1")
    assert context_of(store, "2", _spec(action), _CHAINED).chain == cause


def test_a_run_that_printed_nothing_starts_another_all_the_same(store: Store) -> None:
    _record(store, "before", Outcome.SUCCESS)
    chain = context_of(store, "2", _spec(_COMMAND), _CHAINED).chain
    assert chain is not None
    assert (chain.outcome, chain.output) == ("success", b"")


def test_a_run_that_was_deleted_meanwhile_leaves_its_id(store: Store) -> None:
    assert context_of(store, "2", _spec(_COMMAND), _CHAINED).chain == ChainCause(run_id="before")


def test_no_other_run_is_told_of_a_chain(store: Store) -> None:
    _record(store, "before", Outcome.SUCCESS, b"printed")
    assert context_of(store, "2", _spec(_ASKS), _RUN).chain is None
    assert context_of(store, "2", _spec(_ASKS), None).chain is None


def test_for_what_is_no_process_the_output_is_not_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    _record(store, "before", Outcome.SUCCESS, b"printed")
    monkeypatch.setattr(store.outputs, "read", lambda _run_id: 1 // 0)
    request = HttpRequest(url="http://localhost/")
    assert context_of(store, "2", _spec(request), _CHAINED) is NO_CONTEXT
