"""The audit of a table: its suite and its invariants, in the shape that `Store.publish` takes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import polars as pl
from pydantic import BaseModel

from expectations.gx import Engine, validate
from expectations.invariants import INVARIANTS
from expectations.invariants.logs import conserved
from expectations.invariants.readings import funnel_adds_up
from expectations.invariants.rules import Frames
from pipelines.findings import Finding
from pipelines.tracks import settings_of_table

SUITE, INVARIANT = "sound", "consistent"
"""The two checks of a table; a finding's name begins with the one it belongs to."""


@dataclass
class Audit:
    """The audit of one table; once it has run, `findings` holds what it found (for the asset's checks)."""

    table: str
    companions: Frames
    settings: BaseModel
    counts: Mapping[str, int]
    engine: Engine
    findings: list[Finding] = field(default_factory=list)

    def __call__(self, frame: pl.LazyFrame) -> list[Finding]:
        """Judge the written table."""
        suite = validate(frame, self.table, engine=self.engine, expected_rows=self.counts.get(self.table))
        self.findings = [_under(SUITE, finding) for finding in suite]
        if suite[0].passed:
            self.findings += [_under(INVARIANT, finding) for finding in self._invariants(frame)]
        return self.findings

    def _invariants(self, frame: pl.LazyFrame) -> list[Finding]:
        findings = INVARIANTS[self.table]({**self.companions, self.table: frame}, self.settings)
        if self.table == "events" and "rows_in" in self.counts:
            rows = frame.select(pl.len()).collect().item()
            counts = self.counts
            findings.append(conserved(counts["rows_in"], rows, counts["rejects"], counts["duplicates"]))
        if went_in := {name: n for name, n in self.counts.items() if self.table == "funnel" and "/" in name}:
            findings.append(funnel_adds_up(frame, went_in))
        return findings


def audit_for(
    table: str,
    companions: Frames | None = None,
    settings: BaseModel | None = None,
    *,
    counts: Mapping[str, int] | None = None,
    engine: Engine = "auto",
) -> Audit:
    """The audit of a table: findings named `sound/…` (suite) and `consistent/…` (invariants).

    `companions` are other tables by name, whole or of the same shard; what lacks one
    is reported as not checked. `counts` are numbers known from elsewhere: under the
    table's own name the rows it must hold; for `events` also `rows_in`, `rejects` and
    `duplicates` of the drop; for `funnel` how many went in, by `step/unit`. With
    other columns than the registry's nothing else is judged.
    """
    return Audit(table, companions or {}, settings or settings_of_table(table), counts or {}, engine)


def _under(check: str, finding: Finding) -> Finding:
    return replace(finding, name=f"{check}/{finding.name}")
