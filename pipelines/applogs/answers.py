"""Answers held against the frozen questions: each question has one standing, and none leaves the denominator."""

from typing import Any

import polars as pl

from pipelines.applogs.json_text import strict
from pipelines.applogs.state_values import says_nothing
from pipelines.applogs.tables import APPLOG_TABLES, UNIT_STATUS

ITEM = ["user_id", "item"]
ERRORS = ("transport_error", "parse_error")
"""What is worth another try; an abstention is an answer."""


class BadAnswers(ValueError):
    """Answers that do not belong to the frozen questions, or that break the table's contract."""


def read_answer(text: str | None) -> tuple[str, Any]:
    """(status, value) of an answer's JSON: abstained where it holds nothing, parse_error where it is no sound JSON."""
    if text is None:
        return "abstained", None
    try:
        value = strict(text)
    except (ValueError, RecursionError):
        return "parse_error", None
    return ("abstained", None) if says_nothing(value) else ("ok", value)


def standing(items: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
    """One row for every row of `gold_items`, with `status`, `answer` (null unless ok), `evidence_given`, `retrieved`.

    An ok answer that holds no value is an abstention; one that is no JSON is a parse error; a question without an
    answer is missing. Evidence counts only for answers that are ok. Raises `BadAnswers` on a question answered twice,
    an answer to no question, or an ok answer of null.
    """
    if twice := answers.height - answers.select(ITEM).n_unique():
        raise BadAnswers(f"{twice} questions are answered twice; keep one answer a question")
    if strays := answers.join(items, on=ITEM, how="anti").height:
        raise BadAnswers(f"{strays} answers name no question; answers and questions are of other releases")
    given = answers.select(pl.col(name).cast(dtype) for name, dtype in APPLOG_TABLES["answers"].schema.items())
    read = pl.Series("read", [read_answer(text)[0] for text in given["answer"].to_list()], dtype=pl.String)
    judged = given.with_columns(
        pl.when(pl.col("status") == "ok").then(read).otherwise(pl.col("status").cast(pl.String)).alias("status")
    ).with_columns(
        pl.when(pl.col("status") == "ok").then(pl.col("answer")).alias("answer"),
        pl.when(pl.col("status") == "ok").then(distinct("evidence")).otherwise(pl.lit([], pl.List(pl.String)))
        .alias("evidence_given"),
    )  # fmt: skip
    joined = items.join(
        judged.select(*ITEM, "status", "answer", "evidence_given", "retrieved"), on=ITEM, how="left"
    ).with_columns(
        pl.col("status").fill_null("missing").cast(UNIT_STATUS),
        pl.col("evidence_given").fill_null(pl.lit([], pl.List(pl.String))),
    )
    return joined.sort(ITEM)


def abstaining() -> pl.Expr:
    """What a row of `standing` is worth where nothing is true: 1 for an abstention, 0 for all else; else null."""
    right = (pl.col("status").cast(pl.String) == "abstained").cast(pl.Float64)
    return pl.when(pl.col("expectation").cast(pl.String) != "value").then(right)


def to_ask(questions: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
    """The questions that are still to be asked: never tried, or ended in an error; abstentions are not asked again."""
    done = answers.filter(~pl.col("status").cast(pl.String).is_in(ERRORS))
    return questions.join(done, on=ITEM, how="anti").sort(ITEM)


def distinct(ids: str) -> pl.Expr:
    """The ids of a list column, each once, in order, without the empty one."""
    kept = pl.element().filter((pl.element().str.len_chars() > 0).fill_null(False))
    return pl.col(ids).list.eval(kept).list.unique(maintain_order=True)
