"""The engine's inbox: however much arrives before it is taken in, one wake-up is enough."""

from __future__ import annotations

from halo_scheduler.actions.threads import Inbox


def test_one_wake_up_is_enough_until_the_news_is_taken_in() -> None:
    inbox = Inbox()
    assert [inbox.needs_wake() for _ in range(3)] == [True, False, False]
    inbox.take_in()
    assert inbox.needs_wake()


def test_news_put_while_other_news_is_taken_in_is_not_left_without_a_wake_up() -> None:
    inbox = Inbox()
    needed: list[bool] = []
    inbox.put(lambda: needed.append(inbox.needs_wake()))
    inbox.needs_wake()
    inbox.take_in()
    assert needed == [True]
