"""What baselines answer from, taken from the tables that any method may read, and their answers by name.

The labelled instances lie behind the gold wall. What a baseline needs of them is in the
trades of the cohort as well: direction and amount of a trade, and, once a market's last
trade is past, the side that the wallet then held. Each rule of `baselines` shows itself
only what lies before a target.
"""

from dataclasses import dataclass

import polars as pl

from pipelines.onchain import baselines
from pipelines.onchain.beliefs import labels
from pipelines.onchain.ordering import runs, starts_of
from pipelines.onchain.positions import PAIR

_TRADE = ["wallet", "event", "condition_id", "block_number", "log_index", "direction", "amount", "split"]
_BELIEF = ["wallet", "condition_id", "cut_event", "cut_block", "cut_log_index", "side", "confidence", "split"]


@dataclass(frozen=True)
class Known:
    """Rows of wallets: `trades` and `beliefs` have those columns of the instances that baselines read."""

    trades: pl.DataFrame
    beliefs: pl.DataFrame

    def train(self) -> "Known":
        """Rows of the train split."""
        in_train = pl.col("split").cast(pl.String) == "train"
        return Known(self.trades.filter(in_train), self.beliefs.filter(in_train))


def known(histories: pl.DataFrame, cohort_trades: pl.DataFrame) -> Known:
    """The rows behind the targets in `histories`; `cohort_trades` holds all trades of their wallets."""
    layer = pl.col("layer").cast(pl.String)
    own = cohort_trades.join(histories.select("wallet").unique(), on="wallet", how="semi")
    trades = own.join(histories.filter(layer == "trade").select("wallet", "event", "split"), on=["wallet", "event"])
    beliefs = histories.filter(layer == "belief").rename({"event": "cut_event"}).join(_final(own), on=PAIR)
    return Known(trades.select(_TRADE).sort("wallet", "event"), beliefs.select(_BELIEF).sort(PAIR))


def answers(method: str, own: Known, cohort_trades: pl.DataFrame, train: Known) -> pl.DataFrame:
    """Table `predictions` of a baseline on every row of `own`, which holds all rows of its wallets.

    `cohort_trades` are the trades of the wallets of `own`, `train` the train rows of all evaluation wallets.
    Raises `KeyError` when `method` is no baseline.
    """
    beliefs, trades = own.beliefs, own.trades
    rules = {
        "majority_side": lambda: baselines.majority_side(beliefs, train.beliefs),
        "last_side": lambda: baselines.last_side(beliefs, cohort_trades),
        "last_direction": lambda: baselines.last_direction(trades),
        "wallet_median": lambda: baselines.wallet_median(trades),
        "market_median": lambda: baselines.market_median(trades, train.trades),
    }
    return rules[method]()


def reads_others(method: str) -> bool:
    """Whether a baseline reads train rows of other wallets."""
    return method in ("majority_side", "market_median")


def _final(own: pl.DataFrame) -> pl.DataFrame:
    """Side and confidence that every wallet–market ends with: wallet, condition_id, side, confidence."""
    held = own.sort(*PAIR, "outcome", "event").unique([*PAIR, "outcome"], keep="last", maintain_order=True)
    starts = starts_of(runs(held["wallet"]), runs(held["condition_id"]))
    state = labels(held["position_after"].to_numpy(), held["outcome"].cast(pl.Int64).to_numpy(), starts)
    confidence = state.top / state.mass.clip(1)
    return held[starts[:-1]].select(PAIR).with_columns(
        pl.Series("side", state.side).cast(pl.Int16), pl.Series("confidence", confidence)
    )  # fmt: skip
