"""What a memory delivers at a checkpoint must not move by a byte when every later log is another (ours)."""

import polars as pl
from pydantic import BaseModel

from pipelines.applogs.contexts import Streams, contexts
from pipelines.memory.contract import MethodSpec, Tokens
from pipelines.memory.contract_models import PARROTS
from pipelines.memory.replay import Checkpoints, Served

VIOLATIONS = pl.Schema({"user_id": pl.String, "checkpoint_id": pl.String, "item": pl.String, "column": pl.String})
"""What `future_sensitivity` gives: one row a column of a context that moved."""
LATER = pl.duration(minutes=37)
_KEY = ["user_id", "checkpoint_id", "item"]
_MOVING = ("text", "tokens", "tokens_cut", "retrieved", "state_hash")


def future_sensitivity(
    spec: MethodSpec,
    config: BaseModel,
    logs: pl.DataFrame,
    checkpoints: pl.DataFrame,
    questions: pl.DataFrame,
    budget: int,
    tokens: Tokens,
    *,
    kept: tuple[Checkpoints, Checkpoints],
    seed: int = 0,
    served: Served = PARROTS,
) -> pl.DataFrame:
    """Columns of `contexts` that differ between the real and another future, at or before one moment (`VIOLATIONS`).

    The moment is that of the middle checkpoint, of the user whose one comes last; every later log is replaced, of
    donors too. Zero rows mean that no future reached the memory. `kept` holds the snapshots of either world. A method
    that asks a model is given one that repeats the words of its prompts. Raises what the method raises.
    """
    worlds = []
    border = middle(checkpoints)
    for rows, snapshots in zip((logs, another_future(logs, border)), kept, strict=True):
        given = Streams.of(rows, checkpoints)
        made = contexts(spec, config, given, questions, budget, tokens, kept=snapshots, seed=seed, served=served).join(
            checkpoints, on=["user_id", "checkpoint_id"]
        )
        worlds.append(made.filter(pl.col("as_of") <= border).select(*_KEY, *_MOVING))
    both = worlds[0].join(worlds[1], on=_KEY, how="full", suffix="_after", coalesce=True)
    moved = [
        both.filter(pl.col(name).ne_missing(pl.col(f"{name}_after"))).select(*_KEY, pl.lit(name).alias("column"))
        for name in _MOVING
    ]
    return pl.concat(moved).match_to_schema(VIOLATIONS).sort(*_KEY, "column")


def middle(checkpoints: pl.DataFrame) -> pl.Expr:
    """The moment up to which nothing may move: the latest of the users' middle checkpoints."""
    half = (pl.len().over("user_id") - 1) // 2
    return pl.lit(checkpoints.filter(pl.col("checkpoint_index") == half)["as_of"].max(), checkpoints.schema["as_of"])


def another_future(logs: pl.DataFrame, border: pl.Expr) -> pl.DataFrame:
    """`app_logs` with every log after the moment made another; ids, order and all before it stay."""
    said = {
        "app_log_id": pl.col("app_log_id"),
        "timestamp": (pl.col("time") + LATER).dt.to_string("%F %T"),
        "app_name": pl.lit("Other"),
        "api_name": pl.lit("Another"),
        "request": pl.struct(pl.format("later {}", "position").alias("query")),
    }
    other = {
        "time": pl.col("time") + LATER,
        "app": pl.lit("Other"),
        "api": pl.lit("Another"),
        "object": pl.format("later {}", "position"),
        "record": pl.struct(value.alias(name) for name, value in said.items()).struct.json_encode(),
    }
    later = pl.col("time") > border
    return logs.with_columns(pl.when(later).then(value).otherwise(name).alias(name) for name, value in other.items())
