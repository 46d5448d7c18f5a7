"""Work sources as the user chooses them: what is refused, and with which words."""

from __future__ import annotations

import pytest

from halo_scheduler import ScheduleError
from halo_scheduler.model.actions import FolderSource, GithubSource, WorkSource
from halo_scheduler.model.codec import decode

_NAME = "TOKEN"


@pytest.mark.parametrize(
    "source",
    [
        FolderSource(path="/home/me/tasks"),
        FolderSource(path="~/tasks"),
        FolderSource(path="C:\\Users\\me\\tasks"),
        GithubSource(repository="halo/tasks"),
        GithubSource(
            repository="halo/tasks.js",
            token=_NAME,
            ready="to do",
            in_progress="doing",
            base_url="https://github.example/api/v3",
            closes=True,
            comments=True,
        ),
    ],
)
def test_a_source_survives_its_json_form(source: WorkSource) -> None:
    assert decode(WorkSource, source.to_dict()) == source


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("", "path: is empty"),
        ("  ", "path: is empty"),
        ("tasks", "path: must be an absolute path"),
        ("./tasks", "path: must be an absolute path"),
        ("/a\nb", "path: must be a single line"),
        ("/a\0b", "path: must not contain a NUL"),
        ("/" + "a" * 5_000, "path: is longer than 4096"),
        (None, "path: must be text"),
    ],
)
def test_a_path_that_no_folder_could_have_is_refused(path: str, message: str) -> None:
    with pytest.raises(ScheduleError, match=message):
        FolderSource(path=path)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"repository": "tasks"}, "repository: must be like owner/name"),
        ({"repository": "halo/.."}, "repository: must be like owner/name"),
        ({"repository": "./tasks"}, "repository: must be like owner/name"),
        ({"repository": "halo/tasks/issues"}, "repository: must be like owner/name"),
        ({"repository": "halo/tasks?x=1"}, "repository: must be like owner/name"),
        ({"repository": None}, "repository: must be text"),
        ({"token": "ghp secret"}, "token: .* cannot name a secret"),
        ({"token": None}, "token: must be text"),
        ({"ready": ""}, "ready: must be one label"),
        ({"ready": "a,b"}, "ready: must be one label"),
        ({"ready": "a\nb"}, "ready: must be a single line"),
        ({"in_progress": "READY"}, "in_progress: must differ"),
        ({"in_progress": " ready "}, "in_progress: must differ"),
        ({"base_url": "api.github.com"}, "base_url: .* must begin with http"),
        ({"base_url": "https://me:secret@github.example"}, "base_url: must not carry a user name"),
        ({"base_url": "https://github.example?x=1"}, "base_url: must be a base URL"),
        ({"base_url": "http://github.example", "token": "T"}, "base_url: must begin with https://"),
        ({"closes": 1}, "closes: must be true or false"),
        ({"comments": "yes"}, "comments: must be true or false"),
    ],
)
def test_invalid_github_sources_are_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ScheduleError, match=message):
        GithubSource(**{"repository": "halo/tasks", **fields})  # type: ignore[arg-type]  # one mapping for all kinds


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080", "http://localhost", "http://[::1]:80"])
def test_a_token_may_go_unencrypted_within_this_machine(url: str) -> None:
    assert GithubSource(repository="halo/tasks", token=_NAME, base_url=url).base_url == url


def test_without_a_token_nothing_needs_to_be_encrypted() -> None:
    assert GithubSource(repository="halo/tasks", base_url="http://github.example").token == ""


def test_blanks_around_a_label_are_left_out() -> None:
    assert GithubSource(repository="halo/tasks", ready=" to do ").ready == "to do"


def test_only_the_token_is_a_secret() -> None:
    assert FolderSource(path="/tasks").secret_names == frozenset()
    assert GithubSource(repository="halo/tasks").secret_names == frozenset()
    assert GithubSource(repository="halo/tasks", token=_NAME).secret_names == {_NAME}
