"""Batches and readouts as JSON values, without loss: what crosses into a plug-in's process (ours)."""

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from pipelines.memory.contract import VISIT_COLUMNS, Batch, Readout
from pipelines.memory.state import micros

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def batch_to_json(batch: Batch) -> dict[str, Any]:
    """A batch; times are integers (µs since 1970 UTC), visits a list per column."""
    visits = batch.visits.select(
        pl.col(name).cast(pl.Int64) if isinstance(dtype, pl.Datetime) else pl.col(name)
        for name, dtype in VISIT_COLUMNS.items()
    )
    return {
        "batch_id": batch.batch_id,
        "user_id": batch.user_id,
        "index": batch.index,
        "start": micros(batch.start),
        "end": micros(batch.end),
        "visits": visits.to_dict(as_series=False),
    }


def batch_from_json(value: dict[str, Any]) -> Batch:
    """Back from `batch_to_json`."""
    visits = pl.DataFrame(
        [
            pl.Series(name, value["visits"][name], dtype=pl.Int64).cast(dtype)
            if isinstance(dtype, pl.Datetime)
            else pl.Series(name, value["visits"][name], dtype=dtype)
            for name, dtype in VISIT_COLUMNS.items()
        ]
    )
    start, end = (_EPOCH + timedelta(microseconds=value[name]) for name in ("start", "end"))
    return Batch(value["batch_id"], value["user_id"], value["index"], start, end, visits)


def readout_to_json(readout: Readout) -> dict[str, Any]:
    """A readout."""
    return asdict(readout)


def readout_from_json(value: Any) -> Readout:
    """Back from `readout_to_json`. Raises `ValueError` when a field is missing or of another type."""
    expected = {"description": str, "tree": str, "tokens": int, "tokens_cut": int}
    if not isinstance(value, dict) or value.keys() != expected.keys():
        raise ValueError("a readout has description, tree, tokens and tokens_cut")
    for name, kind in expected.items():
        if type(value[name]) is not kind:
            raise ValueError(f"{name} of a readout must be {kind.__name__}, not {type(value[name]).__name__}")
    return Readout(**value)
