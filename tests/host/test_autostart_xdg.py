"""Start at login on Linux: what is written is read and executed as the desktops do it."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from halo_scheduler.errors import SchedulerError
from halo_scheduler.host.autostart.entry_files import XdgAutostart

# Tells what it was given: its arguments and the variable, as JSON in the file of the first argument.
_PROBE = """\
import json, os, sys
from pathlib import Path
told = Path(sys.argv[1])
told.with_suffix(".part").write_text(json.dumps([sys.argv[2:], os.environ.get("HALO_HOME")]))
told.with_suffix(".part").replace(told)
"""
# dex 0.9 understands quotes, and none of the escapes inside them.
_QUOTED_WORDS = [
    "two words",
    " blank at both ends ",
    "it's",
    "Grüße 東京 ∞",
    "a;b|c&d<e>f*g?h#i~j(k)",
    "",
    "x=y",
]
_HARD_WORDS = [
    *_QUOTED_WORDS,
    'a "quoted" one',
    "$HOME `id` $(id)",
    "100% %u %%f",
    "two\nlines\tand a tab",
    "back\\slash \\\\ \\$ end\\",
]
_HARD_PLACE = 'a place with 100% $trange "signs" ∞'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the place of the autostart folder, which is not there yet."""
    return tmp_path / "a config of mine" / "autostart"


def _read_as_specified(entry: Path) -> list[str]:
    """Read the Exec line by the Desktop Entry Specification: first the value's escapes, then the quoting."""
    (line,) = (line for line in entry.read_text(encoding="utf-8").split("\n") if line.startswith("Exec="))
    signs = iter(line.removeprefix("Exec="))
    escapes = {"s": " ", "n": "\n", "t": "\t", "r": "\r", "\\": "\\"}
    value = "".join(escapes[next(signs)] if sign == "\\" else sign for sign in signs)
    words: list[str] = []
    rest = value
    while rest:
        word, rest = _next_word(rest)
        words.append(word.replace("%%", "\0"))
        assert "%" not in words[-1], "a field code would be replaced"
    return [word.replace("\0", "%") for word in words]


def _next_word(text: str) -> tuple[str, str]:
    if not text.startswith('"'):
        word, _, rest = text.partition(" ")
        assert not set(word) & set("\t\n\"'\\><~|&;$*?#()`"), "a reserved sign outside quotes"
        return word, rest
    word, at = "", 1
    while text[at] != '"':
        assert text[at] not in "`$", "to be escaped inside quotes"
        at += text[at] == "\\"
        word += text[at]
        at += 1
    assert text[at + 1 : at + 2] in ("", " ")
    return word, text[at + 2 :]


def _command(tmp_path: Path, words: Sequence[str], place: str = _HARD_PLACE) -> tuple[list[str], Path]:
    (tmp_path / place).mkdir()
    probe = tmp_path / place / "probe.py"
    probe.write_text(_PROBE, encoding="utf-8")
    python = tmp_path / place / "python"
    python.symlink_to(sys.executable)
    told = tmp_path / "told.json"
    return [str(python), "-P", str(probe), str(told), *words], told


def _entry_text(folder: Path) -> str:
    return (folder / "halo-scheduler.desktop").read_text(encoding="utf-8")


def test_the_specification_reads_back_every_argument(folder: Path, tmp_path: Path) -> None:
    command, told = _command(tmp_path, _HARD_WORDS)
    XdgAutostart(folder=folder).turn_on(command)
    read = _read_as_specified(folder / "halo-scheduler.desktop")
    assert read == command
    subprocess.run(read, check=True, timeout=60)
    assert json.loads(told.read_text())[0] == _HARD_WORDS


def test_the_specification_reads_back_the_variables_too(folder: Path, tmp_path: Path) -> None:
    command, told = _command(tmp_path, ["x"])
    XdgAutostart(folder=folder, variables={"HALO_HOME": "/data of $me"}).turn_on(command)
    subprocess.run(_read_as_specified(folder / "halo-scheduler.desktop"), check=True, timeout=60)
    assert json.loads(told.read_text()) == [["x"], "/data of $me"]


def test_a_program_with_an_equals_sign_in_its_path_is_not_taken_for_a_variable(
    folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "a=b").mkdir()
    command, told = _command(tmp_path / "a=b", ["$x", "two words"])
    XdgAutostart(folder=folder, variables={"HALO_HOME": "/data"}).turn_on(command)
    subprocess.run(_read_as_specified(folder / "halo-scheduler.desktop"), check=True, timeout=60)
    assert json.loads(told.read_text()) == [["$x", "two words"], "/data"]


def _installed(program: str) -> str:
    found = shutil.which(program)
    assert found, f"{program} is missing; `make test` installs it or prints how"
    return found


def _started(launch: Sequence[str | Path], tmp_path: Path) -> None:
    """Start by a desktop's own means, and wait until what it started has ended: it holds the pipe until then."""
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
    environment.pop("DISPLAY", None)
    subprocess.run(launch, env=environment, stdout=subprocess.PIPE, check=True, timeout=60)


def test_glib_executes_the_written_command(folder: Path, tmp_path: Path) -> None:
    command, told = _command(tmp_path, _HARD_WORDS)
    XdgAutostart(folder=folder, variables={"HALO_HOME": "/data of $me"}).turn_on(command)
    _started([_installed("gio"), "launch", folder / "halo-scheduler.desktop"], tmp_path)
    assert json.loads(told.read_text()) == [_HARD_WORDS, "/data of $me"]


def test_dex_executes_the_written_command(folder: Path, tmp_path: Path) -> None:
    command, told = _command(tmp_path, _QUOTED_WORDS, place="a place of ours ∞")
    XdgAutostart(folder=folder, variables={"HALO_HOME": "/data of ours"}).turn_on(command)
    _started([_installed("dex"), "--autostart", "--search-paths", folder], tmp_path)
    assert json.loads(told.read_text()) == [_QUOTED_WORDS, "/data of ours"]


def test_the_desktop_finds_no_fault_with_the_entry(folder: Path) -> None:
    XdgAutostart(folder=folder).turn_on(["/opt/my python", "-m", "ui", "100%"])
    checked = subprocess.run(
        [_installed("desktop-file-validate"), folder / "halo-scheduler.desktop"],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


def test_without_an_entry_it_is_off(folder: Path) -> None:
    assert not XdgAutostart(folder=folder).is_on()


def test_turned_on_it_is_on_and_turned_off_it_is_off(folder: Path) -> None:
    autostart = XdgAutostart(folder=folder)
    autostart.turn_on(["halo"])
    assert autostart.is_on()
    autostart.turn_off()
    assert not autostart.is_on()
    assert list(folder.iterdir()) == []


def test_turning_off_twice_does_nothing(folder: Path) -> None:
    XdgAutostart(folder=folder).turn_off()
    assert not folder.exists()


@pytest.mark.parametrize(
    "line",
    ["Hidden=true", "X-GNOME-Autostart-enabled=false", "X-MATE-Autostart-enabled = false", "Hidden = True"],
)
def test_an_entry_disabled_by_the_desktop_is_off_until_turned_on_again(folder: Path, line: str) -> None:
    autostart = XdgAutostart(folder=folder)
    autostart.turn_on(["halo"])
    entry = folder / "halo-scheduler.desktop"
    kept = [kept for kept in _entry_text(folder).splitlines() if not kept.startswith("X-GNOME")]
    entry.write_text("\n".join([*kept, line, "[Desktop Action other]", "Hidden=false"]), encoding="utf-8")
    assert not autostart.is_on()
    autostart.turn_on(["halo"])
    assert autostart.is_on()


def test_a_switch_of_another_group_does_not_count(folder: Path) -> None:
    autostart = XdgAutostart(folder=folder)
    autostart.turn_on(["halo"])
    entry = folder / "halo-scheduler.desktop"
    entry.write_text(_entry_text(folder) + "\n# Hidden=true\n[X-Other]\nHidden=true\n", encoding="utf-8")
    assert autostart.is_on()


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe\x00garbage", b"Exec=halo\n", b"[Desktop Entry]\nName=Halo\n"]
)
def test_a_broken_entry_starts_nothing_and_is_off(folder: Path, content: bytes) -> None:
    folder.mkdir(parents=True)
    (folder / "halo-scheduler.desktop").write_bytes(content)
    assert not XdgAutostart(folder=folder).is_on()


def test_a_stale_command_is_recognised(folder: Path) -> None:
    autostart = XdgAutostart(folder=folder)
    autostart.turn_on(["/old venv/python", "-m", "ui"])
    assert autostart.is_current(["/old venv/python", "-m", "ui"])
    assert not autostart.is_current(["/new venv/python", "-m", "ui"])


def test_an_entry_for_other_data_is_stale(folder: Path) -> None:
    XdgAutostart(folder=folder).turn_on(["halo"])
    assert not XdgAutostart(folder=folder, variables={"HALO_HOME": "/elsewhere"}).is_current(["halo"])


def test_without_an_entry_no_command_is_current(folder: Path) -> None:
    assert not XdgAutostart(folder=folder).is_current(["halo"])


def test_the_entry_is_replaced_completely_and_belongs_to_the_user(folder: Path) -> None:
    autostart = XdgAutostart(folder=folder)
    autostart.turn_on(["one"])
    before = (folder / "halo-scheduler.desktop").stat().st_ino
    held = (folder / "halo-scheduler.desktop").open("rb")
    with held:
        autostart.turn_on(["two"])
        assert b"Exec=one" in held.read()
    now = (folder / "halo-scheduler.desktop").stat()
    assert now.st_ino != before
    assert stat.S_IMODE(now.st_mode) == 0o600
    assert [entry.name for entry in folder.iterdir()] == ["halo-scheduler.desktop"]


def test_an_entry_that_is_a_link_stays_one(folder: Path, tmp_path: Path) -> None:
    folder.mkdir(parents=True)
    kept = tmp_path / "dotfiles.desktop"
    (folder / "halo-scheduler.desktop").symlink_to(kept)
    XdgAutostart(folder=folder).turn_on(["halo"])
    assert (folder / "halo-scheduler.desktop").is_symlink()
    assert "Exec=halo" in kept.read_text()


def test_a_folder_that_cannot_be_made_is_reported_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "autostart").write_text("a file is in the way")
    autostart = XdgAutostart(folder=tmp_path / "autostart")
    assert not autostart.is_on()
    with pytest.raises(
        SchedulerError, match=r"^cannot write .*halo-scheduler\.desktop: Not a directory; check that"
    ):
        autostart.turn_on(["halo"])
    autostart.turn_off()


def test_a_failed_write_leaves_the_old_entry_and_no_litter(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    autostart = XdgAutostart(folder=folder)
    autostart.turn_on(["halo"])

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SchedulerError, match="No space left on device"):
        autostart.turn_on(["other"])
    assert autostart.is_current(["halo"])
    assert [entry.name for entry in folder.iterdir()] == ["halo-scheduler.desktop"]


def test_an_entry_that_is_a_folder_is_reported_in_a_sentence(folder: Path) -> None:
    (folder / "halo-scheduler.desktop" / "within").mkdir(parents=True)
    autostart = XdgAutostart(folder=folder)
    with pytest.raises(SchedulerError, match="cannot read"):
        autostart.is_on()
    with pytest.raises(SchedulerError, match="cannot remove"):
        autostart.turn_off()


@pytest.mark.parametrize(
    ("configured", "expected"), [("/cfg", "/cfg/autostart"), ("cfg", "/h/.config/autostart")]
)
def test_the_folder_is_where_the_specification_has_it(
    configured: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/h")
    monkeypatch.setenv("XDG_CONFIG_HOME", configured)
    assert XdgAutostart().where() == f"{expected}/halo-scheduler.desktop"


def test_without_a_configured_folder_it_is_below_the_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/h")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert XdgAutostart().where() == "/h/.config/autostart/halo-scheduler.desktop"
