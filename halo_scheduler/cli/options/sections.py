"""Options in sections, so that the help of a command with many of them can be read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, TypeVar

import click

AnyCommand = TypeVar("AnyCommand", bound=Callable[..., Any])

_OTHERS = "Options"


class SectionOption(click.Option):
    """An option that stands under a title; `usual` is what holds for a new job that is not given it."""

    def __init__(self, *names: Any, section: str, usual: str = "", **attributes: Any) -> None:
        super().__init__(*names, **attributes)
        self.section = section
        self.usual = usual

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        record = super().get_help_record(ctx)
        if record is None or not self.usual or not getattr(ctx.command, "makes_new", True):
            return record
        return record[0], f"{record[1]} [{self.usual}]"


class SectionCommand(click.Command):
    """A command whose help has a title over the options of each section."""

    def __init__(self, *arguments: Any, makes_new: bool = True, **attributes: Any) -> None:
        super().__init__(*arguments, **attributes)
        self.makes_new = makes_new

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        options = [parameter for parameter in self.get_params(ctx) if isinstance(parameter, click.Option)]
        for option in sorted(options, key=lambda option: not isinstance(option, SectionOption)):
            record = option.get_help_record(ctx)
            if record is not None:
                sections.setdefault(getattr(option, "section", _OTHERS), []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def with_options(command: AnyCommand, options: Sequence[Callable[[AnyCommand], AnyCommand]]) -> AnyCommand:
    """Give a command some options, in the order in which they are listed."""
    for option in reversed(options):
        command = option(command)
    return command


def choice_of(words: type[StrEnum]) -> click.Choice[str]:
    """Return the words of an enum to choose from."""
    return click.Choice([word.value for word in words])
