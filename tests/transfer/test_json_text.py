"""JSON from anybody: what is refused, and with which line."""

from __future__ import annotations

import json
import re
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_scheduler.transfer.json_text import read_json
from halo_scheduler.transfer.text_file import FileError

_DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


def test_parts_are_found_by_their_paths() -> None:
    file = read_json(b'{"a": "{\\"}",\n"b": [1,\n{"c": null,\n"d": []}]}')
    lines = {path: file.line_of(path) for path in ("", "a", "b", "b[0]", "b[1]", "b[1].c", "b[1].d")}
    assert lines == {"": 1, "a": 1, "b": 2, "b[0]": 2, "b[1]": 3, "b[1].c": 3, "b[1].d": 4}


@given(_DATA)
def test_every_text_can_be_walked_through(data: object) -> None:
    file = read_json(json.dumps(data, indent=1).encode())
    assert file.data == data
    assert file.line_of("") == 1


@pytest.mark.parametrize(
    ("content", "refusal"),
    [
        (b'{"a": 1,\n"b": }', "line 2: this is not JSON: Expecting value"),
        (b'{"a": {"b": 1,\n"c": 2,\n"b": 3}}', "line 3, a.b: this key appears twice"),
        (b'{"a":\nNaN}', "line 2: this is not JSON: NaN is not a JSON number"),
        (b'{"NaN":\n-Infinity}', "line 2: this is not JSON: -Infinity is not a JSON number"),
        (b'{"a": "\\"",\n"b": ' + b"1" * 5_000 + b"}", "line 2: this is not JSON: a number has more"),
        (b'[{}, [{"}": 1}],\n{"a": [{"b": 1, "c": 2},\n{"b": {}, "b": 3}]}]', "line 3, [2].a[1].b: this key"),
        (b"[" * 100_000, "line 1: it is nested deeper than 32 levels"),
        (b"[\n" + b'{"a":\n' * 100_000, "line 33: it is nested deeper than 32 levels"),
        (b"[\n" + b"[" * 900 + b"]" * 900 + b"]", "line 2: it is nested deeper than 32 levels"),
        (b'{"a": [' + b"1," * 10_000 + b"1]}", "line 1, a: there are more than 10000 entries here"),
        (b"[" + b",".join([b"[%s]" % b",".join([b"1"] * 99)] * 9_000) + b"]", "more than 200000 entries"),
        (
            b'{"a":\n[' + b"{}," * 20_000 + b'{"b": 1, "b": 1}]}',
            "line 2, a: there are more than 10000 entries",
        ),
        (
            b'{"a":\n{' + b",".join(b'"%d": 1' % key for key in range(10_001)) + b"}}",
            "line 2, a: there are more",
        ),
        (b"[" + b"{}," * 1_700_000 + b'{"b": 1, "b": 1}]', "the file has more than 200000 entries"),
        (b"", "line 1: this is not JSON"),
        (b'"\xff"', "line 1: the file is not UTF-8 text"),
    ],
)
def test_invalid_json_is_refused(content: bytes, refusal: str) -> None:
    began = process_time()
    with pytest.raises(FileError, match=re.escape(refusal)):
        read_json(content)
    assert process_time() - began < 3
