"""Ids of jobs and runs: no two alike, and in an order that is of use."""

from __future__ import annotations

import uuid

from halo_scheduler.model.jobs import new_job_id, new_job_ids
from halo_scheduler.model.runs import new_run_id

_MANY = 500


def test_a_new_job_has_a_random_uuid() -> None:
    ids = {new_job_id() for _ in range(_MANY)}

    assert len(ids) == _MANY
    found = [uuid.UUID(job_id) for job_id in ids]
    assert {str(one) for one in found} == ids
    assert {(one.version, one.variant) for one in found} == {(4, uuid.RFC_4122)}


def test_every_digit_of_an_id_is_random_except_version_and_variant() -> None:
    ids = [new_job_id() for _ in range(_MANY)]

    drawn = [len(set(digits)) for digits in zip(*ids, strict=True)]

    assert [drawn[at] for at in (8, 13, 18, 23)] == [1, 1, 1, 1]
    assert (drawn[14], drawn[19]) == (1, 4)
    assert all(count == 16 for at, count in enumerate(drawn) if at not in (8, 13, 14, 18, 19, 23))


def test_ids_of_jobs_that_are_added_together_are_in_order() -> None:
    ids = new_job_ids(_MANY)

    assert len(set(ids)) == _MANY
    assert ids == sorted(ids)


def test_a_new_run_has_an_id_of_its_own() -> None:
    ids = {new_run_id() for _ in range(_MANY)}

    assert len(ids) == _MANY
    assert {len(run_id) for run_id in ids} == {32}
