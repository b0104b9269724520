"""Figures in the tables of a home folder that would not come again byte for byte."""

from pathlib import Path

import polars as pl

from pipelines.rounding import published

MEASURED = {"latency_ms", "price", "shares", "confidence", "confidence_full", "error", "error_all"}
"""Columns that are measured, or one quotient of two numbers: nothing is added up there."""


def unpublished(home: Path) -> tuple[int, set[tuple[str, str]]]:
    """How many values were looked at, and the tables and columns of those that are not `rounding.published`.

    To be equal is not enough: a zero with a sign is written otherwise.
    """
    seen, found = 0, set()
    for wall in ("store", "gold"):
        for file in sorted((home / wall).rglob("*.parquet")):
            name = file.relative_to(home / wall).parts[0]
            figures = pl.read_parquet(file).select(pl.col(pl.Float64)).drop(MEASURED, strict=False)
            rounded = published(figures)
            seen += sum(column.count() for column in figures)
            signed = {column.name for column in figures if (1 / column == float("-inf")).any()}
            found |= {(name, column.name) for column in figures if not column.equals(rounded[column.name])}
            found |= {(name, column) for column in signed}
    return seen, found
