"""Table `units`: every pool of the frozen set, scored (paper §3.3; statuses ours).

The denominator is the gold: a unit without a reading, or with one that cannot
be used, counts 0 and is shown by its status, never left out.
"""

import polars as pl

from pipelines.commerce.tables import FAMILIARITIES, POOL
from pipelines.evaluation.readers import UNIT, readings_from_scores
from pipelines.evaluation.tables import STATUSES
from pipelines.rounding import DECIMALS
from pipelines.schema import TABLES, conform

EVALUATOR_VERSION = "1"
"""Enters every comparison; raised when a number could come out differently."""

ANSWERED, UNANSWERED = STATUSES[:3], STATUSES[3:]
GROUPS = FAMILIARITIES[:-1]
"""Familiarity groups that pools ask for."""

ORACLE, POPULARITY, CHANCE = "oracle", "popularity", "chance"
SCORING_SIDE = (ORACLE, POPULARITY, CHANCE)
NO_READER, NO_BUDGET = "none", 0
"""Reader and budget of rows that read nothing."""

_CANDIDATE = [*UNIT, "position"]


class BadReadings(ValueError):
    """Readings that do not belong to the frozen pools, or that break the table's contract."""


def score(
    readings: pl.DataFrame,
    pool_gold: pl.DataFrame,
    readouts: pl.DataFrame,
    cohort: pl.DataFrame,
    *,
    method: str,
    reader: str,
    budget: int,
) -> pl.DataFrame:
    """Table `units` of one arm: one row for every pool of `pool_gold`, read or not.

    Recall is n_hit / n_positives; exposure n_exposed / n_positives on units with
    n_eligible > 0. A short reading's missing choices hit nothing; of a longer
    one the first n_positives distinct choices count; a choice outside the pool
    makes the reading invalid; invalid, failed and missing ones hit nothing.
    For readers that rank, `expected_hits` and `average_precision` are means over
    all orders of equal scores, so that the order of candidates cannot help.

    `pool_gold` decides the set: pass the rows of the sampled users only.
    Raises `BadReadings` on an unknown status, a unit read twice, or one outside `pool_gold`.
    """
    units = _frozen(pool_gold)
    _refuse(readings, units)
    checked = _with_status(readings, units)
    chosen = _chosen(checked, units)
    ranked = _ranked(checked, pool_gold, units)
    ranks = readings.height > 0 and readings["scores"].list.len().max() != 0
    frame = (
        units.join(checked.select(*UNIT, "status"), on=UNIT, how="left")
        .join(_hits(chosen, pool_gold), on=UNIT, how="left")
        .join(ranked, on=UNIT, how="left")
        .with_columns(
            pl.col("status").fill_null("missing"),
            pl.col("n_hit", "n_exposed", *(f"hit_{group}" for group in GROUPS)).fill_null(0),
            pl.col("average_precision").fill_null(0.0) if ranks else pl.col("average_precision"),
        )
        .with_columns(pl.col("expected_hits").fill_null(pl.col("n_hit").cast(pl.Float64)))
        .join(readouts.select("user_id", "transition_index", "tokens"), on=UNIT[:2], how="left")
        .with_columns(pl.col("tokens").fill_null(0))
    )
    return _labelled(frame, cohort, method, reader, budget)


def oracle(pool_gold: pl.DataFrame, cohort: pl.DataFrame) -> pl.DataFrame:
    """Table `units` of the row that chooses the positives from the gold; the top of every scale."""
    frame = _frozen(pool_gold).with_columns(
        pl.lit("ok").alias("status"),
        pl.col("n_positives").alias("n_hit"),
        pl.lit(0).alias("n_exposed"),
        pl.col("n_positives").cast(pl.Float64).alias("expected_hits"),
        pl.lit(1.0).alias("average_precision"),
        *(pl.col(f"n_{group}").alias(f"hit_{group}") for group in GROUPS),
        pl.lit(0).alias("tokens"),
    )
    return _labelled(frame, cohort, ORACLE, NO_READER, NO_BUDGET)


def popularity(
    pools: pl.DataFrame,
    pool_gold: pl.DataFrame,
    transitions: pl.DataFrame,
    popularity_table: pl.DataFrame,
    cohort: pl.DataFrame,
) -> pl.DataFrame:
    """Table `units` of the row that chooses the categories that all users visited most before the quarter."""
    scored = (
        pools.join(transitions.select(*UNIT[:2], "quarter"), on=UNIT[:2], how="left")
        .join(popularity_table, on=["quarter", "l1", "l2"], how="left", nulls_equal=True)
        .with_columns(pl.col("n_visits").fill_null(0).cast(pl.Float64).alias("score"))
    )
    nothing = TABLES["readouts"].empty()
    readings = readings_from_scores(scored).join(pool_gold.select(UNIT).unique(), on=UNIT, how="semi")
    return score(readings, pool_gold, nothing, cohort, method=POPULARITY, reader=NO_READER, budget=NO_BUDGET)


def recall_by_position(
    readings: pl.DataFrame, pool_gold: pl.DataFrame, *, method: str, reader: str, budget: int
) -> pl.DataFrame:
    """Table `positions` of one arm; a reader without bias gives a flat line. Counts add up over shards."""
    units = _frozen(pool_gold)
    _refuse(readings, units)
    chosen = _chosen(_with_status(readings, units), units).with_columns(pl.lit(True).alias("chosen"))
    positive = pl.col("role") == "positive"
    counted = (
        pool_gold.join(chosen, on=_CANDIDATE, how="left")
        .with_columns(pl.col("chosen").fill_null(False))
        .group_by("pool", "position")
        .agg(
            pl.len().alias("n_shown"),
            pl.col("chosen").sum().alias("n_chosen"),
            positive.sum().alias("n_positives"),
            (positive & pl.col("chosen")).sum().alias("n_hit"),
        )
    )
    named = counted.with_columns(
        pl.lit(method).alias("method"), pl.lit(reader).alias("reader"), pl.lit(budget).alias("budget")
    )
    return conform(named.lazy(), "positions").collect()


def _frozen(pool_gold: pl.DataFrame) -> pl.DataFrame:
    positive = pl.col("role") == "positive"
    units = pool_gold.group_by(UNIT).agg(
        positive.sum().cast(pl.Int32).alias("n_positives"),
        pl.len().cast(pl.Int32).alias("n_candidates"),
        pl.col("role").is_in(["matched", "history"]).sum().cast(pl.Int32).alias("n_eligible"),
        *((positive & (pl.col("familiarity") == group)).sum().cast(pl.Int32).alias(f"n_{group}") for group in GROUPS),
    )
    if empty := units.filter(pl.col("n_positives") == 0).height:
        raise ValueError(f"{empty} pools of the gold have no positive; such pools are never frozen")
    return units.with_columns(pl.col("pool").cast(POOL)).sort(UNIT)


def _refuse(readings: pl.DataFrame, units: pl.DataFrame) -> None:
    if unknown := sorted(set(readings["status"].drop_nulls().unique()) - set(STATUSES)):
        raise BadReadings(f"unknown status {unknown}; a reading is one of {', '.join(STATUSES)}")
    if twice := readings.height - readings.select(UNIT).n_unique():
        raise BadReadings(f"{twice} pools are read twice; a reader answers each pool once")
    if outside := readings.join(units, on=UNIT, how="anti").height:
        raise BadReadings(
            f"{outside} readings are of pools outside the frozen set; pools and gold are of other releases"
        )


def _with_status(readings: pl.DataFrame, units: pl.DataFrame) -> pl.DataFrame:
    """Readings with distinct choices, and the status that the choices themselves show."""
    distinct = pl.col("chosen").fill_null([]).list.unique(maintain_order=True)
    n = pl.col("chosen").list.len()
    outside = (pl.col("chosen").list.min() < 0) | (pl.col("chosen").list.max() >= pl.col("n_candidates"))
    claimed = pl.col("status").fill_null("failed")
    return (
        readings.join(units.select(*UNIT, "n_positives", "n_candidates"), on=UNIT, how="inner")
        .with_columns(distinct)
        .with_columns(
            pl.when(claimed.is_in(UNANSWERED))
            .then(claimed)
            .when(outside.fill_null(False) | pl.col("chosen").list.contains(None))
            .then(pl.lit("invalid"))
            .when(n < pl.col("n_positives"))
            .then(pl.lit("short"))
            .when(n > pl.col("n_positives"))
            .then(pl.lit("over"))
            .otherwise(pl.lit("ok"))
            .alias("status")
        )
    )


def _chosen(checked: pl.DataFrame, units: pl.DataFrame) -> pl.DataFrame:
    """One row a choice that counts: the unit and `position`."""
    return (
        checked.filter(pl.col("status").is_in(ANSWERED))
        .select(*UNIT, pl.col("chosen").list.head(pl.col("n_positives")).alias("position"))
        .explode("position", empty_as_null=False, keep_nulls=False)
    )


def _hits(chosen: pl.DataFrame, pool_gold: pl.DataFrame) -> pl.DataFrame:
    positive = pl.col("role") == "positive"
    return (
        chosen.join(pool_gold, on=_CANDIDATE, how="inner")
        .group_by(UNIT)
        .agg(
            positive.sum().cast(pl.Int32).alias("n_hit"),
            pl.col("role").is_in(["matched", "history"]).sum().cast(pl.Int32).alias("n_exposed"),
            *(
                (positive & (pl.col("familiarity") == group)).sum().cast(pl.Int32).alias(f"hit_{group}")
                for group in GROUPS
            ),
        )
    )


def _ranked(checked: pl.DataFrame, pool_gold: pl.DataFrame, units: pl.DataFrame) -> pl.DataFrame:
    """Expected hits and average precision of readings whose scores cover the pool with numbers.

    In a group of n equal scores with r positives that starts after s better
    candidates, R of them positive, the place s+i holds a positive with
    probability r/n, and then R + 1 + (i−1)(r−1)/(n−1) positives stand at or
    above it on average (McSherry & Najork 2008).
    """
    usable = checked.filter(
        pl.col("status").is_in(ANSWERED)
        & (pl.col("scores").list.len() == pl.col("n_candidates"))
        & pl.col("scores").list.eval(pl.element().is_finite().fill_null(False)).list.all()
    )
    candidates = (
        usable.select(*UNIT, "n_positives", "scores")
        .with_columns(pl.int_ranges(0, pl.col("scores").list.len(), dtype=pl.Int32).alias("position"))
        .explode("scores", "position", empty_as_null=False, keep_nulls=False)
        .join(
            pool_gold.select(*_CANDIDATE, (pl.col("role") == "positive").alias("positive")), on=_CANDIDATE, how="inner"
        )
        .sort([*UNIT, "scores"], descending=[False, False, False, True])
    )
    group = [*UNIT, "scores"]
    n, r = pl.col("n"), pl.col("r")
    i = pl.int_range(1, pl.len() + 1).over(group)
    place = pl.int_range(1, pl.len() + 1).over(UNIT)
    slots = (pl.col("n_positives") - (pl.col("place") - pl.col("i"))).clip(0, pl.col("n"))
    above = pl.when(n > 1).then((pl.col("i") - 1) * (r - 1) / (n - 1)).otherwise(0.0)
    return (
        candidates.with_columns(
            pl.len().over(group).cast(pl.Int64).alias("n"),
            pl.col("positive").sum().over(group).cast(pl.Int64).alias("r"),
            i.cast(pl.Int64).alias("i"),
            place.cast(pl.Int64).alias("place"),
            pl.col("positive").cum_sum().over(UNIT).cast(pl.Int64).alias("found"),
        )
        .with_columns(pl.col("found").max().over(group).alias("through"))
        .with_columns(
            (r / n * (pl.col("through") - r + 1 + above) / pl.col("place")).alias("precision"),
            pl.when(pl.col("i") == 1).then(slots * r / n).otherwise(0.0).alias("expected"),
        )
        .group_by(UNIT)
        .agg(
            pl.col("expected").sum().round(DECIMALS).alias("expected_hits"),
            (pl.col("precision").sum() / pl.col("n_positives").first()).round(DECIMALS).alias("average_precision"),
        )
    )


def _labelled(frame: pl.DataFrame, cohort: pl.DataFrame, method: str, reader: str, budget: int) -> pl.DataFrame:
    users = cohort.select("user_id", "n_batches")
    if strangers := frame.join(users, on="user_id", how="anti")["user_id"].n_unique():
        raise ValueError(f"{strangers} users of the gold are not in the cohort; gold and cohort are of other releases")
    named = frame.join(users, on="user_id", how="left").with_columns(
        pl.lit(method).alias("method"), pl.lit(reader).alias("reader"), pl.lit(budget).alias("budget")
    )
    return conform(named.lazy(), "units").collect()
