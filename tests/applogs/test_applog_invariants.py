"""Every invariant of the tables of app logs holds on a small release, and falls by the fault that it is there for."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from applog_drops import GYM, WALK, brought

from expectations.audits import audit_for
from expectations.invariants import INVARIANTS
from pipelines.applogs.funnel import steps
from pipelines.applogs.questions import state_keys
from pipelines.applogs.rederiving import derive
from pipelines.applogs.settings import AppLogSettings
from pipelines.applogs.step_tables import BROUGHT, DROPPED, PUBLISHED
from pipelines.commerce.funnel import funnel
from pipelines.findings import failed_errors
from pipelines.hashing import bucket_column

SETTINGS = AppLogSettings()
Tables = dict[str, pl.DataFrame]


@pytest.fixture(scope="module")
def world() -> Tables:
    """Every table of the track from a drop to a release."""
    rows = brought()
    keys = state_keys(rows["state_intervals"])
    made = derive({name: {"d1": table} for name, table in rows.items()}, keys, SETTINGS)
    counted = funnel(
        steps({"app_logs": rows["app_logs"].height}, made["app_logs"]["user_id"], {**rows, **made}, SETTINGS)
    )
    drop = {f"{DROPPED}{name}": table.with_columns(bucket_column(table["user_id"])) for name, table in rows.items()}
    tables = {**drop, **made, "state_keys": keys, "applog_funnel": counted}
    return {
        name: tables[name].select(PUBLISHED[name].schema.names()).sort(PUBLISHED[name].sort_by) for name in PUBLISHED
    }


def failures(table: str, frames: Tables) -> list[str]:
    lazy = {name: frame.lazy() for name, frame in frames.items()}
    return [one.name for one in INVARIANTS[table](lazy, SETTINGS) if not one.passed and one.severity == "error"]


@pytest.mark.parametrize("table", PUBLISHED)
def test_the_whole_audit_of_a_table_passes(table: str, world: Tables) -> None:
    findings = audit_for(table, {name: frame.lazy() for name, frame in world.items()}, SETTINGS)(world[table].lazy())
    assert failed_errors(findings) == []
    assert not [one for one in findings if one.severity == "info"], "with all its companions nothing is left unchecked"
    alone = audit_for(table)(world[table].lazy())
    assert failed_errors(alone) == []


@pytest.mark.parametrize("table", PUBLISHED)
def test_rows_in_another_order_are_named(table: str, world: Tables) -> None:
    if world[table].height > 1:
        assert "ordered" in failures(table, {**world, table: world[table][::-1]})


@pytest.mark.parametrize("name", BROUGHT)
def test_a_row_in_another_bucket_is_named(name: str, world: Tables) -> None:
    table = f"{DROPPED}{name}"
    assert world[table].height, "the drop has rows of every table"
    moved = world[table].with_columns((pl.col("bucket") + 1).cast(pl.UInt8))
    assert failures(table, {table: moved}) == ["bucket"]


def of_first(column: str, value: Any) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """The first row with another value."""
    literal = value if isinstance(value, pl.Expr) else pl.lit(value)
    return lambda rows: rows.with_columns(
        pl.when(pl.int_range(pl.len()) == 0).then(literal).otherwise(column).cast(rows.schema[column]).alias(column)
    )


def where(condition: pl.Expr, column: str, value: Any) -> Callable[[pl.DataFrame], pl.DataFrame]:
    literal = value if isinstance(value, pl.Expr) else pl.lit(value)
    return lambda rows: rows.with_columns(
        pl.when(condition).then(literal).otherwise(column).cast(rows.schema[column]).alias(column)
    )


VALUE, SERVICE = pl.col("expectation") == "value", pl.col("task") == "personalised_service"
LIST = pl.col("task") == "no_key"
LONGER = pl.col("valid_to").dt.offset_by("9d")
FAULTS: list[tuple[str, str, Callable[[pl.DataFrame], pl.DataFrame]]] = [
    ("app_logs", "numbered(position)", lambda rows: rows.with_columns(pl.col("position") + 1)),
    ("app_logs", "in_time", of_first("time", pl.col("time").shift(-1).dt.offset_by("1s"))),
    ("app_logs", "record", of_first("record", pl.col("record").str.replace("Chase", "Chess"))),
    ("app_logs", "record", of_first("record", pl.col("record").str.replace("log_00001", "log_9"))),
    ("checkpoints", "numbered(checkpoint_index)", lambda rows: rows.with_columns(pl.col("checkpoint_index") * 2)),
    ("checkpoints", "grows", of_first("n_visible", 399)),
    ("checkpoints", "last_log", of_first("last_log_id", "log_00184")),
    ("checkpoints", "in_the_past", lambda rows: rows.with_columns(pl.col("as_of").dt.offset_by("-1us"))),
    ("tasks", "put", where(SERVICE, "state_key", GYM)),
    ("tasks", "put", where(SERVICE, "scenario", None)),
    ("tasks", "put", where(~SERVICE, "question_text", None)),
    ("tasks", "put", where(~SERVICE, "scenario", "It is Sunday.")),
    ("tasks", "put", where(LIST, "state_key", GYM)),
    ("tasks", "put", where(LIST, "asked_family", None)),
    ("tasks", "put", where(~LIST, "asked_family", "habit")),
    ("tasks", "blank", where(pl.col("output_template").is_not_null(), "output_template", '{"venue":"Iron Works"}')),
    ("tasks", "blank", of_first("answer_template", '{"a":{"b":[6]}}')),
    ("tasks", "blank", of_first("answer_template", '{"valid":true}')),
    ("tasks", "at_a_checkpoint", of_first("checkpoint_id", "cal_quarterly_009")),
    ("tasks", "at_a_checkpoint", of_first("as_of", pl.col("as_of").dt.offset_by("1s"))),
    ("tasks", "one_answer", lambda rows: rows[1:]),
    ("gold_items", "reference", where(~VALUE, "reference", '"x"')),
    ("gold_items", "known", where(VALUE & ~SERVICE & (pl.col("truth") == "as_of"), "reference", None)),
    ("gold_items", "nothing_shows_nothing", where(~VALUE, "evidence", ["log_00001"])),
    ("gold_items", "one_state", where(LIST, "state_key", GYM)),
    ("gold_items", "one_state", where(~LIST, "state_key", None)),
    ("gold_parts", "counts", where(pl.col("of_state").is_not_null(), "judged", True)),
    ("gold_parts", "counts", where(pl.col("of_state").is_not_null(), "of_state", None)),
    ("gold_parts", "numbered(place)", lambda rows: rows.with_columns(pl.col("place") + 1)),
    ("gold_parts", "gate", where(pl.col("gate"), "kind", "entity")),
    ("gold_parts", "gate", where(pl.col("gate"), "path", "value")),
    ("gold_parts", "counts", lambda rows: rows.with_columns(judged=pl.lit(False), point=pl.lit(False))),
    ("gold_parts", "of_an_item", of_first("item", "nobody/asked")),
    ("gold_states", "value", where(VALUE, "value", None)),
    ("gold_states", "shown", where(~VALUE, "evidence", ["log_00001"])),
    ("gold_states", "at_a_checkpoint", of_first("checkpoint_id", "cal_quarterly_009")),
    ("state_intervals", "forwards", where(pl.col("valid_to").is_not_null(), "valid_to", pl.col("valid_from"))),
    ("state_intervals", "apart", where(pl.col("value_id") == "walk#0", "valid_to", None)),
    ("state_intervals", "apart", where(pl.col("value_id") == "walk#0", "valid_to", LONGER)),
    ("state_evidence", "of_a_log", of_first("position", 399)),
    ("state_evidence", "of_a_log", of_first("app_log_id", "log_99999")),
    ("state_changes", "of_a_log", of_first("end_position", 5_000)),
    ("state_changes", "ended", of_first("evidence", ["log_99999"])),
    ("state_changes", "ended", of_first("end_position", 0)),
    ("applog_funnel", "steps", lambda rows: rows.with_columns(pl.col("place") + 1)),
    ("applog_funnel", "one_kept", of_first("reason", "lost")),
]  # fmt: skip


@pytest.mark.parametrize(("table", "name", "spoil"), FAULTS, ids=[f"{table}:{name}" for table, name, _ in FAULTS])
def test_a_fault_is_named(table: str, name: str, spoil: Callable[[pl.DataFrame], pl.DataFrame], world: Tables) -> None:
    spoilt = spoil(world[table])
    assert not spoilt.equals(world[table])
    assert name in failures(table, {**world, table: spoilt})


def test_a_right_value_without_parts_is_named(world: Tables) -> None:
    one = world["gold_parts"]["item"][0]
    assert failures("gold_items", {**world, "gold_parts": world["gold_parts"].filter(pl.col("item") != one)}) == [
        "has_parts"
    ]


def test_a_habit_that_lasts_twice_at_a_time_is_found_for_members_too(world: Tables) -> None:
    walks = world["state_intervals"].filter(state_key=WALK, user_id="000")
    both = walks.with_columns(member=pl.Series(["a", "b"]), valid_to=None)
    assert failures("state_intervals", {"state_intervals": both.cast(walks.schema)}) == []
    same = walks.with_columns(member=pl.lit("a"), valid_to=None)
    assert failures("state_intervals", {"state_intervals": same.cast(walks.schema)}) == ["apart"]
