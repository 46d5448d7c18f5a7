"""The command line of an agent, with its placeholder for the prompt."""

from __future__ import annotations

from halo_scheduler.model.agents import PROMPT, PROMPT_FILE, Delivery

from .argument_line import join_line

_SIGNS = {Delivery.ARGUMENT: PROMPT, Delivery.FILE: PROMPT_FILE}


def agent_line(argv: tuple[str, ...]) -> str:
    """Return the line that splits into these arguments; the placeholder is not quoted."""
    return " ".join(word if word in _SIGNS.values() else join_line((word,)) for word in argv)


def delivery_of(argv: tuple[str, ...]) -> Delivery:
    """Return how these arguments pass the prompt, valid or not."""
    rest = " ".join(argv[1:])
    return next((way for way, sign in _SIGNS.items() if sign in rest), Delivery.STDIN)


def with_delivery(argv: tuple[str, ...], delivery: Delivery) -> tuple[str, ...]:
    """Return arguments that pass the prompt in another way; the placeholder keeps its position or comes last."""
    if not argv or delivery is delivery_of(argv):
        return argv
    if delivery is Delivery.STDIN:
        return argv[:1] + tuple(
            word for word in argv[1:] if not any(sign in word for sign in _SIGNS.values())
        )
    wanted = _SIGNS[delivery]
    others = [sign for sign in _SIGNS.values() if sign != wanted]
    rest = argv[1:]
    for sign in others:
        rest = tuple(word.replace(sign, wanted) for word in rest)
    return (argv[0], *rest) if any(wanted in word for word in rest) else (*argv, wanted)
