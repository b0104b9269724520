"""Invariants of `leaderboard`, `differences` and `positions`."""

import polars as pl

from expectations.invariants.rules import Frames, lacking, never, no_rows, not_checked, ordered, same_rows
from pipelines.commerce.settings import CommerceSettings
from pipelines.evaluation.scores import ANSWERED, CHANCE, ORACLE
from pipelines.evaluation.tables import STATUSES
from pipelines.findings import Finding

BOARD = ["reader", "budget", "pool"]
_GROUP = [*BOARD, "group_kind", "group"]
_CELL = [*BOARD, "method"]
_HAIR = 1e-6
"""Published shares are rounded, so that sums of them agree to a hair only."""


def leaderboard(frames: Frames, settings: CommerceSettings) -> list[Finding]:
    """Shares that agree with their counts, ranks with recalls, all methods on the same units.

    Companion `units`: the counts of every arm, added up again.
    """
    frame = frames["leaderboard"]
    asked, recall = pl.col("n_units") > 0, pl.col("recall")
    competes = (pl.col("group_kind") == "all") & (pl.col("kind") != "scoring side")
    facts = ["n_units", "n_users", "n_positives", "chance", "place"]
    same = frame.group_by(_GROUP).agg(pl.col(facts).n_unique())
    findings = [
        ordered("leaderboard", frame),
        never(
            "recall",
            "recall is hits / positives, missed the rest, both undefined exactly where nothing was asked",
            frame,
            (recall.is_null() == asked)
            | _differ(recall, pl.col("n_hit") / pl.col("n_positives"))
            | _differ(pl.col("missed"), 1 - recall),
        ),
        never(
            "bounds",
            "recall lies between its bounds",
            frame,
            _differ(recall, recall.clip(pl.col("bound_low"), pl.col("bound_high"))),
        ),
        *(
            never(
                f"interval({name})",
                f"{name} lies in its interval, whose two ends are known together",
                frame,
                (pl.col(f"{name}_low").is_null() != pl.col(f"{name}_high").is_null())
                | _differ(pl.col(name), pl.col(name).clip(pl.col(f"{name}_low"), pl.col(f"{name}_high"))),
            )
            for name in ("recall", "user_recall", "exposure")
        ),
        never("chance", "chance is positive", frame, pl.col("chance") <= 0),
        never(
            "statuses",
            "the statuses add up to the units, and coverage is the share of those answered",
            frame,
            (pl.sum_horizontal(f"n_{status}" for status in STATUSES) != pl.col("n_units"))
            | _differ(pl.col("coverage"), pl.sum_horizontal(f"n_{status}" for status in ANSWERED) / pl.col("n_units")),
        ),
        never(
            "competes",
            "methods and controls have rank and band over all units; nothing else has",
            frame,
            (pl.col("rank").is_not_null() != competes) | (pl.col("band").is_not_null() != competes),
        ),
        no_rows(
            "ranks",
            "a rank is 1 + the methods of a higher recall, and no band is above one of a better rank",
            frame.filter(competes)
            .with_columns(recall.rank("min", descending=True).over(BOARD).alias("expected"))
            .sort(*BOARD, "rank", "band")
            .filter((pl.col("rank") != pl.col("expected")) | (pl.col("band") < pl.col("band").shift().over(BOARD))),
        ),
        no_rows(
            "same_units",
            "all methods of a group stand on the same units",
            same.filter(pl.any_horizontal(pl.col(name) > 1 for name in facts)),
        ),
    ]
    if missing := lacking(frames, "units"):
        return [*findings, not_checked("counts", *missing)]
    counts = ["n_units", "n_positives", "n_hit"]
    own = frames["units"].with_columns(pl.col("pool").cast(pl.String))
    added = own.group_by(_CELL).agg(
        pl.len().cast(pl.Int64).alias("n_units"),
        pl.col("n_positives").sum().cast(pl.Int64),
        pl.col("n_hit").sum().cast(pl.Float64),
    )
    found = frame.filter(competes).with_columns(pl.col("pool").cast(pl.String))
    arms = added.join(found, on=BOARD, how="semi")
    return [
        *findings,
        same_rows("counts", "units, positives and hits are those of the scored units", found, arms, _CELL + counts),
    ]


def differences(frames: Frames, settings: CommerceSettings) -> list[Finding]:
    """Pairs by name, p that can be; companion `leaderboard`: one row a pair, and the difference of its recalls."""
    frame = frames["differences"]
    difference, p_holm = pl.col("difference"), pl.col("p_holm")
    findings = [
        ordered("differences", frame),
        never("by_name", "the first of a pair comes first by name", frame, pl.col("method") >= pl.col("other")),
        never(
            "interval",
            "the difference lies in its interval, whose two ends are known together",
            frame,
            (pl.col("low").is_null() != pl.col("high").is_null())
            | _differ(difference, difference.clip(pl.col("low"), pl.col("high"))),
        ),
        never(
            "separable",
            "separable says that p_holm is below 0.05, and p is known with its correction",
            frame,
            (pl.col("separable") != (p_holm < 0.05).fill_null(False)) | (pl.col("p").is_null() != p_holm.is_null()),
        ),
    ]
    if missing := lacking(frames, "leaderboard"):
        return [*findings, *(not_checked(name, *missing) for name in ("pairs", "of_recalls"))]
    contenders = (
        frames["leaderboard"]
        .filter((pl.col("group_kind") == "all") & ~pl.col("method").is_in([ORACLE, CHANCE]))
        .select(*_CELL, "recall", "n_missing")
    )
    pairs = contenders.join(
        contenders.rename({"method": "other", "recall": "__recall", "n_missing": "__missing"}), on=BOARD
    ).filter(pl.col("method") < pl.col("other"))
    pair = [*_CELL, "other"]
    return [
        *findings,
        same_rows("pairs", "each two methods of a board and pool are compared once", frame, pairs, pair),
        never(
            "of_recalls",
            "where both read every unit, the difference is that of their recalls",
            frame.join(pairs, on=pair, maintain_order="left"),
            (pl.col("n_missing") + pl.col("__missing") == 0)
            & _differ(difference, pl.col("recall") - pl.col("__recall")),
        ),
    ]


def positions(frames: Frames, settings: CommerceSettings) -> list[Finding]:
    """Places without a gap, shown to all arms alike; companion `leaderboard`: positives and hits add up to its own."""
    frame = frames["positions"]
    arm = ["method", "reader", "budget", "pool"]
    position = pl.col("position")
    facts = frame.group_by("pool", "position").agg(pl.col("n_shown", "n_positives").n_unique())
    findings = [
        ordered("positions", frame),
        never(
            "places",
            "places count from 0 without a gap, and a later one is shown no more often",
            frame,
            (position != pl.int_range(pl.len()).over(arm)) | (pl.col("n_shown") > pl.col("n_shown").shift().over(arm)),
        ),
        no_rows(
            "same_pools",
            "all methods are shown the same pools",
            facts.filter((pl.col("n_shown") > 1) | (pl.col("n_positives") > 1)),
        ),
    ]
    if missing := lacking(frames, "leaderboard"):
        return [*findings, not_checked("sums", *missing)]
    counts = ["n_positives", "n_hit"]
    added = frame.group_by(arm).agg(pl.col(counts).sum().cast(pl.Float64))
    board = (
        frames["leaderboard"]
        .filter((pl.col("group_kind") == "all") & (pl.col("kind") != "scoring side"))
        .with_columns(pl.col(counts).cast(pl.Float64))
    )
    return [
        *findings,
        same_rows("sums", "positives and hits add up to those of the leaderboard", added, board, arm + counts),
    ]


def _differ(one: pl.Expr, other: pl.Expr) -> pl.Expr:
    """Further apart than rounding explains; null where either is."""
    return (one - other).abs() > _HAIR
