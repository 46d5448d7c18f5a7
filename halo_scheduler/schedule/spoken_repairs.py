"""Repairs phrases that are not understood: what is likely meant, for the suggestions of a refusal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from halo_scheduler.grammar.phrases.days import DAY_NAMES
from halo_scheduler.grammar.phrases.tokens import MONTH_WORDS, WEEKDAY_WORDS
from halo_scheduler.schedule.spoken_dates import with_year

_MONTH = "|".join(sorted(MONTH_WORDS, key=len, reverse=True))
_DAY = "|".join(sorted(DAY_NAMES, key=len, reverse=True))
_AFTER_HOUR = f"and|&|daily|every|each|on|{_DAY}"
_ORDINAL = "(?:st|nd|rd|th)?"
_WITHOUT_YEAR = re.compile(
    rf"\b(?:[0-9]{{1,2}}{_ORDINAL} (?:of )?(?:{_MONTH})|(?:{_MONTH}) [0-9]{{1,2}}{_ORDINAL})\b"
    r"(?!,? ?[0-9]{4}| every| each)",
    re.IGNORECASE,
)
_REPAIRS = [
    (re.compile(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in (
        (r"[\"“”]|[^\x00-\x7f]+$", ""),
        (r",?\s*also in a repeated hour", ""),
        (r"^(?:please\s+)?(?:remind me|run|start|execute|do)(?:\s+(?:it|this))?\s+|\bplease\b", ""),
        (r"^once (?:an?|per|every|each) ", "every "),
        (r"\b(?:twice|two times|2x) (?:an?|per|each|every) (day|week|month)\b(?=.* [0-9])", r"every \1"),
        (r"\b(?:twice|2x) daily\b(?=.* [0-9])", "daily"),
        (r"^(when|if) (\S*/)([^/\s]+) (\w+|is \w+)$", r"\1 a file named \3 \4 in \2"),
        (r"^(when|if) (\S*\*\S*) (?:in|from) (\S+) (\w+|is \w+)$", r"\1 a file named \2 \4 in \3"),
        (r"^(?:when )?(?:an? )?new (?:\w+ )?files? (?:is )?in (\S+)$", r"when a file appears in \1"),
        (r"^after ([0-9].*)", r"\1 after it finishes"),
        (r"^after ([0-9].*)", r"in \1"),
        (r"^(?:when|after) it (?:finishes|ends)$", "1 minute after it finishes"),
        (r"^(?:right )?(?:now|immediately|asap)$", "in 1 minute"),
        (r"^(?:at |on )?the hour$|^(?:at the )?top of the hour$", "every hour on the hour"),
        (r"(?:every hour at |^):([0-9]{2})(?:,| and) :([0-9]{2})", r"at minutes \1 and \2 of every hour"),
        (r"(every [0-9]+ hours) at :([0-9]{2})", r"\1 from 0:\2"),
        (r"([0-9]),([0-9]+)(?= ?(?:h|m)[a-z]*\b)", r"\1.\2"),
        (r"\b([0-9]{1,2})/([0-9]{1,2})/([0-9]{4})\b", r"\1.\2.\3"),
        (r"\b([0-9]{1,2})/([0-9]{1,2})/([0-9]{4})\b", r"\2.\1.\3"),
        (rf"\b(starting|beginning|from|until|till|ending) (?:on )?({_DAY})$", r"\1 next \2"),
        (rf"\b(starting|beginning|from|until|till|ending) (?:on )?({_DAY})$", r"\1 this \2"),
        (r"\bend of (?:the )?month\b", "last day of the month"),
        (r"\b(?:excluding|but not on|but not|but|apart from)\b", "except"),
        (r"\b(morning|evening|afternoon|night)s\b", r"every \1"),
        (r"\b(?:at|around|about|by)(?: around| about)\b|\b(?:around|about)\b", "at"),
        (r"(?<!every )\b([0-9]{1,2}) ?h(?:rs?)?$", r"at \1:00"),
        # A bare number may be an hour.
        (rf"(?<!at )(?<!and )(?<![0-9:.,/–-])\b([0-9]{{1,2}})(?=$|,| (?:{_AFTER_HOUR})\b)", r"at \1"),
    )
]
_COMPLETIONS = (
    (re.compile(r"^(?!when|if|.*\bat [0-9]|.*[0-9]:[0-9]).*", re.IGNORECASE), r"\g<0> at 9:00"),
    (
        re.compile(r"^(?!.*\bevery\b.*[0-9]).*(?:between|from|[0-9] ?[–-] ?[0-9]).*$", re.IGNORECASE),
        r"\g<0> every hour",
    ),
)
_JOINT = re.compile(r",? (?:and|then|or|but) |, ", re.IGNORECASE)
_ONE_DAY = re.compile(rf"(?<!every )(?<!each )\b({'|'.join(WEEKDAY_WORDS)})\b", re.IGNORECASE)


def repaired_phrases(phrase: str, today: date) -> Iterator[str]:
    """Return what a phrase may mean, most likely first, each once; nothing says that these are understood."""
    seen = {phrase}
    for changed in _changed_phrases(phrase, today):
        if changed not in seen:
            seen.add(changed)
            yield changed


def _changed_phrases(phrase: str, today: date) -> Iterator[str]:
    repaired = phrase
    for pattern, replacement in _REPAIRS:
        repaired = pattern.sub(replacement, repaired, count=1)
        yield repaired
        # Another repair of the same words may be the right one.
        yield pattern.sub(replacement, phrase, count=1)
    yield _WITHOUT_YEAR.sub(lambda match: with_year(match[0], today), phrase)
    for pattern, replacement in _COMPLETIONS:
        yield pattern.sub(replacement, repaired, count=1)
    yield from _split(repaired)


def _split(phrase: str) -> Iterator[str]:
    """Return a phrase as two schedules: "Mondays at 9; Fridays at 10"."""
    for joint in _JOINT.finditer(phrase):
        parts = (phrase[: joint.start()], phrase[joint.end() :])
        yield "; ".join(_ONE_DAY.sub(r"every \1", part, count=1) for part in parts)
