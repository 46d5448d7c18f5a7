"""The sections of the details pane for the action and its daily limits."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from halo_scheduler.grammar.templates import NOTHING_TO_SAY
from halo_scheduler.grammar.text import shown_spec
from halo_scheduler.model import Callback, Job, Prompt
from halo_scheduler.rules.statistics import Usage
from ui.backend.questions import plain_lines
from ui.style.theme import Appearance, Tone
from ui.style.wording import cost_words, one_line
from ui.widgets.action_text import action_words, extra_words, work_words
from ui.widgets.wrapped_text import WrappedText

from .sections import Section

_PROMPT_LINES = 4
_COMMAND_LINES = 2
_LONGEST_PROMPT = 2_000
_LONGEST_AGENT = 60


def tr(text: str) -> str:
    """Return a translated text."""
    return QCoreApplication.translate("UsageWords", text)


def usage_words(usage: Usage) -> str:
    """Return today's usage: "2 of 5 runs, 0.34 of 1.00 spent; resets at midnight".

    Empty for a job without limits and without costs.
    """
    caps = usage.caps
    has_cap = caps.runs_per_day is not None or caps.cost_per_day is not None
    if not has_cap and not usage.cost:
        return ""
    words = ", ".join(filter(None, [_runs(usage.runs, caps.runs_per_day), _spent(usage, caps.cost_per_day)]))
    return tr("{used}; resets at midnight").format(used=words) if has_cap else words


def is_used_up(usage: Usage) -> bool:
    """Tell whether a daily limit keeps the job from starting until midnight."""
    runs, cost = usage.caps.runs_per_day, usage.caps.cost_per_day
    return (runs is not None and usage.runs >= runs) or (cost is not None and usage.cost >= cost)


def used_up_words(usage: Usage) -> str:
    """Return what a reached limit means, or nothing."""
    if not is_used_up(usage):
        return ""
    return tr("Daily limit reached. Scheduled runs resume after midnight; manual runs still start.")


def _runs(runs: int, most: int | None) -> str:
    if most is not None:
        return tr("{count} of {most} runs").format(count=runs, most=most)
    return tr("1 run") if runs == 1 else tr("{count} runs").format(count=runs)


def _spent(usage: Usage, most: float | None) -> str:
    if most is not None:
        return tr("{cost} of {most} spent").format(cost=cost_words(usage.cost), most=cost_words(most))
    return tr("{cost} spent").format(cost=cost_words(usage.cost)) if usage.cost else ""


def _tr(text: str) -> str:
    return QCoreApplication.translate("DetailWork", text)


class WhatItDoes(Section):
    """The command or request; for a prompt its agent, first lines and work queue.

    Also says if the job prevents sleep, and if assistants can't run it.
    """

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(_tr("What"))
        self._command = WrappedText(appearance, name="detailCommand", most_lines=_COMMAND_LINES)
        self._agent = WrappedText(appearance, name="detailAgent", tone=Tone.MUTED, most_lines=1)
        self._prompt = WrappedText(appearance, name="detailPrompt", most_lines=_PROMPT_LINES)
        self._extra = WrappedText(appearance, name="detailExtra", tone=Tone.MUTED, most_lines=_COMMAND_LINES)
        self._work = WrappedText(appearance, name="detailWork", tone=Tone.MUTED, most_lines=_COMMAND_LINES)
        self._awake = WrappedText(appearance, name="detailAwake", tone=Tone.MUTED)
        self._assistants = WrappedText(appearance, name="detailAssistants", tone=Tone.MUTED)
        parts = (self._command, self._agent, self._prompt, self._extra, self._work, self._awake)
        for part in (*parts, self._assistants):
            self.column.addWidget(part)
            part.setVisible(False)

    def show_job(self, job: Job, default_agent: str) -> None:
        """Show the action; a prompt without an agent goes to the default agent."""
        action = job.action
        prompt = action if isinstance(action, Prompt) else None
        policy = job.policy
        self.setVisible(
            not isinstance(action, Callback) or policy.keep_awake or not policy.assistants_may_run
        )
        self._assistants.set_text("" if policy.assistants_may_run else _tr("Assistants can't run this job"))
        self._awake.set_text(_tr("Prevents sleep while running") if policy.keep_awake else "")
        is_told = prompt is None and not isinstance(action, Callback)
        self._command.set_text(action_words(action) if is_told else "")
        self._agent.set_text("" if prompt is None else _agent_words(prompt, default_agent))
        self._prompt.set_text("" if prompt is None else _first_lines(prompt))
        extra = extra_words(action)
        self._extra.set_text(f"{extra[:1].upper()}{extra[1:]}")
        work = work_words(action)
        self._work.set_text(_tr("Work queue: {source}").format(source=work) if work else "")


class Today(Section):
    """How much of its daily limits a job has used."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(_tr("Today"))
        self._usage = WrappedText(appearance, name="detailUsage")
        self._held = WrappedText(appearance, name="detailCapped", tone=Tone.WARN)
        for part in (self._usage, self._held):
            self.column.addWidget(part)
            part.setVisible(False)
        self.setVisible(False)

    def show_usage(self, usage: Usage | None) -> None:
        words = "" if usage is None else usage_words(usage)
        self.setVisible(bool(words))
        self._usage.set_text(words)
        self._held.set_text("" if usage is None else used_up_words(usage))


def _first_lines(prompt: Prompt) -> str:
    return plain_lines((shown_spec(prompt.text).strip() or NOTHING_TO_SAY)[:_LONGEST_PROMPT])


def _agent_words(prompt: Prompt, default_agent: str) -> str:
    if prompt.agent:
        return _tr("Prompt for {agent}").format(agent=one_line(prompt.agent, _LONGEST_AGENT))
    if default_agent:
        agent = one_line(default_agent, _LONGEST_AGENT)
        return _tr("Prompt for {agent}, the default agent").format(agent=agent)
    return _tr("Prompt for the default agent")
