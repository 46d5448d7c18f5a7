"""Files that hold jobs: what is written is read back, what is wrong is told with its place."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spec_strategies import LABELS, QUIET_TIMES, job_files
from timing import at_most_ms

from halo_scheduler.errors import ScheduleError
from halo_scheduler.model import (
    Command,
    Cron,
    Entry,
    Every,
    Follower,
    FollowOn,
    JobSpec,
    Manual,
    Once,
    OnChat,
    OnWebhook,
    Policy,
    Retry,
)
from halo_scheduler.model.calendars import Calendar, Shift
from halo_scheduler.model.schedules import Overlap, combine
from halo_scheduler.model.settings import QuietTime
from halo_scheduler.transfer.document import (
    Document,
    read_document,
    read_job,
    write_document,
    write_document_as_json,
    write_job,
)
from halo_scheduler.transfer.drafts import Draft, Drafts, NamedFollower
from halo_scheduler.transfer.job_form import spec_of
from halo_scheduler.transfer.text_file import FileError


def _specs(drafts: Drafts) -> dict[str, JobSpec]:
    """Return what was read as it would be stored."""
    assert drafts.faults == ()
    ids = {draft.spec.name: draft.job_id or "" for draft in drafts.jobs}
    return {draft.job_id or "": spec_of(draft, ids, anchor_at=0) for draft in drafts.jobs}


def _as_kept(spec: JobSpec) -> JobSpec:
    """Return a job with all that a file keeps: where it would count from if it had an interval is not."""
    has_anchor = any(isinstance(one.schedule, Every) and one.anchor_at is None for one in spec.schedules)
    return spec if has_anchor else replace(spec, anchor_at=0)


@settings(max_examples=40)
@given(job_files(), st.lists(QUIET_TIMES, max_size=3), st.dictionaries(LABELS, st.integers(1, 9), max_size=2))
def test_a_file_is_read_back_without_loss(
    jobs: dict[str, JobSpec], quiet_times: list[QuietTime], limits: dict[str, int]
) -> None:
    document = Document(jobs=jobs, quiet_times=tuple(quiet_times), group_limits=limits)
    for drafts in (
        read_document(write_document(document).encode()),
        read_document(write_document_as_json(document).encode(), is_json=True),
    ):
        assert _specs(drafts) == {job_id: _as_kept(spec) for job_id, spec in jobs.items()}
        assert drafts.quiet_times == (tuple(quiet_times) or None)
        assert drafts.group_limits == limits


def test_who_may_write_is_read_and_written_beside_the_days_of_other_schedules() -> None:
    both = combine([OnChat("family/direct", ("12", "@anna")), Entry(Every("1h"), from_date="2027-01-01")])
    for schedule in (OnChat("family/-5", ("12",)), OnChat("family/direct"), both):
        spec = JobSpec(name="job", schedule=schedule, anchor_at=0)
        document = write_document(Document(jobs={"1": spec}))
        assert "from_" not in document
        assert _specs(read_document(document.encode()))["1"].schedule == schedule
    drafts = read_document(
        b"version: 2\njobs:\n  - {name: job, schedule: {kind: chat, channel: a/1, from: [12]}, "
        b"action: {kind: command, argv: [x]}}\n"
    )
    assert drafts.jobs[0].spec.schedule == OnChat("a/1", ("12",))


_BACKUP = b"""\
version: 1
jobs:
  - name: backup
    schedule:
      cron: 30 2 * * *
    action:
      kind: command
      argv: [rsync, -p, 22, yes, 1.10]
      environment: {PORT: 8080, DEBUG: yes, EMPTY: , VERSION: 1.10}
    policy:
      keep_awake: yes
      retry: {attempts: 2, delay: 90s}
      time_limit:
    followers: [report]
  - name: report
    schedule: manual
    action: {kind: command, line: make report, shell: /bin/sh}
"""


def test_words_without_quotes_have_the_type_of_their_field() -> None:
    backup, report = _read(_BACKUP)
    action = backup.spec.action
    assert isinstance(action, Command)
    assert action.argv == ("rsync", "-p", "22", "yes", "1.10")
    assert action.environment == {"PORT": "8080", "DEBUG": "yes", "EMPTY": "", "VERSION": "1.10"}
    assert backup.spec.policy == Policy(
        keep_awake=True, retry=Retry(attempts=2, delay_ms=90_000), time_limit=None
    )
    assert backup.followers == (NamedFollower(name="report"),)
    assert report.spec.schedule == Manual()


def _read(content: bytes) -> tuple[Draft, ...]:
    drafts = read_document(content)
    assert drafts.faults == ()
    return drafts.jobs


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (
            "delay: 90s",
            "delay: 90",
            "line 12, jobs[0].policy.retry.delay: cannot read the interval '90': the unit",
        ),
        ("delay: 90s", "delay: [1]", "line 12, jobs[0].policy.retry.delay: must be a duration like 1m, not"),
        (
            "attempts: 2",
            "tries: 2",
            "line 12, jobs[0].policy.retry.tries: is not a known field; known are attempts",
        ),
        ("attempts: 2", "delay_ms: 2", "line 12, jobs[0].policy.retry.delay: appears twice"),
        ("keep_awake: yes", "keep_awake: 'yes'", "line 11, jobs[0].policy.keep_awake: must be true or false"),
        ("cron: 30 2", "cron: 61 2", "line 5, jobs[0].schedule.cron: cannot read the cron expression"),
        (
            "cron: 30",
            "every: 5m\n      cron: 30",
            "line 6, jobs[0].schedule.cron: give only one of every and cron",
        ),
        (
            "schedule: manual",
            "schedule: never",
            "line 16, jobs[1].schedule.kind: must be one of every, after",
        ),
        ("schedule: manual", "schedule: [1]", "line 16, jobs[1].schedule: must be an object"),
        ("[report]", "[{on: success}]", "line 14, jobs[0].followers[0].job: name the job that follows"),
        ("[report]", "[{job: report, on: fail}]", "line 14, jobs[0].followers[0].on: must be one of success"),
        ("[report]", "report", "line 14, jobs[0].followers: must be a list"),
        ("name: report", "title: report", "line 15, jobs[1].title: is not a known field; known are name, id"),
        ("    schedule: manual\n", "", "line 15, jobs[1].schedule: is missing; say when it runs"),
        (
            "    action: {kind: command, line: make report, shell: /bin/sh}\n",
            "",
            "line 15, jobs[1].action: is missing",
        ),
        (
            "version: 1\n",
            "version: 1\ntasks: []\n",
            "line 2, tasks: is not a known field; known are version, groups",
        ),
        ("version: 1\n", "version: 1\ngroups: 3\n", "line 2, groups: must map names to groups"),
        ("version: 1\n", "version: 1\ngroups: {a: 2}\n", "line 2, groups.a: must be an object, like"),
        ("version: 1\n", "version: 1\ngroups: {a: {max: 2}}\n", "line 2, groups.a.max: is not a known field"),
        (
            "version: 1\n",
            "version: 1\ngroups: {a: {max_concurrent: 0}}\n",
            "line 2, groups.a.max_concurrent: must be at least 1",
        ),
        ("version: 1\n", "version: 1\nquiet_times: 5\n", "line 2, quiet_times: must be a list"),
        (
            "version: 1\n",
            "version: 1\nquiet_times: [{start: 9}]\n",
            "line 2, quiet_times[0].start: must be a time",
        ),
        ("version: 1\n", 'version: 1\n"a\\nb": 5\n', "line 2, 'a\\nb': is not a known field"),
    ],
)
def test_a_fault_is_reported_with_its_line_and_its_path(old: str, new: str, fault: str) -> None:
    content = _BACKUP.decode()
    assert old in content
    faults = read_document(content.replace(old, new).encode()).faults
    assert len(faults) == 1
    assert str(faults[0]).startswith(fault)


def test_a_bad_job_does_not_keep_the_others_out() -> None:
    drafts = read_document(_BACKUP.replace(b"cron: 30", b"cron: 99"))
    assert [draft.spec.name for draft in drafts.jobs] == ["report"]


@pytest.mark.parametrize(
    ("content", "refusal"),
    [
        (b"jobs: []", "line 1, version: is missing; write version: 1"),
        (b"version: 3\njobs: []", "line 1, version: must be 1 or 2; a newer one needs a newer Halo"),
        (b"version: one\njobs: []", "line 1, version: must be 1"),
        (b"- name: backup", "line 1: this is not a Halo job file"),
        (b"backup", "line 1: this is not a Halo job file"),
        (b"", "this is not a Halo job file"),
    ],
)
def test_a_file_of_another_form_is_refused(content: bytes, refusal: str) -> None:
    with pytest.raises(FileError, match=re.escape(refusal)):
        read_document(content)


def test_a_file_may_contain_a_single_job() -> None:
    spec = JobSpec(name="backup", schedule=Every("5m"), action=Command(argv=("true",)), anchor_at=60_000)
    (draft,) = _read(write_job(spec, {}, job_id="b").encode())
    assert (draft.job_id, draft.anchor_at, replace(draft.spec, anchor_at=60_000)) == ("b", 60_000, spec)


def test_a_next_job_without_a_known_name_keeps_its_id() -> None:
    spec = JobSpec(
        name="backup",
        schedule=Manual(),
        action=Command(argv=("true",)),
        followers=(Follower(job_id="gone"), Follower(job_id="r", on=FollowOn.ALWAYS)),
    )
    draft = read_job(write_job(spec, {"r": "report"}).encode())
    assert [(one.name, one.job_id) for one in draft.followers] == [("", "gone"), ("report", "")]
    assert spec_of(draft, {"report": "r"}, anchor_at=0) == spec
    with pytest.raises(ScheduleError, match=r"followers\[1\].job: there is no job named 'report'"):
        spec_of(draft, {}, anchor_at=0)


@pytest.mark.parametrize(
    ("content", "refusal"),
    [
        (b"version: 1\njobs: []", "line 2: this file is for one job"),
        (b"version: 1\nname: a\nschedule: never\naction: callback", "line 3, schedule.kind: must be one of"),
        (b"name: a", "line 1, version: is missing"),
    ],
)
def test_one_job_is_refused_with_its_line(content: bytes, refusal: str) -> None:
    with pytest.raises(FileError, match=re.escape(refusal)):
        read_job(content)


def test_a_time_in_utc_is_shown_in_the_time_of_the_machine() -> None:
    """An instant without an offset of its own is written in UTC, and comes back without one."""
    job = JobSpec(name="a", schedule=Once(1_900_000_000_000), action=Command(argv=("true",)))
    text = write_job(job, {})
    assert 'once: "2030-03-17T17:46:40Z"' in text
    assert read_job(text.encode()).spec.schedule == Once(1_900_000_000_000)


def test_files_do_not_depend_on_the_order_of_the_jobs() -> None:
    specs = {name: JobSpec(name=name, schedule=Manual(), action=Command(argv=("true",))) for name in "bca"}
    turned = dict(reversed(specs.items()))
    assert write_document(Document(jobs=specs)) == write_document(Document(jobs=turned))


def test_secrets_are_named_but_never_there() -> None:
    action = Command(argv=("true",), environment={"TOKEN": "${secret:NAS}"})
    text = write_document(Document(jobs={"a": JobSpec(name="a", schedule=Manual(), action=action)}))
    assert 'TOKEN: "${secret:NAS}"' in text


@pytest.mark.parametrize(
    ("content", "refusal"),
    [
        (
            '{"version": 1, "jobs": [' + "1," * 1_000_000 + "1]}",
            "line 1, jobs: there are more than 10000 entries here; split the file",
        ),
        ("version: 1\njobs:\n" + "- a\n" * 300_000, "line 10003, jobs: there are more than 10000 entries"),
        (
            "version: 1\ngroups: {" + ",".join(f"g{n}: {{}}" for n in range(10_001)) + "}",
            "groups: there are more than 10000 entries",
        ),
        ('{"version": ' + "9" * 5_000 + "}", "this is not JSON: a number has more than 100 digits"),
        (
            "version: 1\njobs:\n" + "- a\n" * 9_000,
            "line 3, jobs[0]: a job must be an object with a name, not 'a' (the first of more than 1000 faults",
        ),
        (
            "version: 1\njobs:\n"
            + "".join(f"- {{name: j{n}, followers: [j{n ^ 1}]}}\n" for n in range(9_000)),
            "line 3, jobs[0].followers: j0 → j1 → j0: these jobs would start each other in a loop;",
        ),
    ],
    ids=range(6),
)
def test_a_huge_file_is_refused_before_it_is_parsed(content: str, refusal: str) -> None:
    with at_most_ms(5_000), pytest.raises(FileError, match=re.escape(refusal)):
        read_document(content.encode(), is_json=content.startswith("{"))


def test_too_many_quiet_hours_are_one_error() -> None:
    with at_most_ms(2_000):
        drafts = read_document(f"version: 1\nquiet_times: [{'{},' * 9_000}]\n".encode())
    assert [str(fault) for fault in drafts.faults] == [
        "line 2, quiet_times: at most 100 quiet hours can be stored"
    ]


# --- Plain words --------------------------------------------------------------------------------------


def _worded(words: str) -> bytes:
    return f"version: 1\nname: tea\nwhen: {words}\naction: {{kind: command, argv: ['true']}}\n".encode()


def test_a_file_gives_the_schedule_in_plain_words() -> None:
    assert read_job(_worded("every weekday at 9")).spec.schedule == Cron("0 9 * * 1-5")
    two = read_job(_worded("every 15 minutes; every Monday at 8")).spec
    assert [entry.schedule for entry in two.schedules] == [Every("15m"), Cron("0 8 * * 1")]
    dated = read_job(_worded("24 Dec 2026 at 18:00 UTC")).spec.schedule
    assert isinstance(dated, Once)


@pytest.mark.parametrize("words", ["in 20 minutes", "tomorrow at 9:00", "next Monday at 8:00"])
def test_words_that_mean_another_date_each_day_are_refused_in_a_file(words: str) -> None:
    with pytest.raises(FileError, match="a file needs the date itself") as refusal:
        read_job(_worded(words))
    assert (refusal.value.line, refusal.value.path) == (3, "when")


def test_unclear_words_and_a_second_schedule_are_refused_in_a_file() -> None:
    with pytest.raises(FileError, match="it is not clear") as refusal:
        read_job(_worded("every 2nd friday"))
    assert (refusal.value.line, refusal.value.path) == (3, "when")
    with pytest.raises(FileError, match="give either schedule, schedules or when"):
        read_job(_worded("every day at 9\nschedule: {every: 15m}"))
    with pytest.raises(FileError, match="must be text"):
        read_job(_worded("[5]"))


def test_a_file_keeps_the_parameters_of_each_schedule() -> None:
    entries = (Entry(Every("1h"), parameters={"mode": "quick"}),)
    for schedules in (entries, (*entries, Entry(Cron("0 9 * * *")))):
        spec = JobSpec(name="tea", schedule=combine(schedules), parameters={"mode": "full"})
        written = write_job(spec, {})
        assert read_job(written.encode()).spec == spec
        assert JobSpec.from_dict(spec.to_dict()) == spec


def test_a_webhook_with_fields_of_its_own_is_read_back() -> None:
    entry = Entry(OnWebhook(), on_overlap=Overlap.LATEST, parameters={"mode": "quick"})
    spec = JobSpec(name="tea", schedule=combine([entry]), parameters={"mode": "full"})
    assert read_job(write_job(spec, {}).encode()).spec == spec


def test_a_wrong_parameter_of_a_schedule_is_reported_with_its_place() -> None:
    with pytest.raises(FileError, match="must be") as refusal:
        read_job(
            b"version: 2\nname: tea\nparameters: {mode: full}\naction: {kind: command, argv: ['true']}\n"
            b"schedules:\n- {every: 1h, parameters: [5]}\n"
        )
    assert refusal.value.path == "schedules[0].parameters"


def test_an_unknown_field_of_a_schedule_is_refused_with_all_that_are_known() -> None:
    with pytest.raises(FileError) as refusal:
        read_job(
            b"version: 2\nname: tea\naction: {kind: command, argv: ['true']}\n"
            b"schedules:\n- cron: 0 9 * * *\n- {every: 1h, bogus: 5}\n"
        )
    assert str(refusal.value) == (
        "line 6, schedules[1].bogus: is not a known field; "
        "known are every, key, anchor, from, until, only, not, parameters, on_overlap"
    )


def test_days_of_a_schedule_are_read_back() -> None:
    days = Calendar(only=("weekdays",), excluded=("2030-12-24",), shift=Shift.NEXT)
    spec = JobSpec(name="a", schedule=[Entry(Cron("0 9 1 * *"), calendar=days)])  # type: ignore[arg-type]
    document = Document(jobs={"a": spec}, quiet_times=(), group_limits={})
    read = _specs(read_document(write_document(document).encode()))
    assert read["a"].schedule == spec.schedule
