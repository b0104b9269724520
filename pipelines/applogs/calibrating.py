"""Table `applog_calibration`: how far people bear out the judge of core and detail, and its shares corrected (ours)."""

from collections.abc import Sequence

import polars as pl

from pipelines.applogs.board import ARM
from pipelines.applogs.board_tables import APPLOG_BOARD_TABLES
from pipelines.evaluation.judging.calibration import calibrate_judge
from pipelines.evaluation.judging.core_detail import CORE
from pipelines.evaluation.judging.rubric import only_judge
from pipelines.evaluation.judging.summary import core_share, rounded

TABLE = APPLOG_BOARD_TABLES["applog_calibration"]
Arm = tuple[str, str, int]


def applog_calibration(
    arms: Sequence[Arm], questions: int, verdicts: pl.DataFrame, labels: pl.DataFrame, weak: bool, seed: int = 0
) -> pl.DataFrame:
    """One row of each of `arms` (method, reader, budget), none where nothing was judged.

    `verdicts` is `applog_verdicts` with the columns `ARM`, `questions` how many were sampled, `weak` whether a weak
    model judged. The judge is calibrated on what people labelled of all arms together; `labels` (`labelling.LABELS`)
    may hold labels of other answers. Raises `MixedJudges`.
    """
    if verdicts.is_empty():
        return TABLE.empty()
    known = calibrate_judge(only_judge(verdicts), verdicts, labels, CORE, seed)
    rows = []
    for arm in arms:
        own = dict(zip(ARM, arm, strict=True))
        mine = verdicts.filter(*(pl.col(name) == value for name, value in own.items()))
        stated = {**own, "weak": weak, "n_questions": questions}
        rows.append(rounded({**stated, **core_share(mine, known)}, TABLE.columns))
    return pl.concat(rows).sort(TABLE.sort_by)
