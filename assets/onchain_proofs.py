"""Proofs over a whole on-chain release, before it is frozen and by `trailbench audit`."""

from collections.abc import Iterator

import polars as pl

from assets.chain_inputs import chain_of, merged
from assets.steps import Given
from pipelines.onchain import release_rules as rules
from pipelines.onchain.rederiving import DERIVED, rederive

PROOFS = {
    "conserved": "logs in = trades + other + rejects + foreign + removed + duplicates; no trade is lost in merging",
    "one_row_a_fill": "one trade a fill, by its maker topic; no taker row that its match contradicts",
    "order": "a wallet's events are numbered in the strictly increasing order of the chain",
    "prices": "prices lie in (0, 1], but for a taker's surplus and dust, which are counted",
    "ids": "condition ids and token ids come out of keccak again",
    "disjoint": "no wallet is both evaluated and support, and each is used for what it was drawn for",
    "no_future": "no interface shows a row at or after the cut of its target",
    "splits": "every wallet is split in the order of the chain, in the stated proportions",
    "last_block": "no row after the last block, no V2 in a release that ends before it",
    "derived_again": "every table comes out of shuffled logs in other shards again",
}


def proofs(given: Given, everything: bool, audited: int) -> Iterator[tuple[str, pl.DataFrame]]:
    """Name and violations (no row = proven) of every proof, always over the whole release."""
    settings, own, trades = given.settings, given["cohort_trades"], given["trades"]
    shown, asked = given["support_trades"], given["histories"]
    beliefs, instances = given["belief_instances"], given["trade_instances"]
    yield "conserved", _conserved(given)
    yield "one_row_a_fill", rules.one_row_a_fill(trades, merged(given, "matches")[0])
    yield "order", rules.rising(own)
    yield "prices", rules.priced(trades)[0]
    prepared, resolved = merged(given, "preparations")[0], merged(given, "resolutions")[0]
    yield "ids", rules.ids_again(prepared, resolved, given["markets"], given["tokens"])
    yield "disjoint", rules.disjoint(given["wallets"], shown, asked)
    yield "no_future", rules.nothing_late(asked, own, shown)
    by_cut, by_event = ["cut_block", "cut_log_index"], ["event"]
    of_beliefs = rules.split_in_time(beliefs, by_cut, settings.belief_split_percent, settings.belief_split_rule)
    of_trades = rules.split_in_time(instances, by_event, settings.trade_split_percent, settings.trade_split_rule)
    yield "splits", pl.concat([of_beliefs, of_trades])
    yield "last_block", rules.within_blocks(trades, settings)
    yield "derived_again", rederived(given)


def rederived(given: Given) -> pl.DataFrame:
    """Tables that do not come out of the drops again."""
    chain = {**chain_of(given), "appearances": merged(given, "appearances")[0]}
    return rederive(chain, {name: given[name] for name in DERIVED}, given.settings)


def _conserved(given: Given) -> pl.DataFrame:
    decoded = {name: sum(one.rows for one in given.published(name)) for name in ("decoded_trades", "onchain_rejects")}
    shards = [one.extra["counts"] for one in given.published("trades")]
    ways = ("trades", "retracted", "duplicates", "after the last block")
    became = {name: sum(shard[name] for shard in shards) for name in ways}
    return rules.conserved(given["log_counts"], decoded, became)
