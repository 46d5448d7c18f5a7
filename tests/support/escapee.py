"""A program that gets away as thoroughly as a daemon can, and then sleeps.

It loses its parent, begins a session of its own, and keeps neither environment nor descriptors nor directory.
Arguments: the file for its number, the seconds it sleeps, and the value to set the limit to that marks it.
"""

import os
import resource
import sys
from pathlib import Path

_LOCKS = 10


def main() -> None:
    path, seconds, *rest = sys.argv[1:]
    if os.fork():
        os.wait()
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    os.chdir("/")
    for limit in rest:
        resource.setrlimit(_LOCKS, (int(limit), resource.RLIM_INFINITY))
    new = Path(f"{path}.new")
    new.write_text(f"{os.getpid()}\n")
    new.rename(path)
    os.closerange(0, 256)
    os.execve("/bin/sleep", ["sleep", seconds], {})  # noqa: S606 - no shell is wanted


main()
