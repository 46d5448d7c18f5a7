"""The commands of `halo`, by what one wants to do: where each is, what it is for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from halo_scheduler.cli.terminal.escaped_streams import escaped_streams

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Entry(NamedTuple):
    """Where a command is, as `module:attribute` of `commands`, and what it does in one line of the help."""

    place: str
    about: str


SECTIONS: Mapping[str, Mapping[str, Entry]] = {
    "Jobs": {
        "add": Entry("add:add", "Add a job."),
        "list": Entry("list:list_", "List the jobs, the next to run first."),
        "show": Entry("jobs:show", "Show everything about a job."),
        "edit": Entry("edit:edit", "Change a job."),
        "duplicate": Entry("duplicate:duplicate", "Copy a job."),
        "remove": Entry("jobs:remove", "Put a job into the trash."),
        "trash": Entry("trash:trash", "Look into the trash, and get a job back."),
        "group": Entry("groups:group", "Look at the groups, and limit how many run at once."),
    },
    "When they run": {
        "next": Entry("next:next_", "Show what runs next, across all jobs."),
        "pause": Entry("pause:pause", "Pause jobs, for a while or until they are resumed."),
        "resume": Entry("pause:resume", "Let paused or disabled jobs go on."),
        "why": Entry("why:why", "Say why a job runs when it does, or did not run."),
        "hint": Entry("hint:hint", "Advise a job to run sooner or at another pace for a while."),
        "quiet": Entry("quiet:quiet", "Choose the times in which nothing starts by itself."),
        "preview": Entry("preview:preview", "Show what a schedule means, before it is used."),
    },
    "Runs": {
        "run": Entry("runs:run", "Run a job now."),
        "cancel": Entry("runs:cancel", "Stop a job that runs."),
        "history": Entry("runs:history", "Show how the runs went, or why they did not happen."),
        "logs": Entry("runs:logs", "Show what a job printed, also while it runs."),
        "inbox": Entry("inbox:inbox", "Show what runs ask you."),
        "answer": Entry("inbox:answer", "Answer what a run asked."),
    },
    "In and out": {
        "import": Entry("import_:import_", "Take in jobs from a file."),
        "export": Entry("export:export", "Write jobs to a file."),
        "apply": Entry("apply:apply", "Make the jobs what a folder of files says."),
        "backup": Entry("backup:backup", "Make, list and restore backups."),
    },
    "Settings": {
        "config": Entry("config:config", "Look at the settings and change them."),
        "agent": Entry("agents:agent", "Choose the programs that prompts are given to."),
        "secret": Entry("secret:secret", "Keep secrets for jobs."),
        "completion": Entry("completion:completion", "Let your shell complete what you type."),
        "environment": Entry("environment:environment", "Show the environment that commands get."),
    },
    "The program": {
        "status": Entry("status:status", "Show what is going on."),
        "doctor": Entry("doctor:doctor", "Look whether everything is in order, and put right what can be."),
        "autostart": Entry("autostart:autostart", "Start Halo when you log in, or not."),
        "daemon": Entry("daemon:daemon", "Run the jobs without a window."),
        "mcp": Entry("mcp:mcp", "Let an AI assistant look at the jobs."),
        "assistants": Entry("assistants:assistants", "Show what AI assistants did."),
    },
}
# What other programs call them.
_CALLED_ELSEWHERE = {
    "add": ("new", "create"),
    "list": ("ls", "jobs"),
    "show": ("info", "describe", "cat"),
    "edit": ("change", "update", "set", "rename", "mv"),
    "duplicate": ("copy", "cp"),
    "remove": ("rm", "delete", "del"),
    "trash restore": ("restore", "undo"),
    "pause": ("disable",),
    "resume": ("enable", "unpause", "continue"),
    "run": ("start", "exec", "trigger"),
    "cancel": ("stop", "kill"),
    "history": ("runs",),
    "logs": ("output", "tail"),
    "config": ("settings",),
    "doctor": ("check",),
    "--help": ("help",),
    "--version": ("version",),
}
_ENTRIES = {name: entry for section in SECTIONS.values() for name, entry in section.items()}


class CommandTable(click.Group):
    """A group that loads a command only when it is used: most of them need much that the others do not."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command; whatever it prints, nothing in it is invisible."""
        with escaped_streams():
            return super().main(*args, **kwargs)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's
        return list(_ENTRIES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's
        entry = _ENTRIES.get(cmd_name)
        if entry is None:
            return None
        module, _, attribute = entry.place.partition(":")
        found = getattr(import_module(f"{__package__}.commands.{module}"), attribute)
        if not isinstance(found, click.Command):
            raise TypeError(f"{entry.place} is no command")
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in _ENTRIES and not ctx.resilient_parsing:
            raise click.UsageError(f"there is no command {args[0]!r}{_meant(args[0], list(_ENTRIES))}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Offer the commands without loading them."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - for those who complete

        names = [(name, entry.about) for name, entry in _ENTRIES.items() if name.startswith(incomplete)]
        commands = [CompletionItem(name, help=about) for name, about in names]
        return commands + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        widest = max(len(name) for name in _ENTRIES)
        for title, entries in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), entry.about) for name, entry in entries.items()])


class Subcommands(click.Group):
    """Commands below a command of the table."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.commands and not ctx.resilient_parsing:
            wanted = f"{ctx.info_name} {args[0]}"
            raise click.UsageError(f"there is no command {wanted!r}{_meant(args[0], list(self.commands))}")
        return super().resolve_command(ctx, args)


def _meant(wanted: str, names: list[str]) -> str:
    """Return the end of a sentence that suggests one of some commands, if one may be meant."""
    from halo_scheduler.service.lookup import near_name  # noqa: PLC0415 - only when something was not found

    for name, others in _CALLED_ELSEWHERE.items():
        # What is no command itself is one below another, or an option.
        if wanted.lower() in others and (name in names or (name not in _ENTRIES and names == list(_ENTRIES))):
            return f"; did you mean {name!r}?"
    return near_name(wanted, names)
