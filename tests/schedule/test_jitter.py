"""The stable spread."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from halo_scheduler.schedule.jitter import jitter_ms


@given(st.text(), st.integers(0, 10**13), st.integers(0, 10**12), st.integers(0, 10))
def test_a_point_keeps_its_delay_within_the_percentage(
    key: str, point_at: int, distance_ms: int, percent: int
) -> None:
    found = jitter_ms(key, point_at, distance_ms, percent)
    assert found == jitter_ms(key, point_at, distance_ms, percent)
    assert 0 <= found <= distance_ms * percent // 100


def test_delays_differ_by_job_and_by_point() -> None:
    assert len({jitter_ms(key, 0, 10**9, 10) for key in "abcdefgh"}) == 8
    assert len({jitter_ms("a", point, 10**9, 10) for point in range(8)}) == 8


def test_a_delay_is_the_same_in_every_process() -> None:
    assert jitter_ms("job", 1_700_000_000_000, 900_000, 10) == 32_578
