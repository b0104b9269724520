"""`costs`: what the model calls behind each row of a leaderboard took (ours)."""

import polars as pl

from pipelines.schema import conform


def costs(calls: pl.LazyFrame) -> pl.DataFrame:
    """Table `costs` from rows of `model_calls` with their `method`, `reader` and `budget`.

    A cost is null as soon as one call of the group has no price: a part of it would read as the whole.
    """
    whole = pl.col("status") == "ok"
    grouped = calls.group_by("method", "reader", "budget", "step", "model").agg(
        n_calls=pl.len(),
        n_cached=pl.col("cached").sum(),
        n_failed=(~whole).sum(),
        n_retries=pl.col("retries").sum(),
        prompt_tokens=pl.col("prompt_tokens").sum(),
        reply_tokens=pl.col("reply_tokens").sum(),
        # Sorted: a sum of floats must not depend on the order of the shards.
        seconds=pl.col("latency_ms").sort().sum() / 1000,
        cost=pl.when(pl.col("cost").is_null().any()).then(None).otherwise(pl.col("cost").sum() / 1e9),
    )
    return conform(grouped, "costs").collect()
