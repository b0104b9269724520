"""Published figures: alike however they were added up, without a sign of zero, and ranked as they are told."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.evaluation.pairs import ranks
from pipelines.rounding import published


def told(*values: float | None) -> list[float | None]:
    return published(pl.DataFrame({"x": values}, schema={"x": pl.Float64}))["x"].to_list()


@pytest.mark.parametrize(
    ("value", "tells"),
    [
        (1 / 3, 0.333333333),
        (2 / 3, 0.666666667),
        (math.nan, None),
        (None, None),
        (12_345.678_901_234, 12_345.678_9),
        (48_123_456.789_012, 48_123_456.79),
        (-0.123_456_789_4, -0.123_456_789),
    ],
)
def test_figures_have_nine_decimals_and_ten_digits(value: float | None, tells: float | None) -> None:
    assert told(value) == [tells]


def test_zero_has_no_sign() -> None:
    assert [math.copysign(1, value) for value in told(-1e-17, -0.0, 1e-17) if value is not None] == [1, 1, 1]


@given(st.floats(1e-3, 1e9), st.integers(2, 6))
def test_the_last_bits_of_a_sum_are_no_part_of_it(value: float, bits: int) -> None:
    # Away from the middle between two figures, which sums alike would fall on either side of.
    figure = told(value)[0]
    assert figure is not None
    near = figure * (1 + 2.0 ** (bits - 52))
    assert told(near) == told(figure) == [figure]


def test_what_is_told_alike_has_one_rank() -> None:
    pairs = pl.DataFrame({"method": ["a"], "other": ["b"], "separable": [False]})
    found = ranks(["a", "b"], np.array([0.47, 0.47 + 1e-16 * 8]), pairs)
    assert (found["a"]["rank"], found["b"]["rank"]) == (1, 1)
    large = ranks(["a", "b"], np.array([5e7, 5e7 * (1 + 1e-15)]), pairs, lower_is_better=True)
    assert (large["a"]["rank"], large["b"]["rank"]) == (1, 1)
    apart = ranks(["a", "b"], np.array([0.47, 0.470_000_002]), pairs)
    assert (apart["a"]["rank"], apart["b"]["rank"]) == (2, 1)
