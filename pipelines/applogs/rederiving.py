"""Derive the tables of a release again, from shuffled rows in other shards, and from another future (ours)."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from pipelines.applogs.merging import merged
from pipelines.applogs.questions import ASKED, questions, state_keys
from pipelines.applogs.release_rules import VIOLATIONS
from pipelines.applogs.settings import AppLogSettings
from pipelines.applogs.step_tables import BROUGHT, PUBLISHED
from pipelines.applogs.users import checkpoints
from pipelines.hashing import bucket_column, mix64

Tables = Mapping[str, pl.DataFrame]
Drops = Mapping[str, Mapping[str, pl.DataFrame]]
"""Table of `BROUGHT` → drop id → its rows."""
DERIVED = ("app_logs", "checkpoints", *ASKED)
"""What is derived, beside `state_keys`."""
SHIFT = pl.duration(minutes=13)
"""How much later everything is in another future."""
CANARY = "another future"
_AT = ["user_id", "checkpoint_id"]


def rederive(drops: Drops, frozen: Tables, settings: AppLogSettings, shards: int = 3) -> pl.DataFrame:
    """Rows of `VIOLATIONS`, one a table of `DERIVED` that does not come out of the drops again.

    Both hold the same users; `frozen` also the whole of `state_keys`, which is derived too where `drops` are whole.
    """
    parts = [derive(_cut(drops, shard, shards), frozen["state_keys"], settings) for shard in range(shards)]
    return differing({name: pl.concat([part[name] for part in parts]) for name in DERIVED}, frozen)


def rederive_keys(drops: Drops, frozen: Tables) -> pl.DataFrame:
    """Rows of `VIOLATIONS` when `state_keys` does not come out of whole drops again."""
    return differing({"state_keys": state_keys(merged("state_intervals", drops["state_intervals"]))}, frozen)


def derive(drops: Drops, keys: pl.DataFrame, settings: AppLogSettings) -> dict[str, pl.DataFrame]:
    """All tables `DERIVED` from the rows of drops."""
    brought = {name: merged(name, rows) for name, rows in drops.items()}
    cut = checkpoints(brought["app_logs"], brought["anchors"], settings)
    return {
        "app_logs": brought["app_logs"],
        "checkpoints": cut,
        **questions(brought, brought["app_logs"], cut, keys, settings),
    }


def other_future(brought: Tables, frozen: Tables, settings: AppLogSettings) -> pl.DataFrame:
    """Rows of `VIOLATIONS`: what is frozen for a checkpoint and moves when everything after it is another.

    `brought` are merged tables of `BROUGHT`, `frozen` those of `DERIVED` and `state_keys`, of the same users. After
    each checkpoint in turn the logs, anchors, values and what shows them become others. Which states never were true
    of a user is known of its whole life, and stays.
    """
    found = []
    for index in frozen["checkpoints"]["checkpoint_index"].unique().sort().to_list():
        last = frozen["checkpoints"].filter(pl.col("checkpoint_index") == index)
        until = frozen["checkpoints"].filter(pl.col("checkpoint_index") <= index).join(last, on="user_id", how="semi")
        world = _after(brought, last)
        again = checkpoints(world["app_logs"], world["anchors"], settings).join(until, on=_AT, how="semi")
        made = {"checkpoints": again, **questions(world, world["app_logs"], again, frozen["state_keys"], settings)}
        found.append(_moved(made, frozen, until, index))
    return pl.concat(found) if found else pl.DataFrame(schema=VIOLATIONS)


def _after(brought: Tables, last: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The tables of the users of `last` with another future after these checkpoints."""
    at = last.select("user_id", pl.col("as_of").alias("__as_of"), pl.col("n_visible").alias("__n"))
    world = {name: rows.join(at, on="user_id", how="inner", maintain_order="left") for name, rows in brought.items()}

    def changed(name: str, later: pl.Expr, **values: pl.Expr) -> None:
        rows = world[name]
        world[name] = rows.with_columns(
            pl.when(later).then(value.cast(rows.schema[column])).otherwise(column).alias(column)
            for column, value in values.items()
        )

    moment, visible = pl.col("__as_of"), pl.col("__n")
    other = pl.lit(CANARY)
    changed("app_logs", pl.col("position") >= visible, time=pl.col("time") + SHIFT, app=other, api=other,
            object=other, record=other)  # fmt: skip
    changed("anchors", pl.col("as_of") > moment, as_of=pl.col("as_of") + SHIFT)
    changed("state_intervals", pl.col("valid_from") > moment, value=pl.lit(f'"{CANARY}"'))
    for name in ("valid_from", "valid_to"):
        changed("state_intervals", pl.col(name) > moment, **{name: pl.col(name) + SHIFT})
    changed("state_changes", pl.col("end_position") >= visible, value=pl.lit(f'"{CANARY}"'), change_type=pl.lit("drop"))
    changed("state_evidence", pl.col("position") >= visible, value_id=other)
    return {name: rows.drop("__as_of", "__n") for name, rows in world.items()}


def _moved(made: Tables, frozen: Tables, until: pl.DataFrame, index: int) -> pl.DataFrame:
    asked = frozen["tasks"].join(until, on=_AT, how="semi").select("user_id", "item")
    found = []
    for name in ("checkpoints", "tasks", "gold_items", "gold_parts", "gold_states"):
        own = asked if name == "gold_parts" else until.select(_AT)
        again, before = (rows.join(own, on=own.columns, how="semi") for rows in (made[name], frozen[name]))
        table = PUBLISHED[name]
        if not again.sort(table.sort_by).equals(before.sort(table.sort_by)):
            found.append(("no_future", f"table {name} up to checkpoint {index} depends on what comes after it"))
    return pl.DataFrame(found, schema=VIOLATIONS, orient="row")


def differing(made: Tables, frozen: Tables) -> pl.DataFrame:
    """Rows of `VIOLATIONS`, one a table whose rows are not those frozen."""
    found = []
    for name, rows in made.items():
        table = PUBLISHED[name]
        again, before = (one.select(table.schema.names()).sort(table.sort_by) for one in (rows, frozen[name]))
        if not again.equals(before):
            found.append(
                ("derived_again", f"table {name}: {before.height} rows, derived again {again.height}, not equal")
            )
    return pl.DataFrame(found, schema=VIOLATIONS, orient="row")


def _cut(drops: Drops, shard: int, shards: int) -> dict[str, dict[str, pl.DataFrame]]:
    """The users of one of `shards` other shards, rows in another order."""
    return {
        name: {
            drop: _shuffled(rows.filter(bucket_column(rows["user_id"]) % shards == shard)) for drop, rows in by.items()
        }
        for name, by in drops.items()
        if name in BROUGHT
    }


def _shuffled(rows: pl.DataFrame) -> pl.DataFrame:
    return rows[np.argsort(mix64(1, np.arange(rows.height, dtype=np.uint64)), kind="stable")]
