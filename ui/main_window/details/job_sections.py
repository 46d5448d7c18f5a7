"""The sections of the details pane for the action, its daily limits, its conditions and hints."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from halo_scheduler.grammar.interval import interval_in_words
from halo_scheduler.grammar.templates import NOTHING_TO_SAY
from halo_scheduler.grammar.text import shown_spec
from halo_scheduler.model import Callback, Hints, Job, Policy, Prompt
from halo_scheduler.rules.statistics import Usage
from halo_scheduler.wording.conditions import describe_condition
from halo_scheduler.wording.jobs import parameter_words
from halo_scheduler.wording.measures import amount_words, duration_in_words, moment_in_words, when_in_words
from halo_scheduler.wording.plans import ADVISERS
from ui.backend.questions import plain_lines
from ui.main_window.table.job_rows import schedule_words
from ui.style.theme import GRID, HALF, Appearance, Tone, mono_font, small_font
from ui.style.wording import one_line
from ui.widgets.job_text import exact_words, extra_words, work_words
from ui.widgets.labels import WrappedText, beginning, button

from .sections import BESIDE_LINK, Section

_PROMPT_LINES = 4
_COMMAND_LINES = 2
_LONGEST_PROMPT = 2_000
_LONGEST_AGENT = 60
_LONGEST_REASON = 300
_REASON_LINES = 3
_CONDITION_LINES = 12


def tr(text: str) -> str:
    """Return a translated text."""
    return QCoreApplication.translate("DetailSections", text)


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
    """Return whether a daily limit blocks scheduled runs until midnight."""
    runs, cost = usage.caps.runs_per_day, usage.caps.cost_per_day
    return (runs is not None and usage.runs >= runs) or (cost is not None and usage.cost >= cost)


def used_up_words(usage: Usage) -> str:
    """Return the consequence of a reached limit, or nothing."""
    if not is_used_up(usage):
        return ""
    return tr("Daily limit reached. Scheduled runs resume after midnight; manual runs still start.")


def _runs(runs: int, most: int | None) -> str:
    if most is not None:
        return tr("{count} of {most} runs").format(count=runs, most=most)
    return tr("1 run") if runs == 1 else tr("{count} runs").format(count=runs)


def _spent(usage: Usage, most: float | None) -> str:
    if most is not None:
        return tr("{cost} of {most} spent").format(cost=amount_words(usage.cost), most=amount_words(most))
    return tr("{cost} spent").format(cost=amount_words(usage.cost)) if usage.cost else ""


class WhatItDoes(Section):
    """The command or request; for a prompt its agent, first lines and work queue; the defaults of parameters.

    Also says if the job prevents sleep, and if assistants can't run it.
    """

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(tr("What"))
        self._command = WrappedText(
            appearance,
            name="detailCommand",
            font=mono_font(small_font(self.font())),
            most_lines=_PROMPT_LINES,
            is_exact=True,
        )
        self._agent = WrappedText(appearance, name="detailAgent", tone=Tone.MUTED, most_lines=1)
        self._prompt = WrappedText(appearance, name="detailPrompt", most_lines=_PROMPT_LINES)
        self._extra = WrappedText(appearance, name="detailExtra", tone=Tone.MUTED, most_lines=_COMMAND_LINES)
        self._parameters = WrappedText(appearance, name="detailParameters", most_lines=_PROMPT_LINES)
        self._work = WrappedText(appearance, name="detailWork", tone=Tone.MUTED, most_lines=_COMMAND_LINES)
        self._awake = WrappedText(appearance, name="detailAwake", tone=Tone.MUTED)
        self._assistants = WrappedText(appearance, name="detailAssistants", tone=Tone.MUTED)
        parts = (self._command, self._agent, self._prompt, self._parameters, self._extra, self._work)
        for part in (*parts, self._awake, self._assistants):
            self.column.addWidget(part)
            part.setVisible(False)

    def show_job(self, job: Job, default_agent: str) -> None:
        """Show the action; a prompt without an agent goes to the default agent."""
        action = job.action
        prompt = action if isinstance(action, Prompt) else None
        policy = job.policy
        has_more = policy.keep_awake or not policy.assistants_may_run or bool(job.parameters)
        self.setVisible(not isinstance(action, Callback) or has_more)
        self._assistants.set_text("" if policy.assistants_may_run else tr("Assistants can't run this job"))
        self._awake.set_text(tr("Prevents sleep while running") if policy.keep_awake else "")
        is_told = prompt is None and not isinstance(action, Callback)
        self._command.set_text(exact_words(action) if is_told else "")
        self._agent.set_text("" if prompt is None else _agent_words(prompt, default_agent))
        self._prompt.set_text("" if prompt is None else _first_lines(prompt))
        self._parameters.set_text(_parameter_lines(job))
        extra = extra_words(action)
        self._extra.set_text(f"{extra[:1].upper()}{extra[1:]}")
        work = work_words(action)
        self._work.set_text(tr("Work queue: {source}").format(source=work) if work else "")


class Today(Section):
    """How much of its daily limits a job has used."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(tr("Today"))
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


def _parameter_lines(job: Job) -> str:
    """Return the defaults of parameters, and what each schedule sets in their place."""
    defaults = parameter_words(job.parameters)
    lines = [tr("Parameters: {values}").format(values=defaults)] if defaults else []
    lines += [
        f"{schedule_words(entry.schedule)}: {parameter_words(entry.parameters)}"
        for entry in job.schedules
        if entry.parameters
    ]
    return "\n".join(one_line(line, _LONGEST_PROMPT) for line in lines)


def _first_lines(prompt: Prompt) -> str:
    return plain_lines(beginning(shown_spec(prompt.text).strip() or NOTHING_TO_SAY, _LONGEST_PROMPT))


def _agent_words(prompt: Prompt, default_agent: str) -> str:
    if prompt.agent:
        return tr("Prompt for {agent}").format(agent=one_line(prompt.agent, _LONGEST_AGENT))
    if default_agent:
        agent = one_line(default_agent, _LONGEST_AGENT)
        return tr("Prompt for {agent}, the default agent").format(agent=agent)
    return tr("Prompt for the default agent")


def hint_line(job: Job, now_ms: int) -> str:
    """Return the active hints, "Every 5 minutes, until 15:05", or nothing; hints that end together are joined."""
    by_end: dict[int, list[str]] = {}
    pace, run = _hint_parts(job, now_ms)
    if pace.interval_ms is not None and pace.expires_at is not None:
        time = interval_in_words(pace.interval_ms).removeprefix("1 ")
        by_end.setdefault(pace.expires_at, []).append(tr("every {time}").format(time=time))
    if run.next_at is not None and run.expires_at is not None:
        when = when_in_words(run.next_at, now_ms, has_seconds=False)
        by_end.setdefault(run.expires_at, []).append(tr("a run {when}").format(when=when))
    lines = []
    for at, parts in by_end.items():
        what = tr(" and ").join(parts)
        # "until" beside a single run would read as its end.
        is_pace = run.next_at is None or at != run.expires_at
        words = tr("{what}, until {when}") if is_pace else tr("{what} (active until {when})")
        lines.append(
            words.format(
                what=f"{what[:1].upper()}{what[1:]}", when=moment_in_words(at, now_ms, has_seconds=False)
            )
        )
    return "\n".join(lines)


def hint_origin(job: Job, now_ms: int) -> str:
    """Return who gave the hints, and the reasons given."""
    lines = []
    for part in _hint_parts(job, now_ms):
        who = "" if part.source is None else tr("From {whom}").format(whom=ADVISERS[part.source])
        lines.append(": ".join(filter(None, [who, one_line(part.reason, _LONGEST_REASON)])))
    return "\n".join(dict.fromkeys(filter(None, lines)))


def _hint_parts(job: Job, now_ms: int) -> tuple[Hints, Hints]:
    left = job.hints.counting(now_ms)
    return left.parts(pace=True, run=False), left.parts(pace=False, run=True)


class Hint(Section):
    """The active hint, with a button that clears it."""

    clear_wanted = Signal()

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(tr("Hint"))
        self.setObjectName("hintSection")
        self._expires_at: int | None = None
        self._what = WrappedText(appearance, name="hintWhat")
        self._origin = WrappedText(appearance, name="hintOrigin", tone=Tone.MUTED, most_lines=_REASON_LINES)
        self._clear = clear = button(
            tr("Clear"), name="clearHintButton", kind="link", tip=tr("Clear this hint")
        )
        clear.clicked.connect(self.clear_wanted)
        note = QFrame()
        note.setProperty("role", "note")
        row = QHBoxLayout(note)
        row.setContentsMargins(GRID, HALF - 2, HALF, GRID)
        row.setSpacing(GRID)
        words = QVBoxLayout()
        words.setContentsMargins(0, BESIDE_LINK, 0, 0)
        words.setSpacing(HALF)
        words.addWidget(self._what)
        words.addWidget(self._origin)
        row.addLayout(words, 1)
        row.addWidget(clear, 0, Qt.AlignmentFlag.AlignTop)
        self.column.addWidget(note)
        self.setVisible(False)

    @property
    def stops(self) -> list[QWidget]:
        """The widgets in tab order."""
        return [self._clear]

    def waits(self, now_ms: int) -> Iterator[int | None]:
        """Yield how long the hint stays active."""
        if self._expires_at is not None and self._expires_at > now_ms:
            yield self._expires_at - now_ms

    def show_hint(self, job: Job, now_ms: int) -> None:
        """Show the active hint; hidden without one."""
        left = job.hints.counting(now_ms)
        self._expires_at = min(filter(None, (left.expires_at, left.next_expires_at)), default=None)
        what = hint_line(job, now_ms)
        if not what and self._clear.hasFocus():
            # Otherwise pressing the same key again would trigger the next widget.
            self.focusPreviousChild()
        self.setVisible(bool(what))
        self._what.set_text(what)
        self._origin.set_text(hint_origin(job, now_ms) if what else "")


class StartsOnly(Section):
    """The job's conditions, and how long a due run waits for them."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(tr("Conditions"))
        self._conditions = WrappedText(appearance, name="detailConditions", most_lines=_CONDITION_LINES)
        self._deadline = WrappedText(appearance, name="detailDeadline", tone=Tone.MUTED)
        for part in (self._conditions, self._deadline):
            self.column.addWidget(part)
            part.setVisible(False)
        self.setVisible(False)

    def show_policy(self, policy: Policy) -> None:
        """Show the conditions, one per line; hidden without any."""
        self.setVisible(bool(policy.conditions))
        self._conditions.set_text("\n".join(map(describe_condition, policy.conditions)))
        limit_ms = policy.condition_deadline_ms
        words = tr("Waits up to {time}, then the run is skipped.")
        is_told = bool(policy.conditions) and limit_ms is not None
        self._deadline.set_text(words.format(time=duration_in_words(limit_ms or 0)) if is_told else "")
