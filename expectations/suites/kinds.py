"""The kinds of expectations."""

from dataclasses import dataclass
from typing import Any

from pipelines.findings import Severity


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
