"""`halo secret`: values go in and never come out."""

from __future__ import annotations

import json
from pathlib import Path

import keyring
import pytest
from click.testing import CliRunner, Result
from keyring.backends import fail

from halo_scheduler.cli import halo
from halo_scheduler.errors import ScheduleError
from halo_scheduler.store.secrets import SecretError

_VALUE = "correct horse battery"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(keyring.core, "_keyring_backend", fail.Keyring())  # type: ignore[no-untyped-call] # keyring is not typed here
    return tmp_path


def _secret(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(halo, ["secret", *arguments], input=stdin)


def test_without_a_keyring_it_is_refused_with_the_way_out() -> None:
    done = _secret("set", "TOKEN", stdin=f"{_VALUE}\n")
    assert isinstance(done.exception, SecretError)
    assert str(done.exception) == (
        "there is no keyring here; to keep it in a file that only you can read, "
        "use: halo secret set --in-file TOKEN"
    )
    assert json.loads(_secret("list", "--json").output) == []


def test_a_private_file_may_be_chosen(home: Path) -> None:
    done = _secret("set", "--in-file", "TOKEN", stdin=f"{_VALUE}\n")
    assert (done.exit_code, done.output) == (0, "saved TOKEN to a private file\n")
    assert json.loads((home / "halo-secrets.json").read_text()) == {"TOKEN": _VALUE}
    assert (home / "halo-secrets.json").stat().st_mode & 0o777 == 0o600
    (listed,) = json.loads(_secret("list", "--json").output)
    assert (listed["name"], listed["place"]) == ("TOKEN", "file")
    shown = _secret("list").output
    assert "TOKEN" in shown
    assert _VALUE not in shown
    assert _secret("remove", "TOKEN", "--yes").output == "deleted TOKEN\n"
    assert _VALUE not in (home / "halo-secrets.json").read_text()
    assert _secret("list").output == "no secrets yet; store one with: halo secret set NAME\n"


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("TOKEN", "abc\n", "at least 4 characters"),
        ("TO KEN", f"{_VALUE}\n", "cannot name a secret"),
        ("TOKEN", "", "at least 4 characters"),
    ],
)
def test_a_value_that_cannot_be_redacted_is_refused(name: str, value: str, sentence: str) -> None:
    done = _secret("set", "--in-file", name, stdin=value)
    assert isinstance(done.exception, ScheduleError)
    assert sentence in str(done.exception)


def test_an_unknown_one_cannot_be_removed() -> None:
    assert str(_secret("remove", "NONE").exception) == "no such secret: 'NONE'"
