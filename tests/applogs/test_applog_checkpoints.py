"""Cuts, segments and batches."""

import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import polars as pl
import pytest
from applog_worlds import USER, as_bytes, checkpoint, hourly, log, logs_of, pack
from hypothesis import given
from hypothesis import strategies as st

from pipelines.applogs.checkpoints import BadCheckpoint, cut, segment_batches, segments, visible
from pipelines.applogs.packs import read_pack
from pipelines.memory.contract import VISIT_COLUMNS

LOGS = logs_of(hourly(12))
"""Logs 1 to 12, every six hours from midnight of 1 January."""


def cuts(*as_of: dict[str, object], logs: pl.DataFrame = LOGS) -> pl.DataFrame:
    value = pack(*(checkpoint(n + 1, one) for n, one in enumerate(as_of)))
    return cut(logs, read_pack(as_bytes(value), "p", USER).anchors)


def at(index: int | None, log_id: str | None, time: str) -> dict[str, object]:
    return {"log_index": index, "app_log_id": log_id, "timestamp": time}


def test_the_index_is_inclusive_and_its_id_asserted() -> None:
    row = cuts(at(3, "log_00004", "2024-01-01 18:00:00")).row(0, named=True)
    assert (row["n_visible"], row["last_log_id"], row["cut_by"]) == (4, "log_00004", "index")


def test_an_index_of_another_log_cuts_at_the_named_one() -> None:
    row = cuts(at(5, "log_00004", "2024-01-01 18:00:00")).row(0, named=True)
    assert (row["n_visible"], row["cut_by"]) == (4, "id")
    with pytest.raises(BadCheckpoint, match="name a log that is not"):
        cuts(at(5, "log_00099", "2024-01-01 18:00:00"))


@pytest.mark.parametrize("index", [None, -1, 12])
def test_without_a_usable_index_the_time_cuts_ties_included(index: int | None) -> None:
    logs = logs_of([*hourly(12), log(13, "2024-01-01 18:00:00"), log(14, "2024-01-01 18:00:01")])
    row = cuts(at(index if index != 12 else 14, None, "2024-01-01 18:00:00"), logs=logs).row(0, named=True)
    assert (row["n_visible"], row["last_log_id"], row["cut_by"]) == (5, "log_00013", "time")


def test_no_cut_shows_what_is_later_than_it_says_and_none_shows_nothing() -> None:
    with pytest.raises(BadCheckpoint, match="later than their as-of time"):
        cuts(at(3, "log_00004", "2024-01-01 17:59:59"))
    with pytest.raises(BadCheckpoint, match="before the first log"):
        cuts(at(None, None, "2023-12-31 23:59:59"))
    with pytest.raises(BadCheckpoint, match="users without logs"):
        cuts(at(3, "log_00004", "2024-01-01 18:00:00"), logs=LOGS.with_columns(user_id=pl.lit("b")))


def test_checkpoints_are_ordered_by_what_they_show() -> None:
    table = cuts(at(9, "log_00010", "2024-01-03 06:00:00"), at(3, "log_00004", "2024-01-01 18:00:00"))
    assert table["checkpoint_id"].to_list() == ["cal_quarterly_002", "cal_quarterly_001"]
    assert table["checkpoint_index"].to_list() == [0, 1]


def test_batches_are_days_and_a_cut_parts_a_day() -> None:
    table = cuts(at(5, "log_00006", "2024-01-02 06:00:00"), at(9, "log_00010", "2024-01-03 06:00:00"))
    made = dict(segment_batches(LOGS, table))
    ids = {
        name: [[json.loads(text)["app_log_id"][-2:] for text in batch.visits["text"]] for batch in days]
        for name, days in made.items()
    }
    assert ids == {
        "cal_quarterly_001": [["01", "02", "03", "04"], ["05", "06"]],
        "cal_quarterly_002": [["07", "08"], ["09", "10"]],
    }
    batches = [batch for days in made.values() for batch in days]
    assert [batch.index for batch in batches] == [0, 1, 2, 3]
    assert all(dict(batch.visits.schema) == dict(VISIT_COLUMNS) for batch in batches)
    assert batches[1].end == datetime(2024, 1, 2, 6, tzinfo=UTC) and batches[1].start == datetime(
        2024, 1, 2, tzinfo=UTC
    )
    visit = batches[0].visits.row(0, named=True)
    assert (visit["item_id"], visit["l1_name"], visit["l2_name"], visit["n_click"]) == (
        "Checking-1", "Chase", "GetBalance", 1,
    )  # fmt: skip


def test_batches_of_several_days_are_counted_from_1970_and_a_cut_parts_them() -> None:
    # 2024-01-01 is day 19,723 since 1970-01-01: odd, so it ends a span of two days.
    table = cuts(at(5, "log_00006", "2024-01-02 06:00:00"), at(9, "log_00010", "2024-01-03 06:00:00"))
    ids = [
        [[json.loads(text)["app_log_id"][-2:] for text in batch.visits["text"]] for batch in batches]
        for _, batches in segment_batches(LOGS, table, 2)
    ]
    assert ids == [[["01", "02", "03", "04"], ["05", "06"]], [["07", "08", "09", "10"]]]
    whole = [batch.visits.height for _, batches in segment_batches(LOGS, table, 10_000) for batch in batches]
    assert whole == [6, 4]


def test_actions_of_visits() -> None:
    logs = logs_of(
        [
            log(1, "2024-01-01 00:00:00", "Amazon", "Checkout", response={"order_items": [{"name": "Mat"}]}),
            log(2, "2024-01-01 01:00:00", "Amazon", "SearchProducts", request={"query": "mat"}),
            log(3, "2024-01-01 02:00:00", "Spotify", "FollowArtist", request={"artist_name": "Nina"}),
            log(4, "2024-01-01 03:00:00", "Fitbit", "SyncDevice", request={}),
        ]
    )
    [(_, [batch])] = segment_batches(logs, cuts(at(3, "log_00004", "2024-01-01 03:00:00"), logs=logs))
    assert batch.visits["item_id"].to_list() == ["Mat", "mat", "Nina", "Fitbit.SyncDevice"]
    assert batch.visits["n_purchase"].to_list() == [1, 0, 0, 0]
    assert batch.visits["n_favourite"].to_list() == [0, 0, 1, 0]
    assert batch.visits["n_click"].to_list() == [0, 1, 0, 1]


@given(st.lists(st.integers(0, 40), min_size=1, max_size=25), st.lists(st.integers(0, 42), min_size=1, max_size=5))
def test_cuts_by_time_against_a_slow_oracle(hours: list[int], moments: list[int]) -> None:
    start = datetime(2024, 1, 1, tzinfo=UTC)
    rows = [log(i, f"{start + timedelta(hours=hour):%Y-%m-%d %H:%M:%S}") for i, hour in enumerate(hours)]
    logs = logs_of(rows)
    moments = [max(moment, min(hours)) for moment in moments]
    table = cuts(
        *(at(None, None, f"{start + timedelta(hours=moment):%Y-%m-%d %H:%M:%S}") for moment in moments), logs=logs
    )
    seen = visible(logs, table)
    for place, moment in enumerate(moments):
        name = f"cal_quarterly_{place + 1:03}"
        expected = {f"log_{i:05}" for i, hour in enumerate(hours) if hour <= moment}
        assert set(seen.filter(checkpoint_id=name)["app_log_id"]) == expected
    added = segments(logs, table)
    running: set[str] = set()
    for name in table["checkpoint_id"]:
        mine = set(added.filter(checkpoint_id=name)["app_log_id"])
        assert not mine & running
        running |= mine
        assert running == set(seen.filter(checkpoint_id=name)["app_log_id"])
    batches = [batch for _, days in segment_batches(logs, table) for batch in days]
    assert sum(batch.visits.height for batch in batches) == len(running)
    assert all(one.end <= two.start for one, two in pairwise(batches))
