"""The mark that the kernel keeps: who inherits it, and that it forbids nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from marking import set_mark

from halo_scheduler.host.process_tree import is_mark, mark_of, marking_line, read_mark

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such a limit")

if sys.platform != "win32":
    import resource

_UNLIMITED = -1


def test_marks_differ_by_run_and_are_distinguished_from_other_limits() -> None:
    marks = {mark_of(str(number)) for number in range(1_000)}
    assert len(marks) == 1_000
    assert all(is_mark(mark) for mark in marks)
    assert not any(is_mark(value) for value in (_UNLIMITED, 0, 1_024, 2**63 - 1, read_mark(2**22 + 1)))


@pytest.mark.parametrize("shell", ["sh", "dash", "bash --posix", "busybox ash"])
def test_a_shell_marks_itself_without_a_word(shell: str) -> None:
    program, *options = shell.split()
    if shutil.which(program) is None:
        pytest.skip(f"there is no {program} here")
    line = marking_line("run") + "(exec grep locks /proc/self/limits)"
    done = subprocess.run([program, *options, "-c", line], capture_output=True, check=True, text=True)
    assert done.stdout.split()[-3:] == [str(mark_of("run")), "unlimited", "locks"]
    assert done.stderr == ""


def test_a_mark_outlives_a_cleared_environment_and_forbids_nothing() -> None:
    line = "import resource as r; print(r.getrlimit(10)); r.setrlimit(10, (-1, -1)); print(r.getrlimit(10))"
    before = read_mark(0)
    set_mark(0, mark_of("run"))
    try:
        done = subprocess.run(
            [sys.executable, "-IS", "-c", line], env={}, capture_output=True, check=True, text=True
        )
    finally:
        set_mark(0, before)
    assert done.stdout.splitlines() == [str((mark_of("run"), _UNLIMITED)), str((_UNLIMITED, _UNLIMITED))]


def test_a_mark_is_read_where_the_kernel_does_not_report_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it does for a process that changed its user, or where root lacks a capability."""

    def refuse(*_: object) -> None:
        raise PermissionError

    with subprocess.Popen(["sleep", "60"]) as process:
        set_mark(process.pid, mark_of("run"))
        try:
            monkeypatch.setattr(resource, "prlimit", refuse)
            assert read_mark(process.pid) == mark_of("run")
            assert read_mark(os.getpid()) == _UNLIMITED
        finally:
            process.kill()
