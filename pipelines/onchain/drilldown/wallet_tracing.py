"""From the tables of an experiment on an on-chain release to the trail of a wallet (ours)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import polars as pl

from pipelines.evaluation.drilldown.trail import Call
from pipelines.evaluation.drilldown.units import UnitName
from pipelines.models import Message, prompt_hash
from pipelines.onchain import ids
from pipelines.onchain.drilldown.wallet_trail import Position, Prediction, Shown, Target, Trade, WalletTrail
from pipelines.onchain.readable import FLAT, in_shares, market_names, with_names, with_sides
from pipelines.onchain.wallet_plot import SHARE

Prompts = Mapping[tuple[str, str, str, bytes, int], tuple[Message, ...]]
"""(method, reader, layer, wallet, event) → the messages that are sent."""
_CALL = ("step", "unit", "model", "key", "status", "cached", "prompt_tokens", "reply_tokens", "latency_ms", "retries")
_ARM = ["method", "reader"]


@dataclass(frozen=True)
class WalletTables:
    """Tables of some wallets of an experiment, as their names say; `histories` are the targets asked."""

    wallets: pl.DataFrame
    cohort_trades: pl.DataFrame
    histories: pl.DataFrame
    holdings: pl.DataFrame
    belief_instances: pl.DataFrame
    trade_instances: pl.DataFrame
    prediction_units: pl.DataFrame
    predictions: pl.DataFrame
    markets: pl.DataFrame
    model_calls: pl.DataFrame
    replies: Mapping[str, str]
    prompts: Prompts
    all_markets: bool
    """Whether the release's interface `direct` looks beyond the target's market."""

    def of(self, wallet: bytes) -> "WalletTables":
        """The tables of one wallet."""
        own: dict[str, Any] = {
            one.name: frame.filter(pl.col("wallet") == wallet)
            for one in fields(self)
            if isinstance(frame := getattr(self, one.name), pl.DataFrame) and "wallet" in frame.columns
        }
        return replace(self, **own)


def target_names(units: pl.DataFrame) -> list[UnitName]:
    """Every target in table `prediction_units`, sorted."""
    rows = units.select(ids.hex_text(pl.col("wallet")), "event", pl.col("layer").cast(pl.String)).unique()
    return [UnitName(*row) for row in rows.sort(pl.all()).iter_rows()]


def right_by_wallet(units: pl.DataFrame) -> pl.DataFrame:
    """`scores` of `choosing.chosen` from table `prediction_units`: targets, and the share of right answers to them."""
    return units.group_by(ids.hex_text(pl.col("wallet")).alias("user")).agg(
        pl.struct("event", "layer").n_unique().cast(pl.Int64).alias("n_units"),
        pl.col("correct").fill_null(False).mean().alias("value"),
    )


def wallet_trail(wallet: bytes, tables: WalletTables) -> WalletTrail:
    """What is known of a wallet."""
    own = tables.of(wallet)
    names = market_names(own.markets)
    trajectory = with_names(own.cohort_trades, names).sort("event")
    row = own.wallets.row(0, named=True) if own.wallets.height else {}
    facts = {name: value for name, value in row.items() if name not in ("wallet", "reason", "rank")}
    return WalletTrail(
        f"0x{wallet.hex()}",
        tuple(facts.items()),
        tuple(map(_trade, trajectory.iter_rows(named=True))),
        tuple(_positions(with_names(own.holdings, names))),
        tuple(_targets(own, names)),
        trajectory.select("market", "outcome_name", "block_number", "log_index", "position_after"),
    )


def _trade(row: Mapping[str, Any]) -> Trade:
    return Trade(
        event=row["event"],
        block=row["block_number"],
        time=row["time"],
        market=row["market"],
        outcome=row["outcome_name"],
        direction=row["direction"],
        shares=row["amount"] / SHARE,
        price=row["price"],
        position_after=row["position_after"] / SHARE,
    )


def _positions(rows: pl.DataFrame) -> Iterator[Position]:
    shown = rows.sort("market", "outcome").select(
        "market", "outcome_name", in_shares("trade_only", "trade_only"), in_shares("full", "full")
    )
    return (Position(*row) for row in shown.iter_rows())


def _targets(own: WalletTables, names: pl.DataFrame) -> Iterator[Target]:
    beliefs = {row["cut_event"]: row for row in with_sides(own.belief_instances, names).to_dicts()}
    trades = {row["event"]: row for row in with_names(own.trade_instances, names).to_dicts()}
    answers = own.prediction_units.join(
        own.predictions.drop("status"),
        on=[*_ARM, "layer", "wallet", "event"],
        how="left",
    ).sort(_ARM)
    by_target = answers.partition_by("layer", "event", as_dict=True)
    outcome_names = {(row["condition_id"], row["outcome"]): row["outcome_name"] for row in names.to_dicts()}
    for row in own.histories.sort("event", "layer").iter_rows(named=True):
        belief = row["layer"] == "belief"
        label = (beliefs if belief else trades)[row["event"]]
        asked = by_target.get((row["layer"], row["event"]))
        rows = [] if asked is None else asked.to_dicts()
        yield Target(
            str(UnitName(f"0x{row['wallet'].hex()}", row["event"], row["layer"])),
            row["layer"],
            row["event"],
            label["market"],
            row["split"],
            row["cut_block"],
            row["cut_log_index"],
            _belief(label["side_name"], label["confidence"]) if belief else _next(label["direction"], label["amount"]),
            "" if belief else label["action"],
            tuple(_shown(row, own.cohort_trades, own.all_markets)),
            tuple(_prediction(one, row["condition_id"], outcome_names, own) for one in rows),
        )


def _belief(side: str, confidence: float) -> str:
    return f"{side}, confidence {confidence:.3f}"


def _next(direction: str, amount: int) -> str:
    return f"{direction} {amount / SHARE:,.6g} shares"


def _shown(row: Mapping[str, Any], trades: pl.DataFrame, all_markets: bool) -> Iterator[Shown]:
    yield Shown("none", (), 0)
    if all_markets:
        first, n, own = row["all_first"], row["all_n"], trades["event"].sort()
    else:
        market = trades.filter(pl.col("condition_id") == row["condition_id"]).sort("market_event")
        first, n, own = row["direct_first"], row["direct_n"], market["event"]
    yield Shown("direct", tuple(own.slice(first, n)), 0)
    yield Shown("profile", tuple(range(row["profile_n"] or 0)), 0)
    yield Shown("retrieval", (), sum(row["support_n"] or []))


def _prediction(
    row: Mapping[str, Any], condition: bytes, outcomes: Mapping[tuple[bytes, int], str], own: WalletTables
) -> Prediction:
    belief = row["layer"] == "belief"
    if belief and row["side"] is not None:
        side = FLAT if row["side"] < 0 else outcomes.get((condition, row["side"]), f"outcome {row['side']}")
        answer = _belief(side, row["confidence"] or 0.0)
    elif not belief and row["direction"] is not None:
        answer = _next(row["direction"], row["amount"] or 0)
    else:
        answer = ""
    scale = 1 if belief else SHARE
    return Prediction(
        method=row["method"],
        reader=row["reader"],
        status=row["status"],
        answer=answer,
        basis=row["basis"] or "",
        correct=row["correct"],
        error=None if row["error"] is None else row["error"] / scale,
        counted=row["error_all"] / scale,
        call=_call(row, own),
    )


def _call(row: Mapping[str, Any], own: WalletTables) -> Call | None:
    """The call behind an answer; its prompt only where it is the one that was sent, by its hash."""
    if row["call"] is None:
        return None
    found = own.model_calls.filter((pl.col("key") == row["call"]) & (pl.col("method") == row["method"]))
    if found.is_empty():
        return None
    account = found.row(0, named=True)
    messages = own.prompts.get((row["method"], row["reader"], row["layer"], row["wallet"], row["event"]), ())
    same = prompt_hash(messages) == account["prompt"]
    return Call(
        **{name: account[name] for name in _CALL},
        error=account["error"],
        messages=tuple((one.speaker, one.text) for one in messages) if same else (),
        reply=own.replies.get(account["key"]),
    )
