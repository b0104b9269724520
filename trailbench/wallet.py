"""`trailbench wallet`: one wallet of an on-chain release: its trajectory, positions and instances."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl

from pipelines.hashing import bucket_of
from pipelines.onchain import ids
from pipelines.onchain.positions import follow
from pipelines.onchain.readable import in_shares, market_names, with_names, with_sides
from pipelines.onchain.wallet_plot import html, png, spec
from resources.home import Home, buckets_of
from resources.store import NotPublished
from trailbench.exporting import ExportError, release_key
from trailbench.running import dagster_instance


@dataclass(frozen=True)
class WalletView:
    """What a release holds of a wallet: the release's name with its row of `wallets`, and its rows of other tables, in
    readable columns.
    """

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
    name, bucket = home.store.document(f"specs/frozen/{key}.json")["release"], bucket_of(wallet.hex())
    shard = next(shard for shard in home.shards if bucket in buckets_of(shard, home.shards))

    def rows(table: str, gold: bool = False) -> pl.DataFrame:
        catalog, axes = (home.gold if gold else home.store), {"release": key, "shard": shard}
        try:
            return catalog.scan(table, axes).filter(pl.col("wallet") == wallet).collect()
        except NotPublished as error:
            raise ExportError(f"release {name} is no on-chain release: {error}") from error

    known = home.store.scan("wallets", {"release": key}).filter(pl.col("wallet") == wallet).collect()
    if known.is_empty():
        raise ExportError(f"wallet 0x{wallet.hex()} appears in no log of release {name}")
    names = market_names(home.store.scan("markets", {"release": key}).collect())
    facts = known.with_columns(ids.hex_text(pl.col("wallet")).alias("wallet")).row(0, named=True)
    facts = {"release": name, **facts}
    own = rows("cohort_trades")
    trajectory = with_names(own if own.height else follow(rows("trades")), names).sort("block_number", "log_index")
    return WalletView(
        facts,
        trajectory.select(
            *("event", "block_number", "log_index", "time", "market", "outcome_name", "direction"),
            in_shares("amount", "shares"),
            "price",
            "position_after",
        ),
        with_names(rows("holdings", gold=True), names).select(
            "market", "outcome_name", in_shares("trade_only", "trade_only"), in_shares("full", "full")
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


def _beliefs(rows: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    named = with_sides(rows, names).sort("cut_block", "cut_log_index")
    columns = ("market", "split", "n_trades", pl.col("side_name").alias("side"), "confidence", "flips")
    return named.select(*columns)
