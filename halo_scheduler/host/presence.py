"""Whether a file or a folder is there."""

from __future__ import annotations

import os


class ForeignPathError(Exception):
    """The path is none of this system's."""


def is_of_this_system(path: str) -> bool:
    """Tell whether a path is a whole one here, without looking for it.

    Any other would be looked for in the folder in which the program happens to have been started.
    """
    return os.path.isabs(_expanded(path))  # noqa: PTH117


def is_there(path: str) -> bool:
    """Tell whether something is at a path; OSError when it cannot be seen.

    On a drive that does not answer this may wait for ever.
    """
    whole = _expanded(path)
    if not is_of_this_system(path):
        raise ForeignPathError
    try:
        os.stat(whole)  # noqa: PTH116
    except (FileNotFoundError, NotADirectoryError, ValueError):
        # The last for a name that no file can have.
        return False
    return True


def _expanded(path: str) -> str:
    return os.path.expanduser(path)  # noqa: PTH111 - a Path would raise where there is no home
