"""The commands of `halo` by topic, with the module and the help line of each."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from halo_scheduler.cli.terminal.escaped_streams import escaped_streams

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Entry(NamedTuple):
    """A command as `module:attribute` within `commands`, and its line in the help."""

    place: str
    about: str


SECTIONS: Mapping[str, Mapping[str, Entry]] = {
    "Jobs": {
        "add": Entry("edit:add", "Add a job."),
        "list": Entry("list:list_", "List jobs, the next to run first."),
        "show": Entry("jobs:show", "Show everything about a job."),
        "edit": Entry("edit:edit", "Change a job."),
        "duplicate": Entry("jobs:duplicate", "Copy a job."),
        "remove": Entry("jobs:remove", "Move a job to the trash."),
        "trash": Entry("jobs:trash", "List removed jobs and restore them."),
        "group": Entry("groups:group", "List groups and limit how many of their jobs run at once."),
    },
    "Schedule": {
        "next": Entry("next:next_", "Show upcoming runs of all jobs."),
        "pause": Entry("pause:pause", "Pause jobs, for a while or until you resume them."),
        "resume": Entry("pause:resume", "Resume paused or disabled jobs."),
        "why": Entry("why:why", "Explain why a job runs when it does, or why it did not run."),
        "skip": Entry("pause:skip", "Skip the next scheduled run of a job."),
        "hint": Entry("pause:hint", "Make a job run sooner or at another pace for a while."),
        "quiet": Entry("quiet:quiet", "Set quiet hours, in which no scheduled run starts."),
        "preview": Entry("preview:preview", "Show when a schedule would run."),
    },
    "Runs": {
        "run": Entry("runs:run", "Run a job now."),
        "cancel": Entry("runs:cancel", "Stop a running job."),
        "history": Entry("runs:history", "Show past runs, including skipped and missed ones."),
        "logs": Entry("runs:logs", "Show the output of a job, even while it runs."),
        "inbox": Entry("inbox:inbox", "List open questions of your jobs."),
        "answer": Entry("inbox:answer", "Answer a question."),
    },
    "Import and export": {
        "import": Entry("import_:import_", "Import jobs."),
        "export": Entry("export:export", "Export jobs."),
        "apply": Entry("import_:apply", "Sync jobs with a folder of files."),
        "backup": Entry("backup:backup", "Make, list and restore backups."),
    },
    "Settings": {
        "config": Entry("config:config", "Show and change settings."),
        "agent": Entry("agents:agent", "Set up the programs that run prompts."),
        "secret": Entry("secret:secret", "Store secrets for jobs."),
        "webhook": Entry("webhook:webhook", "Let other programs start jobs over HTTP."),
        "chat": Entry("chat:chat", "Let people start jobs by chat."),
        "completion": Entry("completion:completion", "Set up completion in your shell."),
        "environment": Entry("config:environment", "Show the environment that commands run with."),
    },
    "Halo itself": {
        "status": Entry("status:status", "Show whether Halo is running and what comes next."),
        "doctor": Entry("doctor:doctor", "Check the installation and fix common problems."),
        "autostart": Entry("autostart:autostart", "Turn starting at login on or off."),
        "daemon": Entry("daemon:daemon", "Run jobs without a window."),
        "mcp": Entry("assistants:mcp", "Let an AI assistant work with your jobs."),
        "manual": Entry("manual:manual", "Print the path of the manual."),
        "assistants": Entry("assistants:assistants", "Show what AI assistants did."),
    },
}
# Names of these commands in other programs.
_SYNONYMS = {
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
    "manual": ("docs", "man"),
    "--help": ("help",),
    "--version": ("version",),
}
_ENTRIES = {name: entry for section in SECTIONS.values() for name, entry in section.items()}


class CommandTable(click.Group):
    """A group that imports a command only when it is used, so that each starts quickly."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command; invisible characters in its output are escaped."""
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
            raise TypeError(f"{entry.place} is not a command")
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in _ENTRIES and not ctx.resilient_parsing:
            raise click.UsageError(f"no such command: {args[0]!r}{_suggestion(args[0], list(_ENTRIES))}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the names of commands without importing them."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - only for completion

        names = [(name, entry.about) for name, entry in _ENTRIES.items() if name.startswith(incomplete)]
        commands = [CompletionItem(name, help=about) for name, about in names]
        return commands + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        widest = max(len(name) for name in _ENTRIES)
        for title, entries in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), entry.about) for name, entry in entries.items()])


class Subcommands(click.Group):
    """A command of the table that has commands of its own."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.commands and not ctx.resilient_parsing:
            wanted = f"{ctx.info_name} {args[0]}"
            raise click.UsageError(f"no such command: {wanted!r}{_suggestion(args[0], list(self.commands))}")
        return super().resolve_command(ctx, args)


def _suggestion(wanted: str, names: list[str]) -> str:
    """Return "; did you mean …?" for a name that resembles a command, else nothing."""
    from halo_scheduler.service.lookup import near_name  # noqa: PLC0415 - only for a wrong command

    for name, others in _SYNONYMS.items():
        # A synonym may stand for a subcommand or an option too; those are suggested at the top level only.
        if wanted.lower() in others and (name in names or (name not in _ENTRIES and names == list(_ENTRIES))):
            return f"; did you mean {name!r}?"
    return near_name(wanted, names)
