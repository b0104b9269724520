"""CSV and TSV → chunks of text columns, with the physical line of every row.

Lines with the right number of fields go through the columnar parser in one piece.
Only lines that could be anything else (a stray or open quote) are read one by one.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from pipelines.commerce.reading import (
    HEAD_BYTES,
    LINE,
    RAW,
    RAW_LIMIT,
    Chunk,
    Lines,
    SourceError,
    line_chunks,
    reject_frame,
)

MAX_RECORD_LINES = 100
"""A quoted field may span this many lines; a quote open for longer is taken for a stray one (ours)."""


def header_of(path: Path, encoding: str, separator: str) -> list[str]:
    """Column names in the first line that is not blank, trimmed. Raises `SourceError` when there is none."""
    for piece in line_chunks(path, encoding, HEAD_BYTES):
        at = _first_text(piece.lines)
        if at < len(piece.lines):
            return _names(piece.lines[at], separator)
    raise SourceError(path.name, None, "the file holds only blank lines", "Send the whole file")


def _names(text: str, separator: str) -> list[str]:
    return [name.strip() for name in next(csv.reader([text], delimiter=separator), [])]


def read_delimited(
    path: Path, encoding: str, separator: str, wanted: Sequence[str], positional: Sequence[str]
) -> Iterator[Chunk]:
    """Chunks of the `wanted` columns that the file has.

    `positional` names the columns of a file without header; else the first line that
    is not blank does. Raises `SourceError` for a file without header none of whose
    rows has the declared width, and as `line_chunks`.
    """
    names = list(positional)
    carry = pl.Series("line", [], dtype=pl.String)
    fitted, n_rows = 0, 0
    pieces = line_chunks(path, encoding)
    piece = next(pieces, None)
    while piece is not None:
        following = next(pieces, None)
        piece = _after(carry, piece)
        carry = carry.clear()
        if not names:
            at = _first_text(piece.lines)
            if at < len(piece.lines):
                names = _names(piece.lines[at], separator)
                _refuse_twins(path, piece.first + at, names)
                piece = _without(piece, at + 1)
        if names:
            chunk, left = _parse(piece, names, wanted, separator, last=following is None)
            carry = piece.lines.tail(left) if left else carry
            fitted, n_rows = fitted + chunk.rows.height, n_rows + chunk.n_rows
            yield chunk
        piece = following
    if positional and n_rows and not fitted:
        what = f"no line has {len(names)} fields separated by {separator!r}"
        raise SourceError(path.name, 1, what, "Check the source name, or the delimiter and columns of the mapping")


def _after(carry: pl.Series, piece: Lines) -> Lines:
    """The piece with the unfinished lines of the one before in front."""
    if carry.is_empty():
        return piece
    front = "".join(f"{line}\n" for line in carry.to_list()).encode()
    return Lines(front + piece.data, pl.concat([carry, piece.lines]), piece.first - len(carry), piece.bad)


def _without(piece: Lines, count: int) -> Lines:
    """The piece without its first lines."""
    at = 0
    for _ in range(count):
        at = piece.data.find(b"\n", at) + 1 or len(piece.data)
    return Lines(piece.data[at:], piece.lines.slice(count), piece.first + count, piece.bad)


def _refuse_twins(path: Path, line: int, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise SourceError(path.name, line, f"column {name!r} appears twice", "Rename one of them")


def _first_text(lines: pl.Series) -> int:
    filled = (lines.str.strip_chars() != "").arg_true()
    return int(filled[0]) if len(filled) else len(lines)


def _parse(piece: Lines, names: list[str], wanted: Sequence[str], separator: str, *, last: bool) -> tuple[Chunk, int]:
    """Rows of one piece, and how many lines at its end belong to a record that goes on in the next."""
    width = len(names)
    frame = pl.DataFrame({RAW: piece.lines}).with_row_index(LINE, offset=piece.first).cast({LINE: pl.Int64})
    raw = frame[RAW]
    keep = raw.str.strip_chars(" ") != ""
    n_fields = raw.str.count_matches(separator, literal=True) + 1
    quoted = raw.str.contains('"', literal=True)
    records: list[tuple[int, list[str], str]] = []
    open_quotes: list[tuple[int, str, str]] = []
    left = 0
    if quoted.any():
        inner = '(?:[^"]|"")*'
        field = f'(?:"{inner}"|[^"{re.escape(separator)}]*)'
        regular = raw.str.contains(f"^{field}(?:{re.escape(separator)}{field})*$")
        bare = raw.str.replace_all(f'"{inner}"', "").str.count_matches(separator, literal=True) + 1
        n_fields = n_fields.zip_with(~quoted, bare)
        used, records, open_quotes, left = _odd_records(piece, quoted & ~regular, separator, width, last=last)
        keep = keep & ~used
    fits = keep & (n_fields == width)
    clean = frame if fits.all() else frame.filter(fits)
    data = piece.data if fits.all() else clean[RAW].str.join("\n").item().encode()
    positions = [i for i, name in enumerate(names) if name in wanted]
    rows = _columns(data, positions, names, separator, quoted=bool(quoted.any()), height=clean.height)
    rows = rows.with_columns(clean[LINE], clean[RAW])
    fitting = [[*(fields[i] or None for i in positions), line, text] for line, fields, text in records
               if len(fields) == width]  # fmt: skip
    if fitting:
        rows = pl.concat([rows, pl.DataFrame(fitting, schema=rows.schema, orient="row")])

    wrong = keep & (n_fields != width)
    reason = pl.format("{} fields, expected {}", pl.col("n"), pl.lit(width))
    short = frame.with_columns(n_fields.alias("n")).filter(wrong)
    odd = [(line, f"{len(fields)} fields, expected {width}", text) for line, fields, text in records
           if len(fields) != width]  # fmt: skip
    rejects = [
        short.select(
            pl.col(LINE).alias("line"), reason.alias("reason"), pl.col(RAW).str.slice(0, RAW_LIMIT).alias("raw")
        ),
        reject_frame(odd + open_quotes),
        piece.bad,
    ]
    n_rows = int(keep.sum()) + len(records) + len(open_quotes) + piece.bad.height
    return Chunk(rows, pl.concat(rejects), n_rows), left


def _columns(
    data: bytes, positions: list[int], names: list[str], separator: str, *, quoted: bool, height: int
) -> pl.DataFrame:
    chosen = [names[i] for i in positions]
    if not height or not chosen:
        return pl.DataFrame(schema=dict.fromkeys(chosen, pl.String))
    rows = pl.read_csv(
        data,
        has_header=False,
        infer_schema=False,
        columns=positions,
        separator=separator,
        quote_char='"' if quoted else None,
    )
    if rows.height != height:
        raise AssertionError(f"{rows.height} rows parsed from {height} lines")
    rows.columns = chosen
    return rows


def _odd_records(
    piece: Lines, odd: pl.Series, separator: str, width: int, *, last: bool
) -> tuple[pl.Series, list[tuple[int, list[str], str]], list[tuple[int, str, str]], int]:
    """Records that start on an odd line, read one by one.

    Returns the mask of lines used up, the records (line, fields, raw), the refused
    ones, and the number of lines at the end whose record is not complete yet.
    """
    lines = piece.lines
    used = np.zeros(len(lines), dtype=bool)
    records: list[tuple[int, list[str], str]] = []
    bad: list[tuple[int, str, str]] = []
    until = 0
    for start in odd.arg_true().to_list():
        if start < until:
            continue
        span = lines.slice(start, MAX_RECORD_LINES).to_list()
        count, fields = _record(span, separator, width)
        if not count and len(span) < MAX_RECORD_LINES and not last:
            used[start:] = True
            return pl.Series(used), records, bad, len(lines) - start
        if count:
            records.append((piece.first + start, fields, "\n".join(span[:count])))
        else:
            count = 1
            bad.append((piece.first + start, "quote never closed", span[0]))
        until = start + count
        used[start:until] = True
    return pl.Series(used), records, bad, 0


def _record(lines: list[str], separator: str, width: int) -> tuple[int, list[str]]:
    """Fields of the record at the start of `lines` and how many lines it takes; 0 when it is none.

    Within a line everything is taken as it comes. Over several lines only a regular
    record counts: right number of fields, quotes closed at the end of a field. Else two
    stray quotes would swallow the good lines between them.
    """
    fields: list[str] = []
    field = ""
    inside, regular = False, True
    for number, line in enumerate(lines):
        i = 0
        while i <= len(line):
            if inside:
                end = line.find('"', i)
                if end < 0:
                    field += line[i:] + "\n"
                    break
                field += line[i:end]
                i = end + 1
                if line[i : i + 1] == '"':
                    field += '"'
                    i += 1
                else:
                    inside = False
                    regular = regular and line[i : i + 1] in ("", separator)
            elif line[i : i + 1] == '"' and not field and (i == 0 or line[i - 1] == separator):
                inside = True
                i += 1
            else:
                end = line.find(separator, i)
                fields.append(field + (line[i:end] if end >= 0 else line[i:]))
                field = ""
                i = end + 1 if end >= 0 else len(line) + 1
        if not inside:
            if number and (not regular or len(fields) != width):
                return 0, []
            return number + 1, fields
    return 0, []
