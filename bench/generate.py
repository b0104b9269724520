"""Seeded logs of any size with the skew of real shops, in the `events` schema.

Activity per user is log-normal (a few users hold much of the log), items follow a
Zipf law inside a two-level catalogue of 161 domains and 4,667 categories, events
come in sessions with repeats of one item, baskets share one second, and a few per
cent of the rows lack a category, a brand or a dwell time. Nothing depends on
global random state.
"""

from pathlib import Path

import numpy as np
import polars as pl

from pipelines.commerce.tables import ACTION, ACTIONS
from pipelines.hashing import bucket_column
from pipelines.schema import TABLES

EVENTS_PER_USER = 180
DOMAINS = 161
CATEGORIES = 4_667
BRANDS = 3_000
SECOND = 1_000_000
START = 1_675_209_600 * SECOND
"""2023-02-01T00:00:00Z, the first month of the paper's log."""
_SHARES = {
    "click": 0.35,
    "browse": 0.47,
    "favourite": 0.04,
    "cart": 0.07,
    "purchase": 0.05,
    "cancel": 0.01,
    "refund": 0.01,
}


def events(rows: int, seed: int = 1) -> pl.DataFrame:
    """`rows` events in time order, as a shop's log server writes them."""
    rng = np.random.Generator(np.random.Philox(seed))
    n_users = max(2, rows // EVENTS_PER_USER)
    weight = rng.lognormal(0.0, 1.3, n_users)
    user = np.sort(rng.choice(n_users, size=rows, p=weight / weight.sum()).astype(np.int32))
    first = np.ones(rows, dtype=bool)
    first[1:] = user[1:] != user[:-1]

    # Sessions days apart, half-minutes inside; one event in ten shares the second of its predecessor.
    new_session = first | (rng.random(rows) < 0.1)
    pause = rng.exponential(rng.lognormal(1.0, 0.8, n_users)[user] * 86_400)
    gap = np.where(new_session, pause, np.where(rng.random(rows) < 0.1, 0, rng.exponential(90, rows))).astype(np.int64)
    gap[first] = rng.integers(0, 200 * 86_400, int(first.sum()))
    clock = np.cumsum(gap)
    starts = np.flatnonzero(first)
    clock -= np.repeat(clock[starts] - gap[starts], np.diff(np.append(starts, rows)))

    n_items = max(1_000, rows // 12)
    rank = np.minimum((n_items ** rng.random(rows)).astype(np.int64), n_items - 1)
    again = ~first & (rng.random(rows) < 0.35)
    item = (rank * 7_919) % n_items
    item = item[np.maximum.accumulate(np.where(again, 0, np.arange(rows)))]
    category = (np.arange(n_items) * 2_654_435_761 % CATEGORIES)[item]
    brand = (np.arange(n_items) * 40_503 % BRANDS)[item]
    action = rng.choice(len(ACTIONS), size=rows, p=[_SHARES[name] for name in ACTIONS]).astype(np.uint8)
    no_category, no_brand = item % 50 == 7, item % 7 == 3
    dwell = np.where((action == 1) & (rng.random(rows) < 0.8), rng.lognormal(9.0, 1.2, rows), -1).astype(np.int64)

    by_time = np.argsort(clock, kind="stable")
    domains = pl.Series([f"domain {i:03d}" for i in range(DOMAINS)])
    categories = pl.Series([f"category {i:05d}" for i in range(CATEGORIES)])
    brands = pl.Series([f"Brand {i}" for i in range(BRANDS)])
    users = pl.Series([str(1_000_003 * (i + 1) % 2_000_000_011) for i in range(n_users)])
    item, category, action, dwell = item[by_time], category[by_time], action[by_time], dwell[by_time]
    l2 = pl.Series("l2", categories.gather(category))
    l1 = pl.Series("l1", domains.gather(category % DOMAINS))
    valid = pl.Series(~no_category[by_time])
    frame = pl.DataFrame(
        {
            "user_id": users.gather(user[by_time]),
            "time": pl.Series(clock[by_time] * SECOND + START).cast(pl.Datetime("us", "UTC")),
            "action": pl.Series(list(ACTIONS), dtype=ACTION).gather(action),
            "item_id": (pl.Series(item) + 100_000_007).cast(pl.String),
            "l1": l1,
            "l2": l2,
            "brand": brands.gather(brand[by_time]),
            "dwell_ms": pl.Series(dwell),
            "bucket": bucket_column(users).gather(user[by_time]),
        }
    ).with_columns(
        pl.when(valid).then("l1").alias("l1"),
        pl.when(valid).then("l2").alias("l2"),
        pl.when(pl.Series(~no_brand[by_time])).then("brand").alias("brand"),
        pl.when(pl.col("dwell_ms") >= 0).then("dwell_ms").alias("dwell_ms"),
    )
    return frame.select(
        (pl.col(name) if name in frame.columns else _absent(name)).cast(dtype).alias(name)
        for name, dtype in TABLES["events"].schema.items()
    )


def _absent(name: str) -> pl.Expr:
    """Columns that repeat another or that this log does not have."""
    if name in ("l1_name", "l2_name"):
        return pl.col(name.removesuffix("_name")).str.to_titlecase()
    return pl.lit(1, dtype=pl.Int64) if name == "quantity" else pl.lit(None)


def cached(rows: int, folder: Path, seed: int = 1) -> Path:
    """Path of the Parquet file of `events(rows, seed)`, made when it is not there yet."""
    path = folder / f"events-{rows}-{seed}.parquet"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".tmp")
        events(rows, seed).write_parquet(draft, compression="zstd")
        draft.rename(path)
    return path
