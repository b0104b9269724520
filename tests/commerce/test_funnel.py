"""The funnel adds up or says where it does not; statistics of a known small release; the real sample."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pool_oracle as oracle
import pytest
from pool_worlds import table, world

from pipelines.commerce.domains import domains
from pipelines.commerce.events import read_drop
from pipelines.commerce.funnel import FunnelError, Step, funnel, merge_step, read_step, release_steps
from pipelines.commerce.perturbation import audit_future
from pipelines.commerce.pool_rules import familiarity_rules, pool_rules
from pipelines.commerce.pools import pools
from pipelines.commerce.positives import positives
from pipelines.commerce.settings import CommerceSettings
from pipelines.commerce.sources import SOURCES
from pipelines.commerce.statistics import PAPER, statistics
from pipelines.commerce.taxonomy import category_names, taxonomy
from pipelines.commerce.trajectories import trajectories
from pipelines.schema import TABLES

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "ecommerce"
T0 = datetime(2020, 2, 1, tzinfo=UTC)


def test_rows_of_the_table():
    found = funnel([read_step(10, 6, 1, {"bad time": 2, "unknown action": 1}), merge_step(6, 5)])
    assert found.schema == TABLES["funnel"].schema
    assert found["place"].to_list() == list(range(6))
    assert found.drop("place").rows() == [
        ("read", "rows", "", 6),
        ("read", "rows", "bad time", 2),
        ("read", "rows", "duplicate within the drop", 1),
        ("read", "rows", "unknown action", 1),
        ("drops", "events", "", 5),
        ("drops", "events", "duplicate across drops", 1),
    ]
    assert funnel([]).equals(TABLES["funnel"].empty())


@pytest.mark.parametrize("kept", [5, 7])
def test_units_that_vanish_or_appear_are_an_error(kept):
    with pytest.raises(FunnelError, match=r"read: 10 rows in.*unexplained"):
        funnel([read_step(10, kept, 1, {"bad time": 3})])
    funnel([Step("read", "rows", 10, 6, {"a": 4})])


def release():
    """One cohort user with three batches, one with one, one outside; some of everything."""

    def day(n, *categories):
        return [(T0 + timedelta(days=n, minutes=i), c) for i, c in enumerate(categories)]

    seen = [("a", f"c{n}") for n in range(12)]
    w = world(
        {
            "u": [day(0, *seen, None), day(1, *seen), day(2, ("a", "c0"))],
            "v": [day(0, *seen)],
            "w": [day(0, ("b", "q"))],
        },
        [("u", 0, c) for c in [*seen[:3], ("z", "far")]] + [("u", 1, ("a", "c5"))],
        max_positives=2,
    )
    transitions = w.transitions
    visits = w.visits.with_columns(n_purchase=pl.lit(1, pl.Int32))
    cohort = table(
        "cohort",
        [
            {"user_id": "u", "n_visits": 26, "n_batches": 3, "reason": ""},
            {"user_id": "v", "n_visits": 12, "n_batches": 1, "reason": ""},
            {"user_id": "w", "n_visits": 1, "n_batches": 1, "reason": "too few"},
        ],
    )
    events = pl.DataFrame({"action": ["purchase"] * visits.height + ["cancel"] * 2 + ["refund"]})
    past = (visits.lazy(), w.batches.lazy(), transitions.lazy(), TABLES["domains"].empty().lazy())
    labelled = positives(w.signals, *past, w.settings)
    built = pools(labelled, *past, w.taxonomy, w.settings)
    return w, visits, cohort, events, labelled, built


def test_every_step_of_a_release_adds_up():
    w, visits, cohort, events, labelled, built = release()
    steps = release_steps(
        events=events.lazy(),
        visits=visits.lazy(),
        cohort=cohort.lazy(),
        batches=w.batches.lazy(),
        transitions=w.transitions.lazy(),
        positives=labelled.lazy(),
        pool_counts=built.pool_counts.lazy(),
        settings=w.settings,
    )
    assert funnel(steps).drop("place").rows() == [
        ("visits", "events", "", 39),
        ("visits", "events", "cancel", 2),
        ("visits", "events", "refund", 1),
        ("visits", "visits", "", 38),
        ("visits", "visits", "without a category", 1),
        ("cohort", "users", "", 2),
        ("cohort", "users", "too few", 1),
        ("transitions", "batches", "", 2),
        ("transitions", "batches", "first batch of a user, history only", 2),
        ("labels", "categories", "", 3),
        ("labels", "categories", "cut by the limit", 1),
        ("labels", "categories", "unconnected", 1),
        ("pools", "pools", "", 2),
        ("pools", "pools", "empty: infer", 2),
        ("pools", "distractors", "", 9),
    ]


def test_statistics_of_a_known_release():
    w, visits, cohort, _, labelled, built = release()
    rows = statistics(
        visits=visits.lazy(),
        batches=w.batches.lazy(),
        cohort=cohort.lazy(),
        transitions=w.transitions.lazy(),
        taxonomy=w.taxonomy.lazy(),
        positives=labelled.lazy(),
        pool_counts=built.pool_counts.lazy(),
    )
    values = {row["name"]: row["value"] for row in rows}
    assert values["users"] == 2
    assert values["visits"] == 38
    assert values["batches"] == 4
    assert values["closed batches"] == 2
    assert values["transitions"] == 2
    assert values["visits per batch"] == 9.5
    assert values["visits per user, median"] == 19
    assert values["batches per user, median"] == 2
    assert values["users with at most 3 batches"] == 2
    assert values["users with at least 16 batches"] == 0
    assert values["domains visited"] == 1
    assert values["categories visited"] == 12
    assert values["categories in the taxonomy"] == 14
    assert values["chance"] == 0.25
    assert values["remember: pools"] == 2
    assert values["remember: positives a pool"] == 1.5
    assert values["remember: candidates a pool"] == 6
    assert values["remember: positives cut by the limit"] == 1
    assert values["remember: distractors matched, share"] == 1
    assert values["infer: empty pools"] == 2
    assert values["infer: chance"] is None
    assert values["positives"] == 5
    assert values["positives seen, share"] == 0.8
    assert values["positives unconnected, share"] == 0.2
    papers = {row["name"]: row["paper"] for row in rows if row["paper"] is not None}
    assert papers == PAPER


def test_statistics_of_nothing_are_null_not_an_error():
    names = ("visits", "batches", "cohort", "transitions", "taxonomy", "positives", "pool_counts")
    rows = statistics(**{name: TABLES[name].empty().lazy() for name in names})
    values = {row["name"]: row["value"] for row in rows}
    assert values["users"] == 0
    assert values["visits per batch"] is None
    assert values["chance"] is None
    assert values["positives seen, share"] is None


def complete_journey():
    """Events of the 55 households, straight from the two files."""
    folder = DATA / "completejourney"
    if not folder.exists():
        pytest.skip("the Complete Journey sample is not beside the checkout")
    return read_drop(sorted(folder.glob("*.csv")), SOURCES["complete_journey"])


def test_the_complete_journey_sample():
    drop = complete_journey()
    settings = CommerceSettings()
    made = trajectories(drop.events.lazy(), settings)
    connected = domains(made.visits.lazy(), made.batches.lazy(), settings)
    past = (made.visits.lazy(), made.batches.lazy(), made.transitions.lazy(), connected.lazy())
    vocabulary = taxonomy(category_names(drop.events.lazy()).lazy())
    labelled = positives(made.signals, *past, settings)
    built = pools(labelled, *past, vocabulary, settings)
    assert pool_rules(built.pools, built.pool_gold, labelled, settings).is_empty()
    assert familiarity_rules(labelled, built.pool_gold, *past, settings).is_empty()
    steps = [read_step(drop.counts["rows_in"], drop.events.height, drop.counts["duplicates"], drop.reasons)]
    steps += release_steps(
        events=drop.events.lazy(),
        visits=made.visits.lazy(),
        cohort=made.cohort.lazy(),
        batches=made.batches.lazy(),
        transitions=made.transitions.lazy(),
        positives=labelled.lazy(),
        pool_counts=built.pool_counts.lazy(),
        settings=settings,
    )
    rows = {(step, unit, reason): n for step, unit, reason, n in funnel(steps).drop("place").rows()}
    assert rows["transitions", "batches", ""] == 524 - 55
    assert rows["cohort", "users", ""] == 55
    assert rows["visits", "visits", ""] + rows["visits", "visits", "without a category"] == 30_077
    assert made.batches["closed"].sum() == 469
    assert built.pool_counts["n_short"].sum() == 0


def test_the_oracle_agrees_on_the_complete_journey_sample():
    """Four households, one transition each, over the whole catalogue; domains of all households."""
    settings = CommerceSettings()
    drop = complete_journey()
    made = trajectories(drop.events.lazy(), settings)
    connected = domains(made.visits.lazy(), made.batches.lazy(), settings)
    links = oracle.domains(made.visits.to_dicts(), made.batches.to_dicts(), settings)
    assert connected.to_dicts() == links
    vocabulary = taxonomy(category_names(drop.events.lazy()).lazy())
    categories = vocabulary.select("l1", "l2").rows()
    for user in made.transitions.filter(pl.col("transition_index") == 3)["user_id"].sort().to_list()[::14]:
        mine = pl.col("user_id") == user
        visits, batches = made.visits.filter(mine), made.batches.filter(mine)
        late = mine & (pl.col("transition_index") == 3)
        transitions, signals = made.transitions.filter(late), made.signals.filter(late)
        past = (visits.lazy(), batches.lazy(), transitions.lazy(), connected.lazy())
        labelled = positives(signals, *past, settings)
        built = pools(labelled, *past, vocabulary, settings)
        plain = (visits.to_dicts(), batches.to_dicts(), transitions.to_dicts(), links)
        expected = oracle.positives(signals.to_dicts(), *plain, settings)
        shown, counts = oracle.pools(expected, *plain, categories, settings)
        assert labelled.height > 0
        assert labelled.equals(table("positives", expected))
        for name, rows in (("pools", shown), ("pool_gold", shown), ("pool_counts", counts)):
            assert getattr(built, name).equals(table(name, rows))


def test_the_complete_journey_sample_passes_the_audit():
    found = audit_future(complete_journey().events, CommerceSettings(), 4, seed=1)
    assert found.is_empty(), found.to_dicts()
