"""`verdict_summary`: what the verdicts on every memory of an experiment come to (ours)."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from pipelines.evaluation.judging.calibration import Calibration, calibrate_judge
from pipelines.evaluation.judging.core_detail import CORE
from pipelines.evaluation.judging.grounded import as_core_detail
from pipelines.evaluation.judging.summary import core_share, rounded, summary
from pipelines.evaluation.judging.tables import JUDGING_TABLES, SUMMARY

TABLE = JUDGING_TABLES["verdict_summary"]


@dataclass(frozen=True)
class Judged:
    """One arm under one judge."""

    method: str
    reader: str
    budget: int
    rubric: str
    judge: str
    """Fingerprint of the judge."""
    model: str
    weak: bool
    evidence_tokens: int
    n_readouts: int
    """Readouts sampled."""
    verdicts: pl.DataFrame
    """Table `verdicts` of this judge; no rows when the memory says nothing."""


def verdict_summary(judged: Sequence[Judged], labels: pl.DataFrame, seed: int = 0) -> pl.DataFrame:
    """Table `verdict_summary`. `labels` (`labelling.LABELS`) may hold labels of other answers, which are not looked at.

    A judge is calibrated on what people labelled of all arms together.
    """
    scored = {one.judge: _scored([arm for arm in judged if arm.judge == one.judge]) for one in judged}
    known = {judge: calibrate_judge(judge, verdicts, labels, CORE, seed) for judge, verdicts in scored.items()}
    rows = [_row(one, known[one.judge], seed) for one in judged]
    frame = pl.concat(rows) if rows else TABLE.empty()
    return frame.sort(TABLE.sort_by)


def _scored(arms: Sequence[Judged]) -> pl.DataFrame:
    return as_core_detail(pl.concat(_items(arm) for arm in arms))


def _items(arm: Judged) -> pl.DataFrame:
    """The verdicts with the columns that scores are made from."""
    item = pl.format("{}/{}", "user_id", "transition_index")
    return arm.verdicts.with_columns(item.alias("item"), pl.lit(False).alias("gate"))


def _row(arm: Judged, calibration: Calibration, seed: int) -> pl.DataFrame:
    own = {name: getattr(arm, name) for name in TABLE.columns if name not in SUMMARY}
    verdicts = as_core_detail(_items(arm))
    if verdicts.is_empty():
        # A memory that says nothing has no line, so no share.
        return rounded({**own, **core_share(verdicts, calibration)}, TABLE.columns)
    return pl.DataFrame([own | summary(verdicts, calibration, seed).row(0, named=True)], schema=TABLE.schema)
