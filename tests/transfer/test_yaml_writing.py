"""YAML that is written is read back as it was, by us and by others."""

from __future__ import annotations

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from halo_scheduler.transfer.text_file import Word
from halo_scheduler.transfer.yaml_text import read_yaml
from halo_scheduler.transfer.yaml_writing import write_yaml

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
