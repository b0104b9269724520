"""Answers marked by a Core+Detail judge: which, and what the marks come to (reference 5.3, 5.8; the sample is ours)."""

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from pipelines.applogs.answers import ITEM, standing
from pipelines.applogs.board_tables import APPLOG_BOARD_TABLES
from pipelines.applogs.failures import FAILURE
from pipelines.applogs.question_forms import NO_KEY
from pipelines.applogs.scores import judge_parts, points_by_judge, units
from pipelines.evaluation.experiment import Experiment
from pipelines.evaluation.judging.core_detail import CORE_DETAIL
from pipelines.evaluation.judging.rubric import Rubric
from pipelines.hashing import key64_column

JUDGES = (CORE_DETAIL.name, FAILURE.name)
"""What an experiment on app logs calls its judges; `core_detail:NAME` names the model."""


def judge_named(judges: Iterable[str], rubric: Rubric) -> str | None:
    """The judge by a rubric, as an experiment names it; None where it names none."""
    return next((one for one in judges if one.partition(":")[0] == rubric.name), None)


def drawn_items(questions: pl.DataFrame, experiment: Experiment) -> tuple[tuple[str, str], ...]:
    """The (user, item) judged, sorted: a keyed sample of `experiment.judged` of the questions that are asked.

    The same of every arm; a larger sample contains every smaller one of the same seed. Lists are scored by rule alone
    and never drawn. An experiment without judges draws none.
    """
    if not experiment.judges:
        return ()
    one = questions.filter(pl.col("task").cast(pl.String) != NO_KEY)
    named = one.select(*ITEM, pl.concat_str(ITEM, separator=":").alias("name"))
    key = key64_column(named["name"], f"judged:{experiment.seed}")
    drawn = named.with_columns(key.alias("key")).sort("key", "name").head(experiment.judged)
    return tuple(drawn.sort(ITEM).select(ITEM).rows())


@dataclass(frozen=True)
class JudgedAnswers:
    """An arm's answers to the questions that are judged, and nothing of other questions."""

    items: pl.DataFrame
    """Rows of `gold_items`."""
    stand: pl.DataFrame
    """How the answers stand (`answers.standing`)."""
    parts: pl.DataFrame
    """Rows of `gold_parts`."""


def judged_answers(
    judged: Iterable[tuple[str, str]], gold_items: pl.DataFrame, gold_parts: pl.DataFrame, answers: pl.DataFrame
) -> JudgedAnswers:
    """Of the tables behind an arm, what belongs to the (user, item) `judged`; raises `BadAnswers` as `standing`."""
    asked = pl.DataFrame(list(judged), schema={"user_id": pl.String, "item": pl.String}, orient="row")
    items, parts, told = (rows.join(asked, on=ITEM, how="semi") for rows in (gold_items, gold_parts, answers))
    return JudgedAnswers(items, standing(items, told), parts)


def parts_shown(tasks: pl.DataFrame, agreed: pl.DataFrame, stand: pl.DataFrame) -> pl.DataFrame:
    """What the judge is shown (`judging.PARTS`) of the answers in `stand` (`answers.standing`, judged items alone)."""
    own = agreed.join(stand, on=ITEM, how="semi")
    return judge_parts(tasks.join(stand, on=ITEM, how="semi"), own, stand)


def verdict_rows(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Table `applog_verdicts` of what `RubricJudge.verdicts` gives."""
    table = APPLOG_BOARD_TABLES["applog_verdicts"]
    return verdicts.select(pl.col(name).cast(dtype) for name, dtype in table.schema.items()).sort(table.sort_by)


def judged_units(stand: pl.DataFrame, agreed: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """Table `applog_judged`: the units of the judged questions with the marks of their judge.

    What was not answered is wrong without a judge; what the judge failed on counts 0, and 1 in `score_bound`.
    """
    own = agreed.join(stand, on=ITEM, how="semi")
    return units(stand, own, verdicts, points_by_judge(own, verdicts))
