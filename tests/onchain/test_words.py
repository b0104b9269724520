"""Columns read by compiled walks: views cut, chosen and packed without a wrong byte."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.onchain import buffers, packing, words
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


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32))))
def test_choose_takes_the_one_or_the_other(rows):
    first = np.array([row[0] for row in rows], np.bool_)
    one, other = (pl.Series("x", [row[i] for row in rows], pl.Binary) for i in (1, 2))
    assert words.choose("y", first, one, other).to_list() == [row[1] if row[0] else row[2] for row in rows]


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
