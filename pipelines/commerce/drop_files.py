"""The files of one drop told apart by what they hold: log, lookup tables, files that are not read."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from pipelines.commerce import reading, reading_delimited, reading_json, reading_parquet
from pipelines.commerce.mapping import Lookup, Mapping
from pipelines.commerce.reading import Chunk, MissingColumn, SourceError


@dataclass(frozen=True)
class DropFiles:
    """Log files, files of each lookup, and what is to be said about the rest."""

    logs: tuple[Path, ...]
    lookups: dict[str, tuple[Path, ...]]
    notes: tuple[str, ...]


def header(path: Path, mapping: Mapping) -> list[str]:
    """Column names of a file; those of the mapping where the file has none.

    Raises `SourceError` when the file is in no format that the mapping accepts.
    """
    if reading.kind(path) == "parquet":
        if "parquet" not in mapping.format:
            raise SourceError(path.name, None, "this is Parquet", f"{mapping.name} takes {', '.join(mapping.format)}")
        return reading_parquet.header_of(path)
    if set(mapping.format) == {"parquet"}:
        raise SourceError(path.name, None, "this is no Parquet file", f"{mapping.name} takes Parquet only")
    if "jsonl" in mapping.format:
        return reading_json.header_of(path, mapping.encoding, mapping.nested)
    return reading_delimited.header_of(path, mapping.encoding, mapping.separator)


def tell_apart(files: Sequence[Path], mapping: Mapping) -> DropFiles:
    """Sort the files of a drop by their columns.

    Raises `SourceError` when a file is none of those the mapping knows (naming the
    columns that are missing), or when no log is among them.
    """
    logs: list[Path] = []
    lookups: dict[str, list[Path]] = {}
    notes: list[str] = []
    unknown: list[tuple[Path, str]] = []
    headers = {path: set(header(path, mapping)) for path in sorted(files)}
    tables = {path: table for path, names in headers.items() if (table := _table(names, mapping))}
    given = {name for table in tables.values() for name in table.columns}
    for path, names in headers.items():
        ignored = next((item for item in mapping.ignored if set(item.header) == names), None)
        missing = _missing(names, mapping, given)
        if ignored:
            notes.append(f"{path.name}: not read, {ignored.why}")
        elif path in tables:
            _refuse_history(path, names, tables[path], mapping)
            lookups.setdefault(tables[path].name, []).append(path)
        elif missing and not mapping.positional:
            unknown.append((path, missing))
        else:
            logs.append(path)
    if unknown:
        path, missing = unknown[0]
        remedy = f"Check that this is a log of {mapping.name}; it has {', '.join(sorted(headers[path]))[:200]}"
        if len(headers[path]) == 1 and (other := next((c for c in ";\t|," if c in min(headers[path])), "")):
            remedy += f". If its columns are parted by {other!r}, say so in the mapping: delimiter: {json.dumps(other)}"
        raise MissingColumn(path.name, 1, f"column {missing} is missing", remedy)
    if not logs:
        name = sorted(files)[0].name if files else "drop"
        raise SourceError(name, None, "no log file is in the drop", f"Add the {mapping.name} log to the same drop")
    for table in mapping.lookups:
        if table.name not in lookups and _needed(table, logs, headers, mapping):
            notes.append(f"no table of {table.name} in the drop: {', '.join(table.columns)} unknown")
    return DropFiles(tuple(logs), {name: tuple(paths) for name, paths in lookups.items()}, tuple(notes))


def _table(names: set[str], mapping: Mapping) -> Lookup | None:
    if mapping.positional or not _missing(names, mapping, set()):
        return None
    return next((table for table in mapping.lookups if table.tells <= names), None)


def _refuse_history(path: Path, names: set[str], table: Lookup, mapping: Mapping) -> None:
    """A table with times of its own says what held when; joined by key alone it would tell the future."""
    if dated := sorted(set(mapping.time.column) & names - set(table.columns)):
        what = f"the table {table.name} has the time column {dated[0]!r}, so its values change over time"
        remedy = "Join the value that held at each event into the log before reading it, or send a table without times"
        raise SourceError(path.name, 1, what, remedy)


def _missing(names: set[str], mapping: Mapping, given: set[str]) -> str:
    for alternatives in mapping.sought:
        if not set(alternatives) & (names | given):
            return " or ".join(repr(name) for name in alternatives)
    if not set(mapping.columns.item) & names:
        return " or ".join(repr(name) for name in mapping.columns.item)
    return ""


def _needed(table: Lookup, logs: list[Path], headers: dict[Path, set[str]], mapping: Mapping) -> bool:
    """Whether a log lacks what the table would give and could be joined to it."""
    return any(not set(table.columns) <= headers[path] and table.log_column in headers[path] for path in logs)


def chunks(path: Path, mapping: Mapping, wanted: Sequence[str]) -> Iterator[Chunk]:
    """Chunks of a file with all of `wanted` as columns, null where the file has none."""
    if reading.kind(path) == "parquet":
        ids = {*mapping.columns.user, *mapping.columns.item, *(key for t in mapping.lookups for key in (t.key, t.on))}
        pieces = reading_parquet.read_parquet(path, wanted, sorted(ids))
    elif "jsonl" in mapping.format:
        pieces = reading_json.read_json(path, mapping.encoding, wanted, mapping.nested)
    else:
        pieces = reading_delimited.read_delimited(path, mapping.encoding, mapping.separator, wanted, mapping.positional)
    for piece in pieces:
        absent = [pl.lit(None, pl.String).alias(name) for name in wanted if name not in piece.rows.columns]
        yield Chunk(piece.rows.with_columns(absent), piece.rejects, piece.n_rows)


def lookup_table(table: Lookup, paths: Sequence[Path], mapping: Mapping) -> tuple[pl.DataFrame, int]:
    """One row a key with the columns taken, and how many further rows disagreed.

    Of rows that disagree the smallest stands, so that neither row nor file order matters.
    """
    wanted = sorted({table.key, *table.columns})
    flat = mapping.model_copy(update={"nested": ""})
    parts = [piece.rows.select(wanted) for path in paths for piece in chunks(path, flat, wanted)]
    rows = (
        pl.concat([part.cast(pl.String) for part in parts])
        if parts
        else pl.DataFrame(schema=dict.fromkeys(wanted, pl.String))
    )
    rows = rows.filter(pl.col(table.key).is_not_null()).unique().sort(wanted, nulls_last=True)
    single = rows.unique(table.key, keep="first", maintain_order=True)
    return single, rows.height - single.height
