"""Integers from columns of any kind: numbers, instants, decimal or hex text, big-endian bytes."""

import numba as nb
import numpy as np
import numpy.typing as npt
import polars as pl

from pipelines.onchain.buffers import INLINE, Addresses, Flags, Views, column, load_byte


def integers(values: pl.Series) -> pl.Series:
    """Int64 from integers, instants (seconds), decimal or 0x text, or big-endian bytes; null where it is none."""
    name, dtype = values.name, values.dtype
    if dtype == pl.Null:
        return values.cast(pl.Int64)
    if isinstance(dtype, pl.Datetime):
        return values.dt.epoch("s").rename(name)
    if dtype == pl.Binary:
        values = ("0x0" + values.bin.encode("hex")).rename(name)
    if values.dtype == pl.String:
        return _plain(values) if values.null_count() < len(values) else values.cast(pl.Int64)
    return values.cast(pl.Int64, strict=False)


def _plain(text: pl.Series) -> pl.Series:
    """Text of digits alone by a compiled walk; a column with a value that is written otherwise by expressions."""
    source = column(text)
    numbers = np.zeros(len(text), np.int64)
    if not _parse(source.views, source.views_at, source.buffers, source.valid, numbers):
        return _any(text)
    read = pl.Series(text.name, numbers)
    return read if source.whole else read.set(pl.Series(~source.valid), None)


@nb.njit(cache=True, nogil=True)
def _parse(views: Views, views_at: np.uint64, buffers: Addresses, valid: Flags, out: npt.NDArray[np.int64]) -> bool:
    """Read 1 to 15 hex digits after 0x, or 1 to 18 decimal ones; false at the first other value."""
    for row in range(views.shape[0]):
        if not valid[row]:
            continue
        length = int(np.int64(views[row, 0]))
        at = (
            views_at + np.uint64(16 * row + 4)
            if length <= INLINE
            else buffers[views[row, 2]] + np.uint64(views[row, 3])
        )
        base, start = 10, 0
        if length > 2 and load_byte(at) == 48 and (load_byte(at + np.uint64(1)) | np.uint64(32)) == 120:
            base, start = 16, 2
        if length == start or length - start > (15 if base == 16 else 18):
            return False
        number = 0
        for i in range(start, length):
            code = int(np.int64(load_byte(at + np.uint64(i))))
            if 48 <= code <= 57:
                digit = code - 48
            elif base == 16 and 97 <= code <= 102:
                digit = code - 87
            elif base == 16 and 65 <= code <= 70:
                digit = code - 55
            else:
                return False
            number = number * base + digit
        out[row] = number
    return True


def _any(values: pl.Series) -> pl.Series:
    text = pl.col(values.name).str.strip_chars()
    digits = text.str.slice(2)
    is_hex = text.str.starts_with("0x") | text.str.starts_with("0X")
    hexed = pl.when(is_hex & digits.str.contains("^[0-9a-fA-F]+$")).then(digits.str.strip_chars_start("0"))
    decimal = pl.when(text.str.contains("^[0-9]+$")).then(text)
    number = pl.coalesce(
        pl.when(hexed == "").then(0),
        hexed.str.to_integer(base=16, dtype=pl.Int64, strict=False),
        decimal.str.to_integer(dtype=pl.Int64, strict=False),
    )
    return values.to_frame().select(number.alias(values.name)).to_series()
