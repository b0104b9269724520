"""Invariants of `pools`, `pool_gold` and `pool_counts`."""

import polars as pl

from expectations.invariants.labels import PER_POOL, PER_TRANSITION
from expectations.invariants.rules import (
    Frames,
    among,
    lacking,
    never,
    no_rows,
    not_checked,
    numbered,
    ordered,
    same_rows,
)
from pipelines.commerce.settings import CommerceSettings
from pipelines.commerce.tables import POOLS
from pipelines.findings import Finding
from pipelines.schema import TABLES

CATEGORY = ["l1", "l2"]
CANDIDATE = [*PER_POOL, "position", *CATEGORY]
DISTRACTORS = ("matched", "history", "random")


def pools(frames: Frames, settings: CommerceSettings) -> list[Finding]:
    """Public columns only, candidates in places 0, 1, 2 …, one number to choose; with `pool_gold`, `transitions`."""
    frame = frames["pools"]
    sizes = frame.group_by(PER_POOL).agg(
        pl.col("n_choose").min().alias("least"), pl.col("n_choose").max().alias("most"), pl.len().alias("n")
    )
    wanted = 1 + settings.distractors_per_positive
    findings = [
        _wall(frame),
        ordered("pools", frame),
        numbered(frame, "position", PER_POOL),
        never("one_choice", "the number to choose is the same in a pool", sizes, pl.col("least") != pl.col("most")),
        never(
            "size",
            f"a pool holds what is to choose and at most {wanted} times as many candidates",
            sizes,
            (pl.col("n") < pl.col("most")) | (pl.col("n") > wanted * pl.col("most")),
        ),
        never("limit", "no more is to choose than positives are kept", sizes, pl.col("most") > settings.max_positives),
    ]
    if missing := lacking(frames, "transitions"):
        findings.append(not_checked("of_a_transition", *missing))
    else:
        description = "every pool belongs to a transition"
        findings.append(among("of_a_transition", description, frame, frames["transitions"], PER_TRANSITION))
    if missing := lacking(frames, "pool_gold"):
        return [*findings, not_checked("same_candidates", *missing), not_checked("choose_positives", *missing)]
    return [*findings, *_against_gold(frame, frames["pool_gold"])]


def _wall(frame: pl.LazyFrame) -> Finding:
    extra = sorted(set(frame.collect_schema().names()) - set(TABLES["pools"].columns))
    return Finding("wall", not extra, "error", f"extra columns {extra}", "the public pool has only the public columns")


def _against_gold(frame: pl.LazyFrame, gold: pl.LazyFrame) -> list[Finding]:
    columns = [*PER_POOL, "n_choose"]
    chosen = frame.select(columns).unique().with_columns(pl.col("n_choose").cast(pl.Int64))
    right = gold.group_by(PER_POOL).agg((pl.col("role") == "positive").sum().cast(pl.Int64).alias("n_choose"))
    return [
        same_rows("same_candidates", "the public pool and its gold hold the same candidates", frame, gold, CANDIDATE),
        same_rows("choose_positives", "as many are to choose as there are positives", chosen, right, columns),
    ]


def pool_gold(frames: Frames, settings: CommerceSettings) -> list[Finding]:
    """Roles as the rules want them; companions `positives`, `pool_counts`."""
    frame = frames["pool_gold"]
    remembered = pl.col("familiarity").cast(pl.String).is_in(["seen", "familiar"])
    inferred = pl.col("familiarity").cast(pl.String).is_in(["related", "new"])
    own = pl.when(pl.col("pool") == POOLS[0]).then(remembered).otherwise(inferred)
    per_group = frame.group_by(*PER_POOL, "familiarity").agg(_roles("positive", "matched"))
    per_pool = frame.group_by(PER_POOL).agg(
        *_roles("positive", *DISTRACTORS), pl.col("position").mean().alias("mean_position"), pl.len().alias("n")
    )
    each = settings.distractors_per_positive
    n_distractors = pl.sum_horizontal(f"n_{role}" for role in DISTRACTORS)
    findings = [
        ordered("pool_gold", frame),
        numbered(frame, "position", PER_POOL),
        never(
            "own_group",
            "all but random candidates are of the pool's familiarity",
            frame,
            (pl.col("role") != "random") & ~own,
        ),
        never(
            "random_last",
            "a random candidate is of no familiarity that the pool asks for",
            frame,
            (pl.col("role") == "random") & own,
        ),
        never(
            "matched",
            f"at most {each} matched distractors for each positive of their familiarity",
            per_group,
            pl.col("n_matched") > each * pl.col("n_positive"),
        ),
        never(
            "per_positive",
            f"a pool has a positive, and at most {each} distractors for each",
            per_pool,
            (pl.col("n_positive") < 1) | (n_distractors > each * pl.col("n_positive")),
        ),
        _places(frame),
    ]
    if missing := lacking(frames, "positives"):
        findings += [not_checked("all_kept", *missing), not_checked("no_future_positive", *missing)]
    else:
        findings += _against_positives(frame, frames["positives"])
    if missing := lacking(frames, "pool_counts"):
        return [*findings, not_checked("counts", *missing)]
    return [*findings, _counts(frame, frames["pool_counts"])]


def _roles(*roles: str) -> list[pl.Expr]:
    return [(pl.col("role") == role).sum().cast(pl.Int64).alias(f"n_{role}") for role in roles]


def _places(frame: pl.LazyFrame) -> Finding:
    """Order must say nothing about roles: the mean place of positives is that of all, within 5 standard errors."""
    share = (pl.col("position") + 0.5) / pl.len().over(PER_POOL)
    placed = frame.with_columns(share.alias("share")).filter(pl.col("role") == "positive")
    mean, n = placed.select(pl.col("share").mean(), pl.len().alias("n")).collect().row(0)
    # A place drawn uniformly has variance 1/12 at most, and 1/12 when pools are large.
    error = (1 / 12 / n) ** 0.5 if n else 0.0
    passed = n == 0 or abs(mean - 0.5) <= 5 * error
    observed = "no positives" if n == 0 else f"mean place {mean:.4f} of {n} positives"
    return Finding("places", passed, "warning", observed, "positives stand anywhere in the order (mean place 0.5)")


def _against_positives(frame: pl.LazyFrame, positives: pl.LazyFrame) -> list[Finding]:
    shown = frame.filter(pl.col("role") == "positive")
    columns = [*PER_POOL, *CATEGORY, "familiarity"]
    wrong = frame.filter(pl.col("role") != "positive").join(
        positives, on=[*PER_TRANSITION, *CATEGORY], how="semi", nulls_equal=True
    )
    return [
        same_rows("all_kept", "positives of a pool are those kept for it", shown, positives.filter("kept"), columns),
        no_rows("no_future_positive", "no positive of t+1, kept or not, is a distractor", wrong),
    ]


def _counts(frame: pl.LazyFrame, counts: pl.LazyFrame) -> Finding:
    columns = [*PER_POOL, *(f"n_{role}" for role in ("positives", *DISTRACTORS))]
    found = frame.group_by(PER_POOL).agg(_roles("positive", *DISTRACTORS)).rename({"n_positive": "n_positives"})
    told = counts.filter(pl.col("n_positives") > 0)
    return same_rows("counts", "roles add up to pool_counts", found, told, columns)


def pool_counts(frames: Frames, settings: CommerceSettings) -> list[Finding]:
    """One row a transition and pool, shortages counted; companions `transitions`, `positives`."""
    frame = frames["pool_counts"]
    found = pl.sum_horizontal("n_matched", "n_history", "n_random")
    each, limit = settings.distractors_per_positive, settings.max_positives
    findings = [
        ordered("pool_counts", frame),
        never(
            "adds_up",
            f"found and short distractors are {each} for each positive",
            frame,
            found + pl.col("n_short") != each * pl.col("n_positives"),
        ),
        never("limit", f"at most {limit} positives", frame, pl.col("n_positives") > limit),
        never(
            "cut",
            "positives are cut only at the limit",
            frame,
            (pl.col("n_cut") > 0) & (pl.col("n_positives") != limit),
        ),
    ]
    if missing := lacking(frames, "transitions"):
        findings.append(not_checked("every_pool", *missing))
    else:
        both = pl.LazyFrame({"pool": pl.Series(POOLS, dtype=TABLES["pools"].schema["pool"])})
        expected = frames["transitions"].select(PER_TRANSITION).join(both, how="cross")
        description = "each transition has one row a pool, empty pools included"
        findings.append(same_rows("every_pool", description, frame, expected, PER_POOL))
    if missing := lacking(frames, "positives"):
        return [*findings, not_checked("positives", *missing)]
    columns = [*PER_POOL, "n_positives", "n_cut"]
    labelled = (
        frames["positives"]
        .filter(pl.col("pool").is_not_null())
        .group_by(PER_POOL)
        .agg(
            pl.col("kept").sum().cast(pl.Int64).alias("n_positives"),
            (~pl.col("kept")).sum().cast(pl.Int64).alias("n_cut"),
        )
    )
    asked = frame.filter((pl.col("n_positives") > 0) | (pl.col("n_cut") > 0))
    return [
        *findings,
        same_rows("positives", "kept and cut positives are those of the labels", asked, labelled, columns),
    ]
