"""The fused path, the single steps and the slow oracle agree, on random and on real logs."""

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import pipelines.commerce.trajectories as fused
from pipelines.commerce.batches import batches
from pipelines.commerce.cohort import cohort
from pipelines.commerce.settings import CommerceSettings
from pipelines.commerce.signals import signals
from pipelines.commerce.trajectories import trajectories
from pipelines.commerce.transitions import transitions
from pipelines.commerce.visits import user_ranges, visits
from pipelines.schema import TABLES

S = CommerceSettings()
SECOND = 1_000_000
MINUTE, DAY = 60 * SECOND, 86_400 * SECOND
NAMES = ("visits", "batches", "cohort", "transitions", "signals")

# Small thresholds, so that logs of a few dozen events cross every border.
SMALL = CommerceSettings(batch_visits=4, batch_days=2, cohort_visits=3)
GAPS = st.sampled_from(
    [
        0, 0, 1, SECOND - 1, SECOND, 59 * SECOND, 60 * SECOND, 61 * SECOND,
        15 * MINUTE - 1, 15 * MINUTE, 15 * MINUTE + 1, 30 * MINUTE - 1, 30 * MINUTE, 30 * MINUTE + 1,
        2 * DAY - 1, 2 * DAY, 2 * DAY + 1, DAY, 95 * DAY,
    ]
)  # fmt: skip
EVENT = st.fixed_dictionaries(
    {
        "gap": GAPS,
        "user_id": st.sampled_from(["u", "u", "u", "u10", "u9", "ü"]),
        "action": st.sampled_from(["click", "browse", "browse", "favourite", "cart", "purchase", "cancel", "refund"]),
        "item_id": st.sampled_from(["1", "1", "1", "01", "10", "9", "a rather longer item"]),
        "l1": st.sampled_from([None, "a", "b"]),
        "l2": st.sampled_from([None, "x", "y", "a much longer category"]),
        "l1_name": st.sampled_from([None, "A", "B"]),
        "l2_name": st.sampled_from([None, "X"]),
        "brand": st.sampled_from([None, None, "p", "q"]),
        "dwell_ms": st.sampled_from([None, None, 0, 999, 30_000, 59_999, 60_000]),
    }
)


def with_times(rows):
    clock, placed = 1_680_000_000 * SECOND, []
    for row in rows:
        clock += row["gap"]
        placed.append({key: value for key, value in row.items() if key != "gap"} | {"time": clock})
    return placed


def stepwise(events, config):
    lazy = events.lazy()
    v = visits(lazy, config)
    b = batches(v, config)
    c = cohort(lazy, v, b, config)
    t = transitions(b, c)
    return fused.Trajectories(v, b, c, t, signals(v, b, t, config))


def assert_same(one, other):
    for name in NAMES:
        assert_frame_equal(getattr(one, name), getattr(other, name))


def agree(events, config, oracle, tuples, event_rows):
    """Oracle, steps and fused path give the same rows; returns them."""
    truth = oracle.build(event_rows(events), config)
    result = trajectories(events.lazy(), config)
    for name in NAMES:
        assert tuples(getattr(result, name)) == truth[name], name
    assert_same(stepwise(events, config), result)
    return result


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(EVENT, min_size=1, max_size=60),
    st.builds(
        CommerceSettings,
        batch_visits=st.integers(1, 6),
        batch_days=st.integers(1, 3),
        cohort_visits=st.integers(1, 5),
        batch_gap_minutes=st.sampled_from([0, 15, 30]),
        visit_gap_minutes=st.sampled_from([1, 30]),
        deep_browse_events=st.integers(1, 3),
        deep_browse_visits=st.integers(2, 3),
    ),
    st.randoms(use_true_random=False),
)
def test_random_logs_agree_with_the_oracle(make_events, oracle, tuples, event_rows, rows, config, random):
    placed = with_times(rows)
    random.shuffle(placed)
    agree(make_events(placed), config, oracle, tuples, event_rows)


@settings(max_examples=30, deadline=None)
@given(st.lists(EVENT, min_size=2, max_size=60), st.randoms(use_true_random=False), st.integers(1, 9))
def test_row_order_and_ranges_change_nothing(make_events, rows, random, range_rows):
    placed = with_times(rows)
    whole = trajectories(make_events(placed).lazy(), SMALL)
    random.shuffle(placed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fused, "user_ranges", lambda counted: user_ranges(counted, range_rows))
        assert_same(trajectories(make_events(placed).lazy(), SMALL), whole)


@settings(max_examples=30, deadline=None)
@given(st.lists(EVENT, min_size=2, max_size=60), st.sets(st.sampled_from(["u", "u10", "u9", "ü"])))
def test_users_over_shards_equal_the_whole(make_events, rows, here):
    events = make_events(with_times(rows))
    mine = pl.col("user_id").is_in(list(here))
    whole = trajectories(events.lazy(), SMALL)
    parts = [trajectories(events.filter(where).lazy(), SMALL) for where in (mine, ~mine)]
    for name in NAMES:
        frame = getattr(whole, name)
        keys = [
            key
            for key in ("user_id", "visit_index", "batch_index", "transition_index", "l1", "l2")
            if key in frame.columns
        ]
        keys = [key for key in keys if name not in ("visits", "batches") or key not in ("l1", "l2")]
        assert_frame_equal(pl.concat([getattr(part, name) for part in parts]).sort(keys), frame)


def test_many_events_of_one_user_are_sorted(make_events, oracle, tuples, event_rows):
    """Long enough for every width of the merge sort, with ties and a reversed input."""
    acts = ["browse", "cart", "click"]
    rows = [
        {"gap": k * k % 7 * MINUTE, "user_id": "u", "action": acts[k % 3], "item_id": str(k * 31 % 17), "l2": "x"}
        for k in range(1_500)
    ]
    agree(make_events(with_times(rows)[::-1]), SMALL, oracle, tuples, event_rows)


def test_tables_have_the_published_columns(make_events):
    result = trajectories(make_events([{"user_id": "u", "time": 0, "action": "click", "item_id": "i"}]).lazy(), S)
    for name in NAMES[:4]:
        assert getattr(result, name).schema == TABLES[name].schema
    positives = TABLES["positives"].schema
    assert all(positives[name] == dtype for name, dtype in result.signals.schema.items())
    assert result.signals.columns == [
        "user_id",
        "transition_index",
        "l1",
        "l2",
        "favourite",
        "cart",
        "purchase",
        "deep_browse",
    ]


def test_no_events_give_empty_tables(make_events):
    nothing = make_events([{"user_id": "u", "time": 0, "action": "click", "item_id": "i"}]).clear()
    result = trajectories(nothing.lazy(), S)
    assert [getattr(result, name).height for name in NAMES] == [0] * 5
    assert_same(stepwise(nothing, S), result)
    only_refunds = make_events([{"user_id": "u", "time": 0, "action": "refund", "item_id": "i"}])
    assert_same(stepwise(only_refunds, S), trajectories(only_refunds.lazy(), S))


def test_complete_journey(complete_journey, oracle, tuples, event_rows):
    result = agree(complete_journey, S, oracle, tuples, event_rows)
    assert result.visits.height == 30_077
    assert result.batches.height == 524
    assert result.batches["closed"].sum() == 469
    kept = result.cohort.filter(pl.col("reason") == "")
    assert (kept.height, result.transitions.height) == (55, 469)
    assert_same(trajectories(complete_journey.sample(fraction=1.0, shuffle=True, seed=5).lazy(), S), result)


def test_taobao(taobao, oracle, tuples, event_rows):
    result = agree(taobao, S, oracle, tuples, event_rows)
    # No two neighbouring rows of a user name one item, so every event is a visit.
    assert result.visits.height == taobao.height == 2_579
    assert result.signals["l1"].null_count() == result.signals.height > 0
    kept = result.cohort.filter(pl.col("reason") == "")
    assert kept.height == 15
    assert result.transitions.height == kept["n_batches"].sum() - kept.height
    assert result.batches.filter(pl.col("user_id").is_in(kept["user_id"].implode()))["closed"].sum() == 30


def test_rees46(rees46, oracle, tuples, event_rows):
    result = agree(rees46, S, oracle, tuples, event_rows)
    assert rees46["user_id"].value_counts()["count"].sort().to_list() == [76, 138, 170]
    # In file order it would be 303: one pair of events of one second stands there against the total order.
    assert result.visits.height == 302
    assert result.visits["brand"].null_count() < result.visits.height


def test_another_threshold_is_another_result(complete_journey):
    base = trajectories(complete_journey.lazy(), S)
    for change in ({"batch_visits": 40}, {"batch_days": 20}, {"cohort_visits": 300}, {"deep_browse_visits": 3}):
        other = trajectories(complete_journey.lazy(), CommerceSettings(**change))
        assert any(not getattr(base, name).equals(getattr(other, name)) for name in NAMES[1:]), change
