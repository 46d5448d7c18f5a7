"""`halo webhook`: what is open, addresses and signatures, in the terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from halo_scheduler import OnWebhook
from halo_scheduler.cli import halo
from halo_scheduler.errors import ScheduleError
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.webhooks import OPEN_WARNING


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with Scheduler.open() as scheduler:
        scheduler.add_job("deploy", OnWebhook())
    return tmp_path


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(halo, arguments)


def _webhook(*arguments: str) -> str:
    done = _run("webhook", *arguments)
    assert done.exit_code == 0, done.output
    return done.output


def _data(*arguments: str) -> Any:
    return json.loads(_webhook(*arguments, "--json"))


def test_a_new_webhook_job_lists_what_is_missing() -> None:
    added = _run("add", "build", "--webhook", "--", "true").output.splitlines()
    assert added[2:] == [
        "▲ it has no address yet; create one with: halo webhook url build",
        "▲ webhooks are off; turn them on with: halo webhook on",
        '▲ Halo isn\'t running; start it with "halo" or "halo daemon"',
    ]
    _webhook("on")
    _webhook("url", "build")
    assert "▲" not in _run("edit", "build", "--no-params", "--every", "1h", "--webhook").output


def test_an_address_is_shown_in_full_once(home: Path) -> None:
    first = _webhook("url", "deploy").splitlines()
    assert first[0].startswith("http://127.0.0.1:8787/hook/")
    assert first[1] == f"Try it: curl -X POST {first[0]}"
    assert first[2] == "It is shown only once; anyone who has it can start deploy."
    assert first[3] == "▲ webhooks are off; turn them on with: halo webhook on"
    again = _webhook("url", "deploy")
    assert first[0] not in again
    assert again.startswith(f"{first[0][:39]}… (no signature, created ")
    assert again.splitlines()[1] == "The full address isn't stored. For a new one: halo webhook rotate deploy"
    data = _data("url", "deploy")
    assert (data["url"], data["is_masked"]) == (f"{first[0][:39]}…", True)
    assert first[0][-32:].encode() not in (home / "halo.db").read_bytes()


def test_a_new_address_replaces_the_old_one() -> None:
    old = _data("url", "deploy")
    refused = _run("webhook", "rotate", "deploy")
    assert "add --yes" in refused.output
    new = _data("rotate", "deploy", "--yes")
    assert old["url"] != new["url"]
    assert new["curl"] == f"curl -X POST {new['url']}"


def test_an_unknown_job_and_one_without_a_webhook_are_refused() -> None:
    assert str(_run("webhook", "url", "deplo").exception).startswith("there is no job 'deplo'")
    with Scheduler.open() as scheduler:
        scheduler.add_job("manual", OnWebhook(), job_id="manual")
        scheduler.remove_job("manual")
    assert "it is in the trash" in str(_run("webhook", "url", "manual").exception)


def test_switched_on_and_off() -> None:
    assert _webhook("status") == (
        "webhooks: off (1 job with a webhook)\n"
        "JOB     ADDRESS                            SIGNATURE\n"
        "deploy  none yet; halo webhook url deploy\n"
    )
    assert _webhook("on") == ("webhooks are on: Halo listens on 127.0.0.1:8787 while a job has a webhook\n")
    assert _data("status")["on"]
    assert "  webhooks: on, but Halo isn't running; 127.0.0.1:8787 is not open\n" in _run("status").output
    assert json.loads(_run("status", "--json").output)["webhooks"]["on"]
    assert "on 127.0.0.1:9000 " in _webhook("on", "--port", "9000")
    assert _webhook("off") == "webhooks are off: no port is open\n"
    assert _data("status")["listening"] is None


def test_the_status_omits_webhooks_that_no_job_uses() -> None:
    with Scheduler.open() as scheduler:
        scheduler.remove_job(scheduler.list_jobs()[0].id)
    assert "webhooks" not in _run("status").output
    assert _webhook("status") == "webhooks: off\n"


def test_opening_it_to_other_computers_is_confirmed_and_stays_visible() -> None:
    refused = _run("webhook", "on", "--address", "0.0.0.0")  # noqa: S104 - nothing is bound here
    assert "add --yes" in refused.output
    assert not _data("status")["on"]
    done = _webhook("on", "--address", "0.0.0.0", "--yes")  # noqa: S104
    assert f"▲ {OPEN_WARNING}\n" in done
    assert f"▲ {OPEN_WARNING}\n" in _webhook("status")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--port", "80"), "--port: must be between 1024 and 65535, not 80"),
        (("--address", "nas"), "--address: must be an address of this computer, like 127.0.0.1, not 'nas'"),
    ],
)
def test_a_place_that_cannot_be_one_is_refused(options: tuple[str, ...], sentence: str) -> None:
    done = _run("webhook", "on", *options)
    assert isinstance(done.exception, ScheduleError)
    assert str(done.exception) == sentence


def test_the_settings_are_changed_here_only() -> None:
    assert (
        "change webhook_address with: halo webhook on --address"
        in _run("config", "set", "webhook_address", "::").output
    )


def test_a_signature_names_its_secret() -> None:
    _webhook("url", "deploy")
    assert _webhook("sign", "deploy", "github", "--key", "KEY") == (
        "deploy: signed with KEY as GitHub does\n"
        "▲ there is no such secret yet; store it with: halo secret set KEY\n"
    )
    assert _data("status")["jobs"][0]["signature"] == "github"
    assert "signed with KEY" in _webhook("url", "deploy")
    assert _webhook("sign", "deploy", "none") == "deploy: no signature\n"
    assert "give the secret" in _run("webhook", "sign", "deploy", "github").output
    done = _run("webhook", "sign", "deploy", "stripe", "--key", "KEY", "--window", "2d")
    assert str(done.exception) == "--window: must be between 1000 and 86400000, not 172800000"


def test_names_with_control_characters_cannot_style_the_terminal() -> None:
    with Scheduler.open() as scheduler:
        scheduler.update_job(scheduler.list_jobs()[0].id, name="\u202edeploy\u200b")
    assert "\u202e" not in _webhook("status")
