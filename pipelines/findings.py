"""What an expectation found: one row of an audit, with the rows that broke it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import polars as pl

Severity = Literal["error", "warning", "info"]
MAX_FAILED_ROWS = 20
"""Failing rows that a finding carries at most."""


@dataclass(frozen=True, eq=False)
class Finding:
    """The outcome of one expectation over one table.

    `observed` is what was measured, as text; `failed_rows` holds up to
    `MAX_FAILED_ROWS` rows that broke it, when rows can be named. Only a failed
    finding of severity `error` keeps a table from being published.
    """

    name: str
    passed: bool
    severity: Severity
    observed: str
    description: str
    failed_rows: pl.DataFrame | None = None

    def __str__(self) -> str:
        return f"{'ok' if self.passed else self.severity}: {self.name}: {self.description}; observed {self.observed}"


def failed_errors(findings: Iterable[Finding]) -> list[Finding]:
    """The findings that forbid publication."""
    return [finding for finding in findings if not finding.passed and finding.severity == "error"]
