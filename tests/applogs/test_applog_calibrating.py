"""How far people bear out the judge of core and detail, counted by hand, and each method's share corrected by it."""

import polars as pl
import pytest

from pipelines.applogs.calibrating import TABLE, applog_calibration
from pipelines.evaluation.judging.labelling import LABELS
from pipelines.evaluation.judging.rubric import MixedJudges
from pipelines.schema import TABLES

SAID = {
    ("recent_k", "llm", 600): (True, True, True, True, True, True, False, False),
    ("routine", "rule", 0): (True, True, False, False, False, False, False, None),
}
"""Cores of the parts of two arms, an error where None; a content is named by arm and place."""
ARMS = [*SAID, ("silent", "llm", 600)]


def verdicts(users: int = 4, judge: str = "j") -> pl.DataFrame:
    rows = [
        {
            **dict(zip(("method", "reader", "budget"), arm, strict=True)),
            "judge": judge, "user_id": f"u{place // 2 % users}", "item": f"i{place // 2}", "part": f"p{place}",
            "content": f"{arm[0]} {place}", "status": "judge_error" if core is None else "ok", "core_correct": core,
        }
        for arm, cores in SAID.items()
        for place, core in enumerate(cores)
    ]  # fmt: skip
    arm = {"method": pl.String, "reader": pl.String, "budget": pl.Int32}
    schema = {**arm, **{name: TABLES["applog_verdicts"].schema[name] for name in rows[0] if name not in arm}}
    return pl.DataFrame(rows, schema=schema)


def labels(**said: bool) -> pl.DataFrame:
    """Labels by arm and place, as `recent_k_0=True`."""
    rows = sorted((" ".join(name.rsplit("_", 1)), label) for name, label in said.items())
    return pl.DataFrame(rows, schema=dict(LABELS), orient="row")


YES = dict.fromkeys(("recent_k_0", "recent_k_1", "recent_k_2", "routine_0", "recent_k_6"), True)
NO = dict.fromkeys(("recent_k_3", "recent_k_7", "routine_2", "routine_3", "routine_7"), False)


def rows_of(found: pl.DataFrame, *names: str) -> dict[str, tuple[object, ...]]:
    return {method: row for method, *row in found.select("method", *names).rows()}


def test_rates_and_corrected_shares_are_those_counted_by_hand() -> None:
    found = applog_calibration(ARMS, 9, verdicts(), labels(**YES, **NO, elsewhere_0=True), weak=True)
    assert found.schema == TABLE.schema and found["method"].to_list() == ["recent_k", "routine", "silent"]
    # People say yes of five, of which the judge finds four; of five noes it calls four so, one by an error.
    told = found.select("judge", "weak", "n_questions", "calibration", "n_labelled", "tpr", "tnr", "kappa").unique()
    assert told.rows() == [("j", True, 9, "calibrated", 10, 0.8, 0.8, 0.6)]
    for name in ("tpr", "tnr", "kappa"):
        low, value, high = (found[f"{name}{end}"][0] for end in ("_low", "", "_high"))
        assert low < value < high <= 1
    assert rows_of(found, "n_users", "n_items", "n_parts", "n_errors", "coverage", "core") == {
        "recent_k": [4, 4, 8, 0, 1.0, 0.75],
        "routine": [4, 4, 8, 1, 0.875, 0.25],
        "silent": [0, 0, 0, 0, None, None],
    }
    # (share + 0.8 − 1) / (0.8 + 0.8 − 1)
    corrected = rows_of(found, "corrected_core")
    assert corrected["recent_k"] + corrected["routine"] == pytest.approx([0.55 / 0.6, 0.05 / 0.6])
    assert corrected["silent"] == [None]
    for row in found.head(2).to_dicts():
        assert row["core_low"] < row["core"] < row["core_high"]
        assert row["corrected_core_low"] < row["corrected_core"] < row["corrected_core_high"]


def test_without_labels_of_these_answers_every_row_says_uncalibrated() -> None:
    for given in (labels(), labels(elsewhere_0=True)):
        found = applog_calibration(ARMS, 9, verdicts(), given, weak=False)
        told = found.select("calibration", "calibration_reason", "n_labelled", "tpr", "kappa", "corrected_core")
        assert told.unique().rows() == [("uncalibrated", "nothing is labelled", 0, None, None, None)]
        assert found["core"].to_list() == [0.75, 0.25, None]


def test_labels_that_allow_no_correction_say_why() -> None:
    found = applog_calibration(ARMS, 9, verdicts(), labels(**YES), weak=False)
    assert found["calibration"].unique().to_list() == ["refused"] and found["n_labelled"][0] == 5
    assert "TNR is not known" in found["calibration_reason"][0]
    assert found["corrected_core"].null_count() == 3 and (found["tpr"][0], found["tnr"][0]) == (0.8, None)


def test_one_user_has_shares_without_intervals() -> None:
    found = applog_calibration(ARMS, 9, verdicts(users=1), labels(**YES, **NO), weak=False)
    ends = [name for name in found.columns if name.endswith(("_low", "_high"))]
    assert found.select(ends).null_count().row(0) == (3,) * len(ends)
    assert found["tpr"][0] == 0.8 and found["corrected_core"][0] == pytest.approx(0.55 / 0.6)


def test_neither_order_of_rows_nor_of_arms_changes_a_number() -> None:
    found = applog_calibration(ARMS, 9, verdicts(), labels(**YES, **NO), weak=False, seed=3)
    for seed in range(3):
        mixed = verdicts().sample(fraction=1, shuffle=True, seed=seed)
        assert applog_calibration(ARMS[::-1], 9, mixed, labels(**NO, **YES), weak=False, seed=3).equals(found)


def test_nothing_judged_is_no_row_and_two_judges_are_an_error() -> None:
    assert applog_calibration(ARMS, 9, TABLES["applog_verdicts"].empty(), labels(), weak=False).is_empty()
    with pytest.raises(MixedJudges):
        applog_calibration(ARMS, 9, pl.concat([verdicts(), verdicts(judge="k")]), labels(), weak=False)
