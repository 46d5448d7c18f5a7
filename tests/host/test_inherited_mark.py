"""The mark that the kernel keeps: who inherits it, and that it forbids nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from process_probe import end_all, pids_in, until

from halo_scheduler.host.inherited_mark import OWN_MARK, is_mark, mark_of, mark_tree, read_mark, set_mark

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such a limit")

_UNLIMITED = -1


@pytest.fixture
def asleep(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process with a child and a grandchild, whose numbers are noted."""
    line = "echo $$ >a.pid; sh -c 'echo $$ >b.pid; sh -c \"echo \\$\\$ >c.pid; exec sleep 60\" & wait' & wait"
    process = subprocess.Popen(["/bin/sh", "-c", line], cwd=tmp_path)
    until(lambda: len(pids_in(tmp_path)) == 3)
    yield process
    end_all(pids_in(tmp_path))
    process.wait()


def test_marks_differ_by_run_and_are_told_from_other_limits() -> None:
    marks = {mark_of(str(number)) for number in range(1_000)}
    assert len(marks | {OWN_MARK}) == 1_001
    assert all(is_mark(mark) for mark in marks | {OWN_MARK})
    assert not any(is_mark(value) for value in (_UNLIMITED, 0, 1_024, 2**63 - 1, read_mark(2**22 + 1)))


def test_what_was_started_before_the_mark_is_marked_too(
    asleep: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    mark_tree(asleep.pid, "run")
    assert [read_mark(pid) for pid in pids_in(tmp_path)] == [mark_of("run")] * 3


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


def test_a_process_that_is_gone_has_no_mark() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    mark_tree(process.pid, "run")
    assert not set_mark(process.pid, mark_of("run"))
