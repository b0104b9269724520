"""Keyed hashes: the only source of chance, order and identity (ours).

A text key is hashed once with BLAKE2b to 64 bits; columns are then combined by a
specified integer mixer, so that the same draw comes out of any engine, row order,
shard count and machine. Frames are hashed by content, not by file bytes.
"""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from pipelines.schema import TABLES

BUCKETS = 256
"""Users fall into this many fixed buckets; a shard is a set of buckets."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_M1 = np.uint64(0xBF58476D1CE4E5B9)
_M2 = np.uint64(0x94D049BB133111EB)


def digest(*parts: str | bytes, size: int = 16) -> str:
    """Hex BLAKE2b of length-prefixed parts; `size` is in bytes."""
    h = hashlib.blake2b(digest_size=size)
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        h.update(len(data).to_bytes(8, "little"))
        h.update(data)
    return h.hexdigest()


def digest_json(value: Any, size: int = 16) -> str:
    """Hex BLAKE2b of the canonical JSON text of `value` (sorted keys, no spaces)."""
    return digest(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False), size=size)


def key64(text: str, space: str) -> int:
    """64-bit BLAKE2b of `text`, keyed by the name of the key space (`user`, `category`, …)."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8, key=space.encode()).digest(), "little")


def key64_column(texts: pl.Series, space: str) -> pl.Series:
    """`key64` of every text, computed once for each distinct one; UInt64, nulls hash as the empty text."""
    filled = texts.fill_null("").rename("text")
    keys = filled.unique()
    hashes = pl.Series("hash", [key64(text, space) for text in keys.to_list()], dtype=pl.UInt64)
    return filled.to_frame().join(
        pl.DataFrame({"text": keys, "hash": hashes}), on="text", how="left", maintain_order="left"
    )["hash"]


def mix64(*columns: "np.typing.NDArray[np.uint64] | int") -> "np.typing.NDArray[np.uint64]":
    """Combine 64-bit keys, in order, into one (splitmix64 finaliser after each addition)."""
    state: np.typing.NDArray[np.uint64] = np.uint64(0)  # type: ignore[assignment]
    with np.errstate(over="ignore"):
        for column in columns:
            state = (state + _GOLDEN) ^ np.asarray(column, dtype=np.uint64)
            state = (state ^ (state >> np.uint64(30))) * _M1
            state = (state ^ (state >> np.uint64(27))) * _M2
            state = state ^ (state >> np.uint64(31))
    return state


def bucket_of(user: str) -> int:
    """Bucket 0–255 of a user."""
    return key64(user, "bucket") % BUCKETS


def bucket_column(users: pl.Series) -> pl.Series:
    """`bucket_of` of every user; UInt8, named `bucket`. A wallet (bytes) is known by its hex text without 0x."""
    texts = users.bin.encode("hex") if users.dtype == pl.Binary else users
    return (key64_column(texts, "bucket") % BUCKETS).cast(pl.UInt8).rename("bucket")


def frame_hash(frame: pl.DataFrame) -> str:
    """Hex hash of the rows of a frame in their order, and of its column names and logical types.

    Equal for any chunking, row group, compression or encoding; text, bytes, integers,
    booleans, floats, instants, enums (as text) and lists are supported.
    """
    parts: list[str] = []
    for name in frame.columns:
        series = frame[name]
        if isinstance(series.dtype, (pl.Enum, pl.Categorical)):
            series = series.cast(pl.String)
        parts += [name, _type_name(series.dtype), _array_hash(series.rechunk().to_arrow())]
    return digest(str(frame.height), *parts)


def _type_name(dtype: pl.DataType) -> str:
    if isinstance(dtype, pl.Datetime):
        return f"datetime[{dtype.time_unit},{dtype.time_zone}]"
    if isinstance(dtype, pl.List):
        return f"list[{_type_name(dtype.inner)}]"  # type: ignore[arg-type]
    return str(dtype).lower()


def _is_text(dtype: pa.DataType) -> bool:
    return bool(pa.types.is_large_string(dtype) or pa.types.is_string_view(dtype) or pa.types.is_string(dtype))


def _array_hash(array: pa.Array) -> str:
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    h = hashlib.blake2b(digest_size=16)
    h.update(np.packbits(valid).tobytes())
    if pa.types.is_large_list(array.type) or pa.types.is_list(array.type):
        h.update(np.asarray(array.value_lengths().fill_null(0), dtype="<i8").tobytes())
        h.update(_array_hash(array.flatten()).encode())
    elif (is_bytes := pa.types.is_large_binary(array.type) or pa.types.is_binary_view(array.type)) or _is_text(
        array.type
    ):
        text = array.cast(pa.large_binary() if is_bytes else pa.large_string()).drop_null()
        offsets = np.frombuffer(text.buffers()[1], dtype="<i8")[text.offset : text.offset + len(text) + 1]
        h.update(np.diff(offsets).tobytes())
        data = text.buffers()[2]
        if len(text) and data is not None:
            h.update(memoryview(data)[int(offsets[0]) : int(offsets[-1])])
    else:
        if pa.types.is_timestamp(array.type):
            array = array.cast(pa.int64())
        values = array.drop_null().to_numpy(zero_copy_only=False)
        h.update(np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<"), copy=False).tobytes())
    return h.hexdigest()


def bucket_hashes(frame: pl.DataFrame, table: str) -> dict[int, str]:
    """Hash of the rows of each bucket of the table's users present, in the table's total order.

    A release's hash of a table is made of these in bucket order (`combine_buckets`),
    which makes it independent of the shard count.
    """
    if frame.is_empty():
        return {}
    spec = TABLES[table]
    rows = frame.select(spec.schema.names())
    # Bucket by bucket: sorting the whole by all its columns at once would take several times its memory.
    buckets = bucket_column(rows[spec.user_axis]).to_frame()
    places = buckets.with_row_index("row").group_by("bucket").agg("row").sort("bucket")
    return {
        bucket: frame_hash(rows[row].sort(spec.sort_by))
        for bucket, row in zip(places["bucket"].to_list(), places["row"], strict=True)
    }


def combine_buckets(table: str, shards: Iterable[dict[int, str]]) -> str:
    """Hash of a sharded table: its name and the bucket hashes of all shards in bucket order."""
    merged: dict[int, str] = {}
    for hashes in shards:
        if overlap := merged.keys() & hashes.keys():
            raise ValueError(f"{table}: buckets {sorted(overlap)} appear in two shards")
        merged |= hashes
    return digest(table, *(f"{bucket}:{merged[bucket]}" for bucket in sorted(merged)))
