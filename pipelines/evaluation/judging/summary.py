"""What a judge's verdicts come to: scores with intervals over users, coverage, and the corrected share (ours)."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from pipelines.evaluation import intervals
from pipelines.evaluation.judging.calibration import Calibration, Share, correct
from pipelines.evaluation.judging.core_detail import CORE, item_scores, part_scores
from pipelines.evaluation.judging.rubric import only_judge
from pipelines.evaluation.judging.tables import SUMMARY
from pipelines.rounding import published
from pipelines.tables import Column


def summary(verdicts: pl.DataFrame, calibration: Calibration | None = None, seed: int = 0) -> pl.DataFrame:
    """One row, columns `SUMMARY`, of the verdicts of one judge on one system's answers.

    Without a calibration the row says `uncalibrated`. Raises `MixedJudges`, also for a calibration of another judge;
    `ValueError` on no verdicts.
    """
    if verdicts.is_empty():
        raise ValueError("no verdicts: nothing was judged")
    known = calibration or Calibration("uncalibrated", "nothing is labelled", only_judge(verdicts), CORE)
    return rounded({**core_share(verdicts, known), **_scores(verdicts, seed)}, SUMMARY)


def core_share(verdicts: pl.DataFrame, calibration: Calibration) -> dict[str, object]:
    """Columns `CALIBRATED`: parts counted, the share with a right core, what is known of the judge, and corrected.

    Of no verdicts the judge alone is known. Raises `MixedJudges` for a calibration of another judge.
    """
    n_errors = int((verdicts["status"] != "ok").sum())
    found = correct(verdicts, calibration) if verdicts.height else None
    return {
        "judge": calibration.judge,
        "n_users": verdicts["user_id"].n_unique(),
        "n_items": verdicts["item"].n_unique(),
        "n_parts": verdicts.height,
        "n_errors": n_errors,
        "coverage": 1 - n_errors / verdicts.height if verdicts.height else None,
        **_of("core", found.raw if found else None),
        "calibration": calibration.status,
        "calibration_reason": calibration.reason,
        "n_labelled": calibration.n_labelled,
        **_of("tpr", calibration.tpr),
        **_of("tnr", calibration.tnr),
        **{name: getattr(calibration, name) for name in ("kappa", "kappa_low", "kappa_high")},
        **_of("corrected_core", found.corrected if found else None),
    }


def rounded(row: Mapping[str, object], columns: Mapping[str, Column]) -> pl.DataFrame:
    """One row of a table of judging, as it is published."""
    return published(pl.DataFrame([row], schema={name: column.dtype for name, column in columns.items()}))


def _scores(verdicts: pl.DataFrame, seed: int) -> dict[str, float]:
    parts = part_scores(verdicts).select(
        "user_id",
        *(pl.col(name).fill_null(0.0).alias(f"part_{name}") for name in ("score", "strict_score")),
        *(pl.col(name).fill_null(1.0).alias(f"part_{name}_bound") for name in ("score", "strict_score")),
    )
    items = item_scores(verdicts).select(
        "user_id",
        *(pl.col(name).alias(f"item_{name}") for name in ("score", "strict_score")),
        *(pl.col(f"{name}_high").alias(f"item_{name}_bound") for name in ("score", "strict_score")),
    )
    values: dict[str, float] = {}
    for frame in (parts, items):
        names = frame.columns[1:]
        # Sorted before adding: a sum of floats must not depend on the order of rows.
        sums = frame.group_by("user_id").agg(pl.col(names).sort().sum(), pl.len().alias("n")).sort("user_id")
        numerators = sums.select(names).to_numpy()
        denominators = np.repeat(sums["n"].to_numpy().astype(np.float64)[:, None], len(names), axis=1)
        micro, macro = intervals.bootstrap(numerators, denominators, seed)
        for place, name in enumerate(names):
            values[name] = float(micro.value[place])
            values |= {f"{name}_low": float(micro.low[place]), f"{name}_high": float(micro.high[place])}
            if name.startswith("item_score"):
                values[f"user_{name}"] = float(macro.value[place])
                values |= {f"user_{name}_low": float(macro.low[place]), f"user_{name}_high": float(macro.high[place])}
    return {name: value for name, value in values.items() if name in SUMMARY}


def _of(name: str, share: Share | None) -> dict[str, float | None]:
    """A share and its interval, which is none with one user."""
    if share is None:
        return {name: None, f"{name}_low": None, f"{name}_high": None}
    low, high = (share.low, share.high) if share.n > 0 else (None, None)
    return {name: share.value, f"{name}_low": low, f"{name}_high": high}
