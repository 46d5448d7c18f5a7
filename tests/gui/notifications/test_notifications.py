"""Desktop notifications: which are shown, with a bus and a notification service of our own."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from time import monotonic
from urllib.parse import unquote, urlparse

import pytest
from asking import ask
from notification_server import NotificationServer, private_bus
from past_runs import Past
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from halo_scheduler import Every, Outcome, Policy, Scheduler, Trigger
from halo_scheduler.clock import ManualClock
from halo_scheduler.engine.watchdog import record_alarm
from halo_scheduler.model import Caps, CatchUp, Follower, Manual, Notify
from halo_scheduler.model.alarms import Alarm, AlarmKind
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.settings import QuietTime
from halo_scheduler.triggers.watching import note_trouble
from halo_scheduler.wording.notices import Notice, NoticeAction, NoticeKind
from ui.backend.backend import Backend
from ui.notifications.notifications import Alerts, Notifications

_ALL = ("body", "body-markup", "actions")
_FAILED = Notice(
    kind=NoticeKind.FAILED, title="backup failed", text="Exit code 1.", job_id="b", run_ids=("r1",)
)
_DISABLED = Notice(kind=NoticeKind.DISABLED, title="mail was disabled", text="It failed.", job_id="m")
_GAP = Notice(kind=NoticeKind.GAP, title="Halo was not running", text="3 caught up", run_ids=("r1", "r2"))
# An answer that never comes would be waited for twice as long.
_LONG_S = 30
Serve = Callable[..., NotificationServer]
_NOW = 1_800_000_000_000
_HOUR = 3_600_000


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Run a bus for the tests of this module."""
    with private_bus() as address:
        yield address


@pytest.fixture
def serve(address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Give a way to put a notification service on the session bus."""
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
    servers: list[NotificationServer] = []

    def start(capabilities: tuple[str, ...] = _ALL, *, is_silent: bool = False) -> NotificationServer:
        servers.append(NotificationServer(address, capabilities=capabilities, is_silent=is_silent))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def refused() -> list[Notice]:
    """Return the list of what was left to the fallback."""
    return []


@pytest.fixture
def notifications(qapp: object, refused: list[Notice]) -> Iterator[Notifications]:
    """Give the notifications of a program."""
    assert qapp
    made = Notifications(refused.append, answer_limit_ms=2 * _LONG_S * 1_000)
    yield made
    made.close()


def _wait_for(qtbot: QtBot, server: NotificationServer, count: int) -> None:
    qtbot.waitUntil(lambda: len(server.told) == count)


def test_a_notice_is_sent_to_the_service(qtbot: QtBot, serve: Serve, notifications: Notifications) -> None:
    server = serve()
    notifications.show(_FAILED)
    _wait_for(qtbot, server, 1)
    (told,) = server.told
    assert (told.program, told.title, told.text) == ("Halo Scheduler", "backup failed", "Exit code 1.")
    assert (told.replaces, told.limit_ms) == (0, -1)
    actions = ["default", "Open", "show-output", "Show output", "run-again", "Run again", "pause", "Pause"]
    assert told.actions == actions
    assert told.hints == {"urgency": ("y", 1), "desktop-entry": ("s", "halo-scheduler")}
    assert Path(unquote(urlparse(told.icon).path)).read_bytes().startswith(b"<svg")


def test_a_job_that_disabled_itself_is_reported_with_urgency(
    qtbot: QtBot, serve: Serve, notifications: Notifications
) -> None:
    server = serve()
    notifications.show(_DISABLED)
    _wait_for(qtbot, server, 1)
    assert server.told[0].hints["urgency"] == ("y", 2)


def test_a_click_opens_the_notice(qtbot: QtBot, serve: Serve, notifications: Notifications) -> None:
    server = serve()
    notifications.show(_FAILED)
    notifications.show(_GAP)
    _wait_for(qtbot, server, 2)
    with qtbot.waitSignal(notifications.opened) as opened:
        server.click(server.told[1].number)
    assert opened.args == [_GAP]


def test_an_action_is_done_and_output_is_shown(
    qtbot: QtBot, serve: Serve, notifications: Notifications
) -> None:
    server = serve()
    notifications.show(_FAILED)
    _wait_for(qtbot, server, 1)
    with qtbot.waitSignal(notifications.acted) as acted:
        server.click(server.told[0].number, action="run-again")
    assert acted.args == [_FAILED, NoticeAction.RUN_AGAIN]
    notifications.show(_FAILED)
    _wait_for(qtbot, server, 2)
    with qtbot.waitSignal(notifications.opened) as opened:
        server.click(server.told[1].number, action="show-output")
    assert opened.args == [_FAILED]


def test_a_combined_notice_replaces_its_parts(
    qtbot: QtBot, serve: Serve, notifications: Notifications
) -> None:
    server = serve()
    notifications.show(_FAILED)
    _wait_for(qtbot, server, 1)
    folded = Notice(kind=_FAILED.kind, title="3 jobs failed", text="", run_ids=(*_FAILED.run_ids, "x", "y"))
    notifications.show(folded)
    _wait_for(qtbot, server, 2)
    assert server.told[1].replaces == server.told[0].number


def test_a_folded_notice_leaves_no_single_one_beside_it(
    qtbot: QtBot, serve: Serve, notifications: Notifications
) -> None:
    server = serve()
    other = replace(_FAILED, title="mail failed", job_id="m", run_ids=("r2",))
    unrelated = replace(_FAILED, title="sync failed", job_id="s", run_ids=("r9",))
    for count, single in enumerate((_FAILED, other, unrelated), 1):
        notifications.show(single)
        _wait_for(qtbot, server, count)
    notifications.show(Notice(kind=_FAILED.kind, title="3 jobs failed", text="", run_ids=("r1", "r2", "r3")))
    _wait_for(qtbot, server, 4)
    assert server.told[3].replaces == server.told[0].number
    qtbot.waitUntil(lambda: server.closed == [server.told[1].number])


def test_the_desktops_leave_to_come_to_the_front_is_there_while_the_notice_opens(
    qtbot: QtBot, serve: Serve, notifications: Notifications
) -> None:
    server = serve()
    leaves: list[str | None] = []
    notifications.opened.connect(lambda _: leaves.append(os.environ.get("XDG_ACTIVATION_TOKEN")))
    notifications.show(_FAILED)
    _wait_for(qtbot, server, 1)
    server.click(1, leave="leave-7")
    qtbot.waitUntil(lambda: bool(leaves))
    assert leaves == ["leave-7"]
    assert "XDG_ACTIVATION_TOKEN" not in os.environ


def test_foreign_signals_and_other_actions_open_nothing(
    qtbot: QtBot, serve: Serve, notifications: Notifications
) -> None:
    server = serve()
    opened: list[Notice] = []
    notifications.opened.connect(opened.append)
    notifications.show(_FAILED)
    notifications.show(_GAP)
    _wait_for(qtbot, server, 2)
    server.click(77)
    server.click(1, action="settings")
    server.click(1)  # Closed by the click before: the number may be another program's now.
    server.click(2)
    qtbot.waitUntil(lambda: bool(opened))
    assert opened == [_GAP]


def test_the_next_notice_on_a_job_replaces_the_last(
    qtbot: QtBot, serve: Serve, notifications: Notifications
) -> None:
    server = serve()
    recovered = Notice(kind=NoticeKind.RECOVERED, title="backup works again", text="", job_id="b")
    for notice in (_FAILED, _DISABLED, recovered):
        notifications.show(notice)
    _wait_for(qtbot, server, 3)
    assert [told.replaces for told in server.told] == [0, 0, 1]
    with qtbot.waitSignal(notifications.opened) as opened:
        server.click(1)
    assert opened.args == [recovered]


def test_a_notice_that_was_closed_is_not_replaced(
    qtbot: QtBot, serve: Serve, notifications: Notifications
) -> None:
    server = serve()
    notifications.show(_FAILED)
    notifications.show(_GAP)
    _wait_for(qtbot, server, 2)
    server.dismiss(1)
    # What it learns of later, it learns of after that.
    with qtbot.waitSignal(notifications.opened):
        server.click(2)
    notifications.show(_FAILED)
    _wait_for(qtbot, server, 3)
    assert server.told[2].replaces == 0


def test_two_notices_on_no_job_are_side_by_side(
    qtbot: QtBot, serve: Serve, notifications: Notifications
) -> None:
    server = serve()
    notifications.show(_GAP)
    notifications.show(_GAP)
    _wait_for(qtbot, server, 2)
    assert [told.replaces for told in server.told] == [0, 0]


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [(_ALL, "a &lt;b&gt; &amp; \"c\" 'd'"), (("body",), "a <b> & \"c\" 'd'")],
    ids=["markup", "plain"],
)
def test_text_from_outside_is_plain_text(
    qtbot: QtBot, serve: Serve, notifications: Notifications, capabilities: tuple[str, ...], expected: str
) -> None:
    server = serve(capabilities)
    notifications.show(
        Notice(kind=NoticeKind.FAILED, title="<i>x</i> & failed", text="a <b> & \"c\" 'd'", job_id="b")
    )
    _wait_for(qtbot, server, 1)
    assert (server.told[0].title, server.told[0].text) == ("<i>x</i> & failed", expected)


def test_signs_that_no_message_can_carry_are_escaped(
    qtbot: QtBot, serve: Serve, notifications: Notifications
) -> None:
    server = serve()
    text = "one\ntwo\0three \udcff\x1b[31m \u202e" + "x" * 10_000
    notifications.show(Notice(kind=NoticeKind.FAILED, title=text, text=text, job_id="b"))
    _wait_for(qtbot, server, 1)
    (told,) = server.told
    assert told.title.startswith(r"one ↵ two\x00three \udcff\x1b[31m \u202ex")
    assert told.title.isprintable()
    assert len(told.title) <= 200
    assert len(told.text) <= 500


def test_a_service_without_actions_gets_no_buttons(
    qtbot: QtBot, serve: Serve, notifications: Notifications
) -> None:
    server = serve(("body",))
    notifications.show(_FAILED)
    _wait_for(qtbot, server, 1)
    assert server.told[0].actions == []


def test_a_restarted_service_is_queried_again(
    qtbot: QtBot, serve: Serve, notifications: Notifications
) -> None:
    first = serve()
    notifications.show(_FAILED)
    _wait_for(qtbot, first, 1)
    first.close()
    qtbot.waitUntil(lambda: notifications._service is not None and not notifications._service._shown)
    second = serve(("body",))
    notifications.show(_FAILED)
    _wait_for(qtbot, second, 1)
    assert second.calls == ["GetCapabilities", "Notify"]
    assert (second.told[0].replaces, second.told[0].actions) == (0, [])


def test_capabilities_are_asked_once(qtbot: QtBot, serve: Serve, notifications: Notifications) -> None:
    server = serve()
    notifications.show(_FAILED)
    notifications.show(_GAP)
    _wait_for(qtbot, server, 2)
    assert server.calls == ["GetCapabilities", "Notify", "Notify"]


@pytest.mark.usefixtures("serve")
def test_without_a_service_the_fallback_shows_each_notice(
    qtbot: QtBot, notifications: Notifications, refused: list[Notice]
) -> None:
    notifications.show(_FAILED)
    notifications.show(_GAP)
    qtbot.waitUntil(lambda: refused == [_FAILED, _GAP])


def test_a_service_that_comes_later_is_used(
    qtbot: QtBot, serve: Serve, notifications: Notifications, refused: list[Notice]
) -> None:
    notifications.show(_FAILED)
    qtbot.waitUntil(lambda: refused == [_FAILED])
    server = serve()
    notifications.show(_GAP)
    _wait_for(qtbot, server, 1)
    assert refused == [_FAILED]


@pytest.mark.parametrize(
    "broken", ["unix:path=/nowhere/bus", "tcp:host=localhost,port=1", "nonsense", ";", ""]
)
def test_without_a_bus_the_fallback_shows_each_notice(
    qtbot: QtBot,
    notifications: Notifications,
    refused: list[Notice],
    broken: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", broken)
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/nowhere")
    notifications.show(_FAILED)
    qtbot.waitUntil(lambda: refused == [_FAILED])
    notifications.show(_GAP)
    qtbot.waitUntil(lambda: refused == [_FAILED, _GAP])


def test_without_its_variable_the_bus_is_where_the_session_has_it(
    qtbot: QtBot, notifications: Notifications, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bus").symlink_to(address.removeprefix("unix:path=").partition(",")[0])
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    server = NotificationServer(address, capabilities=_ALL)
    notifications.show(_FAILED)
    _wait_for(qtbot, server, 1)
    server.close()


def test_on_another_system_the_fallback_shows_each_notice(
    qtbot: QtBot, notifications: Notifications, refused: list[Notice], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    notifications.show(_FAILED)
    qtbot.waitUntil(lambda: refused == [_FAILED])


def test_a_lost_bus_is_connected_again(
    qtbot: QtBot, notifications: Notifications, refused: list[Notice], monkeypatch: pytest.MonkeyPatch
) -> None:
    with private_bus() as address:
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
        server = NotificationServer(address, capabilities=_ALL)
        notifications.show(_FAILED)
        _wait_for(qtbot, server, 1)
        server.close()
    qtbot.waitUntil(lambda: notifications._service is None)
    with private_bus() as address:
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
        server = NotificationServer(address, capabilities=_ALL)
        notifications.show(_GAP)
        _wait_for(qtbot, server, 1)
        server.close()
    assert refused == []


@pytest.fixture
def deaf_bus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """Listen where the bus should be, and never answer."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "bus"))
        listener.listen(4)
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={tmp_path}/bus")
        yield listener


@pytest.mark.usefixtures("deaf_bus")
def test_a_bus_that_never_answers_leaves_notices_to_the_fallback(qtbot: QtBot, refused: list[Notice]) -> None:
    notifications = Notifications(refused.append, answer_limit_ms=50)
    notifications.show(_FAILED)
    qtbot.waitUntil(lambda: refused == [_FAILED])
    notifications.close()


def test_a_bus_that_never_answers_blocks_no_others(
    deaf_bus: socket.socket, notifications: Notifications, refused: list[Notice]
) -> None:
    began = monotonic()
    notifications.show(_FAILED)
    reached, _ = deaf_bus.accept()
    with reached:
        assert reached.recv(1) == b"\0"
        notifications.close()
    assert monotonic() - began < _LONG_S
    assert refused == []


def test_a_service_that_never_answers_blocks_no_others(
    qtbot: QtBot, serve: Serve, notifications: Notifications
) -> None:
    server = serve(is_silent=True)
    notifications.show(_FAILED)
    qtbot.waitUntil(lambda: server.calls == ["GetCapabilities"])
    notifications.show(_GAP)
    began = monotonic()
    notifications.close()
    assert monotonic() - began < _LONG_S


def test_a_service_that_never_answers_leaves_notices_to_the_fallback(
    qtbot: QtBot, serve: Serve, refused: list[Notice]
) -> None:
    serve(is_silent=True)
    notifications = Notifications(refused.append, answer_limit_ms=50)
    notifications.show(_FAILED)
    qtbot.waitUntil(lambda: refused == [_FAILED])
    notifications.close()


def test_a_service_that_answers_nonsense_leaves_notices_to_the_fallback(
    qtbot: QtBot, serve: Serve, notifications: Notifications, refused: list[Notice]
) -> None:
    server = serve()
    server.nonsense = ("s", ("what?",))
    notifications.show(_FAILED)
    notifications.show(_GAP)
    qtbot.waitUntil(lambda: refused == [_FAILED, _GAP])
    server.nonsense = None
    notifications.show(_DISABLED)
    _wait_for(qtbot, server, 1)


def test_a_call_from_another_program_is_ignored(
    qtbot: QtBot, serve: Serve, notifications: Notifications
) -> None:
    server = serve()
    notifications.show(_FAILED)
    _wait_for(qtbot, server, 1)
    server.call_back("Ping")
    with qtbot.waitSignal(notifications.opened):
        server.click(1)


def test_nothing_is_waited_for_while_nothing_happens(
    qtbot: QtBot, serve: Serve, notifications: Notifications
) -> None:
    threads = threading.active_count()
    assert notifications._service is None
    server = serve()
    notifications.show(_FAILED)
    assert notifications._answer_limit.isActive()
    _wait_for(qtbot, server, 1)
    qtbot.waitUntil(lambda: not notifications._answer_limit.isActive())
    assert threading.active_count() == threads + 1, "the server's own thread"


def test_closing_twice_does_nothing(serve: Serve, notifications: Notifications) -> None:
    serve()
    notifications.show(_FAILED)
    notifications.close()
    notifications.close()


class Shown(QObject):
    """Stands in for the desktop's notifications."""

    def __init__(self) -> None:
        super().__init__()
        self.notices: list[Notice] = []

    def show(self, notice: Notice) -> None:
        self.notices.append(notice)


class Stage:
    """An engine that is driven by hand, and what the user is told."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = ManualClock(_NOW)
        self.outcome = Outcome.FAILURE
        self.open()
        self.shown = Shown()
        self.backend = Backend.inline(self.scheduler, self.clock)
        self.alerts = Alerts(self.backend, self.shown)  # type: ignore[arg-type] # a stand-in

    def open(self) -> None:
        self.scheduler = Scheduler.open(self.path, clock=self.clock)
        self.scheduler.on_job_due(lambda _job, _run: self.outcome)


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot) -> Iterator[Stage]:  # noqa: ARG001 - a loop
    monkeypatch.setattr("ui.notifications.notifications._GAP_SETTLES_MS", 10)
    monkeypatch.setattr("ui.notifications.notifications._GATHER_MS", 10)
    made = Stage(tmp_path / "halo.db")
    yield made
    made.scheduler.close()


def _kinds(stage: Stage) -> list[NoticeKind]:
    return [notice.kind for notice in stage.shown.notices]


def test_a_failure_is_reported_once_until_it_recovers(stage: Stage, qtbot: QtBot) -> None:
    stage.scheduler.add_job("backup", Every("1h"), policy=Policy(catch_up=CatchUp.SKIP))
    stage.scheduler.tick()
    for _ in range(2):
        stage.clock.advance(_HOUR)
        stage.scheduler.tick()
    qtbot.waitUntil(lambda: NoticeKind.FAILED in _kinds(stage))
    stage.outcome = Outcome.SUCCESS
    stage.clock.advance(_HOUR)
    stage.scheduler.tick()
    qtbot.waitUntil(lambda: NoticeKind.RECOVERED in _kinds(stage))
    told = [kind for kind in _kinds(stage) if kind is not NoticeKind.GAP]
    assert told == [NoticeKind.FAILED, NoticeKind.RECOVERED]


def test_nine_failures_of_one_moment_are_one_notification(stage: Stage, qtbot: QtBot) -> None:
    for number in range(9):
        stage.scheduler.add_job(f"job {number}", Every("1h"), policy=Policy(catch_up=CatchUp.SKIP))
    stage.scheduler.settings.change(max_concurrent=9)
    stage.scheduler.tick()
    stage.clock.advance(_HOUR)
    stage.scheduler.tick()
    qtbot.waitUntil(lambda: any(notice.title == "9 jobs failed" for notice in stage.shown.notices))
    assert len([kind for kind in _kinds(stage) if kind is NoticeKind.FAILED]) <= 2


def test_a_run_reported_twice_notifies_once(stage: Stage, qtbot: QtBot) -> None:
    stage.scheduler.add_job("backup", Every("1h"))
    stage.scheduler.tick()
    stage.clock.advance(_HOUR)
    stage.scheduler.tick()
    qtbot.waitUntil(lambda: bool(stage.shown.notices))
    (run,) = stage.scheduler.get_run_log()
    with qtbot.waitSignal(stage.backend.changed):
        stage.backend.tell(Change(ChangeKind.RUN_FINISHED, run.job_id, run.id))
    # Another failing job's alert comes after whatever the repetition would have caused.
    stage.scheduler.add_job("other", Every("1h"))
    stage.clock.advance(_HOUR)
    stage.scheduler.tick()
    qtbot.waitUntil(lambda: any(notice.title.startswith("other") for notice in stage.shown.notices))
    assert len([notice for notice in stage.shown.notices if notice.title.startswith("backup")]) == 1


def test_trouble_with_an_event_is_notified_once_until_it_is_over(stage: Stage, qtbot: QtBot) -> None:
    job_id = stage.scheduler.add_job("backup", Every("1h"))
    store, change = stage.scheduler._store, Change(ChangeKind.WATCH, job_id)

    def note(text: str) -> None:
        with store.transaction():
            note_trouble(store, (job_id, ""), text, _NOW)
        with qtbot.waitSignal(stage.backend.changed):
            stage.backend.tell(change)

    note("logind does not run")
    qtbot.waitUntil(lambda: bool(stage.shown.notices))
    note("logind does not run")
    note("")
    note("logind does not run")
    qtbot.waitUntil(lambda: len(stage.shown.notices) == 2)
    assert _kinds(stage) == [NoticeKind.TROUBLED] * 2
    stage.backend.tell(Change(ChangeKind.WATCH, "gone"))


def test_a_downtime_is_reported_once_with_its_missed_runs(stage: Stage, qtbot: QtBot) -> None:
    stage.outcome = Outcome.SUCCESS
    for name in ("one", "two"):
        stage.scheduler.add_job(name, Every("1h"), policy=Policy(catch_up=CatchUp.SKIP))
    stage.scheduler.add_job("three", Every("1h"))
    stage.scheduler.tick()
    stage.clock.advance(10 * _HOUR)
    stage.scheduler.tick()
    qtbot.waitUntil(lambda: NoticeKind.GAP in _kinds(stage))
    (gap,) = [notice for notice in stage.shown.notices if notice.kind is NoticeKind.GAP]
    assert "1 run caught up" in gap.text + gap.title
    assert "2 missed" in gap.text + gap.title


def test_a_gap_that_an_engine_found_at_its_start_is_reported(stage: Stage, qtbot: QtBot) -> None:
    stage.outcome = Outcome.SUCCESS
    stage.scheduler.add_job("one", Every("1h"), policy=Policy(catch_up=CatchUp.SKIP))
    stage.scheduler.tick()
    stage.scheduler.stop()
    stage.clock.advance(10 * _HOUR)
    # Another connection, so that nothing is heard of what it finds.
    with Scheduler.open(stage.path, clock=stage.clock) as engine:
        engine.tick()
    stage.alerts.expect_gap()
    qtbot.waitUntil(lambda: _kinds(stage) == [NoticeKind.GAP])


def test_a_success_is_reported_with_its_last_line(stage: Stage, qtbot: QtBot) -> None:
    past = Past(stage.scheduler)
    job_id = stage.scheduler.add_job("report", Manual(), policy=Policy(notify=Notify.ALL))
    run = past.run(job_id, _NOW, trigger=Trigger.CHAIN, output=b"reading\n12 rows written\n")
    stage.backend.tell(Change(ChangeKind.RUN_FINISHED, job_id, run.id))
    qtbot.waitUntil(lambda: _kinds(stage) == [NoticeKind.SUCCEEDED])
    assert stage.shown.notices[0].text == "12 rows written"


def test_a_question_is_reported_with_its_words(stage: Stage, qtbot: QtBot) -> None:
    question = ask(stage.scheduler, stage.scheduler.add_job("fix", Manual()), "Which <branch>?")
    qtbot.waitUntil(lambda: _kinds(stage) == [NoticeKind.NEEDS_INPUT])
    (notice,) = stage.shown.notices
    assert (notice.title, notice.text) == ("fix needs you", "Which <branch>?")
    assert notice.run_ids == (question.run_id,)


@pytest.mark.usefixtures("machine_in_utc")
def test_a_daily_limit_is_reported_once_a_day(stage: Stage, qtbot: QtBot) -> None:
    stage.outcome = Outcome.SUCCESS
    stage.scheduler.add_job("fix", Every("1h"), policy=Policy(caps=Caps(runs_per_day=1)))
    stage.scheduler.tick()
    for _ in range(4):
        stage.clock.advance(_HOUR)
        stage.scheduler.tick()
    qtbot.waitUntil(lambda: NoticeKind.CAPPED in _kinds(stage))
    # What is told later would have come before this one.
    ask(stage.scheduler, stage.scheduler.add_job("other", Manual()))
    qtbot.waitUntil(lambda: NoticeKind.NEEDS_INPUT in _kinds(stage))
    assert _kinds(stage).count(NoticeKind.CAPPED) == 1


def test_a_missing_next_job_is_reported_once_a_day(stage: Stage, qtbot: QtBot) -> None:
    stage.outcome = Outcome.SUCCESS
    gone = stage.scheduler.add_job("report", Manual())
    job_id = stage.scheduler.add_job("backup", Manual(), followers=[Follower(job_id=gone)])
    stage.scheduler.remove_job(gone)
    for _ in range(2):
        stage.scheduler.trigger(job_id)
        stage.scheduler.tick()
    qtbot.waitUntil(lambda: NoticeKind.CHAIN_BROKEN in _kinds(stage))
    assert [notice.title for notice in stage.shown.notices] == ["report did not run after backup"]


def test_a_paused_next_job_is_reported(stage: Stage, qtbot: QtBot) -> None:
    stage.outcome = Outcome.SUCCESS
    paused = stage.scheduler.add_job("report", Manual())
    job_id = stage.scheduler.add_job("backup", Manual(), followers=[Follower(job_id=paused)])
    stage.scheduler.pause_job(paused)
    stage.scheduler.trigger(job_id)
    stage.scheduler.tick()
    qtbot.waitUntil(lambda: NoticeKind.CHAIN_BROKEN in _kinds(stage))
    (notice,) = stage.shown.notices
    assert (notice.title, notice.job_id) == ("report did not run", paused)
    assert notice.text == "It was triggered by backup, but it was paused at that time."


def test_a_next_job_removed_while_it_waits_is_reported_after_the_causing_run(
    stage: Stage, qtbot: QtBot
) -> None:
    stage.outcome = Outcome.SUCCESS
    then = stage.scheduler.add_job("report", Manual())
    job_id = stage.scheduler.add_job("backup", Manual(), followers=[Follower(job_id=then)])
    whole_day = QuietTime(start="00:00", end="24:00")
    stage.scheduler.settings.change(quiet_times=(whole_day,), notify=Notify.ALL)
    run_id = stage.scheduler.trigger(job_id)
    stage.scheduler.tick()
    with qtbot.waitSignal(stage.backend.changed):
        stage.scheduler.tick()
        stage.scheduler.remove_job(then)
    assert NoticeKind.CHAIN_BROKEN not in _kinds(stage)
    stage.scheduler.tick()
    qtbot.waitUntil(lambda: NoticeKind.CHAIN_BROKEN in _kinds(stage))
    stage.backend.tell(Change(ChangeKind.RUN_FINISHED, job_id, run_id))
    ask(stage.scheduler, stage.scheduler.add_job("other", Manual()))
    qtbot.waitUntil(lambda: NoticeKind.NEEDS_INPUT in _kinds(stage))
    assert _kinds(stage).count(NoticeKind.CHAIN_BROKEN) == 1


def test_an_alarm_is_reported_once_though_its_thread_and_the_journal_both_report(
    stage: Stage, qtbot: QtBot
) -> None:
    told: list[Notice] = []
    stage.alerts.alarm_told.connect(told.append)
    alarm = Alarm(AlarmKind.SILENT, _NOW + 1)
    record_alarm(stage.path, alarm)
    stage.alerts.notify_alarm(alarm)
    record_alarm(stage.path, Alarm(AlarmKind.STARVED, _NOW + 2))
    for _ in range(2):
        stage.backend.tell(Change(ChangeKind.ENGINE))
    qtbot.waitUntil(lambda: len(told) == 2)
    qtbot.wait(50)
    assert [notice.title for notice in told] == [
        "Halo isn't running your jobs",
        "Halo isn't starting due jobs",
    ]
    assert _kinds(stage) == [NoticeKind.STUCK] * 2


def test_alarms_from_before_the_start_are_not_notified(stage: Stage, qtbot: QtBot) -> None:
    for at in (_NOW - 1, _NOW):
        record_alarm(stage.path, Alarm(AlarmKind.SILENT, at))
    stage.backend.tell(Change(ChangeKind.ENGINE))
    qtbot.waitUntil(lambda: bool(stage.shown.notices))
    qtbot.wait(50)
    assert _kinds(stage) == [NoticeKind.STUCK]
