"""The prompt interface: what a predictor is given, and what it must answer (design steps 10 and 11).

Any reader can answer: `belief_prompt` and `trade_prompt` make the input of one target from
gathered history; module `wording` makes text of it and reads replies. The inputs have no
field for a label, a price or a resolution of the target.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from pipelines.onchain.markets import TargetContext
from pipelines.onchain.profiles import Profile

FLAT_NAME = "flat"


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


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def _whole(value: Any) -> Any:
    """JSON knows one kind of number: 1.0 is a whole one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class BeliefAnswer(_Answer):
    """Side by name of the outcome, or `flat`; confidence is the side's share of all that is held long."""

    side: str
    confidence: float = Field(ge=0, le=1, allow_inf_nan=False)


class TradeAnswer(_Answer):
    """Direction, and the amount in 10⁻⁶ share."""

    direction: Literal["BUY", "SELL"]
    amount: Annotated[int, BeforeValidator(_whole)] = Field(ge=0, lt=1 << 63)


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
