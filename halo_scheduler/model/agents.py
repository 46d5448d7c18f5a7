"""Agents: the command lines that prompts are given to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.checks import frozen_list, require_label, require_text
from halo_scheduler.grammar.templates import refuse_references
from halo_scheduler.model.codec import Value, put

PROMPT = "{prompt}"
PROMPT_FILE = "{prompt_file}"
LONGEST_ARGUMENT_BYTES = 100 << 10
"""How long a prompt may be that is given as an argument: systems take little more."""


class Delivery(StrEnum):
    """How an agent gets its prompt."""

    STDIN = "stdin"
    ARGUMENT = "argument"
    FILE = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent(Value):
    """A program with its arguments; `{prompt}` or `{prompt_file}` in one of them stands for the prompt.

    Without either, the prompt goes to the program's standard input.
    """

    name: str
    argv: tuple[str, ...]

    def __post_init__(self) -> None:
        require_label("name", self.name)
        put(self, argv=frozen_list("argv", self.argv))
        for index, argument in enumerate(self.argv):
            path = f"argv[{index}]"
            refuse_references(path, require_text(path, argument), "put it into the job's environment")
        if not self.argv or not self.argv[0].strip():
            raise ScheduleError("the program is empty", path="argv")
        if any(sign in self.argv[0] for sign in (PROMPT, PROMPT_FILE)):
            raise ScheduleError("the program cannot be the prompt; put it into an argument", path="argv[0]")
        rest = " ".join(self.argv[1:])
        if PROMPT in rest and PROMPT_FILE in rest:
            raise ScheduleError(f"use either {PROMPT} or {PROMPT_FILE}, not both", path="argv")

    @property
    def delivery(self) -> Delivery:
        rest = " ".join(self.argv[1:])
        if PROMPT in rest:
            return Delivery.ARGUMENT
        return Delivery.FILE if PROMPT_FILE in rest else Delivery.STDIN

    def command_line(self, prompt: str, prompt_file: str) -> tuple[str, ...]:
        """Return the program and its arguments with the prompt, or its file, in its place."""
        sign, words = (PROMPT, prompt) if self.delivery is Delivery.ARGUMENT else (PROMPT_FILE, prompt_file)
        return (self.argv[0], *(argument.replace(sign, words) for argument in self.argv[1:]))


PRESETS: tuple[Agent, ...] = (
    Agent(name="claude", argv=("claude", "-p")),
    Agent(name="codex", argv=("codex", "exec", "-")),
    Agent(name="gemini", argv=("gemini", "-p", PROMPT)),
    Agent(name="ollama", argv=("ollama", "run", "llama3.2")),
)
