"""Names of files that are items: which are, in what order, and how they are shown."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_scheduler.work_sources.folder import id_of, is_item_name, name_of, order_of

_ODD = [
    "a\nb",
    "\x1b[31m",
    "bad\udcff",
    "a%0Ab",
    "100% sure",
    "%",
    "%%0A",
    "%2\x01",
    "\u202egpj.exe",
    "é",
    "-rf",
]


@pytest.mark.parametrize("name", ["a.md", "no ending", "-rf", "~a", "a~b", "partial", "x.parts", *_ODD])
def test_an_ordinary_name_is_an_item(name: str) -> None:
    assert is_item_name(name)


@pytest.mark.parametrize(
    "name", ["", ".", "..", ".hidden", "a.part", "a.PART", "a.tmp", "a.md~", "a/b", "../a", "a\0b"]
)
def test_hidden_unfinished_and_unnamed_files_are_not_items(name: str) -> None:
    assert not is_item_name(name)


def test_numbers_in_names_count_as_numbers() -> None:
    names = ["b", "10 z", "9 a", "A10", "a9", "a", "010 a"]
    assert sorted(names, key=order_of) == ["9 a", "010 a", "10 z", "a", "a9", "A10", "b"]


@pytest.mark.parametrize(("name", "shown"), [("a b.md", "a b.md"), ("a\nb", "a%0Ab"), ("a%0Ab", "a%250Ab")])
def test_unprintable_names_are_shown_as_bytes(name: str, shown: str) -> None:
    assert id_of(name) == shown


@pytest.mark.parametrize("name", _ODD)
def test_an_id_is_plain_text_that_leads_back_to_its_name(name: str) -> None:
    assert id_of(name).isprintable()
    assert name_of(id_of(name)) == name


_NAMES = st.binary(min_size=1, max_size=255).map(os.fsdecode)


@given(_NAMES)
def test_every_name_is_shown_as_plain_text_and_found_again(name: str) -> None:
    assert id_of(name).encode().decode().isprintable()
    assert name_of(id_of(name)) == (name if is_item_name(name) else "")


@given(_NAMES, _NAMES)
def test_two_names_are_never_shown_alike(one: str, other: str) -> None:
    assert (id_of(one) == id_of(other)) == (one == other)


@pytest.mark.parametrize(
    "shown", ["", "..", "../secret", "%2e%2e", "a%2Fb", "a%00b", "%41", "\udcff", ".hidden"]
)
def test_an_id_that_is_none_of_ours_leads_nowhere(shown: str) -> None:
    assert name_of(shown) == ""
