"""The labels that people give to what a judge judges: a blind sheet out, the filled-in one back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from assets.applog_inputs import GivenAppLogs
from assets.applog_judging import core_parts
from assets.arms import GivenArm
from assets.judges import parts_of
from pipelines.applogs.judging import judge_named
from pipelines.evaluation.judging.core_detail import CORE_DETAIL
from pipelines.evaluation.judging.grounded import GROUNDED
from pipelines.evaluation.judging.labelling import read_sheet, sheet, slice_of
from pipelines.evaluation.judging.rubric import Rubric
from resources.dag import GoldStore, InputStore, Models
from resources.documents import write_atomic
from resources.experiment_spec import ArmSpec, BoundExperiment, save_experiment
from resources.home import Home
from resources.labels import keep_labels, read_labels
from trailbench.exporting import ExportError


@dataclass(frozen=True)
class Labelled:
    """What people label of the experiments of a track."""

    rubric: Rubric
    """Of the judge whose yes or no they check."""
    question: str
    """What they are asked of every line of the sheet."""
    said: Callable[[ArmSpec], str]
    """Name of what an arm says; of arms with one name it is the same."""
    parts: Callable[[ArmSpec, str], pl.DataFrame]
    """What the judge is shown (`judging.PARTS`) of an arm and shard."""


def _lines(spec: ArmSpec, shard: str) -> pl.DataFrame:
    store = InputStore()
    return parts_of(GivenArm(store, {"store": store.catalog}, {"arm": spec.key, "shard": shard}), Models())


def _answers(spec: ArmSpec, shard: str) -> pl.DataFrame:
    store = InputStore()
    walls = {"store": store.catalog, "gold": GoldStore().catalog}
    return core_parts(GivenAppLogs(store, walls, {"arm": spec.key, "shard": shard}))


LABELLED: Mapping[str, Labelled] = {
    "commerce": Labelled(
        GROUNDED, "do the visits (reference) support the line (given)?", lambda spec: spec.arm.readout, _lines
    ),
    "applogs": Labelled(
        CORE_DETAIL,
        "has the answer (given) the substance of the part right, by the reference (expected)?",
        lambda spec: spec.key,
        _answers,
    ),
}
"""By track."""


def write_sheet(home: Home, bound: BoundExperiment, of: Labelled, to: Path, n: int) -> dict[str, Any]:
    """Write a blind sheet of `n` lines drawn from all that is judged, to be labelled by a person.

    Raises `ExportError` when the file is there already (somebody's labels may be in it), the experiment names no such
    judge or its memories say nothing; `NotPublished` before what is judged is there.
    """
    if to.exists():
        raise ExportError(f"{to} is there already and may hold labels; name another file")
    drawn = slice_of(_parts(home, bound, of), n, bound.experiment.seed)
    if drawn.is_empty():
        raise ExportError("the memories of this experiment say nothing of the sampled users: there is no line to label")
    write_atomic(to, sheet(drawn))
    return {"experiment": bound.experiment.name, "sheet": str(to), "lines": drawn.height}


def import_sheet(home: Home, bound: BoundExperiment, of: Labelled, file: Path) -> dict[str, Any]:
    """Keep the labels of a filled-in sheet; those of the same lines are replaced.

    Raises `BadSheet` naming the lines of the file that cannot be used (nothing is kept then), else as `write_sheet`.
    """
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ExportError(f"{file}: is not UTF-8 (byte {error.start}); save the sheet as CSV in UTF-8") from error
    labels = read_sheet(text, _parts(home, bound, of), str(file))
    new, replaced = keep_labels(home.gold.store, of.rubric.name, labels)
    total = read_labels(home.gold.store, of.rubric.name).height
    return {
        "experiment": bound.experiment.name,
        "labels": labels.height,
        "new": new,
        "replaced": replaced,
        "labels_in_store": total,
    }


def _parts(home: Home, bound: BoundExperiment, of: Labelled) -> pl.DataFrame:
    """Everything that is judged, over all arms of the experiment."""
    judge = of.rubric.name
    if judge_named(bound.experiment.judges, of.rubric) is None:
        raise ExportError(f"experiment {bound.experiment.name} names no judge {judge}; add `judges: [{judge}]` to it")
    save_experiment(home.store.store, bound)
    arms = {of.said(spec): spec for spec in bound.arms}
    return pl.concat(
        # Of two arms the same item is two answers.
        of.parts(spec, shard).with_columns(item=pl.format("{}/{}", pl.lit(said), "item"))
        for said, spec in arms.items()
        for shard in home.shards
    )
