"""Inputs as the text that a language model is sent, and its replies as answers (design steps 10 and 11; wording ours).

The prompts are files (`pipelines/prompts/onchain`); what fills their slots is worded
here. Names come from outside and are written as JSON strings, so that no line break or
quote of theirs can end a line of data.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from pipelines.hashing import digest
from pipelines.models import Message, Reply, Request
from pipelines.onchain.beliefs import FLAT
from pipelines.onchain.markets import TargetContext
from pipelines.onchain.prompts import (
    FLAT_NAME,
    BeliefAnswer,
    BeliefInput,
    History,
    PastTrade,
    TradeAnswer,
    TradeInput,
)
from pipelines.prompts import fill, load, prompts_hash
from pipelines.replies import Parsed, parse, schema_of

BELIEF_PROMPT, TRADE_PROMPT = "onchain/belief", "onchain/trade"
WORDING = "1"
"""Raised when the words that fill a slot change."""
MAX_TOKENS = 96
"""Of a reply: an answer has about 20."""
_HEADING = "outcome | direction | millionths of a share | millionths of a dollar | price | block"


def prompt_hash() -> str:
    """Hash of the prompt files and of the wording of their slots: rows of different ones are not ranked together."""
    return digest(prompts_hash(load(BELIEF_PROMPT), load(TRADE_PROMPT)), WORDING)


def request(prompt: BeliefInput | TradeInput, unit: str = "") -> Request:
    """The call that asks one target; `unit` names it in the accounting."""
    market = prompt.context.model_dump_json(exclude_none=True)
    names = prompt.context.outcomes
    shown = history_text(prompt.history, names)
    if isinstance(prompt, BeliefInput):
        text = fill(load(BELIEF_PROMPT), market=market, history=shown)
        schema, name = _with_sides(names), "belief"
    else:
        outcome = "" if prompt.outcome is None else f"Outcome traded: {_name(prompt.outcome, names)}"
        text = fill(load(TRADE_PROMPT), market=market, outcome=outcome, history=shown)
        schema, name = dict(schema_of(TradeAnswer)), "trade"
    return Request((Message("user", text),), schema, name, MAX_TOKENS, unit=unit)


def history_text(history: History, outcomes: Sequence[str]) -> str:
    """What an interface shows, as text."""
    if history.interface == "direct":
        return _listed("The trader's latest trades before, oldest first", history.trades, outcomes)
    if history.interface == "retrieval":
        if not history.support:
            return "No other trader traded in this market before."
        parts = [
            _listed(f"Latest trades in this market of another trader ({number})", one.trades, outcomes)
            for number, one in enumerate(history.support, start=1)
        ]
        return "\n\n".join(parts)
    if history.interface == "profile":
        if history.profile is None:
            return "Nothing is known of the trader's earlier trades."
        profile = history.profile.model_dump_json(exclude_none=True)
        return f"Profile of the trader's earlier trades (amounts in millionths of a share):\n{profile}"
    return "Nothing is shown of the trader's earlier trades."


def read_belief(reply: Reply, outcomes: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """Status, and side (outcome index, −1 for flat) and confidence where it is ok.

    A name as it is comes first; else names are compared without case and outer blanks. When an outcome is itself
    called flat, it is the outcome.
    """
    parsed = parse(reply, BeliefAnswer)
    if parsed.value is None:
        return _status(parsed), {}
    names = [name.strip().casefold() for name in outcomes]
    side = parsed.value.side.strip().casefold()
    if parsed.value.side in outcomes:
        place = outcomes.index(parsed.value.side)
    elif side in names:
        place = names.index(side)
    elif side == FLAT_NAME:
        place = FLAT
    else:
        return "invalid", {}
    return "ok", {"side": place, "confidence": parsed.value.confidence}


def read_trade(reply: Reply) -> tuple[str, dict[str, Any]]:
    """Status, and direction and amount where it is ok."""
    parsed = parse(reply, TradeAnswer)
    return ("ok", parsed.value.model_dump()) if parsed.value else (_status(parsed), {})


def _status(parsed: Parsed[Any]) -> str:
    return "invalid" if parsed.status in ("not_json", "wrong_schema") else parsed.status


def _with_sides(outcomes: Sequence[str]) -> dict[str, Any]:
    """The schema of a belief, its side limited to the market's outcomes and flat."""
    schema = dict(schema_of(BeliefAnswer))
    sides = list(dict.fromkeys([*outcomes, FLAT_NAME]))
    schema["properties"] = {**schema["properties"], "side": {"type": "string", "enum": sides}}
    return schema


def _listed(title: str, trades: Sequence[PastTrade], outcomes: Sequence[str]) -> str:
    if not trades:
        return f"{title}: none."
    wide = any(one.market is not None for one in trades)
    heading = f"market | {_HEADING}" if wide else _HEADING
    return "\n".join([f"{title}:", heading, *_lines(trades, outcomes, wide)])


def _lines(trades: Iterable[PastTrade], outcomes: Sequence[str], wide: bool) -> Iterable[str]:
    for one in trades:
        market = [_market(one.market)] if wide else []
        names = outcomes if one.market is None else one.market.outcomes
        price = "unknown" if one.price is None else f"{one.price:.4f}"
        cells = [_name(one.outcome, names), one.direction, str(one.amount), str(one.collateral), price, str(one.block)]
        yield " | ".join([*market, *cells])


def _market(context: TargetContext | None) -> str:
    return (
        "unknown" if context is None or context.question is None else json.dumps(context.question, ensure_ascii=False)
    )


def _name(outcome: int, names: Sequence[str]) -> str:
    """The outcome's name; its number where a market has no such name."""
    return json.dumps(names[outcome], ensure_ascii=False) if outcome < len(names) else f"outcome {outcome}"
