"""Job templates for the first start."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QT_TRANSLATE_NOOP

from halo_scheduler.model import (
    Backoff,
    Caps,
    Command,
    Cron,
    Every,
    HttpRequest,
    JobSpec,
    Notify,
    Policy,
    Prompt,
    Reminder,
)
from halo_scheduler.model.actions import FolderSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A prefilled job; title and sentence are translated in the context Templates."""

    title: str
    sentence: str
    icon: str
    spec: JobSpec


UNTYPED_URL = "https://site.invalid/"
"""A placeholder for a URL that the user still has to enter; the form shows an empty field."""
# The folder to back up is the working directory, which can be chosen in the form.
_BACKUP = (
    'keep=7; name=$(basename "$PWD"); mkdir -p ~/Backups && '
    'tar -czf ~/Backups/"$name-$(date +%F).tar.gz" -C .. "$name" && '
    'ls -1 ~/Backups/"$name"-????-??-??.tar.gz | sort -r | tail -n +$((keep + 1)) | '
    'while read -r old; do rm -- "$old"; done'
)

TEMPLATES: dict[str, Template] = {
    "backup": Template(
        title=str(QT_TRANSLATE_NOOP("Templates", "Back up a folder")),
        sentence=str(
            QT_TRANSLATE_NOOP(
                "Templates", "Pack a folder into a dated archive every evening and keep the last seven."
            )
        ),
        icon="backup",
        spec=JobSpec(
            name="Back up my documents",
            schedule=Cron("0 18 * * *"),
            action=Command(  # noqa: S604 - the user sees the line
                line=_BACKUP,
                shell="/bin/sh",
                directory="~/Documents",
            ),
            policy=Policy(notify=Notify.SETTINGS),
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
            policy=Policy(notify=Notify.SETTINGS),
        ),
    ),
    "website": Template(
        title=str(QT_TRANSLATE_NOOP("Templates", "Check a website")),
        sentence=str(QT_TRANSLATE_NOOP("Templates", "Check every 15 minutes that a page responds.")),
        icon="globe",
        spec=JobSpec(
            name="Check my website",
            schedule=Every("15m"),
            action=HttpRequest(url=UNTYPED_URL),
            # Never disabled or delayed: it keeps checking while the site is down, and reports the recovery.
            policy=Policy(time_limit="30s", max_errors=0, backoff=Backoff.none(), notify=Notify.FAILURES),
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
            action=Reminder(title="Time to stand up and stretch"),
            policy=Policy(time_limit="1m", notify=Notify.SETTINGS),
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
