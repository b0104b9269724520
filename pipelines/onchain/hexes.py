"""Hex text → bytes, 64 digits in one step."""

from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
from llvmlite import ir
from numba.extending import intrinsic

from pipelines.onchain.buffers import (
    INLINE,
    LARGEST,
    Addresses,
    Flags,
    Views,
    column,
    from_views,
    load_byte,
    load_four,
    met,
    none_met,
)

Codes = npt.NDArray[np.int8]
ODD, NOT_HEX = 1, 2
"""Why text is no hex: an odd number of digits, another character."""


def _step(digits: int) -> Any:
    """What turns so many characters at one address into bytes at another; its result is 0 when all are digits."""

    def unhex_step(typing_context: Any, source: Any, target: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            wide, half = (ir.VectorType(ir.IntType(8), n) for n in (digits, digits // 2))

            def every(number: int) -> Any:
                return ir.Constant(wide, [number] * digits)

            text = builder.load(builder.inttoptr(arguments[0], wide.as_pointer()))
            text.align = 1
            number = builder.sub(text, every(ord("0")))
            letter = builder.sub(builder.or_(text, every(0x20)), every(ord("a")))
            is_number = builder.icmp_unsigned("<", number, every(10))
            is_letter = builder.icmp_unsigned("<", letter, every(6))
            value = builder.select(is_number, number, builder.add(letter, every(10)))
            lanes = ir.VectorType(ir.IntType(32), digits // 2)
            high, low = (
                builder.shuffle_vector(value, value, ir.Constant(lanes, list(range(first, digits, 2))))
                for first in (0, 1)
            )
            joined = builder.or_(builder.shl(high, ir.Constant(half, [4] * (digits // 2))), low)
            builder.store(joined, builder.inttoptr(arguments[1], half.as_pointer())).align = 1
            wrong = builder.not_(builder.or_(is_number, is_letter))
            wrong = builder.bitcast(wrong, ir.IntType(digits))
            return wrong if digits == 64 else builder.zext(wrong, ir.IntType(64))

        return nb.uint64(nb.uint64, nb.uint64), generate

    return intrinsic(unhex_step)


_unhex_64, _unhex_8, _unhex_2 = _step(64), _step(8), _step(2)


@nb.njit(cache=True, nogil=True)
def _unhex(
    views: Views,
    views_at: np.uint64,
    noted_at: np.uint64,
    buffers: Addresses,
    valid: Flags,
    shared: bool,
    out_views: Views,
    out_views_at: np.uint64,
    out_at: np.uint64,
    failed: Codes,
) -> None:
    one, four, eight, half = np.uint64(1), np.uint64(4), np.uint64(8), np.uint64(32)
    end = np.uint64(0)
    for row in range(views.shape[0]):
        length = int(np.int64(views[row, 0]))
        if not valid[row] or length == 0:
            out_views[row] = 0
            continue
        at = views_at + np.uint64(16 * row + 4)
        if length > INLINE:
            at = buffers[views[row, 2]] + np.uint64(views[row, 3])
            if shared:
                known = met(noted_at, views_at, row)
                if known >= 0:
                    out_views[row] = out_views[known]
                    failed[row] = failed[known]
                    continue
        if length >= 2 and load_byte(at) == 48 and (load_byte(at + one) | half) == 120:
            at += np.uint64(2)
            length -= 2
        if length & 1:
            failed[row] = ODD
            out_views[row] = 0
            continue
        n_bytes = length // 2
        inline = n_bytes <= INLINE
        first = out_views_at + np.uint64(16 * row + 4)
        if inline:
            out_views[row] = 0
        else:
            first = out_at + end
        to = first
        bad = np.uint64(0)
        while length >= 64:
            bad |= _unhex_64(at, to)
            at += np.uint64(64)
            to += half
            length -= 64
        while length >= 8:
            bad |= _unhex_8(at, to)
            at += eight
            to += four
            length -= 8
        while length >= 2:
            bad |= _unhex_2(at, to)
            at += np.uint64(2)
            to += one
            length -= 2
        out_views[row, 0] = n_bytes
        if not inline:
            out_views[row, 1] = load_four(first)
            out_views[row, 2] = 0
            out_views[row, 3] = end
            end += np.uint64(n_bytes)
        if bad != 0:
            failed[row] = NOT_HEX


def unhex(text: pl.Series) -> tuple[pl.Series, Codes]:
    """Hex text, with or without 0x, in any case → Binary, and per row 0, `ODD` or `NOT_HEX`.

    Null stays null; the bytes of a row that failed mean nothing.
    """
    failed = np.zeros(len(text), np.int8)
    if not len(text):
        return pl.Series(text.name, [], pl.Binary), failed
    source = column(text)
    # The pages of the buffer that repeated values leave unused are never touched.
    size = int(source.lengths.sum(dtype=np.int64)) // 2
    if size >= LARGEST and len(text) > 1:
        half = len(text) // 2
        (one, first), (other, second) = unhex(text[:half]), unhex(text[half:])
        return pl.concat([one, other]), np.concatenate([first, second])
    out, views, noted = np.empty(size, np.uint8), np.empty((len(text), 4), np.uint32), none_met()
    _unhex(
        source.views,
        source.views_at,
        np.uint64(noted.ctypes.data),
        source.buffers,
        source.valid,
        source.shares,
        views,
        np.uint64(views.ctypes.data),
        np.uint64(out.ctypes.data),
        failed,
    )
    return from_views(text.name, views, [pa.py_buffer(out)], None if source.whole else source.valid), failed
