"""The files of one drop → tables of events, rejects and counts: where every row of every file went."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from pipelines.onchain import twins, words
from pipelines.onchain.abi import BY_NAME, EVENTS
from pipelines.onchain.building import any_of
from pipelines.onchain.decode import POOL_EVENTS, decode
from pipelines.onchain.logs import LogChunk, read_logs
from pipelines.onchain.logs_raw import LINE
from pipelines.onchain.tables import ONCHAIN_TABLES

DECODED = (
    "trades",
    "position_changes",
    "matches",
    "fees",
    "preparations",
    "resolutions",
    "token_registrations",
    "questions",
    "fpmm_pools",
)
"""Tables that come straight from logs."""
_POOL_TOPICS = frozenset(BY_NAME[name].topic0 for name in POOL_EVENTS)


@dataclass(frozen=True)
class Piece:
    """Some logs of one file, decoded: `tables` by name, and rows of `onchain_rejects` and `log_counts`."""

    tables: dict[str, pl.DataFrame]
    rejects: pl.DataFrame
    counts: pl.DataFrame


def decode_pieces(paths: Sequence[Path], pools: Collection[bytes] = ()) -> Iterator[Piece]:
    """Decode a drop piece by piece, in bounded memory; rows come in no promised order.

    The ids of a piece are cut out of its logs and keep them in memory: write a piece
    away, or take `words.packed` of what is kept.

    `pools` are pools known from elsewhere, beside those whose creation is in the drop.
    Raises `commerce.reading.SourceError` for a file that cannot be read, and
    `AssertionError` when a row would be lost or counted twice.
    """
    paths = sorted(paths)
    judged = twins.verdicts(paths)
    known = set(pools)
    waiting: list[tuple[str, pl.DataFrame]] = []
    for number, path in enumerate(paths):
        verdict = judged.filter(pl.col(twins.FILE) == number).select(LINE, "verdict")
        for chunk in read_logs(path):
            kept, piece = _judged(path.name, chunk, verdict)
            of_pools = kept.filter(any_of("topic0", _POOL_TOPICS))
            if of_pools.height:
                # A pool may be created in a later file than its first trade.
                waiting.append((path.name, of_pools))
                kept = kept.filter(~any_of("topic0", _POOL_TOPICS))
            decoded = _decoded(path.name, kept, ())
            if "fpmm_pools" in decoded.tables:
                known |= set(decoded.tables["fpmm_pools"]["pool"])
            counts = pl.concat([piece.counts, decoded.counts])
            assert counts["rows"].sum() + of_pools.height == chunk.n_rows, (
                f"{path.name}: a row was lost or counted twice"
            )
            yield Piece(decoded.tables, pl.concat([piece.rejects, decoded.rejects]), counts)
    for name, rows in waiting:
        yield _decoded(name, rows, known)


def decode_drop(paths: Sequence[Path], pools: Collection[bytes] = ()) -> Piece:
    """The whole drop in memory: every table of `DECODED`, sorted; rejects and counts, sorted.

    Raises as `decode_pieces`.
    """
    pieces = [
        Piece({name: words.packed(table) for name, table in piece.tables.items()}, piece.rejects, piece.counts)
        for piece in decode_pieces(paths, pools)
    ]
    tables = {
        name: pl.concat(
            [ONCHAIN_TABLES[name].empty(), *(piece.tables[name] for piece in pieces if name in piece.tables)]
        ).sort(ONCHAIN_TABLES[name].sort_by)
        for name in DECODED
    }
    rejects = pl.concat([ONCHAIN_TABLES["onchain_rejects"].empty(), *(piece.rejects for piece in pieces)])
    counts = pl.concat([ONCHAIN_TABLES["log_counts"].empty(), *(piece.counts for piece in pieces)])
    counts = counts.group_by("file", "outcome", "event").agg(pl.col("rows").sum())
    return Piece(
        tables,
        rejects.sort(ONCHAIN_TABLES["onchain_rejects"].sort_by),
        counts.sort(ONCHAIN_TABLES["log_counts"].sort_by),
    )


def _judged(name: str, chunk: LogChunk, verdict: pl.DataFrame) -> tuple[pl.DataFrame, Piece]:
    """Rows that go on to be decoded, and what the reader and the search for twins kept back."""
    events = _events(chunk.refused["topic0"])
    refused = chunk.refused.drop("topic0").with_columns(events.alias("event"))
    rows = chunk.rows
    counts = [_counts(name, "reject", events)]
    rejects = [_rejects(name, refused)]
    if verdict.height:
        judged = rows.join(verdict, on=LINE, how="inner")
        for outcome in (twins.REMOVED, twins.DUPLICATE):
            of_one = judged.filter(pl.col("verdict") == outcome)
            counts.append(_counts(name, outcome, _events(of_one["topic0"])))
        bad = judged.filter(~pl.col("verdict").is_in([twins.REMOVED, twins.DUPLICATE]))
        events = _events(bad["topic0"])
        counts.append(_counts(name, "reject", events))
        data = (pl.lit("0x") + pl.col("data").bin.slice(0, 249).bin.encode("hex")).alias("raw")
        rejects.append(
            _rejects(name, bad.with_columns(events.alias("event"), data).rename({LINE: "line", "verdict": "reason"}))
        )
        rows = rows.join(verdict, on=LINE, how="anti", maintain_order="left")
    return rows, Piece({}, pl.concat(rejects), pl.concat(counts))


def _decoded(name: str, rows: pl.DataFrame, pools: Collection[bytes]) -> Piece:
    decoded = decode(rows, pools)
    counts = decoded.counts.with_columns(pl.lit(name).alias("file"))
    return Piece(
        {table: frame.drop(LINE) for table, frame in decoded.tables.items()},
        _rejects(name, decoded.refused),
        counts.select(ONCHAIN_TABLES["log_counts"].schema.names()),
    )


def _events(topics: pl.Series) -> pl.Series:
    """Name of the event that a topic names, empty where none."""
    return topics.replace_strict(
        pl.Series([event.topic0 for event in EVENTS], dtype=pl.Binary),
        pl.Series([event.name for event in EVENTS]),
        default=pl.lit(""),
        return_dtype=pl.String,
    ).fill_null("")


def _counts(name: str, outcome: str, events: pl.Series) -> pl.DataFrame:
    counted = events.alias("event").to_frame().group_by("event").agg(pl.len().cast(pl.Int64).alias("rows"))
    return counted.select(pl.lit(name).alias("file"), pl.lit(outcome).alias("outcome"), "event", "rows")


def _rejects(name: str, refused: pl.DataFrame) -> pl.DataFrame:
    schema = ONCHAIN_TABLES["onchain_rejects"].schema
    return refused.with_columns(pl.lit(name).alias("file")).select(
        pl.col(column).cast(dtype) for column, dtype in schema.items()
    )
