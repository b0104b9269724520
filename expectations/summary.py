"""A suite compiled to Polars: counts, nulls, ranges, distincts and violations of a whole table."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from expectations.suites import (
    AtLeast,
    Between,
    Columns,
    Expectation,
    InSet,
    Length,
    Mean,
    NotNull,
    Rows,
    Unique,
    describe,
    name_of,
)
from pipelines.findings import MAX_FAILED_ROWS, Finding


def violation(one: Expectation) -> pl.Expr | None:
    """True where a row breaks the expectation; None for what only a whole table can break."""
    match one:
        case NotNull(column=column):
            return pl.col(column).is_null()
        case Between(column=column, low=low, high=high):
            value = pl.col(column)
            outside = pl.lit(False)
            if low is not None:
                outside = outside | ~(value >= low)
            if high is not None:
                outside = outside | ~(value <= high)
            return outside.fill_null(False) | _nan(column, low, high)
        case InSet(column=column, values=values):
            return (~pl.col(column).cast(pl.String).is_in(list(values))).fill_null(False)
        case Length(column=column, low=low, high=high):
            length = pl.col(column).str.len_chars()
            return ((length < low) | (length > high if high is not None else False)).fill_null(False)
        case AtLeast(column=column, other=other):
            return (pl.col(column) < pl.col(other)).fill_null(False)
    return None


def _nan(column: str, low: Any, high: Any) -> pl.Expr:
    # Polars orders NaN above every number, so a lower bound alone would let it pass.
    if isinstance(low, float) or isinstance(high, float):
        return pl.col(column).is_nan().fill_null(False)
    return pl.lit(False)


def schema_finding(frame: pl.LazyFrame, one: Columns) -> Finding:
    """Whether the frame has the columns and types of its table."""
    found = list(frame.collect_schema().items())
    wrong = sorted({str(item) for item in set(map(_pair, found)) ^ set(map(_pair, one.schema))})
    passed = found == list(one.schema)
    observed = "as in the registry" if passed else "; ".join(wrong) or f"order {[name for name, _ in found]}"
    return Finding(name_of(one), passed, one.severity, observed, describe(one))


def _pair(item: tuple[str, Any]) -> str:
    return f"{item[0]} {item[1]}"


def evaluate(frame: pl.LazyFrame, expectations: Sequence[Expectation]) -> list[Finding]:
    """Judge every expectation over every row, in one pass but for uniqueness; the schema must have been checked."""
    measures: list[pl.Expr] = [pl.len().alias("rows")]
    for number, one in enumerate(expectations):
        bad = violation(one)
        if bad is not None:
            measures.append(bad.sum().alias(str(number)))
        elif isinstance(one, Mean):
            measures.append(pl.col(one.column).mean().alias(str(number)))
    groups = {
        number: _repeated(frame, one).select(pl.col("len").sum())
        for number, one in enumerate(expectations)
        if isinstance(one, Unique)
    }
    measured, *repeated = pl.collect_all([frame.select(measures), *groups.values()], engine="streaming")
    values: dict[str, Any] = measured.row(0, named=True)
    values |= {str(number): one.item() or 0 for number, one in zip(groups, repeated, strict=True)}
    return [_finding(frame, one, values["rows"], values.get(str(number))) for number, one in enumerate(expectations)]


def _finding(frame: pl.LazyFrame, one: Expectation, rows: int, value: Any) -> Finding:
    failed_rows = None
    match one:
        case Rows(low=low, high=high):
            passed = low <= rows and (high is None or rows <= high)
            observed = f"{rows} rows"
        case Mean(low=low, high=high):
            passed = rows == 0 or (value is not None and low <= value <= high)
            observed = "no rows" if value is None else f"mean {value:.6g}"
        case _:
            passed = value == 0
            observed = f"{value} of {rows} rows fail"
            failed_rows = None if passed else failing_rows(frame, one)
    return Finding(name_of(one), passed, one.severity, observed, describe(one), failed_rows)


def failing_rows(frame: pl.LazyFrame, one: Expectation) -> pl.DataFrame | None:
    """The first rows that break a row-wise expectation."""
    if isinstance(one, Unique):
        keys = _repeated(frame, one).sort(one.columns).head(MAX_FAILED_ROWS)
        repeated = frame.join(keys.drop("len"), on=one.columns, how="semi", nulls_equal=True)
        return repeated.sort(one.columns).head(MAX_FAILED_ROWS).collect()
    bad = violation(one)
    return None if bad is None else frame.filter(bad).head(MAX_FAILED_ROWS).collect()


def _repeated(frame: pl.LazyFrame, one: Unique) -> pl.LazyFrame:
    judged = frame.drop_nulls(one.columns) if len(one.columns) == 1 else frame
    return judged.group_by(one.columns).len().filter(pl.col("len") > 1)
