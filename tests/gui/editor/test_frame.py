"""The list of pages and the footer of the editor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from editor_desk import FULL, Bench, opened_bench
from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QFontMetrics
from pytestqt.qtbot import QtBot

from halo_scheduler.model import (
    Follower,
    FollowOn,
    Idle,
    Load,
    MainsPower,
    Manual,
    Network,
    PathExists,
)
from ui.editor.draft import PageNumber
from ui.editor.frame import ElidedLink, _wrapped
from ui.forms.fields import Page

_CONDITIONS = (
    MainsPower(),
    Network(host="nas.local", port=22),
    Idle(),
    Load(below=1.5),
    PathExists(path="/mnt/backup"),
)


@pytest.fixture
def bench(tmp_path: Path, qtbot: QtBot) -> Iterator[Bench]:
    with opened_bench(tmp_path, qtbot) as found:
        yield found


def test_a_long_problem_ends_with_an_ellipsis_where_it_does_not_fit(bench: Bench, qtbot: QtBot) -> None:
    desk = bench.open(FULL)
    desk.press("scheduleKind_cron")
    desk.write("cron", "30 2 31 2 * and much more that cron does not know")
    desk.editor.resize(720, 420)
    qtbot.waitUntil(lambda: desk.editor.width() == 720)
    link = desk.find(ElidedLink, "saveReason")
    shown = link.shown_text()
    assert shown.endswith("…")
    assert link.text().startswith(shown[:-1])
    assert link.accessibleName() == link.text()


def test_pages_stay_in_place_while_summaries_change(bench: Bench) -> None:
    desk = bench.open(FULL)
    pages = desk.pages

    def tops() -> list[int]:
        return [pages.visualItemRect(pages.item(row)).top() for row in range(pages.count())]

    before = tops()
    pages.set_state(PageNumber.WHEN, "", has_problem=False)
    pages.set_state(
        PageNumber.WHAT, "a long summary that needs more than a single line here", has_problem=False
    )
    assert tops() == before


def test_only_the_last_line_of_a_summary_ends_with_an_ellipsis(qtbot: QtBot) -> None:  # noqa: ARG001 - starts Qt
    metrics = QFontMetrics(QFont())
    words = "at 18:00 on the last day of every month, only on business days in Germany"
    longest = max(metrics.horizontalAdvance(word) for word in words.split())
    for room in range(longest + 2, 2 * metrics.horizontalAdvance(words)):
        lines = _wrapped(words, metrics, room, 2)
        assert not any(line.endswith("…") for line in lines[:-1]), room


def test_low_windows_show_all_pages_with_one_line_each(bench: Bench, qtbot: QtBot) -> None:
    desk = bench.open(FULL)
    desk.editor.resize(720, 420)
    qtbot.waitUntil(lambda: desk.pages.height() < 400)
    qtbot.waitUntil(lambda: not desk.pages.verticalScrollBar().isVisible())


@pytest.mark.parametrize("key", [Qt.Key.Key_S, Qt.Key.Key_Return])
def test_control_with_s_or_return_saves(bench: Bench, key: Qt.Key) -> None:
    desk = bench.open(FULL)
    desk.write("name", "other")
    desk.key(key, Qt.KeyboardModifier.ControlModifier)
    assert [spec.name for spec in desk.saved] == ["other"]


def _is_whole(page: Page) -> bool:
    return page.horizontalScrollBar().maximum() == 0


@pytest.mark.usefixtures("large_letters")
@pytest.mark.parametrize("place", PageNumber)
def test_every_page_fits_a_small_screen_with_large_letters(
    bench: Bench, qtbot: QtBot, place: PageNumber
) -> None:
    next_job = bench.scheduler.add_job("Text me that the backup failed", Manual(), FULL.action)
    policy = replace(FULL.policy, conditions=_CONDITIONS)
    desk = bench.open(
        replace(FULL, policy=policy, followers=(Follower(job_id=next_job, on=FollowOn.FAILURE),))
    )
    desk.editor.setMinimumSize(624, 340)
    desk.editor.resize(624, 340)
    desk.editor.turn_to(place)
    page = desk.editor._form.currentWidget()
    assert isinstance(page, Page)
    qtbot.waitUntil(lambda: page.isVisible() and page.verticalScrollBar().maximum() > 0)
    assert _is_whole(page), page.horizontalScrollBar().maximum()


@pytest.mark.usefixtures("styled")
def test_in_a_narrow_window_the_pages_are_icons_and_leave_the_room_to_the_fields(
    bench: Bench, qtbot: QtBot
) -> None:
    desk = bench.open(FULL)
    wide = desk.pages.width()
    desk.editor.setMinimumSize(640, 400)
    desk.editor.resize(640, 420)
    for place in PageNumber:
        desk.editor.turn_to(place)
        page = desk.editor._form.currentWidget()
        assert isinstance(page, Page)
        qtbot.waitUntil(page.isVisible)
        qtbot.waitUntil(partial(_is_whole, page))
    assert desk.pages.width() < wide / 3
    assert desk.pages.item(PageNumber.WHEN).toolTip()
    desk.editor.resize(720, 420)
    assert desk.pages.width() == wide
