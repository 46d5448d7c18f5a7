"""Names that left `Scheduler` work for one more version, and say what to write instead."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from halo_scheduler import Command, Every, JobNotFoundError, Manual, SchedulerError
from halo_scheduler.clock import ManualClock
from halo_scheduler.model import JobSpec
from halo_scheduler.model.settings import AssistantAccess
from halo_scheduler.service.moved_names import MOVED, REPLACED
from halo_scheduler.service.scheduler import Scheduler

_NOW = 1_800_000_000_000
_TRUE = Command(argv=("true",))
_ROOT = Path(__file__).parents[2]


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[Scheduler]:
    with Scheduler.open(tmp_path / "halo.db", clock=ManualClock(_NOW)) as opened:
        opened.settings.change(assistants=AssistantAccess.EDIT)
        yield opened


def _former(scheduler: Scheduler, name: str, instead: str) -> Any:
    """Return what a former name stands for, after it has said what to write."""
    with pytest.warns(DeprecationWarning, match=name) as warned:
        found = getattr(scheduler, name)
    assert [(str(one.message), Path(one.filename)) for one in warned] == [
        (f"Scheduler.{name} has moved; write {instead} instead", Path(__file__))
    ]
    return found


@pytest.mark.parametrize("name", MOVED)
def test_a_moved_name_still_works(scheduler: Scheduler, name: str) -> None:
    assert _former(scheduler, name, f"scheduler.{MOVED[name]}") == attrgetter(MOVED[name])(scheduler)
    assert name not in dir(Scheduler)


_DONE: dict[str, Callable[[Any, str], Any]] = {
    "acting_for": lambda former, _job_id: former("claude"),
    "add_job_for_assistant": lambda former, _job_id: former(JobSpec(name="made", schedule=Manual())),
    "update_job_for_assistant": lambda former, job_id: former(job_id, lambda _spec: {"description": "x"}),
    "pause_job_for_assistant": lambda former, job_id: former(job_id, _NOW + 60_000),
    "resume_job_for_assistant": lambda former, job_id: former(job_id),
    "trigger_for_assistant": lambda former, job_id: former(job_id),
    "propose_interval_for_assistant": lambda former, job_id: former(job_id, "1m", "1h", "why"),
    "propose_next_run_for_assistant": lambda former, job_id: former(job_id, _NOW + 60_000, "1h", "why"),
    "clear_hints_for_assistant": lambda former, job_id: former(job_id),
}


@pytest.mark.parametrize("name", REPLACED)
def test_a_replaced_name_acts_as_an_assistant(scheduler: Scheduler, name: str) -> None:
    job_id = scheduler.add_job("backup", Every("1h"), _TRUE)
    former = _former(scheduler, name, REPLACED[name][0])
    if name == "acting_for":
        with former("claude"):
            scheduler.pause_job(job_id)
        assert [act.assistant for act in scheduler.jobs.assistant_acts()] == ["claude"]
        return
    if name == "clear_hints_for_assistant":
        scheduler.propose_interval(job_id, "1m")
    _DONE[name](former, job_id)
    assert [act.assistant for act in scheduler.jobs.assistant_acts()] == ["assistant"]
    assert not scheduler.actor.is_assistant


def test_a_replaced_edit_of_no_job_is_refused(scheduler: Scheduler) -> None:
    former = _former(scheduler, "update_job_for_assistant", REPLACED["update_job_for_assistant"][0])
    with pytest.raises(JobNotFoundError, match="there is no job 'gone'"):
        former("gone", lambda _spec: {})


def test_a_replaced_name_is_refused_as_an_assistant_is(scheduler: Scheduler) -> None:
    job_id = scheduler.add_job("backup", Every("1h"), _TRUE)
    scheduler.settings.change(assistants=AssistantAccess.READ)
    former = _former(scheduler, "pause_job_for_assistant", REPLACED["pause_job_for_assistant"][0])
    with pytest.raises(SchedulerError, match="assistants may only read jobs"):
        former(job_id)


def test_an_unknown_name_is_none_of_these(scheduler: Scheduler) -> None:
    with pytest.raises(AttributeError, match="'Scheduler' object has no attribute 'list_wishes'"):
        scheduler.list_wishes  # type: ignore[attr-defined] # noqa: B018 - that it is not there is the test


def test_a_name_that_stayed_does_not_warn(scheduler: Scheduler) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert scheduler.list_jobs() == []


def _former_names_on_schedulers(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr in MOVED | REPLACED:
            owner = node.value.id if isinstance(node.value, ast.Name) else getattr(node.value, "attr", "")
            if owner.lower().endswith("scheduler") and owner != "halo_scheduler":
                yield f"{path.relative_to(_ROOT)}:{node.lineno}: {node.attr}"


def test_nothing_of_ours_uses_a_former_name() -> None:
    folders = ("halo_scheduler", "ui", "tests", "benchmarks", "docs")
    paths = (path for folder in folders for path in (_ROOT / folder).rglob("*.py"))
    assert [found for path in paths for found in _former_names_on_schedulers(path)] == []
