"""JSON lines → chunks of text columns.

Numbers become their own digits, never a float, so that 64-bit ids survive. Names may
be paths (`product.brand`, `categories[1]`); a list of events in a row may be unfolded.
"""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from pipelines.commerce.reading import (
    HEAD_BYTES,
    LINE,
    RAW,
    RAW_LIMIT,
    Chunk,
    SourceError,
    line_chunks,
)

_HEAD_ROWS = 100
_STEP = re.compile(r"([^.\[\]]+)((?:\[\d+\])*)")


def header_of(path: Path, encoding: str, nested: str = "") -> list[str]:
    """Names (paths for nested objects and lists) of the fields in the first rows.

    With `nested`, the fields of the elements of that list count like the row's own.
    Raises `SourceError` when the first line that is not blank is no JSON object and
    none of the first rows is.
    """
    names: set[str] = set()
    seen = 0
    for piece in line_chunks(path, encoding, HEAD_BYTES):
        for text in piece.lines.head(_HEAD_ROWS).to_list():
            row = _object(text)
            seen += bool(text.strip())
            if row is not None:
                names |= set(_paths(row))
                if nested and isinstance(row.get(nested), list):
                    for element in row[nested][:_HEAD_ROWS]:
                        names |= set(_paths(element)) if isinstance(element, dict) else set()
        if seen:
            break
    if not seen:
        raise SourceError(path.name, None, "the file holds only blank lines", "Send the whole file")
    if not names:
        raise SourceError(path.name, 1, "the first rows are no JSON objects", "Give one JSON object a line")
    return sorted(names)


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _paths(value: dict[str, Any]) -> Iterator[str]:
    for name, inner in value.items():
        yield name
        if isinstance(inner, dict):
            yield from (f"{name}.{path}" for path in _paths(inner))
        elif isinstance(inner, list):
            yield from (f"{name}[{i}]" for i in range(min(len(inner), 16)))


def read_json(path: Path, encoding: str, wanted: Sequence[str], nested: str = "") -> Iterator[Chunk]:
    """Chunks of the `wanted` columns; a field that is absent, null or of a wrong kind is null.

    With `nested`, one row for every element of that list; a field is looked for in
    the element, then in the row around it. Raises `SourceError` as `line_chunks`.
    """
    tree: dict[str, Any] = {}
    for name in wanted:
        _plant(tree, _steps(name))
    schema = {name: _dtype(child) for name, child in tree.items()}
    if nested:
        schema[nested] = pl.List(pl.Struct({name: _dtype(child) for name, child in tree.items()}))
    for piece in line_chunks(path, encoding):
        frame = pl.DataFrame({RAW: piece.lines}).with_row_index(LINE, offset=piece.first).cast({LINE: pl.Int64})
        filled = frame.filter(pl.col(RAW).str.strip_chars() != "")
        n_rows = filled.height + piece.bad.height
        is_object = filled[RAW].str.strip_chars().str.starts_with("{")
        other, objects = filled.filter(~is_object), filled.filter(is_object)
        rows, bad = _decode(objects, piece.data if objects.height == frame.height else _joined(objects), schema)
        rejects = [_rejects(pl.concat([other, bad]), "not a JSON object"), piece.bad]
        if nested:
            lost = pl.col(nested).is_null() | (pl.col(nested).list.len() == 0)
            empty, rows = rows.filter(lost), rows.filter(~lost)
            rejects.append(_rejects(empty, f"{nested} holds no rows"))
            n_rows += int(rows[nested].list.len().sum() or 0) - rows.height
            rows = rows.explode(nested)
        picked = rows.select(*(_pick(name, nested) for name in wanted), LINE, RAW)
        yield Chunk(_without_containers(picked, wanted), pl.concat(rejects), n_rows)


def _steps(name: str) -> list[str | int]:
    """`a.b[1]` → ["a", "b", 1]."""
    steps: list[str | int] = []
    for field, indices in _STEP.findall(name):
        steps += [field, *(int(i) for i in re.findall(r"\d+", indices))]
    return steps


def _plant(tree: dict[str, Any], steps: list[str | int]) -> None:
    for step in steps:
        tree = tree.setdefault("[]" if isinstance(step, int) else step, {})


def _dtype(tree: dict[str, Any]) -> pl.DataType:
    if not tree:
        return pl.String()
    if "[]" in tree:
        return pl.List(_dtype(tree["[]"]))
    return pl.Struct({name: _dtype(child) for name, child in tree.items()})


def _pick(name: str, nested: str) -> pl.Expr:
    def walk(expr: pl.Expr, steps: list[str | int]) -> pl.Expr:
        for step in steps:
            expr = expr.list.get(step, null_on_oob=True) if isinstance(step, int) else expr.struct.field(step)
        return expr

    first, *others = _steps(name)
    outer = walk(pl.col(str(first)), others)
    if nested:
        outer = pl.coalesce(walk(pl.col(nested), [first, *others]), outer)
    return outer.alias(name)


def _decode(filled: pl.DataFrame, data: bytes, schema: dict[str, pl.DataType]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows with the columns of `schema`, and the lines that are no JSON objects."""
    rows = _parsed(data, schema, filled.height)
    if rows is not None:
        return rows.with_columns(filled[LINE], filled[RAW]), filled.clear()
    # Some line is no JSON. A second parser, which answers line by line, names the
    # suspects; but the first one judges each, so that no line depends on its neighbours.
    suspect = ~filled[RAW].str.json_path_match("$").str.starts_with("{").fill_null(False)
    clean = filled.filter(~suspect)
    rows = _parsed(_joined(clean), schema, clean.height)
    singles = filled.filter(suspect)
    if rows is None:
        clean, singles, rows = filled.clear(), filled, pl.DataFrame(schema=schema)
    judged = [_parsed(line.encode(), schema, 1) for line in singles[RAW]]
    fine = pl.Series([one is not None for one in judged], dtype=pl.Boolean)
    rows = pl.concat([rows, *(one for one in judged if one is not None)])
    lines = pl.concat([clean, singles.filter(fine)])
    return rows.with_columns(lines[LINE], lines[RAW]), singles.filter(~fine)


def _joined(frame: pl.DataFrame) -> bytes:
    return (frame[RAW].str.join("\n").item() or "").encode()


def _parsed(data: bytes, schema: dict[str, pl.DataType], height: int) -> pl.DataFrame | None:
    if not height:
        return pl.DataFrame(schema=schema)
    try:
        rows = pl.read_ndjson(data, schema=schema, ignore_errors=True)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    return rows if rows.height == height else None


def _without_containers(rows: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Null the values that are lists or objects where one value is due; the parser writes them as text.

    A text that merely looks like one stands in the row right after a quote.
    """
    for name in names:
        suspect = rows[name].str.contains(r"^[\[{]").fill_null(False)
        if suspect.any():
            quoted = pl.col(RAW).str.contains(pl.concat_str(pl.lit('"'), pl.col(name).str.slice(0, 1)), literal=True)
            rows = rows.with_columns(pl.when(suspect & ~quoted).then(None).otherwise(pl.col(name)).alias(name))
    return rows


def _rejects(frame: pl.DataFrame, reason: str) -> pl.DataFrame:
    return frame.select(
        pl.col(LINE).alias("line"),
        pl.lit(reason).alias("reason"),
        pl.col(RAW).str.slice(0, RAW_LIMIT).alias("raw"),
    )
