"""Suites run by Great Expectations, and the choice between it and Polars.

Great Expectations reads pandas only and takes about 7 s to import in each process,
so it is imported inside the function that needs it and is given only the columns
that the suite names. Which engine judges a table:

- `gx`: Great Expectations over the whole table up to `GX_ROWS` rows; beyond that
  over a keyed sample of that size, with the Polars summary over every row.
- `polars`: the Polars summary alone.
- `auto`: `gx` when the table has at least `GX_WORTH` rows or the import is paid
  already, else `polars`. Both judge alike (tested on corrupted tables), so the
  choice changes the time and never the verdict.
"""

import importlib
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
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
    columns_named,
    describe,
    name_of,
    suite,
)
from expectations.summary import evaluate, failing_rows, schema_finding
from pipelines.findings import Finding
from pipelines.hashing import mix64

Engine = Literal["auto", "gx", "polars"]
GX_ROWS = 1_000_000
"""Rows that Great Expectations sees at most."""
GX_WORTH = 50_000
"""Rows from which `auto` pays for the import."""
_SAMPLE_KEY = 0x5A4D
_SEVERITIES = {"error": "critical", "warning": "warning", "info": "info"}


def validate(
    frame: pl.LazyFrame,
    table: str,
    *,
    engine: Engine = "auto",
    expected_rows: int | None = None,
    gx_rows: int = GX_ROWS,
) -> list[Finding]:
    """Judge a table by its suite; one finding an expectation, failing ones with up to 20 rows.

    When the columns are not those of the registry, that is the only finding: nothing
    else can be judged.
    """
    columns, *expectations = suite(table, expected_rows)
    assert isinstance(columns, Columns)
    schema = schema_finding(frame, columns)
    if not schema.passed:
        return [schema]
    rows = frame.select(pl.len()).collect().item()
    if engine == "auto":
        engine = "gx" if rows >= GX_WORTH or "great_expectations" in sys.modules else "polars"
    if engine == "polars" or rows == 0:
        return [schema, *evaluate(frame, expectations)]
    if rows <= gx_rows:
        return [schema, *_judge(frame, rows, expectations)]
    # How many rows there are is no question to a sample.
    sampled = [one for one in expectations if not isinstance(one, Rows)]
    return [schema, *_both(evaluate(frame, expectations), _judge(_sample(frame, rows, gx_rows), gx_rows, sampled))]


def _sample(frame: pl.LazyFrame, rows: int, size: int) -> pl.LazyFrame:
    """The `size` rows whose places in the stored order have the smallest keyed hashes."""
    hashes = mix64(_SAMPLE_KEY, np.arange(rows, dtype=np.uint64))
    limit = int(np.partition(hashes, size - 1)[size - 1])

    def chosen(places: pl.Series) -> pl.Series:
        return pl.Series(mix64(_SAMPLE_KEY, places.cast(pl.UInt64).to_numpy()) <= np.uint64(limit))

    place = pl.col("__place")
    picked = place.map_batches(chosen, return_dtype=pl.Boolean, is_elementwise=True)
    return frame.with_row_index("__place").filter(picked).drop("__place")


def _both(whole: Sequence[Finding], sample: Sequence[Finding]) -> list[Finding]:
    by_name = {finding.name: finding for finding in sample}
    merged = []
    for finding in whole:
        seen = by_name.get(finding.name)
        if seen is not None:
            observed = f"{finding.observed}; in the sample given to Great Expectations: {seen.observed}"
            finding = replace(finding, passed=finding.passed and seen.passed, observed=observed)
        merged.append(finding)
    return merged


def _judge(frame: pl.LazyFrame, rows: int, expectations: Sequence[Expectation]) -> list[Finding]:
    """Findings of Great Expectations over one frame, in the order of the expectations."""
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    import great_expectations as gx

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}  # type: ignore[assignment]
    asset = context.data_sources.add_pandas("frames").add_dataframe_asset("frame")
    batch = asset.add_batch_definition_whole_dataframe("whole").get_batch({"dataframe": _pandas(frame, expectations)})
    built = gx.ExpectationSuite("suite", expectations=[_compiled(one) for one in expectations])
    results = {
        result.expectation_config.meta["name"]: result  # type: ignore[union-attr]
        for result in batch.validate(built, result_format="BASIC").results
    }
    return [_finding(frame, rows, one, results[name_of(one)]) for one in expectations]


def _pandas(frame: pl.LazyFrame, expectations: Sequence[Expectation]) -> Any:
    schema = frame.collect_schema()
    columns = []
    for name in columns_named(expectations):
        column, dtype = pl.col(name), schema[name]
        if isinstance(dtype, pl.Enum):
            column = column.cast(pl.String)
        elif isinstance(dtype, pl.List):
            # Only nulls are asked of lists; pandas would compare arrays.
            column = column.list.len()
        elif dtype.is_float():
            # pandas takes NaN for missing and would not judge it.
            column = column.fill_nan(float("inf"))
        columns.append(column)
    return frame.select(columns).collect().to_pandas()


def _compiled(one: Expectation) -> Any:
    gxe: Any = importlib.import_module("great_expectations.expectations")
    common: dict[str, Any] = {"severity": _SEVERITIES[one.severity], "meta": {"name": name_of(one)}}
    match one:
        case Rows(low=low, high=high):
            return gxe.ExpectTableRowCountToBeBetween(min_value=low, max_value=high, **common)
        case NotNull(column=column):
            return gxe.ExpectColumnValuesToNotBeNull(column=column, **common)
        case Between(column=column, low=low, high=high):
            return gxe.ExpectColumnValuesToBeBetween(column=column, min_value=low, max_value=high, **common)
        case InSet(column=column, values=values):
            return gxe.ExpectColumnValuesToBeInSet(column=column, value_set=list(values), **common)
        case Length(column=column, low=low, high=high):
            return gxe.ExpectColumnValueLengthsToBeBetween(column=column, min_value=low, max_value=high, **common)
        case AtLeast(column=column, other=other):
            return gxe.ExpectColumnPairValuesAToBeGreaterThanB(
                column_A=column, column_B=other, or_equal=True, ignore_row_if="either_value_is_missing", **common
            )
        case Unique(columns=columns) if len(columns) == 1:
            return gxe.ExpectColumnValuesToBeUnique(column=columns[0], **common)
        case Unique(columns=columns):
            return gxe.ExpectCompoundColumnsToBeUnique(column_list=list(columns), ignore_row_if="never", **common)
        case Mean(column=column, low=low, high=high):
            return gxe.ExpectColumnMeanToBeBetween(column=column, min_value=low, max_value=high, **common)
    raise TypeError(f"{name_of(one)}: types and order of columns are judged on the Polars side; pandas has other ones")


def _finding(frame: pl.LazyFrame, rows: int, one: Expectation, result: Any) -> Finding:
    if result.exception_info.get("raised_exception"):
        raise RuntimeError(f"{name_of(one)} could not be evaluated: {result.exception_info['exception_message']}")
    passed = bool(result.success)
    match one:
        case Rows():
            observed = f"{rows} rows"
        case Mean():
            value = result.result["observed_value"]
            observed = "no rows" if value is None else f"mean {value:.6g}"
        case _:
            observed = f"{result.result['unexpected_count']} of {rows} rows fail"
    bad = None if passed else failing_rows(frame, one)
    return Finding(name_of(one), passed, one.severity, observed, describe(one), bad)
