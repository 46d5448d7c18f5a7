"""Cron expressions written from tables of times and days."""

from __future__ import annotations

from halo_scheduler.grammar.cron_writing import DayTables, TimeTables, write_cron


def test_a_time_that_no_wildcard_can_express_has_no_expression() -> None:
    days = DayTables()
    assert write_cron(TimeTables((5,), (30,), (9,), is_wildcard=True), days) is None
    assert write_cron(TimeTables((5,), (30,), (9,)), days) == "5 30 9 * * *"
