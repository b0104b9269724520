"""What a memory delivered to an answer that is wrong, labelled by a judge (labels of reference 5.7; wording ours)."""

import polars as pl

from pipelines.applogs.answers import ITEM
from pipelines.applogs.board_tables import APPLOG_BOARD_TABLES
from pipelines.applogs.contexts import WHOLE
from pipelines.applogs.peers import oracle
from pipelines.applogs.scores import question_words
from pipelines.applogs.tables import FAILURES
from pipelines.evaluation.judging import PARTS
from pipelines.evaluation.judging.rubric import Field, Rubric
from pipelines.memory.contract import Tokens

FAILURE = Rubric(
    name="failure", instructions="judge/failure", fields=(Field("label", kind="choice", options=FAILURES),)
)
PART = "delivered text"
"""The one part of an item: the text as a whole."""


def delivered_to(items: pl.DataFrame, contexts: pl.LazyFrame) -> pl.DataFrame:
    """Rows of `contexts` that `items` (rows of `gold_items`) were answered from: their own, and those of every item."""
    return contexts.filter(pl.col("item").is_in([*items["item"], WHOLE])).collect()


def proof_of(
    items: pl.DataFrame, logs: pl.DataFrame, checkpoints: pl.DataFrame, questions: pl.DataFrame, tokens: Tokens
) -> pl.DataFrame:
    """As `delivered_to`, of the oracle (`peers.oracle`), made again; `questions` are rows of `tasks`, also more."""
    return oracle(logs, checkpoints, questions.join(items, on=ITEM, how="semi"), items, tokens)


def failure_parts(
    questions: pl.DataFrame, parts: pl.DataFrame, contexts: pl.DataFrame, failed: pl.DataFrame
) -> pl.DataFrame:
    """What the judge is shown (`judging.PARTS`) of `failed` (`attribution.wrong`): question, right value, and the text.

    `questions` are rows of `tasks`, `parts` of `gold_parts`, whose points in words stand for a right answer that is not
    published. What has no context, as with rules, which ask no memory, has no part. The judge sees no method, no
    reader and no answer.
    """
    whole = contexts.filter(pl.col("item") == WHOLE).select("user_id", "checkpoint_id", pl.col("text").alias("whole"))
    own = contexts.filter(pl.col("item") != WHOLE).select(*ITEM, pl.col("text").alias("own"))
    asked = questions.select(*ITEM, question_words().alias("question"))
    told = (
        failed.join(own, on=ITEM, how="left")
        .join(whole, on=["user_id", "checkpoint_id"], how="left")
        .join(_points(parts), on=ITEM, how="left")
        .join(asked, on=ITEM)
        .with_columns(
            part=pl.lit(PART),
            gate=pl.lit(False),
            reference=pl.coalesce("reference", "points"),
            answer=pl.coalesce("own", "whole"),
            expected=pl.lit(None),
            given=pl.lit(None),
        )
        .filter(pl.col("answer").is_not_null())
    )
    return told.select(pl.col(name).cast(dtype) for name, dtype in PARTS.items()).sort("item")


def failure_rows(failed: pl.DataFrame, verdicts: pl.DataFrame, judge: str) -> pl.DataFrame:
    """Table `applog_failures`: a row for each of `failed`, with what the judge (its fingerprint) says of it.

    `verdicts` as `RubricJudge.verdicts` gives them of `failure_parts`; what it was not shown is `untold`.
    """
    said = ("content", "status", "reason", "analysis", "call")
    rows = failed.select(ITEM).join(verdicts.select(*ITEM, *said, "label"), on=ITEM, how="left")
    table = APPLOG_BOARD_TABLES["applog_failures"]
    return (
        rows.with_columns(
            pl.lit(judge).alias("judge"),
            pl.col("status").fill_null("untold"),
            pl.col("content", "reason", "analysis", "call").fill_null(""),
        )
        .select(pl.col(name).cast(dtype) for name, dtype in table.schema.items())
        .sort(table.sort_by)
    )


def _points(parts: pl.DataFrame) -> pl.DataFrame:
    """user_id, item, `points`: the judged points in words, a line each."""
    words = pl.concat_str("criterion", "expected", separator=": ", ignore_nulls=True)
    judged = parts.filter(pl.col("judged") & pl.col("criterion").is_not_null()).sort("place")
    return judged.group_by(ITEM, maintain_order=True).agg(words.str.join("\n").alias("points"))
