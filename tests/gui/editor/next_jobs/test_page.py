"""The page that says what runs when a job has ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from editor_desk import FULL, Bench, Desk, opened_bench
from PySide6.QtCore import QCoreApplication, QModelIndex, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QComboBox, QLabel, QWidget
from pytestqt.qtbot import QtBot

from halo_scheduler import Command, Manual
from halo_scheduler.model import MOST_FOLLOWERS, Follower, FollowOn, JobSpec
from ui.editor.draft import PageNumber
from ui.editor.job_choice import JobChoice
from ui.style.wording import one_line

# Lists that pop up.
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")
_TRUE = Command(argv=("true",))


@pytest.fixture
def bench(tmp_path: Path, qtbot: QtBot) -> Iterator[Bench]:
    with opened_bench(tmp_path, qtbot) as found:
        yield found
        # While a list has popped up, no other window gets the keyboard.
        while (popup := QApplication.activePopupWidget()) is not None:
            popup.hide()


def _add(bench: Bench, name: str, *followers: Follower) -> str:
    return bench.scheduler.add_job(name, Manual(), _TRUE, followers=followers)


def _open(bench: Bench, job_id: str) -> Desk:
    job = bench.scheduler.get_job(job_id)
    assert job is not None
    desk = bench.open(job.spec, job_id=job_id)
    desk.editor.turn_to(PageNumber.NEXT_JOBS)
    desk.settle()
    return desk


def _choose(desk: Desk, name: str, job: str) -> None:
    """Type a job's name where jobs are chosen, and go on."""
    choice = desk.find(JobChoice, name)
    choice.setFocus()
    QCoreApplication.processEvents()
    line = choice.lineEdit()
    assert line is not None
    line.selectAll()
    QTest.keyClicks(line, job)
    # The list that popped up has the keyboard here, and does not give it back when it goes.
    popup = QApplication.activePopupWidget()
    if popup is not None:
        popup.hide()
    line.editingFinished.emit()
    desk.settle()


def _offered(desk: Desk, name: str) -> dict[str, bool]:
    """Return what is offered, and whether it can be chosen."""
    choice = desk.find(JobChoice, name)
    choice.setFocus()
    QCoreApplication.processEvents()
    model = choice.model()
    rows = [model.index(row, 0, QModelIndex()) for row in range(model.rowCount())]
    return {str(row.data()): bool(row.flags() & Qt.ItemFlag.ItemIsEnabled) for row in rows}


def test_next_jobs_are_chosen_by_name(bench: Bench) -> None:
    own, report, alert = _add(bench, "own"), _add(bench, "report"), _add(bench, "alert")
    desk = _open(bench, own)
    assert desk.pages.summary(PageNumber.NEXT_JOBS) == "none"
    desk.press("followersAdd")
    assert desk.focus == "follower0Job"
    _choose(desk, "follower0Job", "report")
    desk.press("followersAdd")
    _choose(desk, "follower1Job", "ALERT")
    desk.find(QComboBox, "follower1On").setCurrentIndex(1)
    followers = desk.save().followers
    assert followers == (Follower(job_id=report), Follower(job_id=alert, on=FollowOn.FAILURE))
    assert desk.pages.summary(PageNumber.NEXT_JOBS) == "report on success · alert on failure"


def test_unchanged_next_jobs_are_returned_exactly(bench: Bench) -> None:
    followers = tuple(
        Follower(job_id=_add(bench, f"{on} {on}"), on=on)
        for on in (FollowOn.ALWAYS, FollowOn.SUCCESS, FollowOn.FAILURE)
    )
    desk = bench.open(replace(FULL, followers=(*followers, Follower(job_id="gone for ever"))))
    assert not desk.editor.has_unsaved_changes()
    desk.write("name", "renamed")
    assert desk.save().followers == (*followers, Follower(job_id="gone for ever"))


def test_the_job_itself_is_not_offered_and_those_before_it_cannot_be_chosen(bench: Bench) -> None:
    own, free, removed = _add(bench, "own"), _add(bench, "free"), _add(bench, "removed")
    direct = _add(bench, "direct", Follower(job_id=own))
    _add(bench, "far", Follower(job_id=direct, on=FollowOn.FAILURE))
    bench.scheduler.remove_job(removed)
    desk = _open(bench, own)
    desk.press("followersAdd")
    assert _offered(desk, "follower0Job") == {
        "direct (runs before this job)": False,
        "far (runs before this job)": False,
        "free": True,
    }
    tips = [
        str(desk.find(JobChoice, "follower0Job").model().index(row, 0).data(Qt.ItemDataRole.ToolTipRole))
        for row in range(3)
    ]
    assert "own → direct → own" in tips[0]
    assert "own → far → direct → own" in tips[1]
    assert tips[2] == "None"
    _choose(desk, "follower0Job", "direct")
    assert desk.label("follower0Note") == "These jobs would start each other in a loop: own → direct → own"
    assert desk.find(JobChoice, "follower0Job").currentText() == ""
    _choose(desk, "follower0Job", "free")
    assert desk.label("follower0Note") == ""
    assert desk.save().followers == (Follower(job_id=free),)


def test_a_cycle_through_the_trash_is_seen(bench: Bench) -> None:
    own = _add(bench, "own")
    lost = _add(bench, "lost", Follower(job_id=own))
    _add(bench, "far", Follower(job_id=lost))
    bench.scheduler.remove_job(lost)
    desk = _open(bench, own)
    desk.press("followersAdd")
    assert _offered(desk, "follower0Job") == {"far (runs before this job)": False}


def test_a_long_cycle_is_described_by_its_ends(bench: Bench) -> None:
    own = after = _add(bench, "own")
    for number in range(6):
        after = _add(bench, f"job {number}", Follower(job_id=after))
    desk = _open(bench, own)
    desk.press("followersAdd")
    _choose(desk, "follower0Job", "job 5")
    words = "These jobs would start each other in a loop: own → job 5 → job 4 → … → job 1 → job 0 → own"
    assert desk.label("follower0Note") == words


def test_the_list_pops_up_as_soon_as_there_is_something_in_it(bench: Bench) -> None:
    _add(bench, "report")
    desk = _open(bench, _add(bench, "own"))
    desk.editor.turn_to(PageNumber.FAILURE)
    choice = desk.find(JobChoice, "failureJob")
    choice.setFocus()
    choice.showPopup()
    assert not choice.view().isVisible()
    QCoreApplication.processEvents()
    assert choice.view().isVisible()


def test_typed_text_stays_when_the_job_list_is_updated(bench: Bench) -> None:
    report = _add(bench, "report")
    desk = _open(bench, _add(bench, "own", Follower(job_id=report)))
    choice = desk.find(JobChoice, "follower0Job")
    choice.setFocus()
    QCoreApplication.processEvents()
    desk.keys("oth")
    bench.scheduler.pause_job(report)
    QCoreApplication.processEvents()
    assert (choice.currentText(), "is paused" in desk.label("follower0Note")) == ("oth", True)
    choice._catalogue.load()
    QCoreApplication.processEvents()
    assert choice.currentText() == "oth"


def test_a_click_to_add_a_next_job_without_other_jobs_explains_it(bench: Bench, qtbot: QtBot) -> None:
    none = "There are no other jobs yet. Create the job to run first."
    desk = _open(bench, _add(bench, "only"))
    desk.press("followersAdd")
    _choose(desk, "follower0Job", "report")
    assert desk.label("follower0Note") == none
    desk.editor.turn_to(PageNumber.FAILURE)
    desk.settle()
    choice = desk.find(JobChoice, "failureJob")
    choice.showPopup()
    qtbot.waitUntil(lambda: desk.label("failureJobHint") == none)
    # What is made meanwhile is there when somebody looks again, and does not jump at anybody.
    _add(bench, "report")
    QCoreApplication.processEvents()
    assert not choice.view().isVisible()
    choice.setFocus()
    choice.showPopup()
    qtbot.waitUntil(choice.view().isVisible)


def test_a_name_in_the_list_is_shown_as_it_is_and_found_as_it_is_typed(bench: Bench, qtbot: QtBot) -> None:
    nasty = "invoice \u202efdp.exe"
    job_id = _add(bench, nasty)
    desk = _open(bench, _add(bench, "own"))
    desk.press("followersAdd")
    choice = desk.find(JobChoice, "follower0Job")
    qtbot.waitUntil(lambda: choice.count() == 1)
    shown = choice.itemData(0, Qt.ItemDataRole.DisplayRole)
    assert shown == one_line(nasty) != nasty
    line = choice.lineEdit()
    assert line is not None
    line.insert(nasty)
    line.textEdited.emit(line.text())
    assert choice.job_id == job_id


def test_typed_text_that_names_no_job_is_reset(bench: Bench) -> None:
    report = _add(bench, "report")
    desk = _open(bench, _add(bench, "own", Follower(job_id=report)))
    _choose(desk, "follower0Job", "repo")
    assert desk.find(JobChoice, "follower0Job").currentText() == "report"
    assert desk.label("follower0Note") == "No other job is called “repo”."
    assert not desk.editor.has_unsaved_changes()
    # Its own name is none either.
    _choose(desk, "follower0Job", "own")
    assert desk.label("follower0Note") == "No other job is called “own”."
    _choose(desk, "follower0Job", " ")
    assert desk.label("follower0Note") == ""
    assert desk.find(JobChoice, "follower0Job").job_id == ""
    assert (desk.can_save, desk.reason) == (False, "Choose a job.")


def test_of_names_that_differ_in_case_only_the_very_one_is_taken(bench: Bench) -> None:
    _add(bench, "Report")
    report = _add(bench, "report")
    desk = _open(bench, _add(bench, "own"))
    desk.press("followersAdd")
    _choose(desk, "follower0Job", "report")
    assert desk.save().followers == (Follower(job_id=report),)


def test_a_whole_name_counts_before_the_field_is_left(bench: Bench) -> None:
    report = _add(bench, "report")
    desk = _open(bench, _add(bench, "own"))
    desk.press("followersAdd")
    QCoreApplication.processEvents()
    desk.keys("report")
    desk.key(Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    assert desk.saved[-1].followers == (Follower(job_id=report),)


def test_a_job_chosen_in_the_list_is_taken(bench: Bench) -> None:
    _add(bench, "alert")
    report = _add(bench, "report")
    desk = _open(bench, _add(bench, "own"))
    desk.press("followersAdd")
    assert list(_offered(desk, "follower0Job")) == ["alert", "report"]
    choice = desk.find(JobChoice, "follower0Job")
    choice.showPopup()
    QTest.keyClick(choice.view(), Qt.Key.Key_End)
    QTest.keyClick(choice.view(), Qt.Key.Key_Return)
    assert desk.save().followers == (Follower(job_id=report),)


def test_jobs_made_meanwhile_are_offered(bench: Bench) -> None:
    desk = _open(bench, _add(bench, "own"))
    desk.press("followersAdd")
    assert _offered(desk, "follower0Job") == {}
    _add(bench, "made meanwhile")
    desk.find(QComboBox, "follower0On").setFocus()
    assert _offered(desk, "follower0Job") == {"made meanwhile": True}


def test_a_next_job_that_cannot_run_is_marked_and_can_be_opened(bench: Bench) -> None:
    report = _add(bench, "report")
    desk = _open(bench, _add(bench, "own", Follower(job_id=report)))
    assert desk.label("follower0Note") == ""
    bench.scheduler.pause_job(report)
    QCoreApplication.processEvents()
    assert "is paused" in desk.label("follower0Note")
    bench.scheduler.resume_job(report)
    bench.scheduler.update_job(report, enabled=False)
    QCoreApplication.processEvents()
    assert "is disabled" in desk.label("follower0Note")
    bench.scheduler.remove_job(report)
    QCoreApplication.processEvents()
    assert "was removed" in desk.label("follower0Note")
    assert desk.find(JobChoice, "follower0Job").currentText() == "report"
    assert not desk.find(QAbstractButton, "follower0Open").isEnabled()
    desk.press("enabled")
    assert desk.save().followers == (Follower(job_id=report),)


def test_a_next_job_that_no_longer_exists_is_reported(bench: Bench) -> None:
    desk = bench.open(replace(FULL, followers=(Follower(job_id="nobody"),)))
    assert desk.find(JobChoice, "follower0Job").currentText() == "deleted job"
    assert "was removed" in desk.label("follower0Note")
    assert desk.pages.summary(PageNumber.NEXT_JOBS) == "a job on success"


def test_the_same_job_twice_is_refused_at_the_second(bench: Bench) -> None:
    report = _add(bench, "report")
    desk = _open(bench, _add(bench, "own", Follower(job_id=report)))
    desk.press("followersAdd")
    _choose(desk, "follower1Job", "report")
    assert desk.error("follower0") == ""
    assert desk.error("follower1") == "Already listed. Set it to “Always” instead."


@pytest.mark.parametrize(("path", "target"), [("job_id", "follower1Job"), ("on", "follower1On")])
def test_a_refusal_of_the_service_lands_at_its_field(bench: Bench, path: str, target: str) -> None:
    followers = [Follower(job_id=_add(bench, name)) for name in ("a", "b")]
    desk = _open(bench, _add(bench, "own", *followers))
    desk.write("name", "other")
    desk.editor.turn_to(PageNumber.WHAT)
    desk.editor.show_error(f"followers[1].{path}", "b is in the trash; restore it first")
    assert desk.error("follower1") == "B is in the trash; restore it first."
    assert (desk.pages.currentRow(), desk.focus) == (PageNumber.NEXT_JOBS, target)
    desk.editor.show_error("followers", "own → b → own: these jobs would start each other in a loop")
    assert desk.error("followersAdd").startswith("Own → b → own")


def test_removing_one_moves_the_others_up_and_the_keyboard_stays_near(bench: Bench) -> None:
    followers = [Follower(job_id=_add(bench, name)) for name in ("a", "b")]
    desk = _open(bench, _add(bench, "own", *followers))
    desk.press("follower0Remove")
    assert (desk.find(JobChoice, "follower0Job").currentText(), desk.focus) == ("b", "follower0On")
    assert desk.save().followers == (followers[1],)
    desk.press("follower0Remove")
    assert desk.focus == "followersAdd"
    assert desk.save().followers == ()


def test_no_more_are_offered_than_may_follow(bench: Bench) -> None:
    followers = tuple(Follower(job_id=f"job {number}") for number in range(MOST_FOLLOWERS))
    desk = bench.open(replace(FULL, followers=followers))
    assert not desk.find(QAbstractButton, "followersAdd").isEnabled()


def test_next_and_previous_jobs_can_be_opened(bench: Bench, qtbot: QtBot) -> None:
    report = _add(bench, "report")
    own = _add(bench, "own", Follower(job_id=report))
    before = _add(bench, "before", Follower(job_id=own, on=FollowOn.ALWAYS))
    desk = _open(bench, own)
    for name, job_id in (("follower0Open", report), ("before0Open", before)):
        with qtbot.waitSignal(desk.editor.job_requested) as wanted:
            desk.press(name)
        assert wanted.args == [job_id]


def test_the_jobs_that_trigger_it_are_shown_and_updated(bench: Bench) -> None:
    own = _add(bench, "own")
    desk = _open(bench, own)
    assert desk.label("beforeNone") == "No other jobs"
    first = _add(bench, "a" * 100, Follower(job_id=own, on=FollowOn.FAILURE))
    QCoreApplication.processEvents()
    assert desk.label("beforeNone") == ""
    assert desk.label("before0Words") == f"{'a' * 59}…, on failure"
    bench.scheduler.pause_job(first)
    QCoreApplication.processEvents()
    texts = [one.text() for one in desk.find(QWidget, "triggeredBy").findChildren(QLabel)]
    assert "(paused)" in texts


def test_that_a_job_is_gone_is_reported_once_when_it_is_refused(bench: Bench, qtbot: QtBot) -> None:
    gone = _add(bench, "gone")
    desk = _open(bench, _add(bench, "own", Follower(job_id=gone)))
    bench.scheduler.remove_job(gone)
    QCoreApplication.processEvents()
    assert desk.label("follower0Note").startswith("This job was removed")
    desk.editor.show_error("followers[0].job_id", "gone is in the trash; restore it first")
    assert desk.label("follower0Note") == ""
    assert desk.error("follower0") == "Gone is in the trash; restore it first."
    # It has the keyboard already when another job comes, which is read only after its name was typed.
    other = _add(bench, "other")
    QCoreApplication.processEvents()
    _choose(desk, "follower0Job", "other")
    qtbot.waitUntil(lambda: desk.find(JobChoice, "follower0Job").job_id == other)
    desk.settle()
    assert desk.error("follower0") == desk.label("follower0Note") == ""


def test_a_new_job_is_triggered_by_no_other(bench: Bench) -> None:
    desk = bench.open()
    assert desk.find(QLabel, "beforeNone").text() == "No other jobs"


def test_the_variables_are_explained_once_the_section_is_opened(bench: Bench) -> None:
    desk = bench.open()
    for _ in range(3):
        desk.press("chainFold")
    names = [one.text() for one in desk.editor.findChildren(QLabel) if "CHAIN" in one.text()]
    assert len(names) == len(set(names)) == 5


# --- After a failure --------------------------------------------------------------------------------


def test_a_job_for_failures_is_chosen_where_failures_are(bench: Bench) -> None:
    alert = _add(bench, "alert")
    desk = _open(bench, _add(bench, "own"))
    desk.editor.turn_to(PageNumber.FAILURE)
    _choose(desk, "failureJob", "alert")
    assert desk.save().followers == (Follower(job_id=alert, on=FollowOn.FAILURE),)
    assert desk.find(JobChoice, "follower0Job").currentText() == "alert"
    _choose(desk, "failureJob", " ")
    assert not desk.editor.has_unsaved_changes()


def test_both_places_show_the_same(bench: Bench) -> None:
    alert, report = _add(bench, "alert"), _add(bench, "report")
    desk = _open(bench, _add(bench, "own", Follower(job_id=alert)))
    assert desk.find(JobChoice, "failureJob").job_id == ""
    desk.find(QComboBox, "follower0On").setCurrentIndex(1)
    assert desk.find(JobChoice, "failureJob").currentText() == "alert"
    desk.editor.turn_to(PageNumber.FAILURE)
    _choose(desk, "failureJob", "report")
    assert desk.save().followers == (Follower(job_id=report, on=FollowOn.FAILURE),)
    desk.press("follower0Remove")
    assert desk.find(JobChoice, "failureJob").currentText() == ""


def test_others_that_run_after_a_failure_are_named(bench: Bench) -> None:
    alert, report = _add(bench, "alert"), _add(bench, "report")
    followers = (Follower(job_id=report, on=FollowOn.ALWAYS), Follower(job_id=alert, on=FollowOn.FAILURE))
    desk = _open(bench, _add(bench, "own", *followers))
    desk.editor.turn_to(PageNumber.FAILURE)
    assert desk.find(JobChoice, "failureJob").currentText() == "alert"
    assert desk.label("failureJobHint") == "report also runs: see “Next jobs”."


@pytest.mark.parametrize(
    ("count", "names"),
    [(2, "job 0 and job 1"), (3, "job 0, job 1 and job 2"), (5, "job 0, job 1 and 3 more")],
)
def test_of_several_others_the_first_are_named(bench: Bench, count: int, names: str) -> None:
    others = [Follower(job_id=_add(bench, f"job {n}"), on=FollowOn.ALWAYS) for n in range(count)]
    desk = _open(bench, _add(bench, "own", *others))
    desk.editor.turn_to(PageNumber.FAILURE)
    assert desk.label("failureJobHint") == f"{names} also run: see “Next jobs”."


@pytest.mark.parametrize("has_other", [False, True])
def test_a_job_that_runs_after_a_success_then_runs_in_any_case(bench: Bench, has_other: bool) -> None:
    report = _add(bench, "report")
    followers = [Follower(job_id=report)]
    if has_other:
        followers.append(Follower(job_id=_add(bench, "alert"), on=FollowOn.FAILURE))
    desk = _open(bench, _add(bench, "own", *followers))
    desk.editor.turn_to(PageNumber.FAILURE)
    _choose(desk, "failureJob", "report")
    assert desk.save().followers == (Follower(job_id=report, on=FollowOn.ALWAYS),)


def test_a_cycle_is_reported_there_too(bench: Bench) -> None:
    own = _add(bench, "own")
    _add(bench, "before", Follower(job_id=own))
    desk = _open(bench, own)
    desk.editor.turn_to(PageNumber.FAILURE)
    _choose(desk, "failureJob", "before")
    assert desk.label("failureJobHint").startswith("These jobs would start each other in a loop")
    assert desk.find(JobChoice, "failureJob").job_id == ""


def test_hostile_names_are_shown_as_they_are(bench: Bench) -> None:
    name = "<b>x</b> & \u202e" + "y" * 150
    hostile = _add(bench, name)
    own = _add(bench, "own", Follower(job_id=hostile))
    bench.scheduler.update_job(hostile, followers=())
    desk = _open(bench, own)
    desk.editor.grab()
    assert desk.find(JobChoice, "follower0Job").currentText().startswith("<b>x</b>")
    assert "<\u2060b>" in desk.find(JobChoice, "follower0Job").toolTip()


def test_a_copy_keeps_its_next_jobs(bench: Bench) -> None:
    report = _add(bench, "report")
    spec = JobSpec(name="own (copy)", schedule=Manual(), action=_TRUE, followers=(Follower(job_id=report),))
    desk = bench.open(spec, is_new=True)
    assert desk.save().followers == (Follower(job_id=report),)


def test_of_many_jobs_that_start_it_the_first_are_shown(bench: Bench) -> None:
    alarm = _add(bench, "alarm")
    jobs = [_add(bench, f"job {number:02}", Follower(job_id=alarm)) for number in range(10)]
    desk = _open(bench, alarm)
    assert desk.find(QWidget, "before7").isVisible()
    assert desk.editor.findChild(QWidget, "before8") is None
    assert desk.label("beforeMore") == "and 2 more"
    for job_id in jobs[:2]:
        bench.scheduler.remove_job(job_id)
    desk.settle()
    assert desk.find(QLabel, "beforeMore").isHidden()
