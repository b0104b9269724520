"""The leak audit passes on the pipeline and catches every planted leak."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from pipelines.commerce.perturbation import (
    Build,
    audit_future,
    catalogue_of,
    compare,
    default_build,
    perturb_future,
    rebuild,
)
from pipelines.commerce.pool_rules import VIOLATIONS
from pipelines.commerce.pools import Pools
from pipelines.commerce.positives import positives
from pipelines.commerce.settings import CommerceSettings
from pipelines.commerce.taxonomy import category_names, taxonomy
from pipelines.commerce.visits import visits
from pipelines.hashing import bucket_column
from pipelines.schema import TABLES, conform

SMALL = CommerceSettings(batch_visits=4, cohort_visits=8, familiar_visits=3, connected_domains=2, max_positives=3)
START = datetime(2021, 1, 1, tzinfo=UTC)


def log(n_users=6, n_events=90, seed=1, domains="abcdefghijkl"):
    """A log of a few users over several quarters; an item keeps its category, tastes drift."""
    draw = random.Random(seed)
    items = {f"i{k}": (draw.choice(domains), f"c{draw.randrange(6)}") for k in range(60)}
    rows = []
    for user in range(n_users):
        time = START + timedelta(days=draw.randrange(60))
        taste = draw.sample(sorted(items), 20)
        for number in range(n_events):
            time += timedelta(minutes=draw.choice([1, 5, 20, 600, 6000, 15000]))
            item = draw.choice(taste[number // 8 : number // 8 + 8])
            l1, l2 = items[item]
            action = draw.choice(["click", "browse", "favourite", "cart", "purchase", "purchase", "cancel"])
            rows.append(
                {"user_id": f"u{user}", "time": time, "action": action, "item_id": item}
                | {"l1": l1, "l2": l2, "l1_name": l1.upper(), "l2_name": l2.upper()}
            )
    schema = {name: dtype for name, dtype in TABLES["events"].schema.items() if name != "bucket"}
    frame = pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)
    return conform(frame.with_columns(bucket_column(frame["user_id"])).lazy(), "events").collect()


EVENTS = log()


def test_the_pipeline_passes():
    found = audit_future(EVENTS, SMALL, 6, seed=3)
    assert found.is_empty(), found.to_dicts()


def test_the_world_of_these_tests_asks_something():
    vocabulary = taxonomy(category_names(EVENTS.lazy()).lazy())
    tables = rebuild(EVENTS, SMALL, vocabulary, None)
    assert tables.transitions.height > 30
    assert set(tables.pools.pool_gold["familiarity"].to_list()) >= {"seen", "familiar", "related", "new"}
    assert set(tables.pools.pool_gold["role"].to_list()) >= {"positive", "matched", "history"}
    assert tables.domains["quarter"].n_unique() >= 3


# Planted leaks: each replaces one step by one that looks where it must not.


def later_category(events, settings):
    """Visits whose category is the one the item carried last."""
    last = events.sort("time").group_by("item_id").agg(pl.col("l1", "l2").drop_nulls().last())
    return visits(events.drop("l1", "l2").join(last, on="item_id", how="left").select(EVENTS.columns), settings)


def domains_of_the_whole_log(visits, batches, settings):
    """Domain tables that count a quarter's own visits, and later ones, too."""
    tables = default_build.domains(visits, batches, settings)
    last = tables.filter(pl.col("quarter") == pl.col("quarter").max()).drop("quarter")
    quarters = tables.select("quarter").unique()
    return quarters.join(last, how="cross").select(tables.columns).sort("quarter", "l1", "rank")


def familiarity_of_the_outcome(signals, visits, batches, transitions, domains, settings):
    """Familiarity that has already seen batch t+1."""
    later = transitions.with_columns(pl.col("transition_index") + 1)
    moved = signals.with_columns(pl.col("transition_index") + 1)
    labelled = positives(moved, visits, batches, later, domains, settings)
    return labelled.with_columns(pl.col("transition_index") - 1)


def order_by_role(*inputs):
    """Pools whose positives come first."""
    built = default_build.pools(*inputs)
    key = ["user_id", "transition_index", "pool"]
    gold = built.pool_gold.sort(*key, "role", "position").with_columns(
        pl.int_range(pl.len(), dtype=pl.Int32).over(key).alias("position")
    )
    shown = gold.join(built.pools.select(*key, "n_choose").unique(), on=key, how="left", maintain_order="left")
    return Pools(shown.select(built.pools.columns), gold, built.pool_counts)


def pools_that_spare_the_next_batch(positives, visits, batches, transitions, domains, taxonomy, settings):
    """Distractors that are never visited in batch t+1, not even by a shallow click."""
    key = ["user_id", "transition_index", "l1", "l2"]
    shown = visits.join_asof(
        batches.select("user_id", "batch_index", "first_visit"),
        left_on="visit_index",
        right_on="first_visit",
        by="user_id",
        check_sortedness=False,
    )
    touched = shown.filter(pl.col("l2").is_not_null()).with_columns(transition_index=pl.col("batch_index") - 1)
    spared = touched.select(key).unique().join(transitions.select(key[:2]), on=key[:2], how="semi").collect()
    more = spared.join(positives, on=key, how="anti", nulls_equal=True).with_columns(kept=pl.lit(False))
    every = pl.concat([positives, more], how="diagonal")
    return default_build.pools(every, visits, batches, transitions, domains, taxonomy, settings)


def transitions_of_a_later_quarter(batches, cohort):
    """Transitions that read the domain table of the user's last quarter."""
    built = default_build.transitions(batches, cohort)
    return built.with_columns(pl.col("target_end").max().over("user_id").dt.truncate("1q").alias("quarter"))


LEAKS = {
    "an item's later category": (Build(visits=later_category), "visits:"),
    "a domain table of the whole log": (Build(domains=domains_of_the_whole_log), "domains:"),
    "familiarity that knows batch t+1": (Build(positives=familiarity_of_the_outcome), "positives:"),
    "distractors that batch t+1 does not hold": (Build(pools=pools_that_spare_the_next_batch), "pools:"),
    "the domain table of a later quarter": (Build(transitions=transitions_of_a_later_quarter), "transition t:"),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_a_planted_leak_is_caught(leak):
    build, where = LEAKS[leak]
    found = audit_future(EVENTS, SMALL, 4, seed=3, build=build)
    assert where in " ".join(found["detail"].to_list())


def test_an_order_that_knows_the_roles_is_caught():
    found = audit_future(EVENTS, SMALL, 1, seed=3, build=Build(pools=order_by_role))
    assert "candidates are not in the order of their keyed hash" in found["rule"].to_list()


def test_familiarity_that_knows_the_outcome_is_also_seen_in_frozen_tables():
    found = audit_future(EVENTS, SMALL, [], seed=3, build=Build(positives=familiarity_of_the_outcome))
    assert set(found["rule"].to_list()) >= {"familiarity is not that of batches ≤ t"}


def first_cut(events=EVENTS, settings=SMALL, t=2):
    tables = rebuild(events, settings, taxonomy(category_names(events.lazy()).lazy()), None)
    return tables, tables.transitions.row(
        by_predicate=(pl.col("user_id") == "u0") & (pl.col("transition_index") == t), named=True
    )


def test_everything_after_the_cut_is_replaced_but_the_first_time():
    _, step = first_cut()
    other = perturb_future(EVENTS, "u0", step["history_end"], catalogue_of(EVENTS.lazy()), 5)
    after = (pl.col("user_id") == "u0") & (pl.col("time") > step["history_end"])
    assert other.schema == EVENTS.schema
    assert other.filter(~after).sort(EVENTS.columns).equals(EVENTS.filter(~after).sort(EVENTS.columns))
    old = EVENTS.filter(after & (pl.col("action") != "cancel")).sort("time")
    new = other.filter(after).sort("time")
    assert new.height > old.height
    assert new["time"][0] == old["time"][0] == step["target_start"]
    assert new["item_id"][0] not in set(EVENTS["item_id"].to_list())
    assert (new["l1"][0], new["l2"][0]) != (old["l1"][0], old["l2"][0])
    assert not set(new["time"].to_list()[1:]) & set(old["time"].to_list())
    assert new["l2"].null_count() == 0
    assert (new["item_id"] == new["item_id"].shift(1)).sum() == 0


def test_some_replaced_events_give_a_known_item_another_category():
    _, step = first_cut()
    other = perturb_future(EVENTS, "u0", step["history_end"], catalogue_of(EVENTS.lazy()), 5)
    after = (pl.col("user_id") == "u0") & (pl.col("time") > step["history_end"])
    history = EVENTS.filter((pl.col("user_id") == "u0") & ~after).select("item_id", "l1", "l2").unique()
    both = other.filter(after).join(history, on="item_id")
    assert both.filter((pl.col("l1") != pl.col("l1_right")) | (pl.col("l2") != pl.col("l2_right"))).height > 0


def test_replacing_is_repeatable_and_keyed():
    _, step = first_cut()
    catalogue = catalogue_of(EVENTS.lazy())
    shuffled = EVENTS.sample(fraction=1, shuffle=True, seed=1)
    one = perturb_future(EVENTS, "u0", step["history_end"], catalogue, 5)
    assert (
        conform(perturb_future(shuffled, "u0", step["history_end"], catalogue, 5).lazy(), "events")
        .collect()
        .equals(conform(one.lazy(), "events").collect())
    )
    assert not perturb_future(EVENTS, "u0", step["history_end"], catalogue, 6).equals(one)


def test_replacing_refuses_what_it_cannot_do():
    catalogue = catalogue_of(EVENTS.lazy())
    with pytest.raises(ValueError, match="no event of user 'u0' follows"):
        perturb_future(EVENTS, "u0", datetime(2100, 1, 1, tzinfo=UTC), catalogue, 5)
    with pytest.raises(ValueError, match="nobody"):
        audit_future(EVENTS, SMALL, ["nobody"], seed=3)


def test_a_log_of_one_category_has_another_future_too():
    one = EVENTS.with_columns(l1=pl.lit("a"), l2=pl.lit("b"))
    _, step = first_cut(one)
    other = perturb_future(one, "u0", step["history_end"], catalogue_of(one.lazy()), 5)
    after = (pl.col("user_id") == "u0") & (pl.col("time") > step["history_end"])
    old, new = one.filter(after & (pl.col("action") != "cancel")).sort("time"), other.filter(after).sort("time")
    assert new["time"][0] == old["time"][0]
    assert not set(new["time"].to_list()[1:]) & set(old["time"].to_list())
    assert new["item_id"][0] not in set(one["item_id"].to_list())
    assert new["l2"].unique().to_list() == ["b"]
    assert audit_future(one, SMALL, 3, seed=3).is_empty()


def test_users_of_different_quarters_are_all_replaced():
    tables, _ = first_cut()
    assert tables.transitions["quarter"].n_unique() >= 3
    found = audit_future(EVENTS, SMALL, 6, seed=3, build=Build(positives=familiarity_of_the_outcome))
    moved = found.filter(pl.col("rule") == "the past moved with the future")
    quarters = moved.join(tables.transitions, on=["user_id", "transition_index"])["quarter"]
    assert (moved["user_id"].n_unique(), quarters.n_unique()) == (3, 2)


def test_a_violation_says_what_moved():
    tables, step = first_cut()
    moved = replace(tables, batches=tables.batches.with_columns(pl.col("n_visits") + 1))
    (found,) = compare(tables, moved, "u0", step["transition_index"])
    assert (found["user_id"], found["transition_index"]) == ("u0", 2)
    assert found["detail"].startswith("batches: 3 rows gone, 3 rows new")
    assert compare(tables, tables, "u0", 2) == []
    assert list(found) == VIOLATIONS.names()


@pytest.mark.parametrize("seed", range(4))
def test_other_logs_pass_too(seed):
    """Sparse domains, batches closed by days, logs without level 1."""
    events = log(n_users=4, n_events=50, seed=seed + 10, domains="abc")
    if seed % 2:
        events = events.with_columns(l1=pl.lit(None, pl.String), l1_name=pl.lit(None, pl.String))
    settings = SMALL.model_copy(update={"batch_visits": 200, "batch_days": 9, "seed": seed})
    found = audit_future(events, settings, 4, seed=seed)
    assert found.is_empty(), found.to_dicts()
