"""Borders and rules of `visits` (paper §A.1.1), from both sides."""

import polars as pl
import pytest

from pipelines.commerce.settings import CommerceSettings
from pipelines.commerce.visits import user_ranges, visits

S = CommerceSettings()
SECOND = 1_000_000
MINUTE = 60 * SECOND
START = 1_700_000_000 * SECOND


def event(at, action="browse", item="i", user="u", **more):
    return {"user_id": user, "time": START + at, "action": action, "item_id": item, "l1": "a", "l2": "b"} | more


@pytest.fixture
def merged(make_events):
    return lambda *rows, settings=S: visits(make_events(list(rows)).lazy(), settings)


@pytest.mark.parametrize(("gap", "n_visits"), [(0, 1), (30 * MINUTE - 1, 1), (30 * MINUTE, 1), (30 * MINUTE + 1, 2)])
def test_gap_of_thirty_minutes_is_inclusive(merged, gap, n_visits):
    assert merged(event(0), event(gap)).height == n_visits


def test_gap_counts_from_the_last_event(merged):
    one = merged(*(event(k * 30 * MINUTE) for k in range(5)))
    assert one.select("start", "end").row(0, named=True)["end"].timestamp() == START // SECOND + 2 * 3600
    assert one["n_browse"].to_list() == [5]


def test_gap_is_a_setting(merged):
    rows = [event(0), event(10 * MINUTE)]
    assert merged(*rows, settings=CommerceSettings(visit_gap_minutes=9)).height == 2
    assert merged(*rows, settings=CommerceSettings(visit_gap_minutes=10)).height == 1


def test_only_neighbours_merge(merged):
    table = merged(event(0), event(SECOND, item="j"), event(2 * SECOND))
    assert table["item_id"].to_list() == ["i", "j", "i"]
    assert table["visit_index"].to_list() == [0, 1, 2]


@pytest.mark.parametrize("action", ["cancel", "refund"])
def test_cancel_and_refund_are_dropped_first_and_never_subtracted(merged, action):
    # The cancel lies between two events of another item and would otherwise part them.
    table = merged(event(0, "purchase"), event(SECOND, action, item="j"), event(2 * SECOND, action), event(3 * SECOND))
    assert table.select("item_id", "n_purchase", "n_browse").rows() == [("i", 1, 1)]


def test_one_instant_orders_by_action_rank_then_item_text(merged):
    table = merged(
        event(0, "purchase", item="10"),
        event(0, "cart", item="9"),
        event(0, "favourite", item="10"),
        event(0, "browse", item="9"),
        event(0, "click", item="9"),
        event(0, "click", item="10"),
    )
    # Rank 0: "10" < "9" as text; then favourite 10, cart 9, purchase 10.
    assert table["item_id"].to_list() == ["10", "9", "10", "9", "10"]
    assert table.select("n_click", "n_browse").rows()[1] == (1, 1)


def test_item_ids_stay_text(merged):
    table = merged(event(0, item="01"), event(1, item="1"), event(2, item="9007199254740993"), event(3, item=""))
    assert table["item_id"].to_list() == ["01", "1", "9007199254740993", ""]


def test_category_and_brand_are_those_of_the_first_event_that_has_them(merged):
    table = merged(
        event(0, l1="x", l2=None),
        event(1, l1=None, l2="late", brand="B"),
        event(2, l1="a", l2="b", brand="C"),
    )
    assert table.select("l1", "l2", "brand").row(0) == (None, "late", "B")
    assert merged(event(0, l1="x", l2=None)).select("l1", "l2", "brand").row(0) == (None, None, None)


def test_ties_up_to_the_item_fall_to_the_remaining_columns(merged):
    rows = [
        event(0, "browse", l2="a", brand="A"),
        event(0, "click", l2="z", brand="Z"),
        event(0, "click", l1=None, l2="zz"),
    ]
    for order in (rows, rows[::-1]):
        assert merged(*order).select("l1", "l2", "brand").row(0) == (None, "zz", "Z")


def test_written_names_come_before_the_brand(merged):
    rows = [event(0, l1_name="B", brand="x"), event(0, l1_name="A", brand="y"), event(9, item="j", brand="q")]
    for order in (rows, rows[::-1]):
        assert merged(*order)["brand"].to_list() == ["y", "q"]


def test_dwell_is_floored_after_summing_and_null_without_any(merged):
    table = merged(
        event(0, dwell_ms=700), event(1), event(2, dwell_ms=1_299), event(3, item="j"), event(4, item="k", dwell_ms=0)
    )
    assert table["dwell_seconds"].to_list() == [1, None, 0]


def test_users_never_mix_and_come_out_in_text_order(merged):
    table = merged(event(0, user="2"), event(1, user="10"), event(2, user="1"), event(3, user="2"))
    assert table.select("user_id", "visit_index").rows() == [("1", 0), ("10", 0), ("2", 0)]


def test_no_events_give_no_visits(make_events, merged):
    nothing = make_events([event(0)]).clear()
    assert visits(nothing.lazy(), S).schema == merged(event(0)).schema
    assert visits(nothing.lazy(), S).height == 0
    assert merged(event(0, "cancel")).height == 0


@pytest.mark.parametrize("column", ["user_id", "item_id", "time", "action"])
def test_a_missing_key_is_refused_by_name(make_events, column):
    frame = make_events([event(0), event(1)]).with_columns(
        pl.when(pl.int_range(pl.len()) > 0).then(pl.col(column)).alias(column)
    )
    with pytest.raises(ValueError, match=f"{column} is null in 1 rows"):
        visits(frame.lazy(), S)


def test_times_before_1970_work(merged):
    table = merged(event(-START - 5 * SECOND), event(-START - 5 * SECOND + 30 * MINUTE), event(-START - 6 * SECOND))
    assert table["n_browse"].to_list() == [3]
    assert table["start"].dt.timestamp("us").to_list() == [-6 * SECOND]


def test_ranges_cover_every_user_once():
    counted = pl.Series([5, 0, 100, 1, 1, 1, 0, 40, 3]).to_numpy()
    for rows in (1, 2, 7, 50, 1000):
        ranges = user_ranges(counted, rows)
        assert [r.lo for r in ranges[1:]] == [r.hi for r in ranges[:-1]]
        assert (ranges[0].lo, ranges[-1].hi) == (0, len(counted))
        assert sum(int(r.starts[-1]) for r in ranges) == counted.sum()
