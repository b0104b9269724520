"""Calibration: textbook answers, refusals, and intervals that cover the truth as often as they say."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.evaluation.judging.agreement import kappa, kappa_interval, tables_by_user
from pipelines.evaluation.judging.calibration import (
    Calibration,
    Share,
    Z,
    calibrate,
    correct,
    rogan_gladen,
    share,
    student,
    wilson,
)
from pipelines.evaluation.judging.labelling import LABELS
from pipelines.evaluation.judging.rubric import MixedJudges
from pipelines.hashing import key64, mix64


def test_wilson_as_in_the_textbooks() -> None:
    assert wilson(0.8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert wilson(0.0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson(1.0, 10) == pytest.approx((0.7225, 1.0), abs=1e-4)


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.7062), (2, 4.3027), (3, 3.1824), (4, 2.7764), (5, 2.5706), (10, 2.2281), (30, 2.0423), (120, 1.9799)],
)
def test_student_as_in_the_tables(freedom: int, quantile: float) -> None:
    assert student(freedom) == pytest.approx(quantile, rel=0.0015)


def test_kappa_as_in_the_textbooks() -> None:
    tables = [
        (20, 5, 10, 15),
        (45, 15, 25, 15),
        (25, 35, 5, 35),
        (5, 0, 0, 5),
        (0, 5, 5, 0),
        (5, 0, 0, 0),
        (0, 0, 0, 0),
    ]
    found = kappa(np.array(tables, float).reshape(-1, 2, 2)).tolist()
    assert found[:5] == pytest.approx([0.4, 0.1304, 0.2593, 1, -1], abs=1e-4)
    assert all(map(math.isnan, found[5:])), "agreement by chance is certain, or nothing is labelled"


def test_kappa_of_three_labels_by_hand() -> None:
    # Rows a: 4 a, 1 b; b: 2 b, 1 c; c: 1 a, 3 c. Equal 9 of 12; by chance (5·5 + 3·3 + 4·4) / 144.
    said = ["aa"] * 4 + ["ab"] + ["bb"] * 2 + ["bc"] + ["ca"] + ["cc"] * 3
    pairs = pl.DataFrame(
        {
            "user_id": [f"u{n % 3}" for n in range(12)],
            "first": [one[0] for one in said],
            "second": [one[1] for one in said],
        }
    )
    by_user = tables_by_user(pairs.reverse(), "abc")
    assert by_user.shape == (3, 3, 3) and by_user.sum(axis=0).tolist() == [[4, 1, 0], [0, 2, 1], [1, 0, 3]]
    value, low, high = kappa_interval(by_user, 7)
    assert value == pytest.approx((9 / 12 - 50 / 144) / (1 - 50 / 144)) and low < value < high
    assert kappa_interval(by_user.sum(axis=0, keepdims=True), 7) == (pytest.approx(value), None, None)
    assert kappa_interval(tables_by_user(pairs.filter(first="b", second="b"), "abc"), 7) == (None, None, None)


def known(value: float, n: float) -> Share:
    return Share(value, 0.0, 1.0, n)


def test_rogan_gladen_worked_by_hand() -> None:
    corrected = rogan_gladen(known(0.3, 400), known(0.9, 50), known(0.8, 100))
    assert corrected.value == pytest.approx((0.3 + 0.8 - 1) / 0.7)
    # Lang & Reiczigel, equations 4, 6, 7, 16 and 17, step by step.
    p = (120 + 1.9207294) / 403.8414588
    se, sp = 46 / 52, 81 / 102
    theta = (p + sp - 1) / (se + sp - 1)
    shift = 2 * 3.8414588 * (theta * se * (1 - se) / 52 - (1 - theta) * sp * (1 - sp) / 102)
    variance = (p * (1 - p) / 403.8414588 + theta**2 * se * (1 - se) / 52 + (1 - theta) ** 2 * sp * (1 - sp) / 102) / (
        se + sp - 1
    ) ** 2
    assert corrected.low == pytest.approx(max(0.0, theta + shift - 1.9599640 * math.sqrt(variance)), abs=1e-6)
    assert corrected.high == pytest.approx(theta + shift + 1.9599640 * math.sqrt(variance), abs=1e-6)


def test_a_perfect_judge_changes_nothing_and_many_labels_narrow_to_the_raw_interval() -> None:
    raw = Share(0.3, *wilson(0.3, 500), 500)
    corrected = rogan_gladen(raw, known(1.0, 1e9), known(1.0, 1e9))
    assert corrected.value == pytest.approx(0.3) and (corrected.low, corrected.high) == pytest.approx(
        (raw.low, raw.high), abs=1e-3
    )


def test_estimates_out_of_range_are_drawn_to_its_ends() -> None:
    assert rogan_gladen(known(0.05, 400), known(0.9, 50), known(0.8, 100)).value == 0.0
    assert rogan_gladen(known(0.99, 400), known(0.9, 50), known(0.8, 100)).value == 1.0


@given(shares=st.tuples(*[st.floats(0, 1)] * 3), sizes=st.tuples(*[st.integers(1, 2_000)] * 3))
def test_a_corrected_share_lies_in_its_interval_within_zero_and_one(shares: Any, sizes: Any) -> None:
    (p, se, sp), (n, a, b) = shares, sizes
    if se + sp <= 1:
        with pytest.raises(ValueError, match="no more than chance"):
            rogan_gladen(known(p, n), known(se, a), known(sp, b))
        return
    corrected = rogan_gladen(known(p, n), known(se, a), known(sp, b))
    assert 0 <= corrected.low <= corrected.value <= corrected.high <= 1


def test_a_judge_that_may_be_guessing_leaves_everything_open() -> None:
    corrected = rogan_gladen(known(0.5, 1000), known(0.6, 10), known(0.6, 10))
    assert (corrected.low, corrected.high) == (0.0, 1.0)
    assert rogan_gladen(known(0.5, 1000), known(0.6, 1000), known(0.6, 1000)).low > 0


def test_users_are_the_unit_that_is_sampled() -> None:
    # 20 users with one answer each: as in a textbook, but for Student's t.
    alone = share(np.repeat([1.0, 0.0], [12, 8]), np.ones(20))
    assert alone is not None and alone.value == 0.6
    assert alone.n == pytest.approx(19 / 20 * 20 * (Z / student(19)) ** 2)
    # The same users with ten equal answers each are no more than 20 answers.
    equal = share(np.repeat([10.0, 0.0], [12, 8]), np.full(20, 10.0))
    assert (
        equal is not None and equal.n == pytest.approx(alone.n) and (equal.low, equal.high) == (alone.low, alone.high)
    )
    # Users that agree are never worth more than their answers.
    even = share(np.full(20, 6.0), np.full(20, 10.0))
    assert even is not None and even.n == pytest.approx(200 * (Z / student(19)) ** 2)
    assert share(np.array([3.0]), np.array([4.0])) == Share(0.75, 0.0, 1.0, 0.0)
    assert share(np.zeros(3), np.zeros(3)) is None


def verdicts(rows: list[tuple[str, bool | None]], judge: str = "j") -> pl.DataFrame:
    """(user, core) by answer; the content is the answer's number."""
    return pl.DataFrame(
        [
            {
                "judge": judge, "user_id": user, "item": f"i{n}", "part": "value", "content": f"c{n:05}",
                "status": "ok" if core is not None else "judge_error", "core_correct": core, "detail_quality": 1,
            }
            for n, (user, core) in enumerate(rows)
        ],
        schema_overrides={"core_correct": pl.Boolean},
    )  # fmt: skip


def labels(said: list[bool]) -> pl.DataFrame:
    rows = [{"content": f"c{n:05}", "label": label} for n, label in enumerate(said)]
    return pl.DataFrame(rows, schema=dict(LABELS))


def table(
    tp: int, fn: int, fp: int, tn: int, users: int = 10, unlabelled: int = 0
) -> tuple[pl.DataFrame, pl.DataFrame]:
    cells = [(True, True)] * tp + [(True, False)] * fn + [(False, True)] * fp + [(False, False)] * tn
    rows = [(f"u{n % users}", core) for n, (_, core) in enumerate(cells)]
    rows += [(f"u{n % users}", n % 4 > 0) for n in range(unlabelled)]
    return verdicts(rows), labels([label for label, _ in cells])


def test_calibration_of_a_known_table() -> None:
    judged, said = table(40, 10, 5, 45, unlabelled=100)
    found = calibrate(judged, said, "core_correct")
    assert (found.status, found.reason, found.judge, found.field) == ("calibrated", "", "j", "core_correct")
    assert (found.n_labelled, found.n_users, found.n_yes, found.n_errors) == (100, 10, 50, 0)
    assert found.tpr is not None and found.tnr is not None
    assert (found.tpr.value, found.tnr.value, found.kappa) == (0.8, 0.9, pytest.approx(0.7))
    assert found.kappa_low < 0.7 < found.kappa_high
    # Over all 200 answers: 45 + 75 of yes; (0.6 + 0.9 − 1) / 0.7.
    corrected = correct(judged, found)
    assert corrected.raw.value == 0.6 and corrected.n_parts == 200 and corrected.status == "calibrated"
    assert corrected.corrected is not None
    assert corrected.corrected.value == pytest.approx(0.5 / 0.7)
    assert corrected.corrected.low < 0.5 / 0.7 < corrected.corrected.high


def test_without_labels_nothing_is_corrected() -> None:
    judged, said = table(4, 1, 1, 4)
    found = calibrate(judged, said.clear(), "core_correct")
    assert found == Calibration("uncalibrated", "nothing is labelled", "j", "core_correct")
    corrected = correct(judged, found)
    assert (corrected.status, corrected.corrected, corrected.raw.value) == ("uncalibrated", None, 0.5)


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ((5, 5, 5, 5), "TPR 0.500 + TNR 0.500 is not above 1"),
        ((4, 6, 5, 5), "TPR 0.400 + TNR 0.500 is not above 1"),
        ((0, 0, 5, 5), "TPR is not known"),
        ((5, 5, 0, 0), "TNR is not known"),
    ],
)
def test_labels_that_allow_no_correction_are_refused_with_the_reason(cells: Any, reason: str) -> None:
    judged, said = table(*cells)
    found = calibrate(judged, said, "core_correct")
    assert found.status == "refused" and reason in found.reason
    corrected = correct(judged, found)
    assert (corrected.status, corrected.corrected) == ("refused", None) and reason in corrected.reason
    barely = calibrate(*table(6, 4, 5, 5), "core_correct")
    assert barely.status == "calibrated" and correct(table(6, 4, 5, 5)[0], barely).corrected.low == 0.0


def test_a_verdict_that_could_not_be_read_is_no_yes_anywhere() -> None:
    rows: list[tuple[str, bool | None]] = [
        (f"u{n % 5}", core) for n, core in enumerate([True] * 6 + [None] * 2 + [False] * 4)
    ]
    found = calibrate(verdicts(rows), labels([True] * 8 + [False] * 4), "core_correct")
    assert (found.n_errors, found.tpr.value, found.tnr.value) == (2, 0.75, 1.0)
    corrected = correct(verdicts(rows), found)
    assert (corrected.raw.value, corrected.n_errors) == (0.5, 2)
    assert corrected.corrected.value == pytest.approx(8 / 12)


def test_one_user_gives_no_interval() -> None:
    found = calibrate(*table(40, 10, 5, 45, users=1), "core_correct")
    assert (found.kappa, found.kappa_low) == (pytest.approx(0.7), None)
    assert (found.tpr.low, found.tpr.high) == (0.0, 1.0)
    corrected = correct(table(40, 10, 5, 45, users=1)[0], found).corrected
    assert (corrected.low, corrected.high) == (0.0, 1.0)


def test_a_content_counts_once_however_many_systems_gave_it() -> None:
    judged, said = table(40, 10, 5, 45)
    again = judged.with_columns(item=pl.lit("other ") + pl.col("item"), user_id=pl.lit("z") + pl.col("user_id"))
    assert calibrate(pl.concat([again, judged]), said, "core_correct") == calibrate(judged, said, "core_correct")


def test_an_error_on_a_content_does_not_hide_the_verdict_that_another_system_has_on_it() -> None:
    judged, said = table(4, 1, 1, 4)
    failed = judged.with_columns(pl.lit("judge_error").alias("status"), pl.lit(None, pl.Boolean).alias("core_correct"))
    alone = calibrate(judged, said, "core_correct")
    for arms in ([judged, failed], [failed, judged]):
        assert calibrate(pl.concat(arms), said, "core_correct") == alone
        assert calibrate(pl.concat(arms).sample(fraction=1, shuffle=True, seed=1), said, "core_correct") == alone


def test_order_of_rows_changes_nothing() -> None:
    judged, said = table(40, 10, 5, 45, unlabelled=31)
    expected = calibrate(judged, said, "core_correct")
    for seed in range(3):
        mixed = judged.sample(fraction=1, shuffle=True, seed=seed), said.sample(fraction=1, shuffle=True, seed=seed)
        assert calibrate(*mixed, "core_correct") == expected
        assert correct(mixed[0], expected) == correct(judged, expected)


def test_what_does_not_belong_together_is_refused() -> None:
    judged, said = table(4, 1, 1, 4)
    found = calibrate(judged, said, "core_correct")
    with pytest.raises(MixedJudges, match="another judge than the calibrated one"):
        correct(judged.with_columns(judge=pl.lit("k")), found)
    with pytest.raises(MixedJudges, match="verdicts of 2 judges"):
        calibrate(pl.concat([judged, judged.with_columns(judge=pl.lit("k"))]), said, "core_correct")
    with pytest.raises(ValueError, match="2 labelled answers have no verdict"):
        calibrate(judged.tail(8), said, "core_correct")
    with pytest.raises(ValueError, match="detail_quality is no yes or no"):
        calibrate(judged, said, "detail_quality")


def uniform(name: str, *shape: int) -> np.ndarray:
    """Keyed draws from [0, 1)."""
    grid = np.indices(shape, dtype=np.uint64)
    return mix64(key64(name, "simulation"), *grid).astype(np.float64) / 2.0**64


@pytest.mark.parametrize(
    ("truth", "tpr", "tnr"), [(0.6, 0.9, 0.8), (0.1, 0.85, 0.95), (0.9, 0.75, 0.7), (0.4, 0.99, 0.97)]
)
def test_the_interval_covers_the_truth_as_often_as_it_says(truth: float, tpr: float, tnr: float) -> None:
    worlds, n, labelled = 1500, 400, 60
    right = uniform(f"truth {truth}", worlds, n) < truth
    said = np.where(right, uniform("yes", worlds, n) < tpr, uniform("no", worlds, n) >= tnr)
    known_right = uniform("se", worlds, labelled) < tpr
    known_wrong = uniform("sp", worlds, labelled) < tnr
    covered, raw_covered, width = 0, 0, 0.0
    for world in range(worlds):
        raw = Share(said[world].mean(), *wilson(said[world].mean(), n), n)
        found = rogan_gladen(
            raw, known(known_right[world].mean(), labelled), known(known_wrong[world].mean(), labelled)
        )
        covered += found.low <= truth <= found.high
        raw_covered += raw.low <= truth <= raw.high
        width += (found.high - found.low) / worlds
    assert 0.935 <= covered / worlds <= 0.995
    # The correction is needed, and its interval says something.
    assert (raw_covered / worlds < 0.9 or (tpr, tnr) == (0.99, 0.97)) and width < 0.45


def test_the_interval_covers_when_answers_of_a_user_resemble_each_other() -> None:
    """Whole way from verdicts and labels, 30 users of unlike skill, 20 answers each, 150 of them labelled."""
    worlds, users, each = 200, 30, 20
    skill = np.where(uniform("skill", worlds, users) < 0.5, 0.3, 0.9)
    right = uniform("right", worlds, users, each) < skill[:, :, None]
    said = np.where(right, uniform("tp", worlds, users, each) < 0.9, uniform("fp", worlds, users, each) < 0.2)
    drawn = np.argsort(uniform("slice", worlds, users * each), axis=1)[:, :150]
    covered = naive = 0
    for world in range(worlds):
        flat, truth = said[world].ravel(), right[world].ravel()
        judged = pl.DataFrame(
            {
                "judge": "j", "user_id": [f"u{n // each:02}" for n in range(users * each)],
                "item": [f"i{n}" for n in range(users * each)], "part": "value",
                "content": [f"c{n}" for n in range(users * each)], "status": "ok", "core_correct": flat,
            }
        )  # fmt: skip
        slice_ = pl.DataFrame(
            {"content": [f"c{n}" for n in drawn[world]], "label": truth[drawn[world]]}, schema=dict(LABELS)
        )
        found = correct(judged, calibrate(judged, slice_, "core_correct")).corrected
        covered += found.low <= 0.6 <= found.high
        p = flat.mean()
        by_answers = rogan_gladen(known(p, users * each), known(0.9, 1e9), known(0.8, 1e9))
        naive += by_answers.low <= 0.6 <= by_answers.high
    assert covered / worlds >= 0.93
    # Counting answers as if they were independent would promise too much.
    assert naive / worlds < 0.85
