"""Start at login on Windows: the value under the Run key, with a registry of our own."""

from __future__ import annotations

import pytest

from halo_scheduler.errors import SchedulerError
from halo_scheduler.host.autostart.run_key import RunKey

_RUN = r"Software\Microsoft\Windows\CurrentVersion\Run"
_APPROVED = r"Software\Microsoft\Windows\CurrentVersion\Explorer\StartupApproved\Run"
_COMMAND = [r"C:\My Programs\pythonw.exe", "-m", "ui", 'say "hi"', "trailing\\", "100%"]


class _Registry:
    def __init__(self) -> None:
        self.values: dict[tuple[str, str], object] = {}

    def read(self, key: str, name: str) -> object:
        return self.values.get((key, name))

    def write(self, key: str, name: str, text: str) -> None:
        self.values[key, name] = text

    def delete(self, key: str, name: str) -> None:
        self.values.pop((key, name), None)


class _LockedRegistry:
    def _refuse(self, *_: str) -> None:
        raise PermissionError(13, "Access is denied")

    read = write = delete = _refuse


def _split_as_windows(line: str) -> list[str]:
    """Split a command line by Microsoft's rules for the arguments of C programs."""
    words: list[str] = []
    word, in_quotes, begun, slashes = "", False, False, 0
    for sign in line + " ":
        if sign == "\\":
            slashes, begun = slashes + 1, True
            continue
        if sign == '"':
            word += "\\" * (slashes // 2)
            if slashes % 2:
                word += '"'
            else:
                in_quotes = not in_quotes
            slashes, begun = 0, True
            continue
        word += "\\" * slashes
        slashes = 0
        if sign == " " and not in_quotes:
            if begun:
                words.append(word)
            word, begun = "", False
        else:
            word, begun = word + sign, True
    return words


def test_the_value_reads_back_as_the_command() -> None:
    registry = _Registry()
    RunKey(registry).turn_on(_COMMAND)
    line = registry.values[_RUN, "HaloScheduler"]
    assert isinstance(line, str)
    assert _split_as_windows(line) == _COMMAND


def test_turned_on_it_is_on_and_turned_off_it_is_off() -> None:
    registry = _Registry()
    key = RunKey(registry)
    assert not key.is_on()
    key.turn_on(_COMMAND)
    assert key.is_on()
    key.turn_off()
    assert not key.is_on()
    assert registry.values == {}


@pytest.mark.parametrize(
    ("state", "is_on"), [(b"\x02" + bytes(11), True), (b"\x03" + bytes(11), False), (b"", True)]
)
def test_an_entry_disabled_in_the_task_manager_is_off_until_turned_on_again(
    state: bytes, is_on: bool
) -> None:
    registry = _Registry()
    key = RunKey(registry)
    key.turn_on(_COMMAND)
    registry.values[_APPROVED, "HaloScheduler"] = state
    assert key.is_on() is is_on
    key.turn_on(_COMMAND)
    assert key.is_on()


def test_a_stale_command_is_recognised() -> None:
    key = RunKey(_Registry())
    assert not key.is_current(_COMMAND)
    key.turn_on(_COMMAND)
    assert key.is_current(_COMMAND)
    assert not key.is_current([r"D:\elsewhere\pythonw.exe"])


def test_a_value_that_is_not_text_is_off() -> None:
    registry = _Registry()
    registry.values[_RUN, "HaloScheduler"] = 7
    assert not RunKey(registry).is_on()


def test_a_command_too_long_for_windows_is_refused() -> None:
    registry = _Registry()
    with pytest.raises(
        SchedulerError, match="more than 260 characters at login, and this one has 301; install"
    ):
        RunKey(registry).turn_on(["x" * 301])
    assert registry.values == {}


def test_a_locked_registry_is_reported_in_a_sentence() -> None:
    key = RunKey(_LockedRegistry())
    with pytest.raises(SchedulerError, match="cannot be read: Access is denied; the administrator"):
        key.is_on()
    with pytest.raises(SchedulerError, match="cannot be written: Access is denied"):
        key.turn_on(_COMMAND)
    with pytest.raises(SchedulerError, match="cannot be removed: Access is denied"):
        key.turn_off()


def test_the_value_is_named_by_its_key() -> None:
    assert RunKey(_Registry()).where() == rf"HKEY_CURRENT_USER\{_RUN}\HaloScheduler"
