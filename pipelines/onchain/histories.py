"""`histories`: what each interface may show for a target, as ranges of event numbers (design step 10).

A target is cut at its own trade, a belief at the last trade of its market; nothing at or
after the cut is shown. Ranges are kept, rows are gathered when a prompt needs them.
- `none` shows the target's context alone;
- `direct` the latest own trades before the cut, in the target market or in all;
- `profile` what module `profiles` makes of the wallet's trades before the end of its train split, one a wallet;
  a train target would see its own future in it, and has none;
- `retrieval` the latest trades in the target market of the support wallets that module `support` chooses.
"""

from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from pipelines.onchain.ordering import place
from pipelines.onchain.settings import OnchainSettings
from pipelines.onchain.support import Pool, pool_of, retrieve
from pipelines.onchain.tables import ONCHAIN_TABLES

Interface = Literal["none", "direct", "profile", "retrieval"]
INTERFACES: tuple[Interface, ...] = ("none", "direct", "profile", "retrieval")
TARGET = ["layer", "wallet", "event"]
SHOWN = ["condition_id", "outcome", "direction", "amount", "collateral", "price", "block_number", "log_index", "time"]
"""Columns of a trade that a history shows."""


def histories(
    cohort_trades: pl.DataFrame,
    trade_instances: pl.DataFrame,
    belief_instances: pl.DataFrame,
    support: pl.DataFrame | Pool,
    settings: OnchainSettings,
) -> pl.DataFrame:
    """Table `histories`: one row a target of both layers, for the evaluation wallets in `cohort_trades`.

    `support` holds the `cohort_trades` of all support wallets with their `rank` (table `wallets`); for several
    shards, the `Pool` that was made of them once.
    A belief has the history of the trade at its cut.
    """
    own = cohort_trades.filter(pl.col("cohort").cast(pl.String) == "evaluation")
    wallets, seen = retrieve(own, support if isinstance(support, Pool) else pool_of(support), settings)
    shown = np.minimum(seen, settings.retrieved_events)
    ranges = own.select(
        "wallet",
        "event",
        "condition_id",
        pl.col("block_number").alias("cut_block"),
        pl.col("log_index").alias("cut_log_index"),
        (pl.col("market_event") - settings.history_events).clip(0).alias("direct_first"),
        pl.col("market_event").clip(0, settings.history_events).alias("direct_n"),
        (pl.col("event") - settings.history_events).clip(0).alias("all_first"),
        pl.col("event").clip(0, settings.history_events).alias("all_n"),
    ).with_columns(
        _lists("support", wallets, wallets >= 0),
        _lists("support_first", seen - shown, wallets >= 0),
        _lists("support_n", shown, wallets >= 0),
    )
    of_trades = trade_instances.select("wallet", "event", "split")
    of_beliefs = belief_instances.select("wallet", pl.col("cut_event").alias("event"), "split")
    layers = [
        ranges.join(targets, on=["wallet", "event"], validate="1:1")
        .join(_trained(targets), on="wallet", how="left")
        .with_columns(
            pl.lit(layer).alias("layer"),
            pl.when(pl.col("split").cast(pl.String) != "train").then("profile_n").alias("profile_n"),
        )
        for layer, targets in (("belief", of_beliefs), ("trade", of_trades))
    ]
    schema = ONCHAIN_TABLES["histories"].schema
    return pl.concat(
        [frame.select(pl.col(name).cast(dtype) for name, dtype in schema.items()).sort(TARGET) for frame in layers]
    )


def gather(
    targets: pl.DataFrame,
    cohort_trades: pl.DataFrame,
    support: pl.DataFrame,
    interface: Interface,
    scope: Literal["market", "all_markets"] = "market",
) -> pl.DataFrame:
    """The trades that `interface` shows for rows of `histories`: target, source, `rank` and the columns `SHOWN`.

    `rank` counts from 0, oldest first within a source; `source` is the place of a support wallet, −1 for the
    wallet itself. `profile` gives the trades that the profile is made of. Sorted by (target, source, rank).
    """
    if interface == "retrieval":
        wanted = targets.explode("support", "support_first", "support_n", empty_as_null=False).select(
            *TARGET,
            "condition_id",
            pl.int_range(pl.len(), dtype=pl.Int32).over(TARGET).alias("source"),
            pl.col("support").alias("of"),
            pl.col("support_first").alias("first"),
            pl.col("support_n").alias("n"),
        )
        trades = support.select(pl.col("rank").alias("of"), pl.col("market_event").alias("number"), *SHOWN)
        by = ["of", "condition_id"]
    else:
        columns = {
            "none": (pl.lit(0), pl.lit(0)),
            "profile": (pl.lit(0), pl.col("profile_n").fill_null(0)),
            "direct": (pl.col("direct_first"), pl.col("direct_n"))
            if scope == "market"
            else (pl.col("all_first"), pl.col("all_n")),
        }[interface]
        in_market = interface == "direct" and scope == "market"
        wanted = targets.select(
            *TARGET,
            *(["condition_id"] if in_market else []),
            pl.lit(-1, pl.Int32).alias("source"),
            columns[0].alias("first"),
            columns[1].alias("n"),
        )
        number = pl.col("market_event" if in_market else "event").alias("number")
        trades = cohort_trades.select("wallet", number, *SHOWN)
        by = ["wallet", "condition_id"] if in_market else ["wallet"]
    shown = _numbered(wanted).join(trades, on=[*by, "number"])
    return shown.select(*TARGET, "source", "rank", *SHOWN).sort(*TARGET, "source", "rank")


def violations(histories: pl.DataFrame, cohort_trades: pl.DataFrame, support: pl.DataFrame) -> pl.DataFrame:
    """Targets of which an interface would show a row at or after the cut, or a row that is not there; empty when sound.

    Columns: target, interface (direct, all_markets, profile, retrieval), reason. Rows of support wallets must
    lie in an earlier block. The last number of a range is looked up; numbers that do not rise with the place
    are a violation of their own, as are negative ones.
    """
    cut = histories.with_columns(place("cut_block", "cut_log_index").alias("cut"))
    own = cohort_trades.select("wallet", "condition_id", "event", "market_event", place().alias("at"))
    other = support.select(
        pl.col("rank").alias("support"), "condition_id", "market_event", pl.col("block_number").alias("at")
    )
    by_event = own.select("wallet", pl.col("event").alias("number"), "at")
    by_market_event = own.select("wallet", "condition_id", pl.col("market_event").alias("number"), "at")
    retrieved = cut.explode("support", "support_first", "support_n", empty_as_null=False)
    checks = (
        ("direct", cut, "direct_first", "direct_n", by_market_event, ["wallet", "condition_id"], "cut"),
        ("all_markets", cut, "all_first", "all_n", by_event, ["wallet"], "cut"),
        ("profile", cut.with_columns(zero=0), "zero", "profile_n", by_event, ["wallet"], "cut"),
        (
            "retrieval",
            retrieved,
            "support_first",
            "support_n",
            other.rename({"market_event": "number"}),
            ["support", "condition_id"],
            "cut_block",
        ),
    )
    found = [_late(*check) for check in checks]
    return pl.concat(found).sort(*TARGET, "interface", "reason")


def _late(
    interface: str, targets: pl.DataFrame, first: str, n: str, source: pl.DataFrame, by: list[str], limit: str
) -> pl.DataFrame:
    # Event numbers rise with the place, so the last trade of a range is its latest; where they do not, `falls` says so.
    ordered = source.sort(*by, "number")
    falls = ordered.filter((pl.col("at") < pl.col("at").shift().over(by)).fill_null(False)).select(by).unique()
    rows = targets.filter(pl.col(n) > 0).select(
        *TARGET, *(name for name in by if name not in TARGET), limit, (pl.col(first) + pl.col(n) - 1).alias("number"),
        pl.col(first).alias("first"),
    )  # fmt: skip
    located = rows.join(source, on=[*by, "number"], how="left")
    reason = (
        pl.when(pl.col("first") < 0)
        .then(pl.lit("a range begins below 0"))
        .when(pl.col("at").is_null())
        .then(pl.lit("a row that is not there"))
        .when(pl.col("at") >= pl.col(limit))
        .then(pl.lit("a row at or after the cut"))
    )
    bad = located.with_columns(reason.alias("reason")).filter(pl.col("reason").is_not_null())
    unordered = rows.join(falls, on=by, how="semi").with_columns(pl.lit("event numbers fall").alias("reason"))
    return (
        pl.concat([bad.select(*TARGET, "reason"), unordered.select(*TARGET, "reason")])
        .unique()
        .with_columns(pl.lit(interface).alias("interface"))
        .select(*TARGET, "interface", "reason")
    )


def _trained(targets: pl.DataFrame) -> pl.DataFrame:
    """Trades of each wallet before the end of its train split: up to its last train target, included."""
    last = targets.filter(pl.col("split").cast(pl.String) == "train").group_by("wallet").agg(pl.col("event").max() + 1)
    return targets.select("wallet").unique().join(last.rename({"event": "profile_n"}), on="wallet", how="left")


def _numbered(wanted: pl.DataFrame) -> pl.DataFrame:
    """One row a number in [first, first + n), with its `rank` from 0."""
    first, n = pl.col("first").cast(pl.Int32), pl.col("n").cast(pl.Int32)
    rows = wanted.filter(n > 0).with_columns(pl.int_ranges(first, first + n, dtype=pl.Int32).alias("number"))
    return rows.explode("number", empty_as_null=False).with_columns((pl.col("number") - first).alias("rank"))


def _lists(name: str, values: npt.NDArray[np.int32], used: npt.NDArray[np.bool_]) -> pl.Series:
    offsets = np.append(0, np.cumsum(used.sum(axis=1))).astype(np.int64)
    lists = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(values[used], type=pa.int32()))
    return pl.Series(name, pl.from_arrow(lists), dtype=pl.List(pl.Int32))
