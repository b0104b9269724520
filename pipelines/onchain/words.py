"""Compiled reading of binary columns: ABI words and known values, straight from the column's own buffers."""

from collections.abc import Sequence
from functools import cache

import numba as nb
import numpy as np
import numpy.typing as npt
import polars as pl

from pipelines.onchain.abi import Word
from pipelines.onchain.buffers import (
    Addresses,
    Flags,
    Views,
    column,
    from_views,
    load_big,
    load_four,
    met,
    none_met,
    room,
)

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
_BLOCK = 1_024
"""Rows whose data fits into the cache of a core."""


@nb.njit(cache=True, nogil=True)
def match(at: np.uint64, places: Addresses, known: Addresses) -> int:
    """Place of the bytes at an address among `known_words`; −1 for others."""
    first = load_big(at + places[0])
    for code in range(known.shape[0]):
        if (
            first == known[code, 0]
            and load_big(at + places[1]) == known[code, 1]
            and load_big(at + places[2]) == known[code, 2]
            and load_big(at + places[3]) == known[code, 3]
        ):
            return code
    return -1


@cache
def known_words(known: tuple[bytes, ...]) -> tuple[Addresses, Addresses]:
    """Values, all of 20 or all of 32 bytes, as numbers, and where these stand in a value: what `match` compares."""
    places = (0, 8, 12, 12) if len(known[0]) == 20 else (0, 8, 16, 24)
    numbers = [[int.from_bytes(one[place : place + 8], "big") for place in places] for one in known]
    return np.array(places, np.uint64), np.array(numbers, np.uint64)


@nb.njit(cache=True, nogil=True)
def _find(
    views: Views,
    views_at: np.uint64,
    noted_at: np.uint64,
    buffers: Addresses,
    valid: Flags,
    width: int,
    places: Addresses,
    known: Addresses,
    out: Codes,
) -> None:
    for row in range(views.shape[0]):
        out[row] = -1
        if not valid[row] or views[row, 0] != width:
            continue
        known_row = met(noted_at, views_at, row)
        if known_row >= 0:
            out[row] = out[known_row]
            continue
        out[row] = match(buffers[views[row, 2]] + np.uint64(views[row, 3]), places, known)


def find(values: pl.Series, known: Sequence[bytes]) -> Codes:
    """Place of each value among a few `known` ones, all of 20 or all of 32 bytes; −1 for others and null."""
    out = np.full(len(values), -1, np.int8)
    if not known:
        return out
    source, noted = column(values), none_met()
    _find(
        source.views,
        source.views_at,
        np.uint64(noted.ctypes.data),
        source.buffers,
        source.valid,
        len(known[0]),
        *known_words(tuple(known)),
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
