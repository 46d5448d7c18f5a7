"""What became of an issue: reported so that it can be done again, and never to the harm of somebody else."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from github_site import REPOSITORY, Ask, GithubDesk, GithubSite, open_github
from noted_claim import Note

from halo_scheduler.work_sources.github import Github
from halo_scheduler.work_sources.item import Claim, SourceError, Verdict

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


@pytest.mark.parametrize(
    ("verdict", "labels"),
    [(Verdict.DONE, {"bug"}), (Verdict.FAILED, {"bug", "ready"}), (Verdict.RELEASED, {"bug", "ready"})],
)
@pytest.mark.parametrize("closes", [False, True])
def test_a_verdict_changes_the_labels(
    verdict: Verdict, labels: set[str], closes: bool, site: GithubSite, desk: GithubDesk
) -> None:
    site.add(1, labels=["bug", "in_progress"])
    desk.open(closes=closes).settle(_claim(), verdict)
    assert site.labels(1) == labels
    is_closed = closes and verdict is Verdict.DONE
    assert site.issues[1].state == ("closed" if is_closed else "open")
    assert site.issues[1].state_reason == ("completed" if is_closed else None)


@pytest.mark.parametrize("verdict", list(Verdict))
@pytest.mark.parametrize("labels", [[], ["ready"], ["review"]])
def test_an_issue_without_our_label_is_no_longer_ours(
    verdict: Verdict, labels: list[str], site: GithubSite, desk: GithubDesk
) -> None:
    site.add(1, labels=labels)
    desk.open(closes=True).settle(_claim(), verdict)
    assert (site.labels(1), site.issues[1].state) == (set(labels), "open")
    assert site.asked() == [_ONE]


@pytest.mark.parametrize("verdict", list(Verdict))
def test_an_issue_that_a_person_closed_only_loses_our_label(
    verdict: Verdict, site: GithubSite, desk: GithubDesk
) -> None:
    site.add(1, labels=["in_progress"], state="closed")
    desk.open(closes=True).settle(_claim(), verdict)
    assert (site.labels(1), site.asked("PATCH")) == (set(), [])


def test_a_label_removed_in_the_last_moment_is_not_an_error(site: GithubSite, desk: GithubDesk) -> None:
    site.add(1, labels=["in_progress"])
    site.before[f"DELETE {_ISSUES}/1/labels/in_progress"] = lambda _: site.issues[1].labels.clear()
    desk.open().settle(_claim(), Verdict.DONE)


def test_nothing_is_reported_to_a_deleted_issue(desk: GithubDesk) -> None:
    desk.open().settle(_claim(), Verdict.FAILED)
    desk.open().settle(Claim(item_id="?", key="run-1"), Verdict.FAILED)


def test_a_repository_that_is_gone_is_not_taken_for_that(desk: GithubDesk) -> None:
    with pytest.raises(SourceError, match="there is no repository halo/other"):
        desk.open(repository="halo/other").settle(_claim(), Verdict.FAILED)


@pytest.mark.parametrize("verdict", list(Verdict))
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (["ready"], {"ready"}),
        (["ready", "in_progress"], {"ready"}),
        (["in_progress"], {"ready"}),
        ([], set()),
    ],
)
def test_after_a_claim_that_was_cut_off_the_issue_is_ready(
    verdict: Verdict, before: list[str], after: set[str], site: GithubSite, desk: GithubDesk
) -> None:
    site.add(1, labels=before)
    desk.open(closes=True).settle(_claim(place=""), verdict)
    assert (site.labels(1), site.issues[1].state) == (after, "open")


_FAULTS: dict[str, Callable[[Ask], None]] = {
    "a fault": lambda ask: ask.say(502),
    "cut off": Ask.cut_off,
}


@pytest.mark.parametrize("fault", list(_FAULTS))
@pytest.mark.parametrize(
    ("verdict", "route"),
    [
        (Verdict.DONE, f"PATCH {_ISSUES}/1"),
        (Verdict.DONE, f"DELETE {_ISSUES}/1/labels/in_progress"),
        (Verdict.FAILED, _ADD),
        (Verdict.FAILED, f"DELETE {_ISSUES}/1/labels/in_progress"),
    ],
)
def test_a_report_that_failed_half_way_can_be_made_again(
    fault: str, verdict: Verdict, route: str, site: GithubSite, desk: GithubDesk
) -> None:
    site.add(1, labels=["in_progress"])
    site.instead[route] = [_FAULTS[fault]]
    source = desk.open(closes=True)
    with pytest.raises(SourceError):
        source.settle(_claim(), verdict)
    assert site.asked().count(route) == 1
    source.settle(_claim(), verdict)
    is_done = verdict is Verdict.DONE
    assert (site.labels(1), site.issues[1].state) == ((set(), "closed") if is_done else ({"ready"}, "open"))


@pytest.mark.parametrize("route", [_ADD, _TAKE, _ONE])
@pytest.mark.parametrize("has_effect", [False, True])
def test_a_claim_that_failed_half_way_is_undone(
    route: str, has_effect: bool, site: GithubSite, desk: GithubDesk
) -> None:
    """An answer that never comes may have been to a request that took effect, or not."""
    site.add(1)

    def break_off(ask: Ask) -> None:
        if has_effect:
            site._answer(ask)
        ask.cut_off()

    # The first look at the issue goes well; the second is tried twice.
    site.instead = {_ONE: [lambda ask: ask.say(*site._answer(ask))]}
    site.instead.setdefault(route, []).extend([break_off, break_off])
    note = Note()
    with pytest.raises(SourceError, match="closed the connection"):
        desk.open().claim("1", note)
    site.instead.clear()
    taken = [step.removeprefix("take ") for step in note.steps if step.startswith("take")]
    desk.open().settle(_claim(place="".join(taken)), Verdict.FAILED)
    assert site.labels(1) == {"ready"}


@pytest.mark.parametrize("verdict", [Verdict.DONE, Verdict.FAILED])
def test_an_end_leaves_a_comment_once_also_if_it_has_to_be_reported_again(
    verdict: Verdict, site: GithubSite, desk: GithubDesk
) -> None:
    site.add(1, labels=["in_progress"])
    site.instead[f"DELETE {_ISSUES}/1/labels/in_progress"] = [lambda ask: ask.say(502, {})]
    source = desk.open(comments=True)
    with pytest.raises(SourceError):
        source.settle(_claim(), verdict, "Halo: it ended")
    source.settle(_claim(), verdict, "Halo: it ended")
    assert site.issues[1].comments == ["Halo: it ended"]
    assert "in_progress" not in site.labels(1)


@pytest.mark.parametrize(("verdict", "place"), [(Verdict.RELEASED, "1"), (Verdict.FAILED, "")])
def test_a_released_issue_gets_no_comment(
    verdict: Verdict, place: str, site: GithubSite, desk: GithubDesk
) -> None:
    site.add(1, labels=["in_progress"])
    desk.open(comments=True).settle(_claim(place=place), verdict, "Halo: it ended")
    assert site.issues[1].comments == []
