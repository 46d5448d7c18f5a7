"""What a job does, and what due jobs wait for, in one line."""

from __future__ import annotations

import pytest
from chain_waits import LIMIT, MAINS, NETWORK
from commands import shell

from halo_scheduler import Callback, Command, HttpRequest, Prompt
from halo_scheduler.model import Action, Capacity, Waiting, WaitingFor
from halo_scheduler.model.actions import FolderSource, GithubSource
from ui.widgets.job_text import WaitingJob, WaitingJobs, action_words, extra_words, waiting_line, work_words

pytestmark = pytest.mark.usefixtures("qapp")
_FULL = Waiting(kind=WaitingFor.AT_CAPACITY, capacity=Capacity(2, 2))
_BACKUP = WaitingJob("backup", NETWORK)
_SYNC = WaitingJob("sync", MAINS)
_MAIL = WaitingJob("mail", NETWORK)
_WEB = WaitingJob("web/a", Waiting(kind=WaitingFor.AT_CAPACITY, capacity=Capacity(1, 1, "web")))
_REPORT = WaitingJob("report", _FULL)


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (Command(argv=("echo", "a b")), "echo 'a b'"),
        (shell("echo a\necho b"), "echo a ↵ echo b"),
        (HttpRequest(url="https://example.org"), "GET https://example.org"),
        (Prompt(text="sum\nup"), "prompt: sum ↵ up"),
        (Prompt(text="sum up", agent="codex"), "prompt for codex: sum up"),
        (Prompt(text=" \n"), "prompt: Execute scheduled task."),
        (Prompt(text="<b>x</b>"), "prompt: <b>x</b>"),
        (Callback("f"), "function f"),
    ],
)
def test_an_action_on_one_line(action: Action, words: str) -> None:
    assert action_words(action) == words


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (Command(argv=("a",)), ""),
        (HttpRequest(url="https://example.org"), ""),
        (Callback("f"), ""),
        (Command(argv=("a",), work_source=FolderSource(path="~/tasks")), "folder ~/tasks"),
        (Prompt(work_source=GithubSource(repository="acme/shop")), "issues of acme/shop"),
    ],
)
def test_a_source_of_work_in_a_few_words(action: Action, words: str) -> None:
    assert work_words(action) == words


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (Command(argv=("a",)), ""),
        (Command(argv=("sh",), stdin="rm -rf x"), "reads 8 characters"),
        (
            Command(argv=("a",), directory="~/work", environment={"A": "1", "B": "2"}),
            "in ~/work · with A, B in its environment",
        ),
        (Prompt(environment={"KEY": "${secret:KEY}"}), "with KEY in its environment"),
        (HttpRequest(url="https://example.org"), ""),
        (
            HttpRequest(url="https://example.org", headers={"X-One": "1"}, method="POST", body="body"),
            "with the headers X-One · sends 4 characters",
        ),
        (Callback("f"), ""),
    ],
)
def test_further_inputs_of_a_job_are_shown(action: Action, words: str) -> None:
    assert extra_words(action) == words


def test_long_texts_are_cut() -> None:
    prompt = Prompt(text="x" * 100_000, agent="y" * 200, work_source=FolderSource(path="/" + "z" * 4_000))
    assert len(action_words(prompt)) <= 80
    assert len(work_words(prompt)) <= 80


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize(
    ("jobs", "words"),
    [
        ([], ""),
        ([_BACKUP], "backup waiting for network"),
        ([_REPORT], "report waiting: limit of all jobs reached (2 of 2)"),
        ([_BACKUP, _SYNC], "2 waiting: backup (network), sync (AC power)"),
        ([_BACKUP, _MAIL], "2 jobs waiting for network"),
        ([_REPORT, WaitingJob("other", LIMIT)], "2 jobs waiting: limit of all jobs reached (2 of 2)"),
        ([_REPORT, _WEB], "2 waiting: report (limit reached), web/a (limit reached)"),
        ([_REPORT, _SYNC, _MAIL], "3 waiting: report (limit reached), sync (AC power), …"),
    ],
)
def test_waiting_jobs_with_their_reasons(jobs: list[WaitingJob], words: str) -> None:
    assert waiting_line(WaitingJobs.of(jobs), 0) == words


@pytest.mark.usefixtures("qapp")
def test_without_space_for_names_jobs_are_counted() -> None:
    assert waiting_line(WaitingJobs.of([_BACKUP, _SYNC]), 0, most_named=0) == "2 waiting"
