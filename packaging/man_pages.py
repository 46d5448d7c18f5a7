"""Man pages of `halo` and each of its commands, from click's own help."""

from __future__ import annotations

import gzip
import inspect
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import click

from halo_scheduler.cli import halo
from halo_scheduler.cli.command_table import SECTIONS

_LITERAL = "\b"


def write_man_pages(folder: Path, version: str, epoch: int) -> None:
    """Write `halo.1.gz`, `halo-add.1.gz` and so on into a folder."""
    folder.mkdir(parents=True)
    root = click.Context(halo, info_name="halo")
    date = datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%d")
    for name, context in [("halo", root), *_commands(root, "halo")]:
        page = _page(name, context, f'"{date}" "Halo Scheduler {version}"')
        with (
            (folder / f"{name}.1.gz").open("wb") as file,
            gzip.GzipFile("", "wb", 9, file, mtime=epoch) as packed,
        ):
            packed.write(page.encode())


def _commands(parent: click.Context, prefix: str) -> Iterator[tuple[str, click.Context]]:
    group = parent.command
    if not isinstance(group, click.Group):
        return
    for name in group.list_commands(parent):
        command = group.get_command(parent, name)
        if command is not None and not command.hidden:
            context = click.Context(command, info_name=name, parent=parent)
            yield f"{prefix}-{name}", context
            yield from _commands(context, f"{prefix}-{name}")


def _page(name: str, context: click.Context, footer: str) -> str:
    command = context.command
    words = context.command_path
    lines = [
        f'.TH "{name.upper()}" 1 {footer} "User Commands"',
        ".SH NAME",
        f"{_text(name)} \\- {_text(_summary(context).rstrip('.'))}",
        ".SH SYNOPSIS",
        f".B {_text(words)}",
        _text(" ".join(command.collect_usage_pieces(context))),
        ".SH DESCRIPTION",
        *_paragraphs(command.help or ""),
    ]
    records = [
        record for parameter in command.get_params(context) if (record := parameter.get_help_record(context))
    ]
    options = [(option, about) for option, about in records if about]
    if options:
        lines.append(".SH OPTIONS")
        for option, about in options:
            lines += [".TP", f"\\fB{_text(option)}\\fR", _text(about)]
    lines += _subcommands(name, context)
    if context.parent is not None:
        lines += [".SH SEE ALSO", f".BR {_text(name.rpartition('-')[0])} (1)"]
    return "\n".join(lines) + "\n"


def _summary(context: click.Context) -> str:
    listed = {name: entry.about for entries in SECTIONS.values() for name, entry in entries.items()}
    if context.parent is None:
        return "run your jobs on time, and know what happened"
    is_top = context.parent.parent is None
    return listed[context.info_name or ""] if is_top else context.command.get_short_help_str(200)


def _subcommands(name: str, context: click.Context) -> Iterator[str]:
    if context.parent is None:
        for section, entries in SECTIONS.items():
            yield f".SH {section.upper()}"
            for command, entry in entries.items():
                yield from (".TP", f".BR {_text(f'halo-{command}')} (1)", _text(entry.about))
        return
    found = [inner for inner in _commands(context, name) if inner[1].parent is context]
    if found:
        yield ".SH COMMANDS"
        for full, inner in found:
            yield from (".TP", f".BR {_text(full)} (1)", _text(_summary(inner)))


def _paragraphs(text: str) -> Iterator[str]:
    """Yield the help as roff; blocks after click's mark stay as they are."""
    for paragraph in _blocks(text):
        yield ".PP"
        if paragraph[0].strip() == _LITERAL:
            yield ".nf"
            yield from map(_text, paragraph[1:])
            yield ".fi"
        else:
            yield _text(" ".join(line.strip() for line in paragraph))


def _blocks(text: str) -> Iterator[list[str]]:
    lines: list[str] = []
    for line in [*inspect.cleandoc(text).split("\n"), ""]:
        if line.strip(" "):
            lines.append(line)
        elif lines:
            yield lines
            lines = []


def _text(text: str) -> str:
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
