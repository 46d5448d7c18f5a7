"""Prompts and items at work: what real processes are given, and what becomes of it."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_shop import AgentShop, open_agent_shop, quiet_machine
from commands import shell
from process_probe import LONG_S, files_below, living_in, pids_in, until
from pytestqt.qtbot import QtBot

from halo_scheduler import Command, Cron, Manual, Outcome, Policy, Prompt, Retry, Run, ScheduleError, Trigger
from halo_scheduler.actions.spool import spool_folder
from halo_scheduler.host.login_environment import read_login_environment
from halo_scheduler.model import Action, Follower, FollowOn, SkipReason
from halo_scheduler.model.actions import FolderSource
from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.model.settings import LONGEST_ARGUMENT_BYTES, Agent
from halo_scheduler.work_sources.item import Item, SourceError
from halo_scheduler.work_sources.work_desk import OpenedSource

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the programs are those of POSIX")

_SECRET = "correct horse battery"  # noqa: S105 - of this test only
_HOSTILE = "{{answer}} ${secret:TOKEN} {prompt} $(touch pwned) \x00 \x1b[31m --yolo"


@pytest.fixture(autouse=True)
def _quiet_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with quiet_machine(tmp_path, monkeypatch):
        yield


@pytest.fixture
def shop(tmp_path: Path, qtbot: QtBot) -> Iterator[AgentShop]:
    with open_agent_shop(tmp_path, qtbot) as found:
        yield found


def _secret_places(shop: AgentShop, secret: str) -> list[str]:
    """Return the files beside the database that hold a secret, but for the one it is kept in."""
    shop.until(lambda: shop.spooled() == [])
    return [
        path.name
        for path, content in files_below(shop.folder / "data").items()
        if not path.name.endswith("secrets.json") and secret.encode() in content
    ]


# --- How an agent gets its prompt -----------------------------------------------------------------


@pytest.mark.parametrize("agent", ["stdin", "argument", "file"])
def test_an_agent_gets_the_rendered_prompt(shop: AgentShop, agent: str) -> None:
    run = shop.run(shop.prompt("I am {{job.name}}.\nÄ → 'x' \"y\" $HOME `id`\n", agent=agent))
    assert (run.outcome, run.error, run.exit_code) == (Outcome.SUCCESS, "", 0)
    note = shop.note()
    assert note["how"] == agent
    assert note["prompt"] == "I am job 1.\nÄ → 'x' \"y\" $HOME `id`\n"
    assert note["environment"]["HALO_JOB_NAME"] == "job 1"
    assert note["environment"]["HALO_TRIGGER"] == "manual"
    assert note["directory"] == str((shop.folder / "home").resolve())


def test_without_a_name_the_default_agent_gets_it(shop: AgentShop) -> None:
    shop.scheduler.settings.change(default_agent="file")
    shop.run(shop.prompt("x", agent=""))
    assert shop.note()["how"] == "file"


def test_a_prompt_file_is_private_and_gone_afterwards(shop: AgentShop) -> None:
    run_id = shop.begin(shop.prompt("words", ["wait", str(shop.folder / "go")], agent="file"))
    note = shop.note()
    path = Path(note["path"])
    assert (note["mode"], path.name, path.is_absolute()) == (0o600, f"{run_id}.prompt", True)
    assert path.read_text() == "words"
    (shop.folder / "go").touch()
    assert shop.end_of(run_id).outcome is Outcome.SUCCESS
    assert not path.exists()
    assert shop.spooled() == []


@pytest.mark.parametrize("agent", ["stdin", "file"])
def test_a_prompt_of_megabytes_arrives_completely(shop: AgentShop, agent: str) -> None:
    text = "ä" * 999_996 + " end"
    assert shop.run(shop.prompt(text, agent=agent)).outcome is Outcome.SUCCESS
    assert shop.note()["prompt"] == text


def test_a_prompt_of_100_kib_fits_into_an_argument(shop: AgentShop) -> None:
    text = "ä" * (LONGEST_ARGUMENT_BYTES // 2)
    assert len(text.encode()) == 102_400
    run = shop.run(shop.prompt(text, agent="argument"))
    assert (run.outcome, run.error) == (Outcome.SUCCESS, "")
    assert shop.note()["prompt"] == text


def test_one_byte_more_is_refused_with_the_way_out(shop: AgentShop) -> None:
    run = shop.run(shop.prompt("ä" * (LONGEST_ARGUMENT_BYTES // 2) + "x", agent="argument"))
    assert (run.outcome, run.exit_code, run.reason) == (Outcome.FAILURE, None, None)
    assert run.error == (
        "the prompt has 102,401 bytes, but an agent can be given at most 102,400 as an argument; "
        "let it read its standard input or {prompt_file}"
    )
    assert not shop.note_path.exists()
    assert shop.spooled() == []


def test_an_argument_is_never_taken_for_an_option(shop: AgentShop) -> None:
    source = shop.items(a="--yolo")
    shop.run(shop.prompt("{{work.body}}", agent="argument", work_source=source))
    assert shop.note()["prompt"].startswith(" --yolo")


# --- What keeps an agent from starting ------------------------------------------------------------


def test_a_missing_program_is_reported_and_uses_up_no_item(shop: AgentShop) -> None:
    source = shop.items(a="# First")
    run = shop.run(shop.prompt("x", agent="missing", work_source=source))
    assert run.outcome is Outcome.FAILURE
    assert run.error.startswith("there is no program 'no-such-agent' on the PATH (")
    assert (run.reason, run.work_id) == (None, "")
    assert shop.places() == {"ready": ["a.md"]}
    assert shop.spooled() == []


def test_a_missing_directory_uses_up_no_item(shop: AgentShop) -> None:
    source = shop.items(a="# First")
    run = shop.run(shop.prompt("x", directory="/no/such/folder", work_source=source))
    assert run.error == "the working directory '/no/such/folder' does not exist"
    assert shop.places() == {"ready": ["a.md"]}


def test_an_agent_that_is_gone_from_the_settings_is_reported(shop: AgentShop) -> None:
    job_id = shop.scheduler.add_job("job", Manual(), shop.prompt("x", agent="file"))
    shop.scheduler.settings.change(agents=(Agent(name="other", argv=("true",)),))
    run = shop.end_of(shop.scheduler.trigger(job_id))
    assert run.outcome is Outcome.FAILURE
    assert run.error == "there is no agent named 'file' in the settings; known: other"


def test_an_unknown_agent_is_refused_when_the_job_is_saved(shop: AgentShop) -> None:
    with pytest.raises(ScheduleError, match="there is no agent named 'nobody' in the settings"):
        shop.scheduler.add_job("job", Manual(), Prompt(text="x", agent="nobody"))


def test_a_secret_that_is_not_set_uses_up_no_item(shop: AgentShop) -> None:
    source = shop.items(a="# First")
    action = shop.prompt("x", environment={"T": "${secret:TOKEN}"}, work_source=source)
    assert shop.run(action).error == "the secret TOKEN is not set; set it with: halo secret set TOKEN"
    assert shop.places() == {"ready": ["a.md"]}


# --- How an agent ends ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "outcome", "error"),
    [
        (0, Outcome.SUCCESS, ""),
        (3, Outcome.SUCCESS, ""),
        (4, Outcome.FAILURE, "exit code 4"),
        (75, Outcome.SKIPPED, ""),
    ],
)
def test_the_exit_code_of_an_agent_is_the_outcome(
    shop: AgentShop, code: int, outcome: Outcome, error: str
) -> None:
    run = shop.run(shop.prompt("x", ["exit", code], success_codes=(0, 3), no_work_code=75))
    assert (run.outcome, run.exit_code, run.error) == (outcome, code, error)


def test_a_time_limit_ends_an_agent_and_all_it_started(shop: AgentShop) -> None:
    run = shop.run(shop.prompt("x", ["say", "begun"], ["sleep"], grace="1s"), time_limit="1s")
    assert (run.outcome, run.error) == (Outcome.TIMEOUT, "it ran longer than its time limit")
    assert shop.text(run) == "begun\n"
    assert shop.spooled() == []


def test_an_agent_outlives_a_stop_of_the_engine_and_is_taken_up_again(shop: AgentShop) -> None:
    go = shop.folder / "go"
    steps: list[list[Any]] = [["say", "::cost 0.5"], ["wait", str(go)], ["say", "::cost 0.25"]]
    run_id = shop.begin(shop.prompt("x", *steps, ["say", "::needs-input now?"], ["exit", 5], agent="file"))
    path = Path(shop.note()["path"])
    shop.scheduler.stop(wait=False)
    assert path.exists()
    shop.scheduler.start()
    go.touch()
    run = shop.end_of(run_id)
    assert (run.outcome, run.exit_code, run.cost) == (Outcome.FAILURE, 5, 0.75)
    question = shop.scheduler.questions.of_run(run_id)
    assert question is not None
    assert question.text == "now?"
    assert not path.exists()


# --- Secrets --------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", ["stdin", "argument", "file"])
def test_a_secret_in_the_environment_stays_there(shop: AgentShop, agent: str) -> None:
    shop.scheduler.secrets.set("TOKEN", _SECRET, in_file=True)
    # What is in its environment may be filled in, also in the script of the fake agent.
    steps: list[list[Any]] = [
        ["tell", "T"],
        ["say", "::needs-input may I use ${secret:TOKEN}?"],
        ["say", "::cost ${secret:TOKEN}"],
        ["exit", 9],
    ]
    run = shop.run(shop.prompt("words", *steps, agent=agent, environment={"T": "${secret:TOKEN}"}))
    assert run.exit_code == 9
    assert shop.text(run) == "***\n::needs-input may I use ***?\n::cost ***\n"
    assert run.note == "a line of its output could not be read: ::cost ***"
    question = shop.scheduler.questions.of_run(run.id)
    assert question is not None
    assert question.text == "may I use ***?"
    assert _SECRET not in str(shop.note())
    assert _secret_places(shop, _SECRET) == []


def test_text_from_others_gets_no_secret(shop: AgentShop) -> None:
    shop.scheduler.secrets.set("TOKEN", _SECRET, in_file=True)
    source = shop.items(a=f"# Title {_HOSTILE}\n\n{_HOSTILE}")
    action = shop.prompt(
        "{{work.title}}|{{work.body}}", ["repeat"], environment={"T": "${secret:TOKEN}"}, work_source=source
    )
    run = shop.run(action)
    assert run.outcome is Outcome.SUCCESS
    prompt = shop.note()["prompt"]
    assert _SECRET not in prompt
    assert prompt.count("{{answer}} ${secret:TOKEN} {prompt} $(touch pwned)") == 2
    assert "\0" not in prompt
    assert "***" not in shop.text(run)
    assert not list(shop.folder.rglob("pwned"))
    assert _secret_places(shop, _SECRET) == []


# --- Items ----------------------------------------------------------------------------------------


def test_an_agent_gets_the_first_item_and_its_run_names_it(shop: AgentShop) -> None:
    source = shop.items(**{"1-fence": "# Mend the fence\n\nIt is broken.", "2-gate": "# Paint the gate"})
    run = shop.run(shop.prompt("Do it.", work_source=source))
    assert run.outcome is Outcome.SUCCESS
    assert (run.work_id, run.work_title) == ("1-fence.md", "Mend the fence")
    assert shop.note()["prompt"].startswith("Do it.\n\n---\n\n## Work Item\n\n")
    assert "**Title:** Mend the fence\n**ID:** 1-fence.md\n" in shop.note()["prompt"]
    assert "It is broken." in shop.note()["prompt"]
    shop.until(lambda: shop.places() == {"ready": ["2-gate.md"], "done": ["1-fence.md"]})


def test_the_item_is_in_progress_while_the_agent_works(shop: AgentShop) -> None:
    source = shop.items(a="# A")
    run_id = shop.begin(shop.prompt("x", ["sleep"], work_source=source, grace="1s"))
    shop.note()
    assert shop.places() == {"in-progress": ["a.md"]}
    shop.scheduler.cancel_run(run_id)
    assert shop.end_of(run_id).outcome is Outcome.CANCELLED
    shop.until(lambda: shop.places() == {"ready": ["a.md"]})
    shop.until(lambda: shop.spooled() == [])


def test_without_an_item_nothing_is_started(shop: AgentShop) -> None:
    run = shop.run(shop.prompt("x", work_source=shop.items()))
    assert (run.outcome, run.reason, run.error) == (Outcome.SKIPPED, SkipReason.NO_WORK, "")
    assert not shop.note_path.exists()


def test_a_source_that_cannot_be_asked_is_the_runs_failure_and_is_not_retried(shop: AgentShop) -> None:
    gone = FolderSource(path=str(shop.folder / "gone"))
    policy = Policy(retry=Retry(attempts=3, delay_ms=10))
    job_id = shop.scheduler.add_job(
        "job", Cron("* * * * * *", timezone="UTC"), shop.prompt("x", work_source=gone), policy=policy
    )
    shop.until(lambda: shop.scheduler.get_run_log(job_id, outcome=Outcome.FAILURE))
    shop.scheduler.pause_job(job_id)
    runs = shop.scheduler.get_run_log(job_id)
    assert {run.attempt for run in runs} == {1}
    assert (runs[-1].reason, runs[-1].error) == (
        SkipReason.SOURCE_UNAVAILABLE,
        f"the folder {shop.folder / 'gone'} does not exist",
    )
    assert not shop.note_path.exists()


def test_an_item_of_five_megabytes_reaches_the_agent(shop: AgentShop) -> None:
    source = shop.items(big="# Big\n\n" + "word " * 1_000_000)
    run = shop.run(shop.prompt("x", work_source=source))
    assert run.outcome is Outcome.SUCCESS
    prompt = shop.note()["prompt"]
    assert "**Title:** Big\n**ID:** big.md\n" in prompt
    assert len(prompt) > 60_000


def test_an_item_too_long_for_an_argument_fails_with_the_way_out(shop: AgentShop) -> None:
    source = shop.items(big="# Big\n\n" + "word " * 50_000)
    run = shop.run(shop.prompt("x", agent="argument", work_source=source))
    assert run.outcome is Outcome.FAILURE
    assert "as an argument; let it read its standard input or {prompt_file}" in run.error
    assert run.work_id == "big.md"
    shop.until(lambda: shop.places() == {"failed": ["big.md"]})


def test_a_command_gets_the_item_it_works_on(shop: AgentShop) -> None:
    source = shop.items(a=f"# Title {_HOSTILE}\n\nBody {_HOSTILE}")
    line = 'printf "%s|%s|%s|%s\\n" "$HALO_WORK_ID" "$HALO_WORK_TITLE" "$HALO_WORK_URL" "$HALO_WORK_LABELS"; '
    line += 'stat -c %a "$HALO_WORK_FILE"; cat "$HALO_WORK_FILE"; echo; echo "$HALO_WORK_FILE" >path'
    run = shop.run(shell(line, directory=str(shop.folder), work_source=source))
    first, mode, *markdown = shop.text(run).splitlines()
    assert first.startswith("a.md|Title {{answer}} ${secret:TOKEN} {prompt} $(touch pwned)")
    assert mode == "600"
    assert markdown[0].startswith("# Title {{answer}} ${secret:TOKEN}")
    assert markdown[2] == "- id: a.md"
    path = Path((shop.folder / "path").read_text().strip())
    assert path.name == f"{run.id}.work"
    shop.until(lambda: not path.exists())
    assert not (shop.folder / "pwned").exists()


def test_a_command_gets_shortened_texts(shop: AgentShop) -> None:
    source = shop.items(a="# " + "ä" * 100_000)
    run = shop.run(shell('printf %s "$HALO_WORK_TITLE" | wc -c', work_source=source))
    assert run.outcome is Outcome.SUCCESS
    assert 0 < int(shop.text(run)) <= 8_192


def test_a_command_without_a_work_queue_gets_no_item(shop: AgentShop) -> None:
    run = shop.run(shell("env | grep -c -e HALO_WORK -e HALO_QUESTION -e HALO_ANSWER"))
    assert shop.text(run) == "0\n"


def test_secrets_in_a_commands_standard_input_are_filled_in_but_not_in_its_item(shop: AgentShop) -> None:
    shop.scheduler.secrets.set("TOKEN", _SECRET, in_file=True)
    source = shop.items(a="# ${secret:TOKEN}")
    action = Command(
        argv=("sh", "-c", 'wc -c; printf %s "$HALO_WORK_TITLE"'),
        stdin="${secret:TOKEN}",
        work_source=source,
    )
    assert shop.text(shop.run(action)) == f"{len(_SECRET)}\n${{secret:TOKEN}}"


# --- Answers --------------------------------------------------------------------------------------


def _ask(shop: AgentShop, action: Prompt | Command) -> tuple[str, str]:
    """Let a job ask something, and return its id and that of the question."""
    job_id = shop.scheduler.add_job("asker", Manual(), action, policy=Policy(reads_lines=True))
    run = shop.end_of(shop.scheduler.trigger(job_id))
    question = shop.scheduler.questions.of_run(run.id)
    assert question is not None
    return job_id, question.id


def _answered(shop: AgentShop, question_id: str, text: str) -> Run:
    run = shop.end_of(shop.scheduler.questions.answer(question_id, text))
    assert run.trigger is Trigger.ANSWER
    return run


def test_an_answer_reaches_the_agent_with_the_item_it_is_about(shop: AgentShop) -> None:
    source = shop.items(a="# A", b="# B")
    action = shop.prompt("Go on.", ["say", "::needs-input red or blue?"], work_source=source)
    _, question_id = _ask(shop, action)
    (shop.folder / "items" / "ready" / "0.md").write_text("# An earlier one")
    shop.note_path.unlink()
    run = _answered(shop, question_id, "blue {{date}} ${secret:TOKEN}")
    assert (run.work_id, run.work_title) == ("a.md", "A")
    prompt = shop.note()["prompt"]
    assert "**Title:** A\n**ID:** a.md\n" in prompt
    assert prompt.endswith("\n\n# Question\n\nred or blue?\n\n# Answer\n\nblue {{date}} ${secret:TOKEN}")


def test_an_answer_fails_with_a_sentence_when_its_item_is_gone(shop: AgentShop) -> None:
    source = shop.items(a="# A", b="# B")
    _, question_id = _ask(shop, shop.prompt("x", ["say", "::needs-input well?"], work_source=source))
    (shop.folder / "items" / "in-progress" / "a.md").unlink()
    run = _answered(shop, question_id, "yes")
    assert run.outcome is Outcome.FAILURE
    assert run.error == "the item a.md cannot be taken: it is no longer ready"
    assert shop.places() == {"ready": ["b.md"]}


def test_an_answer_reaches_a_command_in_its_environment(shop: AgentShop) -> None:
    line = 'if [ -n "$HALO_ANSWER" ]; then printf "%s|%s" "$HALO_QUESTION" "$HALO_ANSWER"; else '
    line += 'echo "::needs-input which?"; fi'
    _, question_id = _ask(shop, shell(line))
    assert (
        shop.text(_answered(shop, question_id, "the ${secret:X}\nred one"))
        == "which?|the ${secret:X}\nred one"
    )


# --- Test runs ------------------------------------------------------------------------------------


def test_a_test_run_reads_the_first_item_and_leaves_it_where_it_is(shop: AgentShop) -> None:
    source = shop.items(a="# A")
    action = shop.prompt("x", ["say", "::needs-input hm?"], ["say", "::cost 2"], work_source=source)
    job_id = shop.scheduler.add_job("job", Manual(), action)
    job = shop.scheduler.get_job(job_id)
    assert job is not None
    run = shop.end_of(shop.scheduler.runs.request_test(job_id, job.spec))
    assert (run.trigger, run.outcome, run.cost, run.work_id) == (Trigger.TEST, Outcome.SUCCESS, 2.0, "a.md")
    assert "**Title:** A\n" in shop.note()["prompt"]
    assert shop.places() == {"ready": ["a.md"]}
    assert shop.scheduler.questions.of_run(run.id) is None
    assert shop.spooled() == []


# --- Called off while it claims -------------------------------------------------------------------


class _SlowDesk:
    """Holds up claims, before or after they are made."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_claiming = threading.Event()
        self.may_go = threading.Event()
        self.has_claimed = threading.Event()
        real = OpenedSource.claim

        def claim(opened: OpenedSource, run_id: str, only: str = "") -> Item:
            self.is_claiming.set()
            if not self.may_go.wait(20):
                raise SourceError(message(MessageKind.TEXT, text="nobody let it go"))
            try:
                return real(opened, run_id, only)
            finally:
                self.has_claimed.set()

        monkeypatch.setattr(OpenedSource, "claim", claim)


def test_a_run_that_is_stopped_while_it_claims_ends_at_once_and_gives_the_item_back(
    shop: AgentShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = _SlowDesk(monkeypatch)
    run_id = shop.begin(shop.prompt("x", work_source=shop.items(a="# A")))
    shop.until(desk.is_claiming.is_set)
    shop.scheduler.cancel_run(run_id)
    run = shop.end_of(run_id)
    assert (run.outcome, run.error) == (Outcome.CANCELLED, "stopped by the user")
    # Long enough for a settlement that does not wait.
    assert shop.run(Command(argv=("true",))).outcome is Outcome.SUCCESS
    assert not desk.has_claimed.is_set()
    desk.may_go.set()
    assert desk.has_claimed.wait(20)
    shop.until(lambda: shop.places() == {"ready": ["a.md"]} and shop.spooled() == [])
    assert not shop.note_path.exists()


def test_an_item_that_is_not_had_within_the_time_limit_is_given_back_and_has_not_failed(
    shop: AgentShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = _SlowDesk(monkeypatch)
    run_id = shop.begin(shop.prompt("x", work_source=shop.items(a="# A")), time_limit="1s")
    shop.until(desk.is_claiming.is_set)
    run = shop.end_of(run_id)
    assert (run.outcome, run.reason) == (Outcome.TIMEOUT, SkipReason.SOURCE_UNAVAILABLE)
    desk.may_go.set()
    assert desk.has_claimed.wait(20)
    shop.until(lambda: shop.places() == {"ready": ["a.md"]} and shop.spooled() == [])


def test_an_engine_that_goes_while_a_run_claims_keeps_nothing(
    shop: AgentShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = _SlowDesk(monkeypatch)
    run_id = shop.begin(shop.prompt("x", work_source=shop.items(a="# A")))
    shop.until(desk.is_claiming.is_set)
    shop.scheduler.stop(wait=False)
    shop.scheduler.start()
    assert shop.end_of(run_id).outcome is Outcome.INTERRUPTED
    desk.may_go.set()
    assert desk.has_claimed.wait(20)
    shop.until(lambda: shop.places() == {"ready": ["a.md"]} and shop.spooled() == [])
    assert not shop.note_path.exists()


def test_nothing_is_claimed_for_a_run_that_was_stopped_before(
    shop: AgentShop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    login = tmp_path / "login-shell"
    login.write_text(
        f"#!/bin/sh\necho $$ >{tmp_path}/shell.pid\nwhile [ ! -e {tmp_path}/go ]; do sleep 0.02; done\n"
        'while [ "$1" != -c ]; do shift; done\nexec /bin/sh "$@"\n'
    )
    login.chmod(0o755)
    monkeypatch.setenv("SHELL", str(login))
    # A busy machine can stop this process for longer than a login shell may take.
    monkeypatch.setattr(read_login_environment, "__defaults__", (LONG_S,))
    shop.scheduler.engine.refresh_environment()
    claims: list[str] = []
    monkeypatch.setattr(OpenedSource, "claim", lambda _self, run_id, only="": claims.append(run_id + only))
    run_id = shop.begin(shop.prompt("x", work_source=shop.items(a="# A")))
    shop.until(lambda: pids_in(tmp_path))
    shop.scheduler.cancel_run(run_id)
    assert shop.end_of(run_id).outcome is Outcome.CANCELLED
    (tmp_path / "go").touch()
    assert shop.run(Command(argv=("true",))).outcome is Outcome.SUCCESS
    assert claims == []
    until(lambda: living_in(tmp_path) == [])
    assert os.listdir(shop.folder / "items" / "ready") == ["a.md"]  # noqa: PTH208 - names only


# --- Chains ---------------------------------------------------------------------------------------


def _chain(shop: AgentShop, line: str, action: Action) -> tuple[Run, Run]:
    """Run a command, and return its run beside the one that it started."""
    after = shop.scheduler.add_job("after", Manual(), action)
    followers = [Follower(job_id=after, on=FollowOn.ALWAYS)]
    first = shop.scheduler.add_job("first", Manual(), shell(line), followers=followers)
    before = shop.end_of(shop.scheduler.trigger(first))
    shop.until(lambda: shop.scheduler.get_run_log(after))
    (begun,) = shop.scheduler.get_run_log(after)
    return before, shop.end_of(begun.id)


def test_a_command_gets_the_job_that_triggered_it(shop: AgentShop) -> None:
    line = 'env | grep ^HALO_CHAIN | sort; cat "$HALO_CHAIN_OUTPUT"; echo; stat -c %a "$HALO_CHAIN_OUTPUT"'
    before, run = _chain(shop, "printf 'one\\n\\377two'; exit 3", shell(line))
    assert (run.trigger, run.caused_by) == (Trigger.CHAIN, before.id)
    told, _, rest = shop.scheduler.get_output(run.id).partition(b"one\n")
    assert dict(line.split("=", 1) for line in told.decode().splitlines()) == {
        "HALO_CHAIN_RUN_ID": before.id,
        "HALO_CHAIN_JOB": "first",
        "HALO_CHAIN_JOB_ID": before.job_id,
        "HALO_CHAIN_OUTCOME": "failure",
        "HALO_CHAIN_OUTPUT": str(spool_folder(shop.scheduler.path) / f"{run.id}.cause"),
    }
    assert rest == b"\xfftwo\n600\n"
    assert shop.spooled() == []


@pytest.mark.parametrize("agent", ["stdin", "file"])
def test_an_agent_gets_the_job_that_triggered_it(shop: AgentShop, agent: str) -> None:
    shop.scheduler.secrets.set("TOKEN", _SECRET, in_file=True)
    text = "{{chain.job}} {{chain.run}} {{chain.outcome}}: {{chain.output}}"
    prompt = shop.prompt(text, agent=agent, environment={"T": "${secret:TOKEN}"})
    before, _ = _chain(shop, "printf '{{job.name}} $%s\\n' '{secret:TOKEN}'", prompt)
    note = shop.note()
    assert note["prompt"] == f"first {before.id} success: {{{{job.name}}}} ${{secret:TOKEN}}\n"
    assert note["environment"]["HALO_CHAIN_RUN_ID"] == before.id
    assert note["environment"]["HALO_CHAIN_OUTPUT"].endswith(".cause")
    assert _secret_places(shop, _SECRET) == []


def test_after_a_run_that_printed_nothing_there_is_an_empty_file(shop: AgentShop) -> None:
    looks = shell('test -f "$HALO_CHAIN_OUTPUT" -a ! -s "$HALO_CHAIN_OUTPUT"')
    _, run = _chain(shop, "true", looks)
    assert run.outcome is Outcome.SUCCESS


def test_a_run_without_a_chain_gets_no_chain_variables(shop: AgentShop) -> None:
    run = shop.run(shell("env | grep HALO_CHAIN || echo none"))
    assert shop.text(run) == "none\n"
