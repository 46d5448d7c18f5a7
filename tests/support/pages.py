"""One function as the page of every path of a site."""

from __future__ import annotations

import threading

from http_site import Page, Seen


class SeenByThread(list[Seen]):
    """All requests, and which of them the present thread is to answer."""

    def __init__(self) -> None:
        super().__init__()
        self.mine = threading.local()

    def append(self, seen: Seen) -> None:
        self.mine.seen = seen
        super().append(seen)


class EveryPath(dict[str, Page]):
    """One page for whatever path is asked for."""

    def __init__(self, page: Page) -> None:
        super().__init__()
        self._page = page

    def get(self, _path: str, _default: object = None) -> Page:
        return self._page
