"""Job templates for the first start."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QT_TRANSLATE_NOOP

from halo_scheduler.model import Caps, Command, Cron, Every, HttpRequest, JobSpec, Notify, Policy, Prompt
from halo_scheduler.model.work_source import FolderSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A prefilled job; title and sentence are translated in the context Templates."""

    title: str
    sentence: str
    icon: str
    spec: JobSpec


TEMPLATES: dict[str, Template] = {
    "backup": Template(
        title=str(QT_TRANSLATE_NOOP("Templates", "Back up a folder")),
        sentence=str(QT_TRANSLATE_NOOP("Templates", "Pack a folder into a dated archive every evening.")),
        icon="backup",
        spec=JobSpec(
            name="Back up my documents",
            schedule=Cron("0 18 * * *"),
            action=Command(  # noqa: S604 - the user sees the line
                line='mkdir -p "$HOME/Backups" && '
                'tar -czf "$HOME/Backups/documents-$(date +%F).tar.gz" -C "$HOME" Documents',
                shell="/bin/sh",
            ),
        ),
    ),
    "script": Template(
        title=str(QT_TRANSLATE_NOOP("Templates", "Run a script")),
        sentence=str(QT_TRANSLATE_NOOP("Templates", "Run your own script or program every hour.")),
        icon="terminal",
        spec=JobSpec(
            name="Run my script",
            schedule=Every("1h"),
            action=Command(line="sh ~/my-script.sh", shell="/bin/sh"),  # noqa: S604 - the user sees the line
        ),
    ),
    "website": Template(
        title=str(QT_TRANSLATE_NOOP("Templates", "Check a website")),
        sentence=str(QT_TRANSLATE_NOOP("Templates", "Check every 15 minutes that a page responds.")),
        icon="globe",
        spec=JobSpec(
            name="Check my website", schedule=Every("15m"), action=HttpRequest(url="https://example.com/")
        ),
    ),
    "reminder": Template(
        title=str(QT_TRANSLATE_NOOP("Templates", "Remind me")),
        sentence=str(
            QT_TRANSLATE_NOOP("Templates", "A notification on weekdays at ten: stand up and stretch.")
        ),
        icon="bell",
        spec=JobSpec(
            name="Stand up and stretch",
            schedule=Cron("0 10 * * 1-5"),
            action=Command(argv=("echo", "Time to stand up and stretch.")),
            policy=Policy(notify=Notify.ALL),
        ),
    ),
    "agent": Template(
        title=str(QT_TRANSLATE_NOOP("Templates", "Ask an agent every morning")),
        sentence=str(QT_TRANSLATE_NOOP("Templates", "An AI agent reads your notes and sums up your day.")),
        icon="prompt",
        spec=JobSpec(
            name="What is on today",
            schedule=Cron("0 8 * * 1-5"),
            action=Prompt(
                text="Today is {{date}}. Read the notes in this folder and tell me in five lines at most "
                "what is open for today.\n\nThis is what you said last time:\n{{last.output}}",
                directory="~",
            ),
            policy=Policy(notify=Notify.ALL, caps=Caps(runs_per_day=5)),
        ),
    ),
    "tasks": Template(
        title=str(QT_TRANSLATE_NOOP("Templates", "Work through a folder")),
        sentence=str(
            QT_TRANSLATE_NOOP("Templates", "An AI agent works through a folder of tasks, one per run.")
        ),
        icon="folder",
        spec=JobSpec(
            name="Work through my tasks",
            schedule=Every("10m"),
            action=Prompt(
                text="Do the following task. If something about it is unclear, print one line that begins "
                "with ::needs-input and your question, and stop.",
                directory="~",
                work_source=FolderSource(path="~/Tasks"),
            ),
            policy=Policy(notify=Notify.SETTINGS, caps=Caps(runs_per_day=20)),
        ),
    ),
}
