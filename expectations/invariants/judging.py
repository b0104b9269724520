"""Invariants of `verdicts`, and of tables that sum verdicts up."""

from typing import Any

import polars as pl

from expectations.invariants.rules import Frames, lacking, never, not_checked, ordered, same_rows
from pipelines.evaluation.judging.grounded import SUPPORTED
from pipelines.findings import Finding

_HAIR = 1e-6
"""Published shares are rounded."""
_READOUT = ["user_id", "transition_index"]


def verdicts(frames: Frames, settings: Any) -> list[Finding]:
    """Total order; an error holds no verdict and says why; every line of a judged readout stands once a judge.

    Companion `readouts`: those that were judged.
    """
    frame = frames["verdicts"]
    ok = pl.col("status") == "ok"
    findings = [
        ordered("verdicts", frame),
        never(
            "typed",
            "whole verdicts, and no others, have both fields",
            frame,
            (pl.col("supported").is_not_null() != ok) | (pl.col("specific").is_not_null() != ok),
        ),
        never("reason", "an error says why, a verdict does not", frame, (pl.col("reason") == "") != ok),
        never("judged", "every line has a verdict that can be read", frame, ~ok, "warning"),
    ]
    if missing := lacking(frames, "readouts"):
        return [*findings, not_checked("every_line", *missing)]
    said = pl.concat_str("description", "tree", separator="\n").str.split("\n")
    lines = (
        frames["readouts"]
        .select(*_READOUT, line=said)
        .explode("line")
        .select(*_READOUT, pl.col("line").str.strip_chars())
        .filter(pl.col("line") != "")
    )
    expected = lines.join(frame.select("judge").unique(), how="cross")
    return [
        *findings,
        same_rows("every_line", "lines are those of the readouts", frame, expected, ["judge", *_READOUT, "line"]),
    ]


def verdict_summary(frames: Frames, settings: Any) -> list[Finding]:
    """Shares that agree with their counts; corrected exactly where calibrated.

    Companion `verdicts`: those of every arm with its `method`, `reader` and `budget`, counted again.
    """
    return summed_up(frames, "verdict_summary", "verdicts", SUPPORTED)


def summed_up(frames: Frames, table: str, verdicts: str, core: str) -> list[Finding]:
    """Rows of `table`, one an arm and judge, that sum up the companion `verdicts`: shares, counts, calibration.

    `core` is the column of the verdicts whose share of yes is corrected.
    """
    frame = frames[table]
    share, parts = pl.col("core"), pl.col("n_parts")
    findings = [
        ordered(table, frame),
        never("shares", "shares are known exactly where there is a part", frame, share.is_null() != (parts == 0)),
        never(
            "coverage",
            "coverage is the share of parts with a verdict, and bounds the share of right ones",
            frame,
            ((pl.col("coverage") - (1 - pl.col("n_errors") / parts)).abs() > _HAIR)
            | (share > pl.col("coverage") + _HAIR),
        ),
        never(
            "corrected",
            "a corrected share is there exactly where the judge is calibrated and said something",
            frame,
            pl.col("corrected_core").is_not_null() != ((pl.col("calibration") == "calibrated") & (parts > 0)),
        ),
        never(
            "labelled",
            "an uncalibrated judge has no labels, and no other has none",
            frame,
            (pl.col("calibration") == "uncalibrated") != (pl.col("n_labelled") == 0),
        ),
    ]
    if missing := lacking(frames, verdicts):
        return [*findings, not_checked("counts", *missing)]
    counts = ["method", "reader", "budget", "judge", "n_parts", "n_errors", "n_right"]
    added = (
        frames[verdicts]
        .group_by("method", "reader", "budget", "judge")
        .agg(
            n_parts=pl.len().cast(pl.Int64),
            n_errors=(pl.col("status") != "ok").sum().cast(pl.Int64),
            n_right=pl.col(core).fill_null(False).sum().cast(pl.Int64),
        )
    )
    found = frame.filter(parts > 0).with_columns(n_right=(share * parts).round().cast(pl.Int64))
    return [*findings, same_rows("counts", "counts are those of the verdicts", found, added, counts)]
