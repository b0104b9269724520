"""`wallets`: who is seen in the logs, which filters stop whom, and who is drawn (paper §A.3).

The filters are one declared list, `filters`. Features and filters work on any shard of
wallets; funnels of shards add up (`add_funnels`); only the draw needs all wallets.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

import numba as nb
import numpy as np
import polars as pl

from pipelines.hashing import key64, key64_column, mix64
from pipelines.onchain.abi import EVENTS
from pipelines.onchain.contracts import PROTOCOL
from pipelines.onchain.ordering import Ints, runs, starts_of
from pipelines.onchain.positions import PAIR, follow
from pipelines.onchain.settings import OnchainSettings
from pipelines.onchain.tables import ONCHAIN_TABLES

DRAW_SALT = key64("wallets", "salt")
_NO_WALLETS = ("oracle", "collateral_token")
"""Indexed addresses that name a contract, not a holder."""


@dataclass(frozen=True)
class Filter:
    """One filter: what it keeps, of wallets or of their sequences, its threshold and who set it."""

    name: str
    unit: Literal["wallet", "sequence"]
    keeps: pl.Expr
    threshold: str
    origin: str


def filters(settings: OnchainSettings) -> tuple[Filter, ...]:
    """The filters in their order; expressions over the columns of `traded_features` and `sequences`.

    Wallet filters come first and look at all trades up to the last block, so that a sequence that is left
    out still counts as concentration. `rows` is the number of rows of a sequence, `lowest` its lowest
    trade-only position; shares are compared in integers, borders are inside.
    """

    limits = settings

    def wallet(name: str, keeps: pl.Expr, threshold: str, field: str) -> Filter:
        return Filter(name, "wallet", keeps, threshold, _origin(field))

    def sequence(name: str, keeps: pl.Expr, threshold: str, field: str) -> Filter:
        return Filter(name, "sequence", keeps, threshold, _origin(field))

    def share(part: str, percent: int) -> pl.Expr:
        return pl.col(part) * 100 <= pl.col("trades") * percent

    out = [
        wallet("no trade up to the last block", pl.col("trades") > 0, f"block ≤ {limits.last_block}", "last_block"),
        wallet(
            "too few markets",
            pl.col("markets") >= limits.min_markets,
            f"≥ {limits.min_markets} markets",
            "min_markets",
        ),
        wallet(
            "concentrated",
            share("busiest_market_trades", limits.max_concentration_percent),
            f"≤ {limits.max_concentration_percent} % of trades in one market",
            "max_concentration_percent",
        ),
        wallet(
            "bursty",
            share("busiest_window_trades", limits.max_burst_percent),
            f"≤ {limits.max_burst_percent} % of trades in {limits.burst_blocks} blocks",
            "max_burst_percent",
        ),
        wallet("too few trades", pl.col("trades") >= limits.min_trades, f"≥ {limits.min_trades} trades", "min_trades"),
        wallet("too many trades", pl.col("trades") <= limits.max_trades, f"≤ {limits.max_trades} trades", "max_trades"),
    ]
    if limits.over_max_rows == "exclude":
        longest = pl.col("rows") <= limits.max_rows
        out.append(sequence("sequence too long", longest, f"≤ {limits.max_rows} rows", "max_rows"))
    if limits.drop_negative:
        out.append(sequence("negative position", pl.col("lowest") >= 0, "≥ 0 after every trade", "drop_negative"))
    out += [
        sequence("sequence too short", pl.col("rows") >= limits.min_rows, f"≥ {limits.min_rows} rows", "min_rows"),
        wallet(
            "too few markets left",
            pl.col("kept_markets") >= limits.min_markets,
            f"≥ {limits.min_markets} markets",
            "min_markets",
        ),
    ]
    return tuple(out)


def appearances(logs: pl.LazyFrame, contracts: Collection[bytes] = PROTOCOL) -> pl.LazyFrame:
    """One row a wallet and log that names it in an indexed address (wallet, address, place and transaction).

    `logs` has the shape of table `logs`. Which topics are addresses is the event's signature; contracts of
    the protocol, and what an oracle or collateral argument names, are no wallets.
    """
    parts = []
    for n in (1, 2, 3):
        topics = sorted(
            event.topic0
            for event in EVENTS
            if len(event.indexed) >= n
            and event.indexed[n - 1].kind == "address"
            and event.indexed[n - 1].name not in _NO_WALLETS
        )
        parts.append(
            logs.filter(
                pl.col("topic0").is_in(pl.Series(topics, dtype=pl.Binary).implode()) & ~pl.col("removed")
            ).select(
                pl.col(f"topic{n}").bin.slice(12, 20).alias("wallet"),
                "address",
                "block_number",
                "tx_index",
                "tx_hash",
                "log_index",
            )
        )
    return (
        pl.concat(parts)
        .filter(
            pl.col("wallet").is_not_null()
            & ~pl.col("wallet").is_in(pl.Series(sorted(contracts), dtype=pl.Binary).implode())
        )
        .unique()
    )


def log_features(seen: pl.LazyFrame) -> pl.DataFrame:
    """Logs, distinct transactions, contracts and active blocks of every wallet of `appearances`."""

    def distinct(*columns: str) -> pl.LazyFrame:
        return seen.select("wallet", *columns).unique().group_by("wallet").agg(pl.len().cast(pl.Int64).alias("n"))

    counts = {
        "logs": distinct("block_number", "log_index"),
        "transactions": distinct("block_number", "tx_index", "tx_hash"),
        "contracts": distinct("address"),
        "active_blocks": distinct("block_number"),
    }
    out = seen.select("wallet").unique()
    for name, count in counts.items():
        out = out.join(count.rename({"n": name}), on="wallet", how="left")
    return out.sort("wallet").collect()


def up_to_last_block(trades: pl.DataFrame, settings: OnchainSettings) -> pl.DataFrame:
    """Trades up to `settings.last_block`, the border included."""
    return trades.filter(pl.col("block_number") <= settings.last_block)


def traded_features(followed: pl.DataFrame, settings: OnchainSettings) -> pl.DataFrame:
    """Trades, markets, trades in the busiest market and in the busiest window of blocks of every wallet.

    `followed` is `positions.follow` of trades up to the last block. A window is `burst_blocks` blocks
    wide and begins at any trade.
    """
    per_market = followed.group_by(PAIR).agg(pl.len().cast(pl.Int64).alias("rows"))
    counts = per_market.group_by("wallet").agg(
        pl.col("rows").sum().alias("trades"),
        pl.len().cast(pl.Int64).alias("markets"),
        pl.col("rows").max().alias("busiest_market_trades"),
    )
    starts = starts_of(runs(followed["wallet"]))
    bursts = _bursts(starts, followed["block_number"].to_numpy(), settings.burst_blocks)
    window = followed[starts[:-1]].select("wallet").with_columns(pl.Series("busiest_window_trades", bursts))
    return counts.join(window, on="wallet").sort("wallet")


def sequences(followed: pl.DataFrame, settings: OnchainSettings) -> pl.DataFrame:
    """One row a wallet–market: its `rows`, and its `lowest` trade-only position over outcomes and events.

    With `over_max_rows` = keep_first both look at the first `max_rows` rows only.
    """
    rows = followed
    if settings.over_max_rows == "keep_first":
        rows = followed.filter(pl.col("market_event") < settings.max_rows)
    return (
        rows.group_by(PAIR)
        .agg(pl.len().cast(pl.Int64).alias("rows"), pl.col("position_after").min().alias("lowest"))
        .sort(PAIR)
    )


def assess(
    features: pl.DataFrame, followed: pl.DataFrame, settings: OnchainSettings
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Apply the filters: wallets with their features and `reason`, the sequences left, the table `cohort_funnel`.

    `features` is `log_features`; wallets that only trade without being in it are added, with 0 logs.
    Every wallet has the first filter that stopped it as `reason`, empty when none did.
    """
    counts = ["trades", "markets", "busiest_market_trades", "busiest_window_trades"]
    wallets = (
        features.join(traded_features(followed, settings), on="wallet", how="full", coalesce=True)
        .with_columns(pl.all().exclude("wallet").fill_null(0), reason=pl.lit(""))
        .sort("wallet")
    )
    left = sequences(followed, settings)
    funnel = [_funnel_row("seen", "", "", wallets, left)]
    for each in filters(settings):
        alive = pl.col("reason") == ""
        if each.unit == "sequence":
            left = left.filter(each.keeps)
        else:
            kept = left.group_by("wallet").agg(pl.len().cast(pl.Int64).alias("kept_markets"))
            now = wallets.join(kept, on="wallet", how="left", maintain_order="left").with_columns(
                pl.col("kept_markets").fill_null(0)
            )
            wallets = now.with_columns(
                pl.when(alive & ~each.keeps).then(pl.lit(each.name)).otherwise("reason").alias("reason")
            ).drop("kept_markets")
            left = left.join(wallets.filter(alive), on="wallet", how="semi")
        funnel.append(_funnel_row(each.name, each.threshold, each.origin, wallets, left))
    kept = left.group_by("wallet").agg(pl.len().cast(pl.Int64).alias("kept_markets"))
    wallets = wallets.join(kept, on="wallet", how="left").with_columns(pl.col("kept_markets").fill_null(0))
    rows = [(step, *row) for step, row in enumerate(funnel)]
    numbered = pl.DataFrame(rows, orient="row", schema=ONCHAIN_TABLES["cohort_funnel"].schema)
    return (
        wallets.select(*features.columns, *counts, "kept_markets", "reason").sort("wallet"),
        left.sort(PAIR),
        numbered,
    )


def add_funnels(funnels: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Table `cohort_funnel` of all shards: counts added, step by step."""
    rows = pl.concat(list(funnels))
    by = ["step", "filter", "threshold", "origin"]
    return rows.group_by(by).agg(pl.col("wallets", "sequences", "trades").sum()).sort("step").select(rows.columns)


def draw(wallets: pl.DataFrame, settings: OnchainSettings) -> pl.DataFrame:
    """Table `wallets`: the wallets of all shards with their `cohort` and `rank` in it.

    Wallets that passed every filter are ordered by a keyed hash of (seed, wallet): the first
    `evaluation_wallets` are evaluated, the next `support_wallets` are support, others unused. Where there
    are fewer than both together, they are shared in the same proportion, evaluation rounded up.
    Raises `ValueError` when a wallet appears twice.
    """
    if wallets["wallet"].n_unique() != wallets.height:
        raise ValueError("a wallet appears in two shards; shards must be cut by wallet")
    passed = wallets.filter(pl.col("reason") == "")
    keys = key64_column(passed["wallet"].bin.encode("hex"), "user").to_numpy()
    order = np.lexsort((np.asarray(keys), mix64(DRAW_SALT, settings.seed, keys)))
    evaluation, support = shares(passed.height, settings)
    place = np.arange(passed.height)
    cohort = np.where(place < evaluation, "evaluation", np.where(place < evaluation + support, "support", "unused"))
    rank = np.where(place < evaluation, place, place - evaluation)
    drawn = passed[order].select(
        "wallet",
        pl.Series("cohort", cohort.astype(object), dtype=pl.String),
        pl.when(pl.Series(cohort.astype(object), dtype=pl.String) != "unused").then(pl.Series(rank)).alias("rank"),
    )
    rows = wallets.join(drawn, on="wallet", how="left").with_columns(pl.col("cohort").fill_null("filtered"))
    schema = ONCHAIN_TABLES["wallets"].schema
    return rows.select(pl.col(name).cast(dtype) for name, dtype in schema.items()).sort("wallet")


def shares(n: int, settings: OnchainSettings) -> tuple[int, int]:
    """How many of `n` wallets are evaluated and how many are support."""
    wanted = settings.evaluation_wallets + settings.support_wallets
    if n >= wanted:
        return settings.evaluation_wallets, settings.support_wallets
    evaluation = -(-n * settings.evaluation_wallets // wanted)
    return evaluation, n - evaluation


def cohort_trades(
    trades: pl.DataFrame, wallets: pl.DataFrame, left: pl.DataFrame, settings: OnchainSettings
) -> pl.DataFrame:
    """`positions.follow` of the trades in the sequences `left` of drawn wallets: the table `cohort_trades` and marks.

    Numbers count what passed; with keep_first the rows beyond `max_rows` are gone.
    """
    told = [name for name in ONCHAIN_TABLES["cohort_trades"].schema if name in trades.columns]
    drawn = wallets.filter(pl.col("cohort").cast(pl.String).is_in(["evaluation", "support"]))
    # One join over the rows: wallets meet their sequences first.
    members = left.select(PAIR).join(drawn.select("wallet", "cohort"), on="wallet")
    rows = up_to_last_block(trades, settings).select(told).join(members, on=PAIR)
    return follow(rows, settings.max_rows if settings.over_max_rows == "keep_first" else None)


def _origin(field: str) -> str:
    extra = OnchainSettings.model_fields[field].json_schema_extra
    return str(extra["origin"]) if isinstance(extra, dict) else ""


def _funnel_row(
    name: str, threshold: str, origin: str, wallets: pl.DataFrame, left: pl.DataFrame
) -> tuple[str, str, str, int, int, int]:
    alive = wallets.filter(pl.col("reason") == "").height
    return name, threshold, origin, alive, left.height, int(left["rows"].sum())


@nb.njit(cache=True)
def _bursts(starts: Ints, block: Ints, width: int) -> Ints:
    """Most rows of each run inside a window of `width` blocks; blocks rise within a run."""
    out = np.zeros(starts.shape[0] - 1, np.int64)
    for run in range(starts.shape[0] - 1):
        first = starts[run]
        for row in range(starts[run], starts[run + 1]):
            while block[row] - block[first] >= width:
                first += 1
            out[run] = max(out[run], row - first + 1)
    return out
