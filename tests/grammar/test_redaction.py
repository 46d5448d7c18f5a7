"""No secret is shown: not in pieces, not quoted or encoded, not coloured, not beside a gap."""

from __future__ import annotations

import subprocess
from base64 import b64encode
from time import process_time

import pytest
from encoded_secrets import HARD_SECRET, encoded
from hypothesis import example, given
from hypothesis import strategies as st

from halo_scheduler.grammar.redaction import MARK, Redactor
from halo_scheduler.grammar.secret_forms import forms_of
from halo_scheduler.grammar.text import ShownText, shown_text

# Few letters, so that secrets overlap each other and themselves; never the mark's own sign.
_LETTERS = "abü\n/"
_SECRETS = st.lists(st.text(_LETTERS, min_size=4, max_size=9), min_size=1, max_size=3)
_CHUNKS = st.lists(st.text(_LETTERS, max_size=12).map(str.encode) | st.binary(max_size=3), max_size=12)


@st.composite
def _secrets_and_chunks(draw: st.DrawFn) -> tuple[list[str], list[bytes]]:
    """Return secrets, and a stream in pieces that has some of them in it."""
    secrets = draw(_SECRETS)
    pieces = draw(st.lists(st.sampled_from(secrets).map(str.encode) | _CHUNKS.map(b"".join), max_size=6))
    # What draws over a line is taken out as a whole or line by line, and so has tests of its own.
    stream = b"".join(pieces).translate(None, b"*\b\r\x1b\x9b")
    borders = sorted(draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    return secrets, [
        stream[first:last] for first, last in zip([0, *borders], [*borders, len(stream)], strict=True)
    ]


def _places(secret: bytes, data: bytes) -> set[int]:
    """Return every byte that belongs to a secret, wherever it begins."""
    starts = (at for at in range(len(data)) if data.startswith(secret, at))
    return {at + offset for at in starts for offset in range(len(secret))}


def _in_pieces(redactor: Redactor, chunks: list[bytes]) -> bytes:
    stream = redactor.stream()
    return b"".join([*(stream.feed(chunk) for chunk in chunks), stream.end()])


@given(_secrets_and_chunks())
@example((["abab", "babaü"], [b"aba", b"baba\xc3", b"\xbcab"]))
def test_a_stream_is_redacted_like_the_whole(given_case: tuple[list[str], list[bytes]]) -> None:
    secrets, chunks = given_case
    redactor = Redactor(secrets)
    assert _in_pieces(redactor, chunks) == redactor.redacted(b"".join(chunks))


@given(_secrets_and_chunks())
def test_no_byte_of_a_secret_is_shown_and_all_others_are(given_case: tuple[list[str], list[bytes]]) -> None:
    """A secret's forms in JSON and URLs are secrets too, so that the plain ones are a lower bound."""
    secrets, chunks = given_case
    data = b"".join(chunks)
    shown = Redactor(secrets).redacted(data)
    assert not any(secret.encode() in shown for secret in secrets)
    hidden = set().union(*(_places(secret.encode(), data) for secret in secrets))
    assert len(shown.replace(MARK, b"")) <= len(data) - len(hidden)
    if not hidden and not any(sign in secret for secret in secrets for sign in "ü\n/"):
        assert shown == data


@given(_secrets_and_chunks(), st.integers(0, 60), st.integers(0, 60))
def test_nothing_of_a_secret_is_shown_beside_a_gap(
    given_case: tuple[list[str], list[bytes]], gap_from: int, gap_bytes: int
) -> None:
    """What is shown is the whole with its secrets taken out, less some bytes on both sides of the gap."""
    secrets, chunks = given_case
    data = b"".join(chunks)
    gap_to = gap_from + gap_bytes
    redactor = Redactor(secrets)
    stream = redactor.stream()
    before = stream.feed(data[:gap_from])
    stream.leave_gap()
    behind = stream.feed(data[gap_to:]) + stream.end()
    hidden = set().union(*(_places(secret.encode(), data) for secret in secrets))
    assert len(before.replace(MARK, b"")) <= len(set(range(min(gap_from, len(data)))) - hidden)
    assert len(behind.replace(MARK, b"")) <= len(set(range(gap_to, len(data))) - hidden)
    whole = redactor.redacted(data)
    assert whole.startswith(before)
    assert whole.endswith(behind)


@pytest.mark.parametrize(
    ("secrets", "printed", "shown"),
    [
        ([], b"all of it", b"all of it"),
        (["hunter22"], b"is hunter22!", b"is ***!"),
        (["hunter22"], b"hunter22hunter22", b"******"),
        (["hunter22"], b"hunter2", b"hunter2"),
        (["pass", "password"], b"password pass", b"*** ***"),
        (["password", "wordpress-key"], b"a passwordpress-key z", b"a *** z"),
        (["abab"], b"xabababx", b"x***x"),
        (['quo"te\\d'], b'{"key": "quo\\"te\\\\d"}', b'{"key": "***"}'),
        (["gr\u00fc\u00dfe"], b'"gr\\u00fc\\u00dfe" ' + "grüße".encode(), b'"***" ***'),
        (["a b/c&d"], b"?a%20b/c%26d ?a%20b%2Fc%26d", b"?*** ?***"),
        (["first-line\nsecond-line\nlast"], b"first-line\r\nsecond-line\r\nlast", b"***"),
        (["first-line\nsecond-line"], b"first-line\nsecond-line", b"***"),
        (["long-token\n"], b"[long-token]", b"[***]"),
        (["tok.n"], b"token", b"token"),
        (["hunter22"], b"\xff\0hunter22\xfe", b"\xff\0***\xfe"),
    ],
)
def test_a_secret_is_replaced_in_all_its_forms(secrets: list[str], printed: bytes, shown: bytes) -> None:
    assert Redactor(secrets).redacted(printed) == shown


@pytest.mark.parametrize("border", range(1, 10))
def test_a_secret_across_two_chunks_is_redacted(border: int) -> None:
    printed = b"<hunter22>"
    assert _in_pieces(Redactor(["hunter22"]), [printed[:border], printed[border:]]) == b"<***>"


def test_a_secret_in_single_bytes_is_redacted() -> None:
    printed = b"one hunter22 two"
    chunks = [printed[at : at + 1] for at in range(len(printed))]
    assert _in_pieces(Redactor(["hunter22"]), chunks) == b"one *** two"


@pytest.mark.parametrize(
    ("start", "end", "shown"),
    [(0, 4, b"one "), (0, 6, b"one ***"), (6, 15, b" tw"), (4, 16, b"*** two"), (6, 9, b"")],
)
def test_of_a_secret_across_a_border_nothing_is_shown(start: int, end: int, shown: bytes) -> None:
    data = b"one hunter22 two"
    assert Redactor(["hunter22"]).redacted(data, start, end) == shown


def test_a_stream_without_secrets_delays_nothing() -> None:
    stream = Redactor().stream()
    assert stream.feed(b"one ") == b"one "
    stream.leave_gap()
    assert (stream.feed(b"two"), stream.end()) == (b"two", b"")


def test_a_stream_delays_less_than_a_secret() -> None:
    assert Redactor(["hunter22"]).stream().feed(b"x" * 100 + b"hunter2") == b"x" * 100


def test_a_stream_that_ended_has_nothing_more() -> None:
    stream = Redactor(["hunter22"]).stream()
    stream.feed(b"hunter2")
    assert (stream.end(), stream.end()) == (b"hunter2", b"")


def test_a_text_is_redacted_even_with_half_a_character_in_it() -> None:
    assert Redactor(["hunter22"]).text("ü hunter22 \ud800") == "ü *** ?"


@pytest.mark.parametrize("form", sorted(encoded(HARD_SECRET)))
def test_a_secret_is_recognised_in_common_encodings_at_every_border(form: str) -> None:
    printed = encoded(HARD_SECRET)[form]
    whole = b"before " + printed + b" behind"
    redactor = Redactor([HARD_SECRET])
    shown = redactor.redacted(whole)
    assert MARK in shown
    # What is left are colours, or of Base64 the user's name and what the secret shares with its neighbours.
    assert _longest_common(printed, shown) <= len("\x1b[01;31m\x1b[K")
    for border in range(len(whole) + 1):
        assert _in_pieces(redactor, [whole[:border], whole[border:]]) == shown, border


@pytest.mark.parametrize("columns", [76, 64])
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_a_secret_in_wrapped_base64_is_replaced_wherever_the_line_ends(columns: int, newline: bytes) -> None:
    secret = "hunter-22/with+a long tail?"  # noqa: S105 - of this test only
    redactor = Redactor([secret])
    for before in range(80):
        flat = b64encode(b"x" * before + secret.encode() + b"y" * 60)
        # Characters that the secret shares with its neighbours are not part of it.
        first, last = -(-before * 8 // 6), (before + len(secret)) * 8 // 6 - 1
        lines = newline.join(flat[at : at + columns] for at in range(0, len(flat), columns))
        start, behind = (at + at // columns * len(newline) for at in (first, last + 1))
        if (last + 1) % columns == 0:
            behind -= len(newline)
        shown = lines[:start] + MARK + lines[behind:]
        assert redactor.redacted(lines) == shown
        for border in range(start, behind + 1):
            assert _in_pieces(redactor, [lines[:border], lines[border:]]) == shown, border


def _longest_common(one: bytes, other: bytes) -> int:
    return max(
        (
            end - start
            for start in range(len(one))
            for end in range(start, len(one) + 1)
            if one[start:end] in other
        ),
        default=0,
    )


@pytest.mark.parametrize(
    "command", ['set -x; : "$1"', "printf '%q' \"$1\"", "declare -p 1 2>&1; v=$1; declare -p v"]
)
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_a_secret_is_recognised_as_a_shell_quotes_it(command: str, locale: str) -> None:
    ran = subprocess.run(
        ["bash", "-c", command, "bash", HARD_SECRET], capture_output=True, check=False, env={"LC_ALL": locale}
    )
    printed = ran.stdout + ran.stderr
    shown = Redactor([HARD_SECRET]).redacted(printed)
    assert MARK in shown
    assert _longest_common(HARD_SECRET.encode(), shown) < 4


_COLOURS = st.sampled_from(
    [
        b"\x1b[31m",
        b"\x1b[0;1;38;5;200m",
        b"\x1b[K",
        b"\xc2\x9b1m",
        b"\x1b]0;title\x07",
        b"\x1b(B",
        b"\xe2\x80\x8b",
        b"\x07",
        b"",
    ]
)


@st.composite
def _coloured(draw: st.DrawFn) -> tuple[str, list[bytes]]:
    """Return a secret, and a stream in pieces in which colours lie within it."""
    secret = draw(st.text("abcdü&", min_size=4, max_size=9))
    signs = [draw(_COLOURS) + _struck(sign.encode(), draw(st.booleans())) for sign in secret]
    stream = b"<" + b"".join(signs) + draw(_COLOURS) + b">"
    borders = sorted(draw(st.lists(st.integers(0, len(stream)), max_size=4)))
    return secret, [stream[first:last] for first, last in zip([0, *borders], [*borders, None], strict=True)]


def _struck(sign: bytes, is_bold: bool) -> bytes:
    """Return a character as nroff prints it in bold: twice over itself."""
    return sign + b"\b" + sign if is_bold else sign


@given(_coloured())
def test_colours_do_not_hide_a_secret(given_case: tuple[str, list[bytes]]) -> None:
    secret, chunks = given_case
    redactor = Redactor([secret])
    whole = redactor.redacted(b"".join(chunks))
    assert MARK in whole
    assert secret not in shown_text(whole)
    assert secret not in shown_text(_in_pieces(redactor, chunks))


def test_a_stream_delays_only_text_that_may_become_a_secret() -> None:
    stream = Redactor(["hunter22"]).stream()
    assert stream.feed(b"a line without any\n") == b"a line without any\n"
    assert stream.feed(b"hunt") == b""
    assert stream.feed(b"ing\n") == b"hunting\n"


def test_a_secret_with_endless_colours_is_delayed_for_a_while_only() -> None:
    stream = Redactor(["hunter22"]).stream()
    shown = b"".join(stream.feed(b"h" + b"\x1b[1m" * 1_000) for _ in range(50))
    assert len(shown) > 100_000


@pytest.mark.parametrize(
    "innocent", [b"hunt er22", b"HUNTER22", b"aHVudGVy", b"68756e74", b"hunter2&#50", b"hunt\ner22"]
)
def test_text_that_is_not_a_secret_stays(innocent: bytes) -> None:
    assert Redactor(["hunter22"]).redacted(innocent) == innocent


def test_many_and_long_secrets_are_quickly_made_ready() -> None:
    """The pattern grows with the number of secrets and their lines, not with every character of them."""
    secrets = [f"{number:03}" + "&<ü'" * 1_000 for number in range(50)]
    redactor = Redactor(secrets)
    assert redactor._pattern is not None
    assert len(redactor._pattern.pattern) < 100_000
    assert redactor.redacted(b"x " + secrets[7].encode() + b" y") == b"x *** y"


def test_output_made_of_secrets_does_not_take_long() -> None:
    redactor = Redactor(["aaaaaaaa"])
    before = process_time()
    assert redactor.redacted(b"a" * 3_000_000) == MARK
    assert process_time() - before < 5


# --- Lines that are drawn over -----------------------------------------------------------------------

_HEAD, _TAIL = "hunt", "er-2"
_DRAWN = st.lists(
    st.sampled_from(
        [
            *(_HEAD, _TAIL, "h", "u", "nt", "er", "-2", " ", "    ", "x", "\n", "\r", "\b", "\x07", "\x00"),
            *("\x1b", "\x1b[1m", "\x1b[", "\x1b[K", "\x1b[2K", "\x9b0m", "\x9c", "\x9d"),
            *("\x1b]0;t", "\x1bP", "\x1b\\", "\x1bc", "\x1b[C", "\x1b[4D", "\x1b[G", "\x9b5G", "\x1b[1K"),
        ]
    ),
    max_size=12,
).map(lambda pieces: "".join(pieces).encode())
_HIDDEN_IN_DRAWING = [
    f"{_HEAD}\x1b]0;t\x9c{_TAIL}",
    f"{_HEAD}\x1b]0;t\x1b[1mq\x07{_TAIL}",
    f"{_HEAD}\x1bPab\x1bcd\x1b\\{_TAIL}",
    f"    {_TAIL}\r{_HEAD}",
    f"{_HEAD}xx\b\b{_TAIL}",
    f"{_HEAD}xx\x1b[2D{_TAIL}",
    f"    {_TAIL}\x1b[1G{_HEAD}",
    f"    {_TAIL}\x9b8D{_HEAD}",
    f"before {_TAIL}\r       \x1b[2K{_HEAD}\x1b]0;\r\x07    \b\b\b\b\b\b\b\b{_HEAD}{_TAIL}",
]


@given(_DRAWN)
@example(b"    er-2\rhunt")
def test_overwriting_a_line_never_shows_a_secret(printed: bytes) -> None:
    assert _HEAD + _TAIL not in shown_text(Redactor([_HEAD + _TAIL]).redacted(printed))


@pytest.mark.parametrize("printed", _HIDDEN_IN_DRAWING)
def test_known_ways_to_draw_a_secret_are_seen_through(printed: str) -> None:
    shown = shown_text(Redactor([_HEAD + _TAIL]).redacted(f"one\n{printed}\nthree\n".encode()))
    assert _HEAD + _TAIL not in shown
    assert MARK.decode() in shown
    assert shown.startswith("one\n")
    assert shown.endswith("\nthree\n")


_SPLITS = [
    *("\x1b[C", "\x1b[1C", "\x1b[D", "\x1b[5G", "\x1b[3;7H", "\x1b[A", "\x1b[1K", "\x9b1C", "\x9bK"),
    *("\x1b(B", "\x9d", "\x9d0;t\x07", "\x9d0;t\x9c", "\x90q\x1b\\", "\x98\x9c", "\x9ea\x9c", "\x9fa\x9c"),
    *(
        "\x84",
        "\x85",
        "\x01",
        "\x0b",
        "\x0e",
        "\x7f",
        "\xad",
        "\u034f",
        "\u061c",
        "\u180e",
        "\u200d",
        "\u2028",
    ),
    *("\u202e", "\u2060", "\u2066", "\u3164", "\ufe0f", "\ufeff", "\U000e0041"),
]


@pytest.mark.parametrize("split", _SPLITS, ids=ascii)
def test_a_secret_split_by_invisible_characters_is_hidden_completely(split: str) -> None:
    printed = f"one {_HEAD}{split}{_TAIL} two\n".encode()
    redactor = Redactor([_HEAD + _TAIL])
    in_bytes = [printed[at : at + 1] for at in range(len(printed))]
    for shown in (redactor.redacted(printed), _in_pieces(redactor, in_bytes)):
        assert shown_text(shown).startswith("one ***")
        assert not [half for half in (_HEAD, _TAIL) if half.encode() in shown]


@given(st.lists(_DRAWN, max_size=6))
@example([b"    er-2", b"\rhu", b"nt"])
@example([b"hunt\x1b[1", b"mer-2"])
def test_overwriting_a_line_in_pieces_never_shows_a_secret(chunks: list[bytes]) -> None:
    stream, shown, lines = Redactor([_HEAD + _TAIL]).stream(), ShownText(), ""
    for piece in [*map(stream.feed, chunks), stream.end()]:
        lines += shown.feed(piece)
        assert _HEAD + _TAIL not in lines + shown.unfinished()


def test_a_progress_bar_without_a_secret_stays_as_it_was_printed() -> None:
    printed = b"\r".join(b"\x1b[32m%3d%%\x1b[0m" % percent for percent in range(101)) + b"\n"
    redactor = Redactor([_HEAD + _TAIL])
    assert redactor.redacted(printed) == printed
    assert _in_pieces(redactor, [printed[at : at + 7] for at in range(0, len(printed), 7)]) == printed


@pytest.mark.parametrize(
    "printed",
    [
        "it''s \"x\"",
        'it\'s ""x""',
        b'it\'s "x"'.hex(":"),
        b'it\'s "x"'.hex(" ").upper(),
        b'it\'s "x"'.hex("-"),
        "".join(f"\\x{ord(sign):02x}" for sign in 'it\'s "x"'),
        "".join(f"%{ord(sign):02X}" for sign in 'it\'s "x"'),
        "".join(f"\\u{ord(sign):04x}" for sign in 'it\'s "x"'),
    ],
)
def test_databases_and_dumps_do_not_hide_a_secret(printed: str) -> None:
    assert Redactor(['it\'s "x"']).text(f"<{printed}>") == "<***>"


def test_an_empty_secret_has_no_forms() -> None:
    assert list(forms_of("")) == []
