"""Who competes on an on-chain release: baselines without a model, and history interfaces that a reader answers."""

from pipelines.onchain.baselines import BELIEF_BASELINES, RULE, TRADE_BASELINES
from pipelines.onchain.histories import INTERFACES
from pipelines.onchain.scores import LAYERS, Layer

BASELINES = (*BELIEF_BASELINES, *TRADE_BASELINES)
METHODS = (*BASELINES, *INTERFACES)
DESCRIPTIONS = {
    "majority_side": "the side that earlier beliefs of the market's other wallets took most often",
    "last_side": "the side that the wallet held in the market just before",
    "last_direction": "direction and amount of the wallet's last trade",
    "wallet_median": "the wallet's usual direction and median amount",
    "market_median": "other wallets' usual direction and median amount in the market",
    "none": "a reader is shown the target alone",
    "direct": "a reader is shown the wallet's latest trades",
    "profile": "a reader is shown a profile of the wallet",
    "retrieval": "a reader is shown trades of wallets like it in the market",
}
"""Of every one of `METHODS`, for people."""
WITHOUT_HISTORY = "none"
"""The interface that shows the target's context alone: what a reader knows without the wallet."""


def layers_of(method: str) -> tuple[Layer, ...]:
    """The layers that a method answers: a baseline one, an interface both."""
    if method in BELIEF_BASELINES:
        return ("belief",)
    return ("trade",) if method in TRADE_BASELINES else LAYERS


def is_control(method: str) -> bool:
    """Whether a method is there to be beaten: a baseline, or an interface without history."""
    return method in BASELINES or method == WITHOUT_HISTORY


def invalid_pair(method: str, reader: str) -> bool:
    """Whether method and reader do not go together: baselines answer by rule, interfaces by any other reader."""
    return (method in BASELINES) != (reader == RULE)
