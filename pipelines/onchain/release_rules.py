"""What must hold of a whole on-chain release: one function a rule, each giving the rows that break it."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from pipelines.onchain import ids, splits
from pipelines.onchain.histories import violations as late_rows
from pipelines.onchain.ordering import place, runs, starts_of
from pipelines.onchain.settings import OnchainSettings, SplitRule

VIOLATIONS = pl.Schema({"rule": pl.String, "detail": pl.String})
FIRST_V2_BLOCK = 84_902_353
"""Block of the first V2 exchange (reference B.1); a release that ends before it holds V1 alone."""
DUST = 10_000
"""Base units below which rounding decides the price of a fill (a hundredth of a share)."""
_HEX = "0x" + pl.col("wallet").bin.encode("hex")
_AT = pl.format("{} at block {}, log {}", _HEX, "block_number", "log_index")


def conserved(log_counts: pl.DataFrame, decoded: Mapping[str, int], trades: Mapping[str, int]) -> pl.DataFrame:
    """Logs in = trades + other decoded + rejects + foreign + removed + duplicates, and no trade lost on the way.

    `log_counts` are those of all drops, `decoded` the rows of `decoded_trades` and `onchain_rejects` over all
    drops, `trades` what became of the decoded ones: published, retracted, duplicates, after the last block.
    """
    by_outcome: dict[str, int] = dict(log_counts.group_by("outcome").agg(pl.col("rows").sum()).iter_rows())
    known = {"trade", "other", "reject", "foreign", "removed", "duplicate"}
    found = [f"{rows} rows of files are {outcome}" for outcome, rows in by_outcome.items() if outcome not in known]
    for table, outcome in (("decoded_trades", "trade"), ("onchain_rejects", "reject")):
        if decoded[table] != by_outcome.get(outcome, 0):
            found.append(f"{decoded[table]} rows of {table}, {by_outcome.get(outcome, 0)} counted as {outcome}")
    if sum(trades.values()) != decoded["decoded_trades"]:
        found.append(f"{decoded['decoded_trades']} trades decoded, but {dict(trades)}")
    return _listed("conserved", found)


def one_row_a_place(places: pl.DataFrame) -> pl.DataFrame:
    """One trade a fill, for its maker topic: no place of the chain has two (wallet, block_number, log_index of all)."""
    twice = places.filter(pl.struct("block_number", "log_index").is_duplicated())
    return _rows("two trades at one place", twice, _AT)


def as_matched(trades: pl.DataFrame, matches: pl.DataFrame) -> pl.DataFrame:
    """A taker row has the wallet, token and direction that its match states."""
    stated = matches.select(
        "order_hash",
        "block_number",
        *(pl.col(name).alias(f"{name}_stated") for name in ("wallet", "token_id", "direction")),
    ).unique(["order_hash", "block_number"], keep="first", maintain_order=True)
    own = trades.filter(pl.col("role").cast(pl.String) == "taker").join(stated, on=["order_hash", "block_number"])
    other = own.filter(
        pl.any_horizontal(pl.col(name) != pl.col(f"{name}_stated") for name in ("wallet", "token_id", "direction"))
    )
    return _rows("a taker row that its match does not state", other, _AT)


def rising(cohort_trades: pl.DataFrame) -> pl.DataFrame:
    """The events of a wallet are numbered from 0 in the strictly increasing order of the chain."""
    rows = cohort_trades.sort("wallet", "event").with_columns(place().alias("at"))
    same = pl.col("wallet") == pl.col("wallet").shift()
    wrong = (same & (pl.col("at") <= pl.col("at").shift())).fill_null(False) | (
        pl.col("event") != pl.int_range(pl.len()).over("wallet")
    )
    return _rows("not after the wallet's event before it", rows.filter(wrong), _AT)


def priced(trades: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, int]]:
    """Prices lie in (0, 1]; counted and allowed: a taker's surplus above 1, and dust that rounding moved."""
    dust = pl.col("amount") < DUST
    surplus = (pl.col("role").cast(pl.String) == "taker") & (pl.col("price") > 1)
    outside = pl.col("price").is_null() | ~pl.col("price").is_between(0, 1, closed="right")
    counted = trades.select(
        (outside & dust).sum().alias("dust"), (outside & ~dust & surplus.fill_null(False)).sum().alias("surplus")
    ).row(0, named=True)
    bad = trades.filter(outside & ~dust & ~surplus.fill_null(False))
    return _rows("price outside (0, 1]", bad, pl.format("{}: {}", _AT, pl.col("price").cast(pl.String))), counted


def ids_again(
    preparations: pl.DataFrame, resolutions: pl.DataFrame, markets: pl.DataFrame, tokens: pl.DataFrame
) -> pl.DataFrame:
    """Condition ids follow from oracle and question, token ids from condition, outcome and collateral."""
    named = "0x" + pl.col("condition_id").bin.encode("hex")
    wrong = pl.concat([ids.wrong_conditions(one).select("condition_id") for one in (preparations, resolutions)])
    derived = [
        ids.token_id(condition, outcome, neg_risk)
        for condition, outcome, neg_risk in tokens.select("condition_id", "outcome", "neg_risk").iter_rows()
    ]
    tokens_off = tokens.filter(pl.col("token_id") != pl.Series(derived, dtype=pl.Binary))
    listed = markets.select("condition_id", pl.col("token_ids").alias("token_id")).explode(
        "token_id", empty_as_null=False
    )
    unlisted = listed.join(tokens, on=["condition_id", "token_id"], how="anti")
    return pl.concat([
        _rows("condition id is not that of its oracle and question", wrong, named),
        _rows("token id is not that of its condition", tokens_off, named),
        _rows("token of a market is not in tokens", unlisted, named),
    ])  # fmt: skip


def disjoint(wallets: pl.DataFrame, support: pl.DataFrame, histories: pl.DataFrame) -> pl.DataFrame:
    """Nobody is both evaluated and support; retrieval shows support wallets, histories ask evaluation wallets."""
    named = "0x" + pl.col("wallet").bin.encode("hex")
    cohort = wallets.select("wallet", pl.col("cohort").cast(pl.String).alias("drawn"))
    twice = wallets.filter(pl.col("wallet").is_duplicated())
    shown = support.join(cohort, on="wallet", how="left").filter(pl.col("drawn").ne_missing("support"))
    asked = histories.join(cohort, on="wallet", how="left").filter(pl.col("drawn").ne_missing("evaluation"))
    return pl.concat([
        _rows("drawn twice", twice, named),
        _rows("shown without being support", shown.unique("wallet"), named),
        _rows("asked without being evaluated", asked.unique("wallet"), named),
    ])  # fmt: skip


def nothing_late(histories: pl.DataFrame, cohort_trades: pl.DataFrame, support: pl.DataFrame) -> pl.DataFrame:
    """No interface shows a row at or after the cut, nor one that is not there."""
    found = late_rows(histories, cohort_trades, support)
    detail = pl.format("{} of 0x{}, event {}: {}", "layer", pl.col("wallet").bin.encode("hex"), "event", "reason")
    return _rows("history", found, pl.format("{}: {}", "interface", detail))


def split_in_time(instances: pl.DataFrame, order: list[str], percent: int, rule: SplitRule) -> pl.DataFrame:
    """Every wallet's instances are split in the order of the chain, in the stated proportions."""
    rows = instances.sort("wallet", *order)
    train, validation, test = splits.sizes(np.diff(starts_of(runs(rows["wallet"]))), percent, rule)
    found = (
        rows.group_by("wallet", maintain_order=True)
        .agg(
            *((pl.col("split").cast(pl.String) == name).sum().alias(name) for name in ("train", "validation", "test")),
            (pl.col("split").to_physical().cast(pl.Int16).diff() < 0).any().alias("falls"),
        )
        .with_columns(want_train=train, want_validation=validation, want_test=test)
    )
    wrong = pl.col("falls").fill_null(False) | pl.any_horizontal(
        pl.col(name) != pl.col(f"want_{name}") for name in ("train", "validation", "test")
    )
    return _rows("split", found.filter(wrong), pl.format("{}: {}/{}/{}", _HEX, "train", "validation", "test"))


def within_blocks(trades: pl.DataFrame, settings: OnchainSettings) -> pl.DataFrame:
    """No trade after the last block; none of a V2 exchange in a release that ends before the first of them."""
    late = trades.filter(pl.col("block_number") > settings.last_block)
    rules = [_rows("after the last block", late, _AT)]
    if settings.last_block < FIRST_V2_BLOCK:
        rules.append(_rows("V2 in a V1 release", trades.filter(pl.col("abi").cast(pl.String) == "v2"), _AT))
    return pl.concat(rules)


def _rows(rule: str, rows: pl.DataFrame, detail: pl.Expr) -> pl.DataFrame:
    return rows.select(pl.lit(rule).alias("rule"), detail.cast(pl.String).alias("detail")).sort("detail")


def _listed(rule: str, found: list[str]) -> pl.DataFrame:
    return pl.DataFrame([(rule, one) for one in found], schema=VIOLATIONS, orient="row")
