"""What must hold for each table on its own: one declarative suite a table.

The kinds below are compiled twice (`expectations.gx` to Great Expectations,
`expectations.summary` to Polars), so a partition can be judged by either. What the
registry says already (columns, types, nulls, enums, keys, emptiness, counts and
indices that cannot be negative) is derived from it; `OWN` adds what only this table
promises.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import polars as pl

from pipelines.commerce.tables import FAMILIARITIES
from pipelines.evaluation.tables import READING_STATUSES, STATUSES
from pipelines.findings import Severity
from pipelines.models import REPLY_STATUSES
from pipelines.schema import TABLES


@dataclass(frozen=True)
class Columns:
    """The table has these columns, in this order, of these types."""

    schema: tuple[tuple[str, Any], ...]
    severity: Severity = "error"


@dataclass(frozen=True)
class Rows:
    """The table has between `low` and `high` rows; `why` says what makes an empty one legal."""

    low: int
    high: int | None = None
    why: str = ""
    severity: Severity = "error"


@dataclass(frozen=True)
class NotNull:
    """No null in the column."""

    column: str
    severity: Severity = "error"


@dataclass(frozen=True)
class Between:
    """Values lie between `low` and `high`, both inclusive; nulls are not judged, NaN never lies between."""

    column: str
    low: Any = None
    high: Any = None
    severity: Severity = "error"


@dataclass(frozen=True)
class InSet:
    """Values are among these; nulls are not judged."""

    column: str
    values: tuple[str, ...]
    severity: Severity = "error"


@dataclass(frozen=True)
class Length:
    """Texts have between `low` and `high` characters; nulls are not judged."""

    column: str
    low: int
    high: int | None = None
    severity: Severity = "error"


@dataclass(frozen=True)
class AtLeast:
    """In every row `column` ≥ `other`; rows with a null in either are not judged."""

    column: str
    other: str
    severity: Severity = "error"


@dataclass(frozen=True)
class Unique:
    """No two rows agree in all of these columns; two nulls agree, but nulls of a single column are not judged."""

    columns: tuple[str, ...]
    severity: Severity = "error"


@dataclass(frozen=True)
class Mean:
    """The mean of the column lies between `low` and `high`; an empty table is not judged."""

    column: str
    low: float
    high: float
    severity: Severity = "warning"


Expectation = Columns | Rows | NotNull | Between | InSet | Length | AtLeast | Unique | Mean

_SHARES = ("expected_recall", "chance", "missed", "average_precision", "coverage", "bound_low", "bound_high")
_PLAUSIBLE = (datetime(1990, 1, 1, tzinfo=UTC), datetime(2040, 1, 1, tzinfo=UTC))

OWN: dict[str, tuple[Expectation, ...]] = {
    "events": (
        Length("user_id", 1),
        Length("item_id", 1),
        Length("l2", 1),
        Between("dwell_ms", 0),
        Between("price", 0, severity="warning"),
        Between("time", *_PLAUSIBLE, severity="warning"),
    ),
    "rejects": (Length("file", 1), Length("reason", 1), Length("raw", 0, 500), Between("line", 1)),
    "visits": (
        Length("user_id", 1),
        Length("item_id", 1),
        Length("l2", 1),
        AtLeast("end", "start"),
        Between("dwell_seconds", 0),
        Between("start", *_PLAUSIBLE, severity="warning"),
    ),
    "batches": (AtLeast("end", "start"), Between("n_visits", 1), Mean("n_visits", 25, 80)),
    "cohort": (
        AtLeast("n_events", "n_visits"),
        AtLeast("n_visits", "n_valid_visits"),
        AtLeast("n_visits", "n_batches"),
    ),
    "transitions": (
        AtLeast("target_start", "history_end"),
        AtLeast("target_end", "target_start"),
        AtLeast("history_end", "quarter"),
    ),
    "positives": (Length("l2", 1),),
    "domains": (
        Between("rank", 1),
        Between("n_both", 1),
        AtLeast("n_l1", "n_both"),
        AtLeast("n_connected", "n_both"),
        AtLeast("n_units", "n_l1"),
        AtLeast("n_units", "n_connected"),
        Unique(("quarter", "l1", "rank")),
    ),
    "category_names": (Length("l2", 1), Length("l2_name", 1), Between("n_events", 1)),
    "taxonomy": (Length("l2", 1), Length("l2_name", 1)),
    "popularity": (Length("l2", 1), Between("n_visits", 1)),
    "pools": (Between("n_choose", 1), Length("l2", 1), Unique(("user_id", "transition_index", "pool", "l1", "l2"))),
    "pool_gold": (Length("l2", 1), Unique(("user_id", "transition_index", "pool", "l1", "l2"))),
    "pool_counts": (Mean("n_short", 0, 5),),
    "readouts": (Length("state_hash", 1),),
    "builds": (Length("count", 1), Between("n", 0)),
    "readings": (InSet("status", READING_STATUSES),),
    "model_calls": (
        Length("key", 1),
        Length("model", 1),
        InSet("status", REPLY_STATUSES),
        Between("prompt_tokens", 0),
        Between("reply_tokens", 0),
        Between("latency_ms", 0.0),
        Between("retries", 0),
        Between("cost", 0),
    ),
    "costs": (
        Length("model", 1),
        Between("n_calls", 1),
        AtLeast("n_calls", "n_cached"),
        AtLeast("n_calls", "n_failed"),
        Between("prompt_tokens", 0),
        Between("reply_tokens", 0),
        Between("seconds", 0.0),
        Between("cost", 0.0),
    ),
    "units": (
        InSet("status", STATUSES),
        Length("method", 1),
        Length("reader", 1),
        Between("budget", 0),
        Between("n_positives", 1),
        Between("n_batches", 2),
        Between("average_precision", 0.0, 1.0),
        Between("expected_hits", 0.0),
        AtLeast("n_positives", "expected_hits"),
        AtLeast("n_positives", "n_hit"),
        *(AtLeast(f"n_{group}", f"hit_{group}") for group in FAMILIARITIES[:-1]),
        AtLeast("n_eligible", "n_exposed"),
        AtLeast("n_candidates", "n_positives"),
        AtLeast("n_candidates", "n_eligible"),
    ),
    "leaderboard": (
        Length("reader", 1),
        Length("group", 1),
        Length("method", 1),
        Between("budget", 0),
        Between("rank", 1),
        Between("band", 1),
        *(
            Between(share, 0.0, 1.0)
            for name in ("recall", "user_recall", "exposure")
            for share in (name, f"{name}_low", f"{name}_high")
        ),
        *(Between(name, 0.0, 1.0) for name in _SHARES),
        Between("adjusted_recall", None, 1.0),
        Between("exposure_units", 0),
        Between("tokens", 0.0),
        *(AtLeast(f"{name}_high", f"{name}_low") for name in ("recall", "user_recall", "exposure", "bound")),
        AtLeast("n_units", "n_users"),
        AtLeast("n_units", "exposure_units"),
        AtLeast("n_positives", "n_units"),
        AtLeast("n_positives", "n_hit"),
    ),
    "differences": (
        Length("reader", 1),
        Length("method", 1),
        Length("other", 1),
        Between("budget", 0),
        *(Between(name, -1.0, 1.0) for name in ("difference", "low", "high")),
        Between("p", 0.0, 1.0),
        Between("p_holm", 0.0, 1.0),
        AtLeast("p_holm", "p"),
        AtLeast("high", "low"),
        AtLeast("n_units", "n_users"),
    ),
    "positions": (
        Length("method", 1),
        Length("reader", 1),
        Between("budget", 0),
        Between("n_shown", 1),
        AtLeast("n_shown", "n_chosen"),
        AtLeast("n_shown", "n_positives"),
        AtLeast("n_chosen", "n_hit"),
        AtLeast("n_positives", "n_hit"),
    ),
    "funnel": (Length("step", 1), Length("unit", 1), Between("n", 0), Unique(("place",))),
}
"""What a table promises beyond what the registry says."""


def suite(table: str, expected_rows: int | None = None) -> tuple[Expectation, ...]:
    """All expectations of a table; `expected_rows` is what conservation says it must hold, where that is known."""
    spec = TABLES[table]
    derived: list[Expectation] = [Columns(tuple(spec.schema.items()))]
    if expected_rows is not None:
        derived.append(Rows(expected_rows, expected_rows, spec.may_be_empty))
    else:
        derived.append(Rows(0 if spec.may_be_empty else 1, None, spec.may_be_empty))
    for name, column in spec.columns.items():
        if not column.nullable:
            derived.append(NotNull(name))
        if isinstance(column.dtype, pl.Enum):
            derived.append(InSet(name, tuple(column.dtype.categories)))
        if _counts(name, spec.schema[name]):
            derived.append(Between(name, 0))
    if spec.key:
        derived.append(Unique(spec.key))
    return (*derived, *OWN.get(table, ()))


def _counts(name: str, dtype: pl.DataType) -> bool:
    counted = (
        name.startswith(("n_", "hit_", "tokens"))
        or name.endswith("_index")
        or name in ("place", "position", "first_visit")
    )
    return dtype.is_integer() and counted


def columns_named(expectations: Sequence[Expectation]) -> list[str]:
    """Columns that any expectation but `Columns` looks at, each once."""
    named: dict[str, None] = {}
    for one in expectations:
        match one:
            case Unique(columns=columns):
                named.update(dict.fromkeys(columns))
            case AtLeast(column=column, other=other):
                named.update({column: None, other: None})
            case NotNull() | Between() | InSet() | Length() | Mean():
                named[one.column] = None
    return list(named)


def name_of(one: Expectation) -> str:
    """Short name of an expectation, unique within its suite."""
    match one:
        case Columns():
            return "columns"
        case Rows():
            return "rows"
        case Unique(columns=columns):
            return f"unique({', '.join(columns)})"
        case AtLeast(column=column, other=other):
            return f"at_least({column}, {other})"
        case Between(column=column, severity=severity, low=low, high=high):
            return f"between({column}, {_bound(low)}, {_bound(high)})" + ("" if severity == "error" else "?")
        case NotNull(column=column):
            return f"not_null({column})"
        case InSet(column=column):
            return f"in_set({column})"
        case Length(column=column):
            return f"length({column})"
        case Mean(column=column):
            return f"mean({column})"


def _bound(value: Any) -> str:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d}"
    return "…" if value is None else str(value)


def describe(one: Expectation) -> str:
    """The expectation as a sentence."""
    match one:
        case Columns(schema=schema):
            return "columns are " + ", ".join(f"{name} {dtype}" for name, dtype in schema)
        case Rows(low=low, high=high, why=why):
            if high is not None:
                return f"{low} rows" if low == high else f"{low} to {high} rows"
            return "at least one row" if low else f"may be empty: {why}"
        case NotNull(column=column):
            return f"{column} is never null"
        case Between(column=column, low=low, high=high):
            return f"{column} lies between {_bound(low)} and {_bound(high)}"
        case InSet(column=column, values=values):
            return f"{column} is one of {', '.join(values)}"
        case Length(column=column, low=low, high=high):
            return f"{column} has {low} to {_bound(high)} characters"
        case AtLeast(column=column, other=other):
            return f"{column} ≥ {other}"
        case Unique(columns=columns):
            return f"({', '.join(columns)}) is unique"
        case Mean(column=column, low=low, high=high):
            return f"mean of {column} lies between {low} and {high}"
