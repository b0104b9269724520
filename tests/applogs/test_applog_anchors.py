"""Checkpoints of the calendar: known answers, a slow oracle, and nothing that depends on what comes after."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from applog_drops import log_rows
from applog_worlds import USER, log, logs_of
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.applogs.anchors import calendar_anchors
from pipelines.applogs.packs import ANCHORS
from pipelines.applogs.settings import AppLogSettings
from pipelines.applogs.users import checkpoints


def at(*days: int, start: datetime = datetime(2024, 1, 31, 9)) -> pl.DataFrame:
    return logs_of([log(n + 1, f"{start + timedelta(days=day):%Y-%m-%d %H:%M:%S}") for n, day in enumerate(days)])


def later(moment: datetime, months: int) -> datetime:
    month = moment.month - 1 + months
    return moment.replace(year=moment.year + month // 12, month=month % 12 + 1)


def slow(times: list[datetime], months: int) -> list[int]:
    """Index of the last log at or before each anchor (reference 2), the first log alone left out."""
    start = times[0].replace(day=min(times[0].day, 28))
    anchors, step = [], 1
    while later(start, step * months) < times[-1]:
        anchors.append(later(start, step * months))
        step += 1
    cuts = [max((n for n, time in enumerate(times) if time <= anchor), default=-1) for anchor in (*anchors, times[-1])]
    kept = [cut for cut in dict.fromkeys(cuts) if cut > 0 or len(times) == 1]
    return [max(cut, 0) for cut in kept]


def test_fifteen_months_have_five_checkpoints_each_three_months_and_the_last_log() -> None:
    found = calendar_anchors(logs_of(log_rows(457, each=3)), 3)
    assert found["checkpoint_id"].to_list() == [f"cal_quarterly_{n:03}" for n in range(1, 6)]
    assert found["as_of"].dt.to_string("%F %T").to_list() == [
        *("2024-01-01 08:00:00", "2024-04-01 08:00:00", "2024-07-01 08:00:00", "2024-10-01 08:00:00"),
        "2024-12-30 18:00:00",
    ]
    assert found["log_index"].to_list() == [276, 549, 822, 1098, 1370]
    assert dict(found.schema) == ANCHORS


def test_the_last_days_of_a_month_are_clamped_and_quiet_months_make_none() -> None:
    # From 2024-01-31 by the month: anchors on 02-28, 03-28, 04-28, …; none of them sees a log of day 60 to 100.
    found = calendar_anchors(at(0, 20, 60, 100, 130), 1)
    assert found["log_index"].to_list() == [1, 2, 3, 4]
    assert found["checkpoint_id"].to_list()[0] == "cal_monthly_001"
    assert calendar_anchors(at(0, 20, 60), 2)["checkpoint_id"].to_list() == ["cal_2_months_001", "cal_2_months_002"]


def test_a_single_log_is_its_own_checkpoint_and_no_log_has_none() -> None:
    assert calendar_anchors(at(0), 3)["log_index"].to_list() == [0]
    assert calendar_anchors(at(0).head(0), 3).is_empty()


days = st.lists(st.integers(0, 700), min_size=1, max_size=30).map(sorted)


@settings(deadline=None, max_examples=60)
@given(days, st.integers(1, 6), st.integers(0, 40))
def test_the_fast_way_is_the_slow_way(offsets: list[int], months: int, shift: int) -> None:
    logs = at(*offsets, start=datetime(2023, 12, 20, 9) + timedelta(days=shift))
    assert calendar_anchors(logs, months)["log_index"].to_list() == slow(logs["time"].to_list(), months)


@settings(deadline=None, max_examples=40)
@given(days, st.integers(0, 29), st.integers(1, 200))
def test_logs_after_a_checkpoint_do_not_move_it(offsets: list[int], place: int, more: int) -> None:
    known = calendar_anchors(at(*offsets), 3).head(-1)
    grown = calendar_anchors(at(*offsets, offsets[-1] + more), 3)
    # All but the checkpoint at the last log, which is another log then.
    assert grown.head(known.height).equals(known)


def test_users_with_a_pack_have_its_checkpoints_and_users_without_logs_none() -> None:
    logs = pl.concat([at(0, 100, 200), at(0, 100, 200).with_columns(pl.lit("002").alias("user_id"))])
    anchors = pl.DataFrame(
        [
            (USER, "given", 1, "log_00002", datetime(2024, 6, 1, tzinfo=UTC)),
            ("003", "lost", 1, "log_00002", datetime(2024, 6, 1, tzinfo=UTC)),
        ],
        schema=ANCHORS,
        orient="row",
    )
    found = checkpoints(logs, anchors, AppLogSettings())
    assert found.select("user_id", "checkpoint_id", "n_visible").rows() == [
        (USER, "given", 2),
        ("002", "cal_quarterly_001", 2),
        ("002", "cal_quarterly_002", 3),
    ]


@pytest.mark.parametrize(
    "value",
    [{"checkpoint_months": 0}, {"tasks": ()}, {"tasks": ("recall",)}, {"truth": "published"}, {"never_keys": -1},
     {"other": 1}],
)  # fmt: skip
def test_settings_that_mean_nothing_are_refused(value: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(value))):
        AppLogSettings(**value)  # type: ignore[arg-type]


def test_tasks_are_asked_in_one_order() -> None:
    assert AppLogSettings(tasks=("free_form", "state_completion")) == AppLogSettings(
        tasks=("state_completion", "free_form", "free_form")
    )
