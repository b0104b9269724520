"""Tables that let go of the logs that their ids were cut out of."""

import numba as nb
import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from pipelines.onchain.buffers import (
    INLINE,
    LARGEST,
    Addresses,
    Views,
    column,
    copy_1,
    copy_4,
    copy_32,
    from_views,
    met,
    none_met,
)


@nb.njit(cache=True, nogil=True)
def _pack(
    views: Views,
    views_at: np.uint64,
    noted_at: np.uint64,
    buffers: Addresses,
    shared: bool,
    out_views: Views,
    out_at: np.uint64,
) -> int:
    one, four, most = np.uint64(1), np.uint64(4), np.uint64(32)
    end = np.uint64(0)
    for row in range(views.shape[0]):
        out_views[row] = views[row]
        length = int(np.int64(views[row, 0]))
        if length <= INLINE:
            continue
        if shared:
            known = met(noted_at, views_at, row)
            if known >= 0:
                out_views[row] = out_views[known]
                continue
        at = buffers[views[row, 2]] + np.uint64(views[row, 3])
        to = out_at + end
        out_views[row, 2] = 0
        out_views[row, 3] = end
        end += np.uint64(length)
        while length >= 32:
            copy_32(at, to)
            at += most
            to += most
            length -= 32
        while length >= 4:
            copy_4(at, to)
            at += four
            to += four
            length -= 4
        while length:
            copy_1(at, to)
            at += one
            to += one
            length -= 1
    return int(np.int64(end))


def packed(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with bytes of its own: columns that were cut out of logs no longer keep those in memory.

    Columns of more than 2³¹ bytes stay as they are.
    """
    return pl.DataFrame([_packed(values) if values.dtype == pl.Binary else values for values in frame.get_columns()])


def _packed(values: pl.Series) -> pl.Series:
    if values.null_count() == len(values):
        return values
    source = column(values)
    lengths = source.lengths
    size = int(lengths[lengths > INLINE].sum(dtype=np.int64))
    if size >= LARGEST:
        return values
    views = source.views if source.whole else np.where(source.valid[:, None], source.views, np.uint32(0))
    out_views, out, noted = np.empty_like(views), np.empty(size, np.uint8), none_met()
    views_at, noted_at, out_at = (np.uint64(array.ctypes.data) for array in (views, noted, out))
    used = _pack(views, views_at, noted_at, source.buffers, source.shares, out_views, out_at)
    valid: npt.NDArray[np.bool_] | None = None if source.whole else source.valid
    return from_views(values.name, out_views, [pa.py_buffer(out[:used])], valid)
