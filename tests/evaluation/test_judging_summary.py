"""The summary of verdicts: known scores, intervals over users, errors that stay in, and what is not calibrated."""

import polars as pl
import pytest
from judging_world import verdicts_of

from pipelines.evaluation.judging.calibration import calibrate, correct
from pipelines.evaluation.judging.labelling import LABELS
from pipelines.evaluation.judging.rubric import MixedJudges
from pipelines.evaluation.judging.summary import SUMMARY, summary

# Part scores 1, 0.9, 0.8, 0.2, 0 and an error; items: a (1, 0.9), b (0.8), c (0.2, 0, error).
ONE = verdicts_of(
    ("a", False, True, 2), ("a", False, True, 1), ("b", False, True, 0),
    ("c", False, False, 2), ("c", False, False, 0), ("c", False, None, None),
)  # fmt: skip


def found(verdicts: pl.DataFrame, *names: str, **options) -> list:
    row = summary(verdicts, **options).row(0, named=True)
    return [row[name] for name in names]


def test_scores_as_published_and_strict() -> None:
    assert found(ONE, "n_users", "n_items", "n_parts", "n_errors") == [1, 3, 6, 1]
    assert found(ONE, "coverage", "core") == pytest.approx([5 / 6, 0.5])
    assert found(ONE, "part_score", "part_score_bound") == pytest.approx([2.9 / 6, 3.9 / 6])
    assert found(ONE, "part_strict_score", "part_strict_score_bound") == pytest.approx([2.7 / 6, 3.7 / 6])
    items = (0.95 + 0.8 + 0.2 / 3) / 3
    assert found(ONE, "item_score", "item_score_bound") == pytest.approx([items, items + 1 / 9])
    assert found(ONE, "item_strict_score") == pytest.approx([(0.95 + 0.8 + 0.0) / 3])


def test_one_user_gives_no_interval_and_the_columns_are_declared() -> None:
    frame = summary(ONE)
    assert frame.schema == {name: column.dtype for name, column in SUMMARY.items()}
    row = frame.row(0, named=True)
    assert [name for name, value in row.items() if name.endswith(("_low", "_high")) and value is not None] == []
    assert (row["calibration"], row["corrected_core"], row["n_labelled"]) == ("uncalibrated", None, 0)


MANY = pl.concat(
    verdicts_of(
        *((f"i{n}", False, (user + n) % 3 > 0 if n < 3 + user else None, n % 3 if n < 3 + user else None)
          for n in range(4 + user % 3)), user=f"u{user}"
    )
    for user in range(8)
)  # fmt: skip


def test_micro_and_macro_means_and_their_intervals_over_users() -> None:
    core = pl.col("core_correct").fill_null(False)
    score = (0.8 * pl.col("core_correct") + 0.1 * pl.col("detail_quality")).fill_null(0.0)
    micro = MANY.select(score.mean()).item()
    macro = MANY.group_by("user_id").agg(score.mean().alias("s"))["s"].mean()
    assert found(MANY, "part_score", "user_item_score") == pytest.approx([micro, macro])
    assert micro != pytest.approx(macro)
    for name in ("part_score", "part_strict_score", "item_score", "item_strict_score", "user_item_score", "core"):
        value, low, high = found(MANY, name, f"{name}_low", f"{name}_high")
        assert 0 <= low < value < high <= 1
    assert found(MANY, "core") == pytest.approx([MANY.select(core.mean()).item()])


def test_neither_order_of_rows_nor_another_seed_changes_a_score() -> None:
    for seed in range(3):
        assert summary(MANY.sample(fraction=1, shuffle=True, seed=seed)).equals(summary(MANY))
    other = summary(MANY, seed=1)
    scores = [name for name in SUMMARY if not name.endswith(("_low", "_high"))]
    assert other.select(scores).equals(summary(MANY).select(scores)) and not other.equals(summary(MANY))


def test_a_calibrated_judge_has_a_corrected_core() -> None:
    verdicts = MANY.with_columns(core_correct=pl.when(pl.col("status") == "ok").then(pl.int_range(pl.len()) % 4 > 0))
    said = verdicts.filter(pl.col("status") == "ok").select(
        "content", ((pl.int_range(pl.len()) % 9 > 1) & pl.col("core_correct")).alias("label")
    )
    calibration = calibrate(verdicts, said.cast(dict(LABELS)), "core_correct")
    row = summary(verdicts, calibration).row(0, named=True)
    expected = correct(verdicts, calibration).corrected
    assert (row["calibration"], row["calibration_reason"], row["n_labelled"]) == ("calibrated", "", said.height)
    assert (row["corrected_core"], row["corrected_core_low"], row["corrected_core_high"]) == pytest.approx(
        (expected.value, expected.low, expected.high)
    )
    assert (row["tpr"], row["tnr"]) == pytest.approx((calibration.tpr.value, calibration.tnr.value))
    for name, share in (("tpr", calibration.tpr), ("tnr", calibration.tnr)):
        assert (row[f"{name}_low"], row[f"{name}_high"]) == pytest.approx((share.low, share.high))
    assert (row["kappa_low"], row["kappa_high"]) == pytest.approx((calibration.kappa_low, calibration.kappa_high))
    assert row["kappa"] == pytest.approx(calibration.kappa) and row["corrected_core"] < row["core"]
    with pytest.raises(MixedJudges):
        summary(verdicts.with_columns(judge=pl.lit("k")), calibration)


def test_a_refused_calibration_says_why() -> None:
    said = pl.DataFrame({"content": MANY["content"], "label": [True] * MANY.height}, schema=dict(LABELS))
    calibration = calibrate(MANY, said, "core_correct")
    status, reason, corrected = found(
        MANY, "calibration", "calibration_reason", "corrected_core", calibration=calibration
    )
    assert (status, corrected) == ("refused", None) and "TNR is not known" in reason


def test_nothing_judged_is_an_error() -> None:
    with pytest.raises(ValueError, match="nothing was judged"):
        summary(ONE.clear())
