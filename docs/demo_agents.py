"""The jobs of the demonstration that give prompts to agents: their items, what they cost, what they ask."""

from __future__ import annotations

from random import Random

from demo_jobs import Ending, Story, Task

from halo_scheduler.model import After, Caps, Command, Cron, JobSpec, Outcome, Policy, Prompt
from halo_scheduler.model.actions import FolderSource, GithubSource

_TRACKER = "https://git.example.com"
_ISSUES = (
    ("479", "Prices show no thousands separator"),
    ("480", "Search finds “boot” but not “boots”"),
    ("481", "Order mail is sent twice after a reload"),
    ("483", "Basket forgets gift wrapping"),
    ("484", "Half cents are rounded the wrong way"),
    ("482", "Shop forgets the chosen language"),
)
_LETTERS = (
    "Where is my invoice",
    "Wrong size, can I send it back",
    "Delivery to the neighbour",
    "Voucher is refused",
    "Please change my address",
)
_QUESTION = (
    "Issue 482 can be solved in two ways: shall the language follow the account, or the browser? "
    "With the account, guests keep English."
)


def _triage(rng: Random, outcome: Outcome) -> str:
    if outcome is Outcome.SKIPPED:
        return ""
    if outcome is not Outcome.SUCCESS:
        return "Reading the issue …\nThe tests do not pass on main, so I changed nothing.\n::cost 0.09\n"
    return (
        "Read the issue and the code it is about.\n"
        f"Reproduced it with {rng.randrange(1, 4)} new tests, which fail as described.\n"
        "Wrote a comment with the cause and a proposal, and set the labels.\n"
    )


def _support(rng: Random, outcome: Outcome) -> str:
    if outcome is Outcome.SKIPPED:
        return ""
    return f"Wrote a draft of {rng.randrange(60, 180)} words; it is in drafts/, nothing was sent.\n"


def _summary(rng: Random, _outcome: Outcome) -> str:
    issues, threads, releases = rng.randrange(2, 19), rng.randrange(1, 9), rng.randrange(3)
    return f"{issues} issues, {threads} threads, {releases} releases\nThe summary is in weekly.md.\n"


AGENT_STORIES: tuple[Story, ...] = (
    Story(
        spec=JobSpec(
            name="Triage new issues",
            group="Work",
            schedule=Cron("0 9,11,13,15 * * 1-5"),
            action=Prompt(
                text=(
                    "You help the team of the shop. Today is {{date}}.\n\n"
                    "Find the cause of issue {{work.id}}, “{{work.title}}”. Write tests that show it, and a "
                    "comment with a proposal. Do not push anything.\n\n"
                    "If there is something to decide, print a line ::needs-input with your question."
                ),
                agent="claude",
                directory="/home/kim/src/shop",
                work_source=GithubSource(
                    repository="kim/shop",
                    token="GIT_TOKEN",  # noqa: S106 - the name of one
                    base_url=f"{_TRACKER}/api/v3",
                ),
            ),
            policy=Policy(time_limit="45m", caps=Caps(runs_per_day=12, cost_per_day=5)),
        ),
        took_s=(140, 560),
        prints=_triage,
        odds={Outcome.SKIPPED: 0.12, Outcome.FAILURE: 0.06},
        costs=(0.18, 0.92),
        tasks=tuple(Task(number, title, f"{_TRACKER}/kim/shop/issues/{number}") for number, title in _ISSUES),
        question=_QUESTION,
        days=21,
    ),
    Story(
        spec=JobSpec(
            name="Draft replies to customers",
            group="Work",
            schedule=Cron("0 9-15 * * *"),
            action=Prompt(
                text="Draft a friendly reply to the letter below, in its language. Promise nothing.",
                directory="/home/kim/support",
                work_source=FolderSource(path="/home/kim/support/letters"),
            ),
            policy=Policy(time_limit="10m", caps=Caps(runs_per_day=4)),
        ),
        took_s=(20, 75),
        prints=_support,
        odds={Outcome.SKIPPED: 0.12},
        costs=(0.02, 0.08),
        tasks=tuple(
            Task(f"{title.lower().replace(' ', '-').replace(',', '')}.md", title, "") for title in _LETTERS
        ),
        days=9,
    ),
    Story(
        spec=JobSpec(
            name="Collect issues, mailing list threads and release notes for the weekly summary of the whole team",
            group="Work",
            schedule=After("2h"),
            action=Prompt(
                text="Go on with the weekly summary. Last time you said:\n{{last.output}}",
                directory="/home/kim/notes",
            ),
        ),
        took_s=(20, 70),
        prints=_summary,
        costs=(0.03, 0.11),
        question="Two threads name different days for the next release: 6 and 9 October. Which one shall I write?",
        days=14,
    ),
    Story(
        spec=JobSpec(
            name="Rename scanned letters",
            group="Home",
            schedule=Cron("0 22 * * *"),
            action=Command(argv=("python3", "/home/kim/bin/rename_scans.py", "/home/kim/Scans")),
            description="Names each scan after its date and sender.",
        ),
        took_s=(4, 9),
        prints=lambda _rng, _outcome: "",
        days=0.1,
        ending=Ending.BY_ASSISTANT,
    ),
)
