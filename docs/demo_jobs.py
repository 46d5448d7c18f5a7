"""The jobs of the demonstration: what somebody's machine does in a month, and what that prints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random

from halo_scheduler.grammar.interval import DAY_MS, MINUTE_MS
from halo_scheduler.model import (
    CatchUp,
    Command,
    Condition,
    Cron,
    Every,
    FollowOn,
    HttpRequest,
    JobSpec,
    Manual,
    Outcome,
    Policy,
    Proposal,
    Retry,
)

_GREEN, _RED, _YELLOW, _BLUE, _BOLD, _FAINT, _PLAIN = (
    f"\x1b[{code}m" for code in ("32", "31", "33", "34", "1", "2", "0")
)
Print = Callable[[Random, Outcome], str]


class Ending(StrEnum):
    """How a job is left at the moment of the picture."""

    READY = "ready"
    RUNNING = "running"
    WAITING = "waiting"
    PAUSED = "paused"
    BY_ASSISTANT = "by-assistant"


@dataclass(frozen=True, slots=True)
class Task:
    """An item that a run worked on."""

    id: str
    title: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A job and how its runs went."""

    spec: JobSpec
    took_s: tuple[float, float]
    prints: Print
    odds: Mapping[Outcome, float] = field(default_factory=dict)
    """Which share of the runs did not succeed."""
    broken_for_ms: int = 0
    """Since when nothing succeeds any more."""
    exit_code: int = 1
    http_status: int | None = None
    error: str = "exit code 1"
    days: float = 30
    ending: Ending = Ending.READY
    by_hand: tuple[float, ...] = ()
    """How many days ago it was run by hand."""
    costs: tuple[float, float] | None = None
    """What a run cost, at least and at most."""
    tasks: tuple[Task, ...] = ()
    """What its runs worked on, one after the other, the last one last."""
    question: str = ""
    """What its last run asked."""
    waits_for: tuple[Condition, ...] = ()
    """What it waits for at the moment of the picture, if that is not a place."""
    follows: str = ""
    """The name of the job after which it runs."""
    follows_on: FollowOn = FollowOn.SUCCESS
    proposes: Proposal | None = None
    """What its last run proposed."""


def _backup(rng: Random, outcome: Outcome) -> str:
    files, changed = rng.randrange(48_200, 48_900), rng.randrange(40, 900)
    lines = [
        f"{_BOLD}restic 0.17.3{_PLAIN} · repository {_BLUE}nas:/volume1/backup{_PLAIN} opened",
        "using parent snapshot 6b1fd20a",
        f"scan finished in {rng.uniform(2, 5):.3f}s: {files} files, 212.480 GiB",
        f"  {_GREEN}+{_PLAIN} ~/Documents/Taxes/2026/receipts-09.pdf",
        f"  {_GREEN}+{_PLAIN} ~/Photos/2026/09/IMG_{rng.randrange(4_000, 9_999)}.RAF",
        f"  {_YELLOW}~{_PLAIN} ~/Documents/budget.ods",
    ]
    if outcome is Outcome.SUCCESS:
        lines += [
            "",
            f"Files:       {changed:>5} new, {rng.randrange(3, 60):>4} changed, {files - changed} unmodified",
            f"Added to the repository: {rng.uniform(0.2, 3):.3f} GiB ({rng.uniform(0.1, 1):.3f} GiB stored)",
            "",
            f"{_GREEN}snapshot {rng.getrandbits(32):08x} saved{_PLAIN}",
        ]
    else:
        lines += ["", f"{_RED}Fatal: unable to open repository: connection lost{_PLAIN}"]
    return "\n".join(lines) + "\n"


def _dump(rng: Random, outcome: Outcome) -> str:
    if outcome is not Outcome.SUCCESS:
        return f"dumping shop_production …\n{_RED}pg_dump: error: connection to server lost{_PLAIN}\n"
    size = rng.uniform(310, 340)
    return (
        f"dumping shop_production … {size:.1f} MB\nencrypted, sent to offsite-1, {_GREEN}verified{_PLAIN}\n"
    )


def _prune(rng: Random, _outcome: Outcome) -> str:
    removed = rng.randrange(4, 12)
    return f"keep 7 daily, 5 weekly, 12 monthly\nremove {removed} snapshots\n[0:41] 100.00%  {_GREEN}done{_PLAIN}\n"


def _weather(rng: Random, _outcome: Outcome) -> str:
    degrees, wind = rng.uniform(9, 21), rng.randrange(3, 28)
    return (
        "HTTP 200 OK\ncontent-type: application/json\n\n"
        f'{{"place": "Leipzig", "temperature": {degrees:.1f}, "wind_kmh": {wind}, "sky": "light clouds"}}\n'
    )


def _water(rng: Random, _outcome: Outcome) -> str:
    return (
        f'HTTP 200 OK\ncontent-type: application/json\n\n{{"valve": 2, "seconds": {rng.randrange(40, 75)}}}\n'
    )


def _photos(rng: Random, outcome: Outcome) -> str:
    if outcome is Outcome.SKIPPED:
        return "nothing new on the phone\n"
    return f"{rng.randrange(3, 80)} new pictures\n{_GREEN}all copied{_PLAIN}, thumbnails made\n"


def _shop(_rng: Random, outcome: Outcome) -> str:
    if outcome is Outcome.SUCCESS:
        return "HTTP 200 OK\ncontent-type: text/html; charset=utf-8\n\n<!doctype html>…\n"
    return (
        "HTTP 503 Service Unavailable\ncontent-type: text/html\nretry-after: 120\n\n"
        "<h1>Back in a moment</h1>\n<p>The shop is being updated.</p>\n"
    )


def _build(rng: Random, outcome: Outcome) -> str:
    lines = [
        f"{_FAINT}$ git pull --ff-only{_PLAIN}",
        f"Updating {rng.getrandbits(28):07x}..{rng.getrandbits(28):07x}",
        f"{_FAINT}$ cargo build --release{_PLAIN}",
        *(
            f"{_BOLD}{_GREEN}   Compiling{_PLAIN} {crate}"
            for crate in ("serde v1.0.228", "tokio v1.48.0", "catalog v0.9.2", "checkout v2.4.0")
        ),
    ]
    if outcome is Outcome.SUCCESS:
        lines += [
            f"{_YELLOW}warning{_PLAIN}: unused variable: `retries`",
            f"{_BOLD}{_GREEN}    Finished{_PLAIN} `release` profile in 3m {rng.randrange(10, 59)}s",
            f"{_FAINT}$ cargo test{_PLAIN}",
            f"test result: {_GREEN}ok{_PLAIN}. {rng.randrange(810, 842)} passed; 0 failed; 4 ignored",
        ]
    elif outcome is Outcome.TIMEOUT:
        lines += [
            f"{_FAINT}$ cargo test{_PLAIN}",
            "test catalog::search::finds_plurals has been running for 60 s",
        ]
    else:
        lines += [
            f"{_FAINT}$ cargo test{_PLAIN}",
            f"test checkout::rounds_half_cents ... {_RED}FAILED{_PLAIN}",
            f"{_RED}{_BOLD}error{_PLAIN}: test failed, to rerun pass `-p checkout`",
        ]
    return "\n".join(lines) + "\n"


def _report(rng: Random, outcome: Outcome) -> str:
    if outcome is not Outcome.SUCCESS:
        return f"{_RED}mail: cannot reach smtp.example.org{_PLAIN}\n"
    return (
        f"orders yesterday   {rng.randrange(90, 240):>6}\n"
        f"revenue            {rng.randrange(4_000, 14_000):>6,} €\n"
        f"open tickets       {rng.randrange(3, 30):>6}\n"
        f"sent to 4 people, {_GREEN}done{_PLAIN}\n"
    )


def _invoices(rng: Random, outcome: Outcome) -> str:
    if outcome is Outcome.SUCCESS:
        return f"{rng.randrange(12, 60)} invoices exported\n"
    return (
        "exporting 31 invoices\n"
        "Traceback (most recent call last):\n"
        '  File "/opt/ledger/export.py", line 88, in send\n'
        "    reply.raise_for_status()\n"
        f"{_RED}PermissionError: the access token ended on 17 September{_PLAIN}\n"
    )


def _stretch(_rng: Random, _outcome: Outcome) -> str:
    return "Time to stand up and stretch.\n"


def _tokens(_rng: Random, _outcome: Outcome) -> str:
    return "3 tokens replaced, 3 services told\n"


STORIES: tuple[Story, ...] = (
    Story(
        spec=JobSpec(
            name="Back up documents",
            group="Backups",
            schedule=Cron("0 8,14,20 * * *"),
            action=Command(
                argv=("restic", "backup", "--tag", "daily", "/home/kim/Documents", "/home/kim/Photos")
            ),
            description="To the storage box in the cellar.",
            policy=Policy(time_limit="3h", retry=Retry(attempts=2, delay_ms=10 * MINUTE_MS)),
        ),
        took_s=(210, 620),
        prints=_backup,
        odds={Outcome.FAILURE: 0.05, Outcome.CANCELLED: 0.02},
        error="exit code 1",
        ending=Ending.RUNNING,
    ),
    Story(
        spec=JobSpec(
            name="Copy database off site",
            group="Backups",
            schedule=Cron("1 2,14 * * *"),
            action=Command(  # noqa: S604 - a job's line for a shell
                line="pg_dump shop | age -r offsite | ssh offsite-1 'cat > shop.age'", shell="/bin/sh"
            ),
        ),
        took_s=(95, 160),
        prints=_dump,
        odds={Outcome.FAILURE: 0.04},
        ending=Ending.WAITING,
    ),
    Story(
        spec=JobSpec(
            name="Prune old snapshots",
            group="Backups",
            schedule=Cron("30 3 * * 0"),
            action=Command(argv=("restic", "forget", "--prune", "--keep-daily", "7", "--keep-weekly", "5")),
        ),
        took_s=(41, 180),
        prints=_prune,
    ),
    Story(
        spec=JobSpec(
            name="Hallway weather",
            group="Home",
            schedule=Every("30m"),
            action=HttpRequest(url="https://api.weather.example/v1/leipzig"),
            policy=Policy(catch_up=CatchUp.SKIP),
        ),
        took_s=(0.2, 0.9),
        prints=_weather,
        odds={Outcome.FAILURE: 0.02, Outcome.TIMEOUT: 0.005},
        http_status=502,
        error="api.weather.example answered 502 Bad Gateway; expected 2xx",
    ),
    Story(
        spec=JobSpec(
            name="Water the balcony",
            group="Home",
            schedule=Cron("0 7,19 * * *"),
            action=HttpRequest(url="http://garden.local/valve/2/open", method="POST"),
        ),
        took_s=(0.4, 1.2),
        prints=_water,
        odds={Outcome.FAILURE: 0.06},
        error="garden.local refused the connection",
    ),
    Story(
        spec=JobSpec(
            name="Import phone photos",
            group="Home",
            schedule=Every("3h"),
            action=Command(argv=("photo-import", "--from", "phone"), no_work_code=4),
        ),
        took_s=(8, 95),
        prints=_photos,
        odds={Outcome.SKIPPED: 0.45, Outcome.FAILURE: 0.03},
        ending=Ending.PAUSED,
    ),
    Story(
        spec=JobSpec(
            name="Check the shop",
            group="Work",
            schedule=Cron("*/10 8-20 * * 1-5"),
            action=HttpRequest(url="https://shop.example.com/health"),
        ),
        took_s=(0.08, 0.4),
        prints=_shop,
        odds={Outcome.FAILURE: 0.004},
        broken_for_ms=35 * MINUTE_MS,
        http_status=503,
        error="shop.example.com answered 503 Service Unavailable; expected 2xx",
    ),
    Story(
        spec=JobSpec(
            name="Build and test main",
            group="Work",
            schedule=Cron("30 1,13 * * 1-6"),
            action=Command(  # noqa: S604 - a job's line for a shell
                line="git pull --ff-only && cargo build --release && cargo test",
                shell="/bin/sh",
                directory="/home/kim/src/shop",
            ),
            policy=Policy(time_limit="20m"),
        ),
        took_s=(205, 420),
        prints=_build,
        odds={Outcome.FAILURE: 0.14, Outcome.TIMEOUT: 0.05},
        exit_code=101,
        error="exit code 101",
    ),
    Story(
        spec=JobSpec(
            name="Morning report",
            group="Work",
            schedule=Cron("45 8 * * 1-5"),
            action=Command(argv=("python3", "/home/kim/bin/report.py", "--mail", "team")),
        ),
        took_s=(6, 14),
        prints=_report,
        odds={Outcome.FAILURE: 0.05},
        by_hand=(1.9, 6.2),
    ),
    Story(
        spec=JobSpec(
            name="Export invoices",
            group="Work",
            schedule=Cron("0 6 * * *"),
            action=Command(argv=("python3", "/opt/ledger/export.py")),
            policy=Policy(max_errors=5),
        ),
        took_s=(3, 9),
        prints=_invoices,
        broken_for_ms=5 * DAY_MS - 60 * MINUTE_MS,
    ),
    Story(
        spec=JobSpec(
            name="Stand up and stretch",
            schedule=Cron("30 10,15 * * 1-5"),
            action=Command(argv=("echo", "Time to stand up and stretch.")),
        ),
        took_s=(0.02, 0.05),
        prints=_stretch,
    ),
    Story(
        spec=JobSpec(
            name="Replace tokens",
            group="System",
            schedule=Manual(),
            action=Command(argv=("rotate-tokens", "--all")),
        ),
        took_s=(5, 9),
        prints=_tokens,
        by_hand=(24.1, 3.05),
    ),
)
