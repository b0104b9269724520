"""Pools, positives, familiarity and domains agree with a slow oracle, and keep their rules on the borders."""

import os
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pool_oracle as oracle
import pytest
from hypothesis import HealthCheck, given, settings
from pool_worlds import table, world, worlds

from pipelines.commerce.domains import domains
from pipelines.commerce.pool_rules import familiarity_rules, pool_rules
from pipelines.commerce.pools import pools
from pipelines.commerce.positives import positives
from pipelines.commerce.taxonomy import NoCategories
from pipelines.commerce.walks import mix
from pipelines.hashing import mix64
from pipelines.schema import TABLES

T0 = datetime(2020, 2, 1, tzinfo=UTC)
NAMES = ("pools", "pool_gold", "pool_counts")


def examples(n):
    return settings(max_examples=n, deadline=None, suppress_health_check=list(HealthCheck))


def past_of(w, tables):
    return (w.visits.lazy(), w.batches.lazy(), w.transitions.lazy(), tables.lazy())


def build(w, taxonomy=None):
    tables = domains(w.visits.lazy(), w.batches.lazy(), w.settings)
    labelled = positives(w.signals, *past_of(w, tables), w.settings)
    return (
        tables,
        labelled,
        pools(labelled, *past_of(w, tables), w.taxonomy if taxonomy is None else taxonomy, w.settings),
    )


def frames(built):
    return {name: getattr(built, name) for name in NAMES}


def same(frame, expected, name):
    """The frame is the table, in its total order, with exactly the expected rows."""
    spec = TABLES[name]
    assert frame.schema == spec.schema
    assert frame.equals(frame.sort(spec.sort_by, nulls_last=False))
    assert frame.equals(pl.DataFrame(expected, schema=spec.schema).sort(spec.sort_by, nulls_last=False))


@examples(60)
@given(worlds())
def test_everything_agrees_with_the_oracle(w):
    if w.taxonomy.is_empty():
        return
    tables, labelled, built = build(w)
    visits, batches, transitions = (x.to_dicts() for x in (w.visits, w.batches, w.transitions))
    expected_domains = oracle.domains(visits, batches, w.settings)
    same(tables, expected_domains, "domains")
    expected = oracle.positives(w.signals.to_dicts(), visits, batches, transitions, expected_domains, w.settings)
    same(labelled, expected, "positives")
    taxonomy = [(r["l1"], r["l2"]) for r in w.taxonomy.to_dicts()]
    shown, counts = oracle.pools(expected, visits, batches, transitions, expected_domains, taxonomy, w.settings)
    for name, want in zip(NAMES, (shown, shown, counts), strict=True):
        columns = TABLES[name].schema.names()
        same(frames(built)[name], [{c: r[c] for c in columns} for r in want], name)


def test_the_random_worlds_reach_every_role_and_familiarity():
    found = Counter()

    @settings(max_examples=25, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(worlds())
    def collect(w):
        if w.taxonomy.height:
            gold = build(w)[2].pool_gold
            found.update(gold["role"].to_list())
            found.update(gold["familiarity"].to_list())

    collect()
    assert set(found) == {
        "positive",
        "matched",
        "history",
        "random",
        "seen",
        "familiar",
        "related",
        "new",
        "unconnected",
    }


@examples(15)
@given(worlds())
def test_row_order_does_not_matter(w):
    if w.taxonomy.is_empty():
        return
    mixed = type(w)(
        *(
            getattr(w, name).sample(fraction=1, shuffle=True, seed=3)
            for name in ("visits", "batches", "transitions", "signals", "taxonomy")
        ),
        w.settings,
    )
    for one, other in zip(build(w)[:2], build(mixed)[:2], strict=True):
        assert one.equals(other)
    for name in NAMES:
        assert frames(build(w)[2])[name].equals(frames(build(mixed)[2])[name])


@examples(12)
@given(worlds())
def test_shards_put_together_are_the_whole(w):
    if w.taxonomy.is_empty():
        return
    tables, labelled, built = build(w)
    parts = []
    for user in sorted(w.batches["user_id"].unique().to_list()):
        mine = pl.col("user_id") == user
        past = tuple(x.filter(mine).lazy() for x in (w.visits, w.batches, w.transitions))
        own = positives(w.signals.filter(mine), *past, tables.lazy(), w.settings)
        parts.append((own, pools(own, *past, tables.lazy(), w.taxonomy, w.settings)))
    assert pl.concat([own for own, _ in parts]).equals(labelled)
    for name in NAMES:
        assert pl.concat([frames(part)[name] for _, part in parts]).equals(frames(built)[name])


@examples(20)
@given(worlds())
def test_the_rules_hold_on_every_world(w):
    if w.taxonomy.is_empty():
        return
    tables, labelled, built = build(w)
    assert pool_rules(built.pools, built.pool_gold, labelled, w.settings).is_empty()
    assert familiarity_rules(labelled, built.pool_gold, *past_of(w, tables), w.settings).is_empty()


@examples(20)
@given(worlds())
def test_a_larger_taxonomy_only_displaces(w):
    """Candidates that stay keep their order, and only newcomers come in for those that go."""
    if w.taxonomy.is_empty():
        return
    new = table("taxonomy", [{"l1": a, "l2": f"new {n}", "l2_name": "n"} for a in "ab" for n in range(3)])
    grown = pl.concat([w.taxonomy, new])
    small, large = (build(w, taxonomy)[2].pool_gold for taxonomy in (w.taxonomy, grown))
    pool = ["user_id", "transition_index", "pool"]
    for key, before in small.group_by(pool):
        after = large.filter(pl.all_horizontal(pl.col(c) == k for c, k in zip(pool, key, strict=True)))
        old, now = (list(zip(x["l1"], x["l2"], strict=True)) for x in (before.sort("position"), after))
        assert [c for c in old if c in now] == [c for c in now if c in old]
        entered = [c for c in now if c not in old]
        assert all(l2.startswith("new") for _, l2 in entered)


def day(number, *categories):
    return [(T0 + timedelta(days=number, minutes=i), c) for i, c in enumerate(categories)]


def cats(l1, *numbers):
    return [(l1, f"c{n}") for n in numbers]


def counts(built, pool="remember", t=0):
    row = built.pool_counts.filter((pl.col("pool") == pool) & (pl.col("transition_index") == t)).row(0, named=True)
    return {k: v for k, v in row.items() if k.startswith("n_")}


def test_a_pool_in_the_plain_case():
    # 20 categories of a familiar domain seen; 2 of them wanted.
    w = world({"u": [day(0, *cats("a", *range(20))), day(1, ("a", "c0"))]}, [("u", 0, c) for c in cats("a", 0, 1)])
    built = build(w)[2]
    assert counts(built) == {"n_positives": 2, "n_cut": 0, "n_matched": 6, "n_history": 0, "n_random": 0, "n_short": 0}
    assert counts(built, "infer") == dict.fromkeys(counts(built), 0)
    assert built.pools["n_choose"].to_list() == [2] * 8
    assert built.pools["position"].to_list() == list(range(8))
    assert built.pools.columns == ["user_id", "transition_index", "pool", "position", "l1", "l2", "n_choose"]
    wanted = built.pool_gold.filter(pl.col("role") == "positive").select("l1", "l2").sort("l2").rows()
    assert wanted == cats("a", 0, 1)


@pytest.mark.parametrize(("n", "kept", "cut"), [(9, 9, 0), (10, 10, 0), (11, 10, 1), (30, 10, 20)])
def test_at_most_ten_positives_are_kept(n, kept, cut):
    w = world({"u": [day(0, *cats("a", *range(99))), day(1, ("a", "c0"))]}, [("u", 0, c) for c in cats("a", *range(n))])
    _, labelled, built = build(w)
    assert counts(built)["n_positives"] == kept
    assert counts(built)["n_cut"] == cut
    gone = labelled.filter(~pl.col("kept")).select("l1", "l2")
    assert gone.height == cut
    assert set(labelled["pool"].to_list()) == {"remember"}
    # Neither asked nor offered as a distractor.
    assert built.pools.join(gone, on=["l1", "l2"], how="semi").is_empty()


def test_the_limit_is_per_pool():
    seen, near = cats("a", *range(12)), cats("b", *range(1, 13))
    w = world({"u": [day(0, *seen, ("b", "c0")), day(1, ("b", "c0"))]}, [("u", 0, c) for c in seen + near])
    built = build(w)[2]
    assert [counts(built, pool)["n_positives"] for pool in ("remember", "infer")] == [10, 10]
    assert [counts(built, pool)["n_cut"] for pool in ("remember", "infer")] == [2, 2]


def test_matched_comes_first_then_history_then_random_then_nothing():
    # Seen: c0, c1 (both wanted), c2. Familiar: f0. Elsewhere: one unconnected category.
    history = day(0, *cats("a", 0, 1, 2), ("a", "c0"), ("a", "c0"))
    w = world(
        {"u": [history, day(1, ("a", "c0"))]}, [("u", 0, c) for c in cats("a", 0, 1)], [("a", "f0"), ("z", "far")]
    )
    built = build(w)[2]
    assert counts(built) == {"n_positives": 2, "n_cut": 0, "n_matched": 1, "n_history": 1, "n_random": 1, "n_short": 3}
    roles = {(r["l1"], r["l2"]): (r["role"], r["familiarity"]) for r in built.pool_gold.to_dicts()}
    assert roles == {
        ("a", "c0"): ("positive", "seen"),
        ("a", "c1"): ("positive", "seen"),
        ("a", "c2"): ("matched", "seen"),
        ("a", "f0"): ("history", "familiar"),
        ("z", "far"): ("random", "unconnected"),
    }


def test_no_positive_of_the_transition_is_a_distractor():
    # Wanted: one seen, one related, one unconnected, and more than the limit; nothing of them is offered.
    seen, near, far = cats("a", *range(6)), cats("b", 1, 2), cats("z", *range(3))
    w = world(
        {"u": [day(0, *cats("a", *range(8)), ("b", "c0")), day(1, ("b", "c0"))]},
        [("u", 0, c) for c in seen + near + far],
        max_positives=2,
    )
    _, labelled, built = build(w)
    assert labelled.filter(pl.col("pool").is_null())["l1"].to_list() == ["z"] * 3
    wanted = set(seen + near + far)
    offered = built.pool_gold.filter(pl.col("role") != "positive")
    assert not wanted & set(zip(offered["l1"], offered["l2"], strict=True))
    assert counts(built)["n_positives"] == 2
    # The other pool's categories may be random fallbacks, but not its positives.
    assert set(zip(*(offered.filter(pl.col("pool") == "remember")[c] for c in ("l1", "l2")), strict=True)) == {
        ("a", "c6"),
        ("a", "c7"),
        ("b", "c0"),
    }


def test_a_pool_does_not_depend_on_other_transitions_or_users():
    users = {name: [day(0, *cats("a", *range(9))), day(1, ("a", "c0")), day(2, ("b", "q"))] for name in "uv"}
    one = world({"u": users["u"][:2]}, [("u", 0, ("a", "c0"))], [("b", "q")])
    many = world(users, [(u, t, ("a", f"c{t}")) for u in "uv" for t in (0, 1)])
    mine = (pl.col("user_id") == "u") & (pl.col("transition_index") == 0)
    assert build(many)[2].pool_gold.filter(mine).equals(build(one)[2].pool_gold)


def test_order_and_choice_differ_between_users_transitions_and_seeds():
    users = {name: [day(n, *cats("a", *range(60))) for n in range(3)] for name in "uv"}
    wanted = [(u, t, ("a", "c0")) for u in "uv" for t in (0, 1)]
    drawn = set()
    for seed in (1, 2):
        gold = build(world(users, wanted, seed=seed))[2].pool_gold
        for _, part in gold.group_by("user_id", "transition_index"):
            drawn.add(tuple(part.sort("position")["l2"].to_list()))
    assert len(drawn) == 8


def test_positives_stand_anywhere():
    users = {f"u{n}": [day(0, *cats("a", *range(40))), day(1, ("a", "c0"))] for n in range(400)}
    gold = build(world(users, [(u, 0, ("a", "c0")) for u in users]))[2].pool_gold
    places = Counter(gold.filter(pl.col("role") == "positive")["position"].to_list())
    assert set(places) == {0, 1, 2, 3}
    assert all(70 < n < 130 for n in places.values())


def test_a_log_without_level_one_asks_for_seen_categories_only():
    seen = [(None, f"c{n}") for n in range(8)]
    w = world({"u": [day(0, *seen), day(1, (None, "c0"))]}, [("u", 0, (None, "c0")), ("u", 0, (None, "unseen"))])
    _, labelled, built = build(w)
    assert dict(zip(labelled["l2"], labelled["familiarity"], strict=True)) == {"c0": "seen", "unseen": "unconnected"}
    assert labelled["pool"].to_list() == ["remember", None]
    assert counts(built)["n_matched"] == 3
    assert counts(built, "infer")["n_positives"] == 0


def test_a_log_without_level_two_is_refused():
    w = world({"u": [day(0, None), day(1, None)]})
    with pytest.raises(NoCategories, match="no level-2 category"):
        pools(TABLES["positives"].empty(), *past_of(w, TABLES["domains"].empty()), w.taxonomy, w.settings)


def test_an_empty_shard_gives_empty_tables():
    w = world({"u": [day(0, ("a", "c0"))]})
    built = build(w)[2]
    for name, frame in frames(built).items():
        assert frame.equals(TABLES[name].empty())


def test_what_is_not_in_the_taxonomy_is_refused():
    w = world({"u": [day(0, ("a", "c0")), day(1, ("a", "c1"))]}, [("u", 0, ("a", "c1"))])
    with pytest.raises(ValueError, match="a visit names a category that is not in the taxonomy"):
        build(w, w.taxonomy.filter(pl.col("l2") != "c0"))
    v = world({"u": [day(0, ("a", "c0")), day(1, ("a", "c0"))]}, [("u", 0, ("a", "c1"))])
    with pytest.raises(ValueError, match="a row names a category that is not in the taxonomy"):
        build(v, v.taxonomy.filter(pl.col("l2") != "c1"))


def test_the_compiled_mixer_is_the_published_one():
    keys = np.array([0, 1, 2**63, 2**64 - 1, 12345678901234567890], dtype=np.uint64)
    states = mix64(np.uint64(7), keys)
    assert [int(mix(state, key)) for state, key in zip(states, keys, strict=True)] == mix64(
        np.uint64(7), keys, keys
    ).tolist()
    assert [oracle.mix(7, int(key)) for key in keys] == states.tolist()


def test_a_visited_distractor_is_said_to_be_seen():
    """Being in the history is a labelled property of a distractor, not an accident."""
    visited = cats("a", *range(30))
    w = world(
        {"u": [day(0, *visited), day(1, ("a", "c0"))]}, [("u", 0, ("a", "c0")), ("u", 0, ("a", "n0"))], cats("a", 50)
    )
    gold = build(w)[2].pool_gold
    for row in gold.to_dicts():
        assert (row["familiarity"] == "seen") == ((row["l1"], row["l2"]) in visited)


SCRIPT = """
from test_pools import build, cats, day
from pool_worlds import world
from pipelines.hashing import frame_hash
users = {name: [day(n * 60, *cats("abc"[n % 3], *range(n, 30))) for n in range(6)] for name in ("u", "Ü", "v w")}
wanted = [(u, t, c) for u in users for t in range(5) for c in [*cats("a", *range(12)), *cats("b", t)]]
tables, labelled, built = build(world(users, wanted, cats("d", *range(9)), seed=7))
print(*map(frame_hash, (tables, labelled, built.pools, built.pool_gold, built.pool_counts)))
"""


@pytest.mark.parametrize(
    "environment",
    [
        {"TZ": "Asia/Shanghai", "PYTHONHASHSEED": "1", "POLARS_MAX_THREADS": "1", "LC_ALL": "C"},
        {"TZ": "America/New_York", "PYTHONHASHSEED": "2", "POLARS_MAX_THREADS": "3", "LC_ALL": "C.UTF-8"},
    ],
)
def test_zone_hash_seed_locale_and_threads_change_nothing(environment):
    here = Path(__file__).parent
    path = os.pathsep.join([str(here), str(here.parents[1])])
    out = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=os.environ | environment | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert out.returncode == 0, out.stderr
    assert out.stdout.split() == KNOWN


KNOWN = [
    "76a2431694bbe0be5651f3f31f817c4b",
    "f77749806fca1df260a25cd1bd014a8d",
    "cca19f3ba8720c5495278f2a07e2b286",
    "02b529838d996b3a01cc567d3a19a9b8",
    "1b83bd2a691ef225de3faf7bb9991eb8",
]
"""Hashes of the domain table, positives, pools, roles and counts of the world above, on any machine."""
