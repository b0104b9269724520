"""Proofs over a whole on-chain release, before it is frozen and by `trailbench audit`."""

from collections.abc import Iterator

import polars as pl

from assets.chain_inputs import chain_of, merged
from assets.steps import Given
from pipelines.hashing import key64_column
from pipelines.onchain import release_rules as rules
from pipelines.onchain.merging import placed
from pipelines.onchain.rederiving import DERIVED, differing, rederive, rederive_labels

REDERIVED_WALLETS = 200
"""Wallets of the sample at freezing time; `trailbench audit` takes all of them."""

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
    "derived_again": "the tables of sampled wallets come out of shuffled logs again; in an audit, all of all wallets",
}


def proofs(given: Given, everything: bool, audited: int) -> Iterator[tuple[str, pl.DataFrame]]:
    """Name and violations (no row = proven) of every proof, over all rows, shard by shard.

    Only `derived_again` takes a sample of wallets unless `everything`.
    """
    settings, parts, shown = given.settings, given.by_shard(), given["support_trades"]
    yield "conserved", _conserved(given)
    places = given.lazy("trades").select("wallet", "block_number", "log_index").collect()
    matches = merged(given, "matches")[0]
    matched = [rules.as_matched(part["trades"], matches) for part in parts]
    yield "one_row_a_fill", pl.concat([rules.one_row_a_place(places), *matched])
    yield "order", pl.concat(rules.rising(part["cohort_trades"]) for part in parts)
    yield "prices", pl.concat(rules.priced(part["trades"])[0] for part in parts)
    prepared, resolved = merged(given, "preparations")[0], merged(given, "resolutions")[0]
    yield "ids", rules.ids_again(prepared, resolved, given["markets"], given["tokens"])
    yield "disjoint", rules.disjoint(given["wallets"], shown, given.lazy("histories").select("wallet").collect())
    late = (rules.nothing_late(part["histories"], part["cohort_trades"], shown) for part in parts)
    yield "no_future", pl.concat(late)
    belief = (["cut_block", "cut_log_index"], settings.belief_split_percent, settings.belief_split_rule)
    trade = (["event"], settings.trade_split_percent, settings.trade_split_rule)
    asked = (("belief_instances", belief), ("trade_instances", trade))
    yield "splits", pl.concat(rules.split_in_time(part[table], *rule) for part in parts for table, rule in asked)
    yield "last_block", pl.concat(rules.within_blocks(part["trades"], settings) for part in parts)
    yield "derived_again", rederived(given) if everything else _sampled_again(given)


def rederived(given: Given) -> pl.DataFrame:
    """Tables that do not come out of the drops again."""
    chain = {**chain_of(given), "appearances": merged(given, "appearances")[0]}
    # Trades and changes themselves from the drops, not from what was made of them.
    rows, changes = merged(given, "decoded_trades")[0], chain["position_changes"]
    again = {"trades": placed(rows, given["tokens"]), "position_changes": changes}
    found = differing(again, {name: given[name] for name in again})
    return pl.concat([found, rederive({**chain, **again}, {name: given[name] for name in DERIVED}, given.settings)])


def _sampled_again(given: Given) -> pl.DataFrame:
    wallets = given["wallets"].filter(pl.col("rank").is_not_null())
    keys = key64_column(wallets["wallet"].bin.encode("hex"), "proof")
    sample = wallets.with_columns(keys.alias("key")).sort("key", "wallet").head(REDERIVED_WALLETS)["wallet"]
    mine = pl.col("wallet").is_in(sample.implode())
    labels = ("cohort_trades", "holdings", "redemptions", "belief_instances", "trade_instances", "histories")
    frozen = {name: given.lazy(name).filter(mine).collect() for name in labels}
    whole = {name: given[name] for name in ("wallets", "support_trades")}
    return rederive_labels(chain_of(given, sample), {**frozen, **whole}, given.settings)


def _conserved(given: Given) -> pl.DataFrame:
    decoded = {name: sum(one.rows for one in given.published(name)) for name in ("decoded_trades", "onchain_rejects")}
    shards = [one.extra["counts"] for one in given.published("trades")]
    ways = ("trades", "retracted", "duplicates", "after the last block")
    became = {name: sum(shard[name] for shard in shards) for name in ways}
    return rules.conserved(given["log_counts"], decoded, became)
