"""What is done with what editors give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from assistant import Assistant
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from halo_scheduler import Command, Every, Outcome, Policy, Prompt, Run, Scheduler, SchedulerError
from halo_scheduler.actions.run_services import Ended
from halo_scheduler.clock import ManualClock
from halo_scheduler.conditions.probes import ConditionState
from halo_scheduler.model import Condition, JobSpec, MainsPower, Network, Proposal, StatusReason
from halo_scheduler.model.messages import MessageKind, message, text_message
from halo_scheduler.model.settings import Agent, Theme
from ui.backend.backend import Backend
from ui.editor.job_editor import JobEditor
from ui.editor.sessions import EditorSessions
from ui.style.theme import Appearance

_NOW = 1_800_000_000_000
_COMMAND = Command(argv=("true",))


class FakeEngine(QObject):
    """Runs unsaved jobs as a test tells it to."""

    trial_output = Signal(int, bytes)
    trial_ended = Signal(int, object)

    def __init__(self) -> None:
        super().__init__()
        self.specs: list[JobSpec] = []
        self.stopped: list[int] = []

    def start_trial(self, spec: JobSpec) -> int:
        self.specs.append(spec)
        return len(self.specs)

    def stop_trial(self, number: int) -> None:
        self.stopped.append(number)


class Stage:
    """Editors on a real database."""

    def __init__(self, path: Path, qtbot: QtBot) -> None:
        self.qtbot = qtbot
        self.scheduler = Scheduler.open(path, clock=ManualClock(_NOW))
        self.engine = FakeEngine()
        backend = Backend.inline(self.scheduler, ManualClock(_NOW))
        self.editing = EditorSessions(backend, Appearance(Theme.LIGHT), self.engine)  # type: ignore[arg-type] # a stand-in
        self.saved: list[str] = []
        self.editing.job_saved.connect(self.saved.append)

    def editors(self) -> list[JobEditor]:
        windows = QApplication.topLevelWidgets()
        return [window for window in windows if isinstance(window, JobEditor) and window.isVisible()]

    def editor(self) -> JobEditor:
        self.qtbot.waitUntil(lambda: len(self.editors()) == 1)
        return self.editors()[0]


@pytest.fixture
def stage(tmp_path: Path, qtbot: QtBot) -> Iterator[Stage]:
    made = Stage(tmp_path / "halo.db", qtbot)
    yield made
    for editor in made.editors():
        editor.accept()
    qtbot.waitUntil(lambda: not made.editors())
    made.scheduler.close()


def _spec(name: str) -> JobSpec:
    return JobSpec(name=name, schedule=Every("1h"), action=_COMMAND)


def test_a_new_job_is_stored_and_its_editor_closes(stage: Stage, qtbot: QtBot) -> None:
    stage.editing.new()
    stage.editor().saved.emit(_spec("backup"))
    qtbot.waitUntil(lambda: len(stage.saved) == 1)
    (job,) = stage.scheduler.list_jobs()
    assert (job.name, job.anchor_at, [job.id]) == ("backup", _NOW, stage.saved)
    qtbot.waitUntil(lambda: not stage.editors())


def test_an_edit_changes_only_the_edited_fields(stage: Stage, qtbot: QtBot) -> None:
    job_id = stage.scheduler.add_job("backup", Every("1h"), _COMMAND, anchor_at=5)
    stage.editing.edit(job_id)
    editor = stage.editor()
    assert editor.draft.spec is not None
    editor.saved.emit(replace(editor.draft.spec, name="copy"))
    qtbot.waitUntil(lambda: stage.saved == [job_id])
    job = stage.scheduler.get_job(job_id)
    assert job is not None
    assert (job.name, job.anchor_at) == ("copy", 5)


def test_changes_made_elsewhere_meanwhile_are_kept(stage: Stage, qtbot: QtBot) -> None:
    job_id = stage.scheduler.add_job("backup", Every("1h"), _COMMAND)
    stage.editing.edit(job_id)
    editor = stage.editor()
    assert editor.draft.spec is not None
    stage.scheduler.update_job(job_id, description="from a terminal")
    editor.saved.emit(replace(editor.draft.spec, name="copy"))
    qtbot.waitUntil(lambda: stage.saved == [job_id])
    job = stage.scheduler.get_job(job_id)
    assert job is not None
    assert (job.name, job.description) == ("copy", "from a terminal")


def test_the_same_field_changed_elsewhere_is_reported_and_replaced_only_by_a_second_save(
    stage: Stage, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[str, str]] = []
    monkeypatch.setattr(JobEditor, "show_error", lambda _self, path, sentence: told.append((path, sentence)))
    job_id = stage.scheduler.add_job("backup", Every("1h"), _COMMAND)
    stage.editing.edit(job_id)
    editor = stage.editor()
    assert editor.draft.spec is not None
    stage.scheduler.update_job(job_id, schedule=Every("7m"))
    edited = replace(editor.draft.spec, schedule=Every("9m"))
    editor.saved.emit(edited)
    qtbot.waitUntil(lambda: len(told) == 1)
    words = "Changed elsewhere since you opened it (schedule: every 7 minutes). Save again to replace that."
    assert told == [("", words)]
    job = stage.scheduler.get_job(job_id)
    assert job is not None
    assert job.schedule == Every("7m")
    editor.saved.emit(edited)
    qtbot.waitUntil(lambda: stage.saved == [job_id])
    job = stage.scheduler.get_job(job_id)
    assert job is not None
    assert job.schedule == Every("9m")


def test_the_switch_of_a_job_that_errors_disabled_resumes_it(stage: Stage, qtbot: QtBot) -> None:
    job_id = stage.scheduler.add_job("backup", Every("1h"), _COMMAND)
    record = stage.scheduler._store.jobs.require(job_id)
    with stage.scheduler._store.transaction():
        disabled = record.evolve(disabled_reason=StatusReason.ERRORS, errors=5, next_run_at=None)
        stage.scheduler._store.jobs.save_states([disabled])
    for is_enabled, name in ((False, "renamed"), (True, "on")):
        stage.editing.edit(job_id)
        editor = stage.editor()
        assert editor.draft.spec is not None
        assert not editor.draft.spec.enabled
        editor.saved.emit(replace(editor.draft.spec, name=name, enabled=is_enabled))
        qtbot.waitUntil(lambda: not stage.editors())
        job = stage.scheduler.get_job(job_id)
        assert job is not None
        assert (job.name, job.enabled, job.spec.enabled) == (name, is_enabled, True)


def test_a_refused_job_stays_in_its_editor_with_the_reason(
    stage: Stage, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[str, str]] = []
    monkeypatch.setattr(JobEditor, "show_error", lambda _self, path, sentence: told.append((path, sentence)))
    stage.editing.new()
    editor = stage.editor()
    stage.scheduler.add_job("backup", Every("1h"), _COMMAND)
    editor.saved.emit(_spec("backup"))
    qtbot.waitUntil(lambda: len(told) == 1)
    assert told[0] == ("name", "there is already a job named 'backup'; choose another name")
    assert stage.editors() == [editor]
    assert len(stage.scheduler.list_jobs()) == 1


def test_a_job_has_one_editor(stage: Stage) -> None:
    job_id = stage.scheduler.add_job("backup", Every("1h"), _COMMAND)
    stage.editing.edit(job_id)
    editor = stage.editor()
    stage.editing.edit(job_id)
    assert stage.editors() == [editor]


def test_a_copy_is_a_new_job_of_another_name(stage: Stage, qtbot: QtBot) -> None:
    job_id = stage.scheduler.add_job("backup", Every("1h"), _COMMAND, group="home")
    stage.editing.duplicate(job_id)
    editor = stage.editor()
    assert editor.draft.is_new
    assert editor.draft.spec is not None
    editor.saved.emit(editor.draft.spec)
    qtbot.waitUntil(lambda: len(stage.saved) == 1)
    assert sorted((job.name, job.group) for job in stage.scheduler.list_jobs()) == [
        ("backup", "home"),
        ("backup (copy)", "home"),
    ]


@pytest.mark.parametrize("reason", [StatusReason.IMPORTED, StatusReason.ASSISTANT])
def test_a_copy_of_an_unreviewed_job_waits_for_that_too(
    stage: Stage, qtbot: QtBot, reason: StatusReason
) -> None:
    job_id = stage.scheduler.add_job("backup", Every("1h"), _COMMAND, paused_by=reason)
    stage.editing.duplicate(job_id)
    editor = stage.editor()
    assert editor.draft.spec is not None
    editor.saved.emit(editor.draft.spec)
    qtbot.waitUntil(lambda: len(stage.saved) == 1)
    copy = stage.scheduler.get_job(stage.saved[0])
    assert copy is not None
    assert (copy.name, copy.review, copy.next_run_at) == ("backup (copy)", reason, None)
    with pytest.raises(SchedulerError, match="only a person can enable it"):
        Assistant(stage.scheduler).resume_job(copy.id)


def test_a_second_job_is_not_lost_by_closing_its_editor(stage: Stage) -> None:
    stage.editing.new_from(_spec("second"))
    editor = stage.editor()
    editor.reject()
    assert editor.isVisible()
    assert stage.editing.unsaved_names()


def test_a_job_that_was_removed_is_reported(stage: Stage, qtbot: QtBot) -> None:
    with qtbot.waitSignal(stage.editing._backend.fault) as told:
        stage.editing.edit("none")
    assert told.args == ["this job no longer exists"]


def test_an_unsaved_job_is_tried_without_a_trace(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[object] = []
    monkeypatch.setattr(JobEditor, "feed_test", lambda _self, data: shown.append(data))
    monkeypatch.setattr(
        JobEditor, "show_test_ended", lambda _self, run, sentence: shown.append((run.outcome, sentence))
    )
    stage.editing.new()
    stage.editor().test_requested.emit(_spec("backup"))
    stage.engine.trial_output.emit(1, b"hello")
    stage.engine.trial_output.emit(2, b"of another")
    stage.engine.trial_ended.emit(
        1, Ended(run_id="x", outcome=Outcome.FAILURE, message=text_message("exit code 3"))
    )
    assert shown == [b"hello", (Outcome.FAILURE, "Failed: exit code 3")]
    assert stage.scheduler.get_run_log() == []


def test_the_cost_and_question_of_a_tested_prompt_are_shown(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Run] = []
    monkeypatch.setattr(JobEditor, "show_test_ended", lambda _self, run, _sentence: shown.append(run))
    stage.editing.new()
    stage.editor().test_requested.emit(replace(_spec("ask"), action=Prompt(text="sum up")))
    ended = Ended(
        run_id="x",
        outcome=Outcome.SUCCESS,
        cost=0.12,
        question="which branch?",
        notes=(message(MessageKind.TEXT, text="cut"),),
    )
    stage.engine.trial_ended.emit(1, ended)
    assert [(run.cost, run.note) for run in shown] == [(0.12, "asks: which branch? · cut")]


def test_editors_know_the_agents_of_the_settings(stage: Stage) -> None:
    agents = (Agent(name="mine", argv=("mine", "{prompt}")),)
    stage.scheduler.settings.change(agents=agents, default_agent="mine")
    job_id = stage.scheduler.add_job("ask", Every("1h"), Prompt(text="x"))
    stage.editing.edit(job_id)
    editor = stage.editor()
    assert (editor.draft.settings.agents, editor.draft.settings.default_agent) == (agents, "mine")


def test_an_agent_that_went_meanwhile_is_refused_beside_its_field(stage: Stage, qtbot: QtBot) -> None:
    stage.editing.new()
    editor = stage.editor()
    editor.saved.emit(replace(_spec("ask"), action=Prompt(text="x", agent="gone")))
    qtbot.waitUntil(lambda: bool(editor._problems()) and editor._problems()[0].path == "action.agent")
    assert stage.scheduler.list_jobs() == []


def test_a_test_run_ends_with_its_editor(stage: Stage, qtbot: QtBot) -> None:
    stage.editing.new()
    editor = stage.editor()
    editor.test_requested.emit(_spec("backup"))
    editor.accept()
    qtbot.waitUntil(lambda: stage.engine.stopped == [1])


def test_a_stored_job_is_tested_with_its_unsaved_changes(stage: Stage, qtbot: QtBot) -> None:
    job_id = stage.scheduler.add_job("backup", Every("1h"), _COMMAND)
    stage.editing.edit(job_id)
    editor = stage.editor()
    assert editor.draft.spec is not None
    editor.test_requested.emit(replace(editor.draft.spec, action=Command(argv=("echo", "edited"))))
    qtbot.waitUntil(lambda: stage.scheduler.runs.waiting_of(job_id) is not None)
    assert stage.engine.specs == []


def test_another_job_of_the_chain_is_opened(stage: Stage) -> None:
    other = stage.scheduler.add_job("other", Every("1h"), _COMMAND)
    stage.editing.edit(stage.scheduler.add_job("own", Every("1h"), _COMMAND))
    stage.editor().job_requested.emit(other)
    stage.qtbot.waitUntil(lambda: len(stage.editors()) == 2)
    assert {editor.draft.job_id for editor in stage.editors()} >= {other}


def test_a_condition_that_cannot_be_observed_is_refused_beside_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def appearance(_condition: Condition) -> ConditionState:
        return ConditionState(is_observable=False, holds=None, sentence="Nothing tells here.")

    monkeypatch.setattr(stage.scheduler._session, "check_condition", appearance)
    stage.editing.new_from(replace(_spec("own"), policy=Policy(conditions=(Network(), MainsPower()))))
    editor = stage.editor()
    editor.saved.emit(editor._read.spec)
    stage.qtbot.waitUntil(lambda: editor.findChild(QLabel, "condition0Error") is not None)
    error = editor.findChild(QLabel, "condition0Error")
    assert error is not None
    assert error.text() == "Nothing tells here."
    assert stage.scheduler.list_jobs() == []


def test_the_hint_of_a_test_of_an_unsaved_job_is_shown(stage: Stage) -> None:
    stage.editing.new_from(_spec("own"))
    editor = stage.editor()
    editor.test_requested.emit(_spec("own"))
    proposal = Proposal(next_ms=600_000)
    stage.engine.trial_ended.emit(1, Ended(run_id="trial", outcome=Outcome.SUCCESS, proposal=proposal))
    words = editor.findChild(QLabel, "trialWords")
    assert words is not None
    assert "hint: a run 10 min later" in words.text()
