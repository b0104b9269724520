"""Judges of an experiment: known by name, estimated, told to people."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import polars as pl

from assets.board_inputs import GivenExperiment
from assets.judges import EVIDENCE, judge_model, room, rubric_judge
from pipelines.evaluation.experiment import BadExperiment, Experiment, require_known
from pipelines.evaluation.judging.core_detail import CORE_DETAIL
from pipelines.evaluation.judging.grounded import grounded_parts
from pipelines.evaluation.judging.judged_section import unread
from pipelines.memory.timeline import histories
from pipelines.models import Role
from resources.dag import InputStore, Models
from resources.experiment_spec import BoundExperiment
from resources.home import Home
from resources.model_access import ModelAccess
from resources.models.estimate import Workload
from resources.plugin_process import open_method
from resources.tokenizer import load_tokens
from trailbench.console import print_table

LINE_TOKENS = 15
"""Of a line of a readout, about; for estimates."""
VERDICT_TOKENS = 50
"""Of the reply on one line, about."""


def judges_of(experiment: Experiment, models: ModelAccess, known: Collection[str]) -> dict[str, str]:
    """Judge, as the experiment names it → its fingerprint; `known` are the rubrics of the track.

    Raises `BadExperiment` for an unknown or a repeated one.
    """
    found: dict[str, str] = {}
    require_known("judge", experiment.judges, known, " on such a release")
    for judge in experiment.judges:
        model = models.unasked("judge", judge_model(judge, experiment.models))
        made = rubric_judge(judge, model, models).fingerprint
        if made in found.values():
            raise BadExperiment(f"judge {judge} is one that is named before; name each once", ("judges", judge))
        found[judge] = made
    return found


def judge_workloads(home: Home, bound: BoundExperiment) -> Iterator[tuple[Role, str, Workload]]:
    """What the judges will be asked at most, readouts of the full budget: role, model name, calls and tokens.

    Arms that share readouts are counted once; a memory that reads nothing says nothing to judge.
    """
    arms = {spec.arm.readout: spec for spec in bound.arms if spec.judges}
    if not arms:
        return
    evidence = _evidence_tokens(home, bound)
    for spec in arms.values():
        with open_method(spec.arm.method, InputStore().hidden) as method:
            if method.reads_nothing:
                continue
        lines = max(spec.arm.budget // LINE_TOKENS, 1)
        calls = -(-lines // room(Models()).lines)
        # Every call shows the evidence and the whole readout, and its own lines once more.
        sent = calls * (sum(evidence) + len(evidence) * spec.arm.budget) + len(evidence) * spec.arm.budget
        work = Workload(calls * len(evidence), sent, len(evidence) * lines * VERDICT_TOKENS)
        yield from (("judge", judge_model(judge, spec.models), work) for judge in spec.judges)


def _evidence_tokens(home: Home, bound: BoundExperiment) -> list[int]:
    """Tokens of the prompts without a readout."""
    spec, models, tokens = bound.arms[0], Models(), load_tokens()
    users = pl.col("user_id").is_in(sorted({user for user, _ in spec.judged}))
    at = {"release": bound.release_key}
    scans = {name: home.store.scan(name, at, home.shards) for name in EVIDENCE[:-1]}
    read = {name: bound.slice.of(rows).filter(users).collect() for name, rows in scans.items()}
    streams = histories(**read, taxonomy=home.store.scan("taxonomy", at).collect())
    asked = pl.DataFrame(spec.judged, schema={"user_id": pl.String, "transition_index": pl.Int32}, orient="row")
    one_line = asked.with_columns(description=pl.lit("-"), tree=pl.lit(""))
    parts = grounded_parts(one_line, streams, spec.judged, tokens, room(models))
    judge = rubric_judge(next(iter(spec.judges)), models.access.unasked("judge"), models.access)
    return judge.prompts_for(parts)["tokens"].to_list()


CALIBRATION = {
    **{name: name for name in ("calibration", "calibration_reason")},
    **{"labelled": "n_labelled"},
    **{f"{rate}{end}": f"{rate}{end}" for rate in ("tpr", "tnr", "kappa") for end in ("", "_low", "_high")},
    **{f"corrected{end}": f"corrected_core{end}" for end in ("", "_low", "_high")},
}
"""What is said of a judge and of a share that it gave → its column in a table that sums up verdicts."""


def judged_rows(given: GivenExperiment) -> list[dict[str, Any]]:
    """What the verdicts come to, one row a method, budget and judge; none when the experiment names no judge."""
    columns = {
        **{name: name for name in ("method", "budget", "rubric", "judge", "model", "weak")},
        **{"readouts": "n_readouts", "users": "n_users", "lines": "n_parts", "errors": "n_errors"},
        **{"supported": "core", "supported_low": "core_low", "supported_high": "core_high", "score": "part_score"},
        **CALIBRATION,
    }
    rows = unread(given.board("verdict_summary")).sort("rubric", "model", "budget", "judge", "core", "method")
    return rows.select(pl.col(column).alias(name) for name, column in columns.items()).to_dicts()


def marked_rows(given: GivenExperiment) -> list[dict[str, Any]]:
    """What the marks of the judge of core and detail come to, one row an arm on app logs; none without one."""
    columns = {
        **{name: name for name in ("method", "reader", "budget", "judge", "weak")},
        **{"questions": "n_questions", "users": "n_users", "parts": "n_parts", "errors": "n_errors"},
        **{"right": "core", "right_low": "core_low", "right_high": "core_high"},
        **CALIBRATION,
    }
    rows = given.board("applog_calibration").sort("reader", "budget", "core", "method")
    return rows.select(pl.col(column).alias(name) for name, column in columns.items()).to_dicts()


def print_judged(rows: list[dict[str, Any]]) -> None:
    """A table a judge and budget: the share of lines that it finds supported, and without its errors."""
    for judge, budget in dict.fromkeys((row["judge"], row["budget"]) for row in rows):
        own = [row for row in rows if (row["judge"], row["budget"]) == (judge, budget)]
        title = f"{own[0]['rubric'].capitalize()}, judged by {own[0]['model']}{_weak(own[0])}, {budget:,} tokens"
        _print_shares(title, own, ["method"], "supported", "lines")


def print_marked(rows: list[dict[str, Any]]) -> None:
    """A table of all arms: the share of judged parts whose core is right, and without the judge's errors."""
    if rows:
        title = f"Core, as {CORE_DETAIL.name} judges it{_weak(rows[0])}"
        _print_shares(title, rows, ["method", "reader", "budget"], "right", "parts")


def _print_shares(title: str, rows: list[dict[str, Any]], arm: list[str], share: str, counted: str) -> None:
    shown = [
        [*(row[name] for name in arm), _share(row, share), _share(row, "corrected"), row[counted], row["errors"]]
        for row in rows
    ]
    first = rows[0]
    how = f"{first['calibration']}: {first['calibration_reason'] or _calibrated(first)}"
    print_table(title, [*arm, share, "corrected", counted, "errors"], shown, footer=how)


def _weak(row: Mapping[str, Any]) -> str:
    return " (a weak model)" if row["weak"] else ""


def _share(row: Mapping[str, Any], name: str) -> str:
    if row[name] is None:
        return ""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return f"{row[name]:.3f}" + ("" if low is None else f" ({low:.3f}–{high:.3f})")


def _calibrated(row: Mapping[str, Any]) -> str:
    rates = [f"{said} {_share(row, name) or 'undefined'}" for said, name in (("TPR", "tpr"), ("TNR", "tnr"))]
    return f"{row['labelled']} labels, {', '.join(rates)}, kappa {_share(row, 'kappa') or 'undefined'}"
