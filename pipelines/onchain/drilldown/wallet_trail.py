"""What is known of one wallet: trades, final positions, and every target with what was shown, answered and true."""

from dataclasses import dataclass
from datetime import datetime

import polars as pl

from pipelines.evaluation.drilldown.trail import Call


@dataclass(frozen=True)
class Trade:
    """One trade; amounts in shares."""

    event: int
    block: int
    time: datetime | None
    market: str
    outcome: str
    direction: str
    shares: float
    price: float | None
    position_after: float


@dataclass(frozen=True)
class Position:
    """What a wallet finally holds of an outcome, in shares: by trades alone, and by the full ledger."""

    market: str
    outcome: str
    trade_only: float
    full: float


@dataclass(frozen=True)
class Shown:
    """Which of the wallet's own trades an interface shows of a target; all are before the cut."""

    interface: str
    events: tuple[int, ...]
    others: int
    """Trades of other wallets that it shows."""


@dataclass(frozen=True)
class Prediction:
    """What one predictor answered; `error` in shares for a trade, a share of one for a belief."""

    method: str
    reader: str
    status: str
    answer: str
    basis: str
    correct: bool | None
    error: float | None
    counted: float
    """The error that the reading `all` counts."""
    call: Call | None


@dataclass(frozen=True)
class Target:
    """One target of the frozen set."""

    name: str
    layer: str
    event: int
    market: str
    split: str
    cut_block: int
    cut_log_index: int
    label: str
    action: str
    shown: tuple[Shown, ...]
    predictions: tuple[Prediction, ...]


@dataclass(frozen=True)
class WalletTrail:
    """One wallet; `trajectory` are the columns that its picture needs."""

    wallet: str
    facts: tuple[tuple[str, str | int | None], ...]
    trades: tuple[Trade, ...]
    positions: tuple[Position, ...]
    targets: tuple[Target, ...]
    trajectory: pl.DataFrame
