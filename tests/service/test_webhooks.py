"""The addresses of jobs through the library."""

from __future__ import annotations

import pytest
from machine import Bench

from halo_scheduler import Callback, Every, JobNotFoundError, OnWebhook, ScheduleError, SchedulerError
from halo_scheduler.model.changes import Actor
from halo_scheduler.model.webhooks import ListenerState, Place, Signature, token_id

_PLACE = Place("127.0.0.1", 8787)


def _add(bench: Bench, name: str = "deploy") -> str:
    return bench.scheduler.add_job(name, OnWebhook(), Callback(), job_id=name)


def test_a_new_address_ends_the_old_one_and_keeps_the_signature(bench: Bench) -> None:
    _add(bench)
    first = bench.scheduler.webhooks.make_address("deploy")
    bench.scheduler.webhooks.require_signature("deploy", Signature.STRIPE, "KEY", 60_000)
    second = bench.scheduler.webhooks.make_address("deploy")
    webhook = bench.scheduler.webhooks.get("deploy")
    assert webhook is not None
    assert (webhook.accepts(first), webhook.accepts(second)) == (False, True)
    assert (webhook.signature, webhook.key_name, webhook.window_ms) == (Signature.STRIPE, "KEY", 60_000)


def test_no_token_is_stored(bench: Bench) -> None:
    _add(bench)
    token = bench.scheduler.webhooks.make_address("deploy")
    bench.scheduler.backups.make()
    files = [path for path in bench.path.parent.rglob("*") if path.is_file()]
    assert not [path for path in files if token[12:].encode() in path.read_bytes()]


def test_the_jobs_with_a_webhook_are_listed_by_name(bench: Bench) -> None:
    for name in ("b", "a", "removed"):
        _add(bench, name)
    bench.scheduler.add_job("timed", Every("1h"))
    bench.scheduler.remove_job("removed")
    bench.scheduler.pause_job("a")
    token = bench.scheduler.webhooks.make_address("b")
    listed = [(one.name, one.webhook and one.webhook.token_id) for one in bench.scheduler.webhooks.list()]
    assert listed == [("a", None), ("b", token_id(token))]


def test_an_address_goes_with_its_job(bench: Bench) -> None:
    _add(bench)
    bench.scheduler.webhooks.make_address("deploy")
    bench.scheduler.remove_job("deploy")
    bench.scheduler.jobs.delete_removed(["deploy"])
    assert bench.scheduler.webhooks.get("deploy") is None


def test_a_job_without_a_webhook_gets_no_address(bench: Bench) -> None:
    bench.scheduler.add_job("timed", Every("1h"), job_id="timed")
    with pytest.raises(ScheduleError, match="no webhook starts timed; add one to its schedules"):
        bench.scheduler.webhooks.make_address("timed")
    with pytest.raises(JobNotFoundError):
        bench.scheduler.webhooks.make_address("none")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (("none", "KEY"), "signature: must be one of github, gitlab, stripe, not 'none'"),
        ((Signature.GITHUB, ""), "key_name: "),
        ((Signature.GITHUB, "KEY", 999), "window_ms: must be between 1000 and 86400000, not 999"),
        ((None, "KEY"), "key_name: is only for a signature"),
    ],
)
def test_a_signature_that_cannot_be_checked_is_refused(
    bench: Bench, given: tuple[object, ...], sentence: str
) -> None:
    _add(bench)
    bench.scheduler.webhooks.make_address("deploy")
    with pytest.raises(ScheduleError) as refused:
        bench.scheduler.webhooks.require_signature("deploy", *given)  # type: ignore[arg-type]  # that is the point
    assert str(refused.value).startswith(sentence)


def test_without_an_address_there_is_nothing_to_sign(bench: Bench) -> None:
    _add(bench)
    with pytest.raises(ScheduleError, match="this job has no address yet; create one first"):
        bench.scheduler.webhooks.require_signature("deploy", Signature.GITHUB, "KEY")


def test_assistants_neither_see_nor_make_addresses(bench: Bench) -> None:
    _add(bench)
    with bench.scheduler.acting_as(Actor.assistant("claude")):
        with pytest.raises(SchedulerError, match="assistants cannot create webhook addresses"):
            bench.scheduler.webhooks.make_address("deploy")
        with pytest.raises(SchedulerError, match="assistants cannot decide how webhooks are signed"):
            bench.scheduler.webhooks.require_signature("deploy", None)
        with pytest.raises(SchedulerError, match="assistants cannot change the settings"):
            bench.scheduler.settings.change(webhooks=True)


def test_the_state_of_a_dead_listener_is_ignored(bench: Bench) -> None:
    _add(bench)
    bench.scheduler.settings.change(webhooks=True)
    state = ListenerState(place=_PLACE, since=bench.clock.now_ms())
    bench.scheduler._store.webhooks.save_listener(state)
    assert not bench.scheduler.webhooks.status().is_running
    assert bench.scheduler.webhooks.status().listener is None
    bench.clock.advance(1)
    bench.tick()
    assert bench.scheduler.webhooks.status().listener is None
    state = ListenerState(place=_PLACE, since=bench.clock.now_ms())
    bench.scheduler._store.webhooks.save_listener(state)
    status = bench.scheduler.webhooks.status()
    assert (status.is_listening, status.jobs, status.place) == (True, 1, _PLACE)


def test_the_place_is_shown_while_webhooks_are_off(bench: Bench) -> None:
    bench.scheduler.settings.change(webhook_port=9_000)
    assert bench.scheduler.webhooks.place == Place("127.0.0.1", 9_000)
