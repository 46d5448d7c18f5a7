"""Chat: the bots in the settings, who may write to them, and the jobs that messages start."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.english import listed
from halo_scheduler.model import OnChat
from halo_scheduler.model.changes import ChangeKind
from halo_scheduler.model.chat import (
    DIRECT,
    BotStatus,
    ChatBot,
    ChatServiceName,
    conversation_of,
    refuse_name_of_others,
    require_bot_name,
    require_people,
)
from halo_scheduler.model.schedules import events_of
from halo_scheduler.rules.assistants import refuse_assistants
from halo_scheduler.rules.edit import Edit
from halo_scheduler.store.job_lines import schedule_of
from halo_scheduler.store.store import Store


def find_bot(store: Store, name: str) -> ChatBot | None:
    """Return the bot with this name; None if there is none."""
    return next((bot for bot in store.settings.chat_bots() if bot.name == name), None)


def require_bot(store: Store, name: str) -> ChatBot:
    """Return the bot with this name; refuse an unknown name."""
    bot = find_bot(store, require_bot_name("name", name))
    if bot is None:
        known = [one.name for one in store.settings.chat_bots()]
        others = f"; there is {listed(known)}" if known else "; add one with: halo chat add"
        raise ScheduleError(f"there is no bot named {name}{others}", path="name")
    return bot


def why_unusable(store: Store, event: OnChat) -> str:
    """Return why no message can start a job by this event, as a sentence; "" if one can."""
    bot = find_bot(store, event.bot)
    if bot is None:
        return f"there is no bot named {event.bot}; add it with: halo chat add {event.bot} --service telegram"
    if bot.service is ChatServiceName.DISCORD and conversation_of(event.channel).id == DIRECT:
        return "Discord doesn't report which conversations are direct; use the id of the channel"
    for person in event.from_:
        try:
            refuse_name_of_others(bot.service, person, path="from")
        except ScheduleError as error:
            return error.message
    if not event.from_ and not bot.permitted:
        return f"nobody is permitted to start it; list people here, or permit them with: halo chat allow {bot.name} ID"
    return ""


def add_bot(edit: Edit, bot: ChatBot) -> None:
    """Store a new bot; its token must already be stored."""
    refuse_assistants(edit.actor, "add bots")
    if find_bot(edit.store, bot.name) is not None:
        raise ScheduleError(f"there is already a bot named {bot.name}; remove it first", path="name")
    _save(edit, (*edit.store.settings.chat_bots(), replace(bot, token_at=edit.now_ms)))


def remove_bot(edit: Edit, name: str) -> ChatBot:
    """Remove a bot and return it; messages to it no longer start jobs."""
    refuse_assistants(edit.actor, "remove bots")
    bot = require_bot(edit.store, name)
    _save(edit, (one for one in edit.store.settings.chat_bots() if one.name != name))
    edit.store.chat.forget_bot(name)
    return bot


def renew_token(edit: Edit, name: str) -> None:
    """Make a bot reconnect, because its token was replaced."""
    _change(edit, name, lambda bot: replace(bot, token_at=edit.now_ms))


def permit(edit: Edit, name: str, person: str) -> None:
    """Permit a person to start the bot's jobs, except jobs with their own list of people."""
    refuse_assistants(edit.actor, "permit people")
    (known,) = require_people("person", [person])
    refuse_name_of_others(require_bot(edit.store, name).service, known, path="person")
    _change(edit, name, lambda bot: replace(bot, permitted=(*bot.permitted, known)))
    edit.store.chat.forget_stranger(name, known)


def forbid(edit: Edit, name: str, person: str) -> None:
    """Revoke a permission; the jobs' own lists don't change."""
    refuse_assistants(edit.actor, "decide who is permitted")
    (known,) = require_people("person", [person])
    if known not in require_bot(edit.store, name).permitted:
        raise ScheduleError(f"{known} is not permitted for {name}", path="person")
    _change(
        edit,
        name,
        lambda bot: replace(bot, permitted=tuple(one for one in bot.permitted if one != known)),
    )


def _change(edit: Edit, name: str, change: Callable[[ChatBot], ChatBot]) -> None:
    refuse_assistants(edit.actor, "change bots")
    require_bot(edit.store, name)
    _save(edit, (change(bot) if bot.name == name else bot for bot in edit.store.settings.chat_bots()))


def _save(edit: Edit, bots: Iterable[ChatBot]) -> None:
    settings = replace(edit.store.settings.read(), chat_bots=tuple(bots))
    edit.store.settings.save({"chat_bots": settings.chat_bots})
    edit.changed(ChangeKind.SETTINGS)


def chat_status(store: Store, *, engine_since: int | None) -> list[BotStatus]:
    """Return the bots and their states; `engine_since` is when the engine started, None if none runs."""
    bots = store.settings.chat_bots()
    states = store.chat.states() if bots and engine_since is not None else {}
    jobs = _jobs_by_bot(store) if bots else {}
    found: list[BotStatus] = []
    for bot in bots:
        state = states.get(bot.name)
        # Other states are from an engine that has ended, or about a former token.
        is_current = (
            state is not None and state.token_at == bot.token_at and state.since >= (engine_since or 0)
        )
        found.append(
            BotStatus(
                bot=bot,
                state=state if is_current else None,
                is_running=engine_since is not None,
                jobs=tuple(sorted(jobs.get(bot.name, ()), key=str.casefold)),
            )
        )
    return found


def _jobs_by_bot(store: Store) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for _, name, text in store.webhooks.jobs_with_events():
        for entry in events_of(schedule_of(text)):
            if isinstance(entry.schedule, OnChat):
                found.setdefault(entry.schedule.bot, set()).add(name)
    return found
