"""What is open, and addresses, in words."""

from __future__ import annotations

import pytest

from halo_scheduler.model.webhooks import ListenerState, Place, Signature, Webhook, WebhookStatus
from halo_scheduler.wording.webhooks import (
    address,
    curl_line,
    masked_address,
    open_words,
    signature_words,
)

_PLACE = Place("127.0.0.1", 8787)
_EVERYWHERE = Place("0.0.0.0", 8787)  # noqa: S104 - nothing is bound here
_ID = "0123456789ab"
_WEBHOOK = Webhook(job_id="job", token_id=_ID, token_hash=b"", made_at=1)


def _listener(place: Place = _PLACE, fault: str = "") -> ListenerState:
    return ListenerState(place=place, since=1, fault=fault)


@pytest.mark.parametrize(
    ("place", "listener", "is_running", "jobs", "words"),
    [
        (None, None, True, 0, "off"),
        (None, None, True, 1, "off (1 job with a webhook)"),
        (_PLACE, None, False, 3, "on, but Halo isn't running; 127.0.0.1:8787 is not open"),
        (_PLACE, None, True, 0, "on; 127.0.0.1:8787 opens once a job has a webhook"),
        (_PLACE, None, True, 3, "on; 127.0.0.1:8787 opens in a moment"),
        (_PLACE, _listener(), True, 3, "listening on 127.0.0.1:8787, 3 jobs"),
        (
            _EVERYWHERE,
            _listener(_EVERYWHERE),
            True,
            1,
            "listening on 0.0.0.0:8787, open to other computers, 1 job",
        ),
        (_PLACE, _listener(fault="it is in use"), True, 3, "not open: it is in use"),
    ],
)
def test_the_state_of_the_listener_is_described(
    place: Place | None, listener: ListenerState | None, is_running: bool, jobs: int, words: str
) -> None:
    status = WebhookStatus(place=place, listener=listener, is_running=is_running, jobs=jobs)
    assert open_words(status) == words


def test_an_address_can_be_called_from_this_computer() -> None:
    assert address(_PLACE, "token") == "http://127.0.0.1:8787/hook/token"
    assert address(_EVERYWHERE, "token") == "http://127.0.0.1:8787/hook/token"
    assert address(Place("::", 80), "token") == "http://[::1]:80/hook/token"
    assert curl_line(_PLACE, "token") == "curl -X POST http://127.0.0.1:8787/hook/token"


def test_a_masked_address_has_only_the_part_that_is_no_secret() -> None:
    assert masked_address(_PLACE, _WEBHOOK) == "http://127.0.0.1:8787/hook/0123456789ab…"


def test_a_signature_names_its_key_and_header() -> None:
    assert signature_words(_WEBHOOK) == "no signature"
    signed = Webhook(
        job_id="job",
        token_id=_ID,
        token_hash=b"",
        made_at=1,
        signature=Signature.GITHUB,
        key_name="KEY",
    )
    assert signature_words(signed) == "signed with KEY as GitHub does"
