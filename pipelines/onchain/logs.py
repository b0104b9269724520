"""Files of logs → chunks of the `logs` table, whatever wrote them.

Read are JSON-RPC logs (one a line, one array, or whole responses), NDJSON of the SQD
portal (one block a line), and Parquet in the columns of cryo and HyperSync; plain, gz
or zst (text), hex or binary (Parquet). A row that is no log is refused with its line.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from pipelines.commerce import reading
from pipelines.commerce.reading import RAW_LIMIT, SourceError
from pipelines.onchain import hexes, logs_json, logs_parquet
from pipelines.onchain.buffers import column
from pipelines.onchain.drop_files import describes_markets
from pipelines.onchain.logs_raw import LINE, NAMES, NUMBERS, REFUSED, Hand, RawChunk, handed
from pipelines.onchain.numbers import integers
from pipelines.onchain.tables import ONCHAIN_TABLES

REASON = "__reason"
_LENGTHS = {"address": 20, "topic0": 32, "topic1": 32, "topic2": 32, "topic3": 32, "block_hash": 32, "tx_hash": 32}
_NEEDED = ("address", "data", "block_number", "log_index")
PLACE = ("block_number", "log_index", "removed")
_LIMIT = {"block_number": 2**40, "log_index": 2**23, "tx_index": 2**23, "time": 2**38}


@dataclass(frozen=True)
class LogChunk:
    """Some rows of a file.

    `rows` has the columns of `logs` and `__line`; `refused` those of `logs_raw.REFUSED`;
    `n_rows` counts both.
    """

    rows: pl.DataFrame
    refused: pl.DataFrame
    n_rows: int


def read_logs(path: Path) -> Iterator[LogChunk]:
    """Chunks of a file of logs.

    Raises `commerce.reading.SourceError` when the file is in no known form, is cut off or damaged, or holds
    descriptions of markets.
    """
    return (typed(hand()) for hand in read_raw(path))


def read_raw(path: Path) -> Iterator[Hand]:
    """Chunks as they stand in the file, for `typed`; those of several hands may be taken side by side.

    Raises as `read_logs`.
    """
    if describes_markets(path):
        what, remedy = "this describes markets and holds no logs", "Name it beside files of logs in a build"
        raise SourceError(path.name, None, what, remedy)
    return _hands(path)


def _hands(path: Path, names: Sequence[str] = NAMES) -> Iterator[Hand]:
    if reading.kind(path) == "parquet":
        return logs_parquet.read(path, names)
    return map(handed, logs_json.read(path, names))


def read_places(path: Path) -> Iterator[pl.DataFrame]:
    """Block number, log index and `removed` of the rows of a file; nothing else is read of it.

    Raises as `read_logs`.
    """
    for hand in _hands(path, PLACE):
        rows = hand().rows
        numbers = [integers(rows[name]) for name in PLACE[:2]]
        yield pl.DataFrame([*numbers, _flags(rows["removed"])[0]]).filter(
            pl.col(name).is_between(0, _LIMIT[name], closed="left") for name in PLACE[:2]
        )


def places(rows: pl.DataFrame) -> pl.Series:
    """Block number and log index in one integer, in the order of the chain."""
    return (rows["block_number"].cast(pl.Int64) * 2**23 + rows["log_index"]).alias("place")


def typed(chunk: RawChunk) -> LogChunk:
    """Hex to bytes, numbers to integers; rows where that fails are set aside."""
    frame = chunk.rows
    reasons: list[tuple[np.ndarray, str]] = []
    columns: dict[str, pl.Series] = {}
    for name in (*_LENGTHS, "data"):
        columns[name] = _bytes(frame[name], reasons)
    for name in NUMBERS:
        given = frame[name]
        # Integers are brought to their width last: the widest would be one copy more.
        values = given if given.dtype.is_integer() else integers(given)
        if values.null_count() > given.null_count() or _outside(values, _LIMIT[name]):
            values = integers(given)
            bad = ((values.is_null() & given.is_not_null()) | (values < 0) | (values >= _LIMIT[name])).fill_null(False)
            reasons.append((bad.to_numpy(), f"{name} is no number in its range"))
            values = values.set(bad, None)
        columns[name] = values
    columns["time"] = columns["time"].cast(pl.Int64) * 1_000_000
    columns["removed"], bad = _flags(frame["removed"])
    if bad.any():
        reasons.append((bad.to_numpy(), "removed is neither true nor false"))
    schema = ONCHAIN_TABLES["logs"].schema
    # Every number is in its range by now: to look for one that is too large would take most of the cast.
    cast = (columns[name].cast(dtype, wrap_numerical=True) for name, dtype in schema.items())
    rows = pl.DataFrame([*cast, frame[LINE]])
    for name in _NEEDED:
        if rows[name].null_count():
            missing = frame[name].is_null().to_numpy()
            reasons.append((missing, f"{name} is missing"))
    if chunk.reasons is not None:
        reasons.insert(0, (chunk.reasons.is_not_null().to_numpy(), ""))
    if not reasons:
        return LogChunk(rows, chunk.refused, chunk.n_rows)
    return _set_aside(chunk, rows, reasons)


def _bytes(values: pl.Series, reasons: list[tuple[np.ndarray, str]]) -> pl.Series:
    """Bytes of a column of bytes or hex; what is wrong with a value goes to `reasons`."""
    name = values.name
    if values.dtype == pl.Null:
        return values.cast(pl.Binary)
    if values.dtype == pl.String:
        values, failed = hexes.unhex(values)
        if failed.any():
            reasons.append((failed == hexes.ODD, f"{name} has an odd number of hex digits"))
            reasons.append((failed == hexes.NOT_HEX, f"{name} is not hex"))
    if name in _LENGTHS and values.null_count() < len(values):
        source, size = column(values), _LENGTHS[name]
        if not source.all_of(size):
            reasons.append(((source.lengths != size) & source.valid, f"{name} is not {size} bytes"))
    return values


def _outside(values: pl.Series, limit: int) -> bool:
    least, most = values.min(), values.max()
    return isinstance(least, int) and isinstance(most, int) and (least < 0 or most >= limit)


def _set_aside(chunk: RawChunk, typed: pl.DataFrame, reasons: list[tuple[np.ndarray, str]]) -> LogChunk:
    reason = np.full(typed.height, None, object)
    for mask, text in reversed(reasons):
        reason[mask] = text
    found = pl.Series(REASON, reason.tolist(), pl.String)
    if chunk.reasons is not None:
        found = pl.select(pl.coalesce(chunk.reasons, found)).to_series().rename(REASON)
    bad = found.is_not_null()
    data = chunk.rows["data"]
    text = data if data.dtype == pl.String else "0x" + data.bin.encode("hex")
    refused = (
        typed.select(pl.col(LINE).alias("line"), "topic0", "block_number", "log_index")
        .with_columns(found.alias("reason"), text.str.slice(0, RAW_LIMIT).alias("raw"))
        .filter(bad)
        .with_columns(pl.when(pl.col("topic0").bin.size() == 32).then("topic0"))
        .select(list(REFUSED))
        .cast(REFUSED)
    )
    return LogChunk(typed.filter(~bad), pl.concat([chunk.refused, refused]), chunk.n_rows)


def _flags(values: pl.Series) -> tuple[pl.Series, pl.Series]:
    """`removed` as booleans, absent = false, and where it is neither."""
    if values.dtype in (pl.Boolean, pl.Null):
        return values.cast(pl.Boolean).fill_null(False), pl.Series([False], dtype=pl.Boolean).new_from_index(
            0, len(values)
        )
    text = values.cast(pl.String).str.to_lowercase().str.strip_prefix("0x")
    known = text.is_null() | text.is_in(["true", "false", "1", "0"])
    return text.is_in(["true", "1"]).fill_null(False).rename(values.name), ~known
