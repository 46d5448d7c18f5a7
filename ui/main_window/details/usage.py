"""What a job used up of a day, in words."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from halo_scheduler.rules.statistics import Usage
from ui.style.wording import cost_words


def tr(text: str) -> str:
    """Return a text in the user's language."""
    return QCoreApplication.translate("UsageWords", text)


def usage_words(usage: Usage) -> str:
    """Return what was used today: "2 of 5 runs, 0.34 of 1.00 spent; resets at midnight".

    Nothing for a job without caps whose runs cost nothing.
    """
    caps = usage.caps
    has_cap = caps.runs_per_day is not None or caps.cost_per_day is not None
    if not has_cap and not usage.cost:
        return ""
    words = ", ".join(filter(None, [_runs(usage.runs, caps.runs_per_day), _spent(usage, caps.cost_per_day)]))
    return tr("{used}; resets at midnight").format(used=words) if has_cap else words


def is_used_up(usage: Usage) -> bool:
    """Tell whether a cap keeps the job from starting by itself until the day is over."""
    runs, cost = usage.caps.runs_per_day, usage.caps.cost_per_day
    return (runs is not None and usage.runs >= runs) or (cost is not None and usage.cost >= cost)


def used_up_words(usage: Usage) -> str:
    """Return what a cap that is used up means; nothing for one that is not."""
    if not is_used_up(usage):
        return ""
    return tr("It has reached its cap: it starts by itself again after midnight, by hand at any time.")


def _runs(runs: int, most: int | None) -> str:
    if most is not None:
        return tr("{count} of {most} runs").format(count=runs, most=most)
    return tr("1 run") if runs == 1 else tr("{count} runs").format(count=runs)


def _spent(usage: Usage, most: float | None) -> str:
    if most is not None:
        return tr("{cost} of {most} spent").format(cost=cost_words(usage.cost), most=cost_words(most))
    return tr("{cost} spent").format(cost=cost_words(usage.cost)) if usage.cost else ""
