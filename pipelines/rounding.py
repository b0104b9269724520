"""How figures that were added up from parts are published: alike to the last byte, whatever added them up."""

import polars as pl

DECIMALS = 9


def published(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with every Float64 to `DECIMALS` places and one significant digit more; null for what is no number.

    Means of threads add up in no fixed order, and matrix libraries differ in the twelfth digit. That is no part of a
    table that must come again byte for byte. There is one zero: it has no sign. Beyond 10¹⁴, where no board is, a
    figure may keep a digit more.
    """
    figures = pl.col(pl.Float64).fill_nan(None).round(DECIMALS).round_sig_figs(DECIMALS + 1)
    return frame.with_columns(unsigned_zero(figures))


def unsigned_zero(values: pl.Expr) -> pl.Expr:
    """The same numbers, zero without a sign: it is written otherwise with one. To add 0 would change nothing here."""
    return pl.when(values.ne_missing(0.0)).then(values).otherwise(0.0)
