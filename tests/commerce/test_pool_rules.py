"""The rules of frozen pools are checked without a rebuild, and each broken rule is named."""

import polars as pl
import pytest
from pool_worlds import world
from test_pools import build, cats, day, frames, past_of

from pipelines.commerce.pool_rules import familiarity_rules, pool_rules


@pytest.fixture(scope="module")
def frozen():
    users = {name: [day(n, *cats("a", *range(20)), ("b", "c0")) for n in range(2)] for name in "uv"}
    w = world(users, [(u, 0, c) for u in "uv" for c in [*cats("a", 0, 1), ("b", "c1")]], cats("b", *range(1, 9)))
    tables, labelled, built = build(w)
    return w, tables, labelled, built


def broken(frozen, **changed):
    w, _, labelled, built = frozen
    parts = {"pools": built.pools, "pool_gold": built.pool_gold, "positives": labelled} | changed
    return set(pool_rules(**parts, settings=w.settings)["rule"].to_list())


def swap(frame, a, b):
    """The candidates of two places change places."""
    moved = frame.with_columns(pl.col("position").replace({a: b, b: a}))
    return moved.sort("user_id", "transition_index", "pool", "position")


def test_an_order_that_is_not_the_keyed_one_is_caught(frozen):
    built = frozen[3]
    assert broken(frozen) == set()
    moved = {name: swap(frames(built)[name], 0, 1) for name in ("pools", "pool_gold")}
    assert broken(frozen, **moved) == {"candidates are not in the order of their keyed hash"}
    assert broken(frozen, pools=moved["pools"]) == {
        "candidates are not in the order of their keyed hash",
        "a candidate of the pool has no role",
        "a role belongs to no candidate of the pool",
    }


def test_a_distractor_that_is_a_positive_is_caught(frozen):
    labelled, built = frozen[2:]
    offered = built.pool_gold.filter(pl.col("role") == "matched").head(1)
    extra = labelled.head(1).with_columns(offered[c].alias(c) for c in ("user_id", "transition_index", "l1", "l2"))
    cut = extra.with_columns(pl.lit(False).alias("kept"))
    assert broken(frozen, positives=pl.concat([labelled, cut])) == {"a distractor is a positive of the transition"}
    gone = cut.with_columns(pl.lit(None, labelled.schema["pool"]).alias("pool"))
    assert broken(frozen, positives=pl.concat([labelled, gone])) == {"a distractor is a positive of the transition"}


def test_repeats_counts_and_roles_are_caught(frozen):
    labelled, built = frozen[2:]
    gold = built.pool_gold
    doubled = pl.concat([gold, gold.head(1)])
    assert "a candidate is there twice" in broken(frozen, pool_gold=doubled)
    wrong = built.pools.with_columns(pl.col("n_choose") + 1)
    assert broken(frozen, pools=wrong) == {"the number to choose is not that of the positives"}
    assert broken(frozen, positives=labelled.filter(pl.col("l2") != "c1")) >= {"a candidate called positive is none"}
    lost = gold.with_columns(pl.col("role").replace("positive", "matched"))
    assert broken(frozen, pool_gold=lost) >= {
        "a kept positive is not in its pool",
        "matched distractors have no positive of their familiarity",
        "a pool has more distractors than wanted",
    }
    shifted = built.pools.with_columns(pl.col("position") + 1)
    assert "positions are not 0, 1, 2 …" in broken(frozen, pools=shifted)


def test_a_familiarity_that_the_history_does_not_give_is_caught(frozen):
    w, tables, labelled, built = frozen
    gold = built.pool_gold
    other = gold.with_columns(pl.col("familiarity").replace({"seen": "related", "related": "seen"}))
    assert "a candidate's familiarity does not belong to the pool" in broken(frozen, pool_gold=other)
    assert familiarity_rules(labelled, gold, *past_of(w, tables), w.settings).is_empty()
    found = familiarity_rules(labelled, other, *past_of(w, tables), w.settings)
    assert found.height == gold.height
