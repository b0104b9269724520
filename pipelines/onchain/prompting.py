"""From targets to prompts, and from replies to predictions (design steps 10 and 11)."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import polars as pl

from pipelines.models import Model, Reply
from pipelines.onchain.board_tables import PREDICTION_TABLES
from pipelines.onchain.histories import TARGET, Interface, gather
from pipelines.onchain.markets import TargetContext, target_context, unnamed_context
from pipelines.onchain.profiles import profile
from pipelines.onchain.prompts import (
    BeliefInput,
    History,
    TradeInput,
    belief_prompt,
    direct_history,
    profile_history,
    retrieval_history,
    trade_prompt,
)
from pipelines.onchain.settings import OnchainSettings
from pipelines.onchain.wording import read_belief, read_trade, request

Key = tuple[bytes, int]
"""Wallet and event of a target."""
_CHUNK = 2_000
_BINARY = 2
"""Outcomes of a market that no source describes."""


def contexts(markets: pl.DataFrame) -> dict[bytes, TargetContext]:
    """Context by condition of every market in table `markets` that names its outcomes."""
    named = markets.filter(pl.col("outcomes").is_not_null())
    return {row["condition_id"]: target_context(row) for row in named.iter_rows(named=True)}


def prompts(
    targets: pl.DataFrame,
    cohort_trades: pl.DataFrame,
    support: pl.DataFrame,
    profiles: pl.DataFrame,
    known: Mapping[bytes, TargetContext],
    interface: Interface,
    settings: OnchainSettings,
) -> Iterator[tuple[Key, BeliefInput | TradeInput]]:
    """The input of every target, in the order of `targets`: rows of `histories` of one layer.

    `profiles` are those of the layer, `known` comes from `contexts`; a market that it lacks is shown by
    outcome numbers. Rows are gathered in chunks, so that memory does not grow with the targets.
    """
    outcome = cohort_trades.select("wallet", "event", "outcome")
    for chunk in targets.iter_slices(_CHUNK):
        shown = gather(chunk, cohort_trades, support, interface, settings.direct_scope)
        by_target = {
            (key[1], key[2]): part.to_dicts()
            for key, part in shown.partition_by(TARGET, as_dict=True, maintain_order=True).items()
        }
        own = {row["wallet"]: profile(row) for row in profiles.iter_rows(named=True)} if interface == "profile" else {}
        for row in chunk.join(outcome, on=["wallet", "event"], maintain_order="left").iter_rows(named=True):
            key = (row["wallet"], row["event"])
            rows = by_target.get(key, [])
            if interface == "direct":
                history = direct_history(rows, known if settings.direct_scope == "all_markets" else None)
            elif interface == "retrieval":
                history = retrieval_history(rows)
            elif interface == "profile":
                history = profile_history(own.get(row["wallet"]) if row["profile_n"] else None)
            else:
                history = History(interface="none")
            context = known.get(row["condition_id"]) or unnamed_context(_BINARY)
            if row["layer"] == "belief":
                yield key, belief_prompt(context, history)
            else:
                yield key, trade_prompt(context, row["outcome"], history, settings.show_outcome)


def ask(model: Model, asked: Iterable[tuple[Key, BeliefInput | TradeInput]], method: str, reader: str) -> pl.DataFrame:
    """Table `predictions` of a model that is asked every input, in chunks.

    A reply that is not whole, or not in the form asked for, keeps its status and gives no answer; of its text
    nothing is kept here. Raises `ModelStopped` as the model does: what was answered before is in its cache.
    """
    table = PREDICTION_TABLES["predictions"]
    frames = [table.empty()]
    for chunk in _chunks(asked):
        requests = [request(prompt, _unit(key, prompt)) for key, prompt in chunk]
        replies = model.ask_all(requests)
        rows = [_row(key, prompt, reply, method, reader) for (key, prompt), reply in zip(chunk, replies, strict=True)]
        frames.append(pl.DataFrame(rows, schema=table.schema, orient="row"))
    return pl.concat(frames).sort(table.sort_by)


def _chunks(
    asked: Iterable[tuple[Key, BeliefInput | TradeInput]],
) -> Iterator[list[tuple[Key, BeliefInput | TradeInput]]]:
    rest = iter(asked)
    while chunk := list(islice(rest, _CHUNK)):
        yield chunk


def _unit(key: Key, prompt: BeliefInput | TradeInput) -> str:
    return f"{_layer(prompt)}:{key[0].hex()}:{key[1]}"


def _layer(prompt: BeliefInput | TradeInput) -> str:
    return "belief" if isinstance(prompt, BeliefInput) else "trade"


def _row(key: Key, prompt: BeliefInput | TradeInput, reply: Reply, method: str, reader: str) -> tuple[Any, ...]:
    belief = isinstance(prompt, BeliefInput)
    status, answer = read_belief(reply, prompt.context.outcomes) if belief else read_trade(reply)
    row = {
        "method": method,
        "reader": reader,
        "layer": _layer(prompt),
        "wallet": key[0],
        "event": key[1],
        "status": status,
        "call": reply.key or None,
        **answer,
    }
    return tuple(row.get(name) for name in PREDICTION_TABLES["predictions"].columns)
