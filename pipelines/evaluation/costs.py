"""What the model calls behind each row of a leaderboard took (`costs`), and which models they asked (ours)."""

import polars as pl

from pipelines.rounding import published
from pipelines.schema import conform


def costs(calls: pl.LazyFrame) -> pl.DataFrame:
    """Table `costs` from rows of `model_calls` with their `method`, `reader` and `budget`.

    A prompt that several shards needed is one call, however users fall into shards. A cost is null as soon as one call
    of the group has no price: a part of it would read as the whole.
    """
    whole = pl.col("status") == "ok"
    call = ["method", "reader", "budget", "step", "key"]
    # Made ones first: the hits of other shards are left out.
    once = calls.sort(*call, "cached").filter(~pl.col("cached") | (pl.int_range(pl.len()).over(call) == 0))
    grouped = once.group_by("method", "reader", "budget", "step", "model").agg(
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
    return published(conform(grouped, "costs").collect())


def models_asked(calls: pl.LazyFrame, arms: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """Which models stand behind each arm: one row a method, reader, budget, step, role, model and endpoint.

    `calls` are as for `costs`, `arms` is frame `faults.ARMS`, `verdicts` the table `verdict_summary`. `weak`: whether a
    weak model is among those of the arm and step (of a judge: whether it is weak); null where nothing states it.
    """
    cell = ["method", "reader", "budget"]
    asked = calls.select(*cell, pl.col("step").cast(pl.String), "role", "model", "endpoint").unique().collect()
    made = arms.unpivot(on=["weak_builder", "weak_reader"], index=cell, variable_name="step", value_name="weak")
    made = made.with_columns(pl.col("step").replace({"weak_builder": "build", "weak_reader": "read"}))
    judged = verdicts.group_by(*cell, "model").agg(judge_weak=pl.col("weak").any(), step=pl.lit("judge"))
    return (
        asked.join(made, on=[*cell, "step"], how="left")
        .join(judged, on=[*cell, "step", "model"], how="left")
        .with_columns(pl.coalesce("weak", "judge_weak").alias("weak"))
        .select([*asked.columns, "weak"])
        .sort(*asked.columns)
    )
