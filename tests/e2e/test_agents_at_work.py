"""Agents under a real daemon, from the terminal: prompts, items, caps, questions, a crash, and no secret anywhere."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from commands import shell
from daemons import House
from github_site import REPOSITORY, TOKEN, Ask, GithubSite, open_github
from process_probe import LONG_S, end_all, files_below, until

from halo_scheduler import After, Backoff, Outcome, Policy, Prompt, Trigger
from halo_scheduler.host.process_tree import marked_processes
from halo_scheduler.model import Caps, QuestionState, SkipReason
from halo_scheduler.model.actions import FolderSource, GithubSource
from halo_scheduler.model.settings import Agent

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are those of POSIX")

_HALO = Path(sys.executable).parent / "halo"
_AGENT = (sys.executable, str(Path(__file__).parents[1] / "support" / "fake_agent.py"))
_SECRET = "correct horse battery staple"  # noqa: S105 - not one
_SECRET_NAME = "GITHUB"  # noqa: S105 - a name


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    found = House(tmp_path, monkeypatch)
    found.scheduler.settings.change(
        agents=(
            Agent(name="fake", argv=_AGENT),
            Agent(name="argument", argv=(*_AGENT, "--prompt", "{prompt}")),
            Agent(name="file", argv=(*_AGENT, "--file", "{prompt_file}")),
        ),
        default_agent="fake",
    )
    yield found
    found.close()


@pytest.fixture
def github() -> Iterator[GithubSite]:
    with open_github() as site:
        yield site


def _halo(*arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [_HALO, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=LONG_S,
        encoding="utf-8",
    )


def _steps(*steps: list[Any]) -> str:
    return json.dumps(steps)


def _prompt(text: str, *steps: list[Any], **rest: Any) -> Prompt:
    environment = {"FAKE_AGENT": _steps(*steps), **rest.pop("environment", {})}
    return Prompt(text=text, environment=environment, **rest)


def _tasks(house: House, **contents: str) -> FolderSource:
    ready = house.folder / "tasks" / "ready"
    ready.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (ready / f"{name}.md").write_text(content, encoding="utf-8")
    return FolderSource(path=str(house.folder / "tasks"))


def _places(house: House) -> dict[str, list[str]]:
    """Return which items lie where."""
    folders = (house.folder / "tasks").iterdir()
    found = {folder.name: sorted(path.name for path in folder.iterdir()) for folder in folders}
    return {name: names for name, names in found.items() if names}


def _source(site: GithubSite, **rest: Any) -> GithubSource:
    return GithubSource(repository=REPOSITORY, base_url=site.url, token=_SECRET_NAME, **rest)


def test_a_prompt_from_the_terminal_works_through_a_folder(house: House) -> None:
    house.start()
    _tasks(house, first="# First things\n\nDo *this*, {{answer}} ${secret:X}.\n", second="Then that.\n")
    steps = _steps(["repeat"], ["say", "::cost 0.25"])
    added = _halo(
        *(
            "add",
            "work",
            "--manual",
            "--work-folder",
            f"{house.folder}/tasks",
            "--env",
            f"FAKE_AGENT={steps}",
        ),
        *("--max-cost-per-day", "5", "--prompt", "-"),
        stdin="Work for {{job.name}}.",
    )
    assert added.returncode == 0, added.stderr
    done = _halo("run", "work", "--wait")
    assert done.returncode == 0, done.stderr
    # What an item says is never filled in.
    assert done.stdout.startswith("Work for work.\n\n---\n\n## Work Item\n")
    assert "**Title:** First things\n**ID:** first.md\n" in done.stdout
    assert "Do *this*, {{answer}} ${secret:X}." in done.stdout
    assert "succeeded, item first.md: First things, cost 0.25" in done.stderr
    until(lambda: _places(house) == {"done": ["first.md"], "ready": ["second.md"]})
    assert _halo("run", "work", "--wait").returncode == 0
    nothing = _halo("run", "work", "--wait")
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert "skipped: there was nothing to do" in nothing.stderr
    assert "today     cost 0.50 of 5.00" in _halo("show", "work").stdout
    until(lambda: _places(house) == {"done": ["first.md", "second.md"]})
    house.wait_until_cleared()


@pytest.mark.parametrize("agent", ["fake", "argument", "file"])
def test_an_agent_gets_its_prompt_in_its_own_way(house: House, agent: str) -> None:
    house.start()
    run_id = house.begin(_prompt("say „hello“\n{{last.outcome}}", ["repeat"], agent=agent))
    assert house.end_of(run_id).outcome is Outcome.SUCCESS
    assert house.text(run_id) == "say „hello“\nnone\n"
    house.wait_until_cleared()


def test_a_missing_agent_uses_up_no_item(house: House) -> None:
    house.scheduler.settings.change(
        agents=(Agent(name="gone", argv=("no-such-agent", "-p")),), default_agent="gone"
    )
    house.start()
    run = house.end_of(house.begin(_prompt("x", work_source=_tasks(house, one="One"))))
    assert run.outcome is Outcome.FAILURE
    assert "no-such-agent" in run.error
    assert (run.work_id, _places(house)) == ("", {"ready": ["one.md"]})


def test_a_cap_of_runs_holds_back_slots_but_not_a_person(house: House) -> None:
    house.start()
    job_id = house.scheduler.add_job(
        "often", After("1s"), _prompt("x"), policy=Policy(caps=Caps(runs_per_day=2))
    )
    until(lambda: len(house.scheduler.get_run_log(job_id, outcome=Outcome.SKIPPED)) >= 2)
    skipped = house.scheduler.get_run_log(job_id, outcome=Outcome.SKIPPED)
    assert {run.reason for run in skipped} == {SkipReason.CAP}
    assert len(house.scheduler.get_run_log(job_id, outcome=Outcome.SUCCESS)) == 2
    job = house.scheduler.get_job(job_id)
    assert job is not None
    assert (job.errors, job.enabled) == (0, True)
    by_hand = _halo("run", "often", "--wait", "--json")
    assert json.loads(by_hand.stdout)["outcome"] == "success"
    assert "3 of 2 runs" in _halo("show", "often").stdout
    # The next skipped run comes a second later.
    until(lambda: "skipped: 3 runs today, and its daily limit is 2" in _halo("history", "often").stdout)


def test_the_run_that_crosses_a_cap_of_costs_is_the_last(house: House) -> None:
    house.start()
    steps = [["say", "::cost 0.75"], ["say", "::cost nan"], ["say", "::cost 99999999999"]]
    policy = Policy(caps=Caps(cost_per_day=1))
    job_id = house.scheduler.add_job("dear", After("1s"), _prompt("x", *steps), policy=policy)
    until(lambda: house.scheduler.get_run_log(job_id, outcome=Outcome.SKIPPED))
    ran = house.scheduler.get_run_log(job_id, outcome=Outcome.SUCCESS)
    assert [run.cost for run in ran] == [0.75, 0.75]
    assert "could not be read: ::cost nan" in ran[0].note
    assert house.scheduler.jobs.usage(job_id).cost == 1.5


def test_a_question_waits_for_its_answer_and_the_answer_for_its_run(house: House) -> None:
    house.start()
    source = _tasks(house, one="# One")
    steps: list[list[Any]] = [
        ["note", f"{house.folder}/note"],
        ["say", "::needs-input Which \x1b[31mone?"],
        ["exit", 3],
    ]
    prompt = _prompt("do {{work.title}}", *steps, work_source=source)
    job_id = house.scheduler.add_job("asks", After("1s"), prompt, policy=Policy(backoff=Backoff.none()))
    until(lambda: house.scheduler.get_run_log(job_id, outcome=Outcome.SKIPPED))
    asked, *others = reversed(house.scheduler.get_run_log(job_id))
    assert (asked.outcome, asked.exit_code) == (Outcome.FAILURE, 3)
    assert {run.reason for run in others} == {SkipReason.NEEDS_INPUT}
    assert _places(house) == {"in-progress": ["one.md"]}
    (listed,) = json.loads(_halo("inbox", "--json").stdout)
    assert (listed["text"], listed["run_id"], listed["job_name"]) == ("Which one?", asked.id, "asks")
    assert "◆" in _halo("list").stdout
    (house.folder / "note").unlink()
    answered = _halo("answer", asked.id[:8], "--wait", "-", stdin="The second: {{date}} ${secret:X}\n")
    assert answered.returncode == 1
    assert "failed: exit code 3" in answered.stderr
    prompt_text = json.loads((house.folder / "note").read_text())["prompt"]
    assert prompt_text.startswith("do One\n\n# Question\n")
    assert "Which one?" in prompt_text
    assert "The second: {{date}} ${secret:X}" in prompt_text
    (question,) = (item for item in house.scheduler.questions.list(include_settled=True) if item.answer)
    assert question.state is QuestionState.ANSWERED
    run = house.get(question.answer_run_id or "")
    assert (run.trigger, run.work_id) == (Trigger.ANSWER, "one.md")
    # It asked again, and would so a second after this one is dismissed.
    house.scheduler.pause_job(job_id)
    assert _halo("answer", "asks", "--dismiss").returncode == 0
    assert _halo("inbox").stdout == "no open questions\n"


def test_a_wrong_answer_gets_one_sentence_and_an_exit_code(house: House) -> None:
    house.start()
    house.end_of(house.begin(_prompt("x", ["say", "::needs-input Well?"])))
    for arguments, exit_code, sentence in (
        (("nobody", "x"), 3, "no open question of 'nobody'"),
        (("job 1", " "), 2, "the answer is empty"),
        (("job 1",), 2, "give either an answer or --dismiss"),
    ):
        done = _halo("answer", *arguments)
        assert (done.returncode, done.stdout) == (exit_code, "")
        assert sentence in done.stderr
        usage = "usage: halo answer [OPTIONS] RUN TEXT|-"
        first, *rest = done.stderr.splitlines()
        assert first.startswith("halo: ")
        assert rest == ([usage] if sentence.startswith("give ") else [])


def test_issues_are_taken_reported_and_given_back(house: House, github: GithubSite) -> None:
    house.start()
    house.scheduler.secrets.set(_SECRET_NAME, TOKEN, in_file=True)
    github.add(1, 2, 3)
    assert house.end_of(house.begin(_prompt("x", work_source=_source(github)))).work_id == "1"
    until(lambda: github.labels(1) == set())
    house.end_of(house.begin(_prompt("x", work_source=_source(github, closes=True))))
    until(lambda: github.issues[2].state == "closed")
    action = shell('echo "$HALO_WORK_ID $HALO_WORK_TITLE"; exit 1', work_source=_source(github))
    run_id = house.begin(action)
    assert house.end_of(run_id).outcome is Outcome.FAILURE
    assert house.text(run_id) == "3 Something to do\n"
    until(lambda: github.labels(3) == {"ready"})


def test_a_source_that_fails_is_a_failure_with_its_sentence_and_without_the_token(
    house: House, github: GithubSite
) -> None:
    house.start()
    house.scheduler.secrets.set(_SECRET_NAME, TOKEN, in_file=True)

    def tell_all(visit: Ask) -> None:
        visit.say(422, {"message": f"no: {visit.headers.get('authorization')}"})

    github.instead[f"GET /repos/{REPOSITORY}/issues"] = [tell_all] * 5
    run = house.end_of(house.begin(_prompt("x", work_source=_source(github))))
    assert (run.outcome, run.reason) == (Outcome.FAILURE, SkipReason.SOURCE_UNAVAILABLE)
    assert run.error
    _assert_nowhere(house, TOKEN)


# --- A crash in the middle --------------------------------------------------------------------------------


def _begin_with_item(house: House, source: FolderSource | GithubSource) -> str:
    """Start an agent with an item, and wait until it has both its prompt and its ticket."""
    waits = [["note", f"{house.folder}/note"], ["wait", f"{house.folder}/go"], ["say", "done"]]
    run_id = house.begin(_prompt("x", *waits, work_source=source))
    until(lambda: (house.folder / "note").exists() and house.spooled(".ticket"))
    return run_id


def test_an_agent_that_keeps_running_is_adopted_with_its_item(house: House) -> None:
    source = _tasks(house, one="One")
    house.start()
    run_id = _begin_with_item(house, source)
    assert _places(house) == {"in-progress": ["one.md"]}
    house.crash()
    house.start()
    assert (house.get(run_id).outcome, _places(house)) == (Outcome.RUNNING, {"in-progress": ["one.md"]})
    house.touch("go")
    assert house.end_of(run_id).outcome is Outcome.SUCCESS
    until(lambda: _places(house) == {"done": ["one.md"]})
    house.wait_until_cleared()
    assert house.get(run_id).work_id == "one.md"


@pytest.mark.parametrize("kind", ["folder", "github"])
def test_the_item_of_an_agent_that_died_with_us_can_be_had_again(
    house: House, github: GithubSite, kind: str
) -> None:
    house.scheduler.secrets.set(_SECRET_NAME, TOKEN, in_file=True)
    github.add(1)
    house.start()
    run_id = _begin_with_item(house, _tasks(house, one="One") if kind == "folder" else _source(github))
    house.crash()
    end_all(pid for pids in marked_processes([run_id]).values() for pid in pids)
    house.start()
    assert house.end_of(run_id).outcome is Outcome.INTERRUPTED
    if kind == "folder":
        until(lambda: _places(house) == {"ready": ["one.md"]})
    else:
        until(lambda: github.labels(1) == {"ready"})
    house.wait_until_cleared()
    _assert_nowhere(house, TOKEN)


def test_an_agent_that_ended_unseen_has_its_item_reported(house: House) -> None:
    source = _tasks(house, one="One")
    house.start()
    run_id = _begin_with_item(house, source)
    house.crash()
    house.touch("go")
    until(lambda: not any(marked_processes([run_id]).values()))
    assert _places(house) == {"in-progress": ["one.md"]}
    house.start()
    assert house.end_of(run_id).outcome is Outcome.SUCCESS
    until(lambda: _places(house) == {"done": ["one.md"]})
    house.wait_until_cleared()


# --- No secret anywhere -----------------------------------------------------------------------------------


def _assert_nowhere(house: House, *secrets: str) -> None:
    """Look for secrets in every file of the house, once they are forgotten where they are kept."""
    for known in house.scheduler.secrets.list():
        house.scheduler.secrets.remove(known.name)
    files = files_below(house.folder)
    assert house.scheduler.path in files
    assert house.folder / "daemon.log" in files
    for path, content in files.items():
        for secret in secrets:
            assert secret.encode() not in content, path


def _command_lines() -> str:
    """Return the arguments of every process there is."""
    lines = (found.info["cmdline"] or [] for found in psutil.process_iter(["cmdline"]))
    return "\n".join(" ".join(line) for line in lines)


@pytest.mark.parametrize("agent", ["fake", "argument", "file"])
def test_neither_secret_nor_token_is_stored_anywhere(house: House, github: GithubSite, agent: str) -> None:
    house.scheduler.secrets.set(_SECRET_NAME, TOKEN, in_file=True)
    house.scheduler.secrets.set("KEY", _SECRET, in_file=True)
    github.add(1, 2, title=f"Fix {{{{answer}}}} ${{secret:{_SECRET_NAME}}}", body="with ${secret:KEY}")
    house.start((sys.executable, "-m", "halo_scheduler", "daemon", "--verbose"))
    steps: list[list[Any]] = [
        ["note", f"{house.folder}/note"],
        ["tell", "KEY"],
        ["say", "::cost 0.1"],
        ["say", "." * 200],
        ["wait", f"{house.folder}/go"],
        ["repeat"],
        ["tell", "QUESTION"],
    ]
    prompt = _prompt(
        "{{work.title}}: {{work.body}}",
        *steps,
        agent=agent,
        environment={"KEY": "${secret:KEY}", "QUESTION": "::needs-input May I use ${secret:KEY}?"},
        work_source=_source(github),
    )
    run_id = house.begin(prompt)
    until((house.folder / "note").exists)
    during = _command_lines()
    assert "fake_agent.py" in during
    # The last few bytes are held back: they could be the beginning of a secret.
    until(lambda: "::cost" in house.text(run_id))
    assert _halo("logs", "job 1").stdout.startswith("***\n::cost 0.1\n....")
    house.touch("go")
    run = house.end_of(run_id)
    assert (run.outcome, run.cost, run.work_id) == (Outcome.SUCCESS, 0.1, "1")
    told = house.text(run_id)
    assert told.startswith("***\n")
    assert f"${{secret:{_SECRET_NAME}}}" in told
    (question,) = house.scheduler.questions.list()
    assert question.text == "May I use ***?"
    assert github.labels(1) == {"in_progress"}
    answer_id = house.scheduler.questions.answer(question.id, "yes")
    house.end_of(answer_id)
    assert house.text(answer_id).startswith("***\n")
    # It asked once more.
    (again,) = house.scheduler.questions.list()
    house.scheduler.questions.dismiss(again.id)
    until(lambda: github.labels(1) == {"ready"})
    house.wait_until_cleared()
    during += _command_lines()
    assert all(secret not in during for secret in (_SECRET, TOKEN))
    shown = [
        _halo(*words).stdout for words in (("show", "job 1", "--json"), ("history", "--json"), ("inbox",))
    ]
    assert all(secret not in text for secret in (_SECRET, TOKEN) for text in shown)
    assert house.stop() == 0
    _assert_nowhere(house, _SECRET, TOKEN)
    assert all(seen.headers.get("authorization") == f"Bearer {TOKEN}" for seen in github.seen)
