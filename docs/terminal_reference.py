"""The reference of the terminal: every command of `halo`, its examples and options, as click knows them."""

from __future__ import annotations

import html
import inspect
import re
from collections.abc import Iterator

import click

from halo_scheduler.cli import halo
from halo_scheduler.cli.command_table import SECTIONS

_OPTIONS = "Options"
_QUOTED = re.compile(r'"(halo [^"]+)"')
# What stands behind a command, some blanks away.
_REMARK = re.compile(r"(?<=\S) {3,}(\w.*)$")
_PREFORMATTED = "\b\n"


def terminal_reference() -> str:
    """Return all commands by topic, as Markdown."""
    return "\n".join(_topics())


def _topics() -> Iterator[str]:
    with click.Context(halo, info_name="halo") as context:
        for topic, entries in SECTIONS.items():
            yield f"\n## {topic}\n"
            for name in entries:
                command = halo.get_command(context, name)
                if command is not None:
                    yield from _command(command, name, context, level=3)


def _command(command: click.Command, name: str, parent: click.Context, *, level: int) -> Iterator[str]:
    with click.Context(command, info_name=name, parent=parent) as context:
        yield f"\n{'#' * level} {context.command_path}\n"
        for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
            yield _paragraph(paragraph)
        usage = " ".join((context.command_path, *command.collect_usage_pieces(context)))
        yield f"```text\n{usage}\n```\n"
        yield from _option_tables(command, context)
        if isinstance(command, click.Group):
            for inner in command.list_commands(context):
                found = command.get_command(context, inner)
                if found is not None:
                    yield from _command(found, inner, context, level=level + 1)


def _paragraph(text: str) -> str:
    """Return a paragraph of a help text; examples become a block of commands."""
    if not text.startswith(_PREFORMATTED):
        return _QUOTED.sub(r"`\1`", html.escape(text.replace("\n", " "), quote=False)) + "\n"
    first, _, lines = text.removeprefix(_PREFORMATTED).partition("\n")
    block = "\n".join(_REMARK.sub(r"  # \1", line.removeprefix("  ")) for line in lines.splitlines())
    language = "sh" if first == "Examples:" else "text"
    return f"{html.escape(first, quote=False)}\n\n```{language}\n{block}\n```\n"


def _option_tables(command: click.Command, context: click.Context) -> Iterator[str]:
    sections: dict[str, list[tuple[str, str]]] = {}
    for option in command.get_params(context):
        record = option.get_help_record(context)
        if isinstance(option, click.Option) and record is not None and "--help" not in option.opts:
            sections.setdefault(getattr(option, "section", _OPTIONS), []).append(record)
    for title, records in sections.items():
        rows = [f"| `{option}` | {_cell(meaning)} |" for option, meaning in records]
        yield "\n".join([f"| {title} | |", "|---|---|", *rows, ""])


def _cell(text: str) -> str:
    return _QUOTED.sub(r"`\1`", html.escape(text, quote=False).replace("|", "\\|"))
