"""Points out what a person must notice before enabling a job: invisible characters and look-alike names."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable

from halo_scheduler.grammar.text import hidden_words, looks_like, texts_in
from halo_scheduler.model import JobSpec


class Reviewer:
    """Knows all job names, to find those that look alike."""

    def __init__(self, names: Iterable[str]) -> None:
        self._alike: dict[str, set[str]] = defaultdict(set)
        for name in names:
            self._alike[looks_like(name)].add(name)

    def notes(self, spec: JobSpec) -> list[str]:
        """Return a sentence for each field with invisible characters and for each look-alike name."""
        data = spec.to_dict()
        found = texts_in(data) if _may_hide(data) else ()
        hidden = ((path, hidden_words(text)) for path, text in found)
        alike = sorted(self._alike[looks_like(spec.name)] - {spec.name})
        return [
            *(f"invisible characters in {path}: {words}" for path, words in hidden if words),
            *(f"its name looks like that of another job: {name}" for name in alike),
        ]


def _may_hide(data: object) -> bool:
    """Return quickly whether plain data may contain invisible characters; most data contains none."""
    text = json.dumps(data, ensure_ascii=False)
    return "\\" in text or bool(hidden_words(text))
