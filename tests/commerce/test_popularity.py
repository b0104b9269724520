"""Popularity counts visits that ended strictly before a quarter."""

from datetime import UTC, datetime, timedelta

import polars as pl
from hypothesis import HealthCheck, given, settings
from pool_oracle import quarters
from pool_worlds import table, world, worlds

from pipelines.commerce.popularity import popularity
from pipelines.schema import TABLES

MICRO = timedelta(microseconds=1)
Q1, Q2, Q3 = (datetime(2020, month, 1, tzinfo=UTC) for month in (1, 4, 7))


def test_known_counts_on_the_border():
    w = world(
        {"u": [[(Q1, ("a", "x")), (Q2 - MICRO, ("a", "x")), (Q2, ("a", "x")), (Q2, None)]], "v": [[(Q3, (None, "y"))]]}
    )
    found = popularity(w.visits.lazy())
    assert found.schema == TABLES["popularity"].schema
    assert found.rows() == [(Q2, "a", "x", 2), (Q3, "a", "x", 3)]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(worlds())
def test_agrees_with_a_plain_count(w):
    visits = w.visits.to_dicts()
    expected = []
    for start in quarters(min(v["end"] for v in visits), max(v["end"] for v in visits)):
        past = [(v["l1"], v["l2"]) for v in visits if v["end"] < start and v["l2"] is not None]
        expected += [{"quarter": start, "l1": c[0], "l2": c[1], "n_visits": past.count(c)} for c in set(past)]
    want = table("popularity", expected)
    assert popularity(w.visits.lazy()).equals(want)
    assert popularity(w.visits.sample(fraction=1, shuffle=True, seed=1).lazy()).equals(want)


def test_an_empty_log():
    assert popularity(table("visits", []).lazy()).equals(pl.DataFrame(schema=TABLES["popularity"].schema))
