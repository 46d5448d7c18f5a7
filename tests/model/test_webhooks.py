"""Tokens of webhooks, and where the listener listens."""

from __future__ import annotations

import pytest

from halo_scheduler import ScheduleError
from halo_scheduler.model.settings import Settings
from halo_scheduler.model.webhooks import (
    ListenerState,
    Place,
    Webhook,
    WebhookStatus,
    is_token,
    new_token,
    token_hash,
    token_id,
)

_PLACE = Place("127.0.0.1", 8787)


def test_a_token_has_128_secret_bits() -> None:
    token = new_token()
    assert is_token(token)
    assert (len(token), token_id(token)) == (44, token[:12])
    assert new_token() != token


@pytest.mark.parametrize("text", ["", "0" * 43, "0" * 45, "A" * 44, "0" * 43 + "\n", "\u0661" * 44])
def test_other_texts_are_no_tokens(text: str) -> None:
    assert not is_token(text)


def test_a_webhook_accepts_its_own_token_only() -> None:
    token = new_token()
    webhook = Webhook(job_id="job", token_id=token_id(token), token_hash=token_hash(token), made_at=1)
    assert webhook.accepts(token)
    assert not webhook.accepts(new_token())
    assert token[12:] not in repr(webhook)


@pytest.mark.parametrize(
    ("address", "text", "is_local"),
    [
        ("127.0.0.1", "127.0.0.1:80", True),
        ("127.0.0.2", "127.0.0.2:80", True),
        ("::1", "[::1]:80", True),
        ("0.0.0.0", "0.0.0.0:80", False),  # noqa: S104 - nothing is bound here
        ("192.168.1.5", "192.168.1.5:80", False),
    ],
)
def test_a_place_says_whether_other_computers_reach_it(address: str, text: str, is_local: bool) -> None:
    place = Place(address, 80)
    assert (str(place), place.is_local) == (text, is_local)


def test_no_port_is_open_by_default() -> None:
    assert Settings().webhook_place is None
    assert Settings(webhooks=True).webhook_place == _PLACE


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"webhooks": 1}, "webhooks: must be true or false, not 1"),
        ({"webhook_port": 80}, "webhook_port: must be between 1024 and 65535, not 80"),
        ({"webhook_port": "8787"}, "webhook_port: must be a whole number, not '8787'"),
        (
            {"webhook_address": "localhost"},
            "webhook_address: must be an address of this computer, like 127.0.0.1, not 'localhost'",
        ),
        (
            {"webhook_address": "1.2.3.4\n"},
            "webhook_address: must be a single line without control characters",
        ),
    ],
)
def test_a_place_that_cannot_be_one_is_refused(changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(ScheduleError) as refused:
        Settings(**changes)  # type: ignore[arg-type]  # that is the point
    assert str(refused.value) == sentence


def test_the_status_as_data() -> None:
    status = WebhookStatus(place=None, listener=None, is_running=True, jobs=2)
    assert status.to_data() == {"on": False, "listening": None, "fault": "", "jobs": 2}
    listening = ListenerState(place=_PLACE, since=1)
    status = WebhookStatus(place=_PLACE, listener=listening, is_running=True, jobs=1)
    assert status.to_data() == {"on": True, "listening": "127.0.0.1:8787", "fault": "", "jobs": 1}
    failing = ListenerState(place=_PLACE, since=1, fault="it is in use")
    status = WebhookStatus(place=_PLACE, listener=failing, is_running=True, jobs=1)
    assert status.to_data() == {"on": True, "listening": None, "fault": "it is in use", "jobs": 1}
