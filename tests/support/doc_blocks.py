"""The blocks of code in a page of the documentation, and what each is for."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)(?: title=\"(?P<title>[^\"]*)\")?(?P<rest>[^\n]*)\n"
    r"(?P<code>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
_NOT_RUN = re.compile(r"<!-- not run: (.+?) -->\s*\Z")
_STOPPED = re.compile(r"<!-- Halo is stopped -->\s*\Z")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block. One with a title is a file.

    A comment above it says why its commands are not tried (`not_run`), or that Halo has to be stopped before.
    """

    place: str
    language: str
    title: str
    code: str
    not_run: str
    is_halo_stopped: bool


def blocks_of(page: Path) -> Iterator[Block]:
    """Return the blocks of a page in their order."""
    text = page.read_text(encoding="utf-8")
    for found in _BLOCK.finditer(text):
        if found["rest"].strip():
            raise ValueError(f"{page.name}: a block has an unknown mark: {found['rest']}")
        reason = _NOT_RUN.search(text, 0, found.start())
        yield Block(
            place=f"{page.name}:{text.count(chr(10), 0, found.start()) + 1}",
            language=found["language"],
            title=found["title"] or "",
            code=textwrap.dedent(found["code"]),
            not_run=reason[1] if reason else "",
            is_halo_stopped=_STOPPED.search(text, 0, found.start()) is not None,
        )


def manual_pages() -> list[Path]:
    """Return the pages of the manual, without the decisions."""
    return sorted(DOCS.glob("*.md"))
