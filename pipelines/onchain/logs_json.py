"""JSON of logs: one log a line, one SQD block a line, one RPC response a line, or one JSON value in the whole file."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from pipelines.commerce.reading import HEAD_BYTES, RAW_LIMIT, SourceError, line_chunks, read_bytes
from pipelines.onchain.logs_raw import LINE, NAMES, REFUSED, RawChunk

TEXT = "__text"
_FIELDS = {
    "address": "address",
    "data": "data",
    "block_number": "blockNumber",
    "block_hash": "blockHash",
    "time": "blockTimestamp",
    "tx_hash": "transactionHash",
    "tx_index": "transactionIndex",
    "log_index": "logIndex",
    "removed": "removed",
}
_HEADER = {"number": pl.String, "hash": pl.String, "timestamp": pl.String}
SHAPES = ("log", "block", "response")
"""What one line holds."""


def _schema(shape: str, names: Sequence[str]) -> dict[str, Any]:
    """The fields of a line that are read for these columns."""
    log: dict[str, Any] = {_FIELDS[name]: pl.String() for name in names if name in _FIELDS}
    if "topic0" in names:
        log["topics"] = pl.List(pl.String)
    if shape == "block":
        return {"header": pl.Struct(_HEADER), "logs": pl.List(pl.Struct(log))}
    return {"result": pl.List(pl.Struct(log))} if shape == "response" else log


def read(path: Path, names: Sequence[str] = NAMES) -> Iterator[RawChunk]:
    """Chunks of rows with the columns `names`; `__line` is the line, or the element of one array, from 1.

    Raises `SourceError` for a file that is neither, is truncated or damaged.
    """
    whole, shape = _shape(path)
    if whole:
        yield from _whole(path, names)
        return
    for piece in line_chunks(path, "utf-8"):
        frame = pl.DataFrame({TEXT: piece.lines}).with_row_index(LINE, offset=piece.first).cast({LINE: pl.Int64})
        chunk = _rows(frame, piece.data, shape, names)
        bad = piece.bad.with_columns(pl.lit(None).alias(name) for name in REFUSED if name not in piece.bad.columns)
        refused = pl.concat([chunk.refused, bad.select(list(REFUSED)).cast(REFUSED)])
        yield RawChunk(chunk.rows, chunk.reasons, refused, chunk.n_rows + piece.bad.height)


def _shape(path: Path) -> tuple[bool, str]:
    """Whether the file is one JSON value, and what its lines or elements hold: that of the first that tells."""
    first = True
    for piece in line_chunks(path, "utf-8", HEAD_BYTES):
        for text in piece.lines:
            if not text.strip():
                continue
            # A value that is spread over several lines.
            if first and (text.lstrip().startswith("[") or text.strip() == "{"):
                return True, ""
            first = False
            try:
                shape = _shape_of(json.loads(text))
            except (ValueError, RecursionError):
                continue
            if shape:
                return False, shape
    if first:
        raise SourceError(path.name, None, "the file holds only blank lines", "Send the whole file")
    return False, "log"


def _shape_of(value: Any) -> str | None:
    """What an object holds; None when it is broken in a way that does not tell."""
    if isinstance(value, dict):
        if "topics" in value:
            return "log"
        if "header" in value:
            return "block"
        if "result" in value or "error" in value:
            return "response"
    return None


def _whole(path: Path, names: Sequence[str]) -> Iterator[RawChunk]:
    text = b"".join(read_bytes(path, 1 << 24))
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        place = getattr(error, "lineno", None)
        raise SourceError(path.name, place, f"this is no whole JSON value ({error})", "Fetch the file again") from None
    if isinstance(value, dict):
        value = value.get("result", [value])
    if not isinstance(value, list):
        raise SourceError(path.name, 1, "the answer holds no list of logs", "Keep the answers of eth_getLogs only")
    shape = next(filter(None, map(_shape_of, value)), "log")
    lines = [json.dumps(element) for element in value]
    frame = pl.DataFrame({TEXT: lines}, schema={TEXT: pl.String}).with_row_index(LINE, offset=1)
    yield _rows(frame.cast({LINE: pl.Int64}), "\n".join(lines).encode(), shape, names)


def _rows(frame: pl.DataFrame, data: bytes, shape: str, names: Sequence[str]) -> RawChunk:
    """The logs of lines of text (`data` is all of them), and the lines that are no JSON of this shape."""
    rows, bad = _decode(frame, data, _schema(shape, names))
    refused = [_refused(bad, "not a JSON object")]
    nested = {"block": "logs", "response": "result"}.get(shape)
    if nested:
        # A block may come without the field when it has no logs; an answer without it is an error.
        said = pl.lit(True) if shape == "response" else pl.col(TEXT).str.contains('"logs"', literal=True)
        lost = rows.filter(pl.col(nested).is_null() & said)
        refused.append(_refused(lost, f"{nested} holds no list of logs"))
        # A block or an answer without logs is no row at all.
        rows = rows.filter(pl.col(nested).list.len() > 0).explode(nested)
        outer = [pl.col("header")] if shape == "block" else []
        rows = rows.select(LINE, TEXT, *outer, pl.col(nested).struct.unnest())
        if shape == "block":
            header = pl.col("header").struct
            given = {"blockNumber": "number", "blockHash": "hash", "blockTimestamp": "timestamp"}
            rows = rows.with_columns(
                pl.coalesce(name, header.field(field)).alias(name)
                for name, field in given.items()
                if name in rows.columns
            )
    out = pl.concat(refused)
    topics = pl.col("topics").list
    picked = rows.select(
        *(topics.get(int(name[-1]), null_on_oob=True).alias(name) for name in names if name.startswith("topic")),
        *(pl.col(_FIELDS[name]).alias(name) for name in names if name in _FIELDS),
        LINE,
    )
    reasons = _reasons(rows) if "topic0" in names else None
    return RawChunk(picked.select(*names, LINE), reasons, out, picked.height + out.height)


def _reasons(rows: pl.DataFrame) -> pl.Series | None:
    """What is wrong with lists of topics."""
    topics = pl.col("topics").list
    reasons = rows.select(
        pl.when(pl.col("topics").is_null())
        .then(pl.lit("topics are missing"))
        .when(topics.len() > 4)
        .then(pl.lit("more than 4 topics"))
        .when(pl.col("topics").list.eval(pl.element().is_null()).list.any())
        .then(pl.lit("a topic is null"))
    ).to_series()
    return None if reasons.null_count() == len(reasons) else reasons


def _decode(frame: pl.DataFrame, data: bytes, schema: dict[str, Any]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Lines with the fields of `schema`, and the lines that are no JSON objects; blank lines are neither."""
    start = frame[TEXT].str.strip_chars_start().str.slice(0, 1)
    if (start == "{").all():
        rows = _parsed(data, frame.height, schema)
        if rows is not None:
            return rows.with_columns(frame[LINE], frame[TEXT]), frame.clear()
    # The parser stops at the first line that is no JSON; a second one names such lines.
    frame = frame.filter(start != "")
    fine = pl.Series([_is_object(text) for text in frame[TEXT]], dtype=pl.Boolean)
    frame, bad = frame.filter(fine), frame.filter(~fine)
    rows = _parsed("\n".join(frame[TEXT]).encode(), frame.height, schema)
    if rows is None:
        singles = [_parsed(text.encode(), 1, schema) for text in frame[TEXT]]
        fine = pl.Series([one is not None for one in singles], dtype=pl.Boolean)
        rows = pl.concat([pl.DataFrame(schema=schema), *(one for one in singles if one is not None)])
        frame, bad = frame.filter(fine), pl.concat([bad, frame.filter(~fine)])
    return rows.with_columns(frame[LINE], frame[TEXT]), bad


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _parsed(data: bytes, height: int, schema: dict[str, Any]) -> pl.DataFrame | None:
    if not height:
        return pl.DataFrame(schema=schema)
    try:
        rows = pl.read_ndjson(data, schema=schema, ignore_errors=True)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    return rows if rows.height == height else None


def _refused(frame: pl.DataFrame, reason: str) -> pl.DataFrame:
    columns = {
        "line": pl.col(LINE),
        "reason": pl.lit(reason),
        "raw": pl.col(TEXT).str.slice(0, RAW_LIMIT),
    }
    return frame.select(columns.get(name, pl.lit(None)).cast(dtype).alias(name) for name, dtype in REFUSED.items())
