"""The input of a run's process: a prompt, a work item, an answer, given text, the output of the run before it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import assert_never

from halo_scheduler.actions.launch import Launch, LaunchError, command_line, own_variables, prepare
from halo_scheduler.actions.run_context import beginning_of_text, compose, item_in_markdown
from halo_scheduler.actions.run_services import NO_CONTEXT, OpenedSource, RunContext
from halo_scheduler.actions.spool import Spool
from halo_scheduler.grammar.templates import filled_in
from halo_scheduler.host.login_environment import Environment, encoded
from halo_scheduler.model import Command, Job, ProcessAction, Prompt, Run, Trigger
from halo_scheduler.model.messages import MessageKind, message, text_message
from halo_scheduler.model.settings import LONGEST_ARGUMENT_BYTES, Agent, Delivery
from halo_scheduler.work_sources.item import Item, SourceError

_LONGEST_VALUE_BYTES = 8 << 10
_LONGEST_INPUT_VALUE_BYTES = 4 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInput:
    """Prepares the input of a run before it starts; everything here may block."""

    job: Job
    run: Run
    action: ProcessAction
    context: RunContext = NO_CONTEXT
    source: OpenedSource | None = None

    def find_program(self, environment: Environment, secrets: Mapping[str, str]) -> Launch:
        """Return the launch without its input yet; LaunchError says what is missing."""
        own = own_variables(self.job, self.run)
        match self.action:
            case Command():
                launch = prepare(self.action, command_line(self.action), own, environment, secrets)
                return replace(launch, stdin=filled_in(self.action.stdin, secrets).encode())
            case Prompt():
                return prepare(self.action, self._agent().argv, own, environment, secrets)
            case _:
                assert_never(self.action)

    def take_item(self) -> Item | None:
        """Claim and return the work item of the run; a test run only reads it."""
        if self.source is None:
            return None
        if self.run.trigger is Trigger.TEST:
            return self.source.first()
        kept = self.source.take_over(self.run.id, self.context.asked_by) if self.context.asked_by else None
        return kept or self.source.claim(self.run.id, only=self.context.work_id)

    def give_back(self) -> None:
        """Release the item, because the run does not start; a failed report is retried later."""
        if self.source is not None and self.run.trigger is not Trigger.TEST:
            with suppress(SourceError):
                self.source.give_back(self.run.id)

    def hand_over(self, launch: Launch, item: Item | None, spool: Spool) -> Launch:
        """Return the launch with the complete input of its process."""
        return self._with_given(self._with_cause(self._with_work(launch, item, spool), spool), spool)

    def _with_work(self, launch: Launch, item: Item | None, spool: Spool) -> Launch:
        match self.action:
            case Command():
                return self._told(launch, item, spool)
            case Prompt():
                text = compose(
                    self.action,
                    job_name=self.job.name,
                    started_at=self.run.started_at or 0,
                    slot_at=self.run.slot_at,
                    context=self.context,
                    item=item,
                    parameters=self.run.parameters,
                )
                return _delivered(launch, self._agent(), text, spool)
            case _:
                assert_never(self.action)

    def _agent(self) -> Agent:
        if self.context.agent is None:
            raise LaunchError(text_message(self.context.no_agent) or message(MessageKind.NO_AGENT))
        return self.context.agent

    def _told(self, launch: Launch, item: Item | None, spool: Spool) -> Launch:
        """Tell a command which item it works on."""
        told: dict[str, str] = {}
        files: dict[str, bytes] = {}
        if self.context.question or self.context.answer:
            told |= {"HALO_QUESTION": self.context.question, "HALO_ANSWER": self.context.answer}
        if item is not None:
            path = spool.work_path
            files[path] = item_in_markdown(item).encode(errors="replace")
            told |= {
                "HALO_WORK_ID": item.id,
                "HALO_WORK_TITLE": item.title,
                "HALO_WORK_URL": item.url,
                "HALO_WORK_LABELS": ", ".join(item.labels),
                "HALO_WORK_FILE": path,
            }
        return _with(launch, told, files)

    def _with_cause(self, launch: Launch, spool: Spool) -> Launch:
        """Add the run that started this one, and its output as a file."""
        cause = self.context.chain
        if cause is None:
            return launch
        told = {
            "HALO_CHAIN_RUN_ID": cause.run_id,
            "HALO_CHAIN_JOB": cause.job_name,
            "HALO_CHAIN_JOB_ID": cause.job_id,
            "HALO_CHAIN_OUTCOME": cause.outcome,
            "HALO_CHAIN_OUTPUT": spool.cause_path,
        }
        return _with(launch, told, {spool.cause_path: cause.output})

    def _with_given(self, launch: Launch, spool: Spool) -> Launch:
        """Add what the run was given: always as a file to read, and as a variable if it is short text."""
        content = self.context.input
        path = spool.input_path if content else os.devnull
        told = {b"HALO_INPUT_FILE": os.fsencode(path)}
        if len(content) <= _LONGEST_INPUT_VALUE_BYTES and b"\0" not in content:
            told[b"HALO_INPUT"] = content
        return replace(
            launch,
            environment={**launch.environment, **told},
            files={**launch.files, path: content} if content else launch.files,
        )


def _with(launch: Launch, told: Mapping[str, str], files: Mapping[str, bytes]) -> Launch:
    """Return the launch with more variables; their values are short, because the system limits their size."""
    values = {name: _short(value) for name, value in told.items()}
    return replace(
        launch, environment={**launch.environment, **encoded(values)}, files={**launch.files, **files}
    )


def _delivered(launch: Launch, agent: Agent, text: str, spool: Spool) -> Launch:
    content = text.encode()
    program = launch.argv[0]
    match agent.delivery:
        case Delivery.STDIN:
            return replace(launch, stdin=content)
        case Delivery.ARGUMENT:
            if len(content) > LONGEST_ARGUMENT_BYTES:
                raise LaunchError(
                    message(MessageKind.PROMPT_TOO_LONG, bytes=len(content), most=LONGEST_ARGUMENT_BYTES)
                )
            # Inserted text must not be taken for an option.
            harmless = f" {text}" if text.startswith("-") else text
            return replace(launch, argv=(program, *agent.command_line(harmless, "")[1:]))
        case Delivery.FILE:
            path = spool.prompt_path
            return replace(launch, argv=(program, *agent.command_line("", path)[1:]), files={path: content})
        case _:
            assert_never(agent.delivery)


def _short(value: str) -> str:
    return beginning_of_text(value.replace("\0", ""), _LONGEST_VALUE_BYTES)
