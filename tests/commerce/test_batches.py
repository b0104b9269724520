"""Borders of `batches`, `cohort`, `transitions` and `signals`, from both sides."""

from datetime import UTC, datetime

import polars as pl
import pytest

from pipelines.commerce.batches import batches
from pipelines.commerce.cohort import cohort
from pipelines.commerce.settings import CommerceSettings
from pipelines.commerce.signals import signals
from pipelines.commerce.transitions import transitions
from pipelines.commerce.visits import visits
from pipelines.schema import TABLES

S = CommerceSettings()
SECOND = 1_000_000
MINUTE = 60 * SECOND
DAY = 24 * 60 * MINUTE
START = 1_700_000_000 * SECOND


def visit_frame(times, user="u"):
    """Visits with these starts (and ends, where a pair), each to its own item."""
    pairs = [at if isinstance(at, tuple) else (at, at) for at in times]
    rows = [
        {
            "user_id": user,
            "visit_index": i,
            "start": START + start,
            "end": START + end,
            "item_id": str(i),
            "l1": "a",
            "l2": "b",
            "brand": None,
            "n_click": 1,
            "n_browse": 0,
            "n_favourite": 0,
            "n_cart": 0,
            "n_purchase": 0,
            "dwell_seconds": None,
        }
        for i, (start, end) in enumerate(pairs)
    ]
    schema = TABLES["visits"].schema
    return pl.DataFrame(rows).select(pl.col(name).cast(dtype) for name, dtype in schema.items())


def sizes(times, settings=S):
    table = batches(visit_frame(times), settings)
    return list(zip(table["n_visits"].to_list(), table["closed"].to_list(), strict=True))


@pytest.mark.parametrize(
    ("gap", "expected"),
    [
        (15 * MINUTE, [(51, False)]),
        (15 * MINUTE + 1, [(50, True), (1, False)]),
    ],
)
def test_a_pause_of_exactly_fifteen_minutes_does_not_close(gap, expected):
    assert sizes([*range(50), 49 + gap]) == expected


@pytest.mark.parametrize(("n", "expected"), [(49, [(50, False)]), (50, [(50, True), (1, False)])])
def test_the_fiftieth_visit_makes_a_batch_eligible(n, expected):
    assert sizes([*range(n), DAY]) == expected


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (120 * DAY - 1, [(3, False)]),
        (120 * DAY, [(2, True), (1, False)]),
        (120 * DAY + 1, [(2, True), (1, False)]),
    ],
)
def test_120_days_are_inclusive_and_read_at_the_next_visits_start(last, expected):
    assert sizes([0, 10 * DAY, last]) == expected


def test_days_count_from_the_start_of_the_first_visit_and_pauses_from_the_end_of_the_last():
    assert sizes([(0, 20 * MINUTE), 120 * DAY]) == [(1, True), (1, False)]
    late = [0, (120 * DAY - 20 * MINUTE, 120 * DAY - 5 * MINUTE), 120 * DAY + 10 * MINUTE]
    assert sizes(late) == [(3, False)]
    assert sizes([*late[:2], late[2] + 1]) == [(2, True), (1, False)]


def test_an_eligible_batch_waits_for_its_pause():
    assert sizes([*range(73), 73 + DAY, 74 + DAY]) == [(73, True), (2, False)]


def test_every_count_starts_anew_in_the_next_batch():
    times = [batch * DAY + k for batch in range(3) for k in range(50)]
    table = batches(visit_frame(times), S)
    assert table["first_visit"].to_list() == [0, 50, 100]
    assert table["closed"].to_list() == [True, True, False]
    assert sizes([0, 120 * DAY, 239 * DAY, 240 * DAY]) == [(1, True), (2, True), (1, False)]


def test_visits_of_one_second_stay_together_even_without_a_gap_rule():
    eager = CommerceSettings(batch_visits=1, batch_gap_minutes=0)
    assert sizes([0, 999_999, 1_000_000], eager) == [(2, True), (1, False)]
    assert sizes([0, 0, 1], eager) == [(3, False)]


def test_settings_change_the_result():
    times = [k * DAY for k in range(60)]
    assert sizes(times) == [(50, True), (10, False)]
    assert sizes(times, CommerceSettings(batch_visits=20)) == [(20, True), (20, True), (20, False)]
    assert sizes(times, CommerceSettings(batch_days=30)) == [(30, True), (30, False)]
    assert sizes(times, CommerceSettings(batch_gap_minutes=24 * 60)) == [(60, False)]


def test_batches_do_not_depend_on_row_order_and_keep_users_apart():
    both = pl.concat([visit_frame(range(60), "b"), visit_frame([0, 130 * DAY], "a")])
    table = batches(both.sample(fraction=1.0, shuffle=True, seed=3), S)
    assert table.select("user_id", "batch_index", "n_visits").rows() == [("a", 0, 1), ("a", 1, 1), ("b", 0, 60)]
    assert batches(both.clear(), S).schema == TABLES["batches"].schema


def event(at, user="u", action="browse", item=None, **more):
    return {
        "user_id": user, "time": START + at, "action": action, "item_id": item or f"i{at}", "l1": "a", "l2": "b"
    } | more  # fmt: skip


def build(frame, settings=S):
    lazy = frame.lazy()
    v = visits(lazy, settings)
    b = batches(v, settings)
    c = cohort(lazy, v, b, settings)
    t = transitions(b, c)
    return v, b, c, t, signals(v, b, t, settings)


def test_cohort_needs_fifty_valid_visits_and_says_why_not(make_events):
    rows = [event(k * DAY, "fifty") for k in range(50)]
    rows += [event(k * DAY, "short") for k in range(49)]
    rows += [event(k * DAY, "unlabelled", l2=None if k == 7 else "b") for k in range(50)]
    rows += [event(k * DAY, "spare", l2=None if k == 7 else "b") for k in range(51)]
    rows += [event(k * DAY, "gone", "cancel" if k % 2 else "refund") for k in range(60)]
    rows += [event(0, "fifty", "cancel")]
    table = build(make_events(rows))[2]
    assert table.rows() == [
        ("fifty", 51, 50, 50, 1, ""),
        ("gone", 60, 0, 0, 0, "only cancel and refund events"),
        ("short", 49, 49, 49, 1, "fewer than 50 valid visits"),
        ("spare", 51, 51, 50, 2, ""),
        ("unlabelled", 50, 50, 49, 1, "fewer than 50 valid visits"),
    ]
    relaxed = build(make_events(rows), CommerceSettings(cohort_visits=49))[2]
    assert relaxed.filter(pl.col("reason") == "")["user_id"].to_list() == ["fifty", "short", "spare", "unlabelled"]


def test_transitions_are_pairs_of_batches_of_kept_users(make_events):
    rows = [event(k * DAY, "kept") for k in range(120)] + [event(k * 40 * DAY, "sparse") for k in range(12)]
    _, b, c, t, _ = build(make_events(rows))
    assert b.filter(pl.col("user_id") == "sparse").height > 1
    assert t.select("user_id", "transition_index", "target_closed").rows() == [("kept", 0, True), ("kept", 1, False)]
    own = b.filter(pl.col("user_id") == "kept")
    assert t["history_end"].to_list() == own["end"].to_list()[:-1]
    assert t["target_start"].to_list() == own["start"].to_list()[1:]
    assert t["target_end"].to_list() == own["end"].to_list()[1:]
    kept = c.filter(pl.col("reason") == "")
    assert t.height == kept["n_batches"].sum() - kept.height


@pytest.mark.parametrize(
    ("end", "quarter"),
    [
        (datetime(2023, 4, 1, tzinfo=UTC), datetime(2023, 4, 1, tzinfo=UTC)),
        (datetime(2023, 3, 31, 23, 59, 59, 999_999, tzinfo=UTC), datetime(2023, 1, 1, tzinfo=UTC)),
        (datetime(2023, 12, 31, 23, 59, 59, tzinfo=UTC), datetime(2023, 10, 1, tzinfo=UTC)),
        (datetime(1969, 12, 31, tzinfo=UTC), datetime(1969, 10, 1, tzinfo=UTC)),
    ],
)
def test_quarter_is_the_last_to_begin_at_or_before_the_end_of_the_history(end, quarter):
    offset = end - datetime.fromtimestamp(START // SECOND, UTC)
    at = (offset.days * 86_400 + offset.seconds) * SECOND + offset.microseconds
    table = batches(visit_frame([at, at + 121 * DAY]), S)
    kept = pl.DataFrame({"user_id": ["u"], "reason": [""]})
    assert transitions(table, kept)["quarter"].to_list() == [quarter]


def target(make_events, *rows, settings=S):
    """Signals of a second batch that holds `rows`, after a history of 50 visits."""
    history = [event(k) for k in range(50)]
    shifted = [row | {"time": row["time"] + DAY} for row in rows]
    found = build(make_events(history + shifted), settings)[4]
    return {
        (r["l1"], r["l2"]): tuple(name for name in ("favourite", "cart", "purchase", "deep_browse") if r[name])
        for r in found.to_dicts()
    }


def test_each_strong_act_counts_and_shallow_clicks_never(make_events):
    found = target(
        make_events,
        event(0, action="favourite", l2="f"),
        event(1, action="cart", l2="c"),
        event(2, action="purchase", l2="p"),
        *(event(3, action="click", item="x", l2="shallow") for _ in range(9)),
        event(4, action="browse", l2="shallow"),
    )
    assert found == {("a", "f"): ("favourite",), ("a", "c"): ("cart",), ("a", "p"): ("purchase",)}


def test_acts_of_one_category_add_up_and_level_one_may_be_missing(make_events):
    found = target(
        make_events,
        event(0, action="cart", l1=None, l2="x"),
        event(1, action="click", l1=None, l2="x"),
        event(2, action="purchase", l1=None, l2="x"),
        event(3, action="favourite", l1="a", l2="x"),
        event(4, action="purchase", l1=None, l2=None),
    )
    assert found == {(None, "x"): ("cart", "purchase"), ("a", "x"): ("favourite",)}


@pytest.mark.parametrize(
    ("rows", "deep"),
    [
        ([{"at": 0}, {"at": 1}], False),
        ([{"at": 0}, {"at": 1}, {"at": 2}], True),
        ([{"at": 0}, {"at": 60 * SECOND - 1}], False),
        ([{"at": 0}, {"at": 60 * SECOND}], True),
        ([{"at": 0, "dwell_ms": 59_999}], False),
        ([{"at": 0, "dwell_ms": 60_000}], True),
        ([{"at": 0, "action": "click"}, {"at": 31 * MINUTE, "action": "click"}], True),
        ([{"at": 0, "action": "click"}, {"at": 5, "item": "other", "l2": None}, {"at": 9, "action": "click"}], True),
    ],
)
def test_deep_browse_borders(make_events, rows, deep):
    found = target(make_events, *(event(**({"item": "x", "l2": "d"} | row)) for row in rows))
    assert found == ({("a", "d"): ("deep_browse",)} if deep else {})


def test_deep_browse_thresholds_are_settings(make_events):
    row = event(0, item="x", l2="d")
    assert target(make_events, row, settings=CommerceSettings(deep_browse_events=1)) == {("a", "d"): ("deep_browse",)}
    row |= {"dwell_ms": 5_000}
    assert target(make_events, row, settings=CommerceSettings(deep_browse_seconds=5)) == {("a", "d"): ("deep_browse",)}
    parts = [event(0, item="x", l2="d"), event(1, item="y", l2="e"), event(2, item="x", l2="d")]
    assert target(make_events, *parts) == {("a", "d"): ("deep_browse",)}
    assert target(make_events, *parts, settings=CommerceSettings(deep_browse_visits=3)) == {}
