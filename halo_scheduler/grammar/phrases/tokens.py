"""The words, numbers and signs of a phrase, and a cursor that reads them from left to right."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum, auto
from typing import NamedTuple

from halo_scheduler.errors import PhraseParseError
from halo_scheduler.grammar.english import MONTHS, WEEKDAYS, listed, shown

LONGEST_PHRASE = 10_000
_SIMILARITY, _SHORTEST_SIMILAR = 0.75, 3

_TOKEN = re.compile(
    r"""
    (?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])|[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}(?![0-9]))
    |(?P<clock>[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?![0-9:]))
    |(?P<past>:[0-9]{2}(?![0-9:]))
    |(?P<decimal>[0-9]{1,9}\.[0-9]{1,9}(?![0-9.]))
    |(?P<ordinal>[0-9]{1,9}(?:st|nd|rd|th)\b)
    |(?P<number>[0-9]{1,9}(?![0-9]))
    |(?P<source>[\ue000-\uf8ff])
    |(?P<word>[a-z]+(?:'[a-z]+)?)
    |(?P<sign>[,;…–&()+-])
    """,
    re.VERBOSE | re.ASCII,
)
_BLANK = re.compile(r"\s+")
_PLAIN = (
    (re.compile(r"[‘’]"), "'"),
    (re.compile(r"\.\.\."), "…"),
    (re.compile(r"—"), "–"),
    (re.compile(r"\b([ap])\.?m\b\.?"), r"\1m"),
    (re.compile(r"(?<=[0-9])t(?=[0-9])"), " "),
    (re.compile(r"[.!]+$"), ""),
    (re.compile(r"\beveryday\b"), "every day"),
    (re.compile(r"\bnightly\b"), "every night"),
    (re.compile(r"\bhalf-hour\b"), "half hour"),
    (re.compile(r"\bhalf[ -]hourly\b"), "every half hour"),
    (re.compile(r"\bevery fortnight\b|\bfortnightly\b"), "every 2 weeks"),
    (re.compile(r"\b12 (noon|midnight)\b"), r"\1"),
    (re.compile(r"\bof (?:a )?month\b"), "of the month"),
    # "mon/wed" and "sat + sun" are lists.
    (re.compile(r"(?<=[a-z])(?: ?\+ ?|/)(?=(?:mon|tue|wed|thu|fri|sat|sun))"), ", "),
    (re.compile(r"(?<=[ap]m)/(?=[0-9])"), ", "),
    # After "at" or before "am", 9.30, 9h30 and 0930 are times.
    (re.compile(r"(?<=\bat )([0-9]{1,2})[.h]([0-9]{2})\b(?![.:])"), r"\1:\2"),
    (re.compile(r"\b([0-9]{1,2})\.([0-9]{2})(?= ?[ap]m\b)"), r"\1:\2"),
    (re.compile(r"(?<=\bat )([0-9]{1,2}) ?h\b"), r"\1:00"),
    (re.compile(r"(?<=\bat )([0-9]{2})([0-9]{2})\b(?!-)"), r"\1:\2"),
)
"""Other ways to write the same words."""


class TokenKind(Enum):
    """The kind of a token; `past` is the minute in ":30", `source` a mark for a source of days."""

    DATE = auto()
    CLOCK = auto()
    PAST = auto()
    DECIMAL = auto()
    ORDINAL = auto()
    NUMBER = auto()
    WORD = auto()
    SOURCE = auto()
    SIGN = auto()
    END = auto()


class Token(NamedTuple):
    """A word, number or sign, in lower case."""

    kind: TokenKind
    text: str

    @property
    def number(self) -> int:
        """The value of a number or an ordinal."""
        return int(self.text.rstrip("stndrh"))


END = Token(TokenKind.END, "")

_COUNTS = (
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
)
NUMBERS = {word: number for number, word in enumerate(_COUNTS, 1)} | {"thirty": 30, "forty": 40, "sixty": 60}
ORDINALS = {
    word: number
    for number, word in enumerate(
        ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"), 1
    )
}
WEEKDAY_WORDS = (
    {name.lower(): number for number, name in enumerate(WEEKDAYS)}
    | {name[:length].lower(): number for number, name in enumerate(WEEKDAYS) for length in (2, 3)}
    | {"tues": 2, "weds": 3, "thur": 4, "thurs": 4}
)
WEEKDAY_PLURALS = {f"{name.lower()}s": number for number, name in enumerate(WEEKDAYS)}
MONTH_WORDS = (
    {name.lower(): number for number, name in enumerate(MONTHS, 1)}
    | {name[:3].lower(): number for number, name in enumerate(MONTHS, 1)}
    | {"sept": 9}
)
_MORE_WORDS = (
    *(
        "every",
        "each",
        "other",
        "weekday",
        "weekdays",
        "weekend",
        "weekends",
        "daily",
        "hourly",
        "monthly",
        "yearly",
    ),
    *(
        "minute",
        "minutes",
        "second",
        "seconds",
        "hour",
        "hours",
        "day",
        "days",
        "week",
        "weeks",
        "month",
        "months",
    ),
    *(
        "noon",
        "midnight",
        "morning",
        "afternoon",
        "evening",
        "night",
        "tonight",
        "today",
        "tomorrow",
        "between",
    ),
    *(
        "from",
        "until",
        "after",
        "past",
        "last",
        "next",
        "finishes",
        "manual",
        "manually",
        "once",
        "year",
        "clock",
    ),
)


def tokens_of(phrase: str) -> list[Token]:
    """Return the tokens of a phrase; a sign that no schedule contains is refused."""
    text = _BLANK.sub(" ", phrase).strip().lower()
    for pattern, plain in _PLAIN:
        text = pattern.sub(plain, text)
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        if text[position] == " ":
            position += 1
            continue
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            word = text.rfind(" ", 0, position) + 1
            raise PhraseParseError(f"cannot read {shown(text[word:])}", phrase)
        tokens.append(Token(TokenKind[match.lastgroup.upper()], match[0]))
        position = match.end()
    return tokens


class Cursor:
    """A position in the tokens of a phrase."""

    def __init__(self, phrase: str, sources: Mapping[str, str] | None = None) -> None:
        self.phrase = phrase
        self.sources = sources or {}
        """The sources of days, by their marks in the phrase."""
        self._tokens = tokens_of(phrase)
        self.position = 0

    @property
    def is_over(self) -> bool:
        return self.position >= len(self._tokens)

    def peek(self, ahead: int = 0) -> Token:
        """Return a token without taking it; END behind the last."""
        at = self.position + ahead
        return self._tokens[at] if at < len(self._tokens) else END

    def peek_at(self, position: int) -> Token:
        """Return the token at a position."""
        return self._tokens[position]

    def cut(self, start: int) -> None:
        """Remove the tokens from a position up to the current one."""
        del self._tokens[start : self.position]
        self.position = start

    def take(self) -> Token:
        token = self.peek()
        self.position += 1
        return token

    def take_kind(self, kind: TokenKind) -> Token | None:
        return self.take() if self.peek().kind is kind else None

    def accept(self, *texts: str) -> str:
        """Take the next token if it is one of these, and return it; else ""."""
        return self.take().text if self.peek().text in texts and not self.is_over else ""

    def accept_all(self, words: str) -> bool:
        """Take several tokens in a row, or none."""
        if self.is_over or not words.startswith(self.peek().text):
            return False
        texts = words.split()
        if [self.peek(ahead).text for ahead in range(len(texts))] != texts:
            return False
        self.position += len(texts)
        return True

    def accept_from(self, table: dict[str, int]) -> int | None:
        """Take a word of a table and return its number."""
        number = table.get(self.peek().text)
        if number is not None:
            self.position += 1
        return number

    def number(self) -> int | None:
        """Take a whole number, in digits or as a word."""
        token = self.take_kind(TokenKind.NUMBER)
        return self.accept_from(NUMBERS) if token is None else token.number

    def refusal(self, fault: str, *suggestions: str) -> PhraseParseError:
        """Return the error for a phrase, with valid phrases as suggestions."""
        return refusal(self.phrase, fault, *suggestions)

    def token_refusal(self) -> PhraseParseError:
        """Return the error for the next token; it names the known word that is spelled most like it."""
        token = self.peek()
        if token is END or (token.text in _JOINTS and self.peek(1) is END):
            return self.refusal("the phrase ends too early", *EXAMPLES)
        # After a number it is the unit that is not known.
        word = self.peek(1).text if token.kind is TokenKind.NUMBER else token.text
        if similar := _similar_word(word):
            return self.refusal(f"“{word}” is not understood; did you mean “{similar}”?")
        text = self.sources.get(token.text, token.text)
        if text in _PREPOSITIONS:
            text = f"{text} {self.sources.get(self.peek(1).text, self.peek(1).text)}"
        return self.refusal(f"“{text}” is not understood here", *EXAMPLES)


def refusal(phrase: str, fault: str, *suggestions: str) -> PhraseParseError:
    """Return the error for a phrase, with valid phrases as suggestions."""
    advice = f"; write {listed([f'“{text}”' for text in suggestions], last='or')}" if suggestions else ""
    return PhraseParseError(f"{fault}{advice}", phrase, suggestions, fault)


_PREPOSITIONS = ("at", "on", "in", "of", "from")
_JOINTS = ("at", "on", "in", "of", "and", "from", "between", "the", "every", "each")
_NOT_MISSPELLED = frozenset(("to", "for", "then", "than", "start", "right"))
EXAMPLES = ("every weekday at 9:00", "every 15 minutes", "first Monday of the month at 7:30")
TWO_SCHEDULES = "every day at 9:00; every Monday at 10:30"


def _similar_word(word: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only for a misspelled word

    if word in _NOT_MISSPELLED:
        return ""
    known = [*WEEKDAY_WORDS, *WEEKDAY_PLURALS, *MONTH_WORDS, *NUMBERS, *ORDINALS, *_MORE_WORDS]
    if word in known or word in _JOINTS:
        return ""
    # Two letters are like too many words.
    known = [name for name in known if len(name) >= _SHORTEST_SIMILAR]
    return next(iter(get_close_matches(word, known, 1, _SIMILARITY)), "")
