"""The settings, and the concurrency limits of groups."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

from halo_scheduler.errors import ScheduleError
from halo_scheduler.model.chat import ChatBot
from halo_scheduler.model.codec import decode
from halo_scheduler.model.settings import Agent, QuietTime, Settings
from halo_scheduler.model.webhooks import LOOPBACK, USUAL_PORT, Place
from halo_scheduler.store.connection import Database

# Internal marks, stored beside the user's settings.
_FAILURES_SEEN = "failures_seen"
_TRUTH = {True: "true", False: "false"}


@dataclass(frozen=True, slots=True)
class NumberSetting:
    """An integer setting with its default."""

    key: str
    default: int
    low: int = 0


_HIGHEST = 1 << 50
MAX_CONCURRENT = NumberSetting("max_concurrent", 5, low=1)
RUNS_KEPT_PER_JOB = NumberSetting("runs_kept_per_job", 1_000, low=1)
RUNS_KEPT_DAYS = NumberSetting("runs_kept_days", 90, low=1)
OUTPUT_LIMIT_BYTES = NumberSetting("output_limit_bytes", 256 << 10)
SPOOL_LIMIT_BYTES = NumberSetting("spool_limit_bytes", 64 << 20)
OUTPUT_KEPT_BYTES = NumberSetting("output_kept_bytes", 1 << 30)
WEBHOOK_PORT = NumberSetting("webhook_port", USUAL_PORT, low=1)


class SettingTable:
    """Reads and writes settings."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def number(self, setting: NumberSetting) -> int:
        """Return a setting; an invalid value counts as not set."""
        with suppress(ValueError):
            number = int(self._text(setting.key) or "")
            return number if setting.low <= number <= _HIGHEST else setting.default
        return setting.default

    def set_number(self, setting: NumberSetting, value: int) -> None:
        self._set_text(setting.key, str(value))

    def read(self) -> Settings:
        """Return the settings; invalid stored values count as not set."""
        texts: dict[str, str] = dict(self._database.rows("SELECT key, value FROM scheduler_settings"))
        found = Settings()
        for field in fields(Settings):
            if field.name in texts:
                with suppress(ScheduleError, ValueError, RecursionError):
                    value = _value_of(texts[field.name], getattr(found, field.name), field.name)
                    found = replace(found, **{field.name: value})
        return found

    def quiet_times(self) -> tuple[QuietTime, ...]:
        """Return the quiet hours; called at every tick, so nothing else is read."""
        return _quiet_times(self._text("quiet_times") or "[]")

    def webhook_place(self) -> Place | None:
        """Return where to listen for webhooks, None while they are off; called at every tick with events."""
        if self._text("webhooks") != _TRUTH[True]:
            return None
        return Place(self._text("webhook_address") or LOOPBACK, self.number(WEBHOOK_PORT))

    def chat_bots(self) -> tuple[ChatBot, ...]:
        """Return the bots that receive messages; called at every tick."""
        text = self._text("chat_bots")
        return () if text is None else _chat_bots(text)

    def save(self, changes: dict[str, Any]) -> None:
        for name, value in changes.items():
            self._set_text(name, _text_of(value))

    def failures_seen(self) -> tuple[int, list[int]]:
        """Return the newest run up to which failures were seen, and the runs active at that moment."""
        with suppress(TypeError, ValueError, KeyError):
            mark = json.loads(self._text(_FAILURES_SEEN) or "")
            return int(mark["seq"]), [int(seq) for seq in mark["open"]]
        return 0, []

    def set_failures_seen(self, seq: int, under_way: list[int]) -> None:
        self._set_text(_FAILURES_SEEN, json.dumps({"seq": seq, "open": under_way}))

    def _text(self, key: str) -> str | None:
        row = self._database.row("SELECT value FROM scheduler_settings WHERE key = ?", [key])
        return None if row is None else str(row[0])

    def _set_text(self, key: str, value: str) -> None:
        self._database.rows(
            "INSERT INTO scheduler_settings (key, value) VALUES (?, ?) "
            "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            [key, value],
        )


@lru_cache(maxsize=8)
def _quiet_times(text: str) -> tuple[QuietTime, ...]:
    """Return the readable quiet hours; one with a zone unknown here must not disable the others."""
    stored: object = None
    with suppress(ValueError, RecursionError):
        stored = json.loads(text)
    found: list[QuietTime] = []
    for item in stored if isinstance(stored, list) else ():
        with suppress(ScheduleError):
            found.append(decode(QuietTime, item))
    return tuple(found)


@lru_cache(maxsize=8)
def _chat_bots(text: str) -> tuple[ChatBot, ...]:
    """Return the readable bots."""
    with suppress(ScheduleError, ValueError, RecursionError):
        return tuple(decode(tuple[ChatBot, ...], json.loads(text)))
    return ()


def _text_of(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple):
        return json.dumps([item.to_dict() for item in value])
    return _TRUTH[value] if isinstance(value, bool) else str(value)


def _value_of(text: str, default: object, name: str) -> Any:
    """Return the value of a stored text, in the type of the default."""
    if isinstance(default, bool):
        return {word: truth for truth, word in _TRUTH.items()}.get(text)
    if isinstance(default, int):
        return int(text)
    if name == "quiet_times":
        return _quiet_times(text)
    if name == "chat_bots":
        return _chat_bots(text)
    if isinstance(default, tuple):
        return decode(tuple[Agent, ...], json.loads(text))
    return text or None


class GroupTable:
    """Reads and writes the concurrency limits of groups."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def limits(self) -> dict[str, int]:
        return dict(self._database.rows("SELECT name, max_concurrent FROM scheduler_groups"))

    def set_limit(self, group: str, max_concurrent: int | None) -> None:
        """Limit how many runs of a group are active at a time; None removes the limit."""
        if max_concurrent is None:
            self._database.rows("DELETE FROM scheduler_groups WHERE name = ?", [group])
            return
        self._database.rows(
            "INSERT INTO scheduler_groups (name, max_concurrent) VALUES (?, ?) "
            "ON CONFLICT (name) DO UPDATE SET max_concurrent = excluded.max_concurrent",
            [group, max_concurrent],
        )
