"""Judges of an experiment: known by name, estimated, told to people; and the labels that people give."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from assets.arms import GivenArm
from assets.board_inputs import GivenExperiment
from assets.judges import EVIDENCE, judge_model, parts_of, room, rubric_judge
from pipelines.evaluation.experiment import BadExperiment, Experiment, require_known
from pipelines.evaluation.judging.grounded import GROUNDED, grounded_parts
from pipelines.evaluation.judging.judged_section import unread
from pipelines.evaluation.judging.labelling import read_sheet, sheet, slice_of
from pipelines.memory.timeline import histories
from pipelines.models import Role
from resources.dag import InputStore, Models
from resources.documents import write_atomic
from resources.experiment_spec import ArmSpec, BoundExperiment, save_experiment
from resources.home import Home
from resources.labels import keep_labels, read_labels
from resources.model_access import ModelAccess
from resources.models.estimate import Workload
from resources.plugin_process import open_method
from resources.tokenizer import load_tokens
from trailbench.console import print_table
from trailbench.exporting import ExportError

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


def judged_rows(given: GivenExperiment) -> list[dict[str, Any]]:
    """What the verdicts come to, one row a method, budget and judge; none when the experiment names no judge."""
    columns = {
        **{name: name for name in ("method", "budget", "rubric", "judge", "model", "weak")},
        **{"readouts": "n_readouts", "users": "n_users", "lines": "n_parts", "errors": "n_errors"},
        **{"supported": "core", "supported_low": "core_low", "supported_high": "core_high", "score": "part_score"},
        **{name: name for name in ("calibration", "calibration_reason")},
        **{"labelled": "n_labelled", "tpr": "tpr", "tnr": "tnr", "kappa": "kappa"},
        **{f"corrected{end}": f"corrected_core{end}" for end in ("", "_low", "_high")},
    }
    rows = unread(given.board("verdict_summary")).sort("rubric", "model", "budget", "judge", "core", "method")
    return rows.select(pl.col(column).alias(name) for name, column in columns.items()).to_dicts()


def print_judged(rows: list[dict[str, Any]]) -> None:
    """A table a judge and budget: the share of lines that it finds supported, and without its errors."""
    for judge, budget in dict.fromkeys((row["judge"], row["budget"]) for row in rows):
        own = [row for row in rows if (row["judge"], row["budget"]) == (judge, budget)]
        shown = [
            [row["method"], _share(row, "supported"), _share(row, "corrected"), row["lines"], row["errors"]]
            for row in own
        ]
        first = own[0]
        how = f"{first['calibration']}: {first['calibration_reason'] or _calibrated(first)}"
        title = (
            f"{first['rubric'].capitalize()}, judged by {first['model']}"
            f"{' (a weak model)' if first['weak'] else ''}, {budget:,} tokens"
        )
        print_table(title, ["method", "supported", "corrected", "lines", "errors"], shown, footer=how)


def _share(row: Mapping[str, Any], name: str) -> str:
    if row[name] is None:
        return ""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return f"{row[name]:.3f}" + ("" if low is None else f" ({low:.3f}–{high:.3f})")


def _calibrated(row: Mapping[str, Any]) -> str:
    kappa = "undefined" if row["kappa"] is None else f"{row['kappa']:.3f}"
    return f"{row['labelled']} labels, TPR {row['tpr']:.3f}, TNR {row['tnr']:.3f}, kappa {kappa}"


def write_sheet(home: Home, bound: BoundExperiment, to: Path, n: int) -> dict[str, Any]:
    """Write a blind sheet of `n` lines drawn from all that is judged, to be labelled by a person.

    Raises `ExportError` when the file is there already (somebody's labels may be in it), the experiment names no judge
    or its memories say nothing; `NotPublished` before the readouts are there.
    """
    if to.exists():
        raise ExportError(f"{to} is there already and may hold labels; name another file")
    drawn = slice_of(_parts(home, bound), n, bound.experiment.seed)
    if drawn.is_empty():
        raise ExportError("the memories of this experiment say nothing of the sampled users: there is no line to label")
    write_atomic(to, sheet(drawn))
    return {"experiment": bound.experiment.name, "sheet": str(to), "lines": drawn.height}


def import_sheet(home: Home, bound: BoundExperiment, file: Path) -> dict[str, Any]:
    """Keep the labels of a filled-in sheet; those of the same lines are replaced.

    Raises `BadSheet` naming the lines of the file that cannot be used (nothing is kept then), else as `write_sheet`.
    """
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ExportError(f"{file}: is not UTF-8 (byte {error.start}); save the sheet as CSV in UTF-8") from error
    labels = read_sheet(text, _parts(home, bound), str(file))
    new, replaced = keep_labels(home.gold.store, GROUNDED.name, labels)
    total = read_labels(home.gold.store, GROUNDED.name).height
    return {
        "experiment": bound.experiment.name,
        "labels": labels.height,
        "new": new,
        "replaced": replaced,
        "labels_in_store": total,
    }


def _parts(home: Home, bound: BoundExperiment) -> pl.DataFrame:
    """Everything that is judged, over all memories of the experiment."""
    if not bound.experiment.judges:
        raise ExportError(f"experiment {bound.experiment.name} names no judge; add `judges: [{GROUNDED.name}]` to it")
    save_experiment(home.store.store, bound)
    arms = {spec.arm.readout: spec for spec in bound.arms}
    return pl.concat(_parts_of(spec, shard) for spec in arms.values() for shard in home.shards)


def _parts_of(spec: ArmSpec, shard: str) -> pl.DataFrame:
    store = InputStore()
    parts = parts_of(GivenArm(store, {"store": store.catalog}, {"arm": spec.key, "shard": shard}), Models())
    # Of two memories the same item is two answers.
    return parts.with_columns(item=pl.format("{}/{}", pl.lit(spec.arm.readout), "item"))
