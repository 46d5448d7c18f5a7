"""The file of a login entry: read, replaced atomically, removed, with errors as sentences."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from halo_scheduler.errors import SchedulerError
from halo_scheduler.host.private_files import make_folders


def read(path: Path) -> bytes | None:
    """Return the content of the file; None if there is none."""
    with _in_a_sentence("read", path):
        try:
            return path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None


def replace(path: Path, content: bytes) -> None:
    """Replace the content atomically; a symbolic link stays a link."""
    with _in_a_sentence("write", path):
        make_folders(path.parent)
        target = Path(os.path.realpath(path))
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(target)
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise


def remove(path: Path) -> None:
    """Remove the file, if it exists."""
    with _in_a_sentence("remove", path), suppress(NotADirectoryError):
        path.unlink(missing_ok=True)


@contextmanager
def _in_a_sentence(verb: str, path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise SchedulerError(
            f"cannot {verb} {path}: {reason}; check that the folder is yours to change"
        ) from error
