"""The registry of every published table.

`TABLES` is the single contract between the domain, the store, the expectations, the
exports and the documentation; tests walk it. What a table holds is written down by
its track.
"""

import polars as pl

from pipelines.applogs.arm_tables import ARM_TABLES
from pipelines.applogs.board_tables import APPLOG_BOARD_TABLES
from pipelines.applogs.step_tables import PUBLISHED as APPLOGS_PUBLISHED
from pipelines.commerce.tables import COMMERCE_TABLES
from pipelines.evaluation.tables import EVALUATION_TABLES
from pipelines.onchain.board_tables import PREDICTION_TABLES
from pipelines.onchain.step_tables import PUBLISHED as ONCHAIN_PUBLISHED
from pipelines.tables import Table

SCHEMA_VERSION = 1
"""Enters every content hash; raised when a table changes its meaning."""

TABLES: dict[str, Table] = {
    **COMMERCE_TABLES,
    **EVALUATION_TABLES,
    **ONCHAIN_PUBLISHED,
    **PREDICTION_TABLES,
    **APPLOGS_PUBLISHED,
    **ARM_TABLES,
    **APPLOG_BOARD_TABLES,
}


def conform(frame: pl.LazyFrame, table: str) -> pl.LazyFrame:
    """Select, cast and order the columns of `table`; rows are sorted by its total order.

    Raises `polars.exceptions.ColumnNotFoundError` when a column is missing.
    """
    spec = TABLES[table]
    return frame.select(pl.col(name).cast(dtype) for name, dtype in spec.schema.items()).sort(
        spec.sort_by, nulls_last=False
    )
