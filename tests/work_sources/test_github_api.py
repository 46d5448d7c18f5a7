"""What GitHub refuses: a sentence for each, one more try where that is harmless, and limits that are respected."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from github_site import REPOSITORY, TOKEN, Ask, GithubSite, open_github
from process_probe import until

from halo_scheduler.clock import ManualClock
from halo_scheduler.model.actions import GithubSource
from halo_scheduler.work_sources.github import Github, GithubApi
from halo_scheduler.work_sources.github_memory import GithubMemory
from halo_scheduler.work_sources.item import SourceError
from halo_scheduler.work_sources.web import Web

_NAME = "TOKEN"
_PATH = f"/repos/{REPOSITORY}"
_START = 1_735_732_800_000  # 2025-01-01T12:00Z, 13:00 in Berlin


@pytest.fixture
def site() -> Iterator[GithubSite]:
    with open_github() as opened:
        yield opened


class Desk:
    """Makes sources that share what they remember, on a clock that stands still."""

    def __init__(self, site: GithubSite) -> None:
        self._site = site
        self.clock = ManualClock(_START)
        self.memory = GithubMemory(self.clock.now_ms)

    def source(self, **fields: str) -> GithubSource:
        values = {"repository": REPOSITORY, "token": _NAME, "base_url": self._site.url, **fields}
        return GithubSource(**values)  # type: ignore[arg-type]  # one mapping for all kinds

    def api(self, value: str = TOKEN, **fields: str) -> GithubApi:
        return GithubApi(self.source(**fields), value, Web(deadline_s=20), self.memory)

    def get(self) -> object:
        return self.api().get(f"{self._site.url}{_PATH}").data

    def change(self) -> None:
        self.api().change("POST", f"{self._site.url}{_PATH}", {"a": 1})


@pytest.fixture
def desk(site: GithubSite, machine_in_berlin: None) -> Desk:  # noqa: ARG001 - times are shown there
    return Desk(site)


def _always(site: GithubSite, hook: Callable[[Ask], None]) -> None:
    site.instead = {f"{method} {_PATH}": [hook] * 9 for method in ("GET", "POST")}


# --- Refusals ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, r"GitHub rejected the request: status 400 \(so it is\)"),
        (401, r"the token was refused \(so it is\); set a new one with: halo secret set TOKEN"),
        (403, r"GitHub does not allow it \(so it is\); the token must be allowed to read and write issues"),
        (
            404,
            r"there is no repository halo/tasks with issues at 127\.0\.0\.1:\d+, or the token has no access to it",
        ),
        (409, r"GitHub rejected the request: status 409 \(so it is\)"),
        (410, r"there is no repository halo/tasks with issues"),
        (422, r"GitHub rejected the request: status 422 \(so it is\)"),
        (500, r"GitHub has an internal error: status 500 \(so it is\)"),
        (503, r"GitHub has an internal error: status 503 \(so it is\)"),
        (304, r"127\.0\.0\.1:\d+ redirects to"),
    ],
)
def test_a_refusal_is_reported_in_words(status: int, message: str, site: GithubSite, desk: Desk) -> None:
    _always(
        site,
        lambda ask: ask.say(status, {"message": "so it is."}),
    )
    with pytest.raises(SourceError, match=message):
        desk.get()


def test_a_change_that_is_not_found_may_be_one_that_is_not_allowed(site: GithubSite, desk: Desk) -> None:
    _always(site, lambda ask: ask.say(404, {"message": "Not Found"}))
    with pytest.raises(SourceError, match=r"can't find .* \(Not Found\); can the token write issues\?"):
        desk.change()


def test_a_wrong_token_is_reported(site: GithubSite, desk: Desk) -> None:
    with pytest.raises(SourceError, match=r"the token was refused \(Bad credentials\)"):
        desk.api("ghp_another").get(f"{site.url}{_PATH}")


def test_a_missing_token_is_reported(site: GithubSite, desk: Desk) -> None:
    with pytest.raises(SourceError, match=r"GitHub requires a token .*; name the secret that holds one"):
        desk.api("", token="").get(f"{site.url}{_PATH}")


def test_without_a_token_a_private_repository_is_reported(site: GithubSite, desk: Desk) -> None:
    site.token = None
    with pytest.raises(SourceError, match="or it requires a token"):
        desk.api("", token="").get(f"{site.url}/repos/halo/other")


@pytest.mark.parametrize("token", ["two words", "line\nline", "tøken", "a\0b"])
def test_a_secret_that_is_not_a_token_is_neither_sent_nor_shown(
    token: str, site: GithubSite, desk: Desk
) -> None:
    with pytest.raises(SourceError, match="the secret TOKEN is not a token") as caught:
        desk.api(token)
    assert token not in str(caught.value)
    assert site.seen == []


def test_an_end_of_line_behind_a_token_does_not_matter(site: GithubSite, desk: Desk) -> None:
    assert desk.api(f"{TOKEN}\n").get(f"{site.url}{_PATH}").status == 200


@pytest.mark.parametrize(
    "body", [b"<html>Not GitHub</html>", b'{"half": ', b"[" * 100_000, b"\xff\xfe", b"1" * 10_000]
)
def test_a_response_that_is_not_json_is_reported(body: bytes, site: GithubSite, desk: Desk) -> None:
    _always(site, lambda ask: ask.visit.answer(200, body=body))
    with pytest.raises(SourceError, match=r"did not respond like GitHub; is http.* the URL of its API\?"):
        desk.get()


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"message": 5}', b"[" * 100_000, b""])
def test_a_refusal_without_a_message_is_reported_too(body: bytes, site: GithubSite, desk: Desk) -> None:
    _always(site, lambda ask: ask.visit.answer(403, body=body))
    with pytest.raises(SourceError, match="GitHub does not allow it; the token"):
        desk.get()


def test_the_words_of_a_refusal_are_a_short_line_without_the_token(site: GithubSite, desk: Desk) -> None:
    said = f"\x1b[31mno\n{TOKEN} " + "x" * 100_000
    _always(site, lambda ask: ask.say(422, {"message": said}))
    with pytest.raises(SourceError) as caught:
        desk.get()
    assert str(caught.value).startswith("GitHub rejected the request: status 422 (no *** xxx")
    assert len(str(caught.value)) < 300


def test_a_redirect_to_another_host_is_reported_and_nothing_goes_there(site: GithubSite, desk: Desk) -> None:
    with open_github() as other:
        _always(site, lambda ask: ask.say(302, headers={"Location": f"{other.url}/steal"}))
        with pytest.raises(SourceError, match=f"redirects to {other.url}/steal; if that is right, change"):
            desk.get()
        assert other.seen == []


# --- Trying again ------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [lambda ask: ask.say(502), Ask.cut_off], ids=["a fault", "cut off"])
def test_reading_is_tried_once_more(fault: Callable[[Ask], None], site: GithubSite, desk: Desk) -> None:
    site.instead[f"GET {_PATH}"] = [fault]
    assert desk.get() == {"full_name": REPOSITORY}
    assert len(site.seen) == 2


@pytest.mark.parametrize(
    ("fault", "message"),
    [(lambda ask: ask.say(502), "status 502"), (Ask.cut_off, "closed the connection")],
    ids=["a fault", "cut off"],
)
def test_reading_is_not_tried_a_third_time(
    fault: Callable[[Ask], None], message: str, site: GithubSite, desk: Desk
) -> None:
    _always(site, fault)
    with pytest.raises(SourceError, match=message):
        desk.get()
    assert len(site.seen) == 2


@pytest.mark.parametrize("fault", [lambda ask: ask.say(502), Ask.cut_off], ids=["a fault", "cut off"])
def test_a_change_is_tried_only_once(fault: Callable[[Ask], None], site: GithubSite, desk: Desk) -> None:
    _always(site, fault)
    with pytest.raises(SourceError):
        desk.change()
    assert len(site.seen) == 1


def test_a_slow_server_is_not_waited_for_twice(site: GithubSite, desk: Desk) -> None:
    _always(site, lambda ask: ask.visit.wait_for_the_end())
    api = GithubApi(desk.source(), TOKEN, Web(deadline_s=0.1), desk.memory)
    with pytest.raises(SourceError, match=r"did not answer within 0\.1 s"):
        api.get(f"{site.url}{_PATH}")
    until(lambda: site.seen)
    assert len(site.seen) == 1


# --- Limits ------------------------------------------------------------------------------------------


def test_a_used_up_limit_is_reported_with_its_end_and_nothing_is_asked_before(
    site: GithubSite, desk: Desk
) -> None:
    site.requests_left, site.resets_at_s = 0, _START // 1_000 + 65 * 60
    for _ in range(3):
        with pytest.raises(SourceError, match="GitHub's rate limit is used up until 14:05"):
            desk.get()
    assert len(site.seen) == 1
    desk.clock.advance(65 * 60_000)
    site.requests_left = 10
    assert desk.get() == {"full_name": REPOSITORY}


def test_the_last_request_of_a_limit_is_the_last(site: GithubSite, desk: Desk) -> None:
    site.requests_left, site.resets_at_s = 1, _START // 1_000 + 60
    desk.get()
    with pytest.raises(SourceError, match="rate limit is used up until 13:01"):
        desk.get()
    assert len(site.seen) == 1


@pytest.mark.parametrize("status", [403, 429])
def test_a_pause_that_github_asks_for_is_kept(status: int, site: GithubSite, desk: Desk) -> None:
    site.instead[f"GET {_PATH}"] = [lambda ask: ask.say(status, {}, {"Retry-After": "120"})]
    with pytest.raises(SourceError, match="rate limit is used up until 13:02"):
        desk.get()
    desk.clock.advance(119_999)
    with pytest.raises(SourceError, match="rate limit"):
        desk.get()
    desk.clock.advance(1)
    assert desk.get() is not None


@pytest.mark.parametrize(
    ("status", "said", "headers"),
    [
        (429, "", {}),
        (429, "", {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}),
        (403, "You have exceeded a secondary rate limit.", {}),
        (403, "You have exceeded a secondary rate limit.", {"X-RateLimit-Remaining": "4000"}),
    ],
)
def test_without_a_time_a_minute_is_waited(
    status: int, said: str, headers: dict[str, str], site: GithubSite, desk: Desk
) -> None:
    site.instead[f"GET {_PATH}"] = [lambda ask: ask.say(status, {"message": said}, headers)]
    with pytest.raises(SourceError, match="rate limit is used up until 13:01"):
        desk.get()


@pytest.mark.parametrize(
    "headers",
    [
        {"Retry-After": "99999999999"},
        {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "99999999999"},
    ],
)
def test_a_rate_limit_delays_at_most_a_day(headers: dict[str, str], site: GithubSite, desk: Desk) -> None:
    site.instead[f"GET {_PATH}"] = [lambda ask: ask.say(403, {}, headers)]
    with pytest.raises(SourceError, match="rate limit is used up until 13:00"):
        desk.get()
    desk.clock.advance(24 * 3_600_000)
    assert desk.get() is not None


@pytest.mark.parametrize("number", ["-1", "soon", "", "1e9", "٣", "9" * 5_000])
def test_an_invalid_rate_limit_is_ignored(number: str, site: GithubSite, desk: Desk) -> None:
    headers = {"X-RateLimit-Remaining": number, "X-RateLimit-Reset": number}
    encoded = {name: value.encode().decode("latin-1") for name, value in headers.items()}
    site.instead[f"GET {_PATH}"] = [lambda ask: ask.say(200, {}, encoded)]
    desk.get()
    assert desk.get() is not None


def test_a_clock_that_was_set_back_does_not_prolong_the_wait(site: GithubSite, desk: Desk) -> None:
    site.instead[f"GET {_PATH}"] = [lambda ask: ask.say(429, {}, {"Retry-After": "60"})]
    with pytest.raises(SourceError, match="rate limit"):
        desk.get()
    desk.clock.advance(-48 * 3_600_000)
    assert desk.get() is not None


def test_a_late_answer_does_not_lift_a_limit(site: GithubSite, desk: Desk) -> None:
    def refuse_another(ask: Ask) -> None:
        site.instead[f"GET {_PATH}"] = [lambda other: other.say(429, {}, {"Retry-After": "60"})]
        with pytest.raises(SourceError, match="rate limit"):
            desk.get()
        ask.say(200, {}, {"X-RateLimit-Remaining": "4000", "X-RateLimit-Reset": str(_START // 1_000 + 60)})

    site.instead[f"GET {_PATH}"] = [refuse_another]
    desk.get()
    with pytest.raises(SourceError, match="rate limit"):
        desk.get()


def test_a_rate_limit_applies_to_every_repository_of_a_token(site: GithubSite, desk: Desk) -> None:
    site.requests_left = 0
    with pytest.raises(SourceError, match="rate limit"):
        desk.get()
    site.requests_left = None
    with pytest.raises(SourceError, match="rate limit"):
        list(Github(desk.source(repository="halo/other"), TOKEN, Web(), desk.memory).ready())
    assert desk.api(token=f"{_NAME}_2").get(f"{site.url}{_PATH}").status == 200


def test_a_request_that_could_not_finish_in_time_is_not_started(site: GithubSite, desk: Desk) -> None:
    site.add(1)
    site.requests_left, site.resets_at_s = 9, _START // 1_000 + 60
    source = Github(desk.source(), TOKEN, Web(), desk.memory)
    assert [item.id for item in source.ready()] == ["1"]
    with pytest.raises(SourceError, match="rate limit is nearly used up until 13:01"):
        source.claim("1", None)  # type: ignore[arg-type]  # it is not even begun
    assert site.labels(1) == {"ready"}


def test_the_cache_of_responses_is_bounded(site: GithubSite, desk: Desk) -> None:
    site.add(1)
    first, rest = desk.source(), [desk.source(ready=f"label {number}") for number in range(64)]
    for source in (first, *rest):
        list(Github(source, TOKEN, Web(), desk.memory).ready())
    site.seen.clear()
    for source in (first, rest[-1]):
        list(Github(source, TOKEN, Web(), desk.memory).ready())
    assert [("if-none-match" in seen.headers) for seen in site.seen] == [False, True]
