"""Invariants of the cohort of wallets: features, filters, draw, trades, instances, histories."""

from collections.abc import Callable
from functools import partial
from typing import Any

import polars as pl

from expectations.invariants.chain import logs
from expectations.invariants.rules import (
    Frames,
    among,
    lacking,
    never,
    no_rows,
    not_checked,
    numbered,
    ordered,
    same_rows,
)
from pipelines.findings import Finding
from pipelines.onchain.histories import violations
from pipelines.onchain.ordering import place

EVENT = ["wallet", "event"]
PAIR = ["wallet", "condition_id"]
LABEL = {"": "trade_only", "_full": "full"}
"""Suffix of a belief's labels → the ledger that they come from."""


def candidates(table: str, frames: Frames, settings: Any) -> list[Finding]:
    """As `logs`; who passed has enough markets and trades left."""
    frame = frames[table]
    passed = pl.col("reason") == ""
    few = (pl.col("kept_markets") < settings.min_markets) | (pl.col("trades") < settings.min_trades)
    return [*logs(table, frames, settings), never("passed", "who passed has enough left", frame, passed & few)]


def filters(table: str, frames: Frames, settings: Any) -> list[Finding]:
    """Steps are numbered from 0; no filter adds a wallet, a sequence or a trade."""
    frame = frames[table].sort("step")
    more = [pl.col(name) > pl.col(name).shift() for name in ("wallets", "sequences", "trades")]
    gap = pl.col("step") != pl.int_range(pl.len())
    return [
        ordered(table, frames[table]),
        never("steps", "filters are numbered from 0", frame, gap),
        never("falling", "a filter adds nothing", frame, pl.any_horizontal(more)),
    ]


def wallets(frames: Frames, settings: Any) -> list[Finding]:
    """As `candidates`; drawn in ranks from 0 among those that passed; with `candidates`: nobody new."""
    frame = frames["wallets"]
    cohort = pl.col("cohort").cast(pl.String)
    is_drawn = cohort.is_in(["evaluation", "support"])
    drawn = frame.filter(is_drawn).sort("cohort", "rank")
    findings = [
        *candidates("wallets", frames, settings),
        never("drawn", "who passed is drawn or unused", frame, (pl.col("reason") == "") == (cohort == "filtered")),
        never(
            "ranked",
            "who is drawn has a rank",
            frame,
            pl.col("rank").is_null() == is_drawn,
        ),
        numbered(drawn, "rank", ["cohort"]),
    ]
    if missing := lacking(frames, "candidates"):
        return [*findings, not_checked("seen", *missing)]
    return [*findings, among("seen", "every wallet was a candidate", frame, frames["candidates"], ["wallet"])]


def cohort_trades(frames: Frames, settings: Any) -> list[Finding]:
    """As `logs`; numbered in the order of the chain; positions add up; with `wallets`, `sequences`: what passed."""
    frame = frames["cohort_trades"]
    back = (pl.col("wallet") == pl.col("wallet").shift()) & (place() <= place().shift())
    signed = pl.when(pl.col("direction") == "BUY").then(pl.col("amount")).otherwise(-pl.col("amount"))
    held = signed.cum_sum().over([*PAIR, "outcome"])
    findings = [
        *logs("cohort_trades", frames, settings),
        numbered(frame, "event", ["wallet"]),
        numbered(frame.sort(*PAIR, "event"), "market_event", PAIR),
        never("rising", "a wallet's events rise on the chain", frame, back),
        never("position", "the position is the sum of signed amounts", frame, pl.col("position_after") != held),
        never("last_block", "nothing lies after the last block", frame, pl.col("block_number") > settings.last_block),
    ]
    for name, key in (("wallets", ["wallet", "cohort"]), ("sequences", PAIR)):
        if missing := lacking(frames, name):
            findings.append(not_checked(f"in_{name}", *missing))
        else:
            findings.append(among(f"in_{name}", f"every trade is of {name}", frame, frames[name], key))
    return findings


def support_trades(frames: Frames, settings: Any) -> list[Finding]:
    """As `logs`; of support wallets alone; with `wallets`: under their rank."""
    frame = frames["support_trades"]
    other = pl.col("cohort").cast(pl.String) != "support"
    findings = [*logs("support_trades", frames, settings), never("support", "only support is shown", frame, other)]
    if missing := lacking(frames, "wallets"):
        return [*findings, not_checked("rank", *missing)]
    ranks = ["wallet", "cohort", "rank"]
    return [*findings, among("rank", "the rank is that of the draw", frame, frames["wallets"], ranks)]


def holdings(frames: Frames, settings: Any) -> list[Finding]:
    """As `logs`; with `cohort_trades`: the trade-only position is that after the last trade, 0 without one."""
    findings = logs("holdings", frames, settings)
    if missing := lacking(frames, "cohort_trades"):
        return [*findings, not_checked("trade_only", *missing)]
    by = [*PAIR, "outcome"]
    last = frames["cohort_trades"].group_by(by).agg(pl.col("position_after").sort_by("event").last())
    both = frames["holdings"].join(last, on=by, how="full", coalesce=True)
    wrong = pl.col("trade_only").ne_missing(pl.col("position_after").fill_null(0))
    return [*findings, never("trade_only", "the position after the last trade", both, wrong)]


def redemptions(frames: Frames, settings: Any) -> list[Finding]:
    """As `logs`; a warning names payouts that the full position before them does not explain."""
    frame = frames["redemptions"]
    checked, explained = (
        frame.select(pl.col("reconciles").count(), pl.col("reconciles").sum().alias("n")).collect().row(0)
    )
    same = (pl.col("expected") == pl.col("payout")) | ~pl.col("reconciles") | pl.col("reconciles").is_null()
    text = f"{explained} of {checked} payouts with a known resolution are what the position before them pays"
    return [
        *logs("redemptions", frames, settings),
        never("same", "what reconciles is equal", frame, ~same),
        never("reconciles", text, frame, ~pl.col("reconciles"), "warning"),
    ]


def beliefs(table: str, frames: Frames, settings: Any) -> list[Finding]:
    """As `logs`; labels follow from masses; with `holdings`, `cohort_trades`: derived again in another way."""
    frame = frames[table]
    findings = [*logs(table, frames, settings)]
    for end in LABEL:
        top, mass = pl.col(f"top{end}"), pl.col(f"mass{end}")
        share = pl.when(mass > 0).then(top / mass).otherwise(0.0)
        flat = (pl.col(f"side{end}") == -1) != (mass == 0)
        wrong = flat | (pl.col(f"confidence{end}") != share) | (top < 0) | ((top == 0) != (mass == 0))
        findings.append(never(f"label{end}", "flat without mass, else top / mass", frame, wrong))
    flips = pl.col("flips") != (pl.col("side") != pl.col("side_full"))
    findings.append(never("flips", "two ledgers, two sides", frame, flips))
    if table != "belief_instances":
        return findings
    if missing := lacking(frames, "holdings", "cohort_trades"):
        return [*findings, not_checked("sides", *missing), not_checked("cut", *missing)]
    return [*findings, _sides(frames), _cuts(frames)]


def _sides(frames: Frames) -> Finding:
    """The label as a sort finds it: largest position first, of equal ones the lowest outcome."""
    columns = [*PAIR, "side", "mass", "side_full", "mass_full"]
    expected = frames["holdings"].select(PAIR).unique()
    for end, ledger in LABEL.items():
        held = frames["holdings"].filter(pl.col(ledger) > 0).sort(ledger, "outcome", descending=[True, False])
        side = held.group_by(PAIR).agg(
            pl.col("outcome").sort_by([-pl.col(ledger), "outcome"]).first().alias(f"side{end}"),
            pl.col(ledger).sum().alias(f"mass{end}"),
        )
        filled = [pl.col(f"side{end}").fill_null(-1), pl.col(f"mass{end}").fill_null(0)]
        expected = expected.join(side, on=PAIR, how="left").with_columns(filled)
    found = frames["belief_instances"].select(columns)
    return same_rows("sides", "sides and masses come out of the holdings again", found, expected, columns)


def _cuts(frames: Frames) -> Finding:
    columns = [*PAIR, "n_trades", "cut_block", "cut_log_index", "cut_event"]
    trades = frames["cohort_trades"].group_by(PAIR)
    expected = trades.agg(
        pl.len().cast(pl.Int32).alias("n_trades"),
        pl.col("block_number").sort_by("event").last().alias("cut_block"),
        pl.col("log_index").sort_by("event").last().alias("cut_log_index"),
        pl.col("event").max().alias("cut_event"),
    )
    found = frames["belief_instances"].select(columns)
    return same_rows("cut", "the cut is the last trade in the market", found, expected, columns)


def instances(table: str, frames: Frames, settings: Any) -> list[Finding]:
    """As `logs`; action and shares follow; splits never step back; with `cohort_trades`: the same trades."""
    frame = frames[table]
    left = pl.when(pl.col("position_after") > 0).then(pl.lit("reduce")).otherwise(pl.lit("close"))
    action = pl.when(pl.col("direction") == "BUY").then(pl.lit("accumulate")).otherwise(left)
    code = pl.col("split").to_physical().cast(pl.Int16)
    back = (pl.col("wallet") == pl.col("wallet").shift()) & (code < code.shift())
    findings = [
        *logs(table, frames, settings),
        never(
            "action",
            "the action follows from direction and position",
            frame,
            pl.col("action").cast(pl.String) != action,
        ),
        never("split", "a wallet's split never steps back", frame, back),
    ]
    if table != "trade_instances":
        return findings
    if missing := lacking(frames, "cohort_trades"):
        return [*findings, not_checked("same_trades", *missing)]
    columns = [*EVENT, "condition_id", "market_event", "outcome", "block_number", "log_index", "amount", "direction"]
    found, expected = frame.select(columns), frames["cohort_trades"].select(columns)
    return [*findings, same_rows("same_trades", "one instance a trade of the cohort", found, expected, columns)]


def histories(frames: Frames, settings: Any) -> list[Finding]:
    """As `logs`; as many rows as allowed; with `cohort_trades`, `support_trades`: nothing at or after a cut."""
    frame = frames["histories"]
    limits = [pl.col(name) > settings.history_events for name in ("direct_n", "all_n")]
    wide = pl.col("support").list.len() > settings.retrieved_wallets
    long = pl.col("support_n").list.max() > settings.retrieved_events
    findings = [
        *logs("histories", frames, settings),
        never("limits", "no more is shown than the settings allow", frame, pl.any_horizontal(*limits, wide, long)),
    ]
    if missing := lacking(frames, "cohort_trades", "support_trades"):
        return [*findings, not_checked("no_future", *missing)]
    own, shown = frames["cohort_trades"].collect(), frames["support_trades"].collect()
    late = violations(frame.collect(), own, shown).lazy()
    return [*findings, no_rows("no_future", "no interface shows a row at or after its cut", late)]


COHORT: dict[str, Callable[[Frames, Any], list[Finding]]] = {
    "candidates": partial(candidates, "candidates"),
    "wallets": wallets,
    "sequences": partial(logs, "sequences"),
    "filter_counts": partial(filters, "filter_counts"),
    "cohort_funnel": partial(filters, "cohort_funnel"),
    "cohort_trades": cohort_trades,
    "support_trades": support_trades,
    "holdings": holdings,
    "redemptions": redemptions,
    "belief_instances": partial(beliefs, "belief_instances"),
    "train_beliefs": partial(beliefs, "train_beliefs"),
    "trade_instances": partial(instances, "trade_instances"),
    "train_trades": partial(instances, "train_trades"),
    "histories": histories,
}
"""By table."""
