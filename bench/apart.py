"""What is timed apart from the path: candidate pools, expectations and publishing.

Run as `python -m bench.apart pools|checks PARQUET`: one measured run, printed as JSON.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bench.peers import S
from pipelines.commerce.pools import pools
from pipelines.commerce.trajectories import trajectories
from pipelines.hashing import frame_hash
from pipelines.schema import TABLES

TRANSITIONS = 16_000
POSITIVES = 10
EXCLUDED = 107
CATEGORIES = 4_667
DOMAINS = 161
BATCHES = 17


def pool_inputs(transitions: int = TRANSITIONS) -> dict[str, Any]:
    """Histories and positives of the paper's size: 16 transitions a user, 50 visits a batch, the whole taxonomy."""
    rng = np.random.Generator(np.random.Philox(7))
    n_users = transitions // (BATCHES - 1)
    taxonomy = pl.DataFrame(
        {
            "l1": [f"domain {i % DOMAINS:03d}" for i in range(CATEGORIES)],
            "l2": [f"category {i:05d}" for i in range(CATEGORIES)],
        }
    ).with_columns(pl.col("l1").alias("l1_name"), pl.col("l2").alias("l2_name"))
    names = pl.Series("user_id", [f"user {i:05d}" for i in range(n_users)])
    day = pl.Series(np.arange(BATCHES, dtype=np.int64)) * 86_400_000_000 + 1_675_209_600_000_000
    batches = (
        pl.DataFrame({"user_id": names})
        .join(pl.DataFrame({"batch_index": np.arange(BATCHES), "start": day, "end": day + 3_600_000_000}), how="cross")
        .with_columns(
            (pl.col("batch_index") * 50).alias("first_visit"),
            pl.lit(50).alias("n_visits"),
            pl.lit(True).alias("closed"),
        )
    )
    after = batches.with_columns(
        pl.col("batch_index").alias("transition_index"),
        pl.col("end").alias("history_end"),
        pl.col("start").shift(-1).alias("target_start"),
        pl.col("end").shift(-1).alias("target_end"),
        pl.lit(True).alias("target_closed"),
        pl.col("end").cast(pl.Datetime("us", "UTC")).dt.truncate("1q").alias("quarter"),
    ).filter(pl.col("batch_index") < BATCHES - 1)
    n_visits = batches.height * 50
    visited = taxonomy[(CATEGORIES ** rng.random(n_visits)).astype(np.int64).clip(0, CATEGORIES - 1)]
    of_batch = batches[np.repeat(np.arange(batches.height), 50)]
    visits = pl.DataFrame(
        [
            of_batch["user_id"],
            of_batch["start"],
            of_batch["start"].alias("end"),
            visited["l1"],
            visited["l2"],
        ]
    ).with_columns(
        pl.int_range(pl.len()).over("user_id").alias("visit_index"),
        pl.lit("i").alias("item_id"),
        pl.lit(None).alias("brand"),
    )
    drawn = np.argpartition(rng.random((transitions, CATEGORIES), dtype=np.float32), EXCLUDED, axis=1)[:, :EXCLUDED]
    kept = np.tile(np.arange(EXCLUDED) < POSITIVES, transitions)
    of_transition = after[np.repeat(np.arange(transitions), EXCLUDED)]
    wanted = taxonomy[drawn.ravel()]
    positives = pl.DataFrame(
        [of_transition["user_id"], of_transition["transition_index"], wanted["l1"], wanted["l2"]]
    ).with_columns(
        *(pl.lit(name == "purchase").alias(name) for name in ("favourite", "cart", "purchase", "deep_browse")),
        pl.lit("seen").alias("familiarity"),
        pl.when(pl.Series(kept)).then(pl.lit("remember")).alias("pool"),
        pl.Series("kept", kept),
    )
    return {
        "positives": _shaped(positives, "positives"),
        "visits": _shaped(visits, "visits").lazy(),
        "batches": _shaped(batches, "batches").lazy(),
        "transitions": _shaped(after, "transitions").lazy(),
        "domains": TABLES["domains"].empty().lazy(),
        "taxonomy": _shaped(taxonomy, "taxonomy"),
    }


def _shaped(frame: pl.DataFrame, table: str) -> pl.DataFrame:
    return frame.select(
        (pl.col(name) if name in frame.columns else pl.lit(0)).cast(dtype).alias(name)
        for name, dtype in TABLES[table].schema.items()
    )


def time_pools() -> dict[str, Any]:
    """Seconds for 16,000 transitions × 10 positives × 3 distractors over 4,667 categories, 107 excluded each."""
    pools(**pool_inputs(16), settings=S)
    given = pool_inputs()
    wall, cpu = time.perf_counter(), time.process_time()
    made = pools(**given, settings=S)
    return {
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "candidates": made.pools.height,
        "hash": frame_hash(made.pools),
    }


def time_checks(path: Path) -> dict[str, Any]:
    """Seconds to judge each table by its suite, and to publish it (write, fsync, hash, rename)."""
    from expectations.gx import validate
    from resources.store import Store

    made = trajectories(pl.scan_parquet(path), S)
    validate(made.cohort.lazy(), "cohort", engine="gx")  # pays for the import
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        for table in ("visits", "batches", "cohort", "transitions"):
            frame: pl.DataFrame = getattr(made, table)
            found[table] = {
                "rows": frame.height,
                "expectations": _seconds(lambda f=frame, t=table: validate(f.lazy(), t, engine="gx")),  # type: ignore[misc]
                "publishing": _seconds(
                    lambda f=frame, t=table: Store(folder).publish(  # type: ignore[misc]
                        t, f, keys={"release": "bench", "shard": "s00"}, fingerprint="bench"
                    )
                ),
            }
    return found


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("pools", "checks"))
    parser.add_argument("path", type=Path)
    given = parser.parse_args()
    print(json.dumps(time_pools() if given.what == "pools" else time_checks(given.path)))
