"""Table `applog_units`: every question of the frozen set, scored (reference 5.3 to 5.6).

The gold decides the set. What was not answered counts 0 and keeps its status; what the
judge failed on counts 0 in the score and 1 in its bound.
"""

import polars as pl

from pipelines.applogs.answers import ITEM, abstaining
from pipelines.applogs.evidence import evidence_scores
from pipelines.applogs.mechanical import scores_by_rule
from pipelines.applogs.tables import APPLOG_TABLES
from pipelines.evaluation.judging import PARTS
from pipelines.evaluation.judging.core_detail import CORE, DETAIL, item_scores
from pipelines.evaluation.judging.partial import CORE as CORE_WORTH
from pipelines.rounding import published

EVALUATOR_VERSION = "2"
"""Enters every comparison; raised when a number could come out differently."""
_VERDICT = {"status": pl.String, CORE: pl.Boolean, DETAIL: pl.Int32}


class BadVerdicts(ValueError):
    """Verdicts on parts that are not asked for, or two on one part."""


def question_words() -> pl.Expr:
    """What is asked, as a judge is told it; of rows of `tasks`."""
    service = pl.concat_str("scenario", "instruction", "output_template", separator="\n", ignore_nulls=True)
    return pl.coalesce("question_text", service)


def judge_parts(questions: pl.DataFrame, parts: pl.DataFrame, standing: pl.DataFrame) -> pl.DataFrame:
    """What a Core+Detail judge is shown (`judging.PARTS`): the judged parts of every answer that is ok.

    `parts` as `mechanical.agreements` gives them (with `given`). The judge sees neither memory nor ids of logs.
    """
    asked = questions.select(*ITEM, question_words().alias("question"))
    told = standing.filter((pl.col("status") == "ok") & (pl.col("expectation") == "value")).select(
        *ITEM, pl.col("reference").fill_null("").alias("reference"), "answer"
    )
    return (
        _judged(parts)
        .join(told, on=ITEM)
        .join(asked, on=ITEM)
        .select(pl.col(name).cast(dtype) for name, dtype in PARTS.items())
        .sort("item", "part")
    )


def units(
    standing: pl.DataFrame,
    agreed: pl.DataFrame,
    verdicts: pl.DataFrame | None = None,
    correct: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Table `applog_units`: one row for every row of `standing` (`answers.standing`).

    `agreed` as of `mechanical.agreements`; `verdicts` of a Core+Detail judge on `judge_parts`, None when none judged;
    `correct` (user_id, item, part, `correct`) says which points hold, null where a judge failed. A right abstention is
    worth 1 and any other answer to such a question 0. Raises `BadVerdicts`, `MixedJudges`.
    """
    scored = _core_detail(standing, agreed, verdicts)
    nothing = abstaining()
    rows = (
        standing.join(scored, on=ITEM, how="left")
        .join(scores_by_rule(standing, agreed), on=ITEM, how="left")
        .join(_points(agreed, correct), on=ITEM, how="left")
        .with_columns(evidence_scores())
        .with_columns(
            *(pl.coalesce(nothing, name).alias(name) for name in ("score", "compat_score", "score_bound")),
            pl.when(nothing.is_not_null()).then(1).otherwise(pl.coalesce("n_states", "n_fields", 0)).alias("n_fields"),
            pl.col("n_judge_errors").fill_null(0),
        )
    )
    table = APPLOG_TABLES["applog_units"]
    made = rows.select(pl.col(name).cast(dtype) for name, dtype in table.schema.items())
    return published(made).sort(table.sort_by)


def points_by_rule(agreed: pl.DataFrame) -> pl.DataFrame:
    """Which points hold by rule alone (ours): names by their core, all others in full. Null without a value."""
    enough = pl.when(pl.col("kind").cast(pl.String) == "entity").then(CORE_WORTH).otherwise(1.0)
    held = agreed.filter("point").select(*ITEM, "part", (pl.col("agreement") >= enough).alias("correct"))
    return held.sort(*ITEM, "part")


def points_by_judge(agreed: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """Which points hold by a Core+Detail judge: the core of the point, or of the judged field that it is about (ours).

    Null where the judge failed; a point on an element of a list, which is judged as one, is null as well.
    """
    part = [*ITEM, "part"]
    cores = _judged(agreed).join(verdicts.select(*part, CORE), on=part, how="left").select(*ITEM, "path", "place", CORE)
    points = agreed.filter("point").select(*part, "place", "path", "judged")
    own = points.filter("judged").join(cores.drop("path"), on=[*ITEM, "place"], how="left")
    field = points.filter(~pl.col("judged")).join(
        cores.filter(pl.col("path").is_not_null()).unique([*ITEM, "path"], keep="none").drop("place"),
        on=[*ITEM, "path"],
        how="left",
    )
    both = pl.concat([one.select(*part, pl.col(CORE).alias("correct")) for one in (own, field)])
    return both.sort(part)


def _label() -> pl.Expr:
    """How a judge is told a part: its name, and the point in words."""
    return pl.concat_str("part", "criterion", separator=": ", ignore_nulls=True).alias("part")


def _judged(parts: pl.DataFrame) -> pl.DataFrame:
    return parts.filter("judged").with_columns(_label())


def _core_detail(standing: pl.DataFrame, agreed: pl.DataFrame, verdicts: pl.DataFrame | None) -> pl.DataFrame:
    asked = _judged(agreed).join(standing.select(*ITEM, pl.col("status").alias("standing")), on=ITEM)
    sizes = asked.group_by(ITEM).agg((~pl.col("gate")).sum().cast(pl.Int32).alias("n_fields"))
    if verdicts is None:
        empty = [pl.lit(None, pl.Float64).alias(name) for name in ("score", "compat_score", "score_bound")]
        return sizes.with_columns(*empty, n_judge_errors=pl.lit(0))
    part = [*ITEM, "part"]
    if verdicts.height != verdicts.select(part).n_unique():
        raise BadVerdicts("a part has two verdicts; give those of one judging")
    ok = asked.filter(pl.col("standing") == "ok")
    if strays := verdicts.join(ok, on=part, how="anti").height:
        raise BadVerdicts(f"{strays} verdicts are on parts that no answer has; judge what `judge_parts` gives")
    judge = verdicts["judge"][0] if verdicts.height else ""
    said = ok.join(verdicts.select(*part, "judge", *_VERDICT), on=part, how="left")
    # What was not answered is wrong without a judge; what the judge left out is not known.
    wrong = asked.filter(pl.col("standing") != "ok").with_columns(
        pl.lit("ok").alias("status"), pl.lit(False).alias(CORE), pl.lit(0, pl.Int32).alias(DETAIL)
    )
    whole = pl.concat(
        [
            said.select(*part, "gate", pl.col("judge").fill_null(judge), pl.col("status").fill_null("judge_error"),
                        CORE, DETAIL),
            wrong.select(*part, "gate", pl.lit(judge).alias("judge"), "status", CORE, DETAIL),
        ]
    )  # fmt: skip
    scores = item_scores(whole).select(
        *ITEM,
        pl.col("strict_score").alias("score"),
        pl.col("score").alias("compat_score"),
        pl.col("strict_score_high").alias("score_bound"),
        pl.col("n_errors").alias("n_judge_errors"),
    )
    return sizes.join(scores, on=ITEM, how="left")


def _points(agreed: pl.DataFrame, correct: pl.DataFrame | None) -> pl.DataFrame:
    if correct is None:
        return agreed.select(ITEM).unique().with_columns(points=pl.lit(None, pl.Float64))
    rows = agreed.filter("point").join(correct, on=[*ITEM, "part"], how="left")
    held, gate = pl.col("correct").fill_null(False), pl.col("gate")
    rest = held.filter(~gate).mean().fill_null(1.0)
    return rows.group_by(ITEM).agg(pl.when(held.filter(gate).all()).then(rest).otherwise(0.0).alias("points"))
