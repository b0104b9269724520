"""Frames that stand in order are left as they are, all others sorted: the rows are those of a sort."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.onchain.ordering import in_order

KEY = st.tuples(st.none() | st.integers(0, 3), st.none() | st.sampled_from([b"", b"\x00", b"\x01" * 20]))


def frame(keys) -> pl.DataFrame:
    schema = {"a": pl.Int64, "b": pl.Binary}
    return pl.DataFrame(list(keys), schema=schema, orient="row").with_row_index("row")


@given(st.lists(KEY, unique=True, max_size=8))
def test_rows_are_those_of_a_sort(keys):
    rows = frame(keys)
    for given_rows in (rows, rows.sort("a", "b"), rows.sort("a", "b", descending=True)):
        assert in_order(given_rows, ["a", "b"]).equals(given_rows.sort("a", "b"))
        assert in_order(given_rows, ["row"]).equals(rows)


@pytest.mark.parametrize(
    ("keys", "sorts"),
    [
        ([(1, b"a"), (1, b"b"), (2, b"a")], False),
        ([(1, b"a")], False),
        ([], False),
        ([(1, b"b"), (1, b"a")], True),
        ([(2, b"a"), (1, b"b")], True),
        ([(1, b"a"), (1, b"a")], True),
        ([(1, b"a"), (None, b"a")], True),
    ],
)
def test_only_what_is_out_of_order_is_sorted(monkeypatch, keys, sorts):
    sorted_: list[list[str]] = []
    sort = pl.DataFrame.sort

    def noted(self, by, *args, **kwargs):
        sorted_.append(by)
        return sort(self, by, *args, **kwargs)

    rows = pl.concat([frame(keys), frame(keys).clear()], rechunk=False)
    monkeypatch.setattr(pl.DataFrame, "sort", noted)
    made = in_order(rows, ["a", "b"])
    assert sorted_ == ([["a", "b"]] if sorts else [])
    assert made.height == len(keys) and made.n_chunks() == 1
