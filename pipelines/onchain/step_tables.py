"""The tables between a drop of the chain and a release: decoded drops, candidates, the support pool.

With those of `tables` that are published (`PUBLISHED`) they are all tables of the
track in the store. Labels, and what only labels are made from, are gold.
"""

from dataclasses import replace

import polars as pl

from pipelines.onchain.gamma import GAMMA
from pipelines.onchain.tables import ONCHAIN_TABLES
from pipelines.tables import Column, Table

_ANY_DROP = "a drop need not hold such logs"
_ANY_SHARD = "a shard may hold no wallet"
_BUCKET = Column(pl.UInt8, "bucket of the wallet: keyed hash of its hex text, modulo 256")
_ALL = {name: table.columns for name, table in ONCHAIN_TABLES.items()}
_FINAL = ("cohort", "rank")
_GAMMA_MEANINGS = {
    "condition_id": "condition id, 32 bytes",
    "question": "the question",
    "outcomes": "names of the outcomes, by index",
    "outcome_prices": "prices of the outcomes, as text; tell the future",
    "source_token_ids": "token ids as the source gives them, 32 bytes each",
    "category": "category",
    "start": "start date",
    "end": "planned end date",
    "neg_risk": "whether the collateral is wrapped",
    "closed": "whether the market is closed; tells the future",
    "resolution_status": "status of the resolution; tells the future",
    "updated": "when the description was last changed",
}


def _of(table: str, *names: str) -> dict[str, Column]:
    return {name: _ALL[table][name] for name in names}


STEP_TABLES: dict[str, Table] = {
    "decoded_trades": Table(
        "The OrderFilled logs of one drop, as `trades` without what needs other drops: market and outcome.",
        {
            "bucket": _BUCKET,
            **{name: column for name, column in _ALL["trades"].items() if name not in ("condition_id", "outcome")},
        },
        key=("block_number", "log_index"),
        may_be_empty=_ANY_DROP,
    ),
    "decoded_changes": Table(
        "What moved outcome tokens without a trade in one drop, as `position_changes`.",
        {
            "bucket": _BUCKET,
            "other_bucket": Column(pl.UInt8, "bucket of the receiver of a transfer", nullable=True),
            **_ALL["position_changes"],
        },
        key=ONCHAIN_TABLES["position_changes"].key,
        may_be_empty=_ANY_DROP,
    ),
    "appearances": Table(
        "One row a wallet and log of one drop that names it in an indexed address.",
        {
            "bucket": _BUCKET,
            "wallet": _ALL["trades"]["wallet"],
            "address": Column(pl.Binary, "contract that emitted the log, 20 bytes"),
            **_of("trades", "block_number", "tx_index", "log_index", "tx_hash", "block_hash"),
        },
        key=("wallet", "block_number", "log_index"),
        may_be_empty=_ANY_DROP,
    ),
    "removals": Table(
        "Logs that the node took back after a reorganisation, by place: other drops may hold them still.",
        _of("trades", "block_number", "log_index", "block_hash"),
        key=("block_number", "log_index", "block_hash"),
        may_be_empty="a chain read up to finality takes nothing back",
    ),
    "market_readings": Table(
        "Descriptions of markets as one drop gives them; prices and states in it tell the future and go no further.",
        {
            "file": Column(pl.String, "file name inside the drop"),
            "row": Column(pl.Int64, "place among the markets of the file, from 1"),
            **{
                name: Column(
                    dtype,
                    _GAMMA_MEANINGS[name],
                    "µs UTC" if isinstance(dtype, pl.Datetime) else "",
                    nullable=name not in ("condition_id", "outcomes"),
                )
                for name, dtype in GAMMA.items()
            },
        },
        key=("file", "row"),
        may_be_empty="a drop may bring logs only",
    ),
    "retractions": Table(
        "Places of the chain whose logs count in no release of these drops, and why.",
        {
            **_of("trades", "block_number", "log_index", "block_hash"),
            "reason": Column(pl.String, "taken back by the node, or drops that contradict each other"),
        },
        key=("block_number", "log_index", "block_hash"),
        may_be_empty="drops of a finished chain agree",
    ),
    "candidates": Table(
        "One row a wallet seen up to the last block: its features, and the first filter that stopped it.",
        {name: column for name, column in _ALL["wallets"].items() if name not in _FINAL},
        key=("wallet",),
        may_be_empty=_ANY_SHARD,
    ),
    "sequences": Table(
        "Wallet–markets that passed every filter.",
        {
            **_of("cohort_trades", "wallet", "condition_id"),
            "rows": Column(pl.Int64, "trades of the wallet in the market", "trades"),
            "lowest": Column(pl.Int64, "lowest trade-only position over outcomes and events", "10⁻⁶ share"),
        },
        key=("wallet", "condition_id"),
        may_be_empty=_ANY_SHARD,
    ),
    "filter_counts": Table(
        "What each filter left of the candidates of one shard; `cohort_funnel` adds them up.",
        _ALL["cohort_funnel"],
        key=("step",),
    ),
    "redemptions": Table(
        "One row a payout to a wallet, beside what its full position explains (the check that needs no oracle).",
        {
            **_of("cohort_trades", "wallet", "condition_id", "block_number", "log_index"),
            "expected": Column(
                pl.Int64, "payout that the position before it explains; null without resolution", "10⁻⁶ dollar",
                nullable=True,
            ),
            "payout": Column(pl.Int64, "payout of the log", "10⁻⁶ dollar"),
            "reconciles": Column(pl.Boolean, "both are equal; null without resolution", nullable=True),
        },
        key=("wallet", "condition_id", "block_number", "log_index"),
        wall="gold",
        may_be_empty="a chain may end before anybody redeems",
    ),
    "support_trades": replace(
        ONCHAIN_TABLES["cohort_trades"],
        meaning="Trades of the support wallets of all shards, which retrieval may show to anybody.",
        columns={"rank": Column(pl.Int32, "place of the wallet in the draw, from 0"), **_ALL["cohort_trades"]},
    ),
    "train_beliefs": replace(
        ONCHAIN_TABLES["belief_instances"],
        meaning="Belief instances of all shards in train: what baselines learn from.",
    ),
    "train_trades": replace(
        ONCHAIN_TABLES["trade_instances"], meaning="Trade instances of all shards in train: what baselines learn from."
    ),
}  # fmt: skip
"""Tables of single steps."""
PUBLISHED: dict[str, Table] = {
    **{name: table for name, table in ONCHAIN_TABLES.items() if name not in ("logs", "predictions")},
    **STEP_TABLES,
}
"""Every table of the track that the store holds; raw logs stay in the files of their drop."""
EXPORTS = {
    **{name: name for name in ("trades", "position_changes", "markets", "wallets", "cohort_trades", "histories")},
    **{name: name for name in ("belief_instances", "trade_instances", "holdings", "redemptions", "support_trades")},
    "rejects": "onchain_rejects",
    "funnel": "cohort_funnel",
}
"""Name outside → table."""
HASHED = (
    *("trades", "position_changes", "markets", "wallets", "cohort_trades", "belief_instances", "trade_instances"),
    "histories",
)
"""Tables whose logical hashes name a release; the instances are gold."""
