"""The grammar of cron expressions."""

from __future__ import annotations

from typing import Any

import pytest
from cases import load_json
from hypothesis import given
from hypothesis import strategies as st
from timing import at_most_ms

from halo_scheduler import CronParseError
from halo_scheduler.grammar.cron_fields import NICKNAMES, parse_fields


@pytest.mark.parametrize("case", load_json("cron_syntax.json")["refuse"], ids=lambda case: repr(case["expr"]))
def test_provided_expression_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(CronParseError) as caught:
        parse_fields(case["expr"])
    assert caught.value.expression == case["expr"]


@pytest.mark.parametrize(
    ("expression", "sentence"),
    [
        ("", "it is empty"),
        ("* * * *", "it has 4 fields; write five, or six with the seconds first"),
        ("60 * * * *", "minute 60 is outside 0-59"),
        ("* * 0 * *", "day of month 0 is outside 1-31"),
        ("* * * 13 *", "month 13 is outside 1-12"),
        ("* * * * 8", "day of week 8 is outside 0-7"),
        ("0 17-9 * * *", "hour 17-9: the range runs backwards"),
        ("0 0 * * FRI-SUN", "runs backwards; to end on Sunday write 5-7"),
        ("5/15 * * * *", "minute 5/15: a step needs a range; write 5-59/15 or */15"),
        ("*/0 * * * *", "minute step 0 must lie between 1 and 60"),
        ("*/61 * * * *", "minute step 61 must lie between 1 and 60"),
        ("0 */25 * * *", "hour step 25 must lie between 1 and 24"),
        ("0 0 * * */8", "day of week step 8 must lie between 1 and 7"),
        ("? * * * *", "write * instead of ?"),
        ("0 0 15W * *", "day of month 15W is not supported"),
        ("0 0 LW * *", "day of month LW is not supported"),
        ("0 0 L-3 * *", "day of month L is not supported"),
        ("0 0 * * L", "day of week L needs a weekday before it, like 5L"),
        ("0 0 * * MON#6", "the number after # must lie between 1 and 5"),
        ("0 0 * * MON-FRI#1", "day of week 'MON-FRI#1' is not understood"),
        ("0,,5 * * * *", "an entry of the minute field is empty; check the commas"),
        ("@reboot", "@reboot is not a time; use the event boot instead"),
        ("@every 5m", "@every is not cron; use an interval"),
        ("@fortnightly", "unknown nickname; known are @hourly, @daily"),
        ("0 0 31 2 *", "no such date ever comes"),
        ("0 0 31 4,6,9,11 *", "no such date ever comes"),
        ("0 0 */13 * MON#5", "no such date ever comes"),
        ("0 0 */30 2 5L", "no such date ever comes"),
        ("٥ * * * *", "use plain ASCII"),
        ("1" * 5_000 + " * * * *", "it is longer than 1000 characters"),
        (",".join(["1"] * 5_000) + " * * * *", "it is longer than 1000 characters"),
        ("1" * 900 + " * * * *", "is outside 0-59"),
        ("X" * 900 + " * * * *", "is not understood"),
    ],
)
def test_each_refusal_says_how_to_fix_it(expression: str, sentence: str) -> None:
    with pytest.raises(CronParseError) as caught, at_most_ms(50):
        parse_fields(expression)
    assert sentence in str(caught.value)
    assert len(str(caught.value)) < 400


def test_values_that_are_not_text_are_refused() -> None:
    with pytest.raises(CronParseError, match="it must be text"):
        parse_fields(10**5_000)  # type: ignore[arg-type] # what a caller without types may do


@pytest.mark.parametrize("nickname", NICKNAMES)
def test_nicknames_are_read_in_any_case(nickname: str) -> None:
    assert parse_fields(nickname.upper()) == parse_fields(NICKNAMES[nickname])


@pytest.mark.parametrize(
    ("expression", "attribute", "values"),
    [
        ("5 * * * *", "seconds", (0,)),
        ("7 5 * * * *", "seconds", (7,)),
        ("5-5 * * * *", "minutes", (5,)),
        ("*,5 * * * *", "minutes", tuple(range(60))),
        ("1-5/10 * * * *", "minutes", (1,)),
        ("*/60 * * * *", "minutes", (0,)),
        ("5,1,1-3 * * * *", "minutes", (1, 2, 3, 5)),
        ("0 0 * jan,Dec *", "months", (1, 12)),
        ("0 0 * * 7", "weekdays", (0,)),
        ("0 0 * * 5-7", "weekdays", (0, 5, 6)),
        ("0 0 * * 0-7", "weekdays", (0, 1, 2, 3, 4, 5, 6)),
        ("0 0 * * 1-7/2", "weekdays", (0, 1, 3, 5)),
        ("0 0 * * mon-Fri", "weekdays", (1, 2, 3, 4, 5)),
        ("0 0 * * */2", "weekdays", (0, 2, 4, 6)),
        ("0 0 * * MON#2,7#1", "nth_weekdays", ((0, 1), (1, 2))),
        ("0 0 * * 5L,0L,7L,MONL", "last_weekdays", (0, 1, 5)),
        ("0 0 1,L * *", "days", (1,)),
        ("0 0 1,L * *", "last_day", True),
        ("0 0 L * *", "days", ()),
        ("* * * * *", "is_wildcard", True),
        ("0 */4 * * *", "is_wildcard", True),
        ("*,5 3 * * *", "is_wildcard", True),
        ("* 0 3 * * *", "is_wildcard", True),
        ("0-59 0-23 * * *", "is_wildcard", False),
        ("0 0 13 * 5", "days_match_both", False),
        ("0 0 */2 * 5", "days_match_both", True),
        ("0 0 1-7 * */2", "days_match_both", True),
    ],
)
def test_meaning_of_a_field(expression: str, attribute: str, values: object) -> None:
    assert getattr(parse_fields(expression), attribute) == values


@pytest.mark.parametrize(
    "expression", ["0 0 31 2 1", "0 0 29 2 *", "0 0 */28 2 1", "0 0 L 2 *", "0 0 * 2 MON#5", "0 0 */7 2 5L"]
)
def test_rare_dates_are_accepted(expression: str) -> None:
    parse_fields(expression)


_CRON_LIKE = st.lists(
    st.text(alphabet="0123456789*/,-#LWR?@JANMONSUN", min_size=1, max_size=12), min_size=4, max_size=7
).map(" ".join)


@given(st.one_of(st.text(), _CRON_LIKE))
def test_no_text_makes_the_parser_stumble(text: str) -> None:
    with at_most_ms(50):
        try:
            assert parse_fields(text).months
        except CronParseError as error:
            assert error.expression == text
