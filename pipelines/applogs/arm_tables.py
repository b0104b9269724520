"""The tables of an arm on app logs, as the store holds them."""

from dataclasses import replace

from pipelines.applogs.tables import APPLOG_TABLES
from pipelines.tables import Table

ARM_TABLES: dict[str, Table] = {
    **{name: APPLOG_TABLES[name] for name in ("contexts", "answers", "oracle_answers")},
    "applog_units": replace(APPLOG_TABLES["applog_units"], may_be_empty="a shard may hold no sampled question"),
}
"""Table by name."""
