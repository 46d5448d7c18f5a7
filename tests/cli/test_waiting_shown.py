"""What jobs wait for, what runs after what, and who advised what, as a terminal shows it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from chain_waits import LIMIT, NETWORK, let_chain_wait, unmet, waits
from click.testing import CliRunner, Result
from job_values import make_run

from halo_scheduler import Command, Every, HttpRequest, Manual, Policy, Prompt, Retry
from halo_scheduler.cli import halo
from halo_scheduler.clock import SystemClock
from halo_scheduler.model import (
    Action,
    Backoff,
    CatchUp,
    Follower,
    FollowOn,
    Hints,
    HintSource,
    InQuietTime,
    Limits,
    Load,
    Notify,
    Outcome,
    PathExists,
    Proposal,
    Redirects,
    Trigger,
    Waiting,
)
from halo_scheduler.model.settings import QuietTime
from halo_scheduler.model.words import Shortage
from halo_scheduler.service.scheduler import Scheduler

_HOUR = 3_600_000


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


def _halo(*arguments: str) -> Result:
    return CliRunner().invoke(halo, arguments)


def _let_wait(scheduler: Scheduler, job_id: str, waiting: Waiting, until: int | None = None) -> None:
    record = scheduler._store.jobs.get(job_id)
    assert record is not None
    now_ms = scheduler._clock.now_ms()
    state = record.evolve(next_run_at=now_ms, waits_until=until, **waits(waiting))
    with scheduler._store.transaction():
        scheduler._store.jobs.save_states([state])


def test_a_start_that_is_retried_is_shown_as_waiting_and_not_as_running() -> None:
    with Scheduler.open() as scheduler:
        job_id = scheduler.add_job("backup", Every("1h"))
        record = scheduler._store.jobs.get(job_id)
        assert record is not None
        now_ms = scheduler._clock.now_ms()
        run = make_run(job_id=job_id, outcome=Outcome.RUNNING, slot_at=now_ms, started_at=now_ms)
        with scheduler._store.transaction():
            scheduler._store.runs.insert([run], 1)
            claimed = record.evolve(run_id=run.id, next_run_at=None, last_run_at=now_ms)
            scheduler._store.jobs.save_states([claimed])
            scheduler._store.jobs.save_start_wait(run.id, Shortage.MEMORY)
    words = "waiting for free memory to start"
    (line,) = _halo("list").output.splitlines()[1:]
    assert line.split()[:2] == ["▲", "backup"]
    assert words in line
    assert "running" not in line
    assert f"▲ backup: {words}" in _halo("status").output
    (waiting,) = json.loads(_halo("status", "--json").output)["waiting"]
    assert waiting["waiting_for"] == "resources"
    why = _halo("why", "backup").output
    assert "A run is claimed and waits for free memory to start" in why
    assert "running now" not in why
    with Scheduler.open() as scheduler, scheduler._store.transaction():
        scheduler._store.jobs.save_start_wait(run.id, None)
    assert "running" in _halo("list").output


def test_a_waiting_job_names_its_reason_in_every_listing() -> None:
    with Scheduler.open() as scheduler:
        backup, sync, other = (scheduler.add_job(name, Every("1h")) for name in ("backup", "sync", "other"))
        until = scheduler._clock.now_ms() + _HOUR
        _let_wait(scheduler, backup, unmet(PathExists(path="/\u202e")), until)
        _let_wait(scheduler, sync, LIMIT)
    lines = _halo("list").output.splitlines()
    assert sorted(" ".join(line.split()[:2]) for line in lines[1:]) == ["▲ backup", "▲ sync", "● other"]
    text = "\n".join(lines)
    assert r"waiting for /\u202e to exist " in text
    assert "waiting: limit reached" in text
    shown = _halo("show", "backup").output
    assert r"status    waiting for /\u202e to exist, deadline " in shown
    assert json.loads(_halo("show", "backup", "--json").output)["waits_until"] == until
    status = _halo("status").output
    assert "▲ backup: waiting for /\\u202e to exist\n" in status
    assert "overdue" not in status
    waiting = {item["name"]: item for item in json.loads(_halo("status", "--json").output)["waiting"]}
    assert waiting["backup"]["id"] == backup
    assert waiting["backup"]["waiting_for"] == "condition"
    assert waiting["sync"]["waiting_reason"] == "limit reached"
    assert "other" not in waiting
    assert other


def test_a_waiting_chain_run_is_shown_with_the_job_that_triggered_it() -> None:
    with Scheduler.open() as scheduler:
        backup, report = scheduler.add_job("backup", Manual()), scheduler.add_job("report", Manual())
        cause = let_chain_wait(scheduler, backup, report, NETWORK, waits_until=4_000_000_000_000)
        let_chain_wait(scheduler, backup, report)
    line = next(line for line in _halo("list").output.splitlines() if "report" in line)
    assert line.startswith("▲")
    assert "waiting for network  " in line
    text = _halo("show", "report").output
    assert "waits     a run after backup, waiting for network, since " in text
    assert "waits     a run after backup, waiting: limit reached, since " in text
    assert "deadline 2 Oct 2096 " in text
    status = _halo("status").output
    assert "▲ report: waiting for network (1 run after backup)\n" in status
    assert "▲ report: waiting: limit reached (1 run after backup)\n" in status
    for command in (("show", "report", "--json"), ("status", "--json")):
        waiting = json.loads(_halo(*command).output)["waiting_runs"]
        assert [run["reason"] for run in waiting] == ["network", "limit reached"]
        assert (waiting[0]["caused_by"], waiting[0]["cause_name"]) == (cause.id, "backup")


def test_chain_runs_that_pile_up_are_shown_in_one_line() -> None:
    with Scheduler.open() as scheduler:
        backup, report = scheduler.add_job("backup", Manual()), scheduler.add_job("report", Manual())
        for _ in range(5):
            let_chain_wait(scheduler, backup, report, NETWORK)
    lines = [line for line in _halo("show", "report").output.splitlines() if line.startswith("  waits ")]
    assert len(lines) == 1
    assert lines[0].startswith("  waits     5 runs after backup, waiting for network, the first since ")
    assert "▲ report: waiting for network (5 runs after backup)\n" in _halo("status").output
    assert len(json.loads(_halo("status", "--json").output)["waiting_runs"]) == 5


def test_both_ends_of_a_chain_are_shown_with_what_blocks_it() -> None:
    with Scheduler.open() as scheduler:
        report, alarm = scheduler.add_job("report", Manual()), scheduler.add_job("alarm", Manual())
        followers = (Follower(job_id=report), Follower(job_id=alarm, on=FollowOn.FAILURE))
        scheduler.add_job("backup", Manual(), followers=followers)
        scheduler.pause_job(report)
        scheduler.remove_job(alarm)
    text = _halo("show", "backup").output
    assert "then      report, after each success (report is paused)\n" in text
    assert "then      alarm, after each failure (alarm is removed)\n" in text
    assert "follows   backup, after each success\n" in _halo("show", "report").output
    chain = json.loads(_halo("show", "backup", "--json").output)["chain"]
    assert chain["before"] == []
    assert chain["after"] == [
        {"job_id": report, "name": "report", "on": "success", "state": "paused"},
        {"job_id": alarm, "name": "alarm", "on": "failure", "state": "removed"},
    ]


def test_the_list_names_the_job_that_triggers_a_manual_one() -> None:
    with Scheduler.open() as scheduler:
        report, alarm, both = (scheduler.add_job(name, Manual()) for name in ("report", "alarm", "own"))
        scheduler.update_job(both, schedule=Every("1h"))
        for name, others in (("a", [report, alarm, both]), ("b", [alarm]), ("c", [alarm])):
            scheduler.add_job(name, Manual(), followers=[Follower(job_id=other) for other in others])
    for options in ((), ("--status", "idle"), ("o",)):
        lines = {line.split()[1]: line for line in _halo("list", *options).output.splitlines()}
        assert "  after a  " in lines["report"]
        assert " after " not in lines["own"]
    assert "  after 3 other jobs  " in _halo("list", "alarm").output


def test_conditions_and_the_choice_for_quiet_hours_are_shown() -> None:
    conditions = (PathExists(path="/mnt/x"), Load(below=2))
    policy = Policy(conditions=conditions, condition_deadline="2h", in_quiet_time=InQuietTime.SKIP)
    with Scheduler.open() as scheduler:
        scheduler.add_job("backup", Every("1h"), policy=policy)
        scheduler.add_job("other", Every("1h"), group="night")
    text = _halo("show", "backup").output
    assert (
        "starts    only when /mnt/x exists and with a load below 2; skipped after waiting 2 hours\n" in text
    )
    assert "quiet     skipped in quiet hours\n" in text
    assert "quiet " not in _halo("show", "other").output
    with Scheduler.open() as scheduler:
        times = (QuietTime(name="Always", start="00:00", end="24:00"), QuietTime(group="night"))
        scheduler.settings.change(quiet_times=times)
    assert "quiet     skipped in quiet hours Always; now quiet until " in _halo("show", "backup").output
    assert (
        "quiet     waits in quiet hours Always and 22:00–06:00; now quiet until "
        in _halo("show", "other").output
    )


@pytest.mark.parametrize(
    ("action", "policy", "words"),
    [
        (Command(argv=("x",)), Policy(keep_awake=True), "prevents sleep"),
        (Command(argv=("x",)), Policy(assistants_may_run=False), "assistants can't run it"),
        (
            Command(argv=("x",)),
            Policy(retry=Retry(attempts=2, delay_ms=90_000)),
            "2 retries after 1 min 30 s",
        ),
        (Command(argv=("x",)), Policy(catch_up=CatchUp.SKIP), "no catch-up"),
        (Command(argv=("x",)), Policy(catch_up=CatchUp.ALL), "catches up each of up to 10 runs"),
        (Command(argv=("x",)), Policy(catch_up_max_age="1d"), "catches up once within 1 day"),
        (Command(argv=("x",)), Policy(backoff=Backoff.none()), "no back-off"),
        (Command(argv=("x",)), Policy(backoff=Backoff.double()), "failures double the interval"),
        (
            Command(argv=("x",)),
            Policy(backoff=Backoff.ladder(1_000, 60_000)),
            "back-off 1 s, 1 min",
        ),
        (Command(argv=("x",)), Policy(limits=Limits(min_ms=60_000)), "at least 1 min until the next run"),
        (Command(argv=("x",)), Policy(limits=Limits(max_ms=_HOUR)), "at most 1 h until the next run"),
        (Command(argv=("x",)), Policy(jitter_percent=5), "random delay up to 5 %"),
        (
            Command(argv=("x",)),
            Policy(jitter="90m", is_jitter_fixed=True),
            "random delay up to 90 minutes, the same for each run",
        ),
        (Command(argv=("x",)), Policy(notify=Notify.ALL), "notifies about every run"),
        (Prompt(text="x"), Policy(reads_lines=False), "ignores output commands"),
        (
            Command(argv=("x",), success_codes=(0, 3), no_work_code=75, needs_input_code=76, grace="1m"),
            Policy(),
            "ends      success with 0 or 3 · nothing to do with 75 · asks you with 76 · 1 minute grace period",
        ),
        (
            HttpRequest(url="http://x.example", expected_statuses=(200,), redirects=Redirects.NONE),
            Policy(),
            "expects   200 · no redirects\n",
        ),
    ],
)
def test_settings_that_differ_from_the_default_are_shown(action: Action, policy: Policy, words: str) -> None:
    with Scheduler.open() as scheduler:
        scheduler.add_job("job", Every("1h"), action, policy=policy)
    assert words in _halo("show", "job").output


def test_hints_are_shown_with_source_reason_and_expiry() -> None:
    with Scheduler.open() as scheduler:
        job_id = scheduler.add_job("poll", Every("1h"))
        scheduler.propose_interval(job_id, "5m", "2h", "queue is long", source=HintSource.USER)
    text = _halo("show", "poll").output
    assert "hint      every 5 min, from you, until " in text
    assert text.split("hint ")[1].splitlines()[0].endswith(": queue is long")
    hints = json.loads(_halo("show", "poll", "--json").output)["hints"]
    assert (hints["interval_ms"], hints["source"], hints["reason"]) == (
        300_000,
        "user",
        "queue is long",
    )


def test_advice_that_does_not_count_any_more_is_not_shown() -> None:
    with Scheduler.open() as scheduler:
        job_id = scheduler.add_job("poll", Every("1h"))
        record = scheduler._store.jobs.get(job_id)
        assert record is not None
        with scheduler._store.transaction():
            old = Hints(next_at=1_000, expires_at=2_000, source=HintSource.JOB)
            scheduler._store.jobs.save_states([record.evolve(hints=old)])
    assert "hint " not in _halo("show", "poll").output


def test_a_run_is_shown_with_its_cause_its_proposal_and_its_note() -> None:
    with Scheduler.open() as scheduler:
        backup, report = scheduler.add_job("backup", Manual()), scheduler.add_job("report", Manual())
        proposal = Proposal(every_ms=300_000, next_ms=90_000, ttl_ms=_HOUR, reason="queue\x1b[31m is long")
        runs = [
            make_run(id="cause", job_id=backup, passed_over=2, passed_reason="quiet time"),
            make_run(id="then", job_id=report, trigger=Trigger.CHAIN, caused_by="cause", proposal=proposal),
            make_run(id="lost", job_id=report, trigger=Trigger.CHAIN, caused_by="gone", note="it was late"),
        ]
        with scheduler._store.transaction():
            scheduler._store.runs.insert(runs, 1)
        scheduler.remove_job(backup)
    assert "succeeded, coalesced 2 times (quiet hours applied)\n" in _halo("history").output
    proposed = "hint: every 5 min for 1 h and a run 1 min 30 s later: queue\\x1b[31m is long"
    for command in ("show", "history"):
        text = _halo(command, "report").output
        assert f"succeeded, {proposed}, after backup\n" in text
        assert "succeeded (it was late), after another job\n" in text
    data = {run["id"]: run for run in json.loads(_halo("history", "report", "--json").output)}
    assert (data["then"]["caused_by"], data["then"]["proposal"]["every_ms"]) == ("cause", 300_000)
    done = _halo("logs", "report", "--run", "then")
    assert (done.stdout, done.stderr) == ("", f"  ran after backup\n  {proposed}\n")
    assert _halo("logs", "report", "--run", "lost").stderr == "  ran after another job\n  it was late\n"


def test_the_status_names_the_next_job_and_says_that_nothing_starts_it(home: Path) -> None:
    with Scheduler.open(home / "halo.db") as scheduler:
        scheduler.add_job("backup", Every("1h"))
    assert (
        "  next: backup, today at " in (told := _halo("status").output) or "  next: backup, tomorrow" in told
    )
    with Scheduler.open(home / "halo.db") as scheduler:
        (job,) = scheduler.list_jobs()
        record = scheduler._store.jobs.get(job.id)
        assert record is not None
        scheduler._store.jobs.save_states([record.evolve(next_run_at=SystemClock().now_ms() - 1)])
    assert "  next: backup, due, starts when Halo runs" in _halo("status").output
