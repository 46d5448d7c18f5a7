"""Systemd timers with their services."""

from __future__ import annotations

import re

import pytest
from timing import at_most_ms

from halo_scheduler.errors import ScheduleError
from halo_scheduler.model import (
    After,
    Backoff,
    CatchUp,
    Command,
    Cron,
    Every,
    JobSpec,
    MainsPower,
    OnSession,
    PathExists,
    Policy,
    SessionEvent,
)
from halo_scheduler.transfer.drafts import Drafts
from halo_scheduler.transfer.job_files import read_jobs
from halo_scheduler.transfer.text_file import FileError
from halo_scheduler.transfer.timer_reading import Machine
from halo_scheduler.transfer.unit_file import split_words
from halo_scheduler.wording.schedules import describe

_TIMER = "[Unit]\nDescription=Nightly backup\n[Timer]\nOnCalendar=*-*-* 02:30\nPersistent=true\n"
_SERVICE = "[Service]\nType=oneshot\nExecStart=/usr/bin/rsync -a %h /mnt/backup\n"
_HOME = Machine(home="/home/me", user="me")


def _read(timer: str, service: str | None = _SERVICE, name: str = "backup.timer") -> Drafts:
    units = {} if service is None else {"backup.service": service.encode()}
    return read_jobs(timer.encode(), name, find_beside=units.get, machine=_HOME)


def _spec(drafts: Drafts) -> JobSpec:
    assert drafts.faults == ()
    (draft,) = drafts.jobs
    return draft.spec


def _action(service: str) -> Command:
    action = _spec(_read(_TIMER, f"[Service]\n{service}")).action
    assert isinstance(action, Command)
    return action


def test_an_error_of_one_of_several_times_is_reported_at_its_line() -> None:
    times = "[Timer]\nOnStartupSec=5min\nOnCalendar=09:00\nOnCalendar=09:00\nOnCalendar=10:00\n"
    (draft,) = _read(times).jobs
    assert [describe(entry.schedule) for entry in draft.spec.schedules] == [
        "at 09:00 every day",
        "at 10:00 every day",
        "5 minutes after login",
    ]
    lines = [
        draft.fault(ScheduleError("is wrong", path=path)).line
        for path in ("schedules[0].cron", "schedules[1]", "schedules[2]", "policy")
    ]
    assert lines == [3, 5, 2, 3]


def test_a_timer_becomes_a_job() -> None:
    assert _spec(_read(_TIMER)) == JobSpec(
        name="backup",
        description="Nightly backup",
        schedule=Cron("30 2 * * *"),
        action=Command(argv=("/usr/bin/rsync", "-a", "/home/me", "/mnt/backup")),
        policy=Policy(time_limit=None, max_errors=0, backoff=Backoff.none(), catch_up=CatchUp.ONCE),
    )


def test_a_timer_is_recognised_by_its_content() -> None:
    drafts = read_jobs(_TIMER.encode())
    assert [str(fault) for fault in drafts.faults] == [
        "timer.service, which it starts, is missing; put both into one folder"
    ]


def test_a_timer_that_is_not_persistent_does_not_catch_up() -> None:
    assert _spec(_read(_TIMER.replace("true", "false"))).policy.catch_up is CatchUp.SKIP


@pytest.mark.parametrize(
    ("setting", "schedule"),
    [
        ("OnUnitActiveSec=15min", Every("15m")),
        ("OnUnitActiveSec=1h 30min", Every("90m")),
        ("OnUnitInactiveSec=5", After("5s")),
        ("OnCalendar=Mon..Fri 9:00 Europe/Berlin", Cron("0 9 * * 1,2,3,4,5", "Europe/Berlin")),
        ("OnCalendar=daily\nOnCalendar=\nOnCalendar=weekly", Cron("0 0 * * 1")),
    ],
)
def test_times_and_intervals_become_schedules(setting: str, schedule: object) -> None:
    assert _spec(_read(f"[Timer]\n{setting}\n")).schedule == schedule


def test_all_times_of_a_timer_are_one_job() -> None:
    text = "[Timer]\nOnCalendar=daily\nOnCalendar=weekly\nOnCalendar=daily\nOnUnitActiveSec=1h\n"
    drafts = _read(f"{text}RandomizedDelaySec=1h\n")
    (draft,) = drafts.jobs
    assert (draft.spec.name, draft.line) == ("backup", 2)
    assert [describe(entry.schedule) for entry in draft.spec.schedules] == [
        "at 00:00 every day",
        "at 00:00 on Mondays",
        "every hour",
    ]
    assert draft.spec.policy.jitter == "1h"


def test_triggers_without_a_time_are_skipped_with_their_line() -> None:
    drafts = _read("[Timer]\nOnActiveSec=5min\nOnUnitActiveSec=1h\nWakeSystem=true\nAccuracySec=1us\n")
    assert [(one.line, one.what) for one in drafts.left_out] == [
        (2, "OnActiveSec=5min"),
        (4, "WakeSystem=true"),
    ]
    only = _read("[Timer]\nOnActiveSec=5min\n")
    assert [one.what for one in only.left_out] == ["OnActiveSec=5min", "backup.timer"]
    assert (only.jobs, only.faults) == ((), ())


@pytest.mark.parametrize(
    ("setting", "event"),
    [
        ("OnBootSec=5min", OnSession(SessionEvent.BOOT, "5m")),
        ("OnBootSec=0", OnSession(SessionEvent.BOOT)),
        ("OnStartupSec=1500ms", OnSession(SessionEvent.LOGIN, "2s")),
    ],
)
def test_the_start_of_the_computer_and_of_the_session_are_events(setting: str, event: OnSession) -> None:
    (draft,) = _read(f"[Timer]\n{setting}\n").jobs
    assert draft.spec.schedule == event


def test_events_are_combined_with_the_times_of_a_timer() -> None:
    (draft,) = _read("[Timer]\nOnBootSec=15min\nOnUnitActiveSec=1d\n").jobs
    assert describe(draft.spec.schedule) == "every day; 15 minutes after boot"


def test_events_that_cron_cannot_express_are_errors_with_their_line() -> None:
    drafts = _read("[Timer]\nOnCalendar=daily\nOnCalendar=Fri *-*-13\nOnUnitActiveSec=1 fortnight\n")
    assert [fault.line for fault in drafts.faults] == [3, 4]
    assert [draft.spec.schedule for draft in drafts.jobs] == [Cron("0 0 * * *")]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("RandomizedDelaySec=1h", Policy(jitter="1h")),
        ("RandomizedDelaySec=90", Policy(jitter="90s")),
        ("RandomizedDelaySec=1h 30min\nFixedRandomDelay=true", Policy(jitter="90m", is_jitter_fixed=True)),
        ("RandomizedDelaySec=200ms\nFixedRandomDelay=false", Policy(jitter="1s")),
        ("RandomizedDelaySec=0", Policy()),
        ("RandomizedDelaySec=", Policy()),
    ],
)
def test_a_random_delay_is_kept(settings: str, expected: Policy) -> None:
    drafts = _read(f"[Timer]\nOnCalendar=daily\n{settings}\n")
    found = _spec(drafts).policy
    assert (found.jitter, found.is_jitter_fixed) == (expected.jitter, expected.is_jitter_fixed)
    assert (found.jitter_percent, drafts.jobs[0].notes) == (0, ())


def test_the_service_may_have_another_name() -> None:
    found: list[str] = []

    def find(name: str) -> bytes | None:
        found.append(name)
        return _SERVICE.encode() if name == "other@.service" else None

    timer = b"[Timer]\nOnCalendar=daily\nUnit=other@x.service\n"
    assert len(read_jobs(timer, "backup.timer", find_beside=find).jobs) == 1
    assert found == ["other@x.service", "other@.service"]


def test_names_are_those_of_the_service() -> None:
    service = b"[Service]\nExecStart=/bin/dump %i %I %p %n %N\n"
    timer = b"[Timer]\nOnCalendar=daily\nUnit=other@my-home\\x2ddir.service\n"
    drafts = read_jobs(timer, "backup.timer", find_beside={"other@.service": service}.get)
    unit = "other@my-home\\x2ddir"
    assert _spec(drafts).action == Command(
        argv=("/bin/dump", "my-home\\x2ddir", "my/home-dir", "other", f"{unit}.service", unit)
    )


def test_without_an_instance_its_name_is_empty() -> None:
    assert _action("ExecStart=/bin/dump a%i %I").argv == ("/bin/dump", "a", "")


def test_an_instance_of_a_template_knows_its_name() -> None:
    service = b"[Service]\nExecStart=/bin/dump %i %p %N %%\n"
    drafts = read_jobs(
        b"[Timer]\nOnCalendar=daily\n", "dump@shop.timer", find_beside={"dump@.service": service}.get
    )
    assert _spec(drafts).action == Command(argv=("/bin/dump", "shop", "dump", "dump@shop", "%"))


@pytest.mark.parametrize(
    ("service", "message"),
    [
        (None, "backup.service, which it starts, is missing"),
        ("[Service]\n", "its service: its service has no ExecStart"),
        ("[Service]\nExecStart=/bin/x %H\n", "its service: only systemd knows the value of %H"),
        ('[Service]\nExecStart=/bin/x "open\n', "its service: a quote is not closed in"),
        ("[Service]\nExecStart=-\n", "its service: there is nothing to run"),
        ("nonsense", "backup.service: line 1: this is not a unit file line"),
        ("[Service]\nExecStart=/x\nTimeoutStartSec=soon\n", "its service: the time span 'soon'"),
    ],
)
def test_a_service_that_cannot_be_run_is_a_fault(service: str | None, message: str) -> None:
    drafts = _read(_TIMER, service)
    assert drafts.jobs == ()
    assert re.match(re.escape(message), drafts.faults[0].message)


@pytest.mark.parametrize(
    ("service", "argv"),
    [
        ("ExecStart=/bin/a 'b c' \"d e\" f\\ g", ("/bin/a", "b c", "d e", "f g")),
        ("ExecStart=/bin/a \\\n  --long \\\n  x", ("/bin/a", "--long", "x")),
        ("ExecStart=@/bin/a other-name x", ("/bin/a", "x")),
        ("ExecStart=:/bin/a $HOME", ("/bin/a", "$HOME")),
        ("ExecStart=/old\nExecStart=\nExecStart=/new", ("/new",)),
        ('ExecStart=/bin/a "" \\x41\\n', ("/bin/a", "", "A\n")),
    ],
)
def test_words_are_split_as_systemd_splits_them(service: str, argv: tuple[str, ...]) -> None:
    assert _action(service).argv == argv


@pytest.mark.parametrize(
    ("service", "line"),
    [
        ("ExecStart=/bin/a $ARGS ${ONE}.txt 'b c'", """/bin/a $ARGS "${ONE}".txt 'b c'"""),
        ("ExecStart=/bin/a $$HOME x$Y", """/bin/a '$'HOME x'$Y'"""),
        ("ExecStart=-/bin/a b", "{ /bin/a b || true; }"),
        (
            "ExecStartPre=/bin/a\nExecStart=/bin/b\nExecStartPost=-/bin/c",
            "/bin/a && /bin/b && { /bin/c || true; }",
        ),
        ("ExecStart=/bin/a 'x;' ; -/bin/b \\; y ;", "/bin/a 'x;' && { /bin/b ';' y || true; }"),
    ],
)
def test_a_command_that_needs_a_shell_gets_one(service: str, line: str) -> None:
    action = _action(service)
    assert (action.line, action.shell) == (line, "/bin/sh")


def test_the_surroundings_of_a_service_are_kept() -> None:
    drafts = _read(
        f"{_TIMER}[Unit]\nConditionACPower=true\n",
        "[Unit]\nConditionPathExists=/mnt/backup\nConditionPathExists=!/mnt/not\nConditionACPower=yes\n"
        "[Service]\nExecStart=/bin/a\nWorkingDirectory=-%h/x\nEnvironment=A=1 'B=two words'\nEnvironment=C=%u\n"
        "SuccessExitStatus=3 SIGTERM\nTimeoutStartSec=10min\nUser=root\nNice=19\n",
    )
    spec = _spec(drafts)
    assert spec.action == Command(
        argv=("/bin/a",),
        directory="/home/me/x",
        environment={"A": "1", "B": "two words", "C": "me"},
        success_codes=(0, 3),
    )
    assert spec.policy.conditions == (MainsPower(), PathExists(path="/mnt/backup"))
    assert spec.policy.time_limit == "10m"
    assert drafts.jobs[0].notes == ("not kept of its service: User=root; Nice=19",)


def test_home_is_where_a_job_is_at_home() -> None:
    assert _action("ExecStart=/bin/a\nWorkingDirectory=~\nTimeoutStartSec=infinity").directory is None


@pytest.mark.parametrize(
    ("content", "name", "refusal"),
    [
        (b"[Timer]\nOnCalendar\n", "a.timer", "line 2: this is not a unit file line"),
        (b"OnCalendar=daily\n", "a.timer", "line 1: this is not a unit file line"),
        (b"[Service]\nExecStart=x\n", "a.service", "import its .timer file instead"),
        (b"[Timer]\n\0", "a.timer", "line 2: the file is not text"),
        (b"[Timer]\nOnCalendar=daily\n", "a@.timer", "this is a timer template"),
    ],
)
def test_files_that_are_not_timers_are_refused(content: bytes, name: str, refusal: str) -> None:
    with pytest.raises(FileError, match=re.escape(refusal)):
        read_jobs(content, name)


@pytest.mark.parametrize(
    ("timer", "service", "refusal"),
    [
        ("OnCalendar=daily\n" * 101, _SERVICE, "line 102: it has more than 100 times; split it"),
        (
            "OnCalendar=daily " + "x" * 1_000_000,
            _SERVICE,
            "line 2: the line is longer than 1000000 characters",
        ),
        ("OnCalendar=\\\n" + "x\\\n" * 390_000 + "x" * 300_000, _SERVICE, "line 2: the line is longer"),
        (
            "".join(f"X{n}=1\n" for n in range(10_001)),
            _SERVICE,
            "line 10002: the unit has more than 10000 settings",
        ),
    ],
)
def test_a_timer_of_too_much_is_refused(timer: str, service: str, refusal: str) -> None:
    with pytest.raises(FileError, match=refusal):
        _read(f"[Timer]\n{timer}", service)


@pytest.mark.parametrize(
    ("timer", "service", "fault"),
    [
        ("OnUnitActiveSec=" + "1s " * 300_000, _SERVICE, "line 2: the time span .* is too long"),
        ("OnCalendar=daily", "ExecStart=/bin/a" + " ; b" * 200_000, "there are more than 10000 words in"),
        ("OnCalendar=daily", "ExecStart=/bin/a " + "$a" * 100_000, ""),
        ("OnCalendar=daily", f"ExecStart=/a\nSuccessExitStatus={'9' * 5_000}", ""),
        (
            "OnCalendar=daily",
            "ExecStart=/a\nEnvironment=" + " ".join(f"A{number}=b" for number in range(1_001)),
            "it sets more than 1000 variables",
        ),
    ],
    ids=range(5),
)
def test_malicious_files_are_handled_within_a_second(timer: str, service: str, fault: str) -> None:
    # A second, where nobody counts the lines that are run.
    with at_most_ms(5_000):
        drafts = _read(f"[Timer]\n{timer}\n", f"[Service]\n{service}\n")
    assert re.search(fault, "".join(map(str, drafts.faults)))
    assert len(drafts.faults) == bool(fault)


def test_an_error_does_not_repeat_a_very_long_text() -> None:
    for drafts in (
        _read(f"[Timer]\nOnCalendar={'*' * 100_000}\n"),
        _read(f"[Timer]\nOnCalendar={'Mon,' * 100_000}Tue\n"),
        _read(_TIMER, f"[Service]\nExecStart=/bin/a {'x' * 100_000}'\n"),
    ):
        assert len(drafts.faults[0].message) < 300


def test_timers_that_run_too_often_are_reported() -> None:
    (draft,) = _read("[Timer]\nOnUnitActiveSec=500ms\n").jobs
    assert draft.notes == ("OnUnitActiveSec=500ms becomes every 10 seconds: the shortest interval",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("  a  b ", ["a", "b"]),
        ("a'b'c", ["abc"]),
        ('"a\'b"', ["a'b"]),
        ("a\\", ["a\\"]),
        ("\\xzz", ["xzz"]),
    ],
)
def test_odd_words(text: str, words: list[str]) -> None:
    assert split_words(text) == words
