"""How far a judge can be believed, and what its score would be without its errors.

On a slice that people labelled: how often the judge says yes where they do (TPR) and no
where they do (TNR), and Cohen's kappa. The judge's share of yes is then corrected by
Rogan & Gladen (1978); the interval is that of Lang & Reiczigel (2014), which carries
the uncertainty of share, TPR and TNR alike. Users are the units that are sampled: every
share counts with its effective size (Kish's design effect, Korn & Graubard's degrees of
freedom; ours in this place). A verdict that could not be read counts as no, on both
sides alike, so that nothing leaves a denominator.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np
import polars as pl

from pipelines.evaluation.intervals import LEVEL
from pipelines.evaluation.judging.agreement import kappa_interval
from pipelines.evaluation.judging.rubric import MixedJudges, only_judge

Z = NormalDist().inv_cdf((1 + LEVEL) / 2)
Status = Literal["calibrated", "refused", "uncalibrated"]


@dataclass(frozen=True)
class Share:
    """A share with its 95 % interval; `n` is its effective size."""

    value: float
    low: float
    high: float
    n: float


@dataclass(frozen=True)
class Calibration:
    """What people's labels say of one judge's verdicts on one field.

    `uncalibrated`: nothing was labelled. `refused`: the labels allow no correction, `reason` says why; rates are given
    where they are defined. Kappa's interval is a bootstrap over users; both are None where undefined or with one user.
    """

    status: Status
    reason: str
    judge: str
    field: str
    n_labelled: int = 0
    n_users: int = 0
    n_yes: int = 0
    """Parts that people call right."""
    n_errors: int = 0
    """Labelled parts whose verdict could not be read."""
    tpr: Share | None = None
    tnr: Share | None = None
    kappa: float | None = None
    kappa_low: float | None = None
    kappa_high: float | None = None


@dataclass(frozen=True)
class Corrected:
    """A judge's share of yes over parts, as it is and corrected; `corrected` is None unless the judge is calibrated."""

    status: Status
    reason: str
    n_parts: int
    n_errors: int
    raw: Share
    corrected: Share | None = None


def calibrate(verdicts: pl.DataFrame, labels: pl.DataFrame, field: str, seed: int = 0) -> Calibration:
    """Hold the verdicts on `field` (a yes or no) against the labels (`labelling.LABELS`).

    A content that several systems gave counts once, for the first of its users, as a verdict where one of them has one.
    Labels of contents that have no verdict raise `ValueError`, because a slice that the judge picks from is none; so
    does a field that is no yes or no.
    Raises `MixedJudges`.
    """
    judge = only_judge(verdicts)
    if verdicts.schema.get(field) != pl.Boolean:
        raise ValueError(f"{field} is no yes or no of these verdicts; calibrate a field of kind bool")
    if labels.is_empty():
        return Calibration("uncalibrated", "nothing is labelled", judge, field)
    # Arms may give one content, and a judge may have erred in one of them: a verdict stands before an error.
    order = verdicts.sort("user_id", "item", "part", pl.col("status") != "ok", field)
    once = order.unique("content", keep="first", maintain_order=True)
    both = labels.join(once.select("content", "user_id", "status", field), on="content", how="left")
    if lost := both["user_id"].null_count():
        raise ValueError(f"{lost} labelled answers have no verdict; judge them too, with the same judge")
    cells = _cells(both, field)
    tp, fn, fp, tn = (cells[name].to_numpy().astype(np.float64) for name in ("tp", "fn", "fp", "tn"))
    tpr, tnr = share(tp, tp + fn), share(tn, tn + fp)
    agreed, low, high = kappa_interval(np.column_stack([tp, fn, fp, tn]).reshape(-1, 2, 2), seed)
    reason = _refusal(tpr, tnr)
    return Calibration(
        "refused" if reason else "calibrated",
        reason,
        judge,
        field,
        n_labelled=both.height,
        n_users=cells.height,
        n_yes=int(both["label"].sum()),
        n_errors=int((both["status"] != "ok").sum()),
        tpr=tpr,
        tnr=tnr,
        kappa=agreed,
        kappa_low=low,
        kappa_high=high,
    )


def calibrate_judge(judge: str, verdicts: pl.DataFrame, labels: pl.DataFrame, field: str, seed: int = 0) -> Calibration:
    """As `calibrate`, of all verdicts of a judge; labels of other answers are not looked at, and there may be none."""
    mine = labels.join(verdicts.select("content").unique(), on="content", how="semi").sort("content")
    if mine.is_empty():
        return Calibration("uncalibrated", "nothing is labelled", judge, field)
    return calibrate(verdicts, mine, field, seed)


def correct(verdicts: pl.DataFrame, calibration: Calibration) -> Corrected:
    """The judge's share of yes over all of `verdicts`, and corrected by its calibration.

    Raises `MixedJudges` when the verdicts are of another judge than the calibrated one, `ValueError` on no verdicts.
    """
    if only_judge(verdicts) != calibration.judge:
        raise MixedJudges("the verdicts are of another judge than the calibrated one; label and calibrate this judge")
    yes = pl.col(calibration.field).fill_null(False)
    users = verdicts.group_by("user_id").agg(yes.sum().alias("yes"), pl.len().alias("n")).sort("user_id")
    raw = share(users["yes"].to_numpy().astype(np.float64), users["n"].to_numpy().astype(np.float64))
    assert raw is not None
    told = (calibration.status, calibration.reason, verdicts.height, int((verdicts["status"] != "ok").sum()), raw)
    if calibration.status != "calibrated" or calibration.tpr is None or calibration.tnr is None:
        return Corrected(*told)
    return Corrected(*told, rogan_gladen(raw, calibration.tpr, calibration.tnr))


def share(hits: "np.typing.NDArray[np.float64]", asked: "np.typing.NDArray[np.float64]") -> Share | None:
    """Ratio of sums over users with Wilson's interval at its effective size; None where nothing was asked.

    The effective size is n / design effect (never more than n), less for few users: n · (z / t)², t with one degree of
    freedom less than there are users. One user gives the interval from 0 to 1.
    """
    hits, asked = hits[asked > 0], asked[asked > 0]
    n, users = float(asked.sum()), len(asked)
    if users == 0:
        return None
    value = float(hits.sum()) / n
    if users == 1:
        return Share(value, 0.0, 1.0, 0.0)
    binomial = value * (1 - value) / n
    clustered = users / (users - 1) * float(np.square(hits - value * asked).sum()) / n**2
    effect = max(1.0, clustered / binomial) if binomial > 0 else 1.0
    size = n / effect * (Z / student(users - 1)) ** 2
    low, high = wilson(value, size)
    return Share(value, low, high, size)


def wilson(value: float, n: float) -> tuple[float, float]:
    """Wilson's score interval (1927) of a share of `n`, which need not be whole."""
    centre = (value + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * math.sqrt(value * (1 - value) / n + Z**2 / (4 * n**2))
    return max(0.0, min(centre - half, value)), min(1.0, max(centre + half, value))


def student(freedom: int) -> float:
    """Quantile of Student's t at (1 + `LEVEL`) / 2: exact for one and two degrees, else by Cornish and Fisher."""
    p = (1 + LEVEL) / 2
    if freedom == 1:
        return math.tan(math.pi * (p - 0.5))
    if freedom == 2:
        return (2 * p - 1) * math.sqrt(2 / (4 * p * (1 - p)))
    z, v = Z, float(freedom)
    terms = (
        (z**3 + z) / 4 / v,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96 / v**2,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384 / v**3,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160 / v**4,
    )
    return z + sum(terms)


def rogan_gladen(raw: Share, tpr: Share, tnr: Share) -> Share:
    """(p + TNR − 1) / (TPR + TNR − 1), within [0, 1], with Lang & Reiczigel's interval.

    The interval is all of [0, 1] when the judge cannot be told from one that guesses, or when a size is unknown (one
    user). Raises `ValueError` when TPR + TNR ≤ 1.
    """
    youden = tpr.value + tnr.value - 1
    if youden <= 0:
        raise ValueError("TPR + TNR is not above 1: the judge says no more than chance, and nothing can be corrected")
    value = min(1.0, max(0.0, (raw.value + tnr.value - 1) / youden))
    if not (raw.n and tpr.n and tnr.n):
        return Share(value, 0.0, 1.0, 0.0)
    # Agresti and Coull's additions: z² trials to the share, two to each rate, half of them yes.
    n, n_tpr, n_tnr = raw.n + Z**2, tpr.n + 2, tnr.n + 2
    p = (raw.n * raw.value + Z**2 / 2) / n
    se, sp = (tpr.n * tpr.value + 1) / n_tpr, (tnr.n * tnr.value + 1) / n_tnr
    of_se, of_sp = se * (1 - se) / n_tpr, sp * (1 - sp) / n_tnr
    if se + sp - 1 <= Z * math.sqrt(of_se + of_sp):
        return Share(value, 0.0, 1.0, raw.n)
    centre = (p + sp - 1) / (se + sp - 1)
    shift = 2 * Z**2 * (centre * of_se - (1 - centre) * of_sp)
    half = Z / (se + sp - 1) * math.sqrt(p * (1 - p) / n + centre**2 * of_se + (1 - centre) ** 2 * of_sp)
    low, high = max(0.0, centre + shift - half), min(1.0, centre + shift + half)
    return Share(value, min(low, value), max(high, value), raw.n)


def _cells(both: pl.DataFrame, field: str) -> pl.DataFrame:
    """Counts by user of the two-by-two table: label × verdict."""
    label, verdict = pl.col("label"), pl.col(field).fill_null(False)
    return (
        both.group_by("user_id")
        .agg(
            (label & verdict).sum().alias("tp"),
            (label & ~verdict).sum().alias("fn"),
            (~label & verdict).sum().alias("fp"),
            (~label & ~verdict).sum().alias("tn"),
        )
        .sort("user_id")
    )


def _refusal(tpr: Share | None, tnr: Share | None) -> str:
    if tpr is None:
        return "no labelled answer is right, so TPR is not known; label more"
    if tnr is None:
        return "no labelled answer is wrong, so TNR is not known; label more"
    if tpr.value + tnr.value <= 1:
        return f"TPR {tpr.value:.3f} + TNR {tnr.value:.3f} is not above 1: the judge says no more than chance"
    return ""
