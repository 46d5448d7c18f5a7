"""The jobs of the demonstration that adapt: to power and network, to each other, to how much there is to do."""

from __future__ import annotations

from random import Random

from demo_jobs import Ending, Story

from halo_scheduler.grammar.interval import HOUR_MS, MINUTE_MS
from halo_scheduler.model import (
    Command,
    Cron,
    Every,
    FollowOn,
    HttpRequest,
    JobSpec,
    MainsPower,
    Manual,
    Network,
    Outcome,
    Policy,
    Proposal,
)
from halo_scheduler.model.settings import QuietTime, Weekday

QUIET_TIMES = (
    QuietTime(name="Nights", group="Home", start="22:00", end="06:30"),
    QuietTime(name="Stand-up meeting", group="Work", days=tuple(Weekday)[:5], start="09:30", end="09:50"),
)


def _copy(rng: Random, outcome: Outcome) -> str:
    if outcome is not Outcome.SUCCESS:
        return "connecting to nas.local …\nrsync: connection unexpectedly closed\n"
    return (
        f"connecting to nas.local …\n{rng.randrange(4, 120)} pictures copied, {rng.uniform(0.1, 2):.1f} GB\n"
    )


def _verify(rng: Random, outcome: Outcome) -> str:
    if outcome is not Outcome.SUCCESS:
        return "reading the newest snapshot …\nError: pack 3f1c09ae is damaged\n"
    return f"reading the newest snapshot …\n{rng.randrange(48_200, 48_900)} files read back, no errors were found\n"


def _sort(rng: Random, _outcome: Outcome) -> str:
    return f"{rng.randrange(3, 40)} mails sorted, {rng.randrange(0, 6)} left for you\n"


SURROUNDED_STORIES: tuple[Story, ...] = (
    Story(
        spec=JobSpec(
            name="Copy photos to the NAS",
            group="Home",
            schedule=Cron("0 8,14,20 * * *"),
            action=Command(argv=("rsync", "-a", "/home/kim/Photos/", "nas.local:/volume1/photos/")),
            policy=Policy(
                conditions=(MainsPower(), Network(host="nas.local", port=22)),
                condition_deadline="3h",
                keep_awake=True,
            ),
        ),
        took_s=(20, 190),
        prints=_copy,
        odds={Outcome.FAILURE: 0.03},
        ending=Ending.WAITING,
        waits_for=(MainsPower(),),
        days=24,
    ),
    Story(
        spec=JobSpec(
            name="Verify the backup",
            group="Backups",
            schedule=Manual(),
            action=Command(argv=("restic", "check", "--read-data-subset=2%")),
        ),
        took_s=(30, 80),
        prints=_verify,
        odds={Outcome.FAILURE: 0.02},
        follows="Back up documents",
        days=24,
    ),
    Story(
        spec=JobSpec(
            name="Text me that the backup failed",
            group="Backups",
            schedule=Manual(),
            action=HttpRequest(url="https://messages.example/send", method="POST"),
        ),
        took_s=(0.2, 0.6),
        prints=lambda _rng, _outcome: "HTTP 202 Accepted\n",
        http_status=503,
        follows="Back up documents",
        follows_on=FollowOn.FAILURE,
        days=24,
    ),
    Story(
        spec=JobSpec(
            name="Sort incoming mail",
            group="Work",
            schedule=Every("1h"),
            action=Command(argv=("python3", "/home/kim/bin/sort_mail.py")),
            policy=Policy(reads_lines=True),
        ),
        took_s=(4, 22),
        prints=_sort,
        proposes=Proposal(every_ms=5 * MINUTE_MS, ttl_ms=HOUR_MS, reason="311 mails are waiting"),
        days=18,
    ),
)
