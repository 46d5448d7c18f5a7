"""New ids for jobs, runs and questions."""

from __future__ import annotations

import os


def new_job_ids(count: int) -> list[str]:
    """Return ids that no job has had, in order.

    So jobs that were added together stand together in the database, which makes a tick with many of them cheaper;
    and those that are due at the same time start in the order in which they were given.
    """
    return sorted(new_job_id() for _ in range(count))


def new_job_id() -> str:
    """Return an id that no job has had: a random UUID."""
    # By hand: the module for them looks at the whole platform when it is loaded, and takes its time for each.
    digits = new_run_id()
    variant = "89ab"[int(digits[16], 16) % 4]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


def new_run_id() -> str:
    """Return an id that no run has had."""
    return os.urandom(16).hex()


def new_question_id() -> str:
    """Return an id that no question has had."""
    return new_run_id()
