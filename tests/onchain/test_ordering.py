"""Integer codes of wallets and markets against what a dictionary says."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.onchain.ordering import codes, grouped, runs, starts_of

VALUES = st.lists(st.none() | st.binary(max_size=3) | st.binary(min_size=20, max_size=20), max_size=30)


def column(values: list[bytes | None], chunks: int = 1) -> pl.Series:
    step = max(1, -(-len(values) // chunks))
    parts = [pl.Series("id", values[i : i + step], dtype=pl.Binary) for i in range(0, max(1, len(values)), step)]
    return pl.Series(pl.concat(parts, rechunk=False))


@given(VALUES, st.integers(1, 3))
def test_codes_are_places_among_the_distinct_values(values: list[bytes | None], chunks: int) -> None:
    keys, code = codes(column(values, chunks))
    distinct = sorted({value for value in values if value is not None})
    assert (keys.name, keys.dtype, keys.to_list()) == ("id", pl.Binary, distinct)
    assert code.tolist() == [-1 if value is None else distinct.index(value) for value in values]


@given(VALUES, VALUES)
def test_codes_among_given_values_are_places_in_those(values: list[bytes | None], known: list[bytes | None]) -> None:
    among = column(sorted({value for value in known if value is not None}))
    keys, code = codes(column(values), among=among)
    assert keys.equals(among)
    places = among.to_list()
    assert code.tolist() == [places.index(value) if value in places else -1 for value in values]


@pytest.mark.parametrize("values", [["a", "b", "a"], [3, 1, 3, None]])
def test_codes_of_texts_and_numbers(values: list[object]) -> None:
    keys, code = codes(pl.Series(values))
    assert [None if at < 0 else keys[int(at)] for at in code] == values


def test_runs_are_of_neighbours_that_are_equal() -> None:
    wallet, market = (pl.Series(list(text)) for text in ("aabbb", "xyyyx"))
    assert runs(wallet).tolist() == [0, 0, 1, 1, 1]
    assert starts_of(runs(wallet), runs(market)).tolist() == [0, 1, 2, 4, 5]
    assert runs(wallet.clear()).tolist() == [] and starts_of(runs(wallet.clear())).tolist() == [0]


def test_rows_are_put_side_by_side_in_the_order_they_had() -> None:
    order, group = np.array([3, 0, 2, 1]), np.array([1, 0, 1, 0])
    assert grouped(order, group, 2).tolist() == [3, 1, 0, 2]
    for missing in (-1, 2):
        with pytest.raises(ValueError, match="a row belongs to no group"):
            grouped(order, np.array([1, 0, missing, 0]), 2)
