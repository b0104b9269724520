"""Compiled reading of binary columns: ABI words, known values and choices, straight from the column's own buffers."""

from collections.abc import Sequence

import numba as nb
import numpy as np
import numpy.typing as npt
import polars as pl

from pipelines.onchain.abi import Word
from pipelines.onchain.buffers import Addresses, Flags, Views, column, from_views, load_big, load_four, room

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]
Places = npt.NDArray[np.int32]

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
_SEEN = 64
_BLOCK = 1_024
"""Rows whose data fits into the cache of a core."""


def choose(name: str, first: Flags, one: pl.Series, other: pl.Series) -> pl.Series:
    """Of every pair of values longer than 12 bytes the first where `first`, else the second; nothing is copied."""
    if not len(one):
        return pl.Series(name, [], pl.Binary)
    a, b = column(one), column(other)
    out = room((len(one), 4), np.uint32)
    _choose(first, a.views, b.views, len(a.buffers), out)
    return from_views(name, out, [*a.owner.buffers()[2:], *b.owner.buffers()[2:]])


@nb.njit(cache=True, nogil=True)
def _choose(first: Flags, one: Views, other: Views, shift: int, out: Views) -> None:
    # Which one it is cannot be foreseen, and a branch would stall: both are read, bits decide.
    for row in range(out.shape[0]):
        mine = np.uint32(0) - np.uint32(first[row])
        for i in range(4):
            added = np.uint32(shift if i == 2 else 0)
            out[row, i] = (one[row, i] & mine) | ((other[row, i] + added) & ~mine)


def swapped(first: Flags, one: Ints, other: Ints) -> tuple[Ints, Ints]:
    """Of every pair of numbers the first where `first`, else the second; and the one that is left."""
    chosen, left = room((2, len(first)), np.int64)
    _swap(first, one, other, chosen, left)
    return chosen, left


@nb.njit(cache=True, nogil=True)
def _swap(first: Flags, one: Ints, other: Ints, chosen: Ints, left: Ints) -> None:
    for row in range(first.shape[0]):
        # Without a branch, as above.
        differ = (one[row] ^ other[row]) & -np.int64(first[row])
        chosen[row], left[row] = other[row] ^ differ, one[row] ^ differ


@nb.njit(cache=True, nogil=True)
def _find(
    views: Views,
    buffers: Addresses,
    valid: Flags,
    width: int,
    places: Addresses,
    known: Addresses,
    out: Codes,
) -> None:
    # Rows met before, by the place of their bytes: values of a dictionary are compared once.
    seen = np.full(_SEEN, -1, np.int32)
    for row in range(views.shape[0]):
        out[row] = -1
        if not valid[row] or views[row, 0] != width:
            continue
        slot = ((views[row, 3] >> 2) + views[row, 2]) % _SEEN
        met = seen[slot]
        if (
            met >= 0
            and views[met, 0] == views[row, 0]
            and views[met, 2] == views[row, 2]
            and views[met, 3] == views[row, 3]
        ):
            out[row] = out[met]
            continue
        seen[slot] = row
        at = buffers[views[row, 2]] + np.uint64(views[row, 3])
        first, second = load_big(at + places[0]), load_big(at + places[1])
        third, fourth = load_big(at + places[2]), load_big(at + places[3])
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
    flags: npt.NDArray[np.bool_],
    parts: npt.NDArray[np.uint32],
    failed: Places,
) -> None:
    zero = np.uint64(0)
    # Word by word in blocks that stay in the cache: which kind a word is, is asked once a block.
    for start in range(0, views.shape[0], _BLOCK):
        end = min(start + _BLOCK, views.shape[0])
        for word in range(kinds.shape[0]):
            kind, slot, cut, constant = kinds[word], slots[word], cuts[word], constants[word]
            ahead = np.uint64(32 * word)
            if cut >= 0:
                first = np.uint32(12 if kind == ADDRESS else 0)
                skipped = np.uint32(32 * word) + first
                for row in range(start, end):
                    buffer, offset = views[row, 2], views[row, 3] + skipped
                    parts[cut, row, 0] = np.uint32(32) - first
                    parts[cut, row, 1] = load_four(buffers[buffer] + np.uint64(offset))
                    parts[cut, row, 2] = buffer
                    parts[cut, row, 3] = offset
            if kind in (SKIP, RAW):
                continue
            for row in range(start, end):
                place = buffers[views[row, 2]] + np.uint64(views[row, 3]) + ahead
                if kind == ADDRESS:
                    if (load_big(place) | (load_big(place + np.uint64(8)) >> np.uint64(32))) != zero:
                        failed[row] = failed[row] or word + 1
                    continue
                low = load_big(place + np.uint64(24))
                high = load_big(place) | load_big(place + np.uint64(8)) | load_big(place + np.uint64(16))
                if kind == TOKEN:
                    flags[slot, row] = (high | low) == zero
                    continue
                value = np.int64(low)
                if (
                    high != zero
                    or value < 0
                    or (kind == BIT and value > 1)
                    or (kind == CONSTANT and value != constant)
                    or (kind == LENGTH and (value > constant or value <= constant - 32))
                ):
                    failed[row] = failed[row] or word + 1
                if slot >= 0:
                    values[slot, row] = value


def read_words(values: pl.Series, words: Sequence[Word]) -> tuple[list[pl.Series], Places]:
    """Columns of the words, and per row 0 or 1 + the first word that is not what it must be.

    Amounts and bits are Int64; ids and addresses Binary columns that share the buffers
    of `values`; a token has beside it `NAME_is_zero`. The values of a row that failed
    mean nothing. Raises `ValueError` unless every value holds exactly the bytes of `words`.
    """
    source = column(values)
    size = 32 * len(words)
    if values.null_count() or not source.all_of(size):
        raise ValueError(f"a value of {values.name!r} is not {size} bytes long")
    kinds = np.array([_KINDS[word.kind] for word in words], np.int8)
    tokens, n_tokens = _numbered(kinds == TOKEN)
    numbers, n_numbers = _numbered(np.isin(kinds, (AMOUNT, BIT)))
    slots = np.maximum(tokens, numbers)
    cuts, n_cuts = _numbered(np.isin(kinds, (RAW, ADDRESS, TOKEN)))
    out = room((n_numbers, len(values)), np.int64)
    flags = room((n_tokens, len(values)), np.bool_)
    parts = room((n_cuts, len(values), 4), np.uint32)
    failed = np.zeros(len(values), np.int32)
    if len(values):
        constants = np.array([word.constant for word in words], np.int64)
        _read(source.views, source.buffers, kinds, constants, slots, cuts, out, flags, parts, failed)
    columns = []
    for word, kind, slot, cut in zip(words, kinds, slots, cuts, strict=True):
        if kind == TOKEN:
            columns.append(pl.Series(f"{word.name}_is_zero", flags[slot]))
        elif slot >= 0:
            columns.append(pl.Series(word.name, out[slot]))
        if cut >= 0:
            columns.append(from_views(word.name, parts[cut], source.owner.buffers()[2:]))
    return columns, failed


def _numbered(wanted: npt.NDArray[np.bool_]) -> tuple[Ints, int]:
    """Running numbers of the wanted places, −1 elsewhere; and how many there are."""
    return np.where(wanted, np.cumsum(wanted) - 1, -1).astype(np.int64), int(wanted.sum())
