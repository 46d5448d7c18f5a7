"""The environment of the login shell, asked of shells of all kinds."""

from __future__ import annotations

import os
import pwd
import select
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from halo_scheduler.host.login_environment import Environment, LoginEnvironment, read_login_environment

_SHELL = Callable[[str], Path]


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _SHELL:
    """Make a shell of the user's; it is given `-i -l -c LINE`, and the line is its "$4"."""

    def make(body: str) -> Path:
        path = tmp_path / "fakeshell"
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o700)
        monkeypatch.setenv("SHELL", str(path))
        return path

    return make


def _read(time_limit_s: float = 30) -> dict[str, str]:
    found = read_login_environment(time_limit_s)
    assert found is not None
    return found


def _is_ended(pid: int) -> bool:
    """Tell whether a process that was killed has ended, be it buried yet or not."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], 30)[0])
    finally:
        os.close(descriptor)


def test_variables_exported_in_rc_files_are_found(shell: _SHELL) -> None:
    shell('export PATH="/my/bin:$PATH" GREETING="grüße"; eval "$4"')
    found = _read()
    assert found["PATH"].startswith("/my/bin:")
    assert found["GREETING"] == "grüße"


def test_an_interactive_login_shell_is_asked_at_home(
    shell: _SHELL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    shell('export ASKED="$1 $2 $3" PLACE="$(pwd -P)"; eval "$4"')
    found = _read()
    assert (found["ASKED"], found["PLACE"]) == ("-i -l -c", str(home.resolve()))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("echo Welcome; echo A=B", "echo Good bye"),
        ("printf 'A=B\\0'", "printf 'A=B\\0'"),
        ('echo "$4"', 'echo "$4"'),
        ("echo noise >&2", "exit 3"),
    ],
    ids=["lines", "variables", "an echo of the command", "errors"],
)
def test_noise_is_left_out(shell: _SHELL, monkeypatch: pytest.MonkeyPatch, before: str, after: str) -> None:
    monkeypatch.delenv("A", raising=False)
    shell(f'{before}; MINE=1; export MINE; eval "$4"; {after}')
    found = _read()
    assert found["MINE"] == "1"
    assert "A" not in found
    assert all(name.isprintable() for name in found)


@pytest.mark.parametrize("value", ["two\nlines", "a=b=c", "", "ends with\n", "NAME=x\nOTHER=y"])
def test_a_value_may_be_any_text(shell: _SHELL, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("MINE", value)
    shell('eval "$4"')
    assert _read()["MINE"] == value


def test_a_value_that_is_not_text_survives(shell: _SHELL) -> None:
    shell('MINE="$(printf "\\377")"; export MINE; eval "$4"')
    found = _read()
    assert Environment(found).encoded[b"MINE"] == b"\xff"


def test_variables_of_the_shell_itself_are_left_out(shell: _SHELL) -> None:
    shell('export SHLVL=7 OLDPWD=/x PWD=/y _=z; eval "$4"')
    assert not {"SHLVL", "OLDPWD", "PWD", "_"} & set(_read())


def test_a_shell_that_hangs_is_given_up_and_gone(
    shell: _SHELL, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shell(f"echo $$ > {tmp_path}/pid; exec sleep 1000")
    assert read_login_environment(2) is None
    assert "took longer than 2 s" in caplog.text
    assert _is_ended(int((tmp_path / "pid").read_text()))


def test_a_shell_that_hangs_behind_its_answer_has_answered(shell: _SHELL) -> None:
    shell('MINE=1; export MINE; eval "$4"; exec sleep 1000')
    assert _read(2)["MINE"] == "1"


def test_a_program_left_behind_does_not_keep_us_waiting(shell: _SHELL, tmp_path: Path) -> None:
    shell(f'sleep 1000 & echo $! > {tmp_path}/pid; MINE=1; export MINE; eval "$4"')
    assert _read()["MINE"] == "1"
    assert _is_ended(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize(
    "body",
    ["exit 1", "echo no answer", 'printf %s "$4"', "kill -9 $$"],
    ids=["fails", "mute", "echo", "dies"],
)
def test_a_shell_without_output_gives_no_environment(shell: _SHELL, body: str) -> None:
    shell(body)
    assert read_login_environment() is None


@pytest.mark.parametrize("path", ["/usr/sbin/nologin", "/bin/false", "/no/such/shell", "/"])
def test_an_account_without_a_shell_gives_no_environment(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setenv("SHELL", path)
    assert read_login_environment() is None


def test_without_a_variable_the_shell_of_the_account_is_asked(
    shell: _SHELL, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = shell('MINE=account; export MINE; eval "$4"')
    account = pwd.struct_passwd(("me", "x", 0, 0, "", "/", str(path)))
    monkeypatch.delenv("SHELL")
    monkeypatch.setattr(pwd, "getpwuid", lambda _: account)
    assert _read()["MINE"] == "account"


def test_a_number_without_an_account_has_the_plain_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_account(number: int) -> pwd.struct_passwd:
        raise KeyError(number)

    monkeypatch.delenv("SHELL", raising=False)
    monkeypatch.setenv("MINE", "plain")
    monkeypatch.setattr(pwd, "getpwuid", no_account)
    assert _read()["MINE"] == "plain"


# --- Kept -----------------------------------------------------------------------------------------


class _Answers:
    """Gives one answer after the other, and counts."""

    def __init__(self, *answers: Mapping[str, str] | None) -> None:
        self._answers = list(answers)
        self.asked = 0

    def __call__(self) -> Mapping[str, str] | None:
        self.asked += 1
        return self._answers.pop(0)


def test_the_shell_is_asked_once() -> None:
    answers = _Answers({"A": "1"})
    login = LoginEnvironment(answers)
    assert answers.asked == 0
    assert login.get() == {"A": "1"}
    assert login.get() is login.get()
    assert answers.asked == 1


def test_a_cleared_environment_is_read_again() -> None:
    login = LoginEnvironment(_Answers({"A": "1"}, {"A": "2"}))
    login.get()
    login.forget()
    assert login.get() == {"A": "2"}


def test_a_failing_second_answer_leaves_the_first(caplog: pytest.LogCaptureFixture) -> None:
    answers = _Answers({"A": "1"}, None)
    login = LoginEnvironment(answers)
    login.get()
    login.forget()
    assert login.get() == {"A": "1"}
    assert login.get() == {"A": "1"}
    assert answers.asked == 2
    assert "did not print its environment" in caplog.text


def test_without_an_answer_jobs_get_our_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE", "1")
    answers = _Answers(None)
    login = LoginEnvironment(answers)
    assert login.get() == dict(os.environ)
    assert login.get()["MINE"] == "1"
    assert answers.asked == 1


def test_an_environment_is_also_in_bytes() -> None:
    assert Environment({"A": "grüße"}).encoded == {b"A": "grüße".encode()}


def test_the_users_own_shell_is_the_one_that_is_asked(shell: _SHELL) -> None:
    shell('MINE=1; export MINE; eval "$4"')
    assert LoginEnvironment().get()["MINE"] == "1"
