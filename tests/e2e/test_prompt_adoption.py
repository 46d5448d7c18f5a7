"""Prompts that outlive a crash of ours: kill -9 of the daemon, not of the agent."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_shop import AGENTS
from daemons import House
from process_probe import files_below, until

from halo_scheduler import Outcome, Policy, Prompt
from halo_scheduler.actions.spool import spool_folder
from halo_scheduler.host.process_tree import marked_processes
from halo_scheduler.model.actions import FolderSource

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the programs are those of POSIX")

_SECRET = "correct horse battery"  # noqa: S105 - of this test only


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    found = House(tmp_path, monkeypatch)
    found.scheduler.settings.change(agents=AGENTS)
    yield found
    found.close()


def _prompt(house: House, *steps: list[Any], **rest: Any) -> Prompt:
    """Return a prompt whose agent waits for a file before its last steps."""
    script = json.dumps(
        [["say", "::cost 1"], ["note", f"{house.folder}/note"], ["wait", f"{house.folder}/go"], *steps]
    )
    environment = {"FAKE_AGENT": script, **rest.pop("environment", {})}
    return Prompt(text="words", agent="file", environment=environment, **rest)


def _crash_during(house: House, action: Prompt) -> str:
    """Start a prompt under a daemon and crash that; return the run's id."""
    house.start()
    run_id = house.begin(action)
    until(lambda: house.spooled(".ticket") and (house.folder / "note").exists())
    house.crash()
    return run_id


def _let_it_end(house: House, run_id: str) -> None:
    house.touch("go")
    until(lambda: not marked_processes([run_id]))


@pytest.mark.parametrize("is_adopted", [True, False], ids=["adopted", "ended unseen"])
def test_a_prompt_ends_as_if_nothing_had_happened(house: House, is_adopted: bool) -> None:
    action = _prompt(house, ["say", "::cost 2"], ["say", "::needs-input well?"], ["exit", 5])
    run_id = _crash_during(house, action)
    assert house.spooled(".prompt")
    if is_adopted:
        house.start()
        _let_it_end(house, run_id)
    else:
        _let_it_end(house, run_id)
        house.start()
    run = house.end_of(run_id)
    assert (run.outcome, run.exit_code, run.cost) == (Outcome.FAILURE, 5, 3.0)
    question = house.scheduler.questions.of_run(run_id)
    assert question is not None
    assert question.text == "well?"
    assert house.text(run_id) == "::cost 1\n::cost 2\n::needs-input well?\n"
    house.wait_until_cleared()


@pytest.mark.parametrize("is_adopted", [True, False], ids=["adopted", "ended unseen"])
def test_directives_are_read_once_the_secrets_are_available(house: House, is_adopted: bool) -> None:
    house.scheduler.secrets.set("TOKEN", _SECRET, in_file=True)
    steps: list[list[Any]] = [["say", "::needs-input is it ${secret:TOKEN}?"], ["say", "::cost 2"]]
    run_id = _crash_during(house, _prompt(house, *steps, environment={"T": "${secret:TOKEN}"}))
    if is_adopted:
        house.start()
        _let_it_end(house, run_id)
    else:
        _let_it_end(house, run_id)
        house.start()
    assert house.end_of(run_id).outcome is Outcome.SUCCESS
    until(lambda: house.get(run_id).cost == 3.0)
    question = house.scheduler.questions.of_run(run_id)
    assert question is not None
    assert question.text == "is it ***?"
    house.wait_until_cleared()
    assert house.text(run_id) == "::cost 1\n::needs-input is it ***?\n::cost 2\n"
    files = files_below(house.folder / "halo")
    assert len(files) > 1
    holders = [path.name for path, content in files.items() if _SECRET.encode() in content]
    assert holders == ["halo-secrets.json"]


def test_a_question_by_exit_code_does_not_wait_for_secrets(house: House) -> None:
    house.scheduler.secrets.set("TOKEN", _SECRET, in_file=True)
    action = _prompt(
        house, ["say", "hm"], ["exit", 42], needs_input_code=42, environment={"T": "${secret:TOKEN}"}
    )
    run_id = _crash_during(house, action)
    house.scheduler.secrets.remove("TOKEN")
    _let_it_end(house, run_id)
    house.start()
    assert house.end_of(run_id).exit_code == 42
    question = house.scheduler.questions.of_run(run_id)
    assert question is not None
    assert question.text == "It ended with exit code 42 and needs input."
    house.wait_until_cleared()
    assert "[output withheld" in house.text(run_id)


def test_lines_are_read_as_they_were_when_the_run_started(house: House) -> None:
    run_id = _crash_during(house, _prompt(house, ["say", "::cost 2"]))
    house.scheduler.update_job(house.get(run_id).job_id, policy=Policy(reads_lines=False))
    _let_it_end(house, run_id)
    house.start()
    assert house.end_of(run_id).cost == 3.0


def test_an_item_goes_where_its_adopted_run_sends_it(house: House) -> None:
    ready = house.folder / "items" / "ready"
    ready.mkdir(parents=True)
    (ready / "a.md").write_text("# A")
    source = FolderSource(path=str(house.folder / "items"))
    run_id = _crash_during(house, _prompt(house, work_source=source))
    assert not list(ready.iterdir())
    house.start()
    assert (house.get(run_id).outcome, house.get(run_id).work_id) == (Outcome.RUNNING, "a.md")
    assert (house.folder / "items" / "in-progress" / "a.md").exists()
    _let_it_end(house, run_id)
    assert house.end_of(run_id).outcome is Outcome.SUCCESS
    until((house.folder / "items" / "done" / "a.md").exists)
    house.wait_until_cleared()


def test_a_prompt_file_that_a_crash_left_is_deleted(house: House) -> None:
    folder = spool_folder(house.scheduler.path)
    folder.mkdir(mode=0o700, exist_ok=True)
    for suffix in (".prompt", ".work", ".said"):
        (folder / f"nobody{suffix}").write_text("words")
    house.start()
    house.wait_until_cleared()
