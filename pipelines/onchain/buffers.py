"""Binary and text columns as compiled walks see them: 16-byte views into buffers, nothing copied.

A view is (length, prefix, buffer, offset); a value of at most 12 bytes stands in the
view itself. A compiled kernel is cached by the file that holds it and would not notice
a change here: give what reads or writes bytes a new name when its meaning changes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
from llvmlite import ir
from numba.extending import intrinsic

Views = npt.NDArray[np.uint32]
Addresses = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]
INLINE = 12
"""Bytes that a view holds itself."""
LARGEST = 2**31
"""Bytes that one buffer may hold."""
_MET_BITS = 12
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


def _loader(bits: int, *, big: bool = False) -> Any:
    def load(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            value = builder.load(builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer()))
            value.align = 1
            value = builder.bswap(value) if big else value
            return value if bits == 64 else builder.zext(value, ir.IntType(64))

        return nb.uint64(nb.uint64), generate

    return intrinsic(load)


def _storer(bits: int) -> Any:
    def store(typing_context: Any, value: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            lower = builder.trunc(arguments[0], ir.IntType(bits))
            builder.store(lower, builder.inttoptr(arguments[1], ir.IntType(bits).as_pointer())).align = 1
            return context.get_dummy_value()

        return nb.void(nb.uint64, nb.uint64), generate

    return intrinsic(store)


def _copier(n_bytes: int) -> Any:
    def copy(typing_context: Any, source: Any, target: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = ir.VectorType(ir.IntType(8), n_bytes).as_pointer()
            value = builder.load(builder.inttoptr(arguments[0], kind))
            value.align = 1
            builder.store(value, builder.inttoptr(arguments[1], kind)).align = 1
            return context.get_dummy_value()

        return nb.void(nb.uint64, nb.uint64), generate

    return intrinsic(copy)


load_big = _loader(64, big=True)
"""Eight bytes at an address, the first one highest."""
load_eight = _loader(64)
"""Eight bytes at an address, the first one lowest."""
load_four = _loader(32)
"""Four bytes at an address, the first one lowest."""
load_byte = _loader(8)
store_four = _storer(32)
"""Write the lower four bytes of a number to an address, the lowest first."""
copy_32, copy_4, copy_1 = _copier(32), _copier(4), _copier(1)
"""Copy so many bytes from one address to another."""


@dataclass(frozen=True)
class Column:
    """The views of a column, the addresses of its buffers, and what keeps both alive."""

    views: Views
    views_at: np.uint64
    buffers: Addresses
    valid: Flags
    whole: bool
    """No value is null."""
    owner: Any

    @property
    def lengths(self) -> npt.NDArray[np.uint32]:
        """Bytes of each value; 0 for null."""
        lengths = self.views[:, 0]
        return lengths if self.whole else np.where(self.valid, lengths, np.uint32(0))

    @property
    def shares(self) -> bool:
        """Values stand at the same place of a buffer, as those of a dictionary do."""
        return bool(self.lengths.sum(dtype=np.int64) > sum(buffer.size for buffer in self.owner.buffers()[2:]))

    def all_of(self, size: int) -> bool:
        """Whether every value that is not null has so many bytes."""
        if not self.whole:
            return bool((self.lengths == size)[self.valid].all())
        return bool(_all_of(self.views, size))


@nb.njit(cache=True, nogil=True)
def _all_of(views: Views, size: int) -> bool:
    other = np.uint32(0)
    for row in range(views.shape[0]):
        other |= views[row, 0] ^ np.uint32(size)
    return bool(other == 0)


def none_met() -> npt.NDArray[np.uint32]:
    """What `met` notes rows in, for one walk over a column; must outlive the walk, which has its address alone."""
    return np.zeros(1 << _MET_BITS, np.uint32)


@nb.njit(cache=True, nogil=True)
def met(noted_at: np.uint64, views_at: np.uint64, row: int) -> int:
    """An earlier row whose value stands at the same place of a buffer; −1: none that is noted, so this one is.

    Values of a dictionary are thus looked at once. Of `none_met` and the views it takes the addresses: references to
    arrays would be counted up and down for every row, which takes longer than all the rest.
    """
    four, view = np.uint64(4), np.uint64(16)
    at = views_at + np.uint64(row) * view
    place = load_eight(at + np.uint64(8))
    slot_at = noted_at + ((place * _SPREAD) >> np.uint64(64 - _MET_BITS)) * four
    noted = load_four(slot_at)
    if noted:
        known_at = views_at + (noted - np.uint64(1)) * view
        if load_eight(known_at + np.uint64(8)) == place and load_four(known_at) == load_four(at):
            return int(np.int64(noted)) - 1
    store_four(np.uint64(row + 1), slot_at)
    return -1


def room(shape: int | tuple[int, ...], kind: npt.DTypeLike) -> npt.NDArray[Any]:
    """An array whose values are still to be written, in the memory of Arrow.

    That comes in large pages and is kept for the next piece of a stream. Small fresh pages, as `numpy.empty` gives
    them, cost more than what is written into them.
    """
    items = int(np.prod(shape))
    buffer = pa.allocate_buffer(items * np.dtype(kind).itemsize)
    return np.frombuffer(buffer, kind, items).reshape(shape)


def column(values: pl.Series) -> Column:
    """The buffers of a Binary or String column."""
    array = values.rechunk().to_arrow(compat_level=pl.CompatLevel.newest())
    _, views, *data = array.buffers()
    raw = np.frombuffer(views, np.uint32).reshape(-1, 4)[array.offset : array.offset + len(array)]
    return Column(
        raw,
        np.uint64(views.address + 16 * array.offset),
        np.array([buffer.address for buffer in data], np.uint64),
        ~values.is_null().to_numpy() if values.null_count() else np.ones(len(values), np.bool_),
        values.null_count() == 0,
        array,
    )


def from_views(name: str, views: Views, buffers: Sequence[pa.Buffer], valid: Flags | None = None) -> pl.Series:
    """A Binary column of these views; null where not `valid`."""
    mask = None if valid is None or valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    array = pa.Array.from_buffers(pa.binary_view(), len(views), [mask, pa.py_buffer(views), *buffers])
    return pl.Series(name, array)
