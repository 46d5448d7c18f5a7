"""The provided cases with known answers."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

_DATA = Path(__file__).parents[1] / "data"


def load_json(name: str) -> Any:
    """Return the content of a JSON file of the test data."""
    return json.loads((_DATA / name).read_text(encoding="utf-8"))


def load_lines(name: str) -> list[Any]:
    """Return the lines of a JSON-lines file of the test data."""
    return [json.loads(line) for line in (_DATA / name).read_text(encoding="utf-8").splitlines()]


def utc_ms(text: str) -> int:
    """Return the epoch milliseconds of an ISO text; without an offset it is UTC."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
