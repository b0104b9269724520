"""Columns read by compiled walks: views cut, chosen and packed without a wrong byte."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.onchain import buffers, hexes, numbers, packing, words
from pipelines.onchain.abi import Word

BYTES = st.none() | st.binary(max_size=40) | st.binary(min_size=10, max_size=14)


@settings(deadline=None)
@given(st.lists(BYTES, max_size=12), st.integers(0, 3))
def test_packed_columns_hold_the_same_bytes(values, start):
    column = pl.concat([pl.Series("x", values, pl.Binary), pl.Series("x", [b"tail" * 5], pl.Binary)], rechunk=False)
    frame = pl.DataFrame({"x": column, "n": range(len(column))})[start:]
    assert packing.packed(frame).equals(frame)
    assert packing.packed(frame.clear()).equals(frame.clear())


def test_packed_columns_let_go_of_what_they_were_cut_from():
    logs = pl.Series("data", [bytes(1000) for _ in range(500)], pl.Binary)
    frame = pl.DataFrame({"id": logs.bin.slice(32, 32)})
    held = buffers.column(packing.packed(frame)["id"]).owner
    assert sum(buffer.size for buffer in held.buffers()[2:]) == 500 * 32


@pytest.mark.parametrize("width", [20, 32])
def test_find_compares_every_byte(width):
    known = [bytes(width), bytes(range(width)), b"\xff" * width]
    near = [bytes([*known[1][:i], known[1][i] ^ 0x80, *known[1][i + 1 :]]) for i in range(width)]
    values = pl.Series("x", [*known, *near, None, b"", bytes(width + 1), bytes(width - 1)], pl.Binary)
    assert words.find(values, known).tolist() == [0, 1, 2] + [-1] * (width + 4)
    assert words.find(values, []).tolist() == [-1] * len(values)
    assert words.find(values[2:3], known).tolist() == [2]


def test_words_need_values_of_their_size():
    layout = [Word("a", "amount"), Word("b", "bytes32")]
    for values in ([bytes(63)], [bytes(64), bytes(65)], [None], [b""]):
        with pytest.raises(ValueError, match="not 64 bytes"):
            words.read_words(pl.Series("x", values, pl.Binary), layout)
    columns, failed = words.read_words(pl.Series("x", [], pl.Binary), layout)
    assert [column.name for column in columns] == ["a", "b"] and len(failed) == 0
    (amount, ident), failed = words.read_words(pl.Series("x", [bytes(31) + b"\x07" + b"\xee" * 32], pl.Binary), layout)
    assert (amount.to_list(), ident.to_list(), failed.tolist()) == ([7], [b"\xee" * 32], [0])


@pytest.mark.parametrize("n", [1, words._BLOCK - 1, words._BLOCK, words._BLOCK + 1, 2 * words._BLOCK + 7])
def test_blocks_of_rows_leave_no_seam(n):
    """Every kind of word over several blocks: the values of rows that are fine, the first wrong word of the others."""
    layout = [
        Word("who", "address"),
        Word("token", "token"),
        Word("none", "skip"),
        Word("amount", "amount"),
        Word("side", "bit"),
        Word("offset", "constant", 96),
        Word("length", "length", 32),
        Word("id", "bytes32"),
    ]
    # By row, the places of its wrong words.
    wrong = {row: at for row, at in ((0, (0, 3)), (n // 2, (4,)), (n - 2, (5, 6)), (n - 1, (6,))) if row >= 0}
    bad = {0: 2**160, 3: 2**63, 4: 2, 5: 97, 6: 33}
    ids = [i.to_bytes(32, "little") for i in range(n)]
    rows, first_wrong = [], [0] * n
    for i in range(n):
        given = [i, 0 if i % 3 else 2**255 + i, 2**256 - 1, 2**62 + i, i % 2, 96, 1 + i % 32]
        for word in wrong.get(i, ()):
            given[word] = bad[word]
            first_wrong[i] = first_wrong[i] or word + 1
        rows.append(b"".join(value.to_bytes(32, "big") for value in given) + ids[i])
    columns, failed = words.read_words(pl.Series("x", rows, pl.Binary), layout)
    assert failed.tolist() == first_wrong and sum(failed > 0) == len(wrong)
    fine = [i for i in range(n) if not first_wrong[i]]
    expected = {
        "who": [i.to_bytes(20, "big") for i in fine],
        "token_is_zero": [i % 3 != 0 for i in fine],
        "token": [(0 if i % 3 else 2**255 + i).to_bytes(32, "big") for i in fine],
        "amount": [2**62 + i for i in fine],
        "side": [i % 2 for i in fine],
        "id": [ids[i] for i in fine],
    }
    found = pl.DataFrame(columns).filter(pl.Series(failed == 0))
    assert found.to_dict(as_series=False) == expected


NUMBERS = (
    st.none() | st.integers(0, 2**70).map(hex) | st.integers(0, 2**70).map(str) | st.text("0x19aF +-_", max_size=6)
)


def plain(text: str | None) -> int | None:
    """Digits of one base and nothing else, as 64 bits hold them."""
    digits = (text or "").strip()
    base = 16 if digits[:2] in ("0x", "0X") else 10
    digits = digits[2:] if base == 16 else digits
    if not digits or any(c not in "0123456789abcdefABCDEF"[: 10 if base == 10 else 22] for c in digits):
        return None
    return int(digits, base) if int(digits, base) < 2**63 else None


@settings(deadline=None)
@given(st.lists(NUMBERS, min_size=1, max_size=6))
def test_numbers_in_text_are_read_or_null(values):
    assert numbers.integers(pl.Series("n", values, pl.String)).to_list() == [plain(value) for value in values]


@pytest.mark.parametrize("text", ["0x7fffffffffffffff", "9223372036854775807", "0x000000000000000010", "0X1F", "007"])
def test_numbers_at_the_borders_of_the_walk(text):
    assert numbers.integers(pl.Series("n", [text, "5", None], pl.String)).to_list() == [plain(text), 5, None]


@settings(deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.integers(0, 80), st.booleans())
def test_repeated_hex_is_decoded_as_if_it_stood_alone(picks, size, bad):
    """Values of a dictionary share their place; a wrong one is wrong at every row."""
    known = [bytes([i]) * size for i in range(4)]
    texts = [("0x" + value.hex()) for value in known]
    texts[3] = "0x" + "zz" * size if bad else texts[3]
    column = pl.Series("x", texts).gather(picks)
    decoded, failed = hexes.unhex(column)
    for pick, value, fault in zip(picks, decoded.to_list(), failed.tolist(), strict=True):
        wrong = bad and size and pick == 3
        assert fault == (hexes.NOT_HEX if wrong else 0)
        assert wrong or value == known[pick]


@settings(deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.sampled_from([20, 32]))
def test_repeated_values_are_found_and_packed_as_if_they_stood_alone(picks, width):
    values = [bytes([i]) * width for i in range(6)]
    column = pl.Series("x", values, pl.Binary).gather(picks)
    assert words.find(column, [values[4], values[1]]).tolist() == [{4: 0, 1: 1}.get(pick, -1) for pick in picks]
    frame = pl.DataFrame({"x": column})
    made = packing.packed(frame)
    assert made.equals(frame)
    if buffers.column(column).shares:
        held = sum(buffer.size for buffer in buffers.column(made["x"]).owner.buffers()[2:])
        assert held == width * len(set(picks))
