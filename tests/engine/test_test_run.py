"""Test runs of jobs that are not stored: shown, never kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from agent_shop import AGENTS
from commands import shell
from http_site import Site, open_site
from process_probe import descriptor_count, end_all, is_living, living_in, pids_in
from pytestqt.qtbot import QtBot

from halo_scheduler import Callback, Command, HttpRequest, Manual, Outcome, Policy, Prompt
from halo_scheduler.actions.run_services import NO_CONTEXT, Ended, RunContext
from halo_scheduler.clock import SystemClock
from halo_scheduler.engine.test_run import Trial, clear_left_trials, trial_folder
from halo_scheduler.host.login_environment import Environment
from halo_scheduler.model import Action, JobSpec, SkipReason
from halo_scheduler.model.actions import FolderSource
from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.model.settings import Agent
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.store.secrets import SecretError
from halo_scheduler.wording.messages import message_words, messages_words

_LONG_MS = 20_000


class Stage:
    """Runs trials beside a database and notes what they tell."""

    def __init__(self, folder: Path, qtbot: QtBot) -> None:
        self.folder = trial_folder(folder / "halo.db")
        self.pids = folder
        self._qtbot = qtbot
        self.secrets: dict[str, str] = {}
        self.printed = b""
        self.progress: list[tuple[float, str]] = []
        self.ends: list[Ended] = []
        self.alive_at_end: list[int] = []

    def begin(self, action: Action, context: RunContext = NO_CONTEXT, **policy: Any) -> Trial:
        spec = JobSpec(name="try me", schedule=Manual(), action=action, policy=Policy(**policy))
        trial = Trial(
            spec,
            self.folder,
            self._read,
            SystemClock(),
            context=context,
            login_environment=lambda: Environment({"PATH": "/usr/bin:/bin"}),
        )
        trial.output.connect(self._note_output)
        trial.progress.connect(lambda part, text: self.progress.append((part, text)))
        trial.ended.connect(self._note_end)
        trial.start()
        return trial

    def run(self, action: Action, context: RunContext = NO_CONTEXT, **policy: Any) -> Ended:
        self.ends.clear()
        trial = self.begin(action, context, **policy)
        return self.end_of(trial)

    def end_of(self, _trial: Trial) -> Ended:
        self.until(lambda: self.ends)
        return self.ends[-1]

    def until(self, condition: Callable[[], object]) -> None:
        self._qtbot.waitUntil(lambda: bool(condition()), timeout=_LONG_MS)

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.glob("*"))

    def _note_output(self, data: bytes) -> None:
        self.printed += data

    def _note_end(self, ended: Ended) -> None:
        self.alive_at_end = living_in(self.pids)
        self.ends.append(ended)

    def _read(
        self, names: Iterable[str], *, unchanged_since: int | None = None
    ) -> Callable[[], Mapping[str, str]]:
        assert unchanged_since is None

        def read() -> Mapping[str, str]:
            try:
                return {name: self.secrets[name] for name in names}
            except KeyError as error:
                raise SecretError(message(MessageKind.SECRET_NOT_SET, name=error.args[0])) from error

        return read


@pytest.fixture
def stage(tmp_path: Path, qtbot: QtBot) -> Iterator[Stage]:
    yield Stage(tmp_path, qtbot)
    end_all(pids_in(tmp_path))


@pytest.fixture
def site() -> Iterator[Site]:
    with open_site() as found:
        yield found


def test_output_comes_while_it_runs(stage: Stage, tmp_path: Path) -> None:
    go = tmp_path / "go"
    trial = stage.begin(shell(f"echo first; while [ ! -e {go} ]; do sleep 0.02; done; echo second"))
    stage.until(lambda: stage.printed == b"first\n")
    assert stage.ends == []
    go.touch()
    ended = stage.end_of(trial)
    assert (stage.printed, ended.outcome, ended.exit_code) == (b"first\nsecond\n", Outcome.SUCCESS, 0)


def test_a_failure_shows_its_exit_code(stage: Stage) -> None:
    ended = stage.run(Command(argv=("sh", "-c", "exit 3")))
    assert (ended.outcome, ended.exit_code, message_words(ended.message)) == (
        Outcome.FAILURE,
        3,
        "exit code 3",
    )


def test_a_program_that_does_not_exist_is_a_failure_with_its_reason(stage: Stage) -> None:
    ended = stage.run(Command(argv=("no-such-program-at-all",)))
    assert ended.outcome is Outcome.FAILURE
    assert "there is no program 'no-such-program-at-all'" in message_words(ended.message)


def test_it_knows_that_it_is_a_test(stage: Stage) -> None:
    stage.run(shell('echo "$HALO_TRIGGER $HALO_JOB_NAME [$HALO_SLOT]"'))
    assert stage.printed == b"test try me []\n"


def test_the_time_limit_ends_the_whole_tree(stage: Stage, tmp_path: Path) -> None:
    deaf = f"trap '' TERM; echo $$ > {tmp_path}/b.pid; sleep 60"
    ended = stage.run(
        shell(f'echo $$ > {tmp_path}/a.pid; sh -c "{deaf.replace("$", chr(92) + "$")}" & wait', grace="1s"),
        time_limit="1s",
    )
    assert (ended.outcome, message_words(ended.message)) == (
        Outcome.TIMEOUT,
        "it ran longer than its time limit",
    )
    assert len(pids_in(tmp_path)) == 2
    assert stage.alive_at_end == []


def test_it_can_be_stopped(stage: Stage, tmp_path: Path) -> None:
    trial = stage.begin(shell(f"echo $$ > {tmp_path}/a.pid; echo begun; exec sleep 60"))
    stage.until(lambda: stage.printed == b"begun\n")
    trial.stop()
    ended = stage.end_of(trial)
    assert (ended.outcome, message_words(ended.message)) == (Outcome.CANCELLED, "stopped by the user")
    assert (len(pids_in(tmp_path)), stage.alive_at_end) == (1, [])


def test_stopping_before_it_began_starts_nothing(stage: Stage, tmp_path: Path) -> None:
    trial = stage.begin(shell(f"echo $$ > {tmp_path}/a.pid; sleep 60"))
    trial.stop()
    ended = stage.end_of(trial)
    assert ended.outcome is Outcome.CANCELLED
    assert stage.alive_at_end == []


def test_processes_left_by_a_test_are_ended_and_reported(stage: Stage, tmp_path: Path) -> None:
    left = tmp_path / "left.pid"
    ended = stage.run(
        shell(
            f"setsid sh -c 'echo $$ > {left}; exec sleep 60' & while [ ! -s {left} ]; do sleep 0.02; done",
            grace="1s",
        )
    )
    assert ended.outcome is Outcome.SUCCESS
    assert messages_words(ended.notes) == "a process it left running ended with the test"
    assert (len(pids_in(tmp_path)), stage.alive_at_end) == (1, [])


def test_secrets_reach_the_command_and_are_redacted_in_its_output(stage: Stage) -> None:
    stage.secrets = {"TOKEN": "hunter2-hunter2"}
    ended = stage.run(
        shell('echo "${#T} $T"; sleep 0.3; printf "%s" "$T"', environment={"T": "${secret:TOKEN}"})
    )
    assert ended.outcome is Outcome.SUCCESS
    assert stage.printed == b"15 ***\n***"


def test_a_secret_that_is_not_set_is_reported(stage: Stage) -> None:
    ended = stage.run(shell("true", environment={"T": "${secret:TOKEN}"}))
    assert ended.outcome is Outcome.FAILURE
    assert ended.message == message(MessageKind.SECRET_NOT_SET, name="TOKEN")


def test_a_request_is_sent_and_its_answer_shown(stage: Stage, site: Site) -> None:
    url = site.page(lambda visit: visit.answer(body=b"pong"))
    ended = stage.run(HttpRequest(url=url))
    assert (ended.outcome, ended.http_status) == (Outcome.SUCCESS, 200)
    assert stage.printed.startswith(b"HTTP 200")
    assert stage.printed.endswith(b"\n\npong")
    assert stage.files() == []


def test_a_request_keeps_to_the_time_limit(stage: Stage, site: Site) -> None:
    url = site.page(lambda visit: visit.wait_for_the_end())
    ended = stage.run(HttpRequest(url=url), time_limit="1s")
    assert ended.outcome is Outcome.TIMEOUT


def test_progress_is_reported(stage: Stage) -> None:
    go = stage.pids / "go"
    wait = f"while [ ! -e {go} ]; do sleep 0.02; done"
    trial = stage.begin(shell(f"echo '::progress 0.4 copying'; {wait}; echo '::progress 1'"))
    stage.until(lambda: stage.progress)
    go.touch()
    stage.end_of(trial)
    assert stage.progress == [(0.4, "copying"), (1.0, "")]


def test_a_test_of_a_callback_without_a_handler_is_skipped(stage: Stage) -> None:
    ended = stage.run(Callback("somewhere"))
    assert (ended.outcome, ended.reason) == (Outcome.SKIPPED, SkipReason.UNSUPPORTED_TYPE)


def test_an_end_is_reported_once_and_a_stop_after_it_changes_nothing(stage: Stage, qtbot: QtBot) -> None:
    trial = stage.begin(shell("true"))
    stage.end_of(trial)
    trial.stop()
    qtbot.wait(150)
    assert len(stage.ends) == 1


def test_nothing_is_left_on_disk(stage: Stage) -> None:
    before = descriptor_count()
    stage.run(shell("echo hello; cat", stdin="x" * 10))
    assert stage.printed == b"hello\nxxxxxxxxxx"
    assert stage.files() == []
    assert stage.folder.stat().st_mode & 0o777 == 0o700
    # Those of Qt's network stack, which is made anew for each trial, come and go with it.
    assert descriptor_count() <= before + 8


def test_no_table_hears_of_it(stage: Stage, tmp_path: Path) -> None:
    scheduler = Scheduler.open(tmp_path / "halo.db")
    counts = _counts(scheduler)
    stage.run(shell("echo hello"))
    assert _counts(scheduler) == counts
    scheduler.close()


# --- Prompts and items ----------------------------------------------------------------------------


def _prompt(text: str, *steps: list[Any], **rest: Any) -> Prompt:
    environment = {"FAKE_AGENT": json.dumps(steps), **rest.pop("environment", {})}
    return Prompt(text=text, environment=environment, **rest)


@pytest.mark.parametrize("agent", AGENTS[:3], ids=lambda agent: agent.name)
def test_a_prompt_reaches_its_agent_and_nothing_is_left_of_it(stage: Stage, agent: Agent) -> None:
    ended = stage.run(_prompt("I am {{job.name}}.", ["repeat"], ["exit", 3]), RunContext(agent=agent))
    assert (ended.outcome, ended.exit_code, stage.printed) == (Outcome.FAILURE, 3, b"I am try me.\n")
    assert stage.files() == []


def test_a_prompt_without_an_agent_is_reported(stage: Stage) -> None:
    ended = stage.run(Prompt(text="x"), RunContext(no_agent="there is no agent named 'x' in the settings"))
    assert (ended.outcome, message_words(ended.message)) == (
        Outcome.FAILURE,
        "there is no agent named 'x' in the settings",
    )


def test_secrets_of_a_prompt_are_redacted_in_the_output_of_its_agent(stage: Stage) -> None:
    stage.secrets = {"TOKEN": "hunter2-hunter2"}
    action = _prompt("x", ["tell", "T"], environment={"T": "${secret:TOKEN}"})
    assert stage.run(action, RunContext(agent=AGENTS[0])).outcome is Outcome.SUCCESS
    assert stage.printed == b"***\n"


def test_an_agent_keeps_to_the_time_limit(stage: Stage) -> None:
    action = _prompt("x", ["say", "begun"], ["sleep"], grace="1s")
    ended = stage.run(action, RunContext(agent=AGENTS[0]), time_limit="1s")
    assert (ended.outcome, stage.printed, stage.alive_at_end) == (Outcome.TIMEOUT, b"begun\n", [])


def test_a_test_reports_its_cost_and_its_question(stage: Stage) -> None:
    action = _prompt("x", ["say", "::cost 0.5"], ["say", "::needs-input which?"], ["say", "::cost x"])
    ended = stage.run(action, RunContext(agent=AGENTS[0]))
    assert (ended.cost, ended.question) == (0.5, "which?")
    assert messages_words(ended.notes) == "a line of its output could not be read: ::cost x"
    ended = stage.run(action, RunContext(agent=AGENTS[0]), reads_lines=False)
    assert (ended.cost, ended.question, messages_words(ended.notes)) == (None, "", "")


def test_many_directives_at_once_are_all_read(stage: Stage) -> None:
    line = "echo ::cost 1; head -c 40000000 /dev/zero | tr '\\0' x; echo; echo ::cost 2"
    ended = stage.run(shell(line), reads_lines=True)
    assert (ended.outcome, ended.cost) == (Outcome.SUCCESS, 3.0)


def test_the_first_item_is_read_and_left_where_it_is(stage: Stage, tmp_path: Path) -> None:
    ready = tmp_path / "items" / "ready"
    ready.mkdir(parents=True)
    (ready / "1.md").write_text("# First\n\nDo it.")
    (ready / "2.md").write_text("# Second")
    source = FolderSource(path=str(tmp_path / "items"))
    stage.run(_prompt("Go.", ["repeat"], work_source=source), RunContext(agent=AGENTS[2]))
    assert stage.printed.startswith(b"Go.\n\n---\n\n## Work Item\n\n")
    stage.printed = b""
    stage.run(shell('cat "$HALO_WORK_FILE"', work_source=source))
    assert stage.printed.startswith(b"# First\n\n- id: 1.md\n")
    assert [path.name for path in sorted((tmp_path / "items").rglob("*.md"))] == ["1.md", "2.md"]
    assert sorted(path.name for path in ready.iterdir()) == ["1.md", "2.md"]
    assert stage.files() == []


def test_without_an_item_a_trial_has_nothing_to_do(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "items" / "ready").mkdir(parents=True)
    ended = stage.run(shell("echo x", work_source=FolderSource(path=str(tmp_path / "items"))))
    assert (ended.outcome, ended.reason, stage.printed) == (Outcome.SKIPPED, SkipReason.NO_WORK, b"")


def test_a_source_that_cannot_be_asked_is_reported(stage: Stage, tmp_path: Path) -> None:
    ended = stage.run(shell("echo x", work_source=FolderSource(path=str(tmp_path / "gone"))))
    assert (ended.outcome, ended.reason) == (Outcome.FAILURE, SkipReason.SOURCE_UNAVAILABLE)
    assert message_words(ended.message) == f"the folder {tmp_path / 'gone'} does not exist"


def test_the_service_gives_a_trial_its_agent(tmp_path: Path, qtbot: QtBot) -> None:
    scheduler = Scheduler.open(tmp_path / "halo.db")
    scheduler.settings.change(agents=AGENTS, default_agent="file")
    printed: list[bytes] = []
    ends: list[Ended] = []
    trial = scheduler.engine.try_job(
        JobSpec(name="x", schedule=Manual(), action=_prompt("words", ["repeat"]))
    )
    trial.output.connect(printed.append)
    trial.ended.connect(ends.append)
    trial.start()
    qtbot.waitUntil(lambda: bool(ends), timeout=_LONG_MS)
    assert (ends[0].outcome, b"".join(printed)) == (Outcome.SUCCESS, b"words\n")
    scheduler.close()


def test_files_left_by_a_crash_are_cleaned_up(stage: Stage, tmp_path: Path) -> None:
    trial = stage.begin(shell(f"echo $$ > {tmp_path}/a.pid; exec sleep 60"))
    stage.until(lambda: pids_in(tmp_path))
    (pid,) = pids_in(tmp_path)
    clear_left_trials(stage.folder)
    assert stage.files() == []
    stage.until(lambda: not is_living(pid))
    stage.end_of(trial)


def _counts(scheduler: Scheduler) -> dict[str, int]:
    tables = [
        str(name)
        for (name,) in scheduler._store.database.rows("SELECT name FROM sqlite_master WHERE type = 'table'")
    ]
    return {
        table: int(scheduler._store.database.rows(f"SELECT count(*) FROM {table}")[0][0]) for table in tables
    }
