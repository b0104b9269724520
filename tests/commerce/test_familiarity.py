"""Familiarity on its borders."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from pool_worlds import world

from pipelines.commerce.domains import domains
from pipelines.commerce.familiarity import familiarity
from pipelines.commerce.tables import FAMILIARITIES
from pipelines.schema import TABLES

T0 = datetime(2020, 2, 1, tzinfo=UTC)
Q2 = datetime(2020, 4, 1, tzinfo=UTC)
MICRO = timedelta(microseconds=1)


def part(*categories, at=T0):
    return [(at + timedelta(minutes=i), c) for i, c in enumerate(categories)]


def known(w, category, user="u", t=0, tables=None):
    candidates = pl.DataFrame(
        [(user, t, *category)],
        schema={"user_id": pl.String, "transition_index": pl.Int32, "l1": pl.String, "l2": pl.String},
        orient="row",
    )
    past = (w.visits.lazy(), w.batches.lazy(), w.transitions.lazy())
    tables = domains(*past[:2], w.settings) if tables is None else tables
    return familiarity(candidates, *past, tables.lazy(), w.settings)["familiarity"].item()


@pytest.mark.parametrize(("n", "expected"), [(1, "related"), (4, "related"), (5, "familiar"), (6, "familiar")])
def test_the_fifth_visit_makes_a_domain_familiar(n, expected):
    w = world({"u": [part(*[("a", "x")] * n), part(("b", "y"), at=T0 + timedelta(days=1))]})
    assert known(w, ("a", "z")) == expected
    assert known(w, ("a", "x")) == "seen"
    assert known(w, ("b", "y")) == "unconnected"


def test_visits_add_up_over_batches_but_not_beyond_t():
    day = timedelta(days=1)
    w = world({"u": [part(*[("a", "x")] * 3), part(*[("a", "y")] * 2, at=T0 + day), part(("a", "z"), at=T0 + 2 * day)]})
    assert [known(w, ("a", "z"), t=t) for t in (0, 1)] == ["related", "familiar"]
    assert [known(w, ("a", "y"), t=t) for t in (0, 1)] == ["related", "seen"]


def test_a_category_is_domain_and_name_together():
    w = world({"u": [part(("a", "x"), (None, "x")), part(("a", "x"), at=T0 + timedelta(days=1))]})
    assert known(w, ("b", "x")) == "unconnected"
    assert known(w, (None, "x")) == "seen"
    assert known(w, (None, "y")) == "unconnected"


def test_visits_without_a_category_do_not_count():
    visits = [("a", "x")] * 4
    w = world({"u": [part(*visits, ("a", "half")), part(("a", "z"), at=T0 + timedelta(days=1))]})
    assert known(w, ("a", "z")) == "familiar"
    half = w.visits.with_columns(pl.when(pl.col("l2") != "half").then("l2").alias("l2"))
    past = (half.lazy(), w.batches.lazy(), w.transitions.lazy(), TABLES["domains"].empty().lazy())
    rows = pl.DataFrame({"user_id": "u", "transition_index": 0, "l1": "a", "l2": "z"})
    rows = rows.with_columns(pl.col("transition_index").cast(pl.Int32))
    assert familiarity(rows, *past, w.settings)["familiarity"].item() == "related"


def test_new_is_one_way_and_needs_the_table_of_the_transitions_quarter():
    def log(end):
        """u visits a and its batch t ends at `end`; v links a with b before Q2."""
        users = {
            "u": [[(T0, ("a", "x")), (end, ("a", "x"))], [(end + timedelta(days=1), ("b", "y"))]],
            "v": [part(("a", "x"), ("b", "y"))],
            "w": [part(("c", "z"))],
        }
        return world(users)

    assert known(log(Q2 - MICRO), ("b", "y")) == "unconnected"
    assert known(log(Q2), ("b", "y")) == "new"
    assert known(log(Q2), ("c", "z")) == "unconnected"
    one_way = domains(log(Q2).visits.lazy(), log(Q2).batches.lazy(), log(Q2).settings).filter(pl.col("l1") == "b")
    assert known(log(Q2), ("b", "y"), tables=one_way) == "unconnected"


def test_rows_keep_their_order_and_columns():
    w = world({"u": [part(("a", "x")), part(("a", "y"), at=T0 + timedelta(days=1))]})
    rows = pl.DataFrame(
        {
            "user_id": ["u"] * 3,
            "transition_index": [0] * 3,
            "l1": ["b", "a", "a"],
            "l2": ["q", "y", "x"],
            "note": [3, 1, 2],
        }
    ).with_columns(pl.col("transition_index").cast(pl.Int32))
    past = (w.visits.lazy(), w.batches.lazy(), w.transitions.lazy(), TABLES["domains"].empty().lazy())
    found = familiarity(rows, *past, w.settings)
    assert found.drop("familiarity").equals(rows)
    assert found["familiarity"].to_list() == ["unconnected", "related", "seen"]
    assert FAMILIARITIES == ("seen", "familiar", "related", "new", "unconnected")


def test_tables_that_do_not_belong_together_are_refused():
    w = world({"u": [part(("a", "x"), ("a", "y")), part(("a", "y"), at=T0 + timedelta(days=1))]})
    with pytest.raises(ValueError, match="transition that is not in the table"):
        known(w, ("a", "x"), t=7)
    gap = w.visits.filter(pl.col("visit_index") != 1)
    past = (gap.lazy(), w.batches.lazy(), w.transitions.lazy(), TABLES["domains"].empty().lazy())
    rows = w.signals.select("user_id", "transition_index", "l1", "l2")
    with pytest.raises(ValueError, match="not numbered"):
        familiarity(rows, *past, w.settings)
    with pytest.raises(ValueError, match="batch that is not in the table"):
        familiarity(rows, w.visits.lazy(), w.batches.clear().lazy(), *past[2:], w.settings)
