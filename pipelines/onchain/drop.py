"""The files of one drop → tables of events, rejects and counts: where every row of every file went."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import polars as pl

from pipelines.commerce.reading import SourceError
from pipelines.onchain import twins
from pipelines.onchain.abi import EVENTS
from pipelines.onchain.beside import beside
from pipelines.onchain.decode import decode
from pipelines.onchain.logs import LogChunk, read_raw, typed
from pipelines.onchain.logs_raw import LINE, Hand
from pipelines.onchain.ordering import in_order
from pipelines.onchain.packing import packed
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
THREADS = 2
"""Chunks that are read and decoded at a time. Of Parquet one thread reads one chunk; each holds about 100 MB."""
_NO_REJECTS, _NO_COUNTS = ONCHAIN_TABLES["onchain_rejects"].empty(), ONCHAIN_TABLES["log_counts"].empty()
Tables = dict[str, pl.DataFrame]
Finish = Callable[[Tables], Tables]


@dataclass(frozen=True)
class Piece:
    """Some logs of one file, decoded: `tables` by name, and rows of `onchain_rejects` and `log_counts`."""

    tables: dict[str, pl.DataFrame]
    rejects: pl.DataFrame
    counts: pl.DataFrame


def decode_pieces(paths: Sequence[Path], pools: Collection[bytes] = (), *, void: Callable[[], None]) -> Iterator[Piece]:
    """Decode a drop piece by piece, in bounded memory; rows come in no promised order.

    Every file is read once as long as each log has a place of its own. Where that turns
    out wrong, `void` is called: the pieces given so far count no more, and pieces of the
    whole drop follow, for which logs at one place were compared.

    The ids of a piece are cut out of its logs and keep them in memory: write a piece
    away, or take `packing.packed` of what is kept.

    `pools` are pools known from elsewhere, beside those whose creation is in the drop.
    Raises `commerce.reading.SourceError` for a file that cannot be read, and
    `AssertionError` when a row would be lost or counted twice.
    """
    return _pieces(sorted(paths), pools, void, lambda tables: tables)


def _pieces(
    paths: Sequence[Path], pools: Collection[bytes], void: Callable[[], None], finish: Finish
) -> Iterator[Piece]:
    seen: list[twins.Places] = []
    yield from _pass(paths, pools, pl.DataFrame(schema=twins.VERDICTS), finish, seen.append)
    suspects = twins.suspects(seen)
    seen.clear()
    if len(suspects):
        void()
        yield from _pass(paths, pools, twins.judge(paths, suspects), finish, lambda _: None)


def _pass(
    paths: Sequence[Path],
    pools: Collection[bytes],
    judged: pl.DataFrame,
    finish: Finish,
    saw: Callable[[twins.Places], None],
) -> Iterator[Piece]:
    """One reading of the drop; `saw` gets the places of all logs."""
    known = set(pools)
    waiting: list[tuple[str, pl.DataFrame]] = []
    for number, path in enumerate(paths):
        verdict = judged.filter(pl.col(twins.FILE) == number).select(LINE, "verdict")
        work = partial(_read_piece, path.name, verdict, finish)
        for piece, of_pools, places in beside(work, read_raw(path), THREADS):
            saw(places)
            if of_pools.height:
                waiting.append((path.name, of_pools))
            if "fpmm_pools" in piece.tables:
                known |= set(piece.tables["fpmm_pools"]["pool"])
            yield piece
            # Not held while the next ones are read and decoded.
            del piece, of_pools, places
    for name, rows in waiting:
        yield _decoded(name, rows, known, finish)[0]


def _read_piece(
    name: str, verdict: pl.DataFrame, finish: Finish, hand: Hand
) -> tuple[Piece, pl.DataFrame, twins.Places]:
    """One chunk decoded, and its logs of pools: a pool may be created in a later file than its first trade."""
    chunk = typed(hand())
    kept, piece = _judged(name, chunk, verdict)
    decoded, of_pools = _decoded(name, kept, None, finish)
    counts = pl.concat([piece.counts, decoded.counts])
    assert counts["rows"].sum() + of_pools.height == chunk.n_rows, f"{name}: a row was lost or counted twice"
    out = Piece(decoded.tables, pl.concat([piece.rejects, decoded.rejects]), counts)
    return out, of_pools, twins.places_of(chunk.rows)


def decode_drop(paths: Sequence[Path], pools: Collection[bytes] = ()) -> Piece:
    """The whole drop in memory: every table of `DECODED`, sorted; rejects and counts, sorted.

    Raises as `decode_pieces`, and `SourceError` for a drop that has rows and no log among them.
    """
    # One by one: `extend` must not run while the list is cleared.
    pieces: list[Piece] = []
    for piece in _pieces(sorted(paths), pools, pieces.clear, _packed):
        pieces.append(piece)
    tables = {
        name: in_order(
            pl.concat(
                [ONCHAIN_TABLES[name].empty(), *(piece.tables[name] for piece in pieces if name in piece.tables)]
            ),
            ONCHAIN_TABLES[name].sort_by,
        )
        for name in DECODED
    }
    rejects = pl.concat([_NO_REJECTS, *(piece.rejects for piece in pieces)])
    counts = pl.concat([_NO_COUNTS, *(piece.counts for piece in pieces)])
    _refuse_strangers(rejects, counts)
    counts = counts.group_by("file", "outcome", "event").agg(pl.col("rows").sum())
    return Piece(
        tables,
        rejects.sort(ONCHAIN_TABLES["onchain_rejects"].sort_by),
        counts.sort(ONCHAIN_TABLES["log_counts"].sort_by),
    )


def _refuse_strangers(rejects: pl.DataFrame, counts: pl.DataFrame) -> None:
    """Rows that are refused one and all without naming an event are no logs: the drop is something else."""
    if rejects.height and counts["rows"].sum() == rejects.height and (rejects["event"] == "").all():
        first = rejects.sort("file", "line").row(0, named=True)
        what = f"no row is a log; the first is refused: {first['reason']}"
        raise SourceError(first["file"], first["line"], what, "Give logs as eth_getLogs, SQD, cryo or HyperSync do")


def _packed(tables: Tables) -> Tables:
    return {name: packed(table) for name, table in tables.items()}


def _judged(name: str, chunk: LogChunk, verdict: pl.DataFrame) -> tuple[pl.DataFrame, Piece]:
    """Rows that go on to be decoded, and what the reader and the search for twins kept back."""
    rows = chunk.rows
    counts, rejects = [_NO_COUNTS], [_NO_REJECTS]
    if chunk.refused.height:
        events = _events(chunk.refused["topic0"])
        counts.append(_counts(name, "reject", events))
        rejects.append(_rejects(name, chunk.refused.drop("topic0").with_columns(events.alias("event"))))
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


def _decoded(
    name: str, rows: pl.DataFrame, pools: Collection[bytes] | None, finish: Finish
) -> tuple[Piece, pl.DataFrame]:
    """Logs of one file decoded, and those left until all pools are known."""
    decoded = decode(rows, pools)
    file = pl.Series("file", [name]).new_from_index(0, decoded.counts.height)
    piece = Piece(
        finish({table: _without_line(frame) for table, frame in decoded.tables.items()}),
        _rejects(name, decoded.refused) if decoded.refused.height else _NO_REJECTS,
        pl.DataFrame([file, *decoded.counts]),
    )
    return piece, decoded.of_pools


def _without_line(table: pl.DataFrame) -> pl.DataFrame:
    return pl.DataFrame([column for column in table if column.name != LINE])


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
