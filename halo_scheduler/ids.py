"""New ids for jobs, runs and questions."""

from __future__ import annotations


def new_job_id() -> str:
    """Return an id that no job has had."""
    import uuid  # noqa: PLC0415 - it looks at the whole platform when it is loaded

    return str(uuid.uuid4())


def new_run_id() -> str:
    """Return an id that no run has had."""
    import uuid  # noqa: PLC0415

    return uuid.uuid4().hex


def new_question_id() -> str:
    """Return an id that no question has had."""
    return new_run_id()
