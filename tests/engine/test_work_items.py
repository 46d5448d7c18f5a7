"""Items of work from the engine's side: what becomes of them once their runs are recorded, also after a crash."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_shop import AgentShop, open_agent_shop, quiet_machine
from machine import START, Bench
from pytestqt.qtbot import QtBot

from halo_scheduler import Every, Manual, Outcome, Policy, Retry, Run, Source, Trigger
from halo_scheduler.engine.post_run import Settlement
from halo_scheduler.model import SkipReason
from halo_scheduler.model.actions import FolderSource
from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.work_sources.item import SourceError, Verdict
from halo_scheduler.work_sources.work_desk import WorkDesk

_MINUTE = 60_000


@pytest.fixture
def shop(tmp_path: Path, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> Iterator[AgentShop]:
    with quiet_machine(tmp_path, monkeypatch), open_agent_shop(tmp_path, qtbot) as found:
        yield found


def _note(shop: AgentShop, run_id: str) -> str:
    return shop.get(run_id).note


# --- Verdicts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "outcome", "places"),
    [
        ([], Outcome.SUCCESS, {"done": ["a.md"]}),
        ([["exit", 1]], Outcome.FAILURE, {"failed": ["a.md"]}),
        ([["exit", 9]], Outcome.SKIPPED, {"ready": ["a.md"]}),
    ],
    ids=["success", "failure", "no work after all"],
)
def test_an_item_is_reported_according_to_the_outcome_of_its_run(
    shop: AgentShop, steps: list[Any], outcome: Outcome, places: dict[str, list[str]]
) -> None:
    run = shop.run(shop.prompt("Do it", *steps, work_source=shop.items(a="# Fix it"), no_work_code=9))
    assert (run.outcome, run.work_id, run.work_title) == (outcome, "a.md", "Fix it")
    shop.until(lambda: shop.places() == places)
    shop.until(lambda: shop.spooled() == [])
    assert _note(shop, run.id) == run.note


def test_the_item_of_a_run_that_is_cancelled_is_given_back(shop: AgentShop) -> None:
    run_id = shop.begin(shop.prompt("Do it", ["sleep"], work_source=shop.items(a="# Fix it")))
    shop.note()
    assert shop.places() == {"in-progress": ["a.md"]}
    shop.scheduler.cancel_run(run_id)
    assert shop.end_of(run_id).outcome is Outcome.CANCELLED
    shop.until(lambda: shop.places() == {"ready": ["a.md"]})


def test_the_item_of_a_run_that_takes_too_long_has_failed(shop: AgentShop) -> None:
    run_id = shop.begin(
        shop.prompt("Do it", ["sleep"], work_source=shop.items(a="# Fix it")), time_limit="1s"
    )
    assert shop.end_of(run_id).outcome is Outcome.TIMEOUT
    shop.until(lambda: shop.places() == {"failed": ["a.md"]})


def test_an_answer_works_on_the_very_item_of_its_question(shop: AgentShop) -> None:
    source = shop.items(a="# First", b="# Second")
    asking = shop.prompt("Do it", ["say", "::needs-input Which colour?"], work_source=source)
    job_id = shop.scheduler.add_job("asking", Manual(), asking)
    first = shop.end_of(shop.scheduler.trigger(job_id))
    question = shop.scheduler.questions.of_run(first.id)
    assert question is not None
    assert (question.work_id, question.text) == ("a.md", "Which colour?")
    # Somebody else would come first now.
    (shop.folder / "items" / "ready" / "0.md").write_text("# Urgent")
    shop.scheduler.update_job(job_id, action=shop.prompt("Do it", work_source=source))
    shop.note_path.unlink()
    run = shop.end_of(shop.scheduler.questions.answer(question.id, "blue"))
    assert (run.trigger, run.outcome, run.work_id) == (Trigger.ANSWER, Outcome.SUCCESS, "a.md")
    assert shop.note()["prompt"].count("Which colour?") == 1
    assert "blue" in shop.note()["prompt"]
    shop.until(lambda: shop.places() == {"done": ["a.md"], "ready": ["0.md", "b.md"]})


@pytest.mark.parametrize("exit_code", [0, 1])
def test_the_item_of_a_question_waits_with_it(shop: AgentShop, exit_code: int) -> None:
    source = shop.items(a="# First")
    asking = shop.prompt("Do it", ["say", "::needs-input Which?"], ["exit", exit_code], work_source=source)
    question = shop.scheduler.questions.of_run(shop.run(asking).id)
    assert question is not None
    # Nobody else is asked to do it, and to ask the same again.
    other = shop.run(shop.prompt("Do it", work_source=source))
    assert (other.outcome, other.reason) == (Outcome.SKIPPED, SkipReason.NO_WORK)
    assert shop.places() == {"in-progress": ["a.md"]}
    shop.scheduler.questions.dismiss(question.id)
    shop.until(lambda: shop.places() == {"ready": ["a.md"]} and shop.spooled() == [])


def test_the_item_of_a_question_waits_over_a_restart(shop: AgentShop) -> None:
    asking = shop.prompt("Do it", ["say", "::needs-input Which?"], work_source=shop.items(a="# First"))
    question = shop.scheduler.questions.of_run(shop.run(asking).id)
    assert question is not None
    shop.scheduler.stop()
    shop.scheduler.start()
    shop.run(shop.prompt("Something else"))
    assert shop.places() == {"in-progress": ["a.md"]}
    shop.scheduler.questions.dismiss(question.id)
    shop.until(lambda: shop.places() == {"ready": ["a.md"]})


def test_a_job_that_is_removed_gives_the_item_of_its_question_back(shop: AgentShop) -> None:
    asking = shop.prompt("Do it", ["say", "::needs-input Which?"], work_source=shop.items(a="# First"))
    shop.scheduler.remove_job(shop.run(asking).job_id)
    shop.until(lambda: shop.places() == {"ready": ["a.md"]})


def test_an_answer_whose_item_is_gone_reports_it(shop: AgentShop) -> None:
    asking = shop.prompt("Do it", ["say", "::needs-input Which?"], work_source=shop.items(a="# First"))
    question = shop.scheduler.questions.of_run(shop.run(asking).id)
    assert question is not None
    (shop.folder / "items" / "in-progress" / "a.md").unlink()
    answer = shop.end_of(shop.scheduler.questions.answer(question.id, "blue"))
    assert answer.outcome is Outcome.FAILURE
    assert "a.md" in answer.error


def test_a_test_run_claims_nothing_and_settles_nothing(shop: AgentShop) -> None:
    prompt = shop.prompt("Do it", ["say", "::needs-input Which?"], work_source=shop.items(a="# Fix it"))
    job_id = shop.scheduler.add_job("tried", Manual(), prompt)
    job = shop.scheduler.get_job(job_id)
    assert job is not None
    run = shop.end_of(shop.scheduler.runs.request_test(job_id, job.spec))
    assert run.outcome is Outcome.SUCCESS
    assert shop.places() == {"ready": ["a.md"]}
    assert shop.scheduler.questions.list(include_settled=True) == []


def test_ready_items_are_listed_without_taking_them(shop: AgentShop) -> None:
    source = shop.items(a="# First", b="# Second")
    assert [item.title for item in shop.scheduler.jobs.ready_items(source)] == ["First", "Second"]
    with pytest.raises(SourceError, match="does not exist"):
        shop.scheduler.jobs.ready_items(FolderSource(path=str(shop.folder / "nowhere")))


# --- Sources without work -----------------------------------------------------------------------------


def test_a_source_that_cannot_be_asked_counts_as_an_error_and_is_not_tried_again_at_once(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path / "halo.db")
    retry = Retry(attempts=3, delay_ms=_MINUTE)
    job_id = bench.scheduler.add_job("job", Every("10s"), policy=Policy(retry=retry))
    (run,) = bench.tick(10_000)
    bench.end(run, Outcome.FAILURE, reason=SkipReason.SOURCE_UNAVAILABLE)
    job = bench.scheduler.get_job(job_id)
    assert job is not None
    assert (job.errors, job.next_source, job.next_run_at) == (1, Source.BACKOFF, START + 40_000)
    (again,) = bench.tick(30_000)
    assert again.attempt == 1
    bench.close()


# --- When telling the source fails --------------------------------------------------------------------


def _block_done(shop: AgentShop) -> Path:
    """Keep items from being moved to `done/`."""
    blocked = shop.folder / "items" / "done"
    if blocked.exists():
        blocked.rmdir()
    blocked.write_text("not a folder")
    return blocked


def _run_and_block(shop: AgentShop) -> Run:
    """Let a run take an item and end well, but keep its source from being told."""
    go_on = shop.folder / "go on"
    run_id = shop.begin(shop.prompt("Do it", ["wait", str(go_on)], work_source=shop.items(a="# Fix it")))
    shop.note()
    _block_done(shop)
    go_on.touch()
    return shop.end_of(run_id)


def test_a_source_that_cannot_be_reported_leaves_a_note_and_the_outcome(
    shop: AgentShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Settlement, "PAUSES_S", (0.0, 0.0))
    run = _run_and_block(shop)
    shop.until(lambda: _note(shop, run.id))
    assert _note(shop, run.id).startswith("the item could not be reported as done; retrying")
    assert "a.md cannot be moved" in _note(shop, run.id)
    assert shop.get(run.id).outcome is Outcome.SUCCESS
    assert shop.spooled() == [f"{run.id}.item"]
    assert (shop.folder / "items" / "in-progress" / "a.md").exists()


def test_a_source_that_can_be_reported_at_the_third_time_is_reported(
    shop: AgentShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = shop.items(a="# Fix it")
    real, tries = WorkDesk.settlement, 0

    def reluctant(desk: WorkDesk, run_id: str, verdict: Verdict) -> Callable[[], None] | None:
        settle = real(desk, run_id, verdict)
        assert settle is not None

        def fail_twice() -> None:
            nonlocal tries
            tries += 1
            if tries < 3:
                raise SourceError(message(MessageKind.TEXT, text="not now"))
            settle()

        return fail_twice

    monkeypatch.setattr(Settlement, "PAUSES_S", (0.0, 0.0))
    monkeypatch.setattr(WorkDesk, "settlement", reluctant)
    run = shop.run(shop.prompt("Do it", work_source=source))
    shop.until(lambda: shop.places() == {"done": ["a.md"]})
    assert (tries, _note(shop, run.id)) == (3, "")


def test_unreported_items_of_a_leaving_engine_are_reported_by_the_next(
    shop: AgentShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Settlement, "PAUSES_S", (3600.0,))
    run = _run_and_block(shop)
    shop.scheduler.stop()
    (shop.folder / "items" / "done").unlink()
    assert shop.spooled() == [f"{run.id}.item"]
    assert (shop.folder / "items" / "in-progress" / "a.md").exists()
    shop.scheduler.start()
    shop.until(lambda: shop.places() == {"done": ["a.md"]})
    shop.until(lambda: shop.spooled() == [])


# --- Runs that outlive their engine -------------------------------------------------------------------


def test_the_item_of_a_run_that_outlives_its_engine_stays_with_it(shop: AgentShop) -> None:
    go_on = shop.folder / "go on"
    run_id = shop.begin(shop.prompt("Do it", ["wait", str(go_on)], work_source=shop.items(a="# Fix it")))
    shop.note()
    shop.scheduler.stop(wait=False)
    shop.scheduler.start()
    other = shop.run(shop.prompt("Do it", work_source=shop.items()))
    assert (other.outcome, other.reason) == (Outcome.SKIPPED, SkipReason.NO_WORK)
    assert shop.places() == {"in-progress": ["a.md"]}
    go_on.touch()
    assert shop.end_of(run_id).outcome is Outcome.SUCCESS
    shop.until(lambda: shop.places() == {"done": ["a.md"]})


def test_the_item_of_a_run_that_outlives_its_engine_is_settled_also_when_its_job_was_changed(
    shop: AgentShop,
) -> None:
    go_on = shop.folder / "go on"
    run_id = shop.begin(shop.prompt("Do it", ["wait", str(go_on)], work_source=shop.items(a="# Fix it")))
    shop.note()
    shop.scheduler.stop(wait=False)
    shop.scheduler.update_job(shop.get(run_id).job_id, action=shop.prompt("Do something else"))
    shop.scheduler.start()
    go_on.touch()
    assert shop.end_of(run_id).outcome is Outcome.SUCCESS
    shop.until(lambda: shop.places() == {"done": ["a.md"]})


def test_the_next_engine_reads_a_question_asked_while_none_ran(shop: AgentShop) -> None:
    go_on = shop.folder / "go on"
    steps = [["wait", str(go_on)], ["say", "::cost 0.25"], ["say", "::needs-input Which colour?"]]
    prompt = shop.prompt("Do it", *steps, work_source=shop.items(a="# Fix it"))
    run_id = shop.begin(prompt)
    shop.note()
    shop.scheduler.stop(wait=False)
    go_on.touch()
    shop.until(lambda: shop.has_exit_code(run_id))
    shop.scheduler.start()
    run = shop.end_of(run_id)
    assert (run.outcome, run.cost) == (Outcome.SUCCESS, 0.25)
    question = shop.scheduler.questions.of_run(run_id)
    assert question is not None
    assert (question.text, question.work_id) == ("Which colour?", "a.md")
    assert shop.scheduler.jobs.usage(run.job_id).cost == 0.25
    shop.scheduler.questions.dismiss(question.id)
    shop.until(lambda: shop.places() == {"ready": ["a.md"]})


@pytest.mark.parametrize("is_adopted", [True, False], ids=["adopted", "unseen"])
@pytest.mark.parametrize("code", [0, 7], ids=["in words", "in words and by code"])
def test_an_item_of_a_run_with_secrets_waits_until_its_output_can_be_read(
    shop: AgentShop, is_adopted: bool, code: int
) -> None:
    shop.scheduler.secrets.set("TOKEN", "correct horse", in_file=True)
    go_on = shop.folder / "go on"
    prompt = shop.prompt(
        *("Do it", ["wait", str(go_on)], ["say", "::needs-input Which ${secret:TOKEN}?"], ["exit", code]),
        work_source=shop.items(a="# Fix it"),
        needs_input_code=7,
    )
    run_id = shop.begin(prompt)
    shop.note()
    shop.scheduler.stop(wait=False)
    if not is_adopted:
        go_on.touch()
        shop.until(lambda: shop.has_exit_code(run_id))
    shop.scheduler.start()
    go_on.touch()
    shop.end_of(run_id)
    shop.until(lambda: [question.text for question in shop.scheduler.questions.list()] == ["Which ***?"])
    (question,) = shop.scheduler.questions.list()
    assert question.work_id == "a.md"
    assert shop.places() == {"in-progress": ["a.md"]}
    shop.scheduler.questions.dismiss(question.id)
    shop.until(lambda: shop.places() == {"ready": ["a.md"]} and shop.spooled() == [])
