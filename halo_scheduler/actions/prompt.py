"""What an agent gets to read: a job's text filled in, the item it works on, and what was answered."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from halo_scheduler.actions.run_services import ChainCause, RunContext
from halo_scheduler.grammar.templates import NOTHING_TO_SAY, render, variables_in
from halo_scheduler.grammar.text import shown_text
from halo_scheduler.grammar.zone import machine_zone
from halo_scheduler.model import Prompt
from halo_scheduler.work_sources.item import Item

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST_OUTPUT = 64 << 10


def compose(
    prompt: Prompt,
    *,
    job_name: str,
    started_at: int,
    slot_at: int | None,
    context: RunContext,
    item: Item | None,
) -> str:
    """Return the whole prompt; nothing that was filled in is looked at again.

    Whoever wants to see it before a run starts gives words of their own for what is not known by then.
    """
    moment = _local_time(started_at)
    values = {
        "date": moment.strftime("%Y-%m-%d"),
        "time": moment.strftime("%H:%M"),
        "job.name": job_name,
        "slot": "" if slot_at is None else _local_time(slot_at).isoformat(timespec="seconds"),
        "last.outcome": context.last_outcome,
        "last.output": end_of_text(context.last_output, _LONGEST_OUTPUT),
        "question": context.question,
        "answer": context.answer,
        **({} if context.chain is None else _chain_values(context.chain)),
        **({} if item is None else _item_values(item)),
    }
    text = render(prompt.text, values)
    parts = [text if text.strip() else NOTHING_TO_SAY]
    if item is not None:
        parts.append(item_in_markdown(item))
    has_answer = context.question or context.answer
    if has_answer and not variables_in(prompt.text) & {"question", "answer"}:
        parts.append(f"# Question\n\n{context.question}\n\n# Answer\n\n{context.answer}")
    text = "\n\n".join([*(part.rstrip("\n") for part in parts[:-1]), parts[-1]])
    # No system takes a NUL in an argument, or half of a character.
    return text.replace("\0", "\ufffd").encode(errors="replace").decode()


def item_in_markdown(item: Item) -> str:
    """Return an item as an agent or a command reads it; its description is left as it is."""
    facts = {
        "id": item.id,
        "URL": item.url,
        "labels": ", ".join(item.labels),
        "priority": item.priority,
    }
    lines = [f"- {name}: {_one_line(value)}" for name, value in facts.items() if value]
    parts = [f"# {_one_line(item.title)}", "\n".join(lines), item.body.strip("\n")]
    parts += [f"({item.note})"] if item.note else []
    return "\n\n".join(part for part in parts if part)


def last_lines(output: bytes) -> bytes:
    """Return the last lines of what was printed; they begin whole, unless there is but one."""
    end = output[-_LONGEST_OUTPUT:]
    return end if len(end) == len(output) else end.partition(b"\n")[2] or end


def end_of_text(text: str, most_bytes: int) -> str:
    """Return the end of a text that has at most so many bytes."""
    return text.encode(errors="replace")[-most_bytes:].decode(errors="ignore")


def beginning_of_text(text: str, most_bytes: int) -> str:
    """Return the beginning of a text that has at most so many bytes."""
    return text.encode(errors="replace")[:most_bytes].decode(errors="ignore")


def _local_time(at: int) -> datetime:
    return (_EPOCH + timedelta(milliseconds=at)).astimezone(machine_zone())


def _chain_values(cause: ChainCause) -> dict[str, str]:
    return {
        "chain.job": cause.job_name,
        "chain.run": cause.run_id,
        "chain.outcome": cause.outcome,
        "chain.output": end_of_text(shown_text(last_lines(cause.output)), _LONGEST_OUTPUT),
    }


def _item_values(item: Item) -> dict[str, str]:
    return {
        "work.id": item.id,
        "work.title": item.title,
        "work.url": item.url,
        "work.body": item.body,
        "work.labels": ", ".join(item.labels),
    }


def _one_line(text: str) -> str:
    return " ".join(text.split())
