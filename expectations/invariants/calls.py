"""Invariants of `builds`, `model_calls` and `costs`."""

from typing import Any

import polars as pl

from expectations.invariants.rules import Frames, never, ordered
from pipelines.findings import Finding


def builds(frames: Frames, settings: Any) -> list[Finding]:
    """Total order; whoever counted steps lost or replies not read is no more than a warning, seen by everyone."""
    frame = frames["builds"]
    lost = pl.col("count").str.starts_with("lost") & (pl.col("n") > 0)
    return [ordered("builds", frame), never("nothing_lost", "no step of a memory was lost", frame, lost, "warning")]


def model_calls(frames: Frames, settings: Any) -> list[Finding]:
    """Total order; only a call without a whole reply names an error, and a cached reply was whole."""
    frame = frames["model_calls"]
    whole = pl.col("status").is_in(["ok", "truncated"])
    return [
        ordered("model_calls", frame),
        never("cached_is_whole", "only a text is cached", frame, pl.col("cached") & ~whole),
        never("answered", "no call stayed without a reply", frame, pl.col("status") == "failed", "warning"),
    ]


def costs(frames: Frames, settings: Any) -> list[Finding]:
    """Total order."""
    return [ordered("costs", frames["costs"])]
