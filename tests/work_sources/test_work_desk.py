"""The desk: each item goes to one run, is kept in mind on disk before that, and finds its way back after a crash."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import pytest
from github_site import REPOSITORY, TOKEN, Ask, GithubSite, open_github
from machine import START
from task_desk import TOKEN_NAME, folder_source, github_source, make_tasks, new_desk, put, settle_item, tree

from halo_scheduler.model.actions import FolderSource, GithubSource
from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.store.secrets import SecretError
from halo_scheduler.work_sources.item import NoWorkError, SourceError, Verdict
from halo_scheduler.work_sources.web import Web
from halo_scheduler.work_sources.work_desk import WorkDesk


@pytest.fixture
def desk(tmp_path: Path) -> WorkDesk:
    return new_desk(tmp_path)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return make_tasks(tmp_path)


@pytest.fixture
def source(base: Path) -> FolderSource:
    return folder_source(base)


@pytest.fixture
def site() -> Iterator[GithubSite]:
    with open_github() as opened:
        yield opened


def _bytes_below(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


# --- Claiming and settling ---------------------------------------------------------------------------


def test_runs_get_one_item_each_in_order(desk: WorkDesk, base: Path, source: FolderSource) -> None:
    put(base, "2.md", "1.md")
    opened = desk.open(source)
    assert [item.id for item in opened.ready()] == ["1.md", "2.md"]
    assert opened.claim("a").title == "Do 1.md"
    assert opened.claim("b").title == "Do 2.md"
    assert desk.claimed() == {"a", "b"}


def test_nothing_ready_leaves_no_trace(
    desk: WorkDesk, base: Path, source: FolderSource, tmp_path: Path
) -> None:
    with pytest.raises(NoWorkError, match="there is no item that is ready"):
        desk.open(source).claim("a")
    with pytest.raises(NoWorkError):
        desk.open(source).first()
    assert desk.claimed() == set()
    assert not (tmp_path / "spool").exists()
    # But the user finds the folders.
    assert {path.name for path in base.iterdir()} == {"ready", "in-progress", "done", "failed"}


@pytest.mark.parametrize(
    ("verdict", "place"),
    [(Verdict.DONE, "done/1.md"), (Verdict.FAILED, "failed/1.md"), (Verdict.RELEASED, "ready/1.md")],
)
def test_a_settled_item_is_forgotten(
    verdict: Verdict, place: str, desk: WorkDesk, base: Path, source: FolderSource
) -> None:
    put(base, "1.md")
    desk.open(source).claim("a")
    settle_item(desk, "a", verdict)
    assert tree(base) == [place]
    assert desk.claimed() == set()
    assert desk.settlement("a", verdict) is None


def test_exactly_the_item_that_is_asked_for_is_claimed(
    desk: WorkDesk, base: Path, source: FolderSource
) -> None:
    put(base, "1.md", "2.md")
    assert desk.open(source).claim("a", only="2.md").id == "2.md"
    with pytest.raises(SourceError, match=r"the item 2\.md cannot be taken: it is no longer ready"):
        desk.open(source).claim("b", only="2.md")
    assert desk.claimed() == {"a"}
    assert tree(base) == ["in-progress/2.md", "ready/1.md"]


def test_the_first_item_can_be_previewed_without_taking_it(
    desk: WorkDesk, base: Path, source: FolderSource
) -> None:
    put(base, "1.md", "2.md")
    assert desk.open(source).first().id == "1.md"
    assert desk.claimed() == set()
    assert tree(base) == ["ready/1.md", "ready/2.md"]


def test_an_item_that_disappears_during_a_preview_is_ignored(desk: WorkDesk, site: GithubSite) -> None:
    site.add(1, 2)
    site.before[f"GET /repos/{REPOSITORY}/issues/1"] = lambda _: site.issues[1].labels.clear()
    assert desk.open(github_source(site)).first().id == "2"


def test_an_unused_item_is_released(desk: WorkDesk, base: Path, source: FolderSource) -> None:
    put(base, "1.md")
    opened = desk.open(source)
    opened.claim("a")
    opened.give_back("a")
    opened.give_back("a")
    assert (tree(base), desk.claimed()) == (["ready/1.md"], set())


def test_an_item_is_taken_over_without_ever_being_ready(
    desk: WorkDesk, base: Path, source: FolderSource
) -> None:
    put(base, "1.md")
    opened = desk.open(source)
    opened.claim("a")
    before = (base / "ready").stat().st_mtime_ns
    taken = opened.take_over("b", "a")
    assert taken is not None
    assert (taken.id, taken.title, desk.claimed(), desk.taken("b")) == ("1.md", "Do 1.md", {"b"}, "1.md")
    assert (base / "ready").stat().st_mtime_ns == before
    settle_item(desk, "b", Verdict.DONE)
    assert tree(base) == ["done/1.md"]


def test_an_issue_is_taken_over_without_a_change_of_its_labels(desk: WorkDesk, site: GithubSite) -> None:
    site.add(1)
    opened = desk.open(github_source(site))
    opened.claim("a")
    changes = [*site.asked("POST"), *site.asked("DELETE")]
    taken = opened.take_over("b", "a")
    assert taken is not None
    assert (taken.id, desk.claimed()) == ("1", {"b"})
    assert [*site.asked("POST"), *site.asked("DELETE")] == changes
    settle_item(desk, "b", Verdict.RELEASED)
    assert site.labels(1) == {"ready"}


def test_a_missing_item_cannot_be_taken_over(desk: WorkDesk, base: Path, source: FolderSource) -> None:
    put(base, "1.md")
    opened = desk.open(source)
    opened.claim("a")
    (base / "in-progress" / "1.md").unlink()
    assert (opened.take_over("b", "a"), desk.claimed()) == (None, set())


def test_an_issue_finished_by_another_cannot_be_taken_over(desk: WorkDesk, site: GithubSite) -> None:
    site.add(1)
    opened = desk.open(github_source(site))
    opened.claim("a")
    site.issues[1].labels.clear()
    assert (opened.take_over("b", "a"), desk.claimed()) == (None, set())


def test_only_items_of_the_same_source_are_taken_over(
    desk: WorkDesk, base: Path, source: FolderSource, tmp_path: Path
) -> None:
    put(base, "1.md")
    desk.open(source).claim("a")
    (tmp_path / "other").mkdir()
    assert desk.open(FolderSource(path=str(tmp_path / "other"))).take_over("b", "a") is None
    assert (desk.claimed(), tree(base)) == ({"a"}, ["in-progress/1.md"])


def test_an_item_released_meanwhile_is_not_reported_again(
    desk: WorkDesk, base: Path, source: FolderSource
) -> None:
    put(base, "1.md")
    opened = desk.open(source)
    opened.claim("a")
    settle = desk.settlement("a", Verdict.DONE)
    opened.give_back("a")
    opened.claim("b")
    assert settle is not None
    settle()
    assert (desk.claimed(), tree(base)) == ({"b"}, ["in-progress/1.md"])


def test_at_most_a_thousand_items_are_listed(desk: WorkDesk, base: Path, source: FolderSource) -> None:
    put(base, *(f"{number}.md" for number in range(1_001)))
    assert len(desk.open(source).ready()) == 1_000


def test_a_run_without_an_item_has_nothing_to_settle(desk: WorkDesk) -> None:
    assert desk.settlement("a", Verdict.DONE) is None
    desk.forget("a")


def test_a_forgotten_item_stays_where_it_is(desk: WorkDesk, base: Path, source: FolderSource) -> None:
    put(base, "1.md")
    desk.open(source).claim("a")
    desk.forget("a")
    assert (desk.claimed(), tree(base)) == (set(), ["in-progress/1.md"])


def test_a_lost_race_leads_to_the_next_item(desk: WorkDesk, site: GithubSite, tmp_path: Path) -> None:
    site.add(1, 2)
    issue = f"/repos/{REPOSITORY}/issues/1"
    noted: list[object] = []

    def others_win(_: Ask) -> None:
        noted.append(json.loads((tmp_path / "spool" / "a.item").read_text())["item"])
        site.issues[1].labels = ["in_progress"]

    site.before[f"DELETE {issue}/labels/ready"] = others_win
    assert desk.open(github_source(site)).claim("a").id == "2"
    assert noted == ["1"]
    assert json.loads((tmp_path / "spool" / "a.item").read_text())["item"] == "2"


def test_a_lost_race_for_the_last_item_means_no_work(desk: WorkDesk, site: GithubSite) -> None:
    site.add(1)
    site.before[f"DELETE /repos/{REPOSITORY}/issues/1/labels/ready"] = lambda _: setattr(
        site.issues[1], "labels", ["in_progress"]
    )
    with pytest.raises(NoWorkError):
        desk.open(github_source(site)).claim("a")
    assert desk.claimed() == set()


def test_a_source_that_cannot_be_reported_keeps_its_note(desk: WorkDesk, site: GithubSite) -> None:
    site.add(1)
    desk.open(github_source(site)).claim("a")
    site.token = "another"  # noqa: S105 - of a site that exists for a second
    settle = desk.settlement("a", Verdict.DONE)
    assert settle is not None
    for _ in range(2):
        with pytest.raises(SourceError, match="the token was refused"):
            settle()
    assert desk.claimed() == {"a"}
    site.token = TOKEN
    settle()
    assert (desk.claimed(), site.labels(1)) == (set(), set())


def test_a_refused_claim_leaves_no_note(desk: WorkDesk, site: GithubSite) -> None:
    site.token = None
    site.add(1)
    site.instead[f"GET /repos/{REPOSITORY}/issues/1"] = [lambda ask: ask.say(403, {"message": "No"})]
    with pytest.raises(SourceError, match="GitHub does not allow it"):
        desk.open(github_source(site)).claim("a")
    assert desk.claimed() == set()


def test_a_claim_that_was_cut_off_can_be_settled(desk: WorkDesk, site: GithubSite) -> None:
    site.add(1)
    site.instead[f"DELETE /repos/{REPOSITORY}/issues/1/labels/ready"] = [Ask.cut_off]
    with pytest.raises(SourceError, match="closed the connection"):
        desk.open(github_source(site)).claim("a")
    assert desk.claimed() == {"a"}
    settle_item(desk, "a", Verdict.FAILED)
    assert (desk.claimed(), site.labels(1)) == (set(), {"ready"})


def test_the_comment_of_a_run_is_asked_for_only_where_one_is_wanted(site: GithubSite, tmp_path: Path) -> None:
    asked: list[str] = []

    def comment_of(run_id: str) -> str:
        asked.append(run_id)
        return "Halo: success"

    desk = WorkDesk(
        tmp_path, lambda _: lambda: {TOKEN_NAME: TOKEN}, lambda: START, web=Web(), comment_of=comment_of
    )
    site.add(1)
    site.add(2)
    for number, comments in (("1", False), ("2", True)):
        source = GithubSource(repository=REPOSITORY, token=TOKEN_NAME, base_url=site.url, comments=comments)
        assert desk.open(source).claim(f"run-{number}").id == number
        settle = desk.settlement(f"run-{number}", Verdict.DONE)
        assert settle is not None
        settle()
    assert asked == ["run-2"]
    assert (site.issues[1].comments, site.issues[2].comments) == ([], ["Halo: success"])


# --- Secrets -----------------------------------------------------------------------------------------


def test_where_secrets_are_is_found_out_at_once_but_they_are_had_later(tmp_path: Path) -> None:
    steps: list[str] = []

    def read_secrets(names: Iterable[str]) -> Callable[[], Mapping[str, str]]:
        steps.append(f"find {sorted(names)}")

        def read() -> Mapping[str, str]:
            steps.append("read")
            raise SecretError(message(MessageKind.SECRET_NOT_SET, name="TOKEN"))

        return read

    desk = WorkDesk(tmp_path, read_secrets, lambda: START)
    opened = desk.open(GithubSource(repository=REPOSITORY, token=TOKEN_NAME))
    assert steps == ["find ['TOKEN']"]
    with pytest.raises(SourceError, match="the secret TOKEN is not set"):
        opened.claim("a")
    assert steps == ["find ['TOKEN']", "read"]


def test_every_keyring_error_is_a_failure_of_the_source(tmp_path: Path) -> None:
    def read() -> Mapping[str, str]:
        raise RuntimeError(f"broken, and it says {TOKEN}")

    desk = WorkDesk(tmp_path, lambda _: read, lambda: START)
    with pytest.raises(SourceError, match="the token cannot be read: RuntimeError"):
        desk.open(GithubSource(repository=REPOSITORY, token=TOKEN_NAME)).ready()


def test_the_token_is_in_no_file_no_error_and_no_log(
    desk: WorkDesk, site: GithubSite, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    site.add(1, body=f"leaked: {TOKEN}", title=TOKEN)
    found: list[bytes] = []
    for verdict in (Verdict.FAILED, Verdict.RELEASED, Verdict.DONE):
        item = desk.open(github_source(site)).claim("a")
        found.append(f"{item}{_bytes_below(tmp_path)!r}".encode())
        settle_item(desk, "a", verdict)
    site.add(2)
    route = f"GET /repos/{REPOSITORY}/issues/2"
    for status in (302, 401, 403, 404, 409, 422, 500):

        def refuse(ask: Ask, status: int = status) -> None:
            ask.say(status, {"message": TOKEN}, {"Location": TOKEN})

        site.instead[route] = [refuse, refuse]
        with pytest.raises((SourceError, NoWorkError)) as caught:
            desk.open(github_source(site)).claim("a")
        found.append(f"{caught.value}{caught.value.__cause__}{caught.value.__context__}".encode())
    assert b"leaked: ***" in found[0]
    assert TOKEN.encode() not in b"".join(found) + _bytes_below(tmp_path) + caplog.text.encode()
