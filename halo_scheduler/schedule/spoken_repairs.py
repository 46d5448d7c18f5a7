"""Repairs phrases that are not understood: what is likely meant, for the suggestions of a refusal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta

from halo_scheduler.grammar.english import MONTHS
from halo_scheduler.grammar.phrases.days import DAY_NAMES
from halo_scheduler.grammar.phrases.tokens import MONTH_WORDS, WEEKDAY_WORDS
from halo_scheduler.schedule.spoken_dates import day_words, with_year

_MONTH = "|".join(sorted(MONTH_WORDS, key=len, reverse=True))
_DAY = "|".join(sorted(DAY_NAMES, key=len, reverse=True))
_AFTER_HOUR = f"and|&|daily|every|each|on|{_DAY}"
_ORDINAL = "(?:st|nd|rd|th)?"
_WITHOUT_YEAR = re.compile(
    rf"\b(?:[0-9]{{1,2}}{_ORDINAL} (?:of )?(?:{_MONTH})|(?:{_MONTH}) [0-9]{{1,2}}{_ORDINAL})\b"
    r"(?!,? ?[0-9]{4}| every| each)",
    re.IGNORECASE,
)
_SHORT_DATE = re.compile(
    r"(?<![0-9.,:/-])([0-9]{1,2})(?:\.([0-9]{1,2})\.?|/([0-9]{1,2}))(?![0-9:/,-]|\.[0-9])"
)
_SHORT_YEAR = re.compile(r"(?<![0-9.])([0-9]{1,2}\.[0-9]{1,2}\.)([0-9]{2})(?![0-9.:])")
_NEXT = re.compile(rf"\b(?:({_DAY}),? (?:of )?)?next (week|month)\b(?:,? (?:on )?({_DAY})\b)?", re.IGNORECASE)
# Abbreviations mean different zones in different countries: these are the most likely ones.
_ZONES = {
    "UTC": "gmt",
    "Europe/Berlin": "cet|cest|mez|mesz|berlin|hamburg|munich|frankfurt|cologne",
    "Europe/London": "bst|london|edinburgh",
    "Europe/Dublin": "dublin",
    "Europe/Lisbon": "lisbon",
    "Europe/Paris": "paris",
    "Europe/Madrid": "madrid|barcelona",
    "Europe/Rome": "rome|milan",
    "Europe/Vienna": "vienna",
    "Europe/Zurich": "zurich|geneva",
    "Europe/Amsterdam": "amsterdam",
    "Europe/Brussels": "brussels",
    "Europe/Stockholm": "stockholm",
    "Europe/Oslo": "oslo",
    "Europe/Copenhagen": "copenhagen",
    "Europe/Warsaw": "warsaw",
    "Europe/Prague": "prague",
    "Europe/Helsinki": "eet|eest|helsinki",
    "Europe/Athens": "athens",
    "Europe/Istanbul": "istanbul",
    "America/New_York": "est|edt|et|new york|boston",
    "America/Toronto": "toronto",
    "America/Chicago": "cst|cdt|ct|chicago",
    "America/Denver": "mst|mdt|denver",
    "America/Los_Angeles": "pst|pdt|pt|los angeles|san francisco|seattle",
    "America/Sao_Paulo": "sao paulo",
    "Africa/Johannesburg": "johannesburg|cape town",
    "Asia/Dubai": "dubai",
    "Asia/Kolkata": "ist|delhi|new delhi|mumbai|bangalore",
    "Asia/Singapore": "singapore",
    "Asia/Shanghai": "shanghai|beijing",
    "Asia/Tokyo": "jst|tokyo",
    "Asia/Seoul": "seoul",
    "Australia/Sydney": "aest|aedt|sydney",
}
_ZONE_OF = {name: zone for zone, names in _ZONES.items() for name in names.split("|")}
_PLACE = re.compile(rf",? ?\b(?:in )?({'|'.join(_ZONE_OF)})\b(?: time)?", re.IGNORECASE)
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
    yield _with_zone(phrase)
    yield _SHORT_YEAR.sub(rf"\g<1>{today.year // 100}\2", phrase)
    yield _SHORT_DATE.sub(lambda match: _with_month(match, today, is_day_first=True), phrase)
    yield _SHORT_DATE.sub(lambda match: _with_month(match, today, is_day_first=False), phrase)
    with_day = _NEXT.sub(lambda match: _next_day(match, today), phrase)
    yield from (with_day, f"{with_day} at 9:00") if with_day != phrase else ()
    yield _WITHOUT_YEAR.sub(lambda match: with_year(match[0], today), phrase)
    for pattern, replacement in _COMPLETIONS:
        yield pattern.sub(replacement, repaired, count=1)
    yield from _split(repaired)


def _with_zone(phrase: str) -> str:
    """Return a phrase with the time zone of an abbreviation or a city, like "9:00 (Europe/Berlin)"."""
    match = _PLACE.search(phrase)
    if match is None:
        return phrase
    return f"{phrase[: match.start()]}{phrase[match.end() :]} ({_ZONE_OF[match[1].lower()]})".strip()


def _with_month(match: re.Match[str], today: date, *, is_day_first: bool) -> str:
    """Return "24.12.", "24/12" or "12/24" as the next such day."""
    day, month = int(match[1]), int(match[2] or match[3])
    if match[3] and not is_day_first:
        day, month = month, day
    return with_year(f"{day} {MONTHS[month - 1]}", today) if 1 <= month <= len(MONTHS) else match[0]


def _next_day(match: re.Match[str], today: date) -> str:
    """Return the day that "Friday next week" means; the first day if none is named."""
    if match[2].lower() == "month":
        return day_words((today.replace(day=1) + timedelta(days=31)).replace(day=1))
    named = WEEKDAY_WORDS.get((match[1] or match[3] or "monday").lower())
    if named is None:
        return match[0]
    # ISO weekdays: Monday is 1, Sunday 7.
    return day_words(today + timedelta(days=7 - today.isoweekday() + (named or 7)))


def _split(phrase: str) -> Iterator[str]:
    """Return a phrase as two schedules: "Mondays at 9; Fridays at 10"."""
    for joint in _JOINT.finditer(phrase):
        parts = (phrase[: joint.start()], phrase[joint.end() :])
        yield "; ".join(_ONE_DAY.sub(r"every \1", part, count=1) for part in parts)
