"""From trades to histories in shards of wallets: any number of shards gives the same tables, none included."""

from typing import Any

import polars as pl
import pytest
from chain_worlds import trades, world

from pipelines.onchain.beliefs import belief_instances, label_counts
from pipelines.onchain.board_tables import PREDICTION_TABLES
from pipelines.onchain.contenders import BASELINES
from pipelines.onchain.gamma import read_markets
from pipelines.onchain.histories import gather, histories, violations
from pipelines.onchain.ledger import ledger
from pipelines.onchain.markets import markets, token_map
from pipelines.onchain.positions import follow, follow_ledger, positions
from pipelines.onchain.profiles import profiles
from pipelines.onchain.redemptions import reconcile, share_reconciled
from pipelines.onchain.rederiving import support_trades
from pipelines.onchain.rules import answers, known
from pipelines.onchain.scores import units
from pipelines.onchain.settings import OnchainSettings
from pipelines.onchain.splits import split_counts
from pipelines.onchain.support import pool_of
from pipelines.onchain.tables import ONCHAIN_TABLES
from pipelines.onchain.trade_instances import trade_instances
from pipelines.onchain.wallets import appearances, assess, cohort_trades, draw, log_features

LIMITS = OnchainSettings(
    min_markets=2, max_concentration_percent=90, max_burst_percent=100, min_trades=3, drop_negative=False
)
EVALUATED = pl.col("cohort") == "evaluation"
NAMES = {
    "own": "cohort_trades",
    "holdings": "holdings",
    "belief": "belief_instances",
    "trade": "trade_instances",
    "histories": "histories",
    "predictions": "predictions",
}
"""The tables of a shard and the name of each in the registry."""
TABLES = {**ONCHAIN_TABLES, **PREDICTION_TABLES}
Tables = dict[str, pl.DataFrame]


def empty(name: str) -> pl.DataFrame:
    return ONCHAIN_TABLES[name].empty()


def pieces(rows: list[dict[str, Any]], n_shards: int) -> list[pl.DataFrame]:
    return [trades(*(row for row in rows if row["wallet"][-1] % n_shards == shard)) for shard in range(n_shards)]


def build(shards: list[pl.DataFrame]) -> Tables:
    features = log_features(appearances(empty("logs").lazy()))
    assessed = [assess(features, follow(shard), LIMITS) for shard in shards]
    wallets = draw(pl.concat([wallets for wallets, _, _ in assessed]), LIMITS)
    parts: list[Tables] = []
    for shard, (_, left, _) in zip(shards, assessed, strict=True):
        own = cohort_trades(shard, wallets, left, LIMITS)
        held = positions(own, follow_ledger(ledger({"trades": shard}), empty("resolutions"), LIMITS))
        cohort, plain = wallets.select("wallet", "cohort"), own.drop("cohort")
        parts.append(
            {
                "own": own,
                "holdings": held,
                "belief": belief_instances(plain, held, cohort, LIMITS),
                "trade": trade_instances(plain, cohort, LIMITS),
            }
        )
    # What a shard needs of the others: support trades for retrieval, and train rows for the baselines.
    support = support_trades(pl.concat([part["own"] for part in parts]), wallets)
    pool = pool_of(support)
    for part in parts:
        belief, trade = part["belief"].filter(EVALUATED), part["trade"].filter(EVALUATED)
        part["histories"] = histories(part["own"], trade, belief, pool, LIMITS)
        assert part["histories"].equals(histories(part["own"], trade, belief, support, LIMITS))
        assert violations(part["histories"], part["own"], support).is_empty()
    train = known(*(pl.concat([part[name] for part in parts]) for name in ("histories", "own"))).train()
    for part in parts:
        mine = known(part["histories"], part["own"])
        part["predictions"] = pl.concat(answers(method, mine, part["own"], train) for method in BASELINES)
    out = {"wallets": wallets}
    for name, table in NAMES.items():
        out[name] = pl.concat([part[name] for part in parts]).sort(TABLES[table].sort_by)
    return out


@pytest.mark.parametrize("n_shards", [2, 5, 40])
def test_any_number_of_shards_gives_the_same_tables(n_shards: int) -> None:
    rows = world(8, 400, wallets=14, markets=6, blocks=60)
    whole = build([trades(*rows)])
    drawn = whole["wallets"]["cohort"].cast(pl.String)
    assert [int((drawn == name).sum()) for name in ("evaluation", "support")] == [7, 7]
    parts = build(pieces(rows, n_shards))
    for name, table in whole.items():
        assert table.height > 0
        assert parts[name].equals(table), name
    targets = whole["trade"].filter(EVALUATED)
    given = whole["predictions"].filter(pl.col("method") == "wallet_median")
    scored = units(targets, given, "trade", method="wallet_median", reader="rule")
    assert set(scored["split"].cast(pl.String)) == {"train", "validation", "test"}
    assert (scored.height, set(scored["status"])) == (targets.height, {"ok"})
    assert split_counts(whole["belief"])["empty"].sum() >= 0


def test_a_market_that_no_support_wallet_knows_shows_nobody() -> None:
    made = build([trades(*world(8, 400, wallets=14, markets=6, blocks=60))])
    own, of = made["own"], [made[layer].filter(EVALUATED) for layer in ("trade", "belief")]
    shown = made["histories"].filter(pl.col("support").list.len() > 0)
    support = support_trades(own, made["wallets"])
    left_out = shown["condition_id"].mode()[0]
    less = histories(own, *of, pool_of(support.filter(pl.col("condition_id") != left_out)), LIMITS)
    there = pl.col("condition_id") == left_out
    assert shown.filter(there).height > 10 and less.filter(there)["support"].list.len().sum() == 0
    # Whoever traded in a market before is shown there all the same, if not in the same order.
    columns = ["layer", "wallet", "event", pl.col("support").list.len()]
    assert less.filter(~there).select(columns).equals(made["histories"].filter(~there).select(columns))
    nobody = histories(own, *of, pool_of(support.clear()), LIMITS)
    assert nobody.height == made["histories"].height and nobody["support"].list.len().sum() == 0


def test_a_shard_without_a_wallet_gives_empty_tables() -> None:
    made = build([trades()])
    schemas = {"histories": "histories", "belief": "belief_instances", "trade": "trade_instances", "wallets": "wallets"}
    for name, table in schemas.items():
        assert made[name].schema == ONCHAIN_TABLES[table].schema
        assert made[name].is_empty()
    assert made["holdings"].schema == ONCHAIN_TABLES["holdings"].schema
    for interface in ("direct", "retrieval", "profile", "none"):
        assert gather(
            made["histories"], made["own"], support_trades(made["own"], made["wallets"]), interface
        ).is_empty()
    described = markets(read_markets("[]")[0])
    assert token_map(described).is_empty()
    assert profiles(made["own"], made["histories"], described, "trade").is_empty()
    assert units(made["belief"], made["predictions"], "belief", method="last_side", reader="rule").is_empty()
    assert set(label_counts(made["belief"]).values()) == {0}
    moved = follow_ledger(ledger({}), empty("resolutions"), LIMITS)
    assert share_reconciled(reconcile(moved, empty("position_changes"), empty("resolutions"))) == (0, 0, 0)
