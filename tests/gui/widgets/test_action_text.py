"""What a job does, in one line."""

from __future__ import annotations

import pytest
from commands import shell

from halo_scheduler import Callback, Command, HttpRequest, Prompt
from halo_scheduler.model import Action
from halo_scheduler.model.work_source import FolderSource, GithubSource
from ui.widgets.action_text import action_words, extra_words, work_words

pytestmark = pytest.mark.usefixtures("qapp")


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
def test_what_else_a_job_is_given_can_be_seen(action: Action, words: str) -> None:
    assert extra_words(action) == words


def test_long_texts_are_cut() -> None:
    prompt = Prompt(text="x" * 100_000, agent="y" * 200, work_source=FolderSource(path="/" + "z" * 4_000))
    assert len(action_words(prompt)) <= 80
    assert len(work_words(prompt)) <= 80
