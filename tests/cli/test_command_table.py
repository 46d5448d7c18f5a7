"""The table of commands: each is there, teaches, and costs nothing until it is used."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from halo_scheduler.cli import halo
from halo_scheduler.cli.command_table import SECTIONS

_NAMES = [name for section in SECTIONS.values() for name in section]
_WIDTH = 80
_LOADED = "[name for name in ('apsw', 'halo_scheduler.service.scheduler') if name in sys.modules]"
# Those of the design, beside what came later.
_DESIGNED = {
    *("add", "list", "show", "edit", "remove", "trash", "duplicate", "pause", "resume", "group"),
    *("run", "cancel", "history", "logs", "next", "why", "hint", "inbox", "answer", "preview"),
    *("import", "export", "apply", "backup", "secret", "config", "autostart", "doctor", "daemon"),
    *("status", "mcp"),
}


def _all_commands(
    command: click.Command, context: click.Context, width: int = _WIDTH
) -> Iterator[tuple[str, str]]:
    """Yield every command below one with its help at the width of a terminal."""
    for name in command.list_commands(context) if isinstance(command, click.Group) else []:
        below = command.get_command(context, name)  # type: ignore[attr-defined] # it is a group
        assert below is not None
        inner = click.Context(below, info_name=name, parent=context, terminal_width=width)
        yield inner.command_path, below.get_help(inner)
        yield from _all_commands(below, inner, width)


def _helps() -> dict[str, str]:
    return dict(_all_commands(halo, click.Context(halo, info_name="halo")))


def test_all_commands_of_the_design_are_there_once() -> None:
    assert set(_NAMES) >= _DESIGNED
    assert len(_NAMES) == len(set(_NAMES))


def test_every_help_teaches_by_example_and_fits_the_terminal() -> None:
    helps = _helps()
    assert len(helps) > len(_NAMES)
    for path, text in helps.items():
        first = text.find("configuration:" if path == "halo mcp" else "Examples:")
        assert first > 0, path
        assert path in text[first:] or path == "halo mcp", path
        # They come before all that is said beside what the command is for.
        assert text[:first].count("\n\n") <= 2, path
        cut = [line for line in text.splitlines() if line.endswith("...") and not line.startswith("Usage:")]
        assert not cut, (path, cut)
        too_long = [line for line in text.splitlines() if len(line) > _WIDTH]
        assert not too_long, (path, too_long)


@pytest.mark.parametrize("width", [_WIDTH, 100])
def test_help_never_wraps_inside_an_example(width: int) -> None:
    for path, text in _all_commands(halo, click.Context(halo, info_name="halo"), width):
        ends = [line for line in text.splitlines() if line.endswith("-") and not line.endswith((" -", "|-"))]
        assert not ends, path


def test_the_help_names_every_command_in_a_section_and_in_one_line() -> None:
    context = click.Context(halo, info_name="halo", terminal_width=_WIDTH)
    lines = halo.get_help(context).splitlines()
    assert [line for line in lines if len(line) > _WIDTH] == []
    for title, entries in SECTIONS.items():
        assert f"{title}:" in lines
        for name, entry in entries.items():
            assert [line.split(maxsplit=1) for line in lines].count([name, entry.about]) == 1


@pytest.mark.parametrize("code", ["halo.main(['--help'], standalone_mode=False)", "pass"])
def test_no_command_is_loaded_that_is_not_used(code: str) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import sys; from halo_scheduler.cli import halo; {code}; print({_LOADED})",
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.splitlines()[-1] == "[]"
