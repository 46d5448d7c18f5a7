"""Files that hold jobs: what is written is read back, what is wrong is told with its place."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spec_strategies import LABELS, QUIET_TIMES, job_files

from halo_scheduler.model import Command, Every, Follower, JobSpec, Manual, Once, Retry, Policy
from halo_scheduler.quiet_times import QuietTime
from halo_scheduler.transfer.document import (
    Document,
    read_document,
    read_job,
    write_document,
    write_document_as_json,
    write_job,
)
from halo_scheduler.transfer.drafts import Drafts
from halo_scheduler.transfer.job_form import spec_of
from halo_scheduler.transfer.text_file import FileError


def _specs(drafts: Drafts) -> dict[str, JobSpec]:
    """Return what was read as it would be stored."""
    assert drafts.faults == ()
    ids = {draft.spec.name: draft.job_id or "" for draft in drafts.jobs}
    return {draft.job_id or "": spec_of(draft, ids, anchor_at=0) for draft in drafts.jobs}


def _as_kept(spec: JobSpec) -> JobSpec:
    """Return a job with all that a file keeps: where it would count from if it had an interval is not."""
    return spec if isinstance(spec.schedule, Every) else replace(spec, anchor_at=0)


@settings(max_examples=60)
@given(job_files(), st.lists(QUIET_TIMES, max_size=3), st.dictionaries(LABELS, st.integers(1, 9), max_size=2))
def test_a_file_is_read_back_without_loss(
    jobs: dict[str, JobSpec], quiet_times: list[QuietTime], limits: dict[str, int]
) -> None:
    document = Document(jobs=jobs, quiet_times=tuple(quiet_times), group_limits=limits)
    for drafts in (
        read_document(write_document(document).encode()),
        read_document(write_document_as_json(document).encode(), is_json=True),
    ):
        assert _specs(drafts) == {job_id: _as_kept(spec) for job_id, spec in jobs.items()}
        assert drafts.quiet_times == (tuple(quiet_times) or None)
        assert drafts.group_limits == limits
