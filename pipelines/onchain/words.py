"""Compiled reading of binary columns: ABI words and hex text, straight from the column's own buffers.

All kernels live in this one file: a compiled kernel is cached by the file that holds
it, and would not notice that a kernel of another file, which it calls, has changed.
A column of binary or text is an array of 16-byte views (length, prefix, buffer,
offset) into buffers; kernels follow the views, so that nothing is copied first.
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

from pipelines.onchain.abi import Word

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]
Places = npt.NDArray[np.int32]
Views = npt.NDArray[np.uint32]
Addresses = npt.NDArray[np.uint64]

SKIP, RAW, TOKEN, ADDRESS, AMOUNT, BIT, CONSTANT, LENGTH = range(8)
_KINDS = {
    "bytes32": RAW,
    "uint256": RAW,
    "token": TOKEN,
    "skip": SKIP,
    "address": ADDRESS,
    "amount": AMOUNT,
    "bit": BIT,
    "constant": CONSTANT,
    "length": LENGTH,
}
ODD, NOT_HEX = 1, 2
"""Why text is no hex: an odd number of digits, another character."""

_ONES = np.uint64(0x0101010101010101)
_LOW = np.uint64(0x0F0F0F0F0F0F0F0F)
_HIGH = np.uint64(0xF0F0F0F0F0F0F0F0)
_EVEN = np.uint64(0x00FF00FF00FF00FF)
_PAIRS = np.uint64(0x0000FFFF0000FFFF)
_LEAST = np.uint64(0xFFFFFFFF)


def _loader(bits: int, *, big: bool = False) -> Any:
    """What reads `bits` bits at an address in a kernel, the first byte lowest, or highest when `big`."""

    def load(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            value = builder.load(builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer()))
            value.align = 1
            value = builder.bswap(value) if big else value
            return value if bits == 64 else builder.zext(value, ir.IntType(64))

        return nb.uint64(nb.uint64), generate

    return intrinsic(load)


_load_big = _loader(64, big=True)
_load_text = _loader(64)
_load_byte = _loader(8)


def _store_four(typing_context: Any, address: Any, value: Any) -> Any:
    """Write the four lowest bytes of a number at an address, the lowest first."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = builder.inttoptr(arguments[0], ir.IntType(32).as_pointer())
        builder.store(builder.trunc(arguments[1], ir.IntType(32)), place).align = 1
        return context.get_dummy_value()

    return nb.void(nb.uint64, nb.uint64), generate


_store: Any = intrinsic(_store_four)


@dataclass(frozen=True)
class Column:
    """The views of a column, the addresses of its buffers, and what keeps both alive."""

    views: Views
    views_at: np.uint64
    buffers: Addresses
    valid: npt.NDArray[np.bool_]
    owner: Any


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
        array,
    )


def _from_views(name: str, views: Views, buffers: Sequence[pa.Buffer]) -> pl.Series:
    array = pa.Array.from_buffers(pa.binary_view(), len(views), [None, pa.py_buffer(views), *buffers])
    made = pl.from_arrow(array)
    assert isinstance(made, pl.Series)
    return made.rename(name)


def sizes(values: pl.Series) -> npt.NDArray[np.uint32]:
    """Bytes of each value of a Binary column; 0 for null."""
    source = column(values)
    lengths = source.views[:, 0]
    return lengths if source.valid.all() else np.where(source.valid, lengths, np.uint32(0))


def choose(name: str, first: npt.NDArray[np.bool_], one: pl.Series, other: pl.Series) -> pl.Series:
    """Of every pair of values longer than 12 bytes the first where `first`, else the second; nothing is copied."""
    if not len(one):
        return pl.Series(name, [], pl.Binary)
    a, b = column(one), column(other)
    out = np.empty((len(one), 4), np.uint32)
    _choose(first, a.views, b.views, len(a.buffers), out)
    return _from_views(name, out, [*a.owner.buffers()[2:], *b.owner.buffers()[2:]])


@nb.njit(cache=True, nogil=True)
def _choose(first: npt.NDArray[np.bool_], one: Views, other: Views, shift: int, out: npt.NDArray[np.uint32]) -> None:
    for row in range(out.shape[0]):
        if first[row]:
            out[row] = one[row]
        else:
            out[row] = other[row]
            out[row, 2] += np.uint32(shift)


@nb.njit(cache=True, nogil=True)
def _pack(views: Views, buffers: Addresses, out_views: Views, out: npt.NDArray[np.uint8]) -> None:
    end = 0
    for row in range(views.shape[0]):
        out_views[row] = views[row]
        length = int(np.int64(views[row, 0]))
        if length <= 12:
            continue
        at = buffers[views[row, 2]] + np.uint64(views[row, 3])
        out_views[row, 2] = 0
        out_views[row, 3] = end
        for i in range(length):
            out[end + i] = _load_byte(at + np.uint64(i))
        end += length


def packed(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with bytes of its own: columns that were cut out of logs no longer keep those in memory.

    Columns of more than 2³¹ bytes stay as they are.
    """
    columns = []
    for values in frame.get_columns():
        if values.dtype == pl.Binary and len(values):
            source = column(values)
            lengths = np.where(source.valid, source.views[:, 0], np.uint32(0))
            size = int(lengths[lengths > 12].sum(dtype=np.int64))
            if size < 2**31:
                views = (
                    source.views if source.valid.all() else np.where(source.valid[:, None], source.views, np.uint32(0))
                )
                out_views, out = np.empty_like(views), np.empty(size, np.uint8)
                _pack(views, source.buffers, out_views, out)
                whole = _from_views(values.name, out_views, [pa.py_buffer(out)])
                values = whole if source.valid.all() else whole.set(pl.Series(~source.valid), None)
        columns.append(values)
    return pl.DataFrame(columns)


@nb.njit(cache=True, nogil=True)
def _find(
    views: Views,
    buffers: Addresses,
    valid: npt.NDArray[np.bool_],
    width: int,
    places: Addresses,
    known: Addresses,
    out: Codes,
) -> None:
    for row in range(views.shape[0]):
        out[row] = -1
        if not valid[row] or views[row, 0] != width:
            continue
        at = buffers[views[row, 2]] + np.uint64(views[row, 3])
        first, second = _load_big(at + places[0]), _load_big(at + places[1])
        third, fourth = _load_big(at + places[2]), _load_big(at + places[3])
        for code in range(known.shape[0]):
            if (
                first == known[code, 0]
                and second == known[code, 1]
                and third == known[code, 2]
                and fourth == known[code, 3]
            ):
                out[row] = code
                break


def find(values: pl.Series, known: Sequence[bytes]) -> Codes:
    """Place of each value among a few `known` ones, all of 20 or all of 32 bytes; −1 for others and null."""
    out = np.full(len(values), -1, np.int8)
    if not known:
        return out
    width = len(known[0])
    places = (0, 8, 12, 12) if width == 20 else (0, 8, 16, 24)
    table = [[int.from_bytes(one[place : place + 8], "big") for place in places] for one in known]
    source = column(values)
    _find(
        source.views,
        source.buffers,
        source.valid,
        width,
        np.array(places, np.uint64),
        np.array(table, np.uint64),
        out,
    )
    return out


@nb.njit(cache=True, nogil=True)
def _read(
    views: Views,
    buffers: Addresses,
    kinds: Codes,
    constants: Ints,
    slots: Ints,
    cuts: Ints,
    values: Ints,
    parts: npt.NDArray[np.uint32],
    failed: Places,
) -> None:
    zero = np.uint64(0)
    for row in range(views.shape[0]):
        buffer = views[row, 2]
        offset = views[row, 3]
        at = buffers[buffer] + np.uint64(offset)
        for word in range(kinds.shape[0]):
            kind = kinds[word]
            if kind == SKIP:
                continue
            place = at + np.uint64(32 * word)
            cut = cuts[word]
            if cut >= 0:
                start = np.uint32(12 if kind == ADDRESS else 0)
                parts[cut, row, 0] = np.uint32(32) - start
                parts[cut, row, 1] = _load_text(place + np.uint64(start)) & _LEAST
                parts[cut, row, 2] = buffer
                parts[cut, row, 3] = offset + np.uint32(32 * word) + start
            if kind == RAW:
                continue
            if kind == ADDRESS:
                if (_load_big(place) | (_load_big(place + np.uint64(8)) >> np.uint64(32))) != zero:
                    failed[row] = word + 1
                    break
                continue
            low = _load_big(place + np.uint64(24))
            high = _load_big(place) | _load_big(place + np.uint64(8)) | _load_big(place + np.uint64(16))
            if kind == TOKEN:
                values[slots[word], row] = (high | low) == zero
                continue
            if high != zero or (low >> np.uint64(63)) != zero:
                failed[row] = word + 1
                break
            value = np.int64(low)
            if (
                (kind == BIT and value > 1)
                or (kind == CONSTANT and value != constants[word])
                or (kind == LENGTH and (value > constants[word] or value <= constants[word] - 32))
            ):
                failed[row] = word + 1
                break
            if slots[word] >= 0:
                values[slots[word], row] = value


def read_words(values: pl.Series, words: Sequence[Word]) -> tuple[list[pl.Series], Places]:
    """Columns of the words, and per row 0 or 1 + the first word that is not what it must be.

    Amounts and bits are Int64; ids and addresses Binary columns that share the buffers
    of `values`; a token has beside it `NAME_is_zero`. The values of a row that failed
    mean nothing. Raises `ValueError` unless every value holds exactly the bytes of `words`.
    """
    if values.null_count() or (sizes(values) != 32 * len(words)).any():
        raise ValueError(f"a value of {values.name!r} is not {32 * len(words)} bytes long")
    kinds = np.array([_KINDS[word.kind] for word in words], np.int8)
    slots, numbers = _numbered(np.isin(kinds, (AMOUNT, BIT, TOKEN)))
    cuts, n_cuts = _numbered(np.isin(kinds, (RAW, ADDRESS, TOKEN)))
    out = np.zeros((numbers, len(values)), np.int64)
    parts = np.zeros((n_cuts, len(values), 4), np.uint32)
    failed = np.zeros(len(values), np.int32)
    source = column(values)
    if len(values):
        constants = np.array([word.constant for word in words], np.int64)
        _read(source.views, source.buffers, kinds, constants, slots, cuts, out, parts, failed)
    columns = []
    for word, kind, slot, cut in zip(words, kinds, slots, cuts, strict=True):
        if kind == TOKEN:
            columns.append(pl.Series(f"{word.name}_is_zero", out[slot] == 1))
        elif slot >= 0:
            columns.append(pl.Series(word.name, out[slot]))
        if cut >= 0:
            columns.append(_from_views(word.name, parts[cut], source.owner.buffers()[2:]))
    return columns, failed


def _numbered(wanted: npt.NDArray[np.bool_]) -> tuple[Ints, int]:
    """Running numbers of the wanted places, −1 elsewhere; and how many there are."""
    return np.where(wanted, np.cumsum(wanted) - 1, -1).astype(np.int64), int(wanted.sum())


@nb.njit(cache=True, nogil=True)
def _nibble(character: np.uint64) -> int:
    code = int(np.int64(character))
    if 48 <= code <= 57:
        return code - 48
    if 97 <= code <= 102:
        return code - 87
    if 65 <= code <= 70:
        return code - 55
    return -1


@nb.njit(cache=True, nogil=True)
def _measure(views: Views, views_at: np.uint64, buffers: Addresses, valid: npt.NDArray[np.bool_], ends: Ints) -> None:
    """Where each value ends once decoded."""
    total = 0
    for row in range(views.shape[0]):
        length = int(np.int64(views[row, 0]))
        if valid[row] and length:
            at = (
                views_at + np.uint64(16 * row + 4)
                if length <= 12
                else buffers[views[row, 2]] + np.uint64(views[row, 3])
            )
            if length >= 2 and _load_byte(at) == 48 and (_load_byte(at + np.uint64(1)) | 32) == 120:
                length -= 2
            total += length // 2
        ends[row + 1] = total


@nb.njit(cache=True, nogil=True)
def _unhex(
    views: Views,
    views_at: np.uint64,
    buffers: Addresses,
    valid: npt.NDArray[np.bool_],
    ends: Ints,
    out: npt.NDArray[np.uint8],
    out_at: np.uint64,
    failed: Codes,
) -> None:
    for row in range(views.shape[0]):
        length = int(np.int64(views[row, 0]))
        if not valid[row] or length == 0:
            continue
        at = views_at + np.uint64(16 * row + 4) if length <= 12 else buffers[views[row, 2]] + np.uint64(views[row, 3])
        if length >= 2 and _load_byte(at) == 48 and (_load_byte(at + np.uint64(1)) | 32) == 120:
            at += np.uint64(2)
            length -= 2
        if length & 1:
            failed[row] = ODD
            continue
        to = ends[row]
        step = 0
        bad = np.uint64(0)
        while step + 8 <= length:
            text = _load_text(at + np.uint64(step))
            letter = (text >> np.uint64(6)) & _ONES
            value = (text & _LOW) + letter * np.uint64(9)
            # A digit is sound when its value, written out again in lower case, is the character.
            above = ((value + _ONES * np.uint64(6)) >> np.uint64(4)) & _ONES
            written = value + _ONES * np.uint64(0x30) + above * np.uint64(0x27)
            bad |= (written ^ (text | (letter << np.uint64(5)))) | (value & _HIGH)
            packed = ((value << np.uint64(4)) | (value >> np.uint64(8))) & _EVEN
            packed = (packed | (packed >> np.uint64(8))) & _PAIRS
            _store(out_at + np.uint64(to), packed | (packed >> np.uint64(16)))
            step += 8
            to += 4
        while step < length:
            first = _nibble(_load_byte(at + np.uint64(step)))
            second = _nibble(_load_byte(at + np.uint64(step + 1)))
            if first < 0 or second < 0:
                bad = np.uint64(1)
            out[to] = (first << 4) | (second & 15)
            step += 2
            to += 1
        if bad != 0:
            failed[row] = NOT_HEX


def unhex(text: pl.Series) -> tuple[pl.Series, Codes]:
    """Hex text, with or without 0x, in any case → Binary, and per row 0, `ODD` or `NOT_HEX`.

    Null stays null; the bytes of a row that failed mean nothing.
    """
    ends = np.zeros(len(text) + 1, np.int64)
    failed = np.zeros(len(text), np.int8)
    if not len(text):
        return pl.Series(text.name, [], pl.Binary), failed
    source = column(text)
    _measure(source.views, source.views_at, source.buffers, source.valid, ends)
    out = np.empty(ends[-1], np.uint8)
    _unhex(source.views, source.views_at, source.buffers, source.valid, ends, out, np.uint64(out.ctypes.data), failed)
    mask = None if source.valid.all() else pa.py_buffer(np.packbits(source.valid, bitorder="little"))
    array = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(text), [mask, pa.py_buffer(ends), pa.py_buffer(out)]
    )
    decoded = pl.from_arrow(array)
    assert isinstance(decoded, pl.Series)
    return decoded.rename(text.name), failed
