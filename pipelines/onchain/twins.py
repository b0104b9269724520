"""Logs that a drop holds more than once, and logs that a node took back.

A log is known by its block and its place in it. Places that occur twice or were removed
show while a drop is read; only the logs at such places are then read again and compared.
"""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from pipelines.onchain.decode import of_protocol
from pipelines.onchain.logs import places, read_logs
from pipelines.onchain.logs_raw import LINE

FILE = "__file"
VERDICTS = pl.Schema({FILE: pl.Int32, LINE: pl.Int64, "verdict": pl.String})
REMOVED, DUPLICATE = "removed", "duplicate"
_CONTENT = ("address", "topic0", "topic1", "topic2", "topic3", "data")
_KNOWN = ("block_hash", "tx_hash", "tx_index", "time")


Places = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""Places of some logs, and of those of them that were removed."""


def places_of(rows: pl.DataFrame) -> Places:
    """Places of logs, from block number, log index and `removed`."""
    at = places(rows).to_numpy()
    return at, at[rows["removed"].to_numpy()]


def judge(paths: Sequence[Path], suspects: pl.Series) -> pl.DataFrame:
    """What becomes of logs at the places `suspects` (`VERDICTS`); others do not appear.

    `removed`: taken back by the node, or the log that was; `duplicate`: an equal log
    stands; any other text is a reason to refuse: the same place with different
    contents or block hashes, where nothing tells which one the chain kept.
    """
    if not len(suspects):
        return pl.DataFrame(schema=VERDICTS)
    found = []
    for number, path in enumerate(paths):
        for chunk in read_logs(path):
            rows = chunk.rows.filter(places(chunk.rows).is_in(suspects.implode()))
            found.append(rows.with_columns(pl.lit(number, pl.Int32).alias(FILE)))
    return _judge(pl.concat(found))


def suspects(parts: Sequence[Places]) -> pl.Series:
    """Places that occur more than once, and places of removed logs."""
    seen = [at for at, _ in parts if len(at)]
    none = np.zeros(0, np.int64)
    twice = none
    # Files in the order of the chain, as most are, need no copy of all places.
    if not all((at[1:] > at[:-1]).all() for at in seen) or any(one[-1] >= next_[0] for one, next_ in pairwise(seen)):
        every = np.sort(np.concatenate(seen))
        twice = every[1:][every[1:] == every[:-1]]
    return pl.Series(np.unique(np.concatenate([none, twice, *(taken for _, taken in parts)])), dtype=pl.Int64)


def _judge(rows: pl.DataFrame) -> pl.DataFrame:
    taken = rows.filter("removed").select("block_number", "log_index", "block_hash").unique()
    back = rows.join(taken, on=taken.columns, how="semi", nulls_equal=True)
    # Logs of others are left alone: a node may number them again (state sync), and they enter no table.
    rest = rows.join(taken, on=taken.columns, how="anti", nulls_equal=True)
    rest = rest.filter(of_protocol(rest))
    place = ["block_number", "log_index"]
    contents = pl.struct(_CONTENT).n_unique().over(place)
    blocks = pl.col("block_hash").drop_nulls().n_unique().over(place)
    transactions = pl.col("tx_hash").drop_nulls().n_unique().over(place)
    rest = rest.with_columns(
        pl.when(contents > 1)
        .then(pl.lit("two different logs stand at one place of the chain"))
        .when(blocks > 1)
        .then(pl.lit("its block number appears with two block hashes"))
        .when(transactions > 1)
        .then(pl.lit("its place appears with two transaction hashes"))
        .alias("verdict")
    )
    equal = rest.filter(pl.col("verdict").is_null()).sort(*place, *_KNOWN, FILE, LINE, nulls_last=True)
    doubled = equal.filter(~pl.struct(place).is_first_distinct()).with_columns(pl.lit(DUPLICATE).alias("verdict"))
    return pl.concat(
        part.select(pl.col(name).cast(dtype) for name, dtype in VERDICTS.items())
        for part in (
            back.with_columns(pl.lit(REMOVED).alias("verdict")),
            rest.filter(pl.col("verdict").is_not_null()),
            doubled,
        )
    )
