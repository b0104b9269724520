"""How figures that were added up from parts are published: alike to the last byte, whatever added them up."""

import polars as pl

DECIMALS = 9


def published(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with every Float64 to `DECIMALS` places, and null for what is not a number.

    Means of threads add up in no fixed order, and matrix libraries differ in the twelfth digit. That is no part of a
    table that must come again byte for byte.
    """
    return frame.with_columns(pl.col(pl.Float64).fill_nan(None).round(DECIMALS))
