"""What the UI shows beside a materialisation: counts, schema, sample, hashes."""

from collections.abc import Mapping
from typing import Any

import dagster as dg
import polars as pl

from assets.inputs import content
from pipelines.hashing import digest_json
from pipelines.schema import TABLES
from resources.catalog import Catalog
from resources.store import Published

SAMPLE_ROWS = 8
WHOLE_ROWS = 40
"""A table of at most so many rows is shown whole."""


def column_schema(table: str) -> dg.TableSchema:
    """Columns of a table with type and meaning."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                name=name,
                type=str(column.dtype),
                description=column.meaning + (f" [{column.unit}]" if column.unit else ""),
                constraints=dg.TableColumnConstraints(nullable=column.nullable),
            )
            for name, column in TABLES[table].columns.items()
        ]
    )


def table_metadata(
    published: Mapping[str, Published], walls: Mapping[str, Catalog], reused: bool, fingerprint: str
) -> dict[str, Any]:
    """Metadata of one asset: the first table under the names that the UI knows, all tables by name."""
    first = next(iter(published))
    metadata: dict[str, Any] = {
        "dagster/partition_row_count": published[first].rows,
        "dagster/column_schema": column_schema(first),
        "dagster/table_name": first,
        "reused": reused,
        "fingerprint": fingerprint,
        "content": digest_json([content(one) for one in published.values()]),
    }
    metadata |= published[first].extra.get("counts", {})
    metadata |= {f"{table} rows": one.rows for table, one in published.items()}
    files = [(table, one.bytes, walls[table].store.location(one)) for table, one in published.items()]
    metadata["files"] = table_value(pl.DataFrame(files, schema=["table", "bytes", "file"], orient="row"))
    for table, one in published.items():
        rows = walls[table].scan_published([one])
        if one.rows <= WHOLE_ROWS:
            metadata[f"{table} table"] = table_value(rows)
        else:
            metadata[f"{table} sample"] = table_value(rows.head(SAMPLE_ROWS))
    return metadata


def table_value(rows: pl.LazyFrame | pl.DataFrame) -> dg.MetadataValue:
    """Rows as the UI's table: every value as printable text, so that ids and instants are shown exactly."""
    frame = rows.lazy().collect()
    columns = [dg.TableColumn(name, str(dtype)) for name, dtype in frame.schema.items()]
    records = [dg.TableRecord({name: _text(value) for name, value in row.items()}) for row in frame.to_dicts()]
    return dg.MetadataValue.table(records, dg.TableSchema(columns))


def _text(value: object) -> str:
    text = "" if value is None else f"0x{value.hex()}" if isinstance(value, bytes) else str(value)
    return "".join(char if char.isprintable() else "�" for char in text[:1000])
