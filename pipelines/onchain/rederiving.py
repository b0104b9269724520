"""Derive the tables of a release again, from shuffled rows and in other shards, and compare (ours)."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from pipelines.hashing import bucket_column, mix64
from pipelines.onchain.beliefs import belief_instances
from pipelines.onchain.candidates import candidates
from pipelines.onchain.histories import histories
from pipelines.onchain.ledger import INPUTS, ledger
from pipelines.onchain.positions import follow, follow_ledger, positions
from pipelines.onchain.redemptions import reconcile
from pipelines.onchain.release_rules import VIOLATIONS
from pipelines.onchain.settings import OnchainSettings
from pipelines.onchain.step_tables import PUBLISHED
from pipelines.onchain.trade_instances import trade_instances
from pipelines.onchain.wallets import add_funnels, cohort_trades, draw

Tables = Mapping[str, pl.DataFrame]
CHAIN = ("trades", "position_changes", "appearances", "tokens", "preparations", "resolutions", "questions", "fees",
         "fpmm_pools")  # fmt: skip
"""What a release is derived from: the logs of its drops as one chain up to the last block; trades know their market."""
DERIVED = ("wallets", "cohort_funnel", "cohort_trades", "holdings", "redemptions", "belief_instances",
           "trade_instances", "support_trades", "histories")  # fmt: skip
"""What is derived."""


def derive(chain: Tables, settings: OnchainSettings, shards: int) -> dict[str, pl.DataFrame]:
    """All tables `DERIVED`, from shuffled rows in `shards` shards; `chain` holds the tables `CHAIN`."""
    mixed = {name: _shuffled(rows) for name, rows in chain.items()}
    trades, seen = _cut(mixed["trades"], shards), _cut(mixed["appearances"], shards)
    judged = [candidates(one, other, mixed["fpmm_pools"], settings) for one, other in zip(trades, seen, strict=True)]
    wallets = draw(pl.concat([part[0] for part in judged]), settings)
    parts = []
    for number, (rows, (_, left, _)) in enumerate(zip(trades, judged, strict=True)):
        moved = followed_ledger({**mixed, "trades": rows}, settings)
        mine = (bucket_column(moved["wallet"]) % shards).to_numpy() == number
        own = cohort_trades(rows, wallets, left, settings)
        parts.append(_labelled(own, moved.filter(pl.Series(mine)), wallets, mixed, settings))
    support = support_trades(pl.concat([part["cohort_trades"] for part in parts]), wallets)
    for part in parts:
        args = (part["trade_instances"].filter(_EVALUATED), part["belief_instances"].filter(_EVALUATED))
        part["histories"] = histories(part["cohort_trades"], *args, support, settings)
    made = {name: pl.concat([part[name] for part in parts]) for name in parts[0]}
    return {
        **made,
        "wallets": wallets,
        "cohort_funnel": add_funnels(part[2] for part in judged),
        "support_trades": support,
    }


def rederive(chain: Tables, frozen: Tables, settings: OnchainSettings, shards: int = 3) -> pl.DataFrame:
    """Rows of `VIOLATIONS`, one a table of `DERIVED` whose rows differ from those frozen; empty when all are equal."""
    return differing(derive(chain, settings, shards), frozen)


def rederive_labels(chain: Tables, frozen: Tables, settings: OnchainSettings) -> pl.DataFrame:
    """As `rederive`, for some drawn wallets: both hold their rows, `frozen` also `wallets`, `support_trades` whole.

    What they are asked comes out of their own logs and the draw; the draw itself needs all wallets.
    """
    mixed = {name: _shuffled(rows) for name, rows in chain.items()}
    nobody = PUBLISHED["appearances"].empty()
    _, left, _ = candidates(mixed["trades"], nobody, mixed["fpmm_pools"], settings)
    own = cohort_trades(mixed["trades"], frozen["wallets"], left, settings)
    traded = mixed["trades"]["wallet"].unique().implode()
    moved = followed_ledger(mixed, settings).filter(pl.col("wallet").is_in(traded))
    made = _labelled(own, moved, frozen["wallets"], mixed, settings)
    args = (made["trade_instances"].filter(_EVALUATED), made["belief_instances"].filter(_EVALUATED))
    made["histories"] = histories(made["cohort_trades"], *args, frozen["support_trades"], settings)
    return differing(made, frozen)


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


_EVALUATED = pl.col("cohort").cast(pl.String) == "evaluation"


def followed_ledger(chain: Tables, settings: OnchainSettings) -> pl.DataFrame:
    """`positions.follow_ledger` of the tables of a chain, up to the last block."""
    return follow_ledger(ledger({name: chain[name] for name in INPUTS}), chain["resolutions"], settings)


def support_trades(cohort: pl.DataFrame, wallets: pl.DataFrame) -> pl.DataFrame:
    """Table `support_trades` of the `cohort_trades` of all shards and the draw."""
    rows = cohort.filter(pl.col("cohort").cast(pl.String) == "support")
    ranked = rows.join(wallets.select("wallet", "rank"), on="wallet")
    table = PUBLISHED["support_trades"]
    return ranked.select(pl.col(name).cast(dtype) for name, dtype in table.schema.items()).sort(table.sort_by)


def _labelled(
    own: pl.DataFrame, moved: pl.DataFrame, wallets: pl.DataFrame, chain: Tables, settings: OnchainSettings
) -> dict[str, pl.DataFrame]:
    cohort, plain = wallets.select("wallet", "cohort"), own.drop("cohort")
    held = positions(follow(own), moved)
    return {
        "cohort_trades": own.select(PUBLISHED["cohort_trades"].schema.names()),
        "holdings": held,
        "redemptions": reconcile(moved, chain["position_changes"], chain["resolutions"]),
        "belief_instances": belief_instances(plain, held, cohort, settings),
        "trade_instances": trade_instances(plain, cohort, settings),
    }


def _shuffled(rows: pl.DataFrame) -> pl.DataFrame:
    return rows[np.argsort(mix64(1, np.arange(rows.height, dtype=np.uint64)), kind="stable")]


def _cut(rows: pl.DataFrame, shards: int) -> list[pl.DataFrame]:
    of = bucket_column(rows["wallet"]) % shards
    return [rows.filter(of == shard) for shard in range(shards)]
