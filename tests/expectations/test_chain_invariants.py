"""Invariants of the on-chain tables: sound tables pass, and each invariant is broken by a change that it must find."""

from collections.abc import Callable

import polars as pl
import pytest

from expectations.audits import audit_for
from expectations.invariants.chain import CHAIN
from expectations.invariants.cohort import COHORT
from pipelines.hashing import bucket_column
from pipelines.onchain.appearing import appearances
from pipelines.onchain.candidates import candidates
from pipelines.onchain.decode import decode
from pipelines.onchain.decoding import DROP_TABLES
from pipelines.onchain.drop import DECODED
from pipelines.onchain.gamma import read_markets
from pipelines.onchain.generator import Plan, generate
from pipelines.onchain.known_markets import all_markets, conditions_of_chain, known_tokens
from pipelines.onchain.markets import markets as described
from pipelines.onchain.rederiving import derive
from pipelines.onchain.settings import OnchainSettings
from pipelines.onchain.step_tables import PUBLISHED
from pipelines.onchain.tables import ONCHAIN_TABLES
from pipelines.onchain.trades import attach_markets

SETTINGS = OnchainSettings(min_markets=3, min_trades=8, max_concentration_percent=90, max_burst_percent=100)
Tables = dict[str, pl.DataFrame]
Change = Callable[[pl.DataFrame], pl.DataFrame]


@pytest.fixture(scope="module")
def world() -> Tables:
    """Every table of a generated chain, as one drop and one shard make them."""
    logs = pl.concat([piece.logs for piece in generate(Plan(seed=9, wallets=36, markets=12, operations=2_500))])
    found = decode(logs.with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("__line"))).tables
    tables = {
        name: found[name].select(ONCHAIN_TABLES[name].schema.names()) if name in found else ONCHAIN_TABLES[name].empty()
        for name in DECODED
    }
    conditions = conditions_of_chain(tables["preparations"], tables["resolutions"], tables["token_registrations"])
    tables["markets"] = all_markets(described(read_markets("[]")[0]), conditions)
    tables["tokens"] = known_tokens(tables["markets"], conditions)
    tables["appearances"] = appearances(tables)
    tables["trades"] = attach_markets(tables["trades"], tables["tokens"])
    made = derive(tables, SETTINGS, 1)
    judged = candidates(tables["trades"], tables["appearances"], tables["fpmm_pools"], SETTINGS)
    tables |= dict(zip(("candidates", "sequences", "filter_counts"), judged, strict=True))
    train = pl.col("split").cast(pl.String) == "train"
    tables |= {f"train_{layer}s": made[f"{layer}_instances"].filter(train) for layer in ("belief", "trade")}
    tables["decoded_trades"] = tables["trades"].with_columns(bucket_column(tables["trades"]["wallet"]))
    changes = tables["position_changes"]
    known = changes["counterparty"].fill_null(b"")
    other = pl.when(pl.col("counterparty").is_not_null()).then(bucket_column(known)).alias("other_bucket")
    tables["decoded_changes"] = changes.with_columns(bucket_column(changes["wallet"]), other)
    for name in DROP_TABLES:
        tables.setdefault(name, PUBLISHED[name].empty())
    tables |= {**made, "retractions": PUBLISHED["retractions"].empty()}
    shaped = {name: tables[name].select(table.schema.names()).sort(table.sort_by) for name, table in PUBLISHED.items()}
    return {**shaped, "conditions": conditions}


def judged(table: str, frame: pl.DataFrame, world: Tables) -> dict[str, bool]:
    """Expectation or invariant → whether it holds; what was not checked is left out."""
    companions = {name: rows.lazy() for name, rows in world.items() if name != table}
    found = audit_for(table, companions, SETTINGS, engine="polars")(frame.lazy())
    return {finding.name: finding.passed for finding in found if finding.severity != "info"}


def put(where: pl.Expr | None = None, **values: object) -> Change:
    """Change the first row that fits."""

    def change(rows: pl.DataFrame) -> pl.DataFrame:
        fits = pl.int_range(pl.len()) >= 0 if where is None else where
        chosen = pl.int_range(pl.len()) == pl.arg_where(fits).first()
        expressions = {name: value if isinstance(value, pl.Expr) else pl.lit(value) for name, value in values.items()}
        return rows.with_columns(
            pl.when(chosen).then(value.cast(rows.schema[name])).otherwise(pl.col(name)).alias(name)
            for name, value in expressions.items()
        )

    return change


def test_every_table_of_the_track_is_sound_and_consistent(world: Tables) -> None:
    for table in PUBLISHED:
        failed = [name for name, passed in judged(table, world[table], world).items() if not passed]
        assert failed == [], table
    assert set(PUBLISHED) == set(CHAIN) | set(COHORT)
    assert world["histories"].height > 500 and world["redemptions"].height > 20


is_role = pl.col("role").cast(pl.String) == "maker"
is_buy = pl.col("direction").cast(pl.String) == "BUY"
drawn = pl.col("rank").is_not_null()
later = pl.col("event") == 3
BREAKS: list[tuple[str, str, Change]] = [
    ("decoded_trades", "bucket", put(bucket=pl.col("bucket") ^ 1)),
    (
        "decoded_changes",
        "other_bucket",
        put(pl.col("other_bucket").is_not_null(), other_bucket=pl.col("other_bucket") ^ 1),
    ),
    ("appearances", "widths", put(address=b"\x01")),
    ("appearances", "ordered", lambda rows: rows.reverse()),
    ("trades", "price", put(price=0.123)),
    ("trades", "role", put(is_role, role="taker")),
    ("trades", "fee", put(pl.col("fee") == 0, fee=7)),
    ("trades", "placed", put(outcome=pl.lit(None))),
    ("trades", "token", put(outcome=1 - pl.col("outcome"))),
    ("markets", "token_each", put(outcomes=pl.lit(["a", "b", "c"]))),
    ("markets", "ids", put(ids_match=False)),
    ("markets", "every_condition", lambda rows: rows.slice(1)),
    ("candidates", "passed", put(pl.col("reason") == "", kept_markets=1)),
    ("filter_counts", "falling", put(pl.col("step") == 3, wallets=10_000)),
    ("cohort_funnel", "steps", put(pl.col("step") == 3, step=20)),
    ("wallets", "drawn", put(drawn, reason="bursty")),
    ("wallets", "ranked", put(drawn, rank=pl.lit(None))),
    ("wallets", "numbered(rank)", put(pl.col("rank") == 0, rank=500)),
    (
        "wallets",
        "seen",
        lambda rows: pl.concat([rows, put(wallet=b"\xff" * 20, cohort="unused")(rows).head(1)]).sort("wallet"),
    ),
    ("cohort_trades", "numbered(event)", put(later, event=4)),
    ("cohort_trades", "numbered(market_event)", put(later, market_event=40)),
    ("cohort_trades", "rising", put(later, block_number=1)),
    ("cohort_trades", "position", put(later, position_after=pl.col("position_after") + 1)),
    ("cohort_trades", "last_block", put(later, block_number=80_000_001)),
    ("cohort_trades", "in_wallets", put(cohort="unused")),
    ("cohort_trades", "in_sequences", put(condition_id=b"\x09" * 32)),
    ("support_trades", "support", put(cohort="evaluation")),
    ("support_trades", "rank", put(rank=99)),
    ("holdings", "trade_only", put(trade_only=pl.col("trade_only") + 1)),
    ("redemptions", "same", put(pl.col("reconciles"), expected=pl.col("expected") + 1)),
    ("redemptions", "reconciles", put(pl.col("reconciles"), reconciles=False)),
    ("belief_instances", "label", put(pl.col("mass") > 0, confidence=0.001)),
    ("belief_instances", "label_full", put(pl.col("mass_full") > 0, side_full=-1)),
    ("belief_instances", "flips", put(flips=~pl.col("flips"))),
    ("belief_instances", "sides", put(pl.col("side") >= 0, side=1 - pl.col("side"))),
    ("belief_instances", "cut", put(cut_log_index=pl.col("cut_log_index") + 1)),
    ("trade_instances", "action", put(is_buy, action="close")),
    ("trade_instances", "split", put(pl.col("split").cast(pl.String) == "test", split="train")),
    ("trade_instances", "same_trades", put(amount=pl.col("amount") + 1)),
    ("histories", "limits", put(all_n=11)),
    ("histories", "no_future", put(direct_n=pl.col("direct_n") + 1)),
]


@pytest.mark.parametrize(("table", "name", "change"), BREAKS, ids=[f"{table}-{name}" for table, name, _ in BREAKS])
def test_each_invariant_finds_what_breaks_it(table: str, name: str, change: Change, world: Tables) -> None:
    assert judged(table, world[table], world)[f"consistent/{name}"]
    assert not judged(table, change(world[table]), world)[f"consistent/{name}"]


def test_every_invariant_has_been_broken(world: Tables) -> None:
    names = {
        (table, name.removeprefix("consistent/"))
        for table in PUBLISHED
        for name in judged(table, world[table], world)
        if name.startswith("consistent/")
    }
    # Order, widths and buckets are one function for all tables; filters, beliefs and instances are one each for two.
    shared = {"ordered", "widths", "bucket", "price", "role", "fee", "passed", "falling", "steps"}
    shared |= {"label", "label_full", "flips", "action", "split"}
    assert {name for _, name in names} == {name for _, name, _ in BREAKS}
    assert {one for one in names if one[1] not in shared} <= {(table, name) for table, name, _ in BREAKS}
