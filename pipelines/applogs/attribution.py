"""Why an answer is wrong, by what the memory delivered and what was tagged to mislead (reference 5.7; rules ours)."""

import polars as pl

from pipelines.applogs.answers import ITEM
from pipelines.applogs.question_forms import NO_KEY
from pipelines.applogs.tables import LABEL


def shown_fields(items: pl.DataFrame, evidence: pl.DataFrame) -> pl.DataFrame:
    """Paths of the right value that each gold log shows: user_id, item, app_log_id, `fields` (empty: the whole).

    `evidence` is the table `state_evidence`; a log listed as evidence of an item shows what it says of that state.
    """
    logs = items.select(*ITEM, "state_key", pl.col("evidence").alias("app_log_id")).explode("app_log_id")
    shown = (
        evidence.filter(pl.col("role").cast(pl.String) == "supports")
        .group_by("user_id", "state_key", "app_log_id")
        .agg(
            (pl.col("fields").list.len() == 0).any().alias("whole"),
            pl.col("fields").explode().drop_nulls().unique().sort().alias("fields"),
        )
        .with_columns(pl.when("whole").then(pl.lit([], pl.List(pl.String))).otherwise("fields").alias("fields"))
    )
    return logs.join(shown.drop("whole"), on=["user_id", "state_key", "app_log_id"]).drop("state_key")


def wrong(standing: pl.DataFrame, scores: pl.DataFrame) -> pl.DataFrame:
    """The rows of `standing` whose answer fails: answered, a value is right, and the score (`score`) is below 1.

    A list of all that is true fails in as many ways as there are states, and is left out.
    """
    answered = pl.col("status").cast(pl.String).is_in(["ok", "abstained"])
    one = (pl.col("expectation").cast(pl.String) == "value") & (pl.col("task").cast(pl.String) != NO_KEY)
    return standing.filter(answered & one).join(scores.select(*ITEM, "score").filter(pl.col("score") < 1), on=ITEM)


def attribute(
    standing: pl.DataFrame, scores: pl.DataFrame, parts: pl.DataFrame, shown: pl.DataFrame | None = None
) -> pl.DataFrame:
    """A label for every answered question that scores below 1: columns user_id, item, `label`.

    By the logs that the memory delivered (`retrieved`):
    - irrelevant: none concerns the state;
    - identity_miss: some imitate it or show an earlier value only, none shows the current one;
    - conflated: the current value came together with an earlier one or an imitation;
    - detail_miss: the current value came alone, and not all of its fields;
    - all_clear: everything came, and the answer is wrong all the same;
    - untold: the memory does not tell what it delivered, or nobody tagged what imitates the state.
    `scores` has user_id, item, `score`; `shown` says which fields each log shows (`shown_fields`), without it a log
    shows the whole value. Questions whose right answer is none have no label. Sorted by user and item.
    """
    failed = wrong(standing, scores)
    came = pl.col("retrieved")
    current = came.list.set_intersection(pl.col("evidence")).list.len()
    others = pl.col("evidence_previous").list.set_union(pl.col("distractors")).list.set_difference(pl.col("evidence"))
    misleading = came.list.set_intersection(others).list.len()
    told = came.is_not_null() & pl.col("evidence_previous").is_not_null() & pl.col("distractors").is_not_null()
    label = (
        pl.when(~told).then(pl.lit("untold"))
        .when((current == 0) & (misleading == 0)).then(pl.lit("irrelevant"))
        .when(current == 0).then(pl.lit("identity_miss"))
        .when(misleading > 0).then(pl.lit("conflated"))
        .when(pl.col("whole")).then(pl.lit("all_clear"))
        .otherwise(pl.lit("detail_miss"))
    )  # fmt: skip
    return (
        failed.join(_whole(failed, parts, shown), on=ITEM, how="left")
        .with_columns(pl.col("whole").fill_null(True))
        .select(*ITEM, label.cast(LABEL).alias("label"))
        .sort(ITEM)
    )


def _whole(failed: pl.DataFrame, parts: pl.DataFrame, shown: pl.DataFrame | None) -> pl.DataFrame:
    """Whether the delivered logs show every field of the right value together."""
    if shown is None:
        return failed.select(ITEM).with_columns(whole=pl.lit(True))
    # Only these name their parts by the fields of the state; elsewhere any log of the current value is all of it.
    message = pl.col("service_family").cast(pl.String) == "user_communication"
    by_field = (pl.col("task").cast(pl.String) == "state_completion") | message.fill_null(False)
    failed = failed.filter(by_field)
    came = failed.select(*ITEM, pl.col("retrieved").alias("app_log_id")).explode("app_log_id")
    seen = came.join(shown, on=[*ITEM, "app_log_id"]).select(*ITEM, pl.col("fields").alias("seen"))
    everything = pl.col("seen").list.len() == 0
    paths = (
        parts.join(failed, on=ITEM, how="semi")
        .filter(pl.col("path").is_not_null() & ~pl.col("gate"))
        .select(*ITEM, "path")
        .unique()
    )
    pairs = paths.join(
        seen.with_columns(everything=everything).explode("seen", empty_as_null=True), on=ITEM, how="left"
    )
    # A path covers itself and all below it.
    covered = (
        pl.col("everything")
        | (pl.col("seen") == pl.col("path"))
        | pl.col("path").str.starts_with(pl.concat_str("seen", pl.lit(".")))
    ).fill_null(False)
    fields = pairs.group_by(*ITEM, "path").agg(covered.any().alias("covered"))
    return fields.group_by(ITEM).agg(pl.col("covered").all().alias("whole"))
