"""Every table has a real suite, and both engines that run it reach the same verdict."""

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from expectations.gx import validate
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
from pipelines.findings import MAX_FAILED_ROWS, Finding, failed_errors
from pipelines.schema import TABLES

DAY = datetime(2024, 1, 1, tzinfo=UTC)


def healthy(table: str, height: int = 40) -> pl.DataFrame:
    """Rows that keep the suite of a table: texts and instants grow with the row, counts agree."""
    columns: dict[str, pl.Series] = {}
    for name, dtype in TABLES[table].schema.items():
        values: list[Any]
        if isinstance(dtype, pl.Enum):
            values = [dtype.categories[n % len(dtype.categories)] for n in range(height)]
        elif isinstance(dtype, pl.Datetime):
            values = [DAY + timedelta(days=n) for n in range(height)]
        elif isinstance(dtype, pl.List):
            values = [[] for _ in range(height)]
        elif dtype == pl.Boolean:
            values = [True] * height
        elif dtype.is_float():
            values = [0.5] * height
        elif dtype.is_integer():
            values = [n + 1 for n in range(height)]
        elif dtype == pl.Binary:
            values = [n.to_bytes(20, "big") for n in range(height)]
        elif table == "log_counts" and name == "outcome":
            values = ["trade"] * height
        elif name == "calibration":
            values = ["calibrated"] * height
        else:
            values = ["ok" if name == "status" else f"{name}{n:03}" for n in range(height)]
        columns[name] = pl.Series(name, values, dtype=dtype)
    if table == "batches":
        columns["n_visits"] = pl.Series("n_visits", [50] * height, dtype=pl.Int32)
    if table == "pool_counts":
        columns["n_short"] = pl.Series("n_short", [1] * height, dtype=pl.Int32)
    if table in ("preparations", "resolutions"):
        columns["outcomes"] = columns["outcomes"] + 1
    if table == "verdicts":
        columns["specific"] = pl.Series("specific", [1] * height, dtype=pl.Int32)
    if table == "applog_verdicts":
        columns["detail_quality"] = pl.Series("detail_quality", [1] * height, dtype=pl.Int32)
    if table == "units":
        columns["n_batches"] = columns["n_batches"] + 1
    return pl.DataFrame(columns)


def broken(table: str, one: Expectation) -> pl.DataFrame:
    """The healthy table with the third row (or all of it) made to break one expectation."""
    frame = healthy(table)
    third = pl.int_range(pl.len()) == 2

    def put(column: str, value: Any) -> pl.DataFrame:
        literal = pl.lit(value, dtype=frame.schema[column])
        return frame.with_columns(pl.when(third).then(literal).otherwise(pl.col(column)).alias(column))

    match one:
        case Columns():
            return frame.select(reversed(frame.columns))
        case Rows(low=low):
            return frame.head(low - 1) if low else frame
        case NotNull(column=column):
            return put(column, None)
        case Between(column=column, low=low, high=high):
            step: Any = timedelta(days=1) if isinstance(low, datetime) else 1
            return put(column, low - step if low is not None else high + step)
        case InSet(column=column):
            return put(column, "no such value")
        case Length(column=column, low=low, high=high):
            return put(column, "" if low else "x" * (high or 0) + "y")
        case AtLeast(column=column, other=other):
            other_value = pl.col(other)
            over = other_value - timedelta(days=400) if frame.schema[other].is_temporal() else other_value * 0 - 1
            return frame.with_columns(
                pl.when(third).then(over).otherwise(column).cast(frame.schema[column]).alias(column)
            )
        case Unique():
            return pl.concat([frame, frame.slice(2, 1)])
        case Mean(column=column, high=high):
            return frame.with_columns(pl.lit(int(high) + 1, dtype=frame.schema[column]).alias(column))
    raise AssertionError(one)


EVERY = [(table, one) for table in TABLES for one in suite(table)]


def breakable(table: str, one: Expectation) -> bool:
    # An enum column of a typed frame cannot hold another value: the columns themselves are the check.
    if isinstance(one, InSet):
        return not isinstance(TABLES[table].schema[one.column], pl.Enum)
    if isinstance(one, Between) and one.low == 0:
        return TABLES[table].schema[one.column].is_signed_integer() or TABLES[table].schema[one.column].is_float()
    return not (isinstance(one, Rows) and one.low == 0)


@pytest.mark.parametrize("table", TABLES)
def test_a_suite_says_more_than_not_null(table: str) -> None:
    expectations = suite(table)
    kinds = {type(one) for one in expectations}
    assert len(kinds) >= 3
    assert {Columns, Rows} <= kinds
    assert kinds - {Columns, Rows, NotNull}
    names = [name_of(one) for one in expectations]
    assert len(set(names)) == len(names)
    assert all(describe(one) for one in expectations)
    assert set(columns_named(expectations)) <= set(TABLES[table].columns)


@pytest.mark.parametrize("table", TABLES)
def test_keys_nulls_and_enums_of_the_registry_are_in_the_suite(table: str) -> None:
    spec = TABLES[table]
    expectations = suite(table)
    assert {one.column for one in expectations if isinstance(one, NotNull)} == {
        name for name, column in spec.columns.items() if not column.nullable
    }
    assert not spec.key or Unique(spec.key) in expectations
    for name, dtype in spec.schema.items():
        assert not isinstance(dtype, pl.Enum) or any(isinstance(o, InSet) and o.column == name for o in expectations)


@pytest.mark.parametrize("engine", ["polars", "gx"])
@pytest.mark.parametrize("table", TABLES)
def test_healthy_tables_pass(table: str, engine: Any) -> None:
    failed = [str(finding) for finding in validate(healthy(table).lazy(), table, engine=engine) if not finding.passed]
    assert failed == []


@pytest.mark.parametrize(("table", "one"), [(t, o) for t, o in EVERY if breakable(t, o)], ids=lambda v: str(v)[:60])
def test_each_expectation_fails_by_name_when_it_is_broken(table: str, one: Expectation) -> None:
    findings = {finding.name: finding for finding in validate(broken(table, one).lazy(), table, engine="polars")}
    finding = findings[name_of(one)]
    assert not finding.passed
    assert finding.severity == one.severity
    if not isinstance(one, Columns | Rows | Mean):
        assert finding.failed_rows is not None
        assert 1 <= finding.failed_rows.height <= MAX_FAILED_ROWS


def test_single_columns_are_unique_alike() -> None:
    frame = healthy("cohort").with_columns(user_id=pl.lit(None, pl.String)).lazy()
    assert verdicts(validate(frame, "cohort", engine="polars")) == verdicts(validate(frame, "cohort", engine="gx"))


def verdicts(findings: list[Finding]) -> dict[str, bool]:
    return {finding.name: finding.passed for finding in findings}


@pytest.mark.parametrize("table", TABLES)
def test_engines_agree_on_each_way_of_breaking_a_table(table: str) -> None:
    """All ways at once that leave the schema whole; a table broken everywhere is judged alike too."""
    frames = [broken(table, one) for one in suite(table) if breakable(table, one) and not isinstance(one, Columns)]
    everything = pl.concat([frame.slice(2, 1) for frame in frames if frame.height > 2] + [healthy(table)])
    by_polars = validate(everything.lazy(), table, engine="polars")
    by_gx = validate(everything.lazy(), table, engine="gx")
    assert verdicts(by_polars) == verdicts(by_gx)
    observed = {finding.name: finding.observed for finding in by_gx}
    assert {finding.name: finding.observed for finding in by_polars} == observed
    assert failed_errors(by_gx) or table in ("pool_counts",)


cell = st.none() | st.integers(-2, 60)


@settings(
    max_examples=12,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow],
)
@given(st.lists(st.tuples(st.sampled_from(["", "a", "b"]) | st.none(), cell, cell, cell), max_size=12))
@example([(None, None, None, None)] * 2)
@example([("a", None, 2, 3), ("a", None, 4, 5), ("", 1, 2, 3)])
def test_engines_agree_on_random_frames(rows: list[tuple[Any, ...]]) -> None:
    frame = pl.DataFrame(
        {
            "user_id": [row[0] for row in rows],
            "batch_index": [row[1] for row in rows],
            "start": [None if row[2] is None else DAY + timedelta(hours=row[2]) for row in rows],
            "end": [None if row[3] is None else DAY + timedelta(hours=row[3]) for row in rows],
            "first_visit": [row[2] for row in rows],
            "n_visits": [row[3] for row in rows],
            "closed": [None if row[1] is None else row[1] > 3 for row in rows],
        },
        schema=TABLES["batches"].schema,
    ).lazy()
    by_polars = validate(frame, "batches", engine="polars")
    assert verdicts(by_polars) == verdicts(validate(frame, "batches", engine="gx"))


@pytest.mark.parametrize("engine", ["polars", "gx"])
def test_nan_lies_in_no_range(engine: Any) -> None:
    frame = healthy("units").with_columns(average_precision=pl.lit(float("nan")))
    findings = validate(frame.lazy(), "units", engine=engine)
    assert [finding.name for finding in failed_errors(findings)] == ["between(average_precision, 0.0, 1.0)"]


@pytest.mark.parametrize("engine", ["polars", "gx"])
def test_an_empty_table_passes_only_where_the_registry_says_why(engine: Any) -> None:
    for name, table in TABLES.items():
        failed = failed_errors(validate(table.empty().lazy(), name, engine=engine))
        assert [finding.name for finding in failed] == ([] if table.may_be_empty else ["rows"])


@pytest.mark.parametrize(("rows", "passed"), [(39, False), (40, True), (41, False)])
def test_rows_are_conserved_where_their_number_is_known(rows: int, passed: bool) -> None:
    for engine in ("polars", "gx"):
        findings = validate(healthy("events").lazy(), "events", engine=engine, expected_rows=rows)  # type: ignore[arg-type]
        assert verdicts(findings)["rows"] is passed


def test_other_columns_are_the_only_finding() -> None:
    findings = validate(healthy("visits").drop("brand").lazy(), "visits", engine="gx")
    assert [finding.name for finding in findings] == ["columns"]
    assert "brand" in findings[0].observed


def large(change: Callable[[pl.DataFrame], pl.DataFrame]) -> pl.LazyFrame:
    return change(
        healthy("batches", 30)
        .select(pl.all().repeat_by(20).explode())
        .with_columns(batch_index=pl.int_range(pl.len(), dtype=pl.Int32))
    ).lazy()


def test_beyond_the_limit_a_sample_goes_to_gx_and_polars_sees_every_row() -> None:
    one_bad = large(
        lambda f: f.with_columns(
            n_visits=pl.when(pl.col("batch_index") == 577).then(0).otherwise("n_visits").cast(pl.Int32)
        )
    )
    findings = {finding.name: finding for finding in validate(one_bad, "batches", engine="gx", gx_rows=50)}
    finding = findings["between(n_visits, 1, …)"]
    assert not finding.passed
    assert finding.observed.startswith("1 of 600 rows fail; in the sample given to Great Expectations: ")
    assert finding.observed.endswith(" of 50 rows fail")
    assert findings["rows"].observed == "600 rows"
    again = {finding.name: finding.observed for finding in validate(one_bad, "batches", engine="gx", gx_rows=50)}
    assert again == {name: finding.observed for name, finding in findings.items()}


def test_small_tables_do_not_pay_for_the_import() -> None:
    code = (
        "import sys; from expectations.gx import validate; from pipelines.schema import TABLES;"
        "validate(TABLES['visits'].empty().lazy(), 'visits'); print('great_expectations' in sys.modules)"
    )
    root = Path(__file__).parents[2]
    out = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True).stdout
    assert out.strip() == "False"
