"""Trying a condition for somebody who asks whether it could ever hold here."""

from __future__ import annotations

from typing import NamedTuple

from halo_scheduler.conditions.looking import look_at
from halo_scheduler.model.conditions import Condition


class ConditionState(NamedTuple):
    """Whether this system can know about a condition, whether it holds (None: not known), and that in a sentence."""

    is_observable: bool
    holds: bool | None
    sentence: str


def check_condition(condition: Condition) -> ConditionState:
    """Look at a condition now; this may take 5 seconds."""
    look = look_at(condition)
    return ConditionState(look.is_observable, look.holds, f"{look.words[0].upper()}{look.words[1:]}.")
