"""A job and the row it is stored in: every field comes back in its own place."""

from __future__ import annotations

from halo_scheduler.model import (
    Command,
    Every,
    Follower,
    FollowOn,
    Hints,
    HintSource,
    JobSpec,
    MainsPower,
    Outcome,
    Policy,
    Source,
    StatusReason,
    WaitingDetails,
    WaitingFor,
)
from halo_scheduler.model.messages import text_message
from halo_scheduler.store.job_data import data_of
from halo_scheduler.store.job_records import COLUMNS, JobRecord, record_of, row_of

_SPEC = JobSpec(
    name="the name",
    description="the description",
    group="the group",
    schedule=Every("15m"),
    action=Command(argv=("true",)),
    policy=Policy(conditions=(MainsPower(),)),
    anchor_at=1,
    enabled=False,
    metadata={"key": "value"},
    followers=(Follower(job_id="another", on=FollowOn.FAILURE),),
)
_HINTS = Hints(
    interval_ms=30_000,
    next_at=2,
    expires_at=3,
    reason="the advice",
    source=HintSource.JOB,
    next_expires_at=18,
    next_reason="the other advice",
    next_source=HintSource.USER,
)
# No two alike, and none as it would be without being said.
_RECORD = JobRecord(
    id="the id",
    created_at=4,
    updated_at=5,
    spec=_SPEC,
    counted_until=6,
    removed_at=7,
    run_id="the run",
    disabled_reason=StatusReason.ERRORS,
    paused=True,
    paused_until=8,
    waiting_for=WaitingFor.CONDITION,
    next_run_at=9,
    next_source=Source.BACKOFF,
    slot_at=10,
    attempt=11,
    trail="[12]",
    passed_reason="passed",
    last_slot_at=13,
    hints=_HINTS,
    errors=14,
    last_run_at=15,
    last_completed_at=16,
    last_outcome=Outcome.TIMEOUT,
    last_message=text_message("the error"),
    paused_by=StatusReason.ASSISTANT,
    waiting_details=WaitingDetails(conditions=(MainsPower(),), until=5),
    waits_until=17,
    last_ended_at=19,
    next_keys="morning,2",
    resumed_since_run=True,
    pending="20:morning",
    restarts_at=21,
    skips_next=True,
)


def test_every_field_comes_back_in_its_place() -> None:
    untouched = [name for name, value in JobRecord._field_defaults.items() if getattr(_RECORD, name) == value]
    assert not untouched
    row = row_of(_RECORD)
    assert len(row) == len(COLUMNS)
    assert record_of(row) == _RECORD
    assert record_of(row).spec == _SPEC


def test_the_state_of_a_job_has_the_right_types() -> None:
    record = record_of(tuple(str(value) if isinstance(value, str) else value for value in row_of(_RECORD)))
    assert (record.waiting_for, record.next_source) == (WaitingFor.CONDITION, Source.BACKOFF)
    for name in ("disabled_reason", "waiting_for", "next_source", "last_outcome", "paused_by", "paused"):
        assert type(getattr(record, name)) is type(getattr(_RECORD, name)), name


def test_a_row_as_data_equals_its_job_as_data() -> None:
    row = dict(zip(COLUMNS, row_of(_RECORD), strict=True))
    assert data_of(row) == _RECORD.job.to_dict()
