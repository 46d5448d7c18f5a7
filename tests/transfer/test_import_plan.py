"""What taking in a file would change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from timing import at_most_ms

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
    OnFile,
    Policy,
    Prompt,
    Retry,
)
from halo_scheduler.model.schedules import combine
from halo_scheduler.model.settings import QuietTime, Settings
from halo_scheduler.transfer.drafts import Draft, Drafts, NamedFollower
from halo_scheduler.transfer.import_changes import (
    FieldChange,
    LimitChange,
    QuietTimeChange,
    changed_quiet_times,
    quiet_time_changes,
)
from halo_scheduler.transfer.import_plan import Existing, ImportPlan, plan_import
from halo_scheduler.transfer.text_file import FileError

_NOW = 1_800_000_000_000
_TRUE = Command(argv=("true",))


def _spec(name: str, **fields: Any) -> JobSpec:
    return JobSpec(**{"name": name, "schedule": Manual(), "action": _TRUE, **fields})


def _draft(name: str, *followers: str, job_id: str | None = None, **fields: Any) -> Draft:
    named = tuple(NamedFollower(name=follower) for follower in followers)
    return Draft(spec=_spec(name, **fields), followers=named, job_id=job_id)


def _plan(*drafts: Draft, jobs: dict[str, JobSpec] | None = None, **existing: Any) -> ImportPlan:
    known = Existing(jobs=jobs or {}, **existing)
    return plan_import(Drafts(jobs=drafts), known, _NOW, "new-{}".format)


def _faults(plan: ImportPlan) -> list[str]:
    return [str(fault) for fault in plan.faults]


def test_a_job_that_is_not_there_is_created() -> None:
    plan = _plan(_draft("backup"), _draft("report", job_id="r"))
    assert plan.new_ids == {"backup": "new-backup", "report": "r"}
    assert not plan.is_empty


def test_a_job_is_found_by_its_id_then_by_its_name() -> None:
    jobs = {"a": _spec("backup"), "b": _spec("report")}
    plan = _plan(_draft("copy", job_id="a"), _draft("report", job_id="elsewhere"), jobs=jobs)
    (changed,) = plan.changed
    assert (changed.job_id, changed.changes) == ("a", (FieldChange("name", "backup", "copy"),))
    assert plan.unchanged == ("report",)
    assert plan.created == ()


def test_the_old_name_of_a_renamed_job_is_free_for_another() -> None:
    plan = _plan(_draft("new name", job_id="a"), _draft("backup"), jobs={"a": _spec("backup")})
    assert [one.after.name for one in plan.changed] == ["new name"]
    assert plan.new_ids == {"backup": "new-backup"}


def test_two_jobs_may_change_names() -> None:
    jobs = {"a": _spec("one"), "b": _spec("two")}
    plan = _plan(_draft("two", job_id="a"), _draft("one", job_id="b"), jobs=jobs)
    assert [one.after.name for one in plan.changed] == ["two", "one"]


def test_an_id_from_the_trash_is_not_used_again() -> None:
    plan = _plan(_draft("backup", job_id="a"), removed={"a": _spec("backup")})
    assert plan.new_ids == {"backup": "new-backup"}


def test_a_name_that_another_job_has_is_refused() -> None:
    plan = _plan(_draft("report", job_id="a"), jobs={"a": _spec("backup"), "b": _spec("report")})
    assert _faults(plan) == [
        "name: there is already another job named 'report'; choose another name",
    ]
    assert plan.is_empty


def test_a_name_and_an_id_are_there_once_in_a_file() -> None:
    plan = _plan(_draft("a"), _draft("a"), _draft("b", job_id="x"), _draft("c", job_id="x"))
    assert _faults(plan) == [
        "name: another imported job has this name",
        "id: another imported job has this id",
    ]
    assert list(plan.new_ids) == ["a", "b"]


def test_of_twins_in_two_files_both_are_named() -> None:
    first, second = replace(_draft("a"), file="one.yaml"), replace(_draft("a"), file="two.yaml")
    assert _faults(_plan(first, second)) == [
        "two.yaml, name: another imported job has this name, in one.yaml"
    ]


def test_a_job_with_a_generated_name_is_matched_by_its_definition() -> None:
    says = frozenset({"schedule", "action"})
    lines = [
        replace(_draft(name, schedule=Cron("@daily")), says=says, has_made_up_name=True)
        for name in ("true", "true 2", "b")
    ]
    daily = {"schedule": Cron("@daily")}
    jobs = {
        "1": _spec("mine", **daily),
        "2": _spec("yours", **daily),
        "3": _spec("b", **daily),
        "4": _spec("c"),
    }
    plan = _plan(*lines, jobs=jobs)
    assert plan.is_empty
    assert plan.unchanged == ("mine", "yours", "b")
    # One that somebody named in the file is new, and so is a third one that does the same.
    assert list(_plan(replace(lines[0], has_made_up_name=False), jobs=jobs).new_ids) == ["true"]
    third = replace(lines[0], spec=replace(lines[0].spec, name="true 3"))
    assert list(_plan(*lines, third, jobs=jobs).new_ids) == ["true 3"]
    assert list(_plan(*lines, jobs={"4": jobs["4"]}).new_ids) == ["true", "true 2", "b"]


def test_unchanged_jobs_are_not_changed() -> None:
    spec = _spec("a", schedule=Every("5m"), anchor_at=5, description="x", policy=Policy(max_errors=3))
    same = _draft("a", schedule=Every("5m"), description="x", policy=Policy(max_errors=3))
    plan = _plan(same, jobs={"1": spec})
    assert plan.is_empty
    assert plan.unchanged == ("a",)


def test_the_anchor_is_kept_unless_the_file_sets_it() -> None:
    spec = _spec("a", schedule=Every("5m"), anchor_at=60_000)
    draft = _draft("a", schedule=Every("10m"))
    (kept,) = _plan(draft, jobs={"1": spec}).changed
    assert kept.after.anchor_at == 60_000
    (moved,) = _plan(replace(draft, anchor_at=120_000), jobs={"1": spec}).changed
    assert moved.after.anchor_at == 120_000
    assert moved.changes == (
        FieldChange("schedule.every", "5m", "10m"),
        FieldChange("anchor", "1970-01-01T00:01:00Z", "1970-01-01T00:02:00Z"),
    )


def test_changes_are_reported_field_by_field() -> None:
    before = _spec("a", policy=Policy(retry=Retry(attempts=1)), metadata={"k": "1"}, description="old")
    after = _draft(
        "a", schedule=Cron("@daily"), policy=Policy(retry=Retry(attempts=2), max_errors=9), group="g"
    )
    (changed,) = _plan(after, jobs={"1": before}).changed
    assert {change.path: (change.before, change.after) for change in changed.changes} == {
        "description": ("old", None),
        "schedule": ("manual", {"cron": "@daily"}),
        "policy.retry.attempts": (1, 2),
        "policy.max_errors": (None, 9),
        "metadata": ({"k": "1"}, None),
        "group": (None, "g"),
    }


def test_another_kind_of_schedule_is_one_change() -> None:
    (changed,) = _plan(
        _draft("a", schedule=Cron("@daily")), jobs={"1": _spec("a", schedule=Every("1d"))}
    ).changed
    assert FieldChange("schedule", {"every": "1d"}, {"cron": "@daily"}) in changed.changes


def test_schedules_that_stay_keep_their_keys() -> None:
    before = _spec("a", schedule=combine([Cron("@daily"), Every("1h"), OnFile("/in")]))
    given = combine([Every("2h"), OnFile("/in"), Every("1h")])
    (changed,) = _plan(_draft("a", schedule=given), jobs={"1": before}).changed
    assert [(entry.key, entry.schedule) for entry in changed.after.schedules] == [
        ("1", Every("2h")),
        ("3", OnFile("/in")),
        ("2", Every("1h")),
    ]
    again = _plan(_draft("a", schedule=given), jobs={"1": changed.after})
    assert not again.changed
    named = combine([Entry(Every("1h"), key="often"), OnFile("/in")])
    (changed,) = _plan(_draft("a", schedule=named), jobs={"1": before}).changed
    assert changed.after.schedule == named


def test_a_short_file_leaves_omitted_fields_alone() -> None:
    before = _spec("a", policy=Policy(max_errors=9), description="mine", group="g")
    draft = replace(_draft("a", schedule=Cron("@daily")), says=frozenset({"schedule", "action"}))
    (changed,) = _plan(draft, jobs={"1": before}).changed
    assert changed.after == replace(before, schedule=Cron("@daily"))


def test_next_jobs_are_found_in_the_file_then_among_stored_jobs() -> None:
    plan = _plan(_draft("a", "b", "old"), _draft("b"), jobs={"o": _spec("old")})
    assert plan.created[0].spec.followers == (Follower(job_id="new-b"), Follower(job_id="o"))


def test_a_next_job_is_found_by_its_new_name() -> None:
    jobs = {"o": _spec("old")}
    plan = _plan(_draft("a", "newer"), _draft("newer", job_id="o"), jobs=jobs)
    assert plan.created[0].spec.followers == (Follower(job_id="o"),)
    assert _faults(_plan(_draft("a", "old"), _draft("newer", job_id="o"), jobs=jobs)) == [
        "followers[0]: there is no job named 'old' to run next"
    ]


def test_a_renamed_next_job_does_not_change_its_predecessor() -> None:
    jobs = {"a": _spec("a", followers=(Follower(job_id="b"),)), "b": _spec("b")}
    plan = _plan(_draft("a", "c"), _draft("c", job_id="b"), jobs=jobs)
    assert plan.unchanged == ("a",)


def test_a_next_job_by_id_must_exist_or_have_existed() -> None:
    def following(job_id: str) -> Draft:
        return replace(_draft("a"), followers=(NamedFollower(job_id=job_id, on=FollowOn.ALWAYS),))

    kept = _spec("a", followers=(Follower(job_id="gone", on=FollowOn.ALWAYS),))
    assert _plan(following("gone"), jobs={"1": kept}).unchanged == ("a",)
    assert _plan(following("b"), jobs={"b": _spec("b")}).created[0].spec.followers[0].job_id == "b"
    carried = _plan(following("x"), _draft("b", job_id="x"), jobs={"b": _spec("b")})
    assert carried.created[0].spec.followers[0].job_id == "b"
    assert _faults(_plan(following("gone"))) == [
        "followers[0]: there is no job with the id 'gone' to run next"
    ]


def test_a_job_that_cannot_be_takes_those_that_need_it_with_it() -> None:
    plan = _plan(_draft("a", "b"), _draft("b", "c"), _draft("c", "nobody"), _draft("d"))
    assert _faults(plan) == [
        "followers[0]: there is no job named 'nobody' to run next",
        "followers[0]: there is no job named 'c' to run next",
        "followers[0]: there is no job named 'b' to run next",
    ]
    assert list(plan.new_ids) == ["d"]


def test_a_long_chain_falls_at_once() -> None:
    chain = [_draft(f"j{number}", f"j{number + 1}") for number in range(1_000)]
    with at_most_ms(1_000):
        plan = _plan(*chain)
    assert len(plan.faults) == 1_000
    assert plan.is_empty


def test_far_too_many_faults_refuse_it_entirely() -> None:
    circle = [_draft(f"j{number}", f"j{(number + 1) % 9_000}") for number in range(9_000)]
    refusal = "followers: j0 → j1 → .* these jobs would start each other .* of more than 1000 faults"
    with at_most_ms(2_000), pytest.raises(FileError, match=refusal):
        _plan(*circle)


def test_a_name_that_is_not_given_up_is_not_free() -> None:
    jobs = {"1": _spec("a"), "2": _spec("b")}
    plan = _plan(_draft("c", "nobody", job_id="1"), _draft("a", job_id="2"), _draft("d", "a"), jobs=jobs)
    assert _faults(plan) == [
        "followers[0]: there is no job named 'nobody' to run next",
        "name: there is already another job named 'a'; choose another name",
    ]
    # Who was to follow is still there, by its own name.
    assert plan.created[0].spec.followers == (Follower(job_id="1"),)


@pytest.mark.parametrize("followers", [("a",), ("b", "b")])
def test_a_job_follows_neither_itself_nor_another_twice(followers: tuple[str, ...]) -> None:
    plan = _plan(_draft("a", *followers), _draft("b"))
    assert len(plan.faults) == 1
    assert list(plan.new_ids) == ["b"]


def test_a_cycle_is_refused_with_its_names() -> None:
    jobs = {"c": _spec("c", followers=(Follower(job_id="a"),)), "a": _spec("a")}
    plan = _plan(_draft("a", "b"), _draft("b", "c"), _draft("d"), jobs=jobs)
    circle = "a → b → c → a: these jobs would start each other in a loop; remove one of them"
    assert _faults(plan) == [f"followers: {circle}"] * 2
    assert list(plan.new_ids) == ["d"]


def test_many_cycles_are_found_at_once() -> None:
    pairs = [_draft(f"j{number}-{one}", f"j{number}-{1 - one}") for number in range(500) for one in (0, 1)]
    with at_most_ms(1_000):
        plan = _plan(*pairs, _draft("d"))
    assert len(plan.faults) == 1_000
    assert list(plan.new_ids) == ["d"]


def test_cycles_that_share_jobs_are_all_refused() -> None:
    plan = _plan(_draft("a", "b"), _draft("b", "a", "c"), _draft("c", "d"), _draft("d", "b"), _draft("e"))
    assert list(plan.new_ids) == ["e"]
    assert "followers: a → b → a: these jobs would start each other" in _faults(plan)[0]


def test_a_cycle_through_stored_jobs_is_refused_too() -> None:
    jobs = {"x": _spec("x", followers=(Follower(job_id="1"), Follower(job_id="2")))}
    jobs |= {"1": _spec("a"), "2": _spec("b")}
    plan = _plan(_draft("a", "x"), _draft("b", "x"), jobs=jobs)
    assert [fault.partition(":")[2].partition(":")[0] for fault in _faults(plan)] == [
        " a → x → a",
        " x → b → x",
    ]
    assert plan.is_empty


def test_a_long_cycle_is_described_by_its_ends() -> None:
    plan = _plan(*(_draft(f"j{number}", f"j{(number + 1) % 1_000}") for number in range(1_000)))
    assert len(plan.faults) == 1_000
    assert "j0 → j1 → j2 → j3 → … → j998 → j999 → j0:" in _faults(plan)[0]


def test_a_cycle_through_the_trash_is_refused() -> None:
    removed = {"t": _spec("old", followers=(Follower(job_id="1"),))}
    kept = _spec("a", followers=(Follower(job_id="t"),))
    draft = replace(_draft("a", description="new"), followers=(NamedFollower(job_id="t"),))
    assert "a → old → a" in _faults(_plan(draft, jobs={"1": kept}, removed=removed))[0]


def test_a_new_time_that_is_past_leaves_a_job_out() -> None:
    plan = _plan(_draft("a", schedule=Once(_NOW)), _draft("b", schedule=Once(_NOW + 1)))
    assert [(one.what, one.why.partition(":")[0]) for one in plan.left_out] == [
        ("a", "its only time is in the past")
    ]
    assert list(plan.new_ids) == ["b"]


def test_a_next_job_whose_time_is_past_is_skipped_without_an_error() -> None:
    over = _draft("over", schedule=Once(_NOW))
    plan = _plan(_draft("a", "over", "b"), over, _draft("b"))
    assert plan.faults == ()
    assert [(one.what, one.why) for one in plan.left_out][1:] == [
        ("a", "over, which should run after it, is skipped")
    ]
    (follower,) = plan.created[0].spec.followers
    assert follower.job_id == "new-b"
    assert _plan(_draft("a", "over"), over, jobs={"1": _spec("over")}).left_out == ()


def test_a_job_that_is_over_may_be_changed_but_not_to_another_past_time() -> None:
    jobs = {"1": _spec("a", schedule=Once(_NOW - 1_000))}
    same = _draft("a", schedule=Once("2027-01-15T07:59:59+00:00"), description="new")
    (changed,) = _plan(same, jobs=jobs).changed
    assert changed.after == replace(jobs["1"], description="new")
    assert _faults(_plan(_draft("a", schedule=Once(_NOW - 2_000)), jobs=jobs)) == [
        "schedule.once: this time is in the past; enter a future time"
    ]


def test_a_prompt_for_an_unknown_agent_is_refused_unless_it_is_there_already() -> None:
    prompt = Prompt(text="hi", agent="nobody")
    draft = _draft("a", action=prompt, description="x")
    fault = _faults(_plan(draft))[0]
    assert fault.startswith("action.agent: there is no agent named 'nobody'")
    assert fault.endswith("; add it first, with: halo agent set")
    assert _plan(draft, jobs={"1": _spec("a", action=prompt)}).faults == ()


def test_an_error_has_the_position_of_its_draft() -> None:
    lines = {"jobs[3].followers[0]": 12}
    draft = replace(_draft("a", "nobody"), path="jobs[3]", line_of=lines.get)
    plan = plan_import(Drafts(jobs=(draft,)), Existing(), _NOW, str)
    assert str(plan.faults[0]).startswith("line 12, jobs[3].followers[0]: there is no job")
    plain = Drafts(jobs=(replace(_draft("a", "nobody"), line=7),))
    assert str(plan_import(plain, Existing(), _NOW, str).faults[0]).startswith("line 7, followers[0]: ")


def test_only_jobs_in_no_file_are_pruned_and_none_if_a_file_has_an_error() -> None:
    existing = Existing(jobs={"1": _spec("a"), "2": _spec("b")}, group_limits={"g": 2})
    good = plan_import(Drafts(jobs=(_draft("a"),)), existing, _NOW, str, prune=True)
    assert [one.name for one in good.removed] == ["b"]
    assert good.group_limits == ()
    limited = plan_import(Drafts(group_limits={"h": 1}), existing, _NOW, str, prune=True)
    assert limited.group_limits == (
        LimitChange(group="g", before=2, after=None),
        LimitChange(group="h", before=None, after=1),
    )
    # What is removed neither follows nor keeps its name.
    for follower in (NamedFollower(name="b"), NamedFollower(job_id="2")):
        chained = replace(_draft("a"), followers=(follower,))
        (fault,) = plan_import(Drafts(jobs=(chained,)), existing, _NOW, str, prune=True).faults
        assert fault.message.startswith("there is no job ")
    (renamed,) = plan_import(Drafts(jobs=(_draft("b", job_id="1"),)), existing, _NOW, str, prune=True).changed
    assert renamed.after.name == "b"
    bad = plan_import(Drafts(jobs=(_draft("a", "nobody"),)), existing, _NOW, str, prune=True)
    assert (bad.removed, bad.group_limits) == ((), ())


_NIGHTS = QuietTime(name="Nights")
_LATER = QuietTime(name="Nights", start="23:00")
_NOON = QuietTime(start="12:00", end="13:00")


@pytest.mark.parametrize(
    ("before", "wanted", "after"),
    [
        ((_NIGHTS,), None, (_NIGHTS,)),
        ((_NIGHTS,), (), (_NIGHTS,)),
        ((), (_NIGHTS, _NIGHTS), (_NIGHTS,)),
        ((_NOON, _NIGHTS), (_LATER,), (_NOON, _LATER)),
        ((_NIGHTS,), (_NIGHTS, _LATER), (_NIGHTS, _LATER)),
        ((_NOON,), (QuietTime(start="12:00", end="14:00"),), (_NOON, QuietTime(start="12:00", end="14:00"))),
    ],
)
def test_quiet_hours_are_added_or_replace_those_of_the_same_name(
    before: tuple[QuietTime, ...], wanted: tuple[QuietTime, ...] | None, after: tuple[QuietTime, ...]
) -> None:
    assert changed_quiet_times(before, quiet_time_changes(before, wanted)) == after


def test_pruned_quiet_hours_are_those_missing_in_the_files() -> None:
    changes = quiet_time_changes((_NOON, _NIGHTS), (_LATER,), prune=True)
    assert changes == (
        QuietTimeChange(before=_NIGHTS, after=_LATER),
        QuietTimeChange(before=_NOON, after=None),
    )
    assert changed_quiet_times((_NOON, _NIGHTS), changes) == (_LATER,)


def test_too_many_quiet_hours_are_refused() -> None:
    many = tuple(QuietTime(name=str(number)) for number in range(60))
    more = tuple(QuietTime(name=str(number)) for number in range(60, 120))
    existing = Existing(settings=Settings(quiet_times=many))
    plan = plan_import(Drafts(quiet_times=more), existing, _NOW, str)
    assert _faults(plan) == ["quiet_times: at most 100 quiet hours can be stored"]


def test_limits_of_groups_that_are_not_named_stay() -> None:
    existing = Existing(group_limits={"a": 1, "b": 2})
    plan = plan_import(Drafts(group_limits={"b": 2, "c": 3, "d": None}), existing, _NOW, str)
    assert plan.group_limits == (LimitChange(group="c", before=None, after=3),)
