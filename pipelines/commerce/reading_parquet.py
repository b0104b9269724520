"""Parquet → chunks of columns: ids and names as text, timestamps as they are typed."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from pipelines.commerce.reading import LINE, RAW, REJECT_SCHEMA, Chunk, SourceError

ROWS = 2_000_000
"""Rows of one chunk."""
_EXACT_FLOAT = 2**53


def header_of(path: Path) -> list[str]:
    """Column names. Raises `SourceError` for a file that is cut off or damaged."""
    return list(_schema(path))


def _schema(path: Path) -> pl.Schema:
    try:
        return pl.scan_parquet(path, glob=False).collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        what = f"the Parquet file is damaged or cut off ({str(error).splitlines()[0]})"
        raise SourceError(path.name, None, what, "Copy or download the file again") from None


def read_parquet(path: Path, wanted: Sequence[str], ids: Sequence[str]) -> Iterator[Chunk]:
    """Chunks of the `wanted` columns; `__line` is the row, from 1; `__raw` is null.

    Raises `SourceError` for columns that hold lists or objects, and for `ids` stored
    as floats that cannot be told from their neighbours any more.
    """
    schema = _schema(path)
    names = [name for name in schema if name in wanted]
    scan = pl.scan_parquet(path, glob=False)
    height = int(scan.select(pl.len()).collect().item())
    for start in range(0, height, ROWS):
        try:
            rows = scan.slice(start, ROWS).select(names).collect()
        except (pl.exceptions.PolarsError, OSError) as error:
            what = f"the Parquet file is damaged ({str(error).splitlines()[0]})"
            raise SourceError(path.name, start + 1, what, "Copy or download the file again") from None
        rows = rows.with_columns(_text(path, rows[name], name in ids) for name in names)
        rows = (
            rows.with_row_index(LINE, offset=start + 1)
            .cast({LINE: pl.Int64})
            .with_columns(pl.lit(None, pl.String).alias(RAW))
        )
        yield Chunk(rows, pl.DataFrame(schema=REJECT_SCHEMA), rows.height)


def _text(path: Path, values: pl.Series, is_id: bool) -> pl.Series:
    dtype = values.dtype
    if isinstance(dtype, pl.Datetime | pl.Date):
        return values
    if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
        raise SourceError(path.name, None, f"column {values.name!r} holds {dtype}", "Give one value a row")
    if dtype.is_float() and is_id:
        filled = values.drop_nulls()
        if len(filled.filter((filled != filled.floor()) | (filled.abs() >= _EXACT_FLOAT) | ~filled.is_finite())):
            what = f"ids in column {values.name!r} are floats and not exact"
            raise SourceError(path.name, None, what, "Store ids as integers or text")
        return values.cast(pl.Int64).cast(pl.String)
    return values.cast(pl.String)
