"""What is fetched of a range so far: one file a span, which is rows and progress at once.

A span counts as fetched exactly when its file bears its final name, which it gets
last, whole and synced. So whenever a process dies, its successor goes on with the
gaps between the files. Joined in order they are the range, whatever spans it came in.
"""

import contextlib
import fcntl
import io
import json
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import zstandard

from resources.chain.reading import Span
from resources.chain.settings import ChainError
from resources.documents import sync

_NAME = re.compile(r"(\d{12})-(\d{12})\.zst")
_PART = ".part"
_LEVEL = 3
_PIECE = 1 << 20
"""Bytes handed to the compressor at once: always the same, so that equal lines give equal files."""


@dataclass(frozen=True)
class Chunk:
    """A committed span without its lines: blocks, hashes at its ends, number of logs and of blocks with logs."""

    first: int
    last: int
    parent: str
    hash: str
    logs: int
    blocks: int


class Chunks:
    """The spans of one range in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes out, until this one ends or dies; remove what a dead one left unfinished."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / ".lock").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            for left in self.folder.glob(f"*{_PART}"):
                left.unlink()
            yield

    def commit(self, span: Span) -> None:
        """Keep a span, durably and at once."""
        header = Chunk(span.first, span.last, span.parent, span.hash, len(span.lines), span.blocks)
        text = "".join(f"{line}\n" for line in (json.dumps(asdict(header)), *span.lines))
        path = self._path(span.first, span.last)
        part = path.with_name(path.name + _PART)
        part.write_bytes(zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(text.encode()))
        _settle(part, path)

    def committed(self) -> list[Chunk]:
        """What is kept, in order. A file that cannot be read is removed: its blocks are a gap again."""
        found = []
        for path in sorted(self.folder.glob("*.zst")):
            if _NAME.fullmatch(path.name) is None:
                continue
            try:
                found.append(Chunk(**json.loads(_head(path))))
            except (zstandard.ZstdError, ValueError, TypeError):
                path.unlink()
        return found

    def drop(self, chunk: Chunk) -> None:
        """Forget a span: its blocks are a gap again."""
        self._path(chunk.first, chunk.last).unlink()

    def join(self, chunks: Sequence[Chunk], target: Path) -> None:
        """Write the logs of spans to one file, durably and at once, streamed; one empty answer where there are none.

        Raises `ChainError` for a span whose file is damaged; it is removed, so that the
        next run fetches it again.
        """
        part = target.with_name(f".{target.name}{_PART}")
        compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
        with part.open("wb") as handle, compressor.stream_writer(handle, closefd=False) as writer:
            buffer = bytearray()
            for chunk in chunks:
                buffer += self._logs(chunk)
                whole = len(buffer) // _PIECE * _PIECE
                for start in range(0, whole, _PIECE):
                    writer.write(buffer[start : start + _PIECE])
                del buffer[:whole]
            if not any(chunk.logs for chunk in chunks):
                # An answer without logs: no row to a reader, and another file for other blocks.
                answer = {"fromBlock": hex(chunks[0].first), "toBlock": hex(chunks[-1].last), "result": []}
                buffer += f"{json.dumps(answer)}\n".encode()
            writer.write(buffer)
        _settle(part, target)

    def clear(self) -> None:
        """Remove all spans and the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _logs(self, chunk: Chunk) -> bytes:
        path = self._path(chunk.first, chunk.last)
        try:
            text = zstandard.ZstdDecompressor().decompress(path.read_bytes())
        except (zstandard.ZstdError, FileNotFoundError):
            path.unlink(missing_ok=True)
            raise ChainError(
                f"{path}: damaged, and removed; run the same again to fetch its blocks once more"
            ) from None
        return text[text.index(b"\n") + 1 :]

    def _path(self, first: int, last: int) -> Path:
        return self.folder / f"{first:012d}-{last:012d}.zst"


def gaps(first: int, last: int, chunks: list[Chunk]) -> list[tuple[int, int]]:
    """Blocks of `first` … `last` that no chunk holds, as ranges; `chunks` in order."""
    found = []
    at = first
    for chunk in chunks:
        if chunk.first > at:
            found.append((at, chunk.first - 1))
        at = chunk.last + 1
    return [*found, (at, last)] if at <= last else found


def broken_seams(chunks: list[Chunk]) -> list[Chunk]:
    """Neighbours that are not of one chain: a block between them was replaced after one of them was read."""
    bad = [(left, right) for left, right in pairwise(chunks) if left.hash != right.parent]
    return sorted({chunk for pair in bad for chunk in pair}, key=lambda chunk: chunk.first)


def _head(path: Path) -> bytes:
    """The first line of a compressed file."""
    with path.open("rb") as handle, zstandard.ZstdDecompressor().stream_reader(handle) as reader:
        return io.BufferedReader(reader).readline()


def _settle(part: Path, path: Path) -> None:
    """Give a whole file its name, so that a loss of power keeps all of it or nothing."""
    sync(part)
    part.replace(path)
    sync(path.parent)
