"""The tables of app logs hold together, and their wall is where it must be."""

import pytest

from pipelines.applogs.step_tables import PUBLISHED
from pipelines.applogs.tables import APPLOG_TABLES
from pipelines.commerce.tables import COMMERCE_TABLES
from pipelines.evaluation.tables import EVALUATION_TABLES
from pipelines.onchain.board_tables import PREDICTION_TABLES
from pipelines.onchain.step_tables import PUBLISHED as ONCHAIN
from pipelines.schema import TABLES

SHOWN = {"app_logs", "checkpoints", "tasks", "contexts", "answers"}


@pytest.mark.parametrize("name", sorted(APPLOG_TABLES))
def test_keys_and_orders_are_columns_and_every_column_has_a_meaning(name: str) -> None:
    table = APPLOG_TABLES[name]
    assert table.key and set(table.key) | set(table.order) <= set(table.columns)
    assert all(column.meaning for column in table.columns.values())
    assert not any(table.columns[column].nullable for column in table.key)
    assert table.user_axis == "user_id"


def test_only_what_is_asked_and_answered_lies_before_the_wall() -> None:
    assert {name for name, table in APPLOG_TABLES.items() if table.wall == "store"} == SHOWN
    told = {"reference", "expected", "expectation", "qa_id", "family", "value", "truth", "distractors"}
    assert all(not told & set(APPLOG_TABLES[name].columns) for name in SHOWN)


def test_no_name_means_two_tables() -> None:
    others = (COMMERCE_TABLES, EVALUATION_TABLES, ONCHAIN, PREDICTION_TABLES)
    assert not [name for name in {**APPLOG_TABLES, **PUBLISHED} for tables in others if name in tables]
    assert all(TABLES[name].columns == APPLOG_TABLES[name].columns for name in set(APPLOG_TABLES) & set(TABLES))
