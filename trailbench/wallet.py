"""`trailbench wallet`: one wallet of an on-chain release: its trajectory, positions and instances."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl

from pipelines.hashing import bucket_of
from pipelines.onchain import ids
from pipelines.onchain.positions import follow
from pipelines.onchain.wallet_plot import SHARE, html, png, spec
from resources.home import Home, buckets_of
from resources.store import NotPublished
from trailbench.exporting import ExportError, release_key
from trailbench.running import dagster_instance


@dataclass(frozen=True)
class WalletView:
    """What a release holds of a wallet: its row of `wallets`, and its rows of other tables in readable columns."""

    facts: dict[str, Any]
    trajectory: pl.DataFrame
    positions: pl.DataFrame
    beliefs: pl.DataFrame
    trades: pl.DataFrame


def newest_chain_release(home: Home) -> str:
    """Key of the on-chain release that was frozen last. Raises `ExportError` when there is none."""
    with dagster_instance(home.folder) as instance:
        event = instance.get_latest_materialization_event(dg.AssetKey("onchain_release"))
    key = event.asset_materialization.partition if event and event.asset_materialization else None
    if key is None:
        raise ExportError(f"no on-chain release in {home.folder} yet; run `trailbench build --track onchain`")
    return key


def address_of(text: str) -> bytes:
    """The 20 bytes of a wallet's address, written in hex. Raises `ExportError`."""
    digits = text.strip().lower().removeprefix("0x")
    if len(digits) != 40 or not all(digit in "0123456789abcdef" for digit in digits):
        raise ExportError(f"{text!r} is no address: 0x and 40 hex digits")
    return bytes.fromhex(digits)


def view_wallet(home: Home, release: str, address: str) -> WalletView:
    """Everything a release holds of a wallet. Raises `ExportError` when the wallet is not in it."""
    key, wallet = release_key(home, release), address_of(address)
    bucket = bucket_of(wallet.hex())
    shard = next(shard for shard in home.shards if bucket in buckets_of(shard, home.shards))

    def rows(table: str, gold: bool = False) -> pl.DataFrame:
        catalog, axes = (home.gold if gold else home.store), {"release": key, "shard": shard}
        try:
            return catalog.scan(table, axes).filter(pl.col("wallet") == wallet).collect()
        except NotPublished as error:
            raise ExportError(f"release {release} is no on-chain release: {error}") from error

    known = home.store.scan("wallets", {"release": key}).filter(pl.col("wallet") == wallet).collect()
    if known.is_empty():
        raise ExportError(f"wallet 0x{wallet.hex()} appears in no log of release {release}")
    names = _names(home.store.scan("markets", {"release": key}).collect())
    facts = known.with_columns(ids.hex_text(pl.col("wallet")).alias("wallet")).row(0, named=True)
    own = rows("cohort_trades")
    trajectory = _named(own if own.height else follow(rows("trades")), names).sort("block_number", "log_index")
    return WalletView(
        facts,
        trajectory.select(
            *("event", "block_number", "log_index", "time", "market", "outcome_name", "direction"),
            _shares("amount", "shares"),
            "price",
            "position_after",
        ),
        _named(rows("holdings", gold=True), names).select(
            "market", "outcome_name", _shares("trade_only", "trade_only"), _shares("full", "full")
        ),
        _beliefs(rows("belief_instances", gold=True), names),
        rows("trade_instances", gold=True).select("event", "split", "direction", "amount", "action"),
    )


def plot_wallet(view: WalletView, to: Path) -> None:
    """Write the trajectory as a chart. Raises `ExportError` for an ending but .png and .html, or without trades."""
    if to.suffix not in (".png", ".html"):
        raise ExportError(f"{to}: the plot must end in .png or .html")
    if view.trajectory.is_empty():
        raise ExportError(f"wallet {view.facts['wallet']} has no trade of a known market to plot")
    chart = spec(view.trajectory, f"{view.facts['wallet']} · {view.facts['cohort']}")
    part = to.with_name(f".{to.name}.partial")
    to.parent.mkdir(parents=True, exist_ok=True)
    part.write_bytes(png(chart) if to.suffix == ".png" else html(chart).encode())
    part.replace(to)


def _names(markets: pl.DataFrame) -> pl.DataFrame:
    """Readable names by condition and outcome; numbers where no source describes a market."""
    listed = markets.select(
        "condition_id",
        pl.coalesce("question", ids.hex_text(pl.col("condition_id")).str.head(12)).alias("market"),
        "outcomes",
        pl.int_ranges(pl.col("token_ids").list.len(), dtype=pl.Int16).alias("outcome"),
    ).explode("outcome", empty_as_null=False)
    described = pl.col("outcomes").list.get(pl.col("outcome").cast(pl.Int64), null_on_oob=True)
    return listed.with_columns(pl.coalesce(described, pl.format("outcome {}", "outcome")).alias("outcome_name")).drop(
        "outcomes"
    )


def _named(rows: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    joined = rows.join(names, on=["condition_id", "outcome"], how="left", maintain_order="left")
    return joined.with_columns(
        pl.coalesce("market", ids.hex_text(pl.col("condition_id")).str.head(12)).alias("market"),
        pl.coalesce("outcome_name", pl.format("outcome {}", "outcome")).alias("outcome_name"),
    )


def _beliefs(rows: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    sides = rows.with_columns(pl.col("side").alias("outcome"))
    named = sides.join(names, on=["condition_id", "outcome"], how="left", maintain_order="left")
    markets = names.select("condition_id", pl.col("market").alias("of")).unique("condition_id", maintain_order=True)
    return (
        named.join(markets, on="condition_id", how="left", maintain_order="left")
        .sort("cut_block", "cut_log_index")
        .select(
            pl.col("of").alias("market"),
            "split",
            "n_trades",
            pl.when(pl.col("side") < 0).then(pl.lit("flat")).otherwise("outcome_name").alias("side"),
            "confidence",
            "flips",
        )
    )


def _shares(column: str, name: str) -> pl.Expr:
    return (pl.col(column) / SHARE).alias(name)
