"""A small log and every commerce table made from it, for the tests of invariants."""

import random
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from pipelines.commerce.domains import domains
from pipelines.commerce.pools import pools
from pipelines.commerce.popularity import popularity
from pipelines.commerce.positives import positives
from pipelines.commerce.settings import CommerceSettings
from pipelines.commerce.taxonomy import category_names, taxonomy
from pipelines.commerce.trajectories import trajectories
from pipelines.hashing import bucket_column
from pipelines.schema import TABLES, conform

SMALL = CommerceSettings(batch_visits=8, batch_days=20, cohort_visits=12, max_positives=3)


def log(users: int, seed: int) -> pl.DataFrame:
    """Sessions of a few minutes over a year; items belong to categories, a few to none; some cancels."""
    draw = random.Random(seed)
    rows = []
    for user in range(users):
        time = datetime(2023, 2, 1, tzinfo=UTC) + timedelta(days=draw.random() * 20)
        for _ in range(draw.choice([2, 30, 60])):
            time += timedelta(days=draw.expovariate(0.3))
            for _ in range(draw.randint(1, 7)):
                time += timedelta(seconds=draw.choice([0, 20, 200, 800, 1800]))
                item = min(int(draw.expovariate(0.05)) + user % 3 * 7, 119)
                l1, l2 = (None, None) if item % 29 == 0 else (f"Domain {item % 12}", f"Kind {item % 40}")
                action = draw.choices(
                    ["click", "browse", "favourite", "cart", "purchase", "cancel"], [4, 3, 0.4, 0.3, 0.5, 0.1]
                )[0]
                rows.append(
                    {
                        "user_id": f"u{user}",
                        "time": time,
                        "action": action,
                        "item_id": f"i{item}",
                        "l1": l1 and l1.casefold(),
                        "l2": l2 and f"{l1} {l2}".casefold(),
                        "l1_name": l1,
                        "l2_name": l2 and draw.choice([f"{l1} {l2}", f"{l1}  {l2}".upper()]),
                        "dwell_ms": draw.choice([None, 5000, 61000]),
                    }
                )
    frame = pl.DataFrame(rows)
    frame = frame.with_columns(bucket_column(frame["user_id"]), brand=None, price=None, quantity=None, session_id=None)
    return conform(frame.lazy(), "events").collect()


@pytest.fixture(scope="session")
def settings() -> CommerceSettings:
    return SMALL


@pytest.fixture(scope="session")
def world(settings: CommerceSettings) -> dict[str, pl.DataFrame]:
    """Every table of the commerce track up to the pools, by name."""
    events = log(40, 7)
    made = trajectories(events.lazy(), settings)
    visits, batches, steps = made.visits.lazy(), made.batches.lazy(), made.transitions.lazy()
    connected = domains(visits, batches, settings)
    names = category_names(events.lazy())
    catalogue = taxonomy(names.lazy())
    labels = positives(made.signals, visits, batches, steps, connected.lazy(), settings)
    asked = pools(labels, visits, batches, steps, connected.lazy(), catalogue, settings)
    return {
        "events": events,
        "rejects": pl.DataFrame(
            {"file": "a.csv", "line": [3, 9], "reason": ["short line", "unknown action"], "raw": ["x", "y"]},
            schema=TABLES["rejects"].schema,
        ),
        "visits": made.visits,
        "batches": made.batches,
        "cohort": made.cohort,
        "transitions": made.transitions,
        "positives": labels,
        "domains": connected,
        "category_names": names,
        "taxonomy": catalogue,
        "popularity": popularity(visits),
        "pools": asked.pools,
        "pool_gold": asked.pool_gold,
        "pool_counts": asked.pool_counts,
    }
