"""The tables of judging: column, type, unit, meaning."""

import polars as pl

from pipelines.tables import Column, Table

VERDICT_STATUSES = ("ok", "judge_error")
CALIBRATIONS = ("calibrated", "refused", "uncalibrated")
_SCORES = {
    "part_score": "mean over parts (micro; State Completion as published)",
    "part_strict_score": "the same, detail counting only where the core is right",
    "item_score": "mean over items (micro; Personalized Service as published)",
    "item_strict_score": "the same, detail counting only where the core is right",
    "user_item_score": "mean over users of their items' mean (macro)",
}
_RATES = {"tpr": "judged right / right by people", "tnr": "judged wrong / wrong by people"}


def _share(meaning: str) -> Column:
    return Column(pl.Float64, meaning, "share", nullable=True)


_COUNTS: dict[str, Column] = {
    "judge": Column(pl.String, "fingerprint of the judge"),
    "n_users": Column(pl.Int64, "users judged"),
    "n_items": Column(pl.Int64, "items judged"),
    "n_parts": Column(pl.Int64, "parts judged, errors included: the denominator of every part score"),
    "n_errors": Column(pl.Int64, "parts without a verdict that can be read; they count 0 and are never left out"),
    "coverage": _share("parts with a verdict / parts"),
}
_CORE: dict[str, Column] = {
    "core": _share("parts whose core is judged right / parts"),
    "core_low": _share("lower end of its 95 % interval; null with one user"),
    "core_high": _share("upper end of it"),
    "calibration": Column(pl.String, " | ".join(CALIBRATIONS)),
    "calibration_reason": Column(pl.String, "why not calibrated; else empty"),
    "n_labelled": Column(pl.Int64, "parts that people labelled"),
    **{
        name: column
        for rate, meaning in _RATES.items()
        for name, column in (
            (rate, _share(meaning)),
            (f"{rate}_low", _share("lower end of its 95 % interval; null with one user")),
            (f"{rate}_high", _share("upper end of it")),
        )
    },
    "kappa": Column(pl.Float64, "Cohen's kappa of judge and people", nullable=True),
    "kappa_low": Column(pl.Float64, "lower end of its 95 % interval; null with one user", nullable=True),
    "kappa_high": Column(pl.Float64, "upper end of it", nullable=True),
    "corrected_core": _share("core by Rogan and Gladen; null unless calibrated"),
    "corrected_core_low": _share("lower end of Lang and Reiczigel's 95 % interval"),
    "corrected_core_high": _share("upper end of it"),
}
CALIBRATED: dict[str, Column] = {**_COUNTS, **_CORE}
"""Columns of `summary.core_share`."""
SUMMARY: dict[str, Column] = {
    **_COUNTS,
    **{
        name: column
        for score, meaning in _SCORES.items()
        for name, column in (
            (score, _share(meaning)),
            (f"{score}_low", _share("lower end of its 95 % user-cluster interval; null with one user")),
            (f"{score}_high", _share("upper end of it")),
            (f"{score}_bound", _share("the score were every part without a verdict right")),
        )
    },
    **_CORE,
}
"""Columns of `summary.summary`."""

JUDGING_TABLES: dict[str, Table] = {
    "verdicts": Table(
        "Whether the user's own visits support a line of a readout, as a judge says; errors are rows, never left out.",
        {
            "rubric": Column(pl.String, "what the judge was asked"),
            "judge": Column(pl.String, "fingerprint of the judge: rubric, prompts, model, settings"),
            "user_id": Column(pl.String, "user, text exactly as in the log"),
            "transition_index": Column(pl.Int32, "transition t of the readout: the evidence is of batches ≤ t"),
            "part": Column(pl.String, "slot and number of the line in it"),
            "line": Column(pl.String, "the line"),
            "content": Column(pl.String, "hash of all that was shown, and of the part: what a person's label finds"),
            "status": Column(pl.String, " | ".join(VERDICT_STATUSES)),
            "reason": Column(pl.String, "why the status is not ok, as one word; else empty"),
            "analysis": Column(pl.String, "the judge's own words"),
            "call": Column(pl.String, "identity of the model call in cache and accounting"),
            "supported": Column(pl.Boolean, "whether the visits shown support the line", nullable=True),
            "specific": Column(pl.Int32, "0 anyone | 1 a kind of user | 2 few users", nullable=True),
        },
        key=("judge", "user_id", "transition_index", "part"),
        may_be_empty="an arm without a judge, a shard without a sampled readout, a memory that says nothing",
    ),
    "verdict_summary": Table(
        "What a judge's verdicts come to, one row an arm and judge; core is the share of lines supported.",
        {
            "method": Column(pl.String, "memory method (with its configuration unless default)"),
            "reader": Column(pl.String, "task reader of the arm; arms that differ in it alone share their verdicts"),
            "budget": Column(pl.Int32, "token budget of the readout", "tokens"),
            "rubric": Column(pl.String, "what the judge was asked"),
            "model": Column(pl.String, "model that judged"),
            "weak": Column(pl.Boolean, "whether a weak model judged"),
            "evidence_tokens": Column(pl.Int64, "most tokens of visits that the judge was shown", "tokens"),
            "n_readouts": Column(pl.Int64, "readouts sampled; one without a line is no item"),
            **SUMMARY,
        },
        key=("method", "reader", "budget", "judge"),
        wall="gold",
        may_be_empty="an experiment may name no judge",
    ),
}
