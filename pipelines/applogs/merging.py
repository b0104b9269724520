"""The drops of a release as one: what several bring is there once, and what they tell differently is refused."""

from collections.abc import Mapping

import polars as pl

from pipelines.applogs.step_tables import BROUGHT

_OF_A_LOG = ("user_id", "app_log_id")


class Contradiction(ValueError):
    """Two drops that tell the same thing differently; names them, what they tell, and the remedy."""


def merged(table: str, drops: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Rows of a table of `BROUGHT` over its drops (drop id → rows), each once, in the table's order.

    A user's logs are put in order anew, so that drops may bring parts of them. Raises `Contradiction`.
    """
    spec = BROUGHT[table]
    key = list(_OF_A_LOG if table == "app_logs" else spec.key)
    rows = pl.concat([
        spec.empty().with_columns(pl.lit("").alias("__drop")),
        *(frame.select(*spec.schema.names(), pl.lit(drop).alias("__drop")) for drop, frame in drops.items()),
    ])  # fmt: skip
    told = [name for name in spec.schema.names() if name != "position" or table != "app_logs"]
    once = rows.sort(*key, "__drop").unique(told, keep="first", maintain_order=True)
    twice = once.filter(pl.struct(key).is_duplicated())
    if twice.height:
        first = twice.filter(pl.struct(key) == pl.struct(pl.lit(twice[name][0]).alias(name) for name in key))
        named = ", ".join(str(first[name][0]) for name in key)
        raise Contradiction(
            f"drops {' and '.join(first['__drop'].to_list())} tell {table} of {named} differently "
            f"({twice.select(key).n_unique()} such rows); leave one of the drops out, or correct it"
        )
    if table == "app_logs":
        position = pl.int_range(pl.len(), dtype=pl.Int32).over("user_id")
        once = once.sort("user_id", "time", "app_log_id").with_columns(position.alias("position"))
    return once.select(spec.schema.names()).sort(spec.sort_by)
