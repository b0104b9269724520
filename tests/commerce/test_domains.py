"""Connected domains: quarter borders, truncated units, exact order."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from pool_worlds import table, world, worlds

from pipelines.commerce.domains import domains, first_quarter_after, quarter_start
from pipelines.commerce.settings import CommerceSettings
from pipelines.schema import TABLES

MICRO = timedelta(microseconds=1)
Q1, Q2, Q3, Q4 = (datetime(2020, month, 1, tzinfo=UTC) for month in (1, 4, 7, 10))


def build(w, **settings):
    return domains(w.visits.lazy(), w.batches.lazy(), w.settings.model_copy(update=settings))


def units(*parts, last=Q3):
    """One user-batch a set of domains, all visited on the first day; one more visit at `last` closes the log."""
    users = {f"u{i}": [[(Q1, (name, "x")) for name in part]] for i, part in enumerate(parts)}
    return world({**users, "z": [[(last, None)]]})


def links(frame, quarter, l1):
    return frame.filter((pl.col("quarter") == quarter) & (pl.col("l1") == l1))["connected_l1"].to_list()


@pytest.mark.parametrize(
    ("time", "after"),
    [
        (Q2 - MICRO, Q2),
        (Q2, Q3),
        (Q2 + MICRO, Q3),
        (datetime(2020, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), datetime(2021, 1, 1, tzinfo=UTC)),
        (datetime(1969, 12, 31, tzinfo=UTC), datetime(1970, 1, 1, tzinfo=UTC)),
    ],
)
def test_the_first_quarter_that_starts_strictly_after_an_instant(time, after):
    frame = pl.DataFrame({"end": [time]}, schema={"end": pl.Datetime("us", "UTC")})
    assert frame.with_columns(n=first_quarter_after("end")).select(quarter_start("n")).item() == after


def test_known_counts_and_order():
    # 5 units; a with b three times of three, a with c once; d alone.
    found = build(units("ab", "ab", "abc", "d", last=Q2)).to_dicts()
    assert [(r["quarter"], r["l1"], r["connected_l1"], r["rank"]) for r in found] == [
        (Q2, "a", "b", 1),
        (Q2, "a", "c", 2),
        (Q2, "b", "a", 1),
        (Q2, "b", "c", 2),
        (Q2, "c", "a", 1),
        (Q2, "c", "b", 2),
    ]
    # The closing visit ends on the quarter's start, so it is no unit yet.
    assert [(r["n_l1"], r["n_connected"], r["n_both"], r["n_units"]) for r in found[:2]] == [(3, 3, 3, 4), (3, 1, 1, 4)]


def test_a_visit_on_the_start_of_a_quarter_counts_from_the_next():
    def pair(end):
        return build(world({"u": [[(Q1, ("a", "x")), (end, ("b", "x"))]], "v": [[(Q1, None)]], "z": [[(Q3, None)]]}))

    assert links(pair(Q2 - MICRO), Q2, "a") == ["b"]
    assert links(pair(Q2), Q2, "a") == []
    assert links(pair(Q2), Q3, "a") == ["b"]


def test_a_unit_counts_from_the_first_quarter_after_its_first_visit():
    # u's batch crosses Q2: at Q2 it holds a only, at Q3 both.
    w = world(
        {
            "u": [[(Q1, ("a", "x")), (Q2, ("b", "x"))]],
            "v": [[(Q1, ("a", "x")), (Q1, ("c", "x"))]],
            "w": [[(Q1, None)]],
            "z": [[(Q3, None)]],
        }
    )
    found = build(w)
    at = {(r["quarter"], r["l1"], r["connected_l1"]): r for r in found.to_dicts()}
    assert set(at) == {
        (Q2, "a", "c"),
        (Q2, "c", "a"),
        (Q3, "a", "b"),
        (Q3, "b", "a"),
        (Q3, "a", "c"),
        (Q3, "c", "a"),
    }
    assert at[Q2, "a", "c"]["n_l1"] == 2
    assert {r["n_units"] for r in found.to_dicts()} == {3}


def test_a_pmi_of_zero_is_no_connection():
    # n_both · n_units = n_a · n_b: 1 · 4 = 2 · 2 is independence.
    assert links(build(units("ab", "a", "b", "c")), Q2, "a") == []
    assert links(build(units("ab", "a", "b", "c", "d")), Q2, "a") == ["b"]


def test_ties_are_cut_by_text_and_the_limit_holds():
    w = units("abcdefghijklm", "z")
    assert links(build(w), Q2, "a") == list("bcdefghijk")
    assert links(build(w, connected_domains=2), Q2, "m") == ["a", "b"]
    assert build(w, connected_domains=0).is_empty()


def test_the_order_is_exact_where_floats_are_not_needed_to_be():
    # 1/3 of b and 2/6 of c are the same PMI with a: the text decides.
    parts = ["ac", "ac", "ab", "b", "b", "c", "c", "c", "c", *"defg"]
    assert links(build(units(*parts)), Q2, "a") == ["b", "c"]


def test_the_table_ends_with_the_quarter_of_the_last_visit():
    found = build(units("ab", "c", last=Q4))
    assert found["quarter"].unique().sort().to_list() == [Q2, Q3, Q4]
    assert build(units("ab", "c", last=Q4 - MICRO))["quarter"].max() == Q3


def test_a_visit_without_a_category_names_no_domain():
    w = world({"u": [[(Q1, ("a", "x")), (Q1, ("b", "x"))]], "z": [[(Q3, None)]], "y": [[(Q1, None)]]})
    half = w.visits.with_columns(pl.when(pl.col("l1") != "b").then("l2").alias("l2"))
    assert build(w).height > 0
    assert domains(half.lazy(), w.batches.lazy(), w.settings).is_empty()


def test_logs_without_level_one_or_without_rows():
    assert build(world({"u": [[(Q1, (None, "x")), (Q3, (None, "y"))]]})).is_empty()
    empty = domains(table("visits", []).lazy(), table("batches", []).lazy(), CommerceSettings())
    assert empty.schema == TABLES["domains"].schema
    assert empty.is_empty()


def test_visits_without_their_batches_are_refused():
    w = units("ab", "c")
    with pytest.raises(ValueError, match="a visit is in no batch"):
        domains(w.visits.lazy(), w.batches.filter(pl.col("user_id") != "u1").lazy(), w.settings)


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(worlds())
def test_row_order_does_not_matter(w):
    shuffled = (
        w.visits.sample(fraction=1, shuffle=True, seed=1).lazy(),
        w.batches.sample(fraction=1, shuffle=True, seed=2).lazy(),
    )
    assert domains(*shuffled, w.settings).equals(build(w))


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(worlds())
def test_a_quarter_is_not_touched_by_what_ended_in_it_or_later(w):
    cut = datetime(2020, 7, 1, tzinfo=UTC)
    past = w.visits.filter(pl.col("end") < cut)
    closing = table("visits", [{"user_id": "zz", "visit_index": 0, "start": cut, "end": cut, "item_id": "i"}])
    batch = table("batches", [{"user_id": "zz", "start": cut, "end": cut, "n_visits": 1}])
    early = domains(pl.concat([past, closing]).lazy(), pl.concat([w.batches, batch]).lazy(), w.settings)
    whole = build(w)
    last = w.visits["end"].max()
    if last >= cut:
        assert early.equals(whole.filter(pl.col("quarter") <= cut))
