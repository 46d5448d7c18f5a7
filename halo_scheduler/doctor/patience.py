"""Waiting for an answer, but not for ever."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


def within(limit_s: float, work: Callable[[], T]) -> T:
    """Return what some work returns, or raise what it raises; TimeoutError when it takes too long.

    Then it goes on by itself: a drive or a service that never answers cannot be hurried, only left alone.
    """
    attempt = _Attempt(work)
    thread = threading.Thread(target=attempt.run, name="halo-doctor", daemon=True)
    thread.start()
    thread.join(limit_s)
    if attempt.fault is not None:
        raise attempt.fault
    if not attempt.answers:
        raise TimeoutError(f"there was no answer within {limit_s:g} s")
    return attempt.answers[0]


class _Attempt(Generic[T]):
    """Some work on a thread of its own, and what came of it."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self.answers: list[T] = []
        self.fault: BaseException | None = None

    def run(self) -> None:
        try:
            self.answers.append(self._work())
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            self.fault = error
