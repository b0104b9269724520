"""Parquet of logs, in the columns of cryo and HyperSync (and the names of JSON-RPC)."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.commerce.reading import SourceError
from pipelines.onchain.logs_raw import LINE, NAMES, NUMBERS, REFUSED, Hand, RawChunk, handed

ROWS = 220_000
"""Rows of one chunk at most: about 100 MB."""
ALIASES = {
    "block_number": ("block_number", "blockNumber"),
    "block_hash": ("block_hash", "blockHash"),
    "time": ("block_timestamp", "timestamp", "block_time", "blockTimestamp"),
    "tx_hash": ("transaction_hash", "tx_hash", "transactionHash"),
    "tx_index": ("transaction_index", "tx_index", "transactionIndex"),
    "log_index": ("log_index", "logIndex"),
}
_NEEDED = ("address", "data", "block_number", "log_index")


def read(path: Path, names: Sequence[str] = NAMES) -> Iterator[Hand]:
    """Chunks of rows with the columns `names`; `__line` is the row, from 1. Row groups are read when asked for.

    Raises `SourceError`, as a hand does, for a damaged file, for one without the columns
    of a log, and for numbers stored as floats.
    """
    try:
        scan = pl.scan_parquet(path, glob=False)
        schema = scan.collect_schema()
        steps = list(_steps(path))
    except (pl.exceptions.PolarsError, pa.ArrowException, OSError) as error:
        raise _damaged(path, None, error) from None
    wanted = _columns(path, schema, names)
    start = 0
    # One step at a time: a scan of the whole file would read ahead into fresh memory.
    for n_rows in steps:
        step = partial(_read, path, scan, wanted, start, n_rows)
        if n_rows <= ROWS:
            yield step
        else:
            whole = step()
            for first in range(0, n_rows, ROWS):
                yield handed(_part(whole, first))
            del whole
        start += n_rows


def _read(path: Path, scan: pl.LazyFrame, wanted: Sequence[pl.Expr], start: int, n_rows: int) -> RawChunk:
    stored = sorted({name for column in wanted for name in column.meta.root_names()})
    try:
        rows = scan.slice(start, n_rows).select(stored).collect()
        if rows.height != n_rows:
            raise pl.exceptions.ComputeError(f"{rows.height} rows where the footer says {n_rows}")
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _damaged(path, start + 1, error) from None
    line = pl.int_range(start + 1, start + 1 + pl.len(), dtype=pl.Int64).alias(LINE)
    rows = rows.select(*wanted, line)
    reasons = _faults(rows) if "topic0" in rows.columns else None
    return RawChunk(rows.drop("__topics", strict=False), reasons, pl.DataFrame(schema=REFUSED), n_rows)


def _part(whole: RawChunk, first: int) -> RawChunk:
    rows = whole.rows.slice(first, ROWS)
    reasons = None if whole.reasons is None else whole.reasons.slice(first, ROWS)
    return RawChunk(rows, reasons, whole.refused, rows.height)


def _steps(path: Path) -> Iterator[int]:
    """Rows that are read at once: whole row groups, several small ones or one large."""
    footer = pq.read_metadata(path)
    n_rows = 0
    for number in range(footer.num_row_groups):
        more = footer.row_group(number).num_rows
        if n_rows and n_rows + more > ROWS:
            yield n_rows
            n_rows = 0
        n_rows += more
    if n_rows:
        yield n_rows


def _damaged(path: Path, line: int | None, error: Exception) -> SourceError:
    what = f"the Parquet file is damaged or cut off ({str(error).splitlines()[0]})"
    return SourceError(path.name, line, what, "Copy or export the file again")


def _columns(path: Path, schema: pl.Schema, names: Sequence[str]) -> list[pl.Expr]:
    found = {name: next((n for n in ALIASES.get(name, (name,)) if n in schema), None) for name in NAMES}
    listed = isinstance(schema.get("topics"), pl.List | pl.Array)
    missing = [name for name in _NEEDED if found[name] is None]
    if missing or not (listed or found["topic0"]):
        what = f"column {(missing or ['topic0'])[0]!r} is missing"
        remedy = f"Export logs with cryo or HyperSync; this file has {', '.join(schema)[:200]}"
        raise SourceError(path.name, None, what, remedy)
    expressions = []
    for name in names:
        source = found[name]
        if listed and name.startswith("topic"):
            topics = pl.col("topics").list if isinstance(schema["topics"], pl.List) else pl.col("topics").arr
            expressions.append(topics.get(int(name[-1]), null_on_oob=True).alias(name))
        elif source is None:
            absent = pl.Null if name in NUMBERS or name == "removed" else pl.Binary
            expressions.append(pl.lit(None, absent).alias(name))
        else:
            _check(path, source, name, schema[source])
            expressions.append(pl.col(source).alias(name))
    if listed and "topic0" in names:
        expressions.append(pl.col("topics").alias("__topics"))
    return expressions


def _check(path: Path, source: str, name: str, dtype: pl.DataType) -> None:
    if name in NUMBERS or name == "removed":
        fine = dtype.is_integer() or dtype in (pl.String, pl.Binary, pl.Boolean) or isinstance(dtype, pl.Datetime)
    else:
        fine = dtype in (pl.String, pl.Binary)
    fine = fine or dtype == pl.Null
    if not fine:
        kinds = "integers or hex" if name in NUMBERS else "hex text or bytes"
        raise SourceError(path.name, None, f"column {source!r} holds {dtype}", f"Store it as {kinds}")


def _faults(rows: pl.DataFrame) -> pl.Series | None:
    """What is wrong with the topics of every row, as in JSON; None when nothing is.

    Nulls at the end are what a log has no topic for, where all rows have as many columns or places.
    """
    missing = many = null = pl.Series(np.zeros(rows.height, np.bool_))
    for one, following in pairwise(rows[f"topic{n}"] for n in range(4)):
        if one.null_count() and following.null_count() < rows.height:
            null |= one.is_null() & following.is_not_null()
    if "__topics" in rows.columns:
        topics = rows["__topics"]
        missing = topics.is_null()
        if isinstance(topics.dtype, pl.List):
            size = topics.list.len()
            many, null = size > 4, null | (topics.list.drop_nulls().list.len() != size)
        elif isinstance(topics.dtype, pl.Array):
            for place in range(4, topics.dtype.shape[0]):
                many |= topics.arr.get(place).is_not_null()
    if not (missing.any() or many.any() or null.any()):
        return None
    fault = pl.when(missing).then(pl.lit("topics are missing")).when(many).then(pl.lit("more than 4 topics"))
    return pl.select(fault.when(null).then(pl.lit("a topic is null"))).to_series()
