"""Bytes of a log file → chunks of raw text rows, whatever the file's format, encoding or compression.

Values stay text here, so that no id passes through a number. Lines that are no rows
are handed on with their reason; a file that is no log at all raises `SourceError`.
"""

import codecs
import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import zstandard

CHUNK_BYTES = 1 << 24
"""Text is read in pieces of about this size, which bounds memory beside the events themselves."""
RAW_LIMIT = 500
"""Characters of a refused row that are kept."""
HEAD_BYTES = 1 << 16
"""What is looked at to tell a file."""

LINE = "__line"
RAW = "__raw"
REJECT_SCHEMA = pl.Schema({"line": pl.Int64, "reason": pl.String, "raw": pl.String})

_GZIP, _ZSTD, _PARQUET = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PAR1"
_FOREIGN = {
    b"PK\x03\x04": "a zip archive or spreadsheet",
    b"%PDF": "a PDF document",
    b"\x89PNG": "an image",
    b"\xff\xd8\xff": "an image",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"ARROW1": "an Arrow file",
    b"SQLite format 3": "a database",
    b"\x7fELF": "a program",
}
_CONTROL = bytes(set(range(32)) - {9, 10, 12, 13, 27})


class SourceError(ValueError):
    """A file that cannot be read as the declared log.

    Attributes: `file` (name inside the drop), `line` (from 1, or None), `what` is
    wrong, and the `remedy`.
    """

    def __init__(self, file: str, line: int | None, what: str, remedy: str) -> None:
        self.file, self.line, self.what, self.remedy = file, line, what, remedy
        place = f"{file}:{line}" if line else file
        super().__init__(f"{place}: {what}. {remedy}")

    def __reduce__(self) -> tuple[type["SourceError"], tuple[str, int | None, str, str]]:
        """Survive the way between processes."""
        return type(self), (self.file, self.line, self.what, self.remedy)


class MissingColumn(SourceError):
    """A file lacks a column that the mapping names."""


@dataclass(frozen=True)
class Chunk:
    """Some rows of a file.

    `rows` holds text columns named as in the file, and `__line`, `__raw` (null where rows are no text); `rejects`
    (line, reason, raw) the lines that are no rows; `n_rows` how many rows the piece
    of the file has, counted apart from both.
    """

    rows: pl.DataFrame
    rejects: pl.DataFrame
    n_rows: int


@dataclass(frozen=True)
class Lines:
    """Consecutive lines: `data` as UTF-8, its `lines` (String), the number of the `first` one.

    `bad` holds lines that are no text (line, reason, raw); they are blank in `data`.
    """

    data: bytes
    lines: pl.Series
    first: int
    bad: pl.DataFrame


def reject_frame(rows: list[tuple[int, str, str]]) -> pl.DataFrame:
    """Rejects (line, reason, raw cut at 500 characters) as a frame."""
    return pl.DataFrame(
        [(line, reason, raw[:RAW_LIMIT]) for line, reason, raw in rows], schema=REJECT_SCHEMA, orient="row"
    )


def kind(path: Path) -> str:
    """`parquet` or `text`, from the content.

    Raises `SourceError` for an empty file and for formats that are known not to be logs.
    """
    with path.open("rb") as file:
        magic = file.read(16)
    if not magic:
        raise SourceError(path.name, None, "the file is empty", "Send the whole file, or leave it out of the drop")
    for start, what in _FOREIGN.items():
        if magic.startswith(start):
            raise SourceError(path.name, None, f"this is {what}", "Give CSV, TSV, JSONL or Parquet, plain, gz or zst")
    return "parquet" if magic.startswith(_PARQUET) else "text"


def read_bytes(path: Path, piece_bytes: int) -> Iterator[bytes]:
    """Pieces of the uncompressed content; gz and zst are seen from the first bytes.

    Raises `SourceError` for a truncated or damaged archive.
    """
    with path.open("rb") as file:
        magic = file.read(4)
    remedy = "Copy or download the file again"
    try:
        if magic.startswith(_GZIP):
            with gzip.open(path, "rb") as archive:
                while piece := archive.read(piece_bytes):
                    yield piece
        elif magic == _ZSTD:
            yield from _zstd(path)
        else:
            with path.open("rb") as file:
                while piece := file.read(piece_bytes):
                    yield piece
    except EOFError:
        raise SourceError(path.name, None, "the compressed file is cut off", remedy) from None
    except (zlib.error, gzip.BadGzipFile, zstandard.ZstdError) as error:
        raise SourceError(path.name, None, f"the compressed file is damaged ({error})", remedy) from None


def _zstd(path: Path) -> Iterator[bytes]:
    frame = zstandard.ZstdDecompressor().decompressobj()
    started = False
    with path.open("rb") as file:
        while data := file.read(1 << 20):
            while data:
                if frame.eof:
                    frame, started = zstandard.ZstdDecompressor().decompressobj(), False
                started = True
                if piece := frame.decompress(data):
                    yield piece
                data = frame.unused_data if frame.eof else b""
    # The library ends quietly on a frame that never closes.
    if started and not frame.eof:
        raise EOFError


def _utf8(path: Path, encoding: str, piece_bytes: int) -> Iterator[bytes]:
    """Content as UTF-8 without byte-order mark; UTF-8 itself is checked line by line later."""
    first = True
    if codecs.lookup(encoding).name in ("utf-8", "utf-8-sig"):
        for piece in read_bytes(path, piece_bytes):
            yield piece.removeprefix(codecs.BOM_UTF8) if first else piece
            first = False
        return
    decoder = codecs.getincrementaldecoder(encoding)("strict")
    try:
        for piece in read_bytes(path, piece_bytes):
            text = decoder.decode(piece)
            yield (text.removeprefix("\ufeff") if first else text).encode()
            first = False
        yield decoder.decode(b"", final=True).encode()
    except UnicodeDecodeError as error:
        what = f"not {encoding}: {error.reason}"
        raise SourceError(path.name, None, what, "Declare the encoding the log was written in") from None


def line_chunks(path: Path, encoding: str, chunk_bytes: int | None = None) -> Iterator[Lines]:
    """Whole lines of a text file in pieces; line ends are LF or CRLF.

    Raises `SourceError` when the file is empty, binary, in another encoding or damaged.
    """
    limit = chunk_bytes or CHUNK_BYTES
    held: list[bytes] = []
    size, first = 0, 1
    for piece in _utf8(path, encoding, limit):
        if not size and first == 1:
            _refuse_binary(path, piece[:HEAD_BYTES])
        for start in range(0, len(piece), limit):
            part = piece[start : start + limit]
            held.append(part)
            size += len(part)
            cut = part.rfind(b"\n") + 1 if size >= limit else 0
            if cut:
                # Joined once and cut once: copies of large pieces cost as much as reading them.
                held[-1] = part[:cut]
                lines = _lines(path, b"".join(held), first)
                yield lines
                first, held = first + len(lines.lines), [part[cut:]]
                size = len(held[0])
    if size:
        yield _lines(path, b"".join(held), first)
    elif first == 1:
        raise SourceError(path.name, None, "the file is empty", "Send the whole file, or leave it out of the drop")


def _refuse_binary(path: Path, head: bytes) -> None:
    if head[:2] in (b"\xff\xfe", b"\xfe\xff") or head[1::2].count(0) > len(head) // 4:
        raise SourceError(
            path.name, 1, "this looks like UTF-16 text", "Save it as UTF-8, or declare `encoding: utf-16` in a mapping"
        )
    control = len(head) - len(head.translate(None, _CONTROL))
    if control > len(head) * 0.08:
        raise SourceError(path.name, 1, "this is binary, not text", "Give CSV, TSV, JSONL or Parquet")


def _lines(path: Path, data: bytes, first: int) -> Lines:
    bad: list[tuple[int, str, str]] = []
    if b"\0" in data or not (data.isascii() or _is_utf8(data)):
        data, bad = _blank_bad_lines(path, data, first)
    # Two bytes are searched forty times as slowly as one.
    if b"\r" in data and b"\r\n" in data:
        data = data.replace(b"\r\n", b"\n")
    lines = pl.read_lines(data)["line"]
    return Lines(data, lines, first, reject_frame(bad))


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _blank_bad_lines(path: Path, data: bytes, first: int) -> tuple[bytes, list[tuple[int, str, str]]]:
    """Blank the lines that hold NUL or are not UTF-8, and say so; line numbers stay.

    When every line that is not UTF-8 would be clean Latin-1 and no line is non-ASCII
    UTF-8, it is the declaration that is wrong, not the lines.
    """
    lines, bad, valid, clean, latin_line = data.split(b"\n"), [], False, True, 0
    for index, line in enumerate(lines):
        if b"\0" in line:
            bad.append((first + index, "NUL byte", line.decode("utf-8", "replace").replace("\0", "\\0")))
            lines[index] = b""
        elif not line.isascii():
            try:
                line.decode()
                valid = True
            except UnicodeDecodeError:
                text = line.removesuffix(b"\r").decode("latin-1")
                clean &= text.isprintable() or all(c.isprintable() or c in "\t\xa0\xad" for c in text)
                latin_line = latin_line or first + index
                bad.append((first + index, "not UTF-8", line.decode("utf-8", "replace")))
                lines[index] = b""
    if latin_line and clean and not valid:
        remedy = "Declare the encoding in the mapping, for instance `encoding: latin-1`"
        raise SourceError(path.name, latin_line, "not UTF-8 text", remedy)
    return b"\n".join(lines), bad
