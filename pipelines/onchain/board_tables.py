"""Every table of the on-chain evaluation once: column, type, unit, meaning."""

import polars as pl

from pipelines.evaluation.tables import ROW_KIND
from pipelines.onchain.tables import ACTION, DIRECTION, LAYER, SPLIT
from pipelines.tables import Column, Table

PREDICTION_STATUSES = ("ok", "invalid", "empty", "truncated", "refused", "failed")
STATUSES = (*PREDICTION_STATUSES, "missing")
METRICS = ("accuracy", "mae", "medae")
METRIC = pl.Enum(METRICS)
READINGS = ("all", "valid")
READING = pl.Enum(READINGS)
GROUP_KINDS = ("all", "activity", "action")
GROUP_KIND = pl.Enum(GROUP_KINDS)

_STATUS = (
    "ok | invalid (not in the form asked for) | empty (no text) | truncated (stopped at the token limit) | "
    "refused (by the endpoint) | failed (no reply)"
)
_LAYER = Column(LAYER, "belief | trade")
_METHOD = Column(pl.String, "baseline, or the history interface that the reader was shown")
_READER = Column(pl.String, "who answered: rule (a baseline) or a reader of the experiment")
_BOARD = Column(pl.String, "reader whose methods the board compares; rule where only baselines are compared")
_SPLIT = Column(SPLIT, "train | validation | test")
_WALLET = Column(pl.Binary, "wallet, 20 bytes")
_EVENT = Column(pl.Int32, "number of the trade at the target's cut among the wallet's, from 0")
_METRIC = Column(
    METRIC,
    "accuracy (final side, or direction) | mae (mean absolute error of confidence, or of the amount) | medae (median)",
)
_READING = Column(
    READING,
    "all: without a usable answer a target is wrong, its confidence error is 1 and its amount counts as 0 | "
    "valid: usable answers only",
)
_VALUED = "share; errors of amounts in 10⁻⁶ share"


def _number(meaning: str) -> Column:
    return Column(pl.Float64, meaning, _VALUED, nullable=True)


PREDICTION_TABLES: dict[str, Table] = {
    "predictions": Table(
        "What a predictor answered to a target (design step 11).",
        {
            "method": _METHOD,
            "reader": _READER,
            "layer": _LAYER,
            "wallet": _WALLET,
            "event": _EVENT,
            "status": Column(pl.String, _STATUS),
            "side": Column(pl.Int16, "belief: outcome index; −1 = flat", nullable=True),
            "confidence": Column(pl.Float64, "belief: confidence, 0 … 1", nullable=True),
            "direction": Column(DIRECTION, "trade: BUY | SELL", nullable=True),
            "amount": Column(pl.Int64, "trade: amount", "10⁻⁶ share", nullable=True),
            "basis": Column(pl.String, "rows a baseline used: market | all | default", nullable=True),
            "call": Column(pl.String, "identity of the model call in cache and accounting", nullable=True),
        },
        key=("method", "reader", "layer", "wallet", "event"),
        may_be_empty="a shard may hold no sampled wallet",
    ),
    "prediction_units": Table(
        "Every target of the frozen evaluation set held against its prediction, given or not.",
        {
            "method": _METHOD,
            "reader": _READER,
            "layer": _LAYER,
            "split": _SPLIT,
            "wallet": _WALLET,
            "event": _EVENT,
            "condition_id": Column(pl.Binary, "condition id of the target's market, 32 bytes"),
            "status": Column(pl.String, f"{_STATUS} | missing (no prediction)"),
            "correct": Column(
                pl.Boolean, "side or direction is the label; null without a usable answer", nullable=True
            ),
            "error": Column(
                pl.Float64,
                "|confidence − label| or |amount − label|; null without a usable answer",
                _VALUED,
                nullable=True,
            ),
            "error_all": Column(
                pl.Float64, "error; without a usable answer 1 for a confidence, the label for an amount", _VALUED
            ),
            "action": Column(ACTION, "trade: accumulate | reduce | close", nullable=True),
        },
        key=("method", "reader", "layer", "wallet", "event"),
        wall="gold",
        may_be_empty="a shard may hold no sampled wallet",
    ),
    "prediction_board": Table(
        "Predictors on the same frozen targets, by board, layer, metric, reading and group; null where undefined.",
        {
            "board": _BOARD,
            "layer": _LAYER,
            "metric": _METRIC,
            "reading": _READING,
            "group_kind": Column(GROUP_KIND, "all | activity (quarters of wallets by targets) | action (trade)"),
            "place": Column(pl.Int32, "place of the group among those of its kind, from 0"),
            "group": Column(pl.String, "all, a span of targets a wallet, or an action"),
            "method": _METHOD,
            "reader": _READER,
            "kind": Column(ROW_KIND, "method (an interface with history) | control (a baseline, or no history)"),
            "rank": Column(pl.Int32, "1 + methods with a better value; over all targets in reading all", nullable=True),
            "band": Column(pl.Int32, "tie band, from 1: methods of one are not told apart", nullable=True),
            "value": _number("the metric over all targets (micro)"),
            "low": _number("lower end of the 95 % wallet-cluster interval of value; null with one wallet"),
            "high": _number("upper end of it"),
            "by_wallet": _number("mean over wallets of their own metric (macro)"),
            "by_wallet_low": _number("lower end of its 95 % interval; null with one wallet"),
            "by_wallet_high": _number("upper end of it"),
            "best": _number("value were every target without a usable answer right"),
            "coverage": Column(pl.Float64, "targets with a usable answer / targets", "share", nullable=True),
            "n_units": Column(pl.Int64, "targets that the reading counts", "targets"),
            "n_wallets": Column(pl.Int64, "wallets with such a target", "wallets"),
            **{
                f"n_{status}": Column(pl.Int64, f"targets of the group with status {status}", "targets")
                for status in STATUSES
            },
            "flags": Column(pl.String, "what makes the row suspect; empty when nothing does"),
        },
        key=("board", "layer", "metric", "reading", "group_kind", "group", "method", "reader"),
        order=("board", "layer", "metric", "reading", "group_kind", "place", "group", "method", "reader"),
        wall="gold",
    ),
    "prediction_differences": Table(
        "Paired differences between the predictors of a board, reading all, on the targets that all were asked.",
        {
            "board": _BOARD,
            "layer": _LAYER,
            "metric": _METRIC,
            "method": Column(pl.String, "first of the pair, by name"),
            "other": Column(pl.String, "second of the pair"),
            "n_units": Column(pl.Int64, "targets that all methods of the board were asked", "targets"),
            "n_users": Column(pl.Int64, "wallets of those targets", "wallets"),
            "difference": _number("value of method − value of other"),
            "low": _number("lower end of the 95 % wallet-cluster interval; null with one wallet"),
            "high": _number("upper end of it"),
            "p": Column(
                pl.Float64,
                "p of sign flips of the wallets' summed differences; of a medae: of how often each is nearer",
                "share",
                nullable=True,
            ),
            "p_holm": Column(pl.Float64, "p after Holm over all pairs of board, layer, metric", "share", nullable=True),
            "separable": Column(pl.Boolean, "p_holm < 0.05"),
        },
        key=("board", "layer", "metric", "method", "other"),
        wall="gold",
        may_be_empty="a board may have one method",
    ),
}
