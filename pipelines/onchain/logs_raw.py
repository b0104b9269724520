"""What every reader of logs hands on: rows as they stand in the file, under the names of the `logs` table."""

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

LINE = "__line"
NUMBERS = ("block_number", "time", "tx_index", "log_index")
"""Columns that are numbers, however they are written; `time` in seconds."""
NAMES = (
    "address",
    "topic0",
    "topic1",
    "topic2",
    "topic3",
    "data",
    "block_number",
    "block_hash",
    "time",
    "tx_hash",
    "tx_index",
    "log_index",
    "removed",
)

REFUSED = pl.Schema(
    {
        "line": pl.Int64,
        "reason": pl.String,
        "topic0": pl.Binary,
        "raw": pl.String,
        "block_number": pl.Int64,
        "log_index": pl.Int32,
    }
)


@dataclass(frozen=True)
class RawChunk:
    """Some rows of a file.

    `rows` has the columns `NAMES`, as text, bytes or numbers, and `__line`;
    `reasons`, where given, why a row is refused already (null = fine); `refused` what
    is no row at all, in the schema `REFUSED`; `n_rows` counts both.
    """

    rows: pl.DataFrame
    reasons: pl.Series | None
    refused: pl.DataFrame
    n_rows: int


Hand = Callable[[], RawChunk]
"""Gives a chunk, once, and keeps nothing of it. Where reading can wait it is done then, by whoever calls."""


def handed(chunk: RawChunk) -> Hand:
    """A chunk that is read already, in a hand."""
    return [chunk].pop
