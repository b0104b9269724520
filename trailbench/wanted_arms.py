"""The arm of an experiment that a call names: whose memory is exported, whose answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.evaluation.experiment import Experiment
from resources.experiment_spec import ArmSpec, BoundExperiment, experiment_key, load_experiment
from resources.home import Home
from resources.store import NotPublished
from trailbench.evaluating import experiment_named
from trailbench.exporting import ExportError


@dataclass(frozen=True)
class Wanted:
    """What a call asks for: an experiment by name or file, and of its arms a method by label, a budget, a reader."""

    experiment: str | None = None
    method: str | None = None
    budget: int | None = None
    reader: str | None = None


def evaluated(home: Home, experiment: str, release: str) -> BoundExperiment:
    """An experiment as it was evaluated on a release. Raises `ExportError` where it was not, or was another then."""
    named = experiment_named(experiment)
    try:
        bound = load_experiment(home.store.store, experiment_key(named.name, release))
    except NotPublished as error:
        run = f"trailbench evaluate {release} --experiment {experiment}"
        raise ExportError(f"{named.name} was not evaluated on {release}; run `{run}` first") from error
    if _memories(bound.experiment) != _memories(named):
        raise ExportError(
            f"{named.name} was changed since it was evaluated on {release}; run `trailbench evaluate` again"
        )
    return bound


def _memories(experiment: Experiment) -> dict[str, Any]:
    """What of an experiment decides its memories and what is asked."""
    return experiment.model_dump(exclude={"release", "readers", "judges", "judged", "limits"})


def arms_wanted(bound: BoundExperiment, wanted: Wanted, arms: Sequence[ArmSpec] | None = None) -> list[ArmSpec]:
    """Of `arms` (all of an experiment by default) those of the method and budget that are wanted.

    They differ in their reader alone, and share what the memory says. Raises `ExportError` where a choice is open.
    """
    arms = bound.arms if arms is None else arms
    labels = list(dict.fromkeys(one.arm.label for one in arms))
    if wanted.method not in labels:
        raise ExportError(f"name a method of {bound.experiment.name} by --method: {', '.join(labels)}")
    own = [one for one in arms if one.arm.label == wanted.method]
    budgets = sorted({one.arm.budget for one in own})
    budget = budgets[0] if len(budgets) == 1 and wanted.budget is None else wanted.budget
    if budget not in budgets:
        raise ExportError(f"name a budget of {bound.experiment.name} by --budget: {', '.join(map(str, budgets))}")
    return [one for one in own if one.arm.budget == budget]


def answering_arm(bound: BoundExperiment, wanted: Wanted) -> ArmSpec:
    """The arm of the method, budget and reader that are wanted. Raises `ExportError` where a choice is open."""
    arms = arms_wanted(bound, wanted)
    found = [one for one in arms if wanted.reader in (None, one.arm.reader)]
    if len(found) != 1:
        readers = ", ".join(one.arm.reader for one in arms)
        raise ExportError(f"name a reader of {bound.experiment.name} by --reader: {readers}")
    return found[0]
