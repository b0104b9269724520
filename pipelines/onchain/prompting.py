"""From targets to prompts, and from replies to predictions (design steps 10 and 11)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from pipelines.onchain.histories import TARGET, Interface, gather
from pipelines.onchain.markets import TargetContext, target_context, unnamed_context
from pipelines.onchain.profiles import profile
from pipelines.onchain.prompts import (
    BeliefInput,
    History,
    TradeInput,
    belief_prompt,
    direct_history,
    parse_belief,
    parse_trade,
    profile_history,
    retrieval_history,
    trade_prompt,
)
from pipelines.onchain.settings import OnchainSettings
from pipelines.onchain.tables import ONCHAIN_TABLES

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


def predictions(replies: Iterable[tuple[Key, BeliefInput | TradeInput, str | None]], method: str) -> pl.DataFrame:
    """Table `predictions` from replies to prompts: `ok`, `invalid` where the form is broken, `failed` without a reply.

    Decoding at temperature 0 is the caller's business; nothing of a broken reply is kept.
    """
    rows: list[dict[str, Any]] = []
    for (wallet, event), prompt, reply in replies:
        belief = isinstance(prompt, BeliefInput)
        row: dict[str, Any] = {
            "layer": "belief" if belief else "trade",
            "method": method,
            "interface": prompt.history.interface,
            "wallet": wallet,
            "event": event,
            "status": "failed" if reply is None else "ok",
        }
        if reply is not None:
            answer = parse_belief(reply, prompt.context.outcomes) if belief else parse_trade(reply)
            if answer is None:
                row["status"] = "invalid"
            else:
                row |= dict(zip(("side", "confidence") if belief else ("direction", "amount"), answer, strict=True))
        rows.append(row)
    table = ONCHAIN_TABLES["predictions"]
    return pl.DataFrame(
        [{name: row.get(name) for name in table.schema} for row in rows], schema=table.schema, orient="row"
    ).sort(table.sort_by)
