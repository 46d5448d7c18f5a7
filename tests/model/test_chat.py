"""Chat in the settings: bots, people and conversations, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from halo_scheduler import ScheduleError
from halo_scheduler.model.chat import (
    BotState,
    BotStatus,
    ChatBot,
    ChatServiceName,
    conversation_of,
    is_permitted,
    require_people,
)
from halo_scheduler.model.codec import decode
from halo_scheduler.model.settings import Settings


def _bot(**given: Any) -> ChatBot:
    return ChatBot(
        **{"name": "family", "service": ChatServiceName.TELEGRAM, "secret": "CHAT_family", **given}
    )


def test_a_bot_is_read_from_the_json_it_writes() -> None:
    bot = _bot(permitted=("@Anna", "12"), api="http://localhost:8081", token_at=5)
    assert bot.permitted == ("12", "@anna")
    assert decode(ChatBot, bot.to_dict()) == bot


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({"name": "Family"}, "name: must be a short name of a-z, 0-9, - and _, like family, not 'Family'"),
        ({"name": "a" * 31}, "name: must be a short name"),
        ({"name": 3}, "name: must be a short name"),
        ({"service": "irc"}, "service: must be one of telegram, slack, discord, not 'irc'"),
        ({"secret": "a b"}, "secret: "),
        ({"permitted": ["x"]}, "permitted[0]: must be the id of a person, like 123456789"),
        ({"permitted": [str(number) for number in range(101)]}, "permitted: has at most 100 people"),
        (
            {"service": "slack", "permitted": ["@anna"]},
            "permitted[0]: names aren't unique on Slack",
        ),
        ({"api": "nonsense"}, "api: "),
        ({"api": "http://example.org"}, "api: must begin with https://"),
        ({"api": "http://127.0.0.1.example.org"}, "api: must begin with https://"),
        ({"token_at": -1}, "token_at: "),
    ],
)
def test_a_bad_bot_is_refused_with_the_field(given: dict[str, Any], refusal: str) -> None:
    with pytest.raises(ScheduleError) as found:
        _bot(**given)
    assert str(found.value).startswith(refusal)


def test_the_settings_take_each_name_once() -> None:
    assert Settings(chat_bots=(_bot(),)).chat_bots == (_bot(),)
    with pytest.raises(ScheduleError, match="there are two bots named family"):
        Settings(chat_bots=(_bot(), _bot(api="https://example.org")))
    with pytest.raises(ScheduleError, match="at most 20 bots"):
        Settings(chat_bots=tuple(_bot(name=f"b{number}") for number in range(21)))
    with pytest.raises(ScheduleError, match=r"chat_bots\[0\]: must be a ChatBot"):
        Settings(chat_bots=("family",))  # type: ignore[arg-type]  # what is refused


def test_a_conversation_is_a_bot_and_an_id() -> None:
    assert conversation_of("family/-100") == ("family", "-100")
    assert conversation_of("work/C0AB") == ("work", "C0AB")


def test_names_are_known_in_any_case_and_only_with_their_sign() -> None:
    people = require_people("from", ["@Anna", "12"])
    assert is_permitted(people, "12", "x")
    assert is_permitted(people, "5", "@ANNA")
    assert not is_permitted(people, "5", "anna")


def test_a_bot_listens_unless_it_has_a_fault() -> None:
    state = BotState(name="family", token_at=0, identity="@halo")
    status = BotStatus(bot=_bot(), state=state, is_running=True, jobs=("deploy",))
    assert status.is_listening
    assert status.to_data() == {
        "name": "family",
        "service": "telegram",
        "permitted": [],
        "listening": True,
        "identity": "@halo",
        "fault": "",
        "jobs": ["deploy"],
    }
    silent = BotStatus(bot=_bot(), state=None, is_running=False, jobs=())
    assert not silent.is_listening
    assert silent.to_data()["identity"] == ""
