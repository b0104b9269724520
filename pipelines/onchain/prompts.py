"""The prompt interface: what a predictor is given, and what it must answer (design steps 10 and 11).

Any reader can answer: `belief_prompt` and `trade_prompt` make the input of one target from
gathered history, `parse_belief` and `parse_trade` read a reply. The inputs have no
field for a label, a price or a resolution of the target.
"""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pipelines.onchain.beliefs import FLAT
from pipelines.onchain.markets import TargetContext
from pipelines.onchain.profiles import Profile

FLAT_NAME = "flat"
_OBJECT = re.compile(r"\{[^{}]*\}", re.DOTALL)


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PastTrade(_Frozen):
    """A trade before the cut."""

    market: TargetContext | None = Field(default=None, description="its market; left out when it is the target's")
    outcome: int = Field(description="outcome index")
    direction: Literal["BUY", "SELL"]
    amount: int = Field(description="10⁻⁶ share")
    collateral: int = Field(description="10⁻⁶ dollar")
    price: float | None = Field(description="dollar a share")
    block: int
    time: datetime | None = None


class SupportHistory(_Frozen):
    """Latest trades of another wallet in the target market, oldest first."""

    trades: list[PastTrade]


class History(_Frozen):
    """What the interface shows; the parts of other interfaces are empty."""

    interface: Literal["none", "direct", "profile", "retrieval"]
    trades: list[PastTrade] = Field(default=[], description="direct: own trades, oldest first")
    profile: Profile | None = Field(default=None, description="profile: of the wallet's train trades")
    support: list[SupportHistory] = Field(default=[], description="retrieval: most similar wallet first")


class BeliefInput(_Frozen):
    """Asks which outcome the wallet will finally hold in the market, and with what confidence."""

    context: TargetContext
    history: History


class TradeInput(_Frozen):
    """Asks for direction and amount of the wallet's next trade in the market."""

    context: TargetContext
    outcome: int | None = Field(description="outcome index of the trade, where it is shown")
    history: History


class BeliefAnswer(_Frozen):
    """Side by name of the outcome, or `flat`; confidence is the side's share of all that is held long."""

    side: str
    confidence: float = Field(ge=0, le=1, allow_inf_nan=False)


class TradeAnswer(_Frozen):
    """Direction, and the amount in 10⁻⁶ share."""

    direction: Literal["BUY", "SELL"]
    amount: int = Field(ge=0, lt=1 << 63)


Answer = TypeVar("Answer", BeliefAnswer, TradeAnswer)


def belief_prompt(context: TargetContext, history: History) -> BeliefInput:
    """The input of a belief target."""
    return BeliefInput(context=context, history=history)


def trade_prompt(context: TargetContext, outcome: int, history: History, show_outcome: bool = True) -> TradeInput:
    """The input of a trade target; the outcome is left out unless `show_outcome`."""
    return TradeInput(context=context, outcome=outcome if show_outcome else None, history=history)


def direct_history(rows: Iterable[Mapping[str, Any]], contexts: Mapping[bytes, TargetContext] | None = None) -> History:
    """History of interface `direct` from rows of `histories.gather`; `contexts` by condition for all markets."""
    return History(interface="direct", trades=[_past(row, contexts) for row in rows])


def retrieval_history(rows: Iterable[Mapping[str, Any]]) -> History:
    """History of interface `retrieval` from rows of `histories.gather`, in their order."""
    by_source: dict[int, list[PastTrade]] = {}
    for row in rows:
        by_source.setdefault(row["source"], []).append(_past(row, None))
    return History(interface="retrieval", support=[SupportHistory(trades=trades) for trades in by_source.values()])


def profile_history(profile: Profile | None) -> History:
    """History of interface `profile`; a target without a profile gets an empty one."""
    return History(interface="profile", profile=profile)


def parse_belief(reply: str, outcomes: list[str]) -> tuple[int, float] | None:
    """Side (outcome index, −1 for flat) and confidence from the last JSON object of a reply; None when invalid.

    Names are compared without case and outer blanks; when an outcome is itself called flat, it is the outcome.
    """
    answer = _parsed(reply, BeliefAnswer)
    if answer is None:
        return None
    names = [name.strip().casefold() for name in outcomes]
    side = answer.side.strip().casefold()
    if side in names:
        return names.index(side), answer.confidence
    return (FLAT, answer.confidence) if side == FLAT_NAME else None


def parse_trade(reply: str) -> tuple[str, int] | None:
    """Direction and amount from the last JSON object of a reply; None when invalid."""
    answer = _parsed(reply, TradeAnswer)
    return None if answer is None else (answer.direction, answer.amount)


def _parsed(reply: str, model: type[Answer]) -> Answer | None:
    found = _OBJECT.findall(reply)
    if not found:
        return None
    try:
        return model.model_validate(json.loads(found[-1]), strict=False)
    except (ValueError, ValidationError):
        return None


def _past(row: Mapping[str, Any], contexts: Mapping[bytes, TargetContext] | None) -> PastTrade:
    return PastTrade(
        market=None if contexts is None else contexts.get(row["condition_id"]),
        outcome=row["outcome"],
        direction=row["direction"],
        amount=row["amount"],
        collateral=row["collateral"],
        price=row["price"],
        block=row["block_number"],
        time=row["time"],
    )
