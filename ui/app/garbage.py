"""Looking for garbage in the window's thread alone: who finds it destroys it, and no other thread may do that to Qt's.

Left to itself, the interpreter looks in whichever thread makes the next object. See docs/adr/0010.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QAbstractEventDispatcher, QObject

# Looking stops all threads for as long as there are objects; with thousands of jobs that shows.
MOST_NEW_OBJECTS = 20_000
_MOST_SHORT_LOOKS = 20
_MOST_LONGER_LOOKS = 50


class GarbageCollector(QObject):
    """Looks when the event loop is about to wait and enough may have gathered; it never wakes the program."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        gc.disable()
        QAbstractEventDispatcher.instance().aboutToBlock.connect(self._look)

    def _look(self) -> None:
        new_objects, short_looks, longer_looks = gc.get_count()
        if new_objects <= MOST_NEW_OBJECTS:
            return
        if longer_looks > _MOST_LONGER_LOOKS:
            gc.collect()
        else:
            gc.collect(1 if short_looks > _MOST_SHORT_LOOKS else 0)
