"""The facts of a run in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from chain_waits import BEHIND, let_chain_wait

from halo_scheduler import Manual, Scheduler
from halo_scheduler.clock import ManualClock
from halo_scheduler.model import Follower, Outcome, Proposal, Run, SkipReason, Source, Trigger
from ui.history import facts as facts_module
from ui.history.choice import JobName
from ui.history.facts import (
    Fact,
    Relations,
    Relative,
    advice_of,
    facts_of,
    problem_of,
    read_relations,
)

_NOW = 1_800_000_000_000


def _run(**rest: Any) -> Run:
    given: dict[str, Any] = {
        "id": "r",
        "job_id": "j",
        "trigger": Trigger.SCHEDULE,
        "source": Source.EVERY,
        "started_at": _NOW,
    }
    return Run(**(given | {"outcome": Outcome.SUCCESS, "finished_at": _NOW + 2_000} | rest))


def _facts(run: Run, now_ms: int = _NOW) -> dict[str, str]:
    return {fact.name: fact.value for fact in facts_of(run, now_ms)}


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        ("no such file", "No such file."),
        ("shop.example.com answered 503", "shop.example.com answered 503."),
        ("rsync: connection refused", "rsync: connection refused."),
        ("backup.sh ended with 2", "backup.sh ended with 2."),
        ("", "Failed without an error message."),
    ],
)
def test_an_error_is_reported_as_a_sentence_that_leaves_names_alone(error: str, sentence: str) -> None:
    assert problem_of(_run(outcome=Outcome.FAILURE, error=error)) == sentence


@pytest.mark.usefixtures("machine_in_berlin")
def test_a_scheduled_run_shows_when_and_why() -> None:
    run = _run(
        slot_at=_NOW - 65_000,
        late_ms=65_000,
        exit_code=3,
        attempt=2,
        source=Source.RETRY,
        passed_over=2,
        passed_reason="disk full",
        note="left one",
    )
    assert _facts(run) == {
        "Scheduled for": "Fri 15 Jan 2027, 08:58:55",
        "Started": "Fri 15 Jan 2027, 09:00:00 (1 min 5 s late)",
        "Ended": "Fri 15 Jan 2027, 09:00:02",
        "Duration": "2.0 s",
        "Result": "exit code 3",
        "Attempt": "2",
        "Trigger": "by schedule",
        "Schedule": "retry after a failure",
        "Coalesced": "2 times (the disk was too full to start the previous run)",
        "Note": "left one",
    }


def test_a_manual_run_has_no_slot_and_is_not_late() -> None:
    facts = _facts(_run(trigger=Trigger.MANUAL, source=Source.MANUAL, late_ms=70_000))
    assert facts["Trigger"] == "manual"
    assert not {"Scheduled for", "Schedule", "Attempt"} & facts.keys()
    assert "late" not in facts["Started"]


def test_an_active_run_shows_how_long_it_takes_so_far() -> None:
    run = _run(outcome=Outcome.RUNNING, finished_at=None)
    assert _facts(run, _NOW + 65_700)["Duration"] == "1 min 5 s so far"


@pytest.mark.parametrize(("status", "words"), [(503, "503 Service Unavailable"), (799, "799")])
def test_a_request_ends_with_its_status(status: int, words: str) -> None:
    assert _facts(_run(http_status=status))["Result"] == f"HTTP status {words}"


@pytest.mark.parametrize(
    ("rest", "sentence"),
    [
        ({"outcome": Outcome.FAILURE, "error": "exit code 1"}, "Exit code 1."),
        ({"outcome": Outcome.FAILURE, "error": "Why?"}, "Why?"),
        ({"outcome": Outcome.FAILURE}, "Failed without an error message."),
        ({"outcome": Outcome.SKIPPED, "reason": SkipReason.PAUSED}, "Did not run: it was paused."),
        ({"outcome": Outcome.MISSED}, "Halo was off at the scheduled time."),
        ({"outcome": Outcome.SUCCESS}, ""),
    ],
)
def test_problems_are_shown_as_sentences(rest: dict[str, Any], sentence: str) -> None:
    assert problem_of(_run(**rest)) == sentence


def test_an_error_without_words_of_its_own_has_those_of_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts_module, "ERRORS", (Outcome.CANCELLED,))
    run = _run(outcome=Outcome.CANCELLED)
    assert problem_of(run) == "Failed without an error message."
    assert advice_of(run) == "Check the output, then run again or edit the job."


def test_a_problem_of_any_length_stays_readable() -> None:
    assert len(problem_of(_run(outcome=Outcome.FAILURE, error="x" * 10_000))) < 1_100


def test_the_cost_and_the_work_item_of_a_run_are_shown() -> None:
    facts = _facts(_run(cost=0.12, work_id="42", work_title="Fix the login"))
    assert facts["Cost"] == "0.12"
    assert facts["Work item"] == "42 · Fix the login"
    assert not {"Cost", "Work item", "URL"} & _facts(_run()).keys()


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://tracker.example/42", "https://tracker.example/42"),
        ("http://tracker.example/42", "http://tracker.example/42"),
        ("file:///home/kim/work/ready/42.md", ""),
        ("javascript:alert(1)", ""),
        ("https://", ""),
        ("https://kim:secret@tracker.example/", ""),
    ],
)
def test_only_web_addresses_can_be_opened(url: str, address: str) -> None:
    (fact,) = (fact for fact in facts_of(_run(work_url=url), _NOW) if fact.name == "URL")
    assert (fact.value, fact.copied, fact.address) == (url, url, address)


def test_an_address_is_copied_without_anything_that_acts() -> None:
    (fact,) = (
        fact for fact in facts_of(_run(work_url="https://x.example/\nrm -rf ~\n"), _NOW) if fact.copied
    )
    assert "\n" not in fact.copied
    assert fact.address == ""


def test_a_run_started_by_an_answer_says_so() -> None:
    facts = _facts(_run(trigger=Trigger.ANSWER, source=Source.MANUAL))
    assert facts["Trigger"] == "after an answer"
    assert "Schedule" not in facts


@pytest.mark.parametrize(
    ("outcome", "reason", "problem", "advice"),
    [
        (
            Outcome.SKIPPED,
            SkipReason.CAP,
            "Did not run: its daily limit was reached.",
            "resume tomorrow",
        ),
        (
            Outcome.SKIPPED,
            SkipReason.NEEDS_INPUT,
            "Did not run: it was waiting for an answer.",
            "Answer or dismiss the question",
        ),
        (
            Outcome.FAILURE,
            SkipReason.SOURCE_UNAVAILABLE,
            "Did not run: its work items could not be fetched.",
            "next run tries again",
        ),
        (Outcome.SKIPPED, SkipReason.NO_WORK, "Did not run: there was nothing to do.", ""),
    ],
)
def test_a_reason_has_its_own_way_out(
    outcome: Outcome, reason: SkipReason, problem: str, advice: str
) -> None:
    run = _run(outcome=outcome, reason=reason)
    assert problem_of(run) == problem
    assert advice in advice_of(run) if advice else advice_of(run) == ""


@pytest.mark.parametrize("outcome", [Outcome.FAILURE, Outcome.TIMEOUT, Outcome.MISSED, Outcome.INTERRUPTED])
def test_each_problem_has_a_way_out(outcome: Outcome) -> None:
    assert advice_of(_run(outcome=outcome))


@pytest.mark.parametrize(
    ("proposal", "words"),
    [
        (None, ""),
        (Proposal(every_ms=300_000, reason="queue is long"), "every 5 min for 1 h: queue is long"),
        (Proposal(every_ms=300_000, ttl_ms=5_400_000), "every 5 min for 1 h 30 min"),
        (Proposal(next_ms=600_000), "a run 10 min later"),
        (Proposal(every_ms=10_000, next_ms=45_000), "every 10 s for 1 h and a run 45 s later"),
        (Proposal(next_ms=60_000, reason="two\nlines"), "a run 1 min later: two ↵ lines"),
    ],
)
def test_the_hint_of_a_run_is_shown(proposal: Proposal | None, words: str) -> None:
    assert _facts(_run(proposal=proposal)).get("Hint", "") == words


@pytest.mark.usefixtures("machine_in_berlin")
def test_a_chain_run_leads_to_the_run_that_started_it_and_to_those_it_started() -> None:
    relations = Relations(
        cause=Relative("r1", JobName("backup"), _NOW - 300_000, Outcome.SUCCESS),
        caused=(
            Relative("r2", JobName("report"), _NOW + 3_000, Outcome.SUCCESS),
            Relative("r3", JobName("mail", is_removed=True), _NOW + 3_000, Outcome.SKIPPED),
        ),
    )
    facts = facts_of(_run(trigger=Trigger.CHAIN, source=Source.MANUAL, caused_by="r1"), _NOW, relations)
    assert facts[-3:] == [
        Fact("Triggered by", "backup", run_id="r1", aside="run of 08:55"),
        Fact("Triggered", "report", run_id="r2", aside="succeeded, 09:00"),
        Fact("", "mail (deleted)", run_id="r3", aside="skipped, 09:00"),
    ]
    assert "Trigger" not in {fact.name for fact in facts}
    skipped = _run(trigger=Trigger.CHAIN, source=Source.MANUAL, caused_by="r1", started_at=None)
    assert facts_of(skipped, _NOW, relations)[-3].name == "Triggered by"


def test_waiting_next_jobs_of_a_run_are_shown(tmp_path: Path) -> None:
    with Scheduler.open(tmp_path / "halo.db", clock=ManualClock(_NOW)) as scheduler:
        then = scheduler.add_job("re<b>port</b>", Manual())
        first = scheduler.add_job("backup", Manual(), followers=(Follower(job_id=then),))
        run = let_chain_wait(scheduler, first, then, BEHIND)
        let_chain_wait(scheduler, first, then)
        relations = read_relations(scheduler, run)
    assert facts_of(run, _NOW, relations)[-1] == Fact("Triggered", "re<b>port</b> (waiting)")


def test_a_cause_that_was_pruned_is_still_mentioned() -> None:
    run = _run(trigger=Trigger.CHAIN, source=Source.MANUAL, caused_by="gone")
    assert _facts(run)["Trigger"] == "after another job"


def test_advice_on_a_paused_next_job_is_given_only_for_chain_runs() -> None:
    skipped = {"outcome": Outcome.SKIPPED, "reason": SkipReason.PAUSED, "started_at": None}
    assert "Resume this job" in advice_of(_run(trigger=Trigger.CHAIN, **skipped))
    assert advice_of(_run(**skipped)) == ""


@pytest.mark.parametrize("reason", [SkipReason.CONDITION, SkipReason.QUIET_TIME])
def test_advice_after_unmet_conditions_suggests_a_manual_run(reason: SkipReason) -> None:
    run = _run(outcome=Outcome.SKIPPED, reason=reason, started_at=None)
    assert problem_of(run).startswith("Did not run: it")
    assert advice_of(run).startswith("Manual runs ignore")


def test_a_run_that_never_started_has_no_starter() -> None:
    run = _run(outcome=Outcome.MISSED, started_at=None)
    assert "Trigger" not in _facts(run)


def test_the_parameters_and_input_of_a_run_are_shown() -> None:
    facts = _facts(_run(parameters={"mode": "a\nb"}, input_bytes=1))
    assert (facts["Parameters"], facts["Input"]) == (r'mode="a\nb"', "1 byte")
