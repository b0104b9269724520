"""On-chain track: drops of chain logs and market descriptions → trades, cohort, instances, histories."""

from collections.abc import Iterator
from functools import partial

import dagster as dg
import polars as pl

from assets.chain_inputs import chain_of, drawn_hash, followed_ledger_of, merged
from assets.partitions import DROPS, RELEASE_SHARDS, RELEASES
from assets.publishing import Made, Result, publish
from assets.steps import OWNERS as OWNERS
from assets.steps import Given, release_step
from expectations import checks
from pipelines.hashing import bucket_column
from pipelines.onchain.beliefs import belief_instances as make_belief_instances
from pipelines.onchain.beliefs import label_counts
from pipelines.onchain.candidates import candidates as make_candidates
from pipelines.onchain.candidates import up_to
from pipelines.onchain.decoding import DROP_TABLES, decode_logs, decode_markets
from pipelines.onchain.histories import histories as make_histories
from pipelines.onchain.known_markets import (
    all_markets,
    conditions_of_chain,
    conditions_of_changes,
    contradicted,
    known_tokens,
)
from pipelines.onchain.markets import latest
from pipelines.onchain.markets import markets as make_markets
from pipelines.onchain.merging import DECODED_AS, placed
from pipelines.onchain.merging import retractions as make_retractions
from pipelines.onchain.positions import follow, positions
from pipelines.onchain.redemptions import reconcile
from pipelines.onchain.rederiving import support_trades
from pipelines.onchain.settings import OnchainSettings
from pipelines.onchain.step_tables import PUBLISHED
from pipelines.onchain.trade_instances import trade_instances as make_trade_instances
from pipelines.onchain.wallets import add_funnels, draw
from pipelines.onchain.wallets import cohort_trades as make_cohort_trades
from pipelines.schema import conform
from pipelines.tracks import LOG_SOURCES, track_of
from resources.code import code_version
from resources.dag import InputStore


def _modules(*names: str) -> tuple[str, ...]:
    return tuple(f"pipelines.onchain.{name}" for name in names)


onchain_step = partial(release_step, track="onchain")
LOGS = tuple(DECODED_AS.values())
LEDGER = ("decoded_changes", "tokens", "preparations", "resolutions", "questions", "fees", "fpmm_pools", "retractions")
"""What a ledger needs beside trades."""
TRAIN = pl.col("split").cast(pl.String) == "train"
EVALUATED = pl.col("cohort").cast(pl.String) == "evaluation"


@dg.asset(
    partitions_def=DROPS,
    check_specs=checks.specs("decoded", DROPS),
    code_version=code_version(*_modules("decoding")),
    pool="read",
    group_name="onchain",
    kinds={"polars", "parquet"},
    owners=["team:trailbench"],
)
def decoded(context: dg.AssetExecutionContext, store: InputStore) -> Iterator[Result]:
    """One drop of chain logs decoded exactly, or of market descriptions read; every row is in one table or counted."""
    drop = store.register.require(context.partition_key)
    if (track := track_of(drop.source).name) != "onchain":
        raise dg.Failure(f"drop {drop.id} is of {drop.source}, a source of {track}", allow_retries=False)

    def make() -> Made:
        tables = (decode_logs if drop.source in LOG_SOURCES else decode_markets)(drop.verify())
        counts: dict[str, int] = dict(tables["log_counts"].group_by("outcome").agg(pl.col("rows").sum()).iter_rows())
        expected = {"decoded_trades": counts.get("trade", 0), "onchain_rejects": counts.get("reject", 0)}
        return Made(tables, extra={"counts": counts}, counts=expected)

    yield from publish(
        context,
        {"store": store.catalog},
        DROP_TABLES,
        inputs={"drop": drop.id},
        code=_modules("decoding"),
        settings=OnchainSettings(),
        make=make,
    )


OWNERS.update(dict.fromkeys(DROP_TABLES, decoded))


@onchain_step(RELEASES, reads=(*LOGS, "removals"), code=_modules("merging"))
def retractions(given: Given) -> Made:
    """Places of the chain that count in no release of these drops: taken back, or told differently by two drops."""
    names = (*LOGS, "removals") if len(given.spec.drops) > 1 else ("removals",)
    by_name = {name: [rows.collect() for rows in given.by_drop(name)] for name in names}
    drops = [dict(zip(by_name, tables, strict=True)) for tables in zip(*by_name.values(), strict=True)]
    return Made({"retractions": make_retractions(drops)})


@onchain_step(
    RELEASES,
    tables=("markets", "tokens"),
    reads=("preparations", "resolutions", "token_registrations", "decoded_changes", "market_readings", "retractions"),
    thresholds=("last_block",),
    code=_modules("known_markets", "markets", "merging", "candidates"),
)
def markets(given: Given) -> Made:
    """What is known of every market beforehand, and which token is which outcome; ids are derived and compared."""
    told = [merged(given, name)[0] for name in ("preparations", "resolutions", "token_registrations")]
    named = conditions_of_changes(up_to(given.lazy("decoded_changes"), given.settings))
    readings = latest(given["market_readings"].drop("file", "row"))
    conditions = conditions_of_chain(told[0], told[1], told[2], named, readings)
    table = all_markets(make_markets(readings, conditions=conditions), conditions)
    tokens = known_tokens(table, conditions)
    extra = {"counts": {"descriptions the chain contradicts": contradicted(readings, conditions).height}}
    return Made({"markets": table, "tokens": tokens}, extra=extra, companions={"conditions": conditions})


@onchain_step(
    RELEASE_SHARDS,
    tables=("trades", "position_changes"),
    reads=("decoded_trades", "decoded_changes", "tokens", "retractions"),
    thresholds=("last_block",),
    code=_modules("merging", "candidates"),
)
def trades(given: Given) -> Made:
    """Fills of a shard's wallets over all drops, every log once, up to the last block, with market and outcome."""
    rows, counts = merged(given, "decoded_trades")
    table = placed(rows, given["tokens"])
    changes = merged(given, "decoded_changes")[0]
    mine = bucket_column(changes["wallet"]).is_in(given.buckets or [])
    unknown = table["condition_id"].null_count()
    extra = {"counts": {**counts, "trades": table.height, "trades of unknown tokens": unknown}}
    frames = {
        "trades": table,
        "position_changes": changes.filter(mine).select(PUBLISHED["position_changes"].schema.names()),
    }
    return Made(frames, extra=extra, companions={"tokens": given["tokens"]})


@onchain_step(
    RELEASE_SHARDS,
    tables=("candidates", "sequences", "filter_counts"),
    reads=("trades", "appearances", "fpmm_pools", "retractions"),
    thresholds=(
        *("last_block", "min_markets", "max_concentration_percent", "burst_blocks", "max_burst_percent", "min_trades"),
        *("max_trades", "max_rows", "over_max_rows", "drop_negative", "min_rows"),
    ),
    code=_modules("candidates", "merging"),
)
def candidates(given: Given) -> Made:
    """Wallets seen up to the last block, with their features and the first filter that stopped each."""
    held, pools = given["trades"], merged(given, "fpmm_pools")[0]
    made = make_candidates(held, merged(given, "appearances")[0], pools, given.settings)
    return Made(dict(zip(("candidates", "sequences", "filter_counts"), made, strict=True)), companions={"trades": held})


@onchain_step(
    RELEASES,
    tables=("wallets", "cohort_funnel"),
    reads=("candidates", "filter_counts"),
    thresholds=("evaluation_wallets", "support_wallets", "seed"),
    code=_modules("wallets"),
)
def wallets(given: Given) -> Made:
    """The draw: evaluation and support wallets by keyed hash, and how many each filter left."""
    every = given["candidates"]
    funnel = add_funnels([given["filter_counts"]])
    return Made({"wallets": draw(every, given.settings), "cohort_funnel": funnel}, companions={"candidates": every})


@onchain_step(
    RELEASE_SHARDS,
    reads=("trades", "wallets", "sequences"),
    hashes={"wallets": drawn_hash},
    thresholds=("last_block", "max_rows", "over_max_rows"),
    code=_modules("wallets"),
)
def cohort_trades(given: Given) -> Made:
    """Trades of drawn wallets that passed every filter, numbered in the order of the chain."""
    rows = make_cohort_trades(given["trades"], given["wallets"], given["sequences"], given.settings)
    table = rows.select(PUBLISHED["cohort_trades"].schema.names())
    return Made({"cohort_trades": table}, companions={"wallets": given["wallets"], "sequences": given["sequences"]})


@onchain_step(
    RELEASE_SHARDS,
    tables=("holdings", "redemptions"),
    reads=("trades", "cohort_trades", *LEDGER),
    thresholds=("last_block", "full_ledger_cut"),
    code=_modules("ledger", "positions", "redemptions", "merging", "candidates"),
)
def holdings(given: Given) -> Made:
    """Final positions in both ledgers, and every payout beside what the position before it explains."""
    own, chain = given["cohort_trades"], chain_of(given)
    moved = followed_ledger_of(given, chain)
    paid = conform(reconcile(moved, chain["position_changes"], chain["resolutions"]).lazy(), "redemptions")
    return Made({"holdings": positions(follow(own), moved), "redemptions": paid}, companions={"cohort_trades": own})


@onchain_step(
    RELEASE_SHARDS,
    reads=("cohort_trades", "holdings"),
    thresholds=("belief_split_percent", "belief_split_rule"),
    code=_modules("beliefs"),
)
def belief_instances(given: Given) -> Made:
    """One row a wallet–market: the side it finally holds by its trades, and by the whole ledger."""
    own, held = given["cohort_trades"], given["holdings"]
    cohort = own.select("wallet", "cohort").unique()
    made = make_belief_instances(follow(own).drop("cohort"), held, cohort, given.settings)
    counts = {name.replace("_", " "): count for name, count in label_counts(made).items()}
    companions = {"cohort_trades": own, "holdings": held}
    return Made({"belief_instances": made}, extra={"counts": counts}, companions=companions)


@onchain_step(
    RELEASE_SHARDS,
    reads=("cohort_trades",),
    thresholds=("trade_split_percent", "trade_split_rule"),
    code=_modules("trade_instances"),
)
def trade_instances(given: Given) -> Made:
    """One row a trade of a cohort wallet: direction, amount, action."""
    own = given["cohort_trades"]
    cohort = own.select("wallet", "cohort").unique()
    made = make_trade_instances(follow(own).drop("cohort"), cohort, given.settings)
    return Made({"trade_instances": made}, companions={"cohort_trades": own})


@onchain_step(
    RELEASES,
    tables=("support_trades", "train_beliefs", "train_trades"),
    reads=("cohort_trades", "wallets", "belief_instances", "trade_instances"),
    hashes={"wallets": drawn_hash},
    code=_modules("rederiving"),
)
def support(given: Given) -> Made:
    """What a shard needs of the others: trades of support wallets for retrieval, train rows for baselines."""
    shown = support_trades(given.lazy("cohort_trades").filter(~EVALUATED).collect(), given["wallets"])
    trained = {
        f"train_{layer}s": given.lazy(f"{layer}_instances").filter(TRAIN).sort(PUBLISHED[f"{layer}_instances"].sort_by)
        for layer in ("belief", "trade")
    }
    return Made({"support_trades": shown, **trained}, companions={"wallets": given["wallets"]})


@onchain_step(
    RELEASE_SHARDS,
    reads=("cohort_trades", "trade_instances", "belief_instances", "support_trades"),
    thresholds=("history_events", "retrieved_wallets", "retrieved_events"),
    code=_modules("histories"),
)
def histories(given: Given) -> Made:
    """Which trades each interface may show for a target, strictly before its cut; no label is in it."""
    own, shown = given["cohort_trades"], given["support_trades"]
    trade, belief = (given.lazy(f"{layer}_instances").filter(EVALUATED).collect() for layer in ("trade", "belief"))
    made = make_histories(own, trade, belief, shown, given.settings)
    return Made({"histories": made}, companions={"cohort_trades": own, "support_trades": shown})
