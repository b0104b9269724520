"""Audits over real baskets: 55 households of the Complete Journey log, through the whole commerce path."""

from pathlib import Path

import polars as pl
import pytest

from expectations.audits import audit_for
from pipelines.commerce.domains import domains
from pipelines.commerce.events import read_drop
from pipelines.commerce.pools import pools
from pipelines.commerce.positives import positives
from pipelines.commerce.settings import CommerceSettings
from pipelines.commerce.sources import source
from pipelines.commerce.taxonomy import category_names, taxonomy
from pipelines.commerce.trajectories import trajectories
from pipelines.findings import Finding

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "ecommerce" / "completejourney"


@pytest.mark.skipif(not DATA.is_dir(), reason="the sample of real logs is not beside the checkout")
def test_real_rows_pass_every_error_and_warning() -> None:
    settings = CommerceSettings()
    drop = read_drop(sorted(DATA.glob("*.csv")), source("complete_journey"))
    events = drop.events
    made = trajectories(events.lazy(), settings)
    visits, batches, steps = made.visits.lazy(), made.batches.lazy(), made.transitions.lazy()
    connected = domains(visits, batches, settings)
    names = category_names(events.lazy())
    catalogue = taxonomy(names.lazy())
    labels = positives(made.signals, visits, batches, steps, connected.lazy(), settings)
    asked = pools(labels, visits, batches, steps, connected.lazy(), catalogue, settings)
    world: dict[str, pl.DataFrame] = {
        "events": events,
        "rejects": drop.rejects,
        "visits": made.visits,
        "batches": made.batches,
        "cohort": made.cohort,
        "transitions": made.transitions,
        "positives": labels,
        "domains": connected,
        "category_names": names,
        "taxonomy": catalogue,
        "pools": asked.pools,
        "pool_gold": asked.pool_gold,
        "pool_counts": asked.pool_counts,
    }
    companions = {name: frame.lazy() for name, frame in world.items()}
    counts = {"visits": 30077, "batches": 524, "transitions": 524 - 55}
    failed: dict[str, list[Finding]] = {}
    for table, frame in world.items():
        findings = audit_for(table, companions, settings, counts=counts)(frame.lazy())
        failed[table] = [finding for finding in findings if not finding.passed]
    assert {table: [str(finding) for finding in found] for table, found in failed.items() if found} == {}
