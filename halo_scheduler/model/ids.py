"""New ids for jobs, runs and questions."""

from __future__ import annotations

import os


def new_job_ids(count: int) -> list[str]:
    """Return new unique job ids, in ascending order.

    Jobs added together are then adjacent in the database, which makes a tick with many of them cheaper; and those due
    at the same time start in the order in which they were given.
    """
    return sorted(new_job_id() for _ in range(count))


def new_job_id() -> str:
    """Return a new unique job id: a random UUID."""
    # Not by the uuid module: it inspects the platform when it is loaded, and is slow per id.
    digits = new_run_id()
    variant = "89ab"[int(digits[16], 16) % 4]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


def new_run_id() -> str:
    """Return a new unique run id."""
    return os.urandom(16).hex()


def new_question_id() -> str:
    """Return a new unique question id."""
    return new_run_id()
