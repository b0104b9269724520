"""Every table of an app-log leaderboard once: column, type, unit, meaning."""

import polars as pl

from pipelines.applogs.tables import APPLOG_TABLES, FAILURES, FAMILIES, HISTORY, LABELS, TASK, TASKS, UNIT_STATUSES
from pipelines.evaluation.judging.tables import CALIBRATED, VERDICT_STATUSES
from pipelines.evaluation.tables import ROW_KIND
from pipelines.tables import Column, Table

ALL = "all"
PLAIN_METRICS = (
    *("mechanical", "mechanical_micro", "mechanical_families", "list_precision", "list_recall"),
    *("points", "evidence_precision", "evidence_recall", "evidence_f1", "stale_evidence"),
)
JUDGED_METRICS = (
    *("score", "score_micro", "score_families", "score_bound"),
    *("compat_score", "compat_score_micro", "compat_score_families"),
)
LIST_METRICS = ("list_precision", "list_recall")
"""Metrics of lists alone."""
METRICS = (*PLAIN_METRICS, *JUDGED_METRICS)
METRIC = pl.Enum(METRICS)
BOARD_FAMILIES = (ALL, *FAMILIES)
BOARD_FAMILY = pl.Enum(BOARD_FAMILIES)
BOARD_EXPECTATIONS = ("value", "no_longer", "never")
BOARD_EXPECTATION = pl.Enum(BOARD_EXPECTATIONS)
FAILURE_STATUSES = (*VERDICT_STATUSES, "untold")
ATTRIBUTED_BY = ("rule", "judge")
ATTRIBUTIONS = (*LABELS, "judge_error")
"""Labels of wrong answers, and what stands in the place of one."""

_BOARD = Column(pl.String, "reader and budget whose methods the board compares; `rule` where only baselines are")
_METHOD = Column(pl.String, "memory method (with its configuration unless default), control or baseline")
_READER = Column(pl.String, "who answered: `rule` (a baseline) or a reader of the experiment")
_BUDGET = Column(pl.Int32, "token budget of what the reader is shown; 0 where there is none", "tokens")
_CHECKPOINT = Column(pl.String, "all, or C1, C2, … in the order of each user's checkpoints")
_FAMILY = Column(BOARD_FAMILY, "all, or the family of the state")
_EXPECTATION = Column(BOARD_EXPECTATION, "value | no_longer | never: what the right answer is")
_METRIC = Column(
    METRIC,
    "mechanical: agreement of fields by rule, of lists their F1 | list_… | points by rule | evidence_… | score: "
    "Core+Detail of a judge, detail counting only with core | score_bound: were every part that a judge failed on "
    "right | compat_score: as published; `_micro` over fields instead of questions, `_families` mean of the families",
)


def _share(meaning: str) -> Column:
    return Column(pl.Float64, meaning, "share", nullable=True)


APPLOG_BOARD_TABLES: dict[str, Table] = {
    "applog_verdicts": Table(
        "Core and detail of every judged part of an arm's answers, as a judge says; errors are rows, never left out.",
        {
            "judge": Column(pl.String, "fingerprint of the judge: rubric, prompts, model, settings"),
            "user_id": Column(pl.String, "user, text exactly as in the log"),
            "item": Column(pl.String, "one question at one checkpoint"),
            "part": Column(pl.String, "field or point of the right answer, as the judge was told it"),
            "content": Column(pl.String, "hash of all that was shown, and of the part: what a person's label finds"),
            "status": Column(pl.String, " | ".join(VERDICT_STATUSES)),
            "reason": Column(pl.String, "why the status is not ok, as one word; else empty"),
            "analysis": Column(pl.String, "the judge's own words"),
            "call": Column(pl.String, "identity of the model call in cache and accounting"),
            "core_correct": Column(pl.Boolean, "whether the main thing is right", nullable=True),
            "detail_quality": Column(pl.Int32, "0 | 1 | 2, how precise", nullable=True),
        },
        key=("user_id", "item", "part"),
        wall="gold",
        may_be_empty="an experiment may have no judge, and a shard no sampled question",
    ),
    "applog_failures": Table(
        "What the memory delivered to every sampled answer that is wrong, as a judge labels it; errors are rows.",
        {
            "judge": Column(pl.String, "fingerprint of the judge: rubric, prompts, model, settings"),
            "user_id": Column(pl.String, "user, text exactly as in the log"),
            "item": Column(pl.String, "one question at one checkpoint, answered wrongly"),
            "content": Column(pl.String, "hash of all that was shown; empty where no text was delivered"),
            "status": Column(pl.String, f"{' | '.join(FAILURE_STATUSES)} (a rule, which asks no memory)"),
            "reason": Column(pl.String, "why the judge erred, as one word; else empty"),
            "analysis": Column(pl.String, "the judge's own words"),
            "call": Column(pl.String, "identity of the model call in cache and accounting; empty where none was made"),
            "label": Column(pl.Enum(FAILURES), f"{' | '.join(FAILURES)}; null unless ok", nullable=True),
        },
        key=("user_id", "item"),
        wall="gold",
        may_be_empty="an experiment may have no such judge, and a shard no sampled answer that is wrong",
    ),
    "applog_judged": Table(
        "The sampled questions of an arm with the marks of its judge: `applog_units`, of these questions alone (ours).",
        APPLOG_TABLES["applog_units"].columns,
        key=APPLOG_TABLES["applog_units"].key,
        wall="gold",
        may_be_empty="an experiment may have no judge, and a shard no sampled question",
    ),
    "applog_board": Table(
        "Methods on the same frozen questions, by board, task, checkpoint, family, expectation and metric.",
        {
            "board": _BOARD,
            "task": Column(TASK, " | ".join(TASKS)),
            "checkpoint": _CHECKPOINT,
            "place": Column(pl.Int32, "order of the checkpoint; 0 for all, else from 1"),
            "expectation": _EXPECTATION,
            "family": _FAMILY,
            "metric": _METRIC,
            "method": _METHOD,
            "reader": _READER,
            "budget": _BUDGET,
            "kind": Column(ROW_KIND, "method | control (empty, another user's, a baseline) | scoring side (oracle)"),
            "rank": Column(
                pl.Int32, "1 + methods with a better value; where checkpoint and family are all", nullable=True
            ),
            "band": Column(pl.Int32, "tie band, from 1: methods of one are not told apart", nullable=True),
            "value": _share("mean over users of their mean over checkpoints; null when a checkpoint was not run"),
            "low": _share("lower end of the 95 % user-cluster interval; null with one user"),
            "high": _share("upper end of it"),
            "coverage": _share("questions answered or abstained / questions"),
            "n_items": Column(pl.Int64, "questions", "questions"),
            "n_users": Column(pl.Int64, "users that are asked", "users"),
            "n_not_run": Column(pl.Int64, "checkpoints at which nothing was answered", "checkpoints"),
            **{f"n_{status}": Column(pl.Int64, f"questions with status {status}") for status in UNIT_STATUSES},
            "flags": Column(pl.String, "what makes the row suspect; empty when nothing does"),
        },
        key=("board", "task", "checkpoint", "expectation", "family", "metric", "method", "reader", "budget"),
        order=("board", "task", "place", "expectation", "family", "metric", "method", "reader", "budget"),
        wall="gold",
    ),
    "applog_differences": Table(
        "Paired differences between the methods of a board, over the users that all of them have a value of.",
        {
            "board": _BOARD,
            "task": Column(TASK, " | ".join(TASKS)),
            "expectation": _EXPECTATION,
            "metric": _METRIC,
            "method": Column(pl.String, "first of the pair, by name"),
            "other": Column(pl.String, "second of the pair"),
            "n_units": Column(pl.Int64, "questions of those users", "questions"),
            "n_users": Column(pl.Int64, "users with a value of every method", "users"),
            "difference": _share("value of method − value of other"),
            "low": _share("lower end of the 95 % user-cluster interval; null with one user"),
            "high": _share("upper end of it"),
            "p": _share("p of sign flips of the users' differences"),
            "p_holm": _share("p after Holm over all pairs of board, task, expectation and metric"),
            "separable": Column(pl.Boolean, "p_holm < 0.05"),
        },
        key=("board", "task", "expectation", "metric", "method", "other"),
        wall="gold",
        may_be_empty="a board may have one method",
    ),
    "applog_retention": Table(
        "How states are answered by what became of their value since the first checkpoint (reference 5.7).",
        {
            "method": _METHOD,
            "reader": _READER,
            "budget": _BUDGET,
            "metric": _METRIC,
            "place": Column(pl.Int32, "checkpoint, from 1"),
            "family": _FAMILY,
            "history": Column(HISTORY, "first | retained | updated | changed_earlier | new"),
            "n_items": Column(pl.Int64, "questions", "questions"),
            "n_missing": Column(pl.Int64, "questions without an answer", "questions"),
            "value": _share("mean over users of their mean over these states; null when one did not run"),
        },
        key=("method", "reader", "budget", "metric", "place", "family", "history"),
        wall="gold",
        may_be_empty="a published pack may tell no state",
    ),
    "applog_attribution": Table(
        "Why answers are wrong, by what the memory delivered and what was tagged to mislead (reference 5.7).",
        {
            "method": _METHOD,
            "reader": _READER,
            "budget": _BUDGET,
            "by": Column(pl.Enum(ATTRIBUTED_BY), "rule: every wrong answer, by its logs | judge: the sampled ones"),
            "task": Column(TASK, " | ".join(TASKS)),
            "family": _FAMILY,
            "label": Column(pl.Enum(ATTRIBUTIONS), f"{' | '.join(ATTRIBUTIONS)} (of a judge alone)"),
            "n_items": Column(pl.Int64, "wrong answers with this label", "questions"),
            "share": _share("of the wrong answers of this arm, task and family that rule or judge was asked about"),
        },
        key=("method", "reader", "budget", "by", "task", "family", "label"),
        wall="gold",
        may_be_empty="every answer may be right",
    ),
    "applog_agreement": Table(
        "How far rule and judge agree on why answers are wrong, over all methods of a board.",
        {
            "board": _BOARD,
            "task": Column(TASK, " | ".join(TASKS)),
            "judge": Column(pl.String, "fingerprint of the judge"),
            "weak": Column(pl.Boolean, "whether a weak model judged"),
            "n_judged": Column(pl.Int64, "sampled wrong answers to which a text was delivered", "answers"),
            "n_errors": Column(pl.Int64, "of these, where the judge erred", "answers"),
            "n_both": Column(pl.Int64, "of these, labelled by rule and by judge: the denominator", "answers"),
            "n_equal": Column(pl.Int64, "of these, with one label", "answers"),
            "n_users": Column(pl.Int64, "users of the answers that both labelled", "users"),
            "agreement": _share("n_equal / n_both; null where both labelled nothing"),
            "kappa": Column(pl.Float64, "Cohen's kappa; null where agreement by chance is certain", nullable=True),
            "kappa_low": Column(pl.Float64, "lower end of its 95 % interval; null with one user", nullable=True),
            "kappa_high": Column(pl.Float64, "upper end of it", nullable=True),
        },
        key=("board", "task"),
        wall="gold",
        may_be_empty="an experiment may have no such judge",
    ),
    "applog_calibration": Table(
        "How far people bear out the judge of core and detail; every method's share of right cores, and corrected.",
        {
            "method": _METHOD,
            "reader": _READER,
            "budget": _BUDGET,
            "weak": Column(pl.Boolean, "whether a weak model judged"),
            "n_questions": Column(pl.Int64, "questions sampled; one without an answer is no item", "questions"),
            **CALIBRATED,
        },
        key=("method", "reader", "budget"),
        wall="gold",
        may_be_empty="an experiment may have no such judge",
    ),
    "applog_compat": Table(
        "The published metrics by their published names (`dynamicmem-2026`), where missing checkpoints have no row.",
        {
            "method": _METHOD,
            "reader": _READER,
            "budget": _BUDGET,
            "metric": Column(pl.String, "as published, `…_mean` over checkpoints"),
            "value": Column(pl.Float64, "mean over users; a share, or a count in `…_item_count_mean`"),
            "n_users": Column(pl.Int64, "users with the metric", "users"),
        },
        key=("method", "reader", "budget", "metric"),
        wall="gold",
        may_be_empty="no checkpoint may have been run",
    ),
}
"""Table by name."""
