"""YAML from anybody: what is refused, how soon, and with which line."""

from __future__ import annotations

import re

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from timing import at_most_ms

from halo_scheduler.transfer.text_file import MOST_BYTES, FileError, Word
from halo_scheduler.transfer.yaml_text import read_yaml, write_yaml

_BOMB = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"%c: &%c [%s]\n" % (letter + 1, letter + 1, b",".join([b"*%c" % letter] * 9))
    for letter in range(ord("a"), ord("i"))
)
_LINES = st.lists(st.text(st.sampled_from(" \t-#:ab'\"\\|{é"), max_size=5), max_size=5).map("\n".join)
_SIGNS = st.text(st.sampled_from("0123456789.:-+_eExobTZ~nulyoftrseEfainN=<@ "), max_size=8)
_TEXTS = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=20) | _LINES | _SIGNS
# Merging is refused whatever the quotes; the other is a key of ours, which YAML 1.1 takes for a boolean.
_KEYS = _TEXTS.filter(lambda key: key not in {"<<", "on"})
_DATA = st.dictionaries(
    _KEYS,
    st.recursive(
        _TEXTS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=3)
    ),
    max_size=4,
)


def test_texts_without_quotes_are_marked() -> None:
    data = read_yaml(b"a: yes\nb: 'yes'\nc: |\n  yes\nd: [1, ~]\non: x\n").data
    assert data == {"a": "yes", "b": "yes", "c": "yes\n", "d": ["1", "~"], "on": "x"}
    assert isinstance(data, dict)
    assert [type(data[key]) for key in "abc"] == [Word, str, str]
    assert all(type(item) is Word for item in data["d"])


def test_a_key_with_a_dot_is_distinguished_from_a_part() -> None:
    file = read_yaml(b"a: {c: 1}\na.b: {c: 1}\nc:\n  d: 1\n")
    assert [file.line_of(path) for path in ("a.b", "a.b.c", "a.c", "c.d", "a.x")] == [2, 2, 1, 4, 1]


def test_parts_are_found_by_their_paths() -> None:
    file = read_yaml(b"a: 1\nb:\n  - x: 1\n    y z: 2\n  - {q: 3}\n")
    lines = {path: file.line_of(path) for path in ("", "a", "b", "b[0].x", "b[0].'y z'", "b[1].q")}
    assert lines == {"": 1, "a": 1, "b": 2, "b[0].x": 3, "b[0].'y z'": 4, "b[1].q": 5}
    # What is not there is looked for in what it would be a part of.
    assert [file.line_of(path) for path in ("b[1].r.s[3]", "b[9]", "nowhere.at.all")] == [5, 2, 1]


@pytest.mark.parametrize(
    ("content", "refusal"),
    [
        (_BOMB, "line 1, a: anchors and aliases are not supported"),
        (b"a: 1\nb: *a\n", "line 2, b: anchors and aliases are not supported"),
        (b"a: 1\nb: &b 2\n", "line 2, b: anchors and aliases are not supported"),
        (b"a: 1\n*a : 2\n", "line 2: anchors and aliases are not supported"),
        (b"a:\n  <<: {b: 1}\n", "line 2, a: merge keys are not supported"),
        (b"a: !!python/object/apply:os.system [x]\n", "line 1, a: the tag 'tag:yaml.org,2002:python/object"),
        (b"a:\n  b: !mine 1\n", "line 2, a.b: the tag '!mine' is not supported"),
        (b"!!map\na: 1\n", "line 1: the tag"),
        (b"%YAML 1.1\n%TAG !a! tag:x\n---\na: 1\n", "line 2: %TAG lines are not supported"),
        (b"a: 1\nb: 2\na: 3\n", "line 3: the key 'a' appears twice"),
        (b"a: {b: 1, 'b': 2}\n", "line 1, a: the key 'b' appears twice"),
        (b"? [a]\n: b\n", "line 1: a key must be text"),
        (b"a: 1\n---\nb: 2\n", "line 2: a second document begins here"),
        (b"a: 1\nb: {c\n", "line 3: this is not YAML: did not find expected"),
        (b"a:\n\t- b\n", "line 2: this is not YAML: found character that cannot start any token"),
        (b"a: 1\nb: \x07\n", "line 2: this is not YAML: control characters are not allowed"),
        (b"a: 1\nb: \xff\n", "line 2: the file is not UTF-8 text"),
        (b"a: 1\nb: \0\n", "line 2: the file is not text: it has NUL bytes"),
        ("a: ü\n".encode("utf-16"), "line 1: the file is not text"),
        (b"\x7fELF\x02\x01\x01\0\0", "line 1: the file is not text: it has NUL bytes"),
        (b'a: "\\ud800"\n', "this is not YAML"),
    ],
)
def test_yaml_beyond_plain_data_is_refused(content: bytes, refusal: str) -> None:
    with pytest.raises(FileError, match=re.escape(refusal)):
        read_yaml(content)


@pytest.mark.parametrize(
    ("content", "refusal"),
    [
        (b"[" * 1_000_000, "nested deeper than 32 levels"),
        (b"- " * 1_000_000, "nested deeper than 32 levels"),
        (b"{a: " * 1_000_000, "nested deeper than 32 levels"),
        (b"a:\n".join(b" " * depth for depth in range(2_000)), "nested deeper than 32 levels"),
        (b"{" * 1_000_000, "a key must be text"),
        (b"? " * 1_000_000, "a key must be text"),
        (b"[" + b"a," * 2_000_000 + b"a]", "line 1: there are more than 10000 entries here"),
        (b"a:\n- [" + b"a," * 390_000 + b"a]", r"line 2, a\[0\]: there are more than 10000 entries here"),
        (b"{" + b",".join(b"k%d: 1" % key for key in range(10_001)), "line 1: there are more than 10000"),
        ((b"- [" + b"[]," * 99 + b"]\n") * 9_000, "line 2001: the file has more than 200000 entries"),
        (b"a: 1\n" + b"\n" * 1_000_000, "the file has more than 400000 lines"),
        (b"a: " + b"x" * MOST_BYTES, "larger than 5 MB"),
        (b"a: '" + b"x" * (MOST_BYTES - 10), "unexpected end of stream"),
        (b"!" * 1_000_000, "the tag"),
        (
            b"".join(b"%%TAG !a%d! tag:x\n" % n for n in range(200_000)) + b"---\na: 1\n",
            "line 1: %TAG lines",
        ),
        (b"a: " * 1_000_000, "mapping values are not allowed"),
        (b"x" * 1_000_000 + b": 1", "mapping values are not allowed"),
    ],
    ids=range(17),
)
def test_malicious_files_are_refused_within_a_second(content: bytes, refusal: str) -> None:
    # A second, where nobody counts the lines that are run.
    with at_most_ms(5_000), pytest.raises(FileError, match=refusal):
        read_yaml(content)


def test_it_is_the_same_where_the_fast_parser_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yaml.__with_libyaml__", False)
    data = read_yaml(b"a: yes\nb: 'yes'\nc: [1, {d: |-\n  x\n  y}]".replace(b"|-\n  x\n  y", b"z")).data
    assert data == {"a": "yes", "b": "yes", "c": ["1", {"d": "z"}]}
    assert isinstance(data, dict)
    assert [type(data[key]) for key in "ab"] == [Word, str]
    for bad, line in ((b"a: 1\nb: *a", 2), (b"a: 1\nb: {c", 2), (b"a: 1\nb: \x07", 2), (b"[" * 5_000, 1)):
        with pytest.raises(FileError) as refusal:
            read_yaml(bad)
        assert refusal.value.line == line


def _plain(value: object) -> object:
    """Return what was read without the mark of what had no quotes."""
    match value:
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list():
            return [_plain(item) for item in value]
        case Word():
            return str(value)
        case _:
            return value


@settings(max_examples=50)
@given(_DATA)
def test_texts_are_read_back_as_they_were(data: dict[str, object]) -> None:
    written = write_yaml(data)
    assert (_plain(read_yaml(written.encode()).data) or {}) == data


@settings(max_examples=50)
@given(_DATA)
def test_other_programs_read_the_same_texts(data: dict[str, object]) -> None:
    assert (yaml.load(write_yaml(data), Loader=yaml.CSafeLoader) or {}) == data
