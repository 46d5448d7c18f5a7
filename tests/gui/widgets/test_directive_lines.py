"""Lines for Halo are left out of an output."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ui.widgets.directive_lines import WithoutDirectives, has_directives, without_directives

_OUTPUT = (
    b"start\n::progress 0.1 copying\n::progressive\nx ::cost 1\n::cost 0.12\n:: no\n::halo every=5m\nend\n"
)
_SHOWN = b"start\n::progressive\nx ::cost 1\n:: no\nend\n"


def test_lines_for_halo_are_left_out() -> None:
    assert without_directives(_OUTPUT) == _SHOWN
    assert has_directives(_OUTPUT)
    assert not has_directives(_SHOWN)


@given(st.lists(st.integers(0, len(_OUTPUT)), max_size=8))
def test_it_does_not_matter_how_the_output_comes(cuts: list[int]) -> None:
    lines = WithoutDirectives()
    edges = [0, *sorted(cuts), len(_OUTPUT)]
    pieces = [_OUTPUT[start:end] for start, end in pairwise(edges)]
    assert b"".join(map(lines.feed, pieces)) + lines.end() == _SHOWN


@pytest.mark.parametrize(("rest", "shown"), [(b"::cost 1", b""), (b"::", b"::"), (b"::x", b"::x")])
def test_a_last_line_without_an_end_is_distinguished_too(rest: bytes, shown: bytes) -> None:
    assert without_directives(rest) == shown
