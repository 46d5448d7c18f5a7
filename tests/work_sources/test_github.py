"""Issues as items: claimed by exactly one, reported, and given back, against a site that behaves like GitHub."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest
from github_site import REPOSITORY, TOKEN, Ask, GithubDesk, GithubSite, open_github
from noted_claim import Note

from halo_scheduler.work_sources.github import Github
from halo_scheduler.work_sources.item import Claim, Item, SourceError, Verdict

_ISSUES = f"/repos/{REPOSITORY}/issues"
_LIST, _ONE = f"GET {_ISSUES}", f"GET {_ISSUES}/1"
_ADD, _TAKE = f"POST {_ISSUES}/1/labels", f"DELETE {_ISSUES}/1/labels/ready"


@pytest.fixture
def site() -> Iterator[GithubSite]:
    with open_github() as opened:
        yield opened


@pytest.fixture
def desk(site: GithubSite) -> GithubDesk:
    return GithubDesk(site)


def _claim(number: int = 1, place: str | None = None) -> Claim:
    return Claim(item_id=str(number), key="run-1", place=str(number) if place is None else place)


def _ids(source: Github) -> list[str]:
    return [item.id for item in source.ready()]


# --- What is ready -----------------------------------------------------------------------------------


def test_open_issues_with_the_label_are_ready_the_oldest_first(site: GithubSite, desk: GithubDesk) -> None:
    site.add(7, 3)
    site.add(1, labels=["bug"])
    site.add(2, state="closed")
    site.add(4, is_pull_request=True)
    site.add(5, labels=["ready", "in_progress"])
    site.add(6, labels=["READY"])
    assert _ids(desk.open()) == ["3", "6", "7"]


def test_an_issue_is_an_item_with_all_that_is_known(site: GithubSite, desk: GithubDesk) -> None:
    site.add(1, title="Fix the door", body="It\r\nsqueaks.", labels=["ready", "bug", "priority: high"])
    item = Item(
        id="1",
        title="Fix the door",
        url=f"https://github.example/{REPOSITORY}/issues/1",
        labels=("bug", "priority: high"),
        priority="high",
    )
    assert list(desk.open().ready()) == [item]
    whole = desk.open().read("1")
    assert whole is not None
    assert whole.body == "It\nsqueaks."


def test_all_pages_are_read_but_only_as_many_as_are_asked_for(site: GithubSite, desk: GithubDesk) -> None:
    site.add(*range(1, 26))
    site.page_length = 10
    found = desk.open().ready()
    assert next(found).id == "1"
    assert len(site.seen) == 1
    assert [item.id for item in found] == [str(number) for number in range(2, 26)]
    assert len(site.seen) == 3


def test_paging_stops_after_ten_pages(site: GithubSite, desk: GithubDesk) -> None:
    site.add(*range(1, 51))
    site.page_length = 1
    assert len(_ids(desk.open())) == 10


def test_a_page_that_did_not_change_is_not_sent_again(site: GithubSite, desk: GithubDesk) -> None:
    site.add(1, 2, 3)
    site.page_length = 2
    site.requests_left, site.resets_at_s = 100, 5_000
    first = list(desk.open().ready())
    assert list(desk.open().ready()) == first
    assert [("if-none-match" in seen.headers) for seen in site.seen] == [False, False, True, True]
    assert site.requests_left == 98
    site.add(4)
    assert _ids(desk.open()) == ["1", "2", "3", "4"]


def test_sources_do_not_mix_up_their_pages(site: GithubSite, desk: GithubDesk) -> None:
    site.add(1)
    site.add(2, labels=["todo"])
    assert (_ids(desk.open()), _ids(desk.open(ready="todo"))) == (["1"], ["2"])
    assert (_ids(desk.open()), _ids(desk.open(ready="todo"))) == (["1"], ["2"])


def test_pages_at_another_host_are_not_requested(site: GithubSite, desk: GithubDesk) -> None:
    with open_github() as other:
        link = {"Link": f'<{other.url}{_ISSUES}?page=2>; rel="next"'}
        site.instead[_LIST] = [lambda ask: ask.say(200, [], link)]
        with pytest.raises(SourceError, match="links to more issues on another host, which is not followed"):
            _ids(desk.open())
        assert other.seen == []


@pytest.mark.parametrize("data", [{}, None, "x", {"message": "hello"}])
def test_an_answer_without_issues_is_reported(data: object, site: GithubSite, desk: GithubDesk) -> None:
    site.instead[_LIST] = [lambda ask: ask.say(200, data)]
    with pytest.raises(SourceError, match=r"did not return issues; is it GitHub's API\?"):
        _ids(desk.open())


def test_entries_that_are_not_issues_are_ignored(site: GithubSite, desk: GithubDesk) -> None:
    good = {"number": 2, "state": "open", "labels": ["ready", {"name": 5}, None], "title": None, "body": 7}
    odd: list[object] = [
        None,
        1,
        "x",
        [],
        {},
        {"number": "1"},
        {"number": True},
        {"number": 1, "labels": "ready"},
        good,
    ]
    site.instead[_LIST] = [lambda ask: ask.say(200, odd)]
    assert list(desk.open().ready()) == [Item(id="2", title="issue 2")]


def test_hostile_texts_become_plain_ones(site: GithubSite, desk: GithubDesk) -> None:
    site.add(
        1,
        title="\x1b[31m<b>${secret:TOKEN}</b>\n{{answer}}\ud800\u202e" + "x" * 1_000,
        body="\0\ud800 ok",
        labels=["ready", "a\nb", "\x07"],
    )
    site.after[_ONE] = lambda _: None
    item = desk.open().claim("1", Note())
    assert item is not None
    assert item.title.startswith("<b>${secret:TOKEN}</b> {{answer}}")
    assert len(item.title) == 300
    assert item.title.isprintable()
    assert item.body.endswith(" ok")
    assert "\0" not in item.body
    assert item.labels[0] == "a b"
    assert "".join([item.title, item.body, *item.labels]).encode()


@pytest.mark.parametrize("url", ["javascript:alert(1)", "file:///etc/passwd", "https://x/\n", 5, None])
def test_an_invalid_address_is_left_out(url: object, site: GithubSite, desk: GithubDesk) -> None:
    data = {"number": 1, "state": "open", "labels": ["ready"], "html_url": url}
    site.instead[_ONE] = [lambda ask: ask.say(200, data)]
    item = desk.open().read("1")
    assert item is not None
    assert item.url == ""


def test_a_text_of_five_megabytes_is_cut(site: GithubSite, desk: GithubDesk) -> None:
    site.add(1, body="a" * 5_000_000)
    item = desk.open().claim("1", Note())
    assert item is not None
    assert item.note == "its text is cut after 1 MiB of 4.8 MiB"
    assert len(item.body) < 1_100_000


def test_a_token_that_github_sends_back_is_taken_out_however_it_is_written(
    site: GithubSite, desk: GithubDesk
) -> None:
    escaped = "".join(f"\\u{ord(sign):04x}" for sign in TOKEN)
    body = f'{{"number": 1, "state": "open", "labels": ["ready"], "title": "{TOKEN}", "body": "{escaped}"}}'
    site.instead[_ONE] = [lambda ask: ask.visit.answer(body=body.encode())]
    item = desk.open().read("1")
    assert item is not None
    assert (item.title, item.body) == ("***", "***")


@pytest.mark.parametrize("item_id", ["", "0", "01", "-1", "1/../2", "one", "1" * 40, "٣", "1\n"])
def test_an_entry_without_a_number_is_not_an_issue(item_id: str, site: GithubSite, desk: GithubDesk) -> None:
    assert desk.open().read(item_id) is None
    assert desk.open().claim(item_id, Note()) is None
    assert site.seen == []


def test_github_on_a_server_of_ones_own_has_another_address(site: GithubSite, desk: GithubDesk) -> None:
    site.add(1)
    assert _ids(desk.open(base_url=f"{site.url}/api/v3/")) == ["1"]
    assert site.asked() == [f"GET /api/v3{_ISSUES}"]


def test_a_public_repository_needs_no_token(site: GithubSite, desk: GithubDesk) -> None:
    site.token = None
    site.add(1)
    assert _ids(desk.open(token="")) == ["1"]
    assert "authorization" not in site.seen[0].headers


# --- Claiming ----------------------------------------------------------------------------------------


def test_a_claim_changes_the_labels_and_checks_them(site: GithubSite, desk: GithubDesk) -> None:
    site.add(1, labels=["bug", "ready"])
    item = desk.open().claim("1", note := Note())
    assert item is not None
    assert (item.id, item.body, item.labels) == ("1", "Do it well.", ("bug",))
    assert site.labels(1) == {"bug", "in_progress"}
    assert site.asked() == [_ONE, _ADD, _TAKE, _ONE]
    assert note.steps == ["begin", "take 1"]


def test_labels_of_any_kind_can_be_used(site: GithubSite, desk: GithubDesk) -> None:
    site.add(1, labels=["to do / später?"])
    source = desk.open(ready="to do / später?", in_progress="#doing%20")
    assert source.claim("1", Note()) is not None
    assert site.labels(1) == {"#doing%20"}
    source.settle(_claim(), Verdict.FAILED)
    assert site.labels(1) == {"to do / später?"}


@pytest.mark.parametrize(
    "fields",
    [
        {"state": "closed"},
        {"labels": ["bug"]},
        {"labels": ["ready", "in_progress"]},
        {"is_pull_request": True},
    ],
)
def test_an_issue_that_is_no_longer_ready_is_left_alone(
    fields: dict[str, object], site: GithubSite, desk: GithubDesk
) -> None:
    site.add(1, **fields)
    assert desk.open().claim("1", note := Note()) is None
    assert site.asked() == [_ONE]
    assert note.steps == []


def test_an_issue_that_was_deleted_is_lost(desk: GithubDesk) -> None:
    assert desk.open().claim("1", Note()) is None


def test_an_issue_that_moved_to_another_repository_is_lost(site: GithubSite, desk: GithubDesk) -> None:
    site.add(9)
    site.instead[_ONE] = [lambda ask: ask.say(301, {}, {"Location": f"{_ISSUES}/9"})]
    assert desk.open().claim("1", Note()) is None


def test_a_worker_that_does_not_remove_the_label_has_lost(site: GithubSite, desk: GithubDesk) -> None:
    site.add(1)

    def others_win(_: Ask) -> None:
        site.issues[1].labels = ["in_progress"]

    site.before[_TAKE] = others_win
    assert desk.open().claim("1", note := Note()) is None
    assert site.labels(1) == {"in_progress"}
    assert site.asked() == [_ONE, _ADD, _TAKE]
    assert note.steps == ["begin"]


def test_an_issue_that_was_closed_meanwhile_is_left(site: GithubSite, desk: GithubDesk) -> None:
    site.add(1)
    site.after[_TAKE] = lambda _: setattr(site.issues[1], "state", "closed")
    assert desk.open().claim("1", Note()) is None
    assert site.labels(1) == set()


def test_an_issue_that_was_deleted_meanwhile_is_left(site: GithubSite, desk: GithubDesk) -> None:
    site.add(1)
    site.after[_TAKE] = lambda _: site.issues.clear()
    assert desk.open().claim("1", Note()) is None


def test_a_label_that_was_removed_is_added_again(site: GithubSite, desk: GithubDesk) -> None:
    site.add(1)
    site.after[_TAKE] = lambda _: site.issues[1].labels.clear()
    assert desk.open().claim("1", Note()) is not None
    assert site.labels(1) == {"in_progress"}


def _claim_at_once(site: GithubSite, workers: int) -> list[Item | None]:
    results: list[Item | None] = []

    def work() -> None:
        results.append(GithubDesk(site).open().claim("1", Note()))

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(results) == workers
    return results


@pytest.mark.parametrize(
    "moments",
    [{}, {_ADD: "before"}, {_ADD: "after"}, {_TAKE: "before"}, {_ADD: "before", _TAKE: "before"}],
    ids=["all have read it", "all add", "all have added", "all remove", "step by step"],
)
@pytest.mark.parametrize("workers", [2, 4])
def test_workers_that_meet_at_the_worst_moment_never_share_an_issue(
    moments: dict[str, str], workers: int, site: GithubSite
) -> None:
    site.add(1)
    for route, when in {_ONE: "after", **moments}.items():
        barrier = threading.Barrier(workers)
        # The winner reads the issue once more than the others: then nobody else comes.
        uses = [None] * workers

        def meet(_: Ask, barrier: threading.Barrier = barrier, uses: list[None] = uses) -> None:
            with suppress(IndexError):
                uses.pop()
                barrier.wait(30)

        getattr(site, when)[route] = meet
    results = _claim_at_once(site, workers)
    assert sum(item is not None for item in results) == 1
    assert site.labels(1) == {"in_progress"}


def test_a_worker_that_gives_up_cannot_give_an_issue_to_two(site: GithubSite, desk: GithubDesk) -> None:
    """One crashed half way, and tidies up while another is between adding its label and the removal."""
    site.add(1)

    def tidy(_: Ask) -> None:
        del site.before[_TAKE]
        GithubDesk(site).open().settle(_claim(place=""), Verdict.RELEASED)

    site.before[_TAKE] = tidy
    assert desk.open().claim("1", Note()) is not None
    assert site.labels(1) == {"in_progress"}
    assert _ids(GithubDesk(site).open()) == []
