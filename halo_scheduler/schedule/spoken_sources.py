"""Reads holidays, business days and calendar files in plain words: "not on holidays in Germany"."""

from __future__ import annotations

import re
from typing import NamedTuple

from halo_scheduler.errors import PhraseParseError, ScheduleError
from halo_scheduler.grammar.phrases.tokens import MONTH_WORDS, refusal
from halo_scheduler.grammar.places import find_place, read_place
from halo_scheduler.model.calendars import MOST_SOURCES, Shift, SourceKind, read_source

_MARKS = [chr(0xE000 + number) for number in range(2 * MOST_SOURCES)]
"""Private-use characters that mark sources in a phrase; phrases must not contain them."""
_FILE = re.compile(
    r'(?:days\s+(?:in|of)\s+(?:the\s+)?(?:calendar\s+)?(?:file\s+)?|ics\s+)"([^"]*)"', re.IGNORECASE
)
_HOLIDAYS = re.compile(r"(?:(?:public|bank|national|legal)\s+)?holidays?\b", re.IGNORECASE)
_BUSINESS = re.compile(
    r"(?:(?P<every>(?:every|each)\s+)|(?:the\s+)?(?P<nth>\w+)\s+)?(?:(?:business|working)\s+days?|workdays?)\b",
    re.IGNORECASE,
)
_WORK_DAYS = re.compile(r"(?:(?:business|working)\s+|work)day(s?)\b", re.IGNORECASE)
_OF_MONTH = re.compile(r"\s+of\s+(?:(?:the|an?|each|every)\s+)?month\b", re.IGNORECASE)
_LISTED = re.compile(r"\b(?:only\s+on|not\s+on|except)\b", re.IGNORECASE)
_PLACE = re.compile(r"\s+(?i:in|of|for)\s+|\s+(?=[A-Z]{2}(?:-\w+)?\b)")
_NAME_END = re.compile(r"\s*[,;0-9]|\s+(?:at|on|from|until|moved|or|and)\b")
_JOINED = re.compile(r"(?:\band|\bor|,)\s+$", re.IGNORECASE)
_EVERY = re.compile(r"\b(?:every|each|daily|hourly)\b", re.IGNORECASE)
_SHIFTS = {"first": Shift.NEXT, "1st": Shift.NEXT, "last": Shift.PREVIOUS}
_SHIFTED_DAYS = {Shift.NEXT: "first day of the month", Shift.PREVIOUS: "last day of the month"}
_ORDINAL = re.compile(r"[0-9]+(?:st|nd|rd|th)|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth")


class Sources(NamedTuple):
    """A phrase with a mark for each source, the sources by mark, and the meaning of its business days."""

    text: str
    items: dict[str, str]
    only: tuple[str, ...] = ()
    shift: Shift | None = None


def take_sources(phrase: str, country: str | None) -> Sources:
    """Take the sources of days from a phrase; `country` is the default place, if given."""
    if any(mark in phrase for mark in _MARKS):
        raise refusal(phrase, "there is a sign that no schedule contains")
    return _Reader(phrase, country).read()


class _Reader:
    """Reads the sources of one phrase."""

    def __init__(self, phrase: str, country: str | None) -> None:
        self._phrase = phrase
        self._country = country
        self._items: dict[str, str] = {}
        self._only: tuple[str, ...] = ()
        self._shift: Shift | None = None

    def read(self) -> Sources:
        text = _FILE.sub(lambda match: self._mark(f"ics {match[1]}"), self._phrase)
        text = self._business_days(self._holidays(text))
        return Sources(text, self._items, self._only, self._shift)

    def _mark(self, item: str) -> str:
        if len(self._items) == len(_MARKS):
            raise self._refusal("there are too many countries, regions and files")
        try:
            source = read_source(item)
        except ScheduleError as error:
            raise self._refusal(error.message) from None
        mark = _MARKS[len(self._items)]
        self._items[mark] = str(source)
        return mark

    def _holidays(self, text: str) -> str:
        match = _HOLIDAYS.search(text)
        while match is not None:
            place, end = self._place(text, match.end(), SourceKind.HOLIDAYS)
            mark = self._mark(f"{SourceKind.HOLIDAYS} {place}")
            text = f"{text[: match.start()]}{mark}{text[end:]}"
            match = _HOLIDAYS.search(text, match.start())
        return text

    def _business_days(self, text: str) -> str:
        match = _BUSINESS.search(text)
        while match is not None:
            words, end = self._business_day(text, match)
            start = match.start() + len(words)
            text = f"{text[: match.start()]}{words}{text[end:]}"
            match = _BUSINESS.search(text, start)
        return text

    def _business_day(self, text: str, match: re.Match[str]) -> tuple[str, int]:
        """Return the replacement for business days in a phrase, and the end of their words."""
        nth, before = (match["nth"] or "").lower(), text[: match.start()]
        if nth in _SHIFTS or _ORDINAL.fullmatch(nth):
            return self._of_month(text, match, nth)
        # Any other word before them belongs to another clause.
        lead = "" if match["nth"] is None else text[match.start() : match.end("nth")] + " "
        place, end = self._place(text, match.end(), SourceKind.BUSINESS_DAYS)
        item = f"{SourceKind.BUSINESS_DAYS} {place}"
        if match["every"] is None and _LISTED.search(before + lead):
            return lead + self._mark(item), end
        self._add(item)
        lead = "" if lead.lower() == "on " else lead
        has_pace = _EVERY.search(before + text[end:]) is not None
        return lead + ("" if has_pace else "every day"), end

    def _of_month(self, text: str, match: re.Match[str], nth: str) -> tuple[str, int]:
        """Return the day of the month that moves to a business day, and the end of its words."""
        at = match.end()
        opening = _PLACE.match(text, at)
        place = None if opening is None else read_place(text, opening.end())
        month = _OF_MONTH.match(text, at if place is None else place[1])
        if self._shift is not None or _JOINED.search(text[: match.start()]):
            raise self._refusal("times cannot move to two days; leave one out")
        if nth not in _SHIFTS or month is None:
            fault = "only the first and the last business day of a month are supported"
            raise self._refusal(fault, "last business day of the month in Germany at 18:00")
        name, end = self._place(text, month.end(), SourceKind.BUSINESS_DAYS) if place is None else place
        self._add(f"{SourceKind.BUSINESS_DAYS} {name}")
        self._shift = _SHIFTS[nth]
        return _SHIFTED_DAYS[self._shift], end if place is None else month.end()

    def _add(self, item: str) -> None:
        if self._only and self._only != (item,):
            raise self._refusal("business days of two places are not clear; leave one out")
        self._only = (item,)

    def _place(self, text: str, at: int, kind: SourceKind) -> tuple[str, int]:
        """Return the place after a word, and its end; without one, the default country."""
        opening = _PLACE.match(text, at)
        if opening is not None:
            if (found := read_place(text, opening.end())) is not None:
                return found
            self._refuse_unknown(_NAME_END.split(text[opening.end() :])[0])
        if self._country is not None:
            return self._country, at
        which = "not" if kind is SourceKind.HOLIDAYS else "only"
        named = (_HOLIDAYS if kind is SourceKind.HOLIDAYS else _BUSINESS).sub(
            r"\g<0> in Germany", self._phrase, count=1
        )
        usual = ("every weekday at 9:00",) if kind is SourceKind.BUSINESS_DAYS else ()
        raise self._refusal(
            f"it is not clear in which country {kind} are meant",
            named,
            *(_WORK_DAYS.sub(r"weekday\1", self._phrase) for _ in usual),
            f"every day at 9:00, {which} on {kind} in Germany",
            *usual,
        )

    def _refuse_unknown(self, name: str) -> None:
        """Refuse the name of an unknown place; other words are left to other clauses."""
        if name.split(" ", maxsplit=1)[0].lower() in (*MONTH_WORDS, "the", ""):
            return
        try:
            find_place(name)
        except ScheduleError as error:
            raise self._refusal(error.message) from None

    def _refusal(self, fault: str, *suggestions: str) -> PhraseParseError:
        return refusal(self._phrase, fault, *suggestions)
