"""Options in titled sections, for the help of commands with many options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, TypeVar

import click

AnyCommand = TypeVar("AnyCommand", bound=Callable[..., Any])

_OTHERS = "Options"


class SectionOption(click.Option):
    """An option in a section; `default_words` is shown for commands that create a job."""

    def __init__(self, *names: Any, section: str, default_words: str = "", **attributes: Any) -> None:
        super().__init__(*names, **attributes)
        self.section = section
        self.default_words = default_words

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        record = super().get_help_record(ctx)
        if record is None or not self.default_words or not getattr(ctx.command, "creates_job", True):
            return record
        return record[0], f"{record[1]} [{self.default_words}]"


class SectionCommand(click.Command):
    """A command whose help lists the options by section."""

    def __init__(self, *arguments: Any, creates_job: bool = True, **attributes: Any) -> None:
        super().__init__(*arguments, **attributes)
        self.creates_job = creates_job

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
    """Add options to a command, in the order of the list."""
    for option in reversed(options):
        command = option(command)
    return command


def choice_of(words: type[StrEnum]) -> click.Choice[str]:
    """Return the values of an enum as choices."""
    return click.Choice([word.value for word in words])
