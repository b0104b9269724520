"""The rules over a whole release: each holds on a derived release and names what was broken."""

from collections.abc import Callable

import polars as pl
import pytest

from pipelines.hashing import bucket_column
from pipelines.onchain import release_rules as rules
from pipelines.onchain.appearing import appearances
from pipelines.onchain.decode import decode
from pipelines.onchain.drop import DECODED
from pipelines.onchain.gamma import read_markets
from pipelines.onchain.generator import Plan, generate
from pipelines.onchain.known_markets import all_markets, conditions_of_chain, known_tokens
from pipelines.onchain.markets import markets as described
from pipelines.onchain.rederiving import derive, rederive, rederive_labels
from pipelines.onchain.release import refusals, statistics
from pipelines.onchain.settings import OnchainSettings
from pipelines.onchain.tables import ONCHAIN_TABLES
from pipelines.onchain.trades import attach_markets

SETTINGS = OnchainSettings(min_markets=3, min_trades=8, max_concentration_percent=90, max_burst_percent=100)
EVERY = pl.int_range(pl.len()) >= 0
Tables = dict[str, pl.DataFrame]


def chain_of(plan: Plan) -> Tables:
    """The merged tables of a generated chain, as the DAG has them."""
    logs = pl.concat([piece.logs for piece in generate(plan)])
    decoded = decode(logs.with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("__line"))).tables
    tables = {
        name: decoded[name].select(ONCHAIN_TABLES[name].schema.names())
        if name in decoded
        else ONCHAIN_TABLES[name].empty()
        for name in DECODED
    }
    conditions = conditions_of_chain(tables["preparations"], tables["resolutions"], tables["token_registrations"])
    tables["markets"] = all_markets(described(read_markets("[]")[0]), conditions)
    tables["tokens"] = known_tokens(tables["markets"], conditions)
    tables["appearances"] = appearances(tables)
    return {**tables, "trades": attach_markets(tables["trades"], tables["tokens"])}


@pytest.fixture(scope="module")
def chain() -> Tables:
    return chain_of(Plan(seed=9, wallets=36, markets=12, neg_risk_markets=4, operations=2_500))


@pytest.fixture(scope="module")
def release(chain: Tables) -> Tables:
    return {**chain, **derive(chain, SETTINGS, 1)}


def judged(tables: Tables) -> dict[str, int]:
    split = (SETTINGS.trade_split_percent, SETTINGS.trade_split_rule)
    found = {
        "fills": rules.as_matched(tables["trades"], tables["matches"]),
        "places": rules.one_row_a_place(tables["trades"]),
        "order": rules.rising(tables["cohort_trades"]),
        "prices": rules.priced(tables["trades"])[0],
        "ids": rules.ids_again(*(tables[name] for name in ("preparations", "resolutions", "markets", "tokens"))),
        "disjoint": rules.disjoint(tables["wallets"], tables["support_trades"], tables["histories"]),
        "late": rules.nothing_late(tables["histories"], tables["cohort_trades"], tables["support_trades"]),
        "splits": rules.split_in_time(tables["trade_instances"], ["event"], *split),
        "blocks": rules.within_blocks(tables["trades"], SETTINGS),
    }
    return {name: rows.height for name, rows in found.items() if rows.height}


def first(rows: pl.DataFrame, where: pl.Expr = EVERY, **values: pl.Expr) -> pl.DataFrame:
    """The first row that fits, changed."""
    chosen = pl.int_range(pl.len()) == pl.arg_where(where).first()
    return rows.with_columns(
        pl.when(chosen).then(value.cast(rows.schema[name])).otherwise(pl.col(name)).alias(name)
        for name, value in values.items()
    )


def test_a_derived_release_keeps_every_rule(release: Tables) -> None:
    assert judged(release) == {}
    assert release["histories"].height > 500 and release["support_trades"].height > 200


@pytest.mark.parametrize("shards", [2, 5, 40])
def test_it_is_the_same_in_any_number_of_shards(shards: int, chain: Tables, release: Tables) -> None:
    assert rederive(chain, release, SETTINGS, shards).is_empty()


def test_labels_of_some_wallets_come_out_of_their_own_logs(chain: Tables, release: Tables) -> None:
    drawn = release["wallets"].filter(pl.col("rank") < 4)["wallet"].implode()
    mine = pl.col("wallet").is_in(drawn)
    either = mine | pl.col("counterparty").is_in(drawn).fill_null(False)
    some = {
        name: rows.filter(either if name == "position_changes" else mine)
        if name in ("trades", "position_changes", "fees")
        else rows
        for name, rows in chain.items()
    }
    labels = ("cohort_trades", "holdings", "redemptions", "belief_instances", "trade_instances", "histories")
    frozen = {**release, **{name: release[name].filter(mine) for name in labels}}
    assert rederive_labels(some, frozen, SETTINGS).is_empty()
    wrong = {**frozen, "holdings": first(frozen["holdings"], full=pl.col("full") + 1)}
    assert rederive_labels(some, wrong, SETTINGS).height == 1


TAKER = pl.col("role").cast(pl.String) == "taker"
BREAKS: dict[str, tuple[str, Callable[[pl.DataFrame], pl.DataFrame]]] = {
    "fills": ("trades", lambda rows: first(rows, TAKER, token_id=pl.lit(b"\x07" * 32))),
    "places": ("trades", lambda rows: pl.concat([rows, rows.head(1)])),
    "order": ("cohort_trades", lambda rows: first(rows, block_number=pl.lit(90_000_000))),
    "prices": ("trades", lambda rows: first(rows, ~TAKER & (pl.col("amount") > 10_000), price=pl.lit(1.5))),
    "ids": ("preparations", lambda rows: first(rows, question_id=pl.lit(b"\x07" * 32))),
    "disjoint": (
        "wallets",
        lambda rows: first(rows, pl.col("cohort").cast(pl.String) == "support", cohort=pl.lit("evaluation")),
    ),
    "late": ("histories", lambda rows: first(rows, direct_n=pl.col("direct_n") + 1)),
    "splits": (
        "trade_instances",
        lambda rows: first(rows, pl.col("split").cast(pl.String) == "test", split=pl.lit("train")),
    ),
    "blocks": ("trades", lambda rows: first(rows, block_number=pl.lit(SETTINGS.last_block + 1))),
}


@pytest.mark.parametrize("rule", BREAKS)
def test_each_rule_finds_its_breach(rule: str, release: Tables) -> None:
    table, change = BREAKS[rule]
    found = judged({**release, table: change(release[table])})
    assert found.get(rule, 0) >= 1


def test_the_last_block_is_inside_and_v2_outside_of_a_v1_release(release: Tables) -> None:
    trades = release["trades"]
    at_the_border = first(trades, block_number=pl.lit(SETTINGS.last_block))
    assert rules.within_blocks(at_the_border, SETTINGS).is_empty()
    second = first(trades, abi=pl.lit("v2"))
    assert rules.within_blocks(second, SETTINGS)["rule"].to_list() == ["V2 in a V1 release"]
    later = OnchainSettings(last_block=rules.FIRST_V2_BLOCK)
    assert rules.within_blocks(second, later).is_empty()


@pytest.mark.parametrize(("amount", "role", "ways"), [(9_999, "maker", "dust"), (10_000, "taker", "surplus")])
def test_dust_and_surplus_are_counted_not_refused(amount: int, role: str, ways: str, release: Tables) -> None:
    odd = first(release["trades"], price=pl.lit(1.01), amount=pl.lit(amount), role=pl.lit(role))
    bad, counted = rules.priced(odd)
    assert bad.is_empty() and counted == {"dust": 0, "surplus": 0, ways: 1}
    maker = first(release["trades"], price=pl.lit(1.01), amount=pl.lit(10_000), role=pl.lit("maker"))
    assert rules.priced(maker)[0].height == 1


def test_counts_add_up_or_say_where_not() -> None:
    counts = pl.DataFrame({"outcome": ["trade", "other", "reject"], "rows": [7, 5, 1]})
    decoded = {"decoded_trades": 7, "onchain_rejects": 1}
    became = {"trades": 4, "retracted": 1, "duplicates": 1, "after the last block": 1}
    assert rules.conserved(counts, decoded, became).is_empty()
    for wrong in ({**became, "trades": 5}, {**became, "duplicates": 0}):
        assert rules.conserved(counts, decoded, wrong).height == 1
    assert rules.conserved(counts, {**decoded, "onchain_rejects": 2}, became).height == 1
    lost = pl.concat([counts, pl.DataFrame({"outcome": ["lost"], "rows": [1]})])
    assert rules.conserved(lost, decoded, became).height == 1


def test_a_funnel_of_more_than_two_thousand_wallets_fills_both_cohorts() -> None:
    """The default thresholds on a chain of 2,400 wallets: evaluation and support in the paper's proportion."""
    chain = chain_of(Plan(seed=2, wallets=2_400, markets=60, neg_risk_markets=12, operations=90_000))
    settings = OnchainSettings(min_markets=5, min_trades=10)
    made = derive(chain, settings, 3)
    funnel = made["cohort_funnel"]
    assert funnel["wallets"].to_list() == sorted(funnel["wallets"], reverse=True)
    assert funnel["wallets"][0] >= 2_400 and 1_000 < funnel["wallets"][-1] < 2_400
    cohort = dict(made["wallets"]["cohort"].cast(pl.String).value_counts().iter_rows())
    passed = funnel["wallets"][-1]
    assert cohort["evaluation"] == -(-passed * 2_000 // 4_022) and cohort["support"] == passed - cohort["evaluation"]
    said = {
        row["name"]: row["value"]
        for row in statistics(
            **{
                name: made[name]
                for name in (
                    *("cohort_funnel", "wallets", "cohort_trades", "belief_instances", "trade_instances"),
                    "redemptions",
                )
            }
        )
    }
    assert said["evaluation wallets"] == cohort["evaluation"]
    assert said["redemptions reconciled, share"] == 1.0
    assert 0 < said["beliefs flips, share"] < 0.9
    assert refusals(markets=chain["markets"], wallets=made["wallets"]).keys() == {"questions"}
    # One bucket a wallet: shards of wallets cut nothing apart.
    assert bucket_column(made["wallets"]["wallet"]).n_unique() == 256
