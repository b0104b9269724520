"""Invariants of what an app-log board is made of: verdicts, judged units, board, differences, and more beside."""

from collections.abc import Callable
from typing import Any

import polars as pl

from expectations.invariants.judging import summed_up
from expectations.invariants.rules import Frames, among, lacking, never, not_checked, ordered
from pipelines.applogs.tables import UNIT_STATUSES
from pipelines.evaluation.judging.core_detail import CORE
from pipelines.findings import Finding

_ITEM = ["user_id", "item"]
_HAIR = 1e-6
"""Published numbers are rounded to nine digits."""


def applog_verdicts(frames: Frames, settings: Any) -> list[Finding]:
    """A mark exactly where the judge gave one; one judge; companion `gold_items`: of questions that have an answer."""
    frame = frames["applog_verdicts"]
    ok = pl.col("status") == "ok"
    findings = [
        ordered("applog_verdicts", frame),
        never("marked", "core and detail exactly where the status is ok", frame,
              (pl.col("core_correct").is_null() == ok) | (pl.col("detail_quality").is_null() == ok)),
        never("reason", "a reason exactly where the judge erred", frame, (pl.col("reason") == "") != ok),
        never("one_judge", "one judge marks an arm", frame, pl.col("judge").n_unique() > 1),
    ]  # fmt: skip
    if missing := lacking(frames, "gold_items"):
        return [*findings, not_checked("of_a_question", *missing)]
    return [*findings, among("of_a_question", "every verdict is on a question", frame, frames["gold_items"], _ITEM)]


def applog_failures(frames: Frames, settings: Any) -> list[Finding]:
    """A label exactly where the judge gave one; companion `applog_units`: on answers that are wrong by rule."""
    frame = frames["applog_failures"]
    status, shown = pl.col("status"), pl.col("content") != ""
    findings = [
        ordered("applog_failures", frame),
        never("labelled", "a label exactly where the status is ok", frame,
              pl.col("label").is_null() == (status == "ok")),
        never("reason", "a reason exactly where the judge erred", frame,
              (pl.col("reason") != "") != (status == "judge_error")),
        never("shown", "the judge was shown something exactly where a text was delivered", frame,
              shown == (status == "untold")),
        never("one_judge", "one judge labels an arm", frame, pl.col("judge").n_unique() > 1),
    ]  # fmt: skip
    if missing := lacking(frames, "applog_units"):
        return [*findings, not_checked("of_a_wrong_answer", *missing)]
    answered = pl.col("status").cast(pl.String).is_in(["ok", "abstained"])
    value = pl.col("expectation").cast(pl.String) == "value"
    wrong = frames["applog_units"].filter(answered & value & (pl.col("mechanical") < 1))
    text = "every label is on an answer that is wrong by rule"
    return [*findings, among("of_a_wrong_answer", text, frame, wrong, _ITEM)]


def applog_judged(frames: Frames, settings: Any) -> list[Finding]:
    """Scores of one judge in order of strictness; companion `applog_units`: of the same questions, answered alike."""
    frame = frames["applog_judged"]
    score, bound = pl.col("score"), pl.col("score_bound")
    findings = [
        ordered("applog_judged", frame),
        never("strict", "strict is never above published, nor above what it were without errors", frame,
              (score > pl.col("compat_score") + _HAIR) | (score > bound + _HAIR)),
        never("no_error", "without an error of the judge the bound is the score", frame,
              (pl.col("n_judge_errors") == 0) & ((bound - score).abs() > _HAIR)),
    ]  # fmt: skip
    if missing := lacking(frames, "applog_units"):
        return [*findings, not_checked("of_units", *missing)]
    key = [*_ITEM, "status"]
    return [*findings, among("of_units", "a judged question stands as its unit does", frame, frames["applog_units"],
                             key)]  # fmt: skip


def applog_board(frames: Frames, settings: Any) -> list[Finding]:
    """Numbers within their intervals and counts; companion `applog_units`: questions of every arm counted again."""
    frame = frames["applog_board"]
    total = pl.sum_horizontal(f"n_{status}" for status in UNIT_STATUSES)
    coverage = (pl.col("n_ok") + pl.col("n_abstained")) / pl.col("n_items")
    value, low, high = pl.col("value"), pl.col("low"), pl.col("high")
    findings = [
        ordered("applog_board", frame),
        never("counted", "every question has one status", frame, total != pl.col("n_items")),
        never("coverage", "coverage is answered or abstained of all", frame,
              (pl.col("coverage") - coverage).abs() > _HAIR),
        never("ends", "the two ends of an interval are known together", frame, low.is_null() != high.is_null()),
        never("interval", "a value lies in its interval", frame, (value < low - _HAIR) | (value > high + _HAIR),
              "warning"),
        never("not_run", "where a checkpoint was not run there is no value", frame,
              (pl.col("n_not_run") > 0) & value.is_not_null()),
    ]  # fmt: skip
    if missing := lacking(frames, "applog_units"):
        return [*findings, not_checked("every_question", *missing)]
    arm = ["method", "reader", "budget", "task", "expectation"]
    whole = frame.filter(
        (pl.col("metric").cast(pl.String) == "mechanical")
        & (pl.col("place") == 0)
        & (pl.col("family").cast(pl.String) == "all")
    )
    asked = frames["applog_units"].group_by(arm).agg(pl.len().alias("n_items"))
    names = [*arm, "n_items"]
    text = "the board counts every question of every arm"
    plain = [pl.col(name).cast(pl.String) for name in names]
    return [*findings, among("every_question", text, asked.select(plain), whole.select(plain).unique(), names)]


def applog_differences(frames: Frames, settings: Any) -> list[Finding]:
    """Each pair once, in the order of names; Holm never below p."""
    frame = frames["applog_differences"]
    return [
        ordered("applog_differences", frame),
        never("once", "a pair stands once, its first method first by name", frame,
              pl.col("method") >= pl.col("other")),
        never("holm", "p after Holm is never below p", frame, pl.col("p_holm") < pl.col("p") - _HAIR),
        never("separable", "separable says that p after Holm is below 5 %", frame,
              pl.col("separable") != (pl.col("p_holm") < 0.05).fill_null(False)),
    ]  # fmt: skip


def applog_retention(frames: Frames, settings: Any) -> list[Finding]:
    """Histories that a checkpoint can have: all is first at C1 and nothing later."""
    frame = frames["applog_retention"]
    first = pl.col("history").cast(pl.String) == "first"
    return [
        ordered("applog_retention", frame),
        never("first", "values are first at the first checkpoint, and there alone", frame,
              first != (pl.col("place") == 1)),
        never("missing", "no more questions lack an answer than are asked", frame,
              pl.col("n_missing") > pl.col("n_items")),
    ]  # fmt: skip


def applog_attribution(frames: Frames, settings: Any) -> list[Finding]:
    """Shares of an arm, task and family add up to one, by rule and by judge; a rule does not err."""
    frame = frames["applog_attribution"]
    place = ["method", "reader", "budget", "by", "task", "family"]
    rule, erred = (pl.col(name).cast(pl.String) == value for name, value in (("by", "rule"), ("label", "judge_error")))
    return [
        ordered("applog_attribution", frame),
        never("whole", "labels of an arm, task and family are all of its wrong answers", frame,
              (pl.col("share").sum().over(place) - 1).abs() > _HAIR),
        never("rule", "only a judge errs", frame, rule & erred),
    ]  # fmt: skip


def applog_agreement(frames: Frames, settings: Any) -> list[Finding]:
    """Counts within each other; the share is theirs; kappa is never above it, and lies in its interval."""
    frame = frames["applog_agreement"]
    share, known = pl.col("n_equal") / pl.col("n_both"), pl.col("n_both") > 0
    low, high = pl.col("kappa_low"), pl.col("kappa_high")
    return [
        ordered("applog_agreement", frame),
        never("counts", "equal ones are among those that both labelled, and these among the judged", frame,
              (pl.col("n_equal") > pl.col("n_both")) | (pl.col("n_both") + pl.col("n_errors") > pl.col("n_judged"))),
        never("agreement", "the share is that of the counts", frame,
              (known == pl.col("agreement").is_null()) | (known & ((pl.col("agreement") - share).abs() > _HAIR))),
        never("kappa", "kappa is never above the share", frame, pl.col("kappa") > pl.col("agreement") + _HAIR),
        never("interval", "kappa lies in its interval", frame,
              (pl.col("kappa") < low - _HAIR) | (pl.col("kappa") > high + _HAIR), "warning"),
        never("one_judge", "one judge labels all of it", frame, pl.col("judge").n_unique() > 1),
    ]  # fmt: skip


def applog_calibration(frames: Frames, settings: Any) -> list[Finding]:
    """Shares, counts and calibration as those of readouts; one judge, of whom every row says the same.

    Companion `applog_verdicts`: those of every arm with its `method`, `reader` and `budget`, counted again.
    """
    frame = frames["applog_calibration"]
    known = pl.struct("judge", "weak", "n_questions", "calibration", "n_labelled", "tpr", "tnr", "kappa")
    return [
        *summed_up(frames, "applog_calibration", "applog_verdicts", CORE),
        never("one_judge", "every row tells of one judge, and the same", frame, known.n_unique() > 1),
    ]


def applog_compat(frames: Frames, settings: Any) -> list[Finding]:
    """Shares but for counts."""
    frame = frames["applog_compat"]
    counts = pl.col("metric").str.contains("item_count")
    return [
        ordered("applog_compat", frame),
        never("share", "what is no count is a share", frame, ~counts & (pl.col("value") > 1 + _HAIR)),
    ]


APPLOG_BOARDS: dict[str, Callable[[Frames, Any], list[Finding]]] = {
    rule.__name__: rule
    for rule in (
        *(applog_verdicts, applog_failures, applog_judged, applog_board, applog_differences),
        *(applog_retention, applog_attribution, applog_agreement, applog_calibration, applog_compat),
    )
}
"""By table."""
