"""The page that says what a due job waits for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from editor_desk import FULL, Bench, Desk, opened_bench
from PySide6.QtCore import QCoreApplication, QDir, QRegularExpression, Qt
from PySide6.QtWidgets import QAbstractButton, QComboBox, QFileDialog, QLabel, QLineEdit, QSpinBox, QWidget
from pytestqt.qtbot import QtBot

from halo_scheduler import Policy
from halo_scheduler.conditions.probes import ConditionState
from halo_scheduler.errors import SchedulerError
from halo_scheduler.model import (
    MOST_CONDITIONS,
    Condition,
    Idle,
    InQuietTime,
    Load,
    MainsPower,
    Network,
    PathExists,
)
from halo_scheduler.model.settings import QuietTime, Weekday
from ui.editor.conditions.condition_check import ConditionCheck
from ui.editor.draft import PageNumber
from ui.style.marks import Shape
from ui.widgets.labels import WrappedText
from ui.widgets.signs import MarkSign

_HOST = Network(host="nas.local", port=22)
_ALL = (
    MainsPower(),
    Network(),
    Network(host="2001:db8::1", port=443),
    _HOST,
    Idle(idle="90 S"),
    Idle(idle="1h"),
    Load(below=0.123456789),
    PathExists(path="~/a disk "),
    PathExists(path="/mnt/backup"),
)
_BLIND = ConditionState(is_observable=False, holds=None, sentence="Nothing tells here who is there.")
_REFUSED = f"{_BLIND.sentence} Remove this condition."
_LACKS = ConditionState(is_observable=True, holds=False, sentence="The computer runs on battery.")
_NIGHTS = QuietTime(name="Nights", start="22:00", end="06:00")


@pytest.fixture
def bench(tmp_path: Path, qtbot: QtBot) -> Iterator[Bench]:
    with opened_bench(tmp_path, qtbot) as found:
        yield found


def _open(bench: Bench, *conditions: Condition, is_new: bool = False, **policy: Any) -> Desk:
    spec = replace(FULL, policy=Policy(conditions=conditions, **policy))
    desk = bench.open(spec, is_new=is_new)
    desk.editor.turn_to(PageNumber.CONDITIONS)
    desk.settle()
    return desk


def _looks(desk: Desk) -> list[str]:
    """Return what is said of each condition, as far as it is seen."""
    looks = desk.editor.findChildren(ConditionCheck)
    return ["" if look._words.isHidden() else look._words.text() for look in looks]


def _notes(desk: Desk) -> list[str]:
    """Return what stands beside the next runs, the last of it last."""
    found = desk.editor.findChildren(WrappedText, QRegularExpression("noteText[0-9]"))
    return [one.text() for one in found]


def test_each_kind_is_added_by_one_press(bench: Bench) -> None:
    desk = _open(bench)
    for kind in ("mains", "network", "host", "idle", "load", "path"):
        desk.press(f"addCondition_{kind}")
    desk.write("condition2FormHost", " nas.local ")
    desk.find(QSpinBox, "condition3FormIdleNumber").setValue(5)
    desk.write("condition4FormBelow", "2,5")
    desk.write("condition5FormPath", "/mnt/backup")
    assert desk.save().policy.conditions == (
        MainsPower(),
        Network(),
        _HOST,
        Idle(idle="5m"),
        Load(below=2.5),
        PathExists(path="/mnt/backup"),
    )


def test_a_typed_number_replaces_the_default(bench: Bench) -> None:
    desk = _open(bench)
    desk.press("addCondition_idle")
    desk.keys("5")
    desk.press("addCondition_load")
    desk.keys("3")
    assert desk.save().policy.conditions == (Idle(idle="5m"), Load(below=3))


def test_unchanged_conditions_are_returned_exactly(bench: Bench) -> None:
    desk = _open(bench, *_ALL, condition_deadline="36 H", in_quiet_time=InQuietTime.SKIP)
    assert not desk.editor.has_unsaved_changes()
    desk.write("name", "renamed")
    policy = desk.save().policy
    assert (policy.conditions, policy.condition_deadline) == (_ALL, "36 H")
    assert policy.in_quiet_time is InQuietTime.SKIP


def test_a_condition_that_is_there_is_not_offered_again(bench: Bench) -> None:
    desk = _open(bench, MainsPower(), _HOST)
    is_offered = [
        desk.find(QAbstractButton, f"addCondition_{kind}").isEnabled()
        for kind in ("mains", "network", "host")
    ]
    assert is_offered == [False, True, True]
    desk.press("condition0Remove")
    assert desk.find(QAbstractButton, "addCondition_mains").isEnabled()


def test_conditions_are_offered_up_to_the_limit(bench: Bench) -> None:
    desk = _open(bench, *(Network(host="a", port=port) for port in range(1, MOST_CONDITIONS + 1)))
    assert not desk.find(QAbstractButton, "addCondition_path").isEnabled()
    desk.press("condition0Remove")
    assert desk.find(QAbstractButton, "addCondition_path").isEnabled()


def test_removing_one_moves_the_others_up_and_the_keyboard_stays_near(bench: Bench) -> None:
    desk = _open(bench, MainsPower(), _HOST, PathExists(path="/a"))
    desk.press("condition0Remove")
    assert desk.line("condition0FormHost").text() == "nas.local"
    assert desk.focus == "condition0FormHost"
    assert desk.save().policy.conditions == (_HOST, PathExists(path="/a"))
    desk.press("condition1Remove")
    desk.press("condition0Remove")
    assert desk.focus == "addCondition_host"
    assert desk.save().policy.conditions == ()


def test_adding_one_is_a_change_even_of_a_job_that_has_nothing_else(bench: Bench) -> None:
    desk = bench.open()
    desk.editor.turn_to(PageNumber.CONDITIONS)
    desk.press("addCondition_mains")
    assert desk.editor.has_unsaved_changes()
    desk.press("condition0Remove")
    assert not desk.editor.has_unsaved_changes()


def test_the_state_is_shown_beside_each(bench: Bench) -> None:
    path = PathExists(path="/a")
    bench.scheduler.states |= {
        MainsPower(): _LACKS,
        path: ConditionState(is_observable=True, holds=None, sentence="It is being looked for."),
    }
    desk = _open(bench, MainsPower(), Network(), path)
    assert _looks(desk) == [
        "Not met now. The computer runs on battery.",
        "Met now. All is well.",
        "Unknown. It is being looked for.",
    ]
    shapes = [look.findChildren(MarkSign)[0].mark.shape for look in desk.editor.findChildren(ConditionCheck)]
    assert shapes == [Shape.TRIANGLE, Shape.CIRCLE, Shape.DOTTED]


def test_an_incomplete_condition_shows_no_state(bench: Bench) -> None:
    desk = _open(bench)
    desk.press("addCondition_host")
    sign = desk.editor.findChildren(ConditionCheck)[0].findChildren(MarkSign)[0]
    assert sign.isHidden()
    desk.write("condition0FormHost", "nas.local")
    assert not sign.isHidden()


def test_nothing_is_checked_before_the_page_is_visible(bench: Bench) -> None:
    spec = replace(FULL, policy=Policy(conditions=(MainsPower(), _HOST)))
    desk = bench.open(spec)
    desk.write("name", "other")
    desk.save()
    assert bench.scheduler.looked_at == []
    desk.editor.turn_to(PageNumber.CONDITIONS)
    # The last one is whether idleness can be offered.
    assert bench.scheduler.looked_at == [MainsPower(), _HOST, Idle(idle="5m")]


def test_conditions_are_rechecked_only_while_visible(bench: Bench, qtbot: QtBot) -> None:
    desk = _open(bench, MainsPower())
    edit = desk.editor._form.pages.conditions._conditions
    edit._recheck_timer.setInterval(1)
    bench.scheduler.states[MainsPower()] = _LACKS
    qtbot.waitUntil(lambda: _looks(desk) == ["Not met now. The computer runs on battery."])
    desk.editor.turn_to(PageNumber.WHAT)
    assert not edit._recheck_timer.isActive()
    desk.editor.turn_to(PageNumber.CONDITIONS)
    assert edit._recheck_timer.isActive()


def test_a_result_for_earlier_input_is_not_shown(bench: Bench) -> None:
    desk = _open(bench, _HOST)
    bench.scheduler.states[_HOST] = _LACKS
    look = desk.editor.findChildren(ConditionCheck)[0]
    look.recheck()
    # The answer is on its way; it would arrive with the next turn.
    desk.line("condition0FormHost").setText("other.local")
    QCoreApplication.processEvents()
    assert _looks(desk) == ["Checking…"]


@pytest.mark.parametrize("is_saving", [False, True])
def test_a_check_is_cancelled_when_hidden_or_replaced(bench: Bench, is_saving: bool) -> None:
    desk = _open(bench, MainsPower())
    bench.scheduler.states[MainsPower()] = _LACKS
    look = desk.editor.findChildren(ConditionCheck)[0]
    look.recheck()
    if is_saving:
        desk.editor.show_saving()
    else:
        desk.editor.turn_to(PageNumber.WHAT)
    QCoreApplication.processEvents()
    assert look._words.text() == "Met now. All is well."


def test_a_host_is_asked_only_when_the_typing_pauses(bench: Bench, qtbot: QtBot) -> None:
    desk = _open(bench)
    bench.scheduler.looked_at.clear()
    desk.press("addCondition_host")
    desk.keys("abc")
    assert bench.scheduler.looked_at == []
    look = desk.editor.findChildren(ConditionCheck)[0]
    look._timer.setInterval(0)
    desk.keys("d")
    qtbot.waitUntil(lambda: bench.scheduler.looked_at != [])
    assert bench.scheduler.looked_at == [Network(host="abcd", port=22)]


def test_a_condition_that_cannot_be_observed_here_cannot_be_saved(bench: Bench) -> None:
    bench.scheduler.states[Idle(idle="10m")] = _BLIND
    desk = _open(bench, MainsPower())
    desk.press("addCondition_idle")
    desk.settle()
    assert (desk.error("condition1"), desk.can_save) == (_REFUSED, False)
    assert desk.pages.has_problem(PageNumber.CONDITIONS)
    # Said once: as the error.
    assert _looks(desk) == ["Met now. All is well.", ""]
    desk.press("condition1Remove")
    desk.press("enabled")
    assert desk.can_save


def test_that_it_cannot_be_observed_is_noticed_without_a_change(bench: Bench, qtbot: QtBot) -> None:
    desk = _open(bench)
    desk.press("addCondition_mains")
    desk.settle()
    assert desk.can_save
    bench.scheduler.states[MainsPower()] = _BLIND
    desk.editor.findChildren(ConditionCheck)[0].recheck()
    qtbot.waitUntil(lambda: desk.error("condition0") == _REFUSED)
    bench.scheduler.states.clear()
    desk.editor.findChildren(ConditionCheck)[0].recheck()
    qtbot.waitUntil(lambda: desk.can_save)


@pytest.mark.parametrize(("is_new", "can_save"), [(False, True), (True, False)])
def test_a_stored_condition_that_cannot_be_observed_may_stay(
    bench: Bench, is_new: bool, can_save: bool
) -> None:
    bench.scheduler.states[MainsPower()] = _BLIND
    desk = _open(bench, MainsPower(), is_new=is_new)
    desk.write("name", "renamed")
    assert desk.can_save is can_save
    assert _looks(desk) == ([_BLIND.sentence] if can_save else [""])


def test_a_failed_check_is_shown_and_does_not_prevent_saving(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_condition: Condition) -> ConditionState:
        raise SchedulerError("the database is locked")

    monkeypatch.setattr(bench.scheduler._session, "check_condition", fail)
    desk = _open(bench, MainsPower())
    assert _looks(desk) == ["Unknown. the database is locked"]
    desk.press("enabled")
    assert desk.can_save


@pytest.mark.parametrize(
    ("kind", "field", "text", "sentence"),
    [
        ("host", "Host", "http://nas", "The value must be a plain host name or address, like nas.local."),
        ("host", "Host", "a b", "The value must be a plain host name or address, like nas.local."),
        ("host", "Host", "x" * 300, "The value is longer than 253 characters."),
        ("load", "Below", "lots", "'lots' is not a number; enter it like 1.5."),
        ("load", "Below", "0", "The value must be above 0 and at most 10000, not 0.0."),
        ("load", "Below", "99999", "The value must be above 0 and at most 10000, not 99999.0."),
        ("path", "Path", "backup", "The value must be an absolute path that begins with / or ~/."),
        ("path", "Path", "/" + "x" * 5_000, "The value is longer than 4096 characters."),
    ],
)
def test_an_invalid_condition_is_refused_beside_its_field(
    bench: Bench, kind: str, field: str, text: str, sentence: str
) -> None:
    desk = _open(bench)
    desk.press(f"addCondition_{kind}")
    desk.write(f"condition0Form{field}", text)
    assert desk.error("condition0") == sentence
    assert not desk.can_save
    line = desk.line(f"condition0Form{field}")
    assert line.property("invalid") == "true"
    assert _looks(desk) == [""]


def test_a_missing_value_is_reported_only_after_the_field_was_left(bench: Bench) -> None:
    desk = _open(bench)
    desk.press("addCondition_path")
    assert desk.focus == "condition0FormPath"
    assert (desk.error("condition0"), desk.can_save) == ("", False)
    assert desk.reason == "Enter the path of a file or folder."
    desk.editor.turn_to(PageNumber.WHAT)
    desk.press("saveReason")
    assert (desk.pages.currentRow(), desk.focus) == (PageNumber.CONDITIONS, "condition0FormPath")
    assert desk.error("condition0") == "Enter the path of a file or folder."


def test_the_same_twice_is_refused_at_the_second(bench: Bench) -> None:
    desk = _open(bench, Idle(idle="10m"))
    desk.press("addCondition_idle")
    assert (desk.error("condition0"), desk.error("condition1")) == ("", "The same condition appears twice.")


@pytest.mark.parametrize(("path", "target"), [("host", "condition1FormHost"), ("port", "condition1FormPort")])
def test_a_refusal_of_the_service_lands_at_its_field(bench: Bench, path: str, target: str) -> None:
    desk = _open(bench, MainsPower(), _HOST)
    desk.editor.turn_to(PageNumber.WHAT)
    desk.press("enabled")
    desk.editor.show_error(f"policy.conditions[1].{path}", "is nothing that could be asked")
    assert desk.error("condition1") == "The value is nothing that could be asked."
    assert (desk.pages.currentRow(), desk.focus) == (PageNumber.CONDITIONS, target)
    desk.editor.show_error("policy.conditions", "a job has at most 20 conditions")
    assert desk.error("conditionOffer") == "A job has at most 20 conditions."


@pytest.mark.parametrize(
    ("typed", "host", "port"),
    [
        ("nas.local:445", "nas.local", 445),
        ("[2001:db8::1]:443", "2001:db8::1", 443),
        ("2001:db8::1", "2001:db8::1", 22),
        ("nas:99999", "nas:99999", 22),
        ("nas:٤٤٥", "nas:٤٤٥", 22),
        ("https://nas.local", "https://nas.local", 22),
    ],
)
def test_an_address_typed_as_one_is_taken_apart(bench: Bench, typed: str, host: str, port: int) -> None:
    desk = _open(bench)
    desk.press("addCondition_host")
    desk.line("condition0FormHost").insert(typed)
    desk.key(Qt.Key.Key_Tab)
    shown = desk.line("condition0FormHost").text(), desk.find(QSpinBox, "condition0FormPort").value()
    assert shown == (host, port)


def test_a_folder_is_chosen_in_a_dialog(bench: Bench, tmp_path: Path) -> None:
    desk = _open(bench)
    desk.press("addCondition_path")
    desk.press("condition0FormChoose")
    dialog = desk.editor.findChild(QFileDialog)
    assert dialog is not None
    assert dialog.directory() == QDir.home(), "not the program's working directory"
    dialog.fileSelected.emit(str(tmp_path))
    dialog.close()
    assert desk.save().policy.conditions == (PathExists(path=str(tmp_path)),)


def test_the_deadline_is_there_once_there_is_something_to_wait_for(bench: Bench) -> None:
    desk = _open(bench)
    row = desk.find(QWidget, "deadlineRow")
    assert not row.isVisible()
    desk.press("addCondition_network")
    assert row.isVisible()
    desk.press("hasDeadline")
    desk.find(QSpinBox, "deadlineNumber").setValue(3)
    assert desk.save().policy.condition_deadline == "3h"
    assert desk.pages.summary(PageNumber.CONDITIONS) == "network · waits up to 3 h"
    desk.press("condition0Remove")
    assert row.isVisible()
    desk.press("hasDeadline")
    assert not row.isVisible()
    assert not desk.editor.has_unsaved_changes()


def test_the_behaviour_in_quiet_hours_is_chosen(bench: Bench) -> None:
    desk = _open(bench)
    desk.find(QComboBox, "inQuietTime").setCurrentIndex(1)
    assert desk.save().policy.in_quiet_time is InQuietTime.SKIP
    assert desk.pages.summary(PageNumber.CONDITIONS) == "none · skipped in quiet hours"


def test_the_quiet_hours_of_its_group_are_shown(bench: Bench) -> None:
    days = (Weekday.MONDAY, Weekday.SUNDAY)
    meetings = QuietTime(group="work", days=days, start="14:00", end="15:00", timezone="Europe/Berlin")
    desk = _open(bench)
    assert desk.label("quietTimes").startswith("No quiet hours set up.")
    bench.change_settings(quiet_times=(meetings,))
    assert desk.label("quietTimes") == "No quiet hours apply to this job."
    bench.change_settings(quiet_times=(meetings, _NIGHTS))
    nights = "Nights · Every day, 22:00 to 06:00 · all jobs"
    assert desk.label("quietTimes") == f"Quiet hours of this job:\n{nights}"
    desk.find(QComboBox, "group").setEditText("work")
    assert desk.label("quietTimes").split("\n")[1:] == [
        "Quiet hours · Mon and Sun, 14:00 to 15:00 · group work · Europe/Berlin",
        nights,
    ]
    bench.change_settings(quiet_times=tuple(replace(_NIGHTS, name=f"<b>{count}</b>") for count in range(9)))
    assert desk.label("quietTimes").endswith("\nand 5 more")
    assert desk.find(QLabel, "quietTimes").textFormat() is Qt.TextFormat.PlainText


def test_a_link_opens_the_settings_of_quiet_hours(bench: Bench, qtbot: QtBot) -> None:
    desk = _open(bench)
    with qtbot.waitSignal(desk.editor.quiet_times_requested):
        desk.press("openQuietTimes")


@pytest.mark.usefixtures("machine_in_berlin")
def test_blockers_of_the_next_runs_are_shown_beside_them(bench: Bench) -> None:
    desk = _open(bench, MainsPower(), Network())
    assert _notes(desk)[-1] == "When due, the job waits for AC power and network."
    bench.change_settings(quiet_times=(replace(_NIGHTS, days=(Weekday.TUESDAY,)),))
    desk.settle()
    words = "The Wed 15 Jul, 02:30 run falls in the quiet hours “Nights” and waits until 06:00."
    assert _notes(desk)[-1] == words
    bench.change_settings(quiet_times=(replace(_NIGHTS, name=""),))
    desk.find(QComboBox, "inQuietTime").setCurrentIndex(1)
    desk.settle()
    assert _notes(desk)[-1] == "5 of these runs fall in quiet hours and will be skipped."


def test_the_tab_key_goes_through_the_conditions_and_on(bench: Bench) -> None:
    desk = _open(bench, _HOST, Idle(), PathExists(path="/a"))
    desk.press("addCondition_load")
    desk.line("condition0FormHost").setFocus()
    visited = [desk.focus]
    while len(visited) < 30 and visited[-1] != "inQuietTime":
        desk.key(Qt.Key.Key_Tab)
        visited.append(desk.focus)
    expected = (
        "condition0FormHost condition0FormPort condition0Remove condition1FormIdleNumber condition1FormIdleUnit "
        "condition1Remove condition2FormPath condition2FormChoose condition2Remove condition3FormBelow "
        "condition3Remove addCondition_mains addCondition_network addCondition_host addCondition_idle "
        "addCondition_load addCondition_path hasDeadline inQuietTime"
    )
    assert " ".join(visited) == expected


def test_the_first_field_has_the_keyboard(bench: Bench) -> None:
    assert _open(bench).focus == "addCondition_mains"
    assert _open(bench, MainsPower(), _HOST).focus == "condition1FormHost"
    # A key more must not take away what was just added.
    desk = _open(bench, MainsPower())
    assert desk.focus == "addCondition_network"
    desk.press("addCondition_network")
    assert desk.focus == "addCondition_host"


def test_hostile_names_are_shown_as_they_are(bench: Bench) -> None:
    path = PathExists(path="/<b>x</b>\u202e&" + "y" * 300)
    sentence = f"{path.path} does not exist."
    bench.scheduler.states[path] = ConditionState(is_observable=True, holds=False, sentence=sentence)
    desk = _open(bench, path)
    desk.editor.grab()
    assert "<b>x</b>" in _looks(desk)[0]
    assert desk.find(QLineEdit, "condition0FormPath").text() == path.path
    found = desk.editor.findChildren(QLabel)
    assert all(one.textFormat() is Qt.TextFormat.PlainText for one in found if one.text())


def test_idle_time_is_not_offered_where_it_cannot_be_detected(bench: Bench) -> None:
    sentence = "Idle time can't be detected on this system."
    bench.scheduler.states[Idle(idle="5m")] = ConditionState(
        is_observable=False, holds=None, sentence=sentence
    )
    desk = bench.open()
    desk.editor.turn_to(PageNumber.CONDITIONS)
    desk.settle()
    offer = desk.find(QAbstractButton, "addCondition_idle")
    assert not offer.isEnabled()
    assert offer.toolTip() == sentence
    assert desk.find(QAbstractButton, "addCondition_load").isEnabled()


@pytest.mark.usefixtures("large_letters")
def test_with_large_letters_the_buttons_that_add_a_condition_are_not_cut(bench: Bench, qtbot: QtBot) -> None:
    desk = _open(bench, _HOST)
    desk.editor.resize(720, 420)
    offers = desk.find(QWidget, "conditionOffer").findChildren(QAbstractButton)
    qtbot.waitUntil(lambda: all(one.width() >= one.sizeHint().width() for one in offers))
    assert desk.find(QLineEdit, "condition0FormHost").width() >= 128
